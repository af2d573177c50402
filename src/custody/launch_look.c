/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of a launch, and what is done about them; see launch.h. */
#include "custody/launch.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "custody/dedicated.h"
#include "custody/rules.h"
#include "custody/seal.h"
#include "custody/settings.h"

/* HOME says which custody is asked, and whoever sets it for a launch would
 * take it to one that protects nothing. */
static ck_err
home_is_own(const struct ck_place *p, struct ck_fail *fail)
{
	const struct passwd *pw = getpwuid(geteuid());
	char own[CK_PATH_MAX], path[CK_PATH_MAX];
	struct stat st;
	ck_err r;

	if (pw == NULL || pw->pw_dir == NULL || pw->pw_dir[0] != '/')
		return CK_OK;
	if ((r = ck_path_canonical(pw->pw_dir, own, fail)) != CK_OK ||
	    strcmp(own, p->home) == 0 ||
	    (r = ck_path_join(own, ".clankie-keys/" CK_REC_FILE, path,
	    fail)) != CK_OK)
		return r;
	if (lstat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR))
		return CK_OK;
	(void)ck_fail_set(fail, CK_REFUSED, own,
	    "is this user's home and has a custody, but HOME is another "
	    "directory");
	ck_fail_next(fail, "set HOME to %s", own);
	return CK_REFUSED;
}

ck_err
ck_launch_switch(const struct ck_place *p, enum ck_worker_sandbox *ret,
    struct ck_fail *fail)
{
	enum ck_worker_sandbox said = CK_SANDBOX_ABSENT,
	    usual = CK_SANDBOX_ABSENT;
	char path[CK_PATH_MAX], real[CK_PATH_MAX];
	ck_err r;

	if ((r = ck_path_join(p->home, ".config/clankie/settings.json", path,
	    fail)) != CK_OK ||
	    (r = ck_path_canonical(path, real, fail)) != CK_OK ||
	    (r = ck_settings_worker_sandbox(p->settings, &said,
	    fail)) != CK_OK)
		return r;
	/* The place comes from the environment, which may turn nothing off. */
	if (strcmp(real, p->settings) != 0 && said != CK_SANDBOX_ON &&
	    (r = ck_settings_worker_sandbox(real, &usual, fail)) != CK_OK)
		return r;
	*ret = usual == CK_SANDBOX_ON ? usual : said;
	return CK_OK;
}

/* What the records say, inside the transaction. */
static ck_err
read_words(struct ck_launch *l, struct ck_fail *fail)
{
	char text[16];
	ck_err r;

	if ((r = ck_setting_read(&l->v, CK_SETTING_SANDBOX, text,
	    sizeof(text), fail)) != CK_OK ||
	    (r = ck_word_parse(text, &l->facts.word, fail)) != CK_OK ||
	    (r = ck_setting_read(&l->v, CK_SETTING_SEEN, text, sizeof(text),
	    fail)) != CK_OK)
		return r;
	l->facts.seen = strcmp(text, "on") == 0;
	if ((r = ck_setting_read(&l->v, CK_SETTING_UNDECIDED, text,
	    sizeof(text), fail)) != CK_OK)
		return r;
	l->wrap_undecided = strcmp(text, "wrap") == 0;
	if ((r = ck_setting_read(&l->v, CK_SETTING_STRICT, text,
	    sizeof(text), fail)) != CK_OK)
		return r;
	l->strict = strcmp(text, "on") == 0;
	return CK_OK;
}

/* Records and their seal; on success the transaction is open. */
static ck_err
look_at_records(struct ck_place *p, struct ck_launch *l,
    struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT;
	struct ck_anchor anchor;
	ck_err r;

	if ((r = ck_view_open(p, CK_REC_READ, &l->v, fail)) != CK_OK)
		return r;
	l->facts.custody = l->v.rec != NULL &&
	    (l->v.dedicated || ck_view_is_dedicated(&l->v));
	/* Without the keychain nothing tells whose word the records are. */
	if (!l->facts.custody)
		return CK_OK;
	if ((r = ck_dedicated_look_at(p, NULL, NULL, &key, &anchor,
	    fail)) == CK_OK &&
	    (r = ck_records_begin(l->v.rec, fail)) == CK_OK &&
	    (r = ck_seal_check(p, l->v.rec, &key, &anchor, fail)) == CK_OK)
		r = read_words(l, fail);
	ck_secret_wipe(&key);
	return r;
}

/* The same while nobody writes. */
static ck_err
look_again(struct ck_place *p, struct ck_launch *l, struct ck_fail *fail)
{
	int dirfd = -1, lock = -1;
	ck_err r;

	ck_launch_close(l);
	if ((r = ck_place_open_dir(p, &dirfd, fail)) == CK_OK &&
	    (r = ck_place_lock(p, dirfd, &lock, fail)) == CK_OK)
		r = look_at_records(p, l, fail);
	ck_io_close(&lock);
	ck_io_close(&dirfd);
	return r;
}

/* What a writer at work, or one that was killed, may be to blame for. */
static bool
may_pass(ck_err r)
{
	return r == CK_DAMAGED || r == CK_READONLY || r == CK_CHANGED ||
	    r == CK_NOSTORE;
}

ck_err
ck_launch_look(struct ck_place *p, struct ck_launch *ret,
    struct ck_fail *fail)
{
	struct ck_launch l = CK_LAUNCH_INIT;
	ck_err r;

	if ((r = home_is_own(p, fail)) != CK_OK ||
	    (r = ck_inside(p, &l.facts.inside, fail)) != CK_OK)
		return r;
	l.facts.possible = ck_inside_possible();
	if (l.facts.inside == CK_INSIDE_NOTHING) {
		l.facts.readable = ck_launch_switch(p, &l.facts.setting,
		    &l.setting_fail) == CK_OK;
		if (may_pass(r = look_at_records(p, &l, fail)))
			r = look_again(p, &l, fail);
	}
	if (r == CK_LOCKED && p->broker_kind == CK_KIND_LOGIN_KEYCHAIN)
		ck_fail_next(fail, "unlock it for the launch: clankie-keys "
		    "worker exec --login-password-fd N -- COMMAND");
	if (r != CK_OK) {
		ck_launch_close(&l);
		return r;
	}
	*ret = l;
	return CK_OK;
}

void
ck_launch_close(struct ck_launch *l)
{
	/* Rolls its transaction back. */
	ck_view_close(&l->v);
}

ck_err
ck_launch_settle(const struct ck_place *p, const struct ck_launch *l,
    enum ck_launch_how *ret, struct ck_fail *fail)
{
	enum ck_launch_how how = CK_LAUNCH_OFF;
	ck_err r;

	if ((r = ck_launch_decide(&l->facts, p, &how, fail)) != CK_OK) {
		/* The file's own reason says more. */
		if (r == CK_REFUSED && fail != NULL)
			*fail = l->setting_fail;
		return r == CK_REFUSED ? l->setting_fail.code : r;
	}
	if (how == CK_LAUNCH_CONFINED &&
	    (r = ck_rules_ready(p, l->v.dirfd, l->v.rec, fail)) != CK_OK)
		return r;
	*ret = how;
	return CK_OK;
}

bool
ck_launch_is_news(const struct ck_launch *l)
{
	return l->facts.custody && l->facts.readable &&
	    l->facts.setting == CK_SANDBOX_ON && !l->facts.seen;
}

static ck_err
put(struct ck_place *p, const struct ck_setting *set, size_t n,
    struct ck_fail *fail)
{
	struct ck_view v = CK_VIEW_INIT;
	ck_err r;

	if ((r = ck_view_open(p, CK_REC_WRITE, &v, fail)) == CK_OK)
		r = ck_settings_put(p, &v, set, n, fail);
	ck_view_close(&v);
	return r;
}

ck_err
ck_launch_remember(struct ck_place *p, struct ck_fail *fail)
{
	const struct ck_setting set = { CK_SETTING_SEEN, "on" };

	return put(p, &set, 1, fail);
}

static const char *
word_text(enum ck_word word)
{
	return word == CK_WORD_ON ? "on" : word == CK_WORD_OFF ? "off" :
	    "follow";
}

ck_err
ck_launch_say(struct ck_place *p, const struct ck_launch_said *said,
    struct ck_fail *fail)
{
	enum ck_worker_sandbox now = CK_SANDBOX_ABSENT;
	struct ck_setting set[4];
	size_t n = 0;
	ck_err r;

	if (said->word != NULL)
		set[n++] = (struct ck_setting){ CK_SETTING_SANDBOX,
			word_text(*said->word) };
	if (said->word != NULL && *said->word == CK_WORD_FOLLOW) {
		/* The next launch sees it again, if it is on. */
		if ((r = ck_launch_switch(p, &now, fail)) != CK_OK)
			return r;
		set[n++] = (struct ck_setting){ CK_SETTING_SEEN, "" };
	}
	if (said->wrap_undecided != NULL)
		set[n++] = (struct ck_setting){ CK_SETTING_UNDECIDED,
			*said->wrap_undecided ? "wrap" : "refuse" };
	if (said->strict != NULL)
		set[n++] = (struct ck_setting){ CK_SETTING_STRICT,
			*said->strict ? "on" : "off" };
	return put(p, set, n, fail);
}
