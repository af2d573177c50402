/* SPDX-License-Identifier: Apache-2.0 */
/* The one key of Clankie's settings.json that matters here; read only. */
#ifndef CK_STORE_SETTINGS_H
#define CK_STORE_SETTINGS_H

#include "base/err.h"

#define CK_SETTINGS_MAX ((size_t)1 << 20)

enum ck_worker_sandbox {
	CK_SANDBOX_ABSENT,   /* no file, no "fleet", or no "workerSandbox" */
	CK_SANDBOX_OFF,
	CK_SANDBOX_ON
};

/*
 * fleet.workerSandbox of the file at path (canonical).  What cannot be read
 * is never "off": CK_DAMAGED when the file is no JSON object, has a key twice,
 * or fleet or workerSandbox is of another type; CK_REFUSED when it is not a
 * regular file of ours or others may write it; CK_DENIED, CK_IO,
 * CK_UNSUPPORTED (larger than CK_SETTINGS_MAX).
 */
CK_MUST_USE ck_err ck_settings_worker_sandbox(const char *path,
    enum ck_worker_sandbox *ret, struct ck_fail *fail);

#endif
