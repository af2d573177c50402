/* SPDX-License-Identifier: Apache-2.0 */
/* Which values a TOML text has, and which texts are none. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "boundary/toml.h"

struct seen {
	char text[4096];
	size_t values, stop;
};

/* a.b=text for each string, a.b:text for others, [] and {} for the rest. */
static ck_err
note(void *arg, const struct ck_toml_value *v)
{
	struct seen *s = arg;
	size_t n = strlen(s->text);
	static const char *const marks[] = { "=", ":", ":", "[]", "{}" };

	for (size_t i = 0; i < v->n; i++)
		n += (size_t)snprintf(s->text + n, sizeof(s->text) - n,
		    "%s%s", i == 0 ? "" : ".", v->part[i]);
	(void)snprintf(s->text + n, sizeof(s->text) - n, "%s%s%s;",
	    v->item ? "@" : "", marks[v->kind], v->text);
	return ++s->values == s->stop ? CK_DAMAGED : CK_OK;
}

static void
reads_as(const char *text, const char *want)
{
	struct seen s = { "", 0, 0 };
	ck_err r = ck_toml_read(text, strlen(text), note, &s);

	if (r != CK_OK || strcmp(s.text, want) != 0)
		fail_msg("%s: %s, %s", text, ck_err_code(r), s.text);
}

static void
is_none(const char *text, ck_err want)
{
	struct seen s = { "", 0, 0 };

	if (ck_toml_read(text, strlen(text), note, &s) != want)
		fail_msg("%s: %s", text, s.text);
}

static void
values_have_their_keys(void **state)
{
	(void)state;
	reads_as("", "");
	reads_as("# only\n\n  \t# comments\r\n", "");
	reads_as("a = 1", "a:1;");
	reads_as("\xef\xbb\xbf" "a = true # yes\n", "a:true;");
	reads_as("a.b . \"c d\" = 'x'\n", "a.b.c d=x;");
	reads_as("[t]\nk = \"v\"\n[ u.'v' ]\nk = 2\n",
	    "t{};t.k=v;u.v{};u.v.k:2;");
	reads_as("[[t]]\nk = 1\n[[t]]\nk = 2\n", "t{};t.k:1;t{};t.k:2;");
	reads_as("a = [1, 'two',\n # three\n \"3\", ]\nb = []\n",
	    "a[];a@:1;a@=two;a@=3;b[];");
	reads_as("a = { b = 1, c.d = \"x\" }\ne = {}\n",
	    "a{};a.b:1;a.c.d=x;e{};");
	reads_as("a = [{ b = 1 }, [2]]\n", "a[];a@{};a.b@:1;a@[];a@:2;");
	reads_as("d = 1979-05-27T07:32:00Z\nf = -1.5e+3\ni = inf\n",
	    "d:1979-05-27T07:32:00Z;f:-1.5e+3;i:inf;");
}

static void
strings_are_what_they_stand_for(void **state)
{
	(void)state;
	reads_as("a = \"\\u0041\\U0001F600\\u00e9\\\"\\\\\"\n",
	    "a=A\xf0\x9f\x98\x80\xc3\xa9\"\\;");
	reads_as("a = 'C:\\x \"q\"'\n", "a=C:\\x \"q\";");
	reads_as("a = \"\"\"\none\\\n   two\"\"\"\n", "a=onetwo;");
	reads_as("a = '''\nb = 'c'\n'''\n", "a=b = 'c'\n;");
	reads_as("a = \"\"\"x\"\"\"\"\"\n", "a=x\"\";");
	reads_as("a = \"\"\nb = ''\n", "a=;b=;");
	reads_as("\"a\\tb\" = 1\n", "a\tb:1;");
}

static void
other_texts_are_refused(void **state)
{
	static const char *const broken[] = { "a", "a =", "a = \n", "= 1",
		"a = 1 b = 2", "a = 'x", "a = \"x\n\"", "a = \"\\q\"",
		"a = \"\\u00\"", "a = \"\\ud800\"", "a = \"\\u0000\"",
		"a = [1", "a = [1 2]", "a = [,]", "a = { b = 1", "a = { , }",
		"a = {\n}", "[a", "[a]]", "[[a]", "[]", "a..b = 1", ".a = 1",
		"a = yes", "a = True", "a b = 1", "a = 1 ]", "a = \x01",
		"# \x7f", "a = \"\"\"x", "\"\"\"a\"\"\" = 1", "a\n= 1" };

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		is_none(broken[i], CK_DAMAGED);
}

static void
limits_are_said(void **state)
{
	char text[3000] = "a = \"";
	struct seen s = { "", 0, 0 };

	(void)state;
	is_none("a.b.c.d.e.f.g.h.i.j.k = 1", CK_UNSUPPORTED);
	is_none("a = [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", CK_UNSUPPORTED);
	memset(text + 5, 'x', CK_TOML_TEXT - 1);
	memcpy(text + 5 + CK_TOML_TEXT - 1, "\"\n", 3);
	assert_int_equal(ck_toml_read(text, strlen(text), note, &s), CK_OK);
	memset(text + 5, 'x', CK_TOML_TEXT);
	memcpy(text + 5 + CK_TOML_TEXT, "\"\n", 3);
	is_none(text, CK_UNSUPPORTED);
	assert_int_equal(ck_toml_read("a\0= 1", 5, note, &s), CK_DAMAGED);
	assert_int_equal(ck_toml_read(NULL, 0, note, &s), CK_OK);
	assert_int_equal(ck_toml_read(text, CK_TOML_MAX + 1, note, &s),
	    CK_UNSUPPORTED);
}

/* A reader that knows enough is not asked again, and its word is the end. */
static void
the_reader_can_end_it(void **state)
{
	struct seen s = { "", 0, 2 };
	static const char text[] = "a = 1\nb = 2\nc = 3\n";

	(void)state;
	assert_int_equal(ck_toml_read(text, strlen(text), note, &s),
	    CK_DAMAGED);
	assert_int_equal(s.values, 2);
}

/* Cut anywhere, a text is a beginning of itself or none; never more. */
static void
a_cut_text_gives_no_other_values(void **state)
{
	static const char text[] = "a = \"x\\u00e9\" # c\n[t.\"u v\"]\n"
	    "k = { l = [1, '''2''', {m = true}] }\nz = 1.5\n";
	struct seen whole = { "", 0, 0 };

	(void)state;
	assert_int_equal(ck_toml_read(text, strlen(text), note, &whole),
	    CK_OK);
	for (size_t n = 0; n < strlen(text); n++) {
		struct seen s = { "", 0, 0 };

		(void)!ck_toml_read(text, n, note, &s);
		assert_true(s.values <= whole.values);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_their_keys),
		cmocka_unit_test(strings_are_what_they_stand_for),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(limits_are_said),
		cmocka_unit_test(the_reader_can_end_it),
		cmocka_unit_test(a_cut_text_gives_no_other_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
