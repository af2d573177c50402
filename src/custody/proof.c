/* SPDX-License-Identifier: Apache-2.0 */
/* The note of a proof; see proof.h. */
#include "custody/proof.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/secret.h"
#include "store/json.h"

ck_err
ck_proof_write(const struct ck_place *p, struct ck_span json,
    struct ck_fail *fail)
{
	int dirfd = -1, lock = -1;
	ck_err r;

	if ((r = ck_place_open_dir(p, &dirfd, fail)) != CK_OK)
		return r;
	if ((r = ck_place_lock(p, dirfd, &lock, fail)) == CK_OK)
		r = ck_io_replace(dirfd, CK_PROOF_FILE, p->dir, json.p, json.n,
		    0600, fail);
	ck_io_close(&lock);
	ck_io_close(&dirfd);
	return r;
}

static ck_err
take(const struct ck_json_object *o, const char *key, char *ret, size_t size)
{
	const struct ck_json_member *m = ck_json_member(o, key);
	struct ck_secret text = CK_SECRET_INIT;
	ck_err r;

	if (m == NULL)
		return CK_DAMAGED;
	if ((r = ck_json_decode(m->value, &text)) != CK_OK)
		return r;
	if (text.n >= size || memchr(text.p, '\0', text.n) != NULL) {
		r = CK_DAMAGED;
	} else {
		memcpy(ret, text.p, text.n);
		ret[text.n] = '\0';
	}
	ck_secret_wipe(&text);
	return r;
}

static ck_err
parse(struct ck_span text, struct ck_proof *ret, struct ck_fail *fail)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;
	struct ck_proof proof = { "", "", "", "" };
	ck_err r;

	if ((r = ck_json_scan(text, CK_PROOF_FILE, &o, fail)) != CK_OK)
		return r;
	if ((r = take(&o, "verdict", proof.verdict,
	    sizeof(proof.verdict))) == CK_OK &&
	    (r = take(&o, "at", proof.at, sizeof(proof.at))) == CK_OK &&
	    (r = take(&o, "version", proof.version,
	    sizeof(proof.version))) == CK_OK)
		r = take(&o, "kernel", proof.kernel, sizeof(proof.kernel));
	ck_json_object_free(&o);
	if (r == CK_OK)
		*ret = proof;
	else
		(void)ck_fail_set(fail, r, CK_PROOF_FILE,
		    "is not what boundary verify writes");
	return r;
}

ck_err
ck_proof_read(const struct ck_place *p, struct ck_proof *ret,
    struct ck_fail *fail)
{
	uint8_t *text = NULL;
	int dirfd = -1, fd = -1;
	size_t n = 0;
	ck_err r;

	r = ck_place_open_dir(p, &dirfd, fail);
	if (r == CK_OK)
		r = ck_io_open_file(dirfd, CK_PROOF_FILE, p->dir,
		    CK_IO_OWNER | CK_IO_NOWRITE | CK_IO_ONELINK, &fd, NULL,
		    fail);
	if (r == CK_OK && (r = ck_io_read_all(fd, CK_PROOF_MAX, p->dir, &text,
	    &n, fail)) == CK_OK)
		r = parse((struct ck_span){ text, n }, ret, fail);
	free(text);
	ck_io_close(&fd);
	ck_io_close(&dirfd);
	return r == CK_NOSTORE ? CK_ABSENT : r;
}
