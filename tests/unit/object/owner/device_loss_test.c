/* SPDX-License-Identifier: MIT */
/*
 * device_loss_test.c - a lost device whose work the hardware still has, in a whole host with the
 * recorder, which is turned by hand, as its driver.
 */
#include "unit/object/scene.h"

#include <sched.h>

#include "object/submit/submission.h"
#include "object/fence/sync_object.h"

enum { PATIENCE = 4000000 };

/* ---- the world ---- */

static struct dxg_device *crank; /* a device that turns the other's GPU */
static struct dxg_context *context;
static struct dxg_sync_object *fence;

static void begin(void)
{
	const struct sync_options options = {
		.kind = SYNC_MONITORED_FENCE,
		.scheme = SHARE_PRIVATE,
		.access = { .may_signal = true,
			    .may_wait = true,
			    .jumps_when_lost = true,
			    .has_gpu_access = true },
		.event = EVENT_NONE,
	};

	scene_begin({ "NbAsymetricProcessingNodes", NULL, 4 }, { "PagingNode", NULL, 3 },
		    { "PagingAtOnce", NULL, 1 }, { "HandCranked", NULL, 1 },
		    { "TdrLevel", NULL, 0 });
	client_begin(&app, 1);
	device_begin(app.process, &crank);
	EXPECT_EQ(context_create(app.device, &(struct context_options){ .is_virtual = true },
				 &context),
		  STATUS_SUCCESS);
	EXPECT_EQ(sync_object_create(app.device, &options, &fence), STATUS_SUCCESS);
}

static void finish(void)
{
	object_put(&fence->object);
	object_put(&context->object);
	object_put(&crank->object);
	client_end(&app);
	scene_end();
}

static void submit(void)
{
	EXPECT_EQ(submission_queue(
			  &context, 1,
			  &(struct submission_request){ .gpu_address = 0x10000, .size_bytes = 64 }),
		  STATUS_SUCCESS);
}

static void complete(void)
{
	struct recorder_escape escape = { .command = RECORDER_COMPLETE, .node = 0 };

	EXPECT(NT_SUCCESS(escape_to_driver(crank, NULL, &escape)));
}

/* As the GPU does, past us. */
static void gpu_writes(uint64_t value)
{
	atomic_store(fence->body->slot.value, value);
}

static void await_maximum(void)
{
	for (unsigned i = 0; fence_value(&fence->body->fence) != UINT64_MAX; i++) {
		if (i == PATIENCE)
			fail_msg("the fence is at %llu",
				 (unsigned long long)fence_value(&fence->body->fence));
		thread_point();
		sched_yield();
	}
}

/* ---- tests ---- */

TEST(device_loss, takes_fences_to_their_maximum_at_once)
{
	begin();
	submit();
	device_lose(app.device, DEVICE_DMA_FAULT, NULL);
	await_maximum();
	complete();
	finish();
}

/* Who waits for it later would wait for ever. */
TEST(device_loss, keeps_fences_at_their_maximum_whatever_the_hardware_still_writes)
{
	begin();
	submit();
	device_lose(app.device, DEVICE_DMA_FAULT, NULL);
	await_maximum();
	gpu_writes(5);
	complete();
	await_maximum();
	finish();
}

TEST_MAIN("object/device_loss")
