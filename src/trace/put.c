/* SPDX-License-Identifier: MIT */
/*
 * put.c - writes events into the ring of the calling thread, as docs/trace.md has them. One function for each line
 * of events.def, so that no type is looked at when it runs.
 */
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "trace/put.h"
#include "trace/ring.h"

static _Atomic uint64_t next_sequence;

uint64_t trace_sequence(void)
{
	return atomic_load(&next_sequence);
}

/* An event that is being written: where its next byte goes. */
struct put {
	struct ring *ring;
	uint8_t *at;
};

/* Two bytes at a time: most numbers have one or two, keys have five. */
static inline uint8_t *put_number(uint8_t *at, uint64_t number)
{
	while (UNLIKELY(number >= 0x4000)) {
		uint16_t pair =
			(uint16_t)((number & 0x7f) | (number & 0x3f80) << 1 | UINT64_C(0x8080));
		memcpy(at, &pair, sizeof(pair));
		at += sizeof(pair);
		number >>= 14;
	}
	if (number < 0x80) {
		*at = (uint8_t)number;
		return at + 1;
	}
	uint16_t pair = (uint16_t)((number & 0x7f) | 0x80 | number >> 7 << 8);
	memcpy(at, &pair, sizeof(pair));
	return at + sizeof(pair);
}

static uint8_t *put_text(uint8_t *at, const char *text)
{
	size_t length = text ? strnlen(text, TRACE_TEXT_MAX_BYTES - 1) : 0;

	memcpy(at, text ? text : "", length);
	at[length] = '\0';
	return at + length + 1;
}

/* One that is not in the block yet gets the next number, which says so, and follows. */
RARE static uint8_t *put_new_literal(struct ring *ring, struct ring_literal *slot, uint8_t *at,
				     const char *text)
{
	uint32_t number = ++ring->literal_count;

	if (slot)
		*slot = (struct ring_literal){ text, ring->generation, number };
	return put_text(put_number(at, number), text);
}

static inline uint8_t *put_literal(struct ring *ring, uint8_t *at, const char *text)
{
	uint32_t hash = (uint32_t)((uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 48);

	if (UNLIKELY(!text))
		return put_number(at, 0);
	/* Where addresses differ from run to run, the numbers do not: they are those of first use. */
	for (uint32_t i = 0;; i++) {
		struct ring_literal *slot = &ring->literals[(hash + i) % RING_LITERALS];
		if (slot->generation != ring->generation) {
			bool is_kept = ring->literal_count < RING_LITERALS_MAX;
			return put_new_literal(ring, is_kept ? slot : NULL, at, text);
		}
		if (LIKELY(slot->text == text))
			return put_number(at, slot->number);
	}
}

/* Writes its first event, the thread's name; false when that cannot be. */
static bool join(uint32_t session)
{
	uint32_t thread =
		thread_id(); /* first: a new client thread may have to wait for its turn */
	struct ring *ring = session == 0 ? NULL : ring_join(session);

	if (!ring)
		return false;
	ring->thread = thread;
	char name[16] = "";
	bool is_clients = !thread_self() && !thread_is_simulated();
	if (is_clients)
		(void)prctl(PR_GET_NAME, name);
	trace_put_thread(name[0] ? name : thread_name(),
			 thread_is_simulated() ? thread : (uint32_t)gettid());
	return true;
}

/* Begins a block, behind the one that is full or old; false when the session is over. */
static bool next_block(struct ring *ring)
{
	if (atomic_load_explicit(&ring->used, memory_order_relaxed) > 0 && !ring_write(ring))
		return false;
	ring->time_ns = clock_peek_ns();
	ring->until_ns = ring->time_ns + RING_AGE_NS;
	ring->sequence = trace_sequence();
	ring->header = (struct trace_block_header){ .magic = TRACE_BLOCK_MAGIC,
						    .time_ns = ring->time_ns,
						    .sequence = ring->sequence,
						    .thread = ring->thread,
						    .kind = TRACE_BLOCK_EVENTS };
	return true;
}

/* The calling thread's next event has where to go; false when there is no session. */
RARE static bool prepare(uint32_t session)
{
	struct ring *ring = ring_own;

	if (!ring || atomic_load_explicit(&ring->session, memory_order_relaxed) != session)
		return join(session);
	return next_block(ring);
}

/*
 * `at` is NULL when the session is over. It is in every function of its own, and nothing but the fields has to be
 * kept over the calls that it makes: what has to be prepared is, and then all is looked at again.
 */
static inline __attribute__((always_inline)) struct put begin(enum trace_event event)
{
	for (;;) {
		uint64_t time_ns = clock_peek_ns();
		uint32_t session = atomic_load_explicit(&trace_session, memory_order_acquire);
		struct ring *ring = ring_own;
		if (UNLIKELY(!ring || time_ns > ring->until_ns ||
			     atomic_load_explicit(&ring->session, memory_order_relaxed) !=
				     session ||
			     atomic_load_explicit(&ring->used, memory_order_relaxed) >
				     RING_BYTES - RING_EVENT_BYTES)) {
			if (!prepare(session))
				return (struct put){ 0 };
			continue;
		}
		uint8_t *at = ring->bytes + atomic_load_explicit(&ring->used, memory_order_relaxed);
		uint64_t sequence =
			atomic_fetch_add_explicit(&next_sequence, 1, memory_order_relaxed);
		*at++ = (uint8_t)event;
		if (UNLIKELY(sequence != ring->sequence)) {
			at[-1] = (uint8_t)(event | TRACE_HEAD_GAP);
			at = put_number(at, sequence - ring->sequence);
		}
		at = put_number(at, time_ns - ring->time_ns);
		ring->time_ns = time_ns;
		ring->sequence = sequence + 1;
		return (struct put){ ring, at };
	}
}

static inline void end(const struct put *put)
{
	/* Whoever collects may read it from here on. */
	atomic_store_explicit(&put->ring->used, (uint32_t)(put->at - put->ring->bytes),
			      memory_order_release);
}

_Static_assert((int)TRACE_EVENT_COUNT <= (int)TRACE_HEAD_MORE,
	       "the number of an event is one byte");

#define PUT_U32(field)     put.at = put_number(put.at, field);
#define PUT_U64(field)     put.at = put_number(put.at, field);
#define PUT_HEX(field)     put.at = put_number(put.at, field);
#define PUT_HANDLE(field)  put.at = put_number(put.at, field);
#define PUT_KEY(field)     put.at = put_number(put.at, field);
#define PUT_STATUS(field)  put.at = put_number(put.at, (uint32_t)(field));
#define PUT_NAME(field)    put.at = put_literal(put.ring, put.at, field);
#define PUT_LITERAL(field) put.at = put_literal(put.ring, put.at, field);
#define PUT_TEXT(field)    put.at = put_text(put.at, field);

#define PUTS_1(type, field)      PUT_##type(field)
#define PUTS_2(type, field, ...) PUT_##type(field) PUTS_1(__VA_ARGS__)
#define PUTS_3(type, field, ...) PUT_##type(field) PUTS_2(__VA_ARGS__)
#define PUTS_4(type, field, ...) PUT_##type(field) PUTS_3(__VA_ARGS__)
#define PUTS_5(type, field, ...) PUT_##type(field) PUTS_4(__VA_ARGS__)
#define PUTS_6(type, field, ...) PUT_##type(field) PUTS_5(__VA_ARGS__)
#define PUTS_7(type, field, ...) PUT_##type(field) PUTS_6(__VA_ARGS__)
#define PUTS_8(type, field, ...) PUT_##type(field) PUTS_7(__VA_ARGS__)

#define CATEGORY(name, title)
#define EVENT(kind, category, name, title, count, ...)                                             \
	void trace_put_##name(TRACE_PARAMETERS_##count(__VA_ARGS__))                               \
	{                                                                                          \
		struct put put = begin(TRACE_##name);                                              \
                                                                                                   \
		if (UNLIKELY(!put.at))                                                             \
			return;                                                                    \
		PUTS_##count(__VA_ARGS__);                                                         \
		end(&put);                                                                         \
	}
EVENT(METADATA, API, thread, "", 2, TEXT, name, U32, tid)
#include "trace/events.def"
#undef EVENT
#undef CATEGORY
