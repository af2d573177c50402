/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the file broker: the file as it was read once. */
#ifndef CK_STORE_BROKER_TEXT_H
#define CK_STORE_BROKER_TEXT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/secret.h"
#include "store/json.h"

struct ck_broker_text {
	const char *path;
	int dirfd;                  /* -1 when the directory is missing */
	bool missing;               /* no file: text is an empty object */
	struct stat st;             /* of the file, when it is there */
	struct ck_secret text;
	struct ck_json_object all;
};

#define CK_BROKER_TEXT_INIT(p) { .path = (p), .dirfd = -1, \
    .text = CK_SECRET_INIT, .all = CK_JSON_OBJECT_INIT }

/* Read and scan the file at b->path; errors as in broker_file.h.  Close it
 * in both cases. */
CK_MUST_USE ck_err ck_broker_text_open(struct ck_broker_text *b,
    struct ck_fail *fail);
void ck_broker_text_close(struct ck_broker_text *b);

/* The member with this key in the broker's spelling, NULL when there is none.
 * CK_DAMAGED when another spelling of it is there. */
CK_MUST_USE ck_err ck_broker_text_find(const struct ck_broker_text *b,
    const char *key, const struct ck_json_member **ret,
    struct ck_fail *fail);

/* CK_ABSENT with a reason. */
ck_err ck_broker_text_absent(const struct ck_broker_text *b, const char *key,
    struct ck_fail *fail);

#endif
