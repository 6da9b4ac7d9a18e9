/* SPDX-License-Identifier: MIT */
/*
 * entries.c - another driver, with a watch at each of its doors.
 *
 *   below:   the driver's sources, in which DxgkInitialize is watched_initialize
 *   here:    its table of entry points, each replaced by one that looks who is inside, makes the
 *            callbacks that could get stuck, and then calls the driver's own
 */
#undef DxgkInitialize

#include "../around.h"
#include "probe.h"
#include "tables.h"
#include "where.h"

NTSTATUS watched_initialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
			    PDRIVER_INITIALIZATION_DATA data);

static DRIVER_INITIALIZATION_DATA real;

static void enter(struct visit *visit, enum levels_entry entry)
{
	visit_begin(visit, entry, NULL);
	probe(entry);
}

/* Inside from here to the end of the function. */
#define VISIT __attribute__((cleanup(visit_end))) struct visit visit
#define ENTER(member)                                                                              \
	VISIT;                                                                                     \
	enter(&visit, LEVELS_##member)

/* ---- those that are all the same ---- */

#define ENTRIES_1(ENTRY) ENTRY(RemoveDevice, IN_CONST_PVOID)

#define ENTRIES_2(ENTRY)                                                                           \
	ENTRY(AddDevice, IN_CONST_PDEVICE_OBJECT, OUT_PPVOID)                                      \
	ENTRY(QueryInterface, IN_CONST_PVOID, IN_PQUERY_INTERFACE)                                 \
	ENTRY(DestroyProcess, IN_CONST_HANDLE, IN_CONST_HANDLE)                                    \
	ENTRY(CreateAllocation, IN_CONST_HANDLE, INOUT_PDXGKARG_CREATEALLOCATION)                  \
	ENTRY(DescribeAllocation, IN_CONST_HANDLE, INOUT_PDXGKARG_DESCRIBEALLOCATION)              \
	ENTRY(GetStandardAllocationDriverData, IN_CONST_HANDLE,                                    \
	      INOUT_PDXGKARG_GETSTANDARDALLOCATIONDRIVERDATA)                                      \
	ENTRY(CloseAllocation, IN_CONST_HANDLE, IN_CONST_PDXGKARG_CLOSEALLOCATION)                 \
	ENTRY(Render, IN_CONST_HANDLE, INOUT_PDXGKARG_RENDER)                                      \
	ENTRY(ValidateSubmitCommand, IN_CONST_HANDLE, INOUT_PDXGKARG_VALIDATESUBMITCOMMAND)        \
	ENTRY(Patch, IN_CONST_HANDLE, IN_CONST_PDXGKARG_PATCH)                                     \
	ENTRY(PreemptCommand, IN_CONST_HANDLE, IN_CONST_PDXGKARG_PREEMPTCOMMAND)                   \
	ENTRY(CancelCommand, IN_CONST_HANDLE, IN_CONST_PDXGKARG_CANCELCOMMAND)                     \
	ENTRY(QueryCurrentFence, IN_CONST_HANDLE, INOUT_PDXGKARG_QUERYCURRENTFENCE)                \
	ENTRY(QueryEngineStatus, IN_CONST_HANDLE, INOUT_PDXGKARG_QUERYENGINESTATUS)                \
	ENTRY(QueryDependentEngineGroup, IN_CONST_HANDLE, INOUT_DXGKARG_QUERYDEPENDENTENGINEGROUP) \
	ENTRY(CollectDbgInfo, IN_CONST_HANDLE, IN_CONST_PDXGKARG_COLLECTDBGINFO)                   \
	ENTRY(UnmapCpuHostAperture, IN_CONST_HANDLE, IN_CONST_PDXGKARG_UNMAPCPUHOSTAPERTURE)       \
	ENTRY(SuspendContext, IN_CONST_HANDLE, IN_CONST_PDXGKARG_SUSPENDCONTEXT)                   \
	ENTRY(ResumeContext, IN_CONST_HANDLE, IN_CONST_PDXGKARG_RESUMECONTEXT)                     \
	ENTRY(ResumeHwEngine, IN_CONST_HANDLE, INOUT_PDXGKARG_RESUMEHWENGINE)

#define ENTRIES_3(ENTRY)                                                                           \
	ENTRY(DispatchIoRequest, IN_CONST_PVOID, IN_ULONG, IN_PVIDEO_REQUEST_PACKET)               \
	ENTRY(QueryChildRelations, IN_CONST_PVOID, INOUT_PDXGK_CHILD_DESCRIPTOR, IN_ULONG)         \
	ENTRY(QueryChildStatus, IN_CONST_PVOID, INOUT_PDXGK_CHILD_STATUS, IN_BOOLEAN)              \
	ENTRY(QueryDeviceDescriptor, IN_CONST_PVOID, IN_ULONG, INOUT_PDXGK_DEVICE_DESCRIPTOR)      \
	ENTRY(GetNodeMetadata, IN_CONST_HANDLE, UINT, OUT_PDXGKARG_GETNODEMETADATA)

#define DEFINE(member, parameters, arguments)                                                      \
	static NTSTATUS APIENTRY watched_##member parameters                                       \
	{                                                                                          \
		ENTER(member);                                                                     \
		return real.DxgkDdi##member arguments;                                             \
	}

#define DEFINE_1(member, first)         DEFINE(member, (first one), (one))
#define DEFINE_2(member, first, second) DEFINE(member, (first one, second two), (one, two))
#define DEFINE_3(member, first, second, third)                                                     \
	DEFINE(member, (first one, second two, third three), (one, two, three))

ENTRIES_1(DEFINE_1)
ENTRIES_2(DEFINE_2)
ENTRIES_3(DEFINE_3)

/* ---- those that own something ---- */

#define OWNERS(OWNER)                                                                              \
	OWNER(Device, INOUT_PDXGKARG_CREATEDEVICE, hDevice)                                        \
	OWNER(Context, INOUT_PDXGKARG_CREATECONTEXT, hContext)                                     \
	OWNER(HwContext, INOUT_PDXGKARG_CREATEHWCONTEXT, hHwContext)

#define made_Device(args)    ((void)(args))
#define made_Context(args)   tables_context_made(args)
#define made_HwContext(args) ((void)(args))

#define DEFINE_OWNER(kind, arguments, member)                                                      \
	static NTSTATUS APIENTRY watched_Create##kind(IN_CONST_HANDLE parent, arguments args)      \
	{                                                                                          \
		HANDLE kernel = args->member;                                                      \
		ENTER(Create##kind);                                                               \
		NTSTATUS status = real.DxgkDdiCreate##kind(parent, args);                          \
		if (NT_SUCCESS(status)) {                                                          \
			where_owner_made(kernel, args->member);                                    \
			made_##kind(args);                                                         \
		}                                                                                  \
		return status;                                                                     \
	}                                                                                          \
                                                                                                   \
	static NTSTATUS APIENTRY watched_Destroy##kind(IN_CONST_HANDLE handle)                     \
	{                                                                                          \
		ENTER(Destroy##kind);                                                              \
		NTSTATUS status = real.DxgkDdiDestroy##kind(handle);                               \
		where_owner_ended(handle);                                                         \
		tables_user_ended(handle);                                                         \
		return status;                                                                     \
	}

OWNERS(DEFINE_OWNER)

/* ---- those that are not ---- */

static NTSTATUS APIENTRY watched_StartDevice(IN_CONST_PVOID context, IN_PDXGK_START_INFO info,
					     IN_PDXGKRNL_INTERFACE interface, OUT_PULONG sources,
					     OUT_PULONG children)
{
	DXGKRNL_INTERFACE ours = *interface;
	VISIT;

	visit_begin(&visit, LEVELS_StartDevice, NULL);
	NTSTATUS status = probe_start(&ours);
	if (NT_SUCCESS(status))
		status = real.DxgkDdiStartDevice(context, info, &ours, sources, children);
	if (NT_SUCCESS(status))
		probe_go();
	else
		probe_stop();
	return status;
}

static NTSTATUS APIENTRY watched_StopDevice(IN_CONST_PVOID context)
{
	ENTER(StopDevice);
	probe_stop();
	NTSTATUS status = real.DxgkDdiStopDevice(context);
	work_is_all_gone();
	tables_are_gone();
	return status;
}

static VOID APIENTRY watched_Unload(VOID)
{
	ENTER(Unload);
	real.DxgkDdiUnload();
}

static BOOLEAN APIENTRY watched_InterruptRoutine(IN_CONST_PVOID context, IN_ULONG message)
{
	ENTER(InterruptRoutine);
	return real.DxgkDdiInterruptRoutine(context, message);
}

static VOID APIENTRY watched_DpcRoutine(IN_CONST_PVOID context)
{
	ENTER(DpcRoutine);
	real.DxgkDdiDpcRoutine(context);
}

static VOID APIENTRY watched_ResetDevice(IN_CONST_PVOID context)
{
	VISIT;

	visit_begin(&visit, LEVELS_ResetDevice, NULL);
	real.DxgkDdiResetDevice(context);
}

static VOID APIENTRY watched_ControlEtwLogging(IN_BOOLEAN enable, IN_ULONG flags, IN_UCHAR level)
{
	ENTER(ControlEtwLogging);
	real.DxgkDdiControlEtwLogging(enable, flags, level);
}

static NTSTATUS APIENTRY watched_SetPowerState(IN_CONST_PVOID context, IN_ULONG uid,
					       IN_DEVICE_POWER_STATE state, IN_POWER_ACTION action)
{
	ENTER(SetPowerState);
	return real.DxgkDdiSetPowerState(context, uid, state, action);
}

static NTSTATUS APIENTRY watched_CalibrateGpuClock(IN_CONST_HANDLE adapter, UINT32 node,
						   UINT32 engine,
						   OUT_PDXGKARG_CALIBRATEGPUCLOCK clock)
{
	ENTER(CalibrateGpuClock);
	return real.DxgkDdiCalibrateGpuClock(adapter, node, engine, clock);
}

static NTSTATUS APIENTRY watched_OpenAllocation(IN_CONST_HANDLE device,
						IN_CONST_PDXGKARG_OPENALLOCATION args)
{
	if (args->NumAllocations > 0)
		probe_remember(args->pOpenAllocation[0].hAllocation);
	ENTER(OpenAllocation);
	return real.DxgkDdiOpenAllocation(device, args);
}

/* Those after which something is kept, where they succeed. */
#define WATCHED_THEN(member, first, arguments, then)                                               \
	static NTSTATUS APIENTRY watched_##member(IN_CONST_HANDLE first, arguments args)           \
	{                                                                                          \
		ENTER(member);                                                                     \
		NTSTATUS status = real.DxgkDdi##member(first, args);                               \
		if (NT_SUCCESS(status))                                                            \
			then;                                                                      \
		return status;                                                                     \
	}

WATCHED_THEN(QueryAdapterInfo, adapter, IN_CONST_PDXGKARG_QUERYADAPTERINFO, tables_answered(args))
WATCHED_THEN(CreateProcess, adapter, INOUT_PDXGKARG_CREATEPROCESS, tables_process_made(args))
WATCHED_THEN(CreateHwQueue, context, INOUT_PDXGKARG_CREATEHWQUEUE,
	     tables_queue_made((HANDLE)context, args->hHwQueue))

static VOID APIENTRY watched_SetRootPageTable(IN_CONST_HANDLE adapter,
					      IN_CONST_PDXGKARG_SETROOTPAGETABLE args)
{
	ENTER(SetRootPageTable);
	tables_root_set(args);
	real.DxgkDdiSetRootPageTable(adapter, args);
}

static SIZE_T APIENTRY watched_GetRootPageTableSize(IN_CONST_HANDLE adapter,
						    INOUT_PDXGKARG_GETROOTPAGETABLESIZE args)
{
	ENTER(GetRootPageTableSize);
	return real.DxgkDdiGetRootPageTableSize(adapter, args);
}

/* ---- memory ---- */

static NTSTATUS APIENTRY watched_BuildPagingBuffer(IN_CONST_HANDLE adapter,
						   IN_PDXGKARG_BUILDPAGINGBUFFER args)
{
	ENTER(BuildPagingBuffer);
	HANDLE name = where_own_translate(args);
	NTSTATUS status = real.DxgkDdiBuildPagingBuffer(adapter, args);
	where_own_restore(args, name);
	if (status == STATUS_SUCCESS) {
		where_paged(args);
		tables_paged(args);
	}
	return status;
}

static NTSTATUS APIENTRY watched_MapCpuHostAperture(IN_CONST_HANDLE adapter,
						    IN_CONST_PDXGKARG_MAPCPUHOSTAPERTURE args)
{
	DXGKARG_MAPCPUHOSTAPERTURE same = *args;
	ENTER(MapCpuHostAperture);
	same.hAllocation = where_own_cookie(args->hAllocation);
	return real.DxgkDdiMapCpuHostAperture(adapter, &same);
}

static NTSTATUS APIENTRY watched_DestroyAllocation(IN_CONST_HANDLE adapter,
						   IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
	ENTER(DestroyAllocation);
	where_destroyed(args);
	return real.DxgkDdiDestroyAllocation(adapter, args);
}

/* ---- work ---- */

static NTSTATUS APIENTRY watched_SubmitCommand(IN_CONST_HANDLE adapter,
					       IN_CONST_PDXGKARG_SUBMITCOMMAND args)
{
	ENTER(SubmitCommand);
	work_submitted(args->NodeOrdinal, args->SubmissionFenceId);
	where_submitted();
	return real.DxgkDdiSubmitCommand(adapter, args);
}

static NTSTATUS APIENTRY watched_SubmitCommandVirtual(IN_CONST_HANDLE adapter,
						      IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL args)
{
	ENTER(SubmitCommandVirtual);
	work_submitted(args->NodeOrdinal, args->SubmissionFenceId);
	where_submitted();
	tables_submitted(args->hContext);
	return real.DxgkDdiSubmitCommandVirtual(adapter, args);
}

static NTSTATUS APIENTRY watched_SubmitCommandToHwQueue(
	IN_CONST_HANDLE adapter, IN_CONST_PDXGKARG_SUBMITCOMMANDTOHWQUEUE args)
{
	VISIT;

	visit_begin(&visit, LEVELS_SubmitCommandToHwQueue, args->hHwQueue);
	probe(LEVELS_SubmitCommandToHwQueue);
	work_queued(args->hHwQueue, args->HwQueueProgressFenceId, args->HwQueueProgressFenceCpuVa);
	where_submitted();
	tables_submitted(args->hHwQueue);
	return real.DxgkDdiSubmitCommandToHwQueue(adapter, args);
}

static NTSTATUS APIENTRY watched_ResetEngine(IN_CONST_HANDLE adapter,
					     INOUT_PDXGKARG_RESETENGINE args)
{
	ENTER(ResetEngine);
	NTSTATUS status = real.DxgkDdiResetEngine(adapter, args);
	if (NT_SUCCESS(status))
		work_is_gone(args->NodeOrdinal);
	return status;
}

static NTSTATUS APIENTRY watched_ResetHwEngine(IN_CONST_HANDLE adapter,
					       INOUT_PDXGKARG_RESETHWENGINE args)
{
	ENTER(ResetHwEngine);
	NTSTATUS status = real.DxgkDdiResetHwEngine(adapter, args);
	work_of_queues_is_gone(); /* some of it, and it is not said here which */
	return status;
}

static NTSTATUS APIENTRY watched_DestroyHwQueue(IN_CONST_HANDLE queue)
{
	ENTER(DestroyHwQueue);
	work_of_queue_ends(queue);
	NTSTATUS status = real.DxgkDdiDestroyHwQueue(queue);
	tables_user_ended((HANDLE)queue);
	return status;
}

static NTSTATUS APIENTRY watched_ResetFromTimeout(IN_CONST_HANDLE adapter)
{
	ENTER(ResetFromTimeout);
	NTSTATUS status = real.DxgkDdiResetFromTimeout(adapter);
	work_is_all_gone();
	where_was_reset();
	tables_were_reset();
	return status;
}

static NTSTATUS APIENTRY watched_RestartFromTimeout(IN_CONST_HANDLE adapter)
{
	ENTER(RestartFromTimeout);
	where_restarts();
	return real.DxgkDdiRestartFromTimeout(adapter);
}

static NTSTATUS APIENTRY watched_NotifySurpriseRemoval(PVOID context,
						       DXGK_SURPRISE_REMOVAL_TYPE type)
{
	ENTER(NotifySurpriseRemoval);
	NTSTATUS status = real.DxgkDdiNotifySurpriseRemoval(context, type);
	hardware_is_gone();
	return status;
}

/* ---- escapes ---- */

static bool is_for_us(const DXGKARG_ESCAPE *args)
{
	const struct levels_seen *seen = args->pPrivateDriverData;

	return args->PrivateDriverDataSize == sizeof(*seen) && seen->magic == LEVELS_ESCAPE;
}

static NTSTATUS answer(struct levels_seen *seen)
{
	probe_meet();
	inside_report(seen);
	seen->magic = LEVELS_ESCAPE;
	seen->size_bytes = sizeof(*seen);
	return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY watched_Escape(IN_CONST_HANDLE adapter, IN_CONST_PDXGKARG_ESCAPE args)
{
	VISIT;
	NTSTATUS status;

	visit_begin_at(&visit, LEVELS_Escape, args->Flags.HardwareAccess ? LEVEL_2 : LEVEL_0);
	probe(LEVELS_Escape);
	if (is_for_us(args))
		status = answer(args->pPrivateDriverData);
	else
		status = real.DxgkDdiEscape(adapter, args);
	return status;
}

/* ---- load ---- */

/* What the driver left out stays left out. */
#define PUT(member)                                                                                \
	if (real.DxgkDdi##member)                                                                  \
		data->DxgkDdi##member = watched_##member;
#define PUT_OWNER(kind, arguments, member)  PUT(Create##kind) PUT(Destroy##kind)
#define PUT_1(member, first)                PUT(member)
#define PUT_2(member, first, second)        PUT(member)
#define PUT_3(member, first, second, third) PUT(member)

static void replace(DRIVER_INITIALIZATION_DATA *data){
	OWNERS(PUT_OWNER) ENTRIES_1(PUT_1) ENTRIES_2(PUT_2) ENTRIES_3(PUT_3) PUT(StartDevice) PUT(
		StopDevice) PUT(Unload) PUT(InterruptRoutine) PUT(DpcRoutine) PUT(ResetDevice)
		PUT(ControlEtwLogging) PUT(SetPowerState) PUT(CalibrateGpuClock) PUT(
			OpenAllocation) PUT(QueryAdapterInfo) PUT(CreateProcess) PUT(CreateHwQueue)
			PUT(SetRootPageTable) PUT(GetRootPageTableSize) PUT(SubmitCommand) PUT(
				SubmitCommandVirtual) PUT(SubmitCommandToHwQueue) PUT(ResetEngine)
				PUT(BuildPagingBuffer) PUT(DestroyAllocation) PUT(ResetHwEngine)
					PUT(DestroyHwQueue) PUT(ResetFromTimeout)
						PUT(RestartFromTimeout) PUT(MapCpuHostAperture)
							PUT(NotifySurpriseRemoval) PUT(Escape)
}

NTSTATUS watched_initialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
			    PDRIVER_INITIALIZATION_DATA data)
{
	if (data)
		inside_init(path);
	return initialize_around(driver, path, data, &real, replace);
}
