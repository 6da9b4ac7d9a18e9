/* SPDX-License-Identifier: MIT */
/*
 * hold_test.c - names of what a driver holds: each is good for one release, whatever became of what
 * it held.
 */
#include "support/test.h"

#include "base/mem.h"
#include "base/thread.h"
#include "object/ending/hold.h"

enum { MANY = 1000 };

static uint32_t reported;

/* The driver's host, for this test. */
void miniport_report_held(const char *what, const void *driver_handle, uint32_t holds)
{
	(void)what;
	(void)driver_handle;
	reported = holds;
}

TEST(hold, has_a_name_for_each_time_it_is_taken)
{
	struct hold_count holds = { 0 };
	static void *names[MANY];

	for (unsigned i = 0; i < MANY; i++) {
		names[i] = hold_take(&holds);
		EXPECT(names[i]);
		for (unsigned j = 0; j < i; j++)
			EXPECT(names[i] != names[j]);
	}
	EXPECT_EQ(holds.count, MANY);
	for (unsigned i = 0; i < MANY; i++)
		EXPECT_EQ(hold_give(names[i]), MINIPORT_RELEASED);
	EXPECT_EQ(holds.count, 0);
	holds_finish();
}

TEST(hold, is_given_once)
{
	struct hold_count holds = { 0 };
	void *name = hold_take(&holds);

	EXPECT_EQ(hold_give(name), MINIPORT_RELEASED);
	EXPECT_EQ(hold_give(name), MINIPORT_NOT_HELD);
	EXPECT_EQ(holds.count, 0);
	void *again = hold_take(&holds);
	EXPECT_EQ(hold_give(name), MINIPORT_NOT_HELD);
	EXPECT_EQ(holds.count, 1);
	EXPECT_EQ(hold_give(again), MINIPORT_RELEASED);
	holds_finish();
}

TEST(hold, by_a_name_that_was_never_one_is_not_there)
{
	struct hold_count holds = { 0 };
	void *name = hold_take(&holds);

	EXPECT_EQ(hold_give(NULL), MINIPORT_NOT_HELD);
	EXPECT_EQ(hold_give(&holds), MINIPORT_NOT_HELD);
	EXPECT_EQ(hold_give((void *)~(uintptr_t)0), MINIPORT_NOT_HELD);
	EXPECT_EQ(hold_give((void *)((uintptr_t)name & UINT32_MAX)), MINIPORT_NOT_HELD);
	EXPECT_EQ(hold_give((void *)((uintptr_t)name + 1)), MINIPORT_NOT_HELD);
	EXPECT_EQ(hold_give(name), MINIPORT_RELEASED);
	holds_finish();
	EXPECT_EQ(hold_give(name), MINIPORT_NOT_HELD);
}

TEST(hold, of_what_is_going_is_not_taken)
{
	struct hold_count holds = { 0 };

	reported = 0;
	hold_end(&holds, "thing", NULL);
	EXPECT(!hold_take(&holds));
	EXPECT_EQ(reported, 0);
	holds_finish();
}

struct ender {
	struct hold_count holds;
	_Atomic bool is_over;
};

static void end_it(void *argument)
{
	struct ender *ender = argument;

	hold_end(&ender->holds, "thing", NULL);
	atomic_store(&ender->is_over, true);
}

/* Nobody's patience is tried: the clock would be, and that would be reported. */
TEST(hold, that_is_awaited_lets_the_thing_go_when_the_last_is_given)
{
	struct ender ender = { 0 };
	void *names[2] = { hold_take(&ender.holds), hold_take(&ender.holds) };
	struct thread *thread;

	reported = 0;
	EXPECT_EQ(thread_create("ender", end_it, &ender, &thread), STATUS_SUCCESS);
	while (ender.holds.count == 2)
		thread_point();
	EXPECT_EQ(hold_give(names[0]), MINIPORT_RELEASED);
	for (unsigned i = 0; i < MANY; i++)
		thread_point();
	EXPECT(!ender.is_over);
	EXPECT_EQ(hold_give(names[1]), MINIPORT_RELEASED);
	thread_join(thread);
	EXPECT(ender.is_over);
	EXPECT_EQ(reported, 0);
	holds_finish();
}

/* The patience is over in no time on the virtual clock (DXGK_SEED). */
TEST(hold, that_outlives_the_thing_is_found_out)
{
	struct hold_count *holds = mem_zalloc(sizeof(*holds));
	struct hold_count other = { 0 };
	void *names[2] = { hold_take(holds), hold_take(holds) };
	void *others = hold_take(&other);

	reported = 0;
	hold_end(holds, "thing", NULL);
	EXPECT_EQ(reported, 2);
	mem_free(holds);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT_EQ(hold_give(names[i]), MINIPORT_RELEASED_LATE);
		EXPECT_EQ(hold_give(names[i]), MINIPORT_NOT_HELD);
	}
	EXPECT_EQ(hold_give(others), MINIPORT_RELEASED);
	EXPECT_EQ(other.count, 0);
	holds_finish();
}

TEST(hold, is_not_taken_without_memory)
{
	struct hold_count holds = { 0 };

	mem_fail_nth(1);
	EXPECT(!hold_take(&holds));
	EXPECT(mem_fail_stop());
	EXPECT_EQ(holds.count, 0);
	EXPECT_EQ(mem_usage().blocks, 0);
}

TEST_MAIN("object/hold")
