/* SPDX-License-Identifier: MIT */
/*
 * pools.c - tile pools, kept mapped where the GPU can copy their entries from.
 *
 *	an update is made ─▶ memory it shows is mapped in the pools, once for each protection
 *	its turn comes    ─▶ entries are copied from there (table_copy.c)
 *	the memory moves  ─▶ the pools follow, as every space does
 *	the memory goes   ─▶ it goes from the pools, too
 *
 * An update may wait for its fence as long as it likes: whoever executes it finds entries for where
 * the memory is by then. Adapters whose tables the CPU writes need none of this, for the CPU writes
 * what is true when the turn comes.
 *
 * The pools are an address space of the process like any other, but that no context begins at its
 * root: the kernel's own context reaches its tables through windows. Their tables leave and come
 * back with the others of the process (eviction.c): where entries are copied to there is
 * something to copy from.
 *
 * Locks: page_tables.lock guards whether there are pools. A view of memory is added with the lock of
 * the space held: then whoever drops the memory finds it.
 */
#include "base/refusal.h"
#include "address_space/parts.h"

static bool has_pools(struct address_space *space)
{
	lock_acquire(&space->tables.lock);
	bool has_some = space->pools != NULL;
	lock_release(&space->tables.lock);
	return has_some;
}

/* They begin where the others are: in, for they are held. */
static NTSTATUS await_tables(struct address_space *space)
{
	const struct page_tables_config *config = space->config;

	return config->await && space->tables.process
		       ? config->await(space->tables.process, NULL, 0)
		       : STATUS_SUCCESS;
}

NTSTATUS space_pools_begin(struct address_space *space)
{
	struct address_space *pools;

	if (space->config->mmu.update_mode == MINIPORT_TABLE_CPU_VIRTUAL || has_pools(space))
		return STATUS_SUCCESS;
	NTSTATUS status = await_tables(space);
	if (NT_SUCCESS(status))
		status = space_create_pools(space, &pools);
	if (!NT_SUCCESS(status))
		return status;
	lock_acquire(&space->tables.lock);
	if (!space->pools) {
		space->pools = pools;
		space->tables.pools = &pools->tables;
		pools = NULL;
	}
	lock_release(&space->tables.lock);
	address_space_destroy(pools); /* others were faster */
	return STATUS_SUCCESS;
}

/* The view of `memory` that shows it like `state`, or one that shows nothing yet; NULL: none. */
static struct space_memory *find_kept_locked(const struct address_space *pools,
					     struct mapped_memory *memory,
					     const struct gpuva_state *state)
{
	struct space_memory *found = NULL;

	lock_assert_held(&pools->tables.lock);
	lock_acquire(&memory->lock);
	list_each (struct space_memory, kept, &memory->views, view.memory_link) {
		const struct gpuva_owner *owner = &kept->view.owner;

		if (kept->space != pools || kept->is_gone)
			continue;
		if (owner->range_count == 0) {
			found = kept;
			continue;
		}
		const struct gpuva_state *shown = &range_of_owner_link(owner->ranges.next)->state;
		if (shown->protection == state->protection &&
		    shown->driver_protection == state->driver_protection) {
			found = kept;
			break;
		}
	}
	lock_release(&memory->lock);
	return found;
}

/* Whole tables where there is enough for one: then a copy of many entries is one range. */
static uint64_t best_alignment(const struct address_space *pools, uint64_t page_count)
{
	uint64_t pages = gpuva_shape_table_pages(&pools->config->shape, 0);

	return page_count < pages ? GPUVA_PAGES_PER_64K : pages;
}

static NTSTATUS keep_in_pools(struct address_space *pools, struct mapped_memory *memory,
			      const struct gpuva_state *state, struct table_block_wants *wants,
			      uint64_t *end_page_out)
{
	struct gpuva_plan plan = { 0 };
	uint64_t end_page;
	uint64_t address;

	lock_acquire(&pools->tables.lock);
	struct space_memory *kept = find_kept_locked(pools, memory, state);
	if (kept && kept->view.owner.range_count > 0) {
		lock_release(&pools->tables.lock);
		return STATUS_SUCCESS;
	}
	if (!kept)
		kept = space_add_memory_locked(pools, memory);
	NTSTATUS status =
		kept ? gpuva_plan_map(
			       &pools->tables.space,
			       &(struct gpuva_map_request){
				       .owner = &kept->view.owner,
				       .page_count = memory->page_count,
				       .protection = state->protection,
				       .driver_protection = state->driver_protection,
				       .alignment_pages = best_alignment(pools, memory->page_count),
			       },
			       &plan)
		     : refuse_no_memory("There is no memory for a tile pool's addresses");
	if (NT_SUCCESS(status) && space_is_above_root_locked(pools, &plan, &end_page)) {
		*end_page_out = end_page;
		gpuva_plan_finish(&plan);
		lock_release(&pools->tables.lock);
		return STATUS_SUCCESS;
	}
	status = space_carry_out_unlock(pools, &plan, status, true, wants, NULL, &address);
	return status == STATUS_PENDING ? STATUS_SUCCESS : status;
}

NTSTATUS space_pools_keep_locked(struct address_space *space, const struct gpuva_plan *plan,
				 struct table_block_wants *wants, uint64_t *end_page_out)
{
	NTSTATUS status = STATUS_SUCCESS;

	lock_assert_held(&space->tables.lock);
	*end_page_out = 0;
	if (!space->tables.pools)
		return STATUS_SUCCESS;
	for (size_t i = 0; i < plan->step_count && NT_SUCCESS(status) && *end_page_out == 0; i++) {
		const struct gpuva_state *state = &plan->steps[i].state;

		if (state->kind != GPUVA_KIND_MAPPED)
			continue;
		struct space_memory *memory =
			container_of(state->owner, struct space_memory, view.owner);
		if (!memory->is_gone)
			status = keep_in_pools(
				container_of(space->tables.pools, struct address_space, tables),
				memory->view.memory, state, wants, end_page_out);
	}
	return status;
}

const char *address_space_validate(struct address_space *space, uint64_t *page_out)
{
	const char *wrong = page_tables_validate(&space->tables, NULL, NULL, page_out);
	bool is_used = false;

	lock_acquire(&space->tables.lock);
	struct page_tables *pools = space->tables.pools;
	if (pools) {
		lock_acquire(&pools->lock);
		is_used = pools->table_count > 1; /* else not even the root was written */
		lock_release(&pools->lock);
		is_used &=
			!address_space_is_broken(container_of(pools, struct address_space, tables));
	}
	lock_release(&space->tables.lock);
	return wrong || !is_used ? wrong : page_tables_validate(pools, NULL, NULL, page_out);
}
