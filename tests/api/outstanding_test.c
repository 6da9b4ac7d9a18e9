/* SPDX-License-Identifier: MIT */
/*
 * outstanding_test.c - how much may be under way: a queue that is full makes its client wait with
 * work, not with waits and signals, and the hardware has no more than the driver says it can take.
 */
#include "api/hw_queue.h"
#include "api/render.h"

enum { WITH_QUEUES, WITH_LISTS, WITH_A_CAP, OUTSTANDING_ADAPTERS };
enum { FULL = 256, CAP = 3 };

struct more {
	NTSTATUS (*give)(struct more *more);
	D3DKMT_HANDLE context;
	struct hw_queue queue;
	struct painter painter;
	D3DKMT_HANDLE fence;
	UINT64 count;
	NTSTATUS status;
};

static NTSTATUS give_work(struct more *more)
{
	return submit(more->context, 3);
}

static NTSTATUS give_signal(struct more *more)
{
	return queue_signal(more->context, more->fence, more->count + 1);
}

static NTSTATUS give_wait(struct more *more)
{
	return queue_wait(more->context, more->fence, 1);
}

static NTSTATUS give_hw_work(struct more *more)
{
	return hw_submit(more->queue, more->count, 3);
}

static NTSTATUS give_hw_signal(struct more *more)
{
	return hw_signal(more->queue, more->fence, more->count + 1);
}

static NTSTATUS give_hw_wait(struct more *more)
{
	return hw_wait(more->queue, more->fence, 1);
}

static NTSTATUS give_list(struct more *more)
{
	return paint(&more->painter, 8);
}

static NTSTATUS give(struct more *more)
{
	more->count++;
	return more->give(more);
}

static void give_one_more(void *argument)
{
	struct more *more = argument;

	more->status = give(more);
	mark("there was room");
}

/* Behind a wait for `fence`, until nobody may give more without waiting. */
static void expect_waits_for_room(struct more *more, unsigned held)
{
	for (unsigned i = held; i < FULL; i++)
		EXPECT_OK(give(more));
	struct dxgk_test_thread *thread = begin_thread(give_one_more, more);
	settle();
	EXPECT_EQ(notes_count("there was room"), 0);
	mark("made room");
	EXPECT_OK(signal_fence(more->fence, 1));
	AWAIT(notes_count("there was room") > 0 || (pending(0) > 0 && complete(0) == 0));
	dxgk_test_thread_join(thread);
	EXPECT_OK(more->status);
	EXPECT(notes_in_order("made room", "there was room"));
	EXPECT_OK(destroy_device(device));
}

static void give_many(void *argument)
{
	struct more *more = argument;

	for (unsigned i = 0; i < 3 * FULL && NT_SUCCESS(more->status); i++)
		more->status = give(more);
	mark("gave them all");
}

/* Who is to end the wait in front may be the thread that gives. */
static void expect_no_wait(struct more *more)
{
	struct dxgk_test_thread *thread = begin_thread(give_many, more);

	AWAIT(notes_count("gave them all") > 0);
	dxgk_test_thread_join(thread);
	EXPECT_OK(more->status);
	EXPECT_EQ(more->count, 3 * FULL);
	EXPECT_OK(signal_fence(more->fence, 1));
	EXPECT_OK(destroy_device(device));
}

static void try(bool is_hw, NTSTATUS (*kind)(struct more *more))
{
	struct more more = { .give = kind };

	begin_on(WITH_QUEUES);
	more.fence = create_fence(0, 0, NULL);
	if (is_hw)
		EXPECT_OK(hw_wait(more.queue = create_hw_queue(0), more.fence, 1));
	else
		EXPECT_OK(queue_wait(more.context = create_virtual(0), more.fence, 1));
	if (kind == give_work || kind == give_hw_work)
		expect_waits_for_room(&more, 1);
	else
		expect_no_wait(&more);
}

TEST(full, queue_takes_no_more_work)
{
	try(false, give_work);
}

TEST(full, queue_takes_signals)
{
	try(false, give_signal);
}

TEST(full, queue_takes_waits)
{
	try(false, give_wait);
}

TEST(full, hardware_queue_takes_no_more_work)
{
	try(true, give_hw_work);
}

TEST(full, hardware_queue_takes_signals)
{
	try(true, give_hw_signal);
}

TEST(full, hardware_queue_takes_waits)
{
	try(true, give_hw_wait);
}

TEST(full, queue_takes_no_more_lists)
{
	struct more more = { .give = give_list };

	begin_on(WITH_LISTS);
	more.fence = create_fence(0, 0, NULL);
	more.painter = painter_on(0);
	EXPECT_OK(queue_wait(more.painter.context, more.fence, 1));
	expect_waits_for_room(&more, 1);
}

TEST(hardware, has_no_more_than_the_driver_can_take)
{
	begin_on(WITH_A_CAP);
	D3DKMT_HANDLE context = create_virtual(0);

	for (unsigned i = 0; i < 8; i++)
		EXPECT_OK(submit(context, 1 + i));
	for (unsigned left = 8; left > 0; left--) {
		AWAIT(pending(0) == (left < CAP ? left : CAP));
		settle();
		EXPECT(pending(0) <= CAP);
		AWAIT(complete(0) != 0);
	}
	EXPECT_OK(destroy_device(device));
}

static unsigned pending_of_all(void)
{
	return pending(0) + hw_pending(0) + hw_pending(1);
}

static void complete_some(void)
{
	if (complete(0) == 0 && hw_complete(0) == 0)
		(void)hw_complete(1);
}

/* The cap is the node's: whichever way a packet comes there. */
TEST(hardware, has_no_more_than_that_of_hardware_queues_and_contexts_together)
{
	enum { EACH = 4, ALL = 3 * EACH };

	begin_on(WITH_A_CAP);
	D3DKMT_HANDLE context = create_virtual(0);
	struct hw_queue queues[2] = { create_hw_queue(0), create_hw_queue(0) };

	for (unsigned i = 0; i < EACH; i++) {
		EXPECT_OK(hw_submit(queues[0], 1 + i, 10 + i));
		EXPECT_OK(submit(context, 1 + i));
		EXPECT_OK(hw_submit(queues[1], 1 + i, 20 + i));
	}
	for (unsigned left = ALL; left > 0; left--) {
		AWAIT(pending_of_all() >= (left < CAP ? left : CAP));
		settle();
		EXPECT_EQ(pending_of_all(), left < CAP ? left : CAP);
		complete_some();
	}
	settle();
	EXPECT_EQ(pending_of_all(), 0);
	EXPECT_EQ(*queues[0].view, EACH);
	EXPECT_EQ(*queues[1].view, EACH);
	EXPECT_OK(destroy_device(device));
}

/* Nobody said how many. */
TEST(hardware, without_a_cap_has_all_of_a_hardware_queue)
{
	begin_on(WITH_QUEUES);
	struct hw_queue queue = create_hw_queue(0);

	for (unsigned i = 0; i < 40; i++)
		EXPECT_OK(hw_submit(queue, 1 + i, 1 + i));
	EXPECT_EQ(hw_pending(0), 40);
	EXPECT_EQ(hw_complete_to(0, 40, false), 40);
	AWAIT(*queue.view == 40);
	EXPECT_OK(destroy_device(device));
}

int main(int argc, char **argv)
{
	static const char *const registries[OUTSTANDING_ADAPTERS] = {
		[WITH_QUEUES] = "\"HwQueues\": 1",
		[WITH_LISTS] = "\"Model\": \"physical\"",
		/* 0x15, HwQueuePacketCap 3 */
		[WITH_A_CAP] = "\"SchedulingCaps\": 405, \"HwQueues\": 1",
	};

	crank_profile_of(registries, OUTSTANDING_ADAPTERS, "\"HandCranked\": 1, ");
	return api_main("api/outstanding", argc, argv);
}
