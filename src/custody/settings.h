/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's words about workers, kept as settings of the records. */
#ifndef CK_CUSTODY_SETTINGS_H
#define CK_CUSTODY_SETTINGS_H

#include <stddef.h>

#include "base/err.h"
#include "custody/place.h"
#include "custody/view.h"

/* A second marker, NAME=VALUE. */
#define CK_SETTING_MARKER "worker.marker"
/* "keep" or "blank"; and the names that are kept even then, with commas
 * between. */
#define CK_SETTING_KEYS "worker.provider-keys"
#define CK_SETTING_KEYS_KEPT "worker.provider-keys.kept"
/* The program that workers are started through, and the shell they get. */
#define CK_SETTING_ENTRY "worker.entry"
#define CK_SETTING_SHELL "worker.shell"
/* "yes": that program, and this one beside it, are copies of ours. */
#define CK_SETTING_COPIED "worker.entry.copied"

/* What is recorded; "" when nothing is, or there are no records. */
CK_MUST_USE ck_err ck_setting_read(const struct ck_view *v, const char *name,
    char *ret, size_t n, struct ck_fail *fail);

struct ck_setting {
	const char *name;
	const char *value;           /* "": nothing */
};

/*
 * Record them all, with an event, in one sealed transaction.  Settings that
 * are recorded already change nothing.  v is open for writing.  CK_NOSTORE:
 * no custody; CK_BUSY: an operation is under way; CK_DAMAGED: the records do
 * not fit their seal; errors of the keychain, which holds the seal key.
 */
CK_MUST_USE ck_err ck_settings_put(struct ck_place *p, struct ck_view *v,
    const struct ck_setting *set, size_t n, struct ck_fail *fail);

/* The same under the custody lock, which v was read anew with; row, when it is
 * not among the protected paths, becomes one (NULL: none). */
CK_MUST_USE ck_err ck_settings_put_locked(struct ck_place *p,
    struct ck_view *v, const struct ck_setting *set, size_t n,
    const struct ck_rec_protected *row, struct ck_fail *fail);

#endif
