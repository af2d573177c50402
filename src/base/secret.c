/* SPDX-License-Identifier: Apache-2.0 */
/* Secret values in OpenSSL's secure heap; see secret.h. */
#include "secret.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "clock.h"
#include "io.h"

/* One byte is asked for when a secret is empty, so that "have an empty
 * secret" and "have none" stay apart. */
static size_t
room(size_t n)
{
	return n == 0 ? 1 : n;
}

static bool heap_locked;

#define LARGE ((size_t)4 << 20)

ck_err
ck_secret_heap_init(size_t bytes, struct ck_fail *fail)
{
	int r;

	if (CRYPTO_secure_malloc_initialized())
		return CK_OK;
	/* The heap keeps two bits for each smallest piece, and clears them all
	 * now: a large one is for large things. */
	r = CRYPTO_secure_malloc_init(bytes, bytes < LARGE ? 32 : 128);
	if (r == 0 || !CRYPTO_secure_malloc_initialized())
		return ck_fail_set(fail, CK_NOMEM, NULL,
		    "cannot set up %zu bytes of secure memory", bytes);
	/* 2 means: usable, but one of the protections was refused. */
	heap_locked = r == 1;
	return CK_OK;
}

bool
ck_secret_heap_locked(void)
{
	return heap_locked;
}

ck_err
ck_secret_alloc(size_t n, struct ck_secret *ret)
{
	uint8_t *p;

	/* Without the heap OpenSSL would hand out ordinary memory. */
	if (!CRYPTO_secure_malloc_initialized() || n > SIZE_MAX - 1)
		return CK_NOMEM;
	p = OPENSSL_secure_zalloc(room(n));
	if (p == NULL)
		return CK_NOMEM;
	ret->p = p;
	ret->n = n;
	return CK_OK;
}

ck_err
ck_secret_copy(const void *p, size_t n, struct ck_secret *ret)
{
	struct ck_secret s = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_secret_alloc(n, &s)) != CK_OK)
		return r;
	if (n > 0)
		memcpy(s.p, p, n);
	*ret = s;
	return CK_OK;
}

ck_err
ck_secret_random(size_t n, struct ck_secret *ret)
{
	struct ck_secret s = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_secret_alloc(n, &s)) != CK_OK)
		return r;
	if (n > INT32_MAX || RAND_priv_bytes(s.p, (int)n) != 1) {
		ck_secret_wipe(&s);
		return CK_IO;
	}
	*ret = s;
	return CK_OK;
}

ck_err
ck_secret_hex(const struct ck_secret *s, struct ck_secret *ret)
{
	static const char digit[] = "0123456789abcdef";
	struct ck_secret h = CK_SECRET_INIT;
	ck_err r;

	if (s->n > SIZE_MAX / 2)
		return CK_NOMEM;
	if ((r = ck_secret_alloc(s->n * 2, &h)) != CK_OK)
		return r;
	for (size_t i = 0; i < s->n; i++) {
		h.p[2 * i] = (uint8_t)digit[s->p[i] >> 4];
		h.p[2 * i + 1] = (uint8_t)digit[s->p[i] & 15];
	}
	*ret = h;
	return CK_OK;
}

/* Double the room of s, at most to cap. */
static ck_err
grow(struct ck_secret *s, size_t used, size_t cap)
{
	struct ck_secret bigger = CK_SECRET_INIT;
	size_t want = s->n < cap / 2 ? s->n * 2 : cap;
	ck_err r;

	if ((r = ck_secret_alloc(want, &bigger)) != CK_OK)
		return r;
	memcpy(bigger.p, s->p, used);
	ck_secret_wipe(s);
	*s = bigger;
	return CK_OK;
}

static unsigned int stall_ms = CK_SECRET_STALL_MS;

void
ck_secret_stall(unsigned int ms)
{
	stall_ms = ms;
}

/* Until fd can be read, or written.  What poll() cannot wait for is left to
 * the call that follows. */
static ck_err
await(int fd, short event, struct ck_fail *fail)
{
	uint64_t end = ck_clock_mono_ms() + stall_ms, now;
	struct pollfd ready = { fd, event, 0 };
	int n;

	for (;;) {
		now = ck_clock_mono_ms();
		n = poll(&ready, 1, now < end ? (int)(end - now) : 0);
		if (n > 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			return CK_OK;
		if (n == 0 && ck_clock_mono_ms() >= end)
			return ck_fail_set(fail, CK_BUSY, NULL,
			    "descriptor %d %s for %u s", fd,
			    event == POLLIN ? "gave nothing" : "took nothing",
			    stall_ms / 1000);
	}
}

ck_err
ck_secret_read_fd(int fd, size_t max, struct ck_secret *ret,
    struct ck_fail *fail)
{
	struct ck_secret s = CK_SECRET_INIT;
	size_t used = 0, cap;
	ssize_t got;
	ck_err r;

	if (max > CK_SECRET_MAX)
		max = CK_SECRET_MAX;
	cap = max + 1;   /* one more byte shows that there is too much */
	if ((r = ck_secret_alloc(cap < 256 ? cap : 256, &s)) != CK_OK)
		goto out;
	for (;;) {
		if (used == s.n && (r = grow(&s, used, cap)) != CK_OK)
			goto out;
		if ((r = await(fd, POLLIN, fail)) != CK_OK)
			goto out;
		got = read(fd, s.p + used, s.n - used);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0 && errno == EBADF) {
			r = ck_fail_set(fail, CK_USAGE, NULL,
			    "descriptor %d is not open for reading", fd);
			goto out;
		}
		if (got < 0) {
			r = ck_fail_sys(fail, errno, NULL,
			    "read the descriptor");
			goto out;
		}
		if (got == 0)
			break;
		used += (size_t)got;
		if (used > max) {
			r = ck_fail_set(fail, CK_USAGE, NULL,
			    "descriptor %d gives more than the limit of %zu "
			    "bytes", fd, max);
			goto out;
		}
	}
	s.n = used;
	ck_secret_move(ret, &s);
	r = CK_OK;
out:
	if (r == CK_NOMEM)
		(void)ck_fail_set(fail, r, NULL, "secure memory is full");
	ck_secret_wipe(&s);
	return r;
}

ck_err
ck_secret_read_file(int fd, size_t max, const char *shown,
    struct ck_secret *ret, struct ck_fail *fail)
{
	struct ck_secret s = CK_SECRET_INIT;
	struct stat st;
	ck_err r;

	if (fstat(fd, &st) != 0)
		return ck_fail_sys(fail, errno, shown, "examine it");
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		return ck_fail_set(fail, CK_UNSUPPORTED, shown,
		    "is larger than the %zu bytes read here", max);
	if ((r = ck_secret_alloc((size_t)st.st_size, &s)) != CK_OK)
		return ck_fail_set(fail, r, shown,
		    "secure memory is too full to read it");
	r = ck_io_pread(fd, s.p, s.n, 0, shown, fail);
	if (r == CK_OK && fstat(fd, &st) != 0)
		r = ck_fail_sys(fail, errno, shown, "examine it");
	if (r == CK_OK && (uint64_t)st.st_size != s.n)
		r = ck_fail_set(fail, CK_CHANGED, shown,
		    "changed its size while it was read");
	if (r == CK_OK)
		ck_secret_move(ret, &s);
	ck_secret_wipe(&s);
	return r;
}

ck_err
ck_secret_write_fd(int fd, const struct ck_secret *s, struct ck_fail *fail)
{
	size_t done = 0, n;
	ssize_t put;
	ck_err r;

	while (done < s->n) {
		if ((r = await(fd, POLLOUT, fail)) != CK_OK)
			return r;
		/* A pipe that is ready takes so much without waiting. */
		n = s->n - done < PIPE_BUF ? s->n - done : PIPE_BUF;
		put = write(fd, s->p + done, n);
		if (put < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (put < 0 && errno == EBADF)
			return ck_fail_set(fail, CK_USAGE, NULL,
			    "descriptor %d is not open for writing", fd);
		if (put < 0)
			return ck_fail_sys(fail, errno, NULL,
			    "write to the descriptor");
		done += (size_t)put;
	}
	return CK_OK;
}

bool
ck_secret_equal(const struct ck_secret *a, const struct ck_secret *b)
{
	if (a->p == NULL || b->p == NULL || a->n != b->n)
		return false;
	return CRYPTO_memcmp(a->p, b->p, a->n) == 0;
}

void
ck_secret_move(struct ck_secret *to, struct ck_secret *from)
{
	*to = *from;
	from->p = NULL;
	from->n = 0;
}

void
ck_secret_wipe(struct ck_secret *s)
{
	if (s->p != NULL)
		/* The heap knows the block's true size and wipes all of it,
		 * also where n was lowered after the allocation. */
		OPENSSL_secure_clear_free(s->p, room(s->n));
	s->p = NULL;
	s->n = 0;
}
