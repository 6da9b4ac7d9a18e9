/* SPDX-License-Identifier: MIT */
/*
 * driver_alone.h - what files of our drivers reach for, for tests that have no NT environment around them.
 */
#ifndef TESTS_SUPPORT_DRIVER_ALONE_H
#define TESTS_SUPPORT_DRIVER_ALONE_H

#include <stdlib.h>

PVOID gpu_pool_allocate(POOL_TYPE type, SIZE_T size_bytes)
{
	return calloc(1, size_bytes);
}

void gpu_pool_free(PVOID memory)
{
	free(memory);
}

ULONG DbgPrint(PCSTR Format, ...)
{
	return 0;
}

#endif
