/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where everything lies: the names of design section 4 resolved once from
 * what the command line and the environment say.  Nothing is created and
 * nothing but directories is looked at.
 */
#ifndef CK_CUSTODY_PLACE_H
#define CK_CUSTODY_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/path.h"
#include "base/secret.h"
#include "boundary/blank.h"
#include "records/records.h"
#include "store/bearer.h"

/* The operator's bearer, and our own items beside it. */
#define CK_OPERATOR_NAME "operator"
#define CK_OPERATOR_SERVICE "bot.clankie.credentials"
#define CK_OPERATOR_ACCOUNT "clankie_operator"
#define CK_INDEX_ACCOUNT "__index__"
#define CK_OWN_SERVICE "bot.clankie.custody"
#define CK_UNLOCK_ACCOUNT "operator-keychain"
#define CK_PENDING_ACCOUNT "operator-keychain-pending"
#define CK_SEAL_ACCOUNT "seal-key"

#define CK_OPERATOR_DIR "operator"
#define CK_KEYCHAIN_FILE "operator.keychain-db"
#define CK_RULES_FILE "worker.sb"
#define CK_MOUNTS_FILE "worker.mounts"
#define CK_PROOF_FILE "boundary-verified.json"
#define CK_MARKER_DEFAULT CK_MARKER

/* Lock settings of the dedicated file, in seconds. */
#define CK_DEDICATED_IDLE 60

/* Longest wait for a lock of any kind, in milliseconds. */
#define CK_WAIT_MS 5000

/* What was said from outside.  Every pointer may be NULL and is borrowed. */
struct ck_say {
	const char *home;               /* $HOME */
	const char *keys_home;          /* --home, else $CLANKIE_KEYS_HOME */
	const char *xdg_config;         /* $XDG_CONFIG_HOME */
	const char *xdg_state;          /* $XDG_STATE_HOME */
	const char *credentials_file;   /* $CLANKIE_CREDENTIALS_FILE */
	const char *settings_file;      /* $CLANKIE_SETTINGS_FILE */
	const char *clankie_state;      /* $CLANKIE_STATE */
	const char *local_sandbox;      /* $CLANKIE_LOCAL_SANDBOX */
	bool operator_override;         /* $CLANKIE_OPERATOR_TOKEN is set */
	bool worker_marked;             /* the worker marker is set */
	bool second_later;              /* ck_place_second() is asked later */
	const char *broker;             /* --broker keychain:P or file:P */
	const char *credential;         /* NULL: operator */
	const char *service;            /* --service */
	const char *account;            /* --account */
	const struct ck_secret *login_password;
};

struct ck_place {
	char home[CK_PATH_MAX];
	char dir[CK_PATH_MAX];          /* custody directory */
	char operator_dir[CK_PATH_MAX];
	char keychain[CK_PATH_MAX];     /* the dedicated file */
	char rules[CK_PATH_MAX];        /* of a macOS worker */
	char mounts[CK_PATH_MAX];       /* of a Linux worker */
	char records[CK_PATH_MAX];
	char config[CK_PATH_MAX];       /* XDG configuration directory */
	char state[CK_PATH_MAX];        /* XDG state directory */
	char clankie_state[CK_PATH_MAX];
	char settings[CK_PATH_MAX];
	char envelope[CK_PATH_MAX];     /* control files of an envelope */
	char unlock[CK_PATH_MAX];       /* unlock.json */
	char file_broker[CK_PATH_MAX];  /* the file broker, used or not */
	enum ck_rec_kind broker_kind;   /* LOGIN_KEYCHAIN or FILE_BROKER */
	char broker[CK_PATH_MAX];
	bool broker_said;               /* by --broker, not by default */
	bool names_said;                /* --service or --account */
	char credential[64];
	char service[256];
	char account[256];
	enum ck_format format;
	bool operator_override;
	bool worker_marked;
	const struct ck_secret *login_password;
};

/*
 * Resolve.  CK_REFUSED: no usable home, root acting for somebody else, a
 * custody directory that is a symbolic link, under Library/Keychains, named
 * like a login keychain or the home itself, a file broker directly in the
 * home, or a second custody at the default place.  CK_USAGE: --broker or the
 * credential's names are malformed.
 */
CK_MUST_USE ck_err ck_place_resolve(const struct ck_say *say,
    struct ck_place *ret, struct ck_fail *fail);

/* CK_REFUSED when another custody than p's lies at the default place: part of
 * ck_place_resolve() unless say put it off. */
CK_MUST_USE ck_err ck_place_second(const struct ck_place *p,
    struct ck_fail *fail);

/* CK_NESTED when the custody directory is a mask: this is inside a worker's
 * boundary, see custody/inside.h. */
CK_MUST_USE ck_err ck_place_outside(const struct ck_place *p,
    struct ck_fail *fail);

/*
 * Open the custody directory and judge it: ours, 0700, a real directory,
 * reached through directories nobody else can change.  CK_NOSTORE: it does
 * not exist.  CK_NESTED: see ck_place_outside().
 */
CK_MUST_USE ck_err ck_place_open_dir(const struct ck_place *p, int *ret_fd,
    struct ck_fail *fail);

/*
 * Take the custody's own lock, which lies on the directory itself so that no
 * file can be removed under it, waiting at most CK_WAIT_MS; dirfd is the opened
 * custody directory.  The descriptor holds it until it is closed.  CK_BUSY
 * names the process that keeps it, where the system tells.  CK_CHANGED: the
 * path leads to another directory meanwhile.
 */
CK_MUST_USE ck_err ck_place_lock(const struct ck_place *p, int dirfd,
    int *ret_fd, struct ck_fail *fail);

/* The dedicated file has its final name.  *ret tells; an error (CK_DENIED,
 * CK_REFUSED, CK_DAMAGED) means that it may well exist. */
CK_MUST_USE ck_err ck_place_dedicated(const struct ck_place *p, bool *ret,
    struct ck_fail *fail);

/*
 * p, as a command line for the credential of that row would have given it;
 * the broker stays p's.  CK_DAMAGED: a format that nobody knows.
 */
CK_MUST_USE ck_err ck_place_of_row(const struct ck_place *p,
    const struct ck_rec_credential *row, struct ck_place *ret,
    struct ck_fail *fail);

#endif
