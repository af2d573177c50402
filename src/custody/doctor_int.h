/* SPDX-License-Identifier: Apache-2.0 */
/* The remedy of one finding, between the table and what fills it in. */
#ifndef CK_CUSTODY_DOCTOR_INT_H
#define CK_CUSTODY_DOCTOR_INT_H

#include "custody/doctor.h"

/*
 * Both texts are templates; in them %P is the finding's place, %A a free name
 * to put it aside under, %M the root of its file system, %G a find(1) pattern
 * for it, %T where it leads as a symbolic link, %N the number in "process N";
 * %K keychain, %O its directory, %R records, %U unlock password, %u its
 * directory, %B broker, %L the other entries of the search list, %S settings, %s their directory; %v and %a service and
 * account; %c, %o and %w the credential, the options, and the options with a
 * password, that a command of ours needs here, if any; %V the rest of the
 * finding's own next step, a command of ours, word by word.
 */
struct ck_cure {
	const char *command;          /* NULL: there is none */
	const char *decide;           /* NULL: nothing to decide */
};

struct ck_case {
	const struct ck_place *p;     /* NULL: could not be resolved */
	const struct ck_finding *f;
	const struct ck_findings *all;   /* what else was found */
};

/* What applies to this case, and when it is its turn. */
int ck_doctor_cure(const struct ck_case *c, struct ck_cure *ret);

/* Where %A and %T lead; false: nowhere. */
bool ck_doctor_aside(const struct ck_case *c, char ret[CK_PATH_MAX]);
bool ck_doctor_target(const struct ck_case *c, char ret[CK_PATH_MAX]);

#endif
