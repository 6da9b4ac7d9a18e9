/* SPDX-License-Identifier: MIT */
/*
 * work_model.c - see work.h.
 */
#include "model/work.h"

static void count_queued(struct work_device *device, const struct operation *operation, int by)
{
	if (operation->kind == DO_WAIT || operation->kind == DO_SIGNAL)
		device->fences[operation->fence].queued += (unsigned)by;
	else
		device->memories[operation->to].queued += (unsigned)by;
	if (operation->kind == DO_COPY)
		device->memories[operation->from].queued += (unsigned)by;
}

/* Memory whose bytes nobody knows is known again when all of it is filled. */
static void do_fill(struct work_memory *to, const struct operation *operation)
{
	const uint32_t pattern = (uint32_t)operation->value;

	for (uint32_t i = 0; i < operation->size_bytes; i += 4)
		memcpy(to->bytes + operation->to_at + i, &pattern, 4);
	to->is_known = to->is_known || operation->size_bytes == to->size_bytes;
}

static void do_copy(struct work_memory *to, const struct work_memory *from,
		    const struct operation *operation)
{
	memcpy(to->bytes + operation->to_at, from->bytes + operation->from_at,
	       operation->size_bytes);
	to->is_known = to->is_known && from->is_known;
}

/* False: it has to wait. */
static bool try_operation(struct work_device *device, const struct operation *operation)
{
	struct work_memory *to = &device->memories[operation->to];
	struct work_fence *fence = &device->fences[operation->fence];

	switch (operation->kind) {
	case DO_WAIT:
		return fence->value >= operation->value;
	case DO_SIGNAL:
		if (fence->value < operation->value)
			fence->value = operation->value;
		return true;
	case DO_FILL:
		do_fill(to, operation);
		return true;
	case DO_COPY:
		do_copy(to, &device->memories[operation->from], operation);
		return true;
	case DO_WRITE:
		memcpy(to->bytes + operation->to_at, &operation->value, 8);
		return true;
	}
	return true;
}

/* True when something was done. */
static bool run_context(struct work_device *device, struct work_context *context)
{
	unsigned done = 0;

	while (done < context->count && try_operation(device, &context->queue[done]))
		count_queued(device, &context->queue[done++], -1);
	context->count -= done;
	memmove(context->queue, context->queue + done, context->count * sizeof(context->queue[0]));
	return done > 0;
}

static void run_all(struct work_device *device)
{
	bool has_moved = true;

	while (has_moved) {
		has_moved = false;
		for (int i = 0; i < WORK_CONTEXTS; i++)
			has_moved |= run_context(device, &device->contexts[i]);
	}
}

void work_queue(struct work_device *device, int context, const struct operation *operation)
{
	struct work_context *to = &device->contexts[context];

	EXPECT(to->count < WORK_QUEUED);
	to->queue[to->count++] = *operation;
	count_queued(device, operation, 1);
	run_all(device);
}

void work_signal(struct work_device *device, int fence, uint64_t value)
{
	if (device->fences[fence].value < value)
		device->fences[fence].value = value;
	run_all(device);
}

unsigned work_cancel(struct work_device *device, int context)
{
	struct work_context *from = &device->contexts[context];
	unsigned count = from->count;

	for (unsigned i = 0; i < count; i++)
		count_queued(device, &from->queue[i], -1);
	from->count = 0;
	return count;
}

void work_lose(struct work_run *run, struct work_device *device)
{
	device->is_lost = true;
	run->losses++;
	for (int i = 0; i < WORK_CONTEXTS; i++)
		run->cancelled += work_cancel(device, i);
	for (int i = 0; i < WORK_FENCES; i++)
		device->fences[i].value = UINT64_MAX;
	for (int i = 0; i < WORK_MEMORIES; i++)
		device->memories[i].is_known = false;
}

bool work_is_held_up(const struct work_device *device)
{
	for (int i = 0; i < WORK_CONTEXTS; i++) {
		if (device->contexts[i].count > 0)
			return true;
	}
	return false;
}

int work_free_fence(const struct work_device *device)
{
	for (int i = 0; i < WORK_FENCES; i++) {
		if (!device->fences[i].is_open && device->fences[i].queued == 0)
			return i;
	}
	return NOBODY;
}

int work_free_context(const struct work_device *device)
{
	for (int i = 0; i < WORK_CONTEXTS; i++) {
		if (!device->contexts[i].is_live)
			return i;
	}
	return NOBODY;
}

int work_free_memory(const struct work_device *device)
{
	for (int i = 0; i < WORK_MEMORIES; i++) {
		if (!device->memories[i].is_live && device->memories[i].queued == 0)
			return i;
	}
	return NOBODY;
}
