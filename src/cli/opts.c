/* SPDX-License-Identifier: Apache-2.0 */
/* Command line words into options; see cli.h. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct opt *
find_opt(const struct opt *opts, size_t n, const char *word, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(opts[i].name) == len &&
		    strncmp(opts[i].name, word, len) == 0)
			return &opts[i];
	return NULL;
}

/* A decimal number without sign; false for anything else. */
static bool
number(const char *text, unsigned long max, unsigned long *ret)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*ret = strtoul(text, &end, 10);
	return errno == 0 && *end == '\0' && *ret <= max;
}

static ck_err
set_fd(struct cli *cli, const struct opt *opt, const char *value)
{
	unsigned long n;

	if (!number(value, 1000000, &n))
		return ck_fail_set(&cli->fail, CK_USAGE, opt->name,
		    "wants a descriptor number");
	if (fcntl((int)n, F_GETFD) < 0)
		return ck_fail_set(&cli->fail, CK_USAGE, opt->name,
		    "descriptor %lu is not open", n);
	*(int *)opt->to = (int)n;
	return CK_OK;
}

static ck_err
set(struct cli *cli, const struct opt *opt, const char *value)
{
	struct opt_list *list;
	unsigned long n;

	switch (opt->kind) {
	case OPT_FLAG:
		*(bool *)opt->to = true;
		return CK_OK;
	case OPT_TEXT:
		*(const char **)opt->to = value;
		return CK_OK;
	case OPT_FD:
		return set_fd(cli, opt, value);
	case OPT_NUMBER:
		if (!number(value, 0x7fffffff, &n))
			return ck_fail_set(&cli->fail, CK_USAGE, opt->name,
			    "wants a number from 0 to 2147483647");
		*(unsigned int *)opt->to = (unsigned int)n;
		return CK_OK;
	case OPT_LIST:
		list = opt->to;
		if (list->n == OPT_LIST_MAX)
			return ck_fail_set(&cli->fail, CK_USAGE, opt->name,
			    "is given more than %d times", OPT_LIST_MAX);
		list->word[list->n++] = value;
		return CK_OK;
	}
	return CK_INTERNAL;
}

/* One option word; *at moves past its value. */
static ck_err
take(struct cli *cli, const struct opt *opt, const char *value, int argc,
    char **argv, int *at)
{
	if (opt->kind == OPT_FLAG) {
		if (value != NULL)
			return ck_fail_set(&cli->fail, CK_USAGE, opt->name,
			    "takes no value");
		return set(cli, opt, NULL);
	}
	if (value == NULL) {
		if (*at + 1 >= argc)
			return ck_fail_set(&cli->fail, CK_USAGE, opt->name,
			    "needs a value");
		value = argv[++*at];
	}
	return set(cli, opt, value);
}

size_t
cli_options_of(const struct opt_of *all, size_t n, unsigned int sub,
    struct opt *ret)
{
	size_t have = 0;

	for (size_t i = 0; i < n; i++)
		if ((all[i].subs & sub) != 0)
			ret[have++] = all[i].opt;
	return have;
}

/* The option word argv[*at], of the verb's own options or everybody's. */
static ck_err
take_word(struct cli *cli, const struct opt *opts, size_t nopts, int argc,
    char **argv, int *at)
{
	const struct opt common[] = {
		{ "--json", OPT_FLAG, &cli->json },
		{ "--quiet", OPT_FLAG, &cli->quiet },
		{ "--verbose", OPT_FLAG, &cli->verbose },
		{ "--help", OPT_FLAG, &cli->help },
		{ "--home", OPT_TEXT, &cli->say.keys_home },
	};
	const char *word = argv[*at], *value = strchr(word, '=');
	size_t len = value == NULL ? strlen(word) : (size_t)(value - word);
	const struct opt *opt = find_opt(opts, nopts, word, len);

	if (opt == NULL)
		opt = find_opt(common, sizeof(common) / sizeof(common[0]),
		    word, len);
	if (opt == NULL)
		return ck_fail_set(&cli->fail, CK_USAGE, word,
		    "is no option of this command");
	return take(cli, opt, value == NULL ? NULL : value + 1, argc, argv,
	    at);
}

ck_err
cli_options_before(struct cli *cli, int argc, char **argv, int *ret_verb)
{
	int i = 1;
	ck_err r;

	for (; i < argc && argv[i][0] == '-' &&
	    strcmp(argv[i], "--version") != 0; i++) {
		const char *word = argv[i];

		if ((r = take_word(cli, NULL, 0, argc, argv, &i)) == CK_OK)
			continue;
		if (strcmp(cli->fail.place, word) == 0) {
			(void)ck_fail_set(&cli->fail, r, word, "does not "
			    "stand in front of the command's name");
			ck_fail_next(&cli->fail, "clankie-keys help names the "
			    "options that do; the others stand behind it");
		}
		return r;
	}
	*ret_verb = i;
	return CK_OK;
}

ck_err
cli_options(struct cli *cli, int argc, char **argv, const struct opt *opts,
    size_t nopts, const char **words, size_t max, size_t *ret_words)
{
	size_t n = 0;
	bool ended = false;
	ck_err r;

	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];

		if (!ended && strcmp(word, "--") == 0) {
			ended = true;
			continue;
		}
		if (ended || word[0] != '-' || word[1] == '\0') {
			if (n == max)
				return ck_fail_set(&cli->fail, CK_USAGE, word,
				    "is one word too many");
			words[n++] = word;
			continue;
		}
		r = take_word(cli, opts, nopts, argc, argv, &i);
		if (r != CK_OK)
			return r;
	}
	*ret_words = n;
	return CK_OK;
}

ck_err
cli_password(struct cli *cli, int fd, struct ck_secret *ret)
{
	ck_err r;

	if (fd < 0)
		return CK_OK;
	/* No keychain password is longer; 64 KiB is generous. */
	r = ck_secret_read_fd(fd, 65536, ret, &cli->fail);
	if (r != CK_OK)
		return r;
	/* A pipe whose writer failed, or a file that is not filled yet. */
	if (ret->n == 0) {
		ck_secret_wipe(ret);
		(void)ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "descriptor %d gives no password: it is empty", fd);
		ck_fail_next(&cli->fail, "a password that is meant to be "
		    "empty is one line end");
		return CK_USAGE;
	}
	/* The line end that every shell adds is no part of it. */
	if (ret->n > 0 && ret->p[ret->n - 1] == '\n')
		ret->n--;
	return CK_OK;
}

ck_err
cli_absolute(struct cli *cli, const char *typed, char ret[CK_PATH_MAX])
{
	char here[CK_PATH_MAX];

	if (typed[0] == '/')
		return ck_path_format(ret, &cli->fail, "%s", typed);
	if (typed[0] == '\0')
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "a path is empty");
	if (getcwd(here, sizeof(here)) == NULL)
		return ck_fail_sys(&cli->fail, errno, ".",
		    "find the working directory");
	return ck_path_join(here, typed, ret, &cli->fail);
}

/* Room for the longest kind and a path. */
static char broker_text[CK_PATH_MAX + 16];

ck_err
cli_broker(struct cli *cli)
{
	static const char *const kinds[] = { "keychain:", "file:" };
	const char *said = cli->say.broker;
	char path[CK_PATH_MAX];
	ck_err r;

	for (size_t i = 0; said != NULL && i < 2; i++) {
		size_t n = strlen(kinds[i]);

		if (strncmp(said, kinds[i], n) != 0 || said[n] == '\0')
			continue;
		/* No shell expands "~" behind a colon. */
		if (strncmp(said + n, "~/", 2) == 0 && cli->say.home != NULL)
			r = ck_path_join(cli->say.home, said + n + 2, path,
			    &cli->fail);
		else
			r = cli_absolute(cli, said + n, path);
		if (r != CK_OK)
			return r;
		(void)snprintf(broker_text, sizeof(broker_text), "%s%s",
		    kinds[i], path);
		cli->say.broker = broker_text;
		return CK_OK;
	}
	return CK_OK;
}
