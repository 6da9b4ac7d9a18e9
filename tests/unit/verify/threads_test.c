/* SPDX-License-Identifier: MIT */
/*
 * threads_test.c - who is in the driver together, under which locks, and for how long (watch_threads.c,
 * watch_reentry.c, watch_time.c).
 */
#include "stage.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "base/effort.h"
#include "base/thread.h"

#define BEND(name, ...)                                                                            \
	static void name(DRIVER_INITIALIZATION_DATA *driver)                                       \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

/* ---- levels: the kernel is bent here, not the driver ---- */

/* What ddi.c would never let happen. */
static void enter_anyway(struct ddi_crossing *crossing, enum ddi ddi)
{
	*crossing = (struct ddi_crossing){
		.miniport = bent, .ddi = ddi, .level = ddi_infos[ddi].level, .outer = ddi_innermost
	};
	ddi_innermost = crossing;
}

static bool is_nested;

static NTSTATUS APIENTRY preempt_in_itself(IN_CONST_HANDLE adapter,
					   IN_CONST_PDXGKARG_PREEMPTCOMMAND args)
{
	struct ddi_crossing crossing;

	if (is_nested)
		return STATUS_SUCCESS;
	is_nested = true;
	enter_anyway(&crossing, DDI_PREEMPT_COMMAND);
	NTSTATUS status = bent->ddi.DxgkDdiPreemptCommand(adapter, args);
	ddi_innermost = crossing.outer;
	return status;
}

static NTSTATUS APIENTRY restart_inside(IN_CONST_HANDLE adapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
	struct ddi_crossing crossing;

	if (!args->Flags.SystemDevice) {
		enter_anyway(&crossing, DDI_RESTART_FROM_TIMEOUT);
		bent->ddi.DxgkDdiRestartFromTimeout(adapter);
		ddi_innermost = crossing.outer;
	}
	return real.DxgkDdiCreateDevice(adapter, args);
}

static void preempt(struct stage *stage)
{
	miniport_preempt(stage->host.miniport, 0, 1);
	nt_dpc_flush();
}

BEND(bend_class, is_nested = false; driver->DxgkDdiPreemptCommand = preempt_in_itself)
BEND(bend_alone, driver->DxgkDdiCreateDevice = restart_inside)

TEST(levels, are_kept_by_the_kernel)
{
	EXPECT_RULE(RULE_DDI_LEVEL1_CLASS, bend_class, preempt, PLAIN);
	EXPECT_RULE(RULE_DDI_LEVEL23_ALONE, bend_alone, use_objects, PLAIN);
}

/* ---- locks across callbacks ---- */

static bool takes_lock;

static void ask_for_memory(void)
{
	DXGKARGCB_CREATECONTEXTALLOCATION args = { .hAdapter = stage_interface()->DeviceHandle };

	(void)!stage_interface()->DxgkCbCreateContextAllocation(&args);
}

static NTSTATUS APIENTRY create_with_memory(IN_CONST_HANDLE device,
					    INOUT_PDXGKARG_CREATECONTEXT args)
{
	static EX_PUSH_LOCK lock;

	if (takes_lock)
		ExAcquirePushLockExclusiveEx(&lock, 0);
	ask_for_memory();
	if (takes_lock)
		ExReleasePushLockExclusiveEx(&lock, 0);
	return real.DxgkDdiCreateContext(device, args);
}

BEND(bend_memory, takes_lock = false; driver->DxgkDdiCreateContext = create_with_memory)
BEND(bend_memory_under_lock, bend_memory(driver); takes_lock = true)

TEST(lock, is_not_held_across_a_callback_that_comes_back)
{
	stage_play(bend_memory, use_objects, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_LOCK_ACROSS), 0);
	EXPECT_RULE(RULE_DDI_LOCK_ACROSS, bend_memory_under_lock, use_objects, PLAIN);
}

/* ---- orders of locks ---- */

static FAST_MUTEX mutexes[2];

static void take_both(int first)
{
	ExAcquireFastMutex(&mutexes[first]);
	ExAcquireFastMutex(&mutexes[1 - first]);
	ExReleaseFastMutex(&mutexes[1 - first]);
	ExReleaseFastMutex(&mutexes[first]);
}

static NTSTATUS APIENTRY create_device_with_locks(IN_CONST_HANDLE adapter,
						  INOUT_PDXGKARG_CREATEDEVICE args)
{
	take_both(0);
	return real.DxgkDdiCreateDevice(adapter, args);
}

static NTSTATUS APIENTRY create_context_with_locks(IN_CONST_HANDLE device,
						   INOUT_PDXGKARG_CREATECONTEXT args)
{
	take_both(1);
	return real.DxgkDdiCreateContext(device, args);
}

BEND(bend_one_order, ExInitializeFastMutex(&mutexes[0]); ExInitializeFastMutex(&mutexes[1]);
     driver->DxgkDdiCreateDevice = create_device_with_locks)
BEND(bend_both_orders, bend_one_order(driver);
     driver->DxgkDdiCreateContext = create_context_with_locks)

TEST(locks, are_taken_in_one_order)
{
	stage_play(bend_one_order, use_objects, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_DEADLOCK), 0);
	EXPECT_RULE(RULE_DDI_DEADLOCK, bend_both_orders, use_objects, PLAIN);
}

/* ---- two at once ---- */

static bool has_company;
static bool is_confused;

static struct {
	struct stage *stage;
	struct miniport_client *client;
} company;

static void come_in(void *argument)
{
	struct recorder_escape escape = { .command = RECORDER_NOTHING };

	(void)argument;
	EXPECT_EQ(
		miniport_escape(bent, company.client,
				&(struct miniport_escape_desc){ .private_data = &escape,
								.private_bytes = sizeof(escape) }),
		STATUS_SUCCESS);
}

static NTSTATUS APIENTRY create_in_company(IN_CONST_HANDLE device,
					   INOUT_PDXGKARG_CREATECONTEXT args)
{
	struct thread *thread;
	NTSTATUS status = real.DxgkDdiCreateContext(device, args);

	if (args->Flags.SystemContext || !has_company)
		return status;
	EXPECT_EQ(thread_create("company", come_in, NULL, &thread), STATUS_SUCCESS);
	thread_join(thread);
	if (is_confused)
		args->ContextInfo.DmaBufferPrivateDataSize += 8;
	return status;
}

BEND(bend_company, is_confused = false; driver->DxgkDdiCreateContext = create_in_company)
BEND(bend_confused, is_confused = true; driver->DxgkDdiCreateContext = create_in_company)

static void with_and_without_company(struct stage *stage)
{
	company.stage = stage;
	EXPECT_EQ(miniport_client_create(nt_process_of_system(), &company.client), STATUS_SUCCESS);
	for (int i = 0; i < 4; i++) {
		has_company = i == 2;
		use_objects(stage);
	}
	has_company = false;
	miniport_client_destroy(company.client);
}

TEST(company, changes_no_answer)
{
	stage_play(bend_company, with_and_without_company, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_LEVEL0_REENTRANT), 0);
	EXPECT_RULE(RULE_DDI_LEVEL0_REENTRANT, bend_confused, with_and_without_company, PLAIN);
}

/* A driver that has changed its mind is not confused. */
static NTSTATUS APIENTRY create_another(IN_CONST_HANDLE device, INOUT_PDXGKARG_CREATECONTEXT args)
{
	NTSTATUS status = create_in_company(device, args);

	if (has_company)
		is_confused = true;
	else if (is_confused && !args->Flags.SystemContext)
		args->ContextInfo.DmaBufferPrivateDataSize += 8;
	return status;
}

BEND(bend_another, is_confused = false; driver->DxgkDdiCreateContext = create_another)

TEST(company, is_not_blamed_for_a_change_of_mind)
{
	stage_play(bend_another, with_and_without_company, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_LEVEL0_REENTRANT), 0);
}

/* ---- time ---- */

static unsigned stall_us;
static bool is_busy;

/* Until it is too much by any measure. */
static void be_busy(void)
{
	struct effort before = effort_now();
	uint64_t much = before.is_counted ? 3000000 : 30000000;

	while (is_busy && effort_now().amount - before.amount < much)
		continue;
}

static NTSTATUS APIENTRY preempt_slowly(IN_CONST_HANDLE adapter,
					IN_CONST_PDXGKARG_PREEMPTCOMMAND args)
{
	KeStallExecutionProcessor(stall_us);
	be_busy();
	return real.DxgkDdiPreemptCommand(adapter, args);
}

BEND(bend_slow, driver->DxgkDdiPreemptCommand = preempt_slowly)

/* One of them may be, and the other is too long. */
#define EXPECT_STALLS(allowed_us, forbidden_us, bend, tell)                                        \
	do {                                                                                       \
		stall_us = (allowed_us);                                                           \
		stage_play(bend, tell, NULL, 0);                                                   \
		EXPECT_EQ(stage_reports(RULE_DDI_TIME), 0);                                        \
		stall_us = (forbidden_us);                                                         \
		EXPECT_RULE(RULE_DDI_TIME, bend, tell, PLAIN);                                     \
		stall_us = 0;                                                                      \
	} while (0)

TEST(stall, at_dispatch_level_is_short)
{
	EXPECT_STALLS(90, 110, bend_slow, preempt);
}

static void preempt_often(struct stage *stage)
{
	for (uint32_t i = 1; i <= 8; i++) {
		miniport_preempt(stage->host.miniport, 0, i);
		nt_dpc_flush();
	}
}

/* Time on a processor, far beyond what is allowed, and again and again. */
TEST(loop, at_dispatch_level_is_noticed)
{
	is_busy = true;
	EXPECT_RULE(RULE_DDI_TIME, bend_slow, preempt_often, PLAIN);
	/* Once may be the machine. */
	stage_play(bend_slow, preempt, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_TIME), 0);
	is_busy = false;
}

static BOOLEAN NTAPI stall_at_interrupt_level(PVOID context)
{
	KeStallExecutionProcessor(*(const unsigned *)context);
	return TRUE;
}

static NTSTATUS APIENTRY create_with_interrupt(IN_CONST_HANDLE device,
					       INOUT_PDXGKARG_CREATECONTEXT args)
{
	BOOLEAN result;

	(void)!stage_interface()->DxgkCbSynchronizeExecution(
		stage_interface()->DeviceHandle, stall_at_interrupt_level, &stall_us, 0, &result);
	return real.DxgkDdiCreateContext(device, args);
}

BEND(bend_interrupt, driver->DxgkDdiCreateContext = create_with_interrupt)

TEST(stall, at_the_level_of_the_interrupt_is_shorter)
{
	EXPECT_STALLS(20, 30, bend_interrupt, use_objects);
}

static unsigned delay_s;

static NTSTATUS APIENTRY create_late(IN_CONST_HANDLE adapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
	LARGE_INTEGER delay = { .QuadPart = -10000000 * (LONGLONG)delay_s };

	if (!args->Flags.SystemDevice)
		KeDelayExecutionThread(KernelMode, FALSE, &delay);
	return real.DxgkDdiCreateDevice(adapter, args);
}

BEND(bend_late, driver->DxgkDdiCreateDevice = create_late)

TEST(wait, at_passive_level_ends_within_the_delay)
{
	SKIP_UNLESS(thread_is_simulated(), "seconds are waited for");
	delay_s = 4;
	stage_play(bend_late, use_objects, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_TIME), 0);
	delay_s = 6;
	EXPECT_RULE(RULE_DDI_TIME, bend_late, use_objects, PLAIN);
	/* As long as the registry says. */
	stage_play(bend_late, use_objects, STAGE_SETTINGS(NUMBER("TdrDdiDelay", 10)), 1);
	EXPECT_EQ(stage_reports(RULE_DDI_TIME), 0);
}

TEST_MAIN("verify/threads")
