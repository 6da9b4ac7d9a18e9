/* SPDX-License-Identifier: MIT */
/*
 * table_eviction_test.c - what a driver is told when the page tables of a process leave and come
 * back: with two processes, in a whole host with the recorder as its driver.
 */
#include "table_world.h"

/* ---- tests ---- */

#define EVICTION_TEST(suite, claim) TEST_BETWEEN(begin(), finish(), suite, claim)

EVICTION_TEST(table_eviction, all_contexts_of_the_process_are_told_the_root_and_no_others)
{
	struct dxg_context *first = make_context(&app);
	struct dxg_context *second = make_context(&app);
	struct dxg_context *others = make_context(&other);
	notes_forget();
	force_out(&app);
	wait_until_in(&app);
	pager_flush(adapter->pager);
	EXPECT_EQ(notes_of("SetRootPageTable"), 2);
	expect_valid();
	end_context(first);
	notes_forget();
	force_out(&app);
	wait_until_in(&app);
	pager_flush(adapter->pager);
	EXPECT_EQ(notes_of("SetRootPageTable"), 1);
	end_context(second);
	end_context(others);
}

/* The TLB forgets them before their room is others'; the root is told before work runs. */
EVICTION_TEST(table_eviction, work_comes_after_the_root_and_the_tables)
{
	struct dxg_context *context = make_context(&app);
	run(context);
	force_out(&app);
	wait_until_in(&app);
	notes_forget();
	force_out(&app);
	run(context);
	pthread_mutex_lock(&notes_lock);
	const char *flush = strstr(notes, "BuildPagingBuffer irql=0 operation=12 ");
	const char *table = flush ? strstr(flush, "BuildPagingBuffer irql=0 operation=11 ") : NULL;
	const char *root = table ? strstr(table, "SetRootPageTable") : NULL;
	const char *work = strstr(notes, "SubmitCommandVirtual irql=2 node=0 ");
	bool is_in_order =
		flush && table && root && work && root < work && !strstr(work, "SetRootPageTable");
	pthread_mutex_unlock(&notes_lock);
	if (!is_in_order)
		print_error("%s", notes);
	EXPECT(is_in_order);
	end_context(context);
}

/* A driver may answer with a request to the pager, and wait for it. */
TEST(table_eviction, a_context_allocation_can_be_updated_while_the_root_is_told)
{
	begin_with(1);
	struct dxg_context *context = make_context(&app);
	run(context);
	for (unsigned i = 0; i < 5; i++) {
		notes_forget();
		force_out(&app);
		run(context);
		wait_until_in(&app);
		pager_flush(adapter->pager);
		EXPECT_EQ(notes_of("UpdateContextAllocation irql=0 status=0"), 1);
	}
	end_context(context);
	finish();
}

EVICTION_TEST(table_eviction, a_process_whose_tables_are_out_is_valid)
{
	struct dxg_context *context = make_context(&app);
	struct gpuva_reserve_request request = { .size_bytes = UINT64_C(64) << 20,
						 .is_zero = true };
	uint64_t address;

	EXPECT_EQ(gpu_addresses_reserve_now(app.device->process_adapter->addresses, &request,
					    &address),
		  STATUS_SUCCESS);
	obstruct();
	expect_valid();
	/* What leaves comes back at once: there is nobody who would take the room. */
	force_out(&app);
	wait_until_in(&app);
	expect_valid();
	give_way();
	run(context);
	expect_valid();
	end_context(context);
}

/* ---- tile pools ---- */

enum { TILE_BYTES = 65536 };

static void updated(void *context, NTSTATUS status)
{
	EXPECT_EQ(status, STATUS_SUCCESS);
	atomic_fetch_add((_Atomic uint32_t *)context, 1);
}

static void update_tile(struct client *client, uint64_t address, struct mapped_memory *memory)
{
	_Atomic uint32_t done = 0;
	struct gpuva_operation operation = { .kind = GPUVA_OPERATION_MAP,
					     .base = address,
					     .size_bytes = TILE_BYTES,
					     .owner = &show(client, memory)->view.owner };
	struct dxg_context *context = make_context(client);
	struct pager_stream *stream;
	struct space_update *update = NULL;

	EXPECT_EQ(companion_use(context, &stream), STATUS_SUCCESS);
	EXPECT_EQ(address_space_update(client->device->process_adapter->addresses, &operation, 1,
				       &(struct space_listener){ updated, &done }, &update),
		  STATUS_SUCCESS);
	space_update_run_in(update, stream);
	while (!atomic_load(&done))
		thread_point();
	pager_flush(adapter->pager);
	companion_release(context);
	end_context(context);
}

/* Addresses until somebody went for them. */
static void take_room_of(struct client *taker, struct mapped_memory *memory, struct client *giver)
{
	for (unsigned i = 1; state_of(giver) == VIDMM_TABLES_IN; i++) {
		EXPECT(i < 64);
		map_far(taker, i, memory);
	}
	while (state_of(giver) != VIDMM_TABLES_OUT)
		thread_point();
}

TEST(table_eviction, tile_pools_of_two_processes_take_turns_in_too_little_room)
{
	struct mapped_memory memory;
	struct gpuva_reserve_request request = { .size_bytes = 4 * TILE_BYTES, .is_zero = true };
	struct client *clients[] = { &app, &other };
	uint64_t addresses[2];

	local_bytes = 1 << 20;
	begin();
	local_bytes = 64 << 20;
	mapped_memory_init_fixed(&memory, 1, TILE_BYTES / 4096);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT_EQ(gpu_addresses_reserve_now(clients[i]->device->process_adapter->addresses,
						    &request, &addresses[i]),
			  STATUS_SUCCESS);
		notes_forget();
		update_tile(clients[i], addresses[i], &memory);
		EXPECT_EQ(notes_of("BuildPagingBuffer irql=0 operation=14 "), 1);
	}
	take_room_of(&other, &memory, &app);
	EXPECT(app.device->process_adapter->addresses->pools->tables.is_out);
	expect_valid();
	for (unsigned round = 0; round < 4; round++) {
		struct client *client = clients[round % 2];
		struct dxg_context *context = make_context(client);

		run(context); /* in again, and the other one's out if they have to be */
		expect_valid();
		notes_forget();
		update_tile(client, addresses[round % 2] + (round / 2 + 1) * TILE_BYTES, &memory);
		EXPECT_EQ(notes_of("BuildPagingBuffer irql=0 operation=14 "), 1);
		expect_valid();
		end_context(context);
	}
	for (unsigned i = 0; i < 2; i++)
		gpu_addresses_drop_now(clients[i]->device->process_adapter->addresses, &memory);
	mapped_memory_finish(&memory);
	finish();
}

/* ---- threads ---- */

struct caller {
	struct thread *thread;
	struct client *client;
	unsigned rounds;
};

static void caller_run(void *argument)
{
	struct caller *caller = argument;

	for (unsigned i = 0; i < caller->rounds; i++) {
		struct dxg_context *context = make_context(caller->client);

		run(context);
		end_context(context);
	}
}

EVICTION_TEST(table_eviction, contexts_come_and_go_while_tables_do)
{
	struct caller callers[] = { { .client = &app, .rounds = 12 },
				    { .client = &other, .rounds = 12 } };

	for (size_t i = 0; i < ARRAY_SIZE(callers); i++)
		EXPECT_EQ(thread_create("caller", caller_run, &callers[i], &callers[i].thread),
			  STATUS_SUCCESS);
	for (unsigned i = 0; i < 30; i++)
		vidmm_evict_selected(adapter->memory, &(struct vidmm_selection){ 0 });
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++)
		thread_join(callers[i].thread);
	wait_until_in(&app);
	wait_until_in(&other);
	expect_valid();
}

/* A second device of a process whose tables are on their way has them when it runs. */
EVICTION_TEST(table_eviction, a_device_that_is_made_meanwhile_waits_for_them)
{
	for (int i = 0; i < 5; i++) {
		struct dxg_device *device = NULL;

		evict_segment(adapter->memory, LOCAL);
		EXPECT_EQ(
			device_create(app.process, adapter, &(struct device_options){ 0 }, &device),
			STATUS_SUCCESS);
		struct client second = { app.process, device };
		struct dxg_context *context = make_context(&second);
		evict_segment(adapter->memory, LOCAL);
		run(context);
		end_context(context);
		object_put(&device->object);
	}
	expect_valid();
}

TEST_MAIN("object/table_eviction")
