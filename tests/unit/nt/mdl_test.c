/* SPDX-License-Identifier: MIT */
/*
 * mdl_test.c - memory descriptor lists, and the Mm routines around them.
 */
#include "nt_harness.h"

#include <setjmp.h>
#include <sys/mman.h>

#include "base/machine.h"

#include "nt/driver_memory.h"

static PHYSICAL_ADDRESS at(uint64_t address)
{
	return (PHYSICAL_ADDRESS){ .QuadPart = (LONGLONG)address };
}

static const uint64_t anywhere = INT64_MAX;

NT_TEST(mm, contiguous_memory_has_one_physical_address_after_the_other)
{
	char *memory = MmAllocateContiguousMemory(128 << 20, at(anywhere));
	EXPECT(memory);
	uint64_t address = (uint64_t)MmGetPhysicalAddress(memory).QuadPart;
	EXPECT(address != 0 && address + (128 << 20) <= UINT64_C(1) << 32);
	EXPECT_EQ(MmGetPhysicalAddress(memory + 12345678).QuadPart, address + 12345678);
	EXPECT_EQ(machine_usage().taken_pages, 32768);
	memory[5000] = 'k';

	char *mapped = MmMapIoSpace(at(address + 5000), 100, MmNonCached);
	EXPECT_EQ(*mapped, 'k');
	MmUnmapIoSpace(mapped, 100);
	EXPECT(MmMapIoSpaceEx(at(address), 4096, PAGE_READWRITE) == memory);
	EXPECT(MmIsAddressValid(memory));
	MmFreeContiguousMemory(memory);
	EXPECT_EQ(machine_usage().taken_pages, 0);

	memory = MmAllocateContiguousMemorySpecifyCache(8192, at(0x2000000), at(0x2ffffff), at(0),
							MmWriteCombined);
	address = (uint64_t)MmGetPhysicalAddress(memory).QuadPart;
	EXPECT(address >= 0x2000000 && address < 0x3000000);
	MmFreeContiguousMemorySpecifyCache(memory, 8192, MmWriteCombined);
	memory = MmAllocateContiguousNodeMemory(100, at(0), at(anywhere), at(0), PAGE_READWRITE, 0);
	EXPECT(memory);
	MmFreeContiguousMemory(memory);
	memory = MmAllocateNonCachedMemory(100);
	MmFreeNonCachedMemory(memory, 100);
	EXPECT(!MmAllocateContiguousMemory(0, at(anywhere)));
	EXPECT(!MmAllocateContiguousMemory(4096, at(0xfffff)));
	EXPECT(!MmAllocateContiguousMemory(SIZE_MAX, at(anywhere)));
	mem_fail_nth(1);
	EXPECT(!MmAllocateContiguousMemory(4096, at(anywhere)));
	EXPECT(mem_fail_stop());
	EXPECT_EQ(machine_usage().taken_pages, 0);
	EXPECT_NO_REPORT();
}

NT_TEST(mm, freeing_what_is_not_contiguous_memory_is_reported)
{
	char local;

	char *memory = MmAllocateContiguousMemory(8192, at(anywhere));
	MmFreeContiguousMemory(memory + 4096);
	MmFreeContiguousMemory(memory + 1);
	MmFreeContiguousMemory(&local);
	MmFreeContiguousMemory(NULL);
	EXPECT_REPORTS(RULE_NT_CONTIGUOUS_FREE, 4);
	MmFreeContiguousMemorySpecifyCache(memory, 4096,
					   MmCached); /* freed, but the size is wrong */
	EXPECT_REPORTS(RULE_NT_CONTIGUOUS_FREE, 5);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	MmFreeContiguousMemory(memory);
	EXPECT_REPORTS(RULE_NT_CONTIGUOUS_FREE, 6);
}

NT_TEST(mm, what_an_image_leaves_behind_is_reported_and_freed)
{
	char *memory = MmAllocateContiguousMemory(3 * PAGE_SIZE, at(anywhere));
	PMDL mdl = MmAllocatePagesForMdl(at(0), at(anywhere), at(0), 2 * PAGE_SIZE);
	EXPECT(memory && mdl);
	nt_driver_memory_report_left((void *)1, (void *)2); /* another image */
	EXPECT_NO_REPORT();
	EXPECT_EQ(machine_usage().taken_pages, 5);
	nt_driver_memory_report_left(NULL, (void *)UINTPTR_MAX);
	EXPECT_REPORTS(RULE_NT_MEMORY_LEFT, 2);
	EXPECT_CONTAINS(nt_test_log, "left 3 pages of physical memory, contiguous, allocated at");
	EXPECT_EQ(machine_usage().taken_pages, 0);
	ExFreePool(mdl);
}

NT_TEST(mm, physical_addresses_of_other_memory_are_far_away_and_of_nothing_zero)
{
	char *pool = ExAllocatePoolWithTag(NonPagedPoolNx, 64, 0x74736554);
	EXPECT(machine_is_foreign((uint64_t)MmGetPhysicalAddress(pool).QuadPart));
	EXPECT(machine_to_pointer((uint64_t)MmGetPhysicalAddress(pool).QuadPart) == pool);
	ExFreePoolWithTag(pool, 0x74736554);
	EXPECT_NO_REPORT();
	EXPECT_EQ(MmGetPhysicalAddress(NULL).QuadPart, 0);
	EXPECT_EQ(MmGetPhysicalAddress((PVOID)UINTPTR_MAX).QuadPart, 0);
	EXPECT_REPORTS(RULE_NT_ADDRESS, 2);
	EXPECT(!MmIsAddressValid(NULL) && !MmIsAddressValid((PVOID)0xdead0000ul));
}

NT_TEST(mm, io_space_is_memory_that_somebody_has)
{
	EXPECT(!MmMapIoSpace(at(0), 4096, MmNonCached));
	EXPECT(!MmMapIoSpace(at(0x10000000), 4096, MmNonCached)); /* free pages */
	EXPECT(!MmMapIoSpace(at(UINT64_MAX - 100), 4096, MmNonCached));
	EXPECT(!MmMapIoSpaceEx(at(UINT64_C(1) << 40), 4096, PAGE_READWRITE));
	int local;
	MmUnmapIoSpace(&local, 4);
	EXPECT_REPORTS(RULE_NT_IO_SPACE, 5);
}

NT_TEST(mdl, describes_the_pages_that_a_buffer_touches)
{
	char *memory = MmAllocateContiguousMemory(4 * PAGE_SIZE, at(anywhere));
	uint64_t address = (uint64_t)MmGetPhysicalAddress(memory).QuadPart;
	PMDL mdl = IoAllocateMdl(memory + 100, 2 * PAGE_SIZE, FALSE, FALSE, NULL);

	EXPECT(mdl->StartVa == memory && mdl->ByteOffset == 100);
	EXPECT_EQ(mdl->ByteCount, 2 * PAGE_SIZE);
	EXPECT_EQ(mdl->Size, sizeof(MDL) + 3 * sizeof(PFN_NUMBER));
	EXPECT(MmGetMdlVirtualAddress(mdl) == memory + 100);
	MmBuildMdlForNonPagedPool(mdl);
	EXPECT(mdl->MdlFlags & MDL_SOURCE_IS_NONPAGED_POOL);
	EXPECT((void *)MmGetMdlPfnArray(mdl) == (void *)(mdl + 1));
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(MmGetMdlPfnArray(mdl)[i], (address >> PAGE_SHIFT) + (uint64_t)i);
	EXPECT(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority) == memory + 100);
	IoFreeMdl(mdl);
	MmFreeContiguousMemory(memory);
	EXPECT(!IoAllocateMdl(memory, 0xffffffff, FALSE, FALSE, NULL));
	EXPECT(!IoAllocateMdl((PVOID)(UINTPTR_MAX - 10), 100, FALSE, FALSE, NULL));
	EXPECT_NO_REPORT();
}

NT_TEST(mdl, ordinary_memory_round_trips_through_its_frame_numbers)
{
	char *buffer = mmap(NULL, 3 * PAGE_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PMDL mdl = IoAllocateMdl(buffer + 10, 2 * PAGE_SIZE, FALSE, FALSE, NULL);

	MmProbeAndLockPages(mdl, UserMode, IoWriteAccess);
	EXPECT((mdl->MdlFlags & (MDL_PAGES_LOCKED | MDL_WRITE_OPERATION)) ==
	       (MDL_PAGES_LOCKED | MDL_WRITE_OPERATION));
	for (int i = 0; i < 3; i++)
		EXPECT(machine_to_pointer(MmGetMdlPfnArray(mdl)[i] << PAGE_SHIFT) ==
		       buffer + i * PAGE_SIZE);
	char *system = MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority);
	system[0] = 'w';
	EXPECT_EQ(buffer[10], 'w');
	EXPECT(mdl->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA);
	EXPECT(mdl->MappedSystemVa == system);
	EXPECT(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority) == system);
	MmUnlockPages(mdl); /* takes the mapping with it */
	EXPECT_EQ(mdl->MdlFlags & (MDL_MAPPED_TO_SYSTEM_VA | MDL_PAGES_LOCKED), 0);
	IoFreeMdl(mdl);
	munmap(buffer, 3 * PAGE_SIZE);
	EXPECT_NO_REPORT();
}

NT_TEST(mdl, locking_a_wild_pointer_raises_access_violation)
{
	volatile NTSTATUS raised = STATUS_SUCCESS;

	char *page = mmap(NULL, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PMDL mdl = IoAllocateMdl(page, PAGE_SIZE, FALSE, FALSE, NULL);
	__try {
		MmProbeAndLockPages(mdl, UserMode, IoModifyAccess);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		raised = GetExceptionCode();
	}
	EXPECT_EQ(raised, STATUS_ACCESS_VIOLATION);
	EXPECT_EQ(mdl->MdlFlags, 0);
	MmProbeAndLockPages(mdl, UserMode, IoReadAccess);
	MmUnlockPages(mdl);
	IoFreeMdl(mdl);

	munmap(page, PAGE_SIZE);
	mdl = IoAllocateMdl(page, 1, FALSE, FALSE, NULL);
	raised = STATUS_SUCCESS;
	__try {
		MmProbeAndLockPages(mdl, KernelMode, IoReadAccess);
	} __except (EXCEPTION_EXECUTE_HANDLER) {
		raised = GetExceptionCode();
	}
	EXPECT_EQ(raised, STATUS_ACCESS_VIOLATION);
	IoFreeMdl(mdl);
}

NT_TEST(mdl, pages_for_an_mdl_are_zeroed_locked_and_mappable_in_one_piece)
{
	PMDL first = MmAllocatePagesForMdl(at(0), at(anywhere), at(0), 3 * PAGE_SIZE);
	PMDL hole = MmAllocatePagesForMdl(at(0), at(anywhere), at(0), PAGE_SIZE);
	EXPECT_EQ(machine_usage().taken_pages, 4);
	EXPECT_EQ(first->ByteCount, 3 * PAGE_SIZE);
	EXPECT(first->MdlFlags & MDL_PAGES_LOCKED);

	/* Two MDLs' pages in an odd order, through the host's own constructor. */
	uint64_t pfns[3] = { MmGetMdlPfnArray(hole)[0], MmGetMdlPfnArray(first)[2],
			     MmGetMdlPfnArray(first)[0] };
	PMDL mixed;
	EXPECT_EQ(nt_mdl_create_for_pages(pfns, 3, &mixed), STATUS_SUCCESS);
	char *view = MmGetSystemAddressForMdlSafe(mixed, NormalPagePriority);
	EXPECT(view);
	for (unsigned i = 0; i < 3 * PAGE_SIZE; i++)
		EXPECT(view[i] == 0);
	view[PAGE_SIZE] = 'm';
	char *whole = MmMapLockedPagesSpecifyCache(first, KernelMode, MmCached, NULL, FALSE,
						   NormalPagePriority);
	EXPECT_EQ(whole[2 * PAGE_SIZE], 'm');
	EXPECT_EQ(MmGetPhysicalAddress(view + PAGE_SIZE + 5).QuadPart, (pfns[1] << PAGE_SHIFT) + 5);
	MmUnmapLockedPages(whole, first);
	EXPECT(!(first->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA));
	nt_mdl_destroy(mixed); /* still mapped: the view goes with it */
	EXPECT_EQ(machine_usage().mapped_views, 0);
	nt_mdl_destroy(NULL);

	MmFreePagesFromMdl(first);
	ExFreePool(first);
	MmFreePagesFromMdlEx(hole, 0);
	ExFreePool(hole);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	EXPECT_NO_REPORT();
}

static void begin_small(void)
{
	setenv("DXGK_PHYSICAL_MIB", "16", 1);
	nt_test_begin();
}

static void finish_small(void)
{
	nt_test_finish();
	unsetenv("DXGK_PHYSICAL_MIB");
}

/* On a machine of 16 MiB. */
#define SMALL_TEST(suite, claim) TEST_BETWEEN(begin_small(), finish_small(), suite, claim)

SMALL_TEST(mdl, fewer_pages_are_an_answer_unless_all_are_required)
{
	PMDL mdl = MmAllocatePagesForMdlEx(at(0), at(anywhere), at(0), 32 << 20, MmCached,
					   MM_ALLOCATE_FULLY_REQUIRED);
	EXPECT(!mdl && machine_usage().taken_pages == 0);
	mdl = MmAllocatePagesForMdlEx(at(0), at(anywhere), at(0), 32 << 20, MmCached, 0);
	EXPECT_EQ(mdl->ByteCount, 16 << 20);
	EXPECT(!MmAllocatePagesForMdl(at(0), at(anywhere), at(0), 1));
	MmFreePagesFromMdl(mdl);
	ExFreePool(mdl);

	/* Chunks of 64 KiB, each in one piece and aligned. */
	mdl = MmAllocatePagesForMdlEx(at(0), at(anywhere), at(0x10000), 1 << 20, MmCached,
				      MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS);
	EXPECT_EQ(mdl->ByteCount, 1 << 20);
	for (int i = 0; i < 256; i++)
		EXPECT_EQ(MmGetMdlPfnArray(mdl)[i] % 16, (uint64_t)i % 16);
	MmFreePagesFromMdl(mdl);
	ExFreePool(mdl);

	/* One MiB windows, two MiB apart. */
	mdl = MmAllocatePagesForMdl(at(0x200000), at(0x2fffff), at(0x200000), 3 << 20);
	EXPECT_EQ(mdl->ByteCount, 3 << 20);
	for (int i = 0; i < 768; i++)
		EXPECT_EQ(MmGetMdlPfnArray(mdl)[i] >> 8 & 1, 0);
	MmFreePagesFromMdl(mdl);
	ExFreePool(mdl);

	EXPECT(!MmAllocatePagesForMdl(at(0), at(anywhere), at(0), 0));
	EXPECT(!MmAllocatePagesForMdl(at(0x300000), at(0x200000), at(0), 4096));
	EXPECT(!MmAllocatePagesForMdl(at(0), at(anywhere), at(100), 4096));
	EXPECT(!MmAllocatePagesForMdl(at(0), at(anywhere), at(0), (SIZE_T)1 << 40));
	EXPECT_NO_REPORT();
}

SMALL_TEST(mdl, chunks_without_a_size_are_one_chunk)
{
	PMDL mdl = MmAllocatePagesForMdlEx(at(0), at(anywhere), at(0), 1 << 20, MmCached,
					   MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS);
	EXPECT_EQ(mdl->ByteCount, 1 << 20);
	for (int i = 1; i < 256; i++)
		EXPECT_EQ(MmGetMdlPfnArray(mdl)[i], MmGetMdlPfnArray(mdl)[0] + (PFN_NUMBER)i);
	MmFreePagesFromMdl(mdl);
	ExFreePool(mdl);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	EXPECT_NO_REPORT();
}

NT_TEST(mdl, pages_that_cannot_be_meant_are_none)
{
	EXPECT(!MmAllocatePagesForMdl(at(0x200000), at(0x100000), at(0), PAGE_SIZE));
	EXPECT(!MmAllocatePagesForMdl(at(0), at(anywhere), at(100), PAGE_SIZE));
	EXPECT(!MmAllocatePagesForMdl(at(0), at(anywhere), at(0), 0));
	/* Chunks are a power of two, and all of them whole. */
	EXPECT(!MmAllocatePagesForMdlEx(at(0), at(anywhere), at(3 * PAGE_SIZE), 3 * PAGE_SIZE,
					MmCached, MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS));
	EXPECT(!MmAllocatePagesForMdlEx(at(0), at(anywhere), at(2 * PAGE_SIZE), 3 * PAGE_SIZE,
					MmCached, MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS));
	mem_fail_nth(1);
	EXPECT(!MmAllocatePagesForMdl(at(0), at(anywhere), at(0), PAGE_SIZE));
	EXPECT(mem_fail_stop());
	mem_fail_nth(1);
	EXPECT(!IoAllocateMdl(nt_test_log, 100, FALSE, FALSE, NULL));
	EXPECT(mem_fail_stop());
	EXPECT_NO_REPORT();
}

NT_TEST(mdl, a_view_for_user_mode_is_unmapped_by_its_address)
{
	PMDL mdl = MmAllocatePagesForMdl(at(0), at(anywhere), at(0), 2 * PAGE_SIZE);
	char *view = MmMapLockedPagesSpecifyCache(mdl, UserMode, MmCached, NULL, FALSE,
						  NormalPagePriority);
	EXPECT(view);
	EXPECT(!(mdl->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA));
	view[5000] = 'u';
	MmUnmapLockedPages(view, mdl);
	view = MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority);
	EXPECT_EQ(view[5000], 'u');
	EXPECT_NO_REPORT();
	MmUnmapLockedPages(view + 1, mdl); /* nothing of it is there */
	EXPECT_REPORTS(RULE_NT_MDL_STATE, 1);
	MmFreePagesFromMdl(mdl);
	ExFreePool(mdl);
}

NT_TEST(mdl, of_no_memory_is_not_built)
{
	char *page = mmap(NULL, PAGE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	PMDL mdl = IoAllocateMdl(page, PAGE_SIZE, FALSE, FALSE, NULL);
	MmBuildMdlForNonPagedPool(mdl);
	EXPECT_REPORTS(RULE_NT_ADDRESS, 1);
	EXPECT(!(mdl->MdlFlags & MDL_SOURCE_IS_NONPAGED_POOL));
	IoFreeMdl(mdl);
	munmap(page, PAGE_SIZE);
}

NT_TEST(mdl, a_partial_mdl_shows_a_part)
{
	char *memory = MmAllocateContiguousMemory(4 * PAGE_SIZE, at(anywhere));
	PMDL source = IoAllocateMdl(memory, 4 * PAGE_SIZE, FALSE, FALSE, NULL);
	MmProbeAndLockPages(source, KernelMode, IoModifyAccess);
	PMDL target = IoAllocateMdl(memory + PAGE_SIZE + 16, 5000, FALSE, FALSE, NULL);

	IoBuildPartialMdl(source, target, memory + PAGE_SIZE + 16, 5000);
	EXPECT(target->MdlFlags & MDL_PARTIAL);
	EXPECT_EQ(target->ByteCount, 5000);
	EXPECT_EQ(target->ByteOffset, 16);
	EXPECT_EQ(MmGetMdlPfnArray(target)[0], MmGetMdlPfnArray(source)[1]);
	memory[PAGE_SIZE + 16] = 'p';
	EXPECT_EQ(*(char *)MmGetSystemAddressForMdlSafe(target, NormalPagePriority), 'p');
	EXPECT(target->MdlFlags & MDL_PARTIAL_HAS_BEEN_MAPPED);
	MmPrepareMdlForReuse(target);
	EXPECT(!(target->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA));

	IoBuildPartialMdl(source, target, memory + 3 * PAGE_SIZE, 0); /* to the end */
	EXPECT_EQ(target->ByteCount, PAGE_SIZE);
	EXPECT_NO_REPORT();
	IoBuildPartialMdl(source, target, memory + 3 * PAGE_SIZE, PAGE_SIZE + 1);
	IoBuildPartialMdl(source, target, memory - 1, 1);
	IoBuildPartialMdl(source, target, memory, 3 * PAGE_SIZE); /* target has two pages */
	EXPECT_REPORTS(RULE_NT_MDL_PARTIAL, 3);
	EXPECT_EQ(target->ByteCount, PAGE_SIZE);

	/* Of a mapped source it is mapped from the start. */
	char *system = MmGetSystemAddressForMdlSafe(source, NormalPagePriority);
	IoBuildPartialMdl(source, target, memory + 100, 50);
	EXPECT(MmGetSystemAddressForMdlSafe(target, NormalPagePriority) == system + 100);
	IoFreeMdl(target);
	MmUnlockPages(source);
	IoFreeMdl(source);
	MmFreeContiguousMemory(memory);
}

NT_TEST(mdl, steps_out_of_order_are_reported_and_left_out)
{
	char buffer[100];

	PMDL mdl = IoAllocateMdl(buffer, sizeof(buffer), FALSE, FALSE, NULL);
	EXPECT(!MmMapLockedPagesSpecifyCache(mdl, KernelMode, MmCached, NULL, FALSE, 0));
	MmUnlockPages(mdl);
	MmUnmapLockedPages(buffer, mdl);
	EXPECT_REPORTS(RULE_NT_MDL_STATE, 3);
	MmProbeAndLockPages(mdl, KernelMode, IoReadAccess);
	MmProbeAndLockPages(mdl, KernelMode, IoReadAccess);
	MmBuildMdlForNonPagedPool(mdl);
	EXPECT_REPORTS(RULE_NT_MDL_STATE, 5);
	char *system = MmMapLockedPages(mdl, KernelMode);
	EXPECT(system == buffer);
	EXPECT(MmMapLockedPages(mdl, KernelMode) == buffer); /* mapped twice */
	EXPECT_REPORTS(RULE_NT_MDL_STATE, 6);
	MmFreePagesFromMdl(mdl); /* not its own pages */
	EXPECT_REPORTS(RULE_NT_MDL_STATE, 7);
	IoFreeMdl(mdl); /* still locked */
	EXPECT_REPORTS(RULE_NT_MDL_STATE, 8);
	IoFreeMdl(NULL);

	mdl = MmAllocatePagesForMdl(at(0), at(anywhere), at(0), PAGE_SIZE);
	MmMapLockedPages(mdl, KernelMode);
	MmFreePagesFromMdl(mdl); /* still mapped */
	EXPECT_REPORTS(RULE_NT_MDL_STATE, 9);
	MmFreePagesFromMdl(mdl); /* again */
	EXPECT_REPORTS(RULE_NT_MDL_STATE, 10);
	ExFreePool(mdl);
	EXPECT_EQ(machine_usage().taken_pages, 0);
}

NT_TEST(mdl, a_second_buffer_of_a_request_is_chained)
{
	char one[8];
	char two[8];
	IRP irp;

	memset(&irp, 0, sizeof(irp));
	PMDL first = IoAllocateMdl(one, sizeof(one), FALSE, FALSE, &irp);
	PMDL second = IoAllocateMdl(two, sizeof(two), TRUE, FALSE, &irp);
	EXPECT(irp.MdlAddress == first && first->Next == second && !second->Next);
	PMDL third = IoAllocateMdl(one, sizeof(one), TRUE, FALSE, &irp);
	EXPECT(first->Next == second && second->Next == third);
	IoFreeMdl(first);
	IoFreeMdl(second);
	IoFreeMdl(third);
}

TEST(mdl, impossible_host_requests_are_refused)
{
	uint64_t pfn = MACHINE_FIRST >> PAGE_SHIFT;
	PMDL mdl;

	EXPECT_EQ(nt_mdl_create_for_pages(&pfn, 0, &mdl), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(nt_mdl_create_for_pages(&pfn, UINT64_MAX, &mdl), STATUS_INVALID_PARAMETER);
	mem_fail_nth(1);
	EXPECT_EQ(nt_mdl_create_for_pages(&pfn, 1, &mdl), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
}

NT_TEST(mm, drivers_find_the_routines_of_the_kernel_and_no_others)
{
	UNICODE_STRING name;

	RtlInitUnicodeString(&name, L"getppid"); /* the C library's */
	EXPECT(!MmGetSystemRoutineAddress(&name));
	RtlInitUnicodeString(&name, L"NoSuchRoutine");
	EXPECT(!MmGetSystemRoutineAddress(&name));
	mem_fail_nth(1);
	EXPECT(!MmGetSystemRoutineAddress(&name));
	EXPECT(mem_fail_stop());
	EXPECT_NO_REPORT();
}

TEST(mm, images_are_never_paged_out)
{
	static int in_a_section;

	EXPECT(MmLockPagableDataSection(&in_a_section) == &in_a_section);
	MmUnlockPagableImageSection(&in_a_section);
	EXPECT(MmPageEntireDriver(&in_a_section) == &in_a_section);
	MmResetDriverPaging(&in_a_section);
}

NT_TEST(mdl, the_rights_of_a_mapping_stay_as_they_are)
{
	PMDL mdl = MmAllocatePagesForMdl(at(0), at(anywhere), at(0), PAGE_SIZE);
	EXPECT(MmMapLockedPages(mdl, KernelMode));
	EXPECT_EQ(MmProtectMdlSystemAddress(mdl, PAGE_READONLY), STATUS_NOT_SUPPORTED);
	EXPECT_REPORTS(RULE_NT_NOT_HOSTED, 1);
	MmUnmapLockedPages(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority), mdl);
	MmFreePagesFromMdl(mdl);
	ExFreePool(mdl);
}

TEST_MAIN("nt/mdl")
