/* SPDX-License-Identifier: Apache-2.0 */
/* What the dedicated keychain itself tells; see doctor_rebuild_int.h. */
#include "custody/doctor_rebuild_int.h"

#include <string.h>

#include "base/bytes.h"
#include "custody/dedicated_int.h"

/* An attribute as text that the records can hold. */
static ck_err
text(struct kc *kc, const struct kc_record *rec, uint32_t attr, char *ret,
    size_t size, struct ck_fail *fail)
{
	struct kc_value v;
	ck_err r;

	if ((r = kc_db_value(kc_db(kc), rec, attr, &v, fail)) != CK_OK)
		return r;
	if (!v.present || v.bytes.n == 0 || v.bytes.n >= size)
		return ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "has an item whose label, service or account is not of "
		    "our making");
	for (size_t i = 0; i < v.bytes.n; i++)
		if (v.bytes.p[i] < 0x20 || v.bytes.p[i] == 0x7f)
			return ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
			    "has an item with a control character in its "
			    "label, service or account");
	memcpy(ret, v.bytes.p, v.bytes.n);
	ret[v.bytes.n] = '\0';
	return CK_OK;
}

/* "clankie-keys: NAME", the label that every credential gets. */
static bool
is_ours(struct kc *kc, const struct kc_record *rec)
{
	struct kc_value v;

	return kc_db_value(kc_db(kc), rec, KC_ATTR_LABEL, &v, NULL) == CK_OK &&
	    v.present && v.bytes.n >= strlen(CK_ITEM_LABEL) &&
	    memcmp(v.bytes.p, CK_ITEM_LABEL, strlen(CK_ITEM_LABEL)) == 0;
}

static bool
is_operator(const struct ck_rec_credential *c)
{
	return strcmp(c->service, CK_OPERATOR_SERVICE) == 0 &&
	    strcmp(c->account, CK_OPERATOR_ACCOUNT) == 0;
}

/* Only the operator's own item has a shape; a value without it is no
 * credential that anybody would be given. */
static ck_err
judge(struct kc *kc, const struct ck_secret *value,
    struct ck_rec_credential *c, struct ck_fail *fail)
{
	enum ck_format format = is_operator(c) ? CK_FORMAT_OPERATOR_BEARER :
	    CK_FORMAT_OPAQUE;
	const char *name = ck_format_name(format);

	memcpy(c->format, name, strlen(name) + 1);
	if (ck_format_check(format, value) != CK_OK)
		return ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "what is stored as %s / %s is not a credential of its "
		    "kind", c->service, c->account);
	return CK_OK;
}

static ck_err
known_already(struct kc *kc, const struct ck_items *items,
    const struct ck_rec_credential *c, struct ck_fail *fail)
{
	for (size_t i = 0; i < items->n; i++)
		if (strcmp(items->at[i].name, c->name) == 0)
			return ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
			    "has two items for the credential %s", c->name);
	if (items->n == CK_REBUILD_ROWS_MAX)
		return ck_fail_set(fail, CK_UNSUPPORTED, kc_path(kc),
		    "has more than %d credentials", CK_REBUILD_ROWS_MAX);
	return CK_OK;
}

static ck_err
take(struct kc *kc, const struct kc_record *rec, const struct ck_secret *key,
    struct ck_items *items, struct ck_fail *fail)
{
	char label[sizeof(CK_ITEM_LABEL) + sizeof(items->at[0].name)];
	struct ck_secret value = CK_SECRET_INIT;
	struct kc_record found;
	struct ck_rec_credential c;
	ck_err r;

	memset(&c, 0, sizeof(c));
	if ((r = text(kc, rec, KC_ATTR_LABEL, label, sizeof(label) - 1,
	    fail)) != CK_OK ||
	    (r = text(kc, rec, KC_ATTR_SERVICE, c.service, sizeof(c.service),
	    fail)) != CK_OK ||
	    (r = text(kc, rec, KC_ATTR_ACCOUNT, c.account, sizeof(c.account),
	    fail)) != CK_OK)
		return r;
	memcpy(c.name, label + strlen(CK_ITEM_LABEL),
	    strlen(label + strlen(CK_ITEM_LABEL)) + 1);
	/* What get would read by these names, and believe. */
	if ((r = known_already(kc, items, &c, fail)) != CK_OK ||
	    (r = ck_dedicated_item(kc, c.service, c.account, label, &found,
	    fail)) != CK_OK)
		return r;
	if (found.number != rec->number)
		return ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "has two items %s / %s", c.service, c.account);
	if ((r = kc_item_secret(kc, rec, &value, fail)) == CK_OK &&
	    (r = judge(kc, &value, &c, fail)) == CK_OK &&
	    (r = ck_dedicated_print(key, &value, c.fingerprint,
	    fail)) == CK_OK) {
		c.state = CK_STATE_DEDICATED;
		items->at[items->n++] = c;
	}
	ck_secret_wipe(&value);
	return r;
}

static ck_err
all(struct kc *kc, const struct ck_secret *key, struct ck_items *items,
    struct ck_fail *fail)
{
	struct kc_record rec;
	uint32_t number = 0;
	ck_err r;

	while ((r = kc_db_next(kc_db(kc), KC_REL_GENERIC, &number, &rec,
	    fail)) == CK_OK) {
		if (!is_ours(kc, &rec))
			items->others++;
		else if ((r = take(kc, &rec, key, items, fail)) != CK_OK)
			return r;
	}
	if (r != CK_ABSENT)
		return r;
	if (items->n == 0)
		return ck_fail_set(fail, CK_DAMAGED, kc_path(kc),
		    "holds no item of a credential");
	/* The seal key is the one that belongs there besides. */
	items->others--;
	return CK_OK;
}

ck_err
ck_doctor_items(const struct ck_place *p, const struct ck_secret *password,
    struct ck_items *ret, struct ck_secret *ret_key, struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	struct ck_items items;
	struct kc *kc = NULL;
	size_t keys = 0;
	ck_err r;

	memset(&items, 0, sizeof(items));
	if ((r = ck_dedicated_open(p->keychain, password, &kc, fail)) != CK_OK)
		return r;
	if ((r = kc_verify(kc, &keys, fail)) != CK_OK ||
	    (r = ck_dedicated_seal_read(kc, &key, fail)) != CK_OK ||
	    (r = all(kc, &key, &items, fail)) != CK_OK)
		goto out;
	*ret = items;
	ck_secret_move(ret_key, &key);
out:
	ck_secret_wipe(&key);
	kc_close(&kc);
	return r;
}
