/* SPDX-License-Identifier: MIT */
/*
 * physical_test.c - the physical model: transfers of a segment and an MDL.
 */
#include "fake.h"
#include "support/test.h"

static const struct fake_config plain = { 0 };

static void add_copy(struct fake_job *job, struct miniport_location source,
		     struct miniport_location destination, uint64_t size_bytes)
{
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_TRANSFER);

	op->subject.driver_allocation = job;
	op->source = source;
	op->target = destination;
	op->size_bytes = size_bytes;
	op->transfer.is_start = true;
	op->transfer.is_end = true;
}

TEST(physical, scattered_pages_become_one_mdl_and_the_segment_side_an_address)
{
	struct fake *fake = fake_create(&plain);
	struct miniport_page_run local = { 100, 32 };
	struct fake_pages pages;
	struct fake_job job;

	fake_pages_init(&pages, 8, 4);
	for (uint32_t i = 0; i < 32 * 4096; i += 4096)
		memset(fake_pages_byte(&pages, i), (int)(i / 4096 + 1), 4096);
	fake_job_init(&job, fake);
	add_copy(&job, fake_pages_place(&pages), fake_place(FAKE_LOCAL, &local), 32 * 4096);
	paging_job_queue(&job.job);
	fake_wait_submitted(fake, 1);
	EXPECT_EQ(atomic_load(&fake->log_count), 1);
	const struct miniport_paging_op *op = &fake->log[0].op;
	EXPECT_EQ(op->kind, MINIPORT_PAGING_TRANSFER);
	EXPECT_EQ(op->source.segment, 0);
	EXPECT_EQ(op->target.segment, FAKE_LOCAL);
	EXPECT_EQ(op->target.offset_bytes, 100 * 4096);
	EXPECT_EQ(op->offset_bytes, 0);
	EXPECT(op->transfer.is_start && op->transfer.is_end && !op->is_idle);
	EXPECT(op->subject.driver_allocation == &job);
	EXPECT_EQ(fake->memory.live_mdls, 1); /* until the fence */
	fake_complete_one(fake);
	fake_job_wait(&job);
	for (uint32_t i = 0; i < 32; i++)
		EXPECT_EQ(fake->memory.local[(100 + i) * 4096 + 7], i + 1);
	fake_destroy(fake);
	fake_pages_finish(&pages);
}

TEST(physical, a_large_copy_is_few_pieces_that_begin_where_the_last_ended)
{
	struct fake *fake = fake_create(&(struct fake_config){ .is_automatic = true });
	struct miniport_page_run local = { 16, 8192 + 100 };
	struct fake_pages pages;
	struct fake_job job;
	uint64_t size_bytes = 33 << 20;

	fake_pages_init(&pages, 33, 256);
	for (uint64_t i = 0; i < size_bytes; i += 4096)
		memcpy(fake->memory.local + 32 * 4096 + i, &i, sizeof(i));
	fake_job_init(&job, fake);
	struct miniport_location source = fake_place(FAKE_LOCAL, &local);
	source.offset_bytes = 16 * 4096;
	local.count = 16 + size_bytes / 4096;
	add_copy(&job, source, fake_pages_place(&pages), size_bytes);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
	EXPECT_EQ(atomic_load(&fake->log_count), 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct miniport_paging_op *op = &fake->log[i].op;
		EXPECT_EQ(op->source.offset_bytes, 32 * 4096 + i * (uint64_t)PAGING_PIECE_BYTES);
		EXPECT_EQ(op->offset_bytes, 0);
		EXPECT_EQ(op->transfer.is_start, i == 0);
		EXPECT_EQ(op->transfer.is_end, i == 2);
	}
	for (uint64_t i = 0; i < size_bytes; i += 4096) {
		uint64_t found;
		memcpy(&found, fake_pages_byte(&pages, i), sizeof(found));
		EXPECT_EQ(found, i);
	}
	fake_destroy(fake);
	fake_pages_finish(&pages);
}

FAKE_TEST(physical, a_part_of_a_move_has_the_flags_of_that_part,
	  &(struct fake_config){ .is_automatic = true })
{
	struct miniport_page_run from = { 0, 4 };
	struct miniport_page_run to = { 8, 4 };
	struct fake_job job;

	fake_job_init(&job, fake);
	for (uint32_t i = 0; i < 3; i++) {
		add_copy(&job, fake_place(FAKE_LOCAL, &from), fake_place(FAKE_LOCAL, &to), 16384);
		job.ops[i].transfer.is_start = i == 0;
		job.ops[i].transfer.is_end = i == 2;
	}
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT(fake->log[0].op.transfer.is_start && !fake->log[0].op.transfer.is_end);
	EXPECT(!fake->log[1].op.transfer.is_start && !fake->log[1].op.transfer.is_end);
	EXPECT(!fake->log[2].op.transfer.is_start && fake->log[2].op.transfer.is_end);
}

FAKE_TEST(physical, a_side_in_several_runs_is_several_pieces,
	  &(struct fake_config){ .is_automatic = true })
{
	/* The first two are neighbours. */
	struct miniport_page_run from[] = { { 10, 2 }, { 12, 2 }, { 30, 4 } };
	struct miniport_page_run to = { 50, 8 };
	struct fake_job job;

	fake_job_init(&job, fake);
	add_copy(&job,
		 (struct miniport_location){ .segment = FAKE_LOCAL, .run_count = 3, .runs = from },
		 fake_place(FAKE_LOCAL, &to), 8 * 4096);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(atomic_load(&fake->log_count), 2);
	EXPECT_EQ(fake->log[1].op.source.offset_bytes, 30 * 4096);
	EXPECT_EQ(fake->log[1].op.target.offset_bytes, 54 * 4096);
	EXPECT(fake->log[0].op.transfer.is_start && !fake->log[0].op.transfer.is_end);
}

FAKE_TEST(physical, a_fill_names_the_memory_segment, &(struct fake_config){ .is_automatic = true })
{
	struct miniport_page_run local = { 5, 3 };
	struct fake_job job;

	fake_job_init(&job, fake);
	struct miniport_paging_op *op = fake_job_add(&job, MINIPORT_PAGING_FILL);
	op->target = fake_place(FAKE_LOCAL, &local);
	op->size_bytes = 3 * 4096;
	op->fill.pattern = 0x01020304;
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(fake->log[0].op.target.segment, FAKE_LOCAL);
	EXPECT_EQ(fake->log[0].op.target.offset_bytes, 5 * 4096);
	EXPECT_EQ(fake->memory.local[5 * 4096], 4);
	EXPECT_EQ(fake->memory.local[8 * 4096 - 1], 1);
	EXPECT_EQ(fake->memory.local[8 * 4096], 0xEE);
}

TEST(physical, a_context_is_initialised_by_address_or_by_mdl)
{
	struct fake *fake = fake_create(&(struct fake_config){ .is_automatic = true });
	struct miniport_page_run local = { 7, 1 };
	struct fake_pages pages;
	struct fake_job job;

	fake_pages_init(&pages, 2, 1);
	fake_job_init(&job, fake);
	struct miniport_paging_op *op = fake_job_add(&job, MINIPORT_PAGING_INIT_CONTEXT_RESOURCE);
	op->target = fake_place(FAKE_LOCAL, &local);
	op->size_bytes = 4096;
	op->target.pointer = &job;
	op = fake_job_add(&job, MINIPORT_PAGING_INIT_CONTEXT_RESOURCE);
	op->target = fake_pages_place(&pages);
	op->size_bytes = 6000;
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(fake->log[0].op.target.segment, FAKE_LOCAL);
	EXPECT_EQ(fake->log[0].op.target.offset_bytes, 7 * 4096);
	EXPECT(fake->log[0].op.target.pointer == &job);
	EXPECT_EQ(fake->log[0].op.target.gpu_address, 0);
	EXPECT(fake->log[1].op.target.mdl != NULL);
	EXPECT_EQ(fake->memory.local[7 * 4096], 0x1C);
	EXPECT_EQ(*fake_pages_byte(&pages, 0), 0x1C);
	fake_destroy(fake);
	fake_pages_finish(&pages);
}

FAKE_TEST(physical, what_needs_page_tables_is_refused, &plain)
{
	struct fake_job job;

	fake_job_init(&job, fake);
	fake_job_add(&job, MINIPORT_PAGING_UPDATE_CONTEXT_ALLOCATION);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_NOT_SUPPORTED);
	EXPECT_EQ(atomic_load(&fake->log_count), 0);
}

TEST_MAIN("paging/physical")
