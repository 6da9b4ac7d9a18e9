/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/work.h"
#include "object/ending/endings.h"
#include "object/memory/gpu_addresses.h"
#include "object/owner/hw_context.h"
#include "object/submit/hw_gate.h"
#include "trace/trace.h"

static_assert(offsetof(struct dxg_hw_context, object) == 0, "the driver's name for it");

/* ---- its stages (endings.h) ---- */

static void end_hw_queues(struct dxg_hw_context *context)
{
	hw_queue_destroy_all(&context->hw_queues);
}

static void end_addresses(struct dxg_hw_context *context)
{
	hw_suspension_end(&context->hw_queues.suspension); /* of one that was never reached */
	gpu_addresses_remove_context(context->device->process_adapter, &context->in_space);
}

static void tell_driver_of_end(struct dxg_hw_context *context)
{
	const struct dxg_device *device = context->device;

	adapter_enter_to_release(device->adapter);
	miniport_destroy_hw_context(device->adapter->miniport, device->process_adapter->client,
				    context->driver_hw_context);
	adapter_leave(device->adapter);
}

static void give_back(struct dxg_hw_context *context)
{
	struct dxg_device *device = context->device;

	context_memory_end(&context->driver_memory);
	trace_hw_context_destroy(device->process->id, context->object.handle);
	hw_gate_finish(&context->hw_queues);
	mem_free(context);
	object_put(&device->object);
}

static void hw_context_finish(struct object *object)
{
	struct dxg_hw_context *subject = object_as(hw_context, object);

	ENDING_OF_HW_CONTEXT(ENDING_CALL)
}

const struct object_class hw_context_class = { "a hardware context", hw_context_finish };

static NTSTATUS hw_context_check(struct dxg_device *device,
				 const struct hw_context_options *options)
{
	NTSTATUS status = device_check_engine(device, options->node, options->engine_mask);

	if (NT_SUCCESS(status) && !device->adapter->info->supports_virtual_addressing)
		status = refuse(STATUS_NOT_SUPPORTED, RULE_API_VALUE, NULL,
				"adapter %u has no GPU virtual addresses, by which hardware queues "
				"are given commands",
				device->adapter->id);
	return NT_SUCCESS(status) ? device_check_alive(device) : status;
}

/* The gate is passed. */
static NTSTATUS tell_driver(struct dxg_hw_context *context,
			    const struct hw_context_options *options)
{
	struct dxg_device *device = context->device;
	const struct miniport_context_desc desc = {
		.kernel_handle = context,
		.driver_device = device->driver_device,
		.node = options->node,
		.engine_mask = 1,
		.private_data = options->private_data,
		.private_bytes = options->private_bytes,
	};
	/* Before the driver has it: it may want memory for the context at once. */
	context_memory_begin(&context->driver_memory, device, NULL, context);
	NTSTATUS status = miniport_create_hw_context(device->adapter->miniport,
						     device->process_adapter->client, &desc,
						     &context->driver_hw_context);
	if (NT_SUCCESS(status))
		gpu_addresses_add_context(device->process_adapter, &context->in_space,
					  context->driver_hw_context);
	return status;
}

static void begin_queues(struct dxg_hw_context *context, uint32_t node)
{
	context->hw_queues = (struct hw_queue_parent){
		.object = &context->object,
		.device = context->device,
		.memory = &context->driver_memory,
		.driver_context = context->driver_hw_context,
		.node = node,
		.is_hw_context = true,
		.has_no_gpu_timeout = context->device->has_no_gpu_timeout,
	};
	list_init(&context->hw_queues.queues);
	hw_gate_init(&context->hw_queues);
	hw_suspension_begin(&context->hw_queues.suspension, &context->hw_queues);
}

/* The page tables are held. */
static NTSTATUS hw_context_make(struct dxg_device *device, const struct hw_context_options *options,
				struct dxg_hw_context **context_out)
{
	struct dxg_hw_context *context = mem_zalloc(sizeof(*context));

	if (!context)
		return refuse_no_memory("no memory for a hardware context");
	NTSTATUS status =
		object_init(&context->object, &hw_context_class, &device->process->handles);
	if (!NT_SUCCESS(status)) {
		refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for a hardware context handle");
		goto free_context;
	}
	context->device = device;
	owned_init(&context->owned, &context->object);
	list_init(&context->in_space.link);
	status = adapter_enter(device->adapter);
	if (!NT_SUCCESS(status))
		goto give_back_number;
	status = tell_driver(context, options);
	adapter_leave(device->adapter);
	if (!NT_SUCCESS(status))
		goto forget_memory;
	begin_queues(context, options->node);
	object_get(&device->object);
	trace_hw_context_create(device->process->id, context->object.handle, device->object.handle,
				options->node);
	status = device_join(device, &device->hw_contexts, &context->owned);
	if (!NT_SUCCESS(status)) {
		object_put(&context->object); /* tells the driver, gives back the device */
		return status;
	}
	*context_out = context;
	return STATUS_SUCCESS;

forget_memory:
	context_memory_end(&context->driver_memory);
give_back_number:
	object_abandon(&context->object);
free_context:
	mem_free(context);
	return status;
}

NTSTATUS hw_context_create(struct dxg_device *device, const struct hw_context_options *options,
			   struct dxg_hw_context **context_out)
{
	NTSTATUS status = hw_context_check(device, options);

	if (NT_SUCCESS(status))
		status = gpu_addresses_hold(device->process_adapter);
	if (!NT_SUCCESS(status))
		return status;
	status = hw_context_make(device, options, context_out);
	gpu_addresses_release(device->process_adapter);
	return status;
}

bool hw_context_destroy(struct dxg_hw_context *subject)
{
	if (!object_retire(&subject->object))
		return false;
	owned_leave(&subject->device->lock, &subject->owned);
	ENDING_OF_HW_CONTEXT_HANDLE(ENDING_CALL)
	object_put(&subject->object);
	return true;
}

static bool destroy_owned(struct object *object)
{
	return hw_context_destroy(object_as(hw_context, object));
}

void hw_context_destroy_all(struct dxg_device *device)
{
	owned_end_all(&device->lock, &device->hw_contexts, destroy_owned);
}
