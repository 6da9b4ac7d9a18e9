/* SPDX-License-Identifier: MIT */
/*
 * callbacks.c - DxgkCb*: what a driver may ask of us.
 *
 * A driver has two handles for an adapter and is given one of them by us: the DeviceHandle of
 * DXGKRNL_INTERFACE. Its own, the MiniportDeviceContext, is what we give it. Mixing them up is a
 * classic mistake that works until it does not, so every callback looks the handle up among the
 * adapters that exist; that is a walk over a small table, without a lock, from any IRQL.
 *
 * What is asked for and not served is in callbacks_unbuilt.c.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/ddi_arguments.h"
#include "miniport/callbacks.h"
#include "nt/report.h"
#include "trace/trace.h"

enum { ADAPTERS_MAX = 64 };

/* The context is kept beside: a miniport that is going away is compared with, never looked into. */
static struct {
	_Atomic(struct miniport *) miniport;
	_Atomic(PVOID) context;
} adapters[ADAPTERS_MAX];

static struct miniport *adapter_of(HANDLE handle)
{
	for (size_t i = 0; handle && i < ADAPTERS_MAX; i++) {
		if (atomic_load(&adapters[i].miniport) == handle)
			return handle;
	}
	return NULL;
}

static bool is_some_context(HANDLE handle)
{
	for (size_t i = 0; handle && i < ADAPTERS_MAX; i++) {
		if (atomic_load(&adapters[i].context) == handle)
			return true;
	}
	return false;
}

static bool adapter_list(struct miniport *miniport)
{
	for (size_t i = 0; i < ADAPTERS_MAX; i++) {
		struct miniport *nobody = NULL;

		if (atomic_compare_exchange_strong(&adapters[i].miniport, &nobody, miniport)) {
			atomic_store(&adapters[i].context, miniport->context);
			return true;
		}
	}
	return false;
}

static void adapter_unlist(struct miniport *miniport)
{
	for (size_t i = 0; i < ADAPTERS_MAX; i++) {
		if (atomic_load(&adapters[i].miniport) == miniport) {
			atomic_store(&adapters[i].context, NULL);
			atomic_store(&adapters[i].miniport, NULL);
		}
	}
}

struct miniport *callback_begin(HANDLE handle, const char *name, uint8_t highest_irql)
{
	struct miniport *miniport = adapter_of(handle);

	callback_trace_begin(name);
	if (handle != CALLBACK_NO_HANDLE && !miniport) {
		if (is_some_context(handle))
			nt_report(RULE_DDI_CALLBACK_HANDLE_MIXED,
				  "%s was given the driver's own MiniportDeviceContext %p where "
				  "the DeviceHandle of DXGKRNL_INTERFACE is due",
				  name, handle);
		else
			nt_report(RULE_DDI_CALLBACK_HANDLE,
				  "%s was given %p, which is not the DeviceHandle of an adapter",
				  name, handle);
		return NULL;
	}
	return nt_irql_require(highest_irql, name) ? miniport : NULL;
}

NTSTATUS callback_end(NTSTATUS status)
{
	callback_trace_end(status);
	return status;
}

void callback_tell_argument(const char *name, const char *what)
{
	nt_report(RULE_DDI_CALLBACK_ARGUMENT, "%s was given %s", name, what);
}

NTSTATUS callback_bad_argument(const char *name, const char *what)
{
	callback_tell_argument(name, what);
	return callback_end(STATUS_INVALID_PARAMETER);
}

/* ---- the machine around it ---- */

/* There is no ACPI: every method is one that the firmware does not have. */
static NTSTATUS APIENTRY eval_acpi_method(HANDLE handle, ULONG device_uid,
					  PACPI_EVAL_INPUT_BUFFER_COMPLEX input, ULONG input_bytes,
					  PACPI_EVAL_OUTPUT_BUFFER output, ULONG output_bytes)
{
	struct miniport *miniport = callback_begin(handle, "DxgkCbEvalAcpiMethod", PASSIVE_LEVEL);

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	/* Drivers read Length even after a failure, to try again with that much room. */
	if (output && output_bytes >= offsetof(ACPI_EVAL_OUTPUT_BUFFER, Argument)) {
		output->Signature = ACPI_EVAL_OUTPUT_BUFFER_SIGNATURE;
		output->Length = (ULONG)offsetof(ACPI_EVAL_OUTPUT_BUFFER, Argument);
		output->Count = 0;
	}
	return callback_end(STATUS_OBJECT_NAME_NOT_FOUND);
}

/* ---- memory ---- */

/* One DxgkCbMapMemory. */
struct mapping {
	struct list link;
	PVOID pointer;
	ULONG length;
};

static NTSTATUS APIENTRY map_memory(HANDLE handle, PHYSICAL_ADDRESS address, ULONG length,
				    BOOLEAN in_io_space, BOOLEAN to_user_mode,
				    MEMORY_CACHING_TYPE cache_type, PVOID *pointer_out)
{
	const char *name = "DxgkCbMapMemory";
	struct miniport *miniport = callback_begin(handle, name, PASSIVE_LEVEL);

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!pointer_out || length == 0)
		return callback_bad_argument(name, pointer_out ? "a Length of 0"
							       : "a NULL VirtualAddress");
	*pointer_out = NULL;
	/* No ports, and a driver's mappings are for the driver. */
	if (in_io_space || to_user_mode)
		return callback_end(STATUS_NOT_SUPPORTED);

	struct mapping *mapping = mem_zalloc(sizeof(*mapping));
	if (!mapping)
		return callback_end(STATUS_NO_MEMORY);
	mapping->length = length;
	mapping->pointer = MmMapIoSpace(address, length, cache_type);
	if (!mapping->pointer) {
		mem_free(mapping);
		return callback_end(STATUS_INSUFFICIENT_RESOURCES);
	}
	lock_acquire(&miniport->mappings_lock);
	list_push_back(&miniport->mappings, &mapping->link);
	lock_release(&miniport->mappings_lock);
	*pointer_out = mapping->pointer;
	return callback_end(STATUS_SUCCESS);
}

/* Takes the mapping out of the list; `pointer` NULL stands for any. */
static struct mapping *mapping_take(struct miniport *miniport, const void *pointer)
{
	struct mapping *found = NULL;

	lock_acquire(&miniport->mappings_lock);
	list_each (struct mapping, mapping, &miniport->mappings, link) {
		if (!pointer || mapping->pointer == pointer) {
			found = mapping;
			list_remove(&mapping->link);
			break;
		}
	}
	lock_release(&miniport->mappings_lock);
	return found;
}

static void mapping_destroy(struct mapping *mapping)
{
	MmUnmapIoSpace(mapping->pointer, mapping->length);
	mem_free(mapping);
}

static NTSTATUS APIENTRY unmap_memory(HANDLE handle, PVOID pointer)
{
	const char *name = "DxgkCbUnmapMemory";
	struct miniport *miniport = callback_begin(handle, name, PASSIVE_LEVEL);

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	struct mapping *mapping = pointer ? mapping_take(miniport, pointer) : NULL;
	if (!mapping)
		return callback_bad_argument(name,
					     "an address that DxgkCbMapMemory did not return");
	mapping_destroy(mapping);
	return callback_end(STATUS_SUCCESS);
}

static MEMORY_CACHING_TYPE caching_type(DXGK_MEMORY_CACHING_TYPE type)
{
	switch (type) {
	case DXGK_MEMORY_CACHING_TYPE_NON_CACHED:
		return MmNonCached;
	case DXGK_MEMORY_CACHING_TYPE_WRITE_COMBINED:
		return MmWriteCombined;
	case DXGK_MEMORY_CACHING_TYPE_CACHED:
		break;
	}
	return MmCached;
}

static NTSTATUS APIENTRY allocate_contiguous_memory(IN_CONST_HANDLE handle,
						    DXGKARGCB_ALLOCATECONTIGUOUSMEMORY *args)
{
	const char *name = "DxgkCbAllocateContiguousMemory";
	struct miniport *miniport = callback_begin(handle, name, PASSIVE_LEVEL);

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!args || args->NumberOfBytes == 0)
		return callback_bad_argument(name, args ? "a NumberOfBytes of 0" : "NULL");
	args->pMemory = MmAllocateContiguousMemorySpecifyCache(
		args->NumberOfBytes, args->LowestAcceptableAddress, args->HighestAcceptableAddress,
		args->BoundaryAddressMultiple, caching_type(args->CacheType));
	args->hMemoryHandle = args->pMemory;
	return callback_end(args->pMemory ? STATUS_SUCCESS : STATUS_NO_MEMORY);
}

static VOID APIENTRY free_contiguous_memory(IN_CONST_HANDLE handle,
					    const DXGKARGCB_FREECONTIGUOUSMEMORY *args)
{
	const char *name = "DxgkCbFreeContiguousMemory";

	if (callback_begin(handle, name, PASSIVE_LEVEL) && args && args->hMemoryHandle)
		MmFreeContiguousMemory(args->hMemoryHandle);
	callback_end(STATUS_SUCCESS);
}

static NTSTATUS APIENTRY allocate_pages_for_mdl(IN_CONST_HANDLE handle,
						DXGKARGCB_ALLOCATEPAGESFORMDL *args)
{
	const char *name = "DxgkCbAllocatePagesForMdl";
	struct miniport *miniport = callback_begin(handle, name, PASSIVE_LEVEL);

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!args || args->TotalBytes == 0)
		return callback_bad_argument(name, args ? "a TotalBytes of 0" : "NULL");
	args->pMdl = MmAllocatePagesForMdlEx(args->LowAddress, args->HighAddress, args->SkipBytes,
					     args->TotalBytes, caching_type(args->CacheType),
					     args->Flags | MM_ALLOCATE_FULLY_REQUIRED);
	args->hMemoryHandle = args->pMdl;
	return callback_end(args->pMdl ? STATUS_SUCCESS : STATUS_NO_MEMORY);
}

static VOID APIENTRY free_pages_from_mdl(IN_CONST_HANDLE handle,
					 const DXGKARGCB_FREEPAGESFROMMDL *args)
{
	const char *name = "DxgkCbFreePagesFromMdl";

	if (callback_begin(handle, name, PASSIVE_LEVEL) && args && args->hMemoryHandle) {
		MmFreePagesFromMdl(args->hMemoryHandle);
		ExFreePool(args->hMemoryHandle);
	}
	callback_end(STATUS_SUCCESS);
}

/* ---- interrupts ---- */

static BOOLEAN APIENTRY queue_dpc(HANDLE handle)
{
	struct miniport *miniport = callback_begin(handle, "DxgkCbQueueDpc", HIGH_LEVEL);
	bool is_queued = miniport && interrupt_queue_dpc(miniport);

	callback_end(STATUS_SUCCESS);
	return is_queued;
}

static NTSTATUS APIENTRY synchronize_execution(HANDLE handle, PKSYNCHRONIZE_ROUTINE routine,
					       PVOID context, ULONG message_number,
					       PBOOLEAN result_out)
{
	const char *name = "DxgkCbSynchronizeExecution";
	struct miniport *miniport = callback_begin(handle, name, DISPATCH_LEVEL);

	if (!miniport)
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!routine || !result_out)
		return callback_bad_argument(name, routine ? "a NULL ReturnValue"
							   : "a NULL SynchronizeRoutine");
	if (message_number >= miniport->device.message_count)
		return callback_bad_argument(name, "a MessageNumber that is none of the device's");
	return callback_end(interrupt_synchronize(miniport, routine, context, result_out));
}

static VOID APIENTRY notify_interrupt(IN_CONST_HANDLE handle,
				      const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
	const char *name = "DxgkCbNotifyInterrupt";
	struct miniport *miniport = callback_begin(handle, name, HIGH_LEVEL);

	if (miniport && nt_irql_current() <= DISPATCH_LEVEL)
		nt_report(RULE_DDI_CALLBACK_IRQL,
			  "%s was called at %s, it is for the device's own level "
			  "(DxgkCbSynchronizeExecution)",
			  name, nt_irql_name(nt_irql_current()));
	if (UNLIKELY(data && log_is_on(LOG_CALLS))) {
		char text[DDI_ARGUMENTS_TEXT];

		ddi_describe_interrupt(data, text, sizeof(text));
		log_topic(LOG_CALLS, "%s(%s)", name, text);
	}
	if (miniport && !data)
		callback_tell_argument(name, "NULL");
	else if (miniport)
		interrupt_notify(miniport, data);
	callback_end(STATUS_SUCCESS);
}

static VOID APIENTRY notify_dpc(IN_CONST_HANDLE handle)
{
	const char *name = "DxgkCbNotifyDpc";
	struct miniport *miniport = callback_begin(handle, name, DISPATCH_LEVEL);

	if (miniport && nt_irql_current() < DISPATCH_LEVEL)
		nt_report(RULE_DDI_CALLBACK_IRQL, "%s was called at %s, it is for DISPATCH_LEVEL",
			  name, nt_irql_name(nt_irql_current()));
	if (miniport)
		interrupt_deliver(miniport);
	callback_end(STATUS_SUCCESS);
}

/* ---- power: components are always on, and none is ever told to change ---- */

static void power_component(HANDLE handle, const char *name, UINT component)
{
	struct miniport *miniport = callback_begin(handle, name, DISPATCH_LEVEL);

	if (miniport && component >= miniport->info.power_component_count)
		nt_report(RULE_DDI_CALLBACK_ARGUMENT,
			  "%s was given ComponentIndex %u, and there are %u components", name,
			  component, miniport->info.power_component_count);
	callback_end(STATUS_SUCCESS);
}

static VOID APIENTRY set_power_component_active(IN_CONST_HANDLE handle, UINT component)
{
	power_component(handle, "DxgkCbSetPowerComponentActive", component);
}

static VOID APIENTRY set_power_component_idle(IN_CONST_HANDLE handle, UINT component)
{
	power_component(handle, "DxgkCbSetPowerComponentIdle", component);
}

static VOID APIENTRY set_power_component_latency(IN_CONST_HANDLE handle, UINT component,
						 ULONGLONG latency)
{
	power_component(handle, "DxgkCbSetPowerComponentLatency", component);
}

static VOID APIENTRY set_power_component_residency(IN_CONST_HANDLE handle, UINT component,
						   ULONGLONG residency)
{
	power_component(handle, "DxgkCbSetPowerComponentResidency", component);
}

static VOID APIENTRY complete_f_state_transition(IN_CONST_HANDLE handle, UINT component)
{
	power_component(handle, "DxgkCbCompleteFStateTransition", component);
}

static VOID APIENTRY complete_p_state_transition(IN_CONST_HANDLE handle, UINT component,
						 UINT p_state)
{
	power_component(handle, "DxgkCbCompletePStateTransition", component);
}

/* ---- what is not there, said plainly ---- */

static VOID APIENTRY log_etw_event(const LPCGUID event, UCHAR type, USHORT size_bytes, PVOID data)
{
	callback_begin(CALLBACK_NO_HANDLE, "DxgkCbLogEtwEvent", HIGH_LEVEL);
	callback_end(STATUS_SUCCESS);
}

/* Features that a driver and the kernel agree on. */
static bool has_feature(const struct miniport *miniport, DXGK_FEATURE_ID feature)
{
	return feature == DXGK_FEATURE_KMD_SIGNAL_CPU_EVENT &&
	       miniport->ddi.DxgkDdiCreateCpuEvent && miniport->ddi.DxgkDdiDestroyCpuEvent;
}

static NTSTATUS APIENTRY is_feature_enabled(DXGKARGCB_ISFEATUREENABLED *args)
{
	const char *name = "DxgkCbIsFeatureEnabled";
	struct miniport *miniport =
		callback_begin(args ? args->DeviceHandle : NULL, name, PASSIVE_LEVEL);

	if (!miniport || !args)
		return callback_end(STATUS_INVALID_PARAMETER);
	args->Enabled = has_feature(miniport, args->FeatureId);
	return callback_end(STATUS_SUCCESS);
}

static NTSTATUS APIENTRY query_feature_support(DXGKARGCB_QUERYFEATURESUPPORT *args)
{
	const char *name = "DxgkCbQueryFeatureSupport";
	struct miniport *miniport =
		callback_begin(args ? args->DeviceHandle : NULL, name, PASSIVE_LEVEL);

	if (!miniport || !args)
		return callback_end(STATUS_INVALID_PARAMETER);
	args->Enabled = has_feature(miniport, args->FeatureId);
	return callback_end(STATUS_SUCCESS);
}

/* No firmware has put a picture anywhere: success, and a size of nothing. */
static NTSTATUS APIENTRY acquire_post_display_ownership(HANDLE handle,
							PDXGK_DISPLAY_INFORMATION info)
{
	const char *name = "DxgkCbAcquirePostDisplayOwnership";

	if (!callback_begin(handle, name, APC_LEVEL))
		return callback_end(STATUS_INVALID_PARAMETER);
	if (!info)
		return callback_bad_argument(name, "a NULL DisplayInfo");
	memset(info, 0, sizeof(*info));
	return callback_end(STATUS_SUCCESS);
}

static NTSTATUS APIENTRY acquire_post_display_ownership2(HANDLE handle,
							 PDXGK_DISPLAY_INFORMATION info,
							 PDXGK_DISPLAY_OWNERSHIP_FLAGS flags)
{
	NTSTATUS status = acquire_post_display_ownership(handle, info);

	if (NT_SUCCESS(status) && flags)
		flags->Value = FrameBufferStateUnknown;
	return status;
}

/* ---- the table ---- */

#define UP_TO(member) offsetof(DXGKRNL_INTERFACE, member)

/* How much of DXGKRNL_INTERFACE each WDDM has; 3.1 is as far as its members go. */
static const struct {
	uint32_t level;
	uint32_t version;
	uint32_t size_bytes;
} interfaces[] = {
	{ 2000, DXGKDDI_INTERFACE_VERSION_WDDM2_0, UP_TO(DxgkCbMultiPlaneOverlayDisabled) },
	{ 2100, DXGKDDI_INTERFACE_VERSION_WDDM2_1_6, UP_TO(DxgkCbInvalidateHwContext) },
	{ 2200, DXGKDDI_INTERFACE_VERSION_WDDM2_2, UP_TO(DxgkCbSetProtectedSessionStatus) },
	{ 2300, DXGKDDI_INTERFACE_VERSION_WDDM2_3, UP_TO(DxgkCbAllocateContiguousMemory) },
	{ 2400, DXGKDDI_INTERFACE_VERSION_WDDM2_4, UP_TO(DxgkCbSignalEvent) },
	{ 2500, DXGKDDI_INTERFACE_VERSION_WDDM2_5, UP_TO(DxgkCbIsFeatureEnabled) },
	{ 2600, DXGKDDI_INTERFACE_VERSION_WDDM2_6, UP_TO(DxgkCbNotifyCursorSupportChange) },
	{ 2700, DXGKDDI_INTERFACE_VERSION_WDDM2_7, UP_TO(DxgkCbNotifyCursorSupportChange) },
	{ 2800, DXGKDDI_INTERFACE_VERSION_WDDM2_8, UP_TO(DxgkCbQueryFeatureSupport) },
	{ 2900, DXGKDDI_INTERFACE_VERSION_WDDM2_9, UP_TO(DxgkCbDisconnectDoorbell) },
	{ 3000, DXGKDDI_INTERFACE_VERSION_WDDM3_0, UP_TO(DxgkCbDisconnectDoorbell) },
	{ 3100, DXGKDDI_INTERFACE_VERSION_WDDM3_1, sizeof(DXGKRNL_INTERFACE) },
};

/*
 * Drivers copy Size bytes, or as many as their own headers say: what a kernel of this level would
 * not have is not behind the end, but NULL.
 */
static void end_at_level(DXGKRNL_INTERFACE *interface, uint32_t level)
{
	size_t i = ARRAY_SIZE(interfaces) - 1;

	while (level != 0 && i > 0 && interfaces[i].level > level)
		i--;
	interface->Version = interfaces[i].version;
	interface->Size = interfaces[i].size_bytes;
	memset((char *)interface + interface->Size, 0, sizeof(*interface) - interface->Size);
}

NTSTATUS callbacks_open(struct miniport *miniport)
{
	DXGKRNL_INTERFACE *interface = &miniport->interface;

	callbacks_fill_unbuilt(interface);
	callbacks_fill_device(interface);
	callbacks_fill_handles(interface);
	callbacks_fill_contexts(interface);
	interface->DeviceHandle = miniport;
	interface->DxgkCbEvalAcpiMethod = eval_acpi_method;
	interface->DxgkCbMapMemory = map_memory;
	interface->DxgkCbQueueDpc = queue_dpc;
	interface->DxgkCbSynchronizeExecution = synchronize_execution;
	interface->DxgkCbUnmapMemory = unmap_memory;
	interface->DxgkCbNotifyInterrupt = notify_interrupt;
	interface->DxgkCbNotifyDpc = notify_dpc;
	interface->DxgkCbLogEtwEvent = log_etw_event;
	interface->DxgkCbSetPowerComponentActive = set_power_component_active;
	interface->DxgkCbSetPowerComponentIdle = set_power_component_idle;
	interface->DxgkCbAcquirePostDisplayOwnership = acquire_post_display_ownership;
	interface->DxgkCbSetPowerComponentLatency = set_power_component_latency;
	interface->DxgkCbSetPowerComponentResidency = set_power_component_residency;
	interface->DxgkCbCompleteFStateTransition = complete_f_state_transition;
	interface->DxgkCbCompletePStateTransition = complete_p_state_transition;
	interface->DxgkCbAcquirePostDisplayOwnership2 = acquire_post_display_ownership2;
	interface->DxgkCbAllocateContiguousMemory = allocate_contiguous_memory;
	interface->DxgkCbFreeContiguousMemory = free_contiguous_memory;
	interface->DxgkCbAllocatePagesForMdl = allocate_pages_for_mdl;
	interface->DxgkCbFreePagesFromMdl = free_pages_from_mdl;
	interface->DxgkCbIsFeatureEnabled = is_feature_enabled;
	interface->DxgkCbQueryFeatureSupport = query_feature_support;
	end_at_level(interface, miniport->info.wddm_level);
	if (miniport_verifier)
		miniport_verifier->give_interface(miniport);

	if (!adapter_list(miniport))
		return refuse(STATUS_INSUFFICIENT_RESOURCES, RULE_DDI_NOT_BUILT, NULL,
			      "There are %d adapters already", ADAPTERS_MAX);
	return STATUS_SUCCESS;
}

void callbacks_close(struct miniport *miniport)
{
	struct mapping *mapping;

	adapter_unlist(miniport);
	while ((mapping = mapping_take(miniport, NULL)) != NULL) {
		nt_report(RULE_DDI_LEFT_BEHIND,
			  "DxgkCbMapMemory: %u bytes at %p are still mapped after "
			  "DxgkDdiRemoveDevice",
			  mapping->length, mapping->pointer);
		mapping_destroy(mapping);
	}
}
