/* SPDX-License-Identifier: MIT */
/*
 * sanitizers.h - whether a sanitizer watches what is compiled here, and which: each 0 or 1.
 */
#ifndef BASE_SANITIZERS_H
#define BASE_SANITIZERS_H

#if defined(__SANITIZE_ADDRESS__) /* gcc says it so */
#define IS_ADDRESS_SANITIZED 1
#elif defined(__SANITIZE_THREAD__)
#define IS_THREAD_SANITIZED 1
#elif defined(__has_feature) /* and clang so */
#if __has_feature(address_sanitizer)
#define IS_ADDRESS_SANITIZED 1
#elif __has_feature(thread_sanitizer)
#define IS_THREAD_SANITIZED 1
#endif
#endif
#ifndef IS_ADDRESS_SANITIZED
#define IS_ADDRESS_SANITIZED 0
#endif
#ifndef IS_THREAD_SANITIZED
#define IS_THREAD_SANITIZED 0
#endif
#define IS_SANITIZED (IS_ADDRESS_SANITIZED || IS_THREAD_SANITIZED)

#endif
