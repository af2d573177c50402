/* SPDX-License-Identifier: Apache-2.0 */
/* Finding items and keys, and decrypting them; see keychain.h. */
#include "keychain/keychain.h"

#include <string.h>

#include "keychain/kc_int.h"

struct kc_value
kc_bytes_value(struct ck_span s)
{
	struct kc_value v = { true, 0, s };

	return v;
}

struct kc_value
kc_word_value(uint32_t w)
{
	struct kc_value v = { true, w, CK_SPAN_NONE };

	return v;
}

/* Does rec carry exactly these two names? */
static ck_err
names_match(struct kc *kc, const struct kc_record *rec,
    struct ck_span service, struct ck_span account, bool *ret,
    struct ck_fail *fail)
{
	struct kc_value s, a;
	ck_err r;

	r = kc_db_value(kc->db, rec, KC_ATTR_SERVICE, &s, fail);
	if (r == CK_OK)
		r = kc_db_value(kc->db, rec, KC_ATTR_ACCOUNT, &a, fail);
	if (r == CK_OK)
		*ret = s.present && a.present &&
		    ck_span_equal(s.bytes, service) &&
		    ck_span_equal(a.bytes, account);
	return r;
}

/* The quick way: a hit in the unique index, checked against the record. */
static ck_err
find_by_index(struct kc *kc, struct ck_span service, struct ck_span account,
    bool *ret_hit, struct kc_record *ret)
{
	const uint32_t order[] = { KC_ATTR_ACCOUNT, KC_ATTR_SERVICE };
	struct kc_value keys[2];
	struct kc_record rec;
	uint32_t index, number;
	bool hit = false;
	ck_err r;

	*ret_hit = false;
	keys[0] = kc_bytes_value(account);
	keys[1] = kc_bytes_value(service);
	r = kc_db_index_for(kc->db, KC_REL_GENERIC, order, 2, &index, NULL);
	if (r == CK_OK)
		r = kc_db_lookup(kc->db, KC_REL_GENERIC, index, keys, 2, &hit,
		    &number, NULL);
	if (r != CK_OK || !hit)
		return r;
	r = kc_db_record(kc->db, KC_REL_GENERIC, number, &rec, NULL);
	if (r == CK_OK)
		r = names_match(kc, &rec, service, account, &hit, NULL);
	if (r == CK_OK && hit) {
		*ret = rec;
		*ret_hit = true;
	}
	return r;
}

/* The sure way: every record. */
static ck_err
find_by_scan(struct kc *kc, struct ck_span service, struct ck_span account,
    struct kc_record *ret, struct ck_fail *fail)
{
	struct kc_record rec;
	uint32_t number = 0;
	bool match;
	ck_err r;

	while ((r = kc_db_next(kc->db, KC_REL_GENERIC, &number, &rec,
	    fail)) == CK_OK) {
		if ((r = names_match(kc, &rec, service, account, &match,
		    fail)) != CK_OK)
			return r;
		if (match) {
			*ret = rec;
			return CK_OK;
		}
	}
	return r;
}

ck_err
kc_find(struct kc *kc, struct ck_span service, struct ck_span account,
    struct kc_record *ret, struct ck_fail *fail)
{
	bool hit = false;
	ck_err r;

	/* Whatever goes wrong with the index, the records decide. */
	r = find_by_index(kc, service, account, &hit, ret);
	if (r == CK_OK && hit)
		return CK_OK;
	if (r == CK_NOMEM || r == CK_IO || r == CK_CHANGED)
		return ck_fail_set(fail, r, kc->path, "cannot be read: %s",
		    ck_err_text(r));
	if (kc_db_relation(kc->db, KC_REL_GENERIC) == NULL)
		return ck_fail_set(fail, CK_DAMAGED, kc->path,
		    "has no table of generic passwords");
	r = find_by_scan(kc, service, account, ret, fail);
	if (r == CK_ABSENT)
		return ck_fail_set(fail, r, kc->path, "has no such item");
	return r;
}

/* Compare the Label of a key record. */
static ck_err
label_matches(struct kc *kc, const struct kc_record *rec,
    struct ck_span label, bool *ret, struct ck_fail *fail)
{
	struct kc_value v;
	ck_err r;

	/* Key relations: the attribute id is the column, 6 is Label. */
	r = kc_db_value(kc->db, rec, 6, &v, fail);
	if (r == CK_OK)
		*ret = v.present && ck_span_equal(v.bytes, label);
	return r;
}

static ck_err
key_by_index(struct kc *kc, struct ck_span label, bool *ret_hit,
    struct kc_record *ret)
{
	const uint32_t order[] = { 6 };
	struct kc_value key = kc_bytes_value(label);
	struct kc_record rec;
	uint32_t index, number;
	bool hit = false;
	ck_err r;

	*ret_hit = false;
	r = kc_db_index_for(kc->db, KC_REL_SYMMETRIC_KEY, order, 1, &index,
	    NULL);
	if (r == CK_OK)
		r = kc_db_lookup(kc->db, KC_REL_SYMMETRIC_KEY, index, &key, 1,
		    &hit, &number, NULL);
	if (r != CK_OK || !hit)
		return r;
	r = kc_db_record(kc->db, KC_REL_SYMMETRIC_KEY, number, &rec, NULL);
	if (r == CK_OK)
		r = label_matches(kc, &rec, label, &hit, NULL);
	if (r == CK_OK && hit) {
		*ret = rec;
		*ret_hit = true;
	}
	return r;
}

ck_err
kc_label_key(struct kc *kc, struct ck_span label, size_t *ret_found,
    struct kc_record *ret, struct ck_fail *fail)
{
	struct kc_record rec;
	uint32_t number = 0;
	size_t found = 0;
	bool match = false;
	ck_err r;

	if (key_by_index(kc, label, &match, ret) == CK_OK && match) {
		*ret_found = 1;
		return CK_OK;
	}
	while ((r = kc_db_next(kc->db, KC_REL_SYMMETRIC_KEY, &number, &rec,
	    fail)) == CK_OK) {
		if ((r = label_matches(kc, &rec, label, &match,
		    fail)) != CK_OK)
			return r;
		if (match && found++ == 0)
			*ret = rec;
	}
	if (r != CK_ABSENT)
		return r;
	*ret_found = found;
	return CK_OK;
}

ck_err
kc_item_key(struct kc *kc, const struct kc_record *item,
    struct kc_record *ret, struct ck_fail *fail)
{
	struct kc_record key;
	struct ck_span label;
	size_t found = 0;
	ck_err r;

	if (!kc_item_data_label(item->data, &label))
		return ck_fail_set(fail, CK_UNSUPPORTED, kc->path,
		    "the item is stored without a key of its own");
	if ((r = kc_label_key(kc, label, &found, &key, fail)) != CK_OK)
		return r;
	if (found != 1)
		return ck_fail_set(fail, CK_DAMAGED, kc->path, found == 0 ?
		    "an item has no key record" :
		    "several key records claim the same item");
	*ret = key;
	return CK_OK;
}

ck_err
kc_check_digest(struct kc *kc, const struct kc_record *rec,
    struct ck_span acl, struct ck_fail *fail)
{
	const struct kc_relation *rel = kc_db_relation(kc->db, rec->relation);
	struct kc_value values[KC_VALUES_MAX];
	uint8_t digest[KC_DIGEST_BYTES];
	struct kc_acl_info info;
	ck_err r;

	kc_acl_inspect(acl, &info);
	if (!info.has_digest)
		return CK_OK;
	if (rel == NULL || rel->nattrs > KC_VALUES_MAX)
		return ck_fail_set(fail, CK_UNSUPPORTED, kc->path,
		    "an item has more attributes than are known");
	if ((r = kc_db_values(kc->db, rec, values, fail)) != CK_OK)
		return r;
	if ((r = kc_attr_digest(rel, values, digest)) != CK_OK)
		return ck_fail_set(fail, r, kc->path,
		    "the attribute digest cannot be computed");
	if (memcmp(digest, info.digest, sizeof(digest)) != 0)
		return ck_fail_set(fail, CK_DAMAGED, kc->path,
		    "the attributes of an item were changed outside the "
		    "keychain's rules (integrity digest differs)");
	return CK_OK;
}

/*
 * Parse a key record's blob, check its MAC and unwrap it.  of_item: nothing
 * but an authenticated item key will do.
 */
static ck_err
open_key(struct kc *kc, const struct kc_record *rec, bool of_item,
    struct kc_key_blob *ret_blob, struct ck_secret *ret,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = kc_need_keys(kc, fail)) != CK_OK)
		return r;
	r = kc_key_blob_parse(rec->data, kc->path, ret_blob, fail);
	if (r != CK_OK)
		return r;
	if (ret_blob->cleartext && rec->relation != KC_REL_PUBLIC_KEY)
		return ck_fail_set(fail, CK_DAMAGED, kc->path,
		    "a secret key is marked as cleartext");
	r = of_item ? kc_item_key_open(ret_blob, &kc->keys, ret) :
	    kc_key_blob_open(ret_blob, &kc->keys, ret, NULL);
	if (r == CK_NOMEM)
		return ck_fail_set(fail, r, kc->path,
		    "no secure memory for a key");
	if (r != CK_OK)
		return ck_fail_set(fail, r, kc->path,
		    "a key does not pass its authentication check");
	return CK_OK;
}

ck_err
kc_item_secret(struct kc *kc, const struct kc_record *item,
    struct ck_secret *ret, struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	struct kc_key_blob blob;
	struct kc_record keyrec;
	struct ck_span label;
	ck_err r;

	if ((r = kc_need_keys(kc, fail)) != CK_OK)
		return r;
	/* Section 13.1: data without the mark is not encrypted. */
	if (!kc_item_data_label(item->data, &label)) {
		r = ck_secret_copy(item->data.p, item->data.n, ret);
		return r == CK_OK ? r : ck_fail_set(fail, r, kc->path,
		    "no secure memory for the item");
	}
	if ((r = kc_item_key(kc, item, &keyrec, fail)) != CK_OK)
		return r;
	if ((r = open_key(kc, &keyrec, true, &blob, &key, fail)) != CK_OK)
		goto out;
	if ((r = kc_check_digest(kc, item, blob.public_acl, fail)) != CK_OK)
		goto out;
	r = kc_item_data_open(item->data, &key, ret);
	if (r != CK_OK)
		(void)ck_fail_set(fail, r, kc->path, r == CK_NOMEM ?
		    "no secure memory for the item" :
		    "an item cannot be decrypted");
out:
	ck_secret_wipe(&key);
	return r;
}

/* A symmetric key that belongs to a password item has the item's label. */
static ck_err
is_item_key(struct kc *kc, const struct kc_record *rec, bool *ret,
    struct ck_fail *fail)
{
	struct kc_value v;
	ck_err r;

	*ret = false;
	if (rec->relation != KC_REL_SYMMETRIC_KEY)
		return CK_OK;
	if ((r = kc_db_value(kc->db, rec, 6, &v, fail)) == CK_OK)
		*ret = v.present && v.bytes.n == KC_LABEL_BYTES &&
		    memcmp(v.bytes.p, "ssgp", 4) == 0;
	return r;
}

ck_err
kc_key_raw(struct kc *kc, const struct kc_record *rec,
    struct ck_secret *ret, struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	struct kc_key_blob blob;
	bool of_item = false;
	ck_err r;

	if ((r = open_key(kc, rec, false, &blob, &key, fail)) != CK_OK)
		return r;
	/* An item key's digest covers its item, not itself. */
	if ((r = is_item_key(kc, rec, &of_item, fail)) == CK_OK && !of_item)
		r = kc_check_digest(kc, rec, blob.public_acl, fail);
	if (r == CK_OK)
		ck_secret_move(ret, &key);
	ck_secret_wipe(&key);
	return r;
}

ck_err
kc_item_access(struct kc *kc, const struct kc_record *rec,
    struct kc_acl_info *ret, struct ck_fail *fail)
{
	struct kc_record keyrec = *rec;
	struct kc_key_blob blob;
	ck_err r;

	if (rec->relation == KC_REL_GENERIC ||
	    rec->relation == KC_REL_INTERNET ||
	    rec->relation == KC_REL_APPLESHARE) {
		if ((r = kc_item_key(kc, rec, &keyrec, fail)) != CK_OK)
			return r;
	}
	r = kc_key_blob_parse(keyrec.data, kc->path, &blob, fail);
	if (r != CK_OK)
		return r;
	kc_acl_inspect(blob.public_acl, ret);
	return CK_OK;
}
