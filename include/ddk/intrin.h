/* SPDX-License-Identifier: MIT */
/*
 * intrin.h - functions that the Microsoft compiler knows by itself, in the parts drivers use.
 */
#ifndef OPENDXGK_DDK_INTRIN_H
#define OPENDXGK_DDK_INTRIN_H

#include "wdm.h"

OPENDXGK_EXTERN_C_BEGIN

#define _ReturnAddress()          __builtin_return_address(0)
#define _AddressOfReturnAddress() ((void *)((char *)__builtin_frame_address(0) + sizeof(void *)))
#define __nop()                   __asm__ volatile("nop")
#define _byteswap_ushort(value)   __builtin_bswap16(value)
#define _byteswap_ulong(value)    __builtin_bswap32(value)
#define _byteswap_uint64(value)   __builtin_bswap64(value)
#define __popcnt(value)           ((unsigned int)__builtin_popcount(value))
#define __popcnt64(value)         ((ULONGLONG)__builtin_popcountll(value))

#define _InterlockedIncrement             InterlockedIncrement
#define _InterlockedDecrement             InterlockedDecrement
#define _InterlockedExchange              InterlockedExchange
#define _InterlockedExchangeAdd           InterlockedExchangeAdd
#define _InterlockedCompareExchange       InterlockedCompareExchange
#define _InterlockedExchangePointer       InterlockedExchangePointer
#define _InterlockedCompareExchangePointer InterlockedCompareExchangePointer
#define _InterlockedAnd                   InterlockedAnd
#define _InterlockedOr                    InterlockedOr
#define _InterlockedXor                   InterlockedXor
#define _InterlockedIncrement64           InterlockedIncrement64
#define _InterlockedDecrement64           InterlockedDecrement64
#define _InterlockedExchange64            InterlockedExchange64
#define _InterlockedExchangeAdd64         InterlockedExchangeAdd64
#define _InterlockedCompareExchange64     InterlockedCompareExchange64

#if defined(__x86_64__)
#define _mm_pause()  __builtin_ia32_pause()
#define _mm_mfence() __builtin_ia32_mfence()
#define _mm_lfence() __builtin_ia32_lfence()
#define _mm_sfence() __builtin_ia32_sfence()
#ifndef __rdtsc
#define __rdtsc() ((ULONGLONG)__builtin_ia32_rdtsc())
#endif

OPENDXGK_INLINE VOID OpendxgkCpuid(int Registers[4], int Leaf, int Subleaf)
{
	__asm__ volatile("cpuid"
			 : "=a"(Registers[0]), "=b"(Registers[1]), "=c"(Registers[2]),
			   "=d"(Registers[3])
			 : "a"(Leaf), "c"(Subleaf));
}
#define __cpuid(registers, leaf)            OpendxgkCpuid(registers, leaf, 0)
#define __cpuidex(registers, leaf, subleaf) OpendxgkCpuid(registers, leaf, subleaf)
#endif

OPENDXGK_EXTERN_C_END

#endif
