/*
 * lock_test.c - who may be inside, who waits, and in which order locks are taken.
 */
#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"
#include "support/test.h"
#include "child.h"

enum { THREADS = 4, ROUNDS = 10000 };

struct counted {
	struct lock lock;
	struct rwlock rwlock;
	uint64_t value; /* plain: only the lock keeps it right */
};

static void count_up(void *argument)
{
	struct counted *counted = argument;

	for (int i = 0; i < ROUNDS; i++) {
		lock_acquire(&counted->lock);
		counted->value++;
		lock_release(&counted->lock);
	}
}

static void count_up_by_trying(void *argument)
{
	struct counted *counted = argument;

	for (int i = 0; i < ROUNDS;) {
		if (!lock_try_acquire(&counted->lock))
			continue;
		counted->value++;
		lock_release(&counted->lock);
		i++;
	}
}

static void count_up_exclusively(void *argument)
{
	struct counted *counted = argument;

	for (int i = 0; i < ROUNDS; i++) {
		if (i % 4 == 0) {
			rwlock_acquire_exclusive(&counted->rwlock);
			counted->value++;
			rwlock_release_exclusive(&counted->rwlock);
		} else {
			rwlock_acquire_shared(&counted->rwlock);
			if (counted->value > THREADS * ROUNDS)
				abort();
			rwlock_release_shared(&counted->rwlock);
		}
	}
}

static uint64_t count_with_threads(void (*run)(void *argument))
{
	struct counted counted = { 0 };
	struct thread *threads[THREADS];

	lock_init(&counted.lock, LOCK_RANK_DEVICE, "counted");
	rwlock_init(&counted.rwlock, LOCK_RANK_DEVICE, "counted");
	for (int i = 0; i < THREADS; i++) {
		if (!NT_SUCCESS(thread_create("count", run, &counted, &threads[i])))
			abort(); /* not EXPECT: this also runs in children */
	}
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	lock_finish(&counted.lock);
	rwlock_finish(&counted.rwlock);
	return counted.value;
}

TEST(lock, one_thread_at_a_time)
{
	EXPECT_EQ(count_with_threads(count_up), THREADS * ROUNDS);
}

TEST(lock, one_thread_at_a_time_also_by_trying)
{
	EXPECT_EQ(count_with_threads(count_up_by_trying), THREADS * ROUNDS);
}

TEST(rwlock, one_writer_and_no_reader_beside_it)
{
	EXPECT_EQ(count_with_threads(count_up_exclusively), THREADS * ROUNDS / 4);
}

static struct lock tried = LOCK_INITIALIZER(LOCK_RANK_DEVICE, "tried");

static void try_it(void *argument)
{
	*(bool *)argument = lock_try_acquire(&tried);
	if (*(bool *)argument)
		lock_release(&tried);
}

static bool another_thread_gets_it(void)
{
	struct thread *thread;
	bool got = false;

	EXPECT(NT_SUCCESS(thread_create("try", try_it, &got, &thread)));
	thread_join(thread);
	return got;
}

TEST(lock, trying_takes_a_free_lock_only)
{
	EXPECT(another_thread_gets_it());
	lock_acquire(&tried);
	EXPECT(!another_thread_gets_it());
	lock_release(&tried);
	EXPECT(another_thread_gets_it());
}

static struct rwlock shared = RWLOCK_INITIALIZER(LOCK_RANK_ADAPTER, "shared");

static void read_once(void *argument)
{
	(void)argument;
	rwlock_acquire_shared(&shared);
	rwlock_release_shared(&shared);
}

TEST(rwlock, readers_are_inside_together)
{
	struct thread *thread;

	rwlock_acquire_shared(&shared);
	EXPECT(NT_SUCCESS(thread_create("reader", read_once, NULL, &thread)));
	thread_join(thread);
	rwlock_release_shared(&shared);
	rwlock_finish(&shared);
}

/* ---- in virtual time, where "has had its chance" means something ---- */

static char happened[8];

static void happen(char what)
{
	size_t length = strlen(happened);

	CHILD_EXPECT(length < sizeof(happened) - 1);
	happened[length] = what;
}

static void write_w(void *argument)
{
	(void)argument;
	rwlock_acquire_exclusive(&shared);
	happen('w');
	rwlock_release_exclusive(&shared);
}

static void read_r(void *argument)
{
	(void)argument;
	rwlock_acquire_shared(&shared);
	happen('r');
	rwlock_release_shared(&shared);
}

static void let_others_run(void)
{
	clock_sleep_until(clock_deadline(NS_PER_MS));
}

static void writer_before_new_readers(void)
{
	struct thread *writer, *reader;

	rwlock_acquire_shared(&shared);
	CHILD_EXPECT(NT_SUCCESS(thread_create("writer", write_w, NULL, &writer)));
	let_others_run();
	CHILD_EXPECT(NT_SUCCESS(thread_create("reader", read_r, NULL, &reader)));
	let_others_run();
	CHILD_EXPECT(happened[0] == '\0');
	CHILD_EXPECT(!rwlock_try_acquire_shared(&shared));
	rwlock_release_shared(&shared);
	let_others_run();
	CHILD_EXPECT(strcmp(happened, "wr") == 0);
	CHILD_EXPECT(rwlock_try_acquire_shared(&shared));
	rwlock_release_shared(&shared);
	thread_join(writer);
	thread_join(reader);
}

TEST(rwlock, a_waiting_writer_goes_before_new_readers)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, writer_before_new_readers);
}

static void read_ahead(void *argument)
{
	(void)argument;
	rwlock_acquire_shared_ahead(&shared);
	happen('a');
	rwlock_release_shared(&shared);
}

static void ahead_of_writer(void)
{
	struct thread *writer, *ahead, *reader;

	rwlock_acquire_shared(&shared);
	CHILD_EXPECT(NT_SUCCESS(thread_create("writer", write_w, NULL, &writer)));
	let_others_run();
	CHILD_EXPECT(NT_SUCCESS(thread_create("reader", read_r, NULL, &reader)));
	CHILD_EXPECT(NT_SUCCESS(thread_create("ahead", read_ahead, NULL, &ahead)));
	thread_join(ahead); /* who is inside may wait for it */
	CHILD_EXPECT(strcmp(happened, "a") == 0);
	rwlock_release_shared(&shared);
	thread_join(writer);
	thread_join(reader);
	CHILD_EXPECT(strcmp(happened, "awr") == 0);

	/* A writer that is inside is waited for. */
	happened[0] = '\0';
	memset(happened, 0, sizeof(happened));
	rwlock_acquire_exclusive(&shared);
	CHILD_EXPECT(NT_SUCCESS(thread_create("ahead", read_ahead, NULL, &ahead)));
	let_others_run();
	CHILD_EXPECT(happened[0] == '\0');
	rwlock_release_exclusive(&shared);
	thread_join(ahead);
	CHILD_EXPECT(strcmp(happened, "a") == 0);
}

TEST(rwlock, some_readers_go_ahead_of_waiting_writers)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, ahead_of_writer);
}

static void writer_in_time(void)
{
	struct thread *reader;

	rwlock_acquire_shared(&shared);
	CHILD_EXPECT(NT_SUCCESS(thread_create("reader", read_r, NULL, &reader)));
	thread_join(reader);
	rwlock_release_shared(&shared);
	CHILD_EXPECT(rwlock_acquire_exclusive_until(&shared, clock_deadline(NS_PER_MS)));
	rwlock_release_exclusive(&shared);
}

static void give_up(void *argument)
{
	if (rwlock_acquire_exclusive_until(&shared, clock_deadline(NS_PER_S)))
		rwlock_release_exclusive(&shared);
	else
		*(bool *)argument = true;
	happen('g');
}

static void writer_too_late(void)
{
	struct thread *writer, *reader;
	bool has_given_up = false;

	rwlock_acquire_shared(&shared);
	CHILD_EXPECT(NT_SUCCESS(thread_create("writer", give_up, &has_given_up, &writer)));
	let_others_run();
	CHILD_EXPECT(NT_SUCCESS(thread_create("reader", read_r, NULL, &reader)));
	let_others_run();
	CHILD_EXPECT(happened[0] == '\0'); /* it stands behind the writer … */
	thread_join(writer);
	CHILD_EXPECT(has_given_up);
	thread_join(reader); /* … which gave up, and is not in the way any more */
	rwlock_release_shared(&shared);
	rwlock_acquire_exclusive(&shared);
	rwlock_release_exclusive(&shared);
}

TEST(rwlock, a_writer_waits_as_long_as_it_was_told)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		EXPECT_SEEDED_OK(seed, writer_in_time);
		EXPECT_SEEDED_OK(seed, writer_too_late);
	}
}

static void readers_after_writer(void)
{
	struct thread *threads[3];

	rwlock_acquire_exclusive(&shared);
	CHILD_EXPECT(!rwlock_try_acquire_shared(&shared));
	CHILD_EXPECT(NT_SUCCESS(thread_create("reader", read_r, NULL, &threads[0])));
	CHILD_EXPECT(NT_SUCCESS(thread_create("writer", write_w, NULL, &threads[1])));
	CHILD_EXPECT(NT_SUCCESS(thread_create("reader", read_r, NULL, &threads[2])));
	let_others_run();
	CHILD_EXPECT(happened[0] == '\0');
	rwlock_release_exclusive(&shared);
	for (int i = 0; i < 3; i++)
		thread_join(threads[i]);
	CHILD_EXPECT(strlen(happened) == 3);
}

TEST(rwlock, nobody_is_forgotten_behind_a_writer)
{
	for (uint64_t seed = 0; seed < 50; seed++)
		EXPECT_SEEDED_OK(seed, readers_after_writer);
}

static void seeded_counting(void)
{
	CHILD_EXPECT(count_with_threads(count_up_exclusively) == THREADS * ROUNDS / 4);
}

TEST(rwlock, excludes_in_a_seeded_run_too)
{
	EXPECT_SEEDED_OK(5, seeded_counting);
}

/* ---- order ---- */

#ifndef NDEBUG

static struct lock outer = LOCK_INITIALIZER(LOCK_RANK_DEVICE, "the outer one");
static struct lock inner = LOCK_INITIALIZER(LOCK_RANK_SEGMENT, "the inner one");
static struct lock innermost = LOCK_INITIALIZER(LOCK_RANK_LEAF, "the innermost");

static void against_the_order(void *argument)
{
	(void)argument;
	lock_acquire(&inner);
	lock_acquire(&outer);
}

static void twice(void *argument)
{
	(void)argument;
	lock_acquire(&inner);
	lock_acquire(&inner);
}

static void try_against_the_order(void *argument)
{
	(void)argument;
	lock_acquire(&inner);
	if (lock_try_acquire(&outer))
		_exit(0);
}

static void rwlock_against_the_order(void *argument)
{
	(void)argument;
	lock_acquire(&inner);
	rwlock_acquire_shared(&shared);
}

TEST(lock, a_step_against_the_order_stops_and_names_both)
{
	static void (*const steps[])(void *) = { against_the_order, try_against_the_order };

	for (size_t i = 0; i < 2; i++) {
		struct child_result result;
		child_run(&result, steps[i], NULL);
		EXPECT_EQ(result.signal, SIGABRT);
		EXPECT_CONTAINS(result.err, "\"the outer one\"");
		EXPECT_CONTAINS(result.err, "\"the inner one\"");
	}
}

TEST(lock, taking_one_twice_stops)
{
	struct child_result result;

	child_run(&result, twice, NULL);
	EXPECT_EQ(result.signal, SIGABRT);
	EXPECT_CONTAINS(result.err, "\"the inner one\"");
}

TEST(rwlock, has_a_rank_as_well)
{
	struct child_result result;

	child_run(&result, rwlock_against_the_order, NULL);
	EXPECT_EQ(result.signal, SIGABRT);
	EXPECT_CONTAINS(result.err, "\"shared\"");
}

TEST(lock, is_released_in_any_order)
{
	rwlock_acquire_shared(&shared);
	lock_acquire(&outer);
	lock_acquire(&inner);
	lock_release(&outer);
	lock_acquire(&innermost);
	rwlock_release_shared(&shared);
	lock_release(&inner);
	lock_release(&innermost);
	/* Nothing of it is remembered. */
	lock_acquire(&outer);
	lock_assert_held(&outer);
	lock_release(&outer);
}

static void assert_held(void *argument)
{
	(void)argument;
	lock_assert_held(&outer);
}

static void strangers_under_a_lock(void *argument)
{
	(void)argument;
	lock_acquire(&outer);
	lock_assert_none_held("DxgkDdiStartDevice");
}

TEST(lock, assertions_notice_what_is_held_and_what_is_not)
{
	struct child_result result;

	child_run(&result, assert_held, NULL);
	EXPECT_EQ(result.signal, SIGABRT);
	child_run(&result, strangers_under_a_lock, NULL);
	EXPECT_EQ(result.signal, SIGABRT);
	EXPECT_CONTAINS(result.err, "\"the outer one\"");
	EXPECT_CONTAINS(result.err, "DxgkDdiStartDevice");

	rwlock_acquire_shared(&shared);
	rwlock_assert_held(&shared);
	lock_assert_none_held("the adapter gate is no obstacle");
	rwlock_release_shared(&shared);
}

#endif

TEST_MAIN("base/lock")
