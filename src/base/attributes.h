/* SPDX-License-Identifier: MIT */
/*
 * attributes.h - what we say to the compiler, under names that read well.
 */
#ifndef BASE_ATTRIBUTES_H
#define BASE_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sanitizers.h"

#define MUST_CHECK              __attribute__((warn_unused_result))
#define NORETURN                __attribute__((noreturn))
#define PRINTF_LIKE(text, args) __attribute__((format(printf, text, args)))
#define LIKELY(condition)       __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition)     __builtin_expect(!!(condition), 0)
#define RARE                    __attribute__((noinline, cold)) /* keep it out of the fast path */
/* Copied into its callers, and there made for the constants it is called with. Copies that nobody
 * optimizes would only be more to look at, for debuggers and make coverage; with a sanitizer's checks
 * in each of them they take a compiler ten times as long, and are no faster. */
#if defined(__OPTIMIZE__) && !IS_SANITIZED
#define SPECIALIZED static inline __attribute__((always_inline))
#else
#define SPECIALIZED static inline __attribute__((unused))
#endif
/* Code for processors that have such registers; who calls it asks first. */
#ifdef __x86_64__
#define WIDE_REGISTERS       __attribute__((target("avx2")))
#define HAS_WIDE_REGISTERS() __builtin_cpu_supports("avx2")
#else
#define WIDE_REGISTERS
#define HAS_WIDE_REGISTERS() false
#endif
#define EXPORTED __attribute__((visibility("default")))

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Where the function that says this was called. */
#define CALLER __builtin_return_address(0)

/* From a pointer to a member back to the struct around it. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
