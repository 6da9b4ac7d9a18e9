/* SPDX-License-Identifier: MIT */
/*
 * quiet_test.c - GPUs whose page tables must not change while a context runs.
 */
#include "fake.h"
#include "support/test.h"

#include "base/clock.h"

static const struct miniport_page_run table_run = { 32, 1 };
static const struct miniport_page_run local_page = { 48, 1 };
static const struct miniport_pte entry = { .page = 5, .segment = FAKE_LOCAL, .is_valid = true };

static struct fake *create(uint32_t flags)
{
	struct fake *fake =
		fake_create(&(struct fake_config){ .has_mmu = true,
						   .update_mode = MINIPORT_TABLE_GPU_PHYSICAL,
						   .table_segment = FAKE_LOCAL,
						   .mmu_flags = flags });

	fake_set_automatic(fake, true);
	return fake;
}

static void add_table(struct fake_job *job)
{
	struct miniport_paging_op *op = fake_job_add_update(job, FAKE_LOCAL, &table_run);

	op->update_table.entries = &entry;
	op->update_table.count = 1;
}

static void queue_table(struct fake_job *job, struct fake *fake)
{
	fake_job_init(job, fake);
	add_table(job);
	paging_job_queue(&job->job);
}

static void queue_copy_of_entries(struct fake_job *job, struct fake *fake)
{
	static const struct miniport_table_copy copy = { .count = 1 };

	fake_job_init(job, fake);
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES);
	op->source = fake_place(FAKE_LOCAL, &local_page);
	op->target = fake_place(FAKE_LOCAL, &table_run);
	op->size_bytes = 4096;
	op->copy_entries.copies = &copy;
	op->copy_entries.count = 1;
	paging_job_queue(&job->job);
}

static void await_holds(struct fake *fake, uint32_t count)
{
	for (;;) {
		uint32_t seen = notice_read(&fake->sched.changed);

		if (fake_client_holds(&fake->sched) == count)
			return;
		notice_wait(&fake->sched.changed, seen, CLOCK_FOREVER);
	}
}

#define MADE_TEST(suite, claim, ...)                                                               \
	TEST_WITH(fake, fake, __VA_ARGS__, fake_destroy(fake), suite, claim)

static uint64_t *table(struct fake *fake)
{
	return (uint64_t *)(void *)fake_pointer(&fake->memory, FAKE_LOCAL, 32 * 4096);
}

MADE_TEST(quiet, is_waited_for_before_a_table_changes, create(FAKE_REQUIRES_IDLE))
{
	struct fake_job job;
	struct fake_job other;

	*table(fake) = 0;
	fake_clients_are_busy(&fake->sched);
	queue_table(&job, fake);
	await_holds(fake, 1);
	/* Whatever changes no table of a client goes on. */
	fake_job_queue_fill(&other, fake, 0);
	fake_job_wait(&other);
	EXPECT_EQ(atomic_load(&job.done_count), 0);
	EXPECT_EQ(*table(fake), 0);
	fake_clients_idle(&fake->sched);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
	EXPECT_EQ(*table(fake), pte_pack(&entry));
	await_holds(fake, 0);
}

/* What it does is of no use to those who still go by the old entries. */
MADE_TEST(quiet, who_follows_changes_of_tables_goes_on_when_those_before_it_are_built,
	  create(FAKE_REQUIRES_IDLE))
{
	struct fake_job change;
	struct fake_job follower;
	struct fake_job other;

	fake_clients_are_busy(&fake->sched);
	fake_job_init(&change, fake);
	change.job.changes_tables = true;
	add_table(&change);
	paging_job_queue(&change.job);
	await_holds(fake, 1);
	fake_job_init(&follower, fake);
	fake_job_add_step(&follower, PAGING_FOLLOW);
	fake_job_add_fill(&follower, 0);
	paging_job_queue(&follower.job);
	fake_job_queue_fill(&other, fake, 0);
	fake_job_wait(&other);
	EXPECT_EQ(follower.next_op, 1);
	EXPECT_EQ(atomic_load(&follower.done_count), 0);
	fake_clients_idle(&fake->sched);
	fake_job_wait(&follower);
	fake_job_wait(&change);
	EXPECT(change.order < follower.order);
	EXPECT_EQ(follower.status, STATUS_SUCCESS);
}

MADE_TEST(quiet, nobody_follows_changes_that_were_built, create(0))
{
	struct fake_job change;
	struct fake_job follower;

	fake_job_init(&change, fake);
	change.job.changes_tables = true;
	add_table(&change);
	paging_job_queue(&change.job);
	fake_job_wait(&change);
	fake_job_init(&follower, fake);
	fake_job_add_step(&follower, PAGING_FOLLOW);
	fake_job_add_fill(&follower, 0);
	paging_job_queue(&follower.job);
	fake_job_wait(&follower);
	EXPECT_EQ(follower.status, STATUS_SUCCESS);
}

MADE_TEST(quiet, is_waited_for_before_entries_are_copied, create(FAKE_REQUIRES_IDLE))
{
	struct fake_job job;

	memset(fake->memory.local + 48 * MACHINE_PAGE_BYTES, 0x5A, 8);
	*table(fake) = 0;
	fake_clients_are_busy(&fake->sched);
	queue_copy_of_entries(&job, fake);
	await_holds(fake, 1);
	EXPECT_EQ(*table(fake), 0);
	fake_clients_idle(&fake->sched);
	fake_job_wait(&job);
	EXPECT_EQ(*table(fake), 0x5A5A5A5A5A5A5A5A);
	await_holds(fake, 0);
}

/* 64 KiB pages that become pages of 4 KiB. */
MADE_TEST(quiet, is_for_a_change_that_needs_it_whatever_the_gpu_says, create(0))
{
	struct fake_job job;

	*table(fake) = 0;
	fake_clients_are_busy(&fake->sched);
	fake_job_init(&job, fake);
	struct miniport_paging_op *op = fake_job_add_update(&job, FAKE_LOCAL, &table_run);
	op->update_table.entries = &entry;
	op->update_table.count = 1;
	op->update_table.needs_quiet = true;
	paging_job_queue(&job.job);
	await_holds(fake, 1);
	EXPECT_EQ(*table(fake), 0);
	fake_clients_idle(&fake->sched);
	fake_job_wait(&job);
	EXPECT_EQ(*table(fake), pte_pack(&entry));
	await_holds(fake, 0);
}

MADE_TEST(quiet, is_held_until_the_last_of_several_is_done, create(FAKE_REQUIRES_IDLE))
{
	struct fake_job jobs[3];

	fake_clients_are_busy(&fake->sched);
	for (unsigned i = 0; i < 3; i++)
		queue_table(&jobs[i], fake);
	await_holds(fake, 1); /* one hold for all of them */
	fake_clients_idle(&fake->sched);
	for (unsigned i = 0; i < 3; i++)
		fake_job_wait(&jobs[i]);
	await_holds(fake, 0);
	/* And once more. */
	queue_table(&jobs[0], fake);
	fake_job_wait(&jobs[0]);
	await_holds(fake, 0);
}

MADE_TEST(quiet, is_not_kept_by_a_job_that_a_reset_ended, create(FAKE_REQUIRES_IDLE))
{
	struct fake_job job;

	fake_clients_are_busy(&fake->sched);
	queue_table(&job, fake);
	await_holds(fake, 1);
	pager_suspend(fake->pager);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(fake_client_holds(&fake->sched), 1); /* the answer is still to come */
	fake_clients_idle(&fake->sched);
	await_holds(fake, 0);
	pager_restart(fake->pager);
	queue_table(&job, fake);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
	await_holds(fake, 0);
}

MADE_TEST(quiet, is_not_asked_for_where_no_gpu_needs_it, create(0))
{
	struct fake_job job;

	fake_clients_are_busy(&fake->sched);
	queue_table(&job, fake);
	fake_job_wait(&job);
	EXPECT_EQ(fake_client_holds(&fake->sched), 0);
	fake_clients_idle(&fake->sched);
}

TEST_MAIN("paging/quiet")
