/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluator against an independent one: the emitted profile is run by a
 * real Scheme interpreter under tests/scheme/prelude.scm, which collects the
 * rules as the profile makes them and decides in both readings.  Regular
 * expressions are matched there too, by a matcher that takes only what the
 * renderer may write: computing them here would compare our idea of the
 * pattern with itself and miss a wrong escape.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "boundary/envelope.h"
#include "boundary/policy.h"
#include "boundary/seatbelt.h"
#include "help_boundary.h"

#define SENTINEL "oracle-reached-the-end"
#define PIECE 60           /* bytes of a string literal in a question */
#define VERDICTS_MIN 2000

/* The first few tell apart the kinds of rules that a worker policy has; the
 * interpreter is slow, so near misses are asked about those only. */
static const enum ck_op asked[] = { CK_OP_READ_DATA, CK_OP_READ_METADATA,
	CK_OP_WRITE_TIMES, CK_OP_CLONE, CK_OP_WRITE_CREATE,
	CK_OP_READ_XATTR, CK_OP_WRITE_DATA, CK_OP_WRITE_UNLINK,
	CK_OP_WRITE_FINDERINFO, CK_OP_LINK, CK_OP_MAP_EXECUTABLE, CK_OP_MOUNT,
	CK_OP_EXISTENCE, CK_OP_NETWORK_OUTBOUND };
#define FIRST_FEW 4

/* A program for the interpreter and the answers we expect from it. */
struct session {
	struct ck_buf program;
	struct ck_buf wanted;      /* line for line what it must print */
	struct ck_buf shown;       /* what each line is about, NUL behind each */
	size_t questions;          /* operation and path, both models as one */
	size_t denied;
	size_t ops;                /* how many of asked[] */
};

static void
file_into(struct ck_buf *b, const char *path)
{
	uint8_t *text = NULL;
	size_t n = 0;
	int fd = -1;

	assert_int_equal(ck_io_open_file(AT_FDCWD, path, NULL, 0, &fd, NULL,
	    NULL), CK_OK);
	assert_int_equal(ck_io_read_all(fd, 1 << 20, path, &text, &n, NULL),
	    CK_OK);
	ck_buf_bytes(b, text, n);
	free(text);
	ck_io_close(&fd);
}

static void
session_begin(struct session *s)
{
	memset(s, 0, sizeof(*s));
	s->ops = HELP_COUNT(asked);
	file_into(&s->program, "tests/scheme/prelude.scm");
}

static void
session_end(struct session *s)
{
	ck_buf_free(&s->program);
	ck_buf_free(&s->wanted);
	ck_buf_free(&s->shown);
}

/* In the child: the interpreter with everything but the two pipes closed. */
static void
become_scheme(const char *file, int out)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(out, 2) < 0)
		_exit(126);
	(void)execlp("tinyscheme", "tinyscheme", "-1", file, (char *)NULL);
	_exit(127);
}

/* Exit status of the interpreter on the file, output added to out. */
static int
run_file(const char *file, struct ck_buf *out)
{
	int pipefd[2], status = -1;
	char chunk[4096];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipefd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		become_scheme(file, pipefd[1]);
	(void)close(pipefd[1]);
	while ((n = read(pipefd[0], chunk, sizeof(chunk))) > 0 ||
	    (n < 0 && errno == EINTR))
		if (n > 0)
			ck_buf_bytes(out, chunk, (size_t)n);
	(void)close(pipefd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The program is run with the sentinel behind it.  A missing parenthesis ends
 * it early and quietly, so whoever calls looks for the sentinel. */
static int
run(const struct ck_buf *program, struct ck_buf *out)
{
	static const char tail[] = "\n(display \"" SENTINEL "\")(newline)\n";
	char file[] = "/tmp/ck-oracle-XXXXXX";
	int fd = mkstemp(file), status;

	assert_true(fd >= 0);
	assert_int_equal(ck_io_write_all(fd, program->p, program->n, file,
	    NULL), CK_OK);
	assert_int_equal(ck_io_write_all(fd, tail, sizeof(tail) - 1, file,
	    NULL), CK_OK);
	(void)close(fd);
	status = run_file(file, out);
	(void)unlink(file);
	ck_buf_bytes(out, "", 1);
	assert_int_equal(ck_buf_ok(out), CK_OK);
	out->n--;
	return status;
}

static void
need_scheme(void)
{
	struct ck_buf program = CK_BUF_INIT, out = CK_BUF_INIT;
	int status = run(&program, &out);

	ck_buf_free(&out);
	if (status == 127) {
		(void)printf("SKIP: tinyscheme is not installed\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* A string expression, by rules of its own: the renderer's are on trial. */
static void
put_string(struct ck_buf *b, const char *text)
{
	ck_buf_text(b, "(string-append \"\"");
	for (size_t i = 0; text[i] != '\0'; i++) {
		ck_buf_text(b, i % PIECE == 0 ? " \"" : "");
		if (text[i] == '"' || text[i] == '\\')
			ck_buf_text(b, "\\");
		ck_buf_bytes(b, text + i, 1);
		ck_buf_text(b, text[i + 1] == '\0' || i % PIECE == PIECE - 1 ?
		    "\"" : "");
	}
	ck_buf_text(b, ")");
}

static char
letter(const struct ck_policy *p, enum ck_model model, enum ck_op op,
    const char *path)
{
	struct ck_verdict v = { CK_ALLOW, 0, NULL };

	assert_int_equal(ck_policy_decide_as(p, model, op, path, &v), CK_OK);
	return v.effect == CK_DENY ? 'd' : 'a';
}

/* Put the operations on path to both; a text that is no path is left out. */
static void
ask(struct session *s, const struct ck_policy *p, const char *path)
{
	struct ck_verdict v = { CK_ALLOW, 0, NULL };

	if (ck_policy_decide(p, CK_OP_LINK, path, &v) == CK_REFUSED)
		return;
	ck_buf_text(&s->program, "(ask ");
	put_string(&s->program, path);
	for (size_t i = 0; i < s->ops; i++) {
		char a = letter(p, CK_MODEL_SPECIFIC, asked[i], path);
		char b = letter(p, CK_MODEL_LAST, asked[i], path);

		ck_buf_format(&s->program, " %s", ck_op_name(asked[i]));
		ck_buf_format(&s->wanted, "%c%c ", a, b);
		s->denied += a == 'd';
		s->questions++;
	}
	ck_buf_text(&s->program, ")\n");
	ck_buf_text(&s->wanted, "\n");
	ck_buf_bytes(&s->shown, path, strlen(path) + 1);
}

static void
begin_profile(struct session *s, const struct ck_policy *p)
{
	struct ck_fail fail = CK_FAIL_INIT;

	ck_buf_text(&s->program, "\n(profile-begin)\n");
	if (ck_seatbelt_render(p, &s->program, &fail) != CK_OK)
		fail_msg("%s: %s", fail.place, fail.why);
}

/* The first line that differs, said in terms of its question. */
static void
compare(const struct session *s, const struct ck_buf *out)
{
	const char *want = (const char *)s->wanted.p, *got = (char *)out->p;
	const char *shown = (const char *)s->shown.p;

	while (*want != '\0') {
		size_t n = strcspn(want, "\n") + 1;

		if (strncmp(want, got, n) != 0)
			fail_msg("%s: evaluator %.*s oracle %.*s", shown,
			    (int)n - 1, want, (int)strcspn(got, "\n"), got);
		want += n;
		got += n;
		shown += strlen(shown) + 1;
	}
	assert_string_equal(got, SENTINEL "\n");
}

static void
run_and_compare(struct session *s)
{
	struct ck_buf out = CK_BUF_INIT;
	int status;

	ck_buf_bytes(&s->wanted, "", 1);
	assert_int_equal(ck_buf_ok(&s->program), CK_OK);
	assert_int_equal(ck_buf_ok(&s->wanted), CK_OK);
	assert_int_equal(ck_buf_ok(&s->shown), CK_OK);
	status = run(&s->program, &out);
	if (status != 0)
		fail_msg("oracle: status %d: %s", status, (char *)out.p);
	compare(s, &out);
	(void)printf("%zu questions in both models, %zu denied, compared\n",
	    s->questions, s->denied);
	ck_buf_free(&out);
}

/* ask() about fmt with path in place of its @. */
static void
ask_about(struct session *s, const struct ck_policy *p, const char *fmt,
    const char *path)
{
	char text[CK_PATH_MAX + 128];
	const char *hole = strchr(fmt, '@');

	assert_non_null(hole);
	(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(hole - fmt), fmt,
	    path, hole + 1);
	ask(s, p, text);
}

/* path with one byte changed, removed or in the other case. */
static void
ask_near_misses(struct session *s, const struct ck_policy *p,
    const char *path)
{
	size_t n = strlen(path), step = n / 4 + 1;
	char text[CK_PATH_MAX];

	for (size_t i = 1; i < n; i += step) {
		memcpy(text, path, n + 1);
		text[i] = text[i] == 'x' ? 'y' : 'x';
		ask(s, p, text);
		memcpy(text, path, n + 1);
		text[i] = (char)(text[i] ^ 0x20);
		if (text[i] > 0x20 && text[i] != 0x7F)
			ask(s, p, text);
	}
	memcpy(text, path, n + 1);
	text[n - 1] = '\0';
	ask(s, p, text);
	memmove(text + 1, text, n);
	text[1] = '\\';
	ask(s, p, text);
}

static void
ask_around(struct session *s, const struct ck_policy *p, const char *path)
{
	static const char *const forms[] = { "@", "@x", "@/x", "@.sb-a-b",
		"@.tmp-1", "@.lock", "@.lock/x", "@.lockx", "@.7.u.tmp",
		"@.x", "@.:", "@.", "/System/Volumes/Data@",
		"/System/Volumes/Data@.0", "/system/volumes/data@",
		"/System/Volumes/Datax@" };
	char dir[CK_PATH_MAX];

	for (size_t i = 0; i < HELP_COUNT(forms); i++) {
		s->ops = i < 2 ? HELP_COUNT(asked) : FIRST_FEW;
		ask_about(s, p, forms[i], path);
	}
	ask_near_misses(s, p, path);
	for (ck_path_parent(path, dir); strcmp(dir, "/") != 0;
	    ck_path_parent(dir, dir)) {
		s->ops = HELP_COUNT(asked);
		ask(s, p, dir);
		s->ops = FIRST_FEW;
		ask_about(s, p, "@/z", dir);
		ask_about(s, p, "@z", dir);
		ask_about(s, p, "/System/Volumes/Data@", dir);
	}
	ask(s, p, "/");
}

static const struct ck_worker_options macos = {
	.home = "/h", .data_volume = true, .fold = true
};
static const struct ck_worker_options plain = { .home = "/h" };

static void
ask_worker(struct session *s, const char *path, bool directory,
    bool deny_read, const struct ck_worker_options *options)
{
	struct ck_protect set[] = { help_protect(path, directory,
	    deny_read) };
	struct ck_policy *p = help_worker(set, 1, options);

	assert_int_equal(ck_policy_covers(p, set, 1, options, NULL), CK_OK);
	begin_profile(s, p);
	ask_around(s, p, path);
	ck_policy_free(&p);
}

static const char *const nasty[] = {
	"/h/plain", "/h/a\"b", "/h/\"", "/h/\\", "/h/a\\\\", "/h/a\\\"",
	"/h/\\n", "/h/\\x41", "/h/a b", "/h/ ", "/h/(", "/h/)", "/h/a;b",
	"/h/;", "/h/#t", "/h/#\"", "/h/#|x", "/h/'q", "/h/`q,@x", "/h/$a",
	"/h/a$", "/h/^", "/h/^a[b]c", "/h/[^/]*", "/h/.*", "/h/a+b?", "/h/a|b",
	"/h/(a|b)", "/h/{2}", "/h/-", "/h/~", "/h/%s%n", "/h/A1.Z9",
	"/h/caf\xC3\xA9", "/h/cafe\xCC\x81", "/h/\xF0\x9F\x94\x91",
	"/h/\xE2\x82\xAC.\xE2\x82\xAC",
	("/h/a\")(allow file-read* (subpath \"/\"))"
	    "(deny file-read* (literal \"b"),
};

static void
nasty_paths_are_decided_alike(void **state)
{
	struct session s;

	(void)state;
	need_scheme();
	session_begin(&s);
	for (size_t i = 0; i < HELP_COUNT(nasty); i++) {
		ask_worker(&s, nasty[i], i % 3 == 1, i % 4 != 2, &macos);
		ask_worker(&s, nasty[i], i % 3 == 2, i % 4 != 1, &plain);
	}
	run_and_compare(&s);
	assert_true(s.questions >= VERDICTS_MIN);
	assert_true(s.denied > s.questions / 10);
	assert_true(s.denied < s.questions / 10 * 9);
	session_end(&s);
}

static void
long_paths_are_decided_alike(void **state)
{
	static const char *const unit[] = { "a", "\"", "\\", "\xC3\xA9",
		"/dir", "\xF0\x9F\x94\x91" };
	struct session s;

	(void)state;
	need_scheme();
	session_begin(&s);
	for (size_t u = 0; u < HELP_COUNT(unit); u++) {
		char path[CK_PATH_MAX] = "/h/d";
		size_t n = 4, len = strlen(unit[u]);
		size_t want = unit[u][0] == '/' ? 40 : 300 + 40 * u;

		for (; n < want; n += len)
			memcpy(path + n, unit[u], len + 1);
		ask_worker(&s, path, false, true, u == 0 || u == 3 ? &macos :
		    &plain);
	}
	run_and_compare(&s);
	assert_true(s.denied > 0);
	session_end(&s);
}

static void
whole_worker_policy_is_decided_alike(void **state)
{
	struct ck_policy *p;
	struct session s;

	(void)state;
	need_scheme();
	p = help_worker(help_set, HELP_SET_COUNT, &help_macos);
	session_begin(&s);
	begin_profile(&s, p);
	for (size_t i = 0; i < HELP_SET_COUNT; i++) {
		ask(&s, p, help_set[i].path);
		ask_about(&s, p, "@.sb-x", help_set[i].path);
		ask_about(&s, p, "/System/Volumes/Data@/x", help_set[i].path);
		ask_about(&s, p, "@-x", help_set[i].path);
	}
	run_and_compare(&s);
	session_end(&s);
	ck_policy_free(&p);
}

/* Not only workers': whatever may be rendered at all, allows included. */
static void
random_policies_are_decided_alike(void **state)
{
	static const char *const paths[] = { "/", "/a", "/a/b", "/a/b/c",
		"/ab", "/b/x" };
	uint32_t seed = 7;
	size_t used = 0;
	struct session s;

	(void)state;
	need_scheme();
	session_begin(&s);
	while (used < 40) {
		struct ck_policy *p = help_random_policy(&seed, 6);

		if (ck_policy_count(p) > 2 &&
		    ck_policy_agrees(p, NULL) == CK_OK) {
			used++;
			begin_profile(&s, p);
			for (size_t i = 0; i < HELP_COUNT(paths); i++)
				ask(&s, p, paths[i]);
		}
		ck_policy_free(&p);
	}
	run_and_compare(&s);
	assert_true(s.denied > 0 && s.denied < s.questions);
	session_end(&s);
}

static void
pinned_vectors_hold_in_the_oracle(void **state)
{
	struct ck_buf out = CK_BUF_INIT;
	struct session s;
	size_t lines = 0;

	(void)state;
	need_scheme();
	session_begin(&s);
	file_into(&s.program, "tests/scheme/vectors.scm");
	assert_int_equal(run(&s.program, &out), 0);
	for (const char *at = (char *)out.p; (at = strstr(at, "as pinned"))
	    != NULL; at++)
		lines++;
	if (strstr((char *)out.p, "DIFFERS") != NULL)
		fail_msg("%s", (char *)out.p);
	assert_int_equal(lines, 19);
	assert_non_null(strstr((char *)out.p, "\n" SENTINEL "\n"));
	ck_buf_free(&out);
	session_end(&s);
}

/* A whole service's: grants, what lies around them, and the control files that
 * stay shut.  The words that are about no file are taken, too. */
static void
an_envelope_is_decided_alike(void **state)
{
	static const char *const paths[] = {
		"/srv/rt", "/srv/node", "/h/private", "/h/work space",
		"/h/caf\xC3\xA9", "/h/control", "/h/control/envelope.json",
		"/h/control/refusal-probe", "/h/control/profile.sb",
		"/h/control/launch.json", "/usr/lib", "/dev/null",
		"/dev/ttys001", "/h/elsewhere", "/System/Volumes/Data"
	};
	struct ck_envelope *e = calloc(1, sizeof(*e));
	struct ck_policy *p = NULL;
	struct session s;

	(void)state;
	need_scheme();
	assert_non_null(e);
	help_envelope(e);
	for (int turn = 0; turn < 2; turn++) {
		e->network = turn == 1;
		session_begin(&s);
		assert_int_equal(ck_policy_envelope(e, &p, NULL), CK_OK);
		ck_buf_text(&s.program, "\n(profile-begin)\n");
		assert_int_equal(ck_envelope_seatbelt(e, &s.program, NULL),
		    CK_OK);
		for (size_t i = 0; i < HELP_COUNT(paths); i++) {
			s.ops = HELP_COUNT(asked);
			ask(&s, p, paths[i]);
			ask_around(&s, p, paths[i]);
		}
		run_and_compare(&s);
		session_end(&s);
		ck_policy_free(&p);
	}
	free(e);
}

/* Run the profile of one file with one piece of its text replaced; both
 * pieces have the same length.  Status and output of the oracle. */
static int
run_with(const char *from, const char *to, struct ck_buf *out)
{
	struct ck_protect set[] = { help_protect("/h/f", false, true) };
	struct ck_policy *p = help_worker(set, 1, &macos);
	struct session s;
	int status;
	char *at;

	session_begin(&s);
	begin_profile(&s, p);
	ck_buf_text(&s.program, "(ask \"/h/f\" file-read-data)");
	ck_buf_bytes(&s.program, "", 1);
	at = strstr((char *)s.program.p, "(allow default)");
	assert_non_null(at);
	at = strstr(at, from);
	assert_non_null(at);
	memcpy(at, to, strlen(to));
	s.program.n--;
	status = run(&s.program, out);
	session_end(&s);
	ck_policy_free(&p);
	return status;
}

/* The oracle must be able to say no, or its yes is worth nothing. */
static void
broken_profiles_are_noticed(void **state)
{
	static const struct {
		const char *from, *to;
		int status;
		const char *says;
	} cases[] = {
		{ "/h/f", "/h/f", 0, "dd \n" SENTINEL "\n" },
		{ "file-read-data", "file-read-Xata", 255, "unbound" },
		{ "(literal", "(Literax", 255, "unbound" },
		{ "\"clankie-keys\"))", "\"clankie-keys\") ", 0, "" },
		{ "\"clankie-keys\"))", "\"clankie-keys )", 255, "" },
		{ "[.][0-9]", ".*.[0-9]", 255, "stands alone" },
		{ "\"^/[Hh]", "\"x/[Hh]", 255, "not anchored" },
		{ "(literal \"/", "(literal \"x", 255, "not absolute" },
		{ "file-mount\n", "\"a\"      \n", 255, "not an operation" },
	};

	(void)state;
	need_scheme();
	for (size_t i = 0; i < HELP_COUNT(cases); i++) {
		struct ck_buf out = CK_BUF_INIT;
		int status = run_with(cases[i].from, cases[i].to, &out);

		if (status != cases[i].status ||
		    strstr((char *)out.p, cases[i].says) == NULL)
			fail_msg("case %zu: status %d: %s", i, status,
			    (char *)out.p);
		/* Quiet or not, only the whole text reaches its end. */
		assert_int_equal(strstr((char *)out.p, SENTINEL) != NULL,
		    i == 0);
		ck_buf_free(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pinned_vectors_hold_in_the_oracle),
		cmocka_unit_test(broken_profiles_are_noticed),
		cmocka_unit_test(nasty_paths_are_decided_alike),
		cmocka_unit_test(long_paths_are_decided_alike),
		cmocka_unit_test(whole_worker_policy_is_decided_alike),
		cmocka_unit_test(random_policies_are_decided_alike),
		cmocka_unit_test(an_envelope_is_decided_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
