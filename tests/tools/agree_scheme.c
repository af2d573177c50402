/* SPDX-License-Identifier: Apache-2.0 */
/* Profile and questions for the Scheme interpreter; see agree.h. */
#include "agree.h"

#include <err.h>
#include <string.h>

#include "boundary/seatbelt.h"

#define PIECE 60                     /* bytes of a string literal */

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
letter(const struct ck_policy *rules, enum ck_model model,
    const struct ag_case *c)
{
	struct ck_verdict v = { CK_ALLOW, 0, NULL };

	if (ck_policy_decide_as(rules, model, c->op, c->path, &v) != CK_OK)
		errx(2, "%s: no answer", c->path);
	return v.effect == CK_DENY ? 'd' : 'a';
}

/* A line for each path, for its operations follow one another. */
void
ag_scheme(const struct ag_policy *a, const struct ck_policy *rules,
    struct ck_buf *program, struct ck_buf *answers)
{
	const char *last = "";

	ck_buf_text(program, "\n(profile-begin)\n");
	if (ck_seatbelt_render(rules, program, NULL) != CK_OK)
		errx(2, "%s: cannot be rendered", a->home);
	for (size_t i = 0; i < AG_EACH; i++) {
		const struct ag_case *c = &a->cases[i];
		char s = letter(rules, CK_MODEL_SPECIFIC, c);
		char g = letter(rules, CK_MODEL_LAST, c);

		if (strcmp(last, c->path) != 0) {
			ck_buf_text(program, i == 0 ? "" : ")\n");
			ck_buf_text(answers, i == 0 ? "" : "\n");
			ck_buf_text(program, "(ask ");
			put_string(program, c->path);
			last = c->path;
		}
		ck_buf_format(program, " %s", ck_op_name(c->op));
		ck_buf_format(answers, "%c%c ", s, g);
	}
	ck_buf_text(program, ")\n");
	ck_buf_text(answers, "\n");
}
