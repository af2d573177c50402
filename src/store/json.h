/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON that may hold secrets.  Two readers: a small strict scanner of our own
 * that works in place and knows where each byte lies, and jansson, which
 * proves every edit.  jansson's memory is the secure heap; its text is always
 * a struct ck_secret.
 */
#ifndef CK_STORE_JSON_H
#define CK_STORE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/path.h"
#include "base/secret.h"

/* Nesting that is read: settings and credentials stay below 10. */
#define CK_JSON_DEPTH 64

/*
 * Make jansson allocate from the secure heap and wipe what it frees; without
 * that heap its allocations fail.  Call once, after ck_secret_heap_init() and
 * before anything else uses jansson.  A second call changes nothing.
 */
void ck_json_init(void);
/* The version of jansson that is used; static text. */
const char *ck_json_engine(void);

/* One member of the outermost object; the spans point into its text. */
struct ck_json_member {
	struct ck_span key;     /* between the quotes, still escaped */
	struct ck_span value;   /* without white space around it */
};

struct ck_json_object {
	struct ck_span body;              /* between the outermost braces */
	struct ck_json_member *member;    /* in the order of the text */
	size_t n;
};

#define CK_JSON_OBJECT_INIT { CK_SPAN_NONE, NULL, 0 }

/*
 * Scan text, which must be one JSON object with nothing but white space
 * around it, and must outlive *ret.  The whole text is checked: grammar,
 * UTF-8, and that no two members of the outermost object have the same
 * decoded key.  CK_DAMAGED (the reason names a line), CK_UNSUPPORTED when it
 * is nested deeper than CK_JSON_DEPTH, CK_NOMEM.  shown names the text in the
 * reason.  Only offsets are allocated, from the ordinary heap.
 */
CK_MUST_USE ck_err ck_json_scan(struct ck_span text, const char *shown,
    struct ck_json_object *ret, struct ck_fail *fail);
void ck_json_object_free(struct ck_json_object *o);

/* The same check for any one JSON value; *ret is it without the white space
 * around.  CK_DAMAGED, CK_UNSUPPORTED (depth). */
CK_MUST_USE ck_err ck_json_check(struct ck_span text, struct ck_span *ret);

/* The member with this decoded key, or NULL.  key is UTF-8. */
const struct ck_json_member *ck_json_member(const struct ck_json_object *o,
    const char *key);

/* An escaped key or string body (between its quotes) means text. */
CK_MUST_USE bool ck_json_key_is(struct ck_span raw, const char *text);

/*
 * Decode a JSON string, quotes included, as a member's value gives it.
 * CK_DAMAGED when it is no string.  Lone surrogates become the three bytes
 * they would have in UTF-8, so that nothing valid ever equals them.
 */
CK_MUST_USE ck_err ck_json_decode(struct ck_span value,
    struct ck_secret *ret);

/* The member's value, a string that is an absolute path without a zero byte.
 * CK_DAMAGED when it is none of that, or missing; CK_NOMEM. */
CK_MUST_USE ck_err ck_json_path(const struct ck_json_object *o,
    const char *key, char ret[CK_PATH_MAX]);

/* The JSON string, quotes included, for UTF-8 text.  CK_DAMAGED when the text
 * is not UTF-8. */
CK_MUST_USE ck_err ck_json_encode(struct ck_span text, struct ck_secret *ret);

/*
 * *ret says whether two JSON texts mean the same: equal bytes, or equal
 * according to jansson.  CK_DAMAGED when one of them is no JSON, CK_NOMEM.
 */
CK_MUST_USE ck_err ck_json_same(struct ck_span a, struct ck_span b, bool *ret);

/*
 * A copy of text without the member, its comma and the white space that goes
 * with it; every other byte stays.  CK_ABSENT when there is no such member,
 * CK_UNSUPPORTED when jansson cannot represent what the text holds (a number
 * beyond a double, half a surrogate pair), CK_DAMAGED, CK_NOMEM.  The result
 * was parsed again by jansson and by the scanner before it is returned;
 * CK_INTERNAL when either disagrees.
 */
CK_MUST_USE ck_err ck_json_cut_member(const struct ck_secret *text,
    const char *key, const char *shown, struct ck_secret *ret,
    struct ck_fail *fail);

/*
 * The same with the member set to value, which is JSON text: the value is
 * replaced in place, or the member added behind the last one in the spelling
 * that one has.  CK_USAGE when value is no JSON.
 */
CK_MUST_USE ck_err ck_json_put_member(const struct ck_secret *text,
    const char *key, const struct ck_secret *value, const char *shown,
    struct ck_secret *ret, struct ck_fail *fail);

#endif
