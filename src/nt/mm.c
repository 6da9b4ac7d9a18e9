/* SPDX-License-Identifier: MIT */
/*
 * mm.c - the Mm routines that name memory by pointer or by physical address: contiguous memory,
 * I/O space, address checks. MDLs are in mdl.c, pool in pool.c; the pages come from machine.c.
 *
 * Caching types are accepted and change nothing: the memory is the host's ordinary memory, which
 * every device here sees coherently.
 */
#include <dlfcn.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/machine.h"
#include "base/machine_alias.h"
#include "base/machine_pin.h"
#include "base/mem.h"
#include "base/probe.h"

#include <ddk/wdm.h>

#include "nt/driver_memory.h"
#include "nt/forbidden.h"
#include "nt/irql.h"
#include "nt/memory_faults.h"
#include "nt/pool.h"
#include "nt/report.h"
#include "nt/unicode.h"

static PVOID contiguous_alloc(SIZE_T size_bytes, LONGLONG lowest, LONGLONG highest,
			      LONGLONG boundary, const void *site)
{
	uint64_t address;

	nt_irql_require(DISPATCH_LEVEL, "MmAllocateContiguousMemory");
	nt_forbidden_check("MmAllocateContiguousMemory");
	if (nt_memory_fails() ||
	    !NT_SUCCESS(machine_alloc_contiguous(size_bytes, 0, (uint64_t)lowest, (uint64_t)highest,
						 (uint64_t)boundary, &address))) {
		nt_pool_refused(size_bytes, site);
		return NULL;
	}
	PVOID pointer = machine_to_pointer(address);
	uint64_t pfn = address >> PAGE_SHIFT;
	if (!driver_memory_add(pointer, true, &pfn, BYTES_TO_PAGES(size_bytes), site)) {
		(void)!machine_free_contiguous(address);
		nt_pool_refused(size_bytes, site);
		return NULL;
	}
	return pointer;
}

PVOID MmAllocateContiguousMemory(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS HighestAcceptableAddress)
{
	return contiguous_alloc(NumberOfBytes, 0, HighestAcceptableAddress.QuadPart, 0, CALLER);
}

PVOID MmAllocateContiguousMemorySpecifyCache(SIZE_T NumberOfBytes,
					     PHYSICAL_ADDRESS LowestAcceptableAddress,
					     PHYSICAL_ADDRESS HighestAcceptableAddress,
					     PHYSICAL_ADDRESS BoundaryAddressMultiple,
					     MEMORY_CACHING_TYPE CacheType)
{
	return contiguous_alloc(NumberOfBytes, LowestAcceptableAddress.QuadPart,
				HighestAcceptableAddress.QuadPart, BoundaryAddressMultiple.QuadPart,
				CALLER);
}

PVOID MmAllocateContiguousNodeMemory(SIZE_T NumberOfBytes, PHYSICAL_ADDRESS LowestAcceptableAddress,
				     PHYSICAL_ADDRESS HighestAcceptableAddress,
				     PHYSICAL_ADDRESS BoundaryAddressMultiple, ULONG Protect,
				     ULONG PreferredNode)
{
	return contiguous_alloc(NumberOfBytes, LowestAcceptableAddress.QuadPart,
				HighestAcceptableAddress.QuadPart, BoundaryAddressMultiple.QuadPart,
				CALLER);
}

PVOID MmAllocateNonCachedMemory(SIZE_T NumberOfBytes)
{
	return contiguous_alloc(NumberOfBytes, 0, INT64_MAX, 0, CALLER);
}

/* `size_bytes` is what the driver says; 0 when it does not say. */
static void contiguous_free(PVOID base, SIZE_T size_bytes, const char *routine)
{
	uint64_t address;
	uint64_t run_bytes = 0;

	nt_irql_require(DISPATCH_LEVEL, routine);
	if (machine_from_pointer(base, &address))
		run_bytes = machine_run_bytes(address);
	if (!driver_memory_free(base, true))
		nt_report(RULE_NT_CONTIGUOUS_FREE,
			  "%s was given %p, where no contiguous memory starts", routine, base);
	else if (size_bytes != 0 && ROUND_TO_PAGES(size_bytes) != run_bytes)
		nt_report(RULE_NT_CONTIGUOUS_FREE,
			  "%s was told %lu bytes, and the memory at %p had %llu", routine,
			  (unsigned long)size_bytes, base, (unsigned long long)run_bytes);
}

VOID MmFreeContiguousMemory(PVOID BaseAddress)
{
	contiguous_free(BaseAddress, 0, __func__);
}

VOID MmFreeContiguousMemorySpecifyCache(PVOID BaseAddress, SIZE_T NumberOfBytes,
					MEMORY_CACHING_TYPE CacheType)
{
	contiguous_free(BaseAddress, NumberOfBytes, __func__);
}

VOID MmFreeNonCachedMemory(PVOID BaseAddress, SIZE_T NumberOfBytes)
{
	contiguous_free(BaseAddress, NumberOfBytes, __func__);
}

/*
 * Pool, stacks and a client's memory have addresses too, far above the machine's own (machine.h):
 * the same that an MDL over them shows. The host refuses them where it expects memory of the machine.
 */
PHYSICAL_ADDRESS MmGetPhysicalAddress(PVOID BaseAddress)
{
	PHYSICAL_ADDRESS result = { .QuadPart = 0 };
	uint64_t address;

	if (machine_from_pointer(BaseAddress, &address))
		result.QuadPart = (LONGLONG)address;
	else if (probe_is_readable(BaseAddress, 1))
		result.QuadPart = (LONGLONG)machine_foreign(BaseAddress);
	else
		nt_report(RULE_NT_ADDRESS, "%s was given %p, where no memory is", __func__,
			  BaseAddress);
	return result;
}

/*
 * Memory that a client brought is no memory of the machine, and a device uses it all the same: it is where it is,
 * if it is there. What is mapped so is noted, to know it again at the end.
 */
struct brought_window {
	struct list link; /* brought.windows */
	PVOID pointer;
	SIZE_T size_bytes;
};

static struct {
	struct lock lock; /* LOCK_RANK_LEAF */
	struct list windows;
} brought = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "windows onto clients' memory"),
	.windows = { &brought.windows, &brought.windows },
};

static PVOID brought_map(uint64_t address, SIZE_T size_bytes, bool is_to_be_written)
{
	PVOID pointer = machine_to_pointer(address);
	bool is_there = probe_is_writable(pointer, size_bytes) ||
			(!is_to_be_written && probe_is_readable(pointer, size_bytes));
	struct brought_window *window = is_there ? mem_alloc(sizeof(*window)) : NULL;

	if (!window)
		return NULL;
	*window = (struct brought_window){ .pointer = pointer, .size_bytes = size_bytes };
	lock_acquire(&brought.lock);
	list_push_back(&brought.windows, &window->link);
	lock_release(&brought.lock);
	return pointer;
}

static bool brought_unmap(const void *pointer, SIZE_T size_bytes)
{
	struct brought_window *found = NULL;

	lock_acquire(&brought.lock);
	list_each (struct brought_window, window, &brought.windows, link) {
		if (window->pointer == pointer && window->size_bytes == size_bytes) {
			found = window;
			break;
		}
	}
	if (found)
		list_remove(&found->link);
	lock_release(&brought.lock);
	mem_free(found);
	return found != NULL;
}

static PVOID io_space_map(PHYSICAL_ADDRESS address, SIZE_T size_bytes, bool is_to_be_written,
			  const char *routine)
{
	nt_irql_require(DISPATCH_LEVEL, routine);
	if (machine_is_foreign((uint64_t)address.QuadPart)) {
		PVOID pointer =
			brought_map((uint64_t)address.QuadPart, size_bytes, is_to_be_written);

		if (pointer)
			return pointer;
	}
	if (!machine_is_taken((uint64_t)address.QuadPart, size_bytes)) {
		nt_report(RULE_NT_IO_SPACE,
			  "%s was asked for %lu bytes at physical address 0x%llx, which are not "
			  "all memory in use",
			  routine, (unsigned long)size_bytes, (unsigned long long)address.QuadPart);
		return NULL;
	}
	return machine_to_pointer((uint64_t)address.QuadPart);
}

PVOID MmMapIoSpace(PHYSICAL_ADDRESS PhysicalAddress, SIZE_T NumberOfBytes,
		   MEMORY_CACHING_TYPE CacheType)
{
	return io_space_map(PhysicalAddress, NumberOfBytes, true, __func__);
}

PVOID MmMapIoSpaceEx(PHYSICAL_ADDRESS PhysicalAddress, SIZE_T NumberOfBytes, ULONG Protect)
{
	return io_space_map(PhysicalAddress, NumberOfBytes, (Protect & PAGE_READONLY) == 0,
			    __func__);
}

VOID MmUnmapIoSpace(PVOID BaseAddress, SIZE_T NumberOfBytes)
{
	uint64_t address;

	nt_irql_require(DISPATCH_LEVEL, __func__);
	if (machine_from_pointer(BaseAddress, &address) &&
	    machine_is_memory(address, NumberOfBytes))
		return;
	if (!brought_unmap(BaseAddress, NumberOfBytes))
		nt_report(RULE_NT_IO_SPACE, "%s was given %p, which MmMapIoSpace did not return",
			  __func__, BaseAddress);
}

BOOLEAN OpendxgkShowPage(PHYSICAL_ADDRESS Where, PHYSICAL_ADDRESS Page)
{
	nt_irql_require(DISPATCH_LEVEL, __func__);
	return machine_alias((uint64_t)Where.QuadPart, (uint64_t)Page.QuadPart);
}

/* ---- memory that a device of the host is told of ---- */

struct pins {
	struct machine_pinner pinner;
	OPENDXGK_PIN_ROUTINE *routine;
	PVOID context;
};

static bool pins_tell(void *context, bool is_pinned, uint64_t address, void *pointer,
		      uint64_t size_bytes)
{
	const struct pins *pins = context;
	PHYSICAL_ADDRESS where = { .QuadPart = (LONGLONG)address };

	return pins->routine(pins->context, is_pinned, where, pointer, size_bytes);
}

PVOID OpendxgkCreatePins(OPENDXGK_PIN_ROUTINE *Routine, PVOID Context)
{
	struct pins *pins = mem_zalloc(sizeof(*pins));

	nt_irql_require(PASSIVE_LEVEL, __func__);
	if (pins)
		*pins = (struct pins){ { pins_tell, pins }, Routine, Context };
	return pins;
}

BOOLEAN OpendxgkPin(PVOID Pins, PHYSICAL_ADDRESS Address, SIZE_T NumberOfBytes)
{
	const struct pins *pins = Pins;

	nt_irql_require(PASSIVE_LEVEL, __func__);
	return machine_pin(&pins->pinner, (uint64_t)Address.QuadPart, NumberOfBytes);
}

VOID OpendxgkDeletePins(PVOID Pins)
{
	struct pins *pins = Pins;

	nt_irql_require(PASSIVE_LEVEL, __func__);
	if (!pins)
		return;
	machine_unpin_all(&pins->pinner);
	mem_free(pins);
}

ULONGLONG OpendxgkMemoryBytes(VOID)
{
	return machine_size_bytes();
}

BOOLEAN MmIsAddressValid(PVOID VirtualAddress)
{
	return probe_is_readable(VirtualAddress, 1);
}

/* Only names that this kernel exports; what else the process has is none of a driver's business. */
PVOID MmGetSystemRoutineAddress(PUNICODE_STRING SystemRoutineName)
{
	Dl_info here;
	Dl_info there;
	char *name =
		nt_utf8_dup(SystemRoutineName->Buffer, SystemRoutineName->Length / sizeof(WCHAR));

	nt_irql_require(PASSIVE_LEVEL, __func__);
	if (!name)
		return NULL;
	void *routine = dlsym(RTLD_DEFAULT, name);
	mem_free(name);
	if (!routine || !dladdr((void *)(uintptr_t)MmGetSystemRoutineAddress, &here) ||
	    !dladdr(routine, &there) || here.dli_fbase != there.dli_fbase)
		return NULL;
	return routine;
}

/* Driver images are never paged out here, so there is nothing to lock; the answer is a token. */
PVOID MmLockPagableDataSection(PVOID AddressWithinSection)
{
	return AddressWithinSection;
}

VOID MmUnlockPagableImageSection(PVOID ImageSectionHandle)
{
}

PVOID MmPageEntireDriver(PVOID AddressWithinSection)
{
	return AddressWithinSection;
}

VOID MmResetDriverPaging(PVOID AddressWithinSection)
{
}
