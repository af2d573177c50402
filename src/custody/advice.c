/* SPDX-License-Identifier: Apache-2.0 */
/* Completing the commands that next steps name; see advice.h. */
#include "custody/advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	NAMED = 1,        /* it is about one credential */
	SECRET = 2,       /* a value that is not made here comes with it */
	PASSWORD = 4,     /* it opens the broker */
	BROKER = 8        /* it may come before records that tell the broker */
};

/* The longest one that fits is first. */
static const struct {
	const char *words;
	unsigned int wants;
} table[] = {
	{ "migrate", NAMED | PASSWORD | BROKER },
	{ "get", NAMED | PASSWORD | BROKER },
	{ "rotate --keychain", PASSWORD },
	{ "rotate", NAMED | SECRET | PASSWORD },
	{ "restore", NAMED | PASSWORD },
	{ "reset", NAMED | PASSWORD },
	{ "check --codes", 0 },
	{ "check", NAMED | PASSWORD | BROKER },
	{ "doctor --uninstall", 0 },
	{ "doctor", NAMED | PASSWORD | BROKER },
	{ "precedence honours", PASSWORD },
	{ "precedence verify", PASSWORD },
	{ "rules --write", PASSWORD },
	{ "worker install-shell", PASSWORD },
	{ "worker sandbox", PASSWORD },
	{ "status", NAMED },
	{ "precedence list", 0 },
};
#define COMMANDS (sizeof(table) / sizeof(table[0]))

struct text {
	char *at;
	size_t left;                     /* with the NUL */
};

static void
put(struct text *t, const char *bytes, size_t n)
{
	if (n >= t->left)
		n = t->left - 1;
	memcpy(t->at, bytes, n);
	t->at += n;
	t->left -= n;
	*t->at = '\0';
}

static void
put_text(struct text *t, const char *text)
{
	put(t, text, strlen(text));
}

/* What the command that begins with these words wants; COMMANDS: it is none of
 * ours. */
static size_t
find(const char *words, size_t n)
{
	size_t i, len;

	for (i = 0; i < COMMANDS; i++) {
		len = strlen(table[i].words);
		if (n >= len && memcmp(words, table[i].words, len) == 0 &&
		    (n == len || words[len] == ' '))
			break;
	}
	return i;
}

/* One word of the shell's; a quote in a path is left to its owner. */
static void
put_word(struct text *t, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789_-./:@%+=,";
	const char *quote = word[strspn(word, plain)] == '\0' ? "" : "'";

	put_text(t, quote);
	put_text(t, word);
	put_text(t, quote);
}

static void
broker(struct text *t, const struct ck_place *p)
{
	char word[CK_PATH_MAX + 16];

	(void)snprintf(word, sizeof(word), "%s:%s",
	    p->broker_kind == CK_KIND_LOGIN_KEYCHAIN ? "keychain" : "file",
	    p->broker);
	put_text(t, " --broker ");
	put_word(t, word);
}

static void
descriptors(struct text *t, const struct ck_place *p, const char *name,
    unsigned int wants, bool given)
{
	if ((wants & SECRET) != 0 && !given && strcmp(name, CK_OPERATOR_NAME) != 0)
		put_text(t, " --secret-fd N");
	if ((wants & PASSWORD) != 0 && !given &&
	    p->broker_kind == CK_KIND_LOGIN_KEYCHAIN)
		put_text(t, " --login-password-fd N");
}

static void
command(struct text *t, const struct ck_place *p, const char *words, size_t n,
    unsigned int wants)
{
	bool named = memmem(words, n, "--broker", 8) != NULL;
	bool given = memmem(words, n, "-fd ", 4) != NULL;

	put_text(t, "clankie-keys ");
	put(t, words, n);
	if (p == NULL)
		return;
	if ((wants & NAMED) != 0 &&
	    strcmp(p->credential, CK_OPERATOR_NAME) != 0) {
		put_text(t, " ");
		put_text(t, p->credential);
	}
	if ((wants & BROKER) != 0 && p->broker_said && !named)
		broker(t, p);
	descriptors(t, p, p->credential, wants, given);
}

/* The command in braces at text, of which the brace comes first; how much of
 * the text it was.  One that is none of ours is somebody's file name. */
static size_t
expand_one(const struct ck_place *p, const char *text, struct text *t)
{
	const char *end = strchr(text, '}');
	size_t n = end == NULL ? 0 : (size_t)(end - text) - 1;
	size_t i = end == NULL ? COMMANDS : find(text + 1, n);

	if (i == COMMANDS) {
		put(t, text, 1);
		return 1;
	}
	command(t, p, text + 1, n, table[i].wants);
	return n + 2;
}

static void
expand(const struct ck_place *p, const char *text, char ret[CK_ADVICE_SIZE])
{
	struct text t = { ret, CK_ADVICE_SIZE };
	size_t n;

	ret[0] = '\0';
	while (*text != '\0') {
		n = strcspn(text, "{");
		put(&t, text, n);
		text += n;
		if (*text != '\0')
			text += expand_one(p, text, &t);
	}
}

void
ck_advice(const struct ck_place *p, char ret[CK_ADVICE_SIZE],
    const char *fmt, ...)
{
	char text[CK_ADVICE_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	expand(p, text, ret);
}

void
ck_advise(struct ck_fail *fail, const struct ck_place *p, const char *fmt,
    ...)
{
	char text[CK_ADVICE_SIZE], next[CK_ADVICE_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	expand(p, text, next);
	ck_fail_next(fail, "%s", next);
}

void
ck_advice_finish(const struct ck_place *p, const struct ck_rec_journal *j,
    char ret[CK_ADVICE_SIZE])
{
	struct text t = { ret, CK_ADVICE_SIZE };
	size_t i = find(j->operation, strlen(j->operation));

	ret[0] = '\0';
	put_text(&t, "clankie-keys ");
	put_text(&t, j->operation);
	if (j->credential[0] != '\0') {
		put_text(&t, " ");
		put_text(&t, j->credential);
	}
	if (i < COMMANDS)
		descriptors(&t, p, j->credential[0] != '\0' ? j->credential :
		    CK_OPERATOR_NAME, table[i].wants, false);
}

void
ck_advise_absent(struct ck_fail *fail, const struct ck_place *p,
    const char *then)
{
	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN)
		ck_advise(fail, p, "clankie-keys keychain add %s --service %s "
		    "--account %s --password-fd N --secret-fd M puts one there"
		    "; %s", p->broker, p->service, p->account, then);
	else
		ck_advise(fail, p, "put it there as \"%s\": {\"type\":\"api\","
		    "\"key\":\"...\"}, see FILES in clankie-keys(1); %s",
		    p->account, then);
}
