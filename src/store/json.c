/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jansson in secure memory.
 *
 * jansson ignores failed allocations while it grows its token buffer and then
 * reads past the end of it (lex_save() in load.c, 2.14).  So an allocation
 * must never fail while it parses a secret: the parser gets a block of its
 * own and is left by longjmp() when the block is full.  jansson holds nothing
 * but memory, all of it in that block, so nothing is lost by the jump.
 */
#include "store/json.h"

#include <setjmp.h>

#include <openssl/crypto.h>

#include "store/json_dom.h"

/* Enough for any type jansson allocates. */
#define ALIGN ((size_t)16)

static struct {
	struct ck_secret block;
	size_t used;
	jmp_buf full;
	bool on;
} dom;

static void *
dom_malloc(size_t n)
{
	uint8_t *p;

	if (!dom.on)
		return CRYPTO_secure_malloc_initialized() ?
		    OPENSSL_secure_malloc(n) : NULL;
	if (n > dom.block.n || dom.block.n - n < dom.used)
		longjmp(dom.full, 1);
	p = dom.block.p + dom.used;
	n = (n + ALIGN - 1) / ALIGN * ALIGN;
	dom.used = dom.block.n - dom.used < n ? dom.block.n : dom.used + n;
	return p;
}

/* What lies in the block is wiped with it. */
static void
dom_free(void *p)
{
	if (!dom.on)
		OPENSSL_secure_clear_free(p, 0);
}

const char *
ck_json_engine(void)
{
	return jansson_version_str();
}

void
ck_json_init(void)
{
	static bool done;

	if (done)
		return;
	json_set_alloc_funcs(dom_malloc, dom_free);
	done = true;
}

/* One try with the block at hand.  false: it was too small. */
static bool
attempt(ck_json_work *work, void *arg, ck_err *ret)
{
	dom.used = 0;
	dom.on = true;
	if (setjmp(dom.full) != 0) {
		dom.on = false;
		return false;
	}
	*ret = work(arg);
	dom.on = false;
	return true;
}

ck_err
ck_json_with_dom(size_t text_bytes, ck_json_work *work, void *arg)
{
	size_t size = 4096;
	ck_err r = CK_NOMEM;
	bool enough = false;

	ck_json_init();
	/* Powers of two, because the secure heap rounds up to them. */
	while (size / 4 < text_bytes && size <= SIZE_MAX / 4)
		size *= 2;
	while (!enough) {
		if (ck_secret_alloc(size, &dom.block) != CK_OK)
			return CK_NOMEM;
		enough = attempt(work, arg, &r);
		ck_secret_wipe(&dom.block);
		size *= 2;
	}
	return r;
}

json_t *
ck_json_parse(struct ck_span text, size_t flags)
{
	json_error_t error;
	json_t *v;

	v = json_loadb((const char *)text.p, text.n, flags, &error);
	OPENSSL_cleanse(&error, sizeof(error));
	return v;
}

struct comparison {
	struct ck_span a, b;
	bool same;
};

static ck_err
compare(void *arg)
{
	const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL |
	    JSON_REJECT_DUPLICATES;
	struct comparison *c = arg;
	json_t *a, *b;

	a = ck_json_parse(c->a, flags);
	b = ck_json_parse(c->b, flags);
	if (a == NULL || b == NULL)
		return CK_DAMAGED;
	c->same = json_equal(a, b) == 1;
	return CK_OK;
}

ck_err
ck_json_same(struct ck_span a, struct ck_span b, bool *ret)
{
	struct comparison c = { .same = false };
	ck_err r;

	if ((r = ck_json_check(a, &c.a)) != CK_OK)
		return r;
	if ((r = ck_json_check(b, &c.b)) != CK_OK)
		return r;
	if (c.a.n == c.b.n && CRYPTO_memcmp(c.a.p, c.b.p, c.a.n) == 0) {
		*ret = true;
		return CK_OK;
	}
	if ((r = ck_json_with_dom(c.a.n + c.b.n, compare, &c)) != CK_OK)
		return r;
	*ret = c.same;
	return CK_OK;
}
