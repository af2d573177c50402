/* SPDX-License-Identifier: Apache-2.0 */
/* The record of an envelope as text; see envelope.h. */
#include "custody/envelope.h"

#include <string.h>

#include <jansson.h>

#include "base/secret.h"
#include "store/json.h"

static ck_err
put_string(struct ck_buf *out, const char *text)
{
	struct ck_secret json = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_json_encode(CK_SPAN_TEXT(text), &json)) == CK_OK)
		ck_buf_bytes(out, json.p, json.n);
	ck_secret_wipe(&json);
	return r;
}

static ck_err
put_member(struct ck_buf *out, const char *name, const char *value)
{
	ck_buf_format(out, ",\n  \"%s\": ", name);
	return put_string(out, value);
}

static ck_err
put_list(struct ck_buf *out, const char *name, const char (*list)[CK_PATH_MAX],
    size_t n)
{
	ck_err r = CK_OK;

	ck_buf_format(out, ",\n  \"%s\": [", name);
	for (size_t i = 0; r == CK_OK && i < n; i++) {
		ck_buf_text(out, i == 0 ? "\n    " : ",\n    ");
		r = put_string(out, list[i]);
	}
	ck_buf_text(out, "\n  ]");
	return r;
}

ck_err
ck_envelope_write(const struct ck_envelope *e, struct ck_buf *out,
    struct ck_fail *fail)
{
	size_t start = out->n;
	ck_err r;

	ck_buf_text(out, "{\n  \"version\": 1");
	if ((r = put_member(out, "id", e->id)) == CK_OK &&
	    (r = put_member(out, "accessLevel",
	    ck_level_name(e->level))) == CK_OK &&
	    (r = put_member(out, "runtimeRoot", e->runtime)) == CK_OK &&
	    (r = put_list(out, "runtimeFiles", e->file,
	    e->nfiles)) == CK_OK &&
	    (r = put_member(out, "home", e->home)) == CK_OK)
		r = put_list(out, "workspaces", e->workspace, e->nworkspaces);
	if (!e->network)
		ck_buf_text(out, ",\n  \"network\": false");
	ck_buf_text(out, "\n}\n");
	if (r == CK_OK)
		r = ck_buf_ok(out);
	if (r == CK_OK)
		return CK_OK;
	out->n = start;
	return ck_fail_set(fail, r, NULL, r == CK_DAMAGED ?
	    "a path of the envelope is not UTF-8" :
	    "no memory for the record of the envelope");
}

static bool
take_text(const json_t *o, const char *key, char *ret, size_t size)
{
	const json_t *v = json_object_get(o, key);
	size_t n = v == NULL ? 0 : json_string_length(v);

	if (!json_is_string(v) || n == 0 || n >= size ||
	    strlen(json_string_value(v)) != n)
		return false;
	memcpy(ret, json_string_value(v), n + 1);
	return true;
}

static bool
take_path(const json_t *v, char ret[CK_PATH_MAX])
{
	size_t n = v == NULL ? 0 : json_string_length(v);

	if (!json_is_string(v) || n == 0 || n >= CK_PATH_MAX ||
	    strlen(json_string_value(v)) != n ||
	    json_string_value(v)[0] != '/')
		return false;
	memcpy(ret, json_string_value(v), n + 1);
	return true;
}

static bool
take_list(const json_t *o, const char *key, char (*ret)[CK_PATH_MAX],
    size_t most, size_t *ret_n)
{
	const json_t *list = json_object_get(o, key);
	size_t n = json_array_size(list);

	if (!json_is_array(list) || n == 0 || n > most)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!take_path(json_array_get(list, i), ret[i]))
			return false;
	*ret_n = n;
	return true;
}

static bool
is_uuid(const char *text)
{
	for (size_t i = 0; i < CK_ENVELOPE_ID_SIZE - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' :
		    strchr("0123456789abcdef", text[i]) == NULL ||
		    text[i] == '\0')
			return false;
	}
	return text[CK_ENVELOPE_ID_SIZE - 1] == '\0';
}

/* NULL, or the member that is not as it must be. */
static const char *
take(const json_t *o, struct ck_envelope *e)
{
	const json_t *network = json_object_get(o, "network");
	char level[16];

	if (!json_is_integer(json_object_get(o, "version")) ||
	    json_integer_value(json_object_get(o, "version")) != 1)
		return "version";
	if (!take_text(o, "id", e->id, sizeof(e->id)) || !is_uuid(e->id))
		return "id";
	if (!take_text(o, "accessLevel", level, sizeof(level)) ||
	    ck_level_find(level, &e->level, NULL) != CK_OK)
		return "accessLevel";
	if (!take_path(json_object_get(o, "runtimeRoot"), e->runtime))
		return "runtimeRoot";
	if (!take_list(o, "runtimeFiles", e->file, CK_ENVELOPE_FILES,
	    &e->nfiles))
		return "runtimeFiles";
	if (!take_path(json_object_get(o, "home"), e->home))
		return "home";
	if (!take_list(o, "workspaces", e->workspace, CK_ENVELOPE_WORKSPACES,
	    &e->nworkspaces))
		return "workspaces";
	if (network != NULL && !json_is_false(network))
		return "network";
	e->network = network == NULL;
	return json_object_size(o) == (network == NULL ? 7 : 8) ? NULL :
	    "a member that is not of it";
}

ck_err
ck_envelope_parse(struct ck_span text, const char *shown,
    struct ck_envelope *ret, struct ck_fail *fail)
{
	json_t *o = json_loadb((const char *)text.p, text.n,
	    JSON_REJECT_DUPLICATES, NULL);
	const char *wrong = "it is no JSON object";

	if (json_is_object(o))
		wrong = take(o, ret);
	json_decref(o);
	return wrong == NULL ? CK_OK : ck_fail_set(fail, CK_DAMAGED, shown,
	    "is not the record of an envelope: %s", wrong);
}
