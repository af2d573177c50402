/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy to Seatbelt text.  Whatever is in a path ends inside a string
 * literal; what could end the literal or mean two things is refused.
 */
#include "seatbelt.h"

#include <string.h>

#include "policy_rules.h"

/* Bytes of one string literal as written: the reader's buffer has 256. */
#define PIECE_MAX 200
/* Bytes after which a form is closed and a new one begun: the interpreter
 * has some limit per form, about 16 KiB, and one rule can take 5500. */
#define FORM_MAX 10000
#define WIDTH_MAX 76

/* Length of the UTF-8 sequence at s, 0 if it is none (surrogates, overlong
 * forms and values above U+10FFFF included). */
static size_t
sequence(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n;

	if (u[0] < 0x80)
		return 1;
	if (u[0] < 0xC2 || u[0] > 0xF4)
		return 0;
	n = u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : 4;
	for (size_t i = 1; i < n; i++)
		if ((u[i] & 0xC0) != 0x80)
			return 0;
	if ((u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xED && u[1] > 0x9F) ||
	    (u[0] == 0xF0 && u[1] < 0x90) || (u[0] == 0xF4 && u[1] > 0x8F))
		return 0;
	return n;
}

static const char *
fault_of(const char *path)
{
	const char *fault = ck_policy_path_fault(path);
	size_t n;

	for (const char *at = path; fault == NULL && *at != '\0'; at += n) {
		n = sequence(at);
		if ((unsigned char)*at < 0x20 || *at == 0x7F)
			fault = "has a control character";
		else if (n == 0)
			fault = "is not valid UTF-8";
		else if (*at == '$' && at[1] == '{')
			fault = "has \"${\", which profiles can take for a "
			    "variable";
	}
	return fault;
}

ck_err
ck_seatbelt_path(const char *path, struct ck_fail *fail)
{
	const char *fault = fault_of(path);
	ck_err r;

	if (fault == NULL)
		return CK_OK;
	r = ck_fail_set(fail, CK_REFUSED, path,
	    "%s, so that no Seatbelt rule can name it safely", fault);
	ck_fail_next(fail, "rename it, or take it off the protected list");
	return r;
}

/*
 * A string expression, written atom by atom: an atom is never split over two
 * literals.  Short texts are one literal, longer ones a string-append.
 */
struct text {
	struct ck_buf *out;
	size_t used;             /* bytes in the open literal */
	bool split;
};

static void
text_begin(struct text *t, struct ck_buf *out, size_t total)
{
	t->out = out;
	t->used = 0;
	t->split = total > PIECE_MAX;
	ck_buf_text(out, t->split ? "(string-append \"" : "\"");
}

static void
text_atom(struct text *t, const char *atom, size_t n)
{
	if (t->split && t->used + n > PIECE_MAX) {
		ck_buf_text(t->out, "\" \"");
		t->used = 0;
	}
	ck_buf_bytes(t->out, atom, n);
	t->used += n;
}

static void
text_end(struct text *t)
{
	ck_buf_text(t->out, t->split ? "\")" : "\"");
}

/* Room for the longest atom; four bytes is what they need today. */
#define ATOM_MAX 8

/* One character of a plain string, escaped for the reader. */
static size_t
plain_atom(const char *at, size_t n, char ret[ATOM_MAX])
{
	size_t k = 0;

	if (*at == '"' || *at == '\\')
		ret[k++] = '\\';
	memcpy(ret + k, at, n);
	return k + n;
}

/* One character of a regular expression that stands for itself, escaped for
 * the reader. */
static size_t
regex_atom(const char *at, size_t n, char ret[ATOM_MAX])
{
	char c = *at;

	/* These mean something else in or at the start of a class. */
	if (strchr("[]^", c) != NULL) {
		memcpy(ret, "\\\\", 2);
		ret[2] = c;
		return 3;
	}
	if (c == '\\') {
		memcpy(ret, "\\\\\\\\", 4);
		return 4;
	}
	if (strchr(".*+?|(){}$", c) != NULL) {
		ret[0] = '[';
		ret[1] = c;
		ret[2] = ']';
		return 3;
	}
	return plain_atom(at, n, ret);
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The same with an ASCII letter in either case. */
static size_t
fold_atom(const char *at, size_t n, char ret[ATOM_MAX])
{
	if (!is_letter(*at))
		return regex_atom(at, n, ret);
	ret[0] = '[';
	ret[1] = (char)(*at & ~0x20);
	ret[2] = (char)(*at | 0x20);
	ret[3] = ']';
	return 4;
}

typedef size_t atom_fn(const char *at, size_t n, char ret[ATOM_MAX]);

/* (name "path"), as nearly every path can be written. */
static bool
put_as_is(struct ck_buf *out, const char *name, const char *path)
{
	if (strlen(path) > PIECE_MAX || strpbrk(path, "\"\\") != NULL)
		return false;
	ck_buf_format(out, "\n    (%s \"%s\")", name, path);
	return true;
}

/* (name "head" path "tail"), path turned into atoms by f. */
static void
put_filter(struct ck_buf *out, const char *name, const char *head,
    const char *path, const char *tail, atom_fn *f)
{
	size_t total = strlen(head) + strlen(tail), n;
	char atom[ATOM_MAX];
	struct text t;

	for (const char *at = path; *at != '\0'; at += n)
		total += f(at, n = sequence(at), atom);
	ck_buf_format(out, "\n    (%s ", name);
	text_begin(&t, out, total);
	text_atom(&t, head, strlen(head));
	for (const char *at = path; *at != '\0'; at += n) {
		n = sequence(at);
		text_atom(&t, atom, f(at, n, atom));
	}
	text_atom(&t, tail, strlen(tail));
	text_end(&t);
	ck_buf_text(out, ")");
}

static bool
has_letter(const char *s)
{
	while (*s != '\0' && !is_letter(*s))
		s++;
	return *s != '\0';
}

static void
put_rule_filter(struct ck_buf *out, const struct ck_rule *rule)
{
	static const struct {
		const char *name;    /* NULL: only a regular expression */
		const char *tail;    /* of the expression; NULL: no filter */
	} how[] = {
		[CK_FILTER_NONE] = { NULL, NULL },
		[CK_FILTER_LITERAL] = { "literal", "$" },
		[CK_FILTER_SUBPATH] = { "subpath", "(/|$)" },
		[CK_FILTER_PREFIX] = { "prefix", "" },
		[CK_FILTER_NUMBERED] = { NULL, "[0-9]" }
	};
	const char *name = how[rule->filter].name;
	const char *tail = how[rule->filter].tail;
	bool fold;

	if (tail == NULL || rule->path == NULL)
		return;
	/* Without a letter, "/" for one, there is nothing to fold. */
	fold = rule->fold && has_letter(rule->path);
	if (name != NULL && !put_as_is(out, name, rule->path))
		put_filter(out, name, "", rule->path, "", plain_atom);
	if (name == NULL || fold)
		put_filter(out, "regex", "^", rule->path, tail,
		    fold ? fold_atom : regex_atom);
}

static void
put_head(struct ck_buf *out, const struct ck_rule *rule)
{
	const char *name = rule->effect == CK_DENY ? "deny" : "allow";
	size_t column = 1 + strlen(name);

	ck_buf_format(out, "(%s", name);
	for (unsigned int op = 0; op < CK_OP_COUNT; op++) {
		if ((rule->ops >> op & 1) == 0)
			continue;
		name = ck_op_name((enum ck_op)op);
		if (column + 1 + strlen(name) > WIDTH_MAX) {
			ck_buf_text(out, "\n   ");
			column = 3;
		}
		ck_buf_format(out, " %s", name);
		column += 1 + strlen(name);
	}
}

static void
put_end(struct ck_buf *out, const struct ck_rule *rule)
{
	if (rule->effect == CK_DENY)
		ck_buf_text(out, "\n    (with message \"" CK_SEATBELT_TAG
		    "\")");
	ck_buf_text(out, ")\n");
}

/* One form can say both: neighbours are the same rule with two filters. */
static bool
joins(const struct ck_rule *a, const struct ck_rule *b)
{
	return b != NULL && a->effect == b->effect && a->ops == b->ops &&
	    a->filter != CK_FILTER_NONE && b->filter != CK_FILTER_NONE &&
	    (a->part == CK_PART_ANCESTOR) == (b->part == CK_PART_ANCESTOR);
}

static void
put_rules(struct ck_buf *out, const struct ck_policy *p)
{
	const struct ck_rule *rule, *next;
	bool way = false;
	size_t begun = 0;

	for (size_t i = 0; (rule = ck_policy_rule(p, i)) != NULL; i++) {
		next = ck_policy_rule(p, i + 1);
		if (begun == 0) {
			if (rule->part == CK_PART_ANCESTOR && !way) {
				ck_buf_text(out, "; Directories on the way: "
				    "not moved, replaced, opened up.\n");
				way = true;
			}
			begun = out->n;
			put_head(out, rule);
		}
		put_rule_filter(out, rule);
		if (joins(rule, next) && out->n - begun < FORM_MAX)
			continue;
		put_end(out, rule);
		begun = 0;
	}
}

static bool
is_ascii(const char *s)
{
	while (*s != '\0' && (unsigned char)*s < 0x80)
		s++;
	return *s == '\0';
}

/*
 * APFS also finds a file under the other normal form of its name and under
 * the other case of non-ASCII letters.  Listing those needs Unicode's tables,
 * which this program does not have, so the text says whom it concerns.
 */
static void
put_gaps(struct ck_buf *out, const struct ck_policy *p)
{
	const struct ck_rule *rule;

	for (size_t i = 0; (rule = ck_policy_rule(p, i)) != NULL; i++)
		if (rule->part == CK_PART_TARGET && !rule->alias &&
		    rule->filter == CK_FILTER_LITERAL &&
		    !is_ascii(rule->path))
			ck_buf_format(out, "; Other Unicode spellings are not "
			    "covered: %s\n", rule->path);
}

static ck_err
can_be_written(const struct ck_policy *p, struct ck_fail *fail)
{
	const struct ck_rule *rule;
	ck_err r;

	if ((r = ck_policy_agrees(p, fail)) != CK_OK)
		return r;
	for (size_t i = 0; (rule = ck_policy_rule(p, i)) != NULL; i++)
		if (rule->path != NULL &&
		    (r = ck_seatbelt_path(rule->path, fail)) != CK_OK)
			return r;
	return CK_OK;
}

ck_err
ck_seatbelt_rules(const struct ck_policy *p, struct ck_buf *out,
    struct ck_fail *fail)
{
	size_t start = out->n;
	ck_err r;

	if ((r = can_be_written(p, fail)) != CK_OK)
		return r;
	put_rules(out, p);
	if (ck_buf_ok(out) == CK_OK)
		return CK_OK;
	out->n = start;
	return ck_fail_set(fail, CK_NOMEM, NULL,
	    "no memory for the text of the boundary");
}

ck_err
ck_seatbelt_render(const struct ck_policy *p, struct ck_buf *out,
    struct ck_fail *fail)
{
	size_t start = out->n;
	ck_err r;

	if ((r = can_be_written(p, fail)) != CK_OK)
		return r;
	ck_buf_text(out,
	    "; clankie-keys: a boundary for sandbox-exec -f, made from the "
	    "records.\n"
	    "; Do not edit: \"clankie-keys status\" shows that it differs, and\n"
	    "; \"clankie-keys rules --write\" makes it anew.\n");
	put_gaps(out, p);
	ck_buf_text(out, "(version 1)\n");
	put_rules(out, p);
	if (ck_buf_ok(out) == CK_OK)
		return CK_OK;
	out->n = start;
	return ck_fail_set(fail, CK_NOMEM, NULL,
	    "no memory for the text of the boundary");
}
