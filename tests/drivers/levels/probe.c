/* SPDX-License-Identifier: MIT */
/*
 * probe.c - see probe.h.
 *
 *   same thread      DxgkCbGetHandleData and its family, DxgkCbSynchronizeExecution, DxgkCbQueueDpc
 *   another thread   while the entry point waits for it: an interrupt and its DPC
 *
 * The second is what an entry point does that waits for its hardware.
 */
#include "probe.h"
#include "where.h"

enum { MEETING_EVERY = 16, DPC_EVERY = 16, PATIENCE_S = 20 };

static DXGKRNL_INTERFACE os;
static volatile LONG is_going;
static volatile LONG last_allocation;

/* The thread that is met. */
static struct {
	KEVENT wanted;
	KEVENT done;
	PVOID thread;
	volatile LONG is_ending;
	volatile LONG is_taken;
} other;

/* ---- what the driver below is given ---- */

struct synchronized {
	PKSYNCHRONIZE_ROUTINE routine;
	PVOID context;
};

static BOOLEAN NTAPI run_synchronized(PVOID argument)
{
	struct synchronized *synchronized = argument;
	struct visit visit;

	visit_begin(&visit, LEVELS_SynchronizeExecution, NULL);
	BOOLEAN result = synchronized->routine(synchronized->context);
	visit_end(&visit);
	return result;
}

static NTSTATUS APIENTRY synchronize_execution(HANDLE handle, PKSYNCHRONIZE_ROUTINE routine,
					       PVOID context, ULONG message, PBOOLEAN result_out)
{
	struct synchronized synchronized = { routine, context };

	return os.DxgkCbSynchronizeExecution(handle, run_synchronized, &synchronized, message,
					     result_out);
}

static VOID APIENTRY notify_interrupt(IN_CONST_HANDLE handle,
				      IN_CONST_PDXGKARGCB_NOTIFY_INTERRUPT_DATA data)
{
	if (data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED)
		work_completed(data->DmaCompleted.NodeOrdinal,
			       data->DmaCompleted.SubmissionFenceId);
	if (data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED)
		work_is_gone(data->DmaPreempted.NodeOrdinal);
	os.DxgkCbNotifyInterrupt(handle, data);
}

static NTSTATUS APIENTRY create_context_allocation(INOUT_PDXGKARGCB_CREATECONTEXTALLOCATION args)
{
	HANDLE cookie = args->hDriverAllocation;
	HANDLE name = where_own_begins(cookie, args->hContext ? args->hContext : args->hDevice);

	args->hDriverAllocation = name;
	NTSTATUS status = os.DxgkCbCreateContextAllocation(args);
	args->hDriverAllocation = cookie;
	where_own_made(name, NT_SUCCESS(status) ? args->hAllocation : NULL);
	return status;
}

static NTSTATUS APIENTRY destroy_context_allocation(IN_CONST_HANDLE adapter,
						    IN_CONST_HANDLE allocation)
{
	NTSTATUS status = os.DxgkCbDestroyContextAllocation(adapter, allocation);

	if (NT_SUCCESS(status))
		where_own_ended(allocation);
	return status;
}

/* ---- the other thread ---- */

static BOOLEAN NTAPI interrupt(PVOID context)
{
	os.DxgkCbQueueDpc(os.DeviceHandle);
	return TRUE;
}

static VOID NTAPI be_met(PVOID context)
{
	BOOLEAN result;

	for (;;) {
		KeWaitForSingleObject(&other.wanted, Executive, KernelMode, FALSE, NULL);
		if (ReadNoFence(&other.is_ending))
			PsTerminateSystemThread(STATUS_SUCCESS);
		synchronize_execution(os.DeviceHandle, interrupt, NULL, 0, &result);
		KeFlushQueuedDpcs();
		KeSetEvent(&other.done, IO_NO_INCREMENT, FALSE);
	}
}

NTSTATUS probe_start(DXGKRNL_INTERFACE *interface)
{
	OBJECT_ATTRIBUTES attributes;
	HANDLE handle;

	os = *interface;
	interface->DxgkCbSynchronizeExecution = synchronize_execution;
	interface->DxgkCbNotifyInterrupt = notify_interrupt;
	interface->DxgkCbCreateContextAllocation = create_context_allocation;
	interface->DxgkCbDestroyContextAllocation = destroy_context_allocation;
	KeInitializeEvent(&other.wanted, SynchronizationEvent, FALSE);
	KeInitializeEvent(&other.done, SynchronizationEvent, FALSE);
	other.is_ending = FALSE;
	InitializeObjectAttributes(&attributes, NULL, OBJ_KERNEL_HANDLE, NULL, NULL);
	NTSTATUS status = PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, &attributes, NULL, NULL,
					       be_met, NULL);
	if (!NT_SUCCESS(status))
		return status;
	status = ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode,
					   &other.thread, NULL);
	ZwClose(handle);
	return status;
}

void probe_go(void)
{
	InterlockedExchange(&is_going, TRUE);
}

void probe_stop(void)
{
	InterlockedExchange(&is_going, FALSE);
	if (!other.thread)
		return;
	InterlockedExchange(&other.is_ending, TRUE);
	KeSetEvent(&other.wanted, IO_NO_INCREMENT, FALSE);
	KeWaitForSingleObject(other.thread, Executive, KernelMode, FALSE, NULL);
	ObDereferenceObject(other.thread);
	other.thread = NULL;
}

void probe_meet(void)
{
	LARGE_INTEGER patience = { .QuadPart = -(LONGLONG)PATIENCE_S * 10000000 };

	if (!ReadNoFence(&is_going) || InterlockedExchange(&other.is_taken, TRUE))
		return;
	KeSetEvent(&other.wanted, IO_NO_INCREMENT, FALSE);
	if (KeWaitForSingleObject(&other.done, Executive, KernelMode, FALSE, &patience) ==
	    STATUS_TIMEOUT)
		inside_complain("An interrupt", "which waits for a thread in the driver");
	InterlockedExchange(&other.is_taken, FALSE);
	inside_count_meeting();
}

/* ---- the same thread ---- */

void probe_remember(D3DKMT_HANDLE allocation)
{
	InterlockedExchange(&last_allocation, (LONG)allocation);
}

/* It may be gone already: that somebody answers is all that counts. */
static void ask_about_handles(void)
{
	D3DKMT_HANDLE allocation = (D3DKMT_HANDLE)ReadNoFence(&last_allocation);
	DXGKARGCB_GETHANDLEDATA question = { .hObject = allocation,
					     .Type = DXGK_HANDLE_ALLOCATION };
	DXGKARGCB_RELEASEHANDLEDATA hold = { .Type = DXGK_HANDLE_ALLOCATION };
	DXGKARGCB_ENUMHANDLECHILDREN children = { 0 };

	os.DxgkCbGetHandleData(&question);
	if (os.DxgkCbAcquireHandleData(&question, &hold.ReleaseHandle))
		os.DxgkCbReleaseHandleData(hold);
	children.hObject = os.DxgkCbGetHandleParent(allocation);
	if (children.hObject)
		os.DxgkCbEnumHandleChildren(&children);
}

static BOOLEAN NTAPI nothing(PVOID context)
{
	return TRUE;
}

#ifndef LEVELS_QUIET
static volatile LONG probe_count;

static bool is_nth(ULONG every)
{
	return (ULONG)InterlockedIncrement(&probe_count) % every == 0;
}
#endif

void probe(enum levels_entry entry)
{
	KIRQL irql = KeGetCurrentIrql();
	BOOLEAN result;

	if (!ReadNoFence(&is_going))
		return;
	inside_count_probe();
	if (irql < DISPATCH_LEVEL)
		ask_about_handles();
	if (irql <= DISPATCH_LEVEL)
		synchronize_execution(os.DeviceHandle, nothing, NULL, 0, &result);
#ifndef LEVELS_QUIET
	/* A DPC that always asks for the next one would never end. */
	if (entry != LEVELS_DpcRoutine || is_nth(DPC_EVERY))
		os.DxgkCbQueueDpc(os.DeviceHandle);
	if (irql < APC_LEVEL && is_nth(MEETING_EVERY))
		probe_meet();
#endif
}
