/* SPDX-License-Identifier: MIT */
/*
 * vidmm.h - the memory manager, as object/ sees it.
 *
 * It decides where the bytes of an allocation live and keeps the books on it; it never enters the
 * driver. Three little states and a count say all about an allocation, each with one function that
 * changes it (states.c; state_tables.c has every step):
 *
 *	life      LIVE ──retire──▶ DYING ──finish──▶ DEAD
 *	content   NONE ⇄ BACKED ⇄ LOCAL ⇄ NONE    system memory is taken at the first use
 *	offer     NOT_OFFERED ⇄ OFFERED ─▶ DISCARDED ─reclaim▶ NOT_OFFERED; without pages DECOMMITTED
 *	locks     how often the CPU has it (the GPU's use comes with residency)
 *
 * An allocation that nobody ever touched costs its struct and nothing else: no page, no address, no
 * lock, no system call.
 *
 * Every function takes LOCK_RANK_ALLOCATION itself; several threads may call for one allocation,
 * from init to the start of finish.
 */
#ifndef VIDMM_VIDMM_H
#define VIDMM_VIDMM_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/lock.h"
#include "base/machine.h"
#include "base/memory_traits.h"
#include "base/status.h"
#include "trace/trace.h"
#include "vidmm/account.h"
#include "vidmm/backing.h"
#include "vidmm/cpu_map.h"
#include "vidmm/state_tables.h"

struct vidmm_place;
struct mapped_memory;
struct client_memory;
struct driver_memory;
struct vidmm_elsewhere;

/* As clients count them. AUTO is turned into one of the others, by the eviction priority. */
enum vidmm_offer_priority {
	VIDMM_OFFER_LOW = 1,
	VIDMM_OFFER_NORMAL,
	VIDMM_OFFER_HIGH,
	VIDMM_OFFER_AUTO,
};

enum vidmm_reclaim_result {
	VIDMM_RECLAIM_OK,
	VIDMM_RECLAIM_DISCARDED,
	VIDMM_RECLAIM_NOT_COMMITTED
};

/* As clients count them. */
enum vidmm_residency {
	VIDMM_RESIDENT_IN_GPU_MEMORY = 1,
	VIDMM_RESIDENT_IN_SHARED_MEMORY,
	VIDMM_NOT_RESIDENT,
};

#define VIDMM_PRIORITY_LOW    UINT32_C(0x50000000)
#define VIDMM_PRIORITY_NORMAL UINT32_C(0x78000000)
#define VIDMM_PRIORITY_HIGH   UINT32_C(0xA0000000)

/* What the driver wants for an allocation, and the client for the memory it brought. */
struct vidmm_wishes {
	uint64_t id;         /* names it in traces */
	uint64_t size_bytes; /* whole pages, not 0 */
	uint64_t alignment_bytes;
	uint32_t supported_segments; /* bit n-1 is segment n */
	uint32_t eviction_segments;
	uint32_t preferred_segments; /* DXGK_SEGMENTPREFERENCE, bit for bit */
	uint32_t hinted_banks;       /* DXGK_SEGMENTBANKPREFERENCE, bit for bit */
	uint32_t priority;
	struct memory_traits traits;
	struct vidmm_account *account; /* who pays; NULL: nobody in particular */
	void *existing_memory;         /* the client's own pages; NULL: ours */
	struct driver_memory *driver;  /* no client's, a driver's own (work_set.h); NULL */
};

struct vidmm_allocation {
	/* Set at init. Read freely afterwards. */
	uint64_t id;
	uint64_t size_bytes;
	struct vidmm_account *account;
	struct driver_memory *driver;
	uint32_t eviction_segments;

	_Atomic uint32_t priority; /* any value, ordered as numbers */

	/* Guarded by lock, but for looks at `content`, to the end. */
	uint32_t supported_segments;
	uint32_t preferred_segments;
	uint32_t hinted_banks;
	struct memory_traits traits;
	uint8_t alignment_shift;

	/* All zero at first, to the end. */
	struct lock lock;        /* LOCK_RANK_ALLOCATION */
	uint8_t life;            /* enum vidmm_life */
	_Atomic uint8_t content; /* enum vidmm_content */
	uint8_t offer;           /* enum vidmm_offer */
	uint8_t offer_priority;
	uint32_t lock_count;
	bool may_decommit; /* as it was offered */
	struct vidmm_backing backing;
	struct cpu_view view;
	struct vidmm_elsewhere *elsewhere; /* NULL: no other process was shown it (elsewhere.h) */

	/* Where it is for the GPU; NULL while no device wants it there (manager.h). Made under the
	   lock and the manager's, taken away under the manager's alone: look for it there. */
	_Atomic(struct vidmm_place *) place;

	/* What stands for it in GPU address spaces; NULL until it is first mapped (mappings.h). */
	_Atomic(struct mapped_memory *) mapped;
};

/* Of this one only the end may come, which does nothing; or the beginning below. */
static inline void vidmm_allocation_init_empty(struct vidmm_allocation *allocation)
{
	allocation->size_bytes = 0;
}

/* Its memory is the client's. */
void vidmm_allocation_take_memory(struct vidmm_allocation *allocation, void *memory);
/* Right after init. The client's memory may be there for reading only: what the GPU has written to a copy stays behind. */
static inline void vidmm_allocation_only_read(struct vidmm_allocation *allocation,
					      bool is_read_only)
{
	allocation->backing.is_read_only = is_read_only && allocation->backing.is_clients;
}

/*
 * … of a client in another process; right after init, and mapped here. Takes over the references, also
 * when it fails: STATUS_NO_MEMORY, refused.
 */
MUST_CHECK NTSTATUS vidmm_allocation_take_client_memory(struct vidmm_allocation *allocation,
							const struct client_memory *memory);

/* Right after init: a run of the machine's pages, exactly as long, is its own from now on. */
void vidmm_allocation_take_run(struct vidmm_allocation *allocation, uint64_t physical_address);

/* Cannot fail and touches nothing but the struct. */
static inline void vidmm_allocation_init(struct vidmm_allocation *allocation,
					 const struct vidmm_wishes *wishes)
{
	assert(wishes->size_bytes > 0 && is_aligned(wishes->size_bytes, MACHINE_PAGE_BYTES));
	assert(is_power_of_two(wishes->alignment_bytes));
	/* Field by field: a whole struct would be made beside it first. */
	allocation->id = wishes->id;
	allocation->size_bytes = wishes->size_bytes;
	allocation->account = wishes->account;
	allocation->driver = wishes->driver;
	allocation->eviction_segments = wishes->eviction_segments;
	atomic_init(&allocation->priority, wishes->priority);
	allocation->supported_segments = wishes->supported_segments;
	allocation->preferred_segments = wishes->preferred_segments;
	allocation->hinted_banks = wishes->hinted_banks;
	allocation->traits.bits = wishes->traits.bits;
	allocation->alignment_shift = (uint8_t)__builtin_ctzll(wishes->alignment_bytes);
	_Static_assert(VIDMM_LIVE == 0 && VIDMM_CONTENT_NONE == 0 && VIDMM_NOT_OFFERED == 0,
		       "what an allocation is at first");
	bytes_wipe_from(allocation, lock);
	lock_init(&allocation->lock, LOCK_RANK_ALLOCATION, "allocation");
	if (wishes->existing_memory)
		vidmm_allocation_take_memory(allocation, wishes->existing_memory);
}

/*
 * Nothing new begins: what is locked is unlocked, the CPU view is gone when it returns, and locking
 * is refused. The memory stays, for the sake of work that is under way.
 */
void vidmm_allocation_retire(struct vidmm_allocation *allocation);

/*
 * The same for one that nobody else can reach. False, and nothing is done, when it has pages or was
 * shown to the CPU or a GPU: then there is more to end.
 */
MUST_CHECK bool vidmm_allocation_retire_untouched(struct vidmm_allocation *allocation);

/* Everything is given back, retired before or not. Nobody else is inside any more. */
RARE void vidmm_allocation_finish_use(struct vidmm_allocation *allocation);
SPECIALIZED void vidmm_allocation_finish(struct vidmm_allocation *allocation)
{
	if (UNLIKELY(allocation->size_bytes == 0))
		return;
	if (UNLIKELY(allocation->life == VIDMM_LIVE ||
		     ((uintptr_t)atomic_load_explicit(&allocation->mapped, memory_order_relaxed) |
		      (uintptr_t)allocation->elsewhere) != 0 ||
		     atomic_load_explicit(&allocation->content, memory_order_relaxed) !=
			     VIDMM_CONTENT_NONE))
		vidmm_allocation_finish_use(allocation);
	lock_finish(&allocation->lock);
	allocation->life = state_step(STATES_LIFE, allocation->life, VIDMM_DEAD);
	trace_allocation_dead(allocation->id);
}

/* The same for one that vidmm_allocation_retire_untouched() has retired. */
SPECIALIZED void vidmm_allocation_finish_untouched(struct vidmm_allocation *allocation)
{
	assert(!atomic_load_explicit(&allocation->mapped, memory_order_relaxed) &&
	       !allocation->elsewhere &&
	       atomic_load_explicit(&allocation->content, memory_order_relaxed) ==
		       VIDMM_CONTENT_NONE);
	lock_finish(&allocation->lock);
	allocation->life = state_step(STATES_LIFE, allocation->life, VIDMM_DEAD);
	trace_allocation_dead(allocation->id);
}

static inline uint64_t vidmm_size_bytes(const struct vidmm_allocation *allocation)
{
	return allocation->size_bytes;
}

/*
 * Where the CPU sees it. Nests; each needs its unlock. The pointer is the same each time, and the
 * bytes are zero at the first. Refused when it is offered or dying, when it cannot be seen where it
 * is, and, with `needs_cpu_visible` (the rule of the older call), when it was not made for that.
 * STATUS_NO_MEMORY: no pages; STATUS_GRAPHICS_NO_VIDEO_MEMORY: no addresses.
 */
MUST_CHECK NTSTATUS vidmm_lock(struct vidmm_allocation *allocation, bool needs_cpu_visible,
			       void **pointer_out);

uint32_t vidmm_lock_count(struct vidmm_allocation *allocation);

static inline uint32_t vidmm_priority(const struct vidmm_allocation *allocation)
{
	return atomic_load_explicit(&allocation->priority, memory_order_relaxed);
}

static inline void vidmm_set_priority(struct vidmm_allocation *allocation, uint32_t priority)
{
	atomic_store_explicit(&allocation->priority, priority, memory_order_relaxed);
}

/* A look: does the memory manager have it somewhere or on its way, or do GPU addresses show it? */
static inline bool vidmm_is_paged(const struct vidmm_allocation *allocation)
{
	return atomic_load_explicit(&allocation->place, memory_order_relaxed) != NULL ||
	       atomic_load_explicit(&allocation->mapped, memory_order_relaxed) != NULL;
}

/* What a client may change later; what is not set stays. */
struct vidmm_update {
	bool sets_supported_segments;
	bool sets_preferred_segments;
	bool sets_accessed_physically;
	bool sets_unmoveable;

	uint32_t supported_segments; /* bit n-1 is segment n; not 0 */
	uint32_t preferred_segments; /* D3DDDI_SEGMENTPREFERENCE, bit for bit */
	bool is_accessed_physically;
	bool is_unmoveable;
};

/* Nothing to do on a machine whose devices are coherent; a range outside is refused all the same.
 */
MUST_CHECK NTSTATUS vidmm_invalidate_cache(const struct vidmm_allocation *allocation,
					   uint64_t offset_bytes, uint64_t length_bytes);

/* Does any of it belong to a CPU view? Such memory moves, and cannot be lent to us. */
bool vidmm_is_view(const void *pointer, uint64_t size_bytes);

/* Gives the addresses of CPU views back to the host; no view is left. */
void vidmm_stop(void);

#endif
