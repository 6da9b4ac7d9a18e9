/* SPDX-License-Identifier: MIT */
/*
 * claims.h - for tests in C++, which are one program of claims in a row.
 */
#ifndef TESTS_SUPPORT_CLAIMS_H
#define TESTS_SUPPORT_CLAIMS_H

#include <cstdio>

static unsigned claims;
static unsigned failed;

static inline void claim(bool is_true, const char *what)
{
	failed += !is_true;
	std::printf("%sok %u - %s\n", is_true ? "" : "not ", ++claims, what);
	std::fflush(stdout);
}

/* The program's exit status. */
static inline int claims_end()
{
	std::printf("1..%u\n", claims);
	return failed != 0;
}

static inline int claims_skip(const char *why)
{
	std::printf("1..0 # SKIP %s\n", why);
	return 0;
}

#endif
