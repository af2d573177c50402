/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events.  Each row carries the hash of the one before: SHA-256, in hex, over
 * number, time, what, detail and prev, each with a line feed behind it, which
 * no field can hold.
 */
#include "records_int.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

static const char zeros[] =
    "0000000000000000000000000000000000000000000000000000000000000000";

static ck_err
hash_event(const struct ck_records *rec, const struct ck_rec_event *e,
    char ret[65], struct ck_fail *fail)
{
	char text[sizeof(*e) + 32];
	uint8_t hash[CK_SHA256_BYTES];
	int n;

	n = snprintf(text, sizeof(text), "%llu\n%s\n%s\n%s\n%s\n",
	    (unsigned long long)e->seq, e->at, e->what, e->detail, e->prev);
	if (n < 0 || (size_t)n >= sizeof(text))
		return ck_fail_set(fail, CK_INTERNAL, rec->path,
		    "an event is longer than its parts");
	ck_hash(CK_SHA256, CK_SPAN_TEXT(text), hash);
	ck_hex_encode(hash, sizeof(hash), ret);
	return CK_OK;
}

static ck_err
take(struct ck_rec_row *row, void *arg)
{
	struct ck_rec_event *ret = arg;

	ret->seq = (uint64_t)ck_rec_number(row, 0);
	ck_rec_text(row, 1, ret->at, sizeof(ret->at));
	ck_rec_text(row, 2, ret->what, sizeof(ret->what));
	ck_rec_text(row, 3, ret->detail, sizeof(ret->detail));
	ck_rec_text(row, 4, ret->prev, sizeof(ret->prev));
	return row->r;
}

ck_err
ck_rec_event_head(struct ck_records *rec, uint64_t *ret_seq,
    char ret_hash[65], struct ck_fail *fail)
{
	struct ck_rec_event last = { 0 };
	char hash[65];
	ck_err r;

	memcpy(hash, zeros, sizeof(zeros));
	if ((r = ck_rec_all(rec, CK_ST_EVENT_LAST, NULL, take, &last,
	    fail)) != CK_OK)
		return r;
	if (last.seq > 0 && (r = hash_event(rec, &last, hash, fail)) != CK_OK)
		return r;
	*ret_seq = last.seq;
	memcpy(ret_hash, hash, sizeof(hash));
	return CK_OK;
}

/* A path in a detail may hold anything; the chain wants one line. */
static void
one_line(const char *detail, char *ret)
{
	for (; *detail != '\0'; detail++)
		*ret++ = (unsigned char)*detail < 0x20 || *detail == 0x7f ?
		    '?' : *detail;
	*ret = '\0';
}

ck_err
ck_records_event(struct ck_records *rec, const char *what,
    const char *detail, struct ck_fail *fail)
{
	struct ck_rec_event e = { 0 };
	uint64_t seq = 0;
	bool own = false;
	ck_err r;

	if (strnlen(detail, sizeof(e.detail)) == sizeof(e.detail))
		return ck_fail_set(fail, CK_REFUSED, rec->path,
		    "the detail of an event is longer than %zu bytes",
		    sizeof(e.detail) - 1);
	one_line(detail, e.detail);
	if ((r = ck_rec_check_text(rec, "the detail of an event", e.detail,
	    sizeof(e.detail), true, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_check_text(rec, "the name of an event", what,
	    sizeof(e.what), false, fail)) != CK_OK)
		return r;
	ck_clock_iso(ck_clock_wall(), e.at);
	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = ck_rec_event_head(rec, &seq, e.prev, fail);
	if (r == CK_OK)
		r = ck_rec_change(rec, CK_ST_EVENT_INSERT, CK_VALUES(
		    CK_V_I(seq + 1), CK_V_T(e.at), CK_V_T(what),
		    CK_V_T(e.detail), CK_V_T(e.prev)), NULL, fail);
	return ck_rec_leave(rec, own, r, fail);
}

struct chain {
	uint64_t seq;       /* of the last row seen */
	char hash[65];
};

static ck_err
follow(struct ck_rec_row *row, void *arg)
{
	struct chain *chain = arg;
	struct ck_rec_event e = { 0 };
	ck_err r;

	if ((r = take(row, &e)) != CK_OK)
		return r;
	if (e.seq != chain->seq + 1)
		return ck_rec_damaged(row->rec->path, row->fail,
		    "event %llu is missing",
		    (unsigned long long)chain->seq + 1);
	/* Which of the two was edited cannot be told. */
	if (strcmp(e.prev, chain->hash) != 0)
		return ck_rec_damaged(row->rec->path, row->fail,
		    "event %llu was edited, or what event %llu says of it",
		    (unsigned long long)chain->seq,
		    (unsigned long long)e.seq);
	chain->seq = e.seq;
	return hash_event(row->rec, &e, chain->hash, row->fail);
}

ck_err
ck_records_events_verify(struct ck_records *rec, struct ck_fail *fail)
{
	struct chain chain = { 0 };

	memcpy(chain.hash, zeros, sizeof(zeros));
	return ck_rec_all(rec, CK_ST_EVENT_EACH, NULL, follow, &chain, fail);
}

struct each {
	ck_rec_event_cb cb;
	void *arg;
};

static ck_err
pass(struct ck_rec_row *row, void *arg)
{
	const struct each *each = arg;
	struct ck_rec_event e = { 0 };
	ck_err r = take(row, &e);

	return r == CK_OK ? each->cb(each->arg, &e) : r;
}

ck_err
ck_records_event_each(struct ck_records *rec, ck_rec_event_cb cb, void *arg,
    struct ck_fail *fail)
{
	struct each each = { cb, arg };

	return ck_rec_all(rec, CK_ST_EVENT_EACH, NULL, pass, &each, fail);
}
