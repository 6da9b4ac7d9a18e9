/* SPDX-License-Identifier: MIT */
/*
 * eviction_world.h - processes with page tables whose memory comes and goes: the real manager and
 * pager, and a GPU that executes what was built.
 */
#ifndef TESTS_UNIT_VIDMM_EVICTION_WORLD_H
#define TESTS_UNIT_VIDMM_EVICTION_WORLD_H

#include "base/clock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "base/worker.h"
#include "support/test.h"
#include "unit/paging/fake.h"
#include "address_space/address_space.h"
#include "vidmm/allocation.h"
#include "vidmm/control.h"
#include "vidmm/place.h"
#include "vidmm/table_block.h"
#include "vidmm/table_states.h"
#include "pagetable/table_tree.h"

/* A test may have more processes. */
#ifndef EVICTION_PARTIES
#define EVICTION_PARTIES 2
#endif

enum { PAGES = 32, MEMORIES = 4, PARTIES = EVICTION_PARTIES, LOCAL_PAGES = 64 };
enum { LEVELS = 3, TABLES_OF_ONE_RANGE = 3 };
enum { MEMORY_FIRST = 4096 }; /* page of the GPU's memory, outside of what the manager has */

struct memory {
	struct mapped_memory mapped;
	_Atomic uint64_t first_page; /* of local memory; 0: it is nowhere */
};

/* A process with one device and its addresses. */
struct party {
	struct world *world;
	struct vidmm_process process;
	struct sched_owner owner;
	struct vidmm_device device;
	struct address_space *space;
	_Atomic uint32_t roots_told;
	struct page_tables_root root; /* as it was told */
	struct work root_work;
	int driver_process;
};

struct world {
	struct fake *fake;
	struct vidmm *manager;
	struct vidmm_account account;
	struct page_tables_config config;
	struct worker root_update_worker; /* tells roots */
	struct mem_usage usage;
	struct party parties[PARTIES];
	struct memory memories[MEMORIES];
	struct notice starved;
};

#define EXPECT_RULE(expected)                                                                      \
	do {                                                                                       \
		struct dxgk_refusal why = { .size_bytes = sizeof(why) };                           \
		EXPECT(refusal_last(&why));                                                        \
		EXPECT_STR(why.rule, expected);                                                    \
	} while (0)

/* ---- the world ---- */

static inline struct pager_table seen_by_cpu(struct world *world, struct pager_table table)
{
	table.pointer = world->fake->local + table.offset_bytes;
	return table;
}

/* Whoever forgets to write it is found. */
static inline NTSTATUS take_room(void *memory, struct vidmm_process *process, uint32_t segment,
				 uint64_t size_bytes, uint64_t align_bytes,
				 struct pager_table *table_out)
{
	struct world *world = memory;
	NTSTATUS status = vidmm_take_room(world->manager, process, segment, size_bytes, align_bytes,
					  table_out);

	if (NT_SUCCESS(status))
		*table_out = seen_by_cpu(world, *table_out);
	return status;
}

static inline void give_room(void *memory, const struct pager_table *table, uint64_t size_bytes)
{
	struct world *world = memory;

	vidmm_give_table(world->manager, table, size_bytes);
}

static inline void find_room(void *memory, struct pager_table *table)
{
	struct world *world = memory;

	vidmm_find_room(world->manager, table);
	*table = seen_by_cpu(world, *table);
	memset(table->pointer, 0xA5, MACHINE_PAGE_BYTES);
}

static inline NTSTATUS await(struct vidmm_process *process, struct table_block_want rooms[],
			     uint32_t count)
{
	struct world *world = container_of(process->account.parent, struct world, account);
	NTSTATUS status = vidmm_tables_await(process, rooms, count);

	for (uint32_t i = 0; NT_SUCCESS(status) && i < count; i++)
		rooms[i].place = seen_by_cpu(world, rooms[i].place);
	return status;
}

static inline void look(void *context, const struct mapped_memory *mapped, uint64_t offset_pages,
			struct shown_run *run)
{
	const struct memory *memory = mapped->allocation;
	uint64_t first_page = atomic_load(&memory->first_page);

	(void)context;
	run->is_shown = first_page != 0;
	run->segment = FAKE_LOCAL;
	run->first_page = first_page + offset_pages;
}

static inline void forget(void *context)
{
	struct world *world = context;

	address_spaces_forget(&world->config);
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
	EXPECT(worker_post(&party->world->root_update_worker, &party->root_work));
}

static inline void party_join(struct world *world, struct party *party)
{
	party->world = world;
	work_init(&party->root_work, root_tell);
	vidmm_process_init(&party->process, world->manager, &world->account);
	party->owner = (struct sched_owner){ .sched = &world->fake->sched };
	vidmm_device_init(&party->device, &party->process, &party->owner, NULL);
	EXPECT_EQ(address_space_create(&world->config, world->fake->pager, &party->process,
				       &party->space),
		  STATUS_SUCCESS);
	EXPECT_EQ(address_space_start(party->space, &party->driver_process,
				      &(struct space_root_listener){ root_moved, party }),
		  STATUS_SUCCESS);
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
	(void)runs;
	(void)run_count;
	*mdl_out = NULL; /* behind page tables nobody looks at it */
	return STATUS_SUCCESS;
}

static inline void mdl_destroy(struct miniport_mdl *mdl)
{
	(void)mdl;
}

static inline void on_starved(void *listener, struct vidmm_device *device)
{
	struct world *world = listener;

	vidmm_device_lose(device);
	notice_give(&world->starved);
}

static inline void start_manager(struct world *world, uint64_t slice_ns)
{
	struct vidmm_segment_config segments[] = {
		{ .size_bytes = LOCAL_PAGES * MACHINE_PAGE_BYTES },
		{ .size_bytes = 32 << 20,
		  .commit_limit_bytes = 32 << 20,
		  .is_implicit_system = true },
	};
	struct vidmm_config config = {
		.segment_count = 2,
		.segments = segments,
		.has_gpu_mmu = true,
		.pager = world->fake->pager,
		.mdls = { mdl_create, mdl_destroy },
		.slice_ns = slice_ns,
		.listener = { .device_starved = on_starved },
		.listener_context = world,
	};

	EXPECT_EQ(vidmm_create(&config, &world->manager), STATUS_SUCCESS);
}

struct shape {
	uint32_t update_mode;
	uint32_t flags;
	bool has_system_tables; /* above the leaves */
	bool has_growing_root;  /* two levels */
	bool has_twins;         /* leaf tables of 64 KiB pages */
	uint64_t slice_ns;      /* 0: as usual */
};

static inline uint64_t root_bytes(void *driver, uint32_t *entry_count)
{
	(void)driver;
	return *entry_count * UINT64_C(8);
}

static inline void describe_tables(struct world *world, const struct shape *shape)
{
	uint32_t above = shape->has_system_tables ? 0 : FAKE_LOCAL;

	world->config = (struct page_tables_config){
		.mmu = { .flags = TABLES_HAVE_ZERO | shape->flags,
			 .update_mode = shape->update_mode,
			 .address_bits = 39,
			 .level_count = LEVELS,
			 .leaf_table_size_64k_bytes = shape->has_twins ? 4096 : 0,
			 .levels = { { 9, FAKE_LOCAL, 0, 4096, 0 },
				     { 9, above, 0, 4096, 0 },
				     { 9, above, 0, 4096, 0 } } },
		.segments_of_64k_pages = 1 << (FAKE_LOCAL - 1),
		.take_room = take_room,
		.give_room = give_room,
		.memory = world,
		.find_room = find_room,
		.hold = vidmm_tables_hold,
		.release = vidmm_tables_release,
		.await = await,
		.root_bytes = root_bytes,
		.look = look,
	};
	if (shape->has_growing_root) {
		world->config.mmu.level_count = 2;
		world->config.mmu.levels[1].index_bits = 6;
		world->config.mmu.address_bits = 33;
	}
}

static inline void start_as(struct world *world, const struct shape *shape)
{
	memset(world, 0, sizeof(*world));
	world->fake = fake_create(&(struct fake_config){ .has_mmu = true,
							 .update_mode = shape->update_mode,
							 .is_automatic = true,
							 .forget = forget,
							 .forget_context = world });
	world->usage = mem_usage();
	start_manager(world, shape->slice_ns);
	describe_tables(world, shape);
	EXPECT_EQ(page_tables_config_init(&world->config), STATUS_SUCCESS);
	EXPECT_EQ(worker_init(&world->root_update_worker, "page table roots"), STATUS_SUCCESS);
	for (int i = 0; i < PARTIES; i++)
		party_join(world, &world->parties[i]);
	for (uint64_t m = 0; m < MEMORIES; m++) {
		struct memory *memory = &world->memories[m];

		mapped_memory_init(&memory->mapped, PAGES,
				   (struct miniport_subject){ .driver_allocation = memory },
				   memory);
		memory->first_page = MEMORY_FIRST + m * PAGES;
	}
}

static inline void start(struct world *world)
{
	start_as(world, &(struct shape){ .update_mode = MINIPORT_TABLE_GPU_PHYSICAL });
}

/* What was under way is over; whoever told a root has let go of everything. */
static inline void flush(struct world *world)
{
	pager_flush(world->fake->pager);
	worker_flush(&world->root_update_worker);
	pager_flush(world->fake->pager);
}

static inline enum vidmm_tables_state state_of(struct party *party)
{
	return tables_state(&party->process.tables);
}

static inline void wait_until(struct world *world, struct party *party,
			      enum vidmm_tables_state state)
{
	for (;;) {
		uint32_t seen = notice_read(&world->manager->changed);

		if (state_of(party) == state)
			return;
		notice_wait(&world->manager->changed, seen, CLOCK_FOREVER);
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

static inline void settle(struct world *world)
{
	for (int i = 0; i < PARTIES; i++) {
		while (is_on_a_way(&world->parties[i]))
			flush(world);
	}
	flush(world);
}

/* Nothing is under way; what is true, what was given and what the GPU finds are the same. */
static inline void check(struct world *world)
{
	char wrong[160] = "";

	settle(world);
	for (int i = 0; i < PARTIES; i++) {
		uint64_t page;
		const char *why = address_space_validate(world->parties[i].space, &page);

		if (why)
			print_error("page %#llx: %s\n", (unsigned long long)page, why);
		EXPECT(!why);
	}
	if (!vidmm_manager_validate(world->manager, wrong, sizeof(wrong)))
		print_error("%s\n", wrong);
	EXPECT_STR(wrong, "");
}

static inline void finish(struct world *world)
{
	check(world);
	for (int i = 0; i < PARTIES; i++)
		party_leave(&world->parties[i]);
	worker_finish(&world->root_update_worker);
	for (int m = 0; m < MEMORIES; m++)
		mapped_memory_finish(&world->memories[m].mapped);
	page_tables_config_finish(&world->config);
	vidmm_destroy(world->manager);
	EXPECT_EQ(mem_usage().blocks, world->usage.blocks);
	fake_destroy(world->fake);
}

/* ---- addresses ---- */

static inline struct gpuva_owner *owner_of(struct party *party, struct memory *memory)
{
	struct space_memory *found = NULL;

	EXPECT_EQ(address_space_memory(party->space, &memory->mapped, &found), STATUS_SUCCESS);
	return &found->view.owner;
}

static inline NTSTATUS map(struct party *party, uint64_t page, struct memory *memory,
			   uint64_t count)
{
	struct gpuva_map_request request = { .window.base = page << GPUVA_PAGE_SHIFT,
					     .owner = owner_of(party, memory),
					     .page_count = count,
					     .protection = GPUVA_WRITE };
	uint64_t address;

	return address_space_map(party->space, &request, NULL, &address);
}

static inline NTSTATUS reserve_zeroes(struct party *party, uint64_t page, uint64_t count)
{
	struct gpuva_reserve_request request = { .window.base = page << GPUVA_PAGE_SHIFT,
						 .size_bytes = count << GPUVA_PAGE_SHIFT,
						 .is_zero = true };
	uint64_t address;

	return address_space_reserve(party->space, &request, NULL, &address);
}

static inline NTSTATUS release(struct party *party, uint64_t page, uint64_t count)
{
	return address_space_free(party->space, page << GPUVA_PAGE_SHIFT, count << GPUVA_PAGE_SHIFT,
				  false, NULL);
}

/* Of a twin, 64 KiB each. */
static inline uint64_t walk_twin(struct world *world, const struct table *twin, uint64_t page)
{
	uint64_t index = (page - twin->first_page) / GPUVA_WIDE_PAGES;
	uint64_t entry;

	memcpy(&entry,
	       fake_pointer(world->fake, twin->place.segment, twin->place.offset_bytes + index * 8),
	       8);
	return entry & 1 ? entry + (page % GPUVA_WIDE_PAGES << MACHINE_PAGE_SHIFT) : 0;
}

/* The table of leaves is at `offset_bytes`: which of the two, and what there is. */
static inline uint64_t walk_leaf(struct world *world, struct party *party, uint32_t segment,
				 uint64_t offset_bytes, uint64_t page)
{
	const struct table *leaf = tables_at_locked(&party->space->tables, 0, page);
	const struct table *twin = leaf ? leaf->wide : NULL;
	uint64_t index = gpuva_shape_place(&world->config.shape, 0, page).entry;
	uint64_t entry = 0;

	if (twin &&
	    (twin->place.offset_bytes == offset_bytes || tables_are_dual(&party->space->tables)))
		entry = walk_twin(world, twin, page);
	if (entry != 0 || (twin && twin->place.offset_bytes == offset_bytes))
		return entry;
	memcpy(&entry, fake_pointer(world->fake, segment, offset_bytes + index * 8), 8);
	return entry & 1 ? entry : 0;
}

/* What the GPU finds, from the root that the contexts were told. */
static inline uint64_t walk(struct world *world, struct party *party, uint64_t page)
{
	struct page_tables_root root =
		party->roots_told > 0 ? party->root : page_tables_root(&party->space->tables);
	uint32_t segment = root.segment;
	uint64_t table = root.offset_bytes;

	for (uint32_t level = world->config.mmu.level_count; level-- > 1;) {
		uint64_t index = gpuva_shape_place(&world->config.shape, level, page).entry;
		uint64_t entry;

		memcpy(&entry, fake_pointer(world->fake, segment, table + index * 8), 8);
		if (!(entry & 1))
			return 0;
		segment = (uint32_t)(entry >> 1 & 31);
		table = entry & ~(MACHINE_PAGE_BYTES - 1);
	}
	return walk_leaf(world, party, segment, table, page);
}

static inline bool shows(struct world *world, struct party *party, uint64_t page,
			 struct memory *memory, uint64_t offset)
{
	return walk(world, party, page) ==
	       ((memory->first_page + offset) << MACHINE_PAGE_SHIFT | FAKE_LOCAL << 1 | 1);
}

struct counted_drop {
	struct memory_drop drop;
	_Atomic uint32_t count;
};

static inline void drop_done(struct memory_drop *drop)
{
	atomic_fetch_add(&container_of(drop, struct counted_drop, drop)->count, 1);
}

static inline void drop_memory(struct world *world, struct memory *memory)
{
	struct counted_drop drop = { .drop.done = drop_done };

	if (!address_space_drop(NULL, &memory->mapped, &drop.drop)) {
		flush(world);
		EXPECT_EQ(atomic_load(&drop.count), 1);
	}
}

/* ---- allocations that need the room ---- */

struct thing {
	struct vidmm_allocation memory;
	struct vidmm_binding binding;
	struct vidmm_request request;
	struct world *world;
	_Atomic uint32_t done;
	NTSTATUS status;
};

static inline void thing_done(struct vidmm_request *request, NTSTATUS status)
{
	struct thing *thing = container_of(request, struct thing, request);

	thing->status = status;
	atomic_store(&thing->done, 1);
	notice_give(&thing->world->starved);
}

static inline void thing_init(struct thing *thing, struct world *world, struct party *party,
			      uint64_t page_count)
{
	static _Atomic uint64_t last_id;

	memset(thing, 0, sizeof(*thing));
	thing->world = world;
	thing->request.done = thing_done;
	vidmm_allocation_init(&thing->memory,
			      &(struct vidmm_wishes){ .id = ++last_id,
						      .size_bytes = page_count * MACHINE_PAGE_BYTES,
						      .alignment_bytes = MACHINE_PAGE_BYTES,
						      .supported_segments = 1 << (FAKE_LOCAL - 1),
						      .priority = VIDMM_PRIORITY_NORMAL,
						      .account = &world->account });
	vidmm_binding_init(&thing->binding, &party->device, &thing->memory, thing);
}

static inline NTSTATUS thing_bring_in(struct thing *thing)
{
	struct vidmm_binding *list[] = { &thing->binding };
	uint64_t bytes;
	NTSTATUS status;

	atomic_store(&thing->done, 0);
	status = vidmm_make_resident(thing->binding.device, list, 1,
				     VIDMM_CANT_TRIM_FURTHER | VIDMM_WHATEVER_THE_BUDGET,
				     &thing->request, &bytes);
	while (status == STATUS_PENDING) {
		uint32_t seen = notice_read(&thing->world->starved);

		if (atomic_load(&thing->done))
			status = thing->status;
		else
			notice_wait(&thing->world->starved, seen, CLOCK_FOREVER);
	}
	return status;
}

static inline NTSTATUS thing_let_go(struct thing *thing)
{
	struct vidmm_binding *list[] = { &thing->binding };
	uint64_t bytes;

	return vidmm_evict(thing->binding.device, list, 1, VIDMM_EVICT_ONLY_IF_NECESSARY, &bytes);
}

static inline void thing_finish(struct thing *thing)
{
	vidmm_binding_finish(&thing->binding);
	vidmm_allocation_retire(&thing->memory);
	vidmm_allocation_leave(&thing->memory);
	vidmm_allocation_finish(&thing->memory);
}

static inline bool thing_is_in(struct thing *thing)
{
	return vidmm_where(thing->binding.device->process->manager, &thing->memory) ==
	       VIDMM_RESIDENT_IN_GPU_MEMORY;
}

/* ---- work ---- */

static inline void queue_work(struct party *party)
{
	atomic_fetch_add(&party->owner.pending, 1);
	vidmm_device_has_work(&party->device);
}

static inline void end_work(struct party *party)
{
	atomic_fetch_sub(&party->owner.pending, 1);
}

static inline bool runs(struct world *world, struct party *party)
{
	lock_acquire(&world->fake->sched.lock);
	bool is_suspended = party->owner.suspensions > 0;
	lock_release(&world->fake->sched.lock);
	return !is_suspended;
}

/* ---- moves ---- */

/* As the manager moves what is mapped. */
struct moving {
	struct fake_job job;
	struct memory *memory;
	uint64_t first_page;
	struct mapped_memory_cursor cursor;
};

static inline bool moving_next(struct paging_job *job, struct paging_op *op_out)
{
	struct moving *moving = container_of(job, struct moving, job.job);

	atomic_store(&moving->memory->first_page, moving->first_page);
	return mapped_memory_next(&moving->memory->mapped, &moving->cursor, op_out);
}

static inline void move_memory(struct world *world, struct memory *memory, uint64_t first_page)
{
	struct moving moving = { .memory = memory, .first_page = first_page };

	fake_job_init(&moving.job, world->fake);
	moving.job.job.next = moving_next;
	paging_job_queue(&moving.job.job);
	fake_job_wait(&moving.job);
	flush(world);
}

/* ---- tables of all kinds, and out of the way ---- */

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

/* The first has addresses and does nothing; the second takes all the room there is. */
static inline void crowd_out(struct world *world, struct thing *thing)
{
	struct party *idle = &world->parties[0];
	struct vidmm_segment_usage usage;

	EXPECT_EQ(map(idle, 510, &world->memories[0], 20), STATUS_PENDING);
	EXPECT_EQ(map(idle, 300000, &world->memories[1], PAGES), STATUS_PENDING);
	flush(world);
	EXPECT(vidmm_segment_usage(world->manager, FAKE_LOCAL, &usage));
	uint64_t others = usage.table_bytes - table_blocks_bytes(&idle->process.tables.rooms,
								 &world->manager->segments[0]);
	EXPECT(usage.table_bytes > others);
	thing_init(thing, world, &world->parties[1], LOCAL_PAGES - others / MACHINE_PAGE_BYTES);
	EXPECT_EQ(thing_bring_in(thing), STATUS_SUCCESS);
	EXPECT(thing_is_in(thing));
	EXPECT_EQ(state_of(idle), VIDMM_TABLES_OUT);
}

#endif
