/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing and moving the anchor; see anchor.h. */
#include "custody/anchor.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "custody/advice.h"
#include "custody/broker.h"
#include "custody/seal.h"
#include "store/login.h"

static ck_err
add(void *arg, const struct ck_rec_credential *row)
{
	uint64_t *sum = arg;

	*sum += row->generation;
	if (row->state == CK_STATE_MIGRATING && row->generation > 0)
		(*sum)--;
	return CK_OK;
}

ck_err
ck_anchor_generation(struct ck_records *rec, uint64_t *ret,
    struct ck_fail *fail)
{
	uint64_t sum = 0;
	ck_err r = ck_records_credential_each(rec, add, &sum, fail);

	if (r == CK_OK)
		*ret = sum;
	return r;
}

/* Each text with its final zero, so that no two lists are spelled alike. */
static ck_err
feed(void *arg, const struct ck_rec_credential *row)
{
	const char *const texts[] = { row->name, row->service, row->account,
	    row->fingerprint };

	if (row->state != CK_STATE_DEDICATED &&
	    row->state != CK_STATE_RESTORING)
		return CK_OK;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_buf_bytes(arg, texts[i], strlen(texts[i]) + 1);
	return CK_OK;
}

/* The rows of rec, or n of them that are given. */
static ck_err
print_of(struct ck_records *rec, const struct ck_rec_credential *const *row,
    size_t n, char ret[CK_ANCHOR_PRINT_SIZE], struct ck_fail *fail)
{
	struct ck_buf text = CK_BUF_INIT;
	uint8_t digest[CK_SHA256_BYTES];
	ck_err r = CK_OK;

	if (rec != NULL)
		r = ck_records_credential_each(rec, feed, &text, fail);
	for (size_t i = 0; r == CK_OK && i < n; i++)
		r = feed(&text, row[i]);
	if (r == CK_OK && (r = ck_buf_ok(&text)) != CK_OK)
		(void)ck_fail_set(fail, r, NULL, "no memory for a digest");
	if (r == CK_OK) {
		ck_hash(CK_SHA256, ck_buf_view(&text), digest);
		ck_hex_encode(digest, sizeof(digest), ret);
	}
	ck_buf_free(&text);
	return r;
}

ck_err
ck_anchor_print(struct ck_records *rec, char ret[CK_ANCHOR_PRINT_SIZE],
    struct ck_fail *fail)
{
	return print_of(rec, NULL, 0, ret, fail);
}

ck_err
ck_anchor_print_rows(const struct ck_rec_credential *const *row, size_t n,
    char ret[CK_ANCHOR_PRINT_SIZE], struct ck_fail *fail)
{
	return print_of(NULL, row, n, ret, fail);
}

/* What an operation leaves undecided between noting itself and its end. */
struct slack {
	bool none;                       /* there may be no keychain */
	int64_t low, high;               /* how far the anchor may be off */
};

static void
slack_of(const struct ck_rec_journal *j, struct slack *ret)
{
	static const struct {
		const char *operation;
		struct slack slack;
	} table[] = {
		{ "migrate", { true, -1, 0 } },
		{ "rotate", { false, 0, 1 } },
		{ "restore", { true, -1, 0 } },
		{ "reset --confirm", { true, -1, 0 } },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(j->operation, table[i].operation) == 0)
			*ret = table[i].slack;
}

ck_err
ck_anchor_note_of(const char *operation, const char *credential,
    const char *nonce, char ret[CK_ANCHOR_NOTE_SIZE], struct ck_fail *fail)
{
	uint8_t digest[CK_SHA256_BYTES];
	char hex[CK_ANCHOR_PRINT_SIZE], text[256];
	int n;

	n = snprintf(text, sizeof(text), "%s\n%s\n%s", operation, credential,
	    nonce);
	if (n < 0 || (size_t)n >= sizeof(text))
		return ck_fail_set(fail, CK_INTERNAL, NULL,
		    "no digest can be made");
	ck_hash(CK_SHA256, CK_SPAN_TEXT(text), digest);
	ck_hex_encode(digest, sizeof(digest), hex);
	memcpy(ret, hex, CK_ANCHOR_NOTE_SIZE - 1);
	ret[CK_ANCHOR_NOTE_SIZE - 1] = '\0';
	return CK_OK;
}

bool
ck_anchor_is_noted(const struct ck_anchor *anchor,
    const struct ck_rec_journal *j)
{
	char note[CK_ANCHOR_NOTE_SIZE];

	return anchor->operation[0] != '\0' &&
	    ck_anchor_note_of(j->operation, j->credential, j->nonce, note,
	    NULL) == CK_OK && strcmp(anchor->operation, note) == 0;
}

/* NULL: none is under way any more. */
static ck_err
set_note(const struct ck_place *p, const char *operation, const char *nonce,
    struct ck_anchor *a, struct ck_fail *fail)
{
	if (operation != NULL)
		return ck_anchor_note_of(operation, p->credential, nonce,
		    a->operation, fail);
	a->operation[0] = '\0';
	return CK_OK;
}

static ck_err
earlier(const struct ck_place *p, struct ck_fail *fail)
{
	char file[CK_PATH_MAX];

	if (ck_path_join(p->dir, CK_REC_FILE, file, NULL) != CK_OK)
		memcpy(file, p->dir, sizeof(file));
	(void)ck_fail_set(fail, CK_DAMAGED, file,
	    "is of another day than what is noted with the unlock password: "
	    "records and keychain were put back");
	ck_advise(fail, p, "put records, keychain and unlock password back "
	    "from one backup, or see what {doctor --rebuild} would make");
	return CK_DAMAGED;
}

ck_err
ck_anchor_check(const struct ck_place *p, struct ck_records *rec,
    const struct ck_anchor *anchor, struct ck_fail *fail)
{
	struct slack slack = { false, 0, 0 };
	char print[CK_ANCHOR_PRINT_SIZE];
	struct ck_rec_journal j;
	bool noted = false;
	uint64_t want = 0;
	int64_t off;
	ck_err r;

	r = ck_records_journal_get(rec, &j, fail);
	if (r == CK_OK && (noted = ck_anchor_is_noted(anchor, &j)))
		slack_of(&j, &slack);
	else if (r != CK_OK && r != CK_ABSENT)
		return r;
	if (anchor->signature[0] == '\0')
		return slack.none ? CK_OK : earlier(p, fail);
	if ((r = ck_anchor_generation(rec, &want, fail)) != CK_OK ||
	    (r = ck_anchor_print(rec, print, fail)) != CK_OK)
		return r;
	off = (int64_t)(anchor->generation - want);
	if (off < slack.low || off > slack.high ||
	    (!noted && strcmp(print, anchor->print) != 0))
		return earlier(p, fail);
	return CK_OK;
}

ck_err
ck_anchor_writable(const struct ck_place *p, struct ck_fail *fail)
{
	struct ck_place at = *p;

	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN)
		return ck_broker_writable(p, fail);
	memcpy(at.broker, p->unlock, sizeof(at.broker));
	return ck_broker_writable(&at, fail);
}

ck_err
ck_anchor_write(const struct ck_place *p, struct ck_records *rec,
    const struct ck_secret *password, uint64_t more, const char *operation,
    const char *nonce, struct ck_fail *fail)
{
	const struct ck_login login = { p->keychain, NULL, CK_WAIT_MS };
	struct ck_anchor a = CK_ANCHOR_INIT;
	struct ck_login_status st;
	ck_err r;

	if ((r = ck_anchor_generation(rec, &a.generation, fail)) != CK_OK ||
	    (r = ck_anchor_print(rec, a.print, fail)) != CK_OK ||
	    (r = ck_login_status(&login, &st, fail)) != CK_OK)
		return r;
	a.generation += more;
	memcpy(a.signature, st.signature, sizeof(a.signature));
	if ((r = set_note(p, operation, nonce, &a, fail)) != CK_OK)
		return r;
	return ck_unlock_place_anchor(p, password, &a, fail);
}

/* The anchor that is there with another note; lifted: of no keychain, though
 * of the same values. */
static ck_err
renote(const struct ck_place *p, const struct ck_secret *password,
    const char *operation, const char *nonce, bool lifted,
    struct ck_fail *fail)
{
	struct ck_anchor a;
	ck_err r;

	if ((r = ck_unlock_place_read(p, NULL, &a, fail)) != CK_OK ||
	    (r = set_note(p, operation, nonce, &a, fail)) != CK_OK)
		return r;
	if (lifted)
		memset(a.signature, 0, sizeof(a.signature));
	return ck_unlock_place_anchor(p, password, &a, fail);
}

ck_err
ck_anchor_note(const struct ck_place *p, const struct ck_secret *password,
    const char *operation, const char *nonce, struct ck_fail *fail)
{
	return renote(p, password, operation, nonce, false, fail);
}

ck_err
ck_anchor_lift(const struct ck_place *p, const struct ck_secret *password,
    const char *operation, const char *nonce, struct ck_fail *fail)
{
	return renote(p, password, operation, nonce, true, fail);
}
