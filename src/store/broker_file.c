/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the file broker; see broker_file.h.  broker_edit.c changes it. */
#include "store/broker_file.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/path.h"
#include "store/bearer.h"
#include "store/broker_text.h"
#include "store/broker_type.h"
#include "store/json.h"
#include "store/json_text.h"

void
ck_broker_text_close(struct ck_broker_text *b)
{
	ck_json_object_free(&b->all);
	ck_secret_wipe(&b->text);
	ck_io_close(&b->dirfd);
}

/* JavaScript's trim, for ASCII. */
static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The broker's spelling of n bytes at id; its length. */
static size_t
normal_spelling(const char *id, size_t n, char *ret)
{
	size_t from = 0;

	while (from < n && is_space(id[from]))
		from++;
	while (n > from && is_space(id[n - 1]))
		n--;
	while (n > from && id[n - 1] == '/')
		n--;
	for (size_t i = from; i < n; i++)
		ret[i - from] = (char)tolower((unsigned char)id[i]);
	return n - from;
}

ck_err
ck_broker_provider(const char *id, char ret[CK_PROVIDER_SIZE],
    struct ck_fail *fail)
{
	char name[CK_PROVIDER_SIZE];
	size_t n = strlen(id);

	if (n >= CK_PROVIDER_SIZE)
		return ck_fail_set(fail, CK_USAGE, NULL,
		    "a provider id is longer than %d bytes",
		    CK_PROVIDER_SIZE - 1);
	n = normal_spelling(id, n, name);
	if (n == 0)
		return ck_fail_set(fail, CK_USAGE, NULL,
		    "a provider id is empty");
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)name[i] >= 0x80)
			return ck_fail_set(fail, CK_UNSUPPORTED, NULL,
			    "a provider id has characters beyond ASCII");
		if (name[i] < 0x20 || name[i] == 0x7f)
			return ck_fail_set(fail, CK_USAGE, NULL,
			    "a provider id has control characters");
	}
	memcpy(ret, name, n);
	ret[n] = '\0';
	return CK_OK;
}

/* Open the directory; *ret_missing when it does not exist. */
static ck_err
open_parent(struct ck_broker_text *b, bool *ret_missing, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];
	ck_err r;

	if (b->path[0] != '/' || strlen(b->path) >= CK_PATH_MAX)
		return ck_fail_set(fail, CK_REFUSED, b->path,
		    "is not a usable absolute path");
	ck_path_parent(b->path, dir);
	r = ck_io_open_dir(AT_FDCWD, dir, dir, CK_IO_OWNER | CK_IO_NOWRITE,
	    &b->dirfd, NULL, fail);
	if (r != CK_NOSTORE)
		return r;
	*ret_missing = true;
	return CK_OK;
}

static ck_err
read_text(struct ck_broker_text *b, struct ck_fail *fail)
{
	int fd = -1;
	ck_err r;

	r = ck_io_open_file(b->dirfd, ck_path_base(b->path), b->path,
	    CK_IO_OWNER | CK_IO_PRIVATE | CK_IO_ONELINK, &fd, &b->st, fail);
	if (r == CK_NOSTORE) {
		b->missing = true;
		return CK_OK;
	}
	if (r == CK_OK)
		r = ck_secret_read_file(fd, CK_BROKER_FILE_MAX, b->path,
		    &b->text, fail);
	ck_io_close(&fd);
	return r;
}

/* Read and scan.  A missing file or directory is an empty object here, for
 * the reason given in the header. */
ck_err
ck_broker_text_open(struct ck_broker_text *b, struct ck_fail *fail)
{
	ck_err r;

	if ((r = open_parent(b, &b->missing, fail)) != CK_OK)
		return r;
	if (!b->missing && (r = read_text(b, fail)) != CK_OK)
		return r;
	if (b->missing && ck_secret_copy("{}\n", 3, &b->text) != CK_OK)
		return ck_fail_set(fail, CK_NOMEM, b->path,
		    "secure memory is full");
	return ck_json_scan((struct ck_span){ b->text.p, b->text.n }, b->path,
	    &b->all, fail);
}

/* The next character of a raw key, which is whole in an escape and comes byte
 * by byte otherwise.  The scanner has proved the UTF-8. */
static uint32_t
next_character(struct ck_span raw, size_t *at)
{
	static const uint8_t head[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint8_t part[4] = { 0 };
	size_t n = ck_json_next(raw, at, part);
	size_t all = part[0] < 0xc0 ? 1 : part[0] < 0xe0 ? 2 :
	    part[0] < 0xf0 ? 3 : 4;
	uint32_t c = part[0] & head[all];

	for (; n < all && *at < raw.n; n++)
		part[n] = raw.p[(*at)++];
	for (size_t i = 1; i < all; i++)
		c = c << 6 | (part[i] & 0x3f);
	return c;
}

/* What JavaScript's trim takes away: WhiteSpace and LineTerminator of
 * https://tc39.es/ecma262/#sec-white-space */
static bool
is_js_space(uint32_t c)
{
	static const uint32_t beyond[] = { 0xa0, 0x1680, 0x2028, 0x2029,
	    0x202f, 0x205f, 0x3000, 0xfeff };

	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++)
		if (c == beyond[i])
			return true;
	return c == ' ' || (c >= '\t' && c <= '\r') ||
	    (c >= 0x2000 && c <= 0x200a);
}

/* JavaScript's toLowerCase, as far as it ends in ASCII. */
static uint32_t
js_lower(uint32_t c)
{
	if (c == 0x212a)   /* the Kelvin sign */
		return 'k';
	return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c;
}

/* White space, name in any letter case, slashes, white space: of any length,
 * and nothing else. */
static bool
means_name(struct ck_span raw, const char *name)
{
	bool space = false;
	size_t at = 0, i = 0;
	uint32_t c;

	while (at < raw.n) {
		c = next_character(raw, &at);
		if (name[i] == '\0' && c == '/' && !space)
			continue;
		if ((i == 0 || name[i] == '\0') && is_js_space(c))
			space = i > 0;
		else if (name[i] != '\0' && js_lower(c) == (uint8_t)name[i])
			i++;
		else
			return false;
	}
	return name[i] == '\0';
}

/* The broker's spelling of a raw key is name, and the key is not name. */
static bool
other_spelling(struct ck_span raw, const char *name)
{
	return !ck_json_key_is(raw, name) && means_name(raw, name);
}

ck_err
ck_broker_text_find(const struct ck_broker_text *b, const char *key,
    const struct ck_json_member **ret, struct ck_fail *fail)
{
	for (size_t i = 0; i < b->all.n; i++)
		if (other_spelling(b->all.member[i].key, key))
			return ck_fail_set(fail, CK_DAMAGED, b->path,
			    "has a key that is another spelling of %s", key);
	*ret = ck_json_member(&b->all, key);
	return CK_OK;
}

ck_err
ck_broker_text_absent(const struct ck_broker_text *b, const char *key,
    struct ck_fail *fail)
{
	return ck_fail_set(fail, CK_ABSENT, b->path, b->missing ?
	    "does not exist, so it holds no %s" : "holds no %s", key);
}

ck_err
ck_broker_file_find(const char *path, const char *provider,
    struct ck_secret *ret_value, struct ck_fail *fail)
{
	struct ck_broker_text b = CK_BROKER_TEXT_INIT(path);
	const struct ck_json_member *m = NULL;
	char name[CK_PROVIDER_SIZE];
	ck_err r;

	if ((r = ck_broker_provider(provider, name, fail)) != CK_OK)
		goto out;
	if ((r = ck_broker_text_open(&b, fail)) != CK_OK)
		goto out;
	if ((r = ck_broker_text_find(&b, name, &m, fail)) != CK_OK)
		goto out;
	if (m == NULL) {
		r = ck_broker_text_absent(&b, name, fail);
		goto out;
	}
	r = ck_secret_copy(m->value.p, m->value.n, ret_value);
	if (r != CK_OK)
		r = ck_fail_set(fail, r, path, "secure memory is full");
out:
	ck_broker_text_close(&b);
	return r;
}

/* A raw key in printable ASCII, cut where ret ends. */
static void
show_key(struct ck_span raw, char ret[CK_PROVIDER_SIZE])
{
	static const char digit[] = "0123456789abcdef";
	size_t n = 0, at = 0, k;
	uint8_t part[4];

	while (at < raw.n && n + sizeof(part) * 4 < CK_PROVIDER_SIZE) {
		k = ck_json_next(raw, &at, part);
		for (size_t i = 0; i < k; i++) {
			if (part[i] >= 0x20 && part[i] < 0x7f &&
			    part[i] != '\\') {
				ret[n++] = (char)part[i];
				continue;
			}
			ret[n++] = '\\';
			ret[n++] = 'x';
			ret[n++] = digit[part[i] >> 4];
			ret[n++] = digit[part[i] & 15];
		}
	}
	ret[n] = '\0';
}

ck_err
ck_broker_file_names(const char *path, ck_broker_name_cb *cb, void *arg,
    struct ck_fail *fail)
{
	struct ck_broker_text b = CK_BROKER_TEXT_INIT(path);
	char name[CK_PROVIDER_SIZE];
	const char *type = NULL;
	bool bearer;
	ck_err r;

	if ((r = ck_broker_text_open(&b, fail)) != CK_OK)
		goto out;
	for (size_t i = 0; i < b.all.n; i++) {
		r = ck_broker_type(b.all.member[i].value, &type);
		if (r != CK_OK) {
			r = ck_fail_set(fail, r, path,
			    "no memory to examine it");
			goto out;
		}
		show_key(b.all.member[i].key, name);
		bearer = ck_bearer_search(b.all.member[i].value).n > 0;
		if ((r = cb(arg, name, type, bearer)) != CK_OK)
			goto out;
	}
out:
	ck_broker_text_close(&b);
	return r;
}
