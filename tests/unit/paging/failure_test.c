/* SPDX-License-Identifier: MIT */
/*
 * failure_test.c - memory that is not there: at creation nothing is left, later one job fails.
 */
#include "fake.h"
#include "support/failing.h"

static void sweep_creation(const struct fake_config *config)
{
	fake_destroy(fake_create(config)); /* what is set up once is there then */
	struct machine_usage pages = machine_usage();
	struct fake *fake = NULL;

	EXPECT_EACH_FAILURE_TOLD(5, fake_try_create(config, &fake), {
		if (fake)
			fake_destroy(fake);
		fake = NULL;
		EXPECT_EQ(machine_usage().taken_pages, pages.taken_pages);
	});
}

TEST(failure, creation_leaves_nothing_behind)
{
	sweep_creation(&(struct fake_config){ 0 });
}

TEST(failure, creation_of_an_address_space_leaves_nothing_behind)
{
	sweep_creation(&(struct fake_config){ .has_mmu = true });
	sweep_creation(&(struct fake_config){ .has_mmu = true,
					      .update_mode = MINIPORT_TABLE_GPU_VIRTUAL,
					      .table_segment = FAKE_LOCAL });
}

/* A row with everything in it that takes memory. */
static void fill_job(struct fake_job *job, const struct fake_pages *pages,
		     const struct miniport_page_run *local)
{
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_TRANSFER);

	op->source = fake_pages_place(pages);
	op->target = fake_place(FAKE_LOCAL, local);
	op->size_bytes = 8 * 4096;
	op = fake_job_add(job, MINIPORT_PAGING_INIT_CONTEXT_RESOURCE);
	op->target = fake_pages_place(pages);
	op->size_bytes = 4096;
}

static void sweep_job(const struct fake_config *config)
{
	struct fake *fake = fake_create(config);
	struct miniport_page_run local = { 16, 8 };
	struct fake_pages pages;

	fake_pages_init(&pages, 4, 2);
	EACH_FAILURE (failing, 3) {
		struct fake_job job;

		fake_job_init(&job, fake);
		fill_job(&job, &pages, &local);
		failing_start(&failing);
		paging_job_queue(&job.job);
		fake_job_wait(&job);
		(void)failing_stop(&failing);
		EXPECT_EQ(job.status, STATUS_SUCCESS);
		pager_flush(fake->pager);
		EXPECT(pager_validate(fake->pager) == NULL);
	}
	fake_destroy(fake);
	fake_pages_finish(&pages);
}

/* What would be left half done costs somebody his device; a moment later there is memory. */
TEST(failure, a_job_without_memory_goes_on_when_there_is_some)
{
	sweep_job(&(struct fake_config){ .is_automatic = true });
	sweep_job(&(struct fake_config){ .is_automatic = true, .has_mmu = true });
}

TEST(failure, a_job_that_never_gets_memory_fails_alone)
{
	struct fake *fake = fake_create(&(struct fake_config){ .is_automatic = true });
	struct miniport_page_run local = { 16, 8 };
	struct fake_pages pages;
	struct fake_job job;

	fake_pages_init(&pages, 4, 2);
	atomic_store(&fake->memory.has_no_mdls, true);
	fake_job_init(&job, fake);
	fill_job(&job, &pages, &local);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_NO_MEMORY);
	pager_flush(fake->pager);
	atomic_store(&fake->memory.has_no_mdls, false);
	fake_job_init(&job, fake); /* the pager goes on */
	fill_job(&job, &pages, &local);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
	pager_flush(fake->pager);
	EXPECT(pager_validate(fake->pager) == NULL);
	fake_destroy(fake);
	fake_pages_finish(&pages);
}

static uint32_t fail_at;

static NTSTATUS fail_nth_build(struct fake *fake, const struct miniport_paging_op *op,
			       struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)op;
	(void)buffer;
	(void)multipass;
	return ++fake->hook_count == fail_at ? STATUS_DRIVER_INTERNAL_ERROR : STATUS_PENDING;
}

/* Wherever the way to the driver ends, the job fails, and the next one finds nothing of it. */
TEST(failure, every_build_may_fail)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct fake_config config = { .has_mmu = true,
					      .update_mode = mode,
					      .table_segment = mode == 0 ? 0 : FAKE_LOCAL,
					      .is_automatic = true };
		struct fake *fake = fake_create(&config);
		struct miniport_page_run local = { 16, 8 };
		struct fake_pages pages;
		bool has_fired;

		fake_pages_init(&pages, 4, 2);
		fake->hook = fail_nth_build;
		fail_at = 0;
		do {
			struct fake_job job;

			fake->hook_count = 0;
			fail_at++;
			fake_job_init(&job, fake);
			fill_job(&job, &pages, &local);
			paging_job_queue(&job.job);
			fake_job_wait(&job);
			pager_flush(fake->pager);
			has_fired = fake->hook_count >= fail_at;
			EXPECT_EQ(job.status,
				  has_fired ? STATUS_DRIVER_INTERNAL_ERROR : STATUS_SUCCESS);
			EXPECT(pager_validate(fake->pager) == NULL);
		} while (has_fired);
		EXPECT(fail_at > 7);
		fake->hook = NULL;
		fake_destroy(fake);
		fake_pages_finish(&pages);
	}
}

TEST_MAIN("paging/failure")
