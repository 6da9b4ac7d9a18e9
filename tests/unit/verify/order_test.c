/* SPDX-License-Identifier: MIT */
/*
 * order_test.c - the life of a driver, and what it says about itself (watch_order.c, watch_queries.c).
 */
#include "stage.h"
#include "verify/holes.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

static void *taken;

static void give_back(void)
{
	if (taken)
		ExFreePool(taken);
	taken = NULL;
}

/* ---- start ---- */

static NTSTATUS APIENTRY start_and_keep(IN_CONST_PVOID context, IN_PDXGK_START_INFO info,
					IN_PDXGKRNL_INTERFACE interface, OUT_PULONG sources,
					OUT_PULONG children)
{
	taken = stage_pool(100);
	return real.DxgkDdiStartDevice(context, info, interface, sources, children);
}

static void bend_start_keeps(DRIVER_INITIALIZATION_DATA *driver)
{
	driver->DxgkDdiStartDevice = start_and_keep;
}

TEST(start, that_fails_keeps_no_pool)
{
	EXPECT_RULE(RULE_DDI_ORDER_START, bend_start_keeps, do_nothing,
		    TEXT("Fail", "StartDevice"));
	give_back();
	/* One that succeeds may. */
	stage_play(bend_start_keeps, do_nothing, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_ORDER_START), 0);
	give_back();
}

static NTSTATUS APIENTRY start_and_map(IN_CONST_PVOID context, IN_PDXGK_START_INFO info,
				       IN_PDXGKRNL_INTERFACE interface, OUT_PULONG sources,
				       OUT_PULONG children)
{
	PHYSICAL_ADDRESS highest = { .QuadPart = -1 };
	PVOID memory = MmAllocateContiguousMemory(4096, highest);
	PVOID pointer;

	EXPECT_EQ(interface->DxgkCbMapMemory(interface->DeviceHandle, MmGetPhysicalAddress(memory),
					     4096, FALSE, FALSE, MmCached, &pointer),
		  STATUS_SUCCESS);
	MmFreeContiguousMemory(memory);
	return real.DxgkDdiStartDevice(context, info, interface, sources, children);
}

static void bend_start_maps(DRIVER_INITIALIZATION_DATA *driver)
{
	driver->DxgkDdiStartDevice = start_and_map;
}

TEST(start, that_fails_keeps_no_mapping)
{
	EXPECT_RULE(RULE_DDI_ORDER_START, bend_start_maps, do_nothing, TEXT("Fail", "StartDevice"));
}

static NTSTATUS APIENTRY know_nothing(IN_CONST_HANDLE adapter,
				      IN_CONST_PDXGKARG_QUERYADAPTERINFO args)
{
	return args->Type == DXGKQAITYPE_DRIVERCAPS ? STATUS_DEVICE_NOT_READY
						    : real.DxgkDdiQueryAdapterInfo(adapter, args);
}

static void bend_query_fails(DRIVER_INITIALIZATION_DATA *driver)
{
	driver->DxgkDdiQueryAdapterInfo = know_nothing;
}

TEST(start, that_succeeds_is_followed_by_answers)
{
	EXPECT_RULE(RULE_DDI_ORDER_START, bend_query_fails, do_nothing, PLAIN);
}

/* ---- stop, remove ---- */

static NTSTATUS APIENTRY remove_with_dpc(IN_CONST_PVOID context)
{
	stage_interface()->DxgkCbQueueDpc(stage_interface()->DeviceHandle);
	return real.DxgkDdiRemoveDevice(context);
}

static void bend_remove_queues(DRIVER_INITIALIZATION_DATA *driver)
{
	driver->DxgkDdiRemoveDevice = remove_with_dpc;
}

TEST(stop, is_the_end_of_interrupts)
{
	EXPECT_RULE(RULE_DDI_ORDER_STOP, bend_remove_queues, do_nothing, PLAIN);
}

TEST(removal, frees_the_context)
{
	stage_play(NULL, do_nothing, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_ORDER_REMOVE), 0);
	stage_play(NULL, do_nothing, STAGE_SETTINGS(NUMBER("KeepContext", 1)), 1);
	EXPECT_EQ(stage_reports(RULE_DDI_ORDER_REMOVE), 1);
}

/* ---- once more ---- */

static NTSTATUS restart_status;
static unsigned starts;

static NTSTATUS APIENTRY start_again(IN_CONST_PVOID context, IN_PDXGK_START_INFO info,
				     IN_PDXGKRNL_INTERFACE interface, OUT_PULONG sources,
				     OUT_PULONG children)
{
	/* What the recorder makes at its start lasts until it is removed. */
	return starts++ == 0 ? real.DxgkDdiStartDevice(context, info, interface, sources, children)
			     : restart_status;
}

static NTSTATUS APIENTRY know_more_later(IN_CONST_HANDLE adapter,
					 IN_CONST_PDXGKARG_QUERYADAPTERINFO args)
{
	NTSTATUS status = real.DxgkDdiQueryAdapterInfo(adapter, args);

	if (args->Type == DXGKQAITYPE_DRIVERCAPS && NT_SUCCESS(status) && starts > 1)
		((DXGK_DRIVERCAPS *)args->pOutputData)->MaxAllocationListSlotId = 7;
	return status;
}

static void bend_plain_restart(DRIVER_INITIALIZATION_DATA *driver)
{
	starts = 0;
	restart_status = STATUS_SUCCESS;
	driver->DxgkDdiStartDevice = start_again;
}

static void bend_failing_restart(DRIVER_INITIALIZATION_DATA *driver)
{
	bend_plain_restart(driver);
	restart_status = STATUS_DEVICE_NOT_READY;
}

static void bend_changed_restart(DRIVER_INITIALIZATION_DATA *driver)
{
	bend_plain_restart(driver);
	driver->DxgkDdiQueryAdapterInfo = know_more_later;
}

static void stop_and_start(struct stage *stage)
{
	struct miniport *miniport = stage->host.miniport;
	DXGK_DRIVERCAPS caps = { 0 };
	DXGKARG_QUERYADAPTERINFO query = { .Type = DXGKQAITYPE_DRIVERCAPS,
					   .pOutputData = &caps,
					   .OutputDataSize = sizeof(caps) };
	DXGK_START_INFO info = { .RequiredDmaQueueEntry = 16 };
	struct ddi_crossing crossing;
	ULONG sources;
	ULONG children;

	ddi_enter(&crossing, miniport, NULL, DDI_STOP_DEVICE);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiStopDevice(miniport->context));
	ddi_enter(&crossing, miniport, NULL, DDI_START_DEVICE);
	ddi_leave(&crossing,
		  miniport->ddi.DxgkDdiStartDevice(miniport->context, &info, &miniport->interface,
						   &sources, &children));
	ddi_enter(&crossing, miniport, stage->host.client, DDI_QUERY_ADAPTER_INFO);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiQueryAdapterInfo(miniport->context, &query));
}

TEST(restart, works_and_changes_nothing)
{
	stage_play(bend_plain_restart, stop_and_start, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_ORDER_RESTART), 0);
	EXPECT_EQ(stage_reports(RULE_DDI_QAI_STABLE), 0);
	stage_play(bend_failing_restart, stop_and_start, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_ORDER_RESTART), 1);
}

TEST(restart, gives_the_same_answers)
{
	SKIP_UNLESS(CAN_CLEAR_HOLES,
		    "a kernel compiled by clang does not compare structures with holes");
	stage_play(bend_changed_restart, stop_and_start, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_ORDER_RESTART), 1);
	EXPECT_EQ(stage_reports(RULE_DDI_QAI_STABLE), 0);
}

/* ---- surprise ---- */

static NTSTATUS APIENTRY destroy_and_read(IN_CONST_HANDLE device)
{
	UCHAR bytes[4];
	ULONG read;

	(void)!stage_interface()->DxgkCbReadDeviceSpace(stage_interface()->DeviceHandle, 0, bytes,
							0, sizeof(bytes), &read);
	return real.DxgkDdiDestroyDevice(device);
}

static NTSTATUS APIENTRY destroy_and_fail(IN_CONST_HANDLE device)
{
	real.DxgkDdiDestroyDevice(device);
	return STATUS_DEVICE_NOT_CONNECTED;
}

static void bend_reads(DRIVER_INITIALIZATION_DATA *driver)
{
	driver->DxgkDdiDestroyDevice = destroy_and_read;
}

static void bend_fails(DRIVER_INITIALIZATION_DATA *driver)
{
	driver->DxgkDdiDestroyDevice = destroy_and_fail;
}

static void surprise(struct stage *stage)
{
	struct host *host = &stage->host;
	void *device;

	EXPECT_EQ(miniport_create_device(host->miniport, host->client, stage, NULL, &device),
		  STATUS_SUCCESS);
	EXPECT(miniport_notify_surprise_removal(host->miniport));
	miniport_destroy_device(host->miniport, host->client, device);
}

static void bend_agrees_and_reads(DRIVER_INITIALIZATION_DATA *driver)
{
	stage_bend_removable(driver);
	bend_reads(driver);
}

static void bend_agrees_and_fails(DRIVER_INITIALIZATION_DATA *driver)
{
	stage_bend_removable(driver);
	bend_fails(driver);
}

TEST(surprise, leaves_the_hardware_alone_and_ends_everything)
{
	const struct miniport_setting settings[] = { NUMBER("SurpriseRemoval", 1),
						     NUMBER("Whole", 1) };

	stage_play(stage_bend_removable, surprise, settings, ARRAY_SIZE(settings));
	EXPECT_EQ(stage_reports(RULE_DDI_ORDER_SURPRISE), 0);
	stage_play(bend_agrees_and_reads, surprise, settings, ARRAY_SIZE(settings));
	EXPECT(stage_reports(RULE_DDI_ORDER_SURPRISE) > 0);
	stage_play(bend_agrees_and_fails, surprise, settings, ARRAY_SIZE(settings));
	EXPECT(stage_reports(RULE_DDI_ORDER_SURPRISE) > 0);
	/* Before that it may read. */
	stage_play(bend_reads, use_objects, settings, ARRAY_SIZE(settings));
	EXPECT_EQ(stage_reports(RULE_DDI_ORDER_SURPRISE), 0);
}

/* ---- answers ---- */

static unsigned asked;

static NTSTATUS APIENTRY count_up(IN_CONST_HANDLE adapter, IN_CONST_PDXGKARG_QUERYADAPTERINFO args)
{
	NTSTATUS status = real.DxgkDdiQueryAdapterInfo(adapter, args);

	if (args->Type == DXGKQAITYPE_DRIVERCAPS && NT_SUCCESS(status))
		((DXGK_DRIVERCAPS *)args->pOutputData)->MaxAllocationListSlotId = ++asked;
	return status;
}

static NTSTATUS APIENTRY count_segments_up(IN_CONST_HANDLE adapter,
					   IN_CONST_PDXGKARG_QUERYADAPTERINFO args)
{
	NTSTATUS status = real.DxgkDdiQueryAdapterInfo(adapter, args);
	DXGK_QUERYSEGMENTOUT4 *out = args->pOutputData;

	if (args->Type == DXGKQAITYPE_QUERYSEGMENT4 && NT_SUCCESS(status) &&
	    out->pSegmentDescriptor)
		((DXGK_SEGMENTDESCRIPTOR4 *)out->pSegmentDescriptor)->VprAlignment = ++asked;
	return status;
}

static NTSTATUS APIENTRY count_node_up(IN_CONST_HANDLE adapter, UINT node,
				       OUT_PDXGKARG_GETNODEMETADATA metadata)
{
	NTSTATUS status = real.DxgkDdiGetNodeMetadata(adapter, node, metadata);

	metadata->FriendlyName[0] = (WCHAR)('A' + ++asked % 26);
	return status;
}

static NTSTATUS APIENTRY answer_once(IN_CONST_HANDLE adapter,
				     IN_CONST_PDXGKARG_QUERYADAPTERINFO args)
{
	if (args->Type == DXGKQAITYPE_DRIVERCAPS && asked++ > 0)
		return STATUS_DEVICE_BUSY;
	return real.DxgkDdiQueryAdapterInfo(adapter, args);
}

/* Holes of a struct are nobody's answer. */
static NTSTATUS APIENTRY litter_holes(IN_CONST_HANDLE adapter,
				      IN_CONST_PDXGKARG_QUERYADAPTERINFO args)
{
	NTSTATUS status = real.DxgkDdiQueryAdapterInfo(adapter, args);
	DXGK_QUERYSEGMENTOUT4 *out = args->pOutputData;

	_Static_assert(offsetof(DXGK_QUERYSEGMENTOUT4, pSegmentDescriptor) == 8, "a hole");
	if (args->Type == DXGKQAITYPE_QUERYSEGMENT4 && NT_SUCCESS(status))
		((uint8_t *)out)[5] = (uint8_t)++asked;
	return status;
}

BEND(bend_count_up, asked = 0; driver->DxgkDdiQueryAdapterInfo = count_up)
BEND(bend_count_segments_up, asked = 0; driver->DxgkDdiQueryAdapterInfo = count_segments_up)
BEND(bend_count_node_up, asked = 0; driver->DxgkDdiGetNodeMetadata = count_node_up)
BEND(bend_answer_once, asked = 0; driver->DxgkDdiQueryAdapterInfo = answer_once)
BEND(bend_litter, asked = 0; driver->DxgkDdiQueryAdapterInfo = litter_holes)

TEST(answers, are_the_same_when_they_are_asked_for_again)
{
#ifdef __clang__
	SKIP_UNLESS(false, "a hole in a struct cannot be told from an answer by this compiler");
#endif
	EXPECT_RULE(RULE_DDI_QAI_STABLE, bend_count_up, do_nothing, PLAIN);
	EXPECT_RULE(RULE_DDI_QAI_STABLE, bend_count_segments_up, do_nothing, PLAIN);
	EXPECT_RULE(RULE_DDI_QAI_STABLE, bend_count_node_up, do_nothing, PLAIN);
	EXPECT_RULE(RULE_DDI_QAI_STABLE, bend_answer_once, do_nothing, PLAIN);
	stage_play(bend_litter, do_nothing, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_QAI_STABLE), 0);
}

static NTSTATUS APIENTRY answer_always(IN_CONST_HANDLE adapter,
				       IN_CONST_PDXGKARG_QUERYADAPTERINFO args)
{
	if (args->Type != DXGKQAITYPE_NUMPOWERCOMPONENTS)
		return real.DxgkDdiQueryAdapterInfo(adapter, args);
	*(UINT *)args->pOutputData = 0x01010101;
	return STATUS_SUCCESS;
}

/* It refuses, and has written. */
static NTSTATUS APIENTRY write_first(IN_CONST_HANDLE adapter,
				     IN_CONST_PDXGKARG_QUERYADAPTERINFO args)
{
	if (args->Type == DXGKQAITYPE_GPUMMUCAPS)
		((DXGK_GPUMMUCAPS *)args->pOutputData)->PageTableLevelCount = 3;
	return real.DxgkDdiQueryAdapterInfo(adapter, args);
}

BEND(bend_answer_always, asked = 0; driver->DxgkDdiQueryAdapterInfo = answer_always)
BEND(bend_write_first, asked = 0; driver->DxgkDdiQueryAdapterInfo = write_first)

TEST(answers, stay_in_the_buffer_they_are_given)
{
	EXPECT_RULE(RULE_DDI_QAI_SIZE, bend_answer_always, do_nothing, PLAIN);
	EXPECT_RULE(RULE_DDI_QAI_SIZE, bend_write_first, do_nothing, PLAIN);
	/* The older ways to ask for segments. */
	stage_play(NULL, do_nothing,
		   STAGE_SETTINGS(NUMBER("Version", 0x300E), TEXT("Model", "physical")), 2);
	EXPECT_EQ(stage_reports(RULE_DDI_QAI_SIZE), 0);
	EXPECT_EQ(stage_reports(RULE_DDI_QAI_STABLE), 0);
}

/* ---- at a bug check ---- */

static void (*reset_does)(void);

static void take_pool(void)
{
	taken = stage_pool(32);
}

static void take_pages(void)
{
	PHYSICAL_ADDRESS highest = { .QuadPart = -1 };
	PVOID memory = MmAllocateContiguousMemory(4096, highest);

	MmFreeContiguousMemory(memory);
}

static void wait_a_little(void)
{
	LARGE_INTEGER moment = { .QuadPart = -10 };

	KeDelayExecutionThread(KernelMode, FALSE, &moment);
}

static void take_mutex(void)
{
	FAST_MUTEX mutex;

	ExInitializeFastMutex(&mutex);
	ExAcquireFastMutex(&mutex);
	ExReleaseFastMutex(&mutex);
}

static VOID APIENTRY reset_device(IN_CONST_PVOID context)
{
	(void)context;
	if (reset_does)
		reset_does();
}

static void call_reset(struct stage *stage)
{
	struct miniport *miniport = stage->host.miniport;
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, NULL, DDI_RESET_DEVICE);
	miniport->ddi.DxgkDdiResetDevice(miniport->context);
	ddi_leave_void(&crossing);
}

BEND(bend_reset, asked = 0; driver->DxgkDdiResetDevice = reset_device)

TEST(reset_device, takes_no_memory_and_waits_for_nothing)
{
	static void (*const deeds[])(void) = { take_pool, take_pages, wait_a_little, take_mutex };

	for (size_t i = 0; i < ARRAY_SIZE(deeds); i++) {
		reset_does = deeds[i];
		EXPECT_RULE(RULE_DDI_RESETDEVICE, bend_reset, call_reset, NUMBER("Whole", 1));
		give_back();
	}
	reset_does = NULL;
	stage_play(bend_reset, call_reset, STAGE_SETTINGS(NUMBER("Whole", 1)), 1);
	EXPECT_EQ(stage_reports(RULE_DDI_RESETDEVICE), 0);
	/* Others may. */
	take_pool();
	give_back();
	EXPECT_EQ(stage_reports(RULE_DDI_RESETDEVICE), 0);
}

TEST_MAIN("verify/order")
