/* SPDX-License-Identifier: Apache-2.0 */
/* The records through their own functions. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help_records.h"

/* A bearer's prefix, put together so that no test source has one. */
#define BEARER_LIKE "clankie_" "op_" "x"

static void
missing_records_are_no_store(void **state)
{
	help_records_refused(*state, CK_REC_READ, CK_NOSTORE);
	help_records_refused(*state, CK_REC_WRITE, CK_NOSTORE);
	help_records_alone(*state);
}

static void
created_records_are_sound_and_open_again(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	assert_int_equal(ck_records_check(rec, &fx->fail), CK_OK);
	ck_records_close(&rec);
	assert_null(rec);
	ck_records_close(&rec);
	rec = help_records_open(fx, CK_REC_CREATE);
	assert_int_equal(ck_records_check(rec, &fx->fail), CK_OK);
	ck_records_close(&rec);
	rec = help_records_open(fx, CK_REC_READ);
	assert_int_equal(ck_records_check(rec, &fx->fail), CK_OK);
	ck_records_close(&rec);
	help_records_alone(fx);
}

struct seen {
	size_t n, unknown, readers, writers, bypass;
};

static ck_err
count_principal(void *arg, const struct ck_rec_principal *p)
{
	struct seen *seen = arg;

	seen->n++;
	seen->readers += p->reader;
	seen->writers += p->writer;
	if (strcmp(p->honours, "unknown") == 0)
		seen->unknown++;
	if (strcmp(p->honours, "no") == 0) {
		assert_true(strcmp(p->id, "menu-bar") == 0 ||
		    strcmp(p->id, "api-client-script") == 0);
		seen->bypass++;
	}
	assert_true(p->what[0] != '\0');
	return CK_OK;
}

static void
principals_are_seeded_and_nobody_honours_unless_told(void **state)
{
	static const char *const ids[] = { "service-startup",
	    "authenticator", "dormant-body", "launcher", "tui", "cli",
	    "headless", "rotation", "api-client-script", "supervisor-probe",
	    "local-sandbox-launch", "menu-bar" };
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_rec_principal p;
	struct seen seen = { 0 };

	assert_int_equal(ck_records_principal_each(rec, count_principal,
	    &seen, &fx->fail), CK_OK);
	assert_int_equal(seen.n, sizeof(ids) / sizeof(ids[0]));
	assert_int_equal(seen.bypass, 2);
	assert_int_equal(seen.unknown, seen.n - 2);
	assert_int_equal(seen.readers, 12);
	assert_int_equal(seen.writers, 5);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		assert_int_equal(ck_records_principal_get(rec, ids[i], &p,
		    &fx->fail), CK_OK);

	assert_int_equal(ck_records_principal_honours(rec, "tui", "yes",
	    &fx->fail), CK_OK);
	assert_int_equal(ck_records_principal_honours(rec, "tui", "maybe",
	    &fx->fail), CK_REFUSED);
	assert_int_equal(ck_records_principal_honours(rec, "nobody", "yes",
	    &fx->fail), CK_ABSENT);
	assert_int_equal(ck_records_principal_get(rec, "tui", &p, &fx->fail),
	    CK_OK);
	assert_string_equal(p.honours, "yes");
	assert_int_equal(ck_records_principal_get(rec, "nobody", &p,
	    &fx->fail), CK_ABSENT);
	assert_string_equal(p.id, "tui");
	ck_records_close(&rec);
}

static void
credential_is_kept_and_a_missing_row_leaves_the_output(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_rec_credential c = { 0 }, got;

	help_records_fill(rec);
	ck_records_close(&rec);
	rec = help_records_open(fx, CK_REC_READ);
	assert_int_equal(ck_records_credential_get(rec, "operator", &got,
	    &fx->fail), CK_OK);
	assert_string_equal(got.service, "bot.clankie.credentials");
	assert_string_equal(got.account, "clankie_operator");
	assert_int_equal(got.state, CK_STATE_BROKER);
	assert_int_equal(got.generation, 1);
	memcpy(&c, &got, sizeof(c));
	assert_int_equal(ck_records_credential_get(rec, "other", &got,
	    &fx->fail), CK_ABSENT);
	assert_memory_equal(&c, &got, sizeof(c));
	assert_non_null(strstr(fx->fail.why, "the records have no"));
	/* A handle that reads does not write. */
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_READONLY);
	ck_records_close(&rec);
}

static void
text_that_does_not_fit_or_looks_like_a_bearer_is_refused(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_rec_credential c = { .name = "operator", .generation = 1 };
	struct ck_rec_protected p = { .path = "relative" };
	char *before, *after, big[2048];

	help_records_fill(rec);
	before = help_records_dump(fx);
	memset(c.account, 'a', sizeof(c.account));
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_REFUSED);
	memcpy(c.account, "a\nb", 4);
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_REFUSED);
	memcpy(c.account, BEARER_LIKE, sizeof(BEARER_LIKE));
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_REFUSED);
	assert_null(strstr(fx->fail.why, BEARER_LIKE));
	c.account[0] = '\0';
	memcpy(c.fingerprint, "XYZ", 4);
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_REFUSED);
	c.fingerprint[0] = '\0';
	memcpy(c.name, "a b", 4);
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_REFUSED);
	memcpy(c.name, "a", 2);
	c.generation = UINT64_MAX;
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_REFUSED);
	c.generation = 1;
	c.state = (enum ck_rec_state)9;
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_REFUSED);
	assert_int_equal(ck_records_protected_add(rec, &p, &fx->fail),
	    CK_REFUSED);
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(ck_records_event(rec, "e", big, &fx->fail),
	    CK_REFUSED);
	assert_int_equal(ck_records_event(rec, "e", BEARER_LIKE, &fx->fail),
	    CK_REFUSED);
	assert_int_equal(ck_records_setting_put(rec, "s", big, &fx->fail),
	    CK_REFUSED);
	after = help_records_dump(fx);
	assert_string_equal(before, after);
	free(before);
	free(after);
	ck_records_close(&rec);
}

static void
stores_are_found_again_and_keep_their_kind(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_rec_store s = { 0, CK_KIND_DEDICATED, "/other", 0, 0 };
	struct ck_rec_store got = { 0 };
	int64_t id = 77;

	help_records_fill(rec);
	/* A second custody is refused and the first one named. */
	assert_int_equal(ck_records_store_put(rec, &s, &id, &fx->fail),
	    CK_REFUSED);
	assert_int_equal(id, 77);
	assert_non_null(strstr(fx->fail.why, "operator.keychain-db"));

	assert_int_equal(ck_records_store_by_kind(rec, CK_KIND_FILE_BROKER,
	    &got, &fx->fail), CK_OK);
	assert_int_equal(got.id, 1);
	got.inode = UINT64_MAX;
	got.id = 0;
	assert_int_equal(ck_records_store_put(rec, &got, &id, &fx->fail),
	    CK_OK);
	assert_int_equal(id, 1);
	assert_int_equal(ck_records_store_get(rec, 1, &got, &fx->fail),
	    CK_OK);
	assert_true(got.inode == UINT64_MAX);
	got.kind = CK_KIND_DOTENV;
	assert_int_equal(ck_records_store_put(rec, &got, NULL, &fx->fail),
	    CK_REFUSED);
	got.id = 99;
	assert_int_equal(ck_records_store_put(rec, &got, NULL, &fx->fail),
	    CK_ABSENT);
	assert_int_equal(ck_records_store_by_kind(rec,
	    CK_KIND_LOGIN_KEYCHAIN, &got, &fx->fail), CK_ABSENT);
	s.kind = CK_KIND_FILE_BROKER;
	assert_int_equal(ck_records_store_put(rec, &s, &id, &fx->fail),
	    CK_OK);
	assert_int_equal(ck_records_store_by_kind(rec, CK_KIND_FILE_BROKER,
	    &got, &fx->fail), CK_REFUSED);
	assert_int_equal(ck_records_store_remove(rec, id, &fx->fail), CK_OK);
	assert_int_equal(ck_records_store_remove(rec, id, &fx->fail),
	    CK_ABSENT);
	assert_int_equal(ck_records_store_remove(rec, 1, &fx->fail),
	    CK_REFUSED);
	ck_records_close(&rec);
}

struct order {
	size_t readers, writers, second;
};

static ck_err
dedicated_first(void *arg, const struct ck_rec_precedence *p)
{
	struct order *order = arg;

	assert_string_equal(p->credential, "operator");
	assert_true(p->honours[0] != '\0');
	if (p->rank == 0) {
		assert_int_equal(p->store.kind, CK_KIND_DEDICATED);
		if (strcmp(p->role, "reader") == 0)
			order->readers++;
		else
			order->writers++;
		return CK_OK;
	}
	assert_int_equal(p->rank, 1);
	assert_string_equal(p->role, "reader");
	assert_int_equal(p->store.kind, CK_KIND_FILE_BROKER);
	order->second++;
	return CK_OK;
}

static ck_err
stop_at_once(void *arg, const struct ck_rec_precedence *p)
{
	(void)p;
	++*(int *)arg;
	return CK_NO;
}

static ck_err
broker_only(void *arg, const struct ck_rec_precedence *p)
{
	assert_int_equal(p->rank, 0);
	assert_int_equal(p->store.kind, CK_KIND_FILE_BROKER);
	++*(int *)arg;
	return CK_OK;
}

static void
after_a_migration_everybody_has_the_dedicated_store_first(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct order order = { 0 };
	int n = 0;

	help_records_migrate(rec);
	assert_int_equal(ck_records_precedence_each(rec, NULL, NULL,
	    dedicated_first, &order, &fx->fail), CK_OK);
	assert_int_equal(order.readers, 12);
	assert_int_equal(order.writers, 5);
	assert_int_equal(order.second, 12);
	memset(&order, 0, sizeof(order));
	assert_int_equal(ck_records_precedence_each(rec, "operator", "tui",
	    dedicated_first, &order, &fx->fail), CK_OK);
	assert_int_equal(order.readers + order.second, 2);
	assert_int_equal(ck_records_precedence_each(rec, "other", NULL,
	    stop_at_once, &n, &fx->fail), CK_OK);
	assert_int_equal(n, 0);
	/* A callback's result stops and is passed on. */
	assert_int_equal(ck_records_precedence_each(rec, NULL, NULL,
	    stop_at_once, &n, &fx->fail), CK_NO);
	assert_int_equal(n, 1);
	assert_int_equal(help_records_count(fx, "SELECT count(*) FROM"
	    " reader_order WHERE decides AND kind = 'dedicated'"), 17);
	assert_int_equal(help_records_count(fx, "SELECT count(*) FROM"
	    " reader_order WHERE NOT decides"), 12);
	ck_records_close(&rec);
}

static void
the_way_back_goes_through_restoring(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_rec_credential c;
	char *before, *after;
	int n = 0;

	help_records_migrate(rec);
	before = help_records_dump(fx);
	assert_int_equal(ck_records_credential_get(rec, "operator", &c,
	    &fx->fail), CK_OK);
	assert_int_equal(ck_records_precedence_broker(rec, "operator", 1,
	    &fx->fail), CK_REFUSED);
	c.state = CK_STATE_BROKER;
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_REFUSED);
	after = help_records_dump(fx);
	assert_string_equal(before, after);
	c.state = CK_STATE_RESTORING;
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_OK);
	assert_int_equal(ck_records_precedence_broker(rec, "operator", 1,
	    &fx->fail), CK_OK);
	c.state = CK_STATE_BROKER;
	assert_int_equal(ck_records_credential_put(rec, &c, &fx->fail),
	    CK_OK);
	assert_int_equal(ck_records_precedence_each(rec, NULL, NULL,
	    broker_only, &n, &fx->fail), CK_OK);
	assert_int_equal(n, 17);
	assert_int_equal(ck_records_precedence_dedicated(rec, "operator", 2,
	    1, &fx->fail), CK_REFUSED);
	assert_non_null(strstr(fx->fail.why, "migrating"));
	assert_int_equal(ck_records_precedence_broker(rec, "operator", 2,
	    &fx->fail), CK_REFUSED);
	assert_int_equal(ck_records_precedence_broker(rec, "operator", 9,
	    &fx->fail), CK_ABSENT);
	assert_int_equal(ck_records_precedence_broker(rec, "other", 1,
	    &fx->fail), CK_ABSENT);
	n = 0;
	assert_int_equal(ck_records_precedence_each(rec, NULL, NULL,
	    broker_only, &n, &fx->fail), CK_OK);
	assert_int_equal(n, 17);
	free(before);
	free(after);
	ck_records_close(&rec);
}

static void
rollback_and_close_leave_all_as_it_was(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	char *before, *after;

	before = help_records_dump(fx);
	assert_int_equal(ck_records_begin(rec, &fx->fail), CK_OK);
	assert_int_equal(ck_records_begin(rec, &fx->fail), CK_INTERNAL);
	help_records_fill(rec);
	assert_int_equal(ck_records_event(rec, "e", "d", &fx->fail), CK_OK);
	ck_records_rollback(rec);
	after = help_records_dump(fx);
	assert_string_equal(before, after);
	free(after);
	assert_int_equal(ck_records_commit(rec, &fx->fail), CK_INTERNAL);

	assert_int_equal(ck_records_begin(rec, &fx->fail), CK_OK);
	help_records_fill(rec);
	ck_records_close(&rec);
	after = help_records_dump(fx);
	assert_string_equal(before, after);
	help_records_alone(fx);
	free(before);
	free(after);
}

/* A call that fails inside a transaction takes only itself back. */
static void
failed_call_inside_a_transaction_undoes_only_itself(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_rec_credential c;

	help_records_fill(rec);
	assert_int_equal(ck_records_begin(rec, &fx->fail), CK_OK);
	assert_int_equal(ck_records_setting_put(rec, "a", "1", &fx->fail),
	    CK_OK);
	/* The old rows are gone before the trigger speaks. */
	assert_int_equal(ck_records_precedence_dedicated(rec, "operator", 2,
	    1, &fx->fail), CK_REFUSED);
	assert_int_equal(ck_records_commit(rec, &fx->fail), CK_OK);
	assert_int_equal(help_records_count(fx, "SELECT count(*) FROM"
	    " precedence"), 17);
	assert_int_equal(help_records_count(fx, "SELECT count(*) FROM"
	    " setting"), 1);
	assert_int_equal(ck_records_credential_get(rec, "operator", &c,
	    &fx->fail), CK_OK);
	assert_int_equal(c.state, CK_STATE_BROKER);
	ck_records_close(&rec);
}

static ck_err
ask_again(void *arg, const struct ck_rec_principal *p)
{
	struct seen seen = { 0 };

	(void)p;
	return ck_records_principal_each(arg, count_principal, &seen, NULL);
}

static void
callback_that_calls_its_caller_is_internal(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);

	assert_int_equal(ck_records_principal_each(rec, ask_again, rec,
	    &fx->fail), CK_INTERNAL);
	ck_records_close(&rec);
}

static ck_err
count_protected(void *arg, const struct ck_rec_protected *p)
{
	assert_string_equal(p->path, "/home/u/.clankie-keys");
	assert_true(p->directory);
	assert_true(p->deny_read);
	assert_string_equal(p->why, "again");
	++*(int *)arg;
	return CK_OK;
}

static void
protected_paths_and_settings_are_kept(void **state)
{
	struct help_records *fx = *state;
	struct ck_records *rec = help_records_open(fx, CK_REC_CREATE);
	struct ck_rec_protected p = { "/home/u/.clankie-keys", false, false,
	    "first" };
	char value[8] = "before";
	int n = 0;

	assert_int_equal(ck_records_protected_add(rec, &p, &fx->fail),
	    CK_OK);
	p.directory = p.deny_read = true;
	memcpy(p.why, "again", 6);
	assert_int_equal(ck_records_protected_add(rec, &p, &fx->fail),
	    CK_OK);
	assert_int_equal(ck_records_protected_each(rec, count_protected, &n,
	    &fx->fail), CK_OK);
	assert_int_equal(n, 1);
	assert_int_equal(ck_records_protected_remove(rec, "/nowhere",
	    &fx->fail), CK_ABSENT);
	assert_int_equal(ck_records_protected_remove(rec, p.path, &fx->fail),
	    CK_OK);

	assert_int_equal(ck_records_setting_get(rec, "worker.sandbox", value,
	    sizeof(value), &fx->fail), CK_ABSENT);
	assert_int_equal(ck_records_setting_put(rec, "worker.sandbox",
	    "follow-me", &fx->fail), CK_OK);
	assert_int_equal(ck_records_setting_get(rec, "worker.sandbox", value,
	    sizeof(value), &fx->fail), CK_REFUSED);
	assert_string_equal(value, "before");
	assert_int_equal(ck_records_setting_put(rec, "worker.sandbox", "on",
	    &fx->fail), CK_OK);
	assert_int_equal(ck_records_setting_get(rec, "worker.sandbox", value,
	    sizeof(value), &fx->fail), CK_OK);
	assert_string_equal(value, "on");
	ck_records_close(&rec);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, help_records_setup,       \
	    help_records_teardown)
	const struct CMUnitTest tests[] = {
		CASE(missing_records_are_no_store),
		CASE(created_records_are_sound_and_open_again),
		CASE(principals_are_seeded_and_nobody_honours_unless_told),
		CASE(credential_is_kept_and_a_missing_row_leaves_the_output),
		CASE(text_that_does_not_fit_or_looks_like_a_bearer_is_refused),
		CASE(stores_are_found_again_and_keep_their_kind),
		CASE(after_a_migration_everybody_has_the_dedicated_store_first),
		CASE(the_way_back_goes_through_restoring),
		CASE(rollback_and_close_leave_all_as_it_was),
		CASE(failed_call_inside_a_transaction_undoes_only_itself),
		CASE(callback_that_calls_its_caller_is_internal),
		CASE(protected_paths_and_settings_are_kept)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
