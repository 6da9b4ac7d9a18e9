/* SPDX-License-Identifier: MIT */
/*
 * crooked_recovery.c - resets, power and debugging of crooked.h.
 */
#include "crooked_driver.h"

#include "base/clock.h"

#include <ddk/wdm.h>

enum { LEAKED_BYTES = 64, TAG = 0x6b6f6f72 };

static NTSTATUS APIENTRY reset_from_timeout(IN_CONST_HANDLE adapter)
{
	struct crooked *gpu = crooked_current;

	(void)adapter;
	gpu->resets++;
	if (gpu->bend == BEND_RESET_LEAKS)
		gpu->leaked[gpu->leaked_count++] =
			ExAllocatePool2(POOL_FLAG_NON_PAGED, LEAKED_BYTES, TAG);
	return gpu->bend == BEND_RESET_FAILS ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
}

static NTSTATUS APIENTRY restart_from_timeout(IN_CONST_HANDLE adapter)
{
	(void)adapter;
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY reset_engine(IN_CONST_HANDLE adapter, INOUT_PDXGKARG_RESETENGINE args)
{
	struct crooked *gpu = crooked_current;

	(void)adapter;
	args->LastAbortedFenceId = gpu->aborted_fence + (gpu->bend == BEND_ABORTS_OTHER ? 100 : 0);
	return gpu->bend == BEND_RESET_FAILS ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
}

static NTSTATUS APIENTRY collect_dbg_info(IN_CONST_HANDLE adapter,
					  IN_CONST_PDXGKARG_COLLECTDBGINFO args)
{
	struct crooked *gpu = crooked_current;

	(void)adapter;
	(void)args;
	if (gpu->bend == BEND_DUMP_SLOW)
		clock_sleep_until(clock_deadline(200 * NS_PER_MS));
	return gpu->bend == BEND_DUMP_FAILS ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
}

static NTSTATUS APIENTRY set_power_state(IN_CONST_PVOID context, IN_ULONG device_uid,
					 IN_DEVICE_POWER_STATE state, IN_POWER_ACTION action)
{
	(void)context;
	(void)device_uid;
	(void)state;
	(void)action;
	return crooked_current->bend == BEND_POWER_FAILS ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
}

static NTSTATUS APIENTRY notify_surprise_removal(PVOID context, DXGK_SURPRISE_REMOVAL_TYPE type)
{
	(void)context;
	(void)type;
	return STATUS_SUCCESS;
}

void crooked_fill_in_recovery(DRIVER_INITIALIZATION_DATA *ddi)
{
	ddi->DxgkDdiResetFromTimeout = reset_from_timeout;
	ddi->DxgkDdiRestartFromTimeout = restart_from_timeout;
	ddi->DxgkDdiResetEngine = reset_engine;
	ddi->DxgkDdiNotifySurpriseRemoval = notify_surprise_removal;
	ddi->DxgkDdiCollectDbgInfo = collect_dbg_info;
	ddi->DxgkDdiSetPowerState = set_power_state;
}
