/* SPDX */
extern int ck_stub_unused; int ck_stub_unused;
