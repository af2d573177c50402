/* SPDX-License-Identifier: Apache-2.0 */
/* See race.h. */
#include "race.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

struct value {
	unsigned char sum[32];       /* the value itself is a secret */
	uint64_t lo, hi;             /* generations that it can have */
	size_t seen;
};

struct race {
	size_t violations;
	uint64_t *reported;
	size_t nreported;
	uint64_t highest;
	struct value *value;
	size_t values;
};

struct race *
race_new(void)
{
	struct race *r = calloc(1, sizeof(*r));

	if (r == NULL)
		err(2, "race");
	return r;
}

void
race_free(struct race *r)
{
	free(r->reported);
	free(r->value);
	free(r);
}

void
race_violation(struct race *r, const char *fmt, ...)
{
	va_list ap;

	r->violations++;
	(void)printf("violation: ");
	va_start(ap, fmt);
	(void)vprintf(fmt, ap);
	va_end(ap);
	(void)printf("\n");
}

size_t
race_violations(const struct race *r)
{
	return r->violations;
}

void
race_rotated(struct race *r, uint64_t generation)
{
	for (size_t i = 0; i < r->nreported; i++) {
		if (r->reported[i] == generation)
			race_violation(r, "two rotations are generation %llu",
			    (unsigned long long)generation);
	}
	r->reported = realloc(r->reported, (r->nreported + 1) *
	    sizeof(*r->reported));
	if (r->reported == NULL)
		err(2, "race");
	r->reported[r->nreported++] = generation;
	if (generation > r->highest)
		r->highest = generation;
}

uint64_t
race_reported(const struct race *r)
{
	return r->highest;
}

static struct value *
find(struct race *r, const unsigned char sum[32])
{
	struct value *v;

	for (size_t i = 0; i < r->values; i++) {
		if (memcmp(r->value[i].sum, sum, 32) == 0)
			return &r->value[i];
	}
	r->value = realloc(r->value, (r->values + 1) * sizeof(*r->value));
	if (r->value == NULL)
		err(2, "race");
	v = &r->value[r->values++];
	memcpy(v->sum, sum, 32);
	v->lo = 1;
	v->hi = UINT64_MAX;
	v->seen = 0;
	return v;
}

void
race_value(struct race *r, const uint8_t *p, size_t n, uint64_t lo,
    uint64_t hi)
{
	unsigned char sum[32];
	struct value *v;

	if (EVP_Digest(p, n, sum, NULL, EVP_sha256(), NULL) != 1)
		errx(2, "digest");
	v = find(r, sum);
	v->seen++;
	if (lo > v->hi || hi < v->lo)
		race_violation(r, "a value of generation %llu to %llu was "
		    "got when it was %llu to %llu",
		    (unsigned long long)v->lo, (unsigned long long)v->hi,
		    (unsigned long long)lo, (unsigned long long)hi);
	v->lo = lo > v->lo ? lo : v->lo;
	v->hi = hi < v->hi ? hi : v->hi;
}

size_t
race_values(const struct race *r)
{
	return r->values;
}

/* By the last generation that a value can have, then by the first. */
static int
by_end(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	if (x->hi != y->hi)
		return x->hi < y->hi ? -1 : 1;
	return x->lo < y->lo ? -1 : x->lo > y->lo ? 1 : 0;
}

/* Earliest end first, each given the first generation that is free: if that
 * finds none, there is none. */
void
race_judge(struct race *r, uint64_t last)
{
	bool *taken = calloc((size_t)last + 2, sizeof(*taken));

	if (taken == NULL)
		err(2, "race");
	if (r->highest > last)
		race_violation(r, "generation %llu was reported, and the last "
		    "one is %llu", (unsigned long long)r->highest,
		    (unsigned long long)last);
	qsort(r->value, r->values, sizeof(*r->value), by_end);
	for (size_t i = 0; i < r->values; i++) {
		uint64_t g = r->value[i].lo;

		while (g <= last && g <= r->value[i].hi && taken[g])
			g++;
		if (g > last || g > r->value[i].hi)
			race_violation(r, "a value that was got at generation "
			    "%llu to %llu has none of its own",
			    (unsigned long long)r->value[i].lo,
			    (unsigned long long)r->value[i].hi);
		else
			taken[g] = true;
	}
	free(taken);
}
