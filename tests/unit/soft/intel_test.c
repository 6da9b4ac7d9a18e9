/* SPDX-License-Identifier: MIT */
/*
 * Intel's command streams on the software GPU (registry value Commands): what they do to memory,
 * where they go, what is refused, and the escapes beside them. Command words are written as the
 * Programmer's Reference Manuals have them.
 */
#include "host.h"

enum {
	TABLES = 0x0000,   /* offsets in local memory: a table of each level, the root first */
	COMMANDS = 0x8000, /* from here on it is mapped */
	SECOND = 0xa000,
	DATA = 0xc000,
	MAPPED_END = 0x10000,
	RESUBMISSION = 0x80,
};

/* Addresses as the streams write them: bit 47 is set, and repeated. */
#define BASE      0x800000000000ULL
#define CANONICAL 0xffff800000000000ULL

static void put_entry(UINT level, UINT index, ULONGLONG offset)
{
	DXGK_PTE entry = { .Valid = 1,
			   .Segment = SOFTGPU_SEGMENT_LOCAL,
			   .PageAddress = offset >> 12 };
	DXGKARG_BUILDPAGINGBUFFER args = {
		.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE,
		.UpdatePageTable = {
			.PageTableLevel = level,
			.PageTableAddress.CpuVirtual = host.local + TABLES + (3 - level) * 0x1000,
			.pPageTableEntries = &entry,
			.StartIndex = index,
			.NumPageTableEntries = 1,
			.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL,
		},
	};

	EXPECT_EQ(host.ddi.DxgkDdiBuildPagingBuffer(host.adapter, &args), STATUS_SUCCESS);
}

static HANDLE start(void)
{
	static const struct host_setting settings[] = { { "Commands", "intel", 0 },
							{ NULL, NULL, 0 } };

	host_start(settings);
	memset(host.local, 0, MAPPED_END);
	for (UINT level = 3; level > 0; level--)
		put_entry(level, BASE >> (12 + 9 * level) & 511, TABLES + (4 - level) * 0x1000);
	for (UINT page = COMMANDS >> 12; page < MAPPED_END >> 12; page++)
		put_entry(0, page, (ULONGLONG)page << 12);
	HANDLE context = host_create_context(HOST_NODE_3D, TRUE);
	DXGKARG_SETROOTPAGETABLE root = { .hContext = context,
					  .Address.SegmentId = SOFTGPU_SEGMENT_LOCAL,
					  .NumEntries = 512 };
	host.ddi.DxgkDdiSetRootPageTable(host.adapter, &root);
	return context;
}

static void finish(HANDLE context)
{
	host_destroy_context(context);
	host_stop();
}

/* ---- streams ---- */

static UINT used; /* bytes of local memory, where the next dword goes */

static void put(ULONG dword)
{
	*(ULONG *)(host.local + used) = dword;
	used += sizeof(dword);
}

static void put_address(ULONGLONG offset)
{
	put((ULONG)(CANONICAL + offset));
	put((ULONG)((CANONICAL + offset) >> 32));
}

static void begin(UINT offset)
{
	used = offset;
}

static void store(ULONGLONG offset, ULONG value)
{
	put(0x20u << 23 | 2);
	put_address(offset);
	put(value);
}

static void pipe_control(ULONG operation, ULONGLONG offset, ULONGLONG value)
{
	put(0x7a000004);
	put(operation << 14 | 1u << 20);
	put_address(offset);
	put((ULONG)value);
	put((ULONG)(value >> 32));
}

static void end(void)
{
	put(0x0au << 23);
}

static UINT submit_flags(HANDLE context, UINT flags)
{
	return host_submit_virtual(context, BASE + COMMANDS, 64, flags);
}

static void run(HANDLE context)
{
	host_wait_completed(HOST_NODE_3D, submit_flags(context, 0));
}

static ULONG data32(UINT offset)
{
	return __atomic_load_n((ULONG *)(host.local + DATA + offset), __ATOMIC_ACQUIRE);
}

static ULONGLONG data64(UINT offset)
{
	return __atomic_load_n((ULONGLONG *)(host.local + DATA + offset), __ATOMIC_ACQUIRE);
}

static void reset(void)
{
	DXGKARG_RESETENGINE args = { .NodeOrdinal = HOST_NODE_3D };

	EXPECT_EQ(host.ddi.DxgkDdiResetEngine(host.adapter, &args), STATUS_SUCCESS);
}

/* The stream at COMMANDS faults with the status, and what is behind it does not happen. */
static void expect_fault(HANDLE context, NTSTATUS status)
{
	UINT faults = host.faults;

	store(DATA + 0xff0, 0xbad);
	end();
	submit_flags(context, 0);
	host_wait_faults(faults + 1);
	EXPECT_EQ(host.fault.InterruptType, DXGK_INTERRUPT_DMA_FAULTED);
	EXPECT_EQ(host.fault.DmaFaulted.Status, status);
	EXPECT_EQ(data32(0xff0), 0);
	reset();
}

TEST(intel, stores_and_fences_are_carried_out_in_order)
{
	HANDLE context = start();

	begin(COMMANDS);
	store(DATA, 1);
	put(0x20u << 23 | 1u << 21 | 3); /* eight bytes */
	put_address(DATA + 8);
	put(0x55667788);
	put(0x11223344);
	pipe_control(1, DATA + 16, 0xaabbccddeeff0011ULL);
	pipe_control(0, DATA + 24, 7); /* a flush, nothing else */
	put(0x26u << 23 | 1u << 14 | 3);
	put_address(DATA + 32);
	put(9);
	put(0);
	store(DATA, 2);
	end();
	store(DATA, 3); /* behind the end */
	run(context);
	EXPECT_EQ(data32(0), 2);
	EXPECT_EQ(data64(8), 0x1122334455667788ULL);
	EXPECT_EQ(data64(16), 0xaabbccddeeff0011ULL);
	EXPECT_EQ(data64(24), 0);
	EXPECT_EQ(data64(32), 9);
	finish(context);
}

TEST(intel, state_for_pipelines_that_are_not_there_is_skipped)
{
	HANDLE context = start();

	begin(COMMANDS);
	put(0x69040003);
	put(0x61010011); /* 19 dwords */
	for (UINT i = 1; i < 19; i++)
		put(0xffffffff);
	put(0x70000007);
	for (UINT i = 1; i < 9; i++)
		put(0x0a000000);
	put(0); /* MI_NOOP */
	put(0x05u << 23);
	store(DATA, 5);
	end();
	run(context);
	EXPECT_EQ(data32(0), 5);
	finish(context);
}

TEST(intel, a_stream_goes_on_in_another_buffer_or_comes_back_from_it)
{
	HANDLE context = start();

	begin(COMMANDS);
	put(0x31u << 23 | 1u << 22 | 1); /* called */
	put_address(SECOND);
	store(DATA + 4, 2);
	put(0x31u << 23 | 1);
	put_address(SECOND + 0x100);
	store(DATA + 8, 0xbad); /* nobody comes back here */
	begin(SECOND);
	store(DATA, 1);
	end();
	begin(SECOND + 0x100);
	store(DATA + 12, 3);
	end();
	run(context);
	EXPECT_EQ(data32(0), 1);
	EXPECT_EQ(data32(4), 2);
	EXPECT_EQ(data32(8), 0);
	EXPECT_EQ(data32(12), 3);
	finish(context);
}

TEST(intel, registers_keep_what_is_loaded_and_time_runs_in_its_own)
{
	HANDLE context = start();

	*(ULONG *)(host.local + DATA + 64) = 0x77;
	begin(COMMANDS);
	put(0x22u << 23 | 3); /* two at once */
	put(0x2600);
	put(0x11);
	put(0x2604);
	put(0x22);
	put(0x2au << 23 | 1);
	put(0x2604);
	put(0x2608);
	put(0x29u << 23 | 2);
	put(0x260c);
	put_address(DATA + 64);
	for (UINT i = 0; i < 5; i++) {
		static const ULONG offsets[] = { 0x2600, 0x2608, 0x260c, 0x2610, 0x2358 };

		put(0x24u << 23 | 2);
		put(offsets[i]);
		put_address(DATA + i * 4);
	}
	pipe_control(3, DATA + 32, 0);
	end();
	run(context);
	EXPECT_EQ(data32(0), 0x11);
	EXPECT_EQ(data32(4), 0x22);
	EXPECT_EQ(data32(8), 0x77);
	EXPECT_EQ(data32(12), 0); /* never loaded */
	EXPECT(data64(32) >= data32(16));
	EXPECT(data64(32) != 0);

	/* They are the context's. */
	begin(COMMANDS);
	put(0x24u << 23 | 2);
	put(0x2600);
	put_address(DATA + 40);
	end();
	run(context);
	EXPECT_EQ(data32(40), 0x11);
	finish(context);
}

TEST(intel, a_semaphore_is_waited_for_and_a_preempted_stream_goes_on_there)
{
	HANDLE context = start();

	begin(COMMANDS);
	store(DATA, 1);
	put(0x1cu << 23 | 1u << 15 | 4u << 12 | 2); /* equal */
	put(42);
	put_address(DATA + 64);
	store(DATA + 4, 2);
	end();
	UINT fence = submit_flags(context, 0);
	for (UINT i = 0; i < 10000 && data32(0) == 0; i++)
		host_pass_time(1000); /* it waits at the semaphore, and tells nobody */
	EXPECT_EQ(data32(0), 1);
	EXPECT_EQ(data32(4), 0);
	host_preempt(HOST_NODE_3D, 1);
	host_wait_preempted(HOST_NODE_3D, 1);

	*(volatile ULONG *)(host.local + DATA) = 0; /* what was done is not done again */
	*(volatile ULONG *)(host.local + DATA + 64) = 42;
	host_wait_completed(HOST_NODE_3D, submit_flags(context, RESUBMISSION));
	EXPECT_EQ(data32(0), 0);
	EXPECT_EQ(data32(4), 2);
	EXPECT(host.completed[HOST_NODE_3D] > fence);
	finish(context);
}

TEST(intel, comparisons_of_semaphores_are_memory_against_the_number)
{
	static const struct {
		ULONG operation;
		ULONG in_memory;
	} passing[] = { { 0, 11 }, { 1, 10 }, { 2, 9 }, { 3, 10 }, { 4, 10 }, { 5, 9 } };
	HANDLE context = start();

	for (UINT i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		*(volatile ULONG *)(host.local + DATA + 64) = passing[i].in_memory;
		begin(COMMANDS);
		put(0x1cu << 23 | 1u << 15 | passing[i].operation << 12 | 2);
		put(10);
		put_address(DATA + 64);
		store(DATA, i + 1);
		end();
		run(context);
		EXPECT_EQ(data32(0), i + 1);
	}
	finish(context);
}

TEST(intel, work_for_execution_units_is_refused_where_it_stands)
{
	/* Walkers of two generations, a media object, a blit, arithmetic, a report of counters. */
	static const ULONG refused[] = { 0x7105000d, 0x72020025, 0x71000000,
					 0x54c00008, 0x0d000000, 0x14000000 };
	HANDLE context = start();

	for (UINT i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		begin(COMMANDS);
		store(DATA, i + 1);
		put(refused[i]);
		expect_fault(context, STATUS_ILLEGAL_INSTRUCTION);
		EXPECT_EQ(data32(0), i + 1); /* what stands before it is done */
	}
	/* The engine is well again. */
	begin(COMMANDS);
	store(DATA, 99);
	end();
	run(context);
	EXPECT_EQ(data32(0), 99);
	finish(context);
}

TEST(intel, a_stream_with_a_mistake_faults)
{
	HANDLE context = start();

	begin(COMMANDS);
	put(0x20u << 23 | 1u << 21 | 3);
	put_address(DATA + 4); /* eight bytes, at four */
	put(1);
	put(1);
	expect_fault(context, STATUS_DATATYPE_MISALIGNMENT);
	begin(COMMANDS);
	put(0x20u << 23 | 1); /* no room for a value */
	put_address(DATA);
	expect_fault(context, STATUS_ILLEGAL_INSTRUCTION);
	begin(COMMANDS);
	put(0x20u << 23 | 1u << 21 | 2); /* eight bytes, and four are there */
	put_address(DATA);
	put(1);
	expect_fault(context, STATUS_ILLEGAL_INSTRUCTION);
	begin(COMMANDS);
	put(0x31u << 23 | 1u << 15 | 1); /* predicated */
	put_address(SECOND);
	expect_fault(context, STATUS_ILLEGAL_INSTRUCTION);
	begin(SECOND);
	put(0x31u << 23 | 1u << 22 | 1);
	put_address(SECOND); /* a third level */
	begin(COMMANDS);
	put(0x31u << 23 | 1u << 22 | 1);
	put_address(SECOND);
	expect_fault(context, STATUS_ILLEGAL_INSTRUCTION);
	begin(COMMANDS);
	for (UINT i = 0; i <= 32; i++) {
		put(0x22u << 23 | 1);
		put(0x2600 + i * 4);
		put(i);
	}
	expect_fault(context, STATUS_ILLEGAL_INSTRUCTION);

	begin(COMMANDS);
	store(MAPPED_END, 1);
	end();
	UINT faults = host.faults;
	submit_flags(context, 0);
	host_wait_faults(faults + 1);
	EXPECT_EQ(host.fault.InterruptType, DXGK_INTERRUPT_DMA_PAGE_FAULTED);
	EXPECT_EQ(host.fault.DmaPageFaulted.FaultedVirtualAddress, BASE + MAPPED_END);
	reset();
	finish(context);
}

/* ---- submissions ---- */

static NTSTATUS submit_fenced(HANDLE context, const void *data, UINT size_bytes)
{
	DXGKARG_SUBMITCOMMANDVIRTUAL args = {
		.hContext = context,
		.DmaBufferVirtualAddress = BASE + COMMANDS,
		.DmaBufferSize = 64,
		.pDmaBufferPrivateData = (PVOID)data,
		.DmaBufferPrivateDataSize = sizeof(struct softgpu_fenced_submission),
		.DmaBufferUmdPrivateDataSize = size_bytes,
		.SubmissionFenceId = ++host.next_fence,
	};

	KIRQL old = KfRaiseIrql(DISPATCH_LEVEL);
	NTSTATUS status = host.ddi.DxgkDdiSubmitCommandVirtual(host.adapter, &args);
	KeLowerIrql(old);
	return status;
}

TEST(intel, a_submission_ends_with_the_clients_fence)
{
	HANDLE context = start();
	struct softgpu_fenced_submission fenced = {
		.submission.version = SOFTGPU_FENCED_SUBMISSION_VERSION,
		.fence_address = CANONICAL + DATA + 128,
		.fence_value = 0x123456789aULL,
	};

	begin(COMMANDS);
	store(DATA, 1);
	end();
	EXPECT_EQ(submit_fenced(context, &fenced, sizeof(fenced)), STATUS_SUCCESS);
	host_wait_completed(HOST_NODE_3D, host.next_fence);
	EXPECT_EQ(data32(0), 1);
	EXPECT_EQ(data64(128), 0x123456789aULL);

	fenced.fence_address += 4;
	EXPECT_EQ(submit_fenced(context, &fenced, sizeof(fenced)), STATUS_INVALID_PARAMETER);
	fenced.fence_address = 0;
	EXPECT_EQ(submit_fenced(context, &fenced, sizeof(fenced)), STATUS_INVALID_PARAMETER);
	fenced.fence_address = CANONICAL + DATA + 128;
	EXPECT_EQ(submit_fenced(context, &fenced, sizeof(fenced.submission)),
		  STATUS_INVALID_PARAMETER);
	fenced.submission.version = SOFTGPU_SUBMISSION_VERSION;
	EXPECT_EQ(submit_fenced(context, &fenced, sizeof(fenced)), STATUS_INVALID_PARAMETER);
	host_preempt(HOST_NODE_3D, 1);
	host_wait_preempted(HOST_NODE_3D, 1);
	finish(context);
}

/* ---- what is asked beside them ---- */

static NTSTATUS escape(void *data, UINT size_bytes)
{
	DXGKARG_ESCAPE args = { .hDevice = host.device,
				.pPrivateDriverData = data,
				.PrivateDriverDataSize = size_bytes };

	return host.ddi.DxgkDdiEscape(host.adapter, &args);
}

TEST(intel, the_first_partition_of_a_process_is_the_one_it_has)
{
	HANDLE context = start();
	ULONG request[6 + 4 + 2] = { 32, 0, 2, 0, 28, 0, 7, 7, 7, 7, 7, 7 };

	EXPECT_EQ(escape(request, sizeof(request)), STATUS_SUCCESS);
	for (UINT i = 6; i < 10; i++)
		EXPECT_EQ(request[i], 0); /* none yet */
	request[4] = 29;
	request[6] = 0x1234;
	EXPECT_EQ(escape(request, sizeof(request)), STATUS_SUCCESS);
	EXPECT_EQ(request[6], 0x1234);
	request[6] = 0x5678;
	EXPECT_EQ(escape(request, sizeof(request)), STATUS_SUCCESS);
	EXPECT_EQ(request[6], 0x1234);
	request[4] = 28;
	request[6] = 0;
	EXPECT_EQ(escape(request, sizeof(request)), STATUS_SUCCESS);
	EXPECT_EQ(request[6], 0x1234);
	finish(context);
}

TEST(intel, other_escapes_are_refused_or_the_software_gpus_own)
{
	HANDLE context = start();
	ULONG request[6 + 66] = { 32, 0, 2, 0, 30 };
	struct softgpu_escape_echo echo = { .header = { SOFTGPU_ESCAPE_VERSION, SOFTGPU_ESCAPE_ECHO,
							sizeof(echo), 0 },
					    .value = 5 };
	ULONGLONG clocks[7] = { 40, 12, 25 };

	EXPECT_EQ(escape(request, sizeof(request)), STATUS_NOT_SUPPORTED);
	request[4] = 28;
	EXPECT_EQ(escape(request, sizeof(request)), STATUS_SUCCESS);
	EXPECT_EQ(escape(request, 24), STATUS_INVALID_PARAMETER);
	request[2] = 3;
	EXPECT_EQ(escape(request, sizeof(request)), STATUS_NOT_SUPPORTED);
	EXPECT_EQ(escape(&echo, sizeof(echo)), STATUS_SUCCESS);
	EXPECT_EQ(echo.inverted, ~5ULL);

	EXPECT_EQ(escape(clocks, sizeof(clocks)), STATUS_SUCCESS);
	EXPECT_EQ(clocks[2], 0);
	EXPECT_EQ(clocks[5], 10000000);
	EXPECT(clocks[6] != 0);
	clocks[2] = 24;
	EXPECT_EQ(escape(clocks, sizeof(clocks)), STATUS_NOT_SUPPORTED);
	finish(context);
}

TEST(intel, the_registry_value_needs_virtual_addresses_and_no_hardware_queues)
{
	static const struct host_setting physical[] = { { "Commands", "intel", 0 },
							{ "AddressModel", "physical", 0 },
							{ NULL, NULL, 0 } };
	static const struct host_setting queues[] = { { "Commands", "intel", 0 },
						      { "HwQueues", NULL, 1 },
						      { NULL, NULL, 0 } };
	static const struct host_setting other[] = { { "Commands", "amd", 0 }, { NULL, NULL, 0 } };

	EXPECT_EQ(host_load(physical), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host_load(queues), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host_load(other), STATUS_INVALID_PARAMETER);
}

TEST_MAIN("soft/intel")
