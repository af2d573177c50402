/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the JSON reader: characters and the order of escaped keys. */
#ifndef CK_STORE_JSON_TEXT_H
#define CK_STORE_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Bytes of the UTF-8 character at s.p, 0 when there is none: overlong forms,
 * surrogates and values above U+10FFFF are none. */
size_t ck_utf8_length(struct ck_span s);

/* Like memcmp over the decoded bytes of two escaped strings without their
 * quotes, both of which the scanner has passed. */
int ck_json_key_order(struct ck_span a, struct ck_span b);

/* Decode one character of such a string at *at and step over it: 1 to 4
 * bytes in ret.  *at is below s.n. */
size_t ck_json_next(struct ck_span s, size_t *at, uint8_t ret[4]);

#endif
