/* SPDX-License-Identifier: MIT */
/*
 * order_test.c - who begins when, who is over when, and who is told.
 */
#include "fake.h"
#include "support/test.h"

static const struct miniport_page_run local_run = { 16, 16 };
static const struct fake_config plain = { 0 };

struct told {
	struct sched_wait wait;
	_Atomic uint32_t count;
};

static void told_over(struct sched_wait *wait)
{
	atomic_fetch_add(&container_of(wait, struct told, wait)->count, 1);
}

static void queue_behind(struct fake_job *follower, struct fake *fake, struct fake_job *first)
{
	fake_job_init(follower, fake);
	fake_job_add_fill(follower, 2);
	fake_job_after(follower, first, 0);
	paging_job_queue(&follower->job);
}

FAKE_TEST(order, a_job_is_done_when_its_packet_is_retired_and_not_before, &plain)
{
	struct fake_job job;

	fake_job_queue_fill(&job, fake, 1);
	fake_wait_submitted(fake, 1);
	EXPECT_EQ(atomic_load(&job.done_count), 0);
	EXPECT(pager_validate(fake->pager) == NULL);
	fake_complete_one(fake);
	fake_job_wait(&job);
	EXPECT_EQ(atomic_load(&job.done_count), 1);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
}

FAKE_TEST(order, a_job_without_operations_is_an_ordering_point, &plain)
{
	struct fake_job job;

	fake_job_init(&job, fake);
	job.job.next = NULL;
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
	EXPECT_EQ(fake_submitted(fake), 0);
}

FAKE_TEST(order, a_follower_is_not_built_before_the_first_is_done, &plain)
{
	struct fake_job first;
	struct fake_job follower;
	struct fake_job other;

	fake_job_queue_fill(&first, fake, 1);
	fake_wait_submitted(fake, 1);
	queue_behind(&follower, fake, &first);
	fake_job_queue_fill(&other, fake, 3);
	fake_wait_submitted(fake, 2); /* the other overtook it */
	EXPECT_EQ(fake->log[1].op.fill.pattern, 3);
	EXPECT_EQ(atomic_load(&fake->log_count), 2);
	EXPECT(pager_validate(fake->pager) == NULL);

	fake_complete_one(fake);
	fake_wait_submitted(fake, 3);
	EXPECT_EQ(fake->log[2].op.fill.pattern, 2);
	EXPECT_EQ(atomic_load(&first.done_count), 1);
	fake_job_complete(&follower);
	EXPECT(first.order < follower.order);
}

FAKE_TEST(order, a_follower_of_something_done_begins_at_once, &plain)
{
	struct fake_job first;
	struct fake_job follower;

	fake_job_queue_fill(&first, fake, 1);
	fake_job_complete(&first);
	queue_behind(&follower, fake, &first);
	fake_job_complete(&follower);
}

FAKE_TEST(order, a_job_waits_for_all_that_it_named, &plain)
{
	struct fake_job first;
	struct fake_job second;
	struct fake_job follower;

	fake_job_queue_fill(&first, fake, 1);
	fake_wait_submitted(fake, 1);
	fake_job_queue_fill(&second, fake, 2);
	fake_wait_submitted(fake, 2);
	fake_owner_queue(&fake->owner);
	fake_owner_submit(&fake->owner);
	fake_job_init(&follower, fake);
	fake_job_add_fill(&follower, 3);
	fake_job_after(&follower, &first, 0);
	fake_job_after(&follower, &second, 1);
	fake_job_after_owner(&follower, 2);
	paging_job_after_submitted(&follower.job, &fake->owner, &follower.dependencies[3]);
	paging_job_queue(&follower.job);
	fake_complete_one(fake);
	fake_complete_one(fake);
	fake_job_wait(&second);
	EXPECT_EQ(fake_submitted(fake), 2);
	EXPECT(pager_validate(fake->pager) == NULL);
	fake_owner_retire(&fake->owner);
	fake_job_complete(&follower);
	EXPECT_EQ(follower.status, STATUS_SUCCESS);
}

FAKE_TEST(order, an_idle_owner_is_no_reason_to_wait, &plain)
{
	struct fake_job job;

	fake_job_init(&job, fake);
	fake_job_add_fill(&job, 1);
	fake_job_after_owner(&job, 0);
	paging_job_queue(&job.job);
	fake_job_complete(&job);
}

FAKE_TEST(order, a_follower_begins_after_a_failure_too, &plain)
{
	struct fake_job first;
	struct fake_job follower;

	fake_job_queue_fill(&first, fake, 1);
	fake_wait_submitted(fake, 1);
	queue_behind(&follower, fake, &first);
	fake_retire_one(fake, SCHED_ABORTED);
	fake_job_complete(&follower);
	EXPECT_EQ(first.status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(follower.status, STATUS_SUCCESS);
}

FAKE_TEST(order, ready_jobs_are_built_in_the_order_in_which_they_became_so, &plain)
{
	struct fake_job jobs[40];

	for (uint32_t i = 0; i < 40; i++)
		fake_job_queue_fill(&jobs[i], fake, i);
	fake_set_automatic(fake, true);
	pager_flush(fake->pager);
	uint32_t next = 0;
	for (uint32_t i = 0; i < atomic_load(&fake->log_count); i++) {
		if (fake->log[i].op.fill.pattern == next) /* else another pass of the same */
			next++;
		else
			EXPECT_EQ(fake->log[i].op.fill.pattern, next - 1);
	}
	EXPECT_EQ(next, 40);
	for (uint32_t i = 0; i + 1 < 40; i++)
		EXPECT(jobs[i].order < jobs[i + 1].order);
}

/* What comes after it is made from what is true then. */
FAKE_TEST(order, a_job_that_settles_is_asked_for_no_more_until_its_packets_are_retired, &plain)
{
	struct fake_job settling;
	struct fake_job other;

	fake_job_init(&settling, fake);
	fake_job_add_fill(&settling, 1);
	fake_job_add_step(&settling, PAGING_SETTLE);
	fake_job_add_fill(&settling, 2);
	paging_job_queue(&settling.job);
	fake_wait_submitted(fake, 1);
	fake_job_queue_fill(&other, fake, 3);
	fake_wait_submitted(fake, 2);
	EXPECT_EQ(settling.next_op, 2);
	fake_complete_one(fake);
	fake_wait_submitted(fake, 3);
	EXPECT_EQ(settling.next_op, 3);
	fake_complete_one(fake);
	fake_complete_one(fake);
	fake_job_wait(&settling);
	fake_job_wait(&other);
	EXPECT_EQ(settling.status, STATUS_SUCCESS);
}

/* ---- a job that changes many tables ---- */

enum { MANY = 1000 };

struct long_job {
	struct fake_job fake;
	uint32_t made;
};

static enum paging_step long_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct long_job *longest = container_of(job, struct long_job, fake.job);

	if (longest->made == MANY)
		return PAGING_NONE;
	longest->made++;
	op_out->kind = MINIPORT_PAGING_FILL;
	op_out->target = fake_place(FAKE_LOCAL, &local_run);
	op_out->size_bytes = 16 * MACHINE_PAGE_BYTES;
	op_out->fill.pattern = 1;
	return PAGING_OPERATION;
}

static void queue_change(struct fake_job *job, struct fake *fake, uint32_t pattern,
			 const void *tables)
{
	fake_job_init(job, fake);
	fake_job_add_fill(job, pattern);
	job->job.changes_tables = true;
	job->job.tables = tables;
	paging_job_queue(&job->job);
}

/* Its operations are counted, not its time: a few of a thousand come before those of another. */
FAKE_TEST(order, others_are_built_between_the_operations_of_a_long_change_of_tables, &plain)
{
	static const int tables[2];
	struct long_job longest = { .made = 0 };
	struct fake_job same;
	struct fake_job other;
	struct fake_job move;

	fake_job_init(&longest.fake, fake);
	longest.fake.job.next = long_next;
	longest.fake.job.changes_tables = true;
	longest.fake.job.tables = &tables[0];
	paging_job_queue(&longest.fake.job);
	fake_wait_submitted(fake, 1); /* the buffers are full: it waits in the middle */
	queue_change(&same, fake, 2, &tables[0]);
	queue_change(&other, fake, 3, &tables[1]);
	fake_job_queue_fill(&move, fake, 4);
	while (atomic_load(&other.done_count) == 0 || atomic_load(&move.done_count) == 0)
		fake_complete_one(fake);
	EXPECT(longest.made < MANY / 2);
	EXPECT_EQ(atomic_load(&longest.fake.done_count), 0);
	EXPECT_EQ(atomic_load(&same.done_count), 0);
	EXPECT(!pager_validate(fake->pager));
	fake_set_automatic(fake, true);
	pager_flush(fake->pager);
	EXPECT_EQ(longest.made, MANY);
	EXPECT_EQ(longest.fake.status, STATUS_SUCCESS);
	/* What changes the same tables comes behind all of it. */
	EXPECT(longest.fake.order < same.order);
}

static bool follows_none(const struct paging_job *job, const void *tables)
{
	(void)job;
	(void)tables;
	return false;
}

/* What they show was never its own. */
FAKE_TEST(order, who_follows_waits_for_changes_of_tables_that_concern_it_alone, &plain)
{
	static const int tables;
	struct long_job longest = { .made = 0 };
	struct fake_job following;
	struct fake_job free_one;

	fake_job_init(&longest.fake, fake);
	longest.fake.job.next = long_next;
	longest.fake.job.changes_tables = true;
	longest.fake.job.tables = &tables;
	paging_job_queue(&longest.fake.job);
	fake_wait_submitted(fake, 1);
	fake_job_init(&following, fake);
	fake_job_add_step(&following, PAGING_FOLLOW);
	paging_job_queue(&following.job);
	fake_job_init(&free_one, fake);
	fake_job_add_step(&free_one, PAGING_FOLLOW);
	free_one.job.follows = follows_none;
	paging_job_queue(&free_one.job);
	while (atomic_load(&free_one.done_count) == 0)
		fake_complete_one(fake);
	EXPECT(longest.made < MANY / 2);
	EXPECT_EQ(atomic_load(&following.done_count), 0);
	fake_set_automatic(fake, true);
	pager_flush(fake->pager);
	EXPECT_EQ(longest.made, MANY);
	EXPECT_EQ(following.status, STATUS_SUCCESS);
}

FAKE_TEST(order, those_who_wait_for_all_are_told_after_the_last_of_them, &plain)
{
	struct told told = { .wait = { .over = told_over } };
	struct told later = { .wait = { .over = told_over } };
	struct fake_job first;
	struct fake_job second;

	fake_job_queue_fill(&first, fake, 1);
	pager_after_all(fake->pager, &told.wait);
	fake_wait_submitted(fake, 1);
	fake_job_queue_fill(&second, fake, 2);
	pager_after_all(fake->pager, &later.wait);
	EXPECT(pager_validate(fake->pager) == NULL);
	fake_wait_submitted(fake, 2);
	EXPECT_EQ(told.count, 0);
	fake_complete_one(fake);
	fake_job_wait(&first);
	EXPECT_EQ(later.count, 0);
	fake_complete_one(fake);
	pager_flush(fake->pager);
	EXPECT_EQ(told.count, 1);
	EXPECT_EQ(later.count, 1);
}

FAKE_TEST(order, waiting_for_all_waits_for_those_that_are_not_ready, &plain)
{
	struct told told = { .wait = { .over = told_over } };
	struct fake_job blocked;
	struct fake_job other;

	fake_owner_queue(&fake->owner);
	fake_owner_submit(&fake->owner);
	fake_job_init(&blocked, fake);
	fake_job_add_fill(&blocked, 1);
	fake_job_after_owner(&blocked, 0);
	paging_job_queue(&blocked.job);
	fake_job_queue_fill(&other, fake, 2);
	pager_after_all(fake->pager, &told.wait);
	fake_job_complete(&other);
	EXPECT_EQ(told.count, 0);
	fake_owner_retire(&fake->owner);
	fake_job_complete(&blocked);
	pager_flush(fake->pager);
	EXPECT_EQ(told.count, 1);
}

FAKE_TEST(order, with_nothing_queued_one_is_told_at_once, &plain)
{
	struct told told = { .wait = { .over = told_over } };

	pager_after_all(fake->pager, &told.wait);
	EXPECT_EQ(told.count, 1);
	pager_flush(fake->pager);
}

struct curious {
	struct fake_job job;
	struct told told;
	uint32_t told_inside;
};

static void curious_done(struct paging_job *job, NTSTATUS status)
{
	struct curious *curious = container_of(job, struct curious, job.job);

	(void)status;
	pager_after_all(job->pager, &curious->told.wait);
	curious->told_inside = curious->told.count;
	atomic_fetch_add(&curious->job.done_count, 1);
}

TEST(order, a_job_counts_until_its_done_has_returned)
{
	struct fake *fake = fake_create(&plain);
	struct curious curious = { .told = { .wait = { .over = told_over } } };

	fake_job_init(&curious.job, fake);
	curious.job.job.done = curious_done;
	paging_job_queue(&curious.job.job);
	pager_flush(fake->pager);
	EXPECT_EQ(curious.job.done_count, 1);
	EXPECT_EQ(curious.told_inside, 0);
	pager_destroy(fake->pager);
	EXPECT_EQ(curious.told.count, 1);
	fake_free(fake);
}

struct chain {
	struct fake_job job;
	struct fake_job next;
};

static void chain_done(struct paging_job *job, NTSTATUS status)
{
	struct chain *chain = container_of(job, struct chain, job.job);

	(void)status;
	atomic_fetch_add(&chain->job.done_count, 1);
	paging_job_queue(&chain->next.job);
}

FAKE_TEST(order, a_job_may_be_queued_when_another_is_done, &plain)
{
	struct chain chain;

	fake_job_init(&chain.next, fake);
	fake_job_add_fill(&chain.next, 2);
	fake_job_init(&chain.job, fake);
	fake_job_add_fill(&chain.job, 1);
	chain.job.job.done = chain_done;
	paging_job_queue(&chain.job.job);
	fake_job_complete(&chain.next);
	EXPECT_EQ(chain.job.done_count, 1);
}

TEST(order, destroying_the_pager_runs_what_is_queued)
{
	struct fake *fake = fake_create(&(struct fake_config){ .is_automatic = true });
	struct fake_job jobs[8];

	for (uint32_t i = 0; i < 8; i++)
		fake_job_queue_fill(&jobs[i], fake, i);
	fake_destroy(fake);
	for (uint32_t i = 0; i < 8; i++)
		EXPECT_EQ(jobs[i].done_count, 1);
}

FAKE_TEST(order, only_the_pagers_thread_is_the_pagers_thread, &plain)
{
	struct fake_job job;

	EXPECT(!pager_is_current_thread(fake->pager));
	fake_job_queue_fill(&job, fake, 1);
	fake_job_complete(&job);
	EXPECT(job.was_on_thread);
}

TEST(order, destroying_nothing_is_allowed)
{
	pager_destroy(NULL);
}

TEST_MAIN("paging/order")
