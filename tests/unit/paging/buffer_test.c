/* SPDX-License-Identifier: MIT */
/*
 * buffer_test.c - paging buffers: fresh ones, full ones, ones that came back. That a fresh buffer
 * is aligned, below 4 GiB, exactly as large as reported and has zeroed private data is looked at
 * by fake.c at every call.
 */
#include "fake.h"
#include "support/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/trace.h"
#include "trace/trace_file.h"

static const struct miniport_page_run local_run = { 16, 1 };

static void queue_fill(struct fake_job *job, struct fake *fake)
{
	fake_job_init(job, fake);
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_FILL);
	op->target = fake_place(FAKE_LOCAL, &local_run);
	op->size_bytes = MACHINE_PAGE_BYTES;
	paging_job_queue(&job->job);
}

FAKE_TEST(buffer, each_submission_begins_a_fresh_one, &(struct fake_config){ .buffer_bytes = 5000 })
{
	struct fake_job jobs[2];

	queue_fill(&jobs[0], fake);
	fake_wait_submitted(fake, 1);
	queue_fill(&jobs[1], fake);
	fake_wait_submitted(fake, 2);
	EXPECT_EQ(fake->log[0].used_bytes, 0);
	EXPECT_EQ(fake->log[1].used_bytes, 0);
	EXPECT(fake->log[0].buffer != fake->log[1].buffer);
	EXPECT_EQ(fake->log[1].buffer->size_bytes, 5000);
	fake_job_complete(&jobs[1]);
}

FAKE_TEST(buffer, one_is_not_used_again_before_its_fence,
	  &(struct fake_config){ .buffer_count = 2 })
{
	struct fake_job jobs[3];

	queue_fill(&jobs[0], fake);
	fake_wait_submitted(fake, 1);
	queue_fill(&jobs[1], fake);
	fake_wait_submitted(fake, 2);
	queue_fill(&jobs[2], fake);
	EXPECT_EQ(atomic_load(&fake->log_count), 2);
	EXPECT(pager_validate(fake->pager) == NULL);
	fake_complete_one(fake);
	fake_wait_submitted(fake, 3);
	EXPECT(fake->log[2].buffer == fake->log[0].buffer);
	EXPECT_EQ(fake->log[2].used_bytes, 0);
	fake_job_complete(&jobs[2]);
}

FAKE_TEST(buffer, several_are_with_the_hardware_at_once, &(struct fake_config){ 0 })
{
	struct fake_job jobs[8];

	for (uint32_t i = 0; i < 8; i++) {
		queue_fill(&jobs[i], fake);
		fake_wait_submitted(fake, i + 1);
	}
	EXPECT_EQ(fake_in_flight(fake), 8);
	fake_job_complete(&jobs[7]);
}

FAKE_TEST(buffer, what_is_submitted_is_what_was_written, &(struct fake_config){ 0 })
{
	struct fake_job job;

	queue_fill(&job, fake);
	fake_wait_submitted(fake, 1);
	const struct fake_submission *submission = &fake->packets.queue[0];
	EXPECT_EQ(submission->start_bytes, 0);
	EXPECT_EQ(submission->end_bytes, submission->buffer->used_bytes);
	EXPECT(submission->end_bytes < submission->buffer->size_bytes);
	EXPECT_EQ(submission->private_start_bytes, 0);
	EXPECT_EQ(submission->private_end_bytes, FAKE_PRIVATE_BYTES / 2);
	fake_job_complete(&job);
}

FAKE_TEST(buffer, a_packet_that_the_scheduler_does_not_take_fails_its_jobs,
	  &(struct fake_config){ 0 })
{
	struct fake_job jobs[2];

	queue_fill(&jobs[0], fake);
	fake_wait_submitted(fake, 1);
	fake->packets.is_refusing = true;
	queue_fill(&jobs[1], fake);
	fake_complete_one(fake);
	fake_job_wait(&jobs[1]);
	EXPECT_EQ(jobs[0].status, STATUS_SUCCESS);
	EXPECT_EQ(jobs[1].status, STATUS_DEVICE_REMOVED);
	EXPECT(pager_validate(fake->pager) == NULL);
}

/* ---- traces ---- */

/* What a trace that begins now says of packets. */
static unsigned packets_in_late_trace(struct fake *fake)
{
	char path[] = "/tmp/paging-trace-XXXXXX";
	struct trace_entry entry;
	struct trace_file file;
	char problem[128];
	unsigned count = 0;

	close(mkstemp(path));
	EXPECT(trace_start(path));
	pager_trace_jobs(fake->pager);
	trace_finish();
	EXPECT(trace_file_open(path, &file));
	struct trace_reader *reader =
		trace_reader_open(file.bytes, file.size_bytes, problem, sizeof(problem));
	EXPECT(reader);
	while (trace_reader_next(reader, &entry)) {
		if (entry.event != TRACE_paging_packet_submitted)
			continue;
		EXPECT_EQ(entry.fields[1].number, ++count);
		EXPECT(entry.fields[2].number > 0);
	}
	trace_reader_close(reader);
	trace_file_close(&file);
	unlink(path);
	return count;
}

FAKE_TEST(trace, that_begins_late_says_which_packets_the_hardware_has,
	  &(struct fake_config){ .buffer_bytes = 5000 })
{
	struct fake_job jobs[2];

	for (uint32_t i = 0; i < 2; i++) {
		EXPECT_EQ(packets_in_late_trace(fake), i);
		queue_fill(&jobs[i], fake);
		fake_wait_submitted(fake, i + 1);
	}
	EXPECT_EQ(packets_in_late_trace(fake), 2);
	for (uint32_t i = 0; i < 2; i++) {
		fake_complete_one(fake);
		fake_job_wait(&jobs[i]);
	}
	EXPECT_EQ(packets_in_late_trace(fake), 0);
}

TEST_MAIN("paging/buffer")
