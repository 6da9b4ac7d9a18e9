/* SPDX-License-Identifier: MIT */
/*
 * stdint.h - integers of known size, as the types of Windows: a uint64_t is a UINT64.
 */
#ifndef OPENDXGK_DDK_CRT_STDINT_H
#define OPENDXGK_DDK_CRT_STDINT_H

typedef signed char int8_t, int_least8_t, int_fast8_t;
typedef short int16_t, int_least16_t;
typedef int int32_t, int_least32_t, int_fast16_t, int_fast32_t;
typedef long long int64_t, int_least64_t, int_fast64_t, intmax_t;
typedef unsigned char uint8_t, uint_least8_t, uint_fast8_t;
typedef unsigned short uint16_t, uint_least16_t;
typedef unsigned int uint32_t, uint_least32_t, uint_fast16_t, uint_fast32_t;
typedef unsigned long long uint64_t, uint_least64_t, uint_fast64_t, uintmax_t;
/* INT_PTR and UINT_PTR. */
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;

#define INT8_MIN    (-128)
#define INT16_MIN   (-32768)
#define INT32_MIN   (-2147483647 - 1)
#define INT64_MIN   (-9223372036854775807ll - 1)
#define INT8_MAX    127
#define INT16_MAX   32767
#define INT32_MAX   2147483647
#define INT64_MAX   9223372036854775807ll
#define UINT8_MAX   0xff
#define UINT16_MAX  0xffff
#define UINT32_MAX  0xffffffffu
#define UINT64_MAX  0xffffffffffffffffull
#define INTPTR_MIN  INT64_MIN
#define INTPTR_MAX  INT64_MAX
#define UINTPTR_MAX UINT64_MAX
#define INTMAX_MIN  INT64_MIN
#define INTMAX_MAX  INT64_MAX
#define UINTMAX_MAX UINT64_MAX
#ifndef SIZE_MAX
#define SIZE_MAX UINT64_MAX
#endif

#define INT8_C(value)    (value)
#define INT16_C(value)   (value)
#define INT32_C(value)   (value)
#define INT64_C(value)   (value##ll)
#define UINT8_C(value)   (value)
#define UINT16_C(value)  (value)
#define UINT32_C(value)  (value##u)
#define UINT64_C(value)  (value##ull)
#define INTMAX_C(value)  INT64_C(value)
#define UINTMAX_C(value) UINT64_C(value)

#endif
