/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any worker.mounts is read whole or refused: what is read is, byte for byte,
 * what would be written, and what is refused leaves no step.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boundary/mounts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(c) do { if (!(c)) { (void)fprintf(stderr, \
    "%d: %s\n", __LINE__, #c); abort(); } } while (0)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ck_mounts plan;
	struct ck_fail fail = CK_FAIL_INIT;
	struct ck_buf out = CK_BUF_INIT;
	ck_err r;

	r = ck_mounts_read((const char *)data, size, "plan", &plan, &fail);
	REQUIRE(fail.code == r);
	if (r != CK_OK) {
		REQUIRE(plan.n == 0);
		return 0;
	}
	for (size_t i = 1; i < plan.n; i++)
		REQUIRE(ck_mount_compare(&plan.step[i - 1],
		    &plan.step[i]) < 0);
	ck_mounts_write(&plan, &out);
	REQUIRE(ck_buf_ok(&out) == CK_OK);
	REQUIRE(out.n == size && memcmp(out.p, data, size) == 0);
	ck_buf_free(&out);
	return 0;
}
