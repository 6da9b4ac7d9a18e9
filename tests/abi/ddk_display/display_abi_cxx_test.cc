/* SPDX-License-Identifier: MIT */
/* The same claims for C++: see display_abi_test.c. */
#include "display_abi_test.c"

/* A C++ driver's pure virtual calls end here; this program links no host and makes none. */
VOID NTAPI KeBugCheckEx(ULONG, ULONG_PTR, ULONG_PTR, ULONG_PTR, ULONG_PTR)
{
	__builtin_trap();
}
