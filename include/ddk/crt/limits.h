/* SPDX-License-Identifier: MIT */
/*
 * limits.h - with a long of 32 bits.
 */
#ifndef OPENDXGK_DDK_CRT_LIMITS_H
#define OPENDXGK_DDK_CRT_LIMITS_H

#include "../ntdef.h"

#define SCHAR_MIN  (-128)
#define SCHAR_MAX  127
#define UCHAR_MAX  0xff
#define CHAR_MIN   SCHAR_MIN
#define CHAR_MAX   SCHAR_MAX
#define SHRT_MIN   (-32768)
#define SHRT_MAX   32767
#define USHRT_MAX  0xffff
#define INT_MIN    (-2147483647 - 1)
#define INT_MAX    2147483647
#define UINT_MAX   0xffffffffu
#define LONG_MIN   INT_MIN
#define LONG_MAX   INT_MAX
#define ULONG_MAX  UINT_MAX
#define LLONG_MIN  (-9223372036854775807ll - 1)
#define LLONG_MAX  9223372036854775807ll
#define ULLONG_MAX 0xffffffffffffffffull

#endif
