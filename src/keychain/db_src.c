/* SPDX-License-Identifier: Apache-2.0 */
/* Lazy source of a file's bytes; see db_src.h. */
#include "db_src.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/io.h"

ck_err
kc_src_from_fd(int fd, size_t n, const char *shown, struct kc_src *ret,
    struct ck_fail *fail)
{
	struct kc_src s = KC_SRC_INIT;
	size_t blocks = (n + KC_BLOCK - 1) / KC_BLOCK;
	void *p;

	/* Address space only: a page costs memory once it is read into. */
	p = mmap(NULL, n, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return ck_fail_set(fail, CK_NOMEM, shown,
		    "no memory to read it");
	s.have = calloc(blocks / 8 + 1, 1);
	if (s.have == NULL) {
		(void)munmap(p, n);
		return ck_fail_set(fail, CK_NOMEM, shown,
		    "no memory to read it");
	}
	s.fd = fd;
	s.shown = shown;
	s.p = p;
	s.n = n;
	*ret = s;
	return CK_OK;
}

ck_err
kc_src_from_bytes(struct ck_span in, const char *shown, struct kc_src *ret,
    struct ck_fail *fail)
{
	struct kc_src s = KC_SRC_INIT;

	s.p = malloc(in.n == 0 ? 1 : in.n);
	if (s.p == NULL)
		return ck_fail_set(fail, CK_NOMEM, shown,
		    "no memory to read it");
	if (in.n > 0)
		memcpy(s.p, in.p, in.n);
	s.n = in.n;
	s.shown = shown;
	*ret = s;
	return CK_OK;
}

void
kc_src_free(struct kc_src *s)
{
	if (s->fd >= 0)
		(void)munmap(s->p, s->n);
	else
		free(s->p);
	free(s->have);
	*s = (struct kc_src)KC_SRC_INIT;
}

static bool
have(const struct kc_src *s, size_t block)
{
	return (s->have[block / 8] >> (block % 8) & 1) != 0;
}

/* Read blocks first to end - 1, none of which is there yet. */
static ck_err
load(struct kc_src *s, size_t first, size_t end, struct ck_fail *fail)
{
	size_t at = first * KC_BLOCK;
	size_t stop = end * KC_BLOCK < s->n ? end * KC_BLOCK : s->n;
	ck_err r;

	r = ck_io_pread(s->fd, s->p + at, stop - at, at, s->shown, fail);
	if (r != CK_OK)
		return r;
	for (size_t b = first; b < end; b++)
		s->have[b / 8] |= (uint8_t)(1U << (b % 8));
	s->loaded += end - first;
	return CK_OK;
}

ck_err
kc_src_need(struct kc_src *s, size_t at, size_t n, struct ck_fail *fail)
{
	size_t block, end, stop;
	ck_err r;

	if (at > s->n || n > s->n - at)
		return ck_fail_set(fail, CK_DAMAGED, s->shown,
		    "%zu bytes at offset %zu lie behind its end", n, at);
	if (s->have == NULL || n == 0)
		return CK_OK;
	end = (at + n - 1) / KC_BLOCK + 1;
	for (block = at / KC_BLOCK; block < end; block = stop + 1) {
		stop = block;
		while (stop < end && !have(s, stop))
			stop++;
		if (stop > block &&
		    (r = load(s, block, stop, fail)) != CK_OK)
			return r;
	}
	return CK_OK;
}
