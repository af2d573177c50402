/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of Codex, as far as they decide who confines it; see
 * codex.h. */
#include "boundary/codex.h"

#include <stdio.h>
#include <string.h>

#include "boundary/toml.h"

/* The subcommands whose permission flags go before the root's, and the one
 * that looks at none. */
enum takes { TAKES_ROOT, TAKES_OWN, TAKES_NONE };

static const struct {
	const char *name;
	enum takes takes;
} subcommands[] = {
	{ "exec", TAKES_OWN }, { "e", TAKES_OWN }, { "resume", TAKES_OWN },
	{ "fork", TAKES_OWN }, { "review", TAKES_OWN },
	{ "app-server", TAKES_NONE }, { "agents", TAKES_ROOT },
	{ "login", TAKES_ROOT }, { "logout", TAKES_ROOT },
	{ "mcp", TAKES_ROOT }, { "mcp-server", TAKES_ROOT },
	{ "plugin", TAKES_ROOT }, { "completion", TAKES_ROOT },
	{ "update", TAKES_ROOT }, { "doctor", TAKES_ROOT },
	{ "sandbox", TAKES_ROOT }, { "debug", TAKES_ROOT },
	{ "apply", TAKES_ROOT }, { "a", TAKES_ROOT },
	{ "queue", TAKES_ROOT }, { "archive", TAKES_ROOT },
	{ "unarchive", TAKES_ROOT }, { "delete", TAKES_ROOT },
	{ "cloud", TAKES_ROOT }, { "features", TAKES_ROOT },
	{ "help", TAKES_ROOT },
};

enum means {
	MEANS_NOTHING, MEANS_BYPASS, MEANS_NATIVE, MEANS_SANDBOX,
	MEANS_CONFIG, MEANS_PROFILE, MEANS_DIRECTORY, MEANS_MANY
};

struct option {
	const char *name;
	char letter;
	bool value;
	enum means means;
};

static const struct option options[] = {
	{ "--sandbox", 's', true, MEANS_SANDBOX },
	{ "--dangerously-bypass-approvals-and-sandbox", 0, false,
	    MEANS_BYPASS },
	{ "--yolo", 0, false, MEANS_BYPASS },
	{ "--full-auto", 0, false, MEANS_NATIVE },
	{ "--not-so-yolo", 0, false, MEANS_NATIVE },
	{ "--approve-for-me", 0, false, MEANS_NATIVE },
	{ "--config", 'c', true, MEANS_CONFIG },
	{ "--profile", 'p', true, MEANS_PROFILE },
	{ "--cd", 'C', true, MEANS_DIRECTORY },
	{ "--image", 'i', true, MEANS_MANY },
	{ "--ask-for-approval", 'a', true, MEANS_NOTHING },
	{ "--model", 'm', true, MEANS_NOTHING },
	{ "--add-dir", 0, true, MEANS_NOTHING },
	{ "--local-provider", 0, true, MEANS_NOTHING },
	{ "--enable", 0, true, MEANS_NOTHING },
	{ "--disable", 0, true, MEANS_NOTHING },
	{ "--remote", 0, true, MEANS_NOTHING },
	{ "--remote-auth-token-env", 0, true, MEANS_NOTHING },
	{ "--listen", 0, true, MEANS_NOTHING },
	{ "--oss", 0, false, MEANS_NOTHING },
	{ "--search", 0, false, MEANS_NOTHING },
	{ "--no-alt-screen", 0, false, MEANS_NOTHING },
	{ "--strict-config", 0, false, MEANS_NOTHING },
	{ "--dangerously-bypass-hook-trust", 0, false, MEANS_NOTHING },
	{ "--help", 'h', false, MEANS_NOTHING },
	{ "--version", 'V', false, MEANS_NOTHING },
};

struct reading {
	int argc;
	char **argv;
	int at;
	enum takes takes;
	struct ck_codex_words *to;
	struct ck_codex_flags root, own;
	bool root_any, own_any;
};

/* The option of a word, and what stands behind its =, or behind its letter;
 * NULL: none. */
static const struct option *
find(const char *word, const char **ret_value)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const struct option *o = &options[i];
		size_t n = strlen(o->name);

		if (strncmp(word, o->name, n) == 0 &&
		    (word[n] == '\0' || word[n] == '=')) {
			*ret_value = word[n] == '=' ? word + n + 1 : NULL;
			return o;
		}
		if (o->letter == 0 || word[1] != o->letter)
			continue;
		if (word[2] != '\0' && !o->value)
			continue;
		*ret_value = word[2] == '\0' ? NULL :
		    word + (word[2] == '=' ? 3 : 2);
		return o;
	}
	return NULL;
}

static ck_err
first_string(void *arg, const struct ck_toml_value *v)
{
	/* An end, and not an error: it is no longer than its text. */
	if (v->kind == CK_TOML_STRING && v->n == 1 && !v->item)
		(void)snprintf(arg, CK_CODEX_VALUE, "%s", v->text);
	return CK_OK;
}

/* A value as Codex takes it: TOML, or else the text without the quotes around
 * it. */
static void
value_of(const char *text, size_t n, char ret[CK_CODEX_VALUE])
{
	char line[CK_CODEX_VALUE + 8];

	ret[0] = '\0';
	/* Too long for any mode: it must not become another one. */
	if (n >= CK_CODEX_VALUE) {
		(void)snprintf(ret, CK_CODEX_VALUE, "...");
		return;
	}
	(void)snprintf(line, sizeof(line), "x = %.*s", (int)n, text);
	if (ck_toml_read(line, strlen(line), first_string, ret) == CK_OK &&
	    ret[0] != '\0')
		return;
	while (n > 0 && (text[0] == '"' || text[0] == '\'')) {
		text++;
		n--;
	}
	while (n > 0 && (text[n - 1] == '"' || text[n - 1] == '\''))
		n--;
	(void)snprintf(ret, CK_CODEX_VALUE, "%.*s", (int)n, text);
	if (ret[0] == '\0')
		(void)snprintf(ret, CK_CODEX_VALUE, "...");
}

/* The text without the blanks around it. */
static const char *
trim(const char *text, size_t *n)
{
	static const char blank[] = " \t\r\n";

	while (*n > 0 && strchr(blank, text[0]) != NULL) {
		text++;
		(*n)--;
	}
	while (*n > 0 && strchr(blank, text[*n - 1]) != NULL)
		(*n)--;
	return text;
}

static bool
is_word(const char *text, size_t n, const char *word)
{
	return n == strlen(word) && memcmp(text, word, n) == 0;
}

/* -c KEY=VALUE */
static void
config(struct reading *r, const char *pair)
{
	static const char *const tables[] = { "permissions", "profile",
		"profiles", "projects" };
	const char *end = strchr(pair, '=');
	size_t n = end == NULL ? strlen(pair) : (size_t)(end - pair), first;
	const char *key = trim(pair, &n), *value;
	size_t value_n = end == NULL ? 0 : strlen(end + 1);
	bool mode = is_word(key, n, "sandbox_mode");

	for (first = 0; first < n && key[first] != '.'; first++)
		;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (is_word(key, first, tables[i]))
			r->to->odd = true;
	/* A key in quotes is whatever its reader makes of it. */
	if (memchr(key, '"', n) != NULL || memchr(key, '\'', n) != NULL)
		r->to->odd = true;
	if (!mode && !is_word(key, n, "default_permissions"))
		return;
	value = end == NULL ? "" : trim(end + 1, &value_n);
	if (r->takes == TAKES_NONE)
		r->to->late = true;
	value_of(value, value_n, mode ? r->to->mode : r->to->permissions);
}

static void
flag(struct reading *r, const struct option *o, const char *word,
    const char *value)
{
	bool own = r->takes == TAKES_OWN;
	struct ck_codex_flags *to = own ? &r->own : &r->root;

	/* Behind it they are its own matter. */
	if (r->takes == TAKES_NONE)
		return;
	*(own ? &r->own_any : &r->root_any) = true;
	to->sandbox_word = to->sandbox_word == NULL ? word :
	    to->sandbox_word;
	if (o->means == MEANS_BYPASS)
		to->bypass = true;
	else if (o->means == MEANS_NATIVE)
		to->native = true;
	else
		value_of(value, strlen(value), to->sandbox);
}

/* The option at argv[at]; at moves behind what it takes. */
static void
option(struct reading *r)
{
	const char *word = r->argv[r->at++], *value = NULL;
	const struct option *o = find(word, &value);

	if (o == NULL) {
		/* It may take the next word, or change the mode.  Behind a
		 * subcommand it is one of many that do neither. */
		if (r->to->subcommand == NULL && r->to->unknown == NULL)
			r->to->unknown = word;
		return;
	}
	if (o->value && value == NULL) {
		if (r->at == r->argc) {
			r->to->unknown = word;
			return;
		}
		value = r->argv[r->at++];
	}
	if (value == NULL)
		value = "";
	if (o->means == MEANS_CONFIG)
		config(r, value);
	else if (o->means == MEANS_PROFILE)
		r->to->profile = value;
	else if (o->means == MEANS_DIRECTORY)
		r->to->directory = value;
	else if (o->means == MEANS_MANY)
		while (r->at < r->argc && r->argv[r->at][0] != '-')
			r->at++;
	else if (o->means != MEANS_NOTHING)
		flag(r, o, word, value);
}

/* A word that is no option: a subcommand, or what to do. */
static void
plain_word(struct reading *r, bool *prompted)
{
	const char *word = r->argv[r->at++];

	if (r->to->subcommand != NULL || *prompted)
		return;
	for (size_t i = 0; i < sizeof(subcommands) / sizeof(subcommands[0]);
	    i++) {
		if (strcmp(word, subcommands[i].name) != 0)
			continue;
		r->to->subcommand = subcommands[i].name;
		r->takes = subcommands[i].takes;
		return;
	}
	*prompted = true;
}

void
ck_codex_words(int argc, char **argv, struct ck_codex_words *ret)
{
	struct reading r = { .argc = argc, .argv = argv, .to = ret };
	bool prompted = false;

	memset(ret, 0, sizeof(*ret));
	while (r.at < argc && strcmp(argv[r.at], "--") != 0) {
		if (argv[r.at][0] == '-' && argv[r.at][1] != '\0')
			option(&r);
		else
			plain_word(&r, &prompted);
	}
	if (r.takes != TAKES_NONE)
		ret->flags = r.own_any ? r.own : r.root;
}
