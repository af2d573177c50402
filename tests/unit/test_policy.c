/* SPDX-License-Identifier: Apache-2.0 */
/* Rules as data and the evaluator, in both readings of rule order. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "boundary/policy.h"
#include "help_boundary.h"

#define A CK_ALLOW
#define D CK_DENY
#define RULE(e, o, f, p) { .effect = (e), .ops = (o), .filter = (f),          \
	.path = (p) }
#define ANY(e, o) RULE(e, CK_OPS(o), CK_FILTER_NONE, NULL)
#define LITERAL(e, o, p) RULE(e, CK_OPS(o), CK_FILTER_LITERAL, p)
#define SUBPATH(e, o, p) RULE(e, CK_OPS(o), CK_FILTER_SUBPATH, p)
#define RULES_MAX 6

/* Profiles whose verdicts are known, with both columns.  The language of
 * rules has no require-not: the last one is written as an allow behind. */
static const struct vector {
	struct ck_rule rule[RULES_MAX];
	enum ck_op op;
	const char *path;
	enum ck_effect specific, last;
} vectors[] = {
	{ { ANY(A, DEFAULT), LITERAL(D, READ_ANY, "/a") },
	    CK_OP_READ_DATA, "/a", D, D },
	{ { ANY(A, DEFAULT), LITERAL(D, READ_ANY, "/a") },
	    CK_OP_READ_DATA, "/ab", A, A },
	{ { ANY(A, DEFAULT), LITERAL(D, READ_ANY, "/a") },
	    CK_OP_READ_DATA, "/a/b", A, A },
	{ { ANY(A, DEFAULT), SUBPATH(D, READ_ANY, "/a") },
	    CK_OP_READ_DATA, "/a", D, D },
	{ { ANY(A, DEFAULT), SUBPATH(D, READ_ANY, "/a") },
	    CK_OP_READ_DATA, "/a/b", D, D },
	{ { ANY(A, DEFAULT), SUBPATH(D, READ_ANY, "/a") },
	    CK_OP_READ_DATA, "/ab", A, A },
	{ { ANY(D, DEFAULT), SUBPATH(A, READ_ANY, "/a"),
	    SUBPATH(D, READ_ANY, "/a/s"), LITERAL(A, READ_ANY, "/a/s/x") },
	    CK_OP_READ_DATA, "/a/s/x", A, A },
	{ { ANY(D, DEFAULT), SUBPATH(A, READ_ANY, "/a"),
	    SUBPATH(D, READ_ANY, "/a/s"), LITERAL(A, READ_ANY, "/a/s/x") },
	    CK_OP_READ_DATA, "/a/s/y", D, D },
	{ { ANY(D, DEFAULT), SUBPATH(A, READ_DATA, "/"),
	    LITERAL(D, READ_ANY, "/p/.env") },
	    CK_OP_READ_DATA, "/p/.env", A, D },
	{ { ANY(A, DEFAULT), SUBPATH(D, READ_DATA, "/k"),
	    LITERAL(A, READ_ANY, "/k/db") },
	    CK_OP_READ_DATA, "/k/db", D, A },
	{ { SUBPATH(A, WRITE_ANY, "/t"), ANY(D, WRITE_ANY), ANY(A, DEFAULT) },
	    CK_OP_WRITE_DATA, "/t/x", A, A },
	{ { SUBPATH(A, WRITE_ANY, "/t"), ANY(D, WRITE_ANY), ANY(A, DEFAULT) },
	    CK_OP_WRITE_DATA, "/e", D, A },
	{ { ANY(D, DEFAULT), ANY(A, READ_METADATA),
	    SUBPATH(A, READ_ANY, "/w"), LITERAL(D, READ_ANY, "/w/e") },
	    CK_OP_READ_METADATA, "/w/e", A, D },
	{ { ANY(A, DEFAULT), LITERAL(D, NETWORK_OUTBOUND, "/s"),
	    ANY(A, NETWORK_OUTBOUND) },
	    CK_OP_NETWORK_OUTBOUND, "/s", D, A },
	{ { ANY(A, DEFAULT), RULE(D, CK_OPS(READ_ANY) | CK_OPS(WRITE_ANY),
	    CK_FILTER_LITERAL, "/k") },
	    CK_OP_LINK, "/k", A, A },
	{ { ANY(A, DEFAULT), LITERAL(D, WRITE_ANY, "/d") },
	    CK_OP_WRITE_CREATE, "/d/x", A, A },
	{ { ANY(A, DEFAULT), LITERAL(D, WRITE_ANY, "/d") },
	    CK_OP_WRITE_UNLINK, "/d", D, D },
	{ { ANY(A, DEFAULT), SUBPATH(D, READ_ANY, "/a"),
	    LITERAL(A, READ_ANY, "/a/ok") },
	    CK_OP_READ_DATA, "/a/ok", A, A },
	{ { ANY(A, DEFAULT), SUBPATH(D, READ_ANY, "/a"),
	    LITERAL(A, READ_ANY, "/a/ok") },
	    CK_OP_READ_DATA, "/a/no", D, D },
};

static struct ck_policy *
policy_of(const struct ck_rule *rule, size_t n)
{
	struct ck_policy *p = NULL;

	assert_int_equal(ck_policy_new(&p), CK_OK);
	for (size_t i = 0; i < n && rule[i].ops != 0; i++)
		assert_int_equal(ck_policy_add(p, &rule[i], NULL), CK_OK);
	return p;
}

static enum ck_effect
effect_of(const struct ck_policy *p, enum ck_model model, enum ck_op op,
    const char *path)
{
	struct ck_verdict v = { CK_ALLOW, 0, NULL };

	assert_int_equal(ck_policy_decide_as(p, model, op, path, &v), CK_OK);
	return v.effect;
}

static void
vectors_are_decided_as_pinned_in_both_models(void **state)
{
	(void)state;
	for (size_t i = 0; i < HELP_COUNT(vectors); i++) {
		const struct vector *v = &vectors[i];
		struct ck_policy *p = policy_of(v->rule, RULES_MAX);

		if (effect_of(p, CK_MODEL_SPECIFIC, v->op, v->path) !=
		    v->specific ||
		    effect_of(p, CK_MODEL_LAST, v->op, v->path) != v->last)
			fail_msg("vector %zu: %s on %s", i,
			    ck_op_name(v->op), v->path);
		ck_policy_free(&p);
	}
}

/* A vector on which the models differ must never be called safe. */
static void
vectors_that_differ_are_not_called_safe(void **state)
{
	size_t differing = 0;

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(vectors); i++) {
		struct ck_policy *p = policy_of(vectors[i].rule, RULES_MAX);

		if (vectors[i].specific != vectors[i].last) {
			differing++;
			assert_int_equal(ck_policy_agrees(p, NULL),
			    CK_NOENFORCE);
		}
		ck_policy_free(&p);
	}
	assert_int_equal(differing, 5);
}

static void
operations_know_their_names_and_parents(void **state)
{
	enum ck_op op = CK_OP_COUNT;

	(void)state;
	for (unsigned int i = 0; i < CK_OP_COUNT; i++) {
		assert_int_equal(ck_op_find(ck_op_name((enum ck_op)i), &op),
		    CK_OK);
		assert_int_equal(op, i);
		assert_true((ck_op_lineage(op) & CK_OPS(DEFAULT)) != 0);
	}
	assert_int_equal(ck_op_parent(CK_OP_READ_DATA), CK_OP_READ_ANY);
	assert_int_equal(ck_op_parent(CK_OP_LINK), CK_OP_FILE_ANY);
	assert_int_equal(ck_op_lineage(CK_OP_WRITE_ACL), CK_OPS(WRITE_ACL) |
	    CK_OPS(WRITE_ANY) | CK_OPS(FILE_ANY) | CK_OPS(DEFAULT));
}

static void
unknown_operation_is_usage_and_output_unchanged(void **state)
{
	enum ck_op op = CK_OP_SIGNAL;

	(void)state;
	assert_int_equal(ck_op_find("file-read", &op), CK_USAGE);
	assert_int_equal(ck_op_find("", &op), CK_USAGE);
	assert_int_equal(op, CK_OP_SIGNAL);
}

static void
bad_rules_are_refused_and_not_added(void **state)
{
	static const char *const bad[] = { "", "a", "a/b", "./a", "/a/",
		"//a", "/a//b", "/.", "/..", "/a/.", "/a/./b", "/a/../b",
		"/../a" };
	struct ck_policy *p = policy_of(NULL, 0);
	struct ck_fail fail = CK_FAIL_INIT;
	struct ck_rule rule = LITERAL(D, FILE_ANY, NULL);

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(bad); i++) {
		rule.path = bad[i];
		assert_int_equal(ck_policy_add(p, &rule, &fail), CK_REFUSED);
		assert_string_equal(fail.place, bad[i]);
	}
	rule.path = "/a";
	rule.ops = 0;
	assert_int_equal(ck_policy_add(p, &rule, NULL), CK_INTERNAL);
	rule.ops = (ck_ops)1 << CK_OP_COUNT;
	assert_int_equal(ck_policy_add(p, &rule, NULL), CK_INTERNAL);
	rule.ops = CK_OPS(FORK);
	assert_int_equal(ck_policy_add(p, &rule, NULL), CK_INTERNAL);
	rule.ops = CK_OPS(FILE_ANY);
	rule.filter = CK_FILTER_NONE;
	assert_int_equal(ck_policy_add(p, &rule, NULL), CK_INTERNAL);
	assert_int_equal(ck_policy_count(p), 0);
	assert_null(ck_policy_rule(p, 0));
	ck_policy_free(&p);
	assert_null(p);
}

/* Names that only look like dots are names. */
static void
dotted_names_are_ordinary(void **state)
{
	static const char *const good[] = { "/", "/...", "/.a", "/..a/b",
		"/a.", "/a/.b.", "/a b" };
	struct ck_policy *p = policy_of(NULL, 0);

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(good); i++) {
		struct ck_rule rule = LITERAL(D, FILE_ANY, good[i]);

		assert_int_equal(ck_policy_add(p, &rule, NULL), CK_OK);
	}
	ck_policy_free(&p);
}

static void
filters_match_byte_by_byte(void **state)
{
	static const struct {
		enum ck_filter filter;
		bool fold;
		const char *own, *path;
		bool match;
	} cases[] = {
		{ CK_FILTER_LITERAL, false, "/a/b", "/a/b", true },
		{ CK_FILTER_LITERAL, false, "/a/b", "/a/bc", false },
		{ CK_FILTER_LITERAL, false, "/a/b", "/a/B", false },
		{ CK_FILTER_LITERAL, true, "/a/b", "/A/B", true },
		{ CK_FILTER_LITERAL, true, "/a[", "/a{", false },
		{ CK_FILTER_LITERAL, true, "/a@", "/a`", false },
		{ CK_FILTER_LITERAL, true, "/\xC3\x89", "/\xC3\xA9", false },
		{ CK_FILTER_SUBPATH, false, "/a/b", "/a/b", true },
		{ CK_FILTER_SUBPATH, false, "/a/b", "/a/b/c", true },
		{ CK_FILTER_SUBPATH, false, "/a/b", "/a/bc", false },
		{ CK_FILTER_SUBPATH, false, "/a/b", "/a", false },
		{ CK_FILTER_SUBPATH, true, "/a/b", "/a/B/c", true },
		{ CK_FILTER_SUBPATH, false, "/", "/", true },
		{ CK_FILTER_SUBPATH, false, "/", "/x/y", true },
		{ CK_FILTER_PREFIX, false, "/a/b", "/a/bc", true },
		{ CK_FILTER_PREFIX, false, "/a/b", "/a/b", true },
		{ CK_FILTER_PREFIX, false, "/a/b", "/a/c", false },
		{ CK_FILTER_PREFIX, true, "/a/b", "/A/Bc/d", true },
		{ CK_FILTER_NUMBERED, false, "/a.", "/a.7.x", true },
		{ CK_FILTER_NUMBERED, false, "/a.", "/a.", false },
		{ CK_FILTER_NUMBERED, false, "/a.", "/a.x", false },
		{ CK_FILTER_NUMBERED, false, "/a.", "/a.:", false },
		{ CK_FILTER_NUMBERED, false, "/a.", "/A.1", false },
		{ CK_FILTER_NUMBERED, true, "/a.", "/A.0", true },
	};

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(cases); i++) {
		struct ck_rule rule[2] = { ANY(A, DEFAULT),
			RULE(D, CK_OPS(FILE_ANY), cases[i].filter,
			    cases[i].own) };
		enum ck_effect want = cases[i].match ? D : A;
		struct ck_policy *p;

		rule[1].fold = cases[i].fold;
		p = policy_of(rule, 2);
		if (effect_of(p, CK_MODEL_SPECIFIC, CK_OP_LINK,
		    cases[i].path) != want)
			fail_msg("case %zu: %s", i, cases[i].path);
		ck_policy_free(&p);
	}
}

static void
unclear_questions_are_refused_and_output_unchanged(void **state)
{
	static const char *const bad[] = { "", "a", "/a/", "//", "/a//b",
		"/a/../k", "/./k" };
	struct ck_rule rule[] = { ANY(A, DEFAULT) };
	struct ck_policy *p = policy_of(rule, 1), *empty = policy_of(NULL, 0);
	struct ck_verdict v = { D, 77, "mine" };

	(void)state;
	for (size_t i = 0; i < HELP_COUNT(bad); i++)
		assert_int_equal(ck_policy_decide(p, CK_OP_READ_DATA, bad[i],
		    &v), CK_REFUSED);
	assert_int_equal(ck_policy_decide(p, CK_OP_COUNT, "/a", &v),
	    CK_REFUSED);
	assert_int_equal(ck_policy_decide(empty, CK_OP_READ_DATA, "/a", &v),
	    CK_NOENFORCE);
	assert_int_equal(v.effect, D);
	assert_int_equal(v.rule, 77);
	assert_string_equal(v.why, "mine");
	ck_policy_free(&p);
	ck_policy_free(&empty);
}

/* An operation without a path is decided by unfiltered rules alone. */
static void
question_without_path_ignores_filtered_rules(void **state)
{
	struct ck_rule rule[] = { ANY(A, DEFAULT),
		SUBPATH(D, NETWORK_ANY, "/") };
	struct ck_policy *p = policy_of(rule, 2);

	(void)state;
	assert_int_equal(effect_of(p, CK_MODEL_SPECIFIC,
	    CK_OP_NETWORK_OUTBOUND, NULL), A);
	assert_int_equal(effect_of(p, CK_MODEL_SPECIFIC, CK_OP_SIGNAL, NULL),
	    A);
	ck_policy_free(&p);
}

static void
verdict_names_the_deciding_rule(void **state)
{
	struct ck_rule rule[] = { ANY(A, DEFAULT),
		LITERAL(D, READ_ANY, "/a"), LITERAL(D, WRITE_ANY, "/a") };
	struct ck_verdict v = { A, 0, NULL };
	struct ck_buf text = CK_BUF_INIT;
	struct ck_policy *p;

	(void)state;
	rule[1].why = "because";
	p = policy_of(rule, 3);
	assert_int_equal(ck_policy_decide(p, CK_OP_READ_DATA, "/a", &v),
	    CK_OK);
	assert_int_equal(v.rule, 1);
	assert_string_equal(v.why, "because");
	ck_policy_describe(p, v.rule, &text);
	ck_buf_bytes(&text, "", 1);
	assert_string_equal((char *)text.p,
	    "deny file-read*: exactly /a (because)");
	ck_buf_free(&text);
	ck_policy_free(&p);
}

static bool
models_agree_everywhere(const struct ck_policy *p)
{
	static const char *const paths[] = { "/", "/a", "/a/b", "/a/b/c",
		"/a/b/c/d", "/b", "/ab" };

	for (unsigned int op = 0; op < CK_OP_COUNT; op++)
		for (size_t i = 0; i < HELP_COUNT(paths); i++)
			if (effect_of(p, CK_MODEL_SPECIFIC, (enum ck_op)op,
			    paths[i]) != effect_of(p, CK_MODEL_LAST,
			    (enum ck_op)op, paths[i]))
				return false;
	return true;
}

/* The proof from the shape, held against the two models themselves. */
static void
policies_called_safe_are_decided_alike(void **state)
{
	size_t safe = 0, differing = 0;
	uint32_t seed = 20;

	(void)state;
	for (unsigned int round = 0; round < 6000; round++) {
		struct ck_policy *p = help_random_policy(&seed, 5);

		if (ck_policy_agrees(p, NULL) == CK_OK) {
			safe++;
			if (!models_agree_everywhere(p))
				fail_msg("round %u", round);
		} else if (!models_agree_everywhere(p)) {
			differing++;
		}
		ck_policy_free(&p);
	}
	/* Both kinds were there, or the above shows nothing. */
	assert_true(safe > 500);
	assert_true(differing > 500);
}

/* Counted in processor time, so that a busy machine does not fail it.  A
 * plain build does more than 1,000,000 a second; sanitizers take most. */
static void
decisions_are_fast(void **state)
{
	static const char *const paths[] = {
		"/Users/o/src/app/main.c", "/Users/o/.clankie-keys/custody.db",
		"/Users/o/src/app/.env.local", "/private/tmp/x/y/z/file",
	};
	struct ck_policy *p = help_worker(help_set, 3, &help_macos);
	struct ck_verdict v = { A, 0, NULL };
	size_t n = 200000, denied = 0;
	clock_t begun = clock();
	double rate;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(ck_policy_decide(p, (enum ck_op)(1 +
		    i / 4 % 20), paths[i % 4], &v), CK_OK);
		denied += v.effect == D;
	}
	rate = (double)n * CLOCKS_PER_SEC / (double)(clock() - begun + 1);
	(void)printf("%zu rules: %.0f decisions a second\n",
	    ck_policy_count(p), rate);
	assert_true(denied > 0 && denied < n);
	assert_true(rate > 50000);
	ck_policy_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_decided_as_pinned_in_both_models),
		cmocka_unit_test(vectors_that_differ_are_not_called_safe),
		cmocka_unit_test(operations_know_their_names_and_parents),
		cmocka_unit_test(
		    unknown_operation_is_usage_and_output_unchanged),
		cmocka_unit_test(bad_rules_are_refused_and_not_added),
		cmocka_unit_test(dotted_names_are_ordinary),
		cmocka_unit_test(filters_match_byte_by_byte),
		cmocka_unit_test(
		    unclear_questions_are_refused_and_output_unchanged),
		cmocka_unit_test(question_without_path_ignores_filtered_rules),
		cmocka_unit_test(verdict_names_the_deciding_rule),
		cmocka_unit_test(policies_called_safe_are_decided_alike),
		cmocka_unit_test(decisions_are_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
