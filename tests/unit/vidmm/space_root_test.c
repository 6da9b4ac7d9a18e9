/* SPDX-License-Identifier: MIT */
/*
 * space_root_test.c - a root that grows while contexts use it: through the real pager, with the
 * scheduler and the GPU of its tests.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "support/test.h"
#include "unit/paging/fake.h"
#include "address_space/address_space.h"
#include "pagetable/table_tree.h"

enum {
	PAGES = 8,
	CONTEXTS = 3,
	LEAF_PAGES = 512,
	FIRST_ENTRIES = 4,
	ROOM_FIRST = 16 << 20, /* of tables, in local memory */
	MAPPERS = 4,
	ROUNDS = 12,
};

static int process; /* the driver's is somewhere */

struct context {
	struct space_context in_space;
	struct page_tables_root root;
	uint32_t told;
};

struct world {
	struct fake *fake;
	struct page_tables_config config;
	struct address_space *space;
	struct mem_usage usage;
	_Atomic uint64_t room_taken;
	_Atomic uint64_t room_next;
	struct mapped_memory mapped;
	uint64_t first_page;
	struct context contexts[CONTEXTS];
	uint32_t held_when_told; /* the fewest holds a context was told another root with */
	uint64_t least_root_bytes;
};

static struct world *current;

static NTSTATUS take_room(void *memory, struct vidmm_process *whose, uint32_t segment,
			  uint64_t size_bytes, uint64_t align_bytes, struct pager_table *table_out)
{
	struct world *world = memory;
	uint64_t at = atomic_fetch_add(&world->room_next, size_bytes);

	(void)whose;
	(void)align_bytes;
	atomic_fetch_add(&world->room_taken, size_bytes);
	*table_out = (struct pager_table){ .segment = segment,
					   .offset_bytes = at,
					   .pointer = world->fake->local + at };
	memset(table_out->pointer, 0xA5, size_bytes);
	return STATUS_SUCCESS;
}

static void give_room(void *memory, const struct pager_table *table, uint64_t size_bytes)
{
	struct world *world = memory;

	/* Whoever still begins there falls. */
	memset(world->fake->local + table->offset_bytes, 0xA5, size_bytes);
	atomic_fetch_sub(&world->room_taken, size_bytes);
}

static void look(void *unused, const struct mapped_memory *mapped, uint64_t offset_pages,
		 struct shown_run *run)
{
	const struct world *world = mapped->allocation;

	(void)unused;
	run->is_shown = true;
	run->segment = FAKE_LOCAL;
	run->first_page = world->first_page + offset_pages;
}

static uint64_t root_bytes(void *driver, uint32_t *entry_count)
{
	uint64_t bytes = *entry_count * UINT64_C(8);

	(void)driver;
	return bytes > current->least_root_bytes ? bytes : current->least_root_bytes;
}

/* A driver: no lock of the memory manager's is held, and it is not the pager's thread. */
static void set_root(void *driver, void *driver_context, const struct page_tables_root *root)
{
	struct world *world = current;
	struct context *context = driver_context;
	uint32_t holds = fake_client_holds(world->fake);

	(void)driver;
	lock_assert_none_held("a driver");
	EXPECT(!pager_is_current_thread(world->fake->pager));
	if (context->told++ > 0 && holds < world->held_when_told)
		world->held_when_told = holds;
	context->root = *root;
}

static void forget(void *context)
{
	struct world *world = context;

	address_spaces_forget(&world->config);
}

static void start(struct world *world, uint32_t update_mode, uint32_t flags)
{
	memset(world, 0, sizeof(*world));
	current = world;
	world->held_when_told = UINT32_MAX;
	world->room_next = ROOM_FIRST;
	world->first_page = 1000;
	world->fake = fake_create(&(struct fake_config){ .has_mmu = true,
							 .update_mode = update_mode,
							 .mmu_flags = flags & FAKE_REQUIRES_IDLE,
							 .is_automatic = true,
							 .forget = forget,
							 .forget_context = world });
	world->usage = mem_usage();
	world->config = (struct page_tables_config){
		.mmu = { .flags = flags | TABLES_HAVE_ZERO,
			 .update_mode = update_mode,
			 .address_bits = 33,
			 .level_count = 2,
			 .levels = { { 9, FAKE_LOCAL, 0, 4096, 0 },
				     { 2, FAKE_LOCAL, 0, 4096, 0 } } },
		.take_room = take_room,
		.give_room = give_room,
		.memory = world,
		.root_bytes = root_bytes,
		.set_root = set_root,
		.look = look,
	};
	EXPECT_EQ(page_tables_config_init(&world->config), STATUS_SUCCESS);
	EXPECT_EQ(address_space_create(&world->config, world->fake->pager, NULL, &world->space),
		  STATUS_SUCCESS);
	EXPECT_EQ(address_space_start(world->space, &process, &(struct space_root_listener){ 0 }),
		  STATUS_SUCCESS);
	mapped_memory_init(&world->mapped, PAGES,
			   (struct miniport_subject){ .driver_allocation = world }, world);
	for (int i = 0; i < CONTEXTS; i++)
		address_space_add_context(world->space, &world->contexts[i].in_space,
					  &world->contexts[i]);
}

static uint64_t walk(struct world *world, const struct page_tables_root *root, uint64_t page)
{
	uint64_t entry;

	if (page / LEAF_PAGES >= root->entry_count)
		return 0;
	memcpy(&entry,
	       fake_pointer(world->fake, root->segment, root->offset_bytes + page / LEAF_PAGES * 8),
	       8);
	if (!(entry & 1))
		return 0;
	memcpy(&entry,
	       fake_pointer(world->fake, (uint32_t)(entry >> 1 & 31),
			    (entry & ~(MACHINE_PAGE_BYTES - 1)) + page % LEAF_PAGES * 8),
	       8);
	return entry;
}

/* Every context finds page `offset` of the memory there. */
static bool shows(struct world *world, uint64_t page, uint64_t offset)
{
	for (int i = 0; i < CONTEXTS; i++) {
		if (walk(world, &world->contexts[i].root, page) !=
		    ((world->first_page + offset) << MACHINE_PAGE_SHIFT | FAKE_LOCAL << 1 | 1))
			return false;
	}
	return true;
}

static void flush(struct world *world)
{
	pager_flush(world->fake->pager);
}

static void finish(struct world *world)
{
	uint64_t page;

	flush(world);
	EXPECT(!page_tables_validate(&world->space->tables, NULL, NULL, &page));
	EXPECT_EQ(fake_client_holds(world->fake), 0);
	for (int i = 0; i < CONTEXTS; i++)
		address_space_remove_context(world->space, &world->contexts[i].in_space);
	address_space_destroy(world->space);
	mapped_memory_finish(&world->mapped);
	page_tables_config_finish(&world->config);
	EXPECT_EQ(world->room_taken, 0);
	EXPECT_EQ(mem_usage().blocks, world->usage.blocks);
	fake_destroy(world->fake);
}

static struct gpuva_map_request request_at(struct world *world, uint64_t page)
{
	struct space_memory *memory;

	EXPECT_EQ(address_space_memory(world->space, &world->mapped, &memory), STATUS_SUCCESS);
	return (struct gpuva_map_request){ .window.base = page << GPUVA_PAGE_SHIFT,
					   .owner = &memory->view.owner,
					   .page_count = PAGES,
					   .protection = GPUVA_WRITE };
}

static NTSTATUS map(struct world *world, uint64_t page)
{
	struct gpuva_map_request request = request_at(world, page);
	uint64_t address;

	return address_space_map(world->space, &request, NULL, &address);
}

/* ---- growing ---- */

TEST(root, every_context_is_told_of_a_larger_root_while_clients_are_held)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;

		start(&world, mode, 0);
		EXPECT_EQ(map(&world, 16), STATUS_PENDING);
		flush(&world);
		EXPECT_EQ(world.contexts[0].told, 1);
		EXPECT_EQ(world.contexts[0].root.entry_count, FIRST_ENTRIES);
		EXPECT_EQ(map(&world, 10 * LEAF_PAGES), STATUS_PENDING);
		flush(&world);
		for (int i = 0; i < CONTEXTS; i++) {
			EXPECT_EQ(world.contexts[i].told, 2);
			EXPECT_EQ(world.contexts[i].root.entry_count, 11);
		}
		EXPECT_EQ(world.held_when_told, 1);
		EXPECT(shows(&world, 16, 0));
		EXPECT(shows(&world, 10 * LEAF_PAGES + 7, 7));
		EXPECT_EQ(walk(&world, &world.contexts[0].root, 11 * LEAF_PAGES), 0);
		finish(&world);
	}
}

TEST(root, a_context_that_is_gone_is_not_told)
{
	struct world world;

	start(&world, MINIPORT_TABLE_GPU_PHYSICAL, 0);
	address_space_remove_context(world.space, &world.contexts[1].in_space);
	EXPECT_EQ(map(&world, 10 * LEAF_PAGES), STATUS_PENDING);
	EXPECT_EQ(world.contexts[0].told, 2);
	EXPECT_EQ(world.contexts[1].told, 1);
	EXPECT_EQ(world.contexts[2].told, 2);
	flush(&world);
	finish(&world);
}

TEST(root, a_context_that_comes_later_is_told_of_the_larger_one)
{
	struct world world;

	start(&world, MINIPORT_TABLE_GPU_PHYSICAL, 0);
	address_space_remove_context(world.space, &world.contexts[2].in_space);
	EXPECT_EQ(map(&world, 10 * LEAF_PAGES), STATUS_PENDING);
	address_space_add_context(world.space, &world.contexts[2].in_space, &world.contexts[2]);
	EXPECT_EQ(world.contexts[2].root.entry_count, 11);
	flush(&world);
	EXPECT(shows(&world, 10 * LEAF_PAGES, 0));
	finish(&world);
}

TEST(root, a_reservation_of_zeroes_is_reached)
{
	struct world world;
	struct gpuva_reserve_request request = { .window.base = 100 * LEAF_PAGES * UINT64_C(4096),
						 .size_bytes = LEAF_PAGES * UINT64_C(4096),
						 .is_zero = true };
	uint64_t address;

	start(&world, MINIPORT_TABLE_CPU_VIRTUAL, 0);
	EXPECT_EQ(address_space_reserve(world.space, &request, NULL, &address), STATUS_PENDING);
	EXPECT_EQ(world.contexts[0].root.entry_count, 101);
	request.window.base *= 2;
	request.is_zero = false;
	EXPECT_EQ(address_space_reserve(world.space, &request, NULL, &address), STATUS_SUCCESS);
	EXPECT_EQ(world.contexts[0].told, 2);
	finish(&world);
}

/* The GPU whose tables only change while nothing runs. */
TEST(root, it_grows_where_tables_change_only_while_nothing_runs)
{
	struct world world;

	start(&world, MINIPORT_TABLE_GPU_PHYSICAL, FAKE_REQUIRES_IDLE);
	EXPECT_EQ(map(&world, 16), STATUS_PENDING);
	EXPECT_EQ(map(&world, 10 * LEAF_PAGES), STATUS_PENDING);
	flush(&world);
	EXPECT(shows(&world, 16, 0));
	EXPECT(shows(&world, 10 * LEAF_PAGES, 0));
	finish(&world);
}

/* Kernel's addresses are chosen where the root is, or it would be of full size at once. */
TEST(root, what_the_kernel_maps_for_itself_does_not_make_it_grow)
{
	struct world world;
	struct gpuva_map_request request;
	uint64_t address = 0;

	start(&world, MINIPORT_TABLE_CPU_VIRTUAL, 0);
	request = request_at(&world, 0);
	request.is_from_kernel = true;
	EXPECT_EQ(address_space_map(world.space, &request, NULL, &address), STATUS_PENDING);
	EXPECT(address >> GPUVA_PAGE_SHIFT < FIRST_ENTRIES * LEAF_PAGES);
	EXPECT_EQ(world.contexts[0].told, 1);
	finish(&world);
}

/* ---- inside the driver ---- */

TEST(driver, what_it_maps_in_a_callback_lies_below_the_root_as_it_is)
{
	struct world world;
	struct gpuva_map_request request;
	uint64_t address = 0;

	start(&world, MINIPORT_TABLE_CPU_VIRTUAL, 0);
	request = request_at(&world, 0);
	for (int i = 0; i < 8; i++) {
		EXPECT_EQ(address_space_map_from_driver(world.space, &request, NULL, &address),
			  STATUS_PENDING);
		EXPECT((address >> GPUVA_PAGE_SHIFT) + PAGES <= FIRST_ENTRIES * LEAF_PAGES);
	}
	EXPECT_EQ(world.contexts[0].told, 1);
	finish(&world);
}

TEST(driver, what_it_maps_above_the_root_is_refused_with_a_reason)
{
	struct world world;
	struct gpuva_map_request request;
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };
	uint64_t address = 0;

	start(&world, MINIPORT_TABLE_CPU_VIRTUAL, 0);
	request = request_at(&world, 10 * LEAF_PAGES);
	EXPECT_EQ(address_space_map_from_driver(world.space, &request, NULL, &address),
		  STATUS_NO_MEMORY);
	EXPECT(refusal_last(&refusal));
	EXPECT_STR(refusal.rule, "VA-ROOT");
	EXPECT_EQ(map(&world, 10 * LEAF_PAGES), STATUS_PENDING);
	finish(&world);
}

/* ---- who waits ---- */

struct mapper {
	struct world *world;
	uint64_t page;
	NTSTATUS status;
};

static void map_in_thread(void *argument)
{
	struct mapper *mapper = argument;

	mapper->status = map(mapper->world, mapper->page);
}

static void wait_until_held(struct world *world)
{
	struct notice *changed = &world->fake->sched.changed;

	for (;;) {
		uint32_t seen = notice_read(changed);

		if (fake_client_holds(world->fake) > 0)
			return;
		notice_wait(changed, seen, CLOCK_FOREVER);
	}
}

TEST(root, it_waits_until_the_hardware_has_nothing_of_a_client)
{
	struct world world;
	struct mapper mapper = { .world = &world, .page = 10 * LEAF_PAGES };
	struct thread *thread;

	start(&world, MINIPORT_TABLE_GPU_PHYSICAL, 0);
	world.fake->sched.are_clients_busy = true;
	EXPECT_EQ(thread_create("mapper", map_in_thread, &mapper, &thread), STATUS_SUCCESS);
	wait_until_held(&world);
	EXPECT_EQ(world.contexts[0].told, 1);
	/* Others go on meanwhile, where the root reaches. */
	EXPECT_EQ(map(&world, 64), STATUS_PENDING);
	flush(&world);
	EXPECT(shows(&world, 64, 0));
	fake_clients_idle(world.fake);
	thread_join(thread);
	EXPECT_EQ(mapper.status, STATUS_PENDING);
	EXPECT_EQ(world.contexts[0].told, 2);
	flush(&world);
	EXPECT(shows(&world, 10 * LEAF_PAGES, 0));
	EXPECT(shows(&world, 64, 0));
	finish(&world);
}

static void map_many(void *argument)
{
	struct mapper *mapper = argument;

	for (uint64_t i = 0; i < ROUNDS && mapper->status == STATUS_PENDING; i++)
		mapper->status = map(mapper->world, (i * MAPPERS * 7 + mapper->page) * LEAF_PAGES);
}

TEST(root, several_threads_that_need_it_larger_all_get_what_they_asked_for)
{
	struct world world;
	struct mapper mappers[MAPPERS];
	struct thread *threads[MAPPERS];

	start(&world, MINIPORT_TABLE_GPU_VIRTUAL, TABLES_END_INVALID);
	for (uint64_t m = 0; m < MAPPERS; m++) {
		mappers[m] = (struct mapper){ &world, 1 + 7 * m, STATUS_PENDING };
		EXPECT_EQ(thread_create("mapper", map_many, &mappers[m], &threads[m]),
			  STATUS_SUCCESS);
	}
	for (int m = 0; m < MAPPERS; m++) {
		thread_join(threads[m]);
		EXPECT_EQ(mappers[m].status, STATUS_PENDING);
	}
	flush(&world);
	for (uint64_t m = 0; m < MAPPERS; m++) {
		for (uint64_t i = 0; i < ROUNDS; i++)
			EXPECT(shows(&world, (i * MAPPERS * 7 + 1 + 7 * m) * LEAF_PAGES + 3, 3));
	}
	finish(&world);
}

/* ---- what goes wrong ---- */

static NTSTATUS refuse_initials(struct fake *fake, const struct miniport_paging_op *op,
				struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)buffer;
	(void)multipass;
	if (op->kind != MINIPORT_PAGING_UPDATE_PAGE_TABLE || op->update_table.level != 1 ||
	    fake->hook_count == 0)
		return STATUS_PENDING;
	fake->hook_count--;
	return STATUS_UNSUCCESSFUL;
}

TEST(root, a_root_that_the_driver_does_not_write_is_undone)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;
		struct refusal_scope scope;
		struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

		start(&world, mode, 0);
		EXPECT_EQ(map(&world, 16), STATUS_PENDING);
		flush(&world);
		world.fake->hook_count = 1;
		world.fake->hook = refuse_initials;
		refusal_begin(&scope, "test");
		EXPECT_EQ(map(&world, 10 * LEAF_PAGES), STATUS_DRIVER_INTERNAL_ERROR);
		EXPECT(refusal_end(&scope));
		EXPECT(refusal_last(&refusal));
		EXPECT_STR(refusal.rule, "DDI-PAGING-ANSWER");
		EXPECT_EQ(world.contexts[0].told, 1);
		EXPECT(shows(&world, 16, 0));
		EXPECT_EQ(map(&world, 10 * LEAF_PAGES), STATUS_PENDING);
		flush(&world);
		EXPECT_EQ(world.contexts[0].told, 2);
		EXPECT(shows(&world, 16, 0));
		EXPECT(shows(&world, 10 * LEAF_PAGES, 0));
		finish(&world);
	}
}

/* The GPU writes tables where the kernel maps them, as a whole. */
TEST(root, one_that_fits_into_no_window_is_refused_with_a_reason)
{
	struct world world;
	struct refusal_scope scope;
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	start(&world, MINIPORT_TABLE_GPU_VIRTUAL, 0);
	EXPECT_EQ(map(&world, 16), STATUS_PENDING);
	flush(&world);
	world.least_root_bytes = 17 << 20;
	refusal_begin(&scope, "test");
	EXPECT_EQ(map(&world, 10 * LEAF_PAGES), STATUS_NOT_SUPPORTED);
	EXPECT(refusal_end(&scope));
	EXPECT(refusal_last(&refusal));
	EXPECT_STR(refusal.rule, "MM-PAGING-WINDOW");
	EXPECT_EQ(world.contexts[0].told, 1);
	EXPECT(shows(&world, 16, 0));
	world.least_root_bytes = 0;
	EXPECT_EQ(map(&world, 10 * LEAF_PAGES), STATUS_PENDING);
	flush(&world);
	EXPECT(shows(&world, 10 * LEAF_PAGES, 0));
	finish(&world);
}

TEST(root, a_reset_while_it_grows_has_it_written_anew)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;
		struct mapper mapper = { .world = &world, .page = 10 * LEAF_PAGES };
		struct thread *thread;

		start(&world, mode, 0);
		EXPECT_EQ(map(&world, 16), STATUS_PENDING);
		flush(&world);
		pager_suspend(world.fake->pager);
		memset(world.fake->local + ROOM_FIRST, 0xA5, world.room_next - ROOM_FIRST);
		EXPECT_EQ(thread_create("mapper", map_in_thread, &mapper, &thread), STATUS_SUCCESS);
		wait_until_held(&world);
		pager_restart(world.fake->pager);
		thread_join(thread);
		EXPECT_EQ(mapper.status, STATUS_PENDING);
		do
			flush(&world);
		while (atomic_load(&world.space->pending) > 0);
		EXPECT_EQ(world.contexts[0].told, 2);
		EXPECT(shows(&world, 16, 0));
		EXPECT(shows(&world, 10 * LEAF_PAGES, 0));
		finish(&world);
	}
}

TEST(root, growing_survives_every_failure_of_memory)
{
	struct world world;
	uint64_t fail_at = 0;
	bool fired;

	start(&world, MINIPORT_TABLE_CPU_VIRTUAL, 0);
	(void)request_at(&world, 0);
	do {
		mem_fail_nth(++fail_at);
		NTSTATUS status = map(&world, 10 * LEAF_PAGES);
		fired = mem_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_PENDING);
	} while (fired);
	EXPECT(fail_at > 3);
	flush(&world);
	EXPECT(shows(&world, 10 * LEAF_PAGES, 0));
	finish(&world);
}

TEST_MAIN("space_root")
