/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the verb "boundary"; the words behind their names. */
#ifndef CK_CLI_BOUNDARY_H
#define CK_CLI_BOUNDARY_H

#include "cli.h"

CK_MUST_USE ck_err boundary_decide(struct cli *cli, int argc, char **argv);

CK_MUST_USE ck_err boundary_confine(struct cli *cli, int argc, char **argv);

/* What boundary verify showed of this machine and these versions: "unverified",
 * "engages as tested on ...", or "stale: ...".  True for the second. */
#define BOUNDARY_EVIDENCE_SIZE 320
bool boundary_evidence(const struct ck_place *place,
    char ret[BOUNDARY_EVIDENCE_SIZE]);

#endif
