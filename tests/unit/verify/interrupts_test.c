/* SPDX-License-Identifier: MIT */
/*
 * interrupts_test.c - how a driver interrupts (watch_interrupts.c).
 */
#include "stage.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "base/clock.h"
#include "base/thread.h"

/* ---- DPCs ---- */

static void interrupt_without_dpc(struct stage *stage)
{
	stage_escape(stage,
		     (struct recorder_escape){ .command = stage->is_bent ? RECORDER_INTERRUPT_NO_DPC
									 : RECORDER_INTERRUPT,
					       .type = DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED });
}

BEND(bend_nothing, (void)driver)

TEST(dpc, follows_an_interrupt)
{
	EXPECT_RULE(RULE_DDI_NOTIFY_DPC, bend_nothing, interrupt_without_dpc, PLAIN);
}

static VOID APIENTRY deliver_nothing(IN_CONST_PVOID context)
{
	(void)context;
}

static void interrupt(struct stage *stage)
{
	stage_interrupt(stage, DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED, 0, 0);
}

BEND(bend_dpc, driver->DxgkDdiDpcRoutine = deliver_nothing)

TEST(dpc, delivers)
{
	EXPECT_RULE(RULE_DDI_NOTIFY_DPC, bend_dpc, interrupt, PLAIN);
}

/* Back from the level of the interrupt is early enough. */
static BOOLEAN NTAPI notify(PVOID context)
{
	stage_interface()->DxgkCbNotifyInterrupt(stage_interface()->DeviceHandle, context);
	return TRUE;
}

static DXGKARGCB_NOTIFY_INTERRUPT_DATA news[2];
static uint32_t news_count;

static NTSTATUS APIENTRY tell_and_queue(IN_CONST_HANDLE adapter, IN_CONST_PDXGKARG_ESCAPE args)
{
	BOOLEAN result;

	(void)adapter;
	(void)args;
	(void)!stage_interface()->DxgkCbSynchronizeExecution(stage_interface()->DeviceHandle,
							     notify, &news[0], 0, &result);
	stage_interface()->DxgkCbQueueDpc(stage_interface()->DeviceHandle);
	return STATUS_SUCCESS;
}

static void escape(struct stage *stage)
{
	stage_escape(stage, (struct recorder_escape){ .command = RECORDER_NOTHING });
}

BEND(bend_queue_later, driver->DxgkDdiEscape = tell_and_queue;
     news[0] = (DXGKARGCB_NOTIFY_INTERRUPT_DATA){
	     .InterruptType = DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED })

TEST(dpc, may_be_queued_a_little_later)
{
	stage_play(bend_queue_later, escape, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_NOTIFY_DPC), 0);
}

/* ---- from where ---- */

static NTSTATUS APIENTRY tell_raised(IN_CONST_HANDLE adapter, IN_CONST_PDXGKARG_ESCAPE args)
{
	KIRQL irql;

	NTSTATUS status = tell_and_queue(adapter, args);
	KeRaiseIrql(DDI_DEVICE_IRQL, &irql);
	notify(&news[0]);
	stage_interface()->DxgkCbQueueDpc(stage_interface()->DeviceHandle);
	KeLowerIrql(irql);
	return status;
}

BEND(bend_raised, bend_queue_later(driver); driver->DxgkDdiEscape = tell_raised)

TEST(interrupt, comes_from_one_place)
{
	stage_play(bend_queue_later, escape, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_NOTIFY_REENTRY), 0);
	EXPECT_RULE(RULE_DDI_NOTIFY_REENTRY, bend_raised, escape, PLAIN);
}

/* ---- one at a time ---- */

static _Atomic unsigned notified;

static void notify_at_once(void *argument)
{
	KIRQL irql;

	(void)argument;
	KeRaiseIrql(DDI_DEVICE_IRQL, &irql);
	stage_interface()->DxgkCbNotifyInterrupt(stage_interface()->DeviceHandle, &news[0]);
	stage_interface()->DxgkCbQueueDpc(stage_interface()->DeviceHandle);
	KeLowerIrql(irql);
	notified++;
}

/* What the kernel needs for it is held, so that both are under way. */
static void notify_twice_at_once(struct stage *stage)
{
	struct thread *threads[2];
	unsigned count = stage->is_bent ? 2 : 1;

	notified = 0;
	news[0] = (DXGKARGCB_NOTIFY_INTERRUPT_DATA){
		.InterruptType = DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED
	};
	lock_acquire(&stage->host.miniport->interrupt.records_lock);
	for (unsigned i = 0; i < count; i++)
		EXPECT_EQ(thread_create("notify", notify_at_once, NULL, &threads[i]),
			  STATUS_SUCCESS);
	for (unsigned i = 0; i < 2000 && stage_reports(RULE_DDI_NOTIFY_REENTRY) == 0; i++)
		clock_sleep_until(clock_now_ns() + NS_PER_MS);
	lock_release(&stage->host.miniport->interrupt.records_lock);
	for (unsigned i = 0; i < count; i++)
		thread_join(threads[i]);
	EXPECT_EQ(notified, count);
	nt_dpc_flush();
}

TEST(interrupt, comes_one_at_a_time)
{
	EXPECT_RULE(RULE_DDI_NOTIFY_REENTRY, bend_nothing, notify_twice_at_once, PLAIN);
}

/* ---- in which order ---- */

static BOOLEAN NTAPI notify_all(PVOID context)
{
	(void)context;
	for (uint32_t i = 0; i < news_count; i++)
		notify(&news[i]);
	stage_interface()->DxgkCbQueueDpc(stage_interface()->DeviceHandle);
	return TRUE;
}

static NTSTATUS APIENTRY tell_all(IN_CONST_HANDLE adapter, IN_CONST_PDXGKARG_ESCAPE args)
{
	BOOLEAN result;

	(void)adapter;
	(void)args;
	return stage_interface()->DxgkCbSynchronizeExecution(stage_interface()->DeviceHandle,
							     notify_all, NULL, 0, &result);
}

static void bend_two(DRIVER_INITIALIZATION_DATA *driver, uint32_t first, uint32_t second)
{
	driver->DxgkDdiEscape = tell_all;
	memset(news, 0, sizeof(news));
	news[0].InterruptType = (DXGK_INTERRUPT_TYPE)first;
	news[1].InterruptType = (DXGK_INTERRUPT_TYPE)second;
	news_count = 2;
}

BEND(bend_work_first, bend_two(driver, DXGK_INTERRUPT_DMA_FAULTED, DXGK_INTERRUPT_CRTC_VSYNC))
BEND(bend_display_first, bend_two(driver, DXGK_INTERRUPT_CRTC_VSYNC, DXGK_INTERRUPT_DMA_FAULTED))

TEST(interrupt, tells_of_work_before_the_display)
{
	stage_play(bend_work_first, escape, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_NOTIFY_ORDER), 0);
	EXPECT_RULE(RULE_DDI_NOTIFY_ORDER, bend_display_first, escape, PLAIN);
}

/* ---- resets ---- */

static void reset_and_interrupt(struct stage *stage)
{
	EXPECT(miniport_reset_from_timeout(stage->host.miniport));
	if (stage->is_bent)
		interrupt(stage);
	EXPECT(miniport_restart_from_timeout(stage->host.miniport));
	interrupt(stage);
}

static void reset_queues_and_interrupt(struct stage *stage)
{
	EXPECT_EQ(miniport_reset_hw_node(stage->host.miniport, 0), STATUS_SUCCESS);
	stage_interrupt(stage, DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED, stage->is_bent ? 0 : 1, 0);
	EXPECT_EQ(miniport_resume_hw_node(stage->host.miniport, 0), STATUS_SUCCESS);
	interrupt(stage);
}

TEST(interrupt, does_not_come_between_reset_and_restart)
{
	EXPECT_RULE(RULE_DDI_INTERRUPT_AFTER_RESET, bend_nothing, reset_and_interrupt, PLAIN);
	EXPECT_RULE(RULE_DDI_INTERRUPT_AFTER_RESET, bend_nothing, reset_queues_and_interrupt,
		    NUMBER("HwQueues", 1));
}

/* ---- faults ---- */

static void fault(struct stage *stage, uint32_t flags, const void *process)
{
	struct host_context context;

	host_context_create(&stage->host, &context, 0, true);
	stage_submit(stage, &context, 0, 1);
	stage_escape(stage, (struct recorder_escape){ .command = RECORDER_INTERRUPT,
						      .type = DXGK_INTERRUPT_DMA_PAGE_FAULTED,
						      .fence = 1,
						      .flags = flags,
						      .object = (uintptr_t)process });
	host_context_destroy(&stage->host, &context);
}

static void fault_with_flags(struct stage *stage)
{
	fault(stage, DXGK_PAGE_FAULT_WRITE | (stage->is_bent ? 0x1000 : 0), NULL);
}

static void fault_with_process(struct stage *stage)
{
	void *process = NULL;
	struct host *host = &stage->host;

	EXPECT_EQ(miniport_create_process(host->miniport, host->client, &process, "one", &process),
		  STATUS_SUCCESS);
	fault(stage, DXGK_PAGE_FAULT_PROCESS_HANDLE_VALID, stage->is_bent ? stage : process);
	/* Also by what the driver was told it by. */
	fault(stage, DXGK_PAGE_FAULT_PROCESS_HANDLE_VALID,
	      stage->is_bent ? stage : (void *)&process);
	miniport_destroy_process(host->miniport, host->client, process);
}

TEST(fault, has_flags_and_a_process_that_there_are)
{
	EXPECT_RULE(RULE_DDI_FAULT_PARAMETERS, bend_nothing, fault_with_flags,
		    NUMBER("HandCranked", 1));
	EXPECT_RULE(RULE_DDI_FAULT_PARAMETERS, bend_nothing, fault_with_process,
		    NUMBER("HandCranked", 1));
}

TEST_MAIN("verify/interrupts")
