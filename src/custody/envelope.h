/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch envelope of a service (ADR 0257): preparing, examining and
 * removing it.  Its files lie in a control directory that no grant covers;
 * boundary/envelope.h says what they grant.
 */
#ifndef CK_CUSTODY_ENVELOPE_H
#define CK_CUSTODY_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "boundary/envelope.h"
#include "custody/place.h"

/* Longest path of a socket below the private home, NUL not counted. */
#define CK_ENVELOPE_SOCKET_MAX 103
/* What such a path has behind the home: the name is of eight hex digits. */
#define CK_ENVELOPE_SOCKET "/h/12345678/herdr/herdr-client.sock"

/*
 * The record as text, byte for byte the same for the same envelope, NUL behind
 * it not counted; and back.  The members are exactly those of integration.md
 * 6.1; "network": false stands only where the network is not granted, so that
 * a reader which knows no such member refuses instead of granting it.
 * CK_DAMAGED: another member, a missing one, or a value that is not as it must
 * be; ret->control is left alone.
 */
CK_MUST_USE ck_err ck_envelope_write(const struct ck_envelope *e,
    struct ck_buf *out, struct ck_fail *fail);
CK_MUST_USE ck_err ck_envelope_parse(struct ck_span text, const char *shown,
    struct ck_envelope *ret, struct ck_fail *fail);

/*
 * Read the record of p's control directory.  CK_ABSENT: there is no such
 * directory, and the ordinary launch is what is meant.  CK_DAMAGED: it is half
 * written, or not what prepare wrote; CK_REFUSED: owner, mode or links; CK_IO
 * and others.  Only CK_ABSENT means "no envelope".
 */
CK_MUST_USE ck_err ck_envelope_load(const struct ck_place *p,
    struct ck_envelope *ret, struct ck_fail *fail);

/*
 * Everything that must hold before and at each launch (integration.md 6.2):
 * directories that are there, reached without a symbolic link, none inside
 * another, none with the home, custody, broker or settings in it; no file of
 * the runtime with a second hard link; sockets that fit.  CK_REFUSED names the
 * path and says which.
 */
CK_MUST_USE ck_err ck_envelope_check(const struct ck_place *p,
    const struct ck_envelope *e, struct ck_fail *fail);

/* The control files belong to this record: the profile is byte for byte what
 * it gives, the probe is there, one file of one name, and can be read.
 * CK_NOENFORCE. */
CK_MUST_USE ck_err ck_envelope_intact(const struct ck_envelope *e,
    struct ck_fail *fail);

struct ck_envelope_report {
	bool home_made;          /* the private home did not exist */
	bool settings;           /* there were settings to copy */
};

/*
 * Prepare: private home with a copy of the settings, then the control
 * directory, which gets its name complete.  e->id and e->control are set here.
 * Nothing is started, no store and no original is touched.  CK_REFUSED: of
 * ck_envelope_check(); an envelope is there already; the settings hold what
 * looks like a secret.  CK_NESTED: inside a boundary.
 */
CK_MUST_USE ck_err ck_envelope_prepare(const struct ck_place *p,
    struct ck_envelope *e, struct ck_envelope_report *ret,
    struct ck_fail *fail);

/* Remove the control directory, also a half-written one; the private home
 * stays.  CK_ABSENT: there is none.  CK_NESTED: inside a boundary.
 * CK_REFUSED: something else lies in it. */
CK_MUST_USE ck_err ck_envelope_remove(const struct ck_place *p,
    struct ck_fail *fail);

/* What a killed prepare or remove left beside the control directory. */
CK_MUST_USE ck_err ck_envelope_leftovers(const struct ck_place *p,
    bool remove, size_t *ret, struct ck_fail *fail);

/* The private settings: p's, without what could raise the level or reach
 * another fleet.  CK_REFUSED names a member that looks like a secret. */
CK_MUST_USE ck_err ck_envelope_settings(struct ck_span text,
    const char *shown, const struct ck_envelope *e, struct ck_buf *out,
    struct ck_fail *fail);

/* The directory settings of the home; see ck_envelope_prepare(). */
CK_MUST_USE ck_err ck_envelope_make_home(const struct ck_place *p,
    const struct ck_envelope *e, struct ck_envelope_report *ret,
    struct ck_fail *fail);

/* Identities of the grants, for the entry inside to compare. */
CK_MUST_USE ck_err ck_envelope_identify(const struct ck_envelope *e,
    struct ck_envelope_box *box, struct ck_fail *fail);

/*
 * Append the words, a NUL behind each, that a command follows to be started in
 * the envelope; the first is the program, by its full path, and belongs to
 * root.  entry is clankie-envelope-entry (Linux), directory where the command
 * begins.  Errors of ck_envelope_identify(); CK_NOENFORCE: that program is not
 * there, or is not what it should be.
 */
CK_MUST_USE ck_err ck_envelope_command(const struct ck_envelope *e,
    const char *entry, const char *directory, struct ck_buf *out,
    struct ck_fail *fail);
/* The system's shell, as the environment inside names it. */
extern const char ck_envelope_shell[];
/* Is there an entry of ours to be found? */
extern const bool ck_envelope_has_entry;

/* A new directory for sockets below the private home, which nobody had
 * before; ret is its path. */
CK_MUST_USE ck_err ck_envelope_namespace(const struct ck_envelope *e,
    char ret[CK_PATH_MAX], struct ck_fail *fail);

/* Note what a launch was given: names, no values; NULL behind the last. */
CK_MUST_USE ck_err ck_envelope_note(const struct ck_envelope *e,
    const char *const *provisioned, struct ck_fail *fail);

/*
 * From inside: is this process in the envelope whose control directory p
 * names?  The variable that names it proves nothing; a probe with an owner's
 * mode that its owner cannot open does (integration.md 6.5).  CK_OK; otherwise
 * CK_NOENFORCE says what the probe showed.
 */
CK_MUST_USE ck_err ck_envelope_prove(const struct ck_place *p,
    struct ck_fail *fail);

#endif
