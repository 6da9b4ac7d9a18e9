/* SPDX-License-Identifier: MIT */
/*
 * reset_test.c - an adapter reset, as the pager lives through it.
 */
#include "fake.h"
#include "support/test.h"

static const struct miniport_page_run local_run = { 16, 16 };
static const struct miniport_page_run other_run = { 64, 16 };
static const struct fake_config plain = { 0 };
static const struct fake_config mmu = { .has_mmu = true,
					.update_mode = MINIPORT_TABLE_GPU_PHYSICAL,
					.table_segment = FAKE_LOCAL };

FAKE_TEST(reset, a_job_whose_packet_was_aborted_fails, &plain)
{
	struct fake_job jobs[2];

	fake_job_queue_fill(&jobs[0], fake, 1);
	fake_wait_submitted(fake, 1);
	fake_job_queue_fill(&jobs[1], fake, 2);
	fake_wait_submitted(fake, 2);
	fake_complete_one(fake);
	fake_retire_one(fake, SCHED_ABORTED);
	fake_job_wait(&jobs[1]);
	EXPECT_EQ(jobs[0].status, STATUS_SUCCESS);
	EXPECT_EQ(jobs[1].status, STATUS_DEVICE_REMOVED);
}

TEST(reset, a_job_with_one_undone_packet_fails_as_a_whole)
{
	struct fake *fake =
		fake_create(&(struct fake_config){ .buffer_bytes = 2048, .transfer_bytes = 4096 });
	struct fake_job job;

	fake_job_init(&job, fake);
	struct miniport_paging_op *op = fake_job_add(&job, MINIPORT_PAGING_TRANSFER);
	op->source = fake_place(FAKE_LOCAL, &local_run);
	op->target = fake_place(FAKE_LOCAL, &other_run);
	op->size_bytes = 16 * 4096;
	paging_job_queue(&job.job);
	fake_wait_submitted(fake, 2);
	fake_retire_one(fake, SCHED_CANCELLED);
	fake_job_complete(&job);
	EXPECT_EQ(job.status, STATUS_DEVICE_REMOVED);
	fake_destroy(fake);
}

TEST(reset, what_was_queued_before_fails_and_what_comes_after_runs)
{
	const struct fake_config *configs[] = { &plain, &mmu };

	for (uint32_t i = 0; i < 2; i++) {
		struct fake *fake = fake_create(configs[i]);
		struct fake_job flying;
		struct fake_job waiting;
		struct fake_job during;
		struct fake_job after;

		fake_job_queue_fill(&flying, fake, 1);
		fake_wait_submitted(fake, 1);
		fake_owner_queue(&fake->owner);
		fake_owner_submit(&fake->owner);
		fake_job_init(&waiting, fake);
		fake_job_after_owner(&waiting, 0);
		paging_job_queue(&waiting.job);

		pager_suspend(fake->pager);
		fake_job_queue_fill(&during, fake, 3);
		while (fake_in_flight(fake) > 0)
			fake_retire_one(fake, SCHED_ABORTED);
		fake_job_wait(&flying);
		EXPECT_EQ(flying.status, STATUS_DEVICE_REMOVED);
		fake_owner_retire(&fake->owner);
		fake_job_wait(&waiting);
		EXPECT_EQ(waiting.status, STATUS_DEVICE_REMOVED);
		EXPECT_EQ(atomic_load(&during.done_count), 0);
		EXPECT(pager_validate(fake->pager) == NULL);
		memset(fake->memory.local, 0xEE, FAKE_LOCAL_BYTES); /* gone */

		uint32_t before = atomic_load(&fake->log_count);
		uint32_t roots = fake->roots_set;
		pager_restart(fake->pager);
		fake_job_queue_fill(&after, fake, 4);
		fake_job_complete(&after);
		EXPECT_EQ(during.status, STATUS_SUCCESS);
		EXPECT_EQ(after.status, STATUS_SUCCESS);
		EXPECT_EQ(fake->memory.local[16 * 4096], 4);
		EXPECT_EQ(fake->roots_set - roots, i);
		if (i == 1) /* its own tables first */
			EXPECT(fake->log[before].op.update_table.is_initial);
		fake_destroy(fake);
	}
}

FAKE_TEST(reset, a_restart_alone_suspends_first, &mmu)
{
	struct fake_job flying;
	struct fake_job after;

	fake_job_queue_fill(&flying, fake, 1);
	fake_wait_submitted(fake, 1);
	pager_restart(fake->pager);
	while (fake_in_flight(fake) > 0)
		fake_retire_one(fake, SCHED_ABORTED);
	fake_job_wait(&flying);
	EXPECT_EQ(flying.status, STATUS_DEVICE_REMOVED);
	fake_job_queue_fill(&after, fake, 2);
	fake_job_complete(&after);
	EXPECT_EQ(after.status, STATUS_SUCCESS);
}

FAKE_TEST(reset, tables_are_not_written_while_the_hardware_has_packets, &mmu)
{
	struct fake_job flying;
	struct fake_job after;

	fake_job_queue_fill(&flying, fake, 1);
	fake_wait_submitted(fake, 1);
	fake->hook = fake_count_early_tables;
	uint32_t before = atomic_load(&fake->log_count);
	pager_suspend(fake->pager);
	pager_restart(fake->pager);
	fake_job_queue_fill(&after, fake, 2);
	fake_retire_one(fake, SCHED_ABORTED);
	fake_job_complete(&after);
	EXPECT(atomic_load(&fake->log_count) > before);
	EXPECT_EQ(fake->hook_count, 0);
}

FAKE_TEST(reset, a_stalled_job_fails_when_its_packets_are_back, &plain)
{
	struct fake_job job;

	fake_job_init(&job, fake);
	fake_job_add_fill(&job, 0);
	fake_job_add(&job, MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT);
	paging_job_queue(&job.job);
	fake_wait_submitted(fake, 1);
	pager_suspend(fake->pager);
	fake_complete_one(fake); /* it came through, the rest did not */
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(fake_count(fake, 0, MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT), 0);
	pager_restart(fake->pager);
}

/* Queued by a scheduler that has begun to reset, and told so a moment later. */
FAKE_TEST(reset, a_packet_of_before_that_was_not_submitted_is_cancelled, &plain)
{
	struct fake_job old;
	struct fake_job after;

	fake_job_queue_fill(&old, fake, 1);
	fake_wait_submitted(fake, 1);
	lock_acquire(&fake->sched.lock);
	fake->packets.queue[0].is_parked = true; /* as if the node had been held */
	lock_release(&fake->sched.lock);
	pager_suspend(fake->pager);
	struct sched_packet *packet = fake->packets.queue[0].packet;
	EXPECT_EQ(packet->ops->prepare(packet), STATUS_PENDING);
	pager_restart(fake->pager);
	fake_job_wait(&old);
	EXPECT_EQ(old.status, STATUS_DEVICE_REMOVED);
	fake_job_queue_fill(&after, fake, 2);
	fake_job_complete(&after);
	EXPECT_EQ(after.status, STATUS_SUCCESS);
	EXPECT_EQ(fake->memory.local[16 * 4096], 2);
}

static NTSTATUS suspend_inside(struct fake *fake, const struct miniport_paging_op *op,
			       struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)op;
	(void)buffer;
	(void)multipass;
	if (fake->hook_count++ == 1)
		pager_suspend(fake->pager); /* as if on another thread */
	return STATUS_PENDING;
}

FAKE_TEST(reset, what_is_in_the_buffer_when_it_begins_never_runs, &plain)
{
	struct fake_job job;

	fake->hook = suspend_inside;
	fake_job_init(&job, fake);
	for (uint32_t i = 0; i < 3; i++)
		fake_job_add_fill(&job, 0);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(fake_submitted(fake), 0);
	EXPECT_EQ(fake->hook_count, 2);
	EXPECT_EQ(fake->memory.local[16 * 4096], 0xEE);
	pager_restart(fake->pager);
	fake->hook = NULL;
	fake_job_queue_fill(&job, fake, 9);
	fake_job_complete(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
}

/* The reset is over when the thread that was on its way into the driver gets there. */
static void suspend_at_the_door(struct fake *fake, const struct miniport_paging_op *op)
{
	(void)op;
	if (fake->hook_count++ == 1)
		pager_suspend(fake->pager);
}

FAKE_TEST(reset, nobody_of_before_enters_the_driver_afterwards, &plain)
{
	struct fake_job job;

	fake->door = suspend_at_the_door;
	fake_job_init(&job, fake);
	for (uint32_t i = 0; i < 3; i++)
		fake_job_add_fill(&job, 0);
	uint32_t before = fake->log_count;
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(fake->hook_count, 2);
	EXPECT_EQ(fake->log_count, before + 1);
	pager_restart(fake->pager);
	fake->door = NULL;
	fake_job_queue_fill(&job, fake, 9);
	fake_job_complete(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
}

FAKE_TEST(reset, an_operation_can_be_told_without_being_run, &plain)
{
	struct miniport_paging_op op = { .kind = MINIPORT_PAGING_TRANSFER };

	pager_suspend(fake->pager);
	op.source.segment = FAKE_LOCAL;
	op.target.segment = FAKE_LOCAL;
	op.subject.driver_allocation = &op;
	EXPECT_EQ(pager_tell(fake->pager, &op), STATUS_SUCCESS);
	op = (struct miniport_paging_op){ .kind = MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT };
	EXPECT_EQ(pager_tell(fake->pager, &op), STATUS_SUCCESS);
	EXPECT_EQ(pager_tell(fake->pager, &op), STATUS_SUCCESS);
	EXPECT_EQ(atomic_load(&fake->log_count), 3);
	EXPECT_EQ(fake->log[2].used_bytes, 0);
	EXPECT_EQ(fake_submitted(fake), 0);
	pager_restart(fake->pager);
}

static NTSTATUS get_on_for_ever(struct fake *fake, const struct miniport_paging_op *op,
				struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)op;
	(void)buffer;
	if (++fake->hook_count > 1000000)
		return STATUS_PENDING; /* we have seen enough: the fake's own answer */
	++*multipass;
	return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

/* A reset does not hang on a driver that only says that it gets on. */
FAKE_TEST(reset, a_driver_that_is_never_done_with_what_it_is_told_is_stopped, &plain)
{
	struct miniport_paging_op op = { .kind = MINIPORT_PAGING_TRANSFER };

	pager_suspend(fake->pager);
	op.source.segment = FAKE_LOCAL;
	op.target.segment = FAKE_LOCAL;
	op.subject.driver_allocation = &op;
	fake->hook = get_on_for_ever;
	EXPECT_EQ(pager_tell(fake->pager, &op), STATUS_DRIVER_INTERNAL_ERROR);
	fake->hook = NULL;
	EXPECT_EQ(pager_tell(fake->pager, &op), STATUS_SUCCESS);
	pager_restart(fake->pager);
}

static void count_forget(void *context)
{
	atomic_fetch_add((_Atomic uint32_t *)context, 1);
}

/* Before anything new is built; what is queued there runs after the reset. */
TEST(reset, who_keeps_tables_is_told_once_to_forget_them)
{
	_Atomic uint32_t count = 0;
	struct fake_config config = plain;

	config.forget = count_forget;
	config.forget_context = &count;
	struct fake *fake = fake_create(&config);
	struct fake_job job;

	fake_job_queue_fill(&job, fake, 1);
	fake_job_complete(&job);
	EXPECT_EQ(pager_generation(fake->pager), 0);
	EXPECT(!paging_job_is_stale(&job.job));
	EXPECT_EQ(atomic_load(&count), 0);
	pager_suspend(fake->pager);
	EXPECT_EQ(pager_generation(fake->pager), 1);
	EXPECT(paging_job_is_stale(&job.job));
	pager_restart(fake->pager);
	fake_job_queue_fill(&job, fake, 2);
	fake_job_complete(&job);
	EXPECT_EQ(atomic_load(&count), 1);
	EXPECT(!paging_job_is_stale(&job.job));
	fake_destroy(fake);
}

static NTSTATUS refuse_tables(struct fake *fake, const struct miniport_paging_op *op,
			      struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)fake;
	(void)buffer;
	(void)multipass;
	return op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE ? STATUS_UNSUCCESSFUL : STATUS_PENDING;
}

FAKE_TEST(reset, without_tables_every_job_fails_until_the_next_restart, &mmu)
{
	struct fake_job job;

	pager_suspend(fake->pager);
	fake->hook = refuse_tables;
	pager_restart(fake->pager);
	fake_job_queue_fill(&job, fake, 1);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_DRIVER_INTERNAL_ERROR);
	pager_flush(fake->pager);

	pager_suspend(fake->pager);
	fake->hook = NULL;
	pager_restart(fake->pager);
	fake_job_queue_fill(&job, fake, 1);
	fake_job_complete(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
}

FAKE_TEST(reset, a_lost_adapter_fails_everything, &mmu)
{
	struct fake_job jobs[2];

	pager_suspend(fake->pager);
	fake_job_queue_fill(&jobs[0], fake, 1);
	pager_give_up(fake->pager);
	fake_job_queue_fill(&jobs[1], fake, 2);
	fake_job_wait(&jobs[0]);
	fake_job_wait(&jobs[1]);
	EXPECT_EQ(jobs[0].status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(jobs[1].status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(fake_submitted(fake), 0);
}

TEST(reset, a_suspended_pager_can_be_destroyed)
{
	struct fake *fake = fake_create(&mmu);
	struct fake_job job;

	pager_suspend(fake->pager);
	fake_job_queue_fill(&job, fake, 1);
	pager_destroy(fake->pager);
	EXPECT_EQ(job.done_count, 1);
	EXPECT_EQ(job.status, STATUS_DEVICE_REMOVED);
	fake_free(fake);
}

TEST_MAIN("paging/reset")
