/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks; see clock.h. */
#include "clock.h"

#include <stdio.h>
#include <time.h>

uint64_t
ck_clock_mono_ms(void)
{
	struct timespec ts = { 0, 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000U + (uint64_t)ts.tv_nsec / 1000000U;
}

int64_t
ck_clock_wall(void)
{
	struct timespec ts = { 0, 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec;
}

void
ck_clock_iso(int64_t seconds, char ret[CK_CLOCK_ISO_SIZE])
{
	const int64_t first = -62167219200;  /* 0000-01-01T00:00:00Z */
	const int64_t last = 253402300799;   /* 9999-12-31T23:59:59Z */
	time_t t;
	struct tm tm;

	if (seconds < first)
		seconds = first;
	if (seconds > last)
		seconds = last;
	t = (time_t)seconds;
	if (gmtime_r(&t, &tm) == NULL) {
		(void)snprintf(ret, CK_CLOCK_ISO_SIZE, "unknown");
		return;
	}
	/* Each field is in its range already; the remainders only let the
	 * compiler see that the text fits. */
	(void)snprintf(ret, CK_CLOCK_ISO_SIZE, "%04u-%02u-%02uT%02u:%02u:%02uZ",
	    (unsigned int)(tm.tm_year + 1900) % 10000U,
	    (unsigned int)(tm.tm_mon + 1) % 100U,
	    (unsigned int)tm.tm_mday % 100U, (unsigned int)tm.tm_hour % 100U,
	    (unsigned int)tm.tm_min % 100U, (unsigned int)tm.tm_sec % 100U);
}
