/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of a worker: what records and command line say of it, and
 * making it ours; see worker.h. */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boundary/blank.h"
#include "custody/settings.h"

static ck_err
wrong(struct cli *cli, ck_err code, const char *word, const char *why)
{
	return ck_fail_set(&cli->fail, code, word, "%s", why);
}

/* NAME or NAME=VALUE, of no variable that means something already. */
static ck_err
take_marker(struct cli *cli, const char *text, ck_err code,
    struct worker_words *to)
{
	static const char *const taken[] = { "PATH", "HOME", "SHELL" };
	size_t name = ck_blank_name(text);
	bool bad = ck_blank_class(text) != CK_BLANK_NOT ||
	    strncmp(text, "LD_", 3) == 0;
	int n;

	if (!ck_blank_is_name(text, name) || strcmp(text + name, "=") == 0)
		return wrong(cli, code, text,
		    "is no marker (NAME or NAME=VALUE)");
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		bad = bad || ck_blank_same_name(text, taken[i]);
	if (bad)
		return wrong(cli, code, text,
		    "is a variable that has a meaning already");
	n = snprintf(to->marker, sizeof(to->marker), "%s%s", text,
	    text[name] == '\0' ? "=1" : "");
	return n > 0 && (size_t)n < sizeof(to->marker) ? CK_OK :
	    wrong(cli, code, text, "is longer than a marker may be");
}

static ck_err
take_keys(struct cli *cli, const char *text, ck_err code,
    struct worker_words *to)
{
	to->blank_keys = strcmp(text, "blank") == 0;
	return to->blank_keys || strcmp(text, "keep") == 0 ? CK_OK :
	    wrong(cli, code, text, "is neither keep nor blank");
}

static ck_err
take_kept(struct cli *cli, const struct opt_list *names,
    struct worker_words *to)
{
	size_t n = 0;

	for (size_t i = 0; i < names->n; i++) {
		const char *name = names->word[i];

		if (!ck_blank_is_name(name, strlen(name)) ||
		    ck_blank_class(name) != CK_BLANK_KEY)
			return wrong(cli, CK_USAGE, name,
			    "is no provider's key that could be kept");
		if (n + strlen(name) + 2 > sizeof(to->kept))
			return wrong(cli, CK_USAGE, name,
			    "is one name more than fit");
		n += (size_t)snprintf(to->kept + n, sizeof(to->kept) - n,
		    "%s%s", n == 0 ? "" : ",", name);
	}
	return CK_OK;
}

ck_err
worker_words(struct cli *cli, const struct ck_view *v,
    const struct worker_said *said, struct worker_words *ret)
{
	struct worker_words w = { "", false, "" };
	char text[256];
	ck_err r;

	if ((r = ck_setting_read(v, CK_SETTING_MARKER, text, sizeof(text),
	    &cli->fail)) != CK_OK || (text[0] != '\0' &&
	    (r = take_marker(cli, text, CK_DAMAGED, &w)) != CK_OK) ||
	    (r = ck_setting_read(v, CK_SETTING_KEYS, text, sizeof(text),
	    &cli->fail)) != CK_OK || (text[0] != '\0' &&
	    (r = take_keys(cli, text, CK_DAMAGED, &w)) != CK_OK) ||
	    (r = ck_setting_read(v, CK_SETTING_KEYS_KEPT, w.kept,
	    sizeof(w.kept), &cli->fail)) != CK_OK)
		return r;
	if (said->marker != NULL &&
	    (r = take_marker(cli, said->marker, CK_USAGE, &w)) != CK_OK)
		return r;
	if (said->keys != NULL) {
		/* Another choice does not go on with the names of the last. */
		w.kept[0] = '\0';
		if ((r = take_keys(cli, said->keys, CK_USAGE, &w)) != CK_OK)
			return r;
	}
	if (said->kept.n > 0 && !w.blank_keys)
		return wrong(cli, CK_USAGE, "--keep",
		    "is for --provider-keys blank");
	if (said->kept.n > 0 &&
	    (r = take_kept(cli, &said->kept, &w)) != CK_OK)
		return r;
	*ret = w;
	return CK_OK;
}

/* name is one of the kept. */
static bool
is_kept(const struct worker_words *words, const char *variable)
{
	size_t name = ck_blank_name(variable), n;

	for (const char *at = words->kept; *at != '\0'; at += n) {
		at += *at == ',';
		n = strcspn(at, ",");
		if (n == name && memcmp(at, variable, n) == 0)
			return true;
	}
	return false;
}

bool
worker_empties(const struct worker_words *words, const char *variable)
{
	switch (ck_blank_class(variable)) {
	case CK_BLANK_LISTED:
	case CK_BLANK_PATTERN:
		return true;
	case CK_BLANK_KEY:
		return words->blank_keys && !is_kept(words, variable);
	case CK_BLANK_NOT:
		break;
	}
	return false;
}

ck_err
worker_words_apply(struct cli *cli, const struct worker_words *words)
{
	size_t n = 0, name;
	char **to, marker[sizeof(words->marker)];
	ck_err r;

	for (; environ[n] != NULL; n++)
		if (worker_empties(words, environ[n]))
			ck_blank_value(environ[n]);
	/* Lives as long as the process, which becomes another one. */
	if ((to = calloc(n + CK_BLANK_MORE, sizeof(*to))) == NULL)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_blank_environment(environ, to, n + CK_BLANK_MORE,
	    &cli->fail)) != CK_OK) {
		free(to);
		return r;
	}
	environ = to;
	if (words->marker[0] == '\0')
		return CK_OK;
	memcpy(marker, words->marker, sizeof(marker));
	name = ck_blank_name(marker);
	marker[name] = '\0';
	return setenv(marker, marker + name + 1, 1) == 0 ? CK_OK :
	    ck_fail_set(&cli->fail, CK_NOMEM, NULL, "no memory");
}
