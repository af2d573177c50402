/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing ACL blobs in the shapes that macOS gives new items
 * (docs/keychain-format.md, sections 14.4 and 15.1).  Padding is zero.
 */
#include "acl.h"

#include <string.h>

#include "acl_wire.h"

static const uint32_t encrypt_rights[] = { ACL_ENCRYPT };
static const uint32_t decrypt_rights[] = {
	ACL_DECRYPT, ACL_DERIVE, ACL_EXPORT_CLEAR, ACL_EXPORT_WRAPPED,
	ACL_MAC, ACL_SIGN
};
static const uint32_t integrity_rights[] = { ACL_INTEGRITY };
static const uint32_t partition_rights[] = { ACL_PARTITION_ID };

static void
put_string(struct ck_buf *b, struct ck_span text)
{
	ck_buf_span(b, text);
	ck_buf_zeros(b, 1);
	ck_buf_align4(b);
}

static void
put_counted(struct ck_buf *b, struct ck_span bytes)
{
	ck_buf_u32(b, (uint32_t)bytes.n);
	ck_buf_span(b, bytes);
	ck_buf_align4(b);
}

static void
put_prompt(struct ck_buf *b, struct ck_span description)
{
	ck_buf_u32(b, 1U << ACL_VERSION_SHIFT | ACL_PROMPT);
	ck_buf_u32(b, ACL_SELECTOR);
	put_string(b, description);
}

/* One of n subjects suffices; the number of subjects comes first. */
static void
put_threshold(struct ck_buf *b, size_t n)
{
	ck_buf_u32(b, ACL_THRESHOLD);
	ck_buf_u32(b, (uint32_t)n);
	ck_buf_u32(b, 1);
}

static void
put_code(struct ck_buf *b, const struct kc_trusted *t)
{
	struct ck_span hash = { t->hash, sizeof(t->hash) };
	struct ck_buf bag = CK_BUF_INIT;

	ck_buf_text(&bag, t->path);
	ck_buf_zeros(&bag, 1);
	if (t->requirement.n > 0) {
		ck_buf_align4(&bag);
		ck_buf_span(&bag, t->requirement);
	}
	ck_buf_u32(b, ACL_CODE);
	ck_buf_u32(b, 1);
	put_counted(b, hash);
	put_counted(b, ck_buf_view(&bag));
	b->failed = b->failed || bag.failed;
	ck_buf_free(&bag);
}

/* The end of an entry: tag, "not every authorization", the authorizations. */
static void
put_rights(struct ck_buf *b, const char *tag, const uint32_t *rights,
    size_t n)
{
	put_string(b, CK_SPAN_TEXT(tag));
	ck_buf_u32(b, 0);
	ck_buf_u32(b, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		ck_buf_u32(b, rights[i]);
}

static void
put_payload(struct ck_buf *b, struct ck_span payload, const char *tag,
    const uint32_t *rights)
{
	ck_buf_u32(b, 0);
	ck_buf_u32(b, ACL_PAYLOAD);
	put_counted(b, payload);
	put_rights(b, tag, rights, 1);
}

/* The property list, to the byte as macOS writes it. */
static void
put_partitions(struct ck_buf *b, const char *const *ids, size_t n)
{
	struct ck_buf list = CK_BUF_INIT;

	ck_buf_text(&list,
	    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" "
	    "\"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n"
	    "<plist version=\"1.0\">\n"
	    "<dict>\n"
	    "\t<key>Partitions</key>\n"
	    "\t<array>\n");
	for (size_t i = 0; i < n; i++)
		ck_buf_format(&list, "\t\t<string>%s</string>\n", ids[i]);
	ck_buf_text(&list,
	    "\t</array>\n"
	    "</dict>\n"
	    "</plist>\n");
	put_payload(b, ck_buf_view(&list), ACL_PARTITION_TAG,
	    partition_rights);
	b->failed = b->failed || list.failed;
	ck_buf_free(&list);
}

void
kc_acl_open(struct ck_buf *out)
{
	struct ck_buf b = CK_BUF_INIT;

	ck_buf_u32(&b, 0);
	ck_buf_u32(&b, ACL_ANY);
	ck_buf_u32(&b, 1);
	ck_buf_u32(&b, 0);
	ck_buf_u32(&b, ACL_ANY);
	put_string(&b, (struct ck_span)CK_SPAN_NONE);
	ck_buf_u32(&b, ACL_EVERY);
	out->failed = out->failed || b.failed;
	ck_buf_span(out, ck_buf_view(&b));
	ck_buf_free(&b);
}

/* A code-signing blob tells its own length in its second word. */
static bool
trusted_usable(const struct kc_trusted *t)
{
	if (t->path == NULL || t->path[0] == '\0')
		return false;
	if (t->requirement.n == 0)
		return true;
	return t->requirement.n >= 8 &&
	    ck_get_be32(t->requirement.p + 4) == t->requirement.n;
}

/* Ids go into XML without escapes, so only what needs none may be in them. */
static bool
partition_usable(const char *id)
{
	if (id == NULL || id[0] == '\0')
		return false;
	for (const char *p = id; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~' || *p == '<' || *p == '>' ||
		    *p == '&')
			return false;
	return true;
}

static bool
usable(enum kc_access access, const struct kc_trusted *trusted,
    size_t ntrusted, const uint8_t *digest, const char *const *partitions,
    size_t npartitions)
{
	if (access != KC_ACCESS_ANY && access != KC_ACCESS_TRUSTED &&
	    access != KC_ACCESS_NONE)
		return false;
	if (ntrusted > KC_ACL_TRUSTED_MAX ||
	    (access == KC_ACCESS_TRUSTED) != (ntrusted > 0))
		return false;
	for (size_t i = 0; i < ntrusted; i++)
		if (!trusted_usable(&trusted[i]))
			return false;
	/* One entry without the other makes macOS doubt the item. */
	if ((digest != NULL) != (npartitions > 0) ||
	    npartitions > KC_ACL_PARTITIONS_MAX)
		return false;
	for (size_t i = 0; i < npartitions; i++)
		if (!partition_usable(partitions[i]))
			return false;
	return true;
}

/* The prompt must come last in each threshold. */
static void
put_decrypt(struct ck_buf *b, struct ck_span description,
    enum kc_access access, const struct kc_trusted *trusted, size_t ntrusted)
{
	ck_buf_u32(b, 0);
	if (access == KC_ACCESS_ANY) {
		put_threshold(b, 2);
		ck_buf_u32(b, ACL_ANY);
	} else
		put_threshold(b, ntrusted + 1);
	for (size_t i = 0; i < ntrusted; i++)
		put_code(b, &trusted[i]);
	put_prompt(b, description);
	put_rights(b, "", decrypt_rights,
	    sizeof(decrypt_rights) / sizeof(decrypt_rights[0]));
}

ck_err
kc_acl_item(struct ck_span description, enum kc_access access,
    const struct kc_trusted *trusted, size_t ntrusted, const uint8_t *digest,
    const char *const *partitions, size_t npartitions, struct ck_buf *out)
{
	struct ck_buf b = CK_BUF_INIT;
	const uint8_t *nul;
	ck_err r;

	if (!usable(access, trusted, ntrusted, digest, partitions,
	    npartitions))
		return CK_REFUSED;
	/* The prompt is a C string; macOS cuts a label there as well. */
	nul = description.n == 0 ? NULL :
	    memchr(description.p, 0, description.n);
	if (nul != NULL)
		description.n = (size_t)(nul - description.p);
	ck_buf_u32(&b, 0);
	put_threshold(&b, 1);
	put_prompt(&b, description);
	ck_buf_u32(&b, digest == NULL ? 2 : 4);
	ck_buf_u32(&b, 0);
	put_threshold(&b, 2);
	ck_buf_u32(&b, ACL_ANY);
	put_prompt(&b, description);
	put_rights(&b, "", encrypt_rights, 1);
	put_decrypt(&b, description, access, trusted, ntrusted);
	if (digest != NULL) {
		put_payload(&b, (struct ck_span){ digest, KC_DIGEST_BYTES },
		    ACL_INTEGRITY_TAG, integrity_rights);
		put_partitions(&b, partitions, npartitions);
	}
	if ((r = ck_buf_ok(&b)) != CK_OK)
		goto out;
	ck_buf_span(out, ck_buf_view(&b));
	r = ck_buf_ok(out);
out:
	ck_buf_free(&b);
	return r;
}
