/* SPDX-License-Identifier: MIT */
/*
 * sanitized.c - what the address sanitizer has to know, where there is one: a size that is absurd is refused like anywhere else,
 * and who tells of a fault needs more of a stack than it would give a handler.
 */
// NOLINTNEXTLINE(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp): the sanitizer's name
const char *__asan_default_options(void);

// NOLINTNEXTLINE(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp)
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:use_sigaltstack=0";
}
