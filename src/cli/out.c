/* SPDX-License-Identifier: Apache-2.0 */
/* Data on stdout, talk on stderr, JSON; see cli.h. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define PROGRAM "clankie-keys"

ck_err
cli_put(struct cli *cli, const struct ck_buf *text)
{
	if (ck_buf_ok(text) != CK_OK)
		return ck_fail_set(&cli->fail, CK_NOMEM, NULL,
		    "no memory for the answer");
	return ck_io_write_all(STDOUT_FILENO, text->p, text->n,
	    "standard output", &cli->fail);
}

ck_err
cli_put_done(struct cli *cli, const struct ck_buf *text)
{
	ck_err r = cli_put(cli, text);

	if (r != CK_OK)
		ck_fail_next(&cli->fail, "what was asked for was carried out, "
		    "and only its report is missing: clankie-keys status");
	return r;
}

void
cli_say(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	if (cli->quiet)
		return;
	(void)fprintf(stderr, PROGRAM ": %s: ", cli->verb);
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
}

/* A name of somebody else's making must not steer the terminal. */
static void
plain(const char *text, struct ck_buf *b)
{
	cli_show_bytes(b, CK_SPAN_TEXT(text));
}

/* Sentences may quote names that are no UTF-8, or were cut in the middle of a
 * character; the member keeps its name all the same. */
static void
report_text(struct ck_buf *b, const char *name, const char *text)
{
	struct ck_buf safe = CK_BUF_INIT;

	plain(text, &safe);
	js_bytes(b, name, ck_buf_view(&safe));
	b->failed = b->failed || safe.failed;
	ck_buf_free(&safe);
}

void
cli_report(struct cli *cli, ck_err outcome)
{
	const struct ck_fail *f = &cli->fail;
	/* A code without its reason still gets the table's sentence. */
	const char *why = f->why[0] != '\0' ? f->why : ck_err_text(outcome);
	struct ck_buf b = CK_BUF_INIT;

	ck_buf_format(&b, PROGRAM ": %s: ", cli->verb);
	if (f->place[0] != '\0') {
		plain(f->place, &b);
		ck_buf_text(&b, ": ");
	}
	plain(why, &b);
	if (f->next[0] != '\0') {
		ck_buf_text(&b, " (");
		plain(f->next, &b);
		ck_buf_text(&b, ")");
	}
	ck_buf_text(&b, "\n");
	if (!b.failed)
		(void)!ck_io_write_all(STDERR_FILENO, b.p, b.n, NULL, NULL);
	ck_buf_free(&b);
	if (!cli->json || cli->answered)
		return;
	js_open(&b, '{');
	js_bool(&b, "ok", false);
	js_text(&b, "code", ck_err_code(outcome));
	js_number(&b, "exit", ck_err_exit(outcome));
	js_text(&b, "place", f->place);
	report_text(&b, "message", why);
	report_text(&b, "next", f->next);
	js_shut(&b, '}');
	ck_buf_text(&b, "\n");
	if (!b.failed)
		(void)!ck_io_write_all(STDOUT_FILENO, b.p, b.n, NULL, NULL);
	ck_buf_free(&b);
}

/* Length of the UTF-8 sequence at p (RFC 3629), 0 when there is none. */
static size_t
utf8_at(const uint8_t *p, size_t n)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (n < len)
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

static bool
is_utf8(struct ck_span s)
{
	for (size_t i = 0; i < s.n;) {
		size_t len = utf8_at(s.p + i, s.n - i);

		if (len == 0)
			return false;
		i += len;
	}
	return true;
}

/* The comma between two members; the buffer itself says where we are. */
static void
separate(struct ck_buf *b)
{
	uint8_t last;

	if (b->n == 0)
		return;
	last = b->p[b->n - 1];
	if (last != '{' && last != '[' && last != ':')
		ck_buf_text(b, ",");
}

void
js_open(struct ck_buf *b, char bracket)
{
	separate(b);
	ck_buf_bytes(b, &bracket, 1);
}

void
js_shut(struct ck_buf *b, char bracket)
{
	ck_buf_bytes(b, &bracket, 1);
}

static void
quote(struct ck_buf *b, struct ck_span s)
{
	ck_buf_text(b, "\"");
	for (size_t i = 0; i < s.n; i++) {
		uint8_t c = s.p[i];

		if (c == '"' || c == '\\')
			ck_buf_format(b, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			ck_buf_format(b, "\\u%04x", c);
		else
			ck_buf_bytes(b, &c, 1);
	}
	ck_buf_text(b, "\"");
}

void
js_name(struct ck_buf *b, const char *name)
{
	separate(b);
	ck_buf_format(b, "\"%s\":", name);
}

void
js_text(struct ck_buf *b, const char *name, const char *value)
{
	js_bytes(b, name, CK_SPAN_TEXT(value));
}

void
js_number(struct ck_buf *b, const char *name, long long value)
{
	js_name(b, name);
	ck_buf_format(b, "%lld", value);
}

void
js_bool(struct ck_buf *b, const char *name, bool value)
{
	js_name(b, name);
	ck_buf_text(b, value ? "true" : "false");
}

void
js_null(struct ck_buf *b, const char *name)
{
	js_name(b, name);
	ck_buf_text(b, "null");
}

void
js_bytes(struct ck_buf *b, const char *name, struct ck_span value)
{
	if (!is_utf8(value)) {
		js_hex(b, name, value);
		return;
	}
	js_name(b, name);
	quote(b, value);
}

void
js_hex(struct ck_buf *b, const char *name, struct ck_span value)
{
	separate(b);
	ck_buf_format(b, "\"%s_hex\":\"", name);
	for (size_t i = 0; i < value.n; i++)
		ck_buf_format(b, "%02x", value.p[i]);
	ck_buf_text(b, "\"");
}

void
js_item(struct ck_buf *b, const char *value)
{
	if (is_utf8(CK_SPAN_TEXT(value))) {
		separate(b);
		quote(b, CK_SPAN_TEXT(value));
		return;
	}
	js_open(b, '{');
	js_hex(b, "bytes", CK_SPAN_TEXT(value));
	js_shut(b, '}');
}

/* The character of a sequence that utf8_at() found. */
static uint32_t
code_point(const uint8_t *p, size_t len)
{
	static const uint8_t mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = p[0] & mask[len];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3fU);
	return c;
}

/* Can it make a terminal, or the reader of one, take it for something else?
 * Controls, line separators, characters without width, and the marks that
 * turn the writing direction. */
static bool
misleads(uint32_t c)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = {
		{ 0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad },
		{ 0x61c, 0x61c }, { 0x180e, 0x180e }, { 0x200b, 0x200f },
		{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

void
cli_show_bytes(struct ck_buf *b, struct ck_span value)
{
	for (size_t i = 0, len; i < value.n; i += len) {
		const uint8_t *p = value.p + i;
		bool hide;

		len = utf8_at(p, value.n - i);
		hide = len == 0 || misleads(code_point(p, len));
		if (len == 0)
			len = 1;
		for (size_t j = 0; hide && j < len; j++)
			ck_buf_format(b, "\\x%02x", p[j]);
		/* So that no name can pass for the escape of another. */
		if (p[0] == '\\')
			ck_buf_text(b, "\\");
		if (!hide)
			ck_buf_bytes(b, p, len);
	}
}

/* Would every byte of it be shown as it is? */
static bool
is_shown_whole(struct ck_span text)
{
	struct ck_buf shown = CK_BUF_INIT;
	size_t backslashes = 0;
	bool plain;

	cli_show_bytes(&shown, text);
	for (size_t i = 0; i < text.n; i++)
		backslashes += text.p[i] == '\\';
	plain = ck_buf_ok(&shown) == CK_OK && shown.n == text.n + backslashes;
	ck_buf_free(&shown);
	return plain;
}

void
cli_show_command(struct ck_buf *b, struct ck_span text)
{
	if (is_shown_whole(text)) {
		ck_buf_span(b, text);
		return;
	}
	ck_buf_text(b, "eval \"$(printf '");
	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = text.p[i];

		if (c < 0x20 || c > 0x7e || strchr("'\\%\"$`", c) != NULL)
			ck_buf_format(b, "\\%03o", c);
		else
			ck_buf_bytes(b, &c, 1);
	}
	ck_buf_text(b, "')\"");
}
