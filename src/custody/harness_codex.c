/* SPDX-License-Identifier: Apache-2.0 */
/* The files that tell Codex what to do; see boundary/codex.h. */
#include "custody/harness_int.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "boundary/codex.h"

/* Directories from the working one up to the root of its repository. */
enum { DIRS_MAX = 32 };

struct world {
	struct ck_codex_layer layer[CK_CODEX_LAYERS];
	char path[CK_CODEX_LAYERS][CK_PATH_MAX];
	uint8_t *text[CK_CODEX_LAYERS];
	size_t n;
	char dir[DIRS_MAX][CK_PATH_MAX];
	const char *trust[DIRS_MAX];
	size_t dirs;
	bool odd;                    /* something did not fit */
};

static void
add(struct world *w, enum ck_codex_kind kind, const char *dir,
    const char *name)
{
	size_t i = w->n;

	if (i == CK_CODEX_LAYERS ||
	    ck_path_join(dir, name, w->path[i], NULL) != CK_OK) {
		w->odd = true;
		return;
	}
	w->layer[i].kind = kind;
	w->layer[i].path = w->path[i];
	if (!ck_harness_text(w->path[i], &w->text[i], &w->layer[i].n))
		return;
	w->layer[i].text = (const char *)w->text[i];
	w->n++;
}

/* --cd is relative to the working directory. */
static bool
working_directory(const struct ck_harness_say *say, const char *said,
    char ret[CK_PATH_MAX])
{
	char path[CK_PATH_MAX];

	if (said == NULL)
		return ck_path_canonical(say->cwd, ret, NULL) == CK_OK;
	if (said[0] != '/')
		return ck_path_join(say->cwd, said, path, NULL) == CK_OK &&
		    ck_path_canonical(path, ret, NULL) == CK_OK;
	return ck_path_canonical(said, ret, NULL) == CK_OK;
}

static bool
is_root(const char *dir)
{
	char path[CK_PATH_MAX];
	struct stat st;

	return ck_path_join(dir, ".git", path, NULL) == CK_OK &&
	    lstat(path, &st) == 0;
}

/* Without a repository only the working directory counts, but the ones above
 * may be trusted, so that they are kept. */
static void
find_dirs(struct world *w, const char *from)
{
	char at[CK_PATH_MAX];
	size_t all = 0;

	memcpy(at, from, strlen(from) + 1);
	for (; all < DIRS_MAX; all++) {
		memcpy(w->dir[all], at, sizeof(at));
		w->trust[all] = w->dir[all];
		if (is_root(at)) {
			w->dirs = all + 1;
			return;
		}
		if (strcmp(at, "/") == 0)
			break;
		ck_path_parent(at, at);
	}
	w->odd = w->odd || all == DIRS_MAX;
	w->dirs = 1;
}

/* The name of a profile is no path. */
static bool
is_name(const char *name)
{
	return name != NULL && name[0] != '\0' && name[0] != '.' &&
	    strchr(name, '/') == NULL;
}

static void
gather(struct world *w, const struct ck_harness_say *say,
    const struct ck_codex_words *words)
{
	char home[CK_PATH_MAX], cwd[CK_PATH_MAX], name[CK_PATH_MAX];

	if (!working_directory(say, words->directory, cwd) ||
	    ck_path_format(home, NULL, "%s%s", say->codex_home != NULL ?
	    say->codex_home : say->home, say->codex_home != NULL ? "" :
	    "/.codex") != CK_OK) {
		w->odd = true;
		return;
	}
	find_dirs(w, cwd);
	add(w, CK_CODEX_MANAGED, "/etc/codex", "managed_config.toml");
	for (size_t i = 0; i < w->dirs; i++)
		add(w, CK_CODEX_PROJECT, w->dir[i], ".codex/config.toml");
	if (is_name(words->profile) && ck_path_format(name, NULL,
	    "%s.config.toml", words->profile) == CK_OK)
		add(w, CK_CODEX_PROFILE, home, name);
	add(w, CK_CODEX_USER, home, "config.toml");
	add(w, CK_CODEX_SYSTEM, "/etc/codex", "config.toml");
	add(w, CK_CODEX_REQUIREMENTS, "/etc/codex", "requirements.toml");
}

/* What an administrator set for macOS is no file that we could read. */
static bool
has_preferences(void)
{
	struct stat st;

	return lstat("/Library/Managed Preferences/com.openai.codex.plist",
	    &st) == 0;
}

void
ck_harness_codex(const struct ck_harness_say *say, int argc, char **argv,
    struct ck_native_answer *ret)
{
	struct world *w = calloc(1, sizeof(*w));
	struct ck_codex_words words;
	struct ck_codex_world world;

	if (w == NULL) {
		ck_native_set(ret, CK_NATIVE_UNDECIDED, "",
		    "there is no memory");
		return;
	}
	ck_codex_words(argc, argv, &words);
	gather(w, say, &words);
	world = (struct ck_codex_world){ argc, argv, w->layer, w->n,
		w->trust, w->dirs, has_preferences() };
	if (w->odd)
		ck_native_set(ret, CK_NATIVE_UNDECIDED, "",
		    "the working directory or CODEX_HOME cannot be followed");
	else
		ck_codex_decide(&world, ret);
	for (size_t i = 0; i < w->n; i++)
		free(w->text[i]);
	free(w);
}
