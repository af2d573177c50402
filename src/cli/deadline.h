/* SPDX-License-Identifier: Apache-2.0 */
/* A bound that holds whatever a store does: a thread that ends the process. */
#ifndef CK_CLI_DEADLINE_H
#define CK_CLI_DEADLINE_H

#include "base/err.h"

/*
 * Unless cli_deadline_met() comes first, write out to standard output and err
 * to standard error after ms milliseconds, and end the process with status.
 * It ends even where the process sleeps in the file system, as far as the
 * kernel lets a killed process go.  Both texts live as long as the process.
 * Once in a process.  CK_NOMEM when no thread can be had.
 */
CK_MUST_USE ck_err cli_deadline(unsigned int ms, const char *out,
    const char *err, int status, struct ck_fail *fail);

/* From here on the caller answers, and has to end soon after the bound all the
 * same.  When the time was over already, the process ends here and nothing is
 * said twice.  Once in a process. */
void cli_deadline_met(void);

#endif
