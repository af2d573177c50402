/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process can ask the kernel for, by Seatbelt's names, and which
 * operation stands in for which: an operation without a decision of its own
 * asks its parent, up to "default".
 */
#ifndef CK_BOUNDARY_OP_H
#define CK_BOUNDARY_OP_H

#include <stdint.h>

#include "base/err.h"

/* Path: may carry a path filter.  Other filters are not in this language.
 *        id                name                     parent      path */
#define CK_OP_TABLE(X)                                                        \
	X(DEFAULT,          "default",               DEFAULT,        0)         \
	X(FILE_ANY,         "file*",                 DEFAULT,        1)         \
	X(READ_ANY,         "file-read*",            FILE_ANY,       1)         \
	X(READ_DATA,        "file-read-data",        READ_ANY,       1)         \
	X(READ_METADATA,    "file-read-metadata",    READ_ANY,       1)         \
	X(READ_XATTR,       "file-read-xattr",       READ_ANY,       1)         \
	X(WRITE_ANY,        "file-write*",           FILE_ANY,       1)         \
	X(WRITE_ACL,        "file-write-acl",        WRITE_ANY,      1)         \
	X(WRITE_CREATE,     "file-write-create",     WRITE_ANY,      1)         \
	X(WRITE_DATA,       "file-write-data",       WRITE_ANY,      1)         \
	X(WRITE_FINDERINFO, "file-write-finderinfo", WRITE_ANY,      1)         \
	X(WRITE_FLAGS,      "file-write-flags",      WRITE_ANY,      1)         \
	X(WRITE_MODE,       "file-write-mode",       WRITE_ANY,      1)         \
	X(WRITE_OWNER,      "file-write-owner",      WRITE_ANY,      1)         \
	X(WRITE_SETUGID,    "file-write-setugid",    WRITE_ANY,      1)         \
	X(WRITE_TIMES,      "file-write-times",      WRITE_ANY,      1)         \
	X(WRITE_UNLINK,     "file-write-unlink",     WRITE_ANY,      1)         \
	X(WRITE_XATTR,      "file-write-xattr",      WRITE_ANY,      1)         \
	X(CLONE,            "file-clone",            FILE_ANY,       1)         \
	X(LINK,             "file-link",             FILE_ANY,       1)         \
	X(MAP_EXECUTABLE,   "file-map-executable",   FILE_ANY,       1)         \
	X(MOUNT,            "file-mount",            FILE_ANY,       1)         \
	X(UNMOUNT,          "file-unmount",          FILE_ANY,       1)         \
	X(EXISTENCE,        "file-test-existence",   FILE_ANY,       1)         \
	X(PROCESS_ANY,      "process*",              DEFAULT,        0)         \
	X(EXEC,             "process-exec*",         PROCESS_ANY,    1)         \
	X(FORK,             "process-fork",          PROCESS_ANY,    0)         \
	X(NETWORK_ANY,      "network*",              DEFAULT,        1)         \
	X(NETWORK_BIND,     "network-bind",          NETWORK_ANY,    1)         \
	X(NETWORK_INBOUND,  "network-inbound",       NETWORK_ANY,    1)         \
	X(NETWORK_OUTBOUND, "network-outbound",      NETWORK_ANY,    1)         \
	X(MACH_ANY,         "mach*",                 DEFAULT,        0)         \
	X(MACH_LOOKUP,      "mach-lookup",           MACH_ANY,       0)         \
	X(APPLEEVENT,       "appleevent-send",       DEFAULT,        0)         \
	X(LSOPEN,           "lsopen",                DEFAULT,        0)         \
	X(JOB_CREATION,     "job-creation",          DEFAULT,        0)         \
	X(SIGNAL,           "signal",                DEFAULT,        0)

enum ck_op {
#define CK_OP_ENUM(id, name, parent, path) CK_OP_##id,
	CK_OP_TABLE(CK_OP_ENUM)
#undef CK_OP_ENUM
	CK_OP_COUNT
};

/* A set of operations. */
typedef uint64_t ck_ops;
#define CK_OPS(id) ((ck_ops)1 << CK_OP_##id)

_Static_assert(CK_OP_COUNT < 64, "operations fit a ck_ops");

/* Seatbelt's name, never NULL; "default" for a value outside the list. */
const char *ck_op_name(enum ck_op op);
/* CK_USAGE for a name that is not in the list. */
CK_MUST_USE ck_err ck_op_find(const char *name, enum ck_op *ret);
/* The operation asked when op has no decision; "default" is its own. */
enum ck_op ck_op_parent(enum ck_op op);
/* op and everything it can ask, "default" included. */
ck_ops ck_op_lineage(enum ck_op op);
/* The operations that may carry a path filter. */
ck_ops ck_op_with_path(void);

#endif
