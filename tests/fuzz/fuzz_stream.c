/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of authenticate --stream: whatever arrives, in pieces of any size,
 * every line is answered once, and a candidate has half as many bytes as its
 * digits.  The first byte says how large the pieces are.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stream_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
take_apart(struct ck_span line)
{
	static uint8_t candidate[CK_STREAM_CANDIDATE_MAX];
	struct ck_span id;
	size_t n = 0;

	if (line.n > CK_STREAM_LINE_MAX)
		abort();
	if (ck_stream_parse(line, &id, candidate, &n) == CK_OK &&
	    (id.n == 0 || line.n != id.n + 1 + 2 * n))
		abort();
	if (id.n > CK_STREAM_ID_MAX)
		abort();
}

static size_t
cut(struct ck_lines *l)
{
	struct ck_span line;
	enum ck_line kind;
	size_t lines = 0;

	while ((kind = ck_lines_next(l, &line)) != CK_LINE_NONE) {
		lines++;
		if (kind == CK_LINE_WHOLE)
			take_apart(line);
	}
	ck_lines_pack(l);
	if (l->to >= l->size)
		abort();
	return lines;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t block[CK_STREAM_LINE_MAX + 512];
	struct ck_lines l = { .p = block, .size = sizeof(block) };
	size_t lines = 0, ends = 0, step;

	if (size == 0)
		return 0;
	step = (size_t)data[0] + 1;
	for (size_t at = 1; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;

		for (size_t i = 0; i < n; i++)
			ends += data[at + i] == '\n';
		memcpy(block + l.to, data + at, n);
		l.to += n;
		lines += cut(&l);
	}
	/* An overlong line may be answered before its end has come. */
	if (lines < ends || lines > ends + 1)
		abort();
	return 0;
}
