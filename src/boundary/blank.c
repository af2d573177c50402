/* SPDX-License-Identifier: Apache-2.0 */
/* The variables that a worker does not inherit; see blank.h. */
#include "boundary/blank.h"

#include <string.h>

/* Not const: they become a part of an environment. */
static char marker[] = CK_MARKER "=1";
static char listed[CK_BLANK_LISTED_MAX][40] = {
	"CLANKIE_OPERATOR_TOKEN=",
	"CLANKIE_CAPTAIN_TOKEN=",
	"CLANKIE_ACTIVITY_PRODUCER_TOKEN=",
	"CLANKIE_PLAY_VOICE_TOKEN=",
	"CLANKIE_WORLD_CREDENTIAL=",
	"CLANKIE_RUNNER_TOKEN=",
	"CLANKIE_WORKER_TOKEN=",
	"DISCORD_BOT_TOKEN=",
	"DISCORD_USER_TOKEN=",
	"SWARM_SESSION_CAPABILITY=",
};

/* At the end, and only there: CLANKIE_VOICE_..._TOKEN_LIMIT is no secret. */
#define PATTERN_HEAD "CLANKIE_"
static const char *const pattern_tails[] = {
	"_TOKEN", "_BEARER", "_SECRET", "_CREDENTIAL",
};

/* Keys that a model provider or a code host takes; beginnings of names with a
 * star. */
static const char *const keys[] = {
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_*", "AZURE_API_KEY",
	"AZURE_OPENAI_API_KEY", "CEREBRAS_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN",
	"CLOUDFLARE_API_TOKEN", "COHERE_API_KEY", "DATABRICKS_TOKEN",
	"DEEPSEEK_API_KEY", "ELEVENLABS_API_KEY", "FIREWORKS_API_KEY",
	"GEMINI_API_KEY", "GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN",
	"GOOGLE_API_KEY", "GOOGLE_APPLICATION_CREDENTIALS",
	"GOOGLE_GENERATIVE_AI_API_KEY", "GROQ_API_KEY", "HF_TOKEN",
	"MISTRAL_API_KEY", "MOONSHOT_API_KEY", "OPENAI_API_KEY",
	"OPENROUTER_API_KEY", "PERPLEXITY_API_KEY", "TOGETHER_API_KEY",
	"XAI_API_KEY", "XI_API_KEY",
};

size_t
ck_blank_name(const char *variable)
{
	return strcspn(variable, "=");
}

bool
ck_blank_same_name(const char *a, const char *b)
{
	size_t n = ck_blank_name(a);

	return n == ck_blank_name(b) && memcmp(a, b, n) == 0;
}

bool
ck_blank_is_name(const char *name, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return n > 0 && (name[0] < '0' || name[0] > '9') &&
	    strspn(name, letters) >= n;
}

const char *
ck_blank_listed(size_t i)
{
	return i < CK_BLANK_LISTED_MAX ? listed[i] : NULL;
}

static bool
fits_pattern(const char *variable, size_t name)
{
	size_t head = sizeof(PATTERN_HEAD) - 1;

	if (name < head || memcmp(variable, PATTERN_HEAD, head) != 0)
		return false;
	for (size_t i = 0; i < sizeof(pattern_tails) / sizeof(*pattern_tails);
	    i++) {
		size_t n = strlen(pattern_tails[i]);

		if (name >= n && memcmp(variable + name - n, pattern_tails[i],
		    n) == 0)
			return true;
	}
	return false;
}

static bool
is_key(const char *variable, size_t name)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		size_t n = strlen(keys[i]);
		bool any = keys[i][n - 1] == '*';

		n -= any;
		if ((any ? name > n : name == n) &&
		    memcmp(variable, keys[i], n) == 0)
			return true;
	}
	return false;
}

enum ck_blank
ck_blank_class(const char *variable)
{
	size_t name = ck_blank_name(variable);

	for (size_t i = 0; i < CK_BLANK_LISTED_MAX; i++)
		if (ck_blank_same_name(variable, listed[i]))
			return CK_BLANK_LISTED;
	if (fits_pattern(variable, name))
		return CK_BLANK_PATTERN;
	return is_key(variable, name) ? CK_BLANK_KEY : CK_BLANK_NOT;
}

void
ck_blank_value(char *variable)
{
	size_t name = ck_blank_name(variable);

	if (variable[name] == '=')
		memset(variable + name + 1, 0, strlen(variable + name + 1));
}

static bool
is_set(char *const *environment, const char *variable)
{
	for (; *environment != NULL; environment++)
		if (strchr(*environment, '=') != NULL &&
		    ck_blank_same_name(*environment, variable))
			return true;
	return false;
}

ck_err
ck_blank_environment(char **from, char **to, size_t max, struct ck_fail *fail)
{
	size_t n = 0;

	while (from[n] != NULL)
		n++;
	if (max < CK_BLANK_MORE || n > max - CK_BLANK_MORE)
		return ck_fail_set(fail, CK_REFUSED, NULL,
		    "the environment has more variables than a worker can "
		    "inherit");
	n = 0;
	for (char **at = from; *at != NULL; at++) {
		enum ck_blank class = ck_blank_class(*at);

		if (ck_blank_same_name(*at, marker))
			continue;
		if (class == CK_BLANK_LISTED || class == CK_BLANK_PATTERN)
			ck_blank_value(*at);
		to[n++] = *at;
	}
	for (size_t i = 0; i < CK_BLANK_LISTED_MAX; i++)
		if (!is_set(from, listed[i]))
			to[n++] = listed[i];
	to[n++] = marker;
	to[n] = NULL;
	return CK_OK;
}
