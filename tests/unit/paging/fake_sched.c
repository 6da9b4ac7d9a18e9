/* SPDX-License-Identifier: MIT */
/*
 * fake_sched.c - the scheduler that is turned by hand. See fake.h.
 */
#include "base/clock.h"
#include "fake.h"

void sched_queue_init(struct sched_queue *queue, struct sched_owner *owner, uint32_t node)
{
	*queue = (struct sched_queue){ .sched = owner->sched, .owner = owner, .node = node };
}

/* For traces only. */
void sched_queue_name(struct sched_queue *queue, uint32_t process_id, uint32_t handle,
		      const char *kind)
{
	CHECK(queue->sched && process_id == 0 && handle == 0 && *kind);
}

static struct fake *fake_of(struct sched *sched)
{
	return container_of(sched, struct fake, sched);
}

/* Packets come back in order: nobody takes one while another thread still gives one back. */
static bool take_first(struct fake *fake, struct fake_submission *submission)
{
	lock_acquire(&fake->sched.lock);
	while (fake->packets.first != fake->packets.end &&
	       !fake->packets.queue[fake->packets.first % FAKE_SLOTS].packet)
		fake->packets.first++;
	bool is_there = fake->packets.first != fake->packets.end && !fake->packets.is_retiring;
	is_there = is_there && !fake->packets.queue[fake->packets.first % FAKE_SLOTS].is_parked;
	if (is_there) {
		*submission = fake->packets.queue[fake->packets.first++ % FAKE_SLOTS];
		fake->packets.is_retiring = true;
	}
	lock_release(&fake->sched.lock);
	return is_there;
}

static void retire(struct fake *fake, const struct fake_submission *submission,
		   enum sched_outcome outcome)
{
	submission->packet->ops->retired(submission->packet, outcome);
	lock_acquire(&fake->sched.lock);
	fake->packets.is_retiring = false;
	notice_give(&fake->sched.changed);
	lock_release(&fake->sched.lock);
}

/* What somebody else is giving back meanwhile, that thread looks after. */
static void complete_all(struct fake *fake)
{
	struct fake_submission submission;

	while (take_first(fake, &submission)) {
		fake_execute(fake, &submission);
		retire(fake, &submission, SCHED_DONE);
	}
}

/* The oldest of the queue; NULL: there is none. */
static struct fake_submission *first_of_locked(struct fake *fake, const struct sched_queue *queue)
{
	for (uint64_t i = fake->packets.first; i != fake->packets.end; i++) {
		struct fake_submission *submission = &fake->packets.queue[i % FAKE_SLOTS];

		if (submission->packet && submission->packet->queue == queue)
			return submission;
	}
	return NULL;
}

/* The oldest that is parked, of whichever queue. */
static struct fake_submission *first_parked_locked(struct fake *fake)
{
	for (uint64_t i = fake->packets.first; i != fake->packets.end; i++) {
		struct fake_submission *submission = &fake->packets.queue[i % FAKE_SLOTS];

		if (submission->packet && submission->is_parked)
			return submission;
	}
	return NULL;
}

/* Retires what is parked; the test sees to what the hardware has. */
void sched_queue_finish(struct sched_queue *queue, enum sched_ending ending)
{
	struct fake *fake = fake_of(queue->sched);

	for (;;) {
		uint32_t seen = notice_read(&fake->sched.changed);
		struct fake_submission submission = { 0 };

		lock_acquire(&fake->sched.lock);
		struct fake_submission *first = first_of_locked(fake, queue);
		bool is_busy = fake->packets.is_retiring;
		if (first && !is_busy && first->is_parked) {
			submission = *first;
			first->packet = NULL; /* the row goes on behind it */
			fake->packets.is_retiring = true;
		}
		lock_release(&fake->sched.lock);
		if (!first && !is_busy)
			return;
		CHECK(!first || ending == SCHED_CANCEL_ALL);
		if (submission.packet)
			retire(fake, &submission, SCHED_CANCELLED);
		else
			notice_wait(&fake->sched.changed, seen, CLOCK_FOREVER);
	}
}

NTSTATUS sched_queue_submit(struct sched_queue *queue, struct sched_packet *packet, bool may_block)
{
	struct fake *fake = fake_of(queue->sched);

	lock_assert_none_held("the scheduler");
	CHECK(packet->kind == SCHED_WORK && packet->keeps_fence && !may_block);
	lock_acquire(&fake->sched.lock);
	if (fake->packets.is_refusing) {
		lock_release(&fake->sched.lock);
		return STATUS_DEVICE_REMOVED;
	}
	packet->queue = queue;
	packet->fence = ++fake->packets.last_fence;
	CHECK(fake->packets.end - fake->packets.first < FAKE_SLOTS);
	fake->packets.queue[fake->packets.end % FAKE_SLOTS] =
		(struct fake_submission){ .packet = packet, .fence = packet->fence };
	lock_release(&fake->sched.lock);

	NTSTATUS status = packet->ops->prepare(packet);
	bool is_parked = status == STATUS_PENDING;
	if (!is_parked)
		status = packet->ops->submit(
			packet,
			&(struct sched_submission){ .node = queue->node, .fence = packet->fence });
	CHECK(NT_SUCCESS(status));

	lock_acquire(&fake->sched.lock);
	fake->packets.queue[fake->packets.end % FAKE_SLOTS].is_parked = is_parked;
	fake->packets.end++;
	bool is_automatic = fake->packets.is_automatic;
	notice_give(&fake->sched.changed);
	lock_release(&fake->sched.lock);

	if (is_parked)
		sched_queue_kick(queue); /* its time may have come meanwhile */
	if (is_automatic)
		complete_all(fake);
	return STATUS_SUCCESS;
}

/* False: not yet. */
static bool try_parked(struct sched_packet *packet)
{
	if (packet->ops->prepare(packet) == STATUS_PENDING)
		return false;
	CHECK(NT_SUCCESS(
		packet->ops->submit(packet, &(struct sched_submission){ .node = packet->queue->node,
									.fence = packet->fence })));
	return true;
}

/* One thread at a time; who comes meanwhile has it look again. */
void sched_queue_kick(struct sched_queue *queue)
{
	struct fake *fake = fake_of(queue->sched);
	struct fake_submission *parked;

	lock_assert_none_held("the scheduler");
	lock_acquire(&fake->sched.lock);
	fake->packets.kicks++;
	while (!fake->packets.is_kicking && (parked = first_parked_locked(fake))) {
		uint32_t kicks = fake->packets.kicks;

		fake->packets.is_kicking = true;
		lock_release(&fake->sched.lock);
		bool is_submitted = try_parked(parked->packet);
		lock_acquire(&fake->sched.lock);
		fake->packets.is_kicking = false;
		parked->is_parked = !is_submitted;
		notice_give(&fake->sched.changed);
		if (!is_submitted && kicks == fake->packets.kicks)
			break;
	}
	lock_release(&fake->sched.lock);
}

static void thread_wait_over(struct sched_wait *wait)
{
	struct sched_thread_wait *waiter = container_of(wait, struct sched_thread_wait, wait);
	struct sched *sched = waiter->owner->sched;

	lock_acquire(&sched->lock);
	waiter->is_over = true;
	notice_give(&sched->changed);
	lock_release(&sched->lock);
}

void sched_thread_wait_begin(struct sched_thread_wait *waiter, struct sched_owner *owner)
{
	*waiter = (struct sched_thread_wait){ .wait.over = thread_wait_over, .owner = owner };
}

bool sched_thread_wait_until_over(struct sched_thread_wait *waiter, bool gives_up)
{
	struct sched *sched = waiter->owner->sched;

	CHECK(!gives_up);
	for (;;) {
		uint32_t seen = notice_read(&sched->changed);

		lock_acquire(&sched->lock);
		bool is_over = waiter->is_over;
		lock_release(&sched->lock);
		if (is_over)
			return true;
		notice_wait(&sched->changed, seen, CLOCK_FOREVER);
	}
}

uint64_t fake_submitted(struct fake *fake)
{
	lock_acquire(&fake->sched.lock);
	uint64_t count = fake->packets.end;
	lock_release(&fake->sched.lock);
	return count;
}

static uint64_t count_of(struct fake *fake, bool is_parked)
{
	uint64_t count = 0;

	lock_acquire(&fake->sched.lock);
	for (uint64_t i = fake->packets.first; i != fake->packets.end; i++) {
		const struct fake_submission *submission = &fake->packets.queue[i % FAKE_SLOTS];

		count += submission->packet && submission->is_parked == is_parked;
	}
	lock_release(&fake->sched.lock);
	return count;
}

/* Not what is parked: that has not got to the hardware, and may end with its queue. */
uint64_t fake_in_flight(struct fake *fake)
{
	return count_of(fake, false);
}

uint64_t fake_parked(struct fake *fake)
{
	return count_of(fake, true);
}

void fake_wait_submitted(struct fake *fake, uint64_t count)
{
	for (;;) {
		uint32_t seen = notice_read(&fake->sched.changed);

		if (fake_submitted(fake) >= count)
			return;
		notice_wait(&fake->sched.changed, seen, CLOCK_FOREVER);
	}
}

static struct fake_submission wait_first(struct fake *fake)
{
	struct fake_submission submission;

	for (;;) {
		uint32_t seen = notice_read(&fake->sched.changed);

		if (take_first(fake, &submission))
			return submission;
		notice_wait(&fake->sched.changed, seen, CLOCK_FOREVER);
	}
}

void fake_complete_one(struct fake *fake)
{
	struct fake_submission submission = wait_first(fake);

	fake_execute(fake, &submission);
	retire(fake, &submission, SCHED_DONE);
}

void fake_retire_one(struct fake *fake, enum sched_outcome outcome)
{
	struct fake_submission submission = wait_first(fake);

	retire(fake, &submission, outcome);
}

void fake_set_automatic(struct fake *fake, bool is_automatic)
{
	lock_acquire(&fake->sched.lock);
	fake->packets.is_automatic = is_automatic;
	lock_release(&fake->sched.lock);
	if (is_automatic)
		complete_all(fake);
}
