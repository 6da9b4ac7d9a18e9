/* SPDX-License-Identifier: MIT */
/*
 * paging_queue_test.c - the end of a paging queue and its device while an operation is just over,
 * in a whole host with the recorder as its driver.
 */
#include "support/test.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "drivers/recorder/recorder.h"
#include "object/kernel.h"
#include "object/paging_queue.h"
#include "paging/pager.h"

static struct mem_usage before;
static struct dxg_kernel kernel;
static struct dxg_process *process;
static struct dxg_device *device;
static struct dxg_paging_queue *queue;

/* ---- on which thread the driver hears that the device is gone ---- */

static _Atomic(struct pager *) pager; /* NULL: nobody looks */
static _Atomic unsigned destroyed;
static _Atomic unsigned destroyed_by_pager;

EXPORTED void recorder_note(const char *line)
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
	const struct miniport_config config = {
		.driver = RECORDER_PATH, .name = "recorder", .adapter_id = 1, .luid = 0x10000
	};

	before = mem_usage();
	EXPECT_EQ(kernel_start(&kernel, &config, 1), STATUS_SUCCESS);
	EXPECT_EQ(kernel.adapter_count, 1);
	EXPECT_EQ(process_create(1, &kernel.shares, &process), STATUS_SUCCESS);
	EXPECT_EQ(
		device_create(process, kernel.adapters[0], &(struct device_options){ 0 }, &device),
		STATUS_SUCCESS);
	EXPECT_EQ(paging_queue_create(device, 0, &queue), STATUS_SUCCESS);
	pager = kernel.adapters[0]->pager;
}

static void finish(void)
{
	process_destroy(process);
	pager = NULL;
	kernel_end(&kernel);
	EXPECT_EQ(mem_usage().blocks, before.blocks);
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

static bool slow_next(struct paging_job *job, struct paging_op *op_out)
{
	(void)job;
	(void)op_out;
	return false;
}

/* ---- tests ---- */

/* The pager would have to wait for itself when the driver, or we, give up memory there. */
TEST(paging_queue, the_last_of_a_device_is_never_an_operation)
{
	struct slow slow = { 0 };

	begin();
	paging_operation_init(&slow.operation, queue, slow_free);
	(void)paging_queue_add(&slow.operation);
	paging_job_init(&slow.job, pager);
	slow.job.next = slow_next;
	slow.job.done = slow_done;
	paging_job_queue(&slow.job);
	while (!atomic_load(&slow.is_ending))
		thread_point();
	EXPECT(device_destroy(device));
	object_put(&queue->object);
	object_put(&device->object);
	atomic_store(&slow.may_end, true);
	finish();
	EXPECT_EQ(destroyed, 1);
	EXPECT_EQ(destroyed_by_pager, 0);
}

TEST_MAIN("object/paging_queue")
