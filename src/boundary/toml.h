/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enough of TOML 1.0 to find a few values in somebody else's configuration
 * file.  What it does not understand it refuses: a caller then knows nothing,
 * and says so.
 */
#ifndef CK_BOUNDARY_TOML_H
#define CK_BOUNDARY_TOML_H

#include <stddef.h>

#include "base/err.h"

/* Parts of a dotted key, its table's included, and bytes of each and of a
 * string, NUL included; longer ones are CK_UNSUPPORTED. */
enum { CK_TOML_PARTS = 10, CK_TOML_TEXT = 1024 };
/* Tables and arrays inside each other. */
enum { CK_TOML_DEPTH = 16 };
/* Largest text, bytes. */
#define CK_TOML_MAX ((size_t)1 << 20)

enum ck_toml_kind {
	CK_TOML_STRING,
	CK_TOML_BOOLEAN,             /* text is true or false */
	CK_TOML_OTHER,               /* number or date; text as it stands */
	CK_TOML_ARRAY,               /* its beginning; items follow as values of
	                              * the same key with item set */
	CK_TOML_TABLE                /* a header, or the beginning of { } */
};

struct ck_toml_value {
	size_t n;                    /* parts of the key */
	const char *part[CK_TOML_PARTS];
	enum ck_toml_kind kind;
	const char *text;            /* "" for arrays and tables */
	int item;                    /* it stands in an array */
};

/* Anything but CK_OK ends the reading and is passed on. */
typedef ck_err (*ck_toml_cb)(void *arg, const struct ck_toml_value *value);

/*
 * Hand each value of a text to cb, in its order.  CK_DAMAGED: no TOML;
 * CK_UNSUPPORTED: beyond one of the limits; CK_NOMEM.  That a key is given
 * twice is for cb to notice.
 */
CK_MUST_USE ck_err ck_toml_read(const char *text, size_t n, ck_toml_cb cb,
    void *arg);

#endif
