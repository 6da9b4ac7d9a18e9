/* SPDX-License-Identifier: MIT */
/*
 * fake_job.c - jobs and pages for tests. See fake.h.
 */
#include <string.h>

#include "base/clock.h"
#include "fake.h"

static _Atomic uint32_t last_order;

static void tell_followers(struct fake_job *job)
{
	struct sched *sched = &job->fake->sched;
	struct list over;
	struct list *link;

	list_init(&over);
	lock_acquire(&sched->lock);
	job->is_over = true;
	list_splice_back(&over, &job->followers);
	lock_release(&sched->lock);
	while ((link = list_pop_front(&over)) != NULL) {
		struct sched_wait *wait = container_of(link, struct sched_wait, link);

		wait->over(wait);
	}
}

static void job_done(struct paging_job *job, NTSTATUS status)
{
	struct fake_job *fake_job = container_of(job, struct fake_job, job);
	struct fake *fake = fake_job->fake;

	lock_assert_none_held("a job");
	fake_job->status = status;
	fake_job->was_on_thread = pager_is_current_thread(fake->pager);
	atomic_store(&fake_job->order, atomic_fetch_add(&last_order, 1) + 1);
	tell_followers(fake_job);
	atomic_fetch_add(&fake_job->done_count, 1);
	notice_give(&fake->sched.changed);
}

static enum paging_step job_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	struct fake_job *fake_job = container_of(job, struct fake_job, job);

	lock_assert_none_held("a job");
	if (fake_job->next_op == fake_job->op_count)
		return PAGING_NONE;
	*op_out = fake_job->ops[fake_job->next_op];
	return fake_job->steps[fake_job->next_op++];
}

static void job_idle(struct paging_job *job)
{
	struct fake_job *fake_job = container_of(job, struct fake_job, job);

	lock_assert_none_held("a job");
	atomic_fetch_add(&fake_job->idles, 1);
}

void fake_job_init(struct fake_job *job, struct fake *fake)
{
	memset(job, 0, sizeof(*job));
	job->fake = fake;
	list_init(&job->followers);
	paging_job_init(&job->job, fake->pager);
	job->job.done = job_done;
	job->job.next = job_next;
	job->job.idle = job_idle;
}

void fake_job_add_step(struct fake_job *job, enum paging_step step)
{
	CHECK(job->op_count < FAKE_OPS);
	job->steps[job->op_count++] = step;
}

struct miniport_paging_op *fake_job_add(struct fake_job *job, enum miniport_paging_kind kind)
{
	CHECK(job->op_count < FAKE_OPS);
	job->steps[job->op_count] = PAGING_OPERATION;
	job->ops[job->op_count].kind = kind;
	return &job->ops[job->op_count++];
}

struct miniport_paging_op *fake_job_add_fill(struct fake_job *job, uint32_t pattern)
{
	static const struct miniport_page_run run = { 16, 16 };
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_FILL);

	op->target = fake_place(FAKE_LOCAL, &run);
	op->size_bytes = 16 * MACHINE_PAGE_BYTES;
	op->fill.pattern = pattern;
	return op;
}

void fake_job_queue_fill(struct fake_job *job, struct fake *fake, uint32_t pattern)
{
	fake_job_init(job, fake);
	fake_job_add_fill(job, pattern);
	paging_job_queue(&job->job);
}

struct miniport_paging_op *fake_job_add_update(struct fake_job *job, uint32_t segment,
					       const struct miniport_page_run *table)
{
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_UPDATE_PAGE_TABLE);
	uint64_t offset_bytes = table->first_pfn << MACHINE_PAGE_SHIFT;

	op->target = (struct miniport_location){ .segment = segment, .offset_bytes = offset_bytes };
	op->size_bytes = table->count << MACHINE_PAGE_SHIFT;
	op->update_table.mode = job->fake->config.update_mode;
	if (op->update_table.mode == MINIPORT_TABLE_CPU_VIRTUAL)
		op->target.pointer = fake_pointer(&job->fake->memory, segment, offset_bytes);
	return op;
}

void fake_job_after(struct fake_job *job, struct fake_job *first, uint32_t dependency)
{
	struct sched_wait *wait = paging_job_after_wait(&job->job, &job->dependencies[dependency]);
	bool is_over;

	lock_acquire(&first->fake->sched.lock);
	is_over = first->is_over;
	if (!is_over)
		list_push_back(&first->followers, &wait->link);
	lock_release(&first->fake->sched.lock);
	if (is_over)
		wait->over(wait);
}

void fake_job_after_owner(struct fake_job *job, uint32_t dependency)
{
	sched_after_owner(&job->fake->owner,
			  paging_job_after_wait(&job->job, &job->dependencies[dependency]));
}

void fake_job_wait(struct fake_job *job)
{
	for (;;) {
		uint32_t seen = notice_read(&job->fake->sched.changed);

		if (atomic_load(&job->done_count) > 0)
			break;
		notice_wait(&job->fake->sched.changed, seen, CLOCK_FOREVER);
	}
	CHECK(atomic_load(&job->done_count) == 1 && job->was_on_thread);
}

void fake_job_complete(struct fake_job *job)
{
	for (;;) {
		uint32_t seen = notice_read(&job->fake->sched.changed);

		if (atomic_load(&job->done_count) > 0)
			break;
		if (fake_in_flight(job->fake) > 0)
			fake_complete_one(job->fake);
		else
			notice_wait(&job->fake->sched.changed, seen, CLOCK_FOREVER);
	}
	fake_job_wait(job);
}

struct miniport_location fake_place(uint32_t segment, const struct miniport_page_run *run)
{
	return (struct miniport_location){ .segment = segment, .run_count = 1, .runs = run };
}

/* Every second stretch is kept only until the others are there. */
void fake_pages_init(struct fake_pages *pages, uint32_t run_count, uint32_t run_pages)
{
	uint64_t gaps[64];
	uint64_t address;

	CHECK(run_count <= 64);
	*pages = (struct fake_pages){ .run_count = run_count, .run_pages = run_pages };
	for (uint32_t i = 0; i < run_count; i++) {
		CHECK(NT_SUCCESS(machine_alloc_contiguous(run_pages * MACHINE_PAGE_BYTES, 0, 0,
							  UINT64_MAX, 0, &address)));
		pages->runs[i] =
			(struct miniport_page_run){ address >> MACHINE_PAGE_SHIFT, run_pages };
		CHECK(NT_SUCCESS(machine_alloc_contiguous(MACHINE_PAGE_BYTES, 0, 0, UINT64_MAX, 0,
							  &gaps[i])));
	}
	for (uint32_t i = 0; i < run_count; i++)
		CHECK(machine_free_contiguous(gaps[i]));
	/* Backwards: an order that addresses do not have. */
	for (uint32_t i = 0; i < run_count / 2; i++) {
		struct miniport_page_run run = pages->runs[i];

		pages->runs[i] = pages->runs[run_count - 1 - i];
		pages->runs[run_count - 1 - i] = run;
	}
}

void fake_pages_finish(struct fake_pages *pages)
{
	for (uint32_t i = 0; i < pages->run_count; i++)
		CHECK(machine_free_contiguous(pages->runs[i].first_pfn << MACHINE_PAGE_SHIFT));
}

struct miniport_location fake_pages_place(const struct fake_pages *pages)
{
	return (struct miniport_location){ .run_count = pages->run_count, .runs = pages->runs };
}

uint8_t *fake_pages_byte(const struct fake_pages *pages, uint64_t offset_bytes)
{
	uint64_t run_bytes = pages->run_pages * MACHINE_PAGE_BYTES;
	uint64_t pfn = pages->runs[offset_bytes / run_bytes].first_pfn;

	return (uint8_t *)machine_to_pointer(pfn << MACHINE_PAGE_SHIFT) + offset_bytes % run_bytes;
}
