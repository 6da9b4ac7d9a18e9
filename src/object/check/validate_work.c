/* SPDX-License-Identifier: MIT */
/*
 * validate_work.c - what queued work holds, and destruction that waits for it; see survey.h.
 *
 * Packets hold the bodies of sync objects, and the allocations of their lists as in use. A
 * destruction that waits holds its device, and what it destroys holds all it held before.
 */
#include "object/ending/destruction.h"
#include "object/ending/ending.h"
#include "object/memory/gpu_update.h"
#include "object/submit/queue_sync.h"
#include "object/submit/render_packet.h"
#include "object/check/survey.h"

/* ---- packets: under the scheduler's lock ---- */

static bool is_first_look(struct survey *survey, void *shared)
{
	const struct holders *seen = &survey->shared_by_packets;

	for (size_t i = 0; i < seen->count; i++) {
		if (seen->all[i].item == shared)
			return false;
	}
	survey_hold(survey, &survey->shared_by_packets, shared);
	return true;
}

static void hold_body(void *context, struct sync_body *body)
{
	struct survey *survey = context;

	survey_hold(survey, &survey->awaited, &body->share);
}

static void hold_listed(struct survey *survey, struct render_list *list)
{
	if (!is_first_look(survey, list))
		return;
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->items[i].allocation)
			survey_hold(survey, &survey->named, list->items[i].allocation);
	}
}

static void look_at_packet(void *context, struct sched_packet *packet)
{
	struct survey *survey = context;
	void *group = queue_sync_group(packet);
	struct render_list *list = render_packet_list(packet);

	if (list)
		hold_listed(survey, list);
	else if (!group || is_first_look(survey, group))
		queue_sync_for_each_body(packet, hold_body, survey);
}

/* ---- destruction that waits: how many references on its device it has ---- */

/* The reaper may be faster than the rest of the survey. */
static void keep_body(struct survey *survey, struct allocation_body *body)
{
	size_t count = survey->kept.count;

	survey_hold(survey, &survey->kept, body);
	if (survey->kept.count > count)
		refcount_get(&body->lookers);
}

static void keep_share(struct survey *survey, struct share *share)
{
	size_t count = survey->kept_shares.count;

	survey_hold(survey, &survey->kept_shares, share);
	if (survey->kept_shares.count == count)
		return;
	share_get(share);
	survey_hold(survey, &survey->awaited, share);
}

static uint32_t look_at_leaving(struct survey *survey, const struct destroy_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		struct dxg_allocation *allocation = batch->allocations[i];

		if (!allocation->is_being_destroyed)
			survey_wrong(survey, "an allocation is to be destroyed by nobody");
		keep_body(survey, allocation->body);
		survey_hold_with(survey, &survey->allocation_bodies, allocation->body,
				 allocation->lock_count);
		if (allocation->resource)
			survey_hold(survey, &survey->leaving, allocation->resource);
	}
	if (batch->is_resource_going) {
		keep_share(survey, &batch->body->share);
		survey_hold(survey, &survey->opened, &batch->body->share);
	}
	return 1 + batch->count + batch->is_resource_going;
}

/* A reference on its body, and no opening any more; its handle finds nothing. */
static uint32_t look_at_ending_fence(struct survey *survey, struct dxg_sync_object *sync)
{
	if (!sync->is_closed || !sync->address)
		survey_wrong(survey, "sync object 0x%08x is ending, and open or no fence of a GPU",
			     sync->object.handle);
	keep_share(survey, &sync->body->share);
	survey_hold(survey, &survey->awaited, &sync->body->share);
	survey->ending_fences++;
	return 1;
}

static uint32_t look_at_endings_locked(struct survey *survey, struct dxg_device *device)
{
	uint32_t references = 0;
	uint32_t count = 0;

	lock_assert_held(&device->lock);
	survey->ending_fences = 0;
	list_each (struct ending, ending, &device->endings, link) {
		count++;
		if (ending->holds_line || ending_is_due_locked(device, ending))
			survey_wrong(survey, "device 0x%08x is ending %s", device->object.handle,
				     ending->kind->name);
		else if (sync_object_is_ending(ending))
			references += look_at_ending_fence(survey, ending->subject);
		else
			references += look_at_leaving(survey, ending->subject);
	}
	if (count != device->ending_count)
		survey_wrong(survey, "device 0x%08x counts %u endings in its line, and has %u",
			     device->object.handle, device->ending_count, count);
	if (survey->ending_fences > 0 && sched_owner_is_idle(&device->work))
		survey_wrong(survey, "device 0x%08x has no work, and fences wait for it",
			     device->object.handle);
	return references;
}

uint32_t survey_work_locked(struct survey *survey, struct dxg_device *device)
{
	lock_assert_held(&device->lock);
	survey->leaving.count = 0;
	survey->named.count = 0;
	sched_owner_for_each_packet(&device->work, look_at_packet, survey);
	uint32_t references = look_at_endings_locked(survey, device);
	holders_sort(&survey->leaving);
	holders_sort(&survey->named);
	return references;
}

void survey_updates(struct survey *survey, struct process_adapter *process_adapter)
{
	gpu_update_for_each_body(process_adapter, hold_body, survey);
}
