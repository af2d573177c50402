/* SPDX-License-Identifier: Apache-2.0 */
/* Editing the index of a keychain broker; see index.h. */
#include "store/index.h"

#include <string.h>

#include <jansson.h>

/* Serialise into secure memory: the index names no secret, but it comes from
 * a decrypted item and stays where those stay. */
static ck_err
dump(const json_t *array, struct ck_secret *ret)
{
	size_t n = json_dumpb(array, NULL, 0, JSON_COMPACT);
	struct ck_secret text = CK_SECRET_INIT;
	ck_err r;

	if (n == 0)
		return CK_NOMEM;
	if ((r = ck_secret_alloc(n, &text)) != CK_OK)
		return r;
	if (json_dumpb(array, (char *)text.p, n, JSON_COMPACT) != n) {
		ck_secret_wipe(&text);
		return CK_INTERNAL;
	}
	*ret = text;
	return CK_OK;
}

/* The index as an array of strings, or NULL with the reason in *ret_err. */
static json_t *
load(const struct ck_secret *index, ck_err *ret_err)
{
	json_t *array = json_loadb((const char *)index->p, index->n, 0, NULL);
	bool sound = json_is_array(array);

	for (size_t i = 0; sound && i < json_array_size(array); i++)
		sound = json_is_string(json_array_get(array, i));
	if (sound)
		return array;
	json_decref(array);
	*ret_err = CK_DAMAGED;
	return NULL;
}

ck_err
ck_index_without(const struct ck_secret *index, const char *account,
    bool *ret_changed, struct ck_secret *ret)
{
	bool changed = false;
	ck_err r = CK_OK;
	json_t *array;

	if ((array = load(index, &r)) == NULL)
		return r;
	for (size_t i = json_array_size(array); i-- > 0;) {
		if (strcmp(json_string_value(json_array_get(array, i)),
		    account) != 0)
			continue;
		if (json_array_remove(array, i) != 0)
			r = CK_NOMEM;
		changed = true;
	}
	if (r == CK_OK && changed)
		r = dump(array, ret);
	if (r == CK_OK)
		*ret_changed = changed;
	json_decref(array);
	return r;
}

ck_err
ck_index_with(const struct ck_secret *index, const char *account,
    bool *ret_changed, struct ck_secret *ret)
{
	bool there = false;
	ck_err r = CK_OK;
	json_t *array;
	size_t at, n;

	if ((array = load(index, &r)) == NULL)
		return r;
	at = n = json_array_size(array);
	for (size_t i = n; i-- > 0;) {
		int order = strcmp(json_string_value(json_array_get(array,
		    i)), account);

		there = there || order == 0;
		if (order > 0)
			at = i;
	}
	if (!there && json_array_insert_new(array, at,
	    json_string(account)) != 0)
		r = CK_NOMEM;
	if (r == CK_OK && !there)
		r = dump(array, ret);
	if (r == CK_OK)
		*ret_changed = !there;
	json_decref(array);
	return r;
}
