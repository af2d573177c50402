/* SPDX-License-Identifier: Apache-2.0 */
/* The third policy: what may be read and written in both readings of rule
 * order, and both texts byte for byte. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/confine.h"
#include "boundary/policy.h"

static struct ck_confine what;

static void
add(struct ck_confine_path *list, size_t *n, const char *path, bool there,
    bool directory)
{
	memset(&list[*n], 0, sizeof(list[*n]));
	memcpy(list[*n].path, path, strlen(path) + 1);
	list[*n].there = there;
	list[*n].directory = directory;
	++*n;
}

static int
setup(void **state)
{
	(void)state;
	memset(&what, 0, sizeof(what));
	add(what.writable, &what.nwritable, "/h/ws", true, true);
	add(what.writable, &what.nwritable, "/h/more", true, true);
	add(what.mask, &what.nmask, "/h/.aws", true, true);
	add(what.mask, &what.nmask, "/h/.ssh", false, false);
	add(what.mask, &what.nmask, "/h/.aws/inner", true, false);
	add(what.mask, &what.nmask, "/h/key", true, false);
	add(what.protect, &what.nprotect, "/h/ws/a/control", true, true);
	return 0;
}

static bool
allows(const struct ck_policy *p, enum ck_op op, const char *path)
{
	struct ck_verdict s, l;

	assert_int_equal(ck_policy_decide_as(p, CK_MODEL_SPECIFIC, op, path,
	    &s), CK_OK);
	assert_int_equal(ck_policy_decide_as(p, CK_MODEL_LAST, op, path, &l),
	    CK_OK);
	assert_int_equal(s.effect, l.effect);
	return s.effect == CK_ALLOW;
}

static void
the_world_is_read_and_the_workspace_written(void **state)
{
	static const struct {
		enum ck_op op;
		const char *path;
		bool allowed;
	} rows[] = {
		{ CK_OP_READ_DATA, "/etc/hosts", true },
		{ CK_OP_WRITE_DATA, "/etc/hosts", false },
		{ CK_OP_READ_DATA, "/h/other", true },
		{ CK_OP_WRITE_CREATE, "/h/other", false },
		{ CK_OP_WRITE_CREATE, "/h/ws/x", true },
		{ CK_OP_WRITE_UNLINK, "/h/more/x", true },
		{ CK_OP_WRITE_DATA, "/h/ws2/x", false },
		{ CK_OP_READ_DATA, "/h/.aws/credentials", false },
		{ CK_OP_READ_METADATA, "/h/.aws/credentials", true },
		{ CK_OP_READ_DATA, "/h/.ssh/id", false },
		{ CK_OP_READ_DATA, "/h/.sshx", true },
		{ CK_OP_READ_DATA, "/h/key", false },
		{ CK_OP_READ_DATA, "/h/ws/a/control/rule", true },
		{ CK_OP_WRITE_DATA, "/h/ws/a/control/rule", false },
		{ CK_OP_LINK, "/h/ws/a/control/rule", false },
		{ CK_OP_WRITE_UNLINK, "/h/ws/a", false },
		{ CK_OP_WRITE_CREATE, "/h/ws/a/new", true },
		{ CK_OP_NETWORK_OUTBOUND, NULL, false },
		{ CK_OP_EXEC, "/usr/bin/sudo", false },
		{ CK_OP_EXEC, "/usr/bin/env", true },
		{ CK_OP_MOUNT, "/h/ws", false },
	};
	struct ck_policy *p = NULL;

	(void)state;
	assert_int_equal(ck_policy_confine(&what, &p, NULL), CK_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (allows(p, rows[i].op, rows[i].path) != rows[i].allowed)
			fail_msg("%s %s", ck_op_name(rows[i].op),
			    rows[i].path == NULL ? "-" : rows[i].path);
	ck_policy_free(&p);
	what.network = true;
	assert_int_equal(ck_policy_confine(&what, &p, NULL), CK_OK);
	assert_true(allows(p, CK_OP_NETWORK_OUTBOUND, NULL));
	ck_policy_free(&p);
}

static void
expect_golden(const char *path, struct ck_buf *b)
{
	static char golden[64 << 10];
	size_t n;
	FILE *f;

	assert_int_equal(ck_buf_ok(b), CK_OK);
	if (getenv("CK_GOLDEN") != NULL) {
		assert_non_null(f = fopen(path, "we"));
		assert_int_equal(fwrite(b->p, 1, b->n, f), b->n);
		assert_int_equal(fclose(f), 0);
	}
	assert_non_null(f = fopen(path, "re"));
	n = fread(golden, 1, sizeof(golden), f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(n, b->n);
	assert_memory_equal(golden, b->p, n);
	ck_buf_free(b);
}

static void
texts_are_the_golden_ones(void **state)
{
	struct ck_confine_rebuilt *home = &what.rebuilt[0];
	struct ck_buf b = CK_BUF_INIT;

	(void)state;
	assert_int_equal(ck_confine_seatbelt(&what, &b, NULL), CK_OK);
	expect_golden("fixtures/boundary/confine.sb", &b);
	what.nrebuilt = 1;
	memcpy(home->path, "/h", 3);
	assert_non_null(home->entry = calloc(3, sizeof(*home->entry)));
	assert_non_null(home->link = calloc(1, sizeof(*home->link)));
	memcpy(home->entry[0], "ws", 3);
	memcpy(home->entry[1], ".aws", 5);
	memcpy(home->entry[2], "o o", 4);
	home->n = 3;
	memcpy(home->link[0].name, "l", 2);
	memcpy(home->link[0].to, "ws", 3);
	home->nlinks = 1;
	assert_int_equal(ck_confine_bwrap(&what, &b, NULL), CK_OK);
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] == 0)
			b.p[i] = '\n';
	expect_golden("fixtures/boundary/confine.bwrap", &b);
	free(home->entry);
	free(home->link);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
		    the_world_is_read_and_the_workspace_written, setup),
		cmocka_unit_test_setup(texts_are_the_golden_ones, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
