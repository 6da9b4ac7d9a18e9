/* SPDX-License-Identifier: MIT */
/*
 * world.h - page tables, a driver that writes them into real memory, and a GPU that walks them
 * (fake/mmu.h).
 *
 * The pager is a loop: an operation is executed when it is made.
 */
#ifndef TESTS_UNIT_PAGETABLE_WORLD_H
#define TESTS_UNIT_PAGETABLE_WORLD_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fake/mmu.h"
#include "gpuva/plan.h"
#include "support/dirty.h"
#include "support/test.h"
#include "shapes.h"
#include "pagetable/root_change.h"

struct memory {
	struct mapped_memory mapped;
	struct memory_view view;
	/* Where it is: page i is at first_page + pages[i]. */
	bool is_in;
	uint32_t segment;
	uint64_t first_page;
	uint8_t pages[MEMORY_PAGES];
};

/* A table the driver knows. */
struct known_table {
	uint32_t segment;
	uint64_t offset_bytes;
	uint32_t level;
	bool is_wide; /* its entries are 64 KiB pages */
};

struct world {
	const struct shape *shape;
	struct page_tables_config config;
	struct page_tables tables;
	struct fake_memory memory;
	struct fake_mmu mmu;
	uint64_t local_used;
	uint64_t local_taken;
	bool is_local_full;
	struct memory memories[MEMORIES];
	uint64_t windows[WINDOWS];
	struct fake_tlb tlbs[WINDOWS];
	struct known_table known[MAX_TABLES];
	uint32_t known_count;
	uint32_t conversions;         /* of those to tables of 4 KiB pages */
	struct page_tables_root root; /* as the GPU was told */
	bool is_held;                 /* it runs nothing */
	uint32_t growths;

	/* Since the last clear. */
	uint32_t updates;
	uint32_t initials;
	uint32_t flushes;
	struct miniport_paging_op last_leaf;
	struct miniport_paging_op last_flush;
};

static int world_process; /* the driver's process is somewhere */

/* What there was before the first world, and has to be again after the last. */
static struct {
	int worlds;
	struct mem_usage usage;
	uint64_t machine_pages;
} outside;

/* ---- memory ---- */

static inline NTSTATUS world_take(void *memory, struct vidmm_process *process, uint32_t segment,
				  uint64_t size_bytes, uint64_t align_bytes,
				  struct pager_table *table_out)
{
	struct world *world = memory;

	(void)process;
	EXPECT_EQ(segment, LOCAL);
	EXPECT(size_bytes > 0 && size_bytes % MACHINE_PAGE_BYTES == 0);
	if (world->is_local_full)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	world->local_used = (world->local_used + align_bytes - 1) / align_bytes * align_bytes;
	if (world->local_used + size_bytes > LOCAL_BYTES)
		return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
	*table_out = (struct pager_table){ .segment = LOCAL,
					   .offset_bytes = world->local_used,
					   .pointer = world->memory.local + world->local_used };
	memset(table_out->pointer, 0xA5, size_bytes); /* whoever forgets to write it is found */
	world->local_used += size_bytes;
	world->local_taken += size_bytes;
	return STATUS_SUCCESS;
}

static inline void world_give(void *memory, const struct pager_table *table, uint64_t size_bytes)
{
	struct world *world = memory;

	EXPECT_EQ(table->segment, LOCAL);
	world->local_taken -= size_bytes;
}

static inline uint64_t world_root_bytes(void *driver, uint32_t *entry_count)
{
	(void)driver;
	return *entry_count * UINT64_C(16); /* also for two pointers each */
}

static inline struct memory *memory_of(const struct mapped_memory *mapped)
{
	return (struct memory *)mapped->allocation;
}

static inline uint64_t memory_page(const struct memory *memory, uint64_t offset)
{
	return memory->first_page + memory->pages[offset];
}

static inline void world_look(void *context, const struct mapped_memory *mapped,
			      uint64_t offset_pages, struct resident_run *run)
{
	const struct memory *memory = memory_of(mapped);
	uint64_t most = run->page_count;

	(void)context;
	EXPECT(offset_pages + most <= MEMORY_PAGES);
	run->is_resident = memory->is_in;
	if (!memory->is_in)
		return;
	run->segment = memory->segment;
	run->first_page = memory_page(memory, offset_pages);
	run->page_count = 1;
	while (run->page_count < most && memory_page(memory, offset_pages + run->page_count) ==
						 run->first_page + run->page_count)
		run->page_count++;
}

/* ---- the GPU ---- */

static inline struct known_table *world_known(struct world *world, uint32_t segment,
					      uint64_t offset_bytes)
{
	for (uint32_t i = 0; i < world->known_count; i++) {
		if (world->known[i].segment == segment &&
		    world->known[i].offset_bytes == offset_bytes)
			return &world->known[i];
	}
	return NULL;
}

/* A table was made one before anything leads to it. */
static inline void world_visits(void *context, uint32_t segment, uint64_t offset_bytes,
				bool is_wide)
{
	const struct known_table *known = world_known(context, segment, offset_bytes);

	EXPECT(known && known->is_wide == is_wide);
}

static inline uint64_t world_walk_packed(struct world *world, uint64_t page)
{
	return fake_walk(&world->mmu, &world->root, page);
}

static inline struct miniport_pte world_walk(void *context, const struct page_tables *tables,
					     uint64_t page)
{
	(void)tables;
	return pte_unpack(world_walk_packed(context, page));
}

static inline bool world_has_root(struct world *world)
{
	return !world->is_held &&
	       world_known(world, world->root.segment, world->root.offset_bytes) != NULL;
}

/* Everything that a TLB may remember, it does. */
static inline void world_look_ahead(struct world *world)
{
	for (int w = 0; w < WINDOWS && world_has_root(world); w++)
		fake_tlb_look_ahead(&world->tlbs[w], &world->mmu, &world->root);
}

/* Nothing ran, nothing was looked up. */
static inline void world_forget_tlb(struct world *world)
{
	for (int w = 0; w < WINDOWS; w++)
		fake_tlb_flush_all(&world->tlbs[w]);
}

static inline uint64_t world_seen(struct world *world, int w, uint64_t i)
{
	return fake_tlb_seen(&world->tlbs[w], &world->mmu, &world->root, world->windows[w] + i);
}

static inline void world_flush(struct world *world, const struct miniport_paging_op *op)
{
	struct page_tables_root root = page_tables_root(&world->tables);
	uint64_t first = op->flush_tlb.first_address >> GPUVA_PAGE_SHIFT;
	uint64_t end = op->flush_tlb.end_address >> GPUVA_PAGE_SHIFT;

	EXPECT_EQ(op->target.segment, root.segment);
	EXPECT_EQ(op->target.offset_bytes, root.offset_bytes);
	EXPECT(op->flush_tlb.driver_process == &world_process);
	world->flushes++;
	for (int w = 0; w < WINDOWS; w++)
		fake_tlb_flush(&world->tlbs[w], first, end);
}

/* Whoever leads from a table of 64 KiB pages to one of 4 KiB pages has all contexts stand still. */
static inline void world_store(struct world *world, const struct miniport_paging_op *op,
			       uint64_t *words, uint32_t i)
{
	uint64_t entry = fake_entry(op, i);
	bool is_first = op->update_table.is_initial; /* what was there is anything */

	if (!is_first && op->update_table.level == 1 && (words[0] & PACKED_TABLE_64K) &&
	    (entry & PACKED_VALID) && !(entry & (PACKED_TABLE_64K | PACKED_LARGE))) {
		EXPECT(op->update_table.needs_quiet);
		world->conversions++;
	}
	words[0] = entry;
	if (fake_entry_words(world->mmu.described, op->update_table.level) > 1)
		words[1] = fake_second_entry(op, i);
	else
		EXPECT(!op->update_table.wide_entries);
}

static inline void world_update(struct world *world, const struct miniport_paging_op *op)
{
	uint64_t offset = op->target.offset_bytes;
	uint32_t segment = op->target.segment;
	uint64_t *table = (uint64_t *)(void *)fake_pointer(&world->memory, segment, offset);
	uint32_t words = fake_entry_words(world->mmu.described, op->update_table.level);
	struct known_table *known = world_known(world, segment, offset);

	EXPECT(table == op->target.pointer);
	EXPECT_EQ(op->target.run_count, 0);
	EXPECT(op->update_table.count > 0);
	EXPECT((op->update_table.first_index + op->update_table.count) * words * UINT64_C(8) <=
	       op->size_bytes);
	EXPECT(op->update_table.is_repeated || op->update_table.count <= TABLES_FEW_ENTRIES);
	EXPECT(op->update_table.driver_process == &world_process);
	world->updates++;
	if (op->update_table.is_initial) {
		world->initials++;
		EXPECT(op->update_table.is_repeated && op->update_table.first_index == 0);
		if (!known) {
			EXPECT(world->known_count < MAX_TABLES);
			known = &world->known[world->known_count++];
			*known = (struct known_table){ segment, offset, op->update_table.level,
						       op->update_table.has_64k_pages };
		}
	}
	EXPECT(known && known->level == op->update_table.level &&
	       known->is_wide == op->update_table.has_64k_pages);
	for (uint32_t i = 0; i < op->update_table.count; i++)
		world_store(world, op, table + (op->update_table.first_index + i) * words, i);
	if (op->update_table.level == 0)
		world->last_leaf = *op;
}

static inline void world_execute(struct world *world, const struct miniport_paging_op *op)
{
	world_look_ahead(world);
	if (op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE) {
		world_update(world, op);
	} else {
		EXPECT_EQ(op->kind, MINIPORT_PAGING_FLUSH_TLB);
		world->last_flush = *op;
		world_flush(world, op);
	}
	world_look_ahead(world);
}

static inline void world_sync(struct world *world, uint64_t first_page, uint64_t page_count)
{
	struct table_sync sync;
	struct miniport_paging_op op;

	table_sync_init(&sync, &world->tables, first_page, page_count);
	while (table_sync_next(&sync, &op))
		world_execute(world, &op);
}

static inline void world_follow(struct world *world, struct memory *memory)
{
	struct mapped_memory_cursor cursor = { 0 };
	struct miniport_paging_op op;

	while (mapped_memory_next(&memory->mapped, &cursor, &op))
		world_execute(world, &op);
}

static inline void world_valid(struct world *world)
{
	uint64_t page = 0;
	const char *wrong = page_tables_validate(&world->tables, world_walk, world, &page);

	if (wrong)
		print_error("%s, page %#llx: %s\n", world->shape->name, (unsigned long long)page,
			    wrong);
	EXPECT(!wrong);
	for (int w = 0; w < WINDOWS; w++) {
		for (uint64_t i = 0; i < WINDOW_PAGES; i++)
			EXPECT_EQ(world_seen(world, w, i),
				  world_walk_packed(world, world->windows[w] + i));
	}
}

static inline void world_clear(struct world *world)
{
	world->updates = 0;
	world->initials = 0;
	world->flushes = 0;
}

/* ---- life ---- */

static inline void memory_place(struct memory *memory, uint32_t segment, uint64_t first_page,
				bool is_contiguous)
{
	memory->is_in = true;
	memory->segment = segment;
	memory->first_page = first_page;
	for (uint32_t i = 0; i < MEMORY_PAGES; i++)
		memory->pages[i] = (uint8_t)(is_contiguous ? i : i + i / 5);
}

static inline void memory_start(struct world *world, struct memory *memory)
{
	mapped_memory_init(&memory->mapped, MEMORY_PAGES,
			   (struct miniport_subject){ .driver_allocation = memory }, memory);
	memory_view_init(&memory->view, &memory->mapped, &world->tables);
}

static inline void memory_end(struct memory *memory)
{
	memory_view_finish(&memory->view);
	mapped_memory_finish(&memory->mapped);
}

static inline void world_describe(struct world *world, const struct shape *shape)
{
	struct miniport_gpu_mmu *mmu = &world->config.mmu;

	world->memory = (struct fake_memory){ .local = dirty_memory(LOCAL_BYTES),
					      .local_bytes = LOCAL_BYTES };
	world->mmu = (struct fake_mmu){
		.memory = &world->memory, .described = mmu, .visits = world_visits, .context = world
	};
	*mmu = (struct miniport_gpu_mmu){ .flags = shape->flags,
					  .address_bits = shape->address_bits,
					  .leaf_table_size_64k_bytes = shape->leaf_64k_bytes,
					  .level_count = shape->level_count };
	for (uint32_t level = 0; level < shape->level_count; level++) {
		uint64_t bytes = (UINT64_C(8) * fake_entry_words(mmu, level))
				 << shape->index_bits[level];

		mmu->levels[level] = (struct miniport_page_table_level){
			.index_bits = shape->index_bits[level],
			.segment_id = shape->segments[level],
			.table_size_bytes = shape->index_bits[level] == 0 ? 0
					    : bytes < 4096                ? 4096
									  : (uint32_t)bytes,
		};
	}
	world->config.implicit_system_segment = IMPLICIT;
	world->config.segments_of_64k_pages = shape->segments_of_64k_pages;
	world->config.take_block = world_take;
	world->config.give_block = world_give;
	world->config.memory = world;
	world->config.root_bytes = world_root_bytes;
	world->config.look = world_look;
}

/* Where tables of different levels end, and the first and the last pages there are. */
static inline void world_choose_windows(struct world *world)
{
	const struct gpuva_shape *shape = &world->config.shape;
	uint64_t leaf = gpuva_shape_table_pages(shape, 0);
	uint64_t above = gpuva_shape_table_pages(shape, 1);

	if (above < 256)
		above = 256;
	world->windows[0] = 16;
	world->windows[1] = leaf < 32 ? 128 : 4 * leaf + (leaf - 32);
	world->windows[2] = (above < shape->page_count ? above : above / 2) - 32;
	world->windows[3] = shape->page_count / 2 + 256;
	world->windows[4] = shape->page_count - WINDOW_PAGES;
	for (int w = 0; w < WINDOWS; w++) {
		world->windows[w] -= world->windows[w] % 16;
		fake_tlb_init(&world->tlbs[w], world->windows[w], WINDOW_PAGES);
		world->tlbs[w].caches_no_invalid =
			world->config.mmu.flags & TABLES_CACHE_NO_INVALID;
	}
}

static inline void outside_note(void)
{
	uint64_t address;

	if (outside.worlds++ > 0)
		return;
	/* Set up at the first use, and kept. */
	EXPECT_EQ(machine_alloc_contiguous(MACHINE_PAGE_BYTES, 0, 0, UINT64_MAX, 0, &address),
		  STATUS_SUCCESS);
	EXPECT(machine_free_contiguous(address));
	outside.usage = mem_usage();
	outside.machine_pages = machine_usage().taken_pages;
}

static inline void outside_compare(void)
{
	if (--outside.worlds > 0)
		return;
	EXPECT_EQ(mem_usage().blocks, outside.usage.blocks);
	EXPECT_EQ(machine_usage().taken_pages, outside.machine_pages);
}

static inline struct world *world_create(const struct shape *shape)
{
	struct world *world = calloc(1, sizeof(*world));

	world->shape = shape;
	outside_note();
	world_describe(world, shape);
	EXPECT_EQ(page_tables_config_init(&world->config), STATUS_SUCCESS);
	EXPECT_EQ(page_tables_init(&world->tables, &world->config, NULL, &world_process, NULL),
		  STATUS_SUCCESS);
	world->root = page_tables_root(&world->tables);
	world_choose_windows(world);
	for (int m = 0; m < MEMORIES; m++)
		memory_start(world, &world->memories[m]);
	world_sync(world, 0, 1);
	return world;
}

/* As an address space ends: its ranges go, with TABLES_END_INVALID its entries too. */
static inline void world_destroy(struct world *world)
{
	struct table_sync sync;
	struct miniport_paging_op op;

	gpuva_space_finish(&world->tables.space);
	gpuva_space_init(&world->tables.space, world->config.shape.page_count, 1);
	for (int m = 0; m < MEMORIES; m++)
		memory_end(&world->memories[m]);
	if (world->config.mmu.flags & TABLES_END_INVALID) {
		table_sync_init(&sync, &world->tables, 0, 0);
		sync.is_ending = true;
		while (table_sync_next(&sync, &op))
			world_execute(world, &op);
	}
	page_tables_finish(&world->tables);
	page_tables_config_finish(&world->config);
	EXPECT_EQ(world->local_taken, 0);
	outside_compare();
	for (int w = 0; w < WINDOWS; w++)
		fake_tlb_finish(&world->tlbs[w]);
	dirty_free(world->memory.local, LOCAL_BYTES);
	free(world);
}

/* ---- a root that grows ---- */

static inline void world_set_root(struct world *world)
{
	world->root = page_tables_root(&world->tables);
}

static inline void world_forget_known(struct world *world, struct page_tables_root root)
{
	struct known_table *known = world_known(world, root.segment, root.offset_bytes);

	if (known)
		*known = world->known[--world->known_count];
}

static inline void world_write_root(struct world *world, struct root_change *change)
{
	struct miniport_paging_op op;

	while (root_change_next(change, &op))
		world_execute(world, &op);
}

/* Nothing of the space runs while it has two. */
static inline NTSTATUS world_grow(struct world *world, uint64_t end_page)
{
	struct page_tables_root old = world->root;
	struct root_change change;
	struct miniport_paging_op op;
	NTSTATUS status = root_change_begin(&change, &world->tables, end_page, NULL);

	if (!NT_SUCCESS(status))
		return status;
	world->is_held = true;
	world_write_root(world, &change);
	world_set_root(world);
	world->is_held = false;
	while (root_change_last(&change, &op))
		world_execute(world, &op);
	root_change_end(&change);
	world_forget_known(world, old);
	world->growths++;
	return STATUS_SUCCESS;
}

static inline NTSTATUS world_reach(struct world *world, uint64_t end_page)
{
	return end_page > world->tables.end_page ? world_grow(world, end_page) : STATUS_SUCCESS;
}

static inline bool shows_something(const struct gpuva_step *step)
{
	return step->state.kind == GPUVA_KIND_MAPPED || step->state.kind == GPUVA_KIND_ZERO;
}

/* As far as a plan shows anything. The lock is held; a growing root changes no addresses. */
static inline NTSTATUS world_reach_plan_locked(struct world *world, const struct gpuva_plan *plan)
{
	NTSTATUS status = STATUS_SUCCESS;

	lock_release(&world->tables.lock);
	for (size_t i = 0; NT_SUCCESS(status) && i < plan->step_count; i++) {
		if (shows_something(&plan->steps[i]))
			status = world_reach(world,
					     plan->steps[i].first_page + plan->steps[i].page_count);
	}
	lock_acquire(&world->tables.lock);
	return status;
}

/* ---- requests, as a call would make them ---- */

/* Tables for every step, the plan applied, the ranges written. */
static inline NTSTATUS world_carry_out(struct world *world, struct gpuva_plan *plan,
				       NTSTATUS status)
{
	if (NT_SUCCESS(status))
		status = world_reach_plan_locked(world, plan);
	for (size_t i = 0; NT_SUCCESS(status) && i < plan->step_count; i++)
		status = page_tables_make_steps_locked(&world->tables, &plan->steps[i], 1,
						       TABLES_NOW, NULL);
	if (NT_SUCCESS(status))
		gpuva_plan_apply(plan);
	lock_release(&world->tables.lock);
	for (size_t i = 0; NT_SUCCESS(status) && i < plan->step_count; i++)
		world_sync(world, plan->steps[i].first_page, plan->steps[i].page_count);
	lock_acquire(&world->tables.lock);
	gpuva_plan_finish(plan);
	lock_release(&world->tables.lock);
	return status;
}

static inline NTSTATUS world_map(struct world *world, uint64_t page, uint64_t page_count,
				 struct memory *memory, uint64_t offset, uint64_t protection,
				 uint64_t driver_protection)
{
	struct gpuva_map_request request = {
		.window.base = page << GPUVA_PAGE_SHIFT,
		.owner = memory ? &memory->view.owner : NULL,
		.offset_pages = offset,
		.page_count = page_count,
		.protection = protection,
		.driver_protection = driver_protection,
	};
	struct gpuva_plan plan;

	lock_acquire(&world->tables.lock);
	return world_carry_out(world, &plan, gpuva_plan_map(&world->tables.space, &request, &plan));
}

static inline NTSTATUS world_reserve(struct world *world, uint64_t page, uint64_t page_count,
				     bool is_zero, uint64_t driver_protection)
{
	struct gpuva_reserve_request request = {
		.window.base = page << GPUVA_PAGE_SHIFT,
		.size_bytes = page_count << GPUVA_PAGE_SHIFT,
		.is_zero = is_zero,
		.driver_protection = driver_protection,
	};
	struct gpuva_plan plan;

	lock_acquire(&world->tables.lock);
	return world_carry_out(world, &plan,
			       gpuva_plan_reserve(&world->tables.space, &request, &plan));
}

static inline NTSTATUS world_free(struct world *world, uint64_t page, uint64_t page_count)
{
	struct gpuva_plan plan;

	lock_acquire(&world->tables.lock);
	return world_carry_out(world, &plan,
			       gpuva_plan_free(&world->tables.space, page << GPUVA_PAGE_SHIFT,
					       page_count << GPUVA_PAGE_SHIFT, false, &plan));
}

static inline NTSTATUS world_operate(struct world *world, const struct gpuva_operation *operations,
				     size_t count)
{
	struct gpuva_plan plan;

	lock_acquire(&world->tables.lock);
	return world_carry_out(world, &plan,
			       gpuva_plan_update(&world->tables.space, operations, count, &plan));
}

/* All of its addresses go, as when an allocation is destroyed. */
static inline void world_drop(struct world *world, struct memory *memory)
{
	while (memory->view.owner.range_count > 0) {
		struct gpuva_plan plan;

		lock_acquire(&world->tables.lock);
		gpuva_plan_drop(&world->tables.space,
				range_of_owner_link(memory->view.owner.ranges.next), &plan);
		EXPECT_EQ(world_carry_out(world, &plan, STATUS_SUCCESS), STATUS_SUCCESS);
	}
}

/* What the tables say at the end is true. */
static inline void world_destroy_valid(struct world *world)
{
	world_valid(world);
	world_destroy(world);
}

#define WORLD_TEST(suite, claim, shape)                                                            \
	TEST_WITH(world, world, world_create(shape), world_destroy_valid(world), suite, claim)

#endif
