/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-forge plain FILE SERVICE ACCOUNT    the item's data, in the clear
 * ck-forge block FILE SERVICE ACCOUNT    the item's data, of at most 7 bytes,
 *                                        encrypted without the key
 * ck-forge seal VALUE-FILE               the records of $HOME, sealed
 *
 * What a program of the same user can do that reads no password.  Standard
 * input has the bytes that the item is to have, or the key under which the
 * records are sealed and the fingerprint of VALUE-FILE is made.  The files are
 * written in place.
 *
 * "block" uses that the data of an item has no MAC.  The last block of a
 * secret that fills its blocks is padding, and known: under another IV it is
 * whatever is wanted.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "custody/dedicated.h"
#include "custody/seal.h"
#include "custody/view.h"
#include "keychain/db.h"

#define LABEL 20
#define BLOCK 8
#define MOST 64

static struct ck_fail fail = CK_FAIL_INIT;

static void
must(ck_err r)
{
	if (r != CK_OK)
		errx(ck_err_exit(r), "%s: %s", fail.place, fail.why);
}

/* The data with its last block alone, under an IV that makes it target. */
static void
block(struct ck_span data, const uint8_t *target, size_t n,
    uint8_t ret[LABEL + 2 * BLOCK])
{
	const uint8_t *last = data.p + data.n - BLOCK;

	if (n >= BLOCK || data.n < LABEL + 3 * BLOCK)
		errx(2, "at most 7 bytes, of an item with two blocks");
	memcpy(ret, data.p, LABEL);
	memcpy(ret + LABEL + BLOCK, last, BLOCK);
	for (size_t i = 0; i < BLOCK; i++) {
		uint8_t want = i < n ? target[i] : (uint8_t)(BLOCK - n);

		ret[LABEL + i] = last[(ptrdiff_t)i - BLOCK] ^ BLOCK ^ want;
	}
}

static bool
has(struct kc_db *db, const struct kc_record *rec, uint32_t attr,
    const char *text)
{
	struct kc_value v;

	must(kc_db_value(db, rec, attr, &v, &fail));
	return v.present && ck_span_equal(v.bytes, CK_SPAN_TEXT(text));
}

static void
write_back(struct kc_db *db, const char *path)
{
	struct ck_buf bytes = CK_BUF_INIT;
	int fd;

	must(kc_db_serialise(db, false, &bytes, &fail));
	if ((fd = open(path, O_WRONLY | O_TRUNC)) < 0 ||
	    write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n)
		err(25, "%s", path);
	(void)close(fd);
	ck_buf_free(&bytes);
}

static void
item(const char *how, char **names, const uint8_t *bytes, size_t n)
{
	struct kc_value values[MOST];
	uint8_t made[LABEL + 2 * BLOCK];
	struct ck_span data = { bytes, n };
	struct kc_record rec;
	struct kc_db *db = NULL;
	uint32_t number = 0;
	int fd;

	if ((fd = open(names[0], O_RDONLY)) < 0)
		err(25, "%s", names[0]);
	must(kc_db_open_fd(fd, names[0], &db, &fail));
	must(kc_db_begin(db, &fail));
	do
		must(kc_db_next(db, KC_REL_GENERIC, &number, &rec, &fail));
	while (!has(db, &rec, KC_ATTR_SERVICE, names[1]) ||
	    !has(db, &rec, KC_ATTR_ACCOUNT, names[2]));
	must(kc_db_values(db, &rec, values, &fail));
	if (strcmp(how, "block") == 0) {
		block(rec.data, bytes, n, made);
		data = (struct ck_span){ made, sizeof(made) };
	}
	must(kc_db_update(db, KC_REL_GENERIC, rec.number, values, data,
	    &fail));
	write_back(db, names[0]);
	kc_db_free(&db);
	(void)close(fd);
}

static void
seal(const char *file, const uint8_t *bytes, size_t n)
{
	struct ck_secret key = CK_SECRET_INIT, value = CK_SECRET_INIT;
	struct ck_view v = CK_VIEW_INIT;
	struct ck_say say;
	struct ck_place p;
	int fd;

	memset(&say, 0, sizeof(say));
	say.home = getenv("HOME");
	if ((fd = open(file, O_RDONLY)) < 0)
		err(25, "%s", file);
	must(ck_secret_read_fd(fd, 4096, &value, &fail));
	must(ck_secret_copy(bytes, n, &key));
	must(ck_place_resolve(&say, &p, &fail));
	must(ck_view_open(&p, CK_REC_WRITE, &v, &fail));
	must(ck_records_begin(v.rec, &fail));
	must(ck_dedicated_print(&key, &value, v.row.fingerprint, &fail));
	must(ck_records_credential_put(v.rec, &v.row, &fail));
	must(ck_seal_write_key(v.rec, &key, &fail));
	must(ck_records_commit(v.rec, &fail));
	ck_view_close(&v);
	ck_secret_wipe(&value);
	ck_secret_wipe(&key);
}

int
main(int argc, char **argv)
{
	uint8_t bytes[4096];
	ssize_t n;

	must(ck_secret_heap_init((size_t)1 << 20, &fail));
	if ((n = read(0, bytes, sizeof(bytes))) < 0)
		err(25, "standard input");
	if (argc == 5 && (strcmp(argv[1], "plain") == 0 ||
	    strcmp(argv[1], "block") == 0))
		item(argv[1], argv + 2, bytes, (size_t)n);
	else if (argc == 3 && strcmp(argv[1], "seal") == 0)
		seal(argv[2], bytes, (size_t)n);
	else
		errx(2, "usage: ck-forge plain|block FILE SERVICE ACCOUNT, or "
		    "seal VALUE-FILE");
	return 0;
}
