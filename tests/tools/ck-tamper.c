/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-tamper swap FILE SERVICE ACCOUNT SERVICE ACCOUNT
 * ck-tamper label FILE SERVICE ACCOUNT LABEL
 * ck-tamper reseal
 *
 * What a program of the same user can do with our own library, past the
 * command line, which refuses it.  swap gives two items of a keychain each
 * other's service, account and label, and label gives one another label;
 * neither needs a password.  reseal makes a seal that fits the records of
 * $HOME as they stand: that needs the unlock password, which the program
 * takes from where get takes it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "custody/broker.h"
#include "custody/seal.h"
#include "custody/view.h"
#include "keychain/keychain.h"

struct names {
	const char *service, *account;
	char label[256];
};

static ck_err
find(struct kc *kc, struct names *names, struct kc_record *ret,
    struct ck_fail *fail)
{
	struct kc_value label;
	ck_err r;

	if ((r = kc_find(kc, CK_SPAN_TEXT(names->service),
	    CK_SPAN_TEXT(names->account), ret, fail)) != CK_OK ||
	    (r = kc_db_value(kc_db(kc), ret, KC_ATTR_LABEL, &label,
	    fail)) != CK_OK)
		return r;
	(void)snprintf(names->label, sizeof(names->label), "%.*s",
	    (int)label.bytes.n, (const char *)label.bytes.p);
	return CK_OK;
}

/* One attribute a commit: an item changes once before one. */
static ck_err
set(const char *file, struct names *at, uint32_t attr, const char *value,
    struct ck_fail *fail)
{
	struct kc_record rec;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = kc_open_write(file, 0, 0, &kc, fail)) == CK_OK &&
	    (r = find(kc, at, &rec, fail)) == CK_OK &&
	    (r = kc_set_attribute(kc, &rec, attr, CK_SPAN_TEXT(value),
	    ck_clock_wall(), fail)) == CK_OK)
		r = kc_commit(kc, fail);
	kc_close(&kc);
	return r;
}

static ck_err
set_all(const char *file, struct names *at, const struct names *to,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = set(file, at, KC_ATTR_LABEL, to->label, fail)) != CK_OK ||
	    (r = set(file, at, KC_ATTR_SERVICE, to->service, fail)) != CK_OK)
		return r;
	at->service = to->service;
	return set(file, at, KC_ATTR_ACCOUNT, to->account, fail);
}

static ck_err
swap(const char *file, const char *const words[4], struct ck_fail *fail)
{
	struct names one = { words[0], words[1], "" };
	struct names two = { words[2], words[3], "" };
	struct names away = { "away", "away", "away" };
	struct kc_record rec;
	struct kc *kc = NULL;
	struct names first, second;
	ck_err r;

	if ((r = kc_open(file, 0, &kc, fail)) == CK_OK &&
	    (r = find(kc, &one, &rec, fail)) == CK_OK)
		r = find(kc, &two, &rec, fail);
	kc_close(&kc);
	first = one;
	second = two;
	if (r == CK_OK && (r = set_all(file, &one, &away, fail)) == CK_OK &&
	    (r = set_all(file, &two, &first, fail)) == CK_OK)
		r = set_all(file, &away, &second, fail);
	return r;
}

static ck_err
reseal(struct ck_fail *fail)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct ck_view v = CK_VIEW_INIT;
	struct ck_say say;
	struct ck_place p;
	ck_err r;

	memset(&say, 0, sizeof(say));
	say.home = getenv("HOME");
	if ((r = ck_place_resolve(&say, &p, fail)) != CK_OK)
		return r;
	if ((r = ck_view_open(&p, CK_REC_WRITE, &v, fail)) == CK_OK &&
	    (r = ck_unlock_place_get(&p, &password, fail)) == CK_OK &&
	    (r = ck_records_begin(v.rec, fail)) == CK_OK &&
	    (r = ck_seal_write(&p, v.rec, &password, fail)) == CK_OK)
		r = ck_records_commit(v.rec, fail);
	ck_view_close(&v);
	ck_secret_wipe(&password);
	return r;
}

int
main(int argc, char **argv)
{
	struct ck_fail fail = CK_FAIL_INIT;
	ck_err r = ck_secret_heap_init((size_t)1 << 20, &fail);

	if (r == CK_OK && argc == 7 && strcmp(argv[1], "swap") == 0) {
		const char *const words[4] = { argv[3], argv[4], argv[5],
		    argv[6] };

		r = swap(argv[2], words, &fail);
	} else if (r == CK_OK && argc == 6 && strcmp(argv[1], "label") == 0) {
		struct names at = { argv[3], argv[4], "" };

		r = set(argv[2], &at, KC_ATTR_LABEL, argv[5], &fail);
	} else if (r == CK_OK && argc == 2 && strcmp(argv[1], "reseal") == 0) {
		r = reseal(&fail);
	} else if (r == CK_OK) {
		(void)fprintf(stderr, "usage: ck-tamper swap|label|reseal\n");
		return 2;
	}
	if (r != CK_OK)
		(void)fprintf(stderr, "ck-tamper: %s: %s\n", fail.place,
		    fail.why);
	return ck_err_exit(r);
}
