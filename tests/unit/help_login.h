/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of store/login.h as tests that know nothing of the adapter:
 * a program linked with any of them runs the same suite.
 */
#ifndef CK_TESTS_HELP_LOGIN_H
#define CK_TESTS_HELP_LOGIN_H

/* Runs all of it under this name; the number of tests that failed. */
int help_login_contract(const char *adapter);

#endif
