/* SPDX-License-Identifier: Apache-2.0 */
/* What is known before a change; see preflight.h. */
#include "custody/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/platform.h"
#include "custody/advice.h"
#include "custody/anchor.h"
#include "custody/broker.h"
#include "custody/inside.h"
#include "custody/locator.h"
#include "keychain/blob.h"
#include "store/broker_file.h"
#include "store/dotenv.h"
#include "store/login.h"

/* Room for the keychain, the records and their journal, with a margin. */
#define CUSTODY_BYTES (1024ULL * 1024)

ck_err
ck_preflight_worker(bool marked, const char *operation, struct ck_fail *fail)
{
	if (!marked)
		return CK_OK;
	(void)ck_fail_set(fail, CK_REFUSED, NULL,
	    "this is a worker pane; only its owner may %s", operation);
	ck_fail_next(fail, "run it in a terminal of your own");
	return CK_REFUSED;
}

ck_err
ck_preflight_context(const struct ck_place *p, const char *operation,
    struct ck_fail *fail)
{
	if (p->operator_override) {
		(void)ck_fail_set(fail, CK_REFUSED, NULL,
		    "CLANKIE_OPERATOR_TOKEN is set in the environment and "
		    "would go before every store");
		ck_fail_next(fail, "unset CLANKIE_OPERATOR_TOKEN, then "
		    "clankie-keys %s again", operation);
		return CK_REFUSED;
	}
	return ck_preflight_worker(p->worker_marked, operation, fail);
}

/* The deepest directory on the way that exists. */
static void
existing(const char *path, char ret[CK_PATH_MAX])
{
	struct stat st;

	ck_path_parent(path, ret);
	while (strcmp(ret, "/") != 0 && stat(ret, &st) != 0)
		ck_path_parent(ret, ret);
}

/* Could something be made in the directory where path is going to lie? */
static ck_err
can_create(const char *path, struct ck_fail *fail)
{
	char dir[CK_PATH_MAX];
	struct ck_fs_info fs;
	struct stat st;
	int fd = -1;
	ck_err r;

	existing(path, dir);
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		memcpy(dir, path, strlen(path) + 1);
	r = ck_io_open_dir(AT_FDCWD, dir, dir, 0, &fd, NULL, fail);
	if (r != CK_OK)
		return r;
	if ((r = ck_platform_fs(fd, dir, &fs, fail)) != CK_OK)
		goto out;
	if (fs.readonly)
		r = ck_fail_set(fail, CK_READONLY, dir,
		    "is on a read-only file system");
	else if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) != 0)
		r = ck_fail_sys(fail, errno, dir, "create something in it");
	else if (fs.free < CUSTODY_BYTES)
		r = ck_fail_set(fail, CK_NOSPACE, dir,
		    "has %llu bytes free; custody needs %llu", fs.free,
		    CUSTODY_BYTES);
	else if (fs.kind == CK_FS_REMOTE) {
		(void)ck_fail_set(fail, CK_UNSUPPORTED, dir,
		    "is on a %s file system, whose locks and renames other "
		    "machines answer for", fs.name);
		ck_fail_next(fail, "keep the custody directory on a local "
		    "file system: --home DIR");
		r = CK_UNSUPPORTED;
	}
out:
	ck_io_close(&fd);
	return r;
}

/* Compare paths as macOS stores them in the list: without "-db". */
static bool
same_listed(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	if (n > 3 && strcmp(a + n - 3, "-db") == 0)
		n -= 3;
	if (m > 3 && strcmp(b + m - 3, "-db") == 0)
		m -= 3;
	return n == m && memcmp(a, b, n) == 0;
}

bool
ck_preflight_is_ours(const struct ck_place *p, const char *path)
{
	char real[CK_PATH_MAX];

	return same_listed(ck_path_canonical(path, real, NULL) == CK_OK ?
	    real : path, p->keychain);
}

static ck_err
not_listed(void *arg, const char *path)
{
	return ck_preflight_is_ours(arg, path) ? CK_REFUSED : CK_OK;
}

ck_err
ck_preflight_search_list(const struct ck_place *p, struct ck_fail *fail)
{
	struct ck_place place = *p;
	ck_err r;

	r = ck_login_search_list(p->home, not_listed, &place, fail);
	if (r == CK_REFUSED) {
		(void)ck_fail_set(fail, r, p->keychain,
		    "is on the keychain search list, where every program "
		    "looks");
		ck_fail_next(fail, "remove it from the list in Keychain "
		    "Access; this program never writes the list");
	}
	return r;
}

ck_err
ck_preflight_places(const struct ck_place *p, struct ck_fail *fail)
{
	int fd = -1;
	ck_err r;

	r = ck_place_open_dir(p, &fd, fail);
	ck_io_close(&fd);
	if (r != CK_OK && r != CK_NOSTORE)
		return r;
	if ((r = can_create(p->dir, fail)) != CK_OK)
		return r;
	/* unlock.json, or the note which keychain is the broker. */
	if ((r = can_create(p->unlock, fail)) != CK_OK)
		return r;
	return ck_preflight_search_list(p, fail);
}

static ck_err
add_copy(struct ck_preflight *pf, enum ck_rec_kind kind, const char *path,
    bool same)
{
	struct ck_copy *c;

	if (pf->ncopies == CK_COPIES_MAX)
		return CK_OK;   /* enough are named already */
	c = &pf->copies[pf->ncopies++];
	c->kind = kind;
	c->same = same;
	(void)snprintf(c->path, sizeof(c->path), "%s", path);
	return CK_OK;
}

static ck_err
differ(const struct ck_preflight *pf, const char *other, struct ck_fail *fail)
{
	(void)ck_fail_set(fail, CK_DECIDE, other,
	    "holds another value of this credential than %.400s",
	    pf->copies[0].path);
	ck_fail_next(fail, "decide which one is right and remove the other "
	    "with the program that wrote it");
	return CK_DECIDE;
}

/* The file broker, when a keychain is the broker. */
static ck_err
look_in_file(const struct ck_place *p, struct ck_preflight *pf,
    struct ck_fail *fail)
{
	struct ck_secret other = CK_SECRET_INIT;
	struct ck_place file = *p;
	bool same = false;
	ck_err r;

	if (p->broker_kind == CK_KIND_FILE_BROKER)
		return CK_OK;
	file.broker_kind = CK_KIND_FILE_BROKER;
	r = ck_broker_file_find(p->file_broker, p->account, &other, fail);
	if (r == CK_ABSENT)
		return CK_OK;
	if (r != CK_OK)
		return r;
	if (pf->value.p == NULL) {
		(void)ck_fail_set(fail, CK_DECIDE, p->file_broker,
		    "holds this credential, but %.400s is the broker",
		    p->broker);
		ck_advise(fail, p, "{migrate --broker file:%s}",
		    p->file_broker);
		r = CK_DECIDE;
	} else if ((r = ck_broker_same(&file, &pf->value, &other,
	    &same)) == CK_OK && same) {
		r = add_copy(pf, CK_KIND_FILE_BROKER, p->file_broker, true);
	} else if (r == CK_OK || r == CK_DAMAGED) {
		r = differ(pf, p->file_broker, fail);
	}
	ck_secret_wipe(&other);
	return r;
}

/* A bearer in a checkout's .env.local is not ours to edit. */
static ck_err
look_in_dotenv(const struct ck_place *p, const char *checkout,
    struct ck_preflight *pf, struct ck_fail *fail)
{
	struct ck_secret key = CK_SECRET_INIT, mine = CK_SECRET_INIT;
	char path[CK_PATH_MAX];
	bool found = false;
	ck_err r;

	if (p->format != CK_FORMAT_OPERATOR_BEARER)
		return CK_OK;
	if ((r = ck_path_join(checkout, ".env.local", path, fail)) != CK_OK)
		return r;
	r = ck_dotenv_find_bearer(path, &found, &key, fail);
	if (r == CK_NOSTORE)
		return CK_OK;
	if (r != CK_OK || !found)
		return r;
	if (pf->value.p != NULL &&
	    (r = ck_bearer_key(&pf->value, &mine)) == CK_OK &&
	    !ck_secret_equal(&key, &mine)) {
		r = differ(pf, path, fail);
	} else if (r == CK_OK) {
		(void)ck_fail_set(fail, CK_DECIDE, path,
		    "holds an operator bearer%s%.400s",
		    pf->value.p != NULL ? ", the same as " : "",
		    pf->value.p != NULL ? pf->copies[0].path : "");
		ck_advise(fail, p, "remove it from that file, then run "
		    "{migrate} again");
		r = CK_DECIDE;
	}
	ck_secret_wipe(&key);
	ck_secret_wipe(&mine);
	return r;
}

/* What is going to be erased must be erasable, wherever it lies. */
static ck_err
erasable(const struct ck_place *p, const struct ck_preflight *pf,
    struct ck_fail *fail)
{
	struct ck_place where = *p;
	ck_err r;

	for (size_t i = 0; i < pf->ncopies; i++) {
		where.broker_kind = pf->copies[i].kind;
		memcpy(where.broker, pf->copies[i].path,
		    sizeof(where.broker));
		if ((r = ck_broker_writable(&where, fail)) != CK_OK)
			return r;
		if (where.broker_kind == CK_KIND_FILE_BROKER &&
		    (r = ck_broker_file_erasable(where.broker, p->account,
		    fail)) != CK_OK)
			return r;
	}
	return CK_OK;
}

ck_err
ck_preflight_copies(const struct ck_place *p, const char *const *checkouts,
    size_t ncheckouts, struct ck_preflight *ret, struct ck_fail *fail)
{
	struct ck_preflight pf = CK_PREFLIGHT_INIT;
	struct ck_fail absent = CK_FAIL_INIT;
	ck_err r, from_broker;

	from_broker = ck_broker_read(p, &pf.value, &absent);
	if (from_broker != CK_OK && from_broker != CK_ABSENT) {
		if (fail != NULL)
			*fail = absent;
		return from_broker;
	}
	if (from_broker == CK_OK) {
		if (ck_format_check(p->format, &pf.value) != CK_OK) {
			r = ck_fail_set(fail, CK_DAMAGED, p->broker,
			    "what is stored as %s / %s is not a credential "
			    "of its kind and is left alone", p->service,
			    p->account);
			goto out;
		}
		(void)add_copy(&pf, p->broker_kind, p->broker, true);
	}
	if ((r = look_in_file(p, &pf, fail)) != CK_OK)
		goto out;
	for (size_t i = 0; i < ncheckouts; i++)
		if ((r = look_in_dotenv(p, checkouts[i], &pf, fail)) != CK_OK)
			goto out;
	if (from_broker == CK_ABSENT) {
		r = ck_fail_set(fail, CK_ABSENT, p->broker,
		    "there is no %s / %s to move", p->service, p->account);
		ck_advise_absent(fail, p, "{migrate} then moves it");
		r = ck_inside_absent(p, r, fail);
		goto out;
	}
	/* What could never go back is not taken out. */
	if ((r = ck_broker_could_hold(p, &pf.value, fail)) == CK_OK)
		r = erasable(p, &pf, fail);
out:
	if (r == CK_OK)
		*ret = pf;
	else
		ck_preflight_done(&pf);
	return r;
}

/* Who has lost the keychain with its records begins anew without the password,
 * which opens nothing else. */
static void
forget_advice(const struct ck_place *p, const char *first,
    struct ck_fail *fail)
{
	if (p->broker_kind == CK_KIND_LOGIN_KEYCHAIN)
		ck_fail_next(fail, "%s.  If it is lost for good: clankie-keys "
		    "keychain delete '%.200s' --service " CK_OWN_SERVICE
		    " --account " CK_UNLOCK_ACCOUNT, first, p->broker);
	else
		ck_fail_next(fail, "%s.  If it is lost for good: mv '%.150s' "
		    "'%.150s.lost'", first, p->unlock, p->unlock);
}

ck_err
ck_preflight_password(const struct ck_place *p, struct ck_fail *fail)
{
	struct ck_secret password = CK_SECRET_INIT;
	ck_err r;

	r = ck_unlock_place_get(p, &password, fail);
	ck_secret_wipe(&password);
	if (r == CK_NOSTORE)
		return CK_OK;
	if (r != CK_OK)
		return r;
	(void)ck_fail_set(fail, CK_DECIDE, p->keychain,
	    "does not exist, but an unlock password for it is stored already: "
	    "a dedicated keychain may have been moved away");
	forget_advice(p, "put the file back", fail);
	return CK_DECIDE;
}

/* A way there that has not come to its end, or one back that has passed the
 * keychain, explains that there is none; that it is one of these is said by
 * the anchor, since a row can be made by anybody. */
static ck_err
is_explained(const struct ck_place *p, const struct ck_view *v, bool *ret,
    struct ck_fail *fail)
{
	static const char *const ways[] = {
		"migrate", "restore", "reset --confirm"
	};
	struct ck_anchor anchor;
	bool on_its_way = false;
	ck_err r;

	*ret = false;
	for (size_t i = 0; v->journal_open &&
	    i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(v->journal.operation, ways[i]) == 0)
			on_its_way = true;
	if (!on_its_way)
		return CK_OK;
	r = ck_unlock_place_read(p, NULL, &anchor, fail);
	if (r == CK_OK)
		*ret = anchor.signature[0] == '\0' &&
		    ck_anchor_is_noted(&anchor, &v->journal);
	return r;
}

/* Is a password stored at this place that nothing explains? */
static ck_err
orphan_at(const struct ck_place *p, const struct ck_view *v, bool *ret,
    struct ck_fail *fail)
{
	bool explained = false;
	ck_err r;

	*ret = false;
	if ((r = ck_unlock_place_exists(p, ret, fail)) != CK_OK || !*ret)
		return r;
	r = is_explained(p, v, &explained, fail);
	/* Gone between the two looks: then it explains itself. */
	if (r == CK_NOSTORE || (r == CK_OK && explained)) {
		*ret = false;
		r = CK_OK;
	}
	return r;
}

/* Which kind of broker is used is a row too, and can be edited: the other
 * place is looked at as well, where it can be known.  A password that lies
 * there for another keychain is none of ours.  *at: where it is. */
static ck_err
orphan_elsewhere(const struct ck_view *v, struct ck_place *at, bool *ret,
    struct ck_fail *fail)
{
	struct ck_anchor anchor;
	struct stat st;
	ck_err r;

	*ret = false;
	if (at->broker_kind == CK_KIND_LOGIN_KEYCHAIN) {
		at->broker_kind = CK_KIND_FILE_BROKER;
		r = ck_unlock_place_read(at, NULL, &anchor, fail);
		if (r == CK_NOSTORE || r == CK_REFUSED)
			return CK_OK;
	} else {
		at->broker_kind = CK_KIND_LOGIN_KEYCHAIN;
		if ((r = ck_path_join(at->home,
		    "Library/Keychains/login.keychain-db", at->broker,
		    fail)) != CK_OK || lstat(at->broker, &st) != 0)
			return r;
	}
	return r == CK_OK ? orphan_at(at, v, ret, fail) : r;
}

/* The keychain that was noted outside of the records, whatever its name. */
static ck_err
orphan_noted(const struct ck_view *v, struct ck_place *at, bool *ret,
    struct ck_fail *fail)
{
	struct ck_fail why = CK_FAIL_INIT;
	ck_err r;

	*ret = false;
	if ((r = ck_locator_get(at, at->broker, fail)) != CK_OK)
		return r == CK_NOSTORE ? CK_OK : r;
	at->broker_kind = CK_KIND_LOGIN_KEYCHAIN;
	r = orphan_at(at, v, ret, &why);
	if (r != CK_OK && fail != NULL)
		*fail = why;
	if (r == CK_NOSTORE)
		ck_fail_next(fail, "put it back: it is noted as the place of "
		    "an unlock password.  If it is lost for good: "
		    "mv '%.150s/clankie-keys/" CK_LOCATOR_FILE "' "
		    "'%.150s/clankie-keys/" CK_LOCATOR_FILE ".lost'",
		    at->config, at->config);
	return r;
}

ck_err
ck_preflight_orphan(const struct ck_place *p, const struct ck_view *v,
    struct ck_fail *fail)
{
	struct ck_place at = *p;
	bool orphan = false;
	ck_err r;

	r = orphan_at(&at, v, &orphan, fail);
	if (r == CK_OK && !orphan)
		r = orphan_elsewhere(v, &at, &orphan, fail);
	if (r == CK_OK && !orphan)
		r = orphan_noted(v, &at, &orphan, fail);
	if (r != CK_OK || !orphan)
		return r;
	(void)ck_fail_set(fail, CK_NOSTORE, p->keychain,
	    "is missing, but its unlock password is stored: the credential "
	    "was moved into a dedicated keychain that is not here");
	forget_advice(&at, "put the custody directory back, or name it with "
	    "--home; no other store is asked in its place", fail);
	return CK_NOSTORE;
}

ck_err
ck_preflight_selftest(struct ck_fail *fail)
{
	/* The worked example of docs/keychain-format.md, section 18. */
	static const uint8_t want[KC_MASTER_BYTES] = {
		0x50, 0x5b, 0xf5, 0xff, 0x56, 0x9c, 0x20, 0xbd, 0x41, 0x45,
		0xda, 0x0e, 0xde, 0x47, 0x8d, 0x31, 0x92, 0xe8, 0xb2, 0xe9,
		0x2f, 0x4e, 0xf7, 0xce
	};
	struct ck_secret password = CK_SECRET_INIT, master = CK_SECRET_INIT;
	uint8_t salt[20];
	ck_err r;

	for (size_t i = 0; i < sizeof(salt); i++)
		salt[i] = (uint8_t)(0x50 + i);
	if ((r = ck_secret_copy("example", 7, &password)) == CK_OK)
		r = kc_master_key(&password, salt, &master);
	if (r != CK_OK || master.n != sizeof(want) ||
	    memcmp(master.p, want, sizeof(want)) != 0)
		r = ck_fail_set(fail, CK_INTERNAL, NULL,
		    "the engine's self-test failed: libcrypto does not give "
		    "the known key");
	ck_secret_wipe(&password);
	ck_secret_wipe(&master);
	return r;
}

void
ck_preflight_done(struct ck_preflight *pf)
{
	ck_secret_wipe(&pf->value);
}
