/* SPDX-License-Identifier: Apache-2.0 */
/* The seal over the records, with a key inside a dedicated keychain. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "custody/dedicated.h"
#include "custody/anchor.h"
#include "custody/seal.h"
#include "help_records.h"
#include "store/unlock.h"

struct fixture {
	struct help_records *h;
	struct ck_place p;
	struct ck_secret password, value, key;
	struct ck_records *rec;
	bool anchored;                   /* anchor is the test's own */
	struct ck_anchor anchor;
};

static const char nonce[] = "00112233445566778899aabbccddeeff";

static int
setup(void **state)
{
	struct fixture *fx = test_calloc(1, sizeof(*fx));
	struct ck_fail *fail;
	void *h = NULL;

	if (help_records_setup(&h) != 0)
		return 1;
	fx->h = h;
	fail = &fx->h->fail;
	memcpy(fx->p.dir, fx->h->dir, sizeof(fx->p.dir));
	(void)snprintf(fx->p.credential, sizeof(fx->p.credential), "operator");
	(void)snprintf(fx->p.service, sizeof(fx->p.service), "a service");
	(void)snprintf(fx->p.account, sizeof(fx->p.account), "an account");
	fx->p.format = CK_FORMAT_OPERATOR_BEARER;
	assert_int_equal(ck_path_join(fx->p.dir, CK_OPERATOR_DIR,
	    fx->p.operator_dir, fail), CK_OK);
	assert_int_equal(ck_path_join(fx->p.operator_dir, CK_KEYCHAIN_FILE,
	    fx->p.keychain, fail), CK_OK);
	assert_int_equal(ck_unlock_make(&fx->password), CK_OK);
	assert_int_equal(ck_bearer_mint(&fx->value), CK_OK);
	assert_int_equal(ck_dedicated_build(&fx->p, fx->h->dirfd, nonce,
	    &fx->password, &fx->value, fail), CK_OK);
	assert_int_equal(ck_dedicated_install(&fx->p, fx->h->dirfd, nonce,
	    fail), CK_OK);
	assert_int_equal(ck_dedicated_read_both(&fx->p, &fx->password, NULL,
	    &fx->key, fail), CK_OK);
	fx->rec = help_records_open(fx->h, CK_REC_CREATE);
	help_records_migrate(fx->rec);
	*state = fx;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *fx = *state;
	void *h = fx->h;

	ck_records_close(&fx->rec);
	ck_secret_wipe(&fx->password);
	ck_secret_wipe(&fx->value);
	ck_secret_wipe(&fx->key);
	(void)unlink(fx->p.keychain);
	(void)rmdir(fx->p.operator_dir);
	test_free(fx);
	return help_records_teardown(&h);
}

/* Seal what is there, with whatever change puts before it. */
static void
seal(struct fixture *fx)
{
	struct ck_fail *fail = &fx->h->fail;

	assert_int_equal(ck_records_begin(fx->rec, fail), CK_OK);
	assert_int_equal(ck_seal_write(&fx->p, fx->rec, &fx->password, fail),
	    CK_OK);
	assert_int_equal(ck_records_commit(fx->rec, fail), CK_OK);
}

static ck_err
check(struct fixture *fx, const struct ck_secret *key)
{
	struct ck_fail *fail = &fx->h->fail;
	ck_err r;

	assert_int_equal(ck_records_begin(fx->rec, fail), CK_OK);
	if (!fx->anchored) {
		memcpy(fx->anchor.signature,
		    "00112233445566778899aabbccddeeff", 33);
		assert_int_equal(ck_anchor_generation(fx->rec,
		    &fx->anchor.generation, fail), CK_OK);
		assert_int_equal(ck_anchor_print(fx->rec, fx->anchor.print,
		    fail), CK_OK);
	}
	r = ck_seal_check(&fx->p, fx->rec, key, &fx->anchor, fail);
	ck_records_rollback(fx->rec);
	return r;
}

static ck_err
check_value(struct fixture *fx)
{
	struct ck_fail *fail = &fx->h->fail;
	ck_err r;

	assert_int_equal(ck_records_begin(fx->rec, fail), CK_OK);
	r = ck_seal_value(&fx->p, fx->rec, &fx->key, &fx->value, fail);
	ck_records_rollback(fx->rec);
	return r;
}

static void
records_as_sealed_are_accepted(void **state)
{
	struct fixture *fx = *state;

	seal(fx);
	assert_int_equal(check(fx, &fx->key), CK_OK);
}

static void
records_without_a_seal_are_damaged(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(check(fx, &fx->key), CK_DAMAGED);
	assert_non_null(strstr(fx->h->fail.why, "no seal"));
}

static void
an_edited_row_is_damaged(void **state)
{
	struct fixture *fx = *state;

	seal(fx);
	assert_int_equal(help_records_sql(fx->h,
	    "UPDATE principal SET what = 'x' WHERE id = 'cli'"), SQLITE_OK);
	assert_int_equal(check(fx, &fx->key), CK_DAMAGED);
	seal(fx);
	assert_int_equal(check(fx, &fx->key), CK_OK);
}

/* Only the last event is in the seal; it vouches for those before it. */
static void
an_edited_event_is_damaged(void **state)
{
	struct fixture *fx = *state;

	for (int i = 0; i < 3; i++)
		assert_int_equal(ck_records_event(fx->rec, "test", "detail",
		    &fx->h->fail), CK_OK);
	seal(fx);
	assert_int_equal(check(fx, &fx->key), CK_OK);
	assert_int_equal(help_records_edit(fx->h,
	    "UPDATE event SET detail = 'x' WHERE seq = 1"), SQLITE_OK);
	assert_int_equal(check(fx, &fx->key), CK_DAMAGED);
	assert_non_null(strstr(fx->h->fail.why, "event 1 was edited"));
	assert_int_equal(ck_records_begin(fx->rec, &fx->h->fail), CK_OK);
	assert_int_equal(ck_seal_rows(&fx->p, fx->rec, &fx->key,
	    NULL, &fx->h->fail), CK_OK);
	ck_records_rollback(fx->rec);
}

static void
another_key_is_damaged(void **state)
{
	struct fixture *fx = *state;
	struct ck_secret other = CK_SECRET_INIT;

	seal(fx);
	assert_int_equal(ck_secret_random(32, &other), CK_OK);
	assert_int_equal(check(fx, &other), CK_DAMAGED);
	ck_secret_wipe(&other);
}

/* A password that does not open the keychain leaves no seal behind. */
static void
a_wrong_password_seals_nothing(void **state)
{
	struct fixture *fx = *state;
	struct ck_secret wrong = CK_SECRET_INIT;

	assert_int_equal(ck_unlock_make(&wrong), CK_OK);
	assert_int_equal(ck_records_begin(fx->rec, &fx->h->fail), CK_OK);
	assert_int_equal(ck_seal_write(&fx->p, fx->rec, &wrong,
	    &fx->h->fail), CK_LOCKED);
	assert_int_equal(ck_records_commit(fx->rec, &fx->h->fail), CK_OK);
	assert_int_equal(help_records_count(fx->h,
	    "SELECT count(*) FROM seal"), 0);
	ck_secret_wipe(&wrong);
}

/* The recorded fingerprint becomes print. */
static void
record(struct fixture *fx, const char *print)
{
	struct ck_rec_credential row;
	struct ck_fail *fail = &fx->h->fail;

	assert_int_equal(ck_records_credential_get(fx->rec, "operator", &row,
	    fail), CK_OK);
	memcpy(row.fingerprint, print, sizeof(row.fingerprint));
	assert_int_equal(ck_records_credential_put(fx->rec, &row, fail),
	    CK_OK);
}

static void
a_value_must_have_the_recorded_fingerprint(void **state)
{
	struct fixture *fx = *state;
	char print[CK_FINGERPRINT_SIZE], other[CK_FINGERPRINT_SIZE];

	assert_int_equal(ck_dedicated_print(&fx->key, &fx->value, print,
	    &fx->h->fail), CK_OK);
	record(fx, print);
	assert_int_equal(check_value(fx), CK_OK);
	memcpy(other, print, sizeof(other));
	other[0] = print[0] == 'a' ? 'b' : 'a';
	record(fx, other);
	assert_int_equal(check_value(fx), CK_DAMAGED);
}

/* The value that a rotation brings in is valid while it is open, not after. */
static void
the_next_value_is_valid_while_its_rotation_is_open(void **state)
{
	struct fixture *fx = *state;
	struct ck_fail *fail = &fx->h->fail;
	char print[CK_FINGERPRINT_SIZE];
	struct ck_rec_journal j;

	assert_int_equal(ck_dedicated_print(&fx->key, &fx->value, print,
	    fail), CK_OK);
	memset(&j, 0, sizeof(j));
	memcpy(j.operation, CK_ROTATE_OPERATION, sizeof(CK_ROTATE_OPERATION));
	memcpy(j.nonce, nonce, sizeof(j.nonce));
	memcpy(j.credential, "operator", sizeof("operator"));
	j.from_generation = 1;
	j.to_generation = 2;
	assert_int_equal(ck_records_setting_put(fx->rec, CK_SEAL_NEXT_SETTING,
	    print, fail), CK_OK);
	assert_int_equal(check_value(fx), CK_DAMAGED);
	assert_int_equal(ck_records_journal_open(fx->rec, &j, fail), CK_OK);
	assert_int_equal(check_value(fx), CK_OK);
	assert_int_equal(ck_records_journal_close(fx->rec, nonce, fail),
	    CK_OK);
	assert_int_equal(check_value(fx), CK_DAMAGED);
}

/* As long as the keychain has its name the sealed records and its value are
 * held to the same, whatever a restore has come to. */
static void
a_restore_needs_seal_and_value_to_its_end(void **state)
{
	struct fixture *fx = *state;
	struct ck_fail *fail = &fx->h->fail;
	char print[CK_FINGERPRINT_SIZE];
	struct ck_rec_credential row;

	assert_int_equal(ck_dedicated_print(&fx->key, &fx->value, print,
	    fail), CK_OK);
	record(fx, print);
	assert_int_equal(ck_records_credential_get(fx->rec, "operator", &row,
	    fail), CK_OK);
	row.state = CK_STATE_RESTORING;
	assert_int_equal(ck_records_credential_put(fx->rec, &row, fail),
	    CK_OK);
	assert_int_equal(check(fx, &fx->key), CK_DAMAGED);
	seal(fx);
	assert_int_equal(check(fx, &fx->key), CK_OK);
	assert_int_equal(check_value(fx), CK_OK);
	assert_int_equal(ck_records_precedence_broker(fx->rec, "operator", 1,
	    fail), CK_OK);
	row.state = CK_STATE_BROKER;
	assert_int_equal(ck_records_credential_put(fx->rec, &row, fail),
	    CK_OK);
	assert_int_equal(check(fx, &fx->key), CK_DAMAGED);
	seal(fx);
	assert_int_equal(check(fx, &fx->key), CK_OK);
	assert_int_equal(check_value(fx), CK_OK);
	row.fingerprint[0] = '\0';
	assert_int_equal(ck_records_credential_put(fx->rec, &row, fail),
	    CK_OK);
	assert_int_equal(check_value(fx), CK_DAMAGED);
}

/* Records sealed with an operation open ("" for none), against an anchor that
 * is off by so many, with that operation noted. */
static ck_err
check_anchor(struct fixture *fx, const char *operation, int off,
    const char *signature, const char *noted)
{
	struct ck_fail *fail = &fx->h->fail;
	struct ck_rec_journal j;
	ck_err r;

	memset(&j, 0, sizeof(j));
	(void)snprintf(j.operation, sizeof(j.operation), "%s", operation);
	memcpy(j.nonce, nonce, sizeof(j.nonce));
	if (operation[0] != '\0')
		assert_int_equal(ck_records_journal_open(fx->rec, &j, fail),
		    CK_OK);
	seal(fx);
	fx->anchored = true;
	assert_int_equal(ck_anchor_generation(fx->rec,
	    &fx->anchor.generation, fail), CK_OK);
	fx->anchor.generation += (uint64_t)(int64_t)off;
	(void)snprintf(fx->anchor.operation, sizeof(fx->anchor.operation),
	    "%s", noted);
	if (strcmp(noted, nonce) == 0)
		assert_int_equal(ck_anchor_note_of(operation, "", nonce,
		    fx->anchor.operation, fail), CK_OK);
	(void)snprintf(fx->anchor.signature, sizeof(fx->anchor.signature),
	    "%s", signature);
	r = check(fx, &fx->key);
	fx->anchored = false;
	if (operation[0] != '\0')
		assert_int_equal(ck_records_journal_close(fx->rec, nonce,
		    NULL), CK_OK);
	return r;
}

static void
records_of_another_day_do_not_fit_the_anchor(void **state)
{
	static const char sig[] = "00112233445566778899aabbccddeeff";
	static const struct {
		const char *operation;
		int low, high;           /* accepted */
		ck_err none;             /* with no keychain noted */
	} table[] = {
		{ "", 0, 0, CK_DAMAGED },
		{ "migrate", -1, 0, CK_OK },
		{ "rotate", 0, 1, CK_DAMAGED },
		{ "rotate --keychain", 0, 0, CK_DAMAGED },
		{ "restore", -1, 0, CK_OK },
		{ "reset --confirm", -1, 0, CK_OK },
		{ "nonsense", 0, 0, CK_DAMAGED },
	};
	struct fixture *fx = *state;

	assert_int_equal(ck_anchor_print(fx->rec, fx->anchor.print, NULL),
	    CK_OK);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		for (int off = -2; off <= 2; off++)
			assert_int_equal(check_anchor(fx, table[i].operation,
			    off, sig, nonce), off >= table[i].low &&
			    off <= table[i].high ? CK_OK : CK_DAMAGED);
		assert_int_equal(check_anchor(fx, table[i].operation, 0, "",
		    nonce), table[i].none);
	}
}

/* A copy of rows with an operation open is put back when it is over. */
static void
an_operation_that_is_not_noted_excuses_nothing(void **state)
{
	static const char sig[] = "00112233445566778899aabbccddeeff";
	static const char *const operations[] = { "migrate", "rotate",
	    "restore", "reset --confirm", "rotate --keychain" };
	/* The last one is of another operation with the same nonce. */
	char other[CK_ANCHOR_NOTE_SIZE];
	const char *const noted[] = { "",
	    "ffffffffffffffffffffffffffffffff", other };
	struct fixture *fx = *state;

	assert_int_equal(ck_anchor_note_of("doctor", "", nonce, other, NULL),
	    CK_OK);
	assert_int_equal(ck_anchor_print(fx->rec, fx->anchor.print, NULL),
	    CK_OK);
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 3; j++) {
			for (int off = -2; off <= 2; off++)
				assert_int_equal(check_anchor(fx,
				    operations[i], off, sig, noted[j]),
				    off == 0 ? CK_OK :
				    CK_DAMAGED);
			assert_int_equal(check_anchor(fx, operations[i], 0,
			    "", noted[j]), CK_DAMAGED);
		}
}

/* As many rotations, and other values. */
static void
values_that_were_not_noted_do_not_fit_the_anchor(void **state)
{
	static const char sig[] = "00112233445566778899aabbccddeeff";
	struct fixture *fx = *state;

	assert_int_equal(ck_anchor_print(fx->rec, fx->anchor.print, NULL),
	    CK_OK);
	assert_int_equal(check_anchor(fx, "", 0, sig, ""), CK_OK);
	fx->anchor.print[0] = fx->anchor.print[0] == '0' ? '1' : '0';
	assert_int_equal(check_anchor(fx, "", 0, sig, ""), CK_DAMAGED);
	assert_int_equal(check_anchor(fx, "rotate", 0, sig, ""), CK_DAMAGED);
	assert_int_equal(check_anchor(fx, "rotate", 0, sig, nonce), CK_OK);
}

/* The one moment without a seal is not made by rows alone. */
static void
no_seal_is_excused_only_while_no_keychain_was_noted(void **state)
{
	struct fixture *fx = *state;
	struct ck_fail *fail = &fx->h->fail;
	struct ck_rec_credential row;
	struct ck_rec_journal j;

	assert_int_equal(ck_records_credential_get(fx->rec, "operator", &row,
	    fail), CK_OK);
	row.state = CK_STATE_MIGRATING;
	assert_int_equal(ck_records_credential_put(fx->rec, &row, fail),
	    CK_OK);
	memset(&j, 0, sizeof(j));
	memcpy(j.operation, "migrate", sizeof("migrate"));
	memcpy(j.nonce, nonce, sizeof(j.nonce));
	memcpy(j.credential, "operator", sizeof("operator"));
	assert_int_equal(ck_records_journal_open(fx->rec, &j, fail), CK_OK);
	assert_int_equal(check(fx, &fx->key), CK_DAMAGED);
	fx->anchored = true;
	memset(&fx->anchor, 0, sizeof(fx->anchor));
	assert_int_equal(check(fx, &fx->key), CK_DAMAGED);
	assert_int_equal(ck_anchor_note_of("migrate", "operator", nonce,
	    fx->anchor.operation, fail), CK_OK);
	assert_int_equal(check(fx, &fx->key), CK_OK);
}

/* An operation of that name is open, and the records have no seal. */
static ck_err
check_open(struct fixture *fx, const char *operation)
{
	struct ck_fail *fail = &fx->h->fail;
	struct ck_rec_journal j;
	ck_err r;

	memset(&j, 0, sizeof(j));
	(void)snprintf(j.operation, sizeof(j.operation), "%s", operation);
	memcpy(j.nonce, nonce, sizeof(j.nonce));
	memcpy(j.credential, "operator", sizeof("operator"));
	assert_int_equal(ck_records_journal_open(fx->rec, &j, fail), CK_OK);
	r = check(fx, &fx->key);
	assert_int_equal(ck_records_journal_close(fx->rec, nonce, NULL),
	    CK_OK);
	return r;
}

/* Either way nothing is accepted; only the reason is another one. */
static void
only_an_open_reset_excuses_a_seal_that_does_not_fit(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(check_open(fx, CK_RESET_OPERATION), CK_BUSY);
	assert_string_equal(fx->h->fail.next,
	    "clankie-keys reset --confirm operator");
	assert_int_equal(check_open(fx, CK_ROTATE_OPERATION), CK_DAMAGED);
	seal(fx);
	assert_int_equal(check_open(fx, CK_RESET_OPERATION), CK_BUSY);
	assert_int_equal(check_open(fx, "reset"), CK_DAMAGED);
	assert_int_equal(check(fx, &fx->key), CK_OK);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_as_sealed_are_accepted),
		TEST(records_without_a_seal_are_damaged),
		TEST(an_edited_row_is_damaged),
		TEST(an_edited_event_is_damaged),
		TEST(another_key_is_damaged),
		TEST(a_wrong_password_seals_nothing),
		TEST(a_value_must_have_the_recorded_fingerprint),
		TEST(the_next_value_is_valid_while_its_rotation_is_open),
		TEST(a_restore_needs_seal_and_value_to_its_end),
		TEST(records_of_another_day_do_not_fit_the_anchor),
		TEST(an_operation_that_is_not_noted_excuses_nothing),
		TEST(values_that_were_not_noted_do_not_fit_the_anchor),
		TEST(no_seal_is_excused_only_while_no_keychain_was_noted),
		TEST(only_an_open_reset_excuses_a_seal_that_does_not_fit),
	};

	if (ck_secret_heap_init((size_t)512 << 10, NULL) != CK_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
