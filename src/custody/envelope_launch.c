/* SPDX-License-Identifier: Apache-2.0 */
/* What each launch of an envelope makes anew, and the proof from inside; see
 * envelope.h. */
#include "custody/envelope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/secret.h"
#include "store/json.h"

/* How often a name may be taken before that is no accident any more. */
#define TRIES 8

static ck_err
identify(struct ck_envelope_grant *g, struct ck_fail *fail)
{
	struct stat st;

	if (lstat(g->path, &st) != 0)
		return ck_fail_sys(fail, errno, g->path, "examine it");
	if (S_ISLNK(st.st_mode))
		return ck_fail_set(fail, CK_REFUSED, g->path,
		    "became a symbolic link");
	g->device = (unsigned long long)st.st_dev;
	g->inode = (unsigned long long)st.st_ino;
	return CK_OK;
}

static ck_err
look_at_system(struct ck_envelope_system *s, struct ck_fail *fail)
{
	struct stat st;
	ssize_t n;

	if (lstat(s->path, &st) != 0)
		return errno == ENOENT ? CK_OK :
		    ck_fail_sys(fail, errno, s->path, "examine it");
	s->there = true;
	if (!S_ISLNK(st.st_mode))
		return CK_OK;
	n = readlink(s->path, s->link, sizeof(s->link));
	if (n <= 0 || (size_t)n >= sizeof(s->link))
		return ck_fail_set(fail, CK_NOENFORCE, s->path,
		    "is a symbolic link that cannot be followed");
	s->link[n] = '\0';
	return CK_OK;
}

ck_err
ck_envelope_identify(const struct ck_envelope *e, struct ck_envelope_box *box,
    struct ck_fail *fail)
{
	ck_err r;

	ck_envelope_system(box->system);
	for (size_t i = 0; i < CK_ENVELOPE_SYSTEM; i++)
		if ((r = look_at_system(&box->system[i], fail)) != CK_OK)
			return r;
	ck_envelope_grants(e, box->grant, &box->ngrants);
	for (size_t i = 0; i < box->ngrants; i++)
		if ((r = identify(&box->grant[i], fail)) != CK_OK)
			return r;
	return CK_OK;
}

ck_err
ck_envelope_namespace(const struct ck_envelope *e, char ret[CK_PATH_MAX],
    struct ck_fail *fail)
{
	char parent[CK_PATH_MAX], name[9];
	uint8_t raw[4];
	int fd = -1;
	ck_err r;

	if ((r = ck_path_join(e->home, "h", parent, fail)) != CK_OK ||
	    (r = ck_io_open_dir(AT_FDCWD, parent, parent,
	    CK_IO_OWNER | CK_IO_PRIVATE, &fd, NULL, fail)) != CK_OK)
		return r;
	for (int i = 0; i < TRIES; i++) {
		if (RAND_bytes(raw, sizeof(raw)) != 1) {
			r = ck_fail_set(fail, CK_IO, NULL,
			    "the system's random generator failed");
			break;
		}
		ck_hex_encode(raw, sizeof(raw), name);
		/* One that is there belonged to an earlier start. */
		r = mkdirat(fd, name, 0700) == 0 ? CK_OK : CK_CHANGED;
		if (r == CK_OK || errno != EEXIST)
			break;
	}
	if (r == CK_CHANGED)
		r = ck_fail_sys(fail, errno, parent, "make a directory for "
		    "sockets");
	ck_io_close(&fd);
	return r == CK_OK ? ck_path_join(parent, name, ret, fail) : r;
}

ck_err
ck_envelope_note(const struct ck_envelope *e, const char *const *provisioned,
    struct ck_fail *fail)
{
	struct ck_buf text = CK_BUF_INIT;
	char at[CK_CLOCK_ISO_SIZE];
	int fd = -1;
	ck_err r;

	/* Names of variables: nothing in them is escaped. */
	ck_clock_iso(ck_clock_wall(), at);
	ck_buf_format(&text, "{\"at\":\"%s\",\"provisioned\":[", at);
	for (size_t i = 0; provisioned[i] != NULL; i++)
		ck_buf_format(&text, "%s\"%s\"", i == 0 ? "" : ",",
		    provisioned[i]);
	ck_buf_text(&text, "]}\n");
	if ((r = ck_buf_ok(&text)) != CK_OK)
		r = ck_fail_set(fail, r, NULL, "no memory");
	else if ((r = ck_io_open_dir(AT_FDCWD, e->control, e->control,
	    CK_IO_OWNER | CK_IO_PRIVATE, &fd, NULL, fail)) == CK_OK)
		r = ck_io_replace(fd, CK_ENVELOPE_LAUNCH, e->control, text.p,
		    text.n, 0600, fail);
	ck_io_close(&fd);
	ck_buf_free(&text);
	return r;
}

static ck_err
proves_nothing(const char *path, const char *why, struct ck_fail *fail)
{
	return ck_fail_set(fail, CK_NOENFORCE, path, "%s", why);
}

/* The probe as a file: what its owner could read by its mode. */
static ck_err
judge_probe(const struct ck_envelope *e, const char *probe,
    struct ck_fail *fail)
{
	struct stat st;

	if (lstat(probe, &st) != 0)
		return proves_nothing(probe, "is not there to be refused",
		    fail);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return proves_nothing(probe, "is not one file of one name",
		    fail);
	if (st.st_uid != geteuid() || (st.st_mode & S_IRUSR) == 0)
		return proves_nothing(probe, "is not a file that this user "
		    "could read by its mode: its refusal says nothing", fail);
	if (ck_path_under(probe, e->home))
		return proves_nothing(probe, "lies in the private home", fail);
	for (size_t i = 0; i < e->nworkspaces; i++)
		if (ck_path_under(probe, e->workspace[i]))
			return proves_nothing(probe, "lies in a workspace",
			    fail);
	return CK_OK;
}

ck_err
ck_envelope_prove(const struct ck_place *p, struct ck_fail *fail)
{
	struct ck_envelope *e = calloc(1, sizeof(*e));
	char probe[CK_PATH_MAX];
	int fd;
	ck_err r;

	if (e == NULL)
		return ck_fail_set(fail, CK_NOMEM, NULL, "no memory");
	if ((r = ck_envelope_load(p, e, fail)) != CK_OK) {
		r = r == CK_NOMEM ? r : CK_NOENFORCE;
		goto out;
	}
	if ((r = ck_path_join(e->control, CK_ENVELOPE_PROBE, probe,
	    fail)) != CK_OK || (r = judge_probe(e, probe, fail)) != CK_OK)
		goto out;
	fd = open(probe, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC);
	if (fd >= 0) {
		(void)close(fd);
		r = proves_nothing(probe, "can be read: there is no boundary",
		    fail);
	} else if (errno != EACCES && errno != EPERM) {
		r = proves_nothing(probe, "cannot be opened for another "
		    "reason than a refusal", fail);
	}
out:
	free(e);
	return r;
}
