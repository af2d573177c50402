/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a credential's value; see bearer.h. */
#include "store/bearer.h"

#include <string.h>

#include "store/json.h"

#define PREFIX_SIZE (sizeof(CK_BEARER_PREFIX) - 1)
#define RANDOM_SIZE 32

static const char head[] = "{\"type\":\"api\",\"key\":\"" CK_BEARER_PREFIX;
static const char foot[] = "\"}";

static const char *const names[CK_FORMAT_COUNT] = {
	[CK_FORMAT_OPERATOR_BEARER] = "operator-bearer",
	[CK_FORMAT_OPAQUE] = "opaque",
};

const char *
ck_format_name(enum ck_format format)
{
	if ((unsigned int)format >= CK_FORMAT_COUNT)
		return NULL;
	return names[format];
}

ck_err
ck_format_by_name(const char *name, enum ck_format *ret)
{
	for (unsigned int i = 0; i < CK_FORMAT_COUNT; i++)
		if (strcmp(names[i], name) == 0) {
			*ret = (enum ck_format)i;
			return CK_OK;
		}
	return CK_UNSUPPORTED;
}

ck_err
ck_format_check(enum ck_format format, const struct ck_secret *value)
{
	if (value->p == NULL || value->n == 0)
		return CK_DAMAGED;
	switch (format) {
	case CK_FORMAT_OPERATOR_BEARER:
		return ck_bearer_check(value);
	case CK_FORMAT_OPAQUE:
		return CK_OK;
	case CK_FORMAT_COUNT:
		break;
	}
	return CK_UNSUPPORTED;
}

ck_err
ck_format_same(enum ck_format format, const struct ck_secret *a,
    const struct ck_secret *b, bool *ret)
{
	ck_err r;

	if ((r = ck_format_check(format, a)) != CK_OK)
		return r;
	if ((r = ck_format_check(format, b)) != CK_OK)
		return r;
	if (format == CK_FORMAT_OPERATOR_BEARER)
		return ck_bearer_same(a, b, ret);
	*ret = ck_secret_equal(a, b);
	return CK_OK;
}

static bool
is_base64url(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	    (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* text starts with a key. */
static bool
is_key(struct ck_span text)
{
	if (text.n < CK_BEARER_KEY_SIZE ||
	    memcmp(text.p, CK_BEARER_PREFIX, PREFIX_SIZE) != 0)
		return false;
	for (size_t i = PREFIX_SIZE; i < CK_BEARER_KEY_SIZE; i++)
		if (!is_base64url(text.p[i]))
			return false;
	return true;
}

/* The member is a string that means text. */
static bool
means(const struct ck_json_member *m, const char *text)
{
	return m != NULL && m->value.p[0] == '"' && ck_json_key_is(
	    (struct ck_span){ m->value.p + 1, m->value.n - 2 }, text);
}

ck_err
ck_bearer_key(const struct ck_secret *value, struct ck_secret *ret_key)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;
	struct ck_secret key = CK_SECRET_INIT;
	const struct ck_json_member *m;
	ck_err r;

	r = ck_json_scan((struct ck_span){ value->p, value->n }, NULL, &o,
	    NULL);
	if (r != CK_OK) {
		/* Too deep to be read is still no bearer. */
		r = r == CK_NOMEM ? r : CK_DAMAGED;
		goto out;
	}
	m = ck_json_member(&o, "key");
	if (m == NULL || !means(ck_json_member(&o, "type"), "api")) {
		r = CK_DAMAGED;
		goto out;
	}
	if ((r = ck_json_decode(m->value, &key)) != CK_OK)
		goto out;
	if (key.n != CK_BEARER_KEY_SIZE ||
	    !is_key((struct ck_span){ key.p, key.n })) {
		r = CK_DAMAGED;
		goto out;
	}
	ck_secret_move(ret_key, &key);
out:
	ck_secret_wipe(&key);
	ck_json_object_free(&o);
	return r;
}

ck_err
ck_bearer_check(const struct ck_secret *value)
{
	struct ck_secret key = CK_SECRET_INIT;
	ck_err r;

	r = ck_bearer_key(value, &key);
	ck_secret_wipe(&key);
	return r;
}

ck_err
ck_bearer_same(const struct ck_secret *a, const struct ck_secret *b,
    bool *ret)
{
	struct ck_secret x = CK_SECRET_INIT, y = CK_SECRET_INIT;
	ck_err r;

	if ((r = ck_bearer_key(a, &x)) != CK_OK)
		goto out;
	if ((r = ck_bearer_key(b, &y)) != CK_OK)
		goto out;
	*ret = ck_secret_equal(&x, &y);
out:
	ck_secret_wipe(&x);
	ck_secret_wipe(&y);
	return r;
}

/* All ones when x < y, both below 2^16; no branch on them. */
static uint32_t
below(uint32_t x, uint32_t y)
{
	return 0 - ((x - y) >> 31);
}

/* The base64url character of 6 bits, without a table that the secret would
 * index and thereby leave in the cache. */
static uint8_t
digit64(uint32_t v)
{
	uint32_t c = 'A' + v;

	c += below(25, v) & ('a' - 'A' - 26);
	c += below(51, v) & (uint32_t)('0' - 'a' - 26);
	c += below(61, v) & (uint32_t)('-' - '0' - 10);
	c += below(62, v) & (uint32_t)('_' - '-' - 1);
	return (uint8_t)c;
}

/* 43 characters for 32 bytes, no padding. */
static void
base64url(const uint8_t in[RANDOM_SIZE], uint8_t *ret)
{
	uint32_t bits = 0;
	unsigned int have = 0;

	for (int i = 0; i < RANDOM_SIZE; i++) {
		bits = bits << 8 | in[i];
		for (have += 8; have >= 6; have -= 6)
			*ret++ = digit64(bits >> (have - 6) & 63);
	}
	*ret = digit64(bits << (6 - have) & 63);
}

ck_err
ck_bearer_mint(struct ck_secret *ret_value)
{
	struct ck_secret random = CK_SECRET_INIT, value = CK_SECRET_INIT;
	const size_t key = sizeof(head) - 1,
	    end = key + CK_BEARER_KEY_SIZE - PREFIX_SIZE;
	ck_err r;

	if ((r = ck_secret_random(RANDOM_SIZE, &random)) != CK_OK)
		goto out;
	if ((r = ck_secret_alloc(end + sizeof(foot) - 1, &value)) != CK_OK)
		goto out;
	memcpy(value.p, head, key);
	base64url(random.p, value.p + key);
	memcpy(value.p + end, foot, sizeof(foot) - 1);
	/* Whatever is handed out was read by the same code that will judge
	 * it later. */
	if ((r = ck_bearer_check(&value)) != CK_OK) {
		r = r == CK_DAMAGED ? CK_INTERNAL : r;
		goto out;
	}
	ck_secret_move(ret_value, &value);
out:
	ck_secret_wipe(&random);
	ck_secret_wipe(&value);
	return r;
}

struct ck_span
ck_bearer_search(struct ck_span text)
{
	struct ck_span rest = text;

	while (rest.n >= CK_BEARER_KEY_SIZE) {
		if (is_key(rest))
			return (struct ck_span){ rest.p, CK_BEARER_KEY_SIZE };
		rest.p++;
		rest.n--;
	}
	return (struct ck_span)CK_SPAN_NONE;
}
