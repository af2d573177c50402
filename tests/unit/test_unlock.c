/* SPDX-License-Identifier: Apache-2.0 */
/* unlock.json: what is put is got, and nothing unsafe is touched. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "help_store.h"
#include "store/unlock.h"

/* DIR/config/clankie-keys/unlock.json, nothing of it made yet. */
static void
place(const struct help_store *fx, char dir[CK_PATH_MAX],
    char path[CK_PATH_MAX])
{
	assert_int_equal(ck_path_join(fx->dir, "config/clankie-keys", dir,
	    NULL), CK_OK);
	assert_int_equal(ck_path_join(dir, "unlock.json", path, NULL), CK_OK);
}

static void
sample(struct ck_unlock *u)
{
	*u = (struct ck_unlock)CK_UNLOCK_INIT;
	assert_int_equal(ck_unlock_make(&u->password), CK_OK);
	strcpy(u->keychain, "/home/a \"b\\ \xc3\xa9/operator.keychain-db");
	u->generation = UINT64_MAX;
	strcpy(u->signature, "0123456789abcdef0123456789abcdef01234567");
}

static void
assert_same(const struct ck_unlock *a, const struct ck_unlock *b)
{
	assert_true(ck_secret_equal(&a->password, &b->password));
	assert_string_equal(a->keychain, b->keychain);
	assert_true(a->generation == b->generation);
	assert_string_equal(a->signature, b->signature);
	assert_int_equal(a->pending_password.p == NULL,
	    b->pending_password.p == NULL);
	assert_string_equal(a->pending_keychain, b->pending_keychain);
	if (a->pending_password.p != NULL)
		assert_true(ck_secret_equal(&a->pending_password,
		    &b->pending_password));
}

/* No piece of the password in any text of the failure. */
static void
assert_silent(const struct ck_fail *f, const struct ck_secret *password)
{
	char part[13] = "";

	for (size_t i = 0; i + 12 <= password->n; i++) {
		memcpy(part, password->p + i, 12);
		assert_true(strstr(f->place, part) == NULL);
		assert_true(strstr(f->why, part) == NULL);
		assert_true(strstr(f->next, part) == NULL);
	}
}

static void
made_passwords_are_64_hex_and_differ(void **state)
{
	struct ck_secret a = CK_SECRET_INIT, b = CK_SECRET_INIT;

	(void)state;
	assert_int_equal(ck_unlock_make(&a), CK_OK);
	assert_int_equal(ck_unlock_make(&b), CK_OK);
	assert_int_equal(a.n, CK_UNLOCK_PASSWORD_SIZE);
	for (size_t i = 0; i < a.n; i++)
		assert_non_null(memchr("0123456789abcdef", a.p[i], 16));
	assert_false(ck_secret_equal(&a, &b));
	ck_secret_wipe(&a);
	ck_secret_wipe(&b);
}

static void
put_then_get_gives_the_same_and_closed_modes(void **state)
{
	struct help_store *fx = *state;
	char dir[CK_PATH_MAX], path[CK_PATH_MAX], parent[CK_PATH_MAX];
	struct ck_unlock u, got = CK_UNLOCK_INIT;
	mode_t old = umask(0);

	place(fx, dir, path);
	sample(&u);
	assert_int_equal(ck_unlock_put(path, &u, NULL), CK_OK);
	(void)umask(old);
	assert_int_equal(ck_unlock_get(path, &got, NULL), CK_OK);
	assert_same(&u, &got);
	ck_unlock_wipe(&got);
	assert_int_equal(hs_mode(path), 0600);
	assert_int_equal(hs_mode(dir), 0700);
	ck_path_parent(dir, parent);
	assert_int_equal(hs_mode(parent), 0700);
	/* Again, with a pending change, under the other extreme. */
	assert_int_equal(ck_unlock_make(&u.pending_password), CK_OK);
	strcpy(u.pending_keychain, "/new");
	u.generation = 0;
	u.signature[0] = '\0';
	old = umask(077);
	assert_int_equal(ck_unlock_put(path, &u, NULL), CK_OK);
	(void)umask(old);
	assert_int_equal(ck_unlock_get(path, &got, NULL), CK_OK);
	assert_same(&u, &got);
	assert_int_equal(hs_mode(path), 0600);
	assert_int_equal(hs_entries(dir), 1);
	ck_unlock_wipe(&got);
	ck_unlock_wipe(&u);
	assert_null(u.password.p);
}

static void
missing_file_is_no_store(void **state)
{
	struct help_store *fx = *state;
	char dir[CK_PATH_MAX], path[CK_PATH_MAX];
	struct ck_unlock got = CK_UNLOCK_INIT;

	place(fx, dir, path);
	assert_int_equal(ck_unlock_get(path, &got, NULL), CK_NOSTORE);
	assert_int_equal(ck_unlock_remove(path, NULL), CK_NOSTORE);
	assert_int_equal(ck_unlock_get(fx->path, &got, NULL), CK_NOSTORE);
	assert_int_equal(ck_unlock_remove(fx->path, NULL), CK_NOSTORE);
	assert_null(got.password.p);
	assert_int_equal(hs_entries(fx->dir), 0);
}

static void
remove_removes_only_the_file(void **state)
{
	struct help_store *fx = *state;
	char dir[CK_PATH_MAX], path[CK_PATH_MAX];
	struct ck_unlock u, got = CK_UNLOCK_INIT;

	place(fx, dir, path);
	sample(&u);
	assert_int_equal(ck_unlock_put(path, &u, NULL), CK_OK);
	assert_int_equal(ck_unlock_remove(path, NULL), CK_OK);
	assert_int_equal(ck_unlock_get(path, &got, NULL), CK_NOSTORE);
	assert_int_equal(hs_entries(dir), 0);
	ck_unlock_wipe(&u);
}

static void
wrong_shapes_are_not_stored(void **state)
{
	struct help_store *fx = *state;
	char dir[CK_PATH_MAX], path[CK_PATH_MAX];
	struct ck_unlock u;

	place(fx, dir, path);
	for (int i = 0; i < 8; i++) {
		sample(&u);
		switch (i) {
		case 0:
			ck_secret_wipe(&u.password);
			break;
		case 1:
			u.password.n--;
			break;
		case 2:
			u.password.p[3] = 'G';
			break;
		case 3:
			strcpy(u.keychain, "relative");
			break;
		case 4:
			strcpy(u.signature, "\",\"x\":\"");
			break;
		case 5:
			strcpy(u.pending_keychain, "/without/password");
			break;
		case 6:
			assert_int_equal(ck_unlock_make(&u.pending_password),
			    CK_OK);
			break;
		default:
			u.password.p[0] = 'A';
			break;
		}
		assert_int_equal(ck_unlock_put(path, &u, NULL), CK_USAGE);
		u.password.n = i == 1 ? u.password.n + 1 : u.password.n;
		ck_unlock_wipe(&u);
	}
	sample(&u);
	strcpy(u.keychain, "/not/utf-8/\xff");
	assert_int_equal(ck_unlock_put(path, &u, NULL), CK_REFUSED);
	ck_unlock_wipe(&u);
	assert_int_equal(hs_entries(fx->dir), 0);
}

#define PW "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD "{\"version\":1,\"keychain\":\"/k\",\"password\":\"" PW "\","

static void
other_content_is_damaged_or_unsupported(void **state)
{
	static const struct {
		const char *text;
		ck_err want;
	} row[] = {
		{ "", CK_DAMAGED }, { "{}", CK_DAMAGED }, { "[]", CK_DAMAGED },
		{ HEAD "\"generation\":1}", CK_DAMAGED },
		{ HEAD "\"signature\":\"\"}", CK_DAMAGED },
		{ HEAD "\"generation\":-1,\"signature\":\"\"}", CK_DAMAGED },
		{ HEAD "\"generation\":1.0,\"signature\":\"\"}", CK_DAMAGED },
		{ HEAD "\"generation\":\"1\",\"signature\":\"\"}", CK_DAMAGED },
		{ HEAD "\"generation\":18446744073709551616,"
		    "\"signature\":\"\"}", CK_DAMAGED },
		{ HEAD "\"generation\":1,\"signature\":\"xy\"}", CK_DAMAGED },
		{ HEAD "\"generation\":1,\"signature\":\"" PW "00\"}",
		    CK_DAMAGED },
		{ HEAD "\"generation\":1,\"signature\":\"\",\"version\":1}",
		    CK_DAMAGED },
		{ HEAD "\"generation\":1,\"signature\":\"\",\"pending\":{}}",
		    CK_DAMAGED },
		{ HEAD "\"generation\":1,\"signature\":\"\",\"pending\":null}",
		    CK_DAMAGED },
		{ HEAD "\"generation\":1,\"signature\":\"\",\"new\":1}",
		    CK_UNSUPPORTED },
		{ HEAD "\"generation\":1,\"signature\":\"\",\"pending\":{"
		    "\"keychain\":\"/n\",\"password\":\"" PW "\",\"x\":1}}",
		    CK_UNSUPPORTED },
		{ "{\"version\":2,\"keychain\":\"/k\"}", CK_UNSUPPORTED },
		{ "{\"version\":1,\"keychain\":\"k\",\"password\":\"" PW "\","
		    "\"generation\":1,\"signature\":\"\"}", CK_DAMAGED },
		{ "{\"version\":1,\"keychain\":\"/k\\u0000\",\"password\":\"" PW
		    "\",\"generation\":1,\"signature\":\"\"}", CK_DAMAGED },
		{ "{\"version\":1,\"keychain\":\"/k\",\"password\":\"abc\","
		    "\"generation\":1,\"signature\":\"\"}", CK_DAMAGED },
		{ HEAD "\"generation\":1,\"signature\":\"\"}", CK_OK },
	};
	struct help_store *fx = *state;
	struct ck_unlock got = CK_UNLOCK_INIT;
	struct ck_secret pw = hs_secret(PW);

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct ck_fail f = CK_FAIL_INIT;
		ck_err r;

		hs_write(fx->path, row[i].text, strlen(row[i].text), 0600);
		r = ck_unlock_get(fx->path, &got, &f);
		if (r != row[i].want)
			print_error("row %zu\n", i);
		assert_int_equal(r, row[i].want);
		assert_int_equal(f.code, row[i].want);
		assert_silent(&f, &pw);
		assert_int_equal(got.password.p != NULL, r == CK_OK);
		ck_unlock_wipe(&got);
	}
	ck_secret_wipe(&pw);
}

static void
file_cut_at_any_length_is_damaged(void **state)
{
	struct help_store *fx = *state;
	struct ck_unlock u, got = CK_UNLOCK_INIT;
	struct ck_fail f = CK_FAIL_INIT;
	size_t n = 0;
	char *text;

	sample(&u);
	assert_int_equal(ck_unlock_put(fx->path, &u, NULL), CK_OK);
	text = hs_read(fx->path, &n);
	assert_int_equal(text[n - 1], '\n');
	for (size_t len = 0; len < n - 1; len++) {
		hs_write(fx->path, text, len, 0600);
		assert_int_equal(ck_unlock_get(fx->path, &got, &f),
		    CK_DAMAGED);
		assert_silent(&f, &u.password);
		assert_null(got.password.p);
	}
	free(text);
	ck_unlock_wipe(&u);
}

static void
assert_unsafe(const char *path)
{
	struct ck_unlock u, got = CK_UNLOCK_INIT;
	struct ck_fail f = CK_FAIL_INIT;

	sample(&u);
	assert_int_equal(ck_unlock_get(path, &got, &f), CK_REFUSED);
	assert_int_equal(f.code, CK_REFUSED);
	assert_int_equal(ck_unlock_put(path, &u, &f), CK_REFUSED);
	assert_silent(&f, &u.password);
	assert_int_equal(ck_unlock_remove(path, NULL), CK_REFUSED);
	assert_null(got.password.p);
	ck_unlock_wipe(&u);
}

static void
links_and_open_modes_are_refused(void **state)
{
	struct help_store *fx = *state;
	static const char text[] = HEAD "\"generation\":1,\"signature\":\"\"}";
	char other[CK_PATH_MAX], inside[CK_PATH_MAX];

	assert_int_equal(ck_path_join(fx->dir, "other", other, NULL), CK_OK);
	hs_write(other, text, strlen(text), 0600);
	assert_int_equal(symlink(other, fx->path), 0);
	assert_unsafe(fx->path);
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(link(other, fx->path), 0);
	assert_unsafe(fx->path);
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(mkfifo(fx->path, 0600), 0);
	assert_unsafe(fx->path);
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(mkdir(fx->path, 0700), 0);
	assert_unsafe(fx->path);
	assert_int_equal(rmdir(fx->path), 0);
	hs_write(fx->path, text, strlen(text), 0604);
	assert_unsafe(fx->path);
	assert_int_equal(chmod(fx->path, 0600), 0);
	assert_int_equal(chmod(fx->dir, 0755), 0);
	assert_unsafe(fx->path);
	assert_int_equal(chmod(fx->dir, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(fx->path, 12345, 12345), 0);
		assert_unsafe(fx->path);
		assert_int_equal(chown(fx->path, 0, 0), 0);
	} else {
		print_message("SKIP: a foreign owner needs root\n");
	}
	/* A directory reached through a link in its last component. */
	assert_int_equal(unlink(other), 0);
	assert_int_equal(symlink(fx->dir, other), 0);
	assert_int_equal(ck_path_join(other, "store", inside, NULL), CK_OK);
	assert_unsafe(inside);
	hs_assert_file(fx->path, text, strlen(text));
}

static void
full_disk_keeps_the_file(void **state)
{
	struct help_store *fx = *state;
	struct ck_unlock u;
	struct ck_fail f = CK_FAIL_INIT;
	struct rlimit old, tight;
	size_t n = 0;
	char *text;
	ck_err r;

	sample(&u);
	assert_int_equal(ck_unlock_put(fx->path, &u, NULL), CK_OK);
	text = hs_read(fx->path, &n);
	u.generation = 7;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	tight = old;
	tight.rlim_cur = 50;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	r = ck_unlock_put(fx->path, &u, &f);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(r, CK_NOSPACE);
	assert_silent(&f, &u.password);
	hs_assert_file(fx->path, text, n);
	assert_int_equal(hs_entries(fx->dir), 1);
	free(text);
	ck_unlock_wipe(&u);
}

#define WITH_FX(f) \
    cmocka_unit_test_setup_teardown(f, help_store_setup, help_store_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FX(made_passwords_are_64_hex_and_differ),
		WITH_FX(put_then_get_gives_the_same_and_closed_modes),
		WITH_FX(missing_file_is_no_store),
		WITH_FX(remove_removes_only_the_file),
		WITH_FX(wrong_shapes_are_not_stored),
		WITH_FX(other_content_is_damaged_or_unsupported),
		WITH_FX(file_cut_at_any_length_is_damaged),
		WITH_FX(links_and_open_modes_are_refused),
		WITH_FX(full_disk_keeps_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
