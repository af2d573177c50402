/* SPDX-License-Identifier: Apache-2.0 */
/* See capable.h. */
#include "boundary/capable.h"

const char ck_target_here[] = "linux";
