/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mount plan as arguments of bubblewrap, for who confines workers with that
 * program: what a worker may not have is as closed, and the proofs that the
 * worker entry makes at each launch are not there (docs/boundary.md).
 */
#ifndef CK_BOUNDARY_BWRAP_H
#define CK_BOUNDARY_BWRAP_H

#include "base/bytes.h"
#include "boundary/mounts.h"

enum ck_bwrap_form {
	CK_BWRAP_SHELL,          /* words for a shell, a line for each option */
	CK_BWRAP_NULL            /* a NUL behind each word, for bwrap --args */
};

/*
 * Append the arguments; the same plan and the same answers of options->look
 * give the same bytes.  A step on something that is not there, or on a
 * symbolic link, is left out, for bubblewrap would make a file on the disk;
 * ck_mounts_report() names each.  CK_NOENFORCE: nothing of the plan is there;
 * CK_NOMEM, and the errors of look.  On failure out is as it was.
 */
CK_MUST_USE ck_err ck_bwrap_render(const struct ck_mounts *plan,
    const struct ck_mounts_options *options, enum ck_bwrap_form form,
    struct ck_buf *out, struct ck_fail *fail);

/* Append a word as a shell has to read it. */
void ck_shell_word(struct ck_buf *out, const char *word);

/* What the worker entry gives and these arguments do not: the i-th of some
 * lines for people, from 0; NULL past the end. */
const char *ck_bwrap_gap(size_t i);

#endif
