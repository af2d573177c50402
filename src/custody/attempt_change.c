/* SPDX-License-Identifier: Apache-2.0 */
/* Changing, replacing, moving or planting what is protected; see attempt.h. */
#include "custody/attempt_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static int
append(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC), why = 0;

	if (fd < 0)
		return errno;
	if (write(fd, "x", 1) != 1)
		why = errno;
	(void)close(fd);
	return why;
}

static int
replace(const struct ck_scene *s, const char *path)
{
	int why = ck_try_make(s->x);

	return why != 0 ? why : rename(s->x, path) != 0 ? errno : 0;
}

static int
swap(const struct ck_scene *s, const char *path)
{
	int why = ck_try_make(s->x);

	return why != 0 ? why : ck_try_exchange(s->x, path);
}

static int
plant(const char *dir, const char *name)
{
	char path[2 * CK_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return ck_try_make(path);
}

/* One function for each of the files: a worker is to change none. */
#define ON_FILE(name, field)                                                 \
	static int append_##name(const struct ck_scene *s)                   \
	{                                                                    \
		return append(s->field);                                     \
	}                                                                    \
	static int truncate_##name(const struct ck_scene *s)                 \
	{                                                                    \
		return truncate(s->field, 0) != 0 ? errno : 0;               \
	}                                                                    \
	static int remove_##name(const struct ck_scene *s)                   \
	{                                                                    \
		return unlink(s->field) != 0 ? errno : 0;                    \
	}                                                                    \
	static int away_##name(const struct ck_scene *s)                     \
	{                                                                    \
		return rename(s->field, s->x) != 0 ? errno : 0;              \
	}                                                                    \
	static int replace_##name(const struct ck_scene *s)                  \
	{                                                                    \
		return replace(s, s->field);                                 \
	}                                                                    \
	static int swap_##name(const struct ck_scene *s)                     \
	{                                                                    \
		return swap(s, s->field);                                    \
	}                                                                    \
	static int link_##name(const struct ck_scene *s)                     \
	{                                                                    \
		return link(s->field, s->x) != 0 ? errno : 0;                \
	}

ON_FILE(keychain, keychain)
ON_FILE(records, records)
ON_FILE(broker, broker)
ON_FILE(settings, settings)
ON_FILE(unlock, unlock)
ON_FILE(env, env)
ON_FILE(plan, plan)

static int
new_in_vault(const struct ck_scene *s)
{
	return plant(s->vault, "new");
}

static int
journal_beside(const struct ck_scene *s)
{
	return plant(s->custody, "custody.db-journal");
}

static int
broker_temporary(const struct ck_scene *s)
{
	return plant(s->clankie, "credentials.json.tmp-00000000");
}

static int
broker_lock(const struct ck_scene *s)
{
	char path[2 * CK_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s.lock", s->broker);
	return mkdir(path, 0700) != 0 ? errno : 0;
}

static int
open_up_vault(const struct ck_scene *s)
{
	return chmod(s->vault, 0777) != 0 ? errno : 0;
}

static int
open_up_keychain(const struct ck_scene *s)
{
	return chmod(s->keychain, 0666) != 0 ? errno : 0;
}

static int
times_of_keychain(const struct ck_scene *s)
{
	const struct timeval then[2] = { { 1, 0 }, { 1, 0 } };

	return utimes(s->keychain, then) != 0 ? errno : 0;
}

static int
swap_vault(const struct ck_scene *s)
{
	return mkdir(s->x, 0700) != 0 ? errno :
	    ck_try_exchange(s->x, s->vault);
}

static int
move_vault(const struct ck_scene *s)
{
	return rename(s->vault, s->x) != 0 ? errno : 0;
}

static int
move_custody(const struct ck_scene *s)
{
	return rename(s->custody, s->x) != 0 ? errno : 0;
}

static int
move_clankie(const struct ck_scene *s)
{
	return rename(s->clankie, s->x) != 0 ? errno : 0;
}

static int
move_config(const struct ck_scene *s)
{
	char path[2 * CK_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/.config", s->home);
	return rename(path, s->x) != 0 ? errno : 0;
}

static int
move_checkout(const struct ck_scene *s)
{
	return rename(s->app, s->x) != 0 ? errno : 0;
}

static int
move_above_checkout(const struct ck_scene *s)
{
	char path[2 * CK_PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/src", s->home);
	return rename(path, s->x) != 0 ? errno : 0;
}

#define CHANGE(id, text, run) { id, text, 0, run, NULL, NULL }
#define SEVEN(name, what)                                                    \
	CHANGE("append-" #name, "append to " what, append_##name),           \
	CHANGE("truncate-" #name, "truncate " what, truncate_##name),        \
	CHANGE("remove-" #name, "remove " what, remove_##name),              \
	CHANGE("away-" #name, "move " what " away", away_##name),            \
	CHANGE("replace-" #name, "another file over " what, replace_##name), \
	CHANGE("swap-" #name, "another file in exchange for " what,          \
	    swap_##name),                                                    \
	CHANGE("link-" #name, "a second name for " what, link_##name)

const struct ck_attempt ck_attempts_change[] = {
	SEVEN(keychain, "the keychain"),
	SEVEN(records, "the records"),
	SEVEN(broker, "the broker's file"),
	SEVEN(settings, "settings.json"),
	SEVEN(unlock, "the unlock password"),
	SEVEN(env, "a checkout's .env.local"),
	SEVEN(plan, "the compiled rules"),
	CHANGE("new-in-vault", "a new file beside the keychain",
	    new_in_vault),
	CHANGE("journal-beside", "a journal beside the records",
	    journal_beside),
	CHANGE("broker-temporary", "a temporary file of the broker",
	    broker_temporary),
	CHANGE("broker-lock", "the lock of the broker", broker_lock),
	CHANGE("mode-vault", "the mode of the keychain's directory",
	    open_up_vault),
	CHANGE("mode-keychain", "the mode of the keychain",
	    open_up_keychain),
	CHANGE("times-keychain", "the times of the keychain",
	    times_of_keychain),
	CHANGE("swap-vault", "another directory in exchange for the "
	    "keychain's", swap_vault),
	CHANGE("move-vault", "move the keychain's directory away",
	    move_vault),
	CHANGE("move-custody", "move the custody directory away",
	    move_custody),
	CHANGE("move-clankie", "move the broker's directory away",
	    move_clankie),
	CHANGE("move-config", "move the directory above that away",
	    move_config),
	CHANGE("move-checkout", "move the checkout away", move_checkout),
	CHANGE("move-above-checkout", "move the directory above it away",
	    move_above_checkout),
	{ NULL, NULL, 0, NULL, NULL, NULL }
};
