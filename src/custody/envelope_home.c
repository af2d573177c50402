/* SPDX-License-Identifier: Apache-2.0 */
/* The private home of an envelope and its copy of the settings; see
 * envelope.h. */
#include "custody/envelope.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/io.h"
#include "store/bearer.h"
#include "store/settings.h"

/* Names of members that hold secrets, in lower case. */
static const char *const secret_names[] = {
	"token", "secret", "password", "passwd", "apikey", "api_key",
	"credential", "bearer", "privatekey", "private_key"
};

static bool
sounds_secret(const char *key)
{
	char lower[64];
	size_t n = 0;

	for (; key[n] != '\0' && n + 1 < sizeof(lower); n++)
		lower[n] = (char)tolower((unsigned char)key[n]);
	lower[n] = '\0';
	for (size_t i = 0; i < sizeof(secret_names) / sizeof(*secret_names);
	    i++)
		if (strstr(lower, secret_names[i]) != NULL)
			return true;
	return false;
}

/* jansson nests no deeper than it was told to parse. */
static const char *
secret_in(json_t *v)
{
	const char *key, *found = NULL;
	json_t *member;
	size_t i;

	json_object_foreach(v, key, member) {
		if (sounds_secret(key) && json_is_string(member) &&
		    json_string_length(member) > 0)
			return key;
		if ((found = secret_in(member)) != NULL)
			return found;
	}
	json_array_foreach(v, i, member)
		if ((found = secret_in(member)) != NULL)
			return found;
	return NULL;
}

/* The object under name, made when there is none. */
static json_t *
section(json_t *root, const char *name)
{
	json_t *o = json_object_get(root, name);

	if (json_is_object(o))
		return o;
	return json_object_set_new(root, name, json_object()) == 0 ?
	    json_object_get(root, name) : NULL;
}

/* What the level and the fleet are, and nothing that leads out of them. */
static bool
bound(json_t *root, const struct ck_envelope *e)
{
	static const char *const connections[] = {
		"execution", "machines", "agentHosts"
	};
	json_t *access = section(root, "machineAccess");
	json_t *herdr = section(root, "herdr");
	json_t *captain = section(root, "captain");

	if (access == NULL || herdr == NULL || captain == NULL)
		return false;
	for (size_t i = 0; i < sizeof(connections) / sizeof(*connections); i++)
		(void)json_object_del(root, connections[i]);
	(void)json_object_del(herdr, "session");
	(void)json_object_del(herdr, "socketPath");
	return json_object_set_new(access, "local",
	    json_string(ck_level_name(e->level))) == 0 &&
	    json_object_set_new(herdr, "runtime",
	    json_string("bundled")) == 0 &&
	    json_object_set_new(captain, "workingDirectory",
	    json_string(e->workspace[0])) == 0;
}

static ck_err
no_secret(struct ck_span text, json_t *root, const char *shown,
    struct ck_fail *fail)
{
	const char *key = secret_in(root);
	ck_err r;

	if (key == NULL && ck_bearer_search(text).n == 0)
		return CK_OK;
	r = ck_fail_set(fail, CK_REFUSED, shown, "holds what looks like a "
	    "secret (%.100s), which is not copied into the private home",
	    key == NULL ? "an operator bearer" : key);
	ck_fail_next(fail, "take it out of the settings; what the service "
	    "needs inside is provisioned there by its owner");
	return r;
}

ck_err
ck_envelope_settings(struct ck_span text, const char *shown,
    const struct ck_envelope *e, struct ck_buf *out, struct ck_fail *fail)
{
	json_t *root = json_loadb((const char *)text.p, text.n,
	    JSON_REJECT_DUPLICATES, NULL);
	size_t start = out->n, n;
	ck_err r;

	if (!json_is_object(root)) {
		r = ck_fail_set(fail, CK_DAMAGED, shown,
		    "is no JSON object");
		goto out;
	}
	if ((r = no_secret(text, root, shown, fail)) != CK_OK)
		goto out;
	r = CK_NOMEM;
	if (!bound(root, e) ||
	    (n = json_dumpb(root, NULL, 0, JSON_INDENT(2))) == 0)
		goto out;
	ck_buf_reserve(out, n);
	if (ck_buf_ok(out) == CK_OK &&
	    json_dumpb(root, (char *)out->p + out->n, n,
	    JSON_INDENT(2)) == n) {
		out->n += n;
		ck_buf_text(out, "\n");
		r = ck_buf_ok(out);
	}
out:
	if (r != CK_OK)
		out->n = start;
	if (r == CK_NOMEM)
		(void)ck_fail_set(fail, r, NULL, "no memory for the settings");
	json_decref(root);
	return r;
}

static ck_err
read_settings(const struct ck_place *p, uint8_t **ret, size_t *ret_n,
    bool *ret_there, struct ck_fail *fail)
{
	int fd = -1;
	ck_err r;

	r = ck_io_open_file(AT_FDCWD, p->settings, NULL, CK_IO_OWNER |
	    CK_IO_NOWRITE, &fd, NULL, fail);
	*ret_there = r == CK_OK;
	if (r == CK_NOSTORE)
		return CK_OK;
	if (r == CK_OK)
		r = ck_io_read_all(fd, CK_SETTINGS_MAX, p->settings, ret,
		    ret_n, fail);
	ck_io_close(&fd);
	return r;
}

/* Made if it is missing, and never through a symbolic link. */
static ck_err
make_in(int dirfd, const char *name, const char *shown, int *ret_fd,
    struct ck_fail *fail)
{
	ck_err r;

	if ((r = ck_io_make_dir(dirfd, name, shown, 0700, fail)) != CK_OK)
		return r;
	return ck_io_open_dir(dirfd, name, shown, CK_IO_OWNER | CK_IO_PRIVATE,
	    ret_fd, NULL, fail);
}

static ck_err
fill_home(int home, const struct ck_envelope *e, const struct ck_buf *text,
    struct ck_fail *fail)
{
	static const char *const plain[] = { "state", "s", "tmp", "h" };
	int config = -1, clankie = -1, fd = -1;
	ck_err r = CK_OK;

	for (size_t i = 0; r == CK_OK && i < sizeof(plain) / sizeof(*plain);
	    i++) {
		r = make_in(home, plain[i], e->home, &fd, fail);
		ck_io_close(&fd);
	}
	if (r == CK_OK &&
	    (r = make_in(home, "config", e->home, &config, fail)) == CK_OK &&
	    (r = make_in(config, "clankie", e->home, &clankie,
	    fail)) == CK_OK)
		r = ck_io_replace(clankie, "settings.json", e->home, text->p,
		    text->n, 0600, fail);
	ck_io_close(&clankie);
	ck_io_close(&config);
	return r;
}

ck_err
ck_envelope_make_home(const struct ck_place *p, const struct ck_envelope *e,
    struct ck_envelope_report *ret, struct ck_fail *fail)
{
	struct ck_buf text = CK_BUF_INIT;
	uint8_t *settings = NULL;
	struct stat st;
	size_t n = 0;
	int home = -1;
	bool made;
	ck_err r;

	if ((r = read_settings(p, &settings, &n, &ret->settings,
	    fail)) != CK_OK)
		goto out;
	if ((r = ck_envelope_settings(ret->settings ?
	    (struct ck_span){ settings, n } : CK_SPAN_TEXT("{}"), p->settings,
	    e, &text, fail)) != CK_OK)
		goto out;
	made = lstat(e->home, &st) != 0;
	if ((r = make_in(AT_FDCWD, e->home, e->home, &home, fail)) != CK_OK)
		goto out;
	if ((r = fill_home(home, e, &text, fail)) == CK_OK)
		ret->home_made = made;
out:
	ck_io_close(&home);
	free(settings);
	ck_buf_free(&text);
	return r;
}
