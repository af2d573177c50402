/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seal's table, and the bytes it covers.  The key is not ours to know:
 * the caller computes the MAC.
 */
#include "records_int.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

ck_err
ck_records_seal_put(struct ck_records *rec, uint64_t generation,
    const uint8_t mac[CK_REC_MAC_SIZE], struct ck_fail *fail)
{
	bool own = false;
	ck_err r;

	if ((r = ck_rec_check_generation(rec, generation, fail)) != CK_OK)
		return r;
	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = ck_rec_change(rec, CK_ST_SEAL_PUT, CK_VALUES(CK_V_I(generation),
	    CK_V_B(mac, CK_REC_MAC_SIZE)), NULL, fail);
	if (r == CK_OK)
		r = ck_rec_change(rec, CK_ST_SEAL_DROP,
		    CK_VALUES(CK_V_I(generation)), NULL, fail);
	return ck_rec_leave(rec, own, r, fail);
}

ck_err
ck_records_seal_clear(struct ck_records *rec, struct ck_fail *fail)
{
	bool own = false;
	ck_err r;

	if ((r = ck_rec_enter(rec, &own, fail)) != CK_OK)
		return r;
	r = ck_rec_change(rec, CK_ST_SEAL_CLEAR, NULL, NULL, fail);
	return ck_rec_leave(rec, own, r, fail);
}

static ck_err
take(struct ck_rec_row *row, void *arg)
{
	ck_rec_blob(row, 0, arg, CK_REC_MAC_SIZE);
	return row->r;
}

ck_err
ck_records_seal_get(struct ck_records *rec, uint64_t generation,
    uint8_t ret_mac[CK_REC_MAC_SIZE], struct ck_fail *fail)
{
	uint8_t mac[CK_REC_MAC_SIZE] = { 0 };
	char key[32];
	ck_err r;

	if ((r = ck_rec_check_generation(rec, generation, fail)) != CK_OK)
		return r;
	(void)snprintf(key, sizeof(key), "of generation %llu",
	    (unsigned long long)generation);
	r = ck_rec_one(rec, CK_ST_SEAL_GET, CK_VALUES(CK_V_I(generation)),
	    take, mac, "seal", key, fail);
	if (r == CK_OK)
		memcpy(ret_mac, mac, sizeof(mac));
	return r;
}

struct feed {
	const char *table;
	ck_rec_bytes_cb cb;
	void *arg;
	struct ck_buf buf;   /* one row */
};

static void
add_text(struct ck_buf *b, const void *p, size_t n)
{
	ck_buf_bytes(b, "t", 1);
	ck_buf_u32(b, (uint32_t)n);
	ck_buf_bytes(b, p, n);
}

static void
add_number(struct ck_buf *b, int64_t number)
{
	ck_buf_bytes(b, "i", 1);
	ck_buf_u32(b, (uint32_t)((uint64_t)number >> 32));
	ck_buf_u32(b, (uint32_t)((uint64_t)number & 0xffffffffU));
}

static ck_err
send_row(struct feed *feed, struct ck_fail *fail)
{
	ck_err r = ck_buf_ok(&feed->buf);

	if (r != CK_OK)
		return ck_fail_set(fail, r, NULL,
		    "no memory for the canonical rows");
	r = feed->cb(feed->arg, feed->buf.p, feed->buf.n);
	ck_buf_free(&feed->buf);
	return r;
}

static void
start_row(struct feed *feed, int columns)
{
	add_text(&feed->buf, feed->table, strlen(feed->table));
	ck_buf_u32(&feed->buf, (uint32_t)columns);
}

static ck_err
add_column(struct ck_rec_row *row, int i, struct feed *feed)
{
	const unsigned char *p;

	switch (sqlite3_column_type(row->stmt, i)) {
	case SQLITE_INTEGER:
		add_number(&feed->buf, sqlite3_column_int64(row->stmt, i));
		return CK_OK;
	case SQLITE_TEXT:
		p = sqlite3_column_text(row->stmt, i);
		if (p == NULL)
			return ck_rec_fail(row->rec->db, row->rec->path,
			    SQLITE_NOMEM, "read the records", row->fail);
		add_text(&feed->buf, p,
		    (size_t)sqlite3_column_bytes(row->stmt, i));
		return CK_OK;
	default:
		return ck_rec_damaged(row->rec->path, row->fail,
		    "column %s of table %s has another type",
		    sqlite3_column_name(row->stmt, i), feed->table);
	}
}

static ck_err
feed_row(struct ck_rec_row *row, void *arg)
{
	struct feed *feed = arg;
	int n = sqlite3_column_count(row->stmt);
	ck_err r;

	start_row(feed, n);
	for (int i = 0; i < n; i++) {
		if ((r = add_column(row, i, feed)) != CK_OK)
			return r;
	}
	return send_row(feed, row->fail);
}

static const struct {
	const char *table;
	enum ck_rec_st st;
} order[] = {
	{ "credential", CK_ST_ALL_CREDENTIAL },
	{ "store", CK_ST_ALL_STORE },
	{ "principal", CK_ST_ALL_PRINCIPAL },
	{ "precedence", CK_ST_ALL_PRECEDENCE },
	{ "protected", CK_ST_ALL_PROTECTED },
	{ "journal", CK_ST_ALL_JOURNAL },
	{ "setting", CK_ST_ALL_SETTING }
};

ck_err
ck_records_canonical(struct ck_records *rec, ck_rec_bytes_cb cb, void *arg,
    struct ck_fail *fail)
{
	static const char head[] = "clankie-keys records 1\n";
	struct feed feed = { NULL, cb, arg, CK_BUF_INIT };
	char hash[65];
	uint64_t seq = 0;
	ck_err r;

	if ((r = cb(arg, head, sizeof(head) - 1)) != CK_OK)
		return r;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		feed.table = order[i].table;
		if ((r = ck_rec_all(rec, order[i].st, NULL, feed_row, &feed,
		    fail)) != CK_OK)
			goto out;
	}
	if ((r = ck_rec_event_head(rec, &seq, hash, fail)) != CK_OK)
		goto out;
	feed.table = "event";
	start_row(&feed, 2);
	add_number(&feed.buf, (int64_t)seq);
	add_text(&feed.buf, hash, strlen(hash));
	r = send_row(&feed, fail);
out:
	ck_buf_free(&feed.buf);
	return r;
}
