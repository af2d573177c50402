/* SPDX-License-Identifier: Apache-2.0 */
/* Keychain files to test with; they are not part of the source. */
#ifndef CK_TESTS_HELP_VECTORS_H
#define CK_TESTS_HELP_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/*
 * Path of a vector: below CLANKIE_KEYS_VECTORS, else ../shared/vectors.  When
 * the file is missing the test is skipped and says so.
 */
const char *help_vector_path(const char *name);

/* Its bytes.  Skips like help_vector_path(). */
void help_vector_load(const char *name, struct ck_buf *ret);

/* Healthy files: four by macOS, two synthetic. */
#define HELP_HEALTHY 6
extern const char *const help_healthy[HELP_HEALTHY];
#define HELP_CORRUPT "corrupt-fuzzed.keychain"
#define HELP_V100 "v100-genp-inet-keys.keychain"
#define HELP_V100_CERTS "v100-passwords-identities-certs.keychain"
#define HELP_V200_EMPTY "v200-empty.keychain-db"
#define HELP_V200 "v200-genp-inet-keys.keychain-db"
#define HELP_ONE_V100 "synthetic/synthetic-v100-one-item.keychain"
#define HELP_ONE_V200 "synthetic/synthetic-v200-one-item.keychain-db"

#endif
