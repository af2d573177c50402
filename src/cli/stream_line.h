/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of authenticate --stream: cutting them out of what was read and
 * taking one apart.  No function here reads, writes or keeps anything.
 */
#ifndef CK_CLI_STREAM_LINE_H
#define CK_CLI_STREAM_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

/* A request is "ID HEX": an ID of 1 to 64 printable ASCII characters without
 * space, one space, and the candidate's bytes as two hex digits each. */
#define CK_STREAM_ID_MAX 64
#define CK_STREAM_CANDIDATE_MAX 4096
/* Longest line in bytes, its newline not counted. */
#define CK_STREAM_LINE_MAX \
	(CK_STREAM_ID_MAX + 1 + 2 * (size_t)CK_STREAM_CANDIDATE_MAX)

/* Bytes p[from..to) are read and not yet cut into lines.  The caller owns p,
 * whose size must be larger than CK_STREAM_LINE_MAX. */
struct ck_lines {
	uint8_t *p;
	size_t size;
	size_t from;
	size_t to;
	bool skip;          /* inside a line that was already refused */
};

enum ck_line {
	CK_LINE_NONE,       /* read more */
	CK_LINE_WHOLE,      /* *ret is a line; its newline became a NUL */
	CK_LINE_OVERLONG    /* *ret is the head of one; its rest is skipped */
};

/* The next line.  *ret points into p and is good until the next call here. */
enum ck_line ck_lines_next(struct ck_lines *l, struct ck_span *ret);

/* Move what is left to the front and wipe everything behind it. */
void ck_lines_pack(struct ck_lines *l);

/* The ID at the start of a line, which a space ends.  { NULL, 0 } when there is
 * no space behind it, it is too long, or it looks like a bearer (in hexadecimal
 * digits or not): nothing of such a line is ever sent back. */
struct ck_span ck_stream_id(struct ck_span line);

/*
 * Take a line apart and decode its candidate into ret, which has room for
 * CK_STREAM_CANDIDATE_MAX bytes; none is a candidate too.  line.p[line.n] is
 * NUL.  CK_USAGE: malformed; ret then holds nothing of meaning, and the caller
 * wipes it in any case.  *ret_id is written also then, see ck_stream_id().
 */
CK_MUST_USE ck_err ck_stream_parse(struct ck_span line,
    struct ck_span *ret_id, uint8_t *ret, size_t *ret_n);

#endif
