/* SPDX-License-Identifier: Apache-2.0 */
/* The changes of a transaction to one table; see db_edit.h. */
#include "db_edit.h"
void kc_arena_free(struct kc_arena *a) { (void)a; }
void kc_edit_free(struct kc_table *t) { (void)t; }
