/* SPDX-License-Identifier: MIT */
/*
 * root_test.c - a root that grows while contexts use it: through the real pager, with the
 * scheduler and the GPU of its tests.
 */
#include "steps.h"
#include "support/failing.h"

enum { CONTEXTS = 3, LEAF_PAGES = 512, FIRST_ENTRIES = 4, MAPPERS = 4, ROUNDS = 12 };

static struct context {
	struct space_context in_space;
	struct page_tables_root root;
	uint32_t told;
} contexts[CONTEXTS];

static uint32_t held_when_told; /* the fewest holds a context was told another root with */
static uint64_t least_root_bytes;

static uint64_t bytes_of_root(void *driver, uint32_t *entry_count)
{
	uint64_t bytes = root_bytes(driver, entry_count);

	return bytes > least_root_bytes ? bytes : least_root_bytes;
}

/* A driver: no lock of the memory manager's is held, and it is not the pager's thread. */
static void set_root(void *driver, void *driver_context, const struct page_tables_root *root)
{
	struct context *context = driver_context;
	uint32_t holds = fake_client_holds(&world.fake->sched);

	(void)driver;
	lock_assert_none_held("a driver");
	EXPECT(!pager_is_current_thread(world.fake->pager));
	if (context->told++ > 0 && holds < held_when_told)
		held_when_told = holds;
	context->root = *root;
}

/* Some contexts of one process, and room for the largest root. */
static void begin(uint32_t update_mode, uint32_t flags)
{
	start_as(&(struct shape){ .update_mode = update_mode,
				  .flags = flags,
				  .root_bits = 2,
				  .local_pages = MEMORY_FIRST });
	held_when_told = UINT32_MAX;
	least_root_bytes = 0;
	world.config.root_bytes = bytes_of_root;
	world.config.set_root = set_root;
	memset(contexts, 0, sizeof(contexts));
	for (int i = 0; i < CONTEXTS; i++)
		address_space_add_context(app->space, &contexts[i].in_space, &contexts[i]);
}

static void end_all(void)
{
	flush();
	EXPECT_EQ(fake_client_holds(&world.fake->sched), 0);
	for (int i = 0; i < CONTEXTS; i++)
		address_space_remove_context(app->space, &contexts[i].in_space);
	finish();
}

/* Every context finds page `offset` of the memory there. */
static bool all_show(uint64_t page, uint64_t offset)
{
	for (int i = 0; i < CONTEXTS; i++) {
		if (walk_from(&contexts[i].root, page) != entry_of(&memories[0], offset))
			return false;
	}
	return true;
}

static NTSTATUS map_at(uint64_t page)
{
	return map(app, page, &memories[0], PAGES);
}

/* ---- growing ---- */

TEST(root, every_context_is_told_of_a_larger_root_while_clients_are_held)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		begin(mode, 0);
		EXPECT_EQ(map_at(16), STATUS_PENDING);
		flush();
		EXPECT_EQ(contexts[0].told, 1);
		EXPECT_EQ(contexts[0].root.entry_count, FIRST_ENTRIES);
		EXPECT_EQ(map_at(10 * LEAF_PAGES), STATUS_PENDING);
		flush();
		for (int i = 0; i < CONTEXTS; i++) {
			EXPECT_EQ(contexts[i].told, 2);
			EXPECT_EQ(contexts[i].root.entry_count, 11);
		}
		EXPECT_EQ(held_when_told, 1);
		EXPECT(all_show(16, 0));
		EXPECT(all_show(10 * LEAF_PAGES + 7, 7));
		EXPECT_EQ(walk_from(&contexts[0].root, 11 * LEAF_PAGES), 0);
		end_all();
	}
}

#define ROOT_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, end_all(), suite, claim)

ROOT_TEST(root, a_context_that_is_gone_is_not_told, begin(MINIPORT_TABLE_GPU_PHYSICAL, 0))
{
	address_space_remove_context(app->space, &contexts[1].in_space);
	EXPECT_EQ(map_at(10 * LEAF_PAGES), STATUS_PENDING);
	EXPECT_EQ(contexts[0].told, 2);
	EXPECT_EQ(contexts[1].told, 1);
	EXPECT_EQ(contexts[2].told, 2);
	flush();
}

ROOT_TEST(root, a_context_that_comes_later_is_told_of_the_larger_one,
	  begin(MINIPORT_TABLE_GPU_PHYSICAL, 0))
{
	address_space_remove_context(app->space, &contexts[2].in_space);
	EXPECT_EQ(map_at(10 * LEAF_PAGES), STATUS_PENDING);
	address_space_add_context(app->space, &contexts[2].in_space, &contexts[2]);
	EXPECT_EQ(contexts[2].root.entry_count, 11);
	flush();
	EXPECT(all_show(10 * LEAF_PAGES, 0));
}

ROOT_TEST(root, a_reservation_of_zeroes_is_reached, begin(MINIPORT_TABLE_CPU_VIRTUAL, 0))
{
	reserve_zeroes(app, 100 * LEAF_PAGES, LEAF_PAGES);
	EXPECT_EQ(contexts[0].root.entry_count, 101);
	EXPECT_EQ(reserve(app, 200 * LEAF_PAGES, LEAF_PAGES, false), STATUS_SUCCESS);
	EXPECT_EQ(contexts[0].told, 2);
}

/* The GPU whose tables only change while nothing runs. */
ROOT_TEST(root, it_grows_where_tables_change_only_while_nothing_runs,
	  begin(MINIPORT_TABLE_GPU_PHYSICAL, FAKE_REQUIRES_IDLE))
{
	EXPECT_EQ(map_at(16), STATUS_PENDING);
	EXPECT_EQ(map_at(10 * LEAF_PAGES), STATUS_PENDING);
	flush();
	EXPECT(all_show(16, 0));
	EXPECT(all_show(10 * LEAF_PAGES, 0));
}

/* Kernel's addresses are chosen where the root is, or it would be of full size at once. */
TEST(root, what_the_kernel_maps_for_itself_does_not_make_it_grow)
{
	struct gpuva_map_request request;
	uint64_t address = 0;

	begin(MINIPORT_TABLE_CPU_VIRTUAL, 0);
	request = map_request(app, 0, &memories[0], PAGES);
	request.is_from_kernel = true;
	EXPECT_EQ(address_space_map(app->space, &request, NULL, &address), STATUS_PENDING);
	EXPECT(address >> GPUVA_PAGE_SHIFT < FIRST_ENTRIES * LEAF_PAGES);
	EXPECT_EQ(contexts[0].told, 1);
	end_all();
}

/* ---- inside the driver ---- */

TEST(driver, what_it_maps_in_a_callback_lies_below_the_root_as_it_is)
{
	struct gpuva_map_request request;
	uint64_t address = 0;

	begin(MINIPORT_TABLE_CPU_VIRTUAL, 0);
	request = map_request(app, 0, &memories[0], PAGES);
	for (int i = 0; i < 8; i++) {
		EXPECT_EQ(address_space_map_from_driver(app->space, &request, NULL, &address),
			  STATUS_PENDING);
		EXPECT((address >> GPUVA_PAGE_SHIFT) + PAGES <= FIRST_ENTRIES * LEAF_PAGES);
	}
	EXPECT_EQ(contexts[0].told, 1);
	end_all();
}

TEST(driver, what_it_maps_above_the_root_is_refused_with_a_reason)
{
	struct gpuva_map_request request;
	uint64_t address = 0;

	begin(MINIPORT_TABLE_CPU_VIRTUAL, 0);
	request = map_request(app, 10 * LEAF_PAGES, &memories[0], PAGES);
	EXPECT_EQ(address_space_map_from_driver(app->space, &request, NULL, &address),
		  STATUS_NO_MEMORY);
	EXPECT_RULE("VA-ROOT");
	EXPECT_EQ(map_at(10 * LEAF_PAGES), STATUS_PENDING);
	end_all();
}

/* ---- who waits ---- */

struct mapper {
	uint64_t page;
	NTSTATUS status;
};

static void map_in_thread(void *argument)
{
	struct mapper *mapper = argument;

	mapper->status = map_at(mapper->page);
}

ROOT_TEST(root, it_waits_until_the_hardware_has_nothing_of_a_client,
	  begin(MINIPORT_TABLE_GPU_PHYSICAL, 0))
{
	struct mapper mapper = { .page = 10 * LEAF_PAGES };
	struct thread *thread;

	fake_clients_are_busy(&world.fake->sched);
	EXPECT_EQ(thread_create("mapper", map_in_thread, &mapper, &thread), STATUS_SUCCESS);
	await_hold();
	EXPECT_EQ(contexts[0].told, 1);
	/* Others go on meanwhile, where the root reaches. */
	EXPECT_EQ(map_at(64), STATUS_PENDING);
	flush();
	EXPECT(all_show(64, 0));
	fake_clients_idle(&world.fake->sched);
	thread_join(thread);
	EXPECT_EQ(mapper.status, STATUS_PENDING);
	EXPECT_EQ(contexts[0].told, 2);
	flush();
	EXPECT(all_show(10 * LEAF_PAGES, 0));
	EXPECT(all_show(64, 0));
}

static void map_many(void *argument)
{
	struct mapper *mapper = argument;

	for (uint64_t i = 0; i < ROUNDS && mapper->status == STATUS_PENDING; i++)
		mapper->status = map_at((i * MAPPERS * 7 + mapper->page) * LEAF_PAGES);
}

ROOT_TEST(root, several_threads_that_need_it_larger_all_get_what_they_asked_for,
	  begin(MINIPORT_TABLE_GPU_VIRTUAL, TABLES_END_INVALID))
{
	struct mapper mappers[MAPPERS];
	struct thread *threads[MAPPERS];

	for (uint64_t m = 0; m < MAPPERS; m++) {
		mappers[m] = (struct mapper){ 1 + 7 * m, STATUS_PENDING };
		EXPECT_EQ(thread_create("mapper", map_many, &mappers[m], &threads[m]),
			  STATUS_SUCCESS);
	}
	for (int m = 0; m < MAPPERS; m++) {
		thread_join(threads[m]);
		EXPECT_EQ(mappers[m].status, STATUS_PENDING);
	}
	flush();
	for (uint64_t m = 0; m < MAPPERS; m++) {
		for (uint64_t i = 0; i < ROUNDS; i++)
			EXPECT(all_show((i * MAPPERS * 7 + 1 + 7 * m) * LEAF_PAGES + 3, 3));
	}
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
		struct refusal_scope scope;

		begin(mode, 0);
		EXPECT_EQ(map_at(16), STATUS_PENDING);
		flush();
		world.fake->hook_count = 1;
		world.fake->hook = refuse_initials;
		refusal_begin(&scope, "test");
		EXPECT_EQ(map_at(10 * LEAF_PAGES), STATUS_DRIVER_INTERNAL_ERROR);
		EXPECT(refusal_end(&scope));
		EXPECT_RULE("DDI-PAGING-ANSWER");
		EXPECT_EQ(contexts[0].told, 1);
		EXPECT(all_show(16, 0));
		EXPECT_EQ(map_at(10 * LEAF_PAGES), STATUS_PENDING);
		flush();
		EXPECT_EQ(contexts[0].told, 2);
		EXPECT(all_show(16, 0));
		EXPECT(all_show(10 * LEAF_PAGES, 0));
		end_all();
	}
}

/* The GPU writes tables where the kernel maps them, as a whole. */
ROOT_TEST(root, one_that_fits_into_no_window_is_refused_with_a_reason,
	  begin(MINIPORT_TABLE_GPU_VIRTUAL, 0))
{
	struct refusal_scope scope;

	EXPECT_EQ(map_at(16), STATUS_PENDING);
	flush();
	least_root_bytes = 17 << 20;
	refusal_begin(&scope, "test");
	EXPECT_EQ(map_at(10 * LEAF_PAGES), STATUS_NOT_SUPPORTED);
	EXPECT(refusal_end(&scope));
	EXPECT_RULE("MM-PAGING-WINDOW");
	EXPECT_EQ(contexts[0].told, 1);
	EXPECT(all_show(16, 0));
	least_root_bytes = 0;
	EXPECT_EQ(map_at(10 * LEAF_PAGES), STATUS_PENDING);
	flush();
	EXPECT(all_show(10 * LEAF_PAGES, 0));
}

TEST(root, a_reset_while_it_grows_has_it_written_anew)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct mapper mapper = { .page = 10 * LEAF_PAGES };
		struct thread *thread;

		begin(mode, 0);
		EXPECT_EQ(map_at(16), STATUS_PENDING);
		flush();
		reset_begin();
		EXPECT_EQ(thread_create("mapper", map_in_thread, &mapper, &thread), STATUS_SUCCESS);
		await_hold();
		reset_end();
		thread_join(thread);
		EXPECT_EQ(mapper.status, STATUS_PENDING);
		settle();
		EXPECT_EQ(contexts[0].told, 2);
		EXPECT(all_show(16, 0));
		EXPECT(all_show(10 * LEAF_PAGES, 0));
		end_all();
	}
}

TEST(root, growing_survives_every_failure_of_memory)
{
	begin(MINIPORT_TABLE_CPU_VIRTUAL, 0);
	(void)map_request(app, 0, &memories[0], PAGES);
	EACH_FAILURE (failing, 3) {
		failing_start(&failing);
		NTSTATUS status = map_at(10 * LEAF_PAGES);
		bool fired = failing_stop(&failing);
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_PENDING);
	}
	flush();
	EXPECT(all_show(10 * LEAF_PAGES, 0));
	end_all();
}

TEST_MAIN("address_space/root")
