/* SPDX-License-Identifier: MIT */
#include "base/worker.h"

void work_init(struct work *work, void (*run)(struct work *work))
{
	list_init(&work->link);
	work->run = run;
}

static void worker_main(void *context)
{
	struct worker *worker = context;

	lock_acquire(&worker->lock);
	for (;;) {
		struct list *link = list_pop_front(&worker->queue);
		if (!link) {
			if (worker->is_stopping)
				break;
			notice_wait_relock(&worker->changed, &worker->lock);
			continue;
		}
		lock_release(&worker->lock);

		struct work *work = container_of(link, struct work, link);
		work->run(work);

		lock_acquire(&worker->lock);
		notice_give(&worker->changed); /* a flush may be over */
	}
	lock_release(&worker->lock);
}

NTSTATUS worker_init(struct worker *worker, const char *name)
{
	*worker = (struct worker){ 0 };
	lock_init(&worker->lock, LOCK_RANK_WORKER, name);
	list_init(&worker->queue);
	return thread_create(name, worker_main, worker, &worker->thread);
}

void worker_finish(struct worker *worker)
{
	if (!worker->thread)
		return;
	lock_acquire(&worker->lock);
	worker->is_stopping = true;
	lock_release(&worker->lock);
	notice_give(&worker->changed);
	thread_join(worker->thread);
	lock_finish(&worker->lock);
	worker->thread = NULL;
}

bool worker_post(struct worker *worker, struct work *work)
{
	lock_acquire(&worker->lock);
	bool is_new = !list_is_linked(&work->link);
	if (is_new)
		list_push_back(&worker->queue, &work->link);
	lock_release(&worker->lock);
	if (is_new)
		notice_give(&worker->changed);
	return is_new;
}

bool worker_cancel(struct worker *worker, struct work *work)
{
	lock_acquire(&worker->lock);
	bool was_queued = list_is_linked(&work->link);
	list_remove(&work->link);
	lock_release(&worker->lock);
	return was_queued;
}

/* A work item that stands for everything in front of it. */
struct flush {
	struct work work;
	struct worker *worker;
	bool is_done; /* guarded by the worker's lock */
};

static void flush_run(struct work *work)
{
	struct flush *flush = container_of(work, struct flush, work);

	lock_acquire(&flush->worker->lock);
	flush->is_done = true;
	lock_release(&flush->worker->lock);
}

void worker_flush(struct worker *worker)
{
	struct flush flush = { .worker = worker };

	work_init(&flush.work, flush_run);
	worker_post(worker, &flush.work);
	lock_acquire(&worker->lock);
	while (!flush.is_done)
		notice_wait_relock(&worker->changed, &worker->lock);
	lock_release(&worker->lock);
}
