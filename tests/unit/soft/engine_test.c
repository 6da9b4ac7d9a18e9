/* SPDX-License-Identifier: MIT */
/*
 * Packets on engines: what they do to memory, how they are preempted, how they fault, hang and are
 * reset. The test builds page tables in local memory and is the only other user of the GPU. Time
 * matters here, so it is virtual: these run with a seed.
 */
#include "base/thread.h"
#include "host.h"

enum {
	ROOT = 0x0000, /* offsets in local memory */
	LEVEL2 = 0x1000,
	LEVEL1 = 0x2000,
	LEVEL0 = 0x3000,
	COMMANDS = 0x10000,
	DATA = 0x20000,
	SUBMIT_RESUBMISSION = 0x80,
	SUBMIT_NULL_RENDERING = 0x08,
};

/* Page n of local memory is at virtual address BASE + n * 4096. */
#define BASE 0x7f0000000000ULL

static void set_pte(ULONGLONG table, UINT level, UINT index, const DXGK_PTE *pte)
{
	DXGKARG_BUILDPAGINGBUFFER args = { .Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE };
	DXGK_PTE copy = *pte;

	args.UpdatePageTable.PageTableLevel = level;
	args.UpdatePageTable.PageTableAddress.CpuVirtual = host.local + table;
	args.UpdatePageTable.pPageTableEntries = &copy;
	args.UpdatePageTable.StartIndex = index;
	args.UpdatePageTable.NumPageTableEntries = 1;
	args.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
	EXPECT_EQ(host.ddi.DxgkDdiBuildPagingBuffer(host.adapter, &args), STATUS_SUCCESS);
}

static DXGK_PTE pte_at(ULONGLONG offset)
{
	return (DXGK_PTE){ .Valid = 1,
			   .Segment = SOFTGPU_SEGMENT_LOCAL,
			   .PageAddress = offset >> 12 };
}

/* Maps [COMMANDS, DATA + 64 KiB) of local memory at BASE. */
static HANDLE start_virtual_context(UINT node)
{
	DXGK_PTE pte;

	host_start(NULL);
	memset(host.local, 0, 0x40000);
	pte = pte_at(LEVEL2);
	set_pte(ROOT, 3, BASE >> 39 & 511, &pte);
	pte = pte_at(LEVEL1);
	set_pte(LEVEL2, 2, BASE >> 30 & 511, &pte);
	pte = pte_at(LEVEL0);
	set_pte(LEVEL1, 1, BASE >> 21 & 511, &pte);
	for (UINT page = COMMANDS >> 12; page < (DATA + 0x10000) >> 12; page++) {
		pte = pte_at((ULONGLONG)page << 12);
		set_pte(LEVEL0, 0, page, &pte);
	}

	HANDLE context = host_create_context(node, TRUE);
	DXGKARG_SETROOTPAGETABLE root = { .hContext = context,
					  .Address = { .SegmentId = SOFTGPU_SEGMENT_LOCAL,
						       .SegmentOffset = ROOT },
					  .NumEntries = 512 };
	host.ddi.DxgkDdiSetRootPageTable(host.adapter, &root);
	return context;
}

/* A command buffer in local memory, written by the CPU. */
static UINT commands_used;

static void *add(ULONG opcode, UINT size_bytes)
{
	struct softgpu_command *header =
		(struct softgpu_command *)(host.local + COMMANDS + commands_used);

	memset(header, 0, size_bytes);
	header->magic = SOFTGPU_COMMAND_MAGIC;
	header->opcode = (uint16_t)opcode;
	header->size_bytes = size_bytes;
	commands_used += size_bytes;
	return header;
}

static void add_write(ULONGLONG address, ULONGLONG value)
{
	struct softgpu_write64 *write = add(SOFTGPU_WRITE64, sizeof(*write));

	write->destination.virtual_address = address;
	write->value = value;
}

static void add_busy(ULONGLONG microseconds)
{
	struct softgpu_busy *busy = add(SOFTGPU_BUSY, sizeof(*busy));

	busy->microseconds = microseconds;
}

static void add_fill(ULONGLONG address, ULONGLONG size_bytes, ULONG pattern)
{
	struct softgpu_fill *fill = add(SOFTGPU_FILL, sizeof(*fill));

	fill->destination.virtual_address = address;
	fill->size_bytes = size_bytes;
	fill->pattern = pattern;
}

static UINT submit_flags(HANDLE context, UINT flags)
{
	UINT size_bytes = commands_used;

	return host_submit_virtual(context, BASE + COMMANDS, size_bytes, flags);
}

static UINT submit(HANDLE context)
{
	UINT fence = submit_flags(context, 0);

	commands_used = 0;
	return fence;
}

static ULONGLONG data64(ULONGLONG offset)
{
	return *(volatile ULONGLONG *)(host.local + DATA + offset);
}

static UINT reset_engine(UINT node)
{
	DXGKARG_RESETENGINE args = { .NodeOrdinal = node, .LastAbortedFenceId = 12345 };

	EXPECT_EQ(host.ddi.DxgkDdiResetEngine(host.adapter, &args), STATUS_SUCCESS);
	return args.LastAbortedFenceId;
}

static BOOLEAN is_responsive(UINT node)
{
	DXGKARG_QUERYENGINESTATUS args = { .NodeOrdinal = node };

	EXPECT_EQ(host.ddi.DxgkDdiQueryEngineStatus(host.adapter, &args), STATUS_SUCCESS);
	return args.EngineStatus.Responsive;
}

static void finish(HANDLE context)
{
	host_destroy_context(context);
	host_stop();
}

TEST(engine, writes_fill_and_copy_go_through_the_page_tables)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);
	struct softgpu_copy *copy;

	add(SOFTGPU_NOP, 64);
	add_write(BASE + DATA + 8, 0x1122334455667788ULL);
	add_fill(BASE + DATA + 0x1000, 0x1000, 0xdeadbeef);
	copy = add(SOFTGPU_COPY, sizeof(*copy));
	copy->destination.virtual_address = BASE + DATA + 0x4003;
	copy->source.virtual_address = BASE + DATA + 0x1000;
	copy->size_bytes = 0x1001; /* crosses pages at different offsets, and reads past the fill */
	host_wait_completed(HOST_NODE_3D, submit(context));

	EXPECT_EQ(data64(8), 0x1122334455667788ULL);
	EXPECT_EQ(data64(0x1000), 0xdeadbeefdeadbeefULL);
	EXPECT_EQ(data64(0x1ff8), 0xdeadbeefdeadbeefULL);
	EXPECT_EQ(data64(0x2000), 0);
	EXPECT_EQ(memcmp(host.local + DATA + 0x4003, host.local + DATA + 0x1000, 0x1001), 0);
	EXPECT_EQ(host.local[DATA + 0x4002], 0);
	finish(context);
}

static struct softgpu_node_work work_of(UINT node)
{
	struct softgpu_escape_work work = { .header = { .version = SOFTGPU_ESCAPE_VERSION,
							.code = SOFTGPU_ESCAPE_GET_WORK,
							.size_bytes = sizeof(work) } };
	DXGKARG_ESCAPE args = { .pPrivateDriverData = &work,
				.PrivateDriverDataSize = sizeof(work) };

	EXPECT_EQ(host.ddi.DxgkDdiEscape(host.adapter, &args), STATUS_SUCCESS);
	work.header.size_bytes--;
	args.PrivateDriverDataSize--;
	EXPECT_EQ(host.ddi.DxgkDdiEscape(host.adapter, &args), STATUS_INVALID_PARAMETER);
	return work.nodes[node];
}

TEST(engine, counts_its_packets_and_the_bytes_it_wrote)
{
	HANDLE context = start_virtual_context(1);

	add_fill(BASE + DATA, 0x3000, 7);
	add_write(BASE + DATA, 1);
	host_wait_completed(1, submit(context));
	EXPECT_EQ(work_of(1).packets, 1);
	EXPECT_EQ(work_of(1).bytes_written, 0x3008);
	EXPECT_EQ(work_of(1).table_entries, 0);
	EXPECT_EQ(work_of(0).packets, 0);
	finish(context);
}

TEST(engine, packets_of_a_context_run_in_order)
{
	HANDLE context = start_virtual_context(1);
	UINT fence = 0;

	/* Eight packets out of one buffer, each one command. */
	for (UINT i = 0; i < 8; i++)
		add_write(BASE + DATA, i + 1);
	for (UINT i = 0; i < 8; i++)
		fence = host_submit_virtual(context,
					    BASE + COMMANDS + i * sizeof(struct softgpu_write64),
					    sizeof(struct softgpu_write64), 0);
	commands_used = 0;
	host_wait_completed(1, fence);
	EXPECT_EQ(data64(0), 8);
	EXPECT_EQ(host.completions[1], 8);
	finish(context);
}

TEST(engine, an_unmapped_address_is_a_page_fault_with_its_address)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);

	add_write(BASE + DATA, 1);
	add_write(BASE + DATA + 0x10000 + 8, 2);
	add_write(BASE + DATA, 3);
	UINT fence = submit(context);
	host_wait_faults(1);

	EXPECT_EQ(host.fault.InterruptType, DXGK_INTERRUPT_DMA_PAGE_FAULTED);
	EXPECT_EQ(host.fault.DmaPageFaulted.FaultedFenceId, fence);
	EXPECT_EQ(host.fault.DmaPageFaulted.FaultedVirtualAddress, BASE + DATA + 0x10008);
	EXPECT_EQ(host.fault.DmaPageFaulted.PageTableLevel, 0);
	EXPECT(host.fault.DmaPageFaulted.PageFaultFlags & DXGK_PAGE_FAULT_WRITE);
	EXPECT(host.fault.DmaPageFaulted.PageFaultFlags & DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED);
	EXPECT_EQ(data64(0), 1);
	EXPECT_EQ(host.completions[HOST_NODE_3D], 0);
	EXPECT(!is_responsive(HOST_NODE_3D));

	EXPECT_EQ(reset_engine(HOST_NODE_3D), fence);
	EXPECT(is_responsive(HOST_NODE_3D));
	add_write(BASE + DATA, 4);
	host_wait_completed(HOST_NODE_3D, submit(context));
	EXPECT_EQ(data64(0), 4);
	finish(context);
}

TEST(engine, writing_read_only_memory_is_a_fault_and_reading_it_is_not)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);
	DXGK_PTE pte = pte_at(DATA + 0x1000);
	struct softgpu_copy *copy;

	pte.ReadOnly = 1;
	set_pte(LEVEL0, 0, (DATA + 0x1000) >> 12, &pte);
	*(ULONGLONG *)(host.local + DATA + 0x1000) = 77;
	copy = add(SOFTGPU_COPY, sizeof(*copy));
	copy->destination.virtual_address = BASE + DATA;
	copy->source.virtual_address = BASE + DATA + 0x1000;
	copy->size_bytes = 8;
	host_wait_completed(HOST_NODE_3D, submit(context));
	EXPECT_EQ(data64(0), 77);

	add_write(BASE + DATA + 0x1000, 78);
	submit(context);
	host_wait_faults(1);
	EXPECT_EQ(host.fault.DmaPageFaulted.FaultedVirtualAddress, BASE + DATA + 0x1000);
	EXPECT_EQ(data64(0x1000), 77);
	reset_engine(HOST_NODE_3D);
	finish(context);
}

TEST(engine, zero_pages_read_as_zero_and_drop_writes)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);
	DXGK_PTE zero = { .Valid = 1, .Zero = 1 };
	struct softgpu_copy *copy;

	set_pte(LEVEL0, 0, (DATA + 0x1000) >> 12, &zero);
	memset(host.local + DATA, 0x55, 0x2000);
	add_write(BASE + DATA + 0x1000, 1);
	copy = add(SOFTGPU_COPY, sizeof(*copy));
	copy->destination.virtual_address = BASE + DATA;
	copy->source.virtual_address = BASE + DATA + 0x1000;
	copy->size_bytes = 16;
	host_wait_completed(HOST_NODE_3D, submit(context));
	EXPECT_EQ(data64(0), 0);
	EXPECT_EQ(data64(16), 0x5555555555555555ULL);
	EXPECT_EQ(data64(0x1000), 0x5555555555555555ULL);
	finish(context);
}

TEST(engine, a_kernel_of_a_client_is_not_run_by_a_processor)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);

	struct softgpu_dispatch *dispatch = add(SOFTGPU_DISPATCH, sizeof(*dispatch));
	for (unsigned i = 0; i < 3; i++)
		dispatch->groups[i] = dispatch->threads[i] = 1;
	UINT fence = submit(context);
	host_wait_faults(1);
	EXPECT_EQ(host.fault.InterruptType, DXGK_INTERRUPT_DMA_FAULTED);
	EXPECT_EQ(host.fault.DmaFaulted.FaultedFenceId, fence);
	EXPECT_EQ(host.fault.DmaFaulted.Status, STATUS_NOT_SUPPORTED);
	EXPECT_EQ(reset_engine(HOST_NODE_3D), fence);
	finish(context);
}

TEST(engine, an_illegal_command_faults_with_a_status)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);

	add(99, 8);
	UINT fence = submit(context);
	host_wait_faults(1);
	EXPECT_EQ(host.fault.InterruptType, DXGK_INTERRUPT_DMA_FAULTED);
	EXPECT_EQ(host.fault.DmaFaulted.FaultedFenceId, fence);
	EXPECT_EQ(host.fault.DmaFaulted.Status, STATUS_ILLEGAL_INSTRUCTION);
	EXPECT_EQ(reset_engine(HOST_NODE_3D), fence);

	add(0x103, 48); /* page-table entries, which only the driver may write */
	submit(context);
	host_wait_faults(2);
	EXPECT_EQ(host.fault.DmaFaulted.Status, STATUS_PRIVILEGED_INSTRUCTION);
	reset_engine(HOST_NODE_3D);

	add_write(BASE + DATA + 4, 1);
	submit(context);
	host_wait_faults(3);
	EXPECT_EQ(host.fault.DmaFaulted.Status, STATUS_DATATYPE_MISALIGNMENT);
	reset_engine(HOST_NODE_3D);
	finish(context);
}

TEST(engine, the_fault_command_reports_what_it_was_told)
{
	HANDLE context = start_virtual_context(2);
	struct softgpu_fault *fault = add(SOFTGPU_FAULT, sizeof(*fault));

	fault->address = 0x1234000;
	submit(context);
	host_wait_faults(1);
	EXPECT_EQ(host.fault.InterruptType, DXGK_INTERRUPT_DMA_PAGE_FAULTED);
	EXPECT_EQ(host.fault.DmaPageFaulted.FaultedVirtualAddress, 0x1234000);
	EXPECT(!(host.fault.DmaPageFaulted.PageFaultFlags & DXGK_PAGE_FAULT_WRITE));
	EXPECT_EQ(host.fault.DmaPageFaulted.NodeOrdinal, 2);
	reset_engine(2);
	finish(context);
}

TEST(engine, a_hang_ends_with_a_reset_and_takes_only_its_engine)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);
	HANDLE other = host_create_context(1, TRUE);
	DXGKARG_SETROOTPAGETABLE root = { .hContext = other,
					  .Address = { .SegmentId = SOFTGPU_SEGMENT_LOCAL,
						       .SegmentOffset = ROOT },
					  .NumEntries = 512 };

	host.ddi.DxgkDdiSetRootPageTable(host.adapter, &root);
	add(SOFTGPU_HANG, 8);
	UINT fence = submit(context);
	host_pass_time(10000);
	EXPECT(!is_responsive(HOST_NODE_3D));
	host_preempt(HOST_NODE_3D, 7);
	host_pass_time(10000);
	EXPECT_EQ(host.preempted[HOST_NODE_3D], 0);

	/* The same place in memory is free again: the hung packet has read its command. */
	add_write(BASE + DATA, 5);
	host_wait_completed(1, submit(other));
	EXPECT_EQ(data64(0), 5);

	EXPECT_EQ(reset_engine(HOST_NODE_3D), fence);
	host_pass_time(10000);
	EXPECT_EQ(host.preempted[HOST_NODE_3D], 0); /* what was asked before the reset is void */
	add_write(BASE + DATA, 6);
	host_wait_completed(HOST_NODE_3D, submit(context));
	EXPECT_EQ(data64(0), 6);
	host_destroy_context(other);
	finish(context);
}

TEST(engine, an_idle_engine_answers_a_preemption)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);

	add_write(BASE + DATA, 1);
	UINT fence = submit(context);
	host_wait_completed(HOST_NODE_3D, fence);
	host_preempt(HOST_NODE_3D, 3);
	host_wait_preempted(HOST_NODE_3D, 3);
	EXPECT_EQ(host.preempted_after[HOST_NODE_3D], fence);
	finish(context);
}

TEST(engine, a_preempted_packet_goes_on_where_it_was)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);

	add_write(BASE + DATA, 1);
	add_busy(1000000);
	add_write(BASE + DATA + 8, 1);
	submit_flags(context, 0);
	host_pass_time(1000);
	EXPECT_EQ(data64(0), 1);
	host_preempt(HOST_NODE_3D, 1);
	host_wait_preempted(HOST_NODE_3D, 1);
	EXPECT_EQ(host.preempted_after[HOST_NODE_3D], 0);
	EXPECT_EQ(data64(8), 0);

	*(ULONGLONG *)(host.local + DATA) = 0;
	UINT again = submit_flags(context, SUBMIT_RESUBMISSION);
	host_wait_completed(HOST_NODE_3D, again);
	EXPECT_EQ(data64(0), 0); /* not run twice */
	EXPECT_EQ(data64(8), 1);
	commands_used = 0;
	finish(context);
}

TEST(engine, a_loop_never_ends_and_answers_every_preemption)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);

	add_write(BASE + DATA, 1);
	add(SOFTGPU_LOOP, 8);
	add_write(BASE + DATA + 8, 1);
	submit_flags(context, 0);
	for (UINT i = 1; i <= 3; i++) {
		host_pass_time(1000000);
		EXPECT(is_responsive(HOST_NODE_3D));
		host_preempt(HOST_NODE_3D, i);
		host_wait_preempted(HOST_NODE_3D, i);
		EXPECT_EQ(host.preempted_after[HOST_NODE_3D], 0);
		submit_flags(context, SUBMIT_RESUBMISSION);
	}
	host_pass_time(1000000);
	EXPECT_EQ(data64(0), 1);
	EXPECT_EQ(data64(8), 0);
	reset_engine(HOST_NODE_3D);
	commands_used = 0;
	finish(context);
}

TEST(engine, a_preemption_takes_away_what_is_queued_and_not_what_comes_later)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);

	add_busy(1000000);
	add_write(BASE + DATA, 1);
	UINT write_size = sizeof(struct softgpu_write64);
	UINT busy_size = sizeof(struct softgpu_busy);
	host_submit_virtual(context, BASE + COMMANDS, busy_size, 0);
	host_pass_time(1000);
	host_submit_virtual(context, BASE + COMMANDS + busy_size, write_size, 0); /* queued */
	host_preempt(HOST_NODE_3D, 9);
	host_wait_preempted(HOST_NODE_3D, 9);
	host_pass_time(2000000);
	EXPECT_EQ(data64(0), 0);
	EXPECT_EQ(host.completions[HOST_NODE_3D], 0);
	host_wait_completed(HOST_NODE_3D, host_submit_virtual(context, BASE + COMMANDS + busy_size,
							      write_size, 0));
	EXPECT_EQ(data64(0), 1);
	commands_used = 0;
	finish(context);
}

TEST(engine, a_context_may_refuse_to_be_preempted)
{
	struct softgpu_context private_data = { .version = SOFTGPU_CONTEXT_VERSION,
						.flags = SOFTGPU_CONTEXT_IGNORES_PREEMPTION };
	DXGKARG_CREATECONTEXT args = { .NodeOrdinal = HOST_NODE_3D,
				       .EngineAffinity = 1,
				       .pPrivateDriverData = &private_data,
				       .PrivateDriverDataSize = sizeof(private_data) };
	struct softgpu_busy busy = { .header = { .magic = SOFTGPU_COMMAND_MAGIC,
						 .opcode = SOFTGPU_BUSY,
						 .size_bytes = sizeof(busy) },
				     .microseconds = 50000 };

	host_start(NULL);
	EXPECT_EQ(host.ddi.DxgkDdiCreateContext(host.device, &args), STATUS_SUCCESS);
	PUCHAR buffer = host_contiguous(4096);
	memcpy(buffer, &busy, sizeof(busy));
	UINT fence = host_submit(args.hContext, buffer, sizeof(busy));
	host_pass_time(1000);
	host_preempt(HOST_NODE_3D, 4);
	host_wait_preempted(HOST_NODE_3D, 4);
	EXPECT_EQ(host.preempted_after[HOST_NODE_3D], fence); /* it had finished first */
	MmFreeContiguousMemory(buffer);
	finish(args.hContext);
}

TEST(engine, null_rendering_signals_and_does_nothing)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);

	add_write(BASE + DATA, 1);
	UINT fence = submit_flags(context, SUBMIT_NULL_RENDERING);
	host_wait_completed(HOST_NODE_3D, fence);
	EXPECT_EQ(data64(0), 0);
	commands_used = 0;
	finish(context);
}

TEST(engine, private_data_that_is_wrong_costs_the_device_but_not_the_fence)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);
	struct softgpu_submission bad = { .version = 2 };
	DXGKARG_SUBMITCOMMANDVIRTUAL args = {
		.hContext = context,
		.DmaBufferVirtualAddress = BASE + COMMANDS,
		.DmaBufferSize = 8,
		.pDmaBufferPrivateData = &bad,
		.DmaBufferPrivateDataSize = sizeof(bad),
		.DmaBufferUmdPrivateDataSize = sizeof(bad),
		.SubmissionFenceId = ++host.next_fence,
	};

	KIRQL old = KfRaiseIrql(DISPATCH_LEVEL);
	EXPECT_EQ(host.ddi.DxgkDdiSubmitCommandVirtual(host.adapter, &args),
		  STATUS_INVALID_PARAMETER);
	KeLowerIrql(old);
	host_preempt(HOST_NODE_3D, 1);
	host_wait_preempted(HOST_NODE_3D, 1);
	host_pass_time(1000);
	DXGKARG_QUERYCURRENTFENCE query = { .NodeOrdinal = HOST_NODE_3D };
	add_write(BASE + DATA, 1);
	UINT fence = submit(context);
	host_wait_completed(HOST_NODE_3D, fence);
	EXPECT_EQ(host.ddi.DxgkDdiQueryCurrentFence(host.adapter, &query), STATUS_SUCCESS);
	EXPECT_EQ(query.CurrentFence, fence);
	finish(context);
}

TEST(engine, after_an_adapter_reset_nothing_runs_until_the_restart)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);

	add(SOFTGPU_HANG, 8);
	UINT fence = submit(context);
	host_pass_time(1000);
	EXPECT_EQ(host.ddi.DxgkDdiResetFromTimeout(host.adapter), STATUS_SUCCESS);
	DXGKARG_QUERYCURRENTFENCE query = { .NodeOrdinal = HOST_NODE_3D };
	EXPECT_EQ(host.ddi.DxgkDdiQueryCurrentFence(host.adapter, &query), STATUS_SUCCESS);
	EXPECT_EQ(query.CurrentFence, fence);

	add_write(BASE + DATA, 9);
	fence = submit(context);
	host_pass_time(10000);
	EXPECT_EQ(data64(0), 0);
	EXPECT_EQ(host.ddi.DxgkDdiRestartFromTimeout(host.adapter), STATUS_SUCCESS);
	host_wait_completed(HOST_NODE_3D, fence);
	EXPECT_EQ(data64(0), 9);
	finish(context);
}

enum { LATE_PACKETS = 8 };

struct late {
	HANDLE context;
	UINT size_bytes; /* of the commands */
	UINT fence;      /* of the last packet */
};

static void submit_late(void *argument)
{
	struct late *late = argument;

	for (int i = 0; i < LATE_PACKETS; i++)
		late->fence =
			host_submit_virtual(late->context, BASE + COMMANDS, late->size_bytes, 0);
}

/* The memory may be somebody else's when the reset has returned. */
TEST(engine, what_comes_while_the_adapter_is_reset_waits_for_the_restart)
{
	struct late late = { .context = start_virtual_context(HOST_NODE_3D) };
	struct thread *thread;

	add_busy(100);
	add_write(BASE + DATA, 9);
	late.size_bytes = commands_used;
	for (int round = 0; round < 20; round++) {
		EXPECT_EQ(thread_create("late", submit_late, &late, &thread), STATUS_SUCCESS);
		EXPECT_EQ(host.ddi.DxgkDdiResetFromTimeout(host.adapter), STATUS_SUCCESS);
		memset(host.local + DATA, 0, 8);
		host_pass_time(1000);
		EXPECT_EQ(data64(0), 0);
		thread_join(thread);
		EXPECT_EQ(host.ddi.DxgkDdiRestartFromTimeout(host.adapter), STATUS_SUCCESS);
		host_pass_time(2000);
	}
	commands_used = 0;
	finish(late.context);
}

static void pull_out(void *argument)
{
	(void)argument;
	EXPECT_EQ(host.ddi.DxgkDdiNotifySurpriseRemoval(host.adapter, DxgkRemovalPnPNotify),
		  STATUS_SUCCESS);
}

/* Neither waits for an answer that the other has taken. */
TEST(engine, a_removal_in_the_middle_of_a_reset_ends_and_so_does_the_reset)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);
	struct thread *thread;

	for (int round = 0; round < 100; round++) {
		EXPECT_EQ(thread_create("removal", pull_out, NULL, &thread), STATUS_SUCCESS);
		EXPECT_EQ(host.ddi.DxgkDdiResetFromTimeout(host.adapter), STATUS_SUCCESS);
		thread_join(thread);
		EXPECT_EQ(host.ddi.DxgkDdiRestartFromTimeout(host.adapter), STATUS_SUCCESS);
	}
	finish(context);
}

TEST(engine, a_hung_engine_does_not_keep_the_adapter_from_stopping)
{
	HANDLE context = start_virtual_context(HOST_NODE_3D);

	add(SOFTGPU_HANG, 8);
	submit(context);
	host_pass_time(1000);
	EXPECT(!is_responsive(HOST_NODE_3D));
	finish(context);
}

TEST(engine, engines_work_side_by_side)
{
	HANDLE contexts[3];
	UINT fences[3];

	contexts[0] = start_virtual_context(0);
	for (UINT node = 1; node < 3; node++) {
		DXGKARG_SETROOTPAGETABLE root = {
			.hContext = contexts[node] = host_create_context(node, TRUE),
			.Address = { .SegmentId = SOFTGPU_SEGMENT_LOCAL, .SegmentOffset = ROOT },
			.NumEntries = 512
		};

		host.ddi.DxgkDdiSetRootPageTable(host.adapter, &root);
	}
	for (UINT node = 0; node < 3; node++)
		add_fill(BASE + DATA + node * 0x4000, 0x4000, node + 1);
	commands_used = 0;
	for (UINT node = 0; node < 3; node++)
		fences[node] = host_submit_virtual(
			contexts[node], BASE + COMMANDS + node * sizeof(struct softgpu_fill),
			sizeof(struct softgpu_fill), 0);
	for (UINT node = 0; node < 3; node++)
		host_wait_completed(node, fences[node]);
	for (UINT node = 0; node < 3; node++) {
		EXPECT_EQ(*(ULONG *)(host.local + DATA + node * 0x4000), node + 1);
		EXPECT_EQ(*(ULONG *)(host.local + DATA + node * 0x4000 + 0x3ffc), node + 1);
	}
	host_destroy_context(contexts[1]);
	host_destroy_context(contexts[2]);
	finish(contexts[0]);
}

TEST_MAIN("soft/engine")
