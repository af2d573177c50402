/* SPDX-License-Identifier: Apache-2.0 */
/* Policies and cases from a seed; see agree.h. */
#include "agree.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TEN "0123456789"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const char *const homes[] = { "home", "o n e", "q\"uo'te",
	"back\\slash", "caf\xC3\xA9", "cafe\xCC\x81", "(p;#)", LONG };
static const char *const names[] = { "secret", ".env.local", "a b", "\"q\"",
	"b\\s", "it's", "\xC3\xA9.json", "e\xCC\x81", "x;y#", "(z)", "[a].*",
	"$HOME", LONG, "\xF0\x9F\x94\x91", "UPPER.db", "-dash" };
static const char *const parents[] = { "", "", "src", "src/app",
	".config/x y", "deep/" LONG "/" LONG "/" LONG };

enum kind {
	CLOSED_DIR, CLOSED_FILE, BROKER, KEPT_FILE, KEPT_DIR, MISSING_FILE,
	MISSING_DIR, OWN_FILE, KINDS
};

static const struct {
	bool directory, deny_read, close_parent, own_parent, there;
} kinds[KINDS] = {
	[CLOSED_DIR] = { true, true, false, false, true },
	[CLOSED_FILE] = { false, true, false, false, true },
	[BROKER] = { false, true, true, false, true },
	[KEPT_FILE] = { false, false, false, false, true },
	[KEPT_DIR] = { true, false, false, false, true },
	[MISSING_FILE] = { false, true, false, false, false },
	[MISSING_DIR] = { true, true, false, false, false },
	[OWN_FILE] = { false, true, false, true, true },
};

static uint32_t
roll(uint32_t *seed, size_t n)
{
	if (n == 0)
		errx(2, "nothing to choose from");
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 16) % (uint32_t)n;
}

static void
put(char *ret, size_t room, const char *a, const char *b, const char *c)
{
	int n = snprintf(ret, room, "%s%s%s", a, b, c);

	if (n < 0 || (size_t)n >= room)
		errx(2, "%s%s%s: too long", a, b, c);
}

static void
make_dirs(const char *path)
{
	char text[AG_RAW];

	put(text, sizeof(text), path, "", "");
	for (char *at = text + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		if (mkdir(text, 0700) == 0)
			(void)!setxattr(text, AG_XATTR, "x", 1, 0);
		else if (errno != EEXIST)
			err(2, "%s", text);
		*at = '/';
	}
}

static void
make_file(const char *a, const char *b, const char *c)
{
	char path[AG_RAW];
	int fd;

	put(path, sizeof(path), a, b, c);
	make_dirs(path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "#\n", 2) != 2)
		err(2, "%s", path);
	(void)!fsetxattr(fd, AG_XATTR, "x", 1, 0);
	(void)close(fd);
}

/* What is there of a member and around it. */
static void
make_member(const struct ck_protect *what, bool there)
{
	char dir[CK_PATH_MAX];

	ck_path_parent(what->path, dir);
	make_file(dir, "/", "beside");
	make_file(what->path, "2", "");
	if (there && what->directory) {
		make_file(what->path, "/in", "");
		make_file(what->path, "/sub/deep", "");
	} else if (there) {
		make_file(what->path, "", "");
		make_file(what->path, ".tmp-ab", "");
	}
}

static struct ck_protect *
add_member(struct ag_policy *a, enum kind kind, const char *dir,
    const char *name)
{
	struct ck_protect *what = &a->set[a->n];

	memset(what, 0, sizeof(*what));
	put(what->path, sizeof(what->path), dir, "/", name);
	what->directory = kinds[kind].directory;
	what->deny_read = kinds[kind].deny_read;
	what->close_parent = kinds[kind].close_parent;
	what->own_parent = kinds[kind].own_parent;
	a->there[a->n++] = kinds[kind].there;
	return what;
}

/* The first is a closed directory, without which a plan has no mask. */
static void
make_set(struct ag_policy *a, uint32_t *seed)
{
	size_t more = 2 + roll(seed, 3), name = roll(seed, AG_COUNT(names));
	char dir[CK_PATH_MAX];

	add_member(a, CLOSED_DIR, a->home, names[name]);
	if (roll(seed, 2) == 0) {
		put(dir, sizeof(dir), a->set[0].path, "/sub", "");
		add_member(a, CLOSED_FILE, dir, "deep");
	}
	for (size_t i = 1; i <= more; i++) {
		enum kind kind = (enum kind)roll(seed, KINDS);
		/* The interpreter's memory is too small for very long paths in
		 * either case. */
		const char *parent = parents[roll(seed, AG_COUNT(parents) -
		    (a->options.fold ? 1 : 0))];
		char own[16];

		(void)snprintf(own, sizeof(own), "own%zu", i);
		if (kind == BROKER || kind == OWN_FILE)
			parent = own;
		put(dir, sizeof(dir), a->home, parent[0] == '\0' ? "" : "/",
		    parent);
		name = (name + 1) % AG_COUNT(names);
		add_member(a, kind, dir, names[name]);
		if (kind == BROKER && roll(seed, 2) == 0)
			add_member(a, KEPT_FILE, dir, "settings.json");
	}
}

enum { PATHS_MAX = 256, PATHS = 20 };
struct paths {
	size_t n;
	struct ag_case at[PATHS_MAX];
};

static void
add_path(struct paths *p, const char *a, const char *b, const char *c)
{
	struct ag_case *to = &p->at[p->n];
	size_t i = 0;

	put(to->path, sizeof(to->path), a, b, c);
	memcpy(to->raw, to->path, sizeof(to->raw));
	to->firmlink = strncmp(to->path, AG_FIRMLINK "/",
	    sizeof(AG_FIRMLINK)) == 0;
	while (i < p->n && strcmp(p->at[i].path, to->path) != 0)
		i++;
	if (i == p->n && ++p->n == PATHS_MAX)
		errx(2, "more paths than fit");
}

/* The last component in the other case. */
static void
add_upper(struct paths *p, const char *path)
{
	char text[CK_PATH_MAX];

	put(text, sizeof(text), path, "", "");
	for (char *at = strrchr(text, '/'); *at != '\0'; at++)
		if (*at >= 'a' && *at <= 'z')
			*at = (char)(*at - 'a' + 'A');
	add_path(p, text, "", "");
}

static void
around(struct paths *p, const struct ag_policy *a, const char *path)
{
	static const char *const tails[] = { "", "2", "/in", "/sub",
		"/sub/deep", "/new", ".tmp-ab", ".tmp-new", ".sb-1a2b-c",
		".4711.u.tmp", ".lock", ".lock/x", "-old" };
	char dir[CK_PATH_MAX];

	for (size_t i = 0; i < AG_COUNT(tails); i++)
		add_path(p, path, tails[i], "");
	add_path(p, AG_FIRMLINK, path, "");
	add_path(p, AG_FIRMLINK, path, "/x");
	add_upper(p, path);
	/* One byte less, and both forms of an accent. */
	put(dir, sizeof(dir), path, "", "");
	dir[strlen(dir) - 1] = '\0';
	if (((unsigned char)dir[strlen(dir) - 1] & 0x80) == 0 &&
	    dir[strlen(dir) - 1] != '/')
		add_path(p, dir, "", "");
	for (ck_path_parent(path, dir); ck_path_under(dir, a->home);
	    ck_path_parent(dir, dir)) {
		add_path(p, dir, "", "");
		add_path(p, dir, "/", "beside");
		add_path(p, dir, "/", "\xC3\xA9");
		add_path(p, dir, "/", "e\xCC\x81");
	}
	add_path(p, dir, "", "");
}

/* The same place in other words: through the link, with dots and slashes.  No
 * case is about the directories that the dots go through. */
static void
respell(const struct ag_policy *a, uint32_t *seed, struct ag_case *c)
{
	const char *rest = c->path + strlen(a->home);

	/* Not the home alone, or a call would be about the link itself. */
	if (c->firmlink || !ck_path_under(c->path, a->home) || rest[0] == '\0')
		return;
	switch (roll(seed, 6)) {
	case 0:
		put(c->raw, sizeof(c->raw), a->link, rest, "");
		break;
	case 1:
		put(c->raw, sizeof(c->raw), a->home, "/.//", rest);
		break;
	case 2:
		put(c->raw, sizeof(c->raw), a->home, "/dots/..", rest);
		break;
	case 3:
		put(c->raw, sizeof(c->raw), a->link, "/dots/in/../../", rest);
		break;
	default:
		break;
	}
}

/* Operations in the order they are asked: those that Linux has come more
 * often among the first. */
static void
shuffle_ops(uint32_t *seed, enum ck_op ret[], size_t n)
{
	for (size_t i = n; i-- > 1;) {
		size_t k = roll(seed, i + 1);
		enum ck_op op = ret[i];

		ret[i] = ret[k];
		ret[k] = op;
	}
	for (size_t i = 0; i < n; i++)
		if (!ag_has_call(ret[i]) && roll(seed, 2) == 0) {
			enum ck_op op = ret[i];

			memmove(ret + i, ret + i + 1,
			    (n - i - 1) * sizeof(*ret));
			ret[n - 1] = op;
		}
}

static void
make_cases(struct ag_policy *a, uint32_t *seed)
{
	static const enum ck_op all[] = { CK_OP_READ_DATA,
		CK_OP_READ_METADATA, CK_OP_READ_XATTR, CK_OP_WRITE_ACL,
		CK_OP_WRITE_CREATE, CK_OP_WRITE_DATA, CK_OP_WRITE_FINDERINFO,
		CK_OP_WRITE_FLAGS, CK_OP_WRITE_MODE, CK_OP_WRITE_OWNER,
		CK_OP_WRITE_SETUGID, CK_OP_WRITE_TIMES, CK_OP_WRITE_UNLINK,
		CK_OP_WRITE_XATTR, CK_OP_CLONE, CK_OP_LINK,
		CK_OP_MAP_EXECUTABLE, CK_OP_MOUNT, CK_OP_EXISTENCE,
		CK_OP_NETWORK_OUTBOUND, CK_OP_READ_ANY, CK_OP_WRITE_ANY };
	static struct paths p;
	enum ck_op ops[PATHS][AG_COUNT(all)];

	p.n = 0;
	for (size_t i = 0; i < a->n; i++)
		around(&p, a, a->set[i].path);
	for (size_t i = 0; i < PATHS; i++) {
		size_t k = i + roll(seed, p.n - i);
		struct ag_case c = p.at[i];

		p.at[i] = p.at[k];
		p.at[k] = c;
		respell(a, seed, &p.at[i]);
		memcpy(ops[i], all, sizeof(all));
		shuffle_ops(seed, ops[i], AG_COUNT(all));
	}
	for (size_t i = 0; i < AG_EACH; i++) {
		size_t k = i * PATHS / AG_EACH;
		size_t first = (k * AG_EACH + PATHS - 1) / PATHS;

		a->cases[i] = p.at[k];
		a->cases[i].op = ops[k][i - first];
	}
}

void
ag_policy(uint32_t seed, size_t i, const char *root, bool disk,
    struct ag_policy *ret)
{
	char dir[CK_PATH_MAX];
	bool mac = i / 4 % 8 == 0;

	memset(ret, 0, sizeof(*ret));
	seed = seed * 2654435761u + (uint32_t)i * 40503u;
	(void)snprintf(dir, sizeof(dir), "%s/%02zu", root, i);
	put(ret->home, sizeof(ret->home), dir, "/",
	    homes[roll(&seed, AG_COUNT(homes))]);
	put(ret->link, sizeof(ret->link), dir, "/", "way");
	ret->options = (struct ck_worker_options){ ret->home,
		mac || i / 4 % 4 == 1, mac };
	make_set(ret, &seed);
	make_cases(ret, &seed);
	if (!disk)
		return;
	make_file(ret->home, "/src/app/", "beside");
	make_file(ret->home, "/dots/in/", "x");
	make_file(ret->home, "/", "\xC3\xA9");
	if (symlink(ret->home, ret->link) != 0)
		err(2, "%s", ret->link);
	for (size_t k = 0; k < ret->n; k++)
		make_member(&ret->set[k], ret->there[k]);
}

struct ck_policy *
ag_rules(const struct ag_policy *a, const struct ck_worker_options *options)
{
	struct ck_policy *p = NULL;
	struct ck_fail fail = CK_FAIL_INIT;

	if (options == NULL)
		options = &a->options;
	if (ck_policy_worker(a->set, a->n, options, &p, &fail) != CK_OK ||
	    ck_policy_covers(p, a->set, a->n, options, &fail) != CK_OK)
		errx(2, "%s: %s", fail.place, fail.why);
	return p;
}
