/* SPDX-License-Identifier: MIT */
/*
 * stream_test.c - jobs for several contexts: each is built and submitted for its own, and what was
 * built first takes effect first, whoever it is for.
 */
#include "base/random.h"
#include "fake.h"
#include "support/test.h"

enum { NODE = 5, STREAMS = 3, JOBS = 64 };

static const struct fake_config mmu = { .has_mmu = true,
					.update_mode = MINIPORT_TABLE_GPU_VIRTUAL,
					.table_segment = FAKE_LOCAL };

static int contexts[STREAMS];

static struct pager_stream *stream_on(struct fake *fake, uint32_t which)
{
	struct pager_stream *stream;

	EXPECT_EQ(pager_stream_create(fake->pager, NODE, &contexts[which], &stream),
		  STATUS_SUCCESS);
	return stream;
}

static void queue_fill(struct fake_job *job, struct fake *fake, struct pager_stream *stream,
		       uint32_t pattern)
{
	fake_job_init(job, fake);
	fake_job_add_fill(job, pattern);
	job->job.stream = stream;
	paging_job_queue(&job->job);
}

static uint32_t filled(struct fake *fake)
{
	return *(uint32_t *)fake_pointer(&fake->memory, FAKE_LOCAL, 16 * MACHINE_PAGE_BYTES);
}

/* What the driver was asked to fill for this context. */
static uint32_t fills_for(struct fake *fake, const void *context)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < atomic_load(&fake->log_count); i++)
		count += fake->log[i].kind == MINIPORT_PAGING_VIRTUAL_FILL &&
			 fake->log[i].context == context;
	return count;
}

FAKE_TEST(stream, is_told_the_root_of_the_kernels_own_addresses, &mmu)
{
	uint32_t roots = fake->roots_set;
	struct pager_stream *stream = stream_on(fake, 0);

	EXPECT_EQ(fake->roots_set, roots + 1);
	EXPECT(fake->root_context == &contexts[0]);
	pager_stream_destroy(stream);
}

FAKE_TEST(stream, has_its_jobs_built_for_its_context, &mmu)
{
	struct pager_stream *stream = stream_on(fake, 0);
	struct fake_job jobs[2];

	fake_set_automatic(fake, true);
	queue_fill(&jobs[0], fake, stream, 1);
	queue_fill(&jobs[1], fake, NULL, 2);
	fake_job_wait(&jobs[0]);
	fake_job_wait(&jobs[1]);
	EXPECT_EQ(fills_for(fake, &contexts[0]), 1);
	EXPECT_EQ(fills_for(fake, NULL), 1);
	EXPECT_EQ(filled(fake), 2);
	pager_stream_destroy(stream);
}

FAKE_TEST(stream, waits_until_what_was_built_for_others_is_over, &mmu)
{
	struct pager_stream *stream = stream_on(fake, 0);
	struct fake_job jobs[3];

	queue_fill(&jobs[0], fake, NULL, 1);
	fake_wait_submitted(fake, 1);
	queue_fill(&jobs[1], fake, stream, 2);
	fake_wait_submitted(fake, 2);
	queue_fill(&jobs[2], fake, NULL, 3);
	fake_wait_submitted(fake, 3);
	EXPECT(pager_validate(fake->pager) == NULL);
	for (uint32_t i = 0; i < 3; i++) {
		EXPECT_EQ(fake_parked(fake), 2 - i);
		fake_complete_one(fake);
		fake_job_wait(&jobs[i]);
		EXPECT_EQ(filled(fake), i + 1);
	}
	pager_stream_destroy(stream);
}

FAKE_TEST(stream, does_not_wait_for_itself, &mmu)
{
	struct pager_stream *stream = stream_on(fake, 0);
	struct fake_job jobs[2];

	queue_fill(&jobs[0], fake, stream, 1);
	fake_wait_submitted(fake, 1);
	queue_fill(&jobs[1], fake, stream, 2);
	fake_wait_submitted(fake, 2);
	EXPECT_EQ(fake_parked(fake), 0);
	fake_job_complete(&jobs[0]);
	fake_job_complete(&jobs[1]);
	pager_stream_destroy(stream);
}

FAKE_TEST(reset, ends_what_all_of_them_have_and_tells_each_the_root, &mmu)
{
	struct pager_stream *streams[2] = { stream_on(fake, 0), stream_on(fake, 1) };
	struct fake_job jobs[3];
	uint32_t roots = fake->roots_set;

	queue_fill(&jobs[0], fake, streams[0], 1);
	fake_wait_submitted(fake, 1);
	queue_fill(&jobs[1], fake, streams[1], 2);
	fake_wait_submitted(fake, 2);
	queue_fill(&jobs[2], fake, NULL, 3);
	fake_wait_submitted(fake, 3);
	pager_suspend(fake->pager);
	fake_retire_one(fake, SCHED_ABORTED);
	pager_restart(fake->pager);
	fake_set_automatic(fake, true);
	for (uint32_t i = 0; i < 3; i++) {
		fake_job_wait(&jobs[i]);
		EXPECT_EQ(jobs[i].status, STATUS_DEVICE_REMOVED);
	}
	EXPECT_EQ(fake->roots_set, roots + 3);
	queue_fill(&jobs[0], fake, streams[1], 4);
	fake_job_wait(&jobs[0]);
	EXPECT_EQ(jobs[0].status, STATUS_SUCCESS);
	EXPECT_EQ(filled(fake), 4);
	pager_stream_destroy(streams[0]);
	pager_stream_destroy(streams[1]);
}

static void end(struct fake_job *job, bool is_automatic)
{
	if (is_automatic)
		fake_job_wait(job);
	else
		fake_job_complete(job);
}

TEST(model, what_was_queued_last_is_what_is_there)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		bool is_automatic = seed % 2 == 0;
		struct random random;
		struct fake *fake = fake_create(&mmu);
		struct pager_stream *streams[STREAMS + 1] = { NULL };
		static struct fake_job jobs[JOBS];

		random_init(&random, seed);
		for (uint32_t i = 0; i < STREAMS; i++)
			streams[i] = stream_on(fake, i);
		fake_set_automatic(fake, is_automatic);
		for (uint32_t i = 0; i < JOBS; i++) {
			queue_fill(&jobs[i], fake, streams[random_below(&random, STREAMS + 1)],
				   i + 1);
			if (random_below(&random, 4) == 0)
				end(&jobs[i], is_automatic);
		}
		for (uint32_t i = 0; i < JOBS; i++) {
			end(&jobs[i], is_automatic);
			EXPECT_EQ(jobs[i].status, STATUS_SUCCESS);
		}
		EXPECT_EQ(filled(fake), JOBS);
		EXPECT(pager_validate(fake->pager) == NULL);
		for (uint32_t i = 0; i < STREAMS; i++)
			pager_stream_destroy(streams[i]);
		fake_destroy(fake);
	}
}

TEST_MAIN("paging/stream")
