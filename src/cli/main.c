/* SPDX-License-Identifier: Apache-2.0 */
/* Start: close the process against others, find the verb, run it. */
#include "cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/io.h"
#include "base/platform.h"
#include "records/records.h"
#include "store/json.h"

/* Secure memory, of which pages that are not used cost nothing: a 1 MiB item
 * with its padding takes 2 MiB, its copy and its growing reader as much
 * again.  What migrate takes in, get must be able to give back. */
#define HEAP_SMALL CLI_HEAP_KEYS
#define HEAP_VALUE CLI_HEAP_VALUE
#define HEAP_BROKER ((size_t)8 << 20)
#define HEAP_ITEMS ((size_t)8 << 20)

const struct verb cli_verbs[] = {
	{ "migrate", "migrate [CREDENTIAL] [--dry-run] [--rotate] [--broker "
	    "keychain:PATH|file:PATH] [--login-password-fd N] [--service S "
	    "--account A] [--checkout DIR]... [--service-honours-precedence]",
	    "move a credential into the dedicated keychain", HEAP_BROKER,
	    cmd_migrate },
	{ "get", "get [CREDENTIAL] [--as READER] [--fd N | --raw] [--key] "
	    "[--broker ...] [--login-password-fd N]",
	    "write a credential to a descriptor", HEAP_VALUE, cmd_get },
	{ "rotate", "rotate [CREDENTIAL] [--if-generation N] [--secret-fd N] "
	    "[--login-password-fd N] | --keychain [--login-password-fd N]",
	    "replace a migrated credential, or the keychain, by a new one",
	    HEAP_BROKER, cmd_rotate },
	{ "restore", "restore [CREDENTIAL] [--dry-run] [--broker ...] "
	    "[--login-password-fd N]",
	    "put a migrated credential back into the broker", HEAP_BROKER,
	    cmd_restore },
	{ "reset", "reset --confirm [CREDENTIAL] [--login-password-fd N]",
	    "give up a bearer whose keychain is lost, and make a new one",
	    HEAP_BROKER, cmd_reset },
	{ "authenticate", "authenticate [CREDENTIAL] [--stream] "
	    "[--broker ...] [--login-password-fd N]",
	    "say whether what stands on standard input is the credential",
	    HEAP_BROKER, cmd_authenticate },
	{ "check", "check [CREDENTIAL] [--as PRINCIPAL] [--startup | --repair] "
	    "[--login-password-fd N] [--broker ...] | check --codes",
	    "say what is not in order, or be the service's gate", HEAP_BROKER,
	    cmd_check },
	{ "doctor", "doctor [CREDENTIAL] "
	    "[--rebuild [--accept-earlier] [--confirm] | "
	    "--uninstall [--confirm]] [--login-password-fd N] [--broker ...]",
	    "say for each finding of check what mends it", HEAP_BROKER,
	    cmd_doctor },
	{ "status", "status [CREDENTIAL] [--broker ...] [--service S --account "
	    "A]",
	    "say where everything lies and what is protected", HEAP_SMALL,
	    cmd_status },
	{ "precedence", "precedence list | explain PRINCIPAL | verify "
	    "[--login-password-fd N] | honours PRINCIPAL yes|no|unknown "
	    "[--login-password-fd N]",
	    "say who asks which store first", HEAP_BROKER, cmd_precedence },
	{ "protect", "protect list | add PATH [--write-only] | remove PATH | "
	    "checkout DIR [--login-password-fd N]",
	    "keep workers from further places", HEAP_BROKER, cmd_protect },
	{ "rules", "rules [--format seatbelt|mounts|bwrap|json] [--null] "
	    "[--write] | "
	    "explain PATH --op OPERATION [--checkout DIR]... "
	    "[--login-password-fd N]",
	    "show or write the rules that keep workers out", HEAP_BROKER,
	    cmd_rules },
	{ "worker", "worker exec [--status-fd N] [--explain] [--provider-keys "
	    "keep|blank] [--keep NAME]... [--login-password-fd N] -- COMMAND "
	    "[ARGUMENT]... | shell [--login] [--provider-keys keep|blank] "
	    "[--keep NAME]... [-- ARGUMENT...] | install-shell [--shell PATH | "
	    "--remove] [--login-password-fd N] | env [--format text|sh|fish] "
	    "[--marker NAME[=VALUE]] [--provider-keys keep|blank] "
	    "[--keep NAME]... [--record [--login-password-fd N]] | "
	    "sandbox [on|off|follow] [--strict on|off] "
	    "[--undecided wrap|refuse] [--login-password-fd N] | "
	    "codex [--program PATH] [--explain] [exec's options] "
	    "[-- ARGUMENT...]",
	    "run a command that cannot reach what is protected", 0,
	    cmd_worker },
	{ "envelope", "envelope prepare --level portal|workers|shell "
	    "--runtime DIR [--runtime-file FILE]... --workspace DIR... "
	    "[--private-home DIR] [--network]\n"
	    "       clankie-keys envelope launch [--provision NAME]... "
	    "[--login-password-fd N] -- COMMAND [ARGUMENT]...\n"
	    "       clankie-keys envelope prove|status|remove",
	    "an OS boundary around a whole service", 0, cmd_envelope },
	{ "boundary", "boundary verify [--without-boundary] [--only ATTEMPT]\n"
	    "       clankie-keys boundary decide --framework F [--platform P] "
	    "--profile cooperative|confined|exclusive [--token T]... "
	    "[--allow-unenforced-confinement]\n"
	    "       clankie-keys boundary confine --workspace DIR [--writable "
	    "DIR]... [--exclude PATH]... [--protect PATH]... [--network deny|"
	    "host] [--env-allow NAME]... [--cpu-max SECONDS] [--nproc-max N] "
	    "[--check] -- COMMAND [ARGUMENT]...",
	    "whether there can be one, and a proof that it holds", 0,
	    cmd_boundary },
	{ "keychain", "keychain create|list|find|add|update|delete|passwd|"
	    "verify FILE ...",
	    "work on any macOS keychain file", HEAP_ITEMS, cmd_keychain },
};
const size_t cli_verb_count = sizeof(cli_verbs) / sizeof(cli_verbs[0]);

/* sub: a word behind the verb that was asked for, or NULL. */
static ck_err
usage(struct cli *cli, const struct verb *verb, const char *sub)
{
	const char *words = verb == NULL || verb->run != cmd_keychain ? NULL :
	    keychain_words(sub);
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	if (words != NULL)
		ck_buf_format(&b, "usage: clankie-keys keychain %s\n", words);
	else if (verb != NULL)
		ck_buf_format(&b, "usage: clankie-keys %s\n%s\n",
		    verb->usage, verb->help);
	else
		ck_buf_text(&b, "usage: clankie-keys VERB ...\n\n");
	for (size_t i = 0; verb == NULL && i < cli_verb_count; i++)
		ck_buf_format(&b, "  %-12s %s\n", cli_verbs[i].name,
		    cli_verbs[i].help);
	ck_buf_text(&b, "\nEvery verb takes --home DIR, --json, --quiet, "
	    "--verbose, --help.  clankie-keys(1) has the rest.\n");
	r = cli_put(cli, &b);
	ck_buf_free(&b);
	return r;
}

static void
read_environment(struct ck_say *say)
{
	const char *marker = getenv(CK_MARKER_DEFAULT);

	say->home = getenv("HOME");
	say->keys_home = getenv("CLANKIE_KEYS_HOME");
	say->xdg_config = getenv("XDG_CONFIG_HOME");
	say->xdg_state = getenv("XDG_STATE_HOME");
	say->credentials_file = getenv("CLANKIE_CREDENTIALS_FILE");
	say->settings_file = getenv("CLANKIE_SETTINGS_FILE");
	say->clankie_state = getenv("CLANKIE_STATE");
	say->local_sandbox = getenv("CLANKIE_LOCAL_SANDBOX");
	/* Only whether it is set: the value is none of our business. */
	say->operator_override = getenv("CLANKIE_OPERATOR_TOKEN") != NULL;
	say->worker_marked = marker != NULL && marker[0] != '\0';
}

/* A file size limit is an error of write() and no reason to die half-way.  A
 * handler, because programs that are started would inherit SIG_IGN. */
static void
at_size_limit(int sig)
{
	(void)sig;
}

/* Paths and findings lie on the stack, some 200 KiB in the deepest call: what
 * does not fit would end as a crash in the middle of a change. */
#define STACK_BYTES (512UL * 1024)

static ck_err
enough_stack(struct cli *cli)
{
	struct rlimit stack = { 0, 0 };

	/* Nothing runs with none at all: then it was not the kernel that
	 * answered, but a tracer. */
	if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur == 0 ||
	    stack.rlim_cur == RLIM_INFINITY || stack.rlim_cur >= STACK_BYTES)
		return CK_OK;
	(void)ck_fail_set(&cli->fail, CK_NOMEM, NULL,
	    "the stack is limited to %llu KiB, and %lu are needed",
	    (unsigned long long)stack.rlim_cur / 1024, STACK_BYTES / 1024);
	ck_fail_next(&cli->fail, "ulimit -s 8192");
	return CK_NOMEM;
}

ck_err
cli_prepare(struct cli *cli, size_t heap)
{
	ck_err r;

	if ((r = enough_stack(cli)) != CK_OK)
		return r;
	if (heap == 0)
		return CK_OK;
	/* Every mode is set explicitly; a caller's odd umask must neither open
	 * a file for a moment nor close one to ourselves. */
	(void)umask(077);
	(void)signal(SIGXFSZ, at_size_limit);
	if (ck_platform_harden() != CK_OK)
		return ck_fail_set(&cli->fail, CK_INTERNAL, NULL,
		    "the system does not let this process refuse core dumps "
		    "and tracing");
	/* A configuration file named by the environment could load code.  And
	 * a list of every cipher's names is only for who looks one up by an
	 * old name; making it takes longer than all that is done with it. */
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG |
	    OPENSSL_INIT_NO_ADD_ALL_CIPHERS |
	    OPENSSL_INIT_NO_ADD_ALL_DIGESTS, NULL) != 1)
		return ck_fail_set(&cli->fail, CK_INTERNAL, NULL,
		    "libcrypto cannot be started");
	if ((r = ck_secret_heap_init(heap, &cli->fail)) != CK_OK)
		return r;
	ck_json_init();
	ck_records_init();
	return CK_OK;
}

static const struct verb *
find_verb(const char *name)
{
	for (size_t i = 0; i < cli_verb_count; i++)
		if (strcmp(cli_verbs[i].name, name) == 0)
			return &cli_verbs[i];
	return NULL;
}

static ck_err
no_verb(struct cli *cli, const char *word)
{
	(void)ck_fail_set(&cli->fail, CK_USAGE, word,
	    word != NULL ? "is no command" : "a command is missing");
	ck_fail_next(&cli->fail, "clankie-keys help lists them");
	return CK_USAGE;
}

/* help [VERB [WORD]] */
static ck_err
help(struct cli *cli, int n, char **words)
{
	const struct verb *verb = n > 0 ? find_verb(words[0]) : NULL;

	if (n > 0 && verb == NULL)
		return no_verb(cli, words[0]);
	/* Every sub-command stands in its verb's usage. */
	if (n > 1 && strstr(verb->usage, words[1]) == NULL)
		return ck_fail_set(&cli->fail, CK_USAGE, words[1],
		    "is no command of %s", verb->name);
	return usage(cli, verb, n > 1 ? words[1] : NULL);
}

/* "help VERB", "--help", "--version": no store is touched.  n words from the
 * first one that no option for every verb was. */
static bool
is_plain(struct cli *cli, int n, char **words, ck_err *ret)
{
	struct ck_buf b = CK_BUF_INIT;
	const char *word = n > 0 ? words[0] : "";

	if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
		ck_buf_format(&b, "clankie-keys " CK_VERSION "\n"
		    "OpenSSL %s, SQLite %s, jansson %s (" CK_LINKED ")\n",
		    OpenSSL_version(OPENSSL_VERSION_STRING),
		    ck_records_engine(), ck_json_engine());
		*ret = cli_put(cli, &b);
		ck_buf_free(&b);
		return true;
	}
	if (strcmp(word, "help") == 0)
		*ret = help(cli, n - 1, words + 1);
	else if (cli->help && (n == 0 || find_verb(word) != NULL))
		*ret = help(cli, n, words);
	else
		return false;
	return true;
}

static bool
asks_help(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0)
			return true;
	return false;
}

/* VERB [WORD]... --help; word is the first one behind the verb. */
static ck_err
help_of(struct cli *cli, const struct verb *verb, const char *word)
{
	if (word[0] != '-' && verb->run == cmd_keychain &&
	    keychain_words(word) == NULL)
		return ck_fail_set(&cli->fail, CK_USAGE, word,
		    "is nothing that can be done with a keychain");
	return usage(cli, verb, word);
}

int
main(int argc, char **argv)
{
	struct cli cli;
	const struct verb *verb;
	ck_err r = CK_OK;
	int at = 1;

	memset(&cli, 0, sizeof(cli));
	cli.verb = "start";
	/* Before anything opens a file: 0, 1 and 2 must not be ours. */
	if (ck_io_standard() != CK_OK)
		return ck_err_exit(CK_IO);
	read_environment(&cli.say);
	/* What every verb takes may also stand in front of it. */
	if ((r = cli_options_before(&cli, argc, argv, &at)) != CK_OK ||
	    is_plain(&cli, argc - at, argv + at, &r))
		goto out;
	verb = at < argc ? find_verb(argv[at]) : NULL;
	if (verb == NULL) {
		r = no_verb(&cli, at < argc ? argv[at] : NULL);
		goto out;
	}
	cli.verb = verb->name;
	argc -= at + 1;
	argv += at + 1;
	if (asks_help(argc, argv)) {
		r = help_of(&cli, verb, argv[0]);
		goto out;
	}
	if ((r = cli_prepare(&cli, verb->heap)) == CK_OK)
		r = verb->run(&cli, argc, argv);
	if (r == CK_USAGE && cli.fail.next[0] == '\0')
		ck_fail_next(&cli.fail, "usage: clankie-keys %s", verb->usage);
out:
	/* "No" is an answer, which its verb has given. */
	if (r != CK_OK && r != CK_NO)
		cli_report(&cli, r);
	return ck_err_exit(r);
}
