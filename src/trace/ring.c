/* SPDX-License-Identifier: MIT */
/*
 * ring.c - see ring.h.
 *
 * Rings are never freed, but a new thread takes over the ring of one that ended, so there are as
 * many as there were threads at one time. They are mapped, not allocated: memory that is counted
 * and fails on demand belongs to what is being traced. And they are mapped where a trace or a thread
 * begins, because the first event of a thread may come from inside a driver.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/notice.h"
#include "trace/ring.h"
#include "trace/spool.h"

static struct ring *_Atomic rings; /* only grows */
struct ring ring_none;
_Thread_local struct ring *ring_own = &ring_none;

/* How many owners are taking a ring or emptying one. Wait word of ring_collect(). */
static _Atomic uint32_t holders;

static void ring_let_go(void)
{
	atomic_fetch_sub(&holders, 1);
	if (UNLIKELY(atomic_load(&trace_session) == 0))
		thread_wake_all(&holders);
}

/*
 * Keeps ring_collect() away from the rings until ring_let_go(). False when `session` is over; then
 * they are not the owners' to empty. Counted before the session is looked at, as trace_finish()
 * changes the session before it looks at the count: one of the two sees the other.
 */
static bool ring_hold(uint32_t session)
{
	atomic_fetch_add(&holders, 1);
	if (LIKELY(atomic_load(&trace_session) == session))
		return true;
	ring_let_go();
	return false;
}

/* No owner empties it meanwhile. */
static void ring_spool(struct ring *ring, uint32_t used)
{
	if (used > 0)
		spool_append(&ring->block->header, used);
}

static struct ring_block *ring_other(struct ring *ring)
{
	return &ring->blocks[ring->block == &ring->blocks[0]];
}

/* ---- the thread that writes ---- */

static struct {
	struct thread *thread; /* who starts and stops it knows; others: */
	_Atomic bool is_there; /* changes only between sessions */
	_Atomic bool is_over;
	_Atomic uint32_t handed; /* how often anything was; its wait word */
} writer;

static void write_handed(struct ring *ring)
{
	uint32_t handed = RING_HANDED;

	if (!atomic_compare_exchange_strong(&ring->handed, &handed, RING_IN_WRITING))
		return;
	spool_append(&ring_other(ring)->header, ring->handed_bytes);
	if (atomic_exchange(&ring->handed, RING_NOTHING) == RING_AWAITED)
		thread_wake_all(&ring->handed);
}

static void writer_run(void *unused)
{
	(void)unused;
	for (;;) {
		uint32_t seen = atomic_load(&writer.handed);

		for (struct ring *ring = atomic_load(&rings); ring; ring = ring->next)
			write_handed(ring);
		if (atomic_load(&writer.is_over))
			return;
		thread_wait(&writer.handed, seen, CLOCK_FOREVER);
	}
}

static void writer_call(void)
{
	atomic_fetch_add(&writer.handed, 1);
	thread_wake_all(&writer.handed);
}

void ring_writer_start(void)
{
	if (thread_is_simulated() || thread_processors() < 2)
		return;
	atomic_store(&writer.is_over, false);
	atomic_store(&writer.is_there,
		     NT_SUCCESS(thread_create_aside("trace", writer_run, NULL, &writer.thread)));
}

void ring_writer_stop(void)
{
	if (!atomic_exchange(&writer.is_there, false))
		return;
	atomic_store(&writer.is_over, true);
	writer_call();
	thread_join(writer.thread);
	writer.thread = NULL;
}

/* What was handed before is written, by whoever. The owner, or nobody else is left. */
static void ring_settle(struct ring *ring)
{
	uint32_t handed = atomic_load(&ring->handed);

	while (handed != RING_NOTHING) {
		if (handed == RING_HANDED &&
		    atomic_compare_exchange_strong(&ring->handed, &handed, RING_NOTHING)) {
			spool_append(&ring_other(ring)->header, ring->handed_bytes);
			return;
		}
		if (handed == RING_AWAITED ||
		    (handed == RING_IN_WRITING &&
		     atomic_compare_exchange_strong(&ring->handed, &handed, RING_AWAITED)))
			thread_wait(&ring->handed, RING_AWAITED, CLOCK_FOREVER);
		handed = atomic_load(&ring->handed);
	}
}

/* The owner goes on in the other block. */
static void ring_hand_over(struct ring *ring, uint32_t used)
{
	ring_settle(ring);
	ring->handed_bytes = used;
	ring->block = ring_other(ring);
	atomic_store(&ring->handed, RING_HANDED);
	writer_call();
}

/* ---- the owner ---- */

/* What its owner knew of the block is over. */
static void ring_empty(struct ring *ring)
{
	memset(ring->literals, 0, sizeof(ring->literals));
	ring->literal_count = 0;
	memset(ring->last_live, 0, sizeof(ring->last_live));
	ring->last_id = 0;
	ring->last_handle = 0;
	ring->call_end = NULL;
	ring->until = 0;
	atomic_store_explicit(&ring->quick_end, NULL, memory_order_relaxed);
	atomic_store_explicit(&ring->at, ring->block->bytes, memory_order_release);
}

bool ring_write(struct ring *ring)
{
	if (!ring_hold(atomic_load_explicit(&ring->session, memory_order_relaxed)))
		return false;
	uint32_t used = ring_used(ring);
	if (used > 0 && atomic_load_explicit(&writer.is_there, memory_order_relaxed))
		ring_hand_over(ring, used);
	else
		ring_spool(ring, used);
	ring_empty(ring);
	ring_let_go();
	return true;
}

/* It stands there before the session is looked at, as the session ends before ring_collect() takes it away. */
bool ring_open_quick(struct ring *ring, const uint8_t *end)
{
	atomic_store(&ring->quick_end, end);
	if (LIKELY(atomic_load(&trace_session) ==
		   atomic_load_explicit(&ring->session, memory_order_relaxed)))
		return true;
	atomic_store(&ring->quick_end, NULL);
	return false;
}

static void ring_lose_owner(struct thread_end *end)
{
	struct ring *ring = container_of(end, struct ring, end);

	if (trace_is_on())
		ring_write(ring);
	ring_own = &ring_none;
	atomic_store_explicit(&ring->is_owned, false, memory_order_release);
}

static struct ring *ring_make(bool is_owned)
{
	struct ring *ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ring == MAP_FAILED)
		return NULL;
	atomic_init(&ring->is_owned, is_owned);
	ring->block = &ring->blocks[0];
	atomic_init(&ring->at, ring->block->bytes);
	ring->next = atomic_load(&rings);
	while (!atomic_compare_exchange_weak(&rings, &ring->next, ring))
		;
	return ring;
}

/* One whose thread has ended, or else a new one. */
static struct ring *ring_find(void)
{
	for (struct ring *ring = atomic_load(&rings); ring; ring = ring->next) {
		bool is_owned = false;
		if (atomic_compare_exchange_strong(&ring->is_owned, &is_owned, true))
			return ring;
	}
	return ring_make(true);
}

static struct ring *ring_take(uint32_t session)
{
	if (!ring_hold(session))
		return NULL;
	struct ring *ring = ring_find();
	if (ring) {
		atomic_store(&ring->session, 0); /* what its last owner said is written */
		ring->end.run = ring_lose_owner;
		thread_on_end(&ring->end);
	}
	ring_let_go();
	return ring;
}

void ring_prepare(uint32_t count)
{
	uint32_t found = 0;

	for (struct ring *ring = atomic_load(&rings); ring; ring = ring->next)
		found++;
	for (; found < count && ring_make(false); found++)
		;
}

void ring_take_own(uint32_t session)
{
	struct ring *taken = ring_own == &ring_none ? ring_take(session) : NULL;

	if (taken)
		ring_own = taken;
}

struct ring *ring_join(uint32_t session)
{
	ring_take_own(session);
	if (ring_own == &ring_none)
		return NULL;
	ring_empty(ring_own);
	ring_own->sequence = 0;
	atomic_store(&ring_own->session, session);
	return ring_own;
}

/* The next one of the session by its thread, behind `thread`: a seed gives the same file whoever took which ring. */
static struct ring *ring_after(uint32_t session, uint32_t thread)
{
	struct ring *found = NULL;

	for (struct ring *ring = atomic_load(&rings); ring; ring = ring->next) {
		if (atomic_load(&ring->session) != session || ring_used(ring) == 0)
			continue;
		if (ring->block->header.thread > thread &&
		    (!found || ring->block->header.thread < found->block->header.thread))
			found = ring;
	}
	return found;
}

void ring_collect(uint32_t session)
{
	word_wait_until_none(&holders);

	for (struct ring *ring = atomic_load(&rings); ring; ring = ring->next) {
		atomic_store(&ring->quick_end, NULL);
		ring_settle(ring);
	}
	/* From here on no owner empties its ring; it can only append. */
	for (struct ring *ring = ring_after(session, 0); ring;
	     ring = ring_after(session, ring->block->header.thread))
		ring_spool(ring, ring_used(ring));
}

void ring_forget_all(void)
{
	atomic_store(&rings, NULL);
	atomic_store(&holders, 0);
	atomic_store(&writer.is_there, false); /* it is the parent's, and so is its memory */
	ring_own = &ring_none;
}
