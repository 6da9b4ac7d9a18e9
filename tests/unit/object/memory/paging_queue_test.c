/* SPDX-License-Identifier: MIT */
/*
 * paging_queue_test.c - the end of a paging queue and its device while an operation is just over,
 * in a whole host with the recorder as its driver.
 */
#include "unit/object/scene.h"

#include "base/clock.h"
#include "object/memory/paging_queue.h"
#include "paging/pager.h"

static struct dxg_paging_queue *queue;

/* ---- on which thread the driver hears that the device is gone ---- */

static _Atomic(struct pager *) pager; /* NULL: nobody looks */
static _Atomic unsigned destroyed;
static _Atomic unsigned destroyed_by_pager;

static void note_destroyed(const char *line)
{
	struct pager *watched = pager;

	if (!watched || strncmp(line, "DestroyDevice", strlen("DestroyDevice")) != 0)
		return;
	destroyed++;
	destroyed_by_pager += pager_is_current_thread(watched);
}

/* ---- the world ---- */

static void begin(void)
{
	note_hook = note_destroyed;
	scene_begin_with(NULL, 0);
	client_begin(&app, 1);
	EXPECT_EQ(paging_queue_create(app.device, 0, &queue), STATUS_SUCCESS);
	pager = adapter->pager;
}

static void finish(void)
{
	process_destroy(app.process);
	pager = NULL;
	scene_end();
}

/* ---- an operation whose end takes a while, on the pager's thread ---- */

struct slow {
	struct paging_operation operation;
	struct paging_job job;
	_Atomic bool is_ending;
	_Atomic bool may_end;
};

static void slow_free(struct paging_operation *operation)
{
	struct slow *slow = container_of(operation, struct slow, operation);

	atomic_store(&slow->is_ending, true);
	/* The end of the queue may be what waits for this, and then nobody says so. */
	for (unsigned i = 0; i < 300 && !atomic_load(&slow->may_end); i++)
		clock_sleep_until(clock_now_ns() + NS_PER_MS);
}

static void slow_done(struct paging_job *job, NTSTATUS status)
{
	(void)status;
	paging_operation_over(&container_of(job, struct slow, job)->operation);
}

static enum paging_step slow_next(struct paging_job *job, struct miniport_paging_op *op_out)
{
	(void)job;
	(void)op_out;
	return PAGING_NONE;
}

/* ---- tests ---- */

/* The pager would have to wait for itself when the driver, or we, give up memory there. */
TEST(paging_queue, the_last_of_a_device_is_never_an_operation)
{
	struct slow slow = { 0 };

	begin();
	EXPECT_EQ(paging_operation_init(&slow.operation, queue, slow_free), STATUS_SUCCESS);
	(void)paging_queue_add(&slow.operation);
	paging_job_init(&slow.job, pager);
	slow.job.next = slow_next;
	slow.job.done = slow_done;
	paging_job_queue(&slow.job);
	while (!atomic_load(&slow.is_ending))
		thread_point();
	EXPECT(device_destroy(app.device));
	object_put(&queue->object);
	object_put(&app.device->object);
	atomic_store(&slow.may_end, true);
	finish();
	EXPECT_EQ(destroyed, 1);
	EXPECT_EQ(destroyed_by_pager, 0);
}

TEST_MAIN("object/paging_queue")
