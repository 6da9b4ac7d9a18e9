/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/lock.h"
#include "base/lock_order.h"
#include "base/sim.h"
#include "base/slab.h"

/* As much as a process gets; where addresses are rationed it is less. */
#define RANGE_MAX_BYTES (UINT64_C(1) << 36)
#define RANGE_MIN_BYTES (UINT64_C(1) << 26)
#define SLAB_BYTES      (UINT64_C(1) << SLAB_SHIFT)
#define GROW_BYTES      (UINT64_C(1) << 21) /* made usable at a time: a large page of the machine */

struct free_block {
	struct free_block *next;
};

struct slab_range slab_range;

/* Guarded by slab_lock. */
static struct lock slab_lock = LOCK_INITIALIZER(LOCK_RANK_SLAB, "slabs");
static uintptr_t range_bytes;
static uintptr_t usable_bytes;
static bool is_out_of_addresses;
static struct {
	struct free_block *returned;
	char *fresh; /* the rest of its newest slab */
	uint32_t fresh_count;
} shelves[SLAB_SHELVES];

static void *reserve(uint64_t bytes, int protection)
{
	void *memory =
		mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static bool range_reserve_locked(void)
{
	lock_assert_held(&slab_lock);
	if (slab_range.begin || is_out_of_addresses)
		return slab_range.begin != 0;
	uint64_t bytes = RANGE_MAX_BYTES;
	char *begin = reserve(bytes, PROT_NONE);
	while (!begin && bytes > RANGE_MIN_BYTES) {
		bytes /= 2;
		begin = reserve(bytes, PROT_NONE);
	}
	uint8_t *slab_shelves = begin ? reserve(bytes / SLAB_BYTES, PROT_READ | PROT_WRITE) : NULL;
	if (!slab_shelves) {
		is_out_of_addresses = true;
		return false;
	}
	range_bytes = bytes - GROW_BYTES;
	begin = (char *)align_down((uintptr_t)begin + GROW_BYTES - 1, GROW_BYTES);
	for (unsigned shelf = 0; shelf < SLAB_SHELVES; shelf++) {
		size_t block_bytes = slab_block_bytes(shelf);
		if (block_bytes == 0)
			continue;
		slab_range.shapes[shelf] = (struct slab_shape){
			.block_bytes = (uint32_t)block_bytes,
			.block_count = (uint32_t)(SLAB_BYTES / block_bytes),
			.inverse = ((UINT64_C(1) << 32) + block_bytes - 1) / block_bytes,
		};
	}
	slab_range.shelves = slab_shelves;
	slab_range.begin = (uintptr_t)begin;
	return true;
}

/* A new slab for the shelf. */
static bool shelf_grow_locked(unsigned shelf)
{
	uintptr_t used = atomic_load_explicit(&slab_range.used_bytes, memory_order_relaxed);

	lock_assert_held(&slab_lock);
	if (!range_reserve_locked() || used == range_bytes)
		return false;
	char *slab = (char *)slab_range.begin + used;
	if (used == usable_bytes) {
		if (mprotect(slab, GROW_BYTES, PROT_READ | PROT_WRITE) != 0)
			return false;
		/* Blocks are used in any order: fewer pages are found sooner. A wish. */
		(void)!madvise(slab, GROW_BYTES, MADV_HUGEPAGE);
		usable_bytes += GROW_BYTES;
	}
	slab_range.shelves[used >> SLAB_SHIFT] = (uint8_t)shelf;
	atomic_store_explicit(&slab_range.used_bytes, used + SLAB_BYTES, memory_order_release);
	shelves[shelf].fresh = slab;
	shelves[shelf].fresh_count = slab_range.shapes[shelf].block_count;
	return true;
}

void *slab_carve(unsigned shelf)
{
	void *block = NULL;

	lock_acquire(&slab_lock);
	if (shelves[shelf].returned) {
		block = shelves[shelf].returned;
		shelves[shelf].returned = shelves[shelf].returned->next;
	} else if (shelves[shelf].fresh_count > 0 || shelf_grow_locked(shelf)) {
		block = shelves[shelf].fresh;
		shelves[shelf].fresh += slab_block_bytes(shelf);
		shelves[shelf].fresh_count--;
	}
	lock_release(&slab_lock);
	return block;
}

void slab_return(unsigned shelf, void *block)
{
	struct free_block *free_block = block;

	assert(slab_shelf_at(block) == shelf);
	lock_acquire(&slab_lock);
	free_block->next = shelves[shelf].returned;
	shelves[shelf].returned = free_block;
	lock_release(&slab_lock);
}

void slab_visit(unsigned shelf, void (*visit)(void *context, void *block), void *context)
{
	uintptr_t used = atomic_load_explicit(&slab_range.used_bytes, memory_order_acquire);
	const struct slab_shape *shape = &slab_range.shapes[shelf];

	for (uintptr_t at = 0; at < used; at += SLAB_BYTES) {
		char *slab = (char *)slab_range.begin + at;
		if (slab_range.shelves[at >> SLAB_SHIFT] != shelf)
			continue;
		for (uint32_t i = 0; i < shape->block_count; i++)
			visit(context, slab + (size_t)i * shape->block_bytes);
	}
}

/* ---- fork() ---- */

/*
 * In a simulated run taking a lock is a step of the run, and who forks may have no part in it. So
 * the run stands still meanwhile; whoever has the lock needs no step to let go of it.
 */
static void slab_before_fork(void)
{
	sim_before_fork();
	if (!sim_is_on())
		lock_acquire(&slab_lock);
	else
		while (!lock_try_acquire(&slab_lock))
			thread_relax();
}

/* Who came too late looks again before it sleeps, and that needs the simulator. */
static void slab_let_go(void)
{
	if (!sim_is_on()) {
		lock_release(&slab_lock);
		return;
	}
	lock_order_pop(&slab_lock);
	atomic_store_explicit(&slab_lock.word, LOCK_FREE, memory_order_release);
}

static void slab_after_fork(void)
{
	slab_let_go();
	sim_after_fork();
}

static void slab_after_fork_in_child(void)
{
	slab_let_go();
	sim_after_fork_in_child();
}

/* A child must not find the lock taken by a thread that it does not have. */
__attribute__((constructor)) static void slab_follow_fork(void)
{
	pthread_atfork(slab_before_fork, slab_after_fork, slab_after_fork_in_child);
}
