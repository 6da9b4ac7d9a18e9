/* SPDX-License-Identifier: MIT */
/*
 * statuses_test.c - what a driver answers where its capabilities or a lack of memory say more (watch_statuses.c).
 */
#include "stage.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#define BEND(name, ...)                                                                            \
	static void name(DRIVER_INITIALIZATION_DATA *driver)                                       \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

static NTSTATUS answer;
static bool is_refused; /* memory */
static bool takes_pool;
static void *taken[8];
static unsigned taken_count;

static NTSTATUS APIENTRY fail_device(IN_CONST_HANDLE adapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
	return args->Flags.SystemDevice ? real.DxgkDdiCreateDevice(adapter, args) : answer;
}

static NTSTATUS APIENTRY fail_context(IN_CONST_HANDLE device, INOUT_PDXGKARG_CREATECONTEXT args)
{
	if (args->Flags.SystemContext)
		return real.DxgkDdiCreateContext(device, args);
	if (takes_pool)
		taken[taken_count++] = stage_pool(72);
	if (is_refused)
		EXPECT(!ExAllocatePoolWithTag(NonPagedPoolNx, ~(SIZE_T)0 / 4, STAGE_TAG));
	return answer;
}

BEND(bend_device, driver->DxgkDdiCreateDevice = fail_device)
BEND(bend_context, driver->DxgkDdiCreateContext = fail_context)

TEST(entry_points, that_are_promised_are_there)
{
	answer = STATUS_NOT_IMPLEMENTED;
	EXPECT_RULE(RULE_DDI_STATUS_NOT_IMPLEMENTED, bend_device, use_objects, PLAIN);
	answer = STATUS_NOT_SUPPORTED;
	EXPECT_RULE(RULE_DDI_STATUS_NOT_IMPLEMENTED, bend_device, use_objects, PLAIN);
	answer = STATUS_NO_MEMORY;
	stage_play(bend_device, use_objects, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_STATUS_NOT_IMPLEMENTED), 0);
	/* Those that are not may say so. */
	stage_play(NULL, use_objects, STAGE_SETTINGS(NUMBER("Whole", 1)), 1);
	EXPECT_EQ(stage_reports(RULE_DDI_STATUS_NOT_IMPLEMENTED), 0);
}

TEST(context, is_refused_for_want_of_memory)
{
	is_refused = false;
	takes_pool = false;
	answer = STATUS_DEVICE_BUSY;
	EXPECT_RULE(RULE_DDI_STATUS_CONTEXT, bend_context, use_objects, PLAIN);
	answer = STATUS_NO_MEMORY;
	stage_play(bend_context, use_objects, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_STATUS_CONTEXT), 0);
	answer = STATUS_INVALID_PARAMETER;
	stage_play(bend_context, use_objects, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_STATUS_CONTEXT), 0);
}

BEND(bend_context_at_first, is_refused = true; bend_context(driver))

static void try_thrice(struct stage *stage)
{
	for (int i = 0; i < 3; i++) {
		use_objects(stage);
		is_refused = false;
	}
}

static void give_back(void)
{
	while (taken_count > 0)
		ExFreePool(taken[--taken_count]);
}

TEST(memory, that_is_missing_is_what_a_creation_says)
{
	takes_pool = false;
	is_refused = true;
	answer = STATUS_UNSUCCESSFUL;
	EXPECT_RULE(RULE_DDI_STATUS_CREATE_OOM, bend_context, use_objects, PLAIN);
	answer = STATUS_NO_MEMORY;
	stage_play(bend_context, use_objects, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_STATUS_CREATE_OOM), 0);
}

TEST(memory, that_was_missing_is_not_missed_for_ever)
{
	takes_pool = false;
	answer = STATUS_NO_MEMORY;
	EXPECT_RULE(RULE_DDI_STATUS_CREATE_OOM, bend_context_at_first, try_thrice, PLAIN);
	EXPECT_EQ(stage_reports(RULE_DDI_STATUS_CREATE_OOM), 1);
}

TEST(memory, that_a_failed_creation_took_is_free_when_the_adapter_goes)
{
	is_refused = true;
	takes_pool = true;
	answer = STATUS_NO_MEMORY;
	EXPECT_RULE(RULE_DDI_STATUS_CREATE_OOM, bend_context, use_objects, PLAIN);
	give_back();
	/* Without a lack of memory it is a leak, and that is told by another rule. */
	is_refused = false;
	stage_play(bend_context, use_objects, NULL, 0);
	EXPECT_EQ(stage_reports(RULE_DDI_STATUS_CREATE_OOM), 0);
	give_back();
	takes_pool = false;
}

TEST_MAIN("verify/statuses")
