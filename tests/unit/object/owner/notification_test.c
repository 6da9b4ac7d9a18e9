/* SPDX-License-Identifier: MIT */
/*
 * notification_test.c - watching adapters: all of them are watched, or none.
 */
#include "unit/object/scene.h"

#include "object/owner/notification.h"
#include "object/owner/process.h"

static unsigned released;

static void release(void *context)
{
	(void)context;
	released++;
}

static void deliver(void (*callback)(void), const struct notification_message *message)
{
	(void)callback;
	(void)message;
	EXPECT(false);
}

static const struct notification_target loss = {
	.kind = NOTIFICATION_LOSS, .deliver = deliver, .context = &released, .release = release
};

/* The same one so many times. */
static NTSTATUS watch(uint32_t count)
{
	struct process_adapter **adapters =
		mem_zalloc_array(count, sizeof(struct process_adapter *));

	EXPECT(adapters);
	for (uint32_t i = 0; i < count; i++)
		adapters[i] = app.device->process_adapter;
	NTSTATUS status = notification_watch(app.process, adapters, count, &loss);
	mem_free(adapters);
	return status;
}

static void expect_watched(uint32_t count)
{
	released = 0;
	EXPECT(!notifier_validate(app.process));
	if (count > 0)
		EXPECT_EQ(notification_unwatch(app.process, loss.context), STATUS_SUCCESS);
	EXPECT_EQ(released, count);
}

PLAIN_TEST(watch, survives_every_allocation_failure)
{
	uint64_t n = 0;
	NTSTATUS status;
	bool has_failed;

	do {
		released = 0;
		struct process_adapter *const both[] = { app.device->process_adapter,
							 app.device->process_adapter };

		mem_fail_nth(++n);
		status = notification_watch(app.process, both, 2, &loss);
		has_failed = mem_fail_stop();
		EXPECT_EQ(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		EXPECT(!notifier_validate(app.process));
		EXPECT_EQ(released, 0);
	} while (has_failed);
	EXPECT(n > 2);
	expect_watched(2);
}

PLAIN_TEST(watch, is_refused_whole_when_it_would_be_too_many)
{
	EXPECT_EQ(watch(2), STATUS_SUCCESS);
	EXPECT_EQ(watch(NOTIFICATION_MOST - 1), STATUS_INSUFFICIENT_RESOURCES);
	expect_watched(2);
	EXPECT_EQ(watch(NOTIFICATION_MOST), STATUS_SUCCESS);
	expect_watched(NOTIFICATION_MOST);
}

TEST_MAIN("object/notification")
