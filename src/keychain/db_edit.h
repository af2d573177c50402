/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a transaction has changed in one table: records by number, and every
 * index as sorted runs (docs/keychain-format.md sections 3 and 6.3).
 */
#ifndef KC_DB_EDIT_H
#define KC_DB_EDIT_H

#include "db_int.h"

void kc_arena_free(struct kc_arena *a);
void kc_edit_free(struct kc_table *t);

#endif
