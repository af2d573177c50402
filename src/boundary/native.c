/* SPDX-License-Identifier: Apache-2.0 */
/* See native.h. */
#include "boundary/native.h"

#include <stdarg.h>
#include <stdio.h>

const char *
ck_native_name(enum ck_native answer)
{
	switch (answer) {
	case CK_NATIVE_FULL:
		return "full";
	case CK_NATIVE_OWN:
		return "native";
	case CK_NATIVE_UNDECIDED:
		break;
	}
	return "undecided";
}

void
ck_native_set(struct ck_native_answer *ret, enum ck_native answer,
    const char *place, const char *fmt, ...)
{
	va_list ap;

	ret->answer = answer;
	(void)snprintf(ret->place, sizeof(ret->place), "%s",
	    place == NULL ? "" : place);
	va_start(ap, fmt);
	(void)vsnprintf(ret->why, sizeof(ret->why), fmt, ap);
	va_end(ap);
}

enum ck_wrap
ck_native_wrap(enum ck_system system, enum ck_native answer,
    int wrap_undecided)
{
	if (system == CK_SYSTEM_LINUX)
		return CK_WRAP;
	switch (answer) {
	case CK_NATIVE_FULL:
		return CK_WRAP;
	case CK_NATIVE_OWN:
		return CK_WRAP_NOT;
	case CK_NATIVE_UNDECIDED:
		break;
	}
	return wrap_undecided ? CK_WRAP : CK_WRAP_REFUSE;
}

const char *
ck_wrap_name(enum ck_wrap wrap)
{
	switch (wrap) {
	case CK_WRAP:
		return "wrap";
	case CK_WRAP_NOT:
		return "not wrapped";
	case CK_WRAP_REFUSE:
		break;
	}
	return "refuse";
}
