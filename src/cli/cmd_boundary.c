/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys boundary verify, and the attempts that it runs. */
#include "boundary.h"
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/platform.h"
#include "custody/proof.h"
#include "custody/verify.h"

static volatile sig_atomic_t stop;

static void
at_signal(int sig)
{
	stop = sig;
}

/* Whoever stops it does not want a home of ours to stay. */
static void
catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
		SIGPIPE };
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_handler = at_signal;
	(void)sigemptyset(&a.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaction(signals[i], &a, NULL);
}

/* boundary attempt ID HOME PID: inside of a trial, by the trial. */
static ck_err
attempt(struct cli *cli, int argc, char **argv)
{
	const struct ck_attempt *a;
	struct ck_scene scene;
	char self[CK_PATH_MAX];
	int outcome = 0, why = 0;
	ck_err r;

	if (argc != 3 || (a = ck_attempt_by_id(argv[0])) == NULL)
		return ck_fail_set(&cli->fail, CK_USAGE, "attempt",
		    "is run by boundary verify only");
	if ((r = ck_platform_self(self, &cli->fail)) != CK_OK ||
	    (r = ck_scene_make(argv[1], (pid_t)strtol(argv[2], NULL, 10),
	    self, environ, &scene, &cli->fail)) != CK_OK ||
	    (r = ck_attempt_run(a, &scene, &outcome, &why, &cli->fail)) !=
	    CK_OK)
		return r;
	(void)printf("%s\n", why != 0 ? strerror(why) : "");
	(void)fflush(stdout);
	_exit(outcome);
}

/* What is printed, and gathered for --json and for the note. */
struct report {
	struct cli *cli;
	struct ck_buf rows;          /* JSON */
	ck_err r;
};

static void
show_row(struct report *report, const struct ck_verify_row *row)
{
	struct ck_buf b = CK_BUF_INIT;

	ck_buf_format(&b, "%-13s %-20s %s", ck_verdict_name(row->verdict),
	    row->attempt->id, row->attempt->text);
	if (row->verdict == CK_VERDICT_PASS && row->how[0] != '\0')
		ck_buf_format(&b, ": %s", row->how);
	else if (row->verdict != CK_VERDICT_PASS)
		ck_buf_format(&b, " (outside: %s, inside: %s, rotated: %s)",
		    ck_seen_name(row->control), ck_seen_name(row->before),
		    ck_seen_name(row->after));
	ck_buf_text(&b, "\n");
	if (report->r == CK_OK)
		report->r = cli_put(report->cli, &b);
	if (report->r != CK_OK)
		stop = SIGPIPE;
	ck_buf_free(&b);
}

static void
take_row(void *arg, const struct ck_verify_row *row)
{
	struct report *report = arg;
	struct ck_buf *b = &report->rows;

	js_open(b, '{');
	js_text(b, "id", row->attempt->id);
	js_text(b, "text", row->attempt->text);
	js_text(b, "verdict", ck_verdict_name(row->verdict));
	js_text(b, "control", ck_seen_name(row->control));
	js_text(b, "inside", ck_seen_name(row->before));
	js_text(b, "rotated", ck_seen_name(row->after));
	js_text(b, "refused_by", row->how);
	js_shut(b, '}');
	if (!report->cli->json)
		show_row(report, row);
}

static void
put_tools(struct ck_buf *b)
{
	static const struct {
		const char *name, *option, *more;
	} tools[] = {
		{ "bwrap", "--version", NULL },
		{ "python3", "--version", NULL },
		{ "perl", "-e", "print $^V" },
		{ "node", "--version", NULL },
	};
	char line[96];

	js_name(b, "tools");
	js_open(b, '{');
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
		ck_verify_tool((const char *const[]){ tools[i].name,
		    tools[i].option, tools[i].more, NULL }, line,
		    sizeof(line));
		if (line[0] != '\0')
			js_bytes(b, tools[i].name, CK_SPAN_TEXT(line));
	}
	js_shut(b, '}');
}

/* The program that makes the boundary, by its content. */
static void
put_entry(struct cli *cli, struct ck_buf *b)
{
	char path[CK_PATH_MAX], hex[2 * CK_SHA256_BYTES + 1];
	uint8_t md[CK_SHA256_BYTES], *bytes = NULL;
	size_t n = 0;
	int fd = -1;

	if (worker_entry_beside(cli, path) == CK_OK &&
	    ck_io_open_file(AT_FDCWD, path, NULL, 0, &fd, NULL, NULL) ==
	    CK_OK && ck_io_read_all(fd, (size_t)64 << 20, path, &bytes, &n,
	    NULL) == CK_OK) {
		ck_hash(CK_SHA256, (struct ck_span){ bytes, n }, md);
		ck_hex_encode(md, sizeof(md), hex);
		js_text(b, "entry_sha256", hex);
	} else {
		js_null(b, "entry_sha256");
	}
	free(bytes);
	ck_io_close(&fd);
}

static void
put_all(struct cli *cli, const struct ck_verify_how *how,
    const struct ck_verify_sum *sum, const struct ck_buf *rows,
    struct ck_buf *b)
{
	char at[CK_CLOCK_ISO_SIZE], kernel[CK_KERNEL_SIZE];

	ck_clock_iso(ck_clock_wall(), at);
	cli_kernel(kernel);
	js_open(b, '{');
	js_bool(b, "ok", sum->verdict == CK_VERDICT_PASS);
	js_text(b, "verdict", ck_verdict_name(sum->verdict));
	js_bool(b, "without_boundary", how->without);
	js_text(b, "at", at);
	js_text(b, "version", CK_VERSION);
	js_text(b, "kernel", kernel);
	js_text(b, "libcrypto", OpenSSL_version(OPENSSL_VERSION_STRING));
	put_entry(cli, b);
	put_tools(b);
	js_name(b, "count");
	js_open(b, '{');
	for (int v = 0; v < CK_VERDICT_COUNT; v++)
		js_number(b, ck_verdict_name((enum ck_verdict)v),
		    (long long)sum->count[v]);
	js_shut(b, '}');
	js_text(b, "why", sum->why);
	js_name(b, "attempts");
	js_open(b, '[');
	ck_buf_bytes(b, rows->p, rows->n);
	js_shut(b, ']');
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

static ck_err
show_sum(struct cli *cli, const struct ck_verify_sum *sum)
{
	struct ck_buf b = CK_BUF_INIT;
	char kernel[CK_KERNEL_SIZE];
	ck_err r;

	cli_kernel(kernel);
	ck_buf_format(&b, "%s: %zu passed, %zu failed, %zu not possible here, "
	    "%zu untrusted, %zu undecided (clankie-keys %s, %s)\n",
	    ck_verdict_name(sum->verdict), sum->count[CK_VERDICT_PASS],
	    sum->count[CK_VERDICT_FAIL], sum->count[CK_VERDICT_NA],
	    sum->count[CK_VERDICT_UNTRUSTED],
	    sum->count[CK_VERDICT_UNDECIDED], CK_VERSION, kernel);
	if (sum->why[0] != '\0')
		ck_buf_format(&b, "%s\n", sum->why);
	r = cli_put(cli, &b);
	ck_buf_free(&b);
	return r;
}

/* For the owner, where there is a custody that it could be about. */
static ck_err
keep(struct cli *cli, const struct ck_buf *text)
{
	struct ck_place place;
	ck_err r;

	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK ||
	    (r = ck_proof_write(&place, ck_buf_view(text), &cli->fail)) !=
	    CK_OK)
		return r == CK_NOSTORE ? CK_OK : r;
	return CK_OK;
}

static ck_err
conclude(struct cli *cli, const struct ck_verify_how *how,
    const struct ck_verify_sum *sum, const struct report *report)
{
	struct ck_buf all = CK_BUF_INIT;
	ck_err r = report->r;

	put_all(cli, how, sum, &report->rows, &all);
	if (r == CK_OK)
		r = ck_buf_ok(&all);
	/* One attempt alone, or none of a boundary, proves nothing. */
	if (r == CK_OK && how->only == NULL && !how->without)
		r = keep(cli, &all);
	if (r == CK_OK && cli->json) {
		cli->answered = true;
		r = cli_put(cli, &all);
	} else if (r == CK_OK) {
		r = show_sum(cli, sum);
	}
	ck_buf_free(&all);
	if (r != CK_OK || sum->verdict == CK_VERDICT_PASS)
		return r;
	if (sum->verdict == CK_VERDICT_FAIL)
		return ck_fail_set(&cli->fail, CK_FINDINGS, NULL,
		    "%zu attempts got through", sum->count[CK_VERDICT_FAIL]);
	return ck_fail_set(&cli->fail, CK_NOENFORCE, NULL, "%s",
	    sum->why[0] != '\0' ? sum->why : "not everything could be judged");
}

/* Where no worker sees it: in the custody directory, which is masked as a
 * whole.  Where there is none, TMPDIR. */
static ck_err
trial_place(struct cli *cli, char ret[CK_PATH_MAX])
{
	const char *temporary = getenv("TMPDIR");
	struct ck_place place;
	struct stat st;
	ck_err r;

	if ((r = ck_place_resolve(&cli->say, &place, &cli->fail)) != CK_OK)
		return r;
	if (lstat(place.dir, &st) != 0 && errno != ENOENT && errno != ENOTDIR)
		return ck_fail_sys(&cli->fail, errno, place.dir,
		    "examine it");
	return ck_path_format(ret, &cli->fail, "%s", lstat(place.dir,
	    &st) == 0 ? place.dir : temporary != NULL && temporary[0] == '/' ?
	    temporary : "/tmp");
}

static ck_err
verify(struct cli *cli, int argc, char **argv)
{
	struct ck_verify_how how = { .stop = &stop };
	struct report report = { cli, CK_BUF_INIT, CK_OK };
	const char *path = getenv("PATH");
	struct ck_verify_sum sum;
	char self[CK_PATH_MAX], below[CK_PATH_MAX];
	const struct opt opts[] = {
		{ "--without-boundary", OPT_FLAG, &how.without },
		{ "--only", OPT_TEXT, &how.only },
	};
	const char *words[1];
	size_t n = 0;
	ck_err r;

	if ((r = cli_options(cli, argc, argv, opts,
	    sizeof(opts) / sizeof(opts[0]), words, 0, &n)) != CK_OK ||
	    (r = ck_platform_self(self, &cli->fail)) != CK_OK ||
	    (r = cli_prepare(cli, CLI_HEAP_KEYS)) != CK_OK ||
	    (r = trial_place(cli, below)) != CK_OK)
		return r;
	how.self = self;
	how.below = below;
	how.path = path != NULL && path[0] != '\0' ? path : "/usr/bin:/bin";
	catch_signals();
	if ((r = ck_verify(&how, take_row, &report, &sum, &cli->fail)) ==
	    CK_OK)
		r = conclude(cli, &how, &sum, &report);
	ck_buf_free(&report.rows);
	return r;
}

ck_err
cmd_boundary(struct cli *cli, int argc, char **argv)
{
	if (argc > 0 && strcmp(argv[0], "attempt") == 0)
		return attempt(cli, argc - 1, argv + 1);
	if (argc > 0 && strcmp(argv[0], "verify") == 0)
		return verify(cli, argc - 1, argv + 1);
	if (argc > 0 && strcmp(argv[0], "decide") == 0)
		return boundary_decide(cli, argc - 1, argv + 1);
	if (argc > 0 && strcmp(argv[0], "confine") == 0)
		return boundary_confine(cli, argc - 1, argv + 1);
	return ck_fail_set(&cli->fail, CK_USAGE, argc > 0 ? argv[0] : NULL,
	    "boundary has the commands verify, decide and confine");
}
