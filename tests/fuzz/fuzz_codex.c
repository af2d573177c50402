/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as Codex's configuration gives an answer with a reason, the same
 * each time; "full" only where the text has the words for it, and never the
 * other way round where it is cut.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/codex.h"
#include "boundary/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(c) do { if (!(c)) { (void)fprintf(stderr, \
    "%d: %s\n", __LINE__, #c); abort(); } } while (0)

static bool
contains(const char *text, size_t n, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= n; i++)
		if (memcmp(text + i, word, len) == 0)
			return true;
	return false;
}

static ck_err
count(void *arg, const struct ck_toml_value *v)
{
	REQUIRE(v->n > 0 && v->n <= CK_TOML_PARTS && v->text != NULL);
	(*(size_t *)arg)++;
	return CK_OK;
}

static void
decide(const char *text, size_t size, struct ck_native_answer *ret)
{
	static const char *const trust[] = { "/a" };
	const struct ck_codex_layer layer[] = {
		{ CK_CODEX_PROJECT, "project", text, size },
		{ CK_CODEX_USER, "user", text, size },
	};
	const struct ck_codex_world w = { .layer = layer, .n = 2,
		.trust = trust, .trusts = 1 };

	memset(ret, 0, sizeof(*ret));
	ck_codex_decide(&w, ret);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* An end of its own, so that reading past it is seen. */
	char *text = malloc(size + 1);
	struct ck_native_answer first, again;
	size_t values = 0;
	ck_err r;

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	r = ck_toml_read(text, size, count, &values);
	decide(text, size, &first);
	decide(text, size, &again);
	REQUIRE(first.answer == again.answer);
	REQUIRE(first.why[0] != '\0');
	REQUIRE(r == CK_OK || first.answer == CK_NATIVE_UNDECIDED);
	if (!contains(text, size, "\\") &&
	    !contains(text, size, "danger-full-access") &&
	    !contains(text, size, "write"))
		REQUIRE(first.answer != CK_NATIVE_FULL);
	free(text);
	return 0;
}
