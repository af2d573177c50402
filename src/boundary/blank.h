/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variables that a worker does not inherit as they are: bearers are set
 * to the empty string, and a marker says that it is a worker.  Empty and not
 * unset, because a program that finds such an override empty stops before it
 * asks, or fills, a store; without the variable it would go on to one.  None
 * of this is a boundary: it keeps accidents away, not an enemy.
 *
 * Nothing here allocates, so that the worker entry can share it.
 */
#ifndef CK_BOUNDARY_BLANK_H
#define CK_BOUNDARY_BLANK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define CK_MARKER "CLANKIE_WORKER_PANE"

enum ck_blank {
	CK_BLANK_NOT,                /* passed on as it is */
	CK_BLANK_LISTED,             /* a bearer by name: empty even if not set */
	CK_BLANK_PATTERN,            /* CLANKIE_*_TOKEN and the like: if set */
	CK_BLANK_KEY                 /* a model provider's key: if set, and only
	                              * on the owner's word, for harnesses need
	                              * their own */
};

/* What becomes of a variable, given as NAME or NAME=VALUE. */
enum ck_blank ck_blank_class(const char *variable);

/* The listed ones as "NAME="; NULL behind the last. */
#define CK_BLANK_LISTED_MAX 10
/* What can come to an environment: those, the marker, the end. */
#define CK_BLANK_MORE (CK_BLANK_LISTED_MAX + 2)
const char *ck_blank_listed(size_t i);

/* The length of the name in NAME or NAME=VALUE; and whether two of them have
 * the same name. */
size_t ck_blank_name(const char *variable);
bool ck_blank_same_name(const char *a, const char *b);
/* A shell can have a variable of this name. */
bool ck_blank_is_name(const char *name, size_t n);

/* Set NAME=VALUE empty where it stands; the old value is overwritten. */
void ck_blank_value(char *variable);

/*
 * The environment of a worker: of what from (ended by NULL) holds, bearers are
 * emptied where they stand, those of the list that are missing and the marker
 * added.  to, with room for max pointers, is ended by NULL.  CK_REFUSED: more
 * variables than fit, nothing was changed.
 */
CK_MUST_USE ck_err ck_blank_environment(char **from, char **to, size_t max,
    struct ck_fail *fail);

#endif
