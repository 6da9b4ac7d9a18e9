/*
 * table_eviction_test.c - what a driver is told when the page tables of a process leave and come
 * back: with two processes, in a whole host with the recorder as its driver.
 */
#include "support/test.h"

#include "base/mem.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "drivers/recorder/recorder.h"
#include "object/gpu_addresses.h"
#include "object/hw_context.h"
#include "object/kernel.h"
#include "object/submission.h"
#include "vidmm/control.h"
#include "vidmm/place.h"
#include "vidmm/table_room.h"
#include "vidmm/table_states.h"

enum { LOCAL = 1, GPU_PHYSICAL = 2, TABLE_BYTES = 16384 };

/* ---- the driver's notes ---- */

static struct lock notes_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "notes");
static char notes[1 << 18];
static size_t notes_used;

EXPORTED void recorder_note(const char *line)
{
	size_t length = strlen(line);

	lock_acquire(&notes_lock);
	if (notes_used + length + 2 < sizeof(notes)) {
		memcpy(notes + notes_used, line, length);
		notes_used += length;
		notes[notes_used++] = '\n';
		notes[notes_used] = '\0';
	}
	lock_release(&notes_lock);
}

static void notes_forget(void)
{
	lock_acquire(&notes_lock);
	notes_used = 0;
	notes[0] = '\0';
	lock_release(&notes_lock);
}

static unsigned notes_of(const char *text)
{
	unsigned count = 0;

	lock_acquire(&notes_lock);
	for (const char *at = notes; (at = strstr(at, text)) != NULL; at++)
		count++;
	lock_release(&notes_lock);
	return count;
}

/* ---- the world ---- */

struct client {
	struct dxg_process *process;
	struct dxg_device *device;
};

static struct mem_usage before;
static struct dxg_kernel kernel;
static struct dxg_adapter *adapter;
static struct client app;
static struct client other;

static void client_begin(struct client *client, unsigned id)
{
	EXPECT_EQ(process_create(id, &kernel.shares, &client->process), STATUS_SUCCESS);
	EXPECT_EQ(device_create(client->process, adapter, &(struct device_options){ 0 },
				&client->device),
		  STATUS_SUCCESS);
}

static void client_end(struct client *client)
{
	object_put(&client->device->object);
	process_destroy(client->process);
}

static uint32_t local_bytes = 64 << 20;

static void begin_with(uint32_t kinds)
{
	struct miniport_setting settings[] = {
		{ "Keep", NULL, kinds },
		{ "RefreshAtRoot", NULL, kinds },
		{ "TdrLevel", NULL, 0 },
		{ "PageTableUpdateMode", NULL, GPU_PHYSICAL },
		{ "Segment1.Size", NULL, local_bytes },
		{ "Segment1.CommitLimit", NULL, local_bytes },
		{ "Level0.PageTableSegmentId", NULL, LOCAL },
		{ "Level1.PageTableSegmentId", NULL, LOCAL },
		{ "Level2.PageTableSegmentId", NULL, LOCAL },
		{ "Levels", "many processes", 0 }, /* of which a driver sees only one */
	};
	const struct miniport_config config = { .driver = RECORDER_PATH,
						.name = "recorder",
						.adapter_id = 1,
						.luid = 0x10000,
						.settings = settings,
						.setting_count = ARRAY_SIZE(settings) };

	notes_forget();
	before = mem_usage();
	EXPECT_EQ(kernel_start(&kernel, &config, 1), STATUS_SUCCESS);
	EXPECT_EQ(kernel.adapter_count, 1);
	adapter = kernel.adapters[0];
	client_begin(&app, 1);
	client_begin(&other, 2);
}

static void begin(void)
{
	begin_with(0);
}

static void finish(void)
{
	client_end(&app);
	client_end(&other);
	kernel_end(&kernel);
	EXPECT_EQ(notes_of("WRONG"), 0);
	EXPECT_EQ(mem_usage().blocks, before.blocks);
}

static struct dxg_context *make_context(struct client *client)
{
	struct dxg_context *context = NULL;

	EXPECT_EQ(context_create(client->device, &(struct context_options){ .is_virtual = true },
				 &context),
		  STATUS_SUCCESS);
	return context;
}

static void end_context(struct dxg_context *context)
{
	EXPECT(context_destroy(context));
	object_put(&context->object);
}

/* Returns when it ran. */
static void run(struct dxg_context *context)
{
	EXPECT_EQ(submission_queue(
			  &context, 1,
			  &(struct submission_request){ .gpu_address = 0x10000, .size_bytes = 64 }),
		  STATUS_SUCCESS);
	while (!sched_owner_is_idle(&context->device->work))
		thread_point();
}

static struct vidmm_process *memory_of(const struct client *client)
{
	return &client->device->joined->memory;
}

static enum vidmm_tables_state state_of(const struct client *client)
{
	return tables_state(&memory_of(client)->tables);
}

static void wait_until_in(const struct client *client)
{
	while (state_of(client) != VIDMM_TABLES_IN)
		thread_point();
}

static void force_out(const struct client *client)
{
	vidmm_evict_selected(adapter->memory,
			     &(struct vidmm_selection){ .process = memory_of(client) });
}

/* A room in the way: the tables do not come back before it is given back. */
struct obstacle {
	struct pager_table places[4096];
	uint32_t count;
};
static struct obstacle obstacle;

static void obstruct(void)
{
	struct refusal_scope scope;

	refusal_begin(&scope, "test");
	while (NT_SUCCESS(vidmm_take_table(adapter->memory, LOCAL, TABLE_BYTES, TABLE_BYTES,
					   &obstacle.places[obstacle.count]))) {
		obstacle.count++;
		EXPECT(obstacle.count < ARRAY_SIZE(obstacle.places));
	}
	(void)refusal_end(&scope);
}

static void give_way(void)
{
	while (obstacle.count > 0)
		vidmm_give_table(adapter->memory, &obstacle.places[--obstacle.count], TABLE_BYTES);
}

static void expect_valid(void)
{
	char wrong[256] = "";
	uint64_t page;

	pager_flush(adapter->pager);
	EXPECT(!address_space_validate(app.device->joined->addresses, &page));
	EXPECT(!address_space_validate(other.device->joined->addresses, &page));
	(void)!vidmm_manager_validate(adapter->memory, wrong, sizeof(wrong));
	EXPECT_STR(wrong, "");
}

/* ---- tests ---- */

TEST(table_eviction, all_contexts_of_the_process_are_told_the_root_and_no_others)
{
	begin();
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
	finish();
}

/* The TLB forgets them before their room is others'; the root is told before work runs. */
TEST(table_eviction, work_comes_after_the_root_and_the_tables)
{
	begin();
	struct dxg_context *context = make_context(&app);
	run(context);
	force_out(&app);
	wait_until_in(&app);
	notes_forget();
	force_out(&app);
	run(context);
	lock_acquire(&notes_lock);
	const char *flush = strstr(notes, "BuildPagingBuffer irql=0 operation=12 ");
	const char *table = flush ? strstr(flush, "BuildPagingBuffer irql=0 operation=11 ") : NULL;
	const char *root = table ? strstr(table, "SetRootPageTable") : NULL;
	const char *work = strstr(notes, "SubmitCommandVirtual irql=2 node=0 ");
	bool is_in_order =
		flush && table && root && work && root < work && !strstr(work, "SetRootPageTable");
	lock_release(&notes_lock);
	if (!is_in_order)
		print_error("%s", notes);
	EXPECT(is_in_order);
	end_context(context);
	finish();
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

TEST(table_eviction, a_process_whose_tables_are_out_is_valid)
{
	begin();
	struct dxg_context *context = make_context(&app);
	struct gpuva_reserve_request request = { .size_bytes = UINT64_C(64) << 20,
						 .is_zero = true };
	uint64_t address;

	EXPECT_EQ(gpu_addresses_reserve_now(app.device->joined->addresses, &request, &address),
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
	finish();
}

/* ---- tile pools ---- */

enum { TILE_BYTES = 65536, FAR_BYTES = 1 << 30 };

static struct space_memory *show(struct client *client, struct mapped_memory *memory)
{
	struct space_memory *shown = NULL;

	EXPECT_EQ(address_space_memory(client->device->joined->addresses, memory, &shown),
		  STATUS_SUCCESS);
	return shown;
}

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
	struct space_update *update = NULL;

	EXPECT_EQ(address_space_update(client->device->joined->addresses, &operation, 1,
				       &(struct space_listener){ updated, &done }, &update),
		  STATUS_SUCCESS);
	space_update_run(update);
	while (!atomic_load(&done))
		thread_point();
	pager_flush(adapter->pager);
}

/* Addresses so far apart that each has tables of its own, until somebody went for them. */
static void take_room_of(struct client *taker, struct mapped_memory *memory, struct client *giver)
{
	for (uint64_t i = 1; state_of(giver) == VIDMM_TABLES_IN; i++) {
		struct gpuva_map_request request = { .window.base = i * FAR_BYTES,
						     .owner = &show(taker, memory)->view.owner,
						     .page_count = 1 };
		uint64_t address;

		EXPECT(i < 64);
		EXPECT_EQ(
			gpu_addresses_map_now(taker->device->joined->addresses, &request, &address),
			STATUS_SUCCESS);
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
		EXPECT_EQ(gpu_addresses_reserve_now(clients[i]->device->joined->addresses, &request,
						    &addresses[i]),
			  STATUS_SUCCESS);
		notes_forget();
		update_tile(clients[i], addresses[i], &memory);
		EXPECT_EQ(notes_of("BuildPagingBuffer irql=0 operation=14 "), 1);
	}
	take_room_of(&other, &memory, &app);
	EXPECT(app.device->joined->addresses->pools->tables.is_out);
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
		gpu_addresses_drop_now(clients[i]->device->joined->addresses, &memory);
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

TEST(table_eviction, contexts_come_and_go_while_tables_do)
{
	struct caller callers[] = { { .client = &app, .rounds = 12 },
				    { .client = &other, .rounds = 12 } };

	begin();
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
	finish();
}

/* A second device of a process whose tables are on their way has them when it runs. */
TEST(table_eviction, a_device_that_is_made_meanwhile_waits_for_them)
{
	begin();
	for (int i = 0; i < 5; i++) {
		struct dxg_device *device = NULL;

		vidmm_evict_segment(adapter->memory, LOCAL);
		EXPECT_EQ(
			device_create(app.process, adapter, &(struct device_options){ 0 }, &device),
			STATUS_SUCCESS);
		struct client second = { app.process, device };
		struct dxg_context *context = make_context(&second);
		vidmm_evict_segment(adapter->memory, LOCAL);
		run(context);
		end_context(context);
		object_put(&device->object);
	}
	expect_valid();
	finish();
}

TEST_MAIN("object/table_eviction")
