/* SPDX-License-Identifier: MIT */
/*
 * builder_test.c - the conversation with the driver: passes, busy allocations, illegal answers.
 */
#include "base/refusal.h"
#include "fake.h"
#include "support/test.h"

static const struct miniport_page_run local_run = { 16, 16 };
static const struct miniport_page_run other_run = { 64, 16 };
static const struct fake_config plain = { 0 };

static struct miniport_paging_op *add_copy(struct fake_job *job)
{
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_TRANSFER);

	op->source = fake_place(FAKE_LOCAL, &local_run);
	op->target = fake_place(FAKE_LOCAL, &other_run);
	op->size_bytes = 16 * MACHINE_PAGE_BYTES;
	op->transfer.is_start = true;
	op->transfer.is_end = true;
	return op;
}

FAKE_TEST(builder, operations_of_several_jobs_share_a_buffer, &plain)
{
	struct fake_job blocker;
	struct fake_job jobs[3];

	/* The thread is busy while they come. */
	fake_job_init(&blocker, fake);
	for (uint32_t i = 0; i < 3; i++) {
		fake_job_init(&jobs[i], fake);
		fake_job_add_fill(&jobs[i], i);
		fake_job_add_fill(&jobs[i], i + 10);
		fake_job_after(&jobs[i], &blocker, 0);
		paging_job_queue(&jobs[i].job);
	}
	paging_job_queue(&blocker.job);
	fake_wait_submitted(fake, 1);
	EXPECT_EQ(fake_count(fake, 0, MINIPORT_PAGING_FILL), 6);
	EXPECT_EQ(fake_submitted(fake), 1);
	fake_complete_one(fake);
	for (uint32_t i = 0; i < 3; i++)
		fake_job_wait(&jobs[i]);
	EXPECT_EQ(fake->memory.local[16 * 4096], 12);
}

TEST(builder, a_full_buffer_is_submitted_and_the_operation_comes_again_with_its_multipass)
{
	struct fake *fake =
		fake_create(&(struct fake_config){ .buffer_bytes = 2048, .transfer_bytes = 4096 });
	struct fake_job job;

	memset(fake->memory.local + 16 * 4096, 0x5A, 16 * 4096);
	fake_job_init(&job, fake);
	add_copy(&job); /* sixteen commands, and a buffer takes fewer */
	paging_job_queue(&job.job);
	fake_job_complete(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
	EXPECT(fake_submitted(fake) >= 2);
	EXPECT(atomic_load(&fake->log_count) >= 2);
	uint32_t passes = atomic_load(&fake->log_count);
	for (uint32_t i = 0; i < passes; i++) {
		EXPECT_EQ(fake->log[i].kind, MINIPORT_PAGING_TRANSFER);
		EXPECT_EQ(fake->log[i].used_bytes, 0);  /* each with a fresh buffer … */
		EXPECT_EQ(fake->log[i].submissions, i); /* … after what was there went off */
		EXPECT_EQ(fake->log[i].op.size_bytes, 16 * 4096);
		EXPECT_EQ(fake->log[i].op.offset_bytes, 0);
		EXPECT(i == 0 ? fake->log[i].multipass == 0
			      : fake->log[i].multipass > fake->log[i - 1].multipass);
	}
	for (uint32_t i = 0; i < 16 * 4096; i++)
		EXPECT_EQ(fake->memory.local[64 * 4096 + i], 0x5A);
	fake_destroy(fake);
}

TEST(builder, multipass_begins_at_zero_with_every_operation)
{
	struct fake *fake =
		fake_create(&(struct fake_config){ .transfer_bytes = 16384, .is_automatic = true });
	struct fake_job job;

	fake_job_init(&job, fake);
	add_copy(&job);
	add_copy(&job);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(fake->log[0].multipass, 0);
	EXPECT_EQ(fake->log[1].multipass, 0);
	EXPECT_EQ(atomic_load(&fake->log_count), 2);
	fake_destroy(fake);
}

TEST(builder, a_job_over_several_packets_is_done_with_the_last)
{
	struct fake *fake =
		fake_create(&(struct fake_config){ .buffer_bytes = 2048, .transfer_bytes = 4096 });
	struct fake_job job;

	fake_job_init(&job, fake);
	add_copy(&job);
	paging_job_queue(&job.job);
	fake_wait_submitted(fake, 2);
	fake_complete_one(fake);
	EXPECT_EQ(atomic_load(&job.done_count), 0);
	EXPECT(pager_validate(fake->pager) == NULL);
	fake_job_complete(&job);
	fake_destroy(fake);
}

/* The last packet is sent when there is nothing left to build. */
TEST(builder, a_packet_in_the_middle_of_a_job_that_is_built_wakes_nobody_and_the_last_does)
{
	struct fake *fake =
		fake_create(&(struct fake_config){ .buffer_bytes = 3072, .transfer_bytes = 4096 });
	struct fake_job job;

	fake_job_init(&job, fake);
	add_copy(&job);
	paging_job_queue(&job.job);
	fake_wait_submitted(fake, 2);
	EXPECT_EQ(fake_in_flight(fake), 2);
	uint32_t seen = notice_read(&fake->pager->changed);
	fake_complete_one(fake);
	EXPECT_EQ(notice_read(&fake->pager->changed), seen);
	fake_complete_one(fake);
	EXPECT(notice_read(&fake->pager->changed) != seen);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
	EXPECT_EQ(fake_submitted(fake), 2);
	fake_destroy(fake);
}

FAKE_TEST(builder, an_operation_that_writes_nothing_is_not_submitted, &plain)
{
	struct fake_job job;

	fake_job_init(&job, fake);
	fake_job_add(&job, MINIPORT_PAGING_DISCARD_CONTENT);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
	EXPECT_EQ(fake_submitted(fake), 0);
	/* What it left in the private data is not seen by the next: fake.c looks. */
	fake_job_init(&job, fake);
	fake_job_add_fill(&job, 1);
	paging_job_queue(&job.job);
	fake_job_complete(&job);
}

FAKE_TEST(builder, a_job_whose_last_operation_writes_nothing_waits_for_those_before, &plain)
{
	struct fake_job job;

	fake_job_init(&job, fake);
	fake_job_add_fill(&job, 1);
	fake_job_add(&job, MINIPORT_PAGING_DISCARD_CONTENT);
	paging_job_queue(&job.job);
	fake_wait_submitted(fake, 1);
	EXPECT_EQ(atomic_load(&fake->log_count), 2);
	EXPECT_EQ(atomic_load(&job.done_count), 0);
	fake_job_complete(&job);
}

static NTSTATUS busy_once(struct fake *fake, const struct miniport_paging_op *op,
			  struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)buffer;
	(void)multipass;
	bool is_idle = op->kind == MINIPORT_PAGING_TRANSFER ? op->is_idle : op->is_idle;
	if (op->kind != MINIPORT_PAGING_TRANSFER && op->kind != MINIPORT_PAGING_DISCARD_CONTENT)
		return STATUS_PENDING;
	fake->hook_count++;
	return is_idle ? STATUS_PENDING : STATUS_GRAPHICS_ALLOCATION_BUSY;
}

FAKE_TEST(builder, a_busy_allocation_is_idled_and_the_driver_told_so, &plain)
{
	struct fake_job job;

	fake->hook = busy_once;
	fake_job_init(&job, fake);
	fake_job_add_fill(&job, 1);
	add_copy(&job);
	paging_job_queue(&job.job);
	/* What was built before is on its way: it may be what keeps the allocation busy. */
	fake_wait_submitted(fake, 2);
	EXPECT_EQ(fake->log[2].submissions, 1);
	EXPECT(!fake->log[1].op.is_idle);
	EXPECT(fake->log[2].op.is_idle);
	EXPECT_EQ(fake->log[2].multipass, fake->log[1].multipass);
	EXPECT_EQ(job.idles, 1);
	fake_job_complete(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
}

FAKE_TEST(builder, a_discard_may_be_busy_too, &plain)
{
	struct fake_job job;

	fake->hook = busy_once;
	fake_job_init(&job, fake);
	fake_job_add(&job, MINIPORT_PAGING_DISCARD_CONTENT);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
	EXPECT_EQ(job.idles, 1);
	EXPECT_EQ(fake->hook_count, 2);
}

static NTSTATUS answer;

static NTSTATUS answer_pattern_7(struct fake *fake, const struct miniport_paging_op *op,
				 struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)fake;
	(void)multipass;
	if (op->kind == MINIPORT_PAGING_FILL && op->fill.pattern != 7)
		return STATUS_PENDING;
	memset((uint8_t *)buffer->memory + buffer->used_bytes, 0xBB, 64);
	buffer->used_bytes += 64; /* garbage: nobody may execute it */
	buffer->private_used_bytes += 8;
	return answer;
}

static void expect_job_fails_alone(NTSTATUS illegal)
{
	struct fake *fake = fake_create(&(struct fake_config){ .is_automatic = true });
	struct fake_job good;
	struct fake_job bad;
	struct fake_job after;

	answer = illegal;
	fake->hook = answer_pattern_7;
	fake_job_init(&good, fake);
	fake_job_add_fill(&good, 1);
	fake_job_init(&bad, fake);
	fake_job_add_fill(&bad, 2);
	fake_job_add_fill(&bad, 7);
	fake_job_add_fill(&bad, 8);
	fake_job_init(&after, fake);
	fake_job_add_fill(&after, 3);
	paging_job_queue(&good.job);
	paging_job_queue(&bad.job);
	paging_job_queue(&after.job);
	fake_job_wait(&after);
	EXPECT_EQ(good.status, STATUS_SUCCESS);
	EXPECT_EQ(bad.status, STATUS_DRIVER_INTERNAL_ERROR);
	EXPECT_EQ(after.status, STATUS_SUCCESS);
	EXPECT_EQ(bad.next_op, 2); /* nothing after it was asked for */
	EXPECT_EQ(fake->memory.local[16 * 4096], 3);
	fake_destroy(fake);
}

TEST(builder, an_illegal_answer_fails_that_job_and_no_other)
{
	expect_job_fails_alone(STATUS_INVALID_PARAMETER);
	expect_job_fails_alone(STATUS_UNSUCCESSFUL);
	expect_job_fails_alone(STATUS_DRIVER_INTERNAL_ERROR);
}

TEST(builder, only_what_moves_can_be_busy)
{
	expect_job_fails_alone(STATUS_GRAPHICS_ALLOCATION_BUSY);
}

static NTSTATUS always_busy(struct fake *fake, const struct miniport_paging_op *op,
			    struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)op;
	(void)buffer;
	(void)multipass;
	fake->hook_count++;
	return STATUS_GRAPHICS_ALLOCATION_BUSY;
}

FAKE_TEST(builder, what_is_idle_cannot_be_busy_again, &plain)
{
	struct fake_job job;

	fake->hook = always_busy;
	fake_job_init(&job, fake);
	add_copy(&job);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_DRIVER_INTERNAL_ERROR);
	EXPECT_EQ(fake->hook_count, 2);
}

static NTSTATUS never_enough(struct fake *fake, const struct miniport_paging_op *op,
			     struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)op;
	(void)buffer;
	fake->hook_count++;
	if (fake->hook_count > 3)
		++*multipass; /* says that it gets on, and never does */
	return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

FAKE_TEST(builder, a_driver_that_makes_no_progress_with_an_empty_buffer_is_stopped, &plain)
{
	struct fake_job job;

	fake->hook = never_enough;
	fake_job_init(&job, fake);
	fake_job_add_fill(&job, 1);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_DRIVER_INTERNAL_ERROR);
	EXPECT_EQ(fake->hook_count, 1);

	fake_job_init(&job, fake);
	fake->hook_count = 3;
	fake_job_add_fill(&job, 1);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_DRIVER_INTERNAL_ERROR);
	EXPECT_EQ(fake_submitted(fake), 0);
}

/* The CPU writes such an update, so there is no buffer that could be too small. */
FAKE_TEST(builder, a_driver_that_wants_more_room_for_what_needs_none_is_stopped,
	  &(struct fake_config){ .has_mmu = true,
				 .update_mode = MINIPORT_TABLE_CPU_VIRTUAL,
				 .buffer_bytes = 65536 })
{
	static const struct miniport_page_run table = { 16, 1 };
	struct fake_job job;

	fake->hook = never_enough;
	fake_job_init(&job, fake);
	fake_job_add_update(&job, FAKE_LOCAL, &table);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_DRIVER_INTERNAL_ERROR);
	EXPECT_EQ(fake->hook_count, 1);
	EXPECT_EQ(fake_submitted(fake), 0);
}

static _Atomic uint32_t refusals;

static void count_refusal(const struct dxgk_refusal *refusal)
{
	if (strcmp(refusal->rule, "DDI-PAGING-ANSWER") == 0)
		atomic_fetch_add(&refusals, 1);
}

FAKE_TEST(builder, an_illegal_answer_is_reported, &plain)
{
	struct fake_job job;

	refusal_listen(count_refusal);
	atomic_store(&refusals, 0);
	answer = STATUS_ACCESS_DENIED;
	fake->hook = answer_pattern_7;
	fake_job_init(&job, fake);
	fake_job_add_fill(&job, 7);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(refusals, 1);
	refusal_listen(NULL);
}

static void add_aperture(struct fake_job *job, enum miniport_paging_kind kind)
{
	struct miniport_paging_op *op = fake_job_add(job, kind);

	op->target.segment = FAKE_APERTURE;
	op->target.offset_bytes = 8 * 4096;
	op->size_bytes = 4096;
}

FAKE_TEST(builder, what_may_act_at_once_waits_for_what_the_job_has_with_the_hardware, &plain)
{
	struct fake_job job;
	struct fake_job other;

	fake_job_init(&job, fake);
	fake_job_add_fill(&job, 1);
	add_aperture(&job, MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT);
	paging_job_queue(&job.job);
	fake_wait_submitted(fake, 1);
	EXPECT_EQ(fake_count(fake, 0, MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT), 0);
	EXPECT(pager_validate(fake->pager) == NULL);

	/* Others are built meanwhile. */
	fake_job_init(&other, fake);
	fake_job_add_fill(&other, 2);
	paging_job_queue(&other.job);
	fake_wait_submitted(fake, 2);
	EXPECT_EQ(fake_count(fake, 0, MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT), 0);

	fake_complete_one(fake);
	fake_wait_submitted(fake, 3);
	EXPECT_EQ(fake_count(fake, 0, MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT), 1);
	fake_job_complete(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
}

FAKE_TEST(builder, much_work_is_not_kept_back_until_a_buffer_is_full,
	  &(struct fake_config){ .buffer_bytes = 65536 })
{
	static const struct miniport_page_run all = { 0, 8192 };
	struct fake_job job;

	fake_job_init(&job, fake);
	for (uint32_t i = 0; i < 4; i++) {
		struct miniport_paging_op *op = fake_job_add(&job, MINIPORT_PAGING_FILL);
		op->target = fake_place(FAKE_LOCAL, &all);
		op->size_bytes = 16 << 20;
	}
	paging_job_queue(&job.job);
	fake_wait_submitted(fake, 4);
	EXPECT_EQ(fake_in_flight(fake), 4); /* several at once */
	fake_job_complete(&job);
}

TEST(builder, the_first_work_goes_at_once_and_more_of_it_together_while_that_runs)
{
	struct fake *fake = fake_create(&(struct fake_config){ .buffer_bytes = 65536 });
	static const struct miniport_page_run some = { 0, 256 };
	struct fake_job job;

	fake_job_init(&job, fake);
	for (uint32_t i = 0; i < 16; i++) {
		struct miniport_paging_op *op = fake_job_add(&job, MINIPORT_PAGING_FILL);
		op->target = fake_place(FAKE_LOCAL, &some);
		op->size_bytes = 1 << 20;
	}
	paging_job_queue(&job.job);
	fake_wait_submitted(fake, 2);
	EXPECT_EQ(fake_in_flight(fake), 2);
	fake_job_complete(&job);
	EXPECT_EQ(fake_submitted(fake), 2); /* one, and fifteen */
	EXPECT_EQ(fake_count(fake, 0, MINIPORT_PAGING_FILL), 16);
	fake_destroy(fake);
}

TEST_MAIN("paging/builder")
