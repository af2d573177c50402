/* SPDX-License-Identifier: Apache-2.0 */
/* The standard relations as data; see db_shape.h. */
#include "db_shape.h"

#include "keychain/db.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CODE(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | \
	(uint32_t)(c) << 8 | (uint32_t)(d))
/* A field with a string name, one with a name and an integer id, and one
 * with nothing but the integer. */
#define TEXT(id, format, name) { id, format, 0, name }
#define NAMED(id, format, name) { id, format, 2, name }
#define PLAIN(a, b, c, d, format) { CODE(a, b, c, d), format, 2, NULL }

static const struct kc_field info_fields[] = {
	TEXT(0, KC_UINT32, "RelationID"),
	TEXT(1, KC_STRING, "RelationName"),
};

static const struct kc_field index_fields[] = {
	TEXT(0, KC_UINT32, "RelationID"),
	TEXT(1, KC_UINT32, "IndexID"),
	TEXT(2, KC_UINT32, "AttributeID"),
	TEXT(3, KC_UINT32, "IndexType"),
	TEXT(4, KC_UINT32, "IndexedDataLocation"),
};

static const struct kc_field attribute_fields[] = {
	TEXT(0, KC_UINT32, "RelationID"),
	TEXT(1, KC_UINT32, "AttributeID"),
	TEXT(2, KC_UINT32, "AttributeNameFormat"),
	TEXT(3, KC_STRING, "AttributeName"),
	TEXT(4, KC_BLOB, "AttributeNameID"),
	TEXT(5, KC_UINT32, "AttributeFormat"),
};

static const struct kc_field parsing_fields[] = {
	TEXT(0, KC_UINT32, "RelationID"),
	TEXT(1, KC_UINT32, "AttributeID"),
	TEXT(2, KC_BLOB, "ModuleID"),
	TEXT(3, KC_STRING, "AddinVersion"),
	TEXT(4, KC_UINT32, "SSID"),
	TEXT(5, KC_UINT32, "SubserviceType"),
};

/* Columns 0 to 13 of every password relation. */
#define PASSWORD_FIELDS                                                       \
	PLAIN('c', 'd', 'a', 't', KC_DATE),                                   \
	PLAIN('m', 'd', 'a', 't', KC_DATE),                                   \
	PLAIN('d', 'e', 's', 'c', KC_BLOB),                                   \
	PLAIN('i', 'c', 'm', 't', KC_BLOB),                                   \
	PLAIN('c', 'r', 't', 'r', KC_UINT32),                                 \
	PLAIN('t', 'y', 'p', 'e', KC_UINT32),                                 \
	PLAIN('s', 'c', 'r', 'p', KC_SINT32),                                 \
	TEXT(KC_ATTR_LABEL, KC_BLOB, "PrintName"),                            \
	TEXT(KC_ATTR_ALIAS, KC_BLOB, "Alias"),                                \
	PLAIN('i', 'n', 'v', 'i', KC_SINT32),                                 \
	PLAIN('n', 'e', 'g', 'a', KC_SINT32),                                 \
	PLAIN('c', 'u', 's', 'i', KC_SINT32),                                 \
	PLAIN('p', 'r', 'o', 't', KC_BLOB),                                   \
	PLAIN('a', 'c', 'c', 't', KC_BLOB)

static const struct kc_field generic_fields[] = {
	PASSWORD_FIELDS,
	PLAIN('s', 'v', 'c', 'e', KC_BLOB),
	PLAIN('g', 'e', 'n', 'a', KC_BLOB),
};
static const uint8_t generic_key[] = { 13, 14 };

static const struct kc_field appleshare_fields[] = {
	PASSWORD_FIELDS,
	PLAIN('v', 'l', 'm', 'e', KC_BLOB),
	PLAIN('s', 'r', 'v', 'r', KC_BLOB),
	PLAIN('p', 't', 'c', 'l', KC_UINT32),
	PLAIN('a', 'd', 'd', 'r', KC_BLOB),
	PLAIN('s', 's', 'i', 'g', KC_BLOB),
};
static const uint8_t appleshare_key[] = { 13, 14, 17, 18 };

static const struct kc_field internet_fields[] = {
	PASSWORD_FIELDS,
	PLAIN('s', 'd', 'm', 'n', KC_BLOB),
	PLAIN('s', 'r', 'v', 'r', KC_BLOB),
	PLAIN('p', 't', 'c', 'l', KC_UINT32),
	PLAIN('a', 't', 'y', 'p', KC_BLOB),
	PLAIN('p', 'o', 'r', 't', KC_UINT32),
	PLAIN('p', 'a', 't', 'h', KC_BLOB),
};
static const uint8_t internet_key[] = { 13, 14, 15, 16, 17, 18, 19 };

static const struct kc_field key_fields[] = {
	NAMED(0, KC_UINT32, "KeyClass"),
	NAMED(1, KC_BLOB, "PrintName"),
	NAMED(2, KC_BLOB, "Alias"),
	NAMED(3, KC_UINT32, "Permanent"),
	NAMED(4, KC_UINT32, "Private"),
	NAMED(5, KC_UINT32, "Modifiable"),
	NAMED(6, KC_BLOB, "Label"),
	NAMED(7, KC_BLOB, "ApplicationTag"),
	NAMED(8, KC_BLOB, "KeyCreator"),
	NAMED(9, KC_UINT32, "KeyType"),
	NAMED(10, KC_UINT32, "KeySizeInBits"),
	NAMED(11, KC_UINT32, "EffectiveKeySize"),
	NAMED(12, KC_BLOB, "StartDate"),
	NAMED(13, KC_BLOB, "EndDate"),
	NAMED(14, KC_UINT32, "Sensitive"),
	NAMED(15, KC_UINT32, "AlwaysSensitive"),
	NAMED(16, KC_UINT32, "Extractable"),
	NAMED(17, KC_UINT32, "NeverExtractable"),
	NAMED(18, KC_UINT32, "Encrypt"),
	NAMED(19, KC_UINT32, "Decrypt"),
	NAMED(20, KC_UINT32, "Derive"),
	NAMED(21, KC_UINT32, "Sign"),
	NAMED(22, KC_UINT32, "Verify"),
	NAMED(23, KC_UINT32, "SignRecover"),
	NAMED(24, KC_UINT32, "VerifyRecover"),
	NAMED(25, KC_UINT32, "Wrap"),
	NAMED(26, KC_UINT32, "Unwrap"),
};
static const uint8_t key_key[] = { 6, 7, 8, 9, 10, 11, 12, 13 };
static const uint8_t key_plain[] = { 6, 18, 19, 20, 21, 22, 23, 24, 25, 26 };

#define META(id, name, fields) \
	{ id, name, fields, COUNT(fields), NULL, 0, NULL, 0, 0 }
/* The non-unique ids of a password relation continue its list of unique
 * attributes: 3 and 4 behind two of them. */
#define PASSWORD(id, fields, key) \
	{ id, "", fields, COUNT(fields), key, COUNT(key), key, COUNT(key), \
	  COUNT(key) + 1 }
#define KEY(id, name) \
	{ id, name, key_fields, COUNT(key_fields), key_key, COUNT(key_key), \
	  key_plain, COUNT(key_plain), 1 }

const struct kc_shape kc_shapes[KC_SHAPE_COUNT] = {
	META(KC_REL_SCHEMA_INFO, "CSSM_DL_DB_SCHEMA_INFO", info_fields),
	META(KC_REL_SCHEMA_ATTRIBUTES, "CSSM_DL_DB_SCHEMA_ATTRIBUTES",
	    attribute_fields),
	META(KC_REL_SCHEMA_INDEXES, "CSSM_DL_DB_SCHEMA_INDEXES",
	    index_fields),
	META(KC_REL_SCHEMA_PARSING, "CSSM_DL_DB_SCHEMA_PARSING_MODULE",
	    parsing_fields),
	PASSWORD(KC_REL_GENERIC, generic_fields, generic_key),
	PASSWORD(KC_REL_APPLESHARE, appleshare_fields, appleshare_key),
	PASSWORD(KC_REL_INTERNET, internet_fields, internet_key),
	{ KC_REL_DB_BLOB, "DBBlob", NULL, 0, NULL, 0, NULL, 0, 0 },
	KEY(KC_REL_PUBLIC_KEY, "CSSM_DL_DB_RECORD_PUBLIC_KEY"),
	KEY(KC_REL_PRIVATE_KEY, "CSSM_DL_DB_RECORD_PRIVATE_KEY"),
	KEY(KC_REL_SYMMETRIC_KEY, "CSSM_DL_DB_RECORD_SYMMETRIC_KEY"),
};
