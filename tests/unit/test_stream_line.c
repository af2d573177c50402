/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of authenticate --stream. */
#include "unit.h"

#include <string.h>

#include "cli/stream_line.h"

static uint8_t block[CK_STREAM_LINE_MAX + 512];
static uint8_t candidate[CK_STREAM_CANDIDATE_MAX];

static ck_err
parse(const char *text, struct ck_span *id, size_t *n)
{
	return ck_stream_parse(CK_SPAN_TEXT(text), id, candidate, n);
}

static void
a_request_gives_id_and_bytes(void **state)
{
	struct ck_span id;
	size_t n = 9;

	(void)state;
	assert_int_equal(parse("id-1 00fF", &id, &n), CK_OK);
	assert_true(ck_span_equal(id, CK_SPAN_TEXT("id-1")));
	assert_int_equal(n, 2);
	assert_int_equal(candidate[1], 0xff);
	assert_int_equal(parse("x ", &id, &n), CK_OK);
	assert_int_equal(n, 0);
}

static void
a_malformed_request_is_refused_with_its_id(void **state)
{
	static const char *const bad[] = { "i 0", "i 0g", "i  00",
	    "i 00 ", "i 00\r" };
	struct ck_span id;
	size_t n = 9;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i], &id, &n), CK_USAGE);
		assert_true(ck_span_equal(id, CK_SPAN_TEXT("i")));
		assert_int_equal(n, 9);
	}
}

static void
an_unreadable_id_is_none(void **state)
{
	char line[80];
	struct ck_span id;
	size_t n = 9;

	(void)state;
	assert_int_equal(parse("", &id, &n), CK_USAGE);
	assert_int_equal(id.n, 0);
	assert_int_equal(parse("a\x80 00", &id, &n), CK_USAGE);
	assert_int_equal(id.n, 0);
	memset(line, 'a', 65);
	memcpy(line + 65, " 00", 4);
	assert_int_equal(parse(line, &id, &n), CK_USAGE);
	assert_int_equal(id.n, 0);
	assert_int_equal(parse(line + 1, &id, &n), CK_OK);
	assert_int_equal(id.n, 64);
}

/* Nothing but the ID of a request may be sent back. */
static void
what_may_be_a_candidate_is_no_id(void **state)
{
	static const char *const bad[] = { "i", "00ff", "636c616e6b69655f",
	    "clankie_op_0123 00", "CLANKIE_OP_ 00", "x:clankie_op_ 00",
	    "636c616e6b69655f6f705f3031 ", "636C616E6B69655F6F705F 00" };
	struct ck_span id;
	size_t n = 9;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i], &id, &n), CK_USAGE);
		assert_int_equal(id.n, 0);
		assert_int_equal(n, 9);
	}
	assert_int_equal(parse("clankie-op-1 00", &id, &n), CK_OK);
	assert_int_equal(id.n, 12);
}

static void
feed(struct ck_lines *l, const char *text)
{
	memcpy(l->p + l->to, text, strlen(text));
	l->to += strlen(text);
}

static void
a_line_in_two_pieces_is_one_line(void **state)
{
	struct ck_lines l = { .p = block, .size = sizeof(block) };
	struct ck_span line;

	(void)state;
	feed(&l, "a 00\nb 0");
	assert_int_equal(ck_lines_next(&l, &line), CK_LINE_WHOLE);
	assert_true(ck_span_equal(line, CK_SPAN_TEXT("a 00")));
	assert_int_equal(ck_lines_next(&l, &line), CK_LINE_NONE);
	ck_lines_pack(&l);
	assert_int_equal(l.to, 3);
	assert_int_equal(block[3], 0);
	feed(&l, "1\n");
	assert_int_equal(ck_lines_next(&l, &line), CK_LINE_WHOLE);
	assert_true(ck_span_equal(line, CK_SPAN_TEXT("b 01")));
}

static void
an_overlong_line_is_reported_once_and_skipped(void **state)
{
	struct ck_lines l = { .p = block, .size = sizeof(block) };
	struct ck_span line;

	(void)state;
	for (int i = 0; i < 3; i++) {
		memset(block, 'a', sizeof(block));
		l.to = CK_STREAM_LINE_MAX + 1;
		assert_int_equal(ck_lines_next(&l, &line), i == 0 ?
		    CK_LINE_OVERLONG : CK_LINE_NONE);
		ck_lines_pack(&l);
		assert_int_equal(l.to, 0);
	}
	feed(&l, "aa\nb 00\n");
	assert_int_equal(ck_lines_next(&l, &line), CK_LINE_WHOLE);
	assert_true(ck_span_equal(line, CK_SPAN_TEXT("b 00")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_gives_id_and_bytes),
		cmocka_unit_test(a_malformed_request_is_refused_with_its_id),
		cmocka_unit_test(an_unreadable_id_is_none),
		cmocka_unit_test(what_may_be_a_candidate_is_no_id),
		cmocka_unit_test(a_line_in_two_pieces_is_one_line),
		cmocka_unit_test(
		    an_overlong_line_is_reported_once_and_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
