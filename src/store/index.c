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

ck_err
ck_index_without(const struct ck_secret *index, const char *account,
    bool *ret_changed, struct ck_secret *ret)
{
	json_t *array;
	bool changed = false;
	ck_err r = CK_OK;

	array = json_loadb((const char *)index->p, index->n, 0, NULL);
	if (!json_is_array(array)) {
		json_decref(array);
		return CK_DAMAGED;
	}
	for (size_t i = json_array_size(array); i-- > 0;) {
		const json_t *entry = json_array_get(array, i);

		if (!json_is_string(entry)) {
			r = CK_DAMAGED;
			break;
		}
		if (strcmp(json_string_value(entry), account) == 0) {
			if (json_array_remove(array, i) != 0)
				r = CK_NOMEM;
			changed = true;
		}
	}
	if (r == CK_OK && changed)
		r = dump(array, ret);
	if (r == CK_OK)
		*ret_changed = changed;
	json_decref(array);
	return r;
}
