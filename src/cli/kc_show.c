/* SPDX-License-Identifier: Apache-2.0 */
/* Showing keychain records; see kc_show.h. */
#include "kc_show.h"

#include <string.h>

#include "base/clock.h"

enum show_as {
	AS_BYTES,
	AS_WORD,
	AS_CODE,         /* four characters in a word */
	AS_ALGORITHM,    /* a word that has a name */
	AS_DATE,
	AS_HEX           /* bytes that never are text */
};

struct column {
	uint32_t attr;
	const char *name;
	enum show_as as;
};

#define CODE(a, b, c, d) \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | \
	(uint32_t)(d))

static const struct column generic[] = {
	{ KC_ATTR_SERVICE, "service", AS_BYTES },
	{ KC_ATTR_ACCOUNT, "account", AS_BYTES },
	{ KC_ATTR_LABEL, "label", AS_BYTES },
	{ KC_ATTR_COMMENT, "comment", AS_BYTES },
	{ KC_ATTR_KIND, "kind", AS_BYTES },
	{ KC_ATTR_CREATOR, "creator", AS_CODE },
	{ KC_ATTR_TYPE, "type", AS_CODE },
	{ KC_ATTR_GENERIC, "generic", AS_BYTES },
	{ KC_ATTR_CREATED, "created", AS_DATE },
	{ KC_ATTR_MODIFIED, "modified", AS_DATE },
};
static const struct column internet[] = {
	{ CODE('s', 'r', 'v', 'r'), "server", AS_BYTES },
	{ KC_ATTR_ACCOUNT, "account", AS_BYTES },
	{ KC_ATTR_LABEL, "label", AS_BYTES },
	{ KC_ATTR_COMMENT, "comment", AS_BYTES },
	{ KC_ATTR_KIND, "kind", AS_BYTES },
	{ CODE('p', 't', 'c', 'l'), "protocol", AS_CODE },
	{ CODE('a', 't', 'y', 'p'), "authentication", AS_BYTES },
	{ CODE('p', 'o', 'r', 't'), "port", AS_WORD },
	{ CODE('p', 'a', 't', 'h'), "path", AS_BYTES },
	{ CODE('s', 'd', 'm', 'n'), "domain", AS_BYTES },
	{ KC_ATTR_CREATED, "created", AS_DATE },
	{ KC_ATTR_MODIFIED, "modified", AS_DATE },
};
static const struct column appleshare[] = {
	{ CODE('s', 'r', 'v', 'r'), "server", AS_BYTES },
	{ CODE('v', 'l', 'm', 'e'), "volume", AS_BYTES },
	{ KC_ATTR_ACCOUNT, "account", AS_BYTES },
	{ KC_ATTR_LABEL, "label", AS_BYTES },
	{ KC_ATTR_CREATED, "created", AS_DATE },
	{ KC_ATTR_MODIFIED, "modified", AS_DATE },
};
/* In key relations the attribute id is the column. */
static const struct column key[] = {
	{ 1, "label", AS_BYTES },
	{ 6, "application_label", AS_HEX },
	{ 7, "application_tag", AS_BYTES },
	{ 9, "algorithm", AS_ALGORITHM },
	{ 10, "bits", AS_WORD },
};
static const struct column certificate[] = {
	{ CODE('l', 'a', 'b', 'l'), "label", AS_BYTES },
	{ CODE('a', 'l', 'i', 's'), "alias", AS_BYTES },
	{ CODE('c', 't', 'y', 'p'), "type", AS_WORD },
	{ CODE('s', 'n', 'b', 'r'), "serial", AS_HEX },
	{ CODE('h', 'p', 'k', 'y'), "public_key_hash", AS_HEX },
};

static const struct kind {
	uint32_t relation;
	const char *name;
	const struct column *column;
	size_t ncolumns;
	bool access;             /* has an access list of its own */
} kinds[] = {
	{ KC_REL_PUBLIC_KEY, "public-key", key, 5, true },
	{ KC_REL_PRIVATE_KEY, "private-key", key, 5, true },
	{ KC_REL_SYMMETRIC_KEY, "symmetric-key", key, 5, true },
	{ KC_REL_GENERIC, "generic", generic, 10, true },
	{ KC_REL_INTERNET, "internet", internet, 12, true },
	{ KC_REL_APPLESHARE, "appleshare", appleshare, 6, true },
	{ KC_REL_CERTIFICATE, "certificate", certificate, 5, false },
};

static const char *
access_name(const struct kc_acl_info *info)
{
	switch (info->access) {
	case KC_ACCESS_ANY:
		return "any";
	case KC_ACCESS_TRUSTED:
		return "trusted";
	case KC_ACCESS_NONE:
		return "none";
	case KC_ACCESS_UNKNOWN:
		break;
	}
	return "unknown";
}

/* The four characters of a code; false when it is a mere number. */
static bool
code_text(uint32_t word, char ret[5])
{
	uint8_t p[4];

	ck_put_be32(p, word);
	for (size_t i = 0; i < 4; i++) {
		if (p[i] < 0x20 || p[i] > 0x7e)
			return false;
		ret[i] = (char)p[i];
	}
	ret[4] = '\0';
	return true;
}

static const char *
algorithm_name(uint32_t word)
{
	switch (word) {
	case 17:
		return "3DES";
	case 42:
		return "RSA";
	case 0x80000001U:
		return "AES";
	default:
		return NULL;
	}
}

static void
value_json(const struct column *c, const struct kc_value *v,
    struct ck_buf *out)
{
	char iso[CK_CLOCK_ISO_SIZE], code[5];
	int64_t when;

	if (!v->present) {
		js_null(out, c->name);
		return;
	}
	switch (c->as) {
	case AS_WORD:
	case AS_ALGORITHM:
		js_number(out, c->name, v->word);
		return;
	case AS_CODE:
		if (code_text(v->word, code))
			js_text(out, c->name, code);
		else
			js_number(out, c->name, v->word);
		return;
	case AS_DATE:
		if (kc_date_parse(v->bytes, &when)) {
			ck_clock_iso(when, iso);
			js_text(out, c->name, iso);
			return;
		}
		break;           /* no date: the bytes themselves */
	case AS_HEX:
		js_hex(out, c->name, v->bytes);
		return;
	case AS_BYTES:
		break;
	}
	js_bytes(out, c->name, v->bytes);
}

/* Digits, and the text when it happens to be one: a key's label is a hash or
 * a name, as its maker liked. */
static void
show_hex(struct ck_buf *out, struct ck_span s)
{
	bool text = true;

	for (size_t i = 0; i < s.n; i++) {
		ck_buf_format(out, "%02x", s.p[i]);
		text = text && s.p[i] >= 0x20 && s.p[i] < 0x7f;
	}
	if (!text)
		return;
	ck_buf_text(out, " \"");
	cli_show_bytes(out, s);
	ck_buf_text(out, "\"");
}

/* A value on one line; nothing for one that says nothing. */
static void
value_text(const struct column *c, const struct kc_value *v,
    struct ck_buf *out)
{
	char iso[CK_CLOCK_ISO_SIZE], code[5];
	int64_t when;

	if (!v->present || (c->as == AS_CODE && v->word == 0))
		return;
	ck_buf_format(out, "  %-17s ", c->name);
	if (c->as == AS_CODE && code_text(v->word, code))
		ck_buf_text(out, code);
	else if (c->as == AS_ALGORITHM && algorithm_name(v->word) != NULL)
		ck_buf_text(out, algorithm_name(v->word));
	else if (c->as == AS_WORD || c->as == AS_CODE ||
	    c->as == AS_ALGORITHM)
		ck_buf_format(out, "%u", v->word);
	else if (v->bytes.n == 0)
		ck_buf_text(out, "(empty)");
	else if (c->as == AS_HEX)
		show_hex(out, v->bytes);
	else if (c->as == AS_DATE && kc_date_parse(v->bytes, &when)) {
		ck_clock_iso(when, iso);
		ck_buf_text(out, iso);
	} else
		cli_show_bytes(out, v->bytes);
	ck_buf_text(out, "\n");
}

static void
show_access(const struct kc_acl_info *info, bool json, struct ck_buf *out)
{
	if (!json) {
		ck_buf_format(out, "  %-17s %s\n", "access",
		    access_name(info));
		for (size_t i = 0; i < info->ntrusted; i++) {
			ck_buf_format(out, "  %-17s ", "trusts");
			cli_show_bytes(out, info->trusted[i]);
			ck_buf_text(out, "\n");
		}
		return;
	}
	js_text(out, "access", access_name(info));
	js_name(out, "trusted");
	js_open(out, '[');
	for (size_t i = 0; i < info->ntrusted; i++) {
		js_open(out, '{');
		js_bytes(out, "path", info->trusted[i]);
		js_shut(out, '}');
	}
	js_shut(out, ']');
}

/* verify makes a failure of it; a list goes on. */
static void
show_no_access(const struct ck_fail *fail, bool json, struct ck_buf *out)
{
	if (json)
		js_text(out, "access", "damaged");
	else
		ck_buf_format(out, "  %-17s damaged: %s\n", "access",
		    fail->why);
}

static ck_err
show_one(struct kc *kc, const struct kind *kind, const struct kc_record *rec,
    bool json, struct ck_buf *out, struct ck_fail *fail)
{
	struct kc_acl_info info;
	struct kc_value v;
	ck_err r;

	if (json) {
		js_open(out, '{');
		js_text(out, "class", kind->name);
		js_number(out, "number", rec->number);
	} else {
		ck_buf_format(out, "%s %u\n", kind->name, rec->number);
	}
	for (size_t i = 0; i < kind->ncolumns; i++) {
		r = kc_db_value(kc_db(kc), rec, kind->column[i].attr, &v,
		    fail);
		if (r == CK_UNSUPPORTED)
			continue;   /* this file's relation has no such column */
		if (r != CK_OK)
			return r;
		if (json)
			value_json(&kind->column[i], &v, out);
		else
			value_text(&kind->column[i], &v, out);
	}
	if (kind->access) {
		r = kc_item_access(kc, rec, &info, fail);
		if (r == CK_OK)
			show_access(&info, json, out);
		else if (r == CK_DAMAGED)
			show_no_access(fail, json, out);
		else if (r != CK_UNSUPPORTED)
			return r;
	}
	if (json)
		js_shut(out, '}');
	return CK_OK;
}

ck_err
show_record(struct kc *kc, const struct kc_record *rec, bool json,
    struct ck_buf *out, struct ck_fail *fail)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].relation == rec->relation)
			return show_one(kc, &kinds[i], rec, json, out, fail);
	return ck_fail_set(fail, CK_UNSUPPORTED, kc_path(kc),
	    "records of the relation 0x%08lx cannot be shown",
	    (unsigned long)rec->relation);
}

/* The key of a password item says nothing that the item does not. */
static bool
belongs_to_item(struct kc *kc, const struct kc_record *rec)
{
	struct kc_value v;

	return rec->relation == KC_REL_SYMMETRIC_KEY &&
	    kc_db_value(kc_db(kc), rec, 6, &v, NULL) == CK_OK && v.present &&
	    v.bytes.n == 20 && memcmp(v.bytes.p, "ssgp", 4) == 0;
}

ck_err
show_all(struct kc *kc, bool json, struct ck_buf *out, struct ck_fail *fail)
{
	struct kc_record rec;
	uint32_t number;
	ck_err r;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kc_db_relation(kc_db(kc), kinds[i].relation) == NULL)
			continue;
		number = 0;
		while ((r = kc_db_next(kc_db(kc), kinds[i].relation, &number,
		    &rec, fail)) == CK_OK) {
			if (belongs_to_item(kc, &rec))
				continue;
			if ((r = show_one(kc, &kinds[i], &rec, json, out,
			    fail)) != CK_OK)
				return r;
		}
		if (r != CK_ABSENT)
			return r;
	}
	return CK_OK;
}
