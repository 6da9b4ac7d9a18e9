/* SPDX-License-Identifier: MIT */
/*
 * worker_test.c - the queue of a worker.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/worker.h"
#include "support/test.h"
#include "child.h"

struct item {
	struct work work;
	char name;
	unsigned runs_left; /* posts itself again until it is 0 */
	struct worker *worker;
};

static char order[64];
static _Atomic uint32_t order_count;

static void item_run(struct work *work)
{
	struct item *item = container_of(work, struct item, work);

	order[order_count++] = item->name;
	if (item->runs_left > 0) {
		item->runs_left--;
		if (!worker_post(item->worker, work))
			abort();
	}
}

static struct item item_make(struct worker *worker, char name, unsigned runs_left)
{
	return (struct item){ .name = name, .worker = worker, .runs_left = runs_left };
}

static void forget_order(void)
{
	memset(order, 0, sizeof(order));
	order_count = 0;
}

/* Keeps the worker busy until it is told to go on. */
struct gate {
	struct work work;
	struct notice notice;
	_Atomic uint32_t is_entered;
	_Atomic uint32_t is_open;
};

static void gate_run(struct work *work)
{
	struct gate *gate = container_of(work, struct gate, work);

	gate->is_entered = 1;
	notice_give(&gate->notice);
	for (;;) {
		uint32_t seen = notice_read(&gate->notice);
		if (gate->is_open)
			return;
		notice_wait(&gate->notice, seen, CLOCK_FOREVER);
	}
}

/* Returns when the worker stands in the gate. */
static void gate_close(struct gate *gate, struct worker *worker)
{
	*gate = (struct gate){ 0 };
	work_init(&gate->work, gate_run);
	worker_post(worker, &gate->work);
	for (;;) {
		uint32_t seen = notice_read(&gate->notice);
		if (gate->is_entered)
			return;
		notice_wait(&gate->notice, seen, CLOCK_FOREVER);
	}
}

static void gate_open(struct gate *gate)
{
	gate->is_open = 1;
	notice_give(&gate->notice);
}

TEST(worker, runs_in_the_order_of_posting)
{
	struct worker worker;
	struct item items[10];

	forget_order();
	EXPECT(NT_SUCCESS(worker_init(&worker, "worker")));
	for (int i = 0; i < 10; i++) {
		items[i] = item_make(&worker, (char)('0' + i), 0);
		work_init(&items[i].work, item_run);
		EXPECT(worker_post(&worker, &items[i].work));
	}
	worker_flush(&worker);
	EXPECT_STR(order, "0123456789");
	worker_finish(&worker);
}

TEST(worker, a_queued_item_is_not_queued_twice)
{
	struct worker worker;
	struct gate gate;
	struct item item = item_make(&worker, 'a', 0);

	forget_order();
	work_init(&item.work, item_run);
	EXPECT(NT_SUCCESS(worker_init(&worker, "worker")));
	gate_close(&gate, &worker);
	EXPECT(worker_post(&worker, &item.work));
	EXPECT(!worker_post(&worker, &item.work));
	gate_open(&gate);
	worker_flush(&worker);
	EXPECT_STR(order, "a");
	EXPECT(worker_post(&worker, &item.work));
	worker_flush(&worker);
	EXPECT_STR(order, "aa");
	worker_finish(&worker);
}

/* With two items that nobody has posted yet. */
static void begin_with_two(struct worker *worker, struct item *a, struct item *b)
{
	forget_order();
	work_init(&a->work, item_run);
	work_init(&b->work, item_run);
	EXPECT(NT_SUCCESS(worker_init(worker, "worker")));
}

TEST(worker, a_cancelled_item_does_not_run)
{
	struct worker worker;
	struct gate gate;
	struct item a = item_make(&worker, 'a', 0);
	struct item b = item_make(&worker, 'b', 0);

	begin_with_two(&worker, &a, &b);
	EXPECT(!worker_cancel(&worker, &a.work));
	gate_close(&gate, &worker);
	EXPECT(!worker_cancel(&worker, &gate.work)); /* it has started */
	worker_post(&worker, &a.work);
	worker_post(&worker, &b.work);
	EXPECT(worker_cancel(&worker, &a.work));
	EXPECT(!worker_cancel(&worker, &a.work));
	gate_open(&gate);
	worker_flush(&worker);
	EXPECT_STR(order, "b");
	worker_finish(&worker);
}

TEST(worker, an_item_may_post_itself_again)
{
	struct worker worker;
	struct gate gate;
	struct item a = item_make(&worker, 'a', 3);
	struct item b = item_make(&worker, 'b', 0);

	begin_with_two(&worker, &a, &b);
	gate_close(&gate, &worker);
	worker_post(&worker, &a.work);
	worker_post(&worker, &b.work);
	gate_open(&gate);
	worker_finish(&worker); /* runs what is queued, however it came there */
	EXPECT_STR(order, "abaaa");
}

/* Posts itself until the flush has returned, which it must not wait for. */
struct tireless {
	struct work work;
	struct worker *worker;
	_Atomic uint32_t must_stop;
	_Atomic uint32_t runs;
};

static void tireless_run(struct work *work)
{
	struct tireless *tireless = container_of(work, struct tireless, work);

	tireless->runs++;
	if (!tireless->must_stop)
		worker_post(tireless->worker, work);
}

static void flush_beside_a_tireless_item(void)
{
	struct worker worker;
	struct tireless tireless = { .worker = &worker };

	work_init(&tireless.work, tireless_run);
	CHILD_EXPECT(NT_SUCCESS(worker_init(&worker, "worker")));
	worker_post(&worker, &tireless.work);
	worker_flush(&worker);
	CHILD_EXPECT(tireless.runs > 0);
	worker_flush(&worker);
	tireless.must_stop = 1;
	worker_finish(&worker);
}

TEST(worker, flush_waits_only_for_what_was_posted_before)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, flush_beside_a_tireless_item);
}

TEST(worker, flush_of_an_idle_worker_returns)
{
	struct worker worker;

	EXPECT(NT_SUCCESS(worker_init(&worker, "worker")));
	worker_flush(&worker);
	worker_flush(&worker);
	worker_finish(&worker);
}

static void seeded_posting(void)
{
	struct worker worker;
	struct item items[8];

	forget_order();
	CHILD_EXPECT(NT_SUCCESS(worker_init(&worker, "worker")));
	for (int i = 0; i < 8; i++) {
		items[i] = item_make(&worker, (char)('0' + i), i == 3 ? 2 : 0);
		work_init(&items[i].work, item_run);
		worker_post(&worker, &items[i].work);
	}
	worker_flush(&worker);
	CHILD_EXPECT(order_count >= 8);
	worker_finish(&worker);
	CHILD_EXPECT(order_count == 10);
}

TEST(worker, no_wake_up_is_lost_whatever_the_seed)
{
	for (uint64_t seed = 0; seed < 100; seed++)
		EXPECT_SEEDED_OK(seed, seeded_posting);
}

TEST(worker, without_memory_there_is_none_and_finishing_it_is_fine)
{
	struct worker worker = { 0 };

	worker_finish(&worker);
	mem_fail_nth(1);
	EXPECT_EQ(worker_init(&worker, "worker"), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	worker_finish(&worker);
}

TEST_MAIN("base/worker")
