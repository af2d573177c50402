/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error list of the whole program.  One code per thing the user would do
 * differently; the exit status and the JSON "code" come from the one table
 * here.  Only CK_ABSENT may ever lead to a new secret.
 */
#ifndef CK_BASE_ERR_H
#define CK_BASE_ERR_H

#define CK_MUST_USE __attribute__((warn_unused_result))
#define CK_PRINTF(f, a) __attribute__((format(printf, f, a)))

/*      name            exit  JSON code       sentence for people */
#define CK_ERR_TABLE(X)                                                       \
	X(CK_OK,           0, "ok",           "done")                           \
	X(CK_NO,           1, "no",           "no")                             \
	X(CK_USAGE,        2, "usage",        "the command line is wrong")      \
	X(CK_ABSENT,      10, "absent",       "nothing is stored here")         \
	X(CK_LOCKED,      11, "locked",       "locked")                         \
	X(CK_DENIED,      12, "denied",       "the system refused access")      \
	X(CK_DAMAGED,     13, "damaged",      "damaged")                        \
	X(CK_UNSUPPORTED, 14, "unsupported",  "not supported")                  \
	X(CK_CHANGED,     15, "changed",      "somebody else changed it meanwhile") \
	X(CK_BUSY,        16, "busy",         "busy")                           \
	X(CK_NOSPACE,     17, "no-space",     "no space left")                  \
	X(CK_READONLY,    18, "read-only",    "read-only")                      \
	X(CK_REFUSED,     19, "refused",      "refused")                        \
	X(CK_NOENFORCE,   20, "not-enforced", "cannot be enforced or proved")   \
	X(CK_FINDINGS,    21, "findings",     "the check has findings")         \
	X(CK_DECIDE,      22, "decide",       "needs the owner's decision")     \
	X(CK_NOSTORE,     23, "no-store",     "the store is missing")           \
	X(CK_NOMEM,       24, "no-memory",    "out of memory")                  \
	X(CK_IO,          25, "io",           "input/output error")             \
	X(CK_INTERNAL,    70, "internal",     "internal error")                 \
	X(CK_NESTED,      71, "nested",       "already inside another boundary")

typedef enum ck_err {
#define CK_ERR_ENUM(name, status, code, text) name,
	CK_ERR_TABLE(CK_ERR_ENUM)
#undef CK_ERR_ENUM
	CK_ERR_COUNT
} ck_err;

/* Exit status of a code; 70 for a value outside the list. */
int ck_err_exit(ck_err e);
/* Short stable name for JSON; never NULL. */
const char *ck_err_code(ck_err e);
/* Sentence fragment for people; never NULL. */
const char *ck_err_text(ck_err e);

/*
 * The cause, kept where it was known.  Never holds a secret or the length of
 * one.  All members are plain text and bounded; a NULL struct ck_fail * means
 * that the caller does not want the reason.
 */
struct ck_fail {
	ck_err code;
	int sys;            /* errno, 0 when none */
	char place[1024];   /* the file, directory or item it is about */
	char why[512];      /* what is wrong */
	char next[512];     /* what the owner can do now; may be empty */
};

#define CK_FAIL_INIT { CK_OK, 0, "", "", "" }

/* Record a failure; the working half of ck_fail_set(). */
void ck_fail_note(struct ck_fail *f, ck_err code, const char *place,
    const char *fmt, ...) CK_PRINTF(4, 5);

/*
 * Record a failure and give its code back, so that a caller can write
 * return ck_fail_set(f, CK_DAMAGED, path, "...").  place may be NULL.
 * Overwrites what f held, next included.  A macro so that compilers and
 * analysers see which code comes back; code is evaluated twice.
 */
#define ck_fail_set(f, code, place, ...)                                      \
	(ck_fail_note((f), (code), (place), __VA_ARGS__), (ck_err)(code))

/*
 * The same for a failed system call: sys is errno, doing says what was tried
 * ("open", "rename over").  ENOENT becomes CK_NOSTORE, EACCES and EPERM
 * CK_DENIED, ENOSPC, EDQUOT and EFBIG CK_NOSPACE, EROFS CK_READONLY, ENOMEM
 * CK_NOMEM, ELOOP and ENOTDIR CK_REFUSED, ETXTBSY and EBUSY CK_BUSY, all
 * others CK_IO.  Nothing maps to CK_ABSENT.
 */
ck_err ck_fail_sys(struct ck_fail *f, int sys, const char *place,
    const char *doing);

/* Add or replace the next step of a recorded failure. */
void ck_fail_next(struct ck_fail *f, const char *fmt, ...) CK_PRINTF(2, 3);

/* The code an errno maps to, as listed at ck_fail_sys(). */
ck_err ck_err_from_errno(int sys);

#endif
