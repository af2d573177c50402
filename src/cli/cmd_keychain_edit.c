/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys keychain: the changing half. */
#include "cli.h"

#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/io.h"
#include "custody/preflight.h"
#include "keychain/blob.h"
#include "keychain/keychain.h"

#define UNSET 0xffffffffU

struct editing {
	char path[CK_PATH_MAX];
	const char *service, *account, *label, *comment, *kind;
	const char *blob_version, *lock_on_sleep;
	struct opt_list trusted;
	bool no_access;
	unsigned int lock_after;
	int password_fd, secret_fd, new_password_fd;
};

enum { CREATE = 1, ADD = 2, UPDATE = 4, DELETE = 8, PASSWD = 16 };

/* Each secret comes through a descriptor of its own: the first to be read
 * would leave nothing for the second. */
static ck_err
check_fds(struct cli *cli, const struct editing *e)
{
	const int fd[] = { e->password_fd, e->secret_fd, e->new_password_fd };

	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < i; j++)
			if (fd[i] >= 0 && fd[i] == fd[j])
				return ck_fail_set(&cli->fail, CK_USAGE, NULL,
				    "descriptor %d is given twice", fd[i]);
	return CK_OK;
}

/* A login or System keychain is changed by macOS, or moved out of by migrate,
 * never from here; whatever way its name is written. */
static ck_err
not_the_systems(struct cli *cli, const char *path)
{
	static const char *const dirs[] = {
		"/Library/Keychains/", "/System/Library/Keychains/",
	};
	char real[CK_PATH_MAX];
	bool ours = true;
	ck_err r;

	if ((r = ck_path_canonical(path, real, &cli->fail)) != CK_OK)
		return r;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (strncasecmp(real, dirs[i], strlen(dirs[i])) == 0)
			ours = false;
	if (ours && !ck_path_contains_nocase(path, "login.keychain") &&
	    !ck_path_contains_nocase(real, "login.keychain"))
		return CK_OK;
	(void)ck_fail_set(&cli->fail, CK_REFUSED, path,
	    "is a login or System keychain, which is never changed here");
	ck_fail_next(&cli->fail, "use Keychain Access or security(1)");
	return CK_REFUSED;
}

/* The custody's own file is changed by migrate alone: an item that goes there
 * is the only copy of a credential. */
static ck_err
not_the_custody(struct cli *cli, const char *path)
{
	struct ck_place place;
	char real[CK_PATH_MAX];
	ck_err r;

	/* Without a home there is no custody that could be meant. */
	if (ck_place_resolve(&cli->say, &place, NULL) != CK_OK)
		return CK_OK;
	if ((r = ck_path_canonical(path, real, &cli->fail)) != CK_OK)
		return r;
	if (!ck_path_under(real, place.dir))
		return CK_OK;
	return ck_fail_set(&cli->fail, CK_REFUSED, path,
	    "belongs to the custody, whose keychain holds the only copy of a "
	    "credential; it is not changed from here");
}

static ck_err
parse(struct cli *cli, unsigned int sub, int argc, char **argv,
    struct editing *ret)
{
	const struct opt_of all[] = {
		{ { "--service", OPT_TEXT, &ret->service },
		    ADD | UPDATE | DELETE },
		{ { "--account", OPT_TEXT, &ret->account },
		    ADD | UPDATE | DELETE },
		{ { "--label", OPT_TEXT, &ret->label }, ADD | UPDATE },
		{ { "--comment", OPT_TEXT, &ret->comment }, ADD | UPDATE },
		{ { "--kind", OPT_TEXT, &ret->kind }, ADD | UPDATE },
		{ { "--trust", OPT_LIST, &ret->trusted }, ADD },
		{ { "--always-ask", OPT_FLAG, &ret->no_access }, ADD },
		{ { "--blob-version", OPT_TEXT, &ret->blob_version }, CREATE },
		{ { "--lock-after", OPT_NUMBER, &ret->lock_after },
		    CREATE | UPDATE },
		{ { "--lock-on-sleep", OPT_TEXT, &ret->lock_on_sleep },
		    CREATE | UPDATE },
		{ { "--password-fd", OPT_FD, &ret->password_fd },
		    CREATE | ADD | UPDATE | DELETE | PASSWD },
		{ { "--secret-fd", OPT_FD, &ret->secret_fd }, ADD | UPDATE },
		{ { "--new-password-fd", OPT_FD, &ret->new_password_fd },
		    PASSWD },
	};
	struct opt opts[sizeof(all) / sizeof(all[0])];
	const char *words[1];
	size_t n = 0, nopts;
	ck_err r;

	memset(ret, 0, sizeof(*ret));
	ret->lock_after = UNSET;
	ret->password_fd = ret->secret_fd = ret->new_password_fd = -1;
	nopts = cli_options_of(all, sizeof(all) / sizeof(all[0]), sub, opts);
	r = cli_options(cli, argc, argv, opts, nopts, words, 1, &n);
	if (r != CK_OK)
		return r;
	if (n != 1)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "the keychain file is missing");
	if (ret->lock_on_sleep != NULL &&
	    strcmp(ret->lock_on_sleep, "yes") != 0 &&
	    strcmp(ret->lock_on_sleep, "no") != 0)
		return ck_fail_set(&cli->fail, CK_USAGE, "--lock-on-sleep",
		    "wants yes or no");
	if ((r = check_fds(cli, ret)) != CK_OK ||
	    (r = ck_preflight_worker(cli->say.worker_marked,
	    "change a keychain", &cli->fail)) != CK_OK ||
	    (r = cli_absolute(cli, words[0], ret->path)) != CK_OK ||
	    (r = not_the_systems(cli, ret->path)) != CK_OK)
		return r;
	return not_the_custody(cli, ret->path);
}

static ck_err
need(struct cli *cli, bool there, const char *what)
{
	if (there)
		return CK_OK;
	(void)ck_fail_set(&cli->fail, CK_USAGE, NULL, "%s is needed", what);
	return CK_USAGE;
}

static ck_err
need_names(struct cli *cli, const struct editing *e)
{
	ck_err r;

	if ((r = need(cli, e->service != NULL, "--service")) != CK_OK)
		return r;
	return need(cli, e->account != NULL, "--account");
}

static ck_err
done(struct cli *cli, const struct editing *e, const char *what)
{
	struct ck_buf out = CK_BUF_INIT;
	ck_err r;

	if (!cli->json)
		return CK_OK;
	js_open(&out, '{');
	js_bool(&out, "ok", true);
	js_text(&out, "path", e->path);
	js_text(&out, "done", what);
	js_shut(&out, '}');
	ck_buf_text(&out, "\n");
	r = cli_put(cli, &out);
	ck_buf_free(&out);
	return r;
}

/* Lock, open, and unlock if there is a password. */
static ck_err
open_edit(struct cli *cli, const struct editing *e, bool need_password,
    struct kc **ret)
{
	struct ck_secret password = CK_SECRET_INIT;
	struct kc *kc = NULL;
	ck_err r;

	if (need_password && (r = need(cli, e->password_fd >= 0,
	    "--password-fd")) != CK_OK)
		return r;
	/* The password first: a lock is not held while somebody types. */
	if ((r = cli_password(cli, e->password_fd, &password)) != CK_OK)
		goto out;
	/* Not somebody else's: the rename would make it ours. */
	if ((r = kc_open_write(e->path, CK_IO_OWNER | CK_IO_ONELINK,
	    CK_WAIT_MS, &kc, &cli->fail)) != CK_OK)
		goto out;
	if (password.p != NULL)
		r = kc_unlock(kc, &password, &cli->fail);
out:
	ck_secret_wipe(&password);
	if (r == CK_OK)
		*ret = kc;
	else
		kc_close(&kc);
	return r;
}

static ck_err
do_create(struct cli *cli, const struct editing *e)
{
	struct kc_new_file how = { KC_BLOB_V100, 300, true, 0600 };
	struct ck_secret password = CK_SECRET_INIT;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = need(cli, e->password_fd >= 0, "--password-fd")) != CK_OK)
		return r;
	if (e->blob_version != NULL &&
	    strcasecmp(e->blob_version, "0x200") == 0)
		how.version = KC_BLOB_V200;
	else if (e->blob_version != NULL &&
	    strcasecmp(e->blob_version, "0x100") != 0)
		return ck_fail_set(&cli->fail, CK_USAGE, "--blob-version",
		    "wants 0x100 or 0x200");
	if (e->lock_after != UNSET)
		how.idle_timeout = e->lock_after;
	if (e->lock_on_sleep != NULL)
		how.lock_on_sleep = strcmp(e->lock_on_sleep, "yes") == 0;
	if ((r = cli_password(cli, e->password_fd, &password)) != CK_OK)
		return r;
	if ((r = kc_create(e->path, &how, &password, CK_WAIT_MS, &kc,
	    &cli->fail)) == CK_OK)
		r = kc_commit(kc, &cli->fail);
	kc_close(&kc);
	ck_secret_wipe(&password);
	return r == CK_OK ? done(cli, e, "created") : r;
}

static ck_err
do_add(struct cli *cli, const struct editing *e)
{
	struct kc_trusted trusted[OPT_LIST_MAX];
	struct ck_secret secret = CK_SECRET_INIT;
	struct kc_new_item item;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = need_names(cli, e)) != CK_OK ||
	    (r = need(cli, e->secret_fd >= 0, "--secret-fd")) != CK_OK)
		return r;
	if (e->trusted.n > 0 && e->no_access)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--trust and --always-ask exclude each other");
	memset(&item, 0, sizeof(item));
	memset(trusted, 0, sizeof(trusted));
	item.service = CK_SPAN_TEXT(e->service);
	item.account = CK_SPAN_TEXT(e->account);
	if (e->label != NULL)
		item.label = CK_SPAN_TEXT(e->label);
	if (e->comment != NULL)
		item.comment = CK_SPAN_TEXT(e->comment);
	if (e->kind != NULL)
		item.kind = CK_SPAN_TEXT(e->kind);
	item.access = e->trusted.n > 0 ? KC_ACCESS_TRUSTED :
	    e->no_access ? KC_ACCESS_NONE : KC_ACCESS_ANY;
	for (size_t i = 0; i < e->trusted.n; i++)
		trusted[i].path = e->trusted.word[i];
	item.trusted = trusted;
	item.ntrusted = e->trusted.n;
	item.now = ck_clock_wall();
	if ((r = ck_secret_read_fd(e->secret_fd, CK_SECRET_MAX, &secret,
	    &cli->fail)) != CK_OK ||
	    (r = open_edit(cli, e, true, &kc)) != CK_OK)
		goto out;
	if ((r = kc_add(kc, &item, &secret, &cli->fail)) == CK_OK)
		r = kc_commit(kc, &cli->fail);
out:
	kc_close(&kc);
	ck_secret_wipe(&secret);
	return r == CK_OK ? done(cli, e, "added") : r;
}

/* Settings of the file: update without an item's names. */
static ck_err
update_settings(struct cli *cli, const struct editing *e)
{
	struct kc_info info;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = open_edit(cli, e, true, &kc)) != CK_OK)
		return r;
	kc_info(kc, &info);
	if (e->lock_after != UNSET)
		info.idle_timeout = e->lock_after;
	if (e->lock_on_sleep != NULL)
		info.lock_on_sleep = strcmp(e->lock_on_sleep, "yes") == 0;
	if ((r = kc_set_settings(kc, info.idle_timeout, info.lock_on_sleep,
	    &cli->fail)) == CK_OK)
		r = kc_commit(kc, &cli->fail);
	kc_close(&kc);
	return r == CK_OK ? done(cli, e, "updated") : r;
}

/* The one change that was asked for. */
static ck_err
change_item(struct cli *cli, const struct editing *e, struct kc *kc,
    const struct ck_secret *secret)
{
	const struct {
		const char *text;
		uint32_t attr;
	} words[] = {
		{ e->label, KC_ATTR_LABEL }, { e->comment, KC_ATTR_COMMENT },
		{ e->kind, KC_ATTR_KIND },
	};
	struct kc_record rec;
	int64_t now = ck_clock_wall();
	ck_err r;

	r = kc_find(kc, CK_SPAN_TEXT(e->service), CK_SPAN_TEXT(e->account),
	    &rec, &cli->fail);
	if (r == CK_OK && secret->p != NULL)
		return kc_set_secret(kc, &rec, secret, now, &cli->fail);
	for (size_t i = 0; r == CK_OK && i < 3; i++)
		if (words[i].text != NULL)
			r = kc_set_attribute(kc, &rec, words[i].attr,
			    CK_SPAN_TEXT(words[i].text), now, &cli->fail);
	return r;
}

static ck_err
do_update(struct cli *cli, const struct editing *e)
{
	struct ck_secret secret = CK_SECRET_INIT;
	struct kc *kc = NULL;
	int changes = (e->secret_fd >= 0) + (e->label != NULL) +
	    (e->comment != NULL) + (e->kind != NULL);
	ck_err r;

	if (e->service == NULL && e->account == NULL && changes == 0 &&
	    (e->lock_after != UNSET || e->lock_on_sleep != NULL))
		return update_settings(cli, e);
	if ((r = need_names(cli, e)) != CK_OK)
		return r;
	if (e->lock_after != UNSET || e->lock_on_sleep != NULL)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "an item and the settings of the file are changed "
		    "separately");
	if (changes != 1)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "exactly one of --secret-fd, --label, --comment and "
		    "--kind is needed");
	if (e->secret_fd >= 0 && (r = ck_secret_read_fd(e->secret_fd,
	    CK_SECRET_MAX, &secret, &cli->fail)) != CK_OK)
		return r;
	if ((r = open_edit(cli, e, true, &kc)) == CK_OK &&
	    (r = change_item(cli, e, kc, &secret)) == CK_OK)
		r = kc_commit(kc, &cli->fail);
	kc_close(&kc);
	ck_secret_wipe(&secret);
	return r == CK_OK ? done(cli, e, "updated") : r;
}

static ck_err
do_delete(struct cli *cli, const struct editing *e)
{
	struct kc_record rec;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = need_names(cli, e)) != CK_OK ||
	    (r = open_edit(cli, e, false, &kc)) != CK_OK)
		return r;
	if ((r = kc_find(kc, CK_SPAN_TEXT(e->service),
	    CK_SPAN_TEXT(e->account), &rec, &cli->fail)) == CK_OK &&
	    (r = kc_delete(kc, &rec, &cli->fail)) == CK_OK)
		r = kc_commit(kc, &cli->fail);
	kc_close(&kc);
	return r == CK_OK ? done(cli, e, "deleted") : r;
}

static ck_err
do_passwd(struct cli *cli, const struct editing *e)
{
	struct ck_secret new = CK_SECRET_INIT;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = need(cli, e->new_password_fd >= 0,
	    "--new-password-fd")) != CK_OK)
		return r;
	if ((r = cli_password(cli, e->new_password_fd, &new)) != CK_OK)
		return r;
	if ((r = open_edit(cli, e, true, &kc)) == CK_OK &&
	    (r = kc_set_password(kc, &new, &cli->fail)) == CK_OK)
		r = kc_commit(kc, &cli->fail);
	kc_close(&kc);
	ck_secret_wipe(&new);
	return r == CK_OK ? done(cli, e, "password changed") : r;
}

static const struct {
	const char *name, *words;
	unsigned int sub;
	ck_err (*run)(struct cli *, const struct editing *);
} subs[] = {
	{ "create", "create FILE --password-fd N [--blob-version "
	    "0x100|0x200] [--lock-after SECONDS] [--lock-on-sleep "
	    "yes|no]", CREATE, do_create },
	{ "add", "add FILE --service S --account A --password-fd N "
	    "--secret-fd M [--label L] [--comment C] [--kind K] "
	    "[--trust PROGRAM]... [--always-ask]", ADD, do_add },
	{ "update", "update FILE --password-fd N --service S "
	    "--account A --secret-fd M|--label L|--comment C|--kind K "
	    "or update FILE --password-fd N [--lock-after SECONDS] "
	    "[--lock-on-sleep yes|no]", UPDATE, do_update },
	{ "delete", "delete FILE --service S --account A", DELETE,
	    do_delete },
	{ "passwd", "passwd FILE --password-fd N --new-password-fd M",
	    PASSWD, do_passwd },
};

const char *
keychain_edit_words(const char *sub)
{
	for (size_t i = 0; i < sizeof(subs) / sizeof(subs[0]); i++)
		if (strcmp(sub, subs[i].name) == 0)
			return subs[i].words;
	return NULL;
}

ck_err
cmd_keychain_edit(struct cli *cli, const char *sub, int argc, char **argv)
{
	struct editing e;
	ck_err r;

	for (size_t i = 0; i < sizeof(subs) / sizeof(subs[0]); i++) {
		if (strcmp(sub, subs[i].name) != 0)
			continue;
		r = parse(cli, subs[i].sub, argc, argv, &e);
		if (r == CK_OK)
			r = subs[i].run(cli, &e);
		return keychain_usage(cli, subs[i].words, r);
	}
	return ck_fail_set(&cli->fail, CK_USAGE, sub,
	    "is nothing that can be done with a keychain");
}
