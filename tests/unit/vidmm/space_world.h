/* SPDX-License-Identifier: MIT */
/*
 * space_world.h - an address space with the real pager and a GPU that executes what was built, in
 * all three ways of writing page tables.
 */
#ifndef TESTS_SPACE_WORLD_H
#define TESTS_SPACE_WORLD_H

#include "base/mem.h"
#include "support/test.h"
#include "unit/paging/fake.h"
#include "address_space/address_space.h"
#include "pagetable/table_tree.h"

enum { PAGES = 32, MEMORIES = 4 };
enum { ROOM_FIRST = 16 << 20 }; /* of tables, in local memory */

static int process; /* the driver's is somewhere */

struct memory {
	struct mapped_memory mapped;
	uint64_t first_page; /* of local memory; 0: it is nowhere */
};

struct world {
	struct fake *fake;
	struct page_tables_config config;
	struct address_space *space;
	struct mem_usage usage;
	_Atomic uint64_t room_taken;
	_Atomic uint64_t room_next;
	struct memory memories[MEMORIES];
};

struct told {
	_Atomic uint32_t count;
	NTSTATUS status;
};

static inline void told_done(void *context, NTSTATUS status)
{
	struct told *told = context;

	told->status = status;
	atomic_fetch_add(&told->count, 1);
}

static inline NTSTATUS take_room(void *memory, struct vidmm_process *whose, uint32_t segment,
				 uint64_t size_bytes, uint64_t align_bytes,
				 struct pager_table *table_out)
{
	struct world *world = memory;
	uint64_t at = atomic_fetch_add(&world->room_next, size_bytes);

	(void)whose;
	(void)align_bytes;
	atomic_fetch_add(&world->room_taken, size_bytes);
	*table_out = (struct pager_table){ .segment = segment,
					   .offset_bytes = at,
					   .pointer = world->fake->local + at };
	return STATUS_SUCCESS;
}

static inline void give_room(void *memory, const struct pager_table *table, uint64_t size_bytes)
{
	struct world *world = memory;

	(void)table;
	atomic_fetch_sub(&world->room_taken, size_bytes);
}

static inline void look(void *context, const struct mapped_memory *mapped, uint64_t offset_pages,
			struct shown_run *run)
{
	const struct memory *memory = mapped->allocation;

	(void)context;
	run->is_shown = memory->first_page != 0;
	run->segment = FAKE_LOCAL;
	run->first_page = memory->first_page + offset_pages;
}

static inline struct page_tables_config describe(struct world *world, uint32_t update_mode,
						 uint32_t flags)
{
	return (struct page_tables_config){
		.mmu = { .flags = flags,
			 .update_mode = update_mode,
			 .address_bits = 39,
			 .level_count = 3,
			 .levels = { { 9, FAKE_LOCAL, 0, 4096, 0 },
				     { 9, 0, 0, 4096, 0 },
				     { 9, 0, 0, 4096, 0 } } },
		.take_room = take_room,
		.give_room = give_room,
		.memory = world,
		.look = look,
	};
}

static inline void forget(void *context)
{
	struct world *world = context;

	address_spaces_forget(&world->config);
}

/* With a config that says how tables look. */
static inline void start_with(struct world *world, uint32_t update_mode,
			      struct page_tables_config (*describe_config)(struct world *world,
									   uint32_t update_mode,
									   uint32_t flags),
			      uint32_t flags)
{
	memset(world, 0, sizeof(*world));
	world->room_next = ROOM_FIRST;
	world->fake = fake_create(&(struct fake_config){ .has_mmu = true,
							 .update_mode = update_mode,
							 .mmu_flags = flags & FAKE_REQUIRES_IDLE,
							 .is_automatic = true,
							 .forget = forget,
							 .forget_context = world });
	world->usage = mem_usage();
	world->config = describe_config(world, update_mode, flags);
	EXPECT_EQ(page_tables_config_init(&world->config), STATUS_SUCCESS);
	EXPECT_EQ(address_space_create(&world->config, world->fake->pager, NULL, &world->space),
		  STATUS_SUCCESS);
	EXPECT_EQ(address_space_start(world->space, &process, &(struct space_root_listener){ 0 }),
		  STATUS_SUCCESS);
	for (uint64_t m = 0; m < MEMORIES; m++) {
		struct memory *memory = &world->memories[m];

		mapped_memory_init(&memory->mapped, PAGES,
				   (struct miniport_subject){ .driver_allocation = memory },
				   memory);
		memory->first_page = 1000 + m * PAGES;
	}
}

static inline void start_as(struct world *world, uint32_t update_mode, uint32_t flags)
{
	start_with(world, update_mode, describe, flags);
}

static inline void start(struct world *world)
{
	start_as(world, MINIPORT_TABLE_CPU_VIRTUAL, TABLES_HAVE_ZERO);
}

static inline void flush(struct world *world)
{
	pager_flush(world->fake->pager);
}

static inline uint64_t walk(struct world *world, uint64_t page)
{
	struct page_tables_root root = page_tables_root(&world->space->tables);
	uint32_t segment = root.segment;
	uint64_t table = root.offset_bytes;
	uint64_t entry = 0;

	for (uint32_t level = world->config.mmu.level_count; level-- > 0;) {
		uint64_t index = gpuva_shape_place(&world->config.shape, level, page).entry;

		memcpy(&entry, fake_pointer(world->fake, segment, table + index * 8), 8);
		if (!(entry & 1))
			return 0;
		segment = (uint32_t)(entry >> 1 & 31);
		table = entry & ~(MACHINE_PAGE_BYTES - 1);
	}
	return entry;
}

/* The GPU finds page `offset` of the memory there. */
static inline bool shows(struct world *world, uint64_t page, const struct memory *memory,
			 uint64_t offset)
{
	return walk(world, page) ==
	       ((memory->first_page + offset) << MACHINE_PAGE_SHIFT | FAKE_LOCAL << 1 | 1);
}

static inline void check(struct world *world)
{
	uint64_t page;

	flush(world);
	const char *wrong = address_space_validate(world->space, &page);
	if (wrong)
		print_error("page %#llx: %s\n", (unsigned long long)page, wrong);
	EXPECT(!wrong);
	EXPECT_EQ(atomic_load(&world->space->pending), 0);
}

static inline void finish(struct world *world)
{
	check(world);
	address_space_destroy(world->space);
	for (int m = 0; m < MEMORIES; m++)
		mapped_memory_finish(&world->memories[m].mapped);
	page_tables_config_finish(&world->config);
	EXPECT_EQ(world->room_taken, 0);
	EXPECT_EQ(mem_usage().blocks, world->usage.blocks);
	fake_destroy(world->fake);
}

static inline struct gpuva_owner *owner_of(struct world *world, struct memory *memory)
{
	struct space_memory *found;

	EXPECT_EQ(address_space_memory(world->space, &memory->mapped, &found), STATUS_SUCCESS);
	return &found->view.owner;
}

static inline NTSTATUS map(struct world *world, uint64_t page, struct memory *memory,
			   uint64_t offset, uint64_t count, struct told *told)
{
	struct gpuva_map_request request = { .window.base = page << GPUVA_PAGE_SHIFT,
					     .owner = owner_of(world, memory),
					     .offset_pages = offset,
					     .page_count = count,
					     .protection = GPUVA_WRITE };
	uint64_t address = 0;
	NTSTATUS status = address_space_map(
		world->space, &request, told ? &(struct space_listener){ told_done, told } : NULL,
		&address);

	if (NT_SUCCESS(status))
		EXPECT_EQ(address, page << GPUVA_PAGE_SHIFT);
	return status;
}

static inline NTSTATUS reserve(struct world *world, uint64_t page, uint64_t count, bool is_zero)
{
	struct gpuva_reserve_request request = { .window.base = page << GPUVA_PAGE_SHIFT,
						 .size_bytes = count << GPUVA_PAGE_SHIFT,
						 .is_zero = is_zero };
	uint64_t address;

	return address_space_reserve(world->space, &request, NULL, &address);
}

static inline NTSTATUS release(struct world *world, uint64_t page, uint64_t count)
{
	return address_space_free(world->space, page << GPUVA_PAGE_SHIFT, count << GPUVA_PAGE_SHIFT,
				  false, NULL);
}

/* ---- memory that goes ---- */

struct counted_drop {
	struct memory_drop drop;
	_Atomic uint32_t count;
};

static inline void drop_done(struct memory_drop *drop)
{
	atomic_fetch_add(&container_of(drop, struct counted_drop, drop)->count, 1);
}

/* It may be over before the call is. */
static inline void drop_memory(struct world *world, struct memory *memory,
			       struct counted_drop *drop)
{
	if (address_space_drop(world->space, &memory->mapped, &drop->drop))
		atomic_fetch_add(&drop->count, 1);
}

/* ---- after a reset ---- */

/* A job of after the reset, behind which are those that the reset has queued. */
static inline void settle(struct world *world)
{
	struct fake_job job;

	fake_job_init(&job, world->fake);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	do
		flush(world);
	while (atomic_load(&world->space->pending) > 0);
	flush(world);
}

/* ---- updates ---- */

static inline struct gpuva_operation map_operation(struct world *world, uint64_t page,
						   uint64_t count, struct memory *memory)
{
	return (struct gpuva_operation){ .kind = GPUVA_OPERATION_MAP,
					 .base = page << GPUVA_PAGE_SHIFT,
					 .size_bytes = count << GPUVA_PAGE_SHIFT,
					 .owner = owner_of(world, memory) };
}

#endif
