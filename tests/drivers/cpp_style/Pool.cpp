/* SPDX-License-Identifier: MIT */
/*
 * Pool.cpp - the driver's own operator new and delete, on tagged pool.
 */
#include "CppStyle.h"
#include "Pool.tmh"

CS_NONPAGED_SEGMENT_BEGIN

_Use_decl_annotations_ void *operator new(size_t Size, POOL_TYPE PoolType, ULONG Tag) noexcept
{
	void *memory = ExAllocatePoolWithTag(PoolType, Size, Tag);

	if (memory == NULL)
		CS_LOG_ERROR("no pool. (Size=%Iu)", Size);
	return memory;
}

_Use_decl_annotations_ void operator delete(void *Object) noexcept
{
	if (Object != NULL)
		ExFreePool(Object);
}

_Use_decl_annotations_ void operator delete(void *Object, size_t) noexcept
{
	if (Object != NULL)
		ExFreePool(Object);
}

CS_NONPAGED_SEGMENT_END
