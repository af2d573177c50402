/* SPDX-License-Identifier: Apache-2.0 */
/* Making and checking the seal over the records; see seal.h. */
#include "custody/seal.h"

#include <string.h>

#include <openssl/crypto.h>

#include "base/hash.h"
#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/anchor.h"
#include "custody/dedicated.h"
#include "custody/view.h"

static ck_err
feed(void *arg, const void *bytes, size_t n)
{
	ck_hmac_add(arg, bytes, n);
	return CK_OK;
}

/* HMAC-SHA-256 of the canonical rows under key. */
static ck_err
compute(struct ck_records *rec, const struct ck_secret *key,
    uint8_t ret[CK_REC_MAC_SIZE], struct ck_fail *fail)
{
	struct ck_hmac *h = NULL;
	ck_err r;

	if ((r = ck_hmac_new(CK_SHA256, (struct ck_span){ key->p, key->n },
	    &h)) != CK_OK)
		return ck_fail_set(fail, r, NULL,
		    "no secure memory for the seal");
	if ((r = ck_records_canonical(rec, feed, h, fail)) == CK_OK)
		ck_hmac_end(h, ret);
	ck_hmac_free(&h);
	return r;
}

static ck_err
highest(void *arg, const struct ck_rec_credential *row)
{
	uint64_t *generation = arg;

	if (row->generation > *generation)
		*generation = row->generation;
	return CK_OK;
}

/* One seal covers every credential: it goes by the highest generation. */
static ck_err
seal_generation(struct ck_records *rec, uint64_t *ret, struct ck_fail *fail)
{
	*ret = 0;
	return ck_records_credential_each(rec, highest, ret, fail);
}

ck_err
ck_seal_write_key(struct ck_records *rec, const struct ck_secret *key,
    struct ck_fail *fail)
{
	uint8_t mac[CK_REC_MAC_SIZE];
	uint64_t generation;
	ck_err r;

	if ((r = seal_generation(rec, &generation, fail)) != CK_OK ||
	    (r = compute(rec, key, mac, fail)) != CK_OK)
		return r;
	return ck_records_seal_put(rec, generation, mac, fail);
}

ck_err
ck_seal_write(const struct ck_place *p, struct ck_records *rec,
    const struct ck_secret *password, struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_dedicated_read_both(p, password, NULL, &key,
	    fail)) == CK_OK)
		r = ck_seal_write_key(rec, &key, fail);
	ck_secret_wipe(&key);
	return r;
}

static ck_err
damaged(const struct ck_place *p, const char *why, struct ck_fail *fail)
{
	char file[CK_PATH_MAX];

	if (ck_path_join(p->dir, CK_REC_FILE, file, NULL) != CK_OK)
		memcpy(file, p->dir, sizeof(file));
	(void)ck_fail_set(fail, CK_DAMAGED, file, "%s", why);
	ck_advise(fail, p, "put %s back from a backup of this day, or see what "
	    "{doctor --rebuild} would make", CK_REC_FILE);
	return CK_DAMAGED;
}

/* Records that do not fit their seal: either a reset is to blame, which is on
 * its way to make a new one, or somebody without the keychain. */
static ck_err
unfit(const struct ck_place *p, struct ck_records *rec, const char *why,
    struct ck_fail *fail)
{
	char command[CK_VIEW_COMMAND_SIZE];
	struct ck_rec_journal j;
	ck_err r;

	r = ck_records_journal_get(rec, &j, fail);
	if (r != CK_OK && r != CK_ABSENT)
		return r;
	if (r == CK_ABSENT || strcmp(j.operation, CK_RESET_OPERATION) != 0)
		return damaged(p, why, fail);
	ck_view_command(&j, command);
	(void)ck_fail_set(fail, CK_BUSY, p->dir,
	    "a reset of %s was not finished", j.credential);
	ck_fail_next(fail, "%s", command);
	return CK_BUSY;
}

/* The moment between a keychain's name and the records' naming it. */
static ck_err
none_yet(const struct ck_place *p, struct ck_records *rec,
    const struct ck_anchor *anchor, struct ck_fail *fail)
{
	struct ck_rec_credential row;
	struct ck_rec_journal j;
	ck_err r;

	r = ck_records_credential_get(rec, p->credential, &row, fail);
	/* Rows can be made by anybody; that no keychain was in place yet is
	 * said by the place of the unlock password. */
	if (r == CK_OK && row.state == CK_STATE_MIGRATING && anchor != NULL &&
	    anchor->signature[0] == '\0') {
		r = ck_records_journal_get(rec, &j, fail);
		if (r == CK_OK && ck_anchor_is_noted(anchor, &j) &&
		    strcmp(j.operation, "migrate") == 0 &&
		    strcmp(j.credential, p->credential) == 0)
			return CK_OK;
	}
	if (r != CK_OK && r != CK_ABSENT)
		return r;
	return unfit(p, rec, "has no seal although the dedicated keychain is "
	    "in place: the records were changed without the keychain", fail);
}

ck_err
ck_seal_rows(const struct ck_place *p, struct ck_records *rec,
    const struct ck_secret *key, const struct ck_anchor *anchor,
    struct ck_fail *fail)
{
	uint8_t made[CK_REC_MAC_SIZE], kept[CK_REC_MAC_SIZE];
	uint64_t generation;
	ck_err r;

	if ((r = seal_generation(rec, &generation, fail)) != CK_OK)
		return r;
	r = ck_records_seal_get(rec, generation, kept, fail);
	if (r == CK_ABSENT)
		return none_yet(p, rec, anchor, fail);
	if (r != CK_OK || (r = compute(rec, key, made, fail)) != CK_OK)
		return r;
	if (CRYPTO_memcmp(made, kept, sizeof(made)) != 0)
		return unfit(p, rec, "does not fit its seal: the records were "
		    "changed without the keychain", fail);
	return anchor == NULL ? CK_OK :
	    ck_anchor_check(p, rec, anchor, fail);
}

ck_err
ck_seal_check(const struct ck_place *p, struct ck_records *rec,
    const struct ck_secret *key, const struct ck_anchor *anchor,
    struct ck_fail *fail)
{
	ck_err r;

	/* Of the events the seal covers the last one, and that one those
	 * before it. */
	if ((r = ck_seal_rows(p, rec, key, anchor, fail)) != CK_OK)
		return r;
	return ck_records_events_verify(rec, fail);
}

ck_err
ck_seal_value(const struct ck_place *p, struct ck_records *rec,
    const struct ck_secret *key, const struct ck_secret *value,
    struct ck_fail *fail)
{
	char print[CK_FINGERPRINT_SIZE], next[CK_FINGERPRINT_SIZE] = "";
	struct ck_rec_credential row;
	struct ck_rec_journal j;
	ck_err r;

	r = ck_records_credential_get(rec, p->credential, &row, fail);
	/* Nothing is recorded yet, and ck_seal_check() found that in order. */
	if (r == CK_OK && row.state == CK_STATE_MIGRATING)
		return CK_OK;
	if (r != CK_OK ||
	    (r = ck_dedicated_print(key, value, print, fail)) != CK_OK)
		return r;
	if (strcmp(print, row.fingerprint) == 0)
		return CK_OK;
	r = ck_records_journal_get(rec, &j, fail);
	if (r == CK_OK && strcmp(j.operation, CK_ROTATE_OPERATION) == 0 &&
	    strcmp(j.credential, p->credential) == 0) {
		r = ck_records_setting_get(rec, CK_SEAL_NEXT_SETTING, next,
		    sizeof(next), fail);
		if (r == CK_OK && strcmp(print, next) == 0)
			return CK_OK;
	}
	if (r != CK_OK && r != CK_ABSENT)
		return r;
	return damaged(p, "tells of another value than the dedicated keychain "
	    "holds: one of the two was put back to an earlier day", fail);
}

ck_err
ck_seal_open(const struct ck_place *p, struct ck_records *rec,
    struct ck_secret *ret_password, struct ck_secret *ret_value,
    struct ck_secret *ret_key, struct ck_fail *fail)
{
	struct ck_secret password = CK_SECRET_INIT, value = CK_SECRET_INIT;
	struct ck_secret key = CK_SECRET_INIT;
	struct ck_anchor anchor;
	ck_err r;

	if ((r = ck_dedicated_look_at(p, &password, &value, &key, &anchor,
	    fail)) != CK_OK ||
	    (r = ck_records_begin(rec, fail)) != CK_OK)
		goto out;
	if ((r = ck_seal_check(p, rec, &key, &anchor, fail)) == CK_OK)
		r = ck_seal_value(p, rec, &key, &value, fail);
	ck_records_rollback(rec);
	if (r != CK_OK)
		goto out;
	ck_secret_move(ret_password, &password);
	ck_secret_move(ret_value, &value);
	ck_secret_move(ret_key, &key);
out:
	ck_secret_wipe(&key);
	ck_secret_wipe(&value);
	ck_secret_wipe(&password);
	return r;
}

ck_err
ck_seal_records(const struct ck_place *p, struct ck_records *rec,
    struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	struct ck_anchor anchor;
	ck_err r;

	if ((r = ck_dedicated_look_at(p, NULL, NULL, &key, &anchor,
	    fail)) == CK_OK &&
	    (r = ck_records_begin(rec, fail)) == CK_OK) {
		r = ck_seal_check(p, rec, &key, &anchor, fail);
		ck_records_rollback(rec);
	}
	ck_secret_wipe(&key);
	return r;
}
