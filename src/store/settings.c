/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet.workerSandbox; see settings.h.  The file holds no secret (its owner
 * refuses values that look like one), so ordinary memory will do.
 */
#include "store/settings.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/io.h"
#include "store/json.h"

/* The member of a text that must be an object; *ret is empty without one. */
static ck_err
member(struct ck_span text, const char *key, const char *path,
    struct ck_span *ret, struct ck_fail *fail)
{
	struct ck_json_object o = CK_JSON_OBJECT_INIT;
	const struct ck_json_member *m;
	ck_err r;

	if ((r = ck_json_scan(text, path, &o, fail)) != CK_OK)
		return r;
	m = ck_json_member(&o, key);
	*ret = m != NULL ? m->value : (struct ck_span)CK_SPAN_NONE;
	ck_json_object_free(&o);
	return CK_OK;
}

static ck_err
decide(struct ck_span text, const char *path, enum ck_worker_sandbox *ret,
    struct ck_fail *fail)
{
	struct ck_span fleet = CK_SPAN_NONE, value = CK_SPAN_NONE;
	ck_err r;

	if ((r = member(text, "fleet", path, &fleet, fail)) != CK_OK)
		return r;
	if (fleet.n > 0 && fleet.p[0] != '{')
		return ck_fail_set(fail, CK_DAMAGED, path,
		    "fleet is not an object");
	if (fleet.n > 0 && (r = member(fleet, "workerSandbox", path, &value,
	    fail)) != CK_OK)
		return r;
	if (value.n == 0)
		*ret = CK_SANDBOX_ABSENT;
	else if (value.p[0] == 't')
		*ret = CK_SANDBOX_ON;
	else if (value.p[0] == 'f')
		*ret = CK_SANDBOX_OFF;
	else
		return ck_fail_set(fail, CK_DAMAGED, path,
		    "fleet.workerSandbox is neither true nor false");
	return CK_OK;
}

ck_err
ck_settings_worker_sandbox(const char *path, enum ck_worker_sandbox *ret,
    struct ck_fail *fail)
{
	uint8_t *text = NULL;
	size_t n = 0;
	int fd = -1;
	ck_err r;

	r = ck_io_open_file(AT_FDCWD, path, path, CK_IO_OWNER | CK_IO_NOWRITE,
	    &fd, NULL, fail);
	if (r == CK_NOSTORE) {
		*ret = CK_SANDBOX_ABSENT;
		return CK_OK;
	}
	if (r != CK_OK)
		return r;
	r = ck_io_read_all(fd, CK_SETTINGS_MAX, path, &text, &n, fail);
	ck_io_close(&fd);
	if (r != CK_OK)
		return r;
	r = decide((struct ck_span){ text, n }, path, ret, fail);
	free(text);
	return r;
}
