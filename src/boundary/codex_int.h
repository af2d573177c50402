/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that read what Codex is told. */
#ifndef CK_BOUNDARY_CODEX_INT_H
#define CK_BOUNDARY_CODEX_INT_H

#include "boundary/codex.h"

/* What is looked for by name; NULL: by none. */
struct codex_wanted {
	bool requirements;           /* it is requirements.toml */
	const char *profile, *permissions;
	const char *const *trust;    /* the closest directory first */
	size_t trusts;
};

/* [permissions.NAME] */
enum codex_table {
	CODEX_TABLE_NONE,
	CODEX_TABLE_EMPTY,
	CODEX_TABLE_SOME,            /* grants less than writing to the root */
	CODEX_TABLE_FULL,
	CODEX_TABLE_ODD              /* of a form that we do not know */
};

struct codex_file {
	bool broken;                 /* unreadable, or no TOML */
	char mode[CK_CODEX_VALUE];
	char permissions[CK_CODEX_VALUE];
	char profile[CK_CODEX_VALUE];
	bool has_profile;            /* [profiles.NAME] of the wanted one */
	char profile_mode[CK_CODEX_VALUE];
	char profile_permissions[CK_CODEX_VALUE];
	enum codex_table table;
	size_t trust_rank;           /* 0: none of the directories is in it */
	bool trusted;
	bool lists_modes, allows_full, lists_profiles;
};

void codex_file_read(const struct ck_codex_layer *layer,
    const struct codex_wanted *want, struct codex_file *ret);

#endif
