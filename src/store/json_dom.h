/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the JSON editor: jansson values in one block of secure memory. */
#ifndef CK_STORE_JSON_DOM_H
#define CK_STORE_JSON_DOM_H

#include <stddef.h>

#include <jansson.h>

#include "base/bytes.h"
#include "base/err.h"

/*
 * Run work(arg) with jansson allocating from one block of secure memory,
 * which is wiped afterwards; no jansson value may be kept, and none made
 * before may be touched.  When the block is too small, work is abandoned at
 * the allocation that failed and called again with a larger one: it must own
 * nothing but jansson values while it calls jansson.  text_bytes is the size
 * of all text it will parse.  CK_NOMEM when no block is large enough.
 */
typedef ck_err ck_json_work(void *arg);
CK_MUST_USE ck_err ck_json_with_dom(size_t text_bytes, ck_json_work *work,
    void *arg);

/* Only inside work: json_loadb() without its error text, which quotes the
 * input.  NULL when the text is not valid or jansson cannot represent it. */
json_t *ck_json_parse(struct ck_span text, size_t flags);

#endif
