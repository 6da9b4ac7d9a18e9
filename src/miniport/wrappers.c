/* SPDX-License-Identifier: MIT */
/*
 * wrappers.c - one function per entry point: miniport.h as calls into the driver.
 *
 * A wrapper builds the argument struct, crosses (ddi.h), and takes the answer apart. An optional
 * entry point is tested for NULL here and nowhere else.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/answers.h"
#include "miniport/guard.h"
#include "miniport/internal.h"
#include "nt/report.h"
#include "nt/unicode.h"

NTSTATUS miniport_client_create(struct nt_process *process, struct miniport_client **client_out)
{
	struct miniport_client *client = mem_zalloc_apart(sizeof(*client));

	if (!client)
		return refuse_no_memory("There is no memory for a client of the driver");
	lock_init(&client->entry, LOCK_RANK_DDI_PROCESS, "driver client");
	client->process = process;
	*client_out = client;
	return STATUS_SUCCESS;
}

void miniport_client_destroy(struct miniport_client *client)
{
	if (!client)
		return;
	lock_finish(&client->entry);
	mem_free(client);
}

struct miniport_client *miniport_system_client(struct miniport *miniport)
{
	return &miniport->system_client;
}

/* ---- processes ---- */

static NTSTATUS create_process(struct miniport *miniport, struct miniport_client *client,
			       void *kernel_handle, const char *name, bool is_system,
			       void **driver_process_out)
{
	size_t name_length = 0;
	uint16_t *name16 = NULL;
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiCreateProcess) {
		*driver_process_out = NULL;
		return STATUS_SUCCESS;
	}
	if (name) {
		name16 = nt_utf16_dup(name, &name_length);
		if (!name16)
			return refuse_no_memory("There is no memory for the name of a process");
	}
	DXGKARG_CREATEPROCESS args = {
		.hDxgkProcess = kernel_handle,
		.Flags = { .SystemProcess = is_system },
		.ProcessNameLength = (UINT)name_length,
		.pProcessName = (WCHAR *)name16,
	};

	ddi_enter(&crossing, miniport, client, DDI_CREATE_PROCESS);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiCreateProcess(miniport->context, &args);
	status = ddi_leave(&crossing, status);

	mem_free(name16);
	if (NT_SUCCESS(status))
		*driver_process_out = args.hKmdProcess;
	return status;
}

NTSTATUS miniport_create_process(struct miniport *miniport, struct miniport_client *client,
				 void *kernel_handle, const char *name, void **driver_process_out)
{
	return create_process(miniport, client, kernel_handle, name, false, driver_process_out);
}

void miniport_destroy_process(struct miniport *miniport, struct miniport_client *client,
			      void *driver_process)
{
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiDestroyProcess)
		return;
	ddi_enter(&crossing, miniport, client, DDI_DESTROY_PROCESS);
	ddi_note(&crossing, driver_process, NULL);
	ddi_leave(&crossing,
		  miniport->ddi.DxgkDdiDestroyProcess(miniport->context, driver_process));
}

/* ---- devices ---- */

static NTSTATUS create_device(struct miniport *miniport, struct miniport_client *client,
			      void *kernel_handle, void *driver_process, bool is_system,
			      void **driver_device_out)
{
	DXGKARG_CREATEDEVICE args = { .hDevice = kernel_handle, .hKmdProcess = driver_process };
	struct ddi_crossing crossing;

	args.Flags.SystemDevice = is_system;
	ddi_enter(&crossing, miniport, client, DDI_CREATE_DEVICE);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiCreateDevice(miniport->context, &args);
	status = ddi_leave(&crossing, status);

	if (NT_SUCCESS(status))
		*driver_device_out = args.hDevice;
	return status;
}

NTSTATUS miniport_create_device(struct miniport *miniport, struct miniport_client *client,
				void *kernel_handle, void *driver_process, void **driver_device_out)
{
	return create_device(miniport, client, kernel_handle, driver_process, false,
			     driver_device_out);
}

void miniport_destroy_device(struct miniport *miniport, struct miniport_client *client,
			     void *driver_device)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, client, DDI_DESTROY_DEVICE);
	ddi_note(&crossing, driver_device, NULL);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiDestroyDevice(driver_device));
}

/* ---- contexts ---- */

static NTSTATUS create_context(struct miniport *miniport, struct miniport_client *client,
			       const struct miniport_context_desc *desc, bool is_system,
			       struct miniport_context_info *info_out)
{
	DXGKARG_CREATECONTEXT args = {
		.hContext = desc->kernel_handle,
		.NodeOrdinal = desc->node,
		.EngineAffinity = desc->engine_mask,
		.Flags = {
			.SystemContext = is_system || desc->is_kernels,
			.VirtualAddressing = desc->is_virtual,
			.HwQueueSupported = desc->has_hw_queues,
		},
		.PrivateDriverDataSize = desc->private_bytes,
	};
	struct ddi_crossing crossing;
	struct guard guard;

	guard_open(&guard, desc->private_data, desc->private_bytes);
	args.pPrivateDriverData = guard.memory;
	ddi_enter(&crossing, miniport, client, DDI_CREATE_CONTEXT);
	ddi_note(&crossing, desc->driver_device, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiCreateContext(desc->driver_device, &args);
	guard_close(&guard, "DxgkDdiCreateContext", NULL);
	status = ddi_leave(&crossing, status);
	if (!NT_SUCCESS(status))
		return status;

	/* What the kernel's own contexts submit is described with the segments. */
	if (!is_system)
		status = context_info_accept(&args.ContextInfo, desc->is_virtual, &miniport->info,
					     info_out);
	if (!NT_SUCCESS(status)) {
		miniport_destroy_context(miniport, client, args.hContext);
		return status;
	}
	info_out->driver_context = args.hContext;
	return STATUS_SUCCESS;
}

NTSTATUS miniport_create_context(struct miniport *miniport, struct miniport_client *client,
				 const struct miniport_context_desc *desc,
				 struct miniport_context_info *info_out)
{
	return create_context(miniport, client, desc, false, info_out);
}

void miniport_destroy_context(struct miniport *miniport, struct miniport_client *client,
			      void *driver_context)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, client, DDI_DESTROY_CONTEXT);
	ddi_note(&crossing, driver_context, NULL);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiDestroyContext(driver_context));
}

/* ---- the kernel's own ---- */

NTSTATUS system_objects_create(struct miniport *miniport)
{
	struct miniport_client *client = &miniport->system_client;

	/* The handles only have to be distinct, and ours: callbacks compare them. */
	NTSTATUS status = create_process(miniport, client, &miniport->system_process, "System",
					 true, &miniport->system_process);
	if (!NT_SUCCESS(status))
		return status;
	status = create_device(miniport, client, &miniport->system_device, miniport->system_process,
			       true, &miniport->system_device);
	if (!NT_SUCCESS(status))
		goto destroy_process;

	struct miniport_context_desc desc = {
		.kernel_handle = &miniport->system_context,
		.driver_device = miniport->system_device,
		.node = miniport->info.paging_node,
		.engine_mask = 1,
		.is_virtual = miniport->info.supports_gpu_mmu,
	};
	status = create_context(miniport, client, &desc, true, &miniport->system_context);
	if (!NT_SUCCESS(status))
		goto destroy_device;
	return STATUS_SUCCESS;

destroy_device:
	miniport_destroy_device(miniport, client, miniport->system_device);
destroy_process:
	miniport_destroy_process(miniport, client, miniport->system_process);
	return status;
}

void system_objects_destroy(struct miniport *miniport)
{
	struct miniport_client *client = &miniport->system_client;

	miniport_destroy_context(miniport, client, miniport->system_context.driver_context);
	miniport_destroy_device(miniport, client, miniport->system_device);
	miniport_destroy_process(miniport, client, miniport->system_process);
}

/* ---- escape and queries ---- */

bool miniport_escape_is_alone(const struct miniport_escape_desc *desc)
{
	return ((D3DDDI_ESCAPEFLAGS){ .Value = desc->flags }).HardwareAccess;
}

static NTSTATUS call_escape(struct ddi_crossing *crossing, const struct miniport_escape_desc *desc)
{
	struct miniport *miniport = crossing->miniport;
	DXGKARG_ESCAPE args = {
		.hDevice = desc->driver_device,
		.Flags = { .Value = desc->flags },
		.pPrivateDriverData = desc->private_data,
		.PrivateDriverDataSize = desc->private_bytes,
		.hContext = desc->driver_context,
		.hKmdProcessHandle = desc->driver_process,
	};
	struct guard guard;

	guard_open(&guard, desc->private_data, desc->private_bytes);
	args.pPrivateDriverData = guard.memory;
	ddi_note(crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiEscape(miniport->context, &args);
	guard_close(&guard, "DxgkDdiEscape", NULL);

	return ddi_leave(crossing, status);
}

static NTSTATUS no_escapes(void)
{
	return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_ENTRY_MISSING, "DxgkDdiEscape",
		      "is NULL: this driver knows no escapes");
}

NTSTATUS miniport_escape(struct miniport *miniport, struct miniport_client *client,
			 const struct miniport_escape_desc *desc)
{
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiEscape)
		return no_escapes();
	ddi_enter_level(&crossing, miniport, client, DDI_ESCAPE,
			miniport_escape_is_alone(desc) ? DDI_LEVEL_2 : DDI_LEVEL_0);
	return call_escape(&crossing, desc);
}

bool miniport_escape_until(struct miniport *miniport, struct miniport_client *client,
			   const struct miniport_escape_desc *desc, uint64_t deadline_ns,
			   NTSTATUS *status_out)
{
	struct ddi_crossing crossing;

	assert(miniport_escape_is_alone(desc));
	if (!miniport->ddi.DxgkDdiEscape) {
		*status_out = no_escapes();
		return true;
	}
	if (!ddi_enter_until(&crossing, miniport, client, DDI_ESCAPE, DDI_LEVEL_2, deadline_ns))
		return false;
	*status_out = call_escape(&crossing, desc);
	return true;
}

static const char query_entry[] = "DxgkDdiQueryAdapterInfo";

/* What is documented has its documented size, so nobody needs more. */
static void refuse_query(const struct query *query, NTSTATUS status)
{
	if (status != STATUS_BUFFER_TOO_SMALL || query->is_size_the_clients) {
		refuse(status, RULE_DDI_STATUS, query_entry, "returned %s for %s%s",
		       status_name(status), query->what, ddi_said().text);
		return;
	}
	nt_report(RULE_DDI_ANSWER_TOO_SMALL,
		  "%s(%s) returned STATUS_BUFFER_TOO_SMALL for a buffer of %u bytes, which is all "
		  "there is to it",
		  query_entry, query->what, query->output_bytes);
	refuse(status, RULE_DDI_ANSWER_TOO_SMALL, query_entry,
	       "returned STATUS_BUFFER_TOO_SMALL for %s, and was given %u bytes%s", query->what,
	       query->output_bytes, ddi_said().text);
}

NTSTATUS miniport_query(struct miniport *miniport, struct miniport_client *client,
			const struct query *query)
{
	DXGKARG_QUERYADAPTERINFO args = {
		.Type = query->type,
		.pInputData = (void *)query->input,
		.InputDataSize = query->input_bytes,
		.pOutputData = query->output,
		.OutputDataSize = query->output_bytes,
	};
	struct ddi_crossing crossing;
	struct guard guard;

	guard_open(&guard, query->output, query->output_bytes);
	args.pOutputData = guard.memory;
	if (query->input == query->output)
		args.pInputData = guard.memory;
	ddi_enter(&crossing, miniport, client, DDI_QUERY_ADAPTER_INFO);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiQueryAdapterInfo(miniport->context, &args);
	status = ddi_leave_quietly(&crossing, status);
	guard_close(&guard, query_entry, query->what);

	if (!NT_SUCCESS(status) && !query->is_optional)
		refuse_query(query, status);
	return status;
}

NTSTATUS miniport_query_umd_private(struct miniport *miniport, struct miniport_client *client,
				    void *data, uint32_t size_bytes)
{
	return miniport_query(miniport, client,
			      &(struct query){
				      .type = DXGKQAITYPE_UMDRIVERPRIVATE,
				      .what = "UMDRIVERPRIVATE",
				      .is_size_the_clients = true,
				      .input = data,
				      .input_bytes = size_bytes,
				      .output = data,
				      .output_bytes = size_bytes,
			      });
}

/* ---- clocks ---- */

NTSTATUS miniport_calibrate_clock(struct miniport *miniport, struct miniport_client *client,
				  uint32_t node, struct miniport_clock *clock_out)
{
	static const char entry[] = "DxgkDdiCalibrateGpuClock";
	DXGKARG_CALIBRATEGPUCLOCK answer = { 0 };
	struct ddi_crossing crossing;
	struct guard guard;

	if (!miniport->ddi.DxgkDdiCalibrateGpuClock)
		return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_ENTRY_MISSING, entry,
			      "is missing: this driver tells of no clock");
	guard_open(&guard, &answer, sizeof(answer));
	ddi_enter(&crossing, miniport, client, DDI_CALIBRATE_GPU_CLOCK);
	ddi_note(&crossing, miniport->context, NULL);
	/* Adapters are not linked, so the engine is the first. */
	NTSTATUS status =
		miniport->ddi.DxgkDdiCalibrateGpuClock(miniport->context, node, 0, guard.memory);
	status = ddi_leave(&crossing, status);
	guard_close(&guard, entry, NULL);

	if (!NT_SUCCESS(status))
		return status;
	if (answer.GpuFrequency == 0)
		return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_CLOCK, "GpuFrequency",
			      "is 0 for node %u, and nobody can count by that", node);
	*clock_out = (struct miniport_clock){
		.gpu_frequency = answer.GpuFrequency,
		.gpu_counter = answer.GpuClockCounter,
		.cpu_counter = answer.CpuClockCounter,
		.flags = answer.Flags.Value,
	};
	return STATUS_SUCCESS;
}

/* ---- events that the driver sets ---- */

NTSTATUS miniport_create_cpu_event(struct miniport *miniport, struct miniport_client *client,
				   void *driver_device, void *kernel_event, void **driver_event_out)
{
	DXGKARG_CREATECPUEVENT args = { .hKmdDevice = driver_device, .hDxgCpuEvent = kernel_event };
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiCreateCpuEvent || !miniport->ddi.DxgkDdiDestroyCpuEvent)
		return refuse(STATUS_NOT_SUPPORTED, RULE_DDI_ENTRY_MISSING, "DxgkDdiCreateCpuEvent",
			      "is missing: this driver sets no events of clients");
	ddi_enter(&crossing, miniport, client, DDI_CREATE_CPU_EVENT);
	ddi_note(&crossing, miniport->context, &args);
	NTSTATUS status = miniport->ddi.DxgkDdiCreateCpuEvent(miniport->context, &args);
	status = ddi_leave(&crossing, status);

	if (NT_SUCCESS(status))
		*driver_event_out = args.hKmdCpuEvent;
	return status;
}

void miniport_destroy_cpu_event(struct miniport *miniport, struct miniport_client *client,
				void *driver_event)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, client, DDI_DESTROY_CPU_EVENT);
	ddi_note(&crossing, driver_event, NULL);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiDestroyCpuEvent(miniport->context, driver_event));
}
