/* SPDX-License-Identifier: Apache-2.0 */
/* Time.  Waiting uses the monotonic clock; the wall clock is only shown. */
#ifndef CK_BASE_CLOCK_H
#define CK_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Milliseconds of the monotonic clock. */
uint64_t ck_clock_mono_ms(void);

/* Seconds since 1970 of the wall clock; may be wrong, never used for order. */
int64_t ck_clock_wall(void);

/* 20 characters and NUL: 2024-01-02T03:04:05Z.  Years outside 0 to 9999 are
 * brought to the nearest one inside. */
#define CK_CLOCK_ISO_SIZE 21
void ck_clock_iso(int64_t seconds, char ret[CK_CLOCK_ISO_SIZE]);

#endif
