/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a harness confine its own commands?  Arguments, files and environment
 * cannot prove everything, so there are three answers; and what to do with an
 * answer depends on whether boundaries nest on a system.
 */
#ifndef CK_BOUNDARY_NATIVE_H
#define CK_BOUNDARY_NATIVE_H

#include "base/err.h"
#include "base/path.h"

enum ck_native {
	CK_NATIVE_FULL,              /* nothing but us confines it */
	CK_NATIVE_OWN,               /* it confines its commands by itself */
	CK_NATIVE_UNDECIDED
};

/* "full", "native", "undecided"; never NULL. */
const char *ck_native_name(enum ck_native answer);

/* An answer and the evidence it rests on. */
struct ck_native_answer {
	enum ck_native answer;
	char place[CK_PATH_MAX];     /* file, option or variable; may be "" */
	char why[256];
};

/* Write an answer; the text is printf's. */
void ck_native_set(struct ck_native_answer *ret, enum ck_native answer,
    const char *place, const char *fmt, ...) CK_PRINTF(4, 5);

enum ck_system {
	CK_SYSTEM_LINUX,             /* namespaces nest */
	CK_SYSTEM_MACOS              /* profiles do not */
};

enum ck_wrap {
	CK_WRAP,                     /* in a worker's boundary */
	CK_WRAP_NOT,                 /* in its own; variables are blanked */
	CK_WRAP_REFUSE
};

/*
 * What to do.  Linux: always wrap, since a native mode reads the whole disk;
 * where boundaries do not nest the launch itself says so.  macOS: full is
 * wrapped, native is not, and undecided is refused unless the owner's record
 * says to wrap: then a native one fails at every command, which is closed.
 */
enum ck_wrap ck_native_wrap(enum ck_system system, enum ck_native answer,
    int wrap_undecided);

/* "wrap", "not wrapped", "refuse"; never NULL. */
const char *ck_wrap_name(enum ck_wrap wrap);

#endif
