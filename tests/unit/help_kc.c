/* SPDX-License-Identifier: Apache-2.0 */
#include "help_kc.h"

#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "help_db.h"
#include "help_vectors.h"
#include "keychain/blob.h"

int
kct_setup(void **state)
{
	struct kct *fx = calloc(1, sizeof(*fx));
	char dir[] = "/tmp/ck-kc-XXXXXX";

	*state = fx;
	if (fx == NULL || ck_secret_heap_init((size_t)1 << 24, NULL) != CK_OK)
		return -1;
	if (mkdtemp(dir) == NULL ||
	    ck_path_canonical(dir, fx->dir, NULL) != CK_OK ||
	    ck_path_join(fx->dir, "test.keychain", fx->path, NULL) != CK_OK)
		return -1;
	return 0;
}

int
kct_teardown(void **state)
{
	struct kct *fx = *state;
	char cmd[2 * CK_PATH_MAX + 32];
	int failed;

	(void)snprintf(cmd, sizeof(cmd), "chmod -R u+rwX '%s'; rm -rf '%s'",
	    fx->dir, fx->dir);
	failed = system(cmd) != 0;
	free(fx);
	return failed ? -1 : 0;
}

void
kct_put(const char *path, struct ck_span bytes, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
}

void
kct_get(const char *path, struct ck_buf *ret)
{
	uint8_t *p = NULL;
	size_t n = 0;
	int fd = -1;

	HELP_OK(ck_io_open_file(AT_FDCWD, path, NULL, 0, &fd, NULL, &fail));
	HELP_OK(ck_io_read_all(fd, (size_t)1 << 28, path, &p, &n, &fail));
	ck_io_close(&fd);
	*ret = (struct ck_buf)CK_BUF_INIT;
	ck_buf_bytes(ret, p, n);
	free(p);
	assert_int_equal(ck_buf_ok(ret), CK_OK);
}

void
kct_same(const char *path, const struct ck_buf *bytes)
{
	struct ck_buf now;

	kct_get(path, &now);
	assert_true(ck_span_equal(ck_buf_view(&now), ck_buf_view(bytes)));
	ck_buf_free(&now);
}

void
kct_copy(const struct kct *fx, const char *vector)
{
	struct ck_buf bytes;

	help_vector_load(vector, &bytes);
	kct_put(fx->path, ck_buf_view(&bytes), 0600);
	ck_buf_free(&bytes);
}

size_t
kct_entries(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0;
	(void)closedir(d);
	return n;
}

bool
kct_exists(const char *dir, const char *name)
{
	char path[CK_PATH_MAX];
	struct stat st;

	assert_int_equal(ck_path_join(dir, name, path, NULL), CK_OK);
	return lstat(path, &st) == 0;
}

struct ck_secret
kct_secret(const void *p, size_t n)
{
	struct ck_secret s = CK_SECRET_INIT;

	assert_int_equal(ck_secret_copy(p, n, &s), CK_OK);
	return s;
}

static struct kc *
unlocked(struct kc *kc, const char *password)
{
	struct ck_secret s;

	if (password == NULL)
		return kc;
	s = kct_text(password);
	HELP_OK(kc_unlock(kc, &s, &fail));
	ck_secret_wipe(&s);
	return kc;
}

struct kc *
kct_open(const struct kct *fx, const char *password)
{
	struct kc *kc = NULL;

	HELP_OK(kc_open(fx->path, 0, &kc, &fail));
	return unlocked(kc, password);
}

struct kc *
kct_open_write(const struct kct *fx, const char *password)
{
	struct kc *kc = NULL;

	HELP_OK(kc_open_write(fx->path, 0, 0, &kc, &fail));
	return unlocked(kc, password);
}

struct kc *
kct_new(const struct kct *fx, uint32_t version, const char *password)
{
	const struct kc_new_file how = { version, 300, true, 0600 };
	struct ck_secret s = kct_text(password);
	struct kc *kc = NULL;

	HELP_OK(kc_create(fx->path, &how, &s, 0, &kc, &fail));
	ck_secret_wipe(&s);
	return kc;
}

void
kct_commit(struct kc **kc)
{
	HELP_OK(kc_commit(*kc, &fail));
	kc_close(kc);
	assert_null(*kc);
}

void
kct_add(struct kc *kc, const char *service, const char *account,
    const void *secret, size_t n)
{
	struct ck_secret s = kct_secret(secret, n);
	struct kc_new_item item;

	memset(&item, 0, sizeof(item));
	item.service = CK_SPAN_TEXT(service);
	item.account = CK_SPAN_TEXT(account);
	item.access = KC_ACCESS_ANY;
	item.now = KCT_NOW;
	HELP_OK(kc_add(kc, &item, &s, &fail));
	ck_secret_wipe(&s);
}

struct kc_record
kct_find(struct kc *kc, const char *service, const char *account)
{
	struct kc_record rec;

	memset(&rec, 0, sizeof(rec));
	HELP_OK(kc_find(kc, CK_SPAN_TEXT(service), CK_SPAN_TEXT(account), &rec,
	    &fail));
	return rec;
}

struct kc_record
kct_find_by(struct kc *kc, uint32_t relation, uint32_t attr,
    const char *text)
{
	struct kc_record rec;
	struct kc_value v;
	uint32_t number = 0;
	ck_err r;

	memset(&rec, 0, sizeof(rec));
	while ((r = kc_db_next(kc_db(kc), relation, &number, &rec,
	    NULL)) == CK_OK) {
		HELP_OK(kc_db_value(kc_db(kc), &rec, attr, &v, &fail));
		if (v.present && ck_span_equal(v.bytes, CK_SPAN_TEXT(text)))
			return rec;
	}
	print_error("no record 0x%08x with %s\n", (unsigned int)relation,
	    text);
	assert_int_equal(r, CK_OK);
	return rec;
}

void
kct_attr(struct kc *kc, const struct kc_record *rec, uint32_t attr,
    const char *text)
{
	struct kc_value v;

	HELP_OK(kc_db_value(kc_db(kc), rec, attr, &v, &fail));
	assert_int_equal(v.present, text != NULL);
	if (text != NULL)
		assert_true(ck_span_equal(v.bytes, CK_SPAN_TEXT(text)));
}

void
kct_secret_is(struct kc *kc, const struct kc_record *rec, const void *p,
    size_t n)
{
	struct ck_secret s = CK_SECRET_INIT;

	HELP_OK(kc_item_secret(kc, rec, &s, &fail));
	assert_non_null(s.p);
	assert_int_equal(s.n, n);
	assert_true(n == 0 || memcmp(s.p, p, n) == 0);
	ck_secret_wipe(&s);
}

void
kct_acl(struct kc *kc, const struct kc_record *item, struct ck_buf *ret)
{
	struct kc_record key;
	struct kc_key_blob blob;

	HELP_OK(kc_item_key(kc, item, &key, &fail));
	HELP_OK(kc_key_blob_parse(key.data, "key", &blob, &fail));
	*ret = (struct ck_buf)CK_BUF_INIT;
	ck_buf_span(ret, blob.public_acl);
	assert_int_equal(ck_buf_ok(ret), CK_OK);
}

void
kct_reads(const struct kct *fx, const char *password, const char *service,
    const char *account, const char *secret)
{
	struct kc *kc = kct_open(fx, password);
	struct kc_record rec;
	size_t keys = 0;

	HELP_OK(kc_verify(kc, &keys, &fail));
	if (service != NULL) {
		rec = kct_find(kc, service, account);
		kct_secret_is(kc, &rec, secret, strlen(secret));
	}
	kc_close(&kc);
}

void
kct_silent(const struct ck_fail *fail, const char *text)
{
	assert_null(strstr(fail->place, text));
	assert_null(strstr(fail->why, text));
	assert_null(strstr(fail->next, text));
}
