/* SPDX-License-Identifier: MIT */
/*
 * world.h - processes with GPU addresses: the real manager and the real pager, and a GPU that
 * executes what was built (paging/fake.h).
 *
 *	start();                              two processes, `app` and `other`, with a device each
 *	start_as(&(struct shape){ … });       … whose page tables are written and look like that
 *	map(app, 510, &memories[0], 20)       shows memory at addresses of a process
 *	flush();                              what was asked for is done
 *	shows(app, 510, &memories[0], 0)      what the GPU finds there
 *	crowd_out();                          `other` needs the room of the tables of `app`
 *	have_back(app);                       … which has work, and so gets it back
 *	finish();                             validates, then fails on anything that is left
 */
#ifndef TESTS_UNIT_ADDRESS_SPACE_WORLD_H
#define TESTS_UNIT_ADDRESS_SPACE_WORLD_H

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/worker.h"
#include "support/rule.h"
#include "unit/paging/fake.h"
#include "unit/vidmm/evict.h"
#include "address_space/address_space.h"
#include "vidmm/allocation.h"
#include "vidmm/control.h"
#include "vidmm/place.h"
#include "vidmm/table_block.h"
#include "vidmm/table_states.h"

/* A test may have more processes. */
#ifndef WORLD_PARTIES
#define WORLD_PARTIES 2
#endif

enum { PAGES = 32, MEMORIES = 4, PARTIES = WORLD_PARTIES, LOCAL_PAGES = 64 };
enum { LEVELS = 3, TABLES_OF_ONE_RANGE = 3 };
enum { MEMORY_FIRST = 9216 }; /* page of the GPU's memory, outside of what the manager has */

struct memory {
	struct mapped_memory mapped;
	_Atomic uint64_t first_page; /* of local memory; 0: it is nowhere */
};

/* A process with one device and its addresses. */
struct party {
	struct vidmm_process process;
	struct sched_owner owner;
	struct vidmm_device device;
	struct address_space *space;
	_Atomic uint32_t roots_told;
	struct page_tables_root root; /* as it was told */
	struct work root_work;
	int driver_process;
};

/* An allocation of one, that needs room. */
struct thing {
	struct vidmm_allocation memory;
	struct vidmm_binding binding;
	struct vidmm_request request;
	_Atomic uint32_t done;
	NTSTATUS status;
};

static struct {
	struct fake *fake;
	struct vidmm *manager;
	struct vidmm_account account;
	struct page_tables_config config;
	struct fake_mmu mmu;
	struct worker root_update_worker; /* tells roots */
	struct mem_usage usage;
	uint64_t local_pages;
	struct notice starved;
	bool is_crowded;
} world;

static struct party parties[PARTIES];
static struct party *const app = &parties[0];
static struct party *const other = &parties[1];
static struct memory memories[MEMORIES];
static struct thing crowd; /* of the other one: takes the room of tables */

/* ---- the world ---- */

/* Whoever forgets to write it, or still reads it when it is given back, is found. */
static inline struct pager_table spoilt(struct pager_table table, uint64_t size_bytes)
{
	table.pointer = world.fake->memory.local + table.offset_bytes;
	memset(table.pointer, 0xA5, size_bytes);
	return table;
}

static inline NTSTATUS take_block(void *memory, struct vidmm_process *process, uint32_t segment,
				  uint64_t size_bytes, uint64_t align_bytes,
				  struct pager_table *table_out)
{
	NTSTATUS status = vidmm_take_block(world.manager, process, segment, size_bytes, align_bytes,
					   table_out);

	(void)memory;
	if (NT_SUCCESS(status))
		*table_out = spoilt(*table_out, size_bytes);
	return status;
}

static inline void give_block(void *memory, const struct pager_table *table, uint64_t size_bytes)
{
	(void)memory;
	(void)spoilt(*table, size_bytes);
	vidmm_give_table(world.manager, table, size_bytes);
}

static inline void find_block(void *memory, struct pager_table *table)
{
	(void)memory;
	vidmm_find_block(world.manager, table);
	*table = spoilt(*table, MACHINE_PAGE_BYTES);
}

static inline NTSTATUS await(struct vidmm_process *process, struct table_block_want rooms[],
			     uint32_t count)
{
	NTSTATUS status = vidmm_tables_await(process, rooms, count);

	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++)
		rooms[i].memory = spoilt(rooms[i].memory, rooms[i].size_bytes);
	return status;
}

static inline void look(void *context, const struct mapped_memory *mapped, uint64_t offset_pages,
			struct resident_run *run)
{
	const struct memory *memory = mapped->allocation;
	uint64_t first_page = atomic_load(&memory->first_page);

	(void)context;
	run->is_resident = first_page != 0;
	run->segment = FAKE_LOCAL;
	run->first_page = first_page + offset_pages;
}

static inline void forget(void *context)
{
	(void)context;
	address_spaces_forget(&world.config);
}

/* Not where paging is built: who knows what the driver does. */
static inline void root_tell(struct work *work)
{
	struct party *party = container_of(work, struct party, root_work);

	address_space_tell_contexts(party->space);
	party->root = page_tables_root(&party->space->tables);
	atomic_fetch_add(&party->roots_told, 1);
	address_space_root_told(party->space);
}

static inline void root_moved(void *context)
{
	struct party *party = context;

	EXPECT(pager_is_current_thread(party->space->pager));
	EXPECT(worker_post(&world.root_update_worker, &party->root_work));
}

static inline void party_join(struct party *party)
{
	memset(party, 0, sizeof(*party));
	work_init(&party->root_work, root_tell);
	vidmm_process_init(&party->process, world.manager, &world.account);
	fake_owner_init(&party->owner, &world.fake->sched);
	vidmm_device_init(&party->device, &party->process, &party->owner, NULL);
	EXPECT_EQ(address_space_create(&world.config, world.fake->pager, &party->process,
				       &party->space),
		  STATUS_SUCCESS);
	EXPECT_EQ(address_space_start(party->space, &party->driver_process,
				      &(struct space_root_listener){ root_moved, party }),
		  STATUS_SUCCESS);
	vidmm_device_begin(&party->device);
}

static inline void party_leave(struct party *party)
{
	vidmm_device_finish(&party->device);
	address_space_destroy(party->space);
	vidmm_process_finish(&party->process);
}

static inline NTSTATUS mdl_create(const struct miniport_page_run *runs, uint32_t run_count,
				  struct miniport_mdl **mdl_out)
{
	return fake_mdl_create(&world.fake->memory, runs, run_count, mdl_out);
}

static inline void mdl_destroy(struct miniport_mdl *mdl)
{
	fake_mdl_destroy(&world.fake->memory, mdl);
}

static inline void on_starved(void *listener, struct vidmm_device *device)
{
	(void)listener;
	vidmm_device_lose(device);
	notice_give(&world.starved);
}

static inline void start_manager(uint64_t slice_ns)
{
	struct vidmm_segment_config segments[] = {
		{ .size_bytes = world.local_pages * MACHINE_PAGE_BYTES },
		{ .size_bytes = 32 << 20,
		  .commit_limit_bytes = 32 << 20,
		  .is_implicit_system = true },
	};
	struct vidmm_config config = {
		.segment_count = 2,
		.segments = segments,
		.has_gpu_mmu = true,
		.pager = world.fake->pager,
		.mdls = { mdl_create, mdl_destroy },
		.slice_ns = slice_ns,
		.listener = { .device_starved = on_starved },
	};

	EXPECT_EQ(vidmm_create(&config, &world.manager), STATUS_SUCCESS);
}

struct shape {
	uint32_t update_mode;
	uint32_t flags;
	bool has_system_tables; /* above the leaves */
	bool has_twins;         /* leaf tables of 64 KiB pages */
	uint32_t
		root_bits; /* two levels, with a root that begins with so many and grows; 0: three */
	uint32_t leaf_bits;   /* 0: 9 */
	uint64_t local_pages; /* 0: LOCAL_PAGES */
	uint64_t slice_ns;    /* 0: as usual */
};

static inline uint64_t root_bytes(void *driver, uint32_t *entry_count)
{
	(void)driver;
	return *entry_count * UINT64_C(8);
}

static inline void describe_tables(const struct shape *shape)
{
	uint32_t leaf_bits = shape->leaf_bits > 0 ? shape->leaf_bits : 9;
	uint32_t above = shape->has_system_tables ? 0 : FAKE_LOCAL;
	bool is_dual = shape->flags & TABLES_ARE_DUAL; /* a page has half as many entries */

	world.config = (struct page_tables_config){
		.mmu = { .flags = TABLES_HAVE_ZERO | shape->flags,
			 .update_mode = shape->update_mode,
			 .address_bits = is_dual ? 38 : 39,
			 .level_count = LEVELS,
			 .leaf_table_size_64k_bytes = shape->has_twins ? 4096 : 0,
			 .levels = { { leaf_bits, FAKE_LOCAL, 0, 4096, 0 },
				     { is_dual ? 8 : 9, above, 0, 4096, 0 },
				     { 9, above, 0, 4096, 0 } } },
		.segments_of_64k_pages = 1 << (FAKE_LOCAL - 1),
		.take_block = take_block,
		.give_block = give_block,
		.find_block = find_block,
		.hold = vidmm_tables_hold,
		.release = vidmm_tables_release,
		.await = await,
		.root_bytes = root_bytes,
		.look = look,
	};
	world.mmu =
		(struct fake_mmu){ .memory = &world.fake->memory, .described = &world.config.mmu };
	if (shape->root_bits > 0) {
		world.config.mmu.level_count = 2;
		world.config.mmu.levels[1].index_bits = shape->root_bits;
		world.config.mmu.address_bits = 33;
	}
}

static inline void memory_init(struct memory *memory, uint64_t page_count, uint64_t first_page)
{
	mapped_memory_init(&memory->mapped, page_count,
			   (struct miniport_subject){ .driver_allocation = memory }, memory);
	memory->first_page = first_page;
}

static inline void start_as(const struct shape *shape)
{
	memset(&world, 0, sizeof(world));
	world.local_pages = shape->local_pages > 0 ? shape->local_pages : LOCAL_PAGES;
	world.fake = fake_create(
		&(struct fake_config){ .has_mmu = true,
				       .update_mode = shape->update_mode,
				       .mmu_flags = shape->flags & FAKE_REQUIRES_IDLE,
				       .has_dual_entries = shape->flags & TABLES_ARE_DUAL,
				       .is_automatic = true,
				       .forget = forget });
	world.usage = mem_usage();
	start_manager(shape->slice_ns);
	describe_tables(shape);
	EXPECT_EQ(page_tables_config_init(&world.config), STATUS_SUCCESS);
	EXPECT_EQ(worker_init(&world.root_update_worker, "page table roots"), STATUS_SUCCESS);
	for (int i = 0; i < PARTIES; i++)
		party_join(&parties[i]);
	for (uint64_t m = 0; m < MEMORIES; m++)
		memory_init(&memories[m], PAGES, MEMORY_FIRST + m * PAGES);
}

static inline void start(void)
{
	start_as(&(struct shape){ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL });
}

/* What was under way is over; whoever told a root has let go of everything. */
static inline void flush(void)
{
	pager_flush(world.fake->pager);
	worker_flush(&world.root_update_worker);
	pager_flush(world.fake->pager);
}

static inline enum vidmm_tables_state state_of(struct party *party)
{
	return tables_state(&party->process.tables);
}

static inline void wait_until(struct party *party, enum vidmm_tables_state state)
{
	for (;;) {
		uint32_t seen = notice_read(&world.manager->changed);

		if (state_of(party) == state)
			return;
		notice_wait(&world.manager->changed, seen, CLOCK_FOREVER);
	}
}

static inline bool is_on_a_way(struct party *party)
{
	struct address_space *pools = party->space->pools;

	return state_of(party) == VIDMM_TABLES_LEAVING ||
	       state_of(party) == VIDMM_TABLES_ENTERING ||
	       atomic_load(&party->space->pending) > 0 ||
	       (pools && atomic_load(&pools->pending) > 0);
}

static inline void settle(void)
{
	for (int i = 0; i < PARTIES; i++) {
		while (is_on_a_way(&parties[i]))
			flush();
	}
	flush();
}

/* Nothing is under way; what is true, what was given and what the GPU finds are the same. */
static inline void check(void)
{
	char wrong[160] = "";

	settle();
	for (int i = 0; i < PARTIES; i++) {
		uint64_t page;
		const char *why = address_space_validate(parties[i].space, &page);

		if (why)
			print_error("page %#llx: %s\n", (unsigned long long)page, why);
		EXPECT(!why);
	}
	if (!vidmm_manager_validate(world.manager, false, wrong, sizeof(wrong)))
		print_error("%s\n", wrong);
	EXPECT_STR(wrong, "");
}

static inline void thing_finish(struct thing *thing)
{
	vidmm_binding_finish(&thing->binding);
	vidmm_allocation_retire(&thing->memory);
	vidmm_allocation_leave(&thing->memory);
	vidmm_allocation_finish(&thing->memory);
}

static inline void crowd_leaves(void)
{
	thing_finish(&crowd);
	world.is_crowded = false;
}

/* The spaces end, and nothing is left. */
static inline void end(void)
{
	for (int i = 0; i < PARTIES; i++)
		party_leave(&parties[i]);
	worker_finish(&world.root_update_worker);
	for (int m = 0; m < MEMORIES; m++)
		mapped_memory_finish(&memories[m].mapped);
	page_tables_config_finish(&world.config);
	vidmm_destroy(world.manager);
	EXPECT_EQ(mem_usage().blocks, world.usage.blocks);
	fake_destroy(world.fake);
}

static inline void finish(void)
{
	settle();
	world.fake->hook = NULL;
	if (world.is_crowded)
		crowd_leaves();
	check();
	end();
}

/* ---- addresses ---- */

static inline struct gpuva_owner *owner_of(struct party *party, struct memory *memory)
{
	struct space_memory *found = NULL;

	EXPECT_EQ(address_space_memory(party->space, &memory->mapped, &found), STATUS_SUCCESS);
	return &found->view.owner;
}

/* Who is told when it is written. */
struct told {
	_Atomic uint32_t count;
	NTSTATUS status;
};

static inline void told_done(void *context, NTSTATUS status)
{
	struct told *told = context;

	if (NT_SUCCESS(told->status)) /* the first that fails */
		told->status = status;
	atomic_fetch_add(&told->count, 1);
}

static inline struct gpuva_map_request map_request(struct party *party, uint64_t page,
						   struct memory *memory, uint64_t count)
{
	return (struct gpuva_map_request){ .window.base = page << GPUVA_PAGE_SHIFT,
					   .owner = owner_of(party, memory),
					   .page_count = count,
					   .protection = GPUVA_WRITE };
}

static inline NTSTATUS map_part(struct party *party, uint64_t page, struct memory *memory,
				uint64_t offset, uint64_t count, struct told *told)
{
	struct gpuva_map_request request = map_request(party, page, memory, count);
	uint64_t address = 0;
	NTSTATUS status;

	request.offset_pages = offset;
	status = address_space_map(party->space, &request,
				   told ? &(struct space_listener){ told_done, told } : NULL,
				   &address);
	if (NT_SUCCESS(status))
		EXPECT_EQ(address, page << GPUVA_PAGE_SHIFT);
	return status;
}

static inline NTSTATUS map(struct party *party, uint64_t page, struct memory *memory,
			   uint64_t count)
{
	return map_part(party, page, memory, 0, count, NULL);
}

static inline void map_now(struct party *party, uint64_t page, struct memory *memory,
			   uint64_t count)
{
	EXPECT_EQ(map(party, page, memory, count), STATUS_PENDING);
	flush();
}

static inline NTSTATUS reserve(struct party *party, uint64_t page, uint64_t count, bool is_zero)
{
	struct gpuva_reserve_request request = { .window.base = page << GPUVA_PAGE_SHIFT,
						 .size_bytes = count << GPUVA_PAGE_SHIFT,
						 .is_zero = is_zero };
	uint64_t address;

	return address_space_reserve(party->space, &request, NULL, &address);
}

static inline void reserve_zeroes(struct party *party, uint64_t page, uint64_t count)
{
	EXPECT_EQ(reserve(party, page, count, true), STATUS_PENDING);
}

static inline NTSTATUS release(struct party *party, uint64_t page, uint64_t count)
{
	return address_space_free(party->space, page << GPUVA_PAGE_SHIFT, count << GPUVA_PAGE_SHIFT,
				  false, NULL);
}

/* ---- what the GPU finds ---- */

/* 0: a fault. */
static inline uint64_t walk_from(const struct page_tables_root *root, uint64_t page)
{
	uint64_t entry = fake_walk(&world.mmu, root, page);

	return entry & PACKED_VALID ? entry : 0;
}

/* From the root that the contexts were told. */
static inline uint64_t walk(struct party *party, uint64_t page)
{
	struct page_tables_root root =
		party->roots_told > 0 ? party->root : page_tables_root(&party->space->tables);

	return walk_from(&root, page);
}

static inline uint64_t entry_of(const struct memory *memory, uint64_t offset)
{
	return pte_pack(&(struct miniport_pte){
		.is_valid = true, .segment = FAKE_LOCAL, .page = memory->first_page + offset });
}

/* It finds page `offset` of the memory there. */
static inline bool shows(struct party *party, uint64_t page, const struct memory *memory,
			 uint64_t offset)
{
	return walk(party, page) == entry_of(memory, offset);
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
static inline void drop_begin(struct memory *memory, struct counted_drop *drop)
{
	drop->drop.done = drop_done;
	if (address_space_drop(NULL, &memory->mapped, &drop->drop))
		atomic_fetch_add(&drop->count, 1);
}

static inline void drop_memory(struct memory *memory)
{
	struct counted_drop drop = { 0 };

	drop_begin(memory, &drop);
	flush();
	EXPECT_EQ(atomic_load(&drop.count), 1);
}

/* ---- tables of all kinds ---- */

static const struct shape shapes[] = {
	{ MINIPORT_TABLE_CPU_VIRTUAL, 0, false },
	{ MINIPORT_TABLE_GPU_VIRTUAL, 0, false },
	{ MINIPORT_TABLE_GPU_PHYSICAL, 0, false },
	{ MINIPORT_TABLE_GPU_PHYSICAL, TABLES_END_INVALID, false },
	{ MINIPORT_TABLE_GPU_PHYSICAL, 0, true },
	{ MINIPORT_TABLE_CPU_VIRTUAL, TABLES_END_INVALID, true },
	{ MINIPORT_TABLE_GPU_PHYSICAL, 0, .has_twins = true },
	{ MINIPORT_TABLE_GPU_VIRTUAL, TABLES_ARE_DUAL, .has_twins = true },
	{ MINIPORT_TABLE_CPU_VIRTUAL, TABLES_ARE_DUAL, .has_twins = true },
};

#define WORLD_TEST(suite, claim) TEST_BETWEEN(start(), finish(), suite, claim)

#endif
