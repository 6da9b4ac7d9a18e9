/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "object/owner/context.h"
#include "object/ending/endings.h"
#include "object/memory/gpu_addresses.h"
#include "object/memory/gpu_update.h"
#include "object/submit/hw_gate.h"
#include "object/submit/render.h"
#include "trace/trace.h"

static_assert(offsetof(struct dxg_context, object) == 0, "the driver's name for it");

/* ---- its stages (endings.h) ---- */

static void end_work(struct dxg_context *context)
{
	sched_queue_finish(&context->queue, device_work_ending(context->device));
	hw_suspension_end(&context->hw_queues.suspension); /* of one that was never reached */
	cancellations_finish(&context->cancellations);
	render_stream_destroy(context->render);
}

static void end_addresses(struct dxg_context *context)
{
	companion_finish(context);
	gpu_addresses_remove_context(context->device->process_adapter, &context->in_space);
}

static void tell_driver_of_end(struct dxg_context *context)
{
	const struct dxg_device *device = context->device;

	adapter_enter_to_release(device->adapter);
	miniport_destroy_context(device->adapter->miniport, device->process_adapter->client,
				 context->info.driver_context);
	adapter_leave(device->adapter);
}

static void give_back(struct dxg_context *context)
{
	struct dxg_device *device = context->device;

	context_memory_end(&context->driver_memory);
	trace_context_destroy(device->process->id, context->object.handle);
	hw_gate_finish(&context->hw_queues);
	mem_free(context);
	object_put(&device->object);
}

static void end_queue(struct dxg_context *context)
{
	sched_queue_end(&context->queue, device_work_ending(context->device));
}

static void end_hw_queues(struct dxg_context *context)
{
	hw_queue_destroy_all(&context->hw_queues);
}

static void context_finish(struct object *object)
{
	struct dxg_context *subject = object_as(context, object);

	ENDING_OF_CONTEXT(ENDING_CALL)
}

const struct object_class context_class = { "a context", context_finish };

static NTSTATUS context_check(const struct dxg_device *device,
			      const struct context_options *options)
{
	const struct miniport_info *info = device->adapter->info;
	NTSTATUS status = device_check_engine(device, options->node, options->engine_mask);

	if (!NT_SUCCESS(status))
		return status;
	if (options->is_virtual && !info->supports_virtual_addressing)
		return invalid(RULE_API_VALUE, NULL,
			       "adapter %u has no GPU virtual addresses; use D3DKMTCreateContext",
			       device->adapter->id);
	return STATUS_SUCCESS;
}

static void context_emptied(struct sched_queue *queue)
{
	const struct work_target target =
		context_target(container_of(queue, struct dxg_context, queue));

	work_target_emptied(&target);
}

static void begin_hw_queues(struct dxg_context *context)
{
	context->hw_queues = (struct hw_queue_parent){
		.object = &context->object,
		.device = context->device,
		.memory = &context->driver_memory,
		.driver_context = context->info.driver_context,
		.node = context->node,
		.has_no_gpu_timeout = context->has_no_gpu_timeout,
	};
	list_init(&context->hw_queues.queues);
	hw_gate_init(&context->hw_queues);
	if (context->has_hw_queues)
		hw_suspension_begin(&context->hw_queues.suspension, &context->hw_queues);
}

/* By list is submitted where there are no GPU addresses. The driver forgets it on failure. */
static NTSTATUS context_get_buffers(struct dxg_context *context)
{
	struct dxg_device *device = context->device;
	NTSTATUS status = STATUS_SUCCESS;

	if (!device->adapter->info->supports_virtual_addressing)
		status = render_stream_create(context, &context->render);
	if (!NT_SUCCESS(status))
		miniport_destroy_context(device->adapter->miniport, device->process_adapter->client,
					 context->info.driver_context);
	return status;
}

/* The page tables are held. */
static NTSTATUS context_make(struct dxg_device *device, const struct context_options *options,
			     struct dxg_context **context_out)
{
	struct dxg_context *context = mem_zalloc(sizeof(*context));

	if (!context)
		return refuse_no_memory("no memory for a context");
	NTSTATUS status = object_init(&context->object, &context_class, &device->process->handles);
	if (!NT_SUCCESS(status)) {
		refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for a context handle");
		goto free_context;
	}
	context->device = device;
	context->node = options->node;
	context->engine_mask = 1;
	context->is_virtual = options->is_virtual;
	context->has_hw_queues = options->has_hw_queues;
	context->is_null_rendering = options->is_null_rendering;
	context->has_no_gpu_timeout = options->has_no_gpu_timeout || device->has_no_gpu_timeout;
	owned_init(&context->owned, &context->object);
	list_init(&context->in_space.link);
	companion_init(&context->companion);

	const struct miniport_context_desc desc = {
		.kernel_handle = context,
		.driver_device = device->driver_device,
		.node = context->node,
		.engine_mask = context->engine_mask,
		.is_virtual = context->is_virtual,
		.has_hw_queues = options->has_hw_queues,
		.private_data = options->private_data,
		.private_bytes = options->private_bytes,
	};
	status = adapter_enter(device->adapter);
	if (!NT_SUCCESS(status))
		goto give_back_number;
	context->cancellations.device = device;
	/* Before the driver has it: it may want memory for the context at once. */
	sched_queue_init(&context->queue, &device->work, context->node);
	context->queue.emptied = context_emptied;
	context_memory_begin(&context->driver_memory, device,
			     context->has_hw_queues ? NULL : &context->queue, context);
	status = miniport_create_context(device->adapter->miniport, device->process_adapter->client,
					 &desc, &context->info);
	if (NT_SUCCESS(status) && context->is_virtual)
		gpu_addresses_add_context(device->process_adapter, &context->in_space,
					  context->info.driver_context);
	else if (NT_SUCCESS(status))
		status = context_get_buffers(context);
	adapter_leave(device->adapter);
	if (!NT_SUCCESS(status))
		goto forget_queue;
	begin_hw_queues(context);
	object_get(&device->object);
	trace_context_create(device->process->id, context->object.handle, device->object.handle,
			     context->node);
	sched_queue_name(&context->queue, device->process->id, context->object.handle, "context");

	status = device_join(device, &device->contexts, &context->owned);
	if (!NT_SUCCESS(status)) {
		object_put(&context->object); /* tells the driver, gives back the device */
		return status;
	}
	*context_out = context;
	return STATUS_SUCCESS;

forget_queue:
	sched_queue_finish(&context->queue, SCHED_CANCEL_ALL);
	cancellations_finish(&context->cancellations);
	context_memory_end(&context->driver_memory);
give_back_number:
	lock_finish(&context->companion.making);
	object_abandon(&context->object);
free_context:
	mem_free(context);
	return status;
}

NTSTATUS context_create(struct dxg_device *device, const struct context_options *options,
			struct dxg_context **context_out)
{
	NTSTATUS status = context_check(device, options);

	if (NT_SUCCESS(status))
		status = device_check_alive(device);
	if (NT_SUCCESS(status))
		status = gpu_addresses_hold(device->process_adapter);
	if (!NT_SUCCESS(status))
		return status;
	status = context_make(device, options, context_out);
	gpu_addresses_release(device->process_adapter);
	return status;
}

bool context_destroy(struct dxg_context *subject)
{
	if (!object_retire(&subject->object))
		return false;
	owned_leave(&subject->device->lock, &subject->owned);
	ENDING_OF_CONTEXT_HANDLE(ENDING_CALL)
	object_put(&subject->object);
	return true;
}

static bool destroy_owned(struct object *object)
{
	return context_destroy(object_as(context, object));
}

void context_destroy_all(struct dxg_device *device)
{
	owned_end_all(&device->lock, &device->contexts, destroy_owned);
}
