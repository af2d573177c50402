/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the file broker: what kind of credential a value is. */
#ifndef CK_STORE_BROKER_TYPE_H
#define CK_STORE_BROKER_TYPE_H

#include "base/bytes.h"
#include "base/err.h"

/*
 * *ret: "api", "oauth", "wellknown", or "malformed" when the required members
 * of that type are missing or of another kind.  value has been scanned.
 * CK_NOMEM.
 */
CK_MUST_USE ck_err ck_broker_type(struct ck_span value, const char **ret);

#endif
