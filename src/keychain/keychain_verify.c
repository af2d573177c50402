/* SPDX-License-Identifier: Apache-2.0 */
/* The full check of one keychain file, and its dates; see keychain.h. */
#include "keychain/keychain.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "keychain/kc_int.h"

static const uint32_t key_relations[] = {
	KC_REL_PUBLIC_KEY, KC_REL_PRIVATE_KEY, KC_REL_SYMMETRIC_KEY
};
static const uint32_t password_relations[] = {
	KC_REL_GENERIC, KC_REL_INTERNET, KC_REL_APPLESHARE
};

/* MAC and digest of every key record of one relation. */
static ck_err
verify_keys(struct kc *kc, uint32_t relation, size_t *count,
    struct ck_fail *fail)
{
	struct kc_record rec;
	struct kc_key_blob blob;
	struct ck_secret key = CK_SECRET_INIT;
	uint32_t number = 0;
	ck_err r;

	while ((r = kc_db_next(kc->db, relation, &number, &rec,
	    fail)) == CK_OK) {
		r = kc_key_blob_parse(rec.data, kc->path, &blob, fail);
		if (r != CK_OK)
			return r;
		if (!kc->unlocked)
			continue;
		if ((r = kc_key_raw(kc, &rec, &key, fail)) != CK_OK)
			return r;
		ck_secret_wipe(&key);
		if (!blob.cleartext)
			(*count)++;
	}
	return r == CK_ABSENT ? CK_OK : r;
}

/* Each password item has its key and, when unlocked, can be decrypted. */
static ck_err
verify_items(struct kc *kc, uint32_t relation, struct ck_fail *fail)
{
	struct kc_record rec, key;
	struct ck_secret secret = CK_SECRET_INIT;
	struct ck_span label;
	uint32_t number = 0;
	ck_err r;

	while ((r = kc_db_next(kc->db, relation, &number, &rec,
	    fail)) == CK_OK) {
		if (kc_item_data_label(rec.data, &label) &&
		    (r = kc_item_key(kc, &rec, &key, fail)) != CK_OK)
			return r;
		if (!kc->unlocked)
			continue;
		if ((r = kc_item_secret(kc, &rec, &secret, fail)) != CK_OK)
			return r;
		ck_secret_wipe(&secret);
	}
	return r == CK_ABSENT ? CK_OK : r;
}

ck_err
kc_verify(struct kc *kc, size_t *ret_keys, struct ck_fail *fail)
{
	size_t count = 0;
	ck_err r;

	if ((r = kc_db_verify(kc->db, fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < sizeof(key_relations) / sizeof(uint32_t); i++)
		if ((r = verify_keys(kc, key_relations[i], &count,
		    fail)) != CK_OK)
			return r;
	for (size_t i = 0; i < sizeof(password_relations) / sizeof(uint32_t);
	    i++)
		if ((r = verify_items(kc, password_relations[i],
		    fail)) != CK_OK)
			return r;
	*ret_keys = count;
	return CK_OK;
}

/* Two to four decimal digits; -1 for anything else. */
static int
digits(const uint8_t *p, size_t n)
{
	int v = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		v = v * 10 + (p[i] - '0');
	}
	return v;
}

/* Days since 1970-01-01 of a date in the proleptic Gregorian calendar. */
static int64_t
days_from_civil(int64_t y, int64_t m, int64_t d)
{
	int64_t era, yoe, doy, doe;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	yoe = y - era * 400;
	doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
	doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
	return era * 146097 + doe - 719468;
}

static int
days_in_month(int y, int m)
{
	static const int days[] = {
		31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
	};

	if (m == 2 && (y % 4 == 0 && (y % 100 != 0 || y % 400 == 0)))
		return 29;
	return days[m - 1];
}

bool
kc_date_parse(struct ck_span date, int64_t *ret)
{
	const uint8_t *p = date.p;
	int y, mo, d, h, mi, s;

	if (date.n != 16 || p[14] != 'Z' || p[15] != 0)
		return false;
	y = digits(p, 4);
	mo = digits(p + 4, 2);
	d = digits(p + 6, 2);
	h = digits(p + 8, 2);
	mi = digits(p + 10, 2);
	s = digits(p + 12, 2);
	if (y < 0 || mo < 1 || mo > 12 || d < 1 || d > days_in_month(y, mo) ||
	    h < 0 || h > 23 || mi < 0 || mi > 59 || s < 0 || s > 59)
		return false;
	*ret = days_from_civil(y, mo, d) * 86400 + h * 3600 + mi * 60 + s;
	return true;
}

void
kc_date_format(int64_t seconds, uint8_t ret[16])
{
	const int64_t last = 3155759999;   /* 2069-12-31T23:59:59Z */
	char text[32];
	struct tm tm;
	time_t t;

	/* A wrong clock must not produce a date that macOS rejects. */
	if (seconds < 0)
		seconds = 0;
	if (seconds > last)
		seconds = last;
	t = (time_t)seconds;
	memset(&tm, 0, sizeof(tm));
	(void)gmtime_r(&t, &tm);
	(void)snprintf(text, sizeof(text), "%04u%02u%02u%02u%02u%02uZ",
	    (unsigned int)(tm.tm_year + 1900) % 10000U,
	    (unsigned int)(tm.tm_mon + 1) % 100U,
	    (unsigned int)tm.tm_mday % 100U, (unsigned int)tm.tm_hour % 100U,
	    (unsigned int)tm.tm_min % 100U, (unsigned int)tm.tm_sec % 100U);
	memcpy(ret, text, 16);
}
