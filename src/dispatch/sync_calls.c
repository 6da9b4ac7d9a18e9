/* SPDX-License-Identifier: MIT */
/*
 * sync_calls.c - synchronization objects: create, open, destroy.
 */
#include "dispatch/dispatch.h"

static NTSTATUS check_engines(UINT engine_mask)
{
	if (engine_mask > 1)
		return invalid(RULE_API_VALUE, "EngineAffinity",
			       "is 0x%x, and an unlinked adapter has only engine 0 (mask 1)",
			       engine_mask);
	return STATUS_SUCCESS;
}

/* ---- flags ---- */

static NTSTATUS check_sharing(const char *argument, enum sync_kind kind,
			      D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags)
{
	if (flags.NtSecuritySharing && !flags.Shared)
		return invalid(RULE_API_VALUE, argument, "has NtSecuritySharing without Shared");
	if (kind == SYNC_MONITORED_FENCE && flags.Shared && !flags.NtSecuritySharing)
		return invalid(RULE_API_VALUE, argument,
			       "has Shared without NtSecuritySharing, and a monitored fence is "
			       "shared by NT handle only");
	return STATUS_SUCCESS;
}

/* What holds for an opening as for a creation. */
static NTSTATUS check_access(const char *argument, enum sync_kind kind,
			     D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags)
{
	if (flags.NoSignal && flags.NoWait)
		return invalid(RULE_API_VALUE, argument,
			       "has both NoSignal and NoWait, and one excludes the other");
	if ((flags.NoSignal || flags.NoWait || flags.TopOfPipeline) && kind != SYNC_MONITORED_FENCE)
		return invalid(RULE_API_SYNC_KIND, argument,
			       "has NoSignal, NoWait or TopOfPipeline, which are for monitored "
			       "fences, and this is %s",
			       sync_kind_name(kind));
	if (flags.SignalByKmd && kind != SYNC_CPU_NOTIFICATION)
		return invalid(RULE_API_SYNC_KIND, argument,
			       "has SignalByKmd, which is for CPU notifications, and this is %s",
			       sync_kind_name(kind));
	if (flags.SignalByKmd && flags.Shared)
		return invalid(RULE_API_VALUE, argument,
			       "has SignalByKmd and Shared, and the driver tells one client");
	return STATUS_SUCCESS;
}

static struct sync_access access_of(D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags)
{
	return (struct sync_access){
		.may_signal = !flags.NoSignal,
		.may_wait = !flags.NoWait,
		.jumps_when_lost = !flags.NoSignalMaxValueOnTdr,
		.has_gpu_access = !flags.NoGPUAccess,
	};
}

static enum share_scheme scheme_of(D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags)
{
	if (!flags.Shared)
		return SHARE_PRIVATE;
	return flags.NtSecuritySharing ? SHARE_NT : SHARE_GLOBAL;
}

/* ---- create ---- */

static NTSTATUS check_semaphore(UINT initial_count, UINT max_count)
{
	if (initial_count > max_count)
		return invalid(RULE_API_VALUE, "InitialCount", "is %u, and MaxCount is %u",
			       initial_count, max_count);
	return STATUS_SUCCESS;
}

static NTSTATUS create(struct call *call, const struct sync_options *options,
		       struct sync_names *names_out)
{
	share_sweep(call->process->shares);
	return sync_object_create_named(call_device(call, 0), options, names_out);
}

NTSTATUS dispatch_create_synchronization_object(struct call *call,
						D3DKMT_CREATESYNCHRONIZATIONOBJECT *args)
{
	struct sync_options options = {
		.access = access_of((D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){ 0 }),
		.event = EVENT_NONE,
	};
	NTSTATUS status = STATUS_SUCCESS;
	struct sync_names names;

	switch (args->Info.Type) {
	case D3DDDI_SYNCHRONIZATION_MUTEX:
		options.kind = SYNC_MUTEX;
		options.is_taken = args->Info.SynchronizationMutex.InitialState != FALSE;
		break;
	case D3DDDI_SEMAPHORE:
		options.kind = SYNC_SEMAPHORE;
		options.initial_count = args->Info.Semaphore.InitialCount;
		options.max_count = args->Info.Semaphore.MaxCount;
		status = check_semaphore(options.initial_count, options.max_count);
		break;
	case D3DDDI_FENCE:
	case D3DDDI_CPU_NOTIFICATION:
	case D3DDDI_MONITORED_FENCE:
	case D3DDDI_PERIODIC_MONITORED_FENCE:
	case D3DDDI_SYNCHRONIZATION_TYPE_LIMIT:
	default:
		return invalid(RULE_API_SYNC_KIND, "Info.Type",
			       "is %u, and this call makes mutexes (1) and semaphores (2)",
			       args->Info.Type);
	}
	if (NT_SUCCESS(status))
		status = create(call, &options, &names);
	if (NT_SUCCESS(status))
		args->hSyncObject = names.handle;
	return status;
}

/* Driven by the vertical blank of a display, and adapters have none here. */
static NTSTATUS refuse_periodic(const struct call *call,
				const D3DDDI_SYNCHRONIZATIONOBJECTINFO2 *info)
{
	const struct object_class *found = NULL;
	struct object *object = NULL;
	D3DKMT_HANDLE handle = info->PeriodicMonitoredFence.hAdapter;

	if (handle_find(&call->process->handles, handle, &adapter_open_class, &object, &found) !=
	    HANDLE_FOUND)
		return call_refuse_unknown(call, STATUS_INVALID_PARAMETER,
					   "PeriodicMonitoredFence.hAdapter", -1, handle,
					   "an adapter");
	object_put(object);
	return invalid(RULE_API_VALUE, "PeriodicMonitoredFence.VidPnTargetId",
		       "%u is no display target: the adapter has none",
		       info->PeriodicMonitoredFence.VidPnTargetId);
}

/* The member of the union that the type chooses. An event is captured last: it has to be closed. */
static NTSTATUS decode_kind(const struct call *call, const D3DDDI_SYNCHRONIZATIONOBJECTINFO2 *info,
			    struct sync_options *options)
{
	options->kind = (enum sync_kind)info->Type;
	switch (info->Type) {
	case D3DDDI_SYNCHRONIZATION_MUTEX:
		options->is_taken = info->SynchronizationMutex.InitialState != FALSE;
		return STATUS_SUCCESS;
	case D3DDDI_SEMAPHORE:
		options->initial_count = info->Semaphore.InitialCount;
		options->max_count = info->Semaphore.MaxCount;
		return check_semaphore(options->initial_count, options->max_count);
	case D3DDDI_FENCE:
		options->initial_value = info->Fence.FenceValue;
		return STATUS_SUCCESS;
	case D3DDDI_CPU_NOTIFICATION:
		return STATUS_SUCCESS;
	case D3DDDI_MONITORED_FENCE:
		options->initial_value = info->MonitoredFence.InitialFenceValue;
		return check_engines(info->MonitoredFence.EngineAffinity);
	case D3DDDI_PERIODIC_MONITORED_FENCE:
		return refuse_periodic(call, info);
	case D3DDDI_SYNCHRONIZATION_TYPE_LIMIT:
	default:
		return invalid(RULE_API_VALUE, "Info.Type",
			       "is %u, which is no kind of sync object", info->Type);
	}
}

static NTSTATUS check_flags(enum sync_kind kind, D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags)
{
	NTSTATUS status = check_sharing("Info.Flags", kind, flags);

	if (NT_SUCCESS(status))
		status = check_access("Info.Flags", kind, flags);
	return status;
}

static NTSTATUS decode_create2(const struct call *call,
			       const D3DDDI_SYNCHRONIZATIONOBJECTINFO2 *info,
			       struct sync_options *options)
{
	NTSTATUS status = decode_kind(call, info, options);

	if (NT_SUCCESS(status) &&
	    info->Flags.Value != 0) /* what is refused is a flag that is set */
		status = check_flags(options->kind, info->Flags);
	if (NT_SUCCESS(status) && options->kind == SYNC_CPU_NOTIFICATION)
		status =
			event_capture(call->process->ledger, (uintptr_t)info->CPUNotification.Event,
				      "CPUNotification.Event", &options->event);
	return status;
}

NTSTATUS dispatch_create_synchronization_object2(struct call *call,
						 D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *args)
{
	D3DDDI_SYNCHRONIZATIONOBJECTINFO2 *info = &args->Info;
	struct sync_options options = {
		.scheme = scheme_of(info->Flags),
		.is_cross_adapter = info->Flags.CrossAdapter,
		.access = access_of(info->Flags),
		.event = EVENT_NONE,
		.is_set_by_driver = info->Flags.SignalByKmd,
	};
	struct sync_names names;

	NTSTATUS status = decode_create2(call, info, &options);
	if (NT_SUCCESS(status))
		status = create(call, &options, &names);
	if (!NT_SUCCESS(status))
		return status;
	args->hSyncObject = names.handle;
	info->SharedHandle = names.global_handle;
	if (options.kind == SYNC_MONITORED_FENCE) {
		info->MonitoredFence.FenceValueCPUVirtualAddress = (void *)names.view;
		info->MonitoredFence.FenceValueGPUVirtualAddress = names.gpu_address;
	}
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_destroy_synchronization_object(struct call *call,
						 D3DKMT_DESTROYSYNCHRONIZATIONOBJECT *args)
{
	struct dxg_sync_object *sync = object_as(sync_object, call->objects[0]);

	share_sweep(call->process->shares);
	if (sync->access.is_owned)
		return invalid(RULE_API_SYNC_OWNED, "hSyncObject",
			       "0x%08x is the fence of a queue and ends with that",
			       args->hSyncObject);
	if (!sync_object_destroy(sync))
		return invalid(RULE_API_HANDLE, "hSyncObject",
			       "0x%08x was destroyed by another thread", args->hSyncObject);
	return STATUS_SUCCESS;
}

/* ---- open ---- */

NTSTATUS dispatch_open_synchronization_object(struct call *call,
					      D3DKMT_OPENSYNCHRONIZATIONOBJECT *args)
{
	const struct sync_access access = access_of((D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS){ 0 });
	struct dxg_sync_object *sync;
	struct share *share;

	NTSTATUS status =
		share_find_global(call->process->shares, call->process->identity.user,
				  args->hSharedHandle, SHARE_SYNC_OBJECT, "hSharedHandle", &share);
	if (!NT_SUCCESS(status))
		return status;
	status = sync_object_open(call->process, NULL, share, &access, &sync);
	share_put(share);
	if (!NT_SUCCESS(status))
		return status;
	args->hSyncObject = sync->object.handle;
	object_put(&sync->object);
	return STATUS_SUCCESS;
}

/* Flags take away from what the NT handle grants. */
static struct sync_access limit_access(struct sync_access access, uint32_t rights)
{
	access.may_wait = access.may_wait && (rights & SHARE_RIGHT_WAIT) != 0;
	access.may_signal = access.may_signal && (rights & SHARE_RIGHT_SIGNAL) != 0;
	return access;
}

static NTSTATUS open_nt(struct call *call, D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *args,
			const struct share_set *set)
{
	const struct sync_access access = limit_access(access_of(args->Flags), set->rights);
	struct sync_body *body = sync_body_of_share(set->shares[0]);
	bool is_monitored = body->kind == SYNC_MONITORED_FENCE;
	struct dxg_sync_object *sync;

	NTSTATUS status = check_access("Flags", body->kind, args->Flags);
	if (NT_SUCCESS(status) && is_monitored)
		status = check_engines(args->MonitoredFence.EngineAffinity);
	if (NT_SUCCESS(status))
		status = sync_object_open(call->process, call_device(call, 0), &body->share,
					  &access, &sync);
	if (!NT_SUCCESS(status))
		return status;
	args->hSyncObject = sync->object.handle;
	if (is_monitored) {
		args->MonitoredFence.FenceValueCPUVirtualAddress = (void *)sync_object_view(sync);
		args->MonitoredFence.FenceValueGPUVirtualAddress = sync->gpu_address;
	}
	object_put(&sync->object);
	return STATUS_SUCCESS;
}

NTSTATUS dispatch_open_sync_object_from_nt_handle2(struct call *call,
						   D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *args)
{
	struct share_set set;
	NTSTATUS status = share_find_nt(call->process->shares, (uintptr_t)args->hNtHandle,
					SHARE_SYNC_OBJECT, "hNtHandle", &set);

	if (!NT_SUCCESS(status))
		return status;
	status = open_nt(call, args, &set);
	share_set_put(&set);
	return status;
}
