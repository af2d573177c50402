/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The relations every new keychain has, as data (docs/keychain-format.md
 * sections 7 to 9).  The reader takes the layout of the four meta tables from
 * here, the writer all of a new file; so the two cannot drift apart.
 */
#ifndef KC_DB_SHAPE_H
#define KC_DB_SHAPE_H

#include <stddef.h>
#include <stdint.h>

struct kc_field {
	uint32_t id;
	uint8_t format;        /* enum kc_format */
	uint8_t name_format;   /* 0 string, 1 OID, 2 integer */
	const char *name;      /* NULL: no name in the meta row */
};

/*
 * unique[] holds columns, the key of index 0.  plain[] holds the columns of
 * the non-unique indexes, one each, numbered from plain_id upwards.
 */
struct kc_shape {
	uint32_t id;
	const char *name;
	const struct kc_field *fields;
	size_t nfields;
	const uint8_t *unique;
	size_t nunique;
	const uint8_t *plain;
	size_t nplain;
	uint32_t plain_id;
};

/* In the order in which a new file's meta rows are made. */
#define KC_SHAPE_COUNT 11
extern const struct kc_shape kc_shapes[KC_SHAPE_COUNT];

/* The first KC_SHAPE_META of them are the meta tables. */
#define KC_SHAPE_META 4

/* Columns of the meta tables. */
enum { KC_INFO_RELATION, KC_INFO_NAME, KC_INFO_COLUMNS };
enum {
	KC_IDX_RELATION, KC_IDX_INDEX, KC_IDX_ATTRIBUTE, KC_IDX_TYPE,
	KC_IDX_LOCATION, KC_IDX_COLUMNS
};
enum {
	KC_COL_RELATION, KC_COL_ATTRIBUTE, KC_COL_NAME_FORMAT, KC_COL_NAME,
	KC_COL_NAME_ID, KC_COL_FORMAT, KC_COL_COLUMNS
};
/* KC_IDX_TYPE */
#define KC_INDEX_UNIQUE 0U
#define KC_INDEX_PLAIN  1U
/* KC_IDX_LOCATION: the attribute, the only one in use. */
#define KC_INDEX_ON_ATTRIBUTE 1U

#endif
