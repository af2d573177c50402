/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-bench-make FILE N: a keychain of N generic passwords (svc-000000 on,
 * account acct, 32 random bytes each) in one transaction, password "bench".
 * Prints the seconds the adding and writing took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/secret.h"
#include "keychain/blob.h"
#include "keychain/keychain.h"

static double
now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static ck_err
fill(struct kc *kc, unsigned long n, struct ck_fail *fail)
{
	struct ck_secret secret = CK_SECRET_INIT;
	struct kc_new_item item;
	char service[64];
	ck_err r;

	memset(&item, 0, sizeof(item));
	item.account = CK_SPAN_TEXT("acct");
	item.access = KC_ACCESS_ANY;
	item.now = 1700000000;
	if ((r = ck_secret_random(32, &secret)) != CK_OK)
		return r;
	for (unsigned long i = 0; r == CK_OK && i < n; i++) {
		(void)snprintf(service, sizeof(service), "svc-%06lu", i);
		item.service = CK_SPAN_TEXT(service);
		r = kc_add(kc, &item, &secret, fail);
	}
	ck_secret_wipe(&secret);
	return r;
}

int
main(int argc, char **argv)
{
	const struct kc_new_file how = { KC_BLOB_V100, 300, true, 0600 };
	struct ck_secret password = CK_SECRET_INIT;
	struct ck_fail fail = CK_FAIL_INIT;
	struct kc *kc = NULL;
	double start;
	ck_err r;

	if (argc != 3 || ck_secret_heap_init(1 << 20, &fail) != CK_OK ||
	    ck_secret_copy("bench", 5, &password) != CK_OK) {
		(void)fprintf(stderr, "usage: ck-bench-make FILE N\n");
		return 2;
	}
	start = now();
	if ((r = kc_create(argv[1], &how, &password, 0, &kc, &fail)) == CK_OK &&
	    (r = fill(kc, strtoul(argv[2], NULL, 10), &fail)) == CK_OK)
		r = kc_commit(kc, &fail);
	kc_close(&kc);
	ck_secret_wipe(&password);
	if (r != CK_OK) {
		(void)fprintf(stderr, "ck-bench-make: %s: %s\n", fail.place,
		    fail.why);
		return 1;
	}
	(void)printf("%.3f\n", now() - start);
	return 0;
}
