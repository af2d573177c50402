/* SPDX-License-Identifier: Apache-2.0 */
/* The seal's table and the bytes it covers. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "help_records.h"

static ck_err
collect(void *arg, const void *bytes, size_t n)
{
	ck_buf_bytes(arg, bytes, n);
	return CK_OK;
}

static struct ck_buf
canonical(struct help_records *fx)
{
	struct ck_records *rec = help_records_open(fx, CK_REC_READ);
	struct ck_buf b = CK_BUF_INIT;

	assert_int_equal(ck_records_begin(rec, &fx->fail), CK_OK);
	assert_int_equal(ck_records_canonical(rec, collect, &b, &fx->fail),
	    CK_OK);
	assert_int_equal(ck_records_commit(rec, &fx->fail), CK_OK);
	assert_int_equal(ck_buf_ok(&b), CK_OK);
	ck_records_close(&rec);
	return b;
}

static void
seals_are_kept_for_two_generations(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	uint8_t mac[CK_REC_MAC_SIZE], got[CK_REC_MAC_SIZE] = { 9 };

	assert_int_equal(ck_records_seal_get(rec, 1, got, &fx->fail),
	    CK_ABSENT);
	assert_int_equal(got[0], 9);
	for (uint8_t i = 1; i <= 3; i++) {
		memset(mac, i, sizeof(mac));
		assert_int_equal(ck_records_seal_put(rec, i, mac, &fx->fail),
		    CK_OK);
	}
	assert_int_equal(ck_records_seal_get(rec, 1, got, &fx->fail),
	    CK_ABSENT);
	assert_int_equal(ck_records_seal_get(rec, 2, got, &fx->fail), CK_OK);
	assert_int_equal(got[31], 2);
	mac[0] = 77;
	assert_int_equal(ck_records_seal_put(rec, 3, mac, &fx->fail), CK_OK);
	assert_int_equal(ck_records_seal_get(rec, 3, got, &fx->fail), CK_OK);
	assert_memory_equal(got, mac, sizeof(mac));
	assert_int_equal(ck_records_seal_put(rec, UINT64_MAX, mac,
	    &fx->fail), CK_REFUSED);
	ck_records_close(&rec);
}

/* None of them fits the key of a keychain that comes later. */
static void
cleared_seals_are_all_gone(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	const uint8_t mac[CK_REC_MAC_SIZE] = { 1 };

	assert_int_equal(ck_records_seal_clear(rec, &fx->fail), CK_OK);
	for (uint64_t i = 1; i <= 2; i++)
		assert_int_equal(ck_records_seal_put(rec, i, mac, &fx->fail),
		    CK_OK);
	assert_int_equal(ck_records_seal_clear(rec, &fx->fail), CK_OK);
	assert_int_equal(help_records_count(fx, "SELECT count(*) FROM seal"),
	    0);
	ck_records_close(&rec);
	rec = help_records_open(fx, CK_REC_READ);
	assert_int_equal(ck_records_seal_clear(rec, &fx->fail), CK_READONLY);
	ck_records_close(&rec);
}

/* The published encoding, for a row that is known. */
static void
canonical_bytes_are_the_published_ones(void **state)
{
	static const char head[] =
	    "clankie-keys records 1\n"
	    "t\0\0\0\012credential\0\0\0\007"
	    "t\0\0\0\010operator"
	    "t\0\0\0\027bot.clankie.credentials"
	    "t\0\0\0\020clankie_operator"
	    "t\0\0\0\010api-json"
	    "t\0\0\0\006broker"
	    "i\0\0\0\0\0\0\0\001"
	    "t\0\0\0\0"
	    "t\0\0\0\005store\0\0\0\005"
	    "i\0\0\0\0\0\0\0\001"
	    "t\0\0\0\013file-broker";
	static const char tail[] =
	    "t\0\0\0\005event\0\0\0\002"
	    "i\0\0\0\0\0\0\0\0"
	    "t\0\0\0\100"
	    "00000000000000000000000000000000"
	    "00000000000000000000000000000000";
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_buf b;

	help_records_fill(rec);
	ck_records_close(&rec);
	b = canonical(fx);
	assert_true(b.n > sizeof(head) + sizeof(tail));
	assert_memory_equal(b.p, head, sizeof(head) - 1);
	assert_memory_equal(b.p + b.n - (sizeof(tail) - 1), tail,
	    sizeof(tail) - 1);
	ck_buf_free(&b);
}

static void
canonical_bytes_show_every_change_but_the_seal(void **state)
{
	static const char *const changes[] = {
		"UPDATE credential SET account = 'x'",
		"UPDATE credential SET generation = 2",
		"UPDATE store SET inode = 5 WHERE id = 1",
		"UPDATE store SET path = '/x' WHERE id = 2",
		"UPDATE principal SET honours = 'yes' WHERE id = 'tui'",
		"DELETE FROM precedence WHERE principal = 'tui'",
		"INSERT INTO protected VALUES ('/p', 'file', 'write', '')",
		"UPDATE protected SET deny = 'read+write'",
		"INSERT INTO setting VALUES ('a', 'bc')",
		"UPDATE setting SET name = 'ab', value = 'c'",
		("INSERT INTO journal VALUES (1, 'rotate',"
		    " lower(hex(zeroblob(16))), 0, 0, 1,"
		    " '2024-01-02T03:04:05Z', 'operator')"),
		"UPDATE journal SET step = 1",
		("INSERT INTO event VALUES (1, '2024-01-02T03:04:05Z', 'e',"
		    " '', lower(hex(zeroblob(32))))")
	};
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_buf was, now;

	help_records_fill(rec);
	ck_records_close(&rec);
	was = canonical(fx);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		assert_int_equal(help_records_sql(fx, changes[i]),
		    SQLITE_OK);
		now = canonical(fx);
		if (ck_span_equal(ck_buf_view(&was), ck_buf_view(&now)))
			fail_msg("not shown: %s", changes[i]);
		ck_buf_free(&was);
		was = now;
	}
	assert_int_equal(help_records_sql(fx,
	    "INSERT INTO seal VALUES (1, zeroblob(32))"), SQLITE_OK);
	now = canonical(fx);
	assert_true(ck_span_equal(ck_buf_view(&was), ck_buf_view(&now)));
	ck_buf_free(&was);
	ck_buf_free(&now);
}

/* The order of rows on disk is nobody's business. */
static void
canonical_bytes_survive_vacuum(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_buf was, now;

	help_records_migrate(rec);
	assert_int_equal(ck_records_event(rec, "e", "d", &fx->fail), CK_OK);
	ck_records_close(&rec);
	was = canonical(fx);
	assert_int_equal(help_records_sql(fx, "VACUUM; ANALYZE"), SQLITE_OK);
	now = canonical(fx);
	assert_true(ck_span_equal(ck_buf_view(&was), ck_buf_view(&now)));
	ck_buf_free(&was);
	ck_buf_free(&now);
	rec = help_records_open(fx, CK_REC_WRITE);
	assert_int_equal(ck_records_check(rec, &fx->fail), CK_OK);
	ck_records_close(&rec);
}

static ck_err
refuse(void *arg, const void *bytes, size_t n)
{
	(void)bytes;
	(void)n;
	return --*(int *)arg == 0 ? CK_NOMEM : CK_OK;
}

static void
result_of_the_callback_is_passed_on(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	int left;

	for (int i = 1; i < 5; i++) {
		left = i;
		assert_int_equal(ck_records_canonical(rec, refuse, &left,
		    &fx->fail), CK_NOMEM);
	}
	ck_records_close(&rec);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, help_records_setup,       \
	    help_records_teardown)
	const struct CMUnitTest tests[] = {
		CASE(seals_are_kept_for_two_generations),
		CASE(cleared_seals_are_all_gone),
		CASE(canonical_bytes_are_the_published_ones),
		CASE(canonical_bytes_show_every_change_but_the_seal),
		CASE(canonical_bytes_survive_vacuum),
		CASE(result_of_the_callback_is_passed_on)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
