/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of which the same has to be said, for people: one line, so that
 * they hide no other one. */
#ifndef CK_CLI_FINDINGS_H
#define CK_CLI_FINDINGS_H

#include "custody/check.h"

enum cli_sum {
	CLI_SUM_NONE,            /* it is by itself; nothing was printed */
	CLI_SUM_FIRST,           /* it and its like were printed */
	CLI_SUM_SAID             /* an earlier one has said it */
};

/* Print all that are like found->at[at], without a next step, if it is the
 * first of them. */
enum cli_sum cli_sum(const struct ck_findings *found, size_t at,
    struct ck_buf *b);

#endif
