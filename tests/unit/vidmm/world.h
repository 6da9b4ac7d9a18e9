/* SPDX-License-Identifier: MIT */
/*
 * world.h - a machine of a known size with allocations in it, judged by validate after each step.
 */
#ifndef TESTS_UNIT_VIDMM_WORLD_H
#define TESTS_UNIT_VIDMM_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "base/machine.h"
#include "base/mem.h"
#include "base/probe.h"
#include "support/test.h"
#include "vidmm/allocation.h"
#include "vidmm/states.h"
#include "vidmm/validate.h"
#include "vidmm/vidmm.h"

#define KIB  (UINT64_C(1) << 10)
#define MIB  (UINT64_C(1) << 20)
#define PAGE MACHINE_PAGE_BYTES

enum { WORLD_MAX = 4096 };

struct world {
	struct vidmm_account adapter;
	struct vidmm_account process;
	struct vidmm_allocation *allocations[WORLD_MAX];
	size_t count;
	struct mem_usage usage;
};

static inline void world_init(struct world *world, unsigned machine_mib)
{
	char text[16];

	memset(world, 0, sizeof(*world));
	snprintf(text, sizeof(text), "%u", machine_mib);
	setenv("DXGK_PHYSICAL_MIB", text, 1);
	world->process.parent = &world->adapter;
	world->usage = mem_usage();
}

static inline void world_check(struct world *world)
{
	char wrong[160];

	if (!vidmm_validate(&world->process, world->allocations, world->count, wrong,
			    sizeof(wrong)) ||
	    !vidmm_validate(&world->adapter, world->allocations, world->count, wrong,
			    sizeof(wrong)) ||
	    !vidmm_validate(NULL, world->allocations, world->count, wrong, sizeof(wrong))) {
		print_error("%s\n", wrong);
		fail();
	}
}

static inline struct vidmm_wishes world_wishes(struct world *world, uint64_t size_bytes)
{
	return (struct vidmm_wishes){
		.id = world->count + 1,
		.size_bytes = size_bytes,
		.alignment_bytes = PAGE,
		.supported_segments = 1,
		.priority = VIDMM_PRIORITY_NORMAL,
		.traits = { .is_cpu_visible = true },
		.account = &world->process,
	};
}

static inline struct vidmm_allocation *world_add(struct world *world,
						 const struct vidmm_wishes *wishes)
{
	struct vidmm_allocation *allocation = malloc(sizeof(*allocation));

	EXPECT(allocation && world->count < WORLD_MAX);
	vidmm_allocation_init(allocation, wishes);
	world->allocations[world->count++] = allocation;
	world_check(world);
	return allocation;
}

static inline struct vidmm_allocation *world_new(struct world *world, uint64_t size_bytes)
{
	struct vidmm_wishes wishes = world_wishes(world, size_bytes);

	return world_add(world, &wishes);
}

static inline void world_drop(struct world *world, struct vidmm_allocation *allocation)
{
	size_t i = 0;

	while (world->allocations[i] != allocation)
		i++;
	world->allocations[i] = world->allocations[--world->count];
	vidmm_allocation_finish(allocation);
	free(allocation);
	world_check(world);
}

static inline char *world_lock(struct world *world, struct vidmm_allocation *allocation)
{
	void *pointer = NULL;

	EXPECT_EQ(vidmm_lock(allocation, false, &pointer), STATUS_SUCCESS);
	EXPECT(pointer);
	world_check(world);
	return pointer;
}

/* As those who ask for it do it: the manager's calls, when it has no place. */
static inline bool world_unlock(struct vidmm_allocation *allocation)
{
	lock_acquire(&allocation->lock);
	bool was_locked = allocation_unlock_locked(allocation);
	lock_release(&allocation->lock);
	return was_locked;
}

static inline NTSTATUS world_offer(struct vidmm_allocation *allocation,
				   enum vidmm_offer_priority priority, bool may_decommit)
{
	lock_acquire(&allocation->lock);
	NTSTATUS status = allocation_offer_locked(allocation, priority, may_decommit);
	lock_release(&allocation->lock);
	return status;
}

static inline void world_update(struct vidmm_allocation *allocation,
				const struct vidmm_update *update)
{
	lock_acquire(&allocation->lock);
	allocation_update_locked(allocation, update);
	lock_release(&allocation->lock);
}

static inline enum vidmm_reclaim_result world_reclaim(struct vidmm_allocation *allocation)
{
	lock_acquire(&allocation->lock);
	enum vidmm_reclaim_result result = allocation_reclaim_locked(allocation);
	lock_release(&allocation->lock);
	return result;
}

/* Nothing is left: no page, no address, no memory. */
static inline bool world_decommit(struct vidmm_allocation *allocation)
{
	lock_acquire(&allocation->lock);
	bool has_gone = allocation_decommit_locked(allocation);
	lock_release(&allocation->lock);
	return has_gone;
}

static inline void world_finish(struct world *world)
{
	while (world->count > 0)
		world_drop(world, world->allocations[world->count - 1]);
	EXPECT_EQ(machine_usage().taken_pages, 0);
	EXPECT_EQ(cpu_map_usage().taken_pages, 0);
	vidmm_stop();
	machine_finish();
	unsetenv("DXGK_PHYSICAL_MIB");
	EXPECT_EQ(mem_usage().blocks, world->usage.blocks);
	EXPECT_EQ(mem_usage().bytes, world->usage.bytes);
}

static inline bool is_all(const char *bytes, uint64_t size_bytes, char value)
{
	return bytes[0] == value && memcmp(bytes, bytes + 1, size_bytes - 1) == 0;
}

/* On a machine of 64 MiB. */
#define WORLD_TEST(suite, claim)                                                                   \
	TEST_ON(world, world_init(&world, 64), world_finish(&world), suite, claim)

/* … of 16. */
#define SMALL_WORLD_TEST(suite, claim)                                                             \
	TEST_ON(world, world_init(&world, 16), world_finish(&world), suite, claim)

#endif
