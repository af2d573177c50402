/* SPDX-License-Identifier: Apache-2.0 */
/* What one configuration file of Codex says; see codex_int.h. */
#include "boundary/codex_int.h"

#include <stdio.h>
#include <string.h>

#include "boundary/toml.h"

struct looking {
	const struct codex_wanted *want;
	struct codex_file *to;
};

/* A string that is given once. */
static ck_err
take(const struct ck_toml_value *v, char to[CK_CODEX_VALUE])
{
	if (v->kind != CK_TOML_STRING || v->item || to[0] != '\0')
		return CK_DAMAGED;
	/* No mode, profile or permission has no name or a long one. */
	if (v->text[0] == '\0' || strlen(v->text) >= CK_CODEX_VALUE)
		return CK_UNSUPPORTED;
	(void)snprintf(to, CK_CODEX_VALUE, "%s", v->text);
	return CK_OK;
}

static bool
is(const struct ck_toml_value *v, size_t i, const char *name)
{
	return i < v->n && name != NULL && strcmp(v->part[i], name) == 0;
}

/* [permissions.NAME] and what is in it. */
static void
permission(const struct ck_toml_value *v, struct codex_file *to)
{
	bool root = v->n >= 4 &&
	    (is(v, 3, ":root") || is(v, 3, "/") || is(v, 3, "/**"));
	bool writes = v->kind == CK_TOML_STRING &&
	    strcmp(v->text, "write") == 0;

	if (to->table == CODEX_TABLE_NONE)
		to->table = CODEX_TABLE_EMPTY;
	if (v->n == 2 && v->kind == CK_TOML_TABLE)
		return;
	if (is(v, 2, "network") || is(v, 2, "description"))
		return;
	/* What is inherited, or has a form that we do not know. */
	if (!is(v, 2, "filesystem")) {
		to->table = CODEX_TABLE_ODD;
		return;
	}
	if (v->kind == CK_TOML_TABLE && (v->n == 3 || !root))
		return;
	if (root && (v->n > 4 || (v->kind != CK_TOML_STRING &&
	    v->kind != CK_TOML_TABLE)))
		to->table = CODEX_TABLE_ODD;
	else if (root && writes && to->table != CODEX_TABLE_ODD)
		to->table = CODEX_TABLE_FULL;
	else if (to->table == CODEX_TABLE_EMPTY)
		to->table = CODEX_TABLE_SOME;
}

static ck_err
trust(const struct looking *l, const struct ck_toml_value *v)
{
	bool trusted = v->kind == CK_TOML_STRING &&
	    strcmp(v->text, "trusted") == 0;

	if (v->n != 3 || !is(v, 2, "trust_level"))
		return CK_OK;
	for (size_t i = 0; i < l->want->trusts; i++)
		if (is(v, 1, l->want->trust[i])) {
			/* The closest directory is the first. */
			if (l->to->trust_rank == 0 ||
			    i + 1 < l->to->trust_rank) {
				l->to->trust_rank = i + 1;
				l->to->trusted = trusted;
			}
		}
	return CK_OK;
}

static void
requirement(const struct ck_toml_value *v, struct codex_file *to)
{
	if (is(v, 0, "allowed_sandbox_modes") && v->n == 1) {
		to->lists_modes = true;
		if (v->kind == CK_TOML_STRING && v->item &&
		    strcmp(v->text, "danger-full-access") == 0)
			to->allows_full = true;
	} else if (strncmp(v->part[0], "allowed_permission", 18) == 0 ||
	    is(v, 0, "permissions")) {
		to->lists_profiles = true;
	}
}

static ck_err
each(void *arg, const struct ck_toml_value *v)
{
	const struct looking *l = arg;
	struct codex_file *to = l->to;

	if (l->want->requirements) {
		requirement(v, to);
		return CK_OK;
	}
	if (v->n == 1 && is(v, 0, "sandbox_mode"))
		return take(v, to->mode);
	if (v->n == 1 && is(v, 0, "default_permissions"))
		return take(v, to->permissions);
	if (v->n == 1 && is(v, 0, "profile"))
		return take(v, to->profile);
	if (is(v, 0, "profiles") && is(v, 1, l->want->profile)) {
		to->has_profile = true;
		if (v->n == 3 && is(v, 2, "sandbox_mode"))
			return take(v, to->profile_mode);
		if (v->n == 3 && is(v, 2, "default_permissions"))
			return take(v, to->profile_permissions);
	}
	if (is(v, 0, "permissions") && is(v, 1, l->want->permissions))
		permission(v, to);
	if (is(v, 0, "projects"))
		return trust(l, v);
	return CK_OK;
}

void
codex_file_read(const struct ck_codex_layer *layer,
    const struct codex_wanted *want, struct codex_file *ret)
{
	struct looking l = { want, ret };

	memset(ret, 0, sizeof(*ret));
	ret->broken = layer->text == NULL ||
	    ck_toml_read(layer->text, layer->n, each, &l) != CK_OK;
}
