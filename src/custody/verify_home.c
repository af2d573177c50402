/* SPDX-License-Identifier: Apache-2.0 */
/* The home of a trial; see verify_int.h. */
#include "custody/verify_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/secret.h"
#include "store/bearer.h"

static ck_err
make_dir(const char *home, const char *below, struct ck_fail *fail)
{
	char path[CK_PATH_MAX];
	ck_err r;

	if ((r = ck_path_format(path, fail, "%s/%s", home, below)) != CK_OK)
		return r;
	return mkdir(path, 0700) == 0 ? CK_OK :
	    ck_fail_sys(fail, errno, path, "make it");
}

/* head, the secret and tail. */
static ck_err
make_file(const char *path, const char *head, const struct ck_secret *secret,
    const char *tail, struct ck_fail *fail)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ck_err r;

	if (fd < 0)
		return ck_fail_sys(fail, errno, path, "make it");
	if ((r = ck_io_write_all(fd, head, strlen(head), path, fail)) ==
	    CK_OK && secret != NULL)
		r = ck_secret_write_fd(fd, secret, fail);
	if (r == CK_OK)
		r = ck_io_write_all(fd, tail, strlen(tail), path, fail);
	ck_io_close(&fd);
	return r;
}

/* A bearer that nobody uses, where migrate looks for one. */
static ck_err
fill(const struct ck_scene *s, struct ck_fail *fail)
{
	static const char *const dirs[] = { ".config", ".config/clankie",
		".config/herdr", "src", "src/app", "src/twin", "task" };
	struct ck_secret bearer = CK_SECRET_INIT, other = CK_SECRET_INIT;
	char path[CK_PATH_MAX];
	ck_err r = CK_OK;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]) && r == CK_OK;
	    i++)
		r = make_dir(s->home, dirs[i], fail);
	if (r != CK_OK || (r = ck_path_join(s->home, CK_SCENE_MARK, path,
	    fail)) != CK_OK ||
	    (r = make_file(path, "", NULL, "", fail)) != CK_OK ||
	    (r = make_file(s->settings, "{\"fleet\":{\"workerSandbox\":"
	    "true}}\n", NULL, "", fail)) != CK_OK)
		return r;
	if (ck_bearer_mint(&bearer) != CK_OK ||
	    ck_secret_random(16, &other) != CK_OK) {
		r = ck_fail_set(fail, CK_NOMEM, NULL,
		    "no bearer can be made for the trial");
		goto out;
	}
	if ((r = make_file(s->broker, "{\"clankie_operator\":", &bearer, "}\n",
	    fail)) == CK_OK &&
	    (r = make_file(s->env, "KEY=", &other, "\n", fail)) == CK_OK &&
	    (r = ck_path_format(path, fail, "%s/src/twin/.env.local",
	    s->home)) == CK_OK)
		r = make_file(path, "", NULL, "", fail);
out:
	ck_secret_wipe(&bearer);
	ck_secret_wipe(&other);
	return r;
}

static ck_err
make_home(struct ck_trial *t, struct ck_fail *fail)
{
	const char *const migrate[] = { "migrate", "--checkout", t->real.app,
		NULL };
	/* The first launch writes down that the switch was seen on. */
	const char *const launch[] = { "worker", "exec", "--", "/bin/sh", "-c",
		":", NULL };
	ck_err r;

	if (mkdir(t->real.home, 0700) != 0)
		return ck_fail_sys(fail, errno, t->real.home, "make it");
	if ((r = fill(&t->real, fail)) != CK_OK ||
	    (r = ck_trial_command(t, migrate, fail)) != CK_OK)
		return r;
	/* Whether it can be entered at all is what the trial finds out. */
	(void)!ck_trial_command(t, launch, NULL);
	return CK_OK;
}

ck_err
ck_trial_begin(const struct ck_verify_how *how, struct ck_trial *ret,
    struct ck_fail *fail)
{
	struct ck_trial t = { .how = how };
	char home[CK_PATH_MAX], below[CK_PATH_MAX];
	ck_err r;

	if ((r = ck_path_canonical(how->below, below, fail)) != CK_OK ||
	    (r = ck_path_format(t.base, fail, "%s/clankie-keys-verify.XXXXXX",
	    below)) != CK_OK ||
	    (r = ck_path_chain_safe(t.base, fail)) != CK_OK)
		return r;
	if (mkdtemp(t.base) == NULL)
		return ck_fail_sys(fail, errno, below,
		    "make a directory for the trial");
	if ((r = ck_path_join(t.base, "home", home, fail)) == CK_OK &&
	    (r = ck_scene_make(home, 0, how->self, NULL, &t.real, fail)) ==
	    CK_OK &&
	    (r = ck_path_join(t.base, "twin", t.twin_dir, fail)) == CK_OK &&
	    (r = ck_scene_make(t.twin_dir, 0, how->self, NULL, &t.twin,
	    fail)) == CK_OK &&
	    (r = make_home(&t, fail)) == CK_OK)
		r = ck_trial_outside(&t, fail);
	if (r == CK_OK)
		*ret = t;
	else
		ck_trial_end(&t);
	return r;
}

ck_err
ck_trial_again(struct ck_trial *t, struct ck_fail *fail)
{
	ck_err r;

	if (ck_trial_tool((const char *const[]){ "/bin/rm", "-rf",
	    t->real.home, NULL }) != 0)
		return ck_fail_set(fail, CK_IO, t->real.home,
		    "cannot be removed");
	return (r = make_home(t, fail)) != CK_OK ? r :
	    ck_trial_outside(t, fail);
}

static void
end_outside(struct ck_trial *t)
{
	if (t->outside <= 0)
		return;
	(void)kill(t->outside, SIGKILL);
	while (waitpid(t->outside, NULL, 0) < 0 && errno == EINTR)
		;
	t->outside = 0;
}

void
ck_trial_end(struct ck_trial *t)
{
	end_outside(t);
	if (t->base[0] == '\0')
		return;
	/* An attempt may have closed a directory to everybody. */
	(void)ck_trial_tool((const char *const[]){ "/bin/chmod", "-R", "u+rwX",
	    t->base, NULL });
	(void)ck_trial_tool((const char *const[]){ "/bin/rm", "-rf", t->base,
	    NULL });
}

/* Another program, since ours shows itself to nobody. */
static void
be_outside(const struct ck_scene *s)
{
	char home[CK_PATH_MAX + 8], sleep[] = "sleep", seconds[] = "600";
	char *const env[] = { home, NULL }, *const argv[] = { sleep, seconds,
		NULL };
	int file = open(s->keychain, O_RDONLY), dir = open(s->vault, O_RDONLY);

	(void)snprintf(home, sizeof(home), "HOME=%s", s->home);
	if (file < 0 || dir < 0 || dup2(file, 8) != 8 || dup2(dir, 9) != 9 ||
	    chdir(s->vault) != 0)
		_exit(125);
	(void)execve("/bin/sleep", argv, env);
	_exit(125);
}

ck_err
ck_trial_outside(struct ck_trial *t, struct ck_fail *fail)
{
	end_outside(t);
	if ((t->outside = fork()) == 0)
		be_outside(&t->real);
	return t->outside > 0 ? CK_OK :
	    ck_fail_sys(fail, errno, NULL, "start a process");
}

ck_err
ck_trial_sweep(const struct ck_scene *s, struct ck_fail *fail)
{
	if (ck_trial_tool((const char *const[]){ "/bin/rm", "-rf", s->work,
	    NULL }) != 0 || mkdir(s->work, 0700) != 0)
		return ck_fail_set(fail, CK_IO, s->work, "cannot be emptied");
	return CK_OK;
}

ck_err
ck_trial_copy(struct ck_trial *t, struct ck_fail *fail)
{
	(void)ck_trial_tool((const char *const[]){ "/bin/chmod", "-R", "u+rwX",
	    t->twin_dir, NULL });
	if (ck_trial_tool((const char *const[]){ "/bin/rm", "-rf", t->twin_dir,
	    NULL }) != 0 ||
	    ck_trial_tool((const char *const[]){ "/bin/cp", "-pR",
	    t->real.home, t->twin_dir, NULL }) != 0)
		return ck_fail_set(fail, CK_IO, t->twin_dir,
		    "cannot be made as a copy");
	return CK_OK;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void
print_names(const char *path, struct ck_buf *out)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, by_name);

	ck_buf_format(out, "%d names\n", n);
	for (int i = 0; i < n; i++) {
		ck_buf_bytes(out, names[i]->d_name,
		    strlen(names[i]->d_name) + 1);
		free(names[i]);
	}
	free(names);
}

/* The unlock password is among them, if one that opens nothing. */
static void
print_content(const char *path, struct ck_buf *out)
{
	struct ck_secret text = CK_SECRET_INIT;
	uint8_t md[CK_SHA256_BYTES];
	int fd = -1;

	if (ck_io_open_file(AT_FDCWD, path, NULL, 0, &fd, NULL, NULL) ==
	    CK_OK && ck_secret_read_file(fd, CK_SECRET_MAX, path, &text,
	    NULL) == CK_OK) {
		ck_hash(CK_SHA256, (struct ck_span){ text.p, text.n }, md);
		ck_buf_bytes(out, md, sizeof(md));
	}
	ck_secret_wipe(&text);
	ck_io_close(&fd);
}

/* Of a directory what it is, of a file its content, too. */
static void
print_one(const char *path, bool names, struct ck_buf *out)
{
	struct stat st;

	if (lstat(path, &st) != 0) {
		ck_buf_format(out, "%s: %d\n", path, errno);
		return;
	}
	ck_buf_format(out, "%s: %llu %llu %o %ld\n", path,
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
	    (unsigned int)st.st_mode, (long)st.st_uid);
	if (names)
		print_names(path, out);
	if (!S_ISREG(st.st_mode))
		return;
	ck_buf_format(out, "%llu %lld %lld\n",
	    (unsigned long long)st.st_nlink, (long long)st.st_size,
	    (long long)st.st_mtime);
	print_content(path, out);
}

ck_err
ck_trial_print(const struct ck_scene *s, uint8_t ret[CK_SHA256_BYTES],
    struct ck_fail *fail)
{
	char config[CK_PATH_MAX], src[CK_PATH_MAX], dir[CK_PATH_MAX];
	const struct {
		const char *path;
		bool names;
	} all[] = {
		{ s->custody, true }, { s->vault, true }, { s->keychain, false },
		{ s->records, false }, { s->plan, false }, { s->clankie, true },
		{ s->broker, false }, { s->settings, false }, { dir, true },
		{ s->unlock, false }, { s->app, false }, { s->env, false },
		{ config, false }, { src, false },
	};
	struct ck_buf out = CK_BUF_INIT;
	ck_err r;

	if ((r = ck_path_join(s->home, ".config", config, fail)) != CK_OK ||
	    (r = ck_path_join(s->home, "src", src, fail)) != CK_OK)
		return r;
	ck_path_parent(s->unlock, dir);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		print_one(all[i].path, all[i].names, &out);
	if ((r = ck_buf_ok(&out)) == CK_OK)
		ck_hash(CK_SHA256, ck_buf_view(&out), ret);
	else
		(void)ck_fail_set(fail, r, NULL, "no memory");
	ck_buf_free(&out);
	return r;
}
