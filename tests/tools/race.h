/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs of a race said, held against one another: each rotation
 * has a generation of its own, generations never go back, and every value that
 * a reader got belongs to one generation of the time in which it read.
 */
#ifndef CK_TOOLS_RACE_H
#define CK_TOOLS_RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct race;

struct race *race_new(void);
void race_free(struct race *r);

/* Something that must not be; printed, and counted. */
void race_violation(struct race *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
size_t race_violations(const struct race *r);

/* A rotation ended with this generation, and said so. */
void race_rotated(struct race *r, uint64_t generation);

/* The highest generation that a rotation has reported up to now: whoever asks
 * from here on must not be told of an older one. */
uint64_t race_reported(const struct race *r);

/* A reader got a value at a time in which the generation was lo to hi. */
void race_value(struct race *r, const uint8_t *p, size_t n, uint64_t lo,
    uint64_t hi);

/* How many different values were got. */
size_t race_values(const struct race *r);

/* Can each value have a generation of its own, none above last? */
void race_judge(struct race *r, uint64_t last);

#endif
