/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest that ties a record's attributes to its key in files of version
 * 0x200 (docs/keychain-format.md, section 15.2): SHA-256 over a DER set.
 */
#include "acl.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define DER_OCTETS 0x04
#define DER_SEQUENCE 0x30
#define DER_SET 0x31

/* Bytes of tag and minimal length in front of n bytes of content. */
static size_t
der_head(size_t n)
{
	size_t bytes = 2;

	if (n >= 0x80)
		for (; n > 0; n >>= 8)
			bytes++;
	return bytes;
}

static void
put_head(struct ck_buf *b, uint8_t tag, size_t n)
{
	uint8_t head[2 + sizeof(size_t)] = { tag, (uint8_t)n };
	size_t bytes = der_head(n);

	if (n >= 0x80) {
		head[1] = (uint8_t)(0x80 | (bytes - 2));
		for (size_t i = bytes; i > 2; i--, n >>= 8)
			head[i - 1] = (uint8_t)n;
	}
	ck_buf_bytes(b, head, bytes);
}

static void
put_octets(struct ck_buf *b, struct ck_span s)
{
	put_head(b, DER_OCTETS, s.n);
	ck_buf_span(b, s);
}

/* macOS takes words in the order of its processor, little-endian on every
 * machine that has this file version. */
static void
little(uint32_t v, uint8_t ret[4])
{
	for (int i = 0; i < 4; i++)
		ret[i] = (uint8_t)(v >> (8 * i));
}

static struct ck_span
name_of(uint32_t id, uint8_t room[4])
{
	/* By number, not by meaning: in key relations 7 and 8 are other
	 * attributes and get these names all the same. */
	if (id == KC_ATTR_LABEL)
		return CK_SPAN_TEXT("PrintName");
	if (id == KC_ATTR_ALIAS)
		return CK_SPAN_TEXT("Alias");
	little(id, room);
	return (struct ck_span){ room, 4 };
}

/* The bytes that count for a value; false when it takes no part. */
static bool
value_of(const struct kc_attr *attr, const struct kc_value *v,
    uint8_t room[4], struct ck_span *ret)
{
	if (!v->present || attr->id == KC_ATTR_CREATED ||
	    attr->id == KC_ATTR_MODIFIED)
		return false;
	switch (attr->format) {
	case KC_STRING:
	case KC_DATE:
	case KC_BLOB:
		*ret = v->bytes;
		return true;
	case KC_SINT32:
	case KC_UINT32:
		little(v->word, room);
		*ret = (struct ck_span){ room, 4 };
		return true;
	default:
		return false;
	}
}

/* SEQUENCE { name, SEQUENCE { value } }.  Values come from a file of at most
 * KC_FILE_MAX bytes, so no sum here can overflow. */
static void
put_element(struct ck_buf *b, struct ck_span name, struct ck_span value)
{
	size_t inner = der_head(value.n) + value.n;
	size_t n = der_head(name.n) + name.n + der_head(inner) + inner;

	put_head(b, DER_SEQUENCE, n);
	put_octets(b, name);
	put_head(b, DER_SEQUENCE, inner);
	put_octets(b, value);
}

static int
by_encoding(const void *a, const void *b)
{
	const struct ck_span *x = a, *y = b;

	return ck_span_compare(*x, *y);
}

/* The elements of the set in order, behind its head. */
static ck_err
join(const struct ck_buf *elements, struct ck_span *spans, size_t n,
    struct ck_buf *ret)
{
	qsort(spans, n, sizeof(*spans), by_encoding);
	put_head(ret, DER_SET, elements->n);
	ck_buf_reserve(ret, elements->n);
	for (size_t i = 0; i < n; i++)
		ck_buf_span(ret, spans[i]);
	return ck_buf_ok(ret);
}

/* Encode each attribute that takes part; spans has room for all of them. */
static ck_err
encode_all(const struct kc_relation *rel, const struct kc_value *values,
    struct ck_buf *b, struct ck_span *spans, size_t *ret_n)
{
	size_t n = 0, at = 0;
	ck_err r;

	for (size_t i = 0; i < rel->nattrs; i++) {
		uint8_t name_room[4], value_room[4];
		struct ck_span value;

		if (!value_of(&rel->attrs[i], &values[i], value_room, &value))
			continue;
		put_element(b, name_of(rel->attrs[i].id, name_room), value);
		spans[n++].n = b->n;
	}
	if ((r = ck_buf_ok(b)) != CK_OK)
		return r;
	/* Only now does the buffer stay where it is. */
	for (size_t i = 0; i < n; i++) {
		size_t end = spans[i].n;

		spans[i] = (struct ck_span){ b->p + at, end - at };
		at = end;
	}
	*ret_n = n;
	return CK_OK;
}

ck_err
kc_attr_digest(const struct kc_relation *rel, const struct kc_value *values,
    uint8_t ret[KC_DIGEST_BYTES])
{
	struct ck_buf elements = CK_BUF_INIT, set = CK_BUF_INIT;
	struct ck_span *spans;
	size_t n = 0;
	ck_err r;

	spans = calloc(rel->nattrs == 0 ? 1 : rel->nattrs, sizeof(*spans));
	if (spans == NULL)
		return CK_NOMEM;
	if ((r = encode_all(rel, values, &elements, spans, &n)) != CK_OK)
		goto out;
	if ((r = join(&elements, spans, n, &set)) != CK_OK)
		goto out;
	ck_hash(CK_SHA256, ck_buf_view(&set), ret);
out:
	ck_buf_free(&set);
	ck_buf_free(&elements);
	free(spans);
	return r;
}
