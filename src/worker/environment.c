/* SPDX-License-Identifier: Apache-2.0 */
/* The variables that a worker does not inherit; see worker.h. */
#include "worker/worker.h"

#include <string.h>

/* Names, and beginnings of names with a star. */
static const char *const scrubbed[] = {
	"LD_*",                  /* the dynamic loader, of glibc and musl */
	"GLIBC_TUNABLES", "MALLOC_TRACE", "GCONV_PATH",
	"BASH_ENV", "ENV",       /* read by shells that are not interactive */
	"SHELLOPTS", "BASHOPTS", "PS4",
};

static bool
is_scrubbed(const char *variable)
{
	size_t name = strcspn(variable, "=");

	for (size_t i = 0; i < sizeof(scrubbed) / sizeof(scrubbed[0]); i++) {
		size_t n = strlen(scrubbed[i]);

		if (scrubbed[i][n - 1] == '*' ?
		    strncmp(variable, scrubbed[i], n - 1) == 0 :
		    name == n && strncmp(variable, scrubbed[i], n) == 0)
			return true;
	}
	return false;
}

void
wk_environment_scrub(char **environment)
{
	char **kept = environment;

	for (; *environment != NULL; environment++)
		if (!is_scrubbed(*environment))
			*kept++ = *environment;
	*kept = NULL;
}
