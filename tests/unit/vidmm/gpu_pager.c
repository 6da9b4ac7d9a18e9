/* SPDX-License-Identifier: MIT */
/*
 * gpu_pager.c - the pager of a GPU turned by hand, and its hardware. See gpu.h.
 */
#include "gpu.h"

/* ---- MDLs ---- */

NTSTATUS gpu_mdl_create(const struct miniport_page_run *runs, uint32_t count,
			struct miniport_mdl **mdl_out)
{
	return fake_mdl_create(&the_gpu->memory, runs, count, mdl_out);
}

void gpu_mdl_destroy(struct miniport_mdl *mdl)
{
	fake_mdl_destroy(&the_gpu->memory, mdl);
}

/* ---- jobs ---- */

enum { JOB_NEW, JOB_READY, JOB_DONE };

void paging_job_init(struct paging_job *job, struct pager *pager)
{
	memset(job, 0, sizeof(*job));
	job->pager = pager;
	list_init(&job->link);
	atomic_store(&job->pending, 1);
}

static void job_count_down(struct paging_job *job)
{
	if (atomic_fetch_sub(&job->pending, 1) > 1)
		return;
	lock_acquire(&the_gpu->sched.lock);
	job->state = JOB_READY;
	list_push_back(&the_gpu->ready, &job->link);
	lock_release(&the_gpu->sched.lock);
}

static void dependency_over(struct sched_wait *wait)
{
	job_count_down(container_of(wait, struct paging_dependency, wait)->job);
}

void paging_job_after_submitted(struct paging_job *job, struct sched_owner *owner,
				struct paging_dependency *dependency)
{
	dependency->job = job;
	dependency->wait.over = dependency_over;
	atomic_fetch_add(&job->pending, 1);
	sched_after_submitted(owner, &dependency->wait);
}

struct sched_wait *paging_job_after_wait(struct paging_job *job,
					 struct paging_dependency *dependency)
{
	dependency->job = job;
	dependency->wait.over = dependency_over;
	atomic_fetch_add(&job->pending, 1);
	return &dependency->wait;
}

static void log_add(char what)
{
	size_t length = strlen(the_gpu->log);

	if (length + 1 < GPU_MAX_LOG)
		the_gpu->log[length] = what;
}

uint32_t pager_generation(const struct pager *pager)
{
	(void)pager;
	return the_gpu->generation;
}

bool paging_job_is_stale(const struct paging_job *job)
{
	return job->generation != the_gpu->generation;
}

bool paging_job_is_followed(const struct paging_job *job)
{
	(void)job;
	return false;
}

uint64_t paging_job_last_packet(struct paging_job *built)
{
	return built->last_sequence;
}

void paging_job_behind(struct paging_job *job, uint64_t packet)
{
	job->last_sequence = packet;
}

void paging_job_queue(struct paging_job *job)
{
	lock_assert_none_held("paging_job_queue");
	job->generation = the_gpu->generation;
	atomic_store(&the_gpu->queued_by, thread_id());
	job_count_down(job);
}

void paging_jobs_queue(struct pager *pager, struct list *jobs)
{
	(void)pager;
	list_drain (struct paging_job, job, jobs, link)
		paging_job_queue(job);
}

/* No page of both: what a driver does then nobody knows. */
static void expect_apart(const struct miniport_location *source,
			 const struct miniport_location *destination)
{
	for (uint32_t i = 0; i < source->run_count; i++) {
		for (uint32_t k = 0; k < destination->run_count; k++) {
			const struct miniport_page_run *from = &source->runs[i];
			const struct miniport_page_run *to = &destination->runs[k];

			EXPECT(from->first_pfn + from->count <= to->first_pfn ||
			       to->first_pfn + to->count <= from->first_pfn);
		}
	}
}

static void run_copy(const struct miniport_paging_op *op)
{
	bool is_in = op->target.segment != 0;
	bool is_within = is_in && op->source.segment != 0;

	EXPECT(is_in ? op->target.segment == SEGMENT_LOCAL : op->source.segment == SEGMENT_LOCAL);
	EXPECT(op->transfer.is_start && op->transfer.is_end);
	if (is_within)
		expect_apart(&op->source, &op->target);
	fake_transfer(&the_gpu->memory, op);
	if (is_within && the_gpu->copies_wrong)
		*fake_byte(&the_gpu->memory, &op->target, op->size_bytes - 1) ^= 1;
	*(is_within ? &the_gpu->copied_within_bytes
	  : is_in   ? &the_gpu->copied_in_bytes
		    : &the_gpu->copied_out_bytes) += op->size_bytes;
	log_add(is_within ? 'c' : is_in ? 'i' : 'o');
}

static void run_fill(const struct miniport_paging_op *op)
{
	EXPECT_EQ(op->target.segment, SEGMENT_LOCAL);
	EXPECT_EQ(op->fill.pattern, 0);
	fake_fill(&the_gpu->memory, op);
	the_gpu->filled_bytes += op->size_bytes;
	log_add('f');
}

static void run_aperture(const struct miniport_paging_op *op)
{
	fake_map_aperture(&the_gpu->memory, op);
	log_add(op->kind == MINIPORT_PAGING_MAP_APERTURE_SEGMENT ? 'm' : 'u');
}

static void run_other(const struct miniport_paging_op *op)
{
	EXPECT(op->subject.driver_allocation);
	if (op->kind == MINIPORT_PAGING_MAP_APERTURE_SEGMENT ||
	    op->kind == MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT)
		run_aperture(op);
	else if (op->kind == MINIPORT_PAGING_NOTIFY_RESIDENCY)
		log_add(op->notify_residency.is_resident ? 'N' : 'n');
	else if (op->kind == MINIPORT_PAGING_FLUSH_TLB)
		log_add('T');
	else if (op->kind == MINIPORT_PAGING_DISCARD_CONTENT)
		log_add('d');
	else if (op->kind == MINIPORT_PAGING_INIT_CONTEXT_RESOURCE)
		log_add('i');
	else
		EXPECT(false);
	the_gpu->discards += op->kind == MINIPORT_PAGING_DISCARD_CONTENT;
}

/* Of a range that is nobody's any more, in capitals. */
NTSTATUS pager_tell(struct pager *pager, const struct miniport_paging_op *op)
{
	(void)pager;
	if (op->kind == MINIPORT_PAGING_TRANSFER) {
		EXPECT(op->subject.driver_allocation);
		EXPECT_EQ(op->size_bytes, 0);
		log_add('t');
	} else if (op->kind == MINIPORT_PAGING_UNMAP_APERTURE_SEGMENT &&
		   !op->subject.driver_allocation) {
		EXPECT(!op->aperture.driver_device);
		run_aperture(op);
		the_gpu->log[strlen(the_gpu->log) - 1] = 'U';
	} else {
		run_other(op);
	}
	return STATUS_SUCCESS;
}

static bool is_of_tables(const struct miniport_paging_op *op)
{
	return op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE ||
	       op->kind == MINIPORT_PAGING_FLUSH_TLB;
}

/* Operations that were built, and are to be done. */
struct built_job {
	struct list link; /* gpu.built */
	struct paging_job *job;
	NTSTATUS status;
	unsigned count;
	enum paging_step steps[16];
	struct miniport_paging_op ops[16];
};

static void step_run(struct gpu *gpu, enum paging_step step, const struct miniport_paging_op *op)
{
	if (step == PAGING_SETTLE)
		log_add('s');
	else if (op->kind == MINIPORT_PAGING_TRANSFER)
		run_copy(op);
	else if (op->kind == MINIPORT_PAGING_FILL)
		run_fill(op);
	else if (gpu->tables && is_of_tables(op))
		gpu->tables(gpu, op);
	else
		run_other(op);
}

/* With `later` its operations go there, else they are done at once. */
static NTSTATUS job_build(struct gpu *gpu, struct paging_job *job, struct built_job *later)
{
	NTSTATUS status = gpu->next_status;
	struct miniport_paging_op op = { 0 };
	enum paging_step step;

	gpu->next_status = STATUS_SUCCESS;
	gpu->jobs++;
	while (NT_SUCCESS(status) && job->next && (step = job->next(job, &op)) != PAGING_NONE) {
		if (step == PAGING_FOLLOW)
			continue; /* nothing is ever built late */
		if (gpu->fail_op > 0 && --gpu->fail_op == 0) {
			status = STATUS_DRIVER_INTERNAL_ERROR;
		} else if (later) {
			EXPECT(later->count < ARRAY_SIZE(later->ops));
			later->steps[later->count] = step;
			later->ops[later->count++] = op;
		} else {
			step_run(gpu, step, &op);
		}
	}
	job->last_sequence = ++gpu->built_count;
	if (NT_SUCCESS(status) && job->built)
		job->built(job);
	return status;
}

static void job_end(struct paging_job *job, NTSTATUS status)
{
	job->state = JOB_DONE;
	job->done(job, status);
}

static struct paging_job *pop_ready(struct gpu *gpu)
{
	lock_acquire(&gpu->sched.lock);
	struct list *link = list_pop_front(&gpu->ready);
	lock_release(&gpu->sched.lock);
	return link ? container_of(link, struct paging_job, link) : NULL;
}

bool gpu_build(struct gpu *gpu)
{
	struct paging_job *job = pop_ready(gpu);
	struct built_job *built;

	if (!job)
		return false;
	built = calloc(1, sizeof(*built));
	EXPECT(built);
	built->job = job;
	built->status = job_build(gpu, job, built);
	list_push_back(&gpu->built, &built->link);
	return true;
}

void gpu_fail_built(struct gpu *gpu, NTSTATUS status)
{
	struct built_job *built = container_of(gpu->built.next, struct built_job, link);

	EXPECT(!list_is_empty(&gpu->built));
	built->count = 0;
	built->status = status;
}

bool gpu_complete(struct gpu *gpu)
{
	struct list *link = list_pop_front(&gpu->built);
	struct built_job *built;

	if (!link)
		return false;
	built = container_of(link, struct built_job, link);
	for (unsigned i = 0; i < built->count; i++)
		step_run(gpu, built->steps[i], &built->ops[i]);
	job_end(built->job, built->status);
	free(built);
	return true;
}

unsigned gpu_run(struct gpu *gpu, unsigned count)
{
	unsigned ran = 0;

	for (; ran < count; ran++) {
		struct paging_job *job;

		while (gpu_complete(gpu))
			;
		job = pop_ready(gpu);
		if (!job)
			break;
		NTSTATUS status = job_build(gpu, job, NULL);
		job_end(job, status);
	}
	return ran;
}

unsigned gpu_ready(struct gpu *gpu)
{
	struct list *link;
	unsigned count = 0;

	lock_acquire(&gpu->sched.lock);
	list_for_each (link, &gpu->ready)
		count++;
	lock_release(&gpu->sched.lock);
	return count;
}
