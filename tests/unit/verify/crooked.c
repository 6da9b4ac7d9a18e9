/* SPDX-License-Identifier: MIT */
/*
 * crooked.c - see crooked.h: starting it, its memory and objects, what was reported.
 */
#include <string.h>

#include "crooked.h"
#include "crooked_driver.h"

#include "base/machine.h"
#include "nt/fault.h"
#include "nt/nt.h"
#include "nt/report.h"
#include "verify/start.h"
#include "verify/verify.h"

struct crooked *crooked_current;

/* ---- reports ---- */

/* What this driver has no hardware for is the business of other tests: interrupts, fences and the order of calls. */
static bool is_about_others(enum rule rule)
{
	static const char *const others[] = { "DDI-NOTIFY-", "DDI-FENCE-", "DDI-PREEMPT-ANSWER",
					      "DDI-ORDER-",  "DDI-PAIR-",  "DDI-INTERRUPT-LOST",
					      "DDI-HWQ-",    "DDI-TIME" };

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strncmp(rule_id(rule), others[i], strlen(others[i])) == 0)
			return true;
	}
	return false;
}

static void listen(void *context, const struct nt_report_news *news)
{
	struct crooked *gpu = context;

	if (is_about_others(news->rule))
		return;
	if (gpu->report_count < CROOKED_REPORTS) {
		gpu->reports[gpu->report_count].rule = news->rule;
		snprintf(gpu->reports[gpu->report_count].sentence, sizeof(gpu->reports[0].sentence),
			 "%s", news->sentence);
	}
	gpu->report_count++;
}

unsigned crooked_reported(const struct crooked *gpu, enum rule rule)
{
	unsigned count = 0;

	for (unsigned i = 0; i < gpu->report_count && i < CROOKED_REPORTS; i++)
		count += gpu->reports[i].rule == rule;
	return count;
}

void crooked_expect(const struct crooked *gpu, enum rule rule)
{
	EXPECT(crooked_reported(gpu, rule) > 0);
	for (unsigned i = 0; i < gpu->report_count && i < CROOKED_REPORTS; i++) {
		if (gpu->reports[i].rule != rule)
			printf("# also reported: %s\n", gpu->reports[i].sentence);
		EXPECT_STR(rule_id(gpu->reports[i].rule), rule_id(rule));
	}
}

void crooked_expect_nothing(const struct crooked *gpu)
{
	for (unsigned i = 0; i < gpu->report_count && i < CROOKED_REPORTS; i++)
		printf("# reported: %s (%s)\n", gpu->reports[i].sentence,
		       rule_id(gpu->reports[i].rule));
	EXPECT_EQ(gpu->report_count, 0);
}

void crooked_compare(enum crooked_model model, enum crooked_bend bend, enum rule rule,
		     void (*tell)(struct crooked *gpu))
{
	static struct crooked gpu;

	crooked_start(&gpu, model);
	tell(&gpu);
	crooked_expect_nothing(&gpu);
	crooked_finish(&gpu);

	crooked_start(&gpu, model);
	gpu.bend = bend;
	tell(&gpu);
	crooked_expect(&gpu, rule);
	crooked_finish(&gpu);
}

/* ---- start ---- */

static uint64_t take_pages(uint64_t count)
{
	uint64_t address = 0;

	EXPECT_EQ(
		machine_alloc_contiguous(count * MACHINE_PAGE_BYTES, 0, 0, UINT64_MAX, 0, &address),
		STATUS_SUCCESS);
	return address;
}

static void describe_segments(struct crooked *gpu)
{
	struct miniport_info *info = &gpu->miniport.info;

	info->segment_count = 3;
	info->segments[0] = (struct miniport_segment){
		.id = 1,
		.base_address = CROOKED_LOCAL_BASE,
		.size_bytes = CROOKED_PAGES * MACHINE_PAGE_BYTES,
		.cpu_translated_address = gpu->local,
		.is_cpu_visible = true,
		.is_budgeted = true,
	};
	info->segments[1] = (struct miniport_segment){
		.id = 2,
		.base_address = CROOKED_APERTURE_BASE,
		.size_bytes = CROOKED_APERTURE_PAGES * MACHINE_PAGE_BYTES,
		.is_aperture = true,
	};
	info->segments[2] = (struct miniport_segment){
		.id = 3,
		.base_address = CROOKED_HIDDEN_BASE,
		.size_bytes = CROOKED_PAGES * MACHINE_PAGE_BYTES,
		.has_cpu_host_aperture = true,
		.cpu_host_aperture_address = gpu->windows,
		.cpu_host_aperture_pages = CROOKED_WINDOWS,
	};
}

static void describe(struct crooked *gpu, enum crooked_model model)
{
	struct miniport_info *info = &gpu->miniport.info;

	*info = (struct miniport_info){
		.wddm_version = model == CROOKED_VIRTUAL ? 2000 : 1200,
		.is_multi_engine_aware = true,
		.node_count = 2,
		.paging_buffer_size_bytes = CROOKED_BUFFER_BYTES,
		.paging_buffer_private_bytes = 64,
		.supports_gpu_mmu = model == CROOKED_VIRTUAL,
		.supports_virtual_addressing = model == CROOKED_VIRTUAL,
	};
	describe_segments(gpu);
	if (model == CROOKED_PHYSICAL)
		return;
	info->gpu_mmu = (struct miniport_gpu_mmu){
		.update_mode = MINIPORT_TABLE_GPU_PHYSICAL,
		.address_bits = 39,
		.level_count = 3,
		.levels = { { 9, 1, 1, 4096, 4096 },
			    { 9, 1, 1, 4096, 4096 },
			    { 9, 1, 1, 4096, 4096 } },
	};
}

void crooked_start(struct crooked *gpu, enum crooked_model model)
{
	static bool is_started;

	if (!is_started) {
		EXPECT_EQ(nt_start(), STATUS_SUCCESS);
		verify_start();
		is_started = true;
	}
	/* A test that failed has not come to its end. */
	if (crooked_current)
		crooked_finish(crooked_current);
	/* cmocka has put its own handlers in front of ours. */
	nt_faults_stop();
	nt_faults_install();
	memset(gpu, 0, sizeof(*gpu));
	crooked_current = gpu;
	nt_report_listen(listen, gpu);
	gpu->local = take_pages(CROOKED_PAGES);
	gpu->hidden = take_pages(CROOKED_PAGES);
	gpu->windows = take_pages(CROOKED_WINDOWS);
	gpu->system = take_pages(CROOKED_PAGES);
	gpu->dummy = take_pages(1);
	describe(gpu, model);

	struct miniport *miniport = &gpu->miniport;
	lock_init(&gpu->client.entry, LOCK_RANK_DDI_PROCESS, "client");
	lock_init(&miniport->system_client.entry, LOCK_RANK_DDI_PROCESS, "system process");
	miniport->system_client.process = nt_process_of_system();
	gpu->client.process = nt_process_of_system();
	for (size_t i = 0; i < DDI_CLASS_COUNT; i++)
		lock_init(&miniport->class_locks[i], LOCK_RANK_DDI_CLASS, "driver class");
	gate_init(&miniport->level_gate, LOCK_RANK_DDI_LEVEL, "driver level");
	miniport->is_patching = true;
	miniport->context = gpu;
	crooked_fill_in(&miniport->ddi);
	miniport->driver = miniport->ddi;
	miniport->interface.DxgkCbNotifyInterrupt = crooked_kernel_hears;
	EXPECT(miniport_verifier != NULL);
	EXPECT_EQ(miniport_verifier->adopt(miniport), STATUS_SUCCESS);
	miniport_verifier->give_interface(miniport);
	crooked_fresh_buffer(gpu);
}

void crooked_finish(struct crooked *gpu)
{
	miniport_verifier->release(&gpu->miniport);
	while (gpu->mdl_count > 0)
		miniport_mdl_destroy(gpu->mdls[--gpu->mdl_count]);
	for (uint64_t i = 0; i < CROOKED_WINDOWS; i++)
		(void)!machine_alias(gpu->windows + i * MACHINE_PAGE_BYTES, MACHINE_NOWHERE);
	(void)!machine_free_contiguous(gpu->buffer.physical_address);
	free(gpu->buffer.private_data);
	(void)!machine_free_contiguous(gpu->local);
	(void)!machine_free_contiguous(gpu->hidden);
	(void)!machine_free_contiguous(gpu->windows);
	(void)!machine_free_contiguous(gpu->system);
	(void)!machine_free_contiguous(gpu->dummy);
	gate_finish(&gpu->miniport.level_gate);
	nt_report_listen(NULL, NULL);
	nt_report_reset();
	crooked_current = NULL;
}

/* ---- memory ---- */

char *crooked_local(struct crooked *gpu, uint64_t page)
{
	return machine_to_pointer(gpu->local + page * MACHINE_PAGE_BYTES);
}

char *crooked_hidden(struct crooked *gpu, uint64_t page)
{
	return machine_to_pointer(gpu->hidden + page * MACHINE_PAGE_BYTES);
}

char *crooked_system(struct crooked *gpu, uint64_t page)
{
	return machine_to_pointer(gpu->system + page * MACHINE_PAGE_BYTES);
}

uint64_t crooked_pfn(const struct crooked *gpu, uint64_t page)
{
	return (gpu->system >> MACHINE_PAGE_SHIFT) + page;
}

void crooked_scribble(char *bytes, size_t size_bytes, unsigned seed)
{
	uint32_t value = seed * 2654435761u + 1;

	for (size_t i = 0; i < size_bytes; i++) {
		value = value * 1664525 + 1013904223;
		bytes[i] = (char)(value >> 24);
	}
}

/* ---- calls of the kernel ---- */

/* Around one, as the wrappers of miniport/ have it. */
#define CALL(gpu, id, who, arguments, expression)                                                  \
	({                                                                                         \
		struct ddi_crossing crossing;                                                      \
		ddi_enter(&crossing, &(gpu)->miniport, who, id);                                   \
		ddi_note(&crossing, (gpu)->miniport.context, arguments);                           \
		NTSTATUS call_status = (gpu)->miniport.ddi.expression;                             \
		ddi_leave_as_it_is(&crossing, call_status);                                        \
		call_status;                                                                       \
	})

void *crooked_allocation(struct crooked *gpu, uint64_t size_bytes, unsigned flags)
{
	DXGK_ALLOCATIONINFO info = { .Size = size_bytes };
	DXGKARG_CREATEALLOCATION args = { .NumAllocations = 1, .pAllocationInfo = &info };

	info.Flags.CpuVisible = (flags & CROOKED_CPU_VISIBLE) != 0;
	info.Flags.UseAlternateVA = (flags & CROOKED_ALTERNATE_VA) != 0;
	info.Flags.ExplicitResidencyNotification = (flags & CROOKED_WANTS_NEWS) != 0;
	EXPECT_EQ(CALL(gpu, DDI_CREATE_ALLOCATION, &gpu->client, &args,
		       DxgkDdiCreateAllocation(gpu, &args)),
		  STATUS_SUCCESS);
	return info.hAllocation;
}

void crooked_process(struct crooked *gpu, void *process, bool is_system)
{
	DXGKARG_CREATEPROCESS args = { .hDxgkProcess = process };

	args.Flags.SystemProcess = is_system;
	EXPECT_EQ(CALL(gpu, DDI_CREATE_PROCESS, &gpu->client, &args,
		       DxgkDdiCreateProcess(gpu, &args)),
		  STATUS_SUCCESS);
}

void *crooked_context(struct crooked *gpu, void *process, bool is_virtual)
{
	DXGKARG_CREATEDEVICE device = { .hKmdProcess = process };
	DXGKARG_CREATECONTEXT args = { .NodeOrdinal = 1 };

	EXPECT_EQ(CALL(gpu, DDI_CREATE_DEVICE, &gpu->client, &device,
		       DxgkDdiCreateDevice(gpu, &device)),
		  STATUS_SUCCESS);
	args.Flags.VirtualAddressing = is_virtual;
	EXPECT_EQ(CALL(gpu, DDI_CREATE_CONTEXT, &gpu->client, &args,
		       DxgkDdiCreateContext(device.hDevice, &args)),
		  STATUS_SUCCESS);
	return args.hContext;
}

void crooked_client_work(struct crooked *gpu, void *context, bool is_virtual, uint64_t page)
{
	struct miniport_submission submission = {
		.driver_context = context,
		.node = 1,
		.fence = ++gpu->fence,
		.gpu_address = is_virtual ? 0x1000 : 0,
		.size_bytes = 16,
	};
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = { .InterruptType = DXGK_INTERRUPT_DMA_COMPLETED };

	EXPECT_EQ(miniport_submit(&gpu->miniport, is_virtual, &submission), STATUS_SUCCESS);
	if (gpu->bend == BEND_CLIENT_ASTRAY)
		crooked_scribble(crooked_local(gpu, page), 64, gpu->fence);
	data.DmaCompleted.SubmissionFenceId = submission.fence;
	data.DmaCompleted.NodeOrdinal = 1;
	if (gpu->work_faults) {
		data = (DXGKARGCB_NOTIFY_INTERRUPT_DATA){ .InterruptType =
								  DXGK_INTERRUPT_DMA_FAULTED };
		data.DmaFaulted.FaultedFenceId = submission.fence;
		data.DmaFaulted.Status = STATUS_ILLEGAL_INSTRUCTION;
		data.DmaFaulted.NodeOrdinal = 1;
	}
	crooked_interrupt(gpu, &data);
}

void crooked_interrupt(struct crooked *gpu, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	gpu->miniport.interface.DxgkCbNotifyInterrupt((HANDLE)&gpu->miniport, data);
}
