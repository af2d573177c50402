/* SPDX-License-Identifier: Apache-2.0 */
/* Claude Code, Gemini CLI and goose; see harness.h. */
#include "custody/harness_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "store/json.h"

#define TEXT_MAX ((size_t)1 << 20)

static const struct {
	const char *name;
	enum ck_harness harness;
} harnesses[] = {
	{ "codex", CK_HARNESS_CODEX },
	{ "claude", CK_HARNESS_CLAUDE },
	{ "gemini", CK_HARNESS_GEMINI },
	{ "goose", CK_HARNESS_GOOSE },
	{ "goosed", CK_HARNESS_GOOSE },
};

enum ck_harness
ck_harness_of(const char *program)
{
	const char *name = ck_path_base(program);

	for (size_t i = 0; i < sizeof(harnesses) / sizeof(harnesses[0]); i++)
		if (strcmp(name, harnesses[i].name) == 0)
			return harnesses[i].harness;
	return CK_HARNESS_OTHER;
}

const char *
ck_harness_name(enum ck_harness harness)
{
	for (size_t i = 0; i < sizeof(harnesses) / sizeof(harnesses[0]); i++)
		if (harnesses[i].harness == harness)
			return harnesses[i].name;
	return "other";
}

bool
ck_harness_text(const char *path, uint8_t **ret, size_t *ret_n)
{
	char real[CK_PATH_MAX];
	struct stat st;
	int fd = -1;

	*ret = NULL;
	*ret_n = 0;
	if (lstat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR))
		return false;
	if (ck_path_canonical(path, real, NULL) == CK_OK &&
	    ck_io_open_file(AT_FDCWD, real, real, 0, &fd, NULL,
	    NULL) == CK_OK && ck_io_read_all(fd, TEXT_MAX, real, ret, ret_n,
	    NULL) != CK_OK)
		*ret = NULL;
	ck_io_close(&fd);
	return true;
}

/* The value of key in table in a JSON text; key alone with table NULL.  *ret
 * is empty when it is not there. */
static bool
json_value(struct ck_span text, const char *table, const char *key,
    struct ck_span *ret)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;
	const struct ck_json_member *m;
	struct ck_span inner = CK_SPAN_NONE;

	if (ck_json_scan(text, "", &o, NULL) != CK_OK)
		return false;
	m = ck_json_member(&o, table != NULL ? table : key);
	if (m != NULL)
		inner = m->value;
	ck_json_object_free(&o);
	if (table != NULL && inner.n > 0)
		return json_value(inner, NULL, key, ret);
	*ret = inner;
	return true;
}

/* A switch in one place: not set, off, on; or not to be understood. */
enum toggle { UNSET, OFF, ON, UNCLEAR };

static enum toggle
toggle_of(struct ck_span text, const char *table, const char *key,
    bool names)
{
	struct ck_span v = CK_SPAN_NONE;

	if (!json_value(text, table, key, &v))
		return UNCLEAR;
	if (v.n == 0)
		return UNSET;
	if (v.n == 4 && memcmp(v.p, "true", 4) == 0)
		return ON;
	if (v.n == 5 && memcmp(v.p, "false", 5) == 0)
		return OFF;
	/* The name of a sandbox, or of its file. */
	return names && v.p[0] == '"' && v.n > 2 ? ON : UNCLEAR;
}

static enum toggle
toggle_in(const char *path, const char *table, const char *key, bool names)
{
	uint8_t *text = NULL;
	size_t n = 0;
	enum toggle t;

	if (!ck_harness_text(path, &text, &n))
		return UNSET;
	t = text == NULL ? UNCLEAR :
	    toggle_of((struct ck_span){ text, n }, table, key, names);
	free(text);
	return t;
}

/* The first place that sets it decides; false: it does not. */
static bool
decides(enum toggle t, const char *place, struct ck_native_answer *ret)
{
	switch (t) {
	case UNSET:
		return false;
	case OFF:
		ck_native_set(ret, CK_NATIVE_FULL, place,
		    "turns its sandbox off");
		return true;
	case ON:
		ck_native_set(ret, CK_NATIVE_OWN, place,
		    "turns its sandbox on; that hides nothing from reading");
		return true;
	case UNCLEAR:
		break;
	}
	ck_native_set(ret, CK_NATIVE_UNDECIDED, place,
	    "cannot be read or understood");
	return true;
}

static bool
file_decides(const char *dir, const char *name, const char *table,
    const char *key, bool names, struct ck_native_answer *ret)
{
	char path[CK_PATH_MAX];

	if (ck_path_join(dir, name, path, NULL) != CK_OK)
		return decides(UNCLEAR, dir, ret);
	return decides(toggle_in(path, table, key, names), path, ret);
}

/* Several managed files in a directory are merged in their order; we do not
 * follow that. */
static bool
is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* --settings FILE, or JSON */
static bool
claude_option(const struct ck_harness_say *say, int argc, char **argv,
    struct ck_native_answer *ret)
{
	static const char option[] = "--settings";
	const size_t n = sizeof(option) - 1;
	const char *value = NULL;

	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strncmp(argv[i], option, n) != 0)
			continue;
		if (argv[i][n] == '=')
			value = argv[i] + n + 1;
		else if (argv[i][n] == '\0' && i + 1 < argc)
			value = argv[++i];
	}
	if (value == NULL)
		return false;
	if (value[strspn(value, " \t\r\n")] == '{')
		return decides(toggle_of(CK_SPAN_TEXT(value), "sandbox",
		    "enabled", false), option, ret);
	if (value[0] == '/')
		return decides(toggle_in(value, "sandbox", "enabled",
		    false), value, ret);
	return file_decides(say->cwd, value, "sandbox", "enabled", false,
	    ret);
}

static void
claude(const struct ck_harness_say *say, int argc, char **argv,
    struct ck_native_answer *ret)
{
	static const char *const managed[] = { "/etc/claude-code",
		"/Library/Application Support/ClaudeCode" };
	static const char table[] = "sandbox", key[] = "enabled";
	char dir[CK_PATH_MAX], more[CK_PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		if (ck_path_join(managed[i], "managed-settings.d", more,
		    NULL) == CK_OK && is_directory(more)) {
			(void)decides(UNCLEAR, more, ret);
			return;
		}
		if (file_decides(managed[i], "managed-settings.json", table,
		    key, false, ret))
			return;
	}
	if (ck_path_format(dir, NULL, "%s%s", say->claude_config_dir != NULL ?
	    say->claude_config_dir : say->home, say->claude_config_dir !=
	    NULL ? "" : "/.claude") != CK_OK) {
		(void)decides(UNCLEAR, "CLAUDE_CONFIG_DIR", ret);
		return;
	}
	if (claude_option(say, argc, argv, ret) ||
	    file_decides(say->cwd, ".claude/settings.local.json", table, key,
	    false, ret) ||
	    file_decides(say->cwd, ".claude/settings.json", table, key, false,
	    ret) ||
	    file_decides(dir, "settings.json", table, key, false, ret))
		return;
	ck_native_set(ret, CK_NATIVE_FULL, "", "nothing turns its sandbox on");
}

/* A variable, or the value of an option, in the usual spellings. */
static enum toggle
spelled(const char *text)
{
	if (text == NULL || text[0] == '\0')
		return UNSET;
	if (strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
		return OFF;
	return ON;
}

static bool
gemini_option(int argc, char **argv, struct ck_native_answer *ret)
{
	enum toggle t = UNSET;

	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "-s") == 0 ||
		    strcmp(argv[i], "--sandbox") == 0)
			t = i + 1 < argc && strcmp(argv[i + 1], "false") == 0 ?
			    OFF : ON;
		else if (strcmp(argv[i], "--no-sandbox") == 0)
			t = OFF;
		else if (strncmp(argv[i], "--sandbox=", 10) == 0)
			t = spelled(argv[i] + 10);
	}
	return decides(t, "--sandbox", ret);
}

static void
gemini(const struct ck_harness_say *say, int argc, char **argv,
    struct ck_native_answer *ret)
{
	const char *const dirs[] = { say->cwd, say->home };

	if (decides(spelled(say->gemini_sandbox), "GEMINI_SANDBOX", ret) ||
	    gemini_option(argc, argv, ret))
		return;
	for (size_t i = 0; i < 2; i++)
		if (file_decides(dirs[i], ".gemini/settings.json", "tools",
		    "sandbox", true, ret) ||
		    file_decides(dirs[i], ".gemini/settings.json", NULL,
		    "sandbox", true, ret))
			return;
	ck_native_set(ret, CK_NATIVE_FULL, "", "nothing turns its sandbox on");
}

/* The desktop application has one, on macOS; the command line has none. */
static void
goose(const struct ck_harness_say *say, struct ck_native_answer *ret)
{
	const char *text = say->goose_sandbox;
	bool on = text != NULL && (strcmp(text, "true") == 0 ||
	    strcmp(text, "1") == 0);

	ck_native_set(ret, on ? CK_NATIVE_OWN : CK_NATIVE_FULL,
	    "GOOSE_SANDBOX", on ?
	    "turns its sandbox on; that hides nothing from reading" :
	    "does not turn its sandbox on");
}

void
ck_harness_decide(enum ck_harness harness, const struct ck_harness_say *say,
    int argc, char **argv, struct ck_native_answer *ret)
{
	switch (harness) {
	case CK_HARNESS_CODEX:
		ck_harness_codex(say, argc, argv, ret);
		return;
	case CK_HARNESS_CLAUDE:
		claude(say, argc, argv, ret);
		return;
	case CK_HARNESS_GEMINI:
		gemini(say, argc, argv, ret);
		return;
	case CK_HARNESS_GOOSE:
		goose(say, ret);
		return;
	case CK_HARNESS_OTHER:
		break;
	}
	ck_native_set(ret, CK_NATIVE_FULL, "",
	    "is no harness that is known to confine itself");
}
