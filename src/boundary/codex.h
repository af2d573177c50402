/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is Codex launched with full access?  From its arguments and the texts of its
 * configuration files, and from nothing else: whoever asks has read them.
 */
#ifndef CK_BOUNDARY_CODEX_H
#define CK_BOUNDARY_CODEX_H

#include <stdbool.h>
#include <stddef.h>

#include "boundary/native.h"

/* In the order of their rank, the highest first; the command line comes
 * behind the first. */
enum ck_codex_kind {
	CK_CODEX_MANAGED,            /* managed_config.toml */
	CK_CODEX_PROJECT,            /* .codex/config.toml, the closest first */
	CK_CODEX_PROFILE,            /* NAME.config.toml of --profile NAME */
	CK_CODEX_USER,               /* config.toml of $CODEX_HOME */
	CK_CODEX_SYSTEM,             /* /etc/codex/config.toml */
	CK_CODEX_REQUIREMENTS        /* of no rank: what may be asked for */
};

/* A file that exists. */
struct ck_codex_layer {
	enum ck_codex_kind kind;
	const char *path;            /* for people */
	const char *text;            /* NULL: it cannot be read */
	size_t n;
};

enum { CK_CODEX_LAYERS = 40 };

struct ck_codex_world {
	int argc;
	char **argv;                 /* behind the name of the program */
	const struct ck_codex_layer *layer;   /* by rank; at most as above */
	size_t n;
	/* Directories whose trust covers the project's files. */
	const char *const *trust;
	size_t trusts;
	bool preferences;            /* managed preferences of macOS exist */
};

/* The table of integration.md 9.4: the first row that matches decides, what
 * cannot be read at or above it undoes it.  Always an answer: out of memory is
 * undecided, too. */
void ck_codex_decide(const struct ck_codex_world *w,
    struct ck_native_answer *ret);

/* --- what the command line says (codex_words.c) --- */

enum { CK_CODEX_VALUE = 128 };

/* The flags of one place. */
struct ck_codex_flags {
	bool bypass;
	bool native;                 /* --full-auto and the like */
	char sandbox[CK_CODEX_VALUE];/* of --sandbox, or "" */
	const char *sandbox_word;    /* as it was written */
};

struct ck_codex_words {
	const char *subcommand;      /* NULL: none */
	const char *unknown;         /* an option that we do not know, or NULL */
	struct ck_codex_flags flags; /* those that count */
	char mode[CK_CODEX_VALUE];   /* last -c sandbox_mode=, or "" */
	char permissions[CK_CODEX_VALUE];   /* last -c default_permissions= */
	bool late;                   /* one of these two where it may not count */
	bool odd;                    /* -c changes profiles, trust, tables */
	const char *profile;         /* --profile, or NULL */
	const char *directory;       /* --cd, or NULL */
};

void ck_codex_words(int argc, char **argv, struct ck_codex_words *ret);

#endif
