/* SPDX-License-Identifier: Apache-2.0 */
/* See mountinfo.h. */
#include "boundary/mountinfo.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "boundary/mounts_text.h"

static ck_err
unreadable(struct ck_fail *fail, const char *why)
{
	return ck_fail_set(fail, CK_NOENFORCE, "/proc/self/mountinfo", "%s",
	    why);
}

/* The next word of a line, in place; NULL at its end. */
static char *
word(char **at)
{
	char *begin = *at, *end;

	if (begin == NULL || *begin == '\0')
		return NULL;
	end = strchr(begin, ' ');
	if (end != NULL)
		*end++ = '\0';
	*at = end;
	return begin;
}

static bool
copy(char *to, size_t room, const char *from)
{
	if (from == NULL || strlen(from) >= room)
		return false;
	memcpy(to, from, strlen(from) + 1);
	return true;
}

bool
ck_mountinfo_parse(char *text, struct ck_mountinfo *ret)
{
	char *at = text, *id = word(&at), *w;

	if (id == NULL || word(&at) == NULL)
		return false;
	ret->id = strtol(id, NULL, 10);
	if (!copy(ret->device, sizeof(ret->device), word(&at)))
		return false;
	if ((w = word(&at)) == NULL)
		return false;
	if (!ck_mount_unescape(w, ret->root))
		ret->root[0] = '\0';
	if ((w = word(&at)) == NULL)
		return false;
	if (!ck_mount_unescape(w, ret->point))
		ret->point[0] = '\0';
	if ((w = word(&at)) == NULL)
		return false;
	ret->read_only = strncmp(w, "ro", 2) == 0 &&
	    (w[2] == ',' || w[2] == '\0');
	while ((w = word(&at)) != NULL && strcmp(w, "-") != 0)
		;
	return w != NULL && copy(ret->type, sizeof(ret->type), word(&at));
}

ck_err
ck_mountlist_next(struct ck_mountlist *l, struct ck_mountinfo *ret,
    bool *ret_more, struct ck_fail *fail)
{
	char *end;
	ssize_t got;

	for (;;) {
		end = memchr(l->buf + l->at, '\n', l->n - l->at);
		if (end != NULL)
			break;
		memmove(l->buf, l->buf + l->at, l->n - l->at);
		l->n -= l->at;
		l->at = 0;
		got = l->n == sizeof(l->buf) ? -1 :
		    read(l->fd, l->buf + l->n, sizeof(l->buf) - l->n);
		if (got < 0 || (got == 0 && l->n > 0))
			return unreadable(fail, "cannot be read");
		if (got == 0) {
			*ret_more = false;
			return CK_OK;
		}
		l->n += (size_t)got;
	}
	*end = '\0';
	if (!ck_mountinfo_parse(l->buf + l->at, ret))
		return unreadable(fail, "has a line of another form");
	l->at = (size_t)(end - l->buf) + 1;
	*ret_more = true;
	return CK_OK;
}

ck_err
ck_mountlist_open(struct ck_mountlist *l, struct ck_fail *fail)
{
	l->n = l->at = 0;
	l->fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	return l->fd >= 0 ? CK_OK : unreadable(fail, "cannot be opened");
}

void
ck_mountlist_close(struct ck_mountlist *l)
{
	(void)close(l->fd);
	l->fd = -1;
}
