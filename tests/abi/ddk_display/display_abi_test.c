/* SPDX-License-Identifier: MIT */
/*
 * display_abi_test.c - include/ddk/ agrees with display_abi.def, number by number.
 *
 * Sizes, offsets and values are asserted while compiling. Where a bit field lands cannot be asked
 * of the compiler: each one is filled at run time and its bytes are looked at. The same file is
 * compiled as C and, from display_abi_cxx_test.cc, as C++; check_display_headers.py compiles it
 * once more the way drivers are compiled.
 *
 * The libc headers in front are part of the claim: the host includes them before the driver
 * headers.
 */
#ifndef OPENDXGK_NO_LIBC
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifndef __cplusplus
#include <pthread.h>
#include <string.h>
#endif
#endif

#include "dispmprt.h"

#ifdef __cplusplus
#define ABI_ASSERT(condition, text) static_assert(condition, text)
#else
#define ABI_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define SLOT(index, member)                                                                        \
	ABI_ASSERT(__builtin_offsetof(DRIVER_INITIALIZATION_DATA, member) == 8 * (index), #member);
#define SERVICE(index, member)                                                                     \
	ABI_ASSERT(__builtin_offsetof(DXGKRNL_INTERFACE, member) == 8 * ((index)-1), #member);
#define STRUCT(name, bytes) ABI_ASSERT(sizeof(name) == (bytes), "size of " #name);
#define FIELD(name, member, offset)                                                                \
	ABI_ASSERT(__builtin_offsetof(name, member) == (offset), #name "." #member);
#define ENUM(enumerator, value) ABI_ASSERT((long long)(enumerator) == (value), #enumerator);
#define CONSTANT(name, value)   ABI_ASSERT((unsigned long long)(name) == (value), #name);
#define BITS(name, member, first, bits)
#include "display_abi.def"
#undef SLOT
#undef SERVICE
#undef STRUCT
#undef FIELD
#undef ENUM
#undef CONSTANT
#undef BITS

/* A driver declares its entry points with the types of the table and fills the table with them. */
static DXGKDDI_ADD_DEVICE entry_add_device;
static DXGKDDI_START_DEVICE entry_start_device;
static DXGKDDI_BUILDPAGINGBUFFER entry_build_paging_buffer;
static DXGKDDI_OPENALLOCATIONINFO entry_open_allocation;
static DXGKDDI_QUERYDEPENDENTENGINEGROUP entry_dependent_engines;

static NTSTATUS entry_add_device(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject,
				 OUT_PPVOID MiniportDeviceContext)
{
	*MiniportDeviceContext = PhysicalDeviceObject;
	return 0;
}

static NTSTATUS entry_start_device(IN_CONST_PVOID MiniportDeviceContext,
				   IN_PDXGK_START_INFO DxgkStartInfo,
				   IN_PDXGKRNL_INTERFACE DxgkInterface,
				   OUT_PULONG NumberOfVideoPresentSources,
				   OUT_PULONG NumberOfChildren)
{
	(void)MiniportDeviceContext;
	(void)DxgkStartInfo;
	(void)DxgkInterface;
	*NumberOfVideoPresentSources = 0;
	*NumberOfChildren = 0;
	return 0;
}

static NTSTATUS entry_build_paging_buffer(IN_CONST_HANDLE hAdapter,
					  IN_PDXGKARG_BUILDPAGINGBUFFER pBuildPagingBuffer)
{
	(void)hAdapter;
	return (NTSTATUS)pBuildPagingBuffer->Operation;
}

static NTSTATUS entry_open_allocation(IN_CONST_HANDLE hDevice,
				      IN_CONST_PDXGKARG_OPENALLOCATION pOpenAllocation)
{
	pOpenAllocation->pOpenAllocation[0].hDeviceSpecificAllocation = hDevice;
	return 0;
}

static NTSTATUS entry_dependent_engines(IN_CONST_HANDLE hAdapter,
					INOUT_DXGKARG_QUERYDEPENDENTENGINEGROUP pGroup)
{
	(void)hAdapter;
	pGroup->DependentNodeOrdinalMask = 1ULL << pGroup->NodeOrdinal;
	return 0;
}

VOID display_abi_fill(PDRIVER_INITIALIZATION_DATA table);
VOID display_abi_fill(PDRIVER_INITIALIZATION_DATA table)
{
	table->Version = DXGKDDI_INTERFACE_VERSION;
	table->DxgkDdiAddDevice = entry_add_device;
	table->DxgkDdiStartDevice = entry_start_device;
	table->DxgkDdiBuildPagingBuffer = entry_build_paging_buffer;
	table->DxgkDdiOpenAllocation = entry_open_allocation;
	table->DxgkDdiQueryDependentEngineGroup = entry_dependent_engines;
}

#ifndef OPENDXGK_NO_LIBC
/* Filling `member` with ones must set exactly bits [first, first + bits) of the structure. */
static int bits_are_at(const unsigned char *bytes, size_t size, size_t first, size_t bits)
{
	for (size_t bit = 0; bit < size * 8; bit++) {
		int expected = bit >= first && bit < first + bits;

		if (((bytes[bit / 8] >> (bit % 8)) & 1) != expected)
			return 0;
	}
	return 1;
}

#define SLOT(...)
#define SERVICE(...)
#define STRUCT(...)
#define FIELD(...)
#define ENUM(...)
#define CONSTANT(...)
#define BITS(name, member, first, bits)                                                            \
	do {                                                                                       \
		name object;                                                                       \
		unsigned char bytes[sizeof(object)];                                               \
		__builtin_memset(&object, 0, sizeof(object));                                      \
		object.member = (unsigned)((1ULL << (bits)) - 1);                                  \
		__builtin_memcpy(bytes, &object, sizeof(object));                                  \
		checked++;                                                                         \
		if (!bits_are_at(bytes, sizeof(bytes), first, bits)) {                             \
			printf("# %s.%s is not at bit %d\n", #name, #member, first);               \
			wrong++;                                                                   \
		}                                                                                  \
	} while (0);

int main(void)
{
	unsigned checked = 0;
	unsigned wrong = 0;

#include "display_abi.def"

	printf("1..2\n");
	printf("%s 1 - each of %u bit fields is where the reference puts it\n",
	       wrong || !checked ? "not ok" : "ok", checked);

	DRIVER_INITIALIZATION_DATA table;
	PVOID context = NULL;

	__builtin_memset(&table, 0, sizeof(table));
	display_abi_fill(&table);
	NTSTATUS status = table.DxgkDdiAddDevice((PDEVICE_OBJECT)&context, &context);
	int reached = status == 0 && context == (PVOID)&context;

	printf("%s 2 - an entry point is reached through the table\n", reached ? "ok" : "not ok");
	return wrong || !checked || !reached;
}
#endif
