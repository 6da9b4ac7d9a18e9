/* SPDX-License-Identifier: MIT */
/*
 * driver_memory.c - see driver_memory.h. A driver has a handful of these blocks, so the list is
 * a list.
 */
#include <string.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "nt/driver_memory.h"
#include "base/machine.h"
#include "nt/report.h"

struct block {
	struct list link;
	const void *name;
	const void *site;
	struct nt_stack stack;
	bool is_run;
	uint64_t count;
	uint64_t pfns[]; /* of a run only the first */
};

static struct {
	struct lock lock;
	struct list blocks; /* block.link */
} drivers = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_NT_OBJECTS, "memory of drivers"),
	.blocks = { &drivers.blocks, &drivers.blocks },
};

bool driver_memory_add(const void *name, bool is_run, const uint64_t pfns[], uint64_t count,
		       const void *site)
{
	uint64_t kept = is_run ? 1 : count;
	struct block *block = mem_alloc(sizeof(*block) + kept * sizeof(pfns[0]));

	if (!block)
		return false;
	block->name = name;
	block->site = site;
	nt_stack_take(&block->stack);
	block->is_run = is_run;
	block->count = count;
	memcpy(block->pfns, pfns, kept * sizeof(pfns[0]));
	lock_acquire(&drivers.lock);
	list_push_back(&drivers.blocks, &block->link);
	lock_release(&drivers.lock);
	return true;
}

static void block_take_locked(struct block *block)
{
	lock_assert_held(&drivers.lock);
	list_remove(&block->link);
}

static void block_free(struct block *block)
{
	if (block->is_run)
		(void)!machine_free_contiguous(block->pfns[0] << MACHINE_PAGE_SHIFT);
	else
		machine_free_pages(block->count, block->pfns);
	mem_free(block);
}

bool driver_memory_free(const void *name, bool is_run)
{
	struct block *found = NULL;

	lock_acquire(&drivers.lock);
	list_each (struct block, block, &drivers.blocks, link) {
		if (block->name == name && block->is_run == is_run) {
			found = block;
			break;
		}
	}
	if (found)
		block_take_locked(found);
	lock_release(&drivers.lock);

	if (found)
		block_free(found);
	return found != NULL;
}

static struct block *take_next_of_image(const void *begin, const void *end)
{
	struct block *found = NULL;

	lock_acquire(&drivers.lock);
	list_each (struct block, block, &drivers.blocks, link) {
		if ((uintptr_t)block->site >= (uintptr_t)begin &&
		    (uintptr_t)block->site < (uintptr_t)end) {
			found = block;
			break;
		}
	}
	if (found)
		block_take_locked(found);
	lock_release(&drivers.lock);
	return found;
}

void nt_driver_memory_report_left(const void *begin, const void *end)
{
	struct block *block;

	while ((block = take_next_of_image(begin, end))) {
		char where[256];

		nt_report_where_called(block->site, where, sizeof(where));
		nt_report_from(RULE_NT_MEMORY_LEFT, 0, &block->stack,
			       "The driver is unloaded and left %llu pages of physical memory, %s, "
			       "allocated at %s",
			       (unsigned long long)block->count,
			       block->is_run ? "contiguous" : "in an MDL", where);
		block_free(block);
	}
}
