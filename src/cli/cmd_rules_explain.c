/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys rules explain, and the rules as JSON. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "custody/rules.h"

static const char *
filter_name(enum ck_filter filter)
{
	switch (filter) {
	case CK_FILTER_LITERAL:
		return "literal";
	case CK_FILTER_SUBPATH:
		return "subpath";
	case CK_FILTER_PREFIX:
		return "prefix";
	case CK_FILTER_NUMBERED:
		return "numbered";
	case CK_FILTER_NONE:
		break;
	}
	return "none";
}

static const char *
part_name(enum ck_part part)
{
	switch (part) {
	case CK_PART_TARGET:
		return "target";
	case CK_PART_TEMPORARY:
		return "temporary";
	case CK_PART_ANCESTOR:
		return "ancestor";
	case CK_PART_BASE:
		break;
	}
	return "base";
}

static const char *
effect_name(enum ck_effect effect)
{
	return effect == CK_DENY ? "deny" : "allow";
}

static void
rule_json(const struct ck_rule *rule, struct ck_buf *b)
{
	js_open(b, '{');
	js_text(b, "effect", effect_name(rule->effect));
	js_name(b, "operations");
	js_open(b, '[');
	for (unsigned int op = 0; op < CK_OP_COUNT; op++)
		if ((rule->ops >> op & 1) != 0)
			js_item(b, ck_op_name((enum ck_op)op));
	js_shut(b, ']');
	js_text(b, "filter", filter_name(rule->filter));
	if (rule->path != NULL)
		js_bytes(b, "path", CK_SPAN_TEXT(rule->path));
	else
		js_null(b, "path");
	js_bool(b, "either_case", rule->fold);
	js_bool(b, "alias", rule->alias);
	js_text(b, "part", part_name(rule->part));
	js_bytes(b, "why", CK_SPAN_TEXT(rule->why));
	js_shut(b, '}');
}

ck_err
rules_json(struct cli *cli, const struct ck_place *place,
    const struct ck_rules_set *set)
{
	struct ck_policy *policy = NULL;
	struct ck_buf b = CK_BUF_INIT;
	ck_err r;

	if ((r = ck_rules_policy(place, set, &policy, &cli->fail)) != CK_OK)
		return r;
	js_open(&b, '{');
	js_bool(&b, "ok", true);
	js_text(&b, "format", "json");
	js_name(&b, "rules");
	js_open(&b, '[');
	for (size_t i = 0; i < ck_policy_count(policy); i++)
		rule_json(ck_policy_rule(policy, i), &b);
	js_shut(&b, ']');
	js_shut(&b, '}');
	ck_buf_text(&b, "\n");
	r = cli_put(cli, &b);
	ck_buf_free(&b);
	ck_policy_free(&policy);
	return r;
}

static void
explained(struct cli *cli, const struct ck_policy *policy, enum ck_op op,
    const char *path, const struct ck_verdict *v, struct ck_buf *b)
{
	if (cli->json) {
		js_open(b, '{');
		js_bool(b, "ok", true);
		js_text(b, "operation", ck_op_name(op));
		js_bytes(b, "path", CK_SPAN_TEXT(path));
		js_text(b, "decision", effect_name(v->effect));
		js_name(b, "rule");
		rule_json(ck_policy_rule(policy, v->rule), b);
		js_shut(b, '}');
	} else {
		ck_buf_format(b, "%-12s %s ", effect_name(v->effect),
		    ck_op_name(op));
		cli_show_bytes(b, CK_SPAN_TEXT(path));
		ck_buf_text(b, "\nrule         ");
		ck_policy_describe(policy, v->rule, b);
	}
	ck_buf_text(b, "\n");
}

ck_err
rules_explain(struct cli *cli, const struct ck_place *place,
    const struct ck_rules_set *set, const char *typed, const char *name)
{
	char path[CK_PATH_MAX], canonical[CK_PATH_MAX];
	struct ck_policy *policy = NULL;
	struct ck_buf b = CK_BUF_INIT;
	struct ck_verdict v;
	enum ck_op op;
	ck_err r;

	if (ck_op_find(name, &op) != CK_OK) {
		(void)ck_fail_set(&cli->fail, CK_USAGE, name,
		    "is no operation of these rules");
		ck_fail_next(&cli->fail, "file-read-data, file-write-data, "
		    "file-write-unlink, file-link and file-read-metadata are "
		    "some");
		return CK_USAGE;
	}
	if ((ck_op_with_path() >> op & 1) == 0)
		return ck_fail_set(&cli->fail, CK_USAGE, name,
		    "has nothing to do with a path");
	if ((r = cli_absolute(cli, typed, path)) != CK_OK ||
	    (r = ck_path_canonical(path, canonical, &cli->fail)) != CK_OK ||
	    (r = ck_rules_policy(place, set, &policy, &cli->fail)) != CK_OK)
		return r;
	if ((r = ck_policy_decide(policy, op, canonical, &v)) == CK_OK) {
		explained(cli, policy, op, canonical, &v, &b);
		r = cli_put(cli, &b);
	} else {
		(void)ck_fail_set(&cli->fail, r, canonical,
		    "cannot be decided by the rules");
	}
	ck_buf_free(&b);
	ck_policy_free(&policy);
	return r;
}
