/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with what its header needs in front, once for all unit tests. */
#ifndef CK_TESTS_UNIT_H
#define CK_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
