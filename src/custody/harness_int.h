/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that look at harnesses. */
#ifndef CK_CUSTODY_HARNESS_INT_H
#define CK_CUSTODY_HARNESS_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"
#include "custody/harness.h"

/* Somebody else's configuration file, also behind symbolic links.  false: it
 * does not exist.  Else *ret is its text, which the caller frees, or NULL when
 * it cannot be read. */
bool ck_harness_text(const char *path, uint8_t **ret, size_t *ret_n);

void ck_harness_codex(const struct ck_harness_say *say, int argc,
    char **argv, struct ck_native_answer *ret);

#endif
