/* SPDX-License-Identifier: Apache-2.0 */
/* clankie-keys keychain: the reading half, and the dispatch. */
#include "cli.h"

#include <string.h>
#include <unistd.h>

#include "keychain/keychain.h"
#include "kc_show.h"

enum { LIST = 1, FIND = 2, VERIFY = 4 };

struct reading {
	char path[CK_PATH_MAX];
	const char *service, *account, *label, *class;
	int password_fd, keyfile_fd, out_fd;
};

/* What find needs to know, by class. */
static ck_err
check_find(struct cli *cli, const struct reading *rd)
{
	const char *missing = NULL;

	if (strcmp(rd->class, "key") == 0) {
		if (rd->label == NULL)
			missing = "--class key needs --label";
	} else if (strcmp(rd->class, "generic") == 0 ||
	    strcmp(rd->class, "internet") == 0) {
		if (rd->service == NULL || rd->account == NULL)
			missing = "--service and --account are needed";
	} else {
		return ck_fail_set(&cli->fail, CK_USAGE, rd->class,
		    "is no class; generic, internet and key are");
	}
	if (missing != NULL)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL, "%s", missing);
	return CK_OK;
}

static ck_err
check(struct cli *cli, const struct reading *rd)
{
	if (rd->password_fd >= 0 && rd->keyfile_fd >= 0)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--password-fd and --unlock-key-fd exclude each other");
	if (rd->out_fd >= 0 && (rd->out_fd == rd->password_fd ||
	    rd->out_fd == rd->keyfile_fd))
		return ck_fail_set(&cli->fail, CK_USAGE, "--out-fd",
		    "needs a descriptor of its own");
	if (rd->out_fd >= 0 && isatty(rd->out_fd)) {
		(void)ck_fail_set(&cli->fail, CK_REFUSED, NULL,
		    "a secret is not written to a terminal");
		ck_fail_next(&cli->fail, "--out-fd N and a file or a pipe "
		    "behind it: N>FILE");
		return CK_REFUSED;
	}
	/* A reason in JSON must not be taken for the secret. */
	if (cli->json && rd->out_fd == 1)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "--json and --out-fd 1 exclude each other");
	return CK_OK;
}

static ck_err
parse(struct cli *cli, unsigned int sub, int argc, char **argv,
    struct reading *ret)
{
	const struct opt_of all[] = {
		{ { "--service", OPT_TEXT, &ret->service }, FIND },
		{ { "--account", OPT_TEXT, &ret->account }, FIND },
		{ { "--label", OPT_TEXT, &ret->label }, FIND },
		{ { "--class", OPT_TEXT, &ret->class }, FIND },
		{ { "--out-fd", OPT_FD, &ret->out_fd }, FIND },
		{ { "--password-fd", OPT_FD, &ret->password_fd },
		    LIST | FIND | VERIFY },
		{ { "--unlock-key-fd", OPT_FD, &ret->keyfile_fd },
		    LIST | FIND | VERIFY },
	};
	struct opt opts[sizeof(all) / sizeof(all[0])];
	const char *words[1];
	size_t n = 0, nopts;
	ck_err r;

	memset(ret, 0, sizeof(*ret));
	ret->class = "generic";
	ret->password_fd = ret->keyfile_fd = ret->out_fd = -1;
	nopts = cli_options_of(all, sizeof(all) / sizeof(all[0]), sub, opts);
	r = cli_options(cli, argc, argv, opts, nopts, words, 1, &n);
	if (r != CK_OK)
		return r;
	if (n != 1)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "the keychain file is missing");
	if ((r = check(cli, ret)) != CK_OK)
		return r;
	if (sub == FIND && (r = check_find(cli, ret)) != CK_OK)
		return r;
	return cli_absolute(cli, words[0], ret->path);
}

/* Open, and unlock when a password or an unlock-key file was given. */
static ck_err
open_for(struct cli *cli, const struct reading *rd, struct kc **ret)
{
	struct ck_secret secret = CK_SECRET_INIT;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = kc_open(rd->path, 0, &kc, &cli->fail)) != CK_OK)
		return r;
	if (rd->password_fd >= 0) {
		if ((r = cli_password(cli, rd->password_fd, &secret)) == CK_OK)
			r = kc_unlock(kc, &secret, &cli->fail);
	} else if (rd->keyfile_fd >= 0) {
		if ((r = ck_secret_read_fd(rd->keyfile_fd, 4096, &secret,
		    &cli->fail)) == CK_OK)
			r = kc_unlock_keyfile(kc, &secret, &cli->fail);
	}
	ck_secret_wipe(&secret);
	if (r == CK_OK)
		*ret = kc;
	else
		kc_close(&kc);
	return r;
}

static void
head_json(struct kc *kc, struct ck_buf *out)
{
	struct kc_info info;
	char signature[33];

	kc_info(kc, &info);
	ck_hex_encode(info.signature, sizeof(info.signature), signature);
	js_open(out, '{');
	js_bool(out, "ok", true);
	js_text(out, "path", kc_path(kc));
	js_number(out, "version", info.version);
	js_number(out, "commit", info.commit);
	js_number(out, "idle_timeout", info.idle_timeout);
	js_bool(out, "lock_on_sleep", info.lock_on_sleep);
	js_text(out, "signature", signature);
}

static void
head_text(struct kc *kc, struct ck_buf *out)
{
	struct kc_info info;

	kc_info(kc, &info);
	cli_show_bytes(out, CK_SPAN_TEXT(kc_path(kc)));
	ck_buf_format(out, "\n  blob version 0x%x, commit %u, ",
	    info.version, info.commit);
	if (info.idle_timeout == 0x7fffffff)
		ck_buf_text(out, "never locks by itself");
	else
		ck_buf_format(out, "locks after %u s", info.idle_timeout);
	ck_buf_text(out, info.lock_on_sleep ? ", locks on sleep\n" : "\n");
}

static ck_err
do_list(struct cli *cli, const struct reading *rd)
{
	struct ck_buf out = CK_BUF_INIT;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = open_for(cli, rd, &kc)) != CK_OK)
		return r;
	if (cli->json) {
		head_json(kc, &out);
		js_name(&out, "items");
		js_open(&out, '[');
	} else {
		head_text(kc, &out);
	}
	if ((r = show_all(kc, cli->json, &out, &cli->fail)) != CK_OK)
		goto out;
	if (cli->json) {
		js_shut(&out, ']');
		js_shut(&out, '}');
		ck_buf_text(&out, "\n");
	}
	r = cli_put(cli, &out);
out:
	ck_buf_free(&out);
	kc_close(&kc);
	return r;
}

/* The first record of a relation whose attribute equals text, by number. */
static ck_err
find_by(struct kc *kc, uint32_t relation, uint32_t attr, const char *text,
    uint32_t attr2, const char *text2, struct kc_record *ret,
    struct ck_fail *fail)
{
	struct kc_value v, w;
	struct kc_record rec;
	uint32_t number = 0;
	ck_err r;

	while ((r = kc_db_next(kc_db(kc), relation, &number, &rec,
	    fail)) == CK_OK) {
		if ((r = kc_db_value(kc_db(kc), &rec, attr, &v,
		    fail)) != CK_OK)
			return r;
		if (!v.present || !ck_span_equal(v.bytes, CK_SPAN_TEXT(text)))
			continue;
		if (text2 != NULL) {
			if ((r = kc_db_value(kc_db(kc), &rec, attr2, &w,
			    fail)) != CK_OK)
				return r;
			if (!w.present ||
			    !ck_span_equal(w.bytes, CK_SPAN_TEXT(text2)))
				continue;
		}
		*ret = rec;
		return CK_OK;
	}
	return r;
}

/* The words were checked by check_find(). */
static ck_err
find(struct cli *cli, const struct reading *rd, struct kc *kc,
    struct kc_record *ret)
{
	struct ck_fail *fail = &cli->fail;
	ck_err r;

	/* PrintName is column 1 of every key relation. */
	if (strcmp(rd->class, "key") == 0)
		r = find_by(kc, KC_REL_SYMMETRIC_KEY, 1, rd->label, 0, NULL,
		    ret, fail);
	else if (strcmp(rd->class, "internet") == 0)
		r = find_by(kc, KC_REL_INTERNET, 0x73727672U /* srvr */,
		    rd->service, KC_ATTR_ACCOUNT, rd->account, ret, fail);
	else
		r = kc_find(kc, CK_SPAN_TEXT(rd->service),
		    CK_SPAN_TEXT(rd->account), ret, fail);
	if (r == CK_ABSENT)
		(void)ck_fail_set(fail, r, kc_path(kc), "has no such item");
	return r;
}

static ck_err
do_find(struct cli *cli, const struct reading *rd)
{
	struct ck_secret secret = CK_SECRET_INIT;
	struct ck_buf out = CK_BUF_INIT;
	struct kc_record rec;
	struct kc *kc = NULL;
	ck_err r;

	if ((r = open_for(cli, rd, &kc)) != CK_OK)
		return r;
	if ((r = find(cli, rd, kc, &rec)) != CK_OK)
		goto out;
	if (rd->out_fd >= 0) {
		r = rec.relation == KC_REL_SYMMETRIC_KEY ?
		    kc_key_raw(kc, &rec, &secret, &cli->fail) :
		    kc_item_secret(kc, &rec, &secret, &cli->fail);
		if (r != CK_OK)
			goto out;
	}
	if (cli->json) {
		js_open(&out, '{');
		js_bool(&out, "ok", true);
		js_name(&out, "item");
	}
	if ((r = show_record(kc, &rec, cli->json, &out, &cli->fail)) != CK_OK)
		goto out;
	if (cli->json) {
		js_shut(&out, '}');
		ck_buf_text(&out, "\n");
	}
	if (rd->out_fd >= 0 && (r = ck_secret_write_fd(rd->out_fd, &secret,
	    &cli->fail)) != CK_OK)
		goto out;
	/* The secret may have gone to standard output: then nothing else. */
	if (rd->out_fd != 1)
		r = cli_put(cli, &out);
out:
	ck_secret_wipe(&secret);
	ck_buf_free(&out);
	kc_close(&kc);
	return r;
}

static ck_err
do_verify(struct cli *cli, const struct reading *rd)
{
	struct ck_buf out = CK_BUF_INIT;
	struct kc *kc = NULL;
	size_t keys = 0;
	ck_err r;

	if ((r = open_for(cli, rd, &kc)) != CK_OK)
		return r;
	if ((r = kc_verify(kc, &keys, &cli->fail)) != CK_OK)
		goto out;
	if (cli->json) {
		head_json(kc, &out);
		js_bool(&out, "unlocked", kc_is_unlocked(kc));
		js_number(&out, "keys_checked", (long long)keys);
		js_shut(&out, '}');
		ck_buf_text(&out, "\n");
	} else {
		head_text(kc, &out);
		if (kc_is_unlocked(kc))
			ck_buf_format(&out, "  sound: structure, indexes, "
			    "every item, %zu authenticated key%s\n", keys,
			    keys == 1 ? "" : "s");
		else
			ck_buf_text(&out, "  sound: structure and indexes; "
			    "locked, so no key was checked (--password-fd)\n");
	}
	r = cli_put(cli, &out);
out:
	ck_buf_free(&out);
	kc_close(&kc);
	return r;
}

ck_err
keychain_usage(struct cli *cli, const char *words, ck_err r)
{
	if (r == CK_USAGE)
		ck_fail_next(&cli->fail, "usage: clankie-keys keychain %s",
		    words);
	return r;
}

static const struct {
	const char *name, *words;
	unsigned int sub;
	ck_err (*run)(struct cli *, const struct reading *);
} subs[] = {
	{ "list", "list FILE [--password-fd N]", LIST, do_list },
	{ "find", "find FILE --service S --account A [--class "
	    "generic|internet] | --class key --label L [--password-fd N | "
	    "--unlock-key-fd N] [--out-fd M]", FIND, do_find },
	{ "verify", "verify FILE [--password-fd N | --unlock-key-fd N]",
	    VERIFY, do_verify },
};

const char *
keychain_words(const char *sub)
{
	for (size_t i = 0; sub != NULL && i < sizeof(subs) / sizeof(subs[0]);
	    i++)
		if (strcmp(sub, subs[i].name) == 0)
			return subs[i].words;
	return sub == NULL ? NULL : keychain_edit_words(sub);
}

ck_err
cmd_keychain(struct cli *cli, int argc, char **argv)
{
	struct reading rd;
	ck_err r;

	if (argc < 1)
		return ck_fail_set(&cli->fail, CK_USAGE, NULL,
		    "what to do with the keychain is missing");
	for (size_t i = 0; i < sizeof(subs) / sizeof(subs[0]); i++) {
		if (strcmp(argv[0], subs[i].name) != 0)
			continue;
		r = parse(cli, subs[i].sub, argc - 1, argv + 1, &rd);
		return r == CK_OK ? subs[i].run(cli, &rd) :
		    keychain_usage(cli, subs[i].words, r);
	}
	return cmd_keychain_edit(cli, argv[0], argc - 1, argv + 1);
}
