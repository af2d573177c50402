/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of an ACL blob, shared by its reader and its writer
 * (docs/keychain-format.md, sections 14.2, 14.3 and 15.1). */
#ifndef KC_ACL_WIRE_H
#define KC_ACL_WIRE_H

/* Subject types: low 24 bits of the type word, version in the high 8. */
#define ACL_TYPE_BITS 0x00ffffffU
#define ACL_VERSION_SHIFT 24
#define ACL_ANY 1U
#define ACL_CODE 0x74U
#define ACL_THRESHOLD 0x7bU
#define ACL_PROMPT 0x10000U
#define ACL_PROCESS 0x10003U
#define ACL_PAYLOAD 0x1000cU

/* Prompt selector: version 0x0101, no flags. */
#define ACL_SELECTOR 0x01010000U
#define ACL_HASH_BYTES 20

/* "Every authorization" is any non-zero word; macOS writes a 1 in the order
 * of its processor, which was little-endian whenever it mattered. */
#define ACL_EVERY 0x01000000U

/* Authorizations. */
#define ACL_DECRYPT 24U
#define ACL_DERIVE 28U
#define ACL_ENCRYPT 35U
#define ACL_EXPORT_CLEAR 37U
#define ACL_EXPORT_WRAPPED 38U
#define ACL_MAC 59U
#define ACL_SIGN 115U
#define ACL_PARTITION_ID 0x10002U
#define ACL_INTEGRITY 0x10003U

#define ACL_INTEGRITY_TAG "___INTEGRITY___"
#define ACL_PARTITION_TAG "___PARTITION___"

#endif
