/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-bench-decide PAIRS
 *
 * Asks the evaluator PAIRS (path, operation) questions about the worker policy
 * of an owner with ten checkouts, in both spellings and either case as for
 * macOS, and prints how many it decides in a second.  The paths are protected
 * ones, what is in, beside and on the way to them, and unrelated ones, as
 * workers' system calls bring them.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "boundary/policy.h"

#define HOME "/Users/owner"
#define CHECKOUTS 10
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *path;
	bool directory, deny_read;
} usual[] = {
	{ HOME "/.clankie-keys", true, true },
	{ HOME "/.config/clankie/credentials.json", false, true },
	{ HOME "/.config/clankie/settings.json", false, false },
	{ HOME "/.config/clankie-keys", true, false },
	{ HOME "/.config/herdr/config.toml", false, false },
	{ HOME "/.local/libexec/clankie-keys", true, false },
};

enum { SET = COUNT(usual) + CHECKOUTS };

/* Around a protected path; "@" stands for it. */
static const char *const around[] = { "@", "@/below", "@-beside", "@.lock" };
/* Nowhere near. */
static const char *const elsewhere[] = {
	HOME "/src/checkout-3/node_modules/left-pad/package.json",
	HOME "/src/checkout-7/.git/objects/4b/825dc642cb6eb9a060e54bf8d69288",
	"/usr/lib/libSystem.B.dylib", "/private/tmp/worker.1234", HOME,
	HOME "/src", HOME "/Library/Caches/x",
};

enum { PATH_ROOM = CK_PATH_MAX + 16 };
static char paths[SET * COUNT(around) + COUNT(elsewhere)][PATH_ROOM];

static struct ck_policy *
make_policy(struct ck_protect set[SET])
{
	static const struct ck_worker_options options = { HOME, true, true };
	struct ck_policy *p = NULL;
	struct ck_fail fail = CK_FAIL_INIT;

	for (size_t i = 0; i < SET; i++) {
		bool own = i < COUNT(usual);

		if (own)
			(void)snprintf(set[i].path, sizeof(set[i].path), "%s",
			    usual[i].path);
		else
			(void)snprintf(set[i].path, sizeof(set[i].path),
			    HOME "/src/checkout-%zu/.env.local",
			    i - COUNT(usual));
		set[i].directory = own && usual[i].directory;
		set[i].deny_read = !own || usual[i].deny_read;
	}
	if (ck_policy_worker(set, SET, &options, &p, &fail) != CK_OK)
		errx(2, "%s: %s", fail.place, fail.why);
	return p;
}

static void
make_paths(const struct ck_protect *set)
{
	size_t n = 0;

	for (size_t i = 0; i < SET; i++)
		for (size_t k = 0; k < COUNT(around); k++)
			(void)snprintf(paths[n++], PATH_ROOM, "%.1000s%s",
			    set[i].path, around[k] + 1);
	for (size_t i = 0; i < COUNT(elsewhere); i++)
		(void)snprintf(paths[n++], PATH_ROOM, "%.1000s", elsewhere[i]);
}

static double
now(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
		err(2, "clock_gettime");
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	static const enum ck_op ops[] = { CK_OP_READ_DATA, CK_OP_READ_METADATA,
		CK_OP_WRITE_DATA, CK_OP_WRITE_CREATE, CK_OP_WRITE_UNLINK,
		CK_OP_READ_XATTR, CK_OP_LINK };
	static struct ck_protect set[SET];
	unsigned long pairs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct ck_policy *p = make_policy(set);
	unsigned long denied = 0;
	struct ck_verdict v;
	double start, spent;

	if (pairs == 0)
		errx(2, "usage: ck-bench-decide PAIRS");
	make_paths(set);
	start = now();
	for (unsigned long i = 0; i < pairs; i++) {
		if (ck_policy_decide(p, ops[i % COUNT(ops)],
		    paths[i / COUNT(ops) % COUNT(paths)], &v) != CK_OK)
			errx(2, "no answer");
		denied += v.effect == CK_DENY;
	}
	spent = now() - start;
	ck_policy_free(&p);
	if (denied == 0 || denied == pairs)
		errx(2, "all answers are the same");
	return printf("%.0f\n", (double)pairs / spent) > 0 ? 0 : 1;
}
