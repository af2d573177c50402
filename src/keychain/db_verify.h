/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of kc_db_verify(). */
#ifndef KC_DB_VERIFY_H
#define KC_DB_VERIFY_H

#include "db_int.h"

/* All indexes of t against its records, which were checked (items 17 to 19).
 * CK_UNSUPPORTED when an indexed attribute has several values. */
CK_MUST_USE ck_err kc_verify_indexes(struct kc_db *db,
    const struct kc_table *t, struct ck_fail *fail);

#endif
