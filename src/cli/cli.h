/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: the only part that prints, exits or reads the
 * environment.  stdout is data, stderr is talk.
 */
#ifndef CK_CLI_CLI_H
#define CK_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"
#include "custody/helpers.h"
#include "custody/place.h"

struct cli {
	const char *verb;            /* as shown in messages */
	bool json;
	bool quiet;
	bool verbose;
	bool help;
	bool answered;               /* what --json gives is out already */
	struct ck_say say;           /* what environment and options said */
	struct ck_fail fail;
};

struct verb {
	const char *name;
	const char *usage;           /* what follows the program's name */
	const char *help;            /* one line */
	/* Secure memory it may need, bytes.  0: it handles no secret and
	 * becomes another program, which inherits no limit or mode of ours. */
	size_t heap;
	/* argv[0] is the first word behind the verb.  Returns the outcome;
	 * the reason is in cli->fail. */
	ck_err (*run)(struct cli *cli, int argc, char **argv);
};

extern const struct verb cli_verbs[];
extern const size_t cli_verb_count;

ck_err cmd_migrate(struct cli *cli, int argc, char **argv);
ck_err cmd_get(struct cli *cli, int argc, char **argv);
ck_err cmd_rotate(struct cli *cli, int argc, char **argv);
ck_err cmd_restore(struct cli *cli, int argc, char **argv);
ck_err cmd_reset(struct cli *cli, int argc, char **argv);
ck_err cmd_authenticate(struct cli *cli, int argc, char **argv);
ck_err cmd_check(struct cli *cli, int argc, char **argv);
ck_err cmd_doctor(struct cli *cli, int argc, char **argv);
ck_err cmd_status(struct cli *cli, int argc, char **argv);
ck_err cmd_precedence(struct cli *cli, int argc, char **argv);
ck_err cmd_protect(struct cli *cli, int argc, char **argv);
ck_err cmd_rules(struct cli *cli, int argc, char **argv);
ck_err cmd_worker(struct cli *cli, int argc, char **argv);
ck_err cmd_envelope(struct cli *cli, int argc, char **argv);
ck_err cmd_boundary(struct cli *cli, int argc, char **argv);
ck_err cmd_keychain(struct cli *cli, int argc, char **argv);

/* Secure memory, bytes: for a password and the keys of a keychain, and for a
 * value besides. */
#define CLI_HEAP_KEYS ((size_t)512 << 10)
#define CLI_HEAP_VALUE ((size_t)4 << 20)
/* What must hold before any secret can exist, with this much secure memory;
 * main has done it unless the verb's heap is 0. */
CK_MUST_USE ck_err cli_prepare(struct cli *cli, size_t heap);

/* A wrong command line gets the words of keychain's sub-command as next
 * step, other failures stay as they are; gives r back. */
CK_MUST_USE ck_err keychain_usage(struct cli *cli, const char *words,
    ck_err r);

/* The words of one of keychain's sub-commands, or NULL. */
const char *keychain_words(const char *sub);
/* The same for those in cmd_keychain_edit.c alone. */
const char *keychain_edit_words(const char *sub);

/* The parts of cmd_doctor that change something once they are confirmed; the
 * command line has been read. */
CK_MUST_USE ck_err doctor_rebuild(struct cli *cli, bool confirm,
    bool accept_earlier);
CK_MUST_USE ck_err doctor_uninstall(struct cli *cli, bool confirm);

/* The parts of cmd_rules that answer without a profile: the rules one by one,
 * and the one that decides an operation (by name) on a path as typed. */
struct ck_place;
struct ck_rules_set;
CK_MUST_USE ck_err rules_json(struct cli *cli, const struct ck_place *place,
    const struct ck_rules_set *set);
CK_MUST_USE ck_err rules_explain(struct cli *cli,
    const struct ck_place *place, const struct ck_rules_set *set,
    const char *typed, const char *name);

/* The changing half of cmd_keychain; sub is the word behind "keychain". */
ck_err cmd_keychain_edit(struct cli *cli, const char *sub, int argc,
    char **argv);

/* --- options (opts.c) --- */

enum opt_kind {
	OPT_FLAG,                    /* bool */
	OPT_TEXT,                    /* const char * */
	OPT_FD,                      /* int, a descriptor that is open */
	OPT_NUMBER,                  /* unsigned int, decimal */
	OPT_LIST                     /* struct opt_list */
};

enum { OPT_LIST_MAX = 32 };
struct opt_list {
	const char *word[OPT_LIST_MAX];
	size_t n;
};

struct opt {
	const char *name;            /* with its dashes */
	enum opt_kind kind;
	void *to;
};

/* An option of some of a verb's sub-commands: those whose bit is in subs. */
struct opt_of {
	struct opt opt;
	unsigned int subs;
};
/* Those of all[n] that sub (one bit) has, into ret[n]; their number. */
size_t cli_options_of(const struct opt_of *all, size_t n, unsigned int sub,
    struct opt *ret);

/*
 * Read options (--name VALUE, --name=VALUE, -- ends them) and the options
 * every verb has; what is left are at most max words, written to words.
 * CK_USAGE names the word that is wrong.
 */
CK_MUST_USE ck_err cli_options(struct cli *cli, int argc, char **argv,
    const struct opt *opts, size_t nopts, const char **words, size_t max,
    size_t *ret_words);

/* The options every verb has, where they stand before the verb; *ret_verb is
 * the index behind them.  CK_USAGE. */
CK_MUST_USE ck_err cli_options_before(struct cli *cli, int argc, char **argv,
    int *ret_verb);

/* A password from a descriptor (-1: none, *ret stays): every byte but one
 * line end behind it.  CK_USAGE: not even that. */
CK_MUST_USE ck_err cli_password(struct cli *cli, int fd,
    struct ck_secret *ret);

/* An absolute path for what was typed.  CK_REFUSED when it does not fit. */
CK_MUST_USE ck_err cli_absolute(struct cli *cli, const char *typed,
    char ret[CK_PATH_MAX]);

/* Make the path of --broker absolute, if there is one.  Errors of
 * cli_absolute(). */
CK_MUST_USE ck_err cli_broker(struct cli *cli);

/* Where helpers outside of a boundary are looked for.  The pointers are place's
 * and the environment's. */
void cli_helpers_say(const struct ck_place *place,
    struct ck_helpers_say *ret);

/* status about workers: the owner's word, what their boundary changes and
 * leaves open, and which helpers outside of it they reach. */
struct ck_status;
void status_workers_text(const struct ck_place *place,
    const struct ck_status *s, struct ck_buf *b);
void status_workers_json(const struct ck_place *place,
    const struct ck_status *s, struct ck_buf *b);

/* Whether a launch envelope is prepared, in a word or two. */
#define STATUS_ENVELOPE_SIZE 32
void status_envelope(const struct ck_place *p,
    char ret[STATUS_ENVELOPE_SIZE]);

/* System, release and machine, as uname(1) names them. */
#define CK_KERNEL_SIZE 96
void cli_kernel(char ret[CK_KERNEL_SIZE]);

/* --- output (out.c) --- */

/* Write to stdout, every byte or an error. */
CK_MUST_USE ck_err cli_put(struct cli *cli, const struct ck_buf *text);
/* The same behind something that was done, which a failure says. */
CK_MUST_USE ck_err cli_put_done(struct cli *cli, const struct ck_buf *text);
/* One line to stderr, unless --quiet. */
void cli_say(const struct cli *cli, const char *fmt, ...) CK_PRINTF(2, 3);
/* The failure, for people on stderr and with --json on stdout too, unless the
 * verb has answered there. */
void cli_report(struct cli *cli, ck_err outcome);

/* JSON text in a buffer.  Names are plain ASCII of ours. */
void js_open(struct ck_buf *b, char bracket);          /* { or [ */
void js_shut(struct ck_buf *b, char bracket);          /* } or ] */
void js_name(struct ck_buf *b, const char *name);
void js_text(struct ck_buf *b, const char *name, const char *value);
void js_number(struct ck_buf *b, const char *name, long long value);
void js_bool(struct ck_buf *b, const char *name, bool value);
void js_null(struct ck_buf *b, const char *name);
/* Any bytes: "name" when they are UTF-8, else "name_hex". */
void js_bytes(struct ck_buf *b, const char *name, struct ck_span value);
/* Bytes that never are text: always "name_hex". */
void js_hex(struct ck_buf *b, const char *name, struct ck_span value);
/* A string inside an array; {"bytes_hex":...} when it is not UTF-8. */
void js_item(struct ck_buf *b, const char *value);

/* Bytes for people, on one line whatever they are: UTF-8 as it is, but
 * controls, invisible characters and marks that turn the writing direction as
 * \xHH, and a backslash as two. */
void cli_show_bytes(struct ck_buf *b, struct ck_span value);
/* A command line that does what it says when it is copied, also where a name
 * in it would not be shown as it is. */
void cli_show_command(struct ck_buf *b, struct ck_span text);

#endif
