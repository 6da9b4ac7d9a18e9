/* SPDX-License-Identifier: MIT */
/*
 * behind_test.c - a job that takes over where another was, right behind it: what is told when, and
 * what the hardware does in which order. Both are with the hardware before either is done.
 */
#include <string.h>

#include "base/clock.h"
#include "fake.h"
#include "support/test.h"

enum { PAGES = 16, BYTES = PAGES * 4096 };

static const struct miniport_page_run room = { 16, PAGES };
static const struct fake_config plain = { 0 };
static const struct fake_config virtual = { .has_mmu = true };

/* One copies a room out; when that is built, another begins to copy its own content into it. */
struct change {
	struct fake_job leaver; /* first: the job is the change */
	struct fake_job comer;
	struct fake_pages leavers_pages;
	struct fake_pages comers_pages;
	struct fake *fake;
	_Atomic uint32_t built_count;
	bool carries_nothing; /* the other fails before it begins */
	bool was_done;
};

static void on_built(struct paging_job *job)
{
	struct change *change = container_of(job, struct change, leaver.job);

	lock_assert_none_held("a job that was built");
	change->was_done = atomic_load(&change->leaver.done_count) > 0;
	if (change->carries_nothing)
		change->comer.job.next = NULL;
	paging_job_behind(&change->comer.job, paging_job_last_packet(job));
	paging_job_queue(&change->comer.job);
	atomic_fetch_add(&change->built_count, 1);
	notice_give(&change->fake->sched.changed);
}

static void add_copy(struct fake_job *job, struct miniport_location source,
		     struct miniport_location destination)
{
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_TRANSFER);

	op->source = source;
	op->target = destination;
	op->size_bytes = BYTES;
	op->transfer.is_start = true;
	op->transfer.is_end = true;
}

static void change_init(struct change *change, const struct fake_config *config)
{
	memset(change, 0, sizeof(*change));
	change->fake = fake_create(config);
	fake_pages_init(&change->leavers_pages, 4, PAGES / 4);
	fake_pages_init(&change->comers_pages, 4, PAGES / 4);
	for (uint64_t at = 0; at < BYTES; at += 4096)
		memset(fake_pages_byte(&change->comers_pages, at), 'c', 4096);
	memset(fake_pointer(&change->fake->memory, FAKE_LOCAL, room.first_pfn * 4096), 'l', BYTES);
	fake_job_init(&change->leaver, change->fake);
	add_copy(&change->leaver, fake_place(FAKE_LOCAL, &room),
		 fake_pages_place(&change->leavers_pages));
	change->leaver.job.built = on_built;
	fake_job_init(&change->comer, change->fake);
	add_copy(&change->comer, fake_pages_place(&change->comers_pages),
		 fake_place(FAKE_LOCAL, &room));
}

static void change_begin(struct change *change)
{
	paging_job_queue(&change->leaver.job);
	for (;;) {
		uint32_t seen = notice_read(&change->fake->sched.changed);

		if (atomic_load(&change->built_count) > 0)
			return;
		notice_wait(&change->fake->sched.changed, seen, UINT64_MAX);
	}
}

static void change_finish(struct change *change)
{
	fake_pages_finish(&change->leavers_pages);
	fake_pages_finish(&change->comers_pages);
	fake_destroy(change->fake);
}

static bool left(const struct change *change)
{
	for (uint64_t at = 0; at < BYTES; at++) {
		if (*fake_pages_byte(&change->leavers_pages, at) != 'l')
			return false;
	}
	return true;
}

static bool came(const struct change *change)
{
	const uint8_t *bytes =
		fake_pointer(&change->fake->memory, FAKE_LOCAL, room.first_pfn * 4096);

	for (uint64_t at = 0; at < BYTES; at++) {
		if (bytes[at] != 'c')
			return false;
	}
	return true;
}

/* Both are built, and the hardware has all of it; nothing is done. */
static void change_wait_for_hardware(struct change *change)
{
	for (;;) {
		uint32_t seen = notice_read(&change->fake->sched.changed);
		uint8_t state = atomic_load(&change->comer.job.state);
		struct pager *pager = change->fake->pager;

		lock_acquire(&pager->lock);
		bool is_there = state == JOB_BUILT &&
				change->comer.job.last_sequence <= pager->submitted_sequence;
		lock_release(&pager->lock);
		if (is_there)
			return;
		notice_wait(&change->fake->sched.changed, seen, clock_deadline(NS_PER_MS));
	}
}

static void expect_order(const struct fake_config *config)
{
	struct change change;

	change_init(&change, config);
	change_begin(&change);
	change_wait_for_hardware(&change);
	EXPECT(!change.was_done);
	EXPECT_EQ(atomic_load(&change.leaver.done_count), 0);
	EXPECT(!left(&change));
	EXPECT(!came(&change));
	EXPECT(pager_validate(change.fake->pager) == NULL);
	fake_job_complete(&change.leaver);
	fake_job_complete(&change.comer);
	EXPECT_EQ(change.leaver.status, STATUS_SUCCESS);
	EXPECT_EQ(change.comer.status, STATUS_SUCCESS);
	EXPECT(left(&change));
	EXPECT(came(&change));
	change_finish(&change);
}

TEST(behind, the_hardware_does_both_in_order)
{
	expect_order(&plain);
}

TEST(behind, in_the_kernels_own_addresses_too)
{
	expect_order(&virtual);
}

/* Of buffers that hold a part of a move each. */
TEST(behind, in_many_small_packets_too)
{
	static const struct fake_config small = { .has_mmu = true, .transfer_bytes = 4096 };
	struct change change;

	change_init(&change, &small);
	change_begin(&change);
	fake_job_complete(&change.comer);
	EXPECT(change.leaver.order < change.comer.order);
	EXPECT(left(&change));
	EXPECT(came(&change));
	change_finish(&change);
}

#define CHANGE_TEST(suite, claim, ...)                                                             \
	TEST_ON(change, __VA_ARGS__, change_finish(&change), suite, claim)

/* Whatever it met: the room is not left before. */
CHANGE_TEST(behind, who_carries_nothing_is_done_when_the_other_is, change_init(&change, &plain))
{
	change->carries_nothing = true;
	change_begin(change);
	fake_wait_submitted(change->fake, 1);
	EXPECT_EQ(atomic_load(&change->comer.done_count), 0);
	EXPECT(pager_validate(change->fake->pager) == NULL);
	fake_complete_one(change->fake);
	fake_job_wait(&change->comer);
	EXPECT_EQ(atomic_load(&change->leaver.done_count), 1);
	EXPECT(change->leaver.order < change->comer.order);
}

static NTSTATUS fail_way_in(struct fake *fake, const struct miniport_paging_op *op,
			    struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)fake, (void)buffer, (void)multipass;
	return op->kind == MINIPORT_PAGING_TRANSFER && op->target.segment != 0
		       ? STATUS_INVALID_PARAMETER
		       : STATUS_PENDING;
}

CHANGE_TEST(behind, whose_operation_fails_is_done_when_the_other_is, change_init(&change, &plain))
{
	change->fake->hook = fail_way_in;
	change_begin(change);
	fake_wait_submitted(change->fake, 1);
	EXPECT_EQ(atomic_load(&change->comer.done_count), 0);
	fake_complete_one(change->fake);
	fake_job_wait(&change->comer);
	EXPECT(change->leaver.order < change->comer.order);
	EXPECT_EQ(change->comer.status, STATUS_DRIVER_INTERNAL_ERROR);
	EXPECT_EQ(change->leaver.status, STATUS_SUCCESS);
	EXPECT(left(change));
}

/* What the CPU does at once must not be done before. */
CHANGE_TEST(behind, what_acts_at_once_waits_for_the_other, change_init(&change, &plain))
{
	change->comer.op_count = 0;
	fake_job_add_step(&change->comer, PAGING_SETTLE);
	add_copy(&change->comer, fake_pages_place(&change->comers_pages),
		 fake_place(FAKE_LOCAL, &room));
	change_begin(change);
	fake_wait_submitted(change->fake, 1);
	EXPECT_EQ(fake_count(change->fake, 0, MINIPORT_PAGING_TRANSFER), 1);
	fake_complete_one(change->fake);
	fake_job_complete(&change->comer);
	EXPECT_EQ(fake_count(change->fake, 0, MINIPORT_PAGING_TRANSFER), 2);
	EXPECT(left(change));
	EXPECT(came(change));
}

static void built_must_not_be_told(struct paging_job *job)
{
	(void)job;
	EXPECT(false);
}

static NTSTATUS fail_all(struct fake *fake, const struct miniport_paging_op *op,
			 struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)fake, (void)op, (void)buffer, (void)multipass;
	return STATUS_INVALID_PARAMETER;
}

CHANGE_TEST(built, is_not_told_of_what_was_not, change_init(&change, &plain))
{
	change->leaver.job.built = built_must_not_be_told;
	change->fake->hook = fail_all;
	paging_job_queue(&change->leaver.job);
	fake_job_wait(&change->leaver);
	EXPECT_EQ(change->leaver.status, STATUS_DRIVER_INTERNAL_ERROR);
}

/* Nothing of before comes back to be behind of. */
TEST(reset, ends_both)
{
	for (int with_restart = 0; with_restart < 2; with_restart++) {
		for (int carries_nothing = 0; carries_nothing < 2; carries_nothing++) {
			struct change change;

			change_init(&change, &plain);
			change.carries_nothing = carries_nothing;
			change_begin(&change);
			pager_suspend(change.fake->pager);
			while (fake_in_flight(change.fake) > 0)
				fake_retire_one(change.fake, SCHED_ABORTED);
			if (with_restart)
				pager_restart(change.fake->pager);
			else
				pager_give_up(change.fake->pager);
			fake_set_automatic(change.fake, true);
			fake_job_wait(&change.leaver);
			fake_job_wait(&change.comer);
			EXPECT(!NT_SUCCESS(change.leaver.status));
			EXPECT(pager_validate(change.fake->pager) == NULL);
			change_finish(&change);
		}
	}
}

/* Behind a packet that was forgotten before the job was queued: it does not wait for ever. */
FAKE_TEST(reset, of_the_packet_that_it_is_behind_holds_nobody_up, &plain)
{
	struct fake_job job;

	pager_suspend(fake->pager);
	pager_restart(fake->pager);
	fake_job_init(&job, fake);
	job.job.next = NULL;
	paging_job_behind(&job.job, 1); /* the next one, which nobody is about to submit */
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
}

TEST_MAIN("paging/behind")
