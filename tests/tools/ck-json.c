/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ck-json PATH <JSON
 *
 * Reads one JSON text strictly (no duplicate member, nothing behind it) and
 * prints the value at PATH: member names and array indexes joined by dots, or
 * "." for the whole.  Strings are printed as they are, everything else as
 * compact JSON with sorted members.  Exit status 1: no such value; 2: not
 * JSON.
 */
#include <ctype.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

static const json_t *
step(const json_t *at, const char *name)
{
	if (!json_is_array(at))
		return json_object_get(at, name);
	if (!isdigit((unsigned char)name[0]))
		return NULL;
	return json_array_get(at, (size_t)strtoul(name, NULL, 10));
}

int
main(int argc, char **argv)
{
	const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY |
	    JSON_ALLOW_NUL;
	json_error_t why;
	json_t *root;
	const json_t *at;
	char *name, *rest = NULL;

	if (argc != 2)
		errx(2, "usage: ck-json PATH <JSON");
	/* The text is not shown: it may be somebody's secret. */
	if ((root = json_loadf(stdin, flags, &why)) == NULL)
		errx(2, "not JSON, line %d", why.line);
	at = root;
	for (name = strtok_r(argv[1], ".", &rest); at != NULL && name != NULL;
	    name = strtok_r(NULL, ".", &rest))
		at = step(at, name);
	if (at == NULL) {
		json_decref(root);
		return 1;
	}
	if (json_is_string(at))
		(void)fwrite(json_string_value(at), 1,
		    json_string_length(at), stdout);
	else
		(void)json_dumpf(at, stdout, JSON_COMPACT | JSON_SORT_KEYS |
		    JSON_ENCODE_ANY);
	(void)putchar('\n');
	json_decref(root);
	return ferror(stdout) || fflush(stdout) != 0 ? 2 : 0;
}
