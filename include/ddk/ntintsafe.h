/* SPDX-License-Identifier: MIT */
/*
 * ntintsafe.h - arithmetic and conversions that say when they do not fit.
 *
 * Every function returns STATUS_SUCCESS and the exact result, or STATUS_INTEGER_OVERFLOW and all
 * ones in the result.
 */
#ifndef OPENDXGK_DDK_NTINTSAFE_H
#define OPENDXGK_DDK_NTINTSAFE_H

#include "ntdef.h"

#define USHORT_MAX    0xffff
#define DWORD_MAX     0xffffffffu
#define ULONGLONG_MAX 0xffffffffffffffffull
#define LONGLONG_MAX  9223372036854775807ll
#define ULONG64_MAX   ULONGLONG_MAX
#define ULONG_PTR_MAX ULONGLONG_MAX
#define SIZE_T_MAX    ULONGLONG_MAX

#define OPENDXGK_INTSAFE_OPERATION(name, type, builtin)                                            \
	OPENDXGK_INLINE NTSTATUS name(type First, type Second, type *Result)                       \
	{                                                                                          \
		if (!builtin(First, Second, Result))                                               \
			return STATUS_SUCCESS;                                                     \
		*Result = (type)-1;                                                                \
		return STATUS_INTEGER_OVERFLOW;                                                    \
	}

#define OPENDXGK_INTSAFE_ARITHMETIC(name, type)                                                    \
	OPENDXGK_INTSAFE_OPERATION(Rtl##name##Add, type, __builtin_add_overflow)                   \
	OPENDXGK_INTSAFE_OPERATION(Rtl##name##Sub, type, __builtin_sub_overflow)                   \
	OPENDXGK_INTSAFE_OPERATION(Rtl##name##Mult, type, __builtin_mul_overflow)

OPENDXGK_INTSAFE_ARITHMETIC(UInt8, UINT8)
OPENDXGK_INTSAFE_ARITHMETIC(UShort, USHORT)
OPENDXGK_INTSAFE_ARITHMETIC(UInt, UINT)
OPENDXGK_INTSAFE_ARITHMETIC(ULong, ULONG)
OPENDXGK_INTSAFE_ARITHMETIC(ULongLong, ULONGLONG)
OPENDXGK_INTSAFE_ARITHMETIC(ULongPtr, ULONG_PTR)
OPENDXGK_INTSAFE_ARITHMETIC(UIntPtr, UINT_PTR)
OPENDXGK_INTSAFE_ARITHMETIC(DWordPtr, DWORD_PTR)
OPENDXGK_INTSAFE_ARITHMETIC(SizeT, SIZE_T)
OPENDXGK_INTSAFE_ARITHMETIC(Short, SHORT)
OPENDXGK_INTSAFE_ARITHMETIC(Int, INT)
OPENDXGK_INTSAFE_ARITHMETIC(Long, LONG)
OPENDXGK_INTSAFE_ARITHMETIC(LongLong, LONGLONG)
OPENDXGK_INTSAFE_ARITHMETIC(LongPtr, LONG_PTR)
OPENDXGK_INTSAFE_ARITHMETIC(IntPtr, INT_PTR)

#define RtlSIZETAdd     RtlSizeTAdd
#define RtlSIZETSub     RtlSizeTSub
#define RtlSIZETMult    RtlSizeTMult
#define RtlDWordAdd     RtlULongAdd
#define RtlDWordSub     RtlULongSub
#define RtlDWordMult    RtlULongMult
#define RtlWordAdd      RtlUShortAdd
#define RtlUInt16Add    RtlUShortAdd
#define RtlUInt16Mult   RtlUShortMult
#define RtlUInt32Add    RtlUIntAdd
#define RtlUInt32Sub    RtlUIntSub
#define RtlUInt32Mult   RtlUIntMult
#define RtlUInt64Add    RtlULongLongAdd
#define RtlUInt64Sub    RtlULongLongSub
#define RtlUInt64Mult   RtlULongLongMult
#define RtlDWordLongAdd RtlULongLongAdd

/* Adding nothing across types is a conversion that knows about signs. */
#define OPENDXGK_INTSAFE_CONVERSION(from, from_type, to, to_type)                                  \
	OPENDXGK_INLINE NTSTATUS Rtl##from##To##to(from_type Operand, to_type *Result)             \
	{                                                                                          \
		if (!__builtin_add_overflow(Operand, 0, Result))                                   \
			return STATUS_SUCCESS;                                                     \
		*Result = (to_type)-1;                                                             \
		return STATUS_INTEGER_OVERFLOW;                                                    \
	}

#define OPENDXGK_INTSAFE_CONVERSIONS(from, from_type)                                              \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, UInt8, UINT8)                                 \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, UChar, UCHAR)                                 \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, Short, SHORT)                                 \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, UShort, USHORT)                               \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, Int, INT)                                     \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, UInt, UINT)                                   \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, Long, LONG)                                   \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, ULong, ULONG)                                 \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, LongLong, LONGLONG)                           \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, ULongLong, ULONGLONG)                         \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, IntPtr, INT_PTR)                              \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, ULongPtr, ULONG_PTR)                          \
	OPENDXGK_INTSAFE_CONVERSION(from, from_type, SizeT, SIZE_T)

OPENDXGK_INTSAFE_CONVERSIONS(Short, SHORT)
OPENDXGK_INTSAFE_CONVERSIONS(UShort, USHORT)
OPENDXGK_INTSAFE_CONVERSIONS(Int, INT)
OPENDXGK_INTSAFE_CONVERSIONS(UInt, UINT)
OPENDXGK_INTSAFE_CONVERSIONS(Long, LONG)
OPENDXGK_INTSAFE_CONVERSIONS(ULong, ULONG)
OPENDXGK_INTSAFE_CONVERSIONS(LongLong, LONGLONG)
OPENDXGK_INTSAFE_CONVERSIONS(ULongLong, ULONGLONG)
OPENDXGK_INTSAFE_CONVERSIONS(IntPtr, INT_PTR)
OPENDXGK_INTSAFE_CONVERSIONS(ULongPtr, ULONG_PTR)
OPENDXGK_INTSAFE_CONVERSIONS(SizeT, SIZE_T)

#define RtlSIZETToULong      RtlSizeTToULong
#define RtlSIZETToUInt       RtlSizeTToUInt
#define RtlSIZETToUShort     RtlSizeTToUShort
#define RtlULongToSIZET      RtlULongToSizeT
#define RtlULongLongToSIZET  RtlULongLongToSizeT
#define RtlDWordToUShort     RtlULongToUShort
#define RtlUInt64ToULong     RtlULongLongToULong
#define RtlUInt64ToUInt32    RtlULongLongToUInt
#define RtlUIntPtrToULong    RtlULongPtrToULong
#define RtlULongLongToUInt32 RtlULongLongToUInt

#endif
