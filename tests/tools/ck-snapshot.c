/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-snapshot [-b | -d] PATH...
 *
 * One line for each file system object at and below the paths, in a fixed
 * order: type, mode, owner, links, size, time of change, digest or link
 * target, path.  Reading times are left out.  Times of directories are left
 * out too unless -d is given, because a lock file that comes and goes changes
 * them; -b leaves out all times.  A path that is missing is a line as well.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/bytes.h"

#ifdef __APPLE__
#define CHANGED(st) ((st)->st_mtimespec)
#else
#define CHANGED(st) ((st)->st_mtim)
#endif
#ifndef SEEK_DATA
#define SEEK_DATA SEEK_SET      /* no holes to skip */
#endif

static bool bare, directory_times;

/* Holes are skipped, so that a sparse file of gigabytes takes no time; the
 * offset of each piece of data is part of the digest. */
static off_t
next_data(int fd, off_t at, off_t size)
{
	off_t data = lseek(fd, at, SEEK_DATA);

	if (data == -1 && errno == ENXIO)
		return size;
	return data == -1 ? at : data;
}

static void
digest_data(int fd, off_t size, EVP_MD_CTX *md)
{
	static uint8_t buf[65536];
	const uint8_t zeros[sizeof(buf)] = { 0 };
	off_t at = 0;
	ssize_t n;

	for (;;) {
		at = next_data(fd, at, size);
		if ((n = pread(fd, buf, sizeof(buf), at)) <= 0)
			return;
		/* Written zeros and a hole are the same content. */
		if (memcmp(buf, zeros, (size_t)n) != 0 &&
		    (EVP_DigestUpdate(md, &at, sizeof(at)) != 1 ||
		    EVP_DigestUpdate(md, buf, (size_t)n) != 1))
			errx(2, "digest");
		at += n;
	}
}

static void
print_digest(const char *path, off_t size)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	char hex[2 * EVP_MAX_MD_SIZE + 1];
	unsigned int n = 0;
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd == -1) {
		(void)printf(" unreadable:%d", errno);
		EVP_MD_CTX_free(md);
		return;
	}
	if (md == NULL || EVP_DigestInit_ex(md, EVP_sha256(), NULL) != 1)
		errx(2, "digest");
	digest_data(fd, size, md);
	if (EVP_DigestFinal_ex(md, sum, &n) != 1)
		errx(2, "digest");
	ck_hex_encode(sum, n, hex);
	(void)printf(" %s", hex);
	EVP_MD_CTX_free(md);
	(void)close(fd);
}

static void
print_path(const char *path)
{
	for (const unsigned char *s = (const unsigned char *)path; *s; s++) {
		if (*s < ' ' || *s == '\\' || *s == 127)
			(void)printf("\\x%02x", *s);
		else
			(void)putchar(*s);
	}
}

static void
print_time(const struct stat *st)
{
	(void)printf(" %lld.%09ld", (long long)CHANGED(st).tv_sec,
	    (long)CHANGED(st).tv_nsec);
}

static void
print_entry(const FTSENT *e)
{
	const struct stat *st = e->fts_statp;
	char target[PATH_MAX + 1] = "";
	bool dir = S_ISDIR(st->st_mode);

	(void)printf("%06o %u:%u", (unsigned int)st->st_mode,
	    (unsigned int)st->st_uid, (unsigned int)st->st_gid);
	/* Size and link count of a directory belong to the file system. */
	if (!dir)
		(void)printf(" %lu %lld", (unsigned long)st->st_nlink,
		    (long long)st->st_size);
	if (!bare && (!dir || directory_times))
		print_time(st);
	if (S_ISREG(st->st_mode))
		print_digest(e->fts_accpath, st->st_size);
	if (S_ISLNK(st->st_mode) &&
	    readlink(e->fts_accpath, target, PATH_MAX) != -1) {
		(void)printf(" -> ");
		print_path(target);
	}
	(void)putchar(' ');
	print_path(e->fts_path);
	(void)putchar('\n');
}

static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void
walk(char **paths)
{
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	FTSENT *e;

	if (tree == NULL)
		err(2, "fts_open");
	while ((e = fts_read(tree)) != NULL) {
		switch (e->fts_info) {
		case FTS_DP:
			break;
		case FTS_NS:
		case FTS_DNR:
		case FTS_ERR:
			(void)printf("error:%d ", e->fts_errno);
			print_path(e->fts_path);
			(void)putchar('\n');
			break;
		default:
			print_entry(e);
		}
	}
	if (errno != 0)
		err(2, "fts_read");
	(void)fts_close(tree);
}

int
main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "bd")) != -1) {
		if (c != 'b' && c != 'd')
			return 2;
		bare = bare || c == 'b';
		directory_times = directory_times || c == 'd';
	}
	if (optind == argc)
		errx(2, "usage: ck-snapshot [-b | -d] PATH...");
	walk(argv + optind);
	return ferror(stdout) || fflush(stdout) != 0 ? 2 : 0;
}
