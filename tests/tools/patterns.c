/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets are cut into all their windows, which go into two hash sets. */
#include "patterns.h"

#include <ctype.h>
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* Digits carry 4 bits each, so that 8 of them turn up by chance among the
 * digests that records are full of: the 8 bytes that they stand for are 16
 * digits.  A run of 8 that is nothing but digits, also one within something
 * else, is therefore looked for with the 8 behind it. */
#define NARROW ((size_t)8)
#define WIDE ((size_t)16)

enum kind { KIND_RAW, KIND_HEX, KIND_BASE64 };

static const char *const kind_text[] = { "as it is", "in hex", "in base64" };

struct entry {
	uint64_t key;        /* 0: free */
	enum kind kind;
};

struct set {
	struct entry *at;
	size_t room;         /* a power of two */
	size_t used;
};

struct patterns {
	struct set narrow, wide;
	size_t count;
};

static uint64_t
window_key(const uint8_t *p, size_t width)
{
	uint64_t key = 0x9e3779b97f4a7c15ULL, word;

	for (size_t i = 0; i < width; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		key = (key ^ word) * 0xff51afd7ed558ccdULL;
		key ^= key >> 32;
	}
	return key == 0 ? 1 : key;
}

static struct entry *
set_slot(const struct set *s, uint64_t key)
{
	size_t i = (size_t)key & (s->room - 1);

	while (s->at[i].key != 0 && s->at[i].key != key)
		i = (i + 1) & (s->room - 1);
	return &s->at[i];
}

static void
set_grow(struct set *s)
{
	struct set bigger = { NULL, s->room == 0 ? 1024 : s->room * 2, 0 };

	bigger.at = calloc(bigger.room, sizeof(*bigger.at));
	if (bigger.at == NULL)
		err(2, "patterns");
	for (size_t i = 0; i < s->room; i++) {
		if (s->at[i].key == 0)
			continue;
		*set_slot(&bigger, s->at[i].key) = s->at[i];
		bigger.used++;
	}
	free(s->at);
	*s = bigger;
}

static bool
only_digits(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isxdigit(p[i]) == 0)
			return false;
	return true;
}

static void
set_add_windows(struct set *s, size_t width, const uint8_t *p, size_t n,
    enum kind kind)
{
	for (size_t i = 0; n >= width && i <= n - width; i++) {
		uint64_t key = window_key(p + i, width);
		struct entry *e;

		if (width < WIDE && n >= WIDE && only_digits(p + i, width))
			continue;
		if (s->used * 2 >= s->room)
			set_grow(s);
		e = set_slot(s, key);
		if (e->key != 0)
			continue;
		e->key = key;
		e->kind = kind;
		s->used++;
	}
}

static const char *
set_find(const struct set *s, size_t width, const uint8_t *p, size_t n)
{
	if (s->room == 0)
		return NULL;
	for (size_t i = 0; n >= width && i <= n - width; i++) {
		const struct entry *e = set_slot(s, window_key(p + i, width));

		if (e->key != 0)
			return kind_text[e->kind];
	}
	return NULL;
}

/* Base64 of the bytes from skip on; the up to three digits at each end that
 * depend on the neighbours are left out. */
static void
add_base64(struct patterns *p, const uint8_t *buf, size_t n, size_t skip,
    const char *digits)
{
	size_t groups = n < skip ? 0 : (n - skip) / 3;
	uint8_t *text = malloc(groups * 4 + 1);

	if (text == NULL)
		err(2, "patterns");
	for (size_t i = 0; i < groups; i++) {
		const uint8_t *in = buf + skip + i * 3;
		uint32_t v = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 |
		    in[2];

		for (unsigned int j = 0; j < 4; j++)
			text[i * 4 + j] =
			    (uint8_t)digits[v >> (18 - 6 * j) & 63];
	}
	set_add_windows(&p->narrow, NARROW, text, groups * 4, KIND_BASE64);
	free(text);
}

static void
add_secret(struct patterns *p, const uint8_t *buf, size_t n, const char *hex)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	static const char url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789-_";

	set_add_windows(&p->narrow, NARROW, buf, n, KIND_RAW);
	set_add_windows(&p->wide, WIDE, buf, n, KIND_RAW);
	set_add_windows(&p->wide, WIDE, (const uint8_t *)hex, 2 * n, KIND_HEX);
	for (size_t skip = 0; skip < 3; skip++) {
		add_base64(p, buf, n, skip, alphabet);
		add_base64(p, buf, n, skip, url);
	}
	p->count++;
}

static void
add_line(struct patterns *p, const char *path, char *line)
{
	size_t n = strcspn(line, "\n") / 2;
	uint8_t *buf = malloc(n + 1);

	line[strcspn(line, "\n")] = '\0';
	if (buf == NULL)
		err(2, "patterns");
	if (n < NARROW || ck_hex_decode(line, buf, n) != CK_OK)
		errx(2, "%s: a line is not hex of at least 8 bytes", path);
	for (char *c = line; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	add_secret(p, buf, n, line);
	free(buf);
}

struct patterns *
patterns_load(const char *path)
{
	struct patterns *p = calloc(1, sizeof(*p));
	FILE *in = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	if (p == NULL || in == NULL)
		err(2, "%s", path);
	while (getline(&line, &room, in) > 0)
		add_line(p, path, line);
	if (ferror(in))
		err(2, "%s", path);
	free(line);
	(void)fclose(in);
	return p;
}

size_t
patterns_count(const struct patterns *p)
{
	return p->count;
}

const char *
patterns_find(const struct patterns *p, const uint8_t *buf, size_t n)
{
	const char *how = set_find(&p->narrow, NARROW, buf, n);

	return how != NULL ? how : set_find(&p->wide, WIDE, buf, n);
}

void
patterns_free(struct patterns *p)
{
	if (p == NULL)
		return;
	free(p->narrow.at);
	free(p->wide.at);
	free(p);
}
