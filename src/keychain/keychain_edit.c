/* SPDX-License-Identifier: Apache-2.0 */
/* Adding, changing and removing items; see keychain.h. */
#include "keychain/keychain.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

#include "keychain/kc_int.h"

/* CSP that made the keys, with its NUL (section 13.2). */
static const char key_creator[] = "{87191ca2-0fc9-11d4-849a-000502b52122}";

/* Programs that macOS lets read an item of a version 0x200 file: the
 * security tool and Apple's own (section 15.1). */
static const char *const partitions[] = { "apple-tool:", "apple:" };

ck_err
kc_need_write(struct kc *kc, struct ck_fail *fail)
{
	ck_err r;

	if (!kc->writing)
		return ck_fail_set(fail, CK_INTERNAL, kc->path,
		    "was opened for reading only");
	if (kc->begun)
		return CK_OK;
	if ((r = kc_db_begin(kc->db, fail)) == CK_OK)
		kc->begun = true;
	return r;
}

/* An existing item is changed once: what is read for a second change would
 * still be the file's content, and undo the first. */
static ck_err
once(struct kc *kc, const struct kc_record *item, struct ck_fail *fail)
{
	const uint8_t *p = kc->touched.p;

	for (size_t i = 0; i < kc->touched.n; i += 8)
		if (ck_get_be32(p + i) == item->relation &&
		    ck_get_be32(p + i + 4) == item->number)
			return ck_fail_set(fail, CK_UNSUPPORTED, kc->path,
			    "an item cannot be changed twice in one step");
	ck_buf_u32(&kc->touched, item->relation);
	ck_buf_u32(&kc->touched, item->number);
	if (ck_buf_ok(&kc->touched) != CK_OK)
		return ck_fail_set(fail, CK_NOMEM, kc->path, "no memory");
	return CK_OK;
}

/* The second half of a change: without it the first must not be written. */
static ck_err
second_half(struct kc *kc, ck_err r)
{
	if (r != CK_OK)
		kc->torn = true;
	return r;
}

/* The fresh random parts of one item. */
struct item_parts {
	uint8_t label[KC_LABEL_BYTES];
	uint8_t key_iv[8];
	uint8_t data_iv[8];
	struct ck_secret key;
};

static ck_err
item_parts_make(struct item_parts *ret, struct ck_fail *fail)
{
	memcpy(ret->label, "ssgp", 4);
	if (RAND_bytes(ret->label + 4, 16) != 1 ||
	    RAND_bytes(ret->key_iv, 8) != 1 ||
	    RAND_bytes(ret->data_iv, 8) != 1 ||
	    ck_secret_random(KC_ITEM_KEY_BYTES, &ret->key) != CK_OK)
		return ck_fail_set(fail, CK_IO, NULL,
		    "the system's random generator failed");
	return CK_OK;
}

/* All 27 attributes of an item's key record, section 13.2. */
static void
key_values(const uint8_t label[KC_LABEL_BYTES], struct kc_value v[27])
{
	static const uint8_t no_date[8] = { 0 };
	const struct ck_span name = { label, KC_LABEL_BYTES };
	const struct ck_span date = { no_date, sizeof(no_date) };
	const struct ck_span creator = { (const uint8_t *)key_creator,
	    sizeof(key_creator) };
	const struct ck_span none = CK_SPAN_NONE;

	v[0] = kc_word_value(KC_REL_SYMMETRIC_KEY);   /* KeyClass */
	v[1] = kc_bytes_value(name);                  /* PrintName */
	v[2] = kc_bytes_value(none);                  /* Alias */
	v[3] = kc_word_value(1);                      /* Permanent */
	v[4] = kc_word_value(0);                      /* Private */
	v[5] = kc_word_value(0);                      /* Modifiable */
	v[6] = kc_bytes_value(name);                  /* Label */
	v[7] = kc_bytes_value(none);                  /* ApplicationTag */
	v[8] = kc_bytes_value(creator);               /* KeyCreator */
	v[9] = kc_word_value(17);                     /* KeyType */
	v[10] = kc_word_value(192);                   /* KeySizeInBits */
	v[11] = kc_word_value(192);                   /* EffectiveKeySize */
	v[12] = kc_bytes_value(date);                 /* StartDate */
	v[13] = kc_bytes_value(date);                 /* EndDate */
	v[14] = kc_word_value(1);                     /* Sensitive */
	v[15] = kc_word_value(1);                     /* AlwaysSensitive */
	v[16] = kc_word_value(0);                     /* Extractable */
	v[17] = kc_word_value(1);                     /* NeverExtractable */
	v[18] = kc_word_value(1);                     /* Encrypt */
	v[19] = kc_word_value(1);                     /* Decrypt */
	for (size_t i = 20; i < 27; i++)              /* Derive .. Unwrap */
		v[i] = kc_word_value(0);
}

/* The relation, or why it cannot be used here. */
static ck_err
need_relation(struct kc *kc, uint32_t id, size_t attrs_min,
    const struct kc_relation **ret, struct ck_fail *fail)
{
	const struct kc_relation *rel = kc_db_relation(kc->db, id);

	if (rel == NULL) {
		(void)ck_fail_set(fail, CK_DAMAGED, kc->path,
		    "lacks the table 0x%08lx", (unsigned long)id);
		return CK_DAMAGED;
	}
	if (rel->nattrs < attrs_min || rel->nattrs > KC_VALUES_MAX) {
		(void)ck_fail_set(fail, CK_UNSUPPORTED, kc->path,
		    "the table 0x%08lx has %zu attributes", (unsigned long)id,
		    rel->nattrs);
		return CK_UNSUPPORTED;
	}
	*ret = rel;
	return CK_OK;
}

static ck_err
set_column(struct kc *kc, const struct kc_relation *rel, uint32_t attr,
    struct kc_value value, struct kc_value *values, struct ck_fail *fail)
{
	size_t col = kc_relation_column(rel, attr);

	if (col >= rel->nattrs)
		return ck_fail_set(fail, CK_UNSUPPORTED, kc->path,
		    "the table 0x%08lx lacks the attribute 0x%08lx",
		    (unsigned long)rel->id, (unsigned long)attr);
	values[col] = value;
	return CK_OK;
}

/* Attribute values of a new generic password, section 13.3. */
static ck_err
item_values(struct kc *kc, const struct kc_relation *rel,
    const struct kc_new_item *item, struct ck_span label,
    const uint8_t date[16], struct kc_value *values, struct ck_fail *fail)
{
	const struct ck_span when = { date, 16 };
	const struct {
		struct ck_span value;
		uint32_t attr;
		bool present;
	} fill[] = {
		{ when, KC_ATTR_CREATED, true },
		{ when, KC_ATTR_MODIFIED, true },
		{ item->kind, KC_ATTR_KIND, item->kind.n > 0 },
		{ item->comment, KC_ATTR_COMMENT, item->comment.n > 0 },
		{ label, KC_ATTR_LABEL, true },
		{ item->account, KC_ATTR_ACCOUNT, true },
		{ item->service, KC_ATTR_SERVICE, true },
	};
	ck_err r;

	memset(values, 0, rel->nattrs * sizeof(*values));
	for (size_t i = 0; i < sizeof(fill) / sizeof(fill[0]); i++) {
		if (!fill[i].present)
			continue;
		r = set_column(kc, rel, fill[i].attr,
		    kc_bytes_value(fill[i].value), values, fail);
		if (r != CK_OK)
			return r;
	}
	return CK_OK;
}

/* The KeyBlob of a new item key with its access list. */
static ck_err
new_key_blob(struct kc *kc, const struct item_parts *parts,
    struct ck_span acl, const struct ck_secret *private_acl,
    struct ck_buf *out, struct ck_fail *fail)
{
	struct kc_key_blob blob;
	ck_err r;

	memset(&blob, 0, sizeof(blob));
	blob.version = kc->blob.version;
	memcpy(blob.iv, parts->key_iv, sizeof(blob.iv));
	blob.header = kc_item_key_header;
	blob.wrapped[0] = 3;
	blob.wrapped[1] = 100;
	blob.wrapped[2] = 17;
	blob.wrapped[3] = 6;
	blob.public_acl = acl;
	r = kc_key_blob_encode(&blob, &kc->keys, &parts->key,
	    private_acl, out);
	if (r != CK_OK)
		return ck_fail_set(fail, r, kc->path,
		    "an item key cannot be wrapped");
	return CK_OK;
}

/* Build the ACL of a new item; version 0x200 adds digest and partitions. */
static ck_err
new_acl(struct kc *kc, const struct kc_relation *rel,
    const struct kc_value *values, const struct kc_new_item *item,
    struct ck_span label, struct ck_buf *out, struct ck_fail *fail)
{
	uint8_t digest[KC_DIGEST_BYTES];
	bool extras = kc->blob.version == KC_BLOB_V200;
	ck_err r = CK_OK;

	if (extras)
		r = kc_attr_digest(rel, values, digest);
	if (r == CK_OK)
		r = kc_acl_item(label, item->access, item->trusted,
		    item->ntrusted, extras ? digest : NULL,
		    extras ? partitions : NULL, extras ? 2 : 0, out);
	if (r != CK_OK)
		return ck_fail_set(fail, r, kc->path,
		    "the access list cannot be built");
	return CK_OK;
}

ck_err
kc_put_item(struct kc *kc, const struct kc_value *values, struct ck_span acl,
    const struct ck_secret *private_acl, const struct ck_secret *secret,
    struct ck_fail *fail)
{
	struct item_parts parts = { { 0 }, { 0 }, { 0 }, CK_SECRET_INIT };
	struct ck_buf blob = CK_BUF_INIT, data = CK_BUF_INIT;
	const struct kc_relation *krel;
	struct kc_value kvalues[27];
	uint32_t number;
	ck_err r;

	if ((r = need_relation(kc, KC_REL_SYMMETRIC_KEY, 27, &krel,
	    fail)) != CK_OK)
		return r;
	if (krel->nattrs != 27)
		return ck_fail_set(fail, CK_UNSUPPORTED, kc->path,
		    "the key table has %zu attributes", krel->nattrs);
	if ((r = item_parts_make(&parts, fail)) != CK_OK)
		goto out;
	if ((r = new_key_blob(kc, &parts, acl, private_acl, &blob,
	    fail)) != CK_OK)
		goto out;
	r = kc_item_data_encode(parts.label, parts.data_iv, &parts.key, secret,
	    &data);
	if (r != CK_OK) {
		(void)ck_fail_set(fail, r, kc->path,
		    "the item cannot be encrypted");
		goto out;
	}
	key_values(parts.label, kvalues);
	/* The password first: its unique key decides whether there is a
	 * duplicate, and then no key record has been made. */
	r = kc_db_insert(kc->db, KC_REL_GENERIC, values, ck_buf_view(&data),
	    &number, fail);
	if (r == CK_REFUSED) {
		(void)ck_fail_set(fail, r, kc->path,
		    "has an item with this service and account already");
		ck_fail_next(fail, "clankie-keys keychain update changes it");
	}
	if (r != CK_OK)
		goto out;
	r = second_half(kc, kc_db_insert(kc->db, KC_REL_SYMMETRIC_KEY, kvalues,
	    ck_buf_view(&blob), &number, fail));
out:
	ck_secret_wipe(&parts.key);
	ck_buf_free(&blob);
	ck_buf_free(&data);
	return r;
}

ck_err
kc_add(struct kc *kc, const struct kc_new_item *item,
    const struct ck_secret *secret, struct ck_fail *fail)
{
	struct kc_value values[KC_VALUES_MAX];
	const struct kc_relation *rel;
	struct ck_buf acl = CK_BUF_INIT;
	struct ck_span label = item->label;
	uint8_t date[16];
	ck_err r;

	if (label.n == 0)
		label = item->service.n > 0 ? item->service : item->account;
	if ((r = kc_need_keys(kc, fail)) != CK_OK ||
	    (r = kc_need_write(kc, fail)) != CK_OK ||
	    (r = need_relation(kc, KC_REL_GENERIC, 14, &rel, fail)) != CK_OK)
		return r;
	kc_date_format(item->now, date);
	if ((r = item_values(kc, rel, item, label, date, values,
	    fail)) != CK_OK)
		goto out;
	if ((r = new_acl(kc, rel, values, item, label, &acl, fail)) != CK_OK)
		goto out;
	r = kc_put_item(kc, values, ck_buf_view(&acl), NULL, secret, fail);
out:
	ck_buf_free(&acl);
	return r;
}

/* Values of an item with mdat set to now. */
static ck_err
touched_values(struct kc *kc, const struct kc_record *item,
    const uint8_t date[16], const struct kc_relation **ret_rel,
    struct kc_value *values, struct ck_fail *fail)
{
	const struct ck_span when = { date, 16 };
	ck_err r;

	if ((r = need_relation(kc, item->relation, 1, ret_rel,
	    fail)) != CK_OK)
		return r;
	if ((r = kc_db_values(kc->db, item, values, fail)) != CK_OK)
		return r;
	return set_column(kc, *ret_rel, KC_ATTR_MODIFIED,
	    kc_bytes_value(when), values, fail);
}

/* Replace a key record's data and, when given, its label. */
static ck_err
put_key(struct kc *kc, const struct kc_record *keyrec, const uint8_t *label,
    struct ck_span data, struct ck_fail *fail)
{
	struct kc_value values[KC_VALUES_MAX];
	const struct kc_relation *rel;
	struct ck_span name = { label, KC_LABEL_BYTES };
	ck_err r;

	if ((r = need_relation(kc, keyrec->relation, 7, &rel, fail)) != CK_OK)
		return r;
	if ((r = kc_db_values(kc->db, keyrec, values, fail)) != CK_OK)
		return r;
	if (label != NULL) {
		values[1] = kc_bytes_value(name);
		values[6] = kc_bytes_value(name);
	}
	return kc_db_update(kc->db, keyrec->relation, keyrec->number, values,
	    data, fail);
}

/* Nothing of ours goes on top of a key that does not authenticate, or under a
 * digest that does not fit: it would look genuine afterwards. */
ck_err
kc_prove_key(struct kc *kc, const struct kc_record *item,
    const struct kc_record *keyrec, struct kc_key_blob *ret,
    struct ck_secret *ret_acl, struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	ck_err r;

	r = kc_key_blob_parse(keyrec->data, kc->path, ret, fail);
	if (r != CK_OK)
		return r;
	if ((r = kc_item_key_open(ret, &kc->keys, &key)) == CK_OK) {
		ck_secret_wipe(&key);
		r = kc_key_blob_open(ret, &kc->keys, &key, ret_acl);
	}
	ck_secret_wipe(&key);
	if (r != CK_OK)
		return ck_fail_set(fail, r, kc->path,
		    "a key does not pass its authentication check");
	return kc_check_digest(kc, item, ret->public_acl, fail);
}

ck_err
kc_set_secret(struct kc *kc, const struct kc_record *item,
    const struct ck_secret *secret, int64_t now, struct ck_fail *fail)
{
	struct item_parts parts = { { 0 }, { 0 }, { 0 }, CK_SECRET_INIT };
	struct ck_secret private_acl = CK_SECRET_INIT;
	struct kc_value values[KC_VALUES_MAX];
	struct ck_buf blob = CK_BUF_INIT, data = CK_BUF_INIT;
	const struct kc_relation *rel;
	struct kc_key_blob parsed;
	struct kc_record keyrec;
	uint8_t date[16];
	ck_err r;

	if ((r = kc_need_keys(kc, fail)) != CK_OK ||
	    (r = kc_need_write(kc, fail)) != CK_OK ||
	    (r = kc_item_key(kc, item, &keyrec, fail)) != CK_OK)
		return r;
	kc_date_format(now, date);
	if ((r = kc_prove_key(kc, item, &keyrec, &parsed, &private_acl,
	    fail)) != CK_OK)
		goto out;
	if ((r = item_parts_make(&parts, fail)) != CK_OK)
		goto out;
	if ((r = new_key_blob(kc, &parts, parsed.public_acl, &private_acl,
	    &blob, fail)) != CK_OK)
		goto out;
	r = kc_item_data_encode(parts.label, parts.data_iv, &parts.key, secret,
	    &data);
	if (r != CK_OK) {
		(void)ck_fail_set(fail, r, kc->path,
		    "the item cannot be encrypted");
		goto out;
	}
	if ((r = touched_values(kc, item, date, &rel, values, fail)) != CK_OK)
		goto out;
	if ((r = once(kc, item, fail)) != CK_OK)
		goto out;
	if ((r = kc_db_update(kc->db, item->relation, item->number, values,
	    ck_buf_view(&data), fail)) != CK_OK)
		goto out;
	r = second_half(kc, put_key(kc, &keyrec, parts.label,
	    ck_buf_view(&blob), fail));
out:
	ck_secret_wipe(&private_acl);
	ck_secret_wipe(&parts.key);
	ck_buf_free(&blob);
	ck_buf_free(&data);
	return r;
}

/*
 * The key blob of an item whose attributes become values: its digest follows
 * them.  Nothing is appended to out when the access list has none.
 */
static ck_err
reseal(struct kc *kc, const struct kc_record *item,
    const struct kc_record *keyrec, const struct kc_relation *rel,
    const struct kc_value *values, struct ck_buf *out, struct ck_fail *fail)
{
	struct ck_secret private_acl = CK_SECRET_INIT;
	struct ck_buf acl = CK_BUF_INIT;
	uint8_t digest[KC_DIGEST_BYTES];
	struct kc_acl_info info;
	struct kc_key_blob parsed;
	ck_err r;

	if ((r = kc_key_blob_parse(keyrec->data, kc->path, &parsed,
	    fail)) != CK_OK)
		return r;
	kc_acl_inspect(parsed.public_acl, &info);
	/* Only version 0x200 has digests; there an access list that cannot
	 * be read may hide one. */
	if (!info.has_digest &&
	    (info.understood || parsed.version == KC_BLOB_V100))
		return CK_OK;
	if ((r = kc_need_keys(kc, fail)) != CK_OK)
		return r;
	if ((r = kc_prove_key(kc, item, keyrec, &parsed, &private_acl,
	    fail)) != CK_OK)
		goto out;
	if ((r = kc_attr_digest(rel, values, digest)) != CK_OK ||
	    (r = kc_acl_set_digest(parsed.public_acl, digest, &acl)) != CK_OK ||
	    (r = kc_key_blob_reseal(&parsed, &kc->keys, ck_buf_view(&acl),
	    out)) != CK_OK)
		(void)ck_fail_set(fail, r, kc->path,
		    "the integrity entry of an item cannot be renewed");
out:
	ck_secret_wipe(&private_acl);
	ck_buf_free(&acl);
	return r;
}

ck_err
kc_set_attribute(struct kc *kc, const struct kc_record *item, uint32_t attr,
    struct ck_span value, int64_t now, struct ck_fail *fail)
{
	struct kc_value values[KC_VALUES_MAX];
	struct ck_buf blob = CK_BUF_INIT;
	const struct kc_relation *rel;
	struct kc_record keyrec;
	struct ck_span label;
	uint8_t date[16];
	size_t col;
	ck_err r;

	if ((r = kc_need_write(kc, fail)) != CK_OK)
		return r;
	kc_date_format(now, date);
	if ((r = touched_values(kc, item, date, &rel, values, fail)) != CK_OK)
		return r;
	col = kc_relation_column(rel, attr);
	if (col >= rel->nattrs || rel->attrs[col].format != KC_BLOB)
		return ck_fail_set(fail, CK_UNSUPPORTED, kc->path,
		    "the attribute 0x%08lx cannot be set", (unsigned long)attr);
	values[col] = kc_bytes_value(value);
	if (kc_item_data_label(item->data, &label)) {
		if ((r = kc_item_key(kc, item, &keyrec, fail)) != CK_OK ||
		    (r = reseal(kc, item, &keyrec, rel, values, &blob,
		    fail)) != CK_OK)
			goto out;
	}
	if ((r = once(kc, item, fail)) != CK_OK)
		goto out;
	if ((r = kc_db_update(kc->db, item->relation, item->number, values,
	    item->data, fail)) != CK_OK)
		goto out;
	if (blob.n > 0)
		r = second_half(kc, put_key(kc, &keyrec, NULL,
		    ck_buf_view(&blob), fail));
out:
	ck_buf_free(&blob);
	return r;
}

ck_err
kc_delete(struct kc *kc, const struct kc_record *item, struct ck_fail *fail)
{
	struct kc_record keyrec;
	struct ck_span label;
	size_t keys = 0;
	ck_err r;

	if ((r = kc_need_write(kc, fail)) != CK_OK)
		return r;
	/* An item whose key is missing can only go. */
	if (kc_item_data_label(item->data, &label) &&
	    (r = kc_label_key(kc, label, &keys, &keyrec, fail)) != CK_OK)
		return r;
	if (keys > 1)
		return ck_fail_set(fail, CK_DAMAGED, kc->path,
		    "several key records claim the same item");
	if ((r = once(kc, item, fail)) != CK_OK)
		return r;
	if ((r = kc_db_delete(kc->db, item->relation, item->number,
	    fail)) != CK_OK || keys == 0)
		return r;
	return second_half(kc, kc_db_delete(kc->db, keyrec.relation,
	    keyrec.number, fail));
}
