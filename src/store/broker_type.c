/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The credential types of Clankie's broker, as far as a listing needs them:
 * which members there must be, and of which kind.  Values are not decoded.
 */
#include "store/broker_type.h"

#include <stdbool.h>
#include <string.h>

#include "store/json.h"

enum kind {
	NOTHING,     /* ends a list */
	STRING,
	NONEMPTY,    /* a string of one character or more */
	COUNT,       /* an integer from 0 */
	OBJECT
};

struct part {
	const char *name;
	enum kind kind;
	bool optional;
};

#define PARTS_MAX 7

static const struct type {
	const char *name;
	struct part part[PARTS_MAX];
} types[] = {
	{ "api", {
		{ "key", NONEMPTY, false },
		{ "metadata", OBJECT, true },
		{ "account", OBJECT, true } } },
	{ "oauth", {
		{ "access", STRING, false },
		{ "refresh", STRING, false },
		{ "expires", COUNT, false },
		{ "accountId", STRING, true },
		{ "clientId", STRING, true },
		{ "clientSecret", STRING, true } } },
	{ "wellknown", {
		{ "key", STRING, false },
		{ "token", STRING, false } } },
};

static bool
is_kind(struct ck_span v, enum kind kind)
{
	switch (kind) {
	case STRING:
		return v.p[0] == '"';
	case NONEMPTY:
		return v.p[0] == '"' && v.n > 2;
	case COUNT:
		for (size_t i = 0; i < v.n; i++)
			if (v.p[i] < '0' || v.p[i] > '9')
				return false;
		return true;
	case OBJECT:
		return v.p[0] == '{';
	case NOTHING:
		break;
	}
	return false;
}

static bool
fits(const struct ck_json_object *o, const struct type *t)
{
	const struct ck_json_member *m;
	const struct part *p;

	for (p = t->part; p < t->part + PARTS_MAX && p->kind != NOTHING; p++) {
		m = ck_json_member(o, p->name);
		if (m == NULL && !p->optional)
			return false;
		if (m != NULL && !is_kind(m->value, p->kind))
			return false;
	}
	return true;
}

ck_err
ck_broker_type(struct ck_span value, const char **ret)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;
	const struct ck_json_member *m;
	const char *name = "malformed";
	struct ck_span text;
	ck_err r;

	r = ck_json_scan(value, NULL, &o, NULL);
	if (r == CK_NOMEM)
		return r;
	m = r == CK_OK ? ck_json_member(&o, "type") : NULL;
	if (m != NULL && m->value.p[0] == '"') {
		text = (struct ck_span){ m->value.p + 1, m->value.n - 2 };
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			if (ck_json_key_is(text, types[i].name) &&
			    fits(&o, &types[i]))
				name = types[i].name;
	}
	ck_json_object_free(&o);
	*ret = name;
	return CK_OK;
}
