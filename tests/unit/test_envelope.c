/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The envelope as data: what it grants in both readings of rule order, its
 * texts byte for byte (CK_GOLDEN=write makes them anew), its record and the
 * private settings, and the table of docs/envelope.md.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "boundary/envelope.h"
#include "boundary/policy.h"
#include "custody/envelope.h"
#include "help_boundary.h"
#include "store/json.h"

struct fixture {
	struct ck_envelope e, other;
};

static int
setup(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	assert_non_null(fx);
	help_envelope(&fx->e);
	*state = fx;
	return 0;
}

static int
teardown(void **state)
{
	free(*state);
	return 0;
}

static bool
allows(const struct ck_policy *p, enum ck_op op, const char *path)
{
	struct ck_verdict s, l;

	assert_int_equal(ck_policy_decide_as(p, CK_MODEL_SPECIFIC, op, path,
	    &s), CK_OK);
	assert_int_equal(ck_policy_decide_as(p, CK_MODEL_LAST, op, path, &l),
	    CK_OK);
	assert_int_equal(s.effect, l.effect);
	return s.effect == CK_ALLOW;
}

/* What docs/envelope.md says, row by row. */
static const struct {
	const char *what;
	enum ck_op op;
	const char *path;
	bool allowed;
} rows[] = {
	{ "read the runtime", CK_OP_READ_DATA, "/srv/rt/main.js", true },
	{ "run a program of the runtime", CK_OP_MAP_EXECUTABLE, "/srv/node",
	    true },
	{ "change the runtime", CK_OP_WRITE_DATA, "/srv/rt/main.js", false },
	{ "read a workspace", CK_OP_READ_DATA, "/h/work space/a", true },
	{ "write a workspace", CK_OP_WRITE_DATA, "/h/work space/a", true },
	{ "make and remove files there", CK_OP_WRITE_UNLINK,
	    "/h/work space/a", true },
	{ "read and write the private home", CK_OP_WRITE_CREATE,
	    "/h/private/s/x", true },
	{ "listen and connect below the private home", CK_OP_NETWORK_OUTBOUND,
	    "/h/private/h/12345678/herdr.sock", true },
	{ "connect to a socket elsewhere", CK_OP_NETWORK_OUTBOUND,
	    "/h/.tmux/default", false },
	{ "read the system's programs and libraries", CK_OP_READ_DATA,
	    "/usr/lib/libc.dylib", true },
	{ "read another file of the owner", CK_OP_READ_DATA, "/h/secret",
	    false },
	{ "write another file of the owner", CK_OP_WRITE_CREATE, "/h/new",
	    false },
	{ "see that it exists (macOS)", CK_OP_READ_METADATA, "/h/secret",
	    true },
	{ "read the record of the envelope", CK_OP_READ_DATA,
	    "/h/control/envelope.json", true },
	{ "read the refusal probe", CK_OP_READ_DATA,
	    "/h/control/refusal-probe", false },
	{ "change a control file", CK_OP_WRITE_DATA,
	    "/h/control/envelope.json", false },
	{ "rename or link a control file", CK_OP_LINK,
	    "/h/control/refusal-probe", false },
	{ "use the terminals of others", CK_OP_READ_DATA, "/dev/ttys001",
	    false },
	{ "look up the Keychain's services", CK_OP_MACH_LOOKUP, NULL, false },
	{ "send Apple events", CK_OP_APPLEEVENT, NULL, false },
	{ "start programs", CK_OP_EXEC, "/usr/bin/true", true },
};

static void
grants_are_allowed_and_nothing_else(void **state)
{
	const struct fixture *fx = *state;
	struct ck_policy *p = NULL;

	assert_int_equal(ck_policy_envelope(&fx->e, &p, NULL), CK_OK);
	for (size_t i = 0; i < HELP_COUNT(rows); i++)
		if (allows(p, rows[i].op, rows[i].path) != rows[i].allowed)
			fail_msg("%s", rows[i].what);
	/* A name that only begins like a grant. */
	assert_false(allows(p, CK_OP_READ_DATA, "/h/work space2/a"));
	assert_false(allows(p, CK_OP_READ_DATA, "/h/work"));
	assert_false(allows(p, CK_OP_READ_DATA, "/srv"));
	/* The owner's files under the name they have below /System. */
	assert_false(allows(p, CK_OP_READ_DATA,
	    "/System/Volumes/Data/h/secret"));
	assert_false(allows(p, CK_OP_MAP_EXECUTABLE,
	    "/System/Volumes/Data/h/secret"));
	assert_true(allows(p, CK_OP_READ_METADATA,
	    "/System/Volumes/Data/h/secret"));
	assert_true(allows(p, CK_OP_READ_DATA, "/System/Library/x"));
	ck_policy_free(&p);
}

/* The file's text; the caller frees. */
static char *
text_of(const char *path)
{
	char *text = calloc(1, 256 << 10);
	FILE *f = fopen(path, "re");

	assert_non_null(text);
	assert_non_null(f);
	assert_true(fread(text, 1, (256 << 10) - 1, f) > 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static void
write_text(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void
expect_golden(const char *path, struct ck_buf *b)
{
	char *golden;

	assert_int_equal(ck_buf_ok(b), CK_OK);
	if (getenv("CK_GOLDEN") != NULL)
		write_text(path, (const char *)b->p, b->n);
	ck_buf_bytes(b, "", 1);
	golden = text_of(path);
	assert_string_equal(golden, (const char *)b->p);
	free(golden);
	ck_buf_free(b);
}

static void
texts_are_the_golden_ones(void **state)
{
	struct fixture *fx = *state;
	struct ck_envelope_box *box = calloc(1, sizeof(*box));
	struct ck_buf b = CK_BUF_INIT;

	assert_non_null(box);
	assert_int_equal(ck_envelope_seatbelt(&fx->e, &b, NULL), CK_OK);
	expect_golden("fixtures/boundary/envelope.sb", &b);
	fx->e.network = true;
	assert_int_equal(ck_envelope_seatbelt(&fx->e, &b, NULL), CK_OK);
	expect_golden("fixtures/boundary/envelope-network.sb", &b);
	ck_envelope_system(box->system);
	for (size_t i = 0; i < CK_ENVELOPE_SYSTEM; i++)
		box->system[i].there = i != 4;
	memcpy(box->system[1].link, "usr/bin", 8);
	ck_envelope_grants(&fx->e, box->grant, &box->ngrants);
	for (size_t i = 0; i < box->ngrants; i++)
		box->grant[i].inode = i + 1;
	box->entry = "/usr/libexec/clankie-keys/clankie-envelope-entry";
	box->directory = "/h/work space";
	assert_int_equal(ck_envelope_bwrap(&fx->e, box, &b, NULL), CK_OK);
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] == 0)
			b.p[i] = '\n';
	expect_golden("fixtures/boundary/envelope.bwrap", &b);
	free(box);
}

/* A directory that holds the control files is never let be used as a whole. */
static void
the_control_directory_is_in_nothing_that_may_be_used(void **state)
{
	struct fixture *fx = *state;
	struct ck_envelope_box *box = calloc(1, sizeof(*box));
	struct ck_buf b = CK_BUF_INIT;

	assert_non_null(box);
	memcpy(fx->e.control, "/tmp/x/control", 15);
	ck_envelope_system(box->system);
	ck_envelope_grants(&fx->e, box->grant, &box->ngrants);
	box->entry = "/e";
	box->directory = "/h";
	assert_int_equal(ck_envelope_bwrap(&fx->e, box, &b, NULL), CK_OK);
	for (size_t i = 0; i < b.n; i += strlen((char *)b.p + i) + 1) {
		if (strcmp((char *)b.p + i, "--allow") != 0)
			continue;
		i += strlen((char *)b.p + i) + 1;
		assert_false(ck_path_under("/tmp/x/control",
		    (char *)b.p + i));
	}
	ck_buf_free(&b);
	free(box);
}

static void
the_record_comes_back_as_it_went(void **state)
{
	struct fixture *fx = *state;
	struct ck_buf b = CK_BUF_INIT, again = CK_BUF_INIT;

	for (int turn = 0; turn < 2; turn++) {
		fx->e.network = turn == 1;
		assert_int_equal(ck_envelope_write(&fx->e, &b, NULL), CK_OK);
		memcpy(fx->other.control, fx->e.control, CK_PATH_MAX);
		assert_int_equal(ck_envelope_parse((struct ck_span){ b.p,
		    b.n }, "t", &fx->other, NULL), CK_OK);
		assert_int_equal(ck_envelope_write(&fx->other, &again, NULL),
		    CK_OK);
		assert_int_equal(b.n, again.n);
		assert_memory_equal(b.p, again.p, b.n);
		assert_int_equal(fx->other.network, fx->e.network);
		ck_buf_free(&b);
		ck_buf_free(&again);
	}
}

static void
a_record_with_anything_else_is_refused(void **state)
{
	static const char good[] = "{\"version\":1,\"id\":"
	    "\"00000000-0000-4000-8000-000000000000\",\"accessLevel\":"
	    "\"shell\",\"runtimeRoot\":\"/r\",\"runtimeFiles\":[\"/r/n\"],"
	    "\"home\":\"/h\",\"workspaces\":[\"/w\"]}";
	static const struct {
		const char *from, *to;
	} bad[] = {
		{ "\"version\":1", "\"version\":2" },
		{ "\"version\":1", "\"version\":true" },
		{ "8000", "800G" }, { "\"shell\"", "\"screen\"" },
		{ "\"shell\"", "7" }, { "\"/r\"", "\"r\"" },
		{ "[\"/r/n\"]", "[]" }, { "[\"/r/n\"]", "\"/r/n\"" },
		{ "[\"/w\"]", "[7]" }, { "[\"/w\"]", "[\"w\"]" },
		{ "\"home\":\"/h\",", "" }, { "\"/h\"", "\"/h\\u0000\"" },
		{ "{", "{\"more\":1," }, { "{", "{\"version\":1," },
		{ "{", "{\"network\":true," }, { "{", "{\"network\":0," },
		{ "}", "}x" }, { "}", "" },
	};
	struct fixture *fx = *state;
	char text[512];

	assert_int_equal(ck_envelope_parse(CK_SPAN_TEXT(good), "t", &fx->other,
	    NULL), CK_OK);
	for (size_t i = 0; i < HELP_COUNT(bad); i++) {
		const char *at = strstr(good, bad[i].from);

		assert_non_null(at);
		(void)snprintf(text, sizeof(text), "%.*s%s%s",
		    (int)(at - good), good, bad[i].to,
		    at + strlen(bad[i].from));
		if (ck_envelope_parse(CK_SPAN_TEXT(text), "t", &fx->other,
		    NULL) != CK_DAMAGED)
			fail_msg("accepted: %s", text);
	}
}

static ck_err
settings(const struct fixture *fx, const char *text, struct ck_buf *b)
{
	return ck_envelope_settings(CK_SPAN_TEXT(text), "t", &fx->e, b, NULL);
}

static void
private_settings_lead_nowhere_else(void **state)
{
	const struct fixture *fx = *state;
	struct ck_buf b = CK_BUF_INIT;

	assert_int_equal(settings(fx, "{\"a\":[1],\"execution\":{\"x\":1},"
	    "\"machines\":[],\"machineAccess\":{\"local\":\"screen\","
	    "\"other\":1},\"herdr\":{\"runtime\":\"external\",\"socketPath\":"
	    "\"/x\",\"session\":\"s\"},\"captain\":7}", &b), CK_OK);
	ck_buf_bytes(&b, "", 1);
	assert_null(strstr((char *)b.p, "execution"));
	assert_null(strstr((char *)b.p, "machines"));
	assert_null(strstr((char *)b.p, "screen"));
	assert_null(strstr((char *)b.p, "socketPath"));
	assert_null(strstr((char *)b.p, "session"));
	assert_non_null(strstr((char *)b.p, "\"local\": \"workers\""));
	assert_non_null(strstr((char *)b.p, "\"other\": 1"));
	assert_non_null(strstr((char *)b.p, "\"runtime\": \"bundled\""));
	assert_non_null(strstr((char *)b.p,
	    "\"workingDirectory\": \"/h/work space\""));
	ck_buf_free(&b);
}

static void
settings_with_secrets_are_refused(void **state)
{
	static const char *const bad[] = {
		"{\"apiKey\":\"x\"}", "{\"a\":{\"b\":[{\"AuthToken\":\"x\"}]}}",
		"{\"PASSWORD\":\"x\"}", "{\"x\":{\"client_secret\":\"y\"}}"
	};
	static const char *const fine[] = {
		"{\"apiKey\":\"\"}", "{\"maxTokens\":4}", "{}",
		"{\"tokenLimit\":null}"
	};
	const struct fixture *fx = *state;
	struct ck_buf b = CK_BUF_INIT;

	for (size_t i = 0; i < HELP_COUNT(bad); i++) {
		assert_int_equal(settings(fx, bad[i], &b), CK_REFUSED);
		assert_int_equal(b.n, 0);
	}
	for (size_t i = 0; i < HELP_COUNT(fine); i++) {
		assert_int_equal(settings(fx, fine[i], &b), CK_OK);
		ck_buf_free(&b);
	}
	assert_int_equal(settings(fx, "[]", &b), CK_DAMAGED);
	assert_int_equal(settings(fx, "{\"a\":1,\"a\":2}", &b), CK_DAMAGED);
}

/* The level is the service's own word; what the kernel lets it do is the same
 * at each, which the table shows by asking for every one. */
static void
the_table_of_the_documentation_is_the_policys(void **state)
{
	static const char path[] = "docs/envelope.md";
	static const char first[] = "<!-- levels: begin -->\n";
	static const char last[] = "<!-- levels: end -->";
	struct fixture *fx = *state;
	struct ck_buf b = CK_BUF_INIT;
	char *doc = text_of(path), *from, *to;

	assert_non_null(from = strstr(doc, first));
	assert_non_null(to = strstr(from, last));
	from += sizeof(first) - 1;
	ck_buf_bytes(&b, doc, (size_t)(from - doc));
	ck_buf_text(&b, "\n| May the service | portal | workers | shell |\n"
	    "| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < HELP_COUNT(rows); i++) {
		ck_buf_format(&b, "| %s |", rows[i].what);
		for (int l = 0; l < CK_LEVEL_COUNT; l++) {
			struct ck_policy *p = NULL;

			fx->e.level = (enum ck_level)l;
			assert_int_equal(ck_policy_envelope(&fx->e, &p, NULL),
			    CK_OK);
			ck_buf_text(&b, allows(p, rows[i].op, rows[i].path) ?
			    " yes |" : " no |");
			ck_policy_free(&p);
		}
		ck_buf_text(&b, "\n");
	}
	ck_buf_text(&b, "\n");
	ck_buf_bytes(&b, to, strlen(to));
	free(doc);
	expect_golden(path, &b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    grants_are_allowed_and_nothing_else, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    texts_are_the_golden_ones, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    the_control_directory_is_in_nothing_that_may_be_used,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    the_record_comes_back_as_it_went, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_record_with_anything_else_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    private_settings_lead_nowhere_else, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    settings_with_secrets_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    the_table_of_the_documentation_is_the_policys, setup,
		    teardown),
	};

	assert_int_equal(ck_secret_heap_init((size_t)4 << 20, NULL), CK_OK);
	ck_json_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
