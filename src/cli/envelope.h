/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the verb "envelope" share. */
#ifndef CK_CLI_ENVELOPE_H
#define CK_CLI_ENVELOPE_H

#include "cli.h"
#include "custody/envelope.h"

/* The parts; the words behind their names. */
CK_MUST_USE ck_err envelope_prepare(struct cli *cli, int argc, char **argv);
CK_MUST_USE ck_err envelope_launch(struct cli *cli, int argc, char **argv);
CK_MUST_USE ck_err envelope_status(struct cli *cli, int argc, char **argv);

/* Workers that run without any boundary: how many, and the first few as
 * "PID, PID". */
size_t envelope_workers(char *ret, size_t size);

#endif
