/* SPDX-License-Identifier: MIT */
/*
 * ring_test.c - rings, with the session turned by hand. Each block is one number.
 */
#include "base/thread.h"
#include "support/test.h"
#include "trace/ring.h"
#include "trace/spool.h"

static uint64_t spooled_bytes;
static uint64_t spooled_blocks;

static bool count_blocks(void *context, const void *memory, size_t size_bytes)
{
	const char *bytes = memory;
	struct trace_block_header header;

	(void)context;
	spooled_bytes = spooled_blocks = 0;
	for (size_t at = 0; at < size_bytes; at += sizeof(header) + header.size_bytes) {
		memcpy(&header, bytes + at, sizeof(header));
		EXPECT_EQ(header.magic, TRACE_BLOCK_MAGIC);
		EXPECT_EQ(header.checksum,
			  trace_checksum(bytes + at + TRACE_CHECKED_FROM,
					 sizeof(header) - TRACE_CHECKED_FROM + header.size_bytes));
		spooled_blocks++;
		spooled_bytes += header.size_bytes;
	}
	return true;
}

static void begin_session(uint32_t session)
{
	EXPECT(spool_begin_temporary());
	atomic_store(&trace_session, session);
}

static void end_session(uint32_t session)
{
	atomic_store(&trace_session, 0);
	ring_collect(session);
	EXPECT(spool_show(count_blocks, NULL));
	spool_close();
}

static bool put(struct ring *ring, uint8_t value)
{
	if (ring_used(ring) == RING_BYTES && !ring_write(ring))
		return false;
	ring->block->header.thread = thread_id();
	uint8_t *at = atomic_load(&ring->at);
	*at = value;
	atomic_store(&ring->at, at + 1);
	return true;
}

TEST(ring, is_the_same_one_in_every_session_and_begins_empty)
{
	begin_session(1);
	struct ring *ring = ring_join(1);
	EXPECT(ring && ring == ring_own);
	EXPECT_EQ(atomic_load(&ring->session), 1);
	end_session(1);
	EXPECT_EQ(spooled_blocks, 0);

	begin_session(2);
	EXPECT(ring_join(2) == ring);
	EXPECT_EQ(ring_used(ring), 0);
	end_session(2);
	EXPECT_EQ(spooled_blocks, 0);
}

TEST(ring, keeps_everything_however_full_it_gets)
{
	begin_session(3);
	struct ring *ring = ring_join(3);
	for (uint32_t i = 0; i < 3 * RING_BYTES + 5; i++)
		EXPECT(put(ring, (uint8_t)i));
	end_session(3);
	EXPECT_EQ(spooled_bytes, 3 * RING_BYTES + 5);
	EXPECT_EQ(spooled_blocks, 4);
}

TEST(ring, a_block_that_was_written_takes_its_literals_with_it)
{
	begin_session(4);
	struct ring *ring = ring_join(4);
	EXPECT(put(ring, 1));
	ring->literal_count = 3;
	ring->literals[5] = (struct ring_literal){ "text", 3 };
	ring->last_id = 7;
	ring->last_handle = 7;
	EXPECT(ring_write(ring));
	EXPECT_EQ(ring->literal_count, 0);
	EXPECT(!ring->literals[5].text);
	EXPECT_EQ(ring->last_id, 0);
	EXPECT_EQ(ring->last_handle, 0);
	EXPECT_EQ(ring_used(ring), 0);
	end_session(4);
	EXPECT_EQ(spooled_bytes, 1);
}

TEST(ring, is_closed_when_the_session_is_over)
{
	uint64_t kept = 0;

	begin_session(5);
	struct ring *ring = ring_join(5);
	atomic_store(&trace_session, 0);
	while (put(ring, 1))
		kept++;
	EXPECT_EQ(kept, RING_BYTES);
	ring_collect(5);
	EXPECT(spool_show(count_blocks, NULL));
	spool_close();
	EXPECT_EQ(spooled_bytes, kept);
}

TEST(ring, the_short_way_is_closed_with_the_session_whoever_comes_first)
{
	begin_session(10);
	struct ring *ring = ring_join(10);
	EXPECT(!atomic_load(&ring->quick_end));
	EXPECT(ring_open_quick(ring, ring->block->bytes + 1));
	EXPECT(atomic_load(&ring->quick_end) == ring->block->bytes + 1);
	EXPECT(put(ring, 1));
	EXPECT(ring_write(ring));
	EXPECT(!atomic_load(&ring->quick_end));
	EXPECT(ring_open_quick(ring, ring->block->bytes + 1));
	end_session(10);
	EXPECT(!atomic_load(&ring->quick_end));
	EXPECT(!ring_open_quick(ring, ring->block->bytes + 1));
	EXPECT(!atomic_load(&ring->quick_end));
}

static void put_one(void *argument)
{
	struct ring *ring = ring_join(6);

	if (!ring || !put(ring, 1))
		abort();
	*(struct ring **)argument = ring;
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
	EXPECT_EQ(spooled_blocks, 3);
}

static void get_after_the_end(void *argument)
{
	*(bool *)argument = ring_join(7) == NULL;
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

/* ---- with the thread that writes ---- */

enum { FLOODERS = 3, FLOOD_BLOCKS = 40 };

/* Each block of a thread has the number of those before it. */
static void flood(void *argument)
{
	struct ring *ring = ring_join(8);

	for (uint32_t i = 0; i < FLOOD_BLOCKS; i++) {
		for (uint32_t at = 0; at < RING_BYTES; at++) {
			if (!put(ring, (uint8_t)i))
				abort();
			ring->block->header.sequence = i;
		}
		if (*(bool *)argument && !ring_write(ring)) /* else it is, when it is full */
			abort();
	}
}

static bool expect_order(void *context, const void *memory, size_t size_bytes)
{
	uint64_t *next = context; /* of each thread, by its number */
	struct trace_block_header header;

	for (size_t at = 0; at < size_bytes; at += sizeof(header) + header.size_bytes) {
		const unsigned char *bytes = (const unsigned char *)memory + at + sizeof(header);
		memcpy(&header, (const char *)memory + at, sizeof(header));
		assert_true(header.thread < 64);
		EXPECT_EQ(header.size_bytes, RING_BYTES);
		EXPECT_EQ(header.sequence, next[header.thread]++);
		EXPECT_EQ(bytes[0], (uint8_t)header.sequence);
		EXPECT_EQ(bytes[RING_BYTES - 1], (uint8_t)header.sequence);
	}
	return count_blocks(NULL, memory, size_bytes);
}

TEST(ring, what_another_thread_writes_is_all_of_it_and_in_order)
{
	struct thread *threads[FLOODERS];
	bool is_eager[FLOODERS] = { true, false, true };
	uint64_t next[64] = { 0 };

	begin_session(8);
	ring_writer_start();
	for (int i = 0; i < FLOODERS; i++)
		EXPECT(NT_SUCCESS(thread_create("flood", flood, &is_eager[i], &threads[i])));
	for (int i = 0; i < FLOODERS; i++)
		thread_join(threads[i]);
	atomic_store(&trace_session, 0);
	ring_collect(8);
	ring_writer_stop();
	EXPECT(spool_show(expect_order, next));
	spool_close();
	EXPECT_EQ(spooled_blocks, FLOODERS * FLOOD_BLOCKS);
}

TEST(ring, the_end_of_a_session_writes_what_was_handed_over)
{
	begin_session(9);
	struct ring *ring = ring_join(9);
	ring_writer_start();
	for (int i = 0; i < 100; i++) {
		EXPECT(put(ring, 1));
		EXPECT(ring_write(ring));
		EXPECT_EQ(ring_used(ring), 0);
	}
	EXPECT(put(ring, 2));
	atomic_store(&trace_session, 0);
	ring_collect(9);
	ring_writer_stop();
	EXPECT(spool_show(count_blocks, NULL));
	spool_close();
	EXPECT_EQ(spooled_blocks, 101);
	EXPECT_EQ(spooled_bytes, 101);
}

TEST_MAIN("trace/ring")
