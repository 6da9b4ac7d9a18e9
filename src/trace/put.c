/* SPDX-License-Identifier: MIT */
/*
 * put.c - writes events into the ring of the calling thread, as docs/trace.md has them. One function for each line
 * of events.def, so that no type is looked at when it runs.
 */
#include <sys/prctl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/thread.h"
#include "trace/events.h"
#include "trace/put.h"
#include "trace/ring.h"

static _Atomic uint64_t next_sequence;
static _Atomic bool chose_ticks; /* changed only while there is no trace */

static bool has_ticks(void)
{
	return atomic_load_explicit(&chose_ticks, memory_order_relaxed);
}

void trace_choose_clock(void)
{
	atomic_store_explicit(&chose_ticks, clock_has_ticks(), memory_order_relaxed);
}

enum trace_clock trace_clock(void)
{
	return has_ticks() ? TRACE_CLOCK_TICKS : TRACE_CLOCK_NS;
}

uint64_t trace_time(void)
{
	return has_ticks() ? clock_tick() : clock_peek_ns();
}

uint64_t trace_sequence(void)
{
	return has_ticks() ? 0 : atomic_load(&next_sequence);
}

/* Seven bits for each byte, as far as there are ones to say it with. */
const struct trace_number_forms trace_number_forms = {
	.more = { 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3,
		  3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 6, 6,
		  6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8 },
	.first = { 0,    0,    0,    0,    0,    0,    0,    0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		   0x80, 0xc0, 0xc0, 0xc0, 0xc0, 0xc0, 0xc0, 0xc0, 0xe0, 0xe0, 0xe0, 0xe0, 0xe0,
		   0xe0, 0xe0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf8, 0xf8, 0xf8, 0xf8,
		   0xf8, 0xf8, 0xf8, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xfe, 0xfe, 0xfe,
		   0xfe, 0xfe, 0xfe, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
};

#define CATEGORY(name, title)
#define EVENT(kind, category, name, title, count, ...) FIELDS_OF_##name = count,
enum { /* how many fields an event has */
#include "trace/events.def"
};
#undef EVENT
#undef CATEGORY

/* An event that is being written: where its next byte goes. */
struct put {
	struct ring *ring;
	uint8_t *at;
};

static uint8_t *put_text(uint8_t *at, const char *text)
{
	size_t length = text ? strnlen(text, TRACE_TEXT_MAX_BYTES - 1) : 0;

	memcpy(at, text ? text : "", length);
	at[length] = '\0';
	return at + length + 1;
}

/* Where a string is that the block has, if nothing else is there. */
static inline struct ring_literal *literal_slot(struct ring *ring, const char *text)
{
	return &ring->literals[(uint32_t)(uintptr_t)text * UINT32_C(0x9e3779b1) >>
			       (32 - RING_LITERALS_BITS)];
}

/* One that is not in the block yet gets the next number, which says so, and follows. */
RARE static uint8_t *put_other_literal(struct ring *ring, uint8_t *at, const char *text)
{
	struct ring_literal *slot = literal_slot(ring, text);

	if (!text)
		return trace_put_number(at, 0);
	while (slot->text && slot->text != text)
		slot = &ring->literals[(slot - ring->literals + 1) % RING_LITERALS];
	if (slot->text)
		return trace_put_number(at, slot->number);
	uint32_t number = ++ring->literal_count;
	if (number <= RING_LITERALS_MAX)
		*slot = (struct ring_literal){ text, number };
	return put_text(trace_put_number(at, number), text);
}

/* Where addresses differ from run to run, the numbers do not: they are those of first use. */
static inline uint8_t *put_literal(struct ring *ring, uint8_t *at, const char *text, bool is_known)
{
	if (!is_known)
		return put_other_literal(ring, at, text);
	*at = (uint8_t)literal_slot(ring, text)->number;
	return at + 1;
}

/* What differs from the last one: those of one process are alike. 0 is none, and no last one. */
static inline uint8_t *put_id(struct ring *ring, uint8_t *at, uint64_t id)
{
	uint64_t differs = id ^ ring->last_id;

	if (id == 0)
		return trace_put_number(at, 0);
	ring->last_id = id;
	return trace_put_number(at, differs + 1);
}

static inline uint8_t *put_handle(struct ring *ring, uint8_t *at, uint32_t handle)
{
	uint32_t differs = handle ^ ring->last_handle;

	if (handle == 0)
		return trace_put_number(at, 0);
	ring->last_handle = handle;
	return trace_put_number(at, (uint64_t)differs + 1);
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

enum { USED_MAX = RING_BYTES - RING_EVENT_BYTES /* another event fits behind it */ };

/* Begins a block, behind the one that is full or old; false when the session is over. */
static bool next_block(struct ring *ring)
{
	if (ring_used(ring) > 0 && !ring_write(ring))
		return false;
	ring->time = trace_time();
	ring->until = ring->time + RING_AGE;
	if (!has_ticks())
		ring->sequence = trace_sequence();
	ring->block->header = (struct trace_block_header){ .magic = TRACE_BLOCK_MAGIC,
							   .time = ring->time,
							   .sequence = ring->sequence,
							   .thread = ring->thread,
							   .kind = TRACE_BLOCK_EVENTS };
	return !has_ticks() || ring_open_quick(ring, ring->block->bytes + USED_MAX + 1);
}

/* The calling thread's next event has where to go; false when there is no session. */
static bool prepare(struct ring *ring, uint32_t session)
{
	if (ring == &ring_none ||
	    atomic_load_explicit(&ring->session, memory_order_relaxed) != session)
		return join(session);
	return next_block(ring);
}

static uint8_t *put_head(struct ring *ring, uint8_t *at, enum trace_event event, uint64_t gap,
			 uint64_t time)
{
	uint64_t since =
		time > ring->time ? time - ring->time : 0; /* early ones may be unordered */
	uint16_t short_since = (uint16_t)since;

	ring->time += since;
	if (gap > 0 || since > UINT16_MAX) {
		*at++ = (uint8_t)(event | TRACE_HEAD_LONG);
		return trace_put_number(trace_put_number(at, gap), since);
	}
	*at++ = (uint8_t)event;
	memcpy(at, &short_since, sizeof(short_since));
	return at + sizeof(short_since);
}

/* `at` is NULL when the session is over. */
static struct put begin_slowly(enum trace_event event)
{
	for (;;) {
		uint64_t time = trace_time();
		uint32_t session = atomic_load_explicit(&trace_session, memory_order_acquire);
		struct ring *ring = ring_own;
		if (ring == &ring_none || time > ring->until ||
		    atomic_load_explicit(&ring->session, memory_order_relaxed) != session ||
		    ring_used(ring) > USED_MAX) {
			if (!prepare(ring, session))
				return (struct put){ 0 };
			continue;
		}
		uint8_t *at = atomic_load_explicit(&ring->at, memory_order_relaxed);
		uint64_t sequence = has_ticks() ? ring->sequence
						: atomic_fetch_add_explicit(&next_sequence, 1,
									    memory_order_relaxed);
		at = put_head(ring, at, event, sequence - ring->sequence, time);
		ring->sequence = sequence + 1;
		return (struct put){ ring, at };
	}
}

/*
 * May the clock be read out of order, so that nobody waits for it? Stretches are of one thread. That an allocation is
 * there nobody can say anything about before, and when it is not nobody is left who could.
 */
static inline bool may_be_early(enum trace_event event, enum trace_kind kind)
{
	return kind == TRACE_KIND_BEGIN || kind == TRACE_KIND_END ||
	       event == TRACE_allocation_live || event == TRACE_allocation_dying ||
	       event == TRACE_allocation_dead;
}

/*
 * The short way: there is room in the block, which is young because its last event is, it knows the strings of the
 * event, and times are ticks. What is not on it is in a function of its own, called last: so nothing is kept over calls,
 * and an event is as many instructions as its bytes need.
 */
struct way {
	struct ring *ring;
	uint8_t *at;
	uint64_t since; /* the event before */
};

/* False when that is not the way to go; then nothing has changed. */
SPECIALIZED bool find_way(struct way *way, bool is_early)
{
	uint64_t time = is_early ? clock_tick_early() : clock_tick();
	struct ring *ring = ring_own;

	way->ring = ring;
	way->at = atomic_load_explicit(&ring->at, memory_order_relaxed);
	way->since = time - ring->time;
	return LIKELY(way->at < atomic_load_explicit(&ring->quick_end, memory_order_relaxed) &&
		      way->since <= UINT16_MAX);
}

static inline struct put begin(const struct way *way, enum trace_event event)
{
	uint16_t since = (uint16_t)way->since;

	way->at[0] = (uint8_t)event;
	memcpy(way->at + 1, &since, sizeof(since));
	way->ring->time += way->since;
	way->ring->sequence++;
	return (struct put){ way->ring, way->at + 1 + sizeof(since) };
}

static inline void end(const struct put *put, enum trace_event event, const uint64_t *fields)
{
	if (event == TRACE_api_call_begin)
		put->ring->call_end = put->at;
	if (event == TRACE_allocation_live)
		memcpy(put->ring->last_live, fields, sizeof(put->ring->last_live));
	/* Whoever collects may read it from here on. */
	atomic_store_explicit(&put->ring->at, put->at, memory_order_release);
}

static inline bool has_short_form(enum trace_event event)
{
	return event == TRACE_allocation_live || event == TRACE_allocation_dead;
}

/*
 * The shortest way: an allocation that is like the last one, right behind the begin of the call that makes or destroys
 * it, with nothing to wait for. It was then. False, and nothing has changed, when it is not that.
 */
SPECIALIZED bool put_short_form(enum trace_event event, const uint64_t *fields)
{
	struct ring *ring = ring_own;
	bool is_live = event == TRACE_allocation_live;
	uint32_t alike_count = is_live ? FIELDS_OF_allocation_live : 0;

	uint8_t *at = atomic_load_explicit(&ring->at, memory_order_relaxed);
	if (at != ring->call_end ||
	    at >= atomic_load_explicit(&ring->quick_end, memory_order_relaxed))
		return false;
#pragma GCC unroll 8
	for (uint32_t i = 1; i < alike_count; i++) {
		if (UNLIKELY(fields[i] != ring->last_live[i]))
			return false;
	}
	*at = is_live ? TRACE_SHORT_allocation_live : TRACE_SHORT_allocation_dead;
	ring->sequence++;
	at = put_id(ring, at + 1, fields[0]);
	atomic_store_explicit(&ring->at, at, memory_order_release);
	return true;
}

_Static_assert((int)TRACE_SHORT_END <= (int)TRACE_HEAD_MORE, "the number of an event is one byte");

#define EACH_1(DO, type, field)      DO##_##type(field)
#define EACH_2(DO, type, field, ...) DO##_##type(field) EACH_1(DO, __VA_ARGS__)
#define EACH_3(DO, type, field, ...) DO##_##type(field) EACH_2(DO, __VA_ARGS__)
#define EACH_4(DO, type, field, ...) DO##_##type(field) EACH_3(DO, __VA_ARGS__)
#define EACH_5(DO, type, field, ...) DO##_##type(field) EACH_4(DO, __VA_ARGS__)
#define EACH_6(DO, type, field, ...) DO##_##type(field) EACH_5(DO, __VA_ARGS__)
#define EACH_7(DO, type, field, ...) DO##_##type(field) EACH_6(DO, __VA_ARGS__)
#define EACH_8(DO, type, field, ...) DO##_##type(field) EACH_7(DO, __VA_ARGS__)

#define PUT_U32(field)     put.at = trace_put_number(put.at, field);
#define PUT_U64(field)     put.at = trace_put_number(put.at, field);
#define PUT_HEX(field)     put.at = trace_put_number(put.at, field);
#define PUT_HANDLE(field)  put.at = put_handle(put.ring, put.at, field);
#define PUT_KEY(field)     put.at = trace_put_number(put.at, field);
#define PUT_ID(field)      put.at = put_id(put.ring, put.at, field);
#define PUT_STATUS(field)  put.at = trace_put_number(put.at, (uint32_t)(field));
#define PUT_NAME(field)    put.at = put_literal(put.ring, put.at, field, is_known);
#define PUT_LITERAL(field) put.at = put_literal(put.ring, put.at, field, is_known);
#define PUT_TEXT(field)    put.at = put_text(put.at, field);

/* Does the block know it? */
#define KNOWS_U32(field)
#define KNOWS_U64(field)
#define KNOWS_HEX(field)
#define KNOWS_HANDLE(field)
#define KNOWS_KEY(field)
#define KNOWS_ID(field)
#define KNOWS_STATUS(field)
#define KNOWS_NAME(field)    &&LIKELY(literal_slot(way.ring, field)->text == (field))
#define KNOWS_LITERAL(field) &&LIKELY(literal_slot(way.ring, field)->text == (field))
#define KNOWS_TEXT(field)

#define VALUE_U32(field)     field,
#define VALUE_U64(field)     field,
#define VALUE_HEX(field)     field,
#define VALUE_HANDLE(field)  field,
#define VALUE_KEY(field)     field,
#define VALUE_ID(field)      field,
#define VALUE_STATUS(field)  0,
#define VALUE_NAME(field)    0,
#define VALUE_LITERAL(field) 0,
#define VALUE_TEXT(field)    0,

#define CATEGORY(name, title)
#define EVENT(kind, category, name, title, count, ...)                                             \
	RARE static void put_##name##_slowly(TRACE_PARAMETERS_##count(__VA_ARGS__))                \
	{                                                                                          \
		static const bool is_known = false;                                                \
		const uint64_t fields[TRACE_FIELDS_MAX] = { EACH_##count(VALUE, __VA_ARGS__) };    \
		struct put put = begin_slowly(TRACE_##name);                                       \
                                                                                                   \
		(void)is_known;                                                                    \
		if (!put.at)                                                                       \
			return;                                                                    \
		EACH_##count(PUT, __VA_ARGS__);                                                    \
		end(&put, TRACE_##name, fields);                                                   \
	}                                                                                          \
                                                                                                   \
	SPECIALIZED void put_##name##_quickly(TRACE_PARAMETERS_##count(__VA_ARGS__))               \
	{                                                                                          \
		static const bool is_known = true;                                                 \
		const uint64_t fields[TRACE_FIELDS_MAX] = { EACH_##count(VALUE, __VA_ARGS__) };    \
		struct way way;                                                                    \
                                                                                                   \
		(void)is_known;                                                                    \
		if (find_way(&way, may_be_early(TRACE_##name, TRACE_KIND_##kind))                  \
			    EACH_##count(KNOWS, __VA_ARGS__)) {                                    \
			struct put put = begin(&way, TRACE_##name);                                \
			EACH_##count(PUT, __VA_ARGS__);                                            \
			end(&put, TRACE_##name, fields);                                           \
		} else {                                                                           \
			put_##name##_slowly(TRACE_ARGUMENTS_##count(__VA_ARGS__));                 \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	__attribute__((noinline)) static void put_##name##_at_length(                              \
		TRACE_PARAMETERS_##count(__VA_ARGS__))                                             \
	{                                                                                          \
		put_##name##_quickly(TRACE_ARGUMENTS_##count(__VA_ARGS__));                        \
	}                                                                                          \
                                                                                                   \
	void trace_put_##name(TRACE_PARAMETERS_##count(__VA_ARGS__))                               \
	{                                                                                          \
		const uint64_t fields[TRACE_FIELDS_MAX] = { EACH_##count(VALUE, __VA_ARGS__) };    \
                                                                                                   \
		if (!has_short_form(TRACE_##name))                                                 \
			put_##name##_quickly(TRACE_ARGUMENTS_##count(__VA_ARGS__));                \
		else if (!put_short_form(TRACE_##name, fields))                                    \
			put_##name##_at_length(TRACE_ARGUMENTS_##count(__VA_ARGS__));              \
	}
EVENT(METADATA, API, thread, "", 2, TEXT, name, U32, tid)
#include "trace/events.def"
#undef EVENT
#undef CATEGORY
