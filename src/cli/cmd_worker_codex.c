/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys worker codex, and what every launch of a harness asks: does it
 * confine its own commands? */
#include "worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
worker_native(const struct cli *cli, enum ck_harness harness, int argc,
    char **command, struct ck_native_answer *ret)
{
	char home[CK_PATH_MAX], cwd[CK_PATH_MAX];
	const struct ck_harness_say say = { home, cwd,
		getenv("CODEX_HOME"), getenv("CLAUDE_CONFIG_DIR"),
		getenv("GEMINI_SANDBOX"), getenv("GOOSE_SANDBOX") };

	if (ck_path_home(cli->say.home, home, NULL) != CK_OK ||
	    getcwd(cwd, sizeof(cwd)) == NULL || cwd[0] != '/') {
		ck_native_set(ret, CK_NATIVE_UNDECIDED, "",
		    "home or working directory have no usable path");
		return;
	}
	ck_harness_decide(harness, &say, argc - 1, command + 1, ret);
}

static void
explain_json(struct ck_buf *b, enum ck_harness harness,
    const struct ck_native_answer *a)
{
	js_open(b, '{');
	js_bool(b, "ok", true);
	js_text(b, "harness", ck_harness_name(harness));
	js_text(b, "answer", ck_native_name(a->answer));
	js_bytes(b, "evidence", CK_SPAN_TEXT(a->place));
	js_text(b, "why", a->why);
	js_text(b, "linux", ck_wrap_name(ck_native_wrap(CK_SYSTEM_LINUX,
	    a->answer, 0)));
	js_text(b, "macos", ck_wrap_name(ck_native_wrap(CK_SYSTEM_MACOS,
	    a->answer, 0)));
	js_text(b, "macos_undecided_wrap", ck_wrap_name(ck_native_wrap(
	    CK_SYSTEM_MACOS, a->answer, 1)));
	js_shut(b, '}');
	ck_buf_text(b, "\n");
}

static void
explain_text(struct ck_buf *b, enum ck_harness harness,
    const struct ck_native_answer *a)
{
	ck_buf_format(b, "harness      %s\nanswer       %s\n"
	    "evidence     ", ck_harness_name(harness),
	    ck_native_name(a->answer));
	cli_show_bytes(b, CK_SPAN_TEXT(a->place));
	ck_buf_format(b, "%s%s\nLinux        %s\nmacOS        %s%s\n",
	    a->place[0] == '\0' ? "" : " ", a->why,
	    ck_wrap_name(ck_native_wrap(CK_SYSTEM_LINUX, a->answer, 0)),
	    ck_wrap_name(ck_native_wrap(CK_SYSTEM_MACOS, a->answer, 0)),
	    a->answer == CK_NATIVE_UNDECIDED ? " (or wrap: clankie-keys "
	    "worker sandbox --undecided wrap)" : "");
}

ck_err
worker_explain(struct cli *cli, enum ck_harness harness,
    const struct ck_native_answer *answer)
{
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	if (cli->json)
		explain_json(&b, harness, answer);
	else
		explain_text(&b, harness, answer);
	r = cli_put(cli, &b);
	ck_buf_free(&b);
	return r;
}

static ck_err
not_clear(struct cli *cli, enum ck_harness harness,
    const struct ck_native_answer *a)
{
	(void)ck_fail_set(&cli->fail, CK_DECIDE,
	    a->place[0] == '\0' ? ck_harness_name(harness) : a->place,
	    "%s, so it is not clear whether it confines its own commands, "
	    "and boundaries do not nest here", a->why);
	ck_fail_next(&cli->fail, "clankie-keys worker exec --explain shows "
	    "it; worker sandbox --undecided wrap wraps it all the same");
	return CK_DECIDE;
}

ck_err
worker_launch(struct cli *cli, const struct worker_said *said,
    enum ck_harness harness, int status_fd, int argc, char **command)
{
	struct worker_start start;
	struct ck_native_answer answer = { CK_NATIVE_FULL, "", "" };
	ck_err r;

	if ((r = worker_ready(cli, said, &start)) != CK_OK)
		return r;
	/* Where boundaries nest the answer changes nothing. */
	if (start.how == CK_LAUNCH_CONFINED &&
	    ck_inside_system() != CK_SYSTEM_LINUX)
		worker_native(cli, harness, argc, command, &answer);
	switch (ck_native_wrap(ck_inside_system(), answer.answer,
	    start.wrap_undecided)) {
	case CK_WRAP:
		break;
	case CK_WRAP_NOT:
		start.how = CK_LAUNCH_NATIVE;
		break;
	case CK_WRAP_REFUSE:
		return not_clear(cli, harness, &answer);
	}
	return worker_become(cli, &start, status_fd, NULL, argc, command);
}

/* The program in front of its arguments, as a command. */
static ck_err
start_codex(struct cli *cli, const struct worker_said *said,
    const char *program, bool explain, int status_fd, int argc, char **argv)
{
	char **command = calloc((size_t)argc + 2, sizeof(*command));
	char *name = strdup(program);
	struct ck_native_answer answer;
	ck_err r;

	if (command == NULL || name == NULL) {
		r = ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
		goto out;
	}
	command[0] = name;
	memcpy(command + 1, argv, (size_t)argc * sizeof(*argv));
	if (explain) {
		worker_native(cli, CK_HARNESS_CODEX, argc + 1, command,
		    &answer);
		r = worker_explain(cli, CK_HARNESS_CODEX, &answer);
	} else {
		r = worker_launch(cli, said, CK_HARNESS_CODEX, status_fd,
		    argc + 1, command);
	}
out:
	free(name);
	free(command);
	return r;
}

ck_err
worker_codex(struct cli *cli, int argc, char **argv)
{
	struct worker_said said = WORKER_SAID_INIT;
	const char *program = "codex";
	int status_fd = -1, own = 0;
	bool explain = false;
	size_t n = 0;
	const struct opt opts[] = {
		{ "--program", OPT_TEXT, &program },
		{ "--explain", OPT_FLAG, &explain },
		{ "--status-fd", OPT_FD, &status_fd },
		{ "--provider-keys", OPT_TEXT, &said.keys },
		{ "--keep", OPT_LIST, &said.kept },
		{ "--login-password-fd", OPT_FD, &said.password_fd },
	};
	ck_err r;

	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	r = cli_options(cli, own, argv, opts, sizeof(opts) / sizeof(opts[0]),
	    NULL, 0, &n);
	own += own < argc;
	if (r == CK_OK && (program[0] == '\0' ||
	    (status_fd >= 0 && status_fd < 3)))
		r = ck_fail_set(&cli->fail, CK_USAGE,
		    program[0] == '\0' ? "--program" : "--status-fd",
		    program[0] == '\0' ? "wants a program" :
		    "wants a descriptor from 3");
	if (r == CK_OK)
		r = start_codex(cli, &said, program, explain, status_fd,
		    argc - own, argv + own);
	if (status_fd >= 3 && !explain)
		worker_not_started(status_fd, ck_err_exit(r), ck_err_code(r));
	return r;
}
