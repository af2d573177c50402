/* SPDX-License-Identifier: Apache-2.0 */
/* The file broker and its lock, with throw-away files. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "help_store.h"
#include "store/bearer.h"
#include "store/broker_file.h"
#include "store/broker_lock.h"
#include "store/json.h"

#define OPERATOR "clankie_operator"

/* Ten providers, one malformed, odd spelling everywhere: what stands before
 * and behind the operator's member, which is between the two. */
static const char before[] =
    "{\n  \"anthropic\" : {\"type\":\"api\",\"key\":\"k-1\" , \"x\":1.50},\n"
    "\t\"email\":{\"type\":\"oauth\",\"access\":\"a\",\"refresh\":\"r\","
    "\"expires\":0,\"new\":[1e5,-0,12345678901234567890123]},\n"
    "  \"broken\": {\"type\":\"api\"},\n"
    "  \"xai\": {\"type\":\"wellknown\",\"key\":\"\\u00e9\",\"token\":\"t\"},"
    "\r\n  \"elevenlabs\": \"\xc3\xa9 }{ \\\" not an object\",\n  ";
static const char behind[] =
    "\"linear\":{\"type\":\"api\",\"key\":\"k\",\"account\":{\"a\":null}},\n"
    "  \"google\": {\"type\":\"api\",\"key\":\"\",\"metadata\":{}},\n"
    "  \"\\u0064iscord_bot\": {\"key\":\"k\",\"type\":\"\\u0061pi\"},\n"
    "  \"clankie_captain\": {\"type\":\"api\",\"key\":\"c\"}\n}  \n\n";

static char *
join(const char *a, const char *b, const char *c, const char *d)
{
	size_t n = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
	char *s = malloc(n);

	assert_non_null(s);
	(void)snprintf(s, n, "%s%s%s%s", a, b, c, d);
	return s;
}

/* The whole file with this value for the operator. */
static char *
file_with(const char *value)
{
	return join(before, "\"clankie\\u005foperator\": ", value, ",\n  ");
}

struct sample {
	char *value;      /* the operator's, made now */
	char *text;       /* the file */
	size_t n;
	struct ck_secret secret;
};

static struct sample
sample(const struct help_store *fx)
{
	struct sample s;
	char *half;

	s.value = hs_bearer();
	half = file_with(s.value);
	s.text = join(half, behind, "", "");
	s.n = strlen(s.text);
	s.secret = hs_secret(s.value);
	free(half);
	hs_write(fx->path, s.text, s.n, 0600);
	return s;
}

static void
sample_free(struct sample *s)
{
	free(s->value);
	free(s->text);
	ck_secret_wipe(&s->secret);
}

static ck_err
erase(const struct help_store *fx, const struct ck_secret *expected,
    struct ck_fail *f)
{
	return ck_broker_file_erase(fx->path, OPERATOR, expected, NULL, f);
}

/* Nothing but the file itself is left in its directory. */
static void
assert_alone(const struct help_store *fx)
{
	assert_int_equal(hs_entries(fx->dir), 1);
}

static void
find_gives_the_raw_value(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_secret out = CK_SECRET_INIT;

	assert_int_equal(ck_broker_file_find(fx->path, " Clankie_Operator// ",
	    &out, NULL), CK_OK);
	assert_true(ck_secret_equal(&out, &s.secret));
	ck_secret_wipe(&out);
	assert_int_equal(ck_broker_file_find(fx->path, "discord_bot", &out,
	    NULL), CK_OK);
	assert_true(hs_is(&out, "{\"key\":\"k\",\"type\":\"\\u0061pi\"}"));
	ck_secret_wipe(&out);
	assert_alone(fx);
	sample_free(&s);
}

static void
find_without_member_is_absent(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_secret out = CK_SECRET_INIT;
	struct ck_fail f = CK_FAIL_INIT;

	assert_int_equal(ck_broker_file_find(fx->path, "nobody", &out, &f),
	    CK_ABSENT);
	assert_string_equal(f.place, fx->path);
	hs_assert_silent(&f, s.value);
	assert_null(out.p);
	sample_free(&s);
}

static void
missing_file_or_directory_is_an_empty_store(void **state)
{
	struct help_store *fx = *state;
	struct ck_secret out = CK_SECRET_INIT;
	char deep[CK_PATH_MAX];

	assert_int_equal(ck_path_join(fx->dir, "none/store", deep, NULL),
	    CK_OK);
	assert_int_equal(ck_broker_file_find(fx->path, OPERATOR, &out, NULL),
	    CK_ABSENT);
	assert_int_equal(ck_broker_file_find(deep, OPERATOR, &out, NULL),
	    CK_ABSENT);
	assert_null(out.p);
	out = hs_secret("{}");
	assert_int_equal(ck_broker_file_erase(deep, OPERATOR, &out, NULL,
	    NULL), CK_ABSENT);
	assert_int_equal(erase(fx, &out, NULL), CK_ABSENT);
	assert_int_equal(hs_entries(fx->dir), 0);
	ck_secret_wipe(&out);
}

static void
provider_ids_are_normalised_or_refused(void **state)
{
	char out[CK_PROVIDER_SIZE] = "kept", big[600];
	struct ck_secret s = CK_SECRET_INIT;
	struct help_store *fx = *state;

	assert_int_equal(ck_broker_provider("\t OpenAI/ \n", out, NULL), CK_OK);
	assert_string_equal(out, "openai");
	assert_int_equal(ck_broker_provider("a/b", out, NULL), CK_OK);
	assert_string_equal(out, "a/b");
	assert_int_equal(ck_broker_provider("", out, NULL), CK_USAGE);
	assert_int_equal(ck_broker_provider(" // ", out, NULL), CK_USAGE);
	assert_int_equal(ck_broker_provider("a\nb", out, NULL), CK_USAGE);
	assert_int_equal(ck_broker_provider("a\x7f", out, NULL), CK_USAGE);
	assert_int_equal(ck_broker_provider("\xc3\x89", out, NULL),
	    CK_UNSUPPORTED);
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	assert_int_equal(ck_broker_provider(big, out, NULL), CK_USAGE);
	assert_string_equal(out, "a/b");
	assert_int_equal(ck_broker_file_find(fx->path, "", &s, NULL),
	    CK_USAGE);
}

#define SPACES \
	"                                                                "
#define SLASHES \
	"////////////////////////////////////////////////////////////////"

/* Two readers could take different members for the same provider. */
static void
other_spelling_of_the_provider_is_damaged(void **state)
{
	static const char *const texts[] = {
		"{\"Clankie_Operator\":{}}",
		"{\"clankie_operator\":{},\"clankie_operator/\":{}}",
		"{\" clankie\\u005foperator\\t\":{}}",
		"{\"clankie_operator\":{},\"clankie\\u005foperator\":{}}",
		/* What JavaScript trims, and lower-cases, beyond ASCII. */
		"{\"\\u00a0clankie_operator\":{}}",
		"{\"\xef\xbb\xbf" "clankie_operator\":{}}",
		"{\"clankie_operator\\u1680\":{}}",
		"{\"\\u2000\\u200aclankie_operator\\u2028\\u2029\":{}}",
		"{\"\\u202f\\u205f\\u3000CLANKIE_OPERATOR//\\ufeff \":{}}",
		"{\"clan\\u212aie_operator\":{}}",
		"{\"CLAN\xe2\x84\xaaIE_OPERATOR/\":{}}",
		/* Longer than any buffer for a provider. */
		"{\"" SPACES SPACES SPACES SPACES "clankie_operator\":{}}",
		"{\"clankie_operator" SLASHES SLASHES SLASHES SLASHES "\":{}}"
	};
	struct help_store *fx = *state;
	struct ck_secret out = CK_SECRET_INIT, old = hs_secret("{}");

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		hs_write(fx->path, texts[i], strlen(texts[i]), 0600);
		assert_int_equal(ck_broker_file_find(fx->path, OPERATOR, &out,
		    NULL), CK_DAMAGED);
		assert_int_equal(erase(fx, &old, NULL), CK_DAMAGED);
		assert_int_equal(ck_broker_file_put(fx->path, OPERATOR, &old,
		    NULL, NULL, NULL), CK_DAMAGED);
		hs_assert_file(fx->path, texts[i], strlen(texts[i]));
		assert_null(out.p);
	}
	ck_secret_wipe(&old);
}

static void
key_that_only_looks_like_the_provider_is_another(void **state)
{
	static const char *const texts[] = {
		"{\"\\u0085clankie_operator\":{}}",
		"{\"clankie_operator\\u200b\":{}}",
		"{\"clankie_operator\\u180e\":{}}",
		"{\"clankie_operator /\":{}}",
		"{\"/clankie_operator\":{}}",
		"{\"clankie_\\u00a0operator\":{}}",
		"{\"clan\\u0138ie_operator\":{}}",
		"{\"clankie_operato\":{},\"clankie_operators\":{}}",
		"{\"\":{},\"\\ufeff\":{},\"/\":{}}"
	};
	struct help_store *fx = *state;
	struct ck_secret out = CK_SECRET_INIT;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		hs_write(fx->path, texts[i], strlen(texts[i]), 0600);
		assert_int_equal(ck_broker_file_find(fx->path, OPERATOR, &out,
		    NULL), CK_ABSENT);
		assert_null(out.p);
	}
}

struct names {
	char text[2048];
	ck_err result;
};

static ck_err
note_name(void *arg, const char *name, const char *type, bool bearer)
{
	struct names *n = arg;

	(void)snprintf(n->text + strlen(n->text),
	    sizeof(n->text) - strlen(n->text), "%s=%s%s ", name, type,
	    bearer ? "!" : "");
	return n->result;
}

static void
names_gives_types_and_never_values(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct names n = { "", CK_OK };
	static const char odd[] = "{\"a\\n\\\\\xc3\xa9\":1}";

	assert_int_equal(ck_broker_file_names(fx->path, note_name, &n, NULL),
	    CK_OK);
	assert_string_equal(n.text, "anthropic=api email=oauth "
	    "broken=malformed xai=wellknown elevenlabs=malformed "
	    "clankie_operator=api! linear=api google=malformed "
	    "discord_bot=api clankie_captain=api ");
	n = (struct names){ "", CK_NO };
	assert_int_equal(ck_broker_file_names(fx->path, note_name, &n, NULL),
	    CK_NO);
	assert_string_equal(n.text, "anthropic=api ");
	hs_write(fx->path, odd, strlen(odd), 0600);
	n = (struct names){ "", CK_OK };
	assert_int_equal(ck_broker_file_names(fx->path, note_name, &n, NULL),
	    CK_OK);
	assert_string_equal(n.text, "a\\x0a\\x5c\\xc3\\xa9=malformed ");
	sample_free(&s);
}

static void
erase_keeps_every_other_byte_and_mode_0600(void **state)
{
	struct help_store *fx = *state;
	static const mode_t masks[] = { 0, 022, 077 };
	char *want = join(before, behind, "", "");

	for (size_t i = 0; i < 3; i++) {
		struct sample s = sample(fx);
		mode_t old = umask(masks[i]);
		ck_err r = erase(fx, &s.secret, NULL);

		(void)umask(old);
		assert_int_equal(r, CK_OK);
		hs_assert_file(fx->path, want, strlen(want));
		assert_int_equal(hs_mode(fx->path), 0600);
		assert_alone(fx);
		/* Gone already: absent, and still the same bytes. */
		assert_int_equal(erase(fx, &s.secret, NULL), CK_ABSENT);
		hs_assert_file(fx->path, want, strlen(want));
		sample_free(&s);
	}
	free(want);
}

static void
erase_accepts_the_same_value_in_another_spelling(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_secret key = CK_SECRET_INIT, other;
	char text[200];

	assert_int_equal(ck_bearer_key(&s.secret, &key), CK_OK);
	(void)snprintf(text, sizeof(text),
	    "{ \"key\": \"%.*s\", \"type\" : \"\\u0061pi\" }", (int)key.n,
	    (const char *)key.p);
	other = hs_secret(text);
	assert_int_equal(erase(fx, &other, NULL), CK_OK);
	ck_secret_wipe(&key);
	ck_secret_wipe(&other);
	sample_free(&s);
}

static void
erase_of_a_changed_value_changes_nothing(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	char *other = hs_bearer();
	struct ck_secret wrong = hs_secret(other);
	struct ck_secret none = hs_secret("");
	struct ck_fail f = CK_FAIL_INIT;

	assert_int_equal(erase(fx, &wrong, &f), CK_CHANGED);
	hs_assert_silent(&f, s.value);
	hs_assert_silent(&f, other);
	assert_int_equal(erase(fx, &none, &f), CK_CHANGED);
	hs_assert_file(fx->path, s.text, s.n);
	assert_alone(fx);
	ck_secret_wipe(&wrong);
	ck_secret_wipe(&none);
	free(other);
	sample_free(&s);
}

/* A torn file is never taken for an empty one and never written. */
static void
file_cut_at_any_length_is_damaged_and_stays(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_secret out = CK_SECRET_INIT;
	size_t whole = (size_t)(strrchr(s.text, '}') - s.text) + 1;
	struct ck_fail f = CK_FAIL_INIT;
	struct names n = { "", CK_OK };

	for (size_t len = 0; len < whole; len++) {
		hs_write(fx->path, s.text, len, 0600);
		assert_int_equal(ck_broker_file_find(fx->path, OPERATOR, &out,
		    &f), CK_DAMAGED);
		hs_assert_silent(&f, s.value);
		assert_int_equal(erase(fx, &s.secret, NULL), CK_DAMAGED);
		assert_int_equal(ck_broker_file_put(fx->path, OPERATOR,
		    &s.secret, NULL, NULL, NULL), CK_DAMAGED);
		assert_int_equal(ck_broker_file_names(fx->path, note_name, &n,
		    NULL), CK_DAMAGED);
		hs_assert_file(fx->path, s.text, len);
	}
	assert_null(out.p);
	assert_string_equal(n.text, "");
	assert_alone(fx);
	sample_free(&s);
}

static void
put_adds_replaces_and_repeats(void **state)
{
	struct help_store *fx = *state;
	struct ck_secret a = hs_secret("{\"type\":\"api\",\"key\":\"1\"}");
	struct ck_secret b = hs_secret("{\"type\":\"api\",\"key\":\"2\"}");
	static const char first[] = "{\n  \"clankie_operator\": "
	    "{\"type\":\"api\",\"key\":\"1\"}\n}\n";
	static const char second[] = "{\n  \"clankie_operator\": "
	    "{\"type\":\"api\",\"key\":\"2\"}\n}\n";
	struct stat was, is;

	assert_int_equal(ck_broker_file_put(fx->path, OPERATOR, &a, NULL,
	    NULL, NULL), CK_OK);
	hs_assert_file(fx->path, first, strlen(first));
	assert_int_equal(hs_mode(fx->path), 0600);
	/* The same again writes nothing. */
	assert_int_equal(stat(fx->path, &was), 0);
	assert_int_equal(ck_broker_file_put(fx->path, OPERATOR, &a, NULL,
	    NULL, NULL), CK_OK);
	assert_int_equal(stat(fx->path, &is), 0);
	assert_int_equal(was.st_ino, is.st_ino);
	/* Another value needs to know the one that is there. */
	assert_int_equal(ck_broker_file_put(fx->path, OPERATOR, &b, NULL,
	    NULL, NULL), CK_CHANGED);
	hs_assert_file(fx->path, first, strlen(first));
	assert_int_equal(ck_broker_file_put(fx->path, OPERATOR, &b, &a, NULL,
	    NULL), CK_OK);
	hs_assert_file(fx->path, second, strlen(second));
	/* An expected value that is gone, or none at all. */
	assert_int_equal(ck_broker_file_put(fx->path, "other", &a, &b, NULL,
	    NULL), CK_CHANGED);
	assert_int_equal(erase(fx, &b, NULL), CK_OK);
	hs_assert_file(fx->path, "{}\n", 3);
	assert_alone(fx);
	ck_secret_wipe(&a);
	ck_secret_wipe(&b);
}

/* Asked beforehand it says what put is going to say, and changes nothing. */
static void
puttable_is_what_put_says(void **state)
{
	struct help_store *fx = *state;
	struct ck_secret a = hs_secret("{\"type\":\"api\",\"key\":\"1\"}");
	struct ck_secret b = hs_secret("{\"type\":\"api\",\"key\":\"2\"}");
	struct ck_secret no_json = hs_secret("[1");
	static const char other[] = "{\"other\":{},\"n\":1}";
	static const char odd[] = "{\"other\":{\"n\":1e999}}";

	assert_int_equal(ck_broker_file_puttable(fx->path, OPERATOR, &a,
	    NULL), CK_OK);
	assert_int_equal(hs_entries(fx->dir), 0);
	hs_write(fx->path, other, strlen(other), 0600);
	assert_int_equal(ck_broker_file_puttable(fx->path, OPERATOR, &a,
	    NULL), CK_OK);
	assert_int_equal(ck_broker_file_puttable(fx->path, OPERATOR,
	    &no_json, NULL), CK_UNSUPPORTED);
	hs_assert_file(fx->path, other, strlen(other));
	assert_int_equal(ck_broker_file_put(fx->path, OPERATOR, &a, NULL,
	    NULL, NULL), CK_OK);
	assert_int_equal(ck_broker_file_puttable(fx->path, OPERATOR, &a,
	    NULL), CK_OK);
	assert_int_equal(ck_broker_file_puttable(fx->path, OPERATOR, &b,
	    NULL), CK_CHANGED);
	hs_write(fx->path, odd, strlen(odd), 0600);
	assert_int_equal(ck_broker_file_puttable(fx->path, OPERATOR, &a,
	    NULL), CK_UNSUPPORTED);
	hs_assert_file(fx->path, odd, strlen(odd));
	assert_alone(fx);
	ck_secret_wipe(&a);
	ck_secret_wipe(&b);
	ck_secret_wipe(&no_json);
}

static void
put_makes_the_directory_closed(void **state)
{
	struct help_store *fx = *state;
	struct ck_secret v = hs_secret("{}");
	char dir[CK_PATH_MAX], path[CK_PATH_MAX], deep[CK_PATH_MAX];
	mode_t old = umask(0);

	assert_int_equal(ck_path_join(fx->dir, "new", dir, NULL), CK_OK);
	assert_int_equal(ck_path_join(dir, "store", path, NULL), CK_OK);
	assert_int_equal(ck_path_join(fx->dir, "x/y/store", deep, NULL),
	    CK_OK);
	assert_int_equal(ck_broker_file_put(path, "a", &v, NULL, NULL, NULL),
	    CK_OK);
	assert_int_equal(ck_broker_file_put(deep, "a", &v, NULL, NULL, NULL),
	    CK_NOSTORE);
	(void)umask(old);
	assert_int_equal(hs_mode(dir), 0700);
	assert_int_equal(hs_mode(path), 0600);
	assert_alone(fx);
	ck_secret_wipe(&v);
}

static void
put_of_a_value_that_is_no_json_is_refused(void **state)
{
	static const char *const values[] = { "", "one", "{", "{}{}", "[" };
	struct help_store *fx = *state;
	struct sample s = sample(fx);

	for (size_t i = 0; i < 5; i++) {
		struct ck_secret v = hs_secret(values[i]);

		assert_int_equal(ck_broker_file_put(fx->path, OPERATOR, &v,
		    &s.secret, NULL, NULL), CK_USAGE);
		ck_secret_wipe(&v);
	}
	hs_assert_file(fx->path, s.text, s.n);
	sample_free(&s);
}

/* What was taken out of a broker goes back in its very bytes, whatever it is. */
static void
put_of_what_was_found_gives_its_bytes_back(void **state)
{
	static const char text[] = "{\"a\":\"x \\u00e9\",\"b\":[1, 2.50],"
	    "\"c\":-0,\"d\":null,\"e\":{ \"k\" :\n[] }}";
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	struct help_store *fx = *state;

	hs_write(fx->path, text, strlen(text), 0600);
	for (size_t i = 0; i < 5; i++) {
		struct ck_secret v = CK_SECRET_INIT, back = CK_SECRET_INIT;

		assert_int_equal(ck_broker_file_find(fx->path, names[i], &v,
		    NULL), CK_OK);
		assert_int_equal(ck_broker_file_could_hold(fx->path, names[i],
		    &v, NULL), CK_OK);
		assert_int_equal(ck_broker_file_erase(fx->path, names[i], &v,
		    NULL, NULL), CK_OK);
		assert_int_equal(ck_broker_file_put(fx->path, names[i], &v,
		    NULL, NULL, NULL), CK_OK);
		assert_int_equal(ck_broker_file_find(fx->path, names[i],
		    &back, NULL), CK_OK);
		assert_true(ck_secret_equal(&v, &back));
		ck_secret_wipe(&v);
		ck_secret_wipe(&back);
	}
	assert_alone(fx);
}

static void
a_value_follows_an_object_or_its_like(void **state)
{
	static const struct {
		const char *before, *value;
		ck_err want;
	} rows[] = {
		{ "{}", "{\"a\":1}", CK_OK },
		{ "\"a\"", " {}\n", CK_OK },
		{ "\"a\"", "\"b\"", CK_OK },
		{ "17", "-3", CK_OK },
		{ "true", "false", CK_OK },
		{ "no JSON", "{}", CK_OK },
		{ "{}", "\"b\"", CK_UNSUPPORTED },
		{ "\"a\"", "17", CK_UNSUPPORTED },
		{ "[1]", "null", CK_UNSUPPORTED },
		{ "no JSON", "no JSON", CK_UNSUPPORTED },
	};
	struct help_store *fx = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ck_secret was = hs_secret(rows[i].before);
		struct ck_secret value = hs_secret(rows[i].value);
		struct ck_fail fail = CK_FAIL_INIT;

		assert_int_equal(ck_broker_file_kind(fx->path, OPERATOR,
		    &value, &was, &fail), rows[i].want);
		assert_int_equal(fail.code, rows[i].want);
		ck_secret_wipe(&was);
		ck_secret_wipe(&value);
	}
	assert_int_equal(hs_entries(fx->dir), 0);
}

/* Whatever is wrong with the place is refused by every function. */
static void
assert_refused(const struct help_store *fx, ck_err want)
{
	struct ck_secret out = CK_SECRET_INIT, v = hs_secret("{}");
	struct names n = { "", CK_OK };
	struct ck_fail f = CK_FAIL_INIT;

	assert_int_equal(ck_broker_file_find(fx->path, "a", &out, &f), want);
	assert_int_equal(f.code, want);
	assert_int_equal(ck_broker_file_names(fx->path, note_name, &n, NULL),
	    want);
	assert_int_equal(erase(fx, &v, NULL), want);
	assert_int_equal(ck_broker_file_put(fx->path, "a", &v, NULL, NULL,
	    NULL), want);
	assert_null(out.p);
	ck_secret_wipe(&v);
}

static void
unsafe_places_are_refused(void **state)
{
	struct help_store *fx = *state;
	static const char text[] = "{\"a\":{}}";
	char other[CK_PATH_MAX];

	assert_int_equal(ck_path_join(fx->dir, "other", other, NULL), CK_OK);
	hs_write(other, text, strlen(text), 0600);
	assert_int_equal(symlink(other, fx->path), 0);
	assert_refused(fx, CK_REFUSED);
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(link(other, fx->path), 0);
	assert_refused(fx, CK_REFUSED);
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(mkfifo(fx->path, 0600), 0);
	assert_refused(fx, CK_REFUSED);
	assert_int_equal(unlink(fx->path), 0);
	assert_int_equal(mkdir(fx->path, 0700), 0);
	assert_refused(fx, CK_REFUSED);
	assert_int_equal(rmdir(fx->path), 0);
	hs_assert_file(other, text, strlen(text));
	assert_int_equal(hs_entries(fx->dir), 1);
}

static void
file_open_to_others_is_refused_with_advice(void **state)
{
	struct help_store *fx = *state;
	static const char text[] = "{\"a\":{}}";
	struct ck_secret out = CK_SECRET_INIT;
	struct ck_fail f = CK_FAIL_INIT;

	hs_write(fx->path, text, strlen(text), 0640);
	assert_refused(fx, CK_REFUSED);
	assert_int_equal(ck_broker_file_find(fx->path, "a", &out, &f),
	    CK_REFUSED);
	assert_non_null(strstr(f.next, "chmod"));
	hs_assert_file(fx->path, text, strlen(text));
	assert_int_equal(chmod(fx->path, 0600), 0);
	assert_int_equal(chmod(fx->dir, 0770), 0);
	assert_refused(fx, CK_REFUSED);
	assert_int_equal(chmod(fx->dir, 0700), 0);
	if (geteuid() != 0) {
		print_message("SKIP: a foreign owner needs root\n");
		return;
	}
	assert_int_equal(chown(fx->path, 12345, 12345), 0);
	assert_refused(fx, CK_REFUSED);
}

static void
larger_than_the_limit_is_unsupported(void **state)
{
	struct help_store *fx = *state;

	hs_write(fx->path, "{}", 2, 0600);
	assert_int_equal(truncate(fx->path, (off_t)CK_BROKER_FILE_MAX + 1), 0);
	assert_refused(fx, CK_UNSUPPORTED);
	assert_alone(fx);
}

static void
full_disk_keeps_the_file_and_leaves_nothing(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct rlimit old, tight;
	struct ck_fail f = CK_FAIL_INIT;
	ck_err r, p;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	tight = old;
	for (rlim_t limit = 0; limit < 400; limit += 130) {
		tight.rlim_cur = limit;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
		r = erase(fx, &s.secret, &f);
		p = ck_broker_file_put(fx->path, "new", &s.secret, NULL, NULL,
		    NULL);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		assert_int_equal(r, CK_NOSPACE);
		assert_int_equal(p, CK_NOSPACE);
		hs_assert_silent(&f, s.value);
		hs_assert_file(fx->path, s.text, s.n);
		assert_alone(fx);
	}
	(void)signal(SIGXFSZ, SIG_DFL);
	sample_free(&s);
}

/* Whatever is left of the secure heap: done, or no memory and no change. */
static void
full_secure_heap_is_no_memory_and_changes_nothing(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_secret hold[64], out = CK_SECRET_INIT;
	size_t n = 0, failed = 0;
	struct ck_fail f = CK_FAIL_INIT;
	ck_err r = CK_NOMEM;

	for (size_t size = (size_t)1 << 23; size >= 32 && n < 64; size /= 2)
		while (n < 64) {
			hold[n] = (struct ck_secret)CK_SECRET_INIT;
			if (ck_secret_alloc(size, &hold[n]) != CK_OK)
				break;
			n++;
		}
	while (n > 0) {
		hs_assert_file(fx->path, s.text, s.n);
		assert_int_equal(ck_broker_file_put(fx->path, OPERATOR,
		    &s.secret, NULL, NULL, NULL) == CK_NOMEM,
		    ck_broker_file_find(fx->path, OPERATOR, &out, NULL) ==
		    CK_NOMEM);
		ck_secret_wipe(&out);
		if ((r = erase(fx, &s.secret, &f)) == CK_OK)
			break;
		assert_int_equal(r, CK_NOMEM);
		assert_int_equal(f.code, CK_NOMEM);
		assert_alone(fx);
		failed++;
		ck_secret_wipe(&hold[--n]);
	}
	assert_int_equal(r, CK_OK);
	assert_true(failed > 1);
	while (n > 0)
		ck_secret_wipe(&hold[--n]);
	sample_free(&s);
}

static void
find_in_the_largest_file(void **state)
{
	struct help_store *fx = *state;
	struct ck_secret out = CK_SECRET_INIT;
	char *big = malloc(CK_BROKER_FILE_MAX);
	const size_t n = CK_BROKER_FILE_MAX;

	assert_non_null(big);
	memset(big, ' ', n);
	memcpy(big, "{\"a\":{\"k\":1},\"b\":\"", 18);
	memset(big + 18, 'x', n - 20);
	memcpy(big + n - 2, "\"}", 2);
	hs_write(fx->path, big, n, 0600);
	assert_int_equal(ck_broker_file_find(fx->path, "a", &out, NULL),
	    CK_OK);
	assert_true(hs_is(&out, "{\"k\":1}"));
	ck_secret_wipe(&out);
	free(big);
}

/* ---- the lock ---- */

static void
lock_path(const struct help_store *fx, char ret[CK_PATH_MAX])
{
	assert_int_equal(ck_path_join(fx->dir, "store.lock", ret, NULL),
	    CK_OK);
}

/* The broker's own lock, touched age seconds ago. */
static void
foreign_lock(const char *path, time_t age)
{
	struct timespec t[2] = { { .tv_sec = time(NULL) - age },
	    { .tv_sec = time(NULL) - age } };

	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
}

static void
foreign_lock_is_busy_in_bound_and_stays(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_fail f = CK_FAIL_INIT;
	char lock[CK_PATH_MAX];
	uint64_t start = ck_clock_mono_ms(), took;

	lock_path(fx, lock);
	foreign_lock(lock, 5);
	assert_int_equal(erase(fx, &s.secret, &f), CK_BUSY);
	took = ck_clock_mono_ms() - start;
	assert_true(took >= CK_BROKER_LOCK_WAIT_MS);
	assert_true(took < CK_BROKER_LOCK_WAIT_MS + 3000);
	assert_string_equal(f.place, lock);
	assert_true(f.next[0] != '\0');
	hs_assert_file(fx->path, s.text, s.n);
	assert_int_equal(hs_mode(lock), 0755);
	sample_free(&s);
}

static void
stale_foreign_lock_is_taken_over(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_broker_lock l = CK_BROKER_LOCK_INIT;
	char lock[CK_PATH_MAX];

	lock_path(fx, lock);
	foreign_lock(lock, CK_BROKER_LOCK_STALE - 5);
	assert_int_equal(ck_broker_lock_file(fx->path, 50, &l, NULL),
	    CK_BUSY);
	assert_false(ck_broker_lock_held(&l));
	assert_int_equal(rmdir(lock), 0);
	foreign_lock(lock, CK_BROKER_LOCK_STALE + 2);
	assert_int_equal(erase(fx, &s.secret, NULL), CK_OK);
	assert_alone(fx);
	sample_free(&s);
}

static void
what_is_no_lock_directory_is_refused(void **state)
{
	struct help_store *fx = *state;
	struct ck_broker_lock l = CK_BROKER_LOCK_INIT;
	struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char lock[CK_PATH_MAX], inside[CK_PATH_MAX];

	lock_path(fx, lock);
	hs_write(lock, "x", 1, 0600);
	assert_int_equal(ck_broker_lock_file(fx->path, 50, &l, NULL),
	    CK_REFUSED);
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(symlink(fx->dir, lock), 0);
	assert_int_equal(ck_broker_lock_file(fx->path, 50, &l, NULL),
	    CK_REFUSED);
	assert_int_equal(unlink(lock), 0);
	foreign_lock(lock, 0);
	assert_int_equal(ck_path_join(lock, "x", inside, NULL), CK_OK);
	hs_write(inside, "x", 1, 0600);
	assert_int_equal(utimensat(AT_FDCWD, lock, old, 0), 0);
	assert_int_equal(ck_broker_lock_file(fx->path, 50, &l, NULL),
	    CK_REFUSED);
	assert_false(ck_broker_lock_held(&l));
	assert_int_equal(hs_entries(lock), 1);
}

/* Run f in a child; its result is the child's exit status. */
static pid_t
spawn(int (*f)(const struct help_store *, int), const struct help_store *fx,
    int arg)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(f(fx, arg));
	assert_true(pid > 0);
	return pid;
}

static int
hold_until_killed(const struct help_store *fx, int ready)
{
	struct ck_broker_lock l = CK_BROKER_LOCK_INIT;

	if (ck_broker_lock_file(fx->path, 1000, &l, NULL) != CK_OK)
		return 1;
	if (write(ready, "x", 1) != 1)
		return 1;
	for (;;)
		(void)pause();
}

static void
lock_of_a_slow_one_is_busy_and_of_a_dead_one_free(void **state)
{
	struct help_store *fx = *state;
	struct ck_broker_lock l = CK_BROKER_LOCK_INIT;
	struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct ck_fail f = CK_FAIL_INIT;
	char lock[CK_PATH_MAX], c;
	int fds[2], status;
	struct stat st;
	uint64_t start;
	pid_t pid;

	lock_path(fx, lock);
	assert_int_equal(pipe(fds), 0);
	pid = spawn(hold_until_killed, fx, fds[1]);
	assert_int_equal(read(fds[0], &c, 1), 1);
	/* However long it has not touched it: flock says that it lives. */
	assert_int_equal(utimensat(AT_FDCWD, lock, old, 0), 0);
	assert_int_equal(ck_broker_lock_file(fx->path, 100, &l, &f), CK_BUSY);
	assert_non_null(strstr(f.why, "clankie-keys"));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	start = ck_clock_mono_ms();
	assert_int_equal(ck_broker_lock_file(fx->path, 1000, &l, NULL),
	    CK_OK);
	assert_true(ck_clock_mono_ms() - start < 500);
	assert_int_equal(stat(lock, &st), 0);
	assert_true(st.st_mtime > time(NULL) - 5);
	ck_broker_lock_release(&l);
	assert_int_equal(hs_entries(fx->dir), 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void
lock_that_was_taken_over_stops_the_write_and_stays(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_broker_lock l = CK_BROKER_LOCK_INIT;
	char lock[CK_PATH_MAX];

	lock_path(fx, lock);
	assert_int_equal(ck_broker_lock_file(fx->path, 50, &l, NULL), CK_OK);
	assert_int_equal(hs_mode(lock), 0500);
	assert_int_equal(ck_broker_lock_touch(&l, NULL), CK_OK);
	assert_int_equal(rmdir(lock), 0);
	foreign_lock(lock, 0);
	assert_int_equal(ck_broker_lock_touch(&l, NULL), CK_CHANGED);
	assert_int_equal(ck_broker_file_erase(fx->path, OPERATOR, &s.secret,
	    &l, NULL), CK_CHANGED);
	hs_assert_file(fx->path, s.text, s.n);
	ck_broker_lock_release(&l);
	assert_false(ck_broker_lock_held(&l));
	assert_int_equal(hs_mode(lock), 0755);
	sample_free(&s);
}

static void
callers_lock_is_used_and_kept(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_broker_lock l = CK_BROKER_LOCK_INIT;
	char lock[CK_PATH_MAX];

	lock_path(fx, lock);
	assert_int_equal(ck_broker_lock_file(fx->path, 50, &l, NULL), CK_OK);
	assert_int_equal(ck_broker_file_erase(fx->path, OPERATOR, &s.secret,
	    &l, NULL), CK_OK);
	assert_int_equal(ck_broker_file_put(fx->path, OPERATOR, &s.secret,
	    NULL, &l, NULL), CK_OK);
	assert_true(ck_broker_lock_held(&l));
	assert_int_equal(hs_mode(lock), 0500);
	ck_broker_lock_release(&l);
	ck_broker_lock_release(&l);
	assert_alone(fx);
	sample_free(&s);
}

/* printf %s bot.clankie.credentials | sha256sum */
#define SERVICE "bot.clankie.credentials"
#define SERVICE_SHA \
    "98dcb80accebc1e13d8d6278dbcd53461aca5a35b6a0ce1f6524417fa885a35e"

static void
keychain_lock_is_taken_only_where_a_broker_lives(void **state)
{
	struct help_store *fx = *state;
	struct ck_broker_lock l = CK_BROKER_LOCK_INIT;
	char path[CK_PATH_MAX], dir[CK_PATH_MAX], want[CK_PATH_MAX];

	assert_int_equal(ck_broker_lock_keychain(fx->dir, SERVICE, 50, &l,
	    NULL), CK_OK);
	assert_false(ck_broker_lock_held(&l));
	assert_int_equal(hs_entries(fx->dir), 0);
	assert_int_equal(ck_broker_lock_touch(&l, NULL), CK_OK);

	assert_int_equal(ck_path_join(fx->dir, ".config", dir, NULL), CK_OK);
	assert_int_equal(mkdir(dir, 0755), 0);
	assert_int_equal(ck_path_join(fx->dir, ".config/clankie", dir, NULL),
	    CK_OK);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(ck_broker_lock_keychain(fx->dir, SERVICE, 50, &l,
	    NULL), CK_OK);
	assert_true(ck_broker_lock_held(&l));
	assert_int_equal(ck_broker_lock_keychain_path(fx->dir, SERVICE, path,
	    NULL), CK_OK);
	assert_int_equal(ck_path_join(dir, "credential-locks/" SERVICE_SHA
	    ".lock", want, NULL), CK_OK);
	assert_string_equal(path, want);
	assert_int_equal(hs_mode(path), 0500);
	ck_broker_lock_release(&l);
	assert_int_equal(ck_path_join(dir, "credential-locks", dir, NULL),
	    CK_OK);
	assert_int_equal(hs_mode(dir), 0700);
	assert_int_equal(hs_entries(dir), 0);
	foreign_lock(path, 0);
	assert_int_equal(ck_broker_lock_keychain(fx->dir, SERVICE, 50, &l,
	    NULL), CK_BUSY);
}

/* ---- several at once ---- */

#define WRITERS 8
#define ROUNDS 6

/* Put ROUNDS providers, and remove every second one again. */
static int
write_many(const struct help_store *fx, int me)
{
	struct ck_secret v = hs_secret("{\"type\":\"api\",\"key\":\"k\"}");
	char name[64];

	for (int i = 0; i < ROUNDS; i++) {
		(void)snprintf(name, sizeof(name), "writer_%d_%d", me, i);
		if (ck_broker_file_put(fx->path, name, &v, NULL, NULL,
		    NULL) != CK_OK)
			return 1;
		if (i % 2 == 1 && ck_broker_file_erase(fx->path, name, &v,
		    NULL, NULL) != CK_OK)
			return 2;
	}
	return 0;
}

static void
parallel_writers_lose_nothing_and_readers_see_whole_files(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_secret out = CK_SECRET_INIT;
	pid_t pid[WRITERS];
	char name[64];
	int left = WRITERS, status;

	for (int i = 0; i < WRITERS; i++)
		pid[i] = spawn(write_many, fx, i);
	while (left > 0) {
		assert_int_equal(ck_broker_file_find(fx->path, OPERATOR, &out,
		    NULL), CK_OK);
		assert_true(ck_secret_equal(&out, &s.secret));
		ck_secret_wipe(&out);
		for (int i = 0; i < WRITERS; i++) {
			if (pid[i] == 0 ||
			    waitpid(pid[i], &status, WNOHANG) != pid[i])
				continue;
			pid[i] = 0;
			left--;
			assert_int_equal(status, 0);
		}
	}
	for (int i = 0; i < WRITERS * ROUNDS; i++) {
		(void)snprintf(name, sizeof(name), "writer_%d_%d", i / ROUNDS,
		    i % ROUNDS);
		assert_int_equal(ck_broker_file_find(fx->path, name, &out,
		    NULL), i % ROUNDS % 2 == 1 ? CK_ABSENT : CK_OK);
		ck_secret_wipe(&out);
	}
	assert_alone(fx);
	sample_free(&s);
}

static int
write_for_ever(const struct help_store *fx, int me)
{
	for (;;)
		if (write_many(fx, me) != 0)
			return 1;
}

/* Killed at any moment, a writer leaves a whole file and a lock that the
 * next one gets. */
static void
killed_writers_leave_a_whole_file_and_a_free_lock(void **state)
{
	struct help_store *fx = *state;
	struct sample s = sample(fx);
	struct ck_secret out = CK_SECRET_INIT;
	struct timespec nap = { 0, 0 };
	uint64_t start;
	int status;
	pid_t pid;

	for (int i = 0; i < 40; i++) {
		pid = spawn(write_for_ever, fx, i);
		nap.tv_nsec = 1000000 + i * 700000;
		(void)nanosleep(&nap, NULL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(ck_broker_file_find(fx->path, OPERATOR, &out,
		    NULL), CK_OK);
		assert_true(ck_secret_equal(&out, &s.secret));
		ck_secret_wipe(&out);
		start = ck_clock_mono_ms();
		assert_int_equal(write_many(fx, 100 + i), 0);
		assert_true(ck_clock_mono_ms() - start < 3000);
	}
	sample_free(&s);
}

#define WITH_FX(f) \
    cmocka_unit_test_setup_teardown(f, help_store_setup, help_store_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FX(find_gives_the_raw_value),
		WITH_FX(find_without_member_is_absent),
		WITH_FX(missing_file_or_directory_is_an_empty_store),
		WITH_FX(provider_ids_are_normalised_or_refused),
		WITH_FX(other_spelling_of_the_provider_is_damaged),
		WITH_FX(key_that_only_looks_like_the_provider_is_another),
		WITH_FX(names_gives_types_and_never_values),
		WITH_FX(erase_keeps_every_other_byte_and_mode_0600),
		WITH_FX(erase_accepts_the_same_value_in_another_spelling),
		WITH_FX(erase_of_a_changed_value_changes_nothing),
		WITH_FX(file_cut_at_any_length_is_damaged_and_stays),
		WITH_FX(put_adds_replaces_and_repeats),
		WITH_FX(puttable_is_what_put_says),
		WITH_FX(put_makes_the_directory_closed),
		WITH_FX(put_of_a_value_that_is_no_json_is_refused),
		WITH_FX(put_of_what_was_found_gives_its_bytes_back),
		WITH_FX(a_value_follows_an_object_or_its_like),
		WITH_FX(unsafe_places_are_refused),
		WITH_FX(file_open_to_others_is_refused_with_advice),
		WITH_FX(larger_than_the_limit_is_unsupported),
		WITH_FX(full_disk_keeps_the_file_and_leaves_nothing),
		WITH_FX(full_secure_heap_is_no_memory_and_changes_nothing),
		WITH_FX(find_in_the_largest_file),
		WITH_FX(foreign_lock_is_busy_in_bound_and_stays),
		WITH_FX(stale_foreign_lock_is_taken_over),
		WITH_FX(what_is_no_lock_directory_is_refused),
		WITH_FX(lock_of_a_slow_one_is_busy_and_of_a_dead_one_free),
		WITH_FX(lock_that_was_taken_over_stops_the_write_and_stays),
		WITH_FX(callers_lock_is_used_and_kept),
		WITH_FX(keychain_lock_is_taken_only_where_a_broker_lives),
		WITH_FX(parallel_writers_lose_nothing_and_readers_see_whole_files),
		WITH_FX(killed_writers_leave_a_whole_file_and_a_free_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
