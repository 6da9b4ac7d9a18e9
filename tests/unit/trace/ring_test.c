/* SPDX-License-Identifier: MIT */
/*
 * ring_test.c - rings, with the session turned by hand.
 */
#include "base/thread.h"
#include "support/test.h"
#include "trace/ring.h"
#include "trace/spool.h"

static uint64_t spooled;
static uint64_t spooled_sum;

static void count_record(void *context, const struct trace_record *record)
{
	(void)context;
	spooled++;
	spooled_sum += record->fields[0];
}

static void read_spool(void)
{
	spooled = 0;
	spooled_sum = 0;
	EXPECT(spool_visit(count_record, NULL));
}

static void begin_session(uint32_t session)
{
	EXPECT(spool_open());
	atomic_store(&trace_session, session);
}

static void end_session(uint32_t session)
{
	atomic_store(&trace_session, 0);
	ring_collect(session);
	read_spool();
	spool_close();
}

static bool put(struct ring *ring, uint64_t value)
{
	static _Atomic uint64_t sequence;
	struct trace_record *record = ring_reserve(ring, 1);

	if (!record)
		return false;
	*record = (struct trace_record){ .sequence = ++sequence, .event = TRACE_refusal };
	record->fields[0] = value;
	ring_commit(ring, 1);
	return true;
}

TEST(ring, is_new_once_per_session)
{
	bool is_new = false;

	begin_session(1);
	struct ring *ring = ring_get(1, &is_new);
	EXPECT(ring && is_new);
	EXPECT(ring_get(1, &is_new) == ring);
	EXPECT(!is_new);
	end_session(1);

	begin_session(2);
	EXPECT(ring_get(2, &is_new) == ring);
	EXPECT(is_new);
	end_session(2);
	EXPECT_EQ(spooled, 0);
}

TEST(ring, keeps_everything_however_full_it_gets)
{
	bool is_new;

	begin_session(3);
	struct ring *ring = ring_get(3, &is_new);
	for (uint64_t i = 1; i <= 10000; i++)
		EXPECT(put(ring, i));
	end_session(3);
	EXPECT_EQ(spooled, 10000);
	EXPECT_EQ(spooled_sum, 10000 * 10001 / 2);
}

TEST(ring, a_record_and_its_texts_stay_together)
{
	bool is_new;

	begin_session(4);
	struct ring *ring = ring_get(4, &is_new);
	for (uint64_t i = 0; i < 1000; i++) {
		struct trace_record *record = ring_reserve(ring, 7);
		EXPECT(record != NULL);
		memset(record, 0xff, 7 * sizeof(*record));
		*record = (struct trace_record){ .sequence = i,
						 .event = TRACE_refusal,
						 .text_slots = 6 };
		record->fields[0] = 1;
		ring_commit(ring, 7);
	}
	end_session(4);
	EXPECT_EQ(spooled, 1000);
	EXPECT_EQ(spooled_sum, 1000);
}

TEST(ring, is_closed_when_the_session_is_over)
{
	bool is_new;
	uint64_t kept = 0;

	begin_session(5);
	struct ring *ring = ring_get(5, &is_new);
	atomic_store(&trace_session, 0);
	while (put(ring, 1))
		kept++;
	EXPECT(kept > 0 && kept < 100000);
	ring_collect(5);
	read_spool();
	spool_close();
	EXPECT_EQ(spooled, kept);
}

static void put_one(void *argument)
{
	bool is_new;

	*(struct ring **)argument = ring_get(6, &is_new);
	if (!is_new || !put(*(struct ring **)argument, 1))
		abort();
}

TEST(ring, goes_from_a_thread_that_ended_to_the_next)
{
	struct ring *rings[3];

	begin_session(6);
	for (int i = 0; i < 3; i++) {
		struct thread *thread;
		EXPECT(NT_SUCCESS(thread_create("put", put_one, &rings[i], &thread)));
		thread_join(thread);
		EXPECT(rings[i] == rings[0]);
	}
	end_session(6);
	EXPECT_EQ(spooled, 3);
}

static void get_after_the_end(void *argument)
{
	bool is_new;

	*(bool *)argument = ring_get(7, &is_new) == NULL;
}

TEST(ring, a_thread_that_comes_too_late_gets_none)
{
	struct thread *thread;
	bool got_none = false;

	begin_session(7);
	end_session(7);
	EXPECT(NT_SUCCESS(thread_create("late", get_after_the_end, &got_none, &thread)));
	thread_join(thread);
	EXPECT(got_none);
}

TEST_MAIN("trace/ring")
