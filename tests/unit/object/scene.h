/* SPDX-License-Identifier: MIT */
/*
 * scene.h - a whole host in the program with the recorder as its driver: a kernel, its adapter, and
 * clients, each a process with a device. Tests add what they are about.
 *
 * The driver's notes are kept; drivers/recorder/recorder.h has the legend.
 */
#ifndef TESTS_UNIT_OBJECT_SCENE_H
#define TESTS_UNIT_OBJECT_SCENE_H

#include "support/notes.h"
#include "support/test.h"

#include "base/mem.h"
#include "base/thread.h"
#include "drivers/recorder/recorder.h"
#include "object/owner/context.h"
#include "object/owner/device.h"
#include "object/owner/kernel.h"

/* ---- the driver's notes ---- */

static void (*note_hook)(const char *line); /* hears each first, where the driver says it */

EXPORTED void recorder_note(const char *line)
{
	if (note_hook)
		note_hook(line);
	notes_add(line);
}

static inline unsigned notes_of(const char *text)
{
	unsigned count = 0;

	pthread_mutex_lock(&notes_lock);
	for (const char *at = notes; (at = strstr(at, text)) != NULL; at++)
		count++;
	pthread_mutex_unlock(&notes_lock);
	return count;
}

/* ---- the host ---- */

static struct mem_usage before;
static struct dxg_kernel kernel;
static struct dxg_adapter *adapter;

/* With these values in the driver's registry. */
#define scene_begin(...)                                                                           \
	scene_begin_with((const struct miniport_setting[]){ __VA_ARGS__ },                         \
			 sizeof((const struct miniport_setting[]){ __VA_ARGS__ }) /                \
				 sizeof(struct miniport_setting))

static inline void scene_begin_with(const struct miniport_setting *settings, size_t count)
{
	const struct miniport_config config = { .driver = RECORDER_PATH,
						.name = "recorder",
						.adapter_id = 1,
						.luid = 0x10000,
						.settings = settings,
						.setting_count = count };

	notes_forget();
	before = mem_usage();
	EXPECT_EQ(kernel_start(&kernel, &config, 1), STATUS_SUCCESS);
	EXPECT_EQ(kernel.adapter_count, 1);
	adapter = kernel.adapters[0];
}

/* The driver had nothing to complain about, and nothing is left. */
static inline void scene_end(void)
{
	kernel_end(&kernel);
	EXPECT_EQ(notes_of("WRONG"), 0);
	EXPECT_EQ(mem_usage().blocks, before.blocks);
}

/* ---- clients ---- */

struct client {
	struct dxg_process *process;
	struct dxg_device *device;
};

static struct client app; /* the one under test */

static inline void device_begin(struct dxg_process *process, struct dxg_device **device_out)
{
	EXPECT_EQ(device_create(process, adapter, &(struct device_options){ 0 }, device_out),
		  STATUS_SUCCESS);
}

static inline void client_begin(struct client *client, unsigned id)
{
	const struct process_identity identity = { .pid = id, .name = "client" };

	EXPECT_EQ(process_create(&kernel, &identity, NULL, &client->process), STATUS_SUCCESS);
	device_begin(client->process, &client->device);
}

static inline void client_end(struct client *client)
{
	object_put(&client->device->object);
	process_destroy(client->process);
}

/* Most tests: with one client, and nothing in the registry. */
static inline void begin_plain(void)
{
	scene_begin_with(NULL, 0);
	client_begin(&app, 1);
}

static inline void finish_plain(void)
{
	client_end(&app);
	scene_end();
}

#define PLAIN_TEST(suite, claim) TEST_BETWEEN(begin_plain(), finish_plain(), suite, claim)

/* What the driver is told beside its work; the answer comes back in `escape`. */
static inline NTSTATUS escape_to_driver(struct dxg_device *device, struct dxg_context *context,
					struct recorder_escape *escape)
{
	struct miniport_escape_desc desc = {
		.driver_device = device->driver_device,
		.driver_context = context ? context->info.driver_context : NULL,
		.private_data = escape,
		.private_bytes = sizeof(*escape),
	};
	NTSTATUS status =
		miniport_escape(adapter->miniport, device->process_adapter->client, &desc);

	return NT_SUCCESS(status) ? (NTSTATUS)escape->result : status;
}

#endif
