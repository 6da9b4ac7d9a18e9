/* SPDX-License-Identifier: MIT */
/*
 * device_loss_test.c - a lost device whose work the hardware still has, in a whole host with the
 * recorder, which is turned by hand, as its driver.
 */
#include "support/test.h"

#include <sched.h>

#include "base/mem.h"
#include "base/thread.h"
#include "drivers/recorder/recorder.h"
#include "object/kernel.h"
#include "object/submission.h"
#include "object/sync_object.h"

enum { PATIENCE = 4000000 };

EXPORTED void recorder_note(const char *line)
{
	(void)line;
}

/* ---- the world ---- */

static struct mem_usage before;
static struct dxg_kernel kernel;
static struct dxg_process *process;
static struct dxg_device *device;
static struct dxg_device *crank; /* a device that turns the others' GPU */
static struct dxg_context *context;
static struct dxg_sync_object *fence;

static void make_device(struct dxg_device **device_out)
{
	EXPECT_EQ(device_create(process, kernel.adapters[0], &(struct device_options){ 0 },
				device_out),
		  STATUS_SUCCESS);
}

static void begin(void)
{
	struct miniport_setting settings[] = {
		{ "NbAsymetricProcessingNodes", NULL, 4 },
		{ "PagingNode", NULL, 3 },
		{ "PagingAtOnce", NULL, 1 },
		{ "HandCranked", NULL, 1 },
		{ "TdrLevel", NULL, 0 },
	};
	const struct miniport_config config = { .driver = RECORDER_PATH,
						.name = "recorder",
						.adapter_id = 1,
						.luid = 0x10000,
						.settings = settings,
						.setting_count = ARRAY_SIZE(settings) };
	const struct sync_options options = {
		.kind = SYNC_MONITORED_FENCE,
		.scheme = SHARE_PRIVATE,
		.access = { .may_signal = true,
			    .may_wait = true,
			    .jumps_when_lost = true,
			    .has_gpu_access = true },
		.event = EVENT_NONE,
	};

	before = mem_usage();
	EXPECT_EQ(kernel_start(&kernel, &config, 1), STATUS_SUCCESS);
	EXPECT_EQ(kernel.adapter_count, 1);
	EXPECT_EQ(process_create(1, &kernel.shares, &process), STATUS_SUCCESS);
	make_device(&device);
	make_device(&crank);
	EXPECT_EQ(context_create(device, &(struct context_options){ .is_virtual = true }, &context),
		  STATUS_SUCCESS);
	EXPECT_EQ(sync_object_create(device, &options, &fence), STATUS_SUCCESS);
}

static void finish(void)
{
	object_put(&fence->object);
	object_put(&context->object);
	object_put(&crank->object);
	object_put(&device->object);
	process_destroy(process);
	kernel_end(&kernel);
	EXPECT_EQ(mem_usage().blocks, before.blocks);
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
	struct miniport_escape_desc desc = { .driver_device = crank->driver_device,
					     .private_data = &escape,
					     .private_bytes = sizeof(escape) };

	EXPECT_EQ(miniport_escape(kernel.adapters[0]->miniport, crank->process_adapter->client,
				  &desc),
		  STATUS_SUCCESS);
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
	device_lose(device, DEVICE_DMA_FAULT, NULL);
	await_maximum();
	complete();
	finish();
}

/* Who waits for it later would wait for ever. */
TEST(device_loss, keeps_fences_at_their_maximum_whatever_the_hardware_still_writes)
{
	begin();
	submit();
	device_lose(device, DEVICE_DMA_FAULT, NULL);
	await_maximum();
	gpu_writes(5);
	complete();
	await_maximum();
	finish();
}

TEST_MAIN("object/device_loss")
