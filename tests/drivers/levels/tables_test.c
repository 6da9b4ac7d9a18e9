/* SPDX-License-Identifier: MIT */
/*
 * tables_test.c - the watch over page tables sees what is told to it in the wrong order.
 *
 * Segment 1 is memory, which the CPU sees at FIRST; 2 is an aperture; 3 is system memory.
 */
#include "support/test.h"

#include "inside.h"
#include "tables.h"

enum { MEMORY = 1, SYSTEM = 3, PAGE = 4096, ENTRIES = 512 };

#define FIRST UINT64_C(0x40000000)

static const char *complaint;

void inside_complain(const char *what, const char *why)
{
	(void)what;
	complaint = why;
}

/* Pointers of the test are what they stand for. */
PHYSICAL_ADDRESS MmGetPhysicalAddress(PVOID address)
{
	return (PHYSICAL_ADDRESS){ .QuadPart = (LONGLONG)(ULONG_PTR)address };
}

static void expect_wrong(const char *part)
{
	if (!complaint || !strstr(complaint, part))
		print_error("complained of \"%s\"\n", complaint ? complaint : "nothing");
	EXPECT(complaint && strstr(complaint, part));
	complaint = NULL;
}

static void expect_right(void)
{
	EXPECT_STR(complaint ? complaint : "", "");
}

/* ---- what is told ---- */

static int process;
static int paging_process;
static int context;
static int queue;

static void start(void)
{
	DXGK_SEGMENTDESCRIPTOR4 segments[2] = {
		{ .Flags.CpuVisible = 1, .Size = 1 << 20, .CpuTranslatedAddress.QuadPart = FIRST },
		{ .Flags.Aperture = 1, .Size = 1 << 20 },
	};
	DXGK_QUERYSEGMENTOUT4 answer = { .NbSegment = 2,
					 .pSegmentDescriptor = (BYTE *)segments,
					 .SegmentDescriptorStride = sizeof(segments[0]) };
	DXGK_GPUMMUCAPS caps = { .Value = 0 };
	DXGKARG_CREATEPROCESS paging = { .hKmdProcess = &paging_process, .Flags.SystemProcess = 1 };

	tables_are_gone();
	tables_answered(&(DXGKARG_QUERYADAPTERINFO){ .Type = DXGKQAITYPE_QUERYSEGMENT4,
						     .pOutputData = &answer });
	tables_answered(&(DXGKARG_QUERYADAPTERINFO){ .Type = DXGKQAITYPE_GPUMMUCAPS,
						     .pOutputData = &caps });
	tables_process_made(&paging);
	complaint = NULL;
}

static DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE at_physical(unsigned segment, uint64_t offset)
{
	return (DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE){
		.PageTableAddress.GpuPhysical = { .SegmentId = segment, .SegmentOffset = offset },
		.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL,
		.hProcess = &process,
	};
}

static DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE at_pointer(uint64_t address)
{
	return (DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE){
		.PageTableAddress.CpuVirtual = (PVOID)(ULONG_PTR)address,
		.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL,
		.hProcess = &process,
	};
}

static DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE at_virtual(uint64_t address)
{
	return (DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE){
		.PageTableAddress.GpuVirtual = address,
		.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL,
		.hProcess = &process,
	};
}

static DXGK_PTE pte(unsigned segment, uint64_t offset)
{
	return (DXGK_PTE){ .Valid = 1, .Segment = segment, .PageAddress = offset / PAGE };
}

static void update(DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE table, unsigned level, DXGK_PTE entry)
{
	DXGKARG_BUILDPAGINGBUFFER args = { .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE };

	table.PageTableLevel = level;
	table.pPageTableEntries = &entry;
	table.NumPageTableEntries = 1;
	args.UpdatePageTable = table;
	tables_paged(&args);
}

static void fill(DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE table, bool is_initial, bool is_eviction)
{
	DXGKARG_BUILDPAGINGBUFFER args = { .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE };
	DXGK_PTE invalid = { .Valid = 0 };

	table.Flags.Repeat = 1;
	table.Flags.InitialUpdate = is_initial;
	table.Flags.NotifyEviction = is_eviction;
	table.pPageTableEntries = &invalid;
	table.NumPageTableEntries = ENTRIES;
	args.UpdatePageTable = table;
	tables_paged(&args);
}

static void begin(DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE table)
{
	fill(table, true, false);
}

static void evict(DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE table)
{
	fill(table, false, true);
}

/* The paging process shows a page there. */
static void show(uint64_t address, DXGK_PTE entry)
{
	DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE own = at_physical(SYSTEM, 0x900000);

	own.hProcess = &paging_process;
	begin(own);
	own.FirstPteVirtualAddress = address;
	update(own, 0, entry);
}

static void copy(uint64_t source, uint64_t destination)
{
	DXGK_BUILDPAGINGBUFFER_COPY_RANGE range = { .NumPageTableEntries = 1,
						    .SrcPageTableAddress = source,
						    .DstPageTableAddress = destination };
	DXGKARG_BUILDPAGINGBUFFER args = { .Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES };

	args.CopyPageTableEntries.NumRanges = 1;
	args.CopyPageTableEntries.pRanges = &range;
	tables_paged(&args);
}

static void tell_root(unsigned segment, uint64_t offset)
{
	tables_root_set(&(DXGKARG_SETROOTPAGETABLE){
		.hContext = &context,
		.Address = { .SegmentId = segment, .SegmentOffset = offset } });
}

/* ---- tables ---- */

TEST(table, is_one_after_its_initial_update)
{
	start();
	update(at_physical(MEMORY, 0x1000), 0, pte(MEMORY, 0x5000));
	expect_wrong("no page table");
	begin(at_physical(MEMORY, 0x2000));
	update(at_physical(MEMORY, 0x2000), 0, pte(MEMORY, 0x5000));
	expect_right();
	update(at_physical(SYSTEM, 0x2000), 0, pte(MEMORY, 0x5000));
	expect_wrong("no page table");
}

TEST(table, that_left_is_written_only_when_it_has_come_back)
{
	start();
	begin(at_physical(MEMORY, 0x1000));
	evict(at_physical(MEMORY, 0x1000));
	expect_right();
	update(at_physical(MEMORY, 0x1000), 0, pte(MEMORY, 0x5000));
	expect_wrong("no page table");
	begin(at_physical(MEMORY, 0x1000));
	update(at_physical(MEMORY, 0x1000), 0, pte(MEMORY, 0x5000));
	expect_right();
}

TEST(table, cannot_leave_twice)
{
	start();
	begin(at_physical(MEMORY, 0x1000));
	evict(at_physical(MEMORY, 0x1000));
	evict(at_physical(MEMORY, 0x1000));
	expect_wrong("no page table");
}

TEST(table, is_led_to_after_it_was_begun)
{
	start();
	begin(at_physical(MEMORY, 0x1000));
	update(at_physical(MEMORY, 0x1000), 1, pte(MEMORY, 0x2000));
	expect_wrong("leads to no page table");
	begin(at_physical(MEMORY, 0x2000));
	update(at_physical(MEMORY, 0x1000), 1, pte(MEMORY, 0x2000));
	expect_right();
	evict(at_physical(MEMORY, 0x2000));
	update(at_physical(MEMORY, 0x1000), 1, pte(MEMORY, 0x2000));
	expect_wrong("leads to no page table");
}

TEST(table, is_not_what_a_large_page_or_zeroes_lead_to)
{
	DXGK_PTE large = pte(MEMORY, 0x200000);
	DXGK_PTE zero = pte(MEMORY, 0x400000);

	start();
	large.LargePage = 1;
	zero.Zero = 1;
	begin(at_physical(MEMORY, 0x1000));
	update(at_physical(MEMORY, 0x1000), 1, large);
	update(at_physical(MEMORY, 0x1000), 1, zero);
	expect_right();
}

TEST(table, of_64k_pages_is_led_to_like_any_other)
{
	DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE above = at_physical(MEMORY, 0x1000);
	DXGK_PTE wide = pte(MEMORY, 0x3000);

	start();
	begin(above);
	begin(at_physical(MEMORY, 0x2000));
	above.pPageTableEntries64KB = &wide;
	update(above, 1, pte(MEMORY, 0x2000));
	expect_wrong("leads to no page table");
	begin(at_physical(MEMORY, 0x3000));
	update(above, 1, pte(MEMORY, 0x2000));
	expect_right();
}

/* ---- where it is ---- */

TEST(place, is_the_same_by_pointer_and_by_segment)
{
	start();
	begin(at_pointer(FIRST + 0x3000));
	update(at_physical(MEMORY, 0x3000), 0, pte(MEMORY, 0x5000));
	begin(at_pointer(0x7000));
	update(at_physical(SYSTEM, 0x7000), 0, pte(MEMORY, 0x5000));
	update(at_physical(0, 0x7000), 0, pte(MEMORY, 0x5000));
	expect_right();
	update(at_pointer(FIRST + 0x4000), 0, pte(MEMORY, 0x5000));
	expect_wrong("no page table");
}

TEST(place, is_what_the_paging_process_shows)
{
	start();
	begin(at_physical(MEMORY, 0x1000));
	show(0x10000, pte(MEMORY, 0x1000));
	update(at_virtual(0x10000), 0, pte(MEMORY, 0x5000));
	expect_right();
	show(0x10000, pte(MEMORY, 0x6000));
	update(at_virtual(0x10000), 0, pte(MEMORY, 0x5000));
	expect_wrong("no page table");
}

TEST(copy, is_between_tables)
{
	start();
	begin(at_physical(MEMORY, 0x1000));
	begin(at_physical(MEMORY, 0x2000));
	show(0x10000, pte(MEMORY, 0x1000));
	show(0x20000, pte(MEMORY, 0x2000));
	copy(0x10000, 0x20000);
	expect_right();
	evict(at_physical(MEMORY, 0x2000));
	copy(0x10000, 0x20000);
	expect_wrong("a copy between");
}

/* ---- who paging buffers are for ---- */

static void make(int *which, bool is_kernels)
{
	tables_context_made(
		&(DXGKARG_CREATECONTEXT){ .hContext = which, .Flags.SystemContext = is_kernels });
}

static void flush_for(int *which, bool copies)
{
	DXGKARG_BUILDPAGINGBUFFER args = {
		.Operation =
			copies ? DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES : DXGK_OPERATION_FLUSH_TLB,
		.hSystemContext = which,
	};

	tables_paged(&args);
}

TEST(buffers, are_for_contexts_of_the_kernels)
{
	static int own;
	static int companion;

	start();
	make(&own, true);
	make(&context, false);
	make(&companion, true);
	flush_for(&own, false);
	flush_for(&companion, false);
	flush_for(&companion, true);
	expect_right();
	flush_for(&own, true);
	expect_wrong("beside no client's");
	flush_for(&context, false);
	expect_wrong("not the kernel's");
	tables_user_ended(&companion);
	flush_for(&companion, true);
	expect_wrong("not the kernel's");
	tables_user_ended(&own);
}

/* ---- roots ---- */

TEST(root, is_a_table_when_a_context_is_told)
{
	start();
	tell_root(MEMORY, 0x1000);
	expect_wrong("a root that is no page table");
	begin(at_physical(MEMORY, 0x1000));
	tell_root(MEMORY, 0x1000);
	expect_right();
	evict(at_physical(MEMORY, 0x1000));
	tell_root(MEMORY, 0x1000);
	expect_wrong("a root that is no page table");
}

TEST(submission, is_of_a_context_that_was_told_a_root)
{
	start();
	begin(at_physical(MEMORY, 0x1000));
	tables_submitted(&context);
	expect_wrong("told no root");
	tell_root(MEMORY, 0x1000);
	tables_submitted(&context);
	expect_right();
	tables_user_ended(&context);
	tables_submitted(&context);
	expect_wrong("told no root");
}

TEST(submission, is_of_nobody_whose_root_has_left)
{
	start();
	begin(at_physical(MEMORY, 0x1000));
	tell_root(MEMORY, 0x1000);
	evict(at_physical(MEMORY, 0x1000));
	tables_submitted(&context);
	expect_wrong("no page table any more");
	/* Elsewhere, and told so. */
	begin(at_physical(MEMORY, 0x8000));
	tables_submitted(&context);
	expect_wrong("no page table any more");
	tell_root(MEMORY, 0x8000);
	tables_submitted(&context);
	expect_right();
}

TEST(submission, to_a_hardware_queue_is_of_its_context)
{
	start();
	begin(at_physical(MEMORY, 0x1000));
	tables_queue_made(&context, &queue);
	tables_submitted(&queue);
	expect_wrong("told no root");
	tell_root(MEMORY, 0x1000);
	tables_submitted(&queue);
	expect_right();
}

/* ---- a reset ---- */

TEST(reset, loses_what_was_in_memory_segments)
{
	start();
	begin(at_physical(MEMORY, 0x1000));
	begin(at_physical(SYSTEM, 0x2000));
	tell_root(MEMORY, 0x1000);
	tables_were_reset();
	tables_submitted(&context);
	expect_wrong("no page table any more");
	update(at_physical(SYSTEM, 0x2000), 0, pte(MEMORY, 0x5000));
	expect_right();
	update(at_physical(MEMORY, 0x1000), 0, pte(MEMORY, 0x5000));
	expect_wrong("no page table");
	begin(at_physical(MEMORY, 0x1000));
	tables_submitted(&context);
	expect_right();
}

/* It is written before anything runs: who is new may be told of it meanwhile. */
TEST(reset, leaves_a_root_that_can_be_told)
{
	start();
	begin(at_physical(MEMORY, 0x1000));
	tables_were_reset();
	tell_root(MEMORY, 0x1000);
	expect_right();
}

TEST_MAIN("levels/tables")
