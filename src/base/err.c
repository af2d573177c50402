/* SPDX-License-Identifier: Apache-2.0 */
/* The error table, and the record of one failure's cause. */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	int status;
	const char *code;
	const char *text;
} table[CK_ERR_COUNT] = {
#define CK_ERR_ROW(name, status, code, text) [name] = { status, code, text },
	CK_ERR_TABLE(CK_ERR_ROW)
#undef CK_ERR_ROW
};

static int
known(ck_err e)
{
	return (unsigned int)e < (unsigned int)CK_ERR_COUNT;
}

int
ck_err_exit(ck_err e)
{
	return known(e) ? table[e].status : table[CK_INTERNAL].status;
}

const char *
ck_err_code(ck_err e)
{
	return known(e) ? table[e].code : table[CK_INTERNAL].code;
}

const char *
ck_err_text(ck_err e)
{
	return known(e) ? table[e].text : table[CK_INTERNAL].text;
}

void
ck_fail_note(struct ck_fail *f, ck_err code, const char *place,
    const char *fmt, ...)
{
	va_list ap;

	if (f == NULL)
		return;
	f->code = code;
	f->sys = 0;
	f->next[0] = '\0';
	/* place may be f->place itself when a caller refines a reason. */
	if (place != f->place)
		(void)snprintf(f->place, sizeof(f->place), "%s",
		    place == NULL ? "" : place);
	va_start(ap, fmt);
	(void)vsnprintf(f->why, sizeof(f->why), fmt, ap);
	va_end(ap);
}

ck_err
ck_err_from_errno(int sys)
{
	switch (sys) {
	case ENOENT:
		return CK_NOSTORE;
	case EACCES:
	case EPERM:
		return CK_DENIED;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return CK_NOSPACE;
	case EROFS:
		return CK_READONLY;
	case ENOMEM:
		return CK_NOMEM;
	case ELOOP:
	case ENOTDIR:
	case ENAMETOOLONG:
		return CK_REFUSED;
	case EBUSY:
	case ETXTBSY:
	case EWOULDBLOCK:
		return CK_BUSY;
	default:
		return CK_IO;
	}
}

ck_err
ck_fail_sys(struct ck_fail *f, int sys, const char *place, const char *doing)
{
	ck_err code = ck_err_from_errno(sys);

	(void)ck_fail_set(f, code, place, "cannot %s: %s", doing,
	    strerror(sys));
	if (f != NULL)
		f->sys = sys;
	return code;
}

void
ck_fail_next(struct ck_fail *f, const char *fmt, ...)
{
	va_list ap;

	if (f == NULL)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(f->next, sizeof(f->next), fmt, ap);
	va_end(ap);
}
