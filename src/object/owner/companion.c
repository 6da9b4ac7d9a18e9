/* SPDX-License-Identifier: MIT */
#include "base/refusal.h"
#include "object/ending/endings.h"
#include "object/owner/companion.h"
#include "object/owner/context.h"
#include "pagetable/page_tables.h"

void companion_init(struct companion *companion)
{
	lock_init(&companion->making, LOCK_RANK_COMPANION, "the companion of a context");
}

/* A driver that knows no contexts is only ever told of devices. */
static bool is_needed(const struct dxg_adapter *adapter)
{
	return adapter->tables && adapter->info->is_multi_engine_aware &&
	       adapter->tables->mmu.update_mode != MINIPORT_TABLE_CPU_VIRTUAL;
}

static void destroy_in_driver(struct dxg_context *context)
{
	const struct dxg_device *device = context->device;

	miniport_destroy_context(device->adapter->miniport, device->process_adapter->client,
				 context->companion.info.driver_context);
}

/* In the adapter's gate. */
static NTSTATUS make_locked(struct dxg_context *context)
{
	struct companion *companion = &context->companion;
	const struct dxg_device *device = context->device;
	struct pager_stream *stream;
	const struct miniport_context_desc desc = {
		.kernel_handle = companion,
		.driver_device = device->driver_device,
		.node = context->info.paging_companion_node,
		.engine_mask = context->engine_mask,
		.is_virtual = true,
		.is_kernels = true,
	};

	lock_assert_held(&companion->making);
	NTSTATUS status =
		miniport_create_context(device->adapter->miniport, device->process_adapter->client,
					&desc, &companion->info);
	if (!NT_SUCCESS(status))
		return status;
	status = pager_stream_create(device->adapter->pager, desc.node,
				     companion->info.driver_context, &stream);
	if (NT_SUCCESS(status))
		atomic_store(&companion->stream, stream);
	else
		destroy_in_driver(context);
	return status;
}

static NTSTATUS ensure(struct dxg_context *context)
{
	struct companion *companion = &context->companion;
	struct dxg_adapter *adapter = context->device->adapter;

	if (!is_needed(adapter) || atomic_load(&companion->stream))
		return STATUS_SUCCESS;
	NTSTATUS status = adapter_enter(adapter);
	if (!NT_SUCCESS(status))
		return status;
	lock_acquire(&companion->making);
	if (!atomic_load(&companion->stream))
		status = make_locked(context);
	lock_release(&companion->making);
	adapter_leave(adapter);
	return status;
}

NTSTATUS companion_use(struct dxg_context *context, struct pager_stream **stream_out)
{
	struct companion *companion = &context->companion;
	struct lock *lock = &context->device->lock;
	NTSTATUS status = ensure(context);

	if (!NT_SUCCESS(status))
		return status;
	lock_acquire(lock);
	if (companion->is_ending)
		status = invalid(RULE_API_HANDLE, "hContext",
				 "0x%08x was destroyed during the call", context->object.handle);
	else
		companion->uses++;
	lock_release(lock);
	*stream_out = atomic_load(&companion->stream);
	return status;
}

/* Under the lock, which is the device's: with the last use the context may end. */
void companion_release(struct dxg_context *context)
{
	struct companion *companion = &context->companion;
	struct lock *lock = &context->device->lock;

	lock_acquire(lock);
	if (--companion->uses == 0)
		notice_give(&companion->unused);
	lock_release(lock);
}

void companion_end(struct dxg_context *context)
{
	lock_acquire(&context->device->lock);
	context->companion.is_ending = true;
	lock_release(&context->device->lock);
}

/* ---- its stages (endings.h) ---- */

static void await_uses(struct dxg_context *context)
{
	struct companion *companion = &context->companion;
	struct lock *lock = &context->device->lock;

	lock_acquire(lock);
	while (companion->uses > 0)
		notice_wait_relock(&companion->unused, lock);
	lock_release(lock);
}

static void tell_driver_of_end(struct dxg_context *context)
{
	struct pager_stream *stream = atomic_load(&context->companion.stream);

	if (!stream)
		return;
	pager_stream_destroy(stream);
	adapter_enter_to_release(context->device->adapter);
	destroy_in_driver(context);
	adapter_leave(context->device->adapter);
}

void companion_finish(struct dxg_context *subject)
{
	ENDING_OF_COMPANION(ENDING_CALL)
	lock_finish(&subject->companion.making);
}
