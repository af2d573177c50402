/* SPDX-License-Identifier: Apache-2.0 */
/* The program that makes the boundary of boundary confine, on each system. */
#ifndef CK_CUSTODY_CONFINE_COMMAND_H
#define CK_CUSTODY_CONFINE_COMMAND_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"
#include "boundary/confine.h"

/* Append its words, a NUL behind each; the command follows them.
 * CK_NOENFORCE: it is not there, or not the system's own. */
CK_MUST_USE ck_err ck_confine_command(const struct ck_confine *c,
    struct ck_buf *out, struct ck_fail *fail);

/* A limit on processes counts those in the boundary only. */
extern const bool ck_confine_counts_processes;

#endif
