/* SPDX-License-Identifier: MIT */
/*
 * refcount_test.c - exactly one destroys.
 */
#include "base/refcount.h"
#include "base/thread.h"
#include "support/test.h"
#include "child.h"

TEST(refcount, only_the_last_put_destroys)
{
	struct refcount refs;

	refcount_init(&refs);
	refcount_get(&refs);
	refcount_get(&refs);
	EXPECT(!refcount_put(&refs));
	EXPECT(!refcount_put(&refs));
	EXPECT(refcount_put(&refs));
}

TEST(refcount, a_dying_object_cannot_be_got)
{
	struct refcount refs;

	refcount_init(&refs);
	EXPECT(refcount_get_unless_zero(&refs));
	EXPECT(!refcount_put(&refs));
	EXPECT(refcount_put(&refs));
	EXPECT(!refcount_get_unless_zero(&refs));
}

TEST(refcount, one_of_two_goes_and_the_other_destroys)
{
	struct refcount refs;

	for (uint32_t others = 0; others < 3; others++) {
		refcount_init_to(&refs, 2 + others);
		refcount_put_one_of_two(&refs);
		for (uint32_t i = 0; i < others; i++)
			EXPECT(!refcount_put(&refs));
		EXPECT(refcount_is_last(&refs));
		EXPECT(refcount_put(&refs));
	}
}

#ifndef NDEBUG

static void get_from_the_dead(void *argument)
{
	struct refcount refs;

	(void)argument;
	refcount_init(&refs);
	if (refcount_put(&refs))
		refcount_get(&refs);
}

static void put_too_often(void *argument)
{
	struct refcount refs;

	(void)argument;
	refcount_init(&refs);
	if (refcount_put(&refs) && refcount_put(&refs))
		_exit(0);
}

TEST(refcount, misuse_stops_the_process)
{
	struct child_result result;

	child_run(&result, get_from_the_dead, NULL);
	EXPECT_EQ(result.signal, SIGABRT);
	child_run(&result, put_too_often, NULL);
	EXPECT_EQ(result.signal, SIGABRT);
}

#endif

enum { THREADS = 4, ROUNDS = 20000 };

struct shared {
	struct refcount refs;
	_Atomic uint32_t destroyed;
};

static void get_and_put(void *argument)
{
	struct shared *shared = argument;

	for (int i = 0; i < ROUNDS; i++) {
		if (!refcount_get_unless_zero(&shared->refs))
			abort();
		if (refcount_put(&shared->refs))
			shared->destroyed++;
	}
	if (refcount_put(&shared->refs))
		shared->destroyed++;
}

TEST(refcount, threads_agree_on_who_was_last)
{
	struct shared shared = { 0 };
	struct thread *threads[THREADS];

	refcount_init(&shared.refs);
	for (int i = 0; i < THREADS; i++) {
		refcount_get(&shared.refs);
		EXPECT(NT_SUCCESS(thread_create("refs", get_and_put, &shared, &threads[i])));
	}
	for (int i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	EXPECT_EQ(shared.destroyed, 0);
	EXPECT(refcount_put(&shared.refs));
}

/* Whoever has two gives both back at once, and is last when nobody has one beside him. */
TEST(refcount, two_that_are_given_back_at_once_are_two)
{
	for (uint32_t others = 0; others < 3; others++) {
		struct refcount refs;

		refcount_init(&refs);
		for (uint32_t i = 0; i < others + 1; i++)
			refcount_get(&refs);
		EXPECT_EQ(refcount_put_both(&refs), others == 0);
		for (uint32_t i = 0; i < others; i++)
			EXPECT_EQ(refcount_put(&refs), i + 1 == others);
	}
}

TEST_MAIN("base/refcount")
