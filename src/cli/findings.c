/* SPDX-License-Identifier: Apache-2.0 */
/* Many findings in one; see findings.h. */
#include "cli.h"

#include <string.h>

#include "findings.h"

enum cli_sum
cli_sum(const struct ck_findings *found, size_t at, struct ck_buf *b)
{
	const struct ck_finding *f = &found->at[at];
	const struct ck_finding_info *info = ck_finding_info(f->code);
	size_t n = 0;

	if (f->code != CK_F_PRINCIPAL_NOT_HONOURING)
		return CLI_SUM_NONE;
	for (size_t i = 0; i < found->n; i++) {
		if (found->at[i].code != f->code)
			continue;
		if (i < at)
			return CLI_SUM_SAID;
		n++;
	}
	if (n == 1)
		return CLI_SUM_NONE;
	ck_buf_format(b, "%-8s %s\n         %zu readers and writers do not ask "
	    "the records, or are not known to, and may\n         read or make "
	    "another bearer (--verbose says what each is):\n        ",
	    ck_severity_name(info->severity), info->code, n);
	for (size_t i = at; i < found->n; i++) {
		if (found->at[i].code != f->code)
			continue;
		ck_buf_text(b, " ");
		cli_show_bytes(b, CK_SPAN_TEXT(found->at[i].place));
	}
	ck_buf_text(b, "\n");
	return CLI_SUM_FIRST;
}
