/* SPDX-License-Identifier: MIT */
/*
 * nt.c - start and end of the NT environment, and the end of a driver in it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"
#include "nt/dispatcher.h"
#include "nt/driver_memory.h"
#include "nt/fault.h"
#include "nt/lock_graph.h"
#include "nt/nt.h"
#include "nt/paged_guard.h"

NTSTATUS nt_start(void)
{
	NTSTATUS status = nt_dpc_start();

	nt_faults_install();
	(void)nt_paged_guard_is_on(); /* asked now, so that every level is known to it */
	if (NT_SUCCESS(status))
		status = nt_timers_start();
	if (!NT_SUCCESS(status))
		nt_dpc_stop();
	return status;
}

void nt_stop(void)
{
	nt_timers_stop(); /* first: timers queue DPCs */
	nt_dpc_stop();
	nt_threads_reap();
	nt_lock_graph_stop();
	nt_faults_stop();
	nt_handle_finish();
	nt_registry_finish();
	machine_finish();
	nt_report_summarize();
	nt_report_reset();
}

bool nt_driver_unloaded(const void *begin, const void *end)
{
	nt_dpc_flush();
	uint32_t running = nt_threads_report_running(begin, end);
	if (nt_dispatcher_forget_memory(begin, end))
		nt_report(RULE_NT_TIMER_LEFT, "The driver is unloaded while a timer, DPC or work "
					      "item in its image is queued");
	if (nt_process_forget_routines(begin, end) > 0)
		nt_report(RULE_NT_NOTIFY_LEFT, "The driver is unloaded while it is to be told of "
					       "processes (PsSetCreateProcessNotifyRoutine)");
	/* Memory of a thread that still runs is not taken from under it. */
	if (running == 0) {
		nt_driver_memory_report_left(begin, end);
		nt_pool_report_leaks(begin, end);
	}
	if (running == 0)
		nt_lock_graph_forget(begin, end);
	if (running == 0)
		nt_module_remove(begin);
	nt_report_summarize();
	return running == 0;
}
