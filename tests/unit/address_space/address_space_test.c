/* SPDX-License-Identifier: MIT */
/*
 * address_space_test.c - requests for GPU addresses through the real pager, in all three ways of
 * writing page tables, against a GPU that executes what was built.
 */
#include "base/random.h"
#include "base/sim.h"
#include "support/failing.h"
#include "steps.h"

/* Leaves are in local memory, what is above them is not. */
static void begin(uint32_t update_mode, uint32_t flags)
{
	start_as(&(struct shape){
		.update_mode = update_mode, .flags = flags, .has_system_tables = true });
}

static void begin_plain(void)
{
	begin(MINIPORT_TABLE_CPU_VIRTUAL, 0);
}

/* ---- requests ---- */

TEST(space, what_is_mapped_is_found_and_what_is_freed_is_not_in_all_three_modes)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct told told = { 0 };

		begin(mode, 0);
		EXPECT_EQ(map_part(app, 510, &memories[0], 2, 20, &told), STATUS_PENDING);
		flush();
		EXPECT_EQ(atomic_load(&told.count), 1);
		EXPECT_EQ(told.status, STATUS_SUCCESS);
		EXPECT(shows(app, 510, &memories[0], 2));
		EXPECT(shows(app, 529, &memories[0], 21));
		EXPECT_EQ(walk(app, 530), 0);
		EXPECT(atomic_load(&world.fake->other_flushes) > 0);

		EXPECT_EQ(release(app, 510, 20), STATUS_SUCCESS);
		flush();
		EXPECT_EQ(walk(app, 510), 0);
		EXPECT_EQ(walk(app, 529), 0);
		finish();
	}
}

#define SPACE_TEST(suite, claim) TEST_BETWEEN(begin_plain(), finish(), suite, claim)

SPACE_TEST(space, a_reservation_without_access_is_done_at_once)
{
	EXPECT_EQ(reserve(app, 1024, 1024, false), STATUS_SUCCESS);
	EXPECT_EQ(reserve(app, 4096, 1024, true), STATUS_PENDING);
}

/* Free is synchronous: the range is anybody's, whatever is still to be written. */
SPACE_TEST(space, what_was_freed_can_be_mapped_anew_while_its_job_waits)
{
	struct told told = { 0 };

	fake_set_automatic(world.fake, false);
	EXPECT_EQ(map_part(app, 64, &memories[0], 0, 8, &told), STATUS_PENDING);
	EXPECT_EQ(release(app, 64, 8), STATUS_SUCCESS);
	EXPECT_EQ(map_part(app, 66, &memories[1], 0, 8, &told), STATUS_PENDING);
	fake_set_automatic(world.fake, true);
	flush();
	EXPECT_EQ(atomic_load(&told.count), 2);
	EXPECT_EQ(walk(app, 64), 0);
	EXPECT(shows(app, 66, &memories[1], 0));
	EXPECT(shows(app, 73, &memories[1], 7));
}

SPACE_TEST(space, what_is_refused_changes_nothing)
{
	EXPECT_EQ(map_part(app, 64, &memories[0], PAGES - 1, 2, NULL), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(release(app, 64, 1), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(map(app, 64, &memories[0], 2), STATUS_PENDING);
	EXPECT_EQ(reserve(app, 64, 16, false), STATUS_INVALID_PARAMETER);
}

TEST(space, all_addresses_of_memory_that_goes_are_gone_when_it_is_told)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct counted_drop none = { 0 };

		begin(mode, 0);
		EXPECT(address_space_drop(NULL, &memories[0].mapped, &none.drop));
		EXPECT_EQ(map(app, 64, &memories[0], 8), STATUS_PENDING);
		EXPECT_EQ(map(app, 5000, &memories[0], 8), STATUS_PENDING);
		EXPECT_EQ(map(app, 72, &memories[1], 8), STATUS_PENDING);
		EXPECT_EQ(reserve(app, 1024, 16, false), STATUS_SUCCESS);
		map_now(app, 1030, &memories[0], 4);
		EXPECT(shows(app, 1030, &memories[0], 0));
		EXPECT(mapped_memory_is_mapped(&memories[0].mapped));

		drop_memory(&memories[0]);
		EXPECT(!mapped_memory_is_mapped(&memories[0].mapped));
		EXPECT_EQ(walk(app, 64), 0);
		EXPECT_EQ(walk(app, 5000), 0);
		EXPECT_EQ(walk(app, 1030), 0);
		EXPECT(shows(app, 72, &memories[1], 0));
		/* Addresses that a map request found are free, those of a reservation are its. */
		EXPECT_EQ(release(app, 64, 8), STATUS_INVALID_PARAMETER);
		EXPECT_EQ(release(app, 1024, 16), STATUS_SUCCESS);
		finish();
	}
}

TEST(space, everything_is_written_anew_after_a_reset)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		begin(mode, 0);
		EXPECT_EQ(map(app, 64, &memories[0], 8), STATUS_PENDING);
		map_now(app, 5000, &memories[1], 8);
		reset_begin();
		/* It goes out of its place meanwhile, as everything does. */
		memories[1].first_page = 0;
		EXPECT_EQ(map(app, 80, &memories[0], 8), STATUS_PENDING);
		reset_end();
		EXPECT(shows(app, 64, &memories[0], 0));
		EXPECT(shows(app, 71, &memories[0], 7));
		EXPECT(shows(app, 80, &memories[0], 0));
		EXPECT_EQ(walk(app, 5000), 0);
		EXPECT_EQ(walk(app, 72), 0);
		memories[1].first_page = MEMORY_FIRST + PAGES;
		map_now(app, 5008, &memories[1], 8);
		EXPECT(shows(app, 5015, &memories[1], 7));
		memories[1].first_page = 0;
		reset();
		finish();
	}
}

/* Who waits for it is told when it is written, and that is after the reset. */
TEST(space, changes_that_meet_a_reset_are_made_after_it)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct told told = { 0 };
		struct counted_drop drop = { 0 };

		begin(mode, 0);
		EXPECT_EQ(map(app, 64, &memories[0], 8), STATUS_PENDING);
		map_now(app, 72, &memories[1], 8);
		fake_set_automatic(world.fake, false);
		EXPECT_EQ(map_part(app, 80, &memories[0], 0, 8, &told), STATUS_PENDING);
		drop_begin(&memories[1], &drop);
		reset();
		EXPECT_EQ(atomic_load(&told.count), 1);
		EXPECT_EQ(told.status, STATUS_SUCCESS);
		EXPECT_EQ(atomic_load(&drop.count), 1);
		EXPECT(shows(app, 64, &memories[0], 0));
		EXPECT(shows(app, 80, &memories[0], 0));
		EXPECT_EQ(walk(app, 72), 0);
		finish();
	}
}

TEST(space, jobs_of_a_lost_adapter_fail_and_the_space_ends_all_the_same)
{
	struct told told = { 0 };
	struct counted_drop drop = { 0 };

	begin(MINIPORT_TABLE_CPU_VIRTUAL, TABLES_END_INVALID);
	map_now(app, 64, &memories[0], 8);
	pager_give_up(world.fake->pager);
	EXPECT_EQ(map_part(app, 80, &memories[1], 0, 8, &told), STATUS_PENDING);
	drop_begin(&memories[0], &drop);
	flush();
	EXPECT_EQ(told.status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(atomic_load(&drop.count), 1);
	end();
}

TEST(space, entries_are_invalid_before_the_tables_go_where_the_driver_wants_that)
{
	uint32_t before;

	begin(MINIPORT_TABLE_CPU_VIRTUAL, TABLES_END_INVALID);
	map_now(app, 64, &memories[0], 8);
	before = atomic_load(&world.fake->log_count);
	party_leave(app);
	flush();
	EXPECT_EQ(fake_count(world.fake, before, MINIPORT_PAGING_UPDATE_PAGE_TABLE), 3);
	EXPECT_EQ(fake_count(world.fake, before, MINIPORT_PAGING_FLUSH_TLB), 1);
	party_join(app);
	finish();
}

SPACE_TEST(space, a_request_without_memory_leaves_no_trace)
{
	EACH_FAILURE (failing, 3) {
		struct gpuva_map_request request = map_request(app, 64, &memories[0], 8);
		uint64_t address;

		flush();
		failing_start(&failing);
		NTSTATUS status = address_space_map(app->space, &request, NULL, &address);
		bool fired = failing_stop(&failing);
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_PENDING);
		if (fired)
			EXPECT_EQ(release(app, 64, 8), STATUS_INVALID_PARAMETER);
	}
}

/* What page tables may be in: the machine's lowest 4 GiB. */
enum { STRETCHES_MAX = 4096 };
static uint64_t stretches[STRETCHES_MAX];
static uint32_t stretch_count;

static void take_all_system_memory(void)
{
	uint64_t size_bytes = UINT64_C(1) << 31;

	while (size_bytes >= MACHINE_PAGE_BYTES) {
		EXPECT(stretch_count < STRETCHES_MAX);
		if (NT_SUCCESS(machine_alloc_contiguous(size_bytes, 0, 0, UINT32_MAX, 0,
							&stretches[stretch_count])))
			stretch_count++;
		else
			size_bytes /= 2;
	}
}

static void give_all_system_memory(void)
{
	while (stretch_count > 0)
		EXPECT(machine_free_contiguous(stretches[--stretch_count]));
}

SPACE_TEST(space, tables_without_system_memory_are_refused_with_a_reason)
{
	struct refusal_scope scope;

	(void)owner_of(app, &memories[0]);
	take_all_system_memory();
	refusal_begin(&scope, "test");
	EXPECT_EQ(map(app, 64, &memories[0], 8), STATUS_NO_MEMORY);
	EXPECT(refusal_end(&scope));
	EXPECT_RULE("API-NO-MEMORY");
	give_all_system_memory();
	map_now(app, 64, &memories[0], 8);
	EXPECT(shows(app, 64, &memories[0], 0));
}

SPACE_TEST(space, a_space_that_cannot_be_made_leaves_no_trace)
{
	struct vidmm_process process;
	uint64_t fail_at = 0;
	bool fired;

	vidmm_process_init(&process, world.manager, &world.account);
	do {
		struct address_space *space = NULL;
		struct mem_usage usage = mem_usage();

		mem_fail_nth(++fail_at);
		NTSTATUS status =
			address_space_create(&world.config, world.fake->pager, &process, &space);
		if (NT_SUCCESS(status))
			status = address_space_start(space, &app->driver_process,
						     &(struct space_root_listener){ 0 });
		fired = mem_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		address_space_destroy(space);
		EXPECT_EQ(mem_usage().blocks, usage.blocks);
	} while (fired);
	vidmm_process_finish(&process);
}

/* ---- tables that change while nothing runs ---- */

TEST(quiet, several_changes_that_wait_for_it_are_all_made)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		begin(mode, FAKE_REQUIRES_IDLE);
		map_now(app, 600, &memories[1], 8);
		EXPECT(shows(app, 600, &memories[1], 0));
		fake_clients_are_busy(&world.fake->sched);
		EXPECT_EQ(map(app, 64, &memories[0], 8), STATUS_PENDING);
		EXPECT_EQ(release(app, 600, 8), STATUS_SUCCESS);
		EXPECT_EQ(map_part(app, 2000, &memories[2], 4, 8, NULL), STATUS_PENDING);
		await_hold();
		await_turn();
		EXPECT_EQ(walk(app, 64), 0);
		EXPECT(shows(app, 600, &memories[1], 0));
		fake_clients_idle(&world.fake->sched);
		flush();
		EXPECT(shows(app, 64, &memories[0], 0));
		EXPECT(shows(app, 2000, &memories[2], 4));
		EXPECT_EQ(walk(app, 600), 0);
		finish();
	}
}

/* Its entries are invalid already, as far as anybody has said; they were not written yet. */
TEST(quiet, memory_is_not_gone_before_a_change_that_waits_is_made)
{
	struct counted_drop drop = { 0 };

	begin(MINIPORT_TABLE_GPU_PHYSICAL, FAKE_REQUIRES_IDLE);
	map_now(app, 64, &memories[0], 8);
	fake_clients_are_busy(&world.fake->sched);
	EXPECT_EQ(release(app, 64, 8), STATUS_SUCCESS);
	await_hold();
	drop_begin(&memories[0], &drop);
	await_turn();
	EXPECT_EQ(atomic_load(&drop.count), 0);
	EXPECT(shows(app, 64, &memories[0], 0));
	fake_clients_idle(&world.fake->sched);
	flush();
	EXPECT_EQ(atomic_load(&drop.count), 1);
	EXPECT_EQ(walk(app, 64), 0);
	finish();
}

static bool is_tlb_behind; /* what was written */

static NTSTATUS note_order(struct fake *fake, const struct miniport_paging_op *op,
			   struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	(void)fake;
	(void)buffer;
	(void)multipass;
	if (op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE)
		is_tlb_behind = true;
	if (op->kind == MINIPORT_PAGING_FLUSH_TLB)
		is_tlb_behind = false;
	return STATUS_PENDING;
}

/* Who drops it finds nothing to write any more, and so nothing to flush. */
TEST(quiet, memory_that_leaves_is_out_of_the_tlb_though_it_is_dropped_meanwhile)
{
	struct counted_drop drop = { 0 };
	struct moving away;

	begin(MINIPORT_TABLE_GPU_PHYSICAL, FAKE_REQUIRES_IDLE);
	map_now(app, 64, &memories[0], 8);
	fake_clients_are_busy(&world.fake->sched);
	moving_init(&away, &memories[0], 0);
	away.job.job.shares_tables = true;
	paging_job_queue(&away.job.job);
	await_hold();
	drop_begin(&memories[0], &drop);
	await_turn();
	world.fake->hook = note_order;
	fake_clients_idle(&world.fake->sched);
	moving_wait(&away);
	EXPECT_EQ(atomic_load(&drop.count), 1);
	EXPECT_EQ(walk(app, 64), 0);
	EXPECT(!is_tlb_behind);
	finish();
}

/* ---- updates ---- */

TEST(update, nothing_changes_before_its_turn)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct told told = { 0 };
		struct space_update *update;

		begin(mode, 0);
		reserve_zeroes(app, 1024, 1024);
		update = make_update(app, 1100, 4, &memories[0], &told);
		flush();
		EXPECT_EQ(walk(app, 1100), 0);
		EXPECT_EQ(atomic_load(&told.count), 0);
		run_update(update, &told);
		EXPECT(shows(app, 1100, &memories[0], 0));
		EXPECT(shows(app, 1103, &memories[0], 3));
		finish();
	}
}

SPACE_TEST(update, what_is_wrong_with_it_is_said_when_it_is_made)
{
	struct gpuva_operation operation;
	struct space_update *update;

	operation = operation_at(app, 1100, 4, &memories[0]);
	EXPECT_EQ(address_space_update(app->space, &operation, 1, NULL, &update),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(atomic_load(&app->space->queued_operations), 0);
}

SPACE_TEST(update, is_dropped_when_its_addresses_were_freed_even_if_they_are_taken_again)
{
	struct told told = { 0 };
	struct space_update *freed;
	struct space_update *taken;

	reserve_zeroes(app, 1024, 64);
	reserve_zeroes(app, 2048, 64);
	freed = make_update(app, 1030, 4, &memories[0], &told);
	taken = make_update(app, 2050, 4, &memories[0], &told);
	EXPECT_EQ(release(app, 1024, 64), STATUS_SUCCESS);
	EXPECT_EQ(release(app, 2048, 64), STATUS_SUCCESS);
	reserve_zeroes(app, 2048, 64);
	space_update_run(freed);
	space_update_run(taken);
	flush();
	EXPECT_EQ(atomic_load(&told.count), 2);
	EXPECT_EQ(told.status, STATUS_SUCCESS);
	EXPECT_EQ(walk(app, 1030), 0);
	EXPECT_EQ(walk(app, 2050), 0);
}

SPACE_TEST(update, is_dropped_when_its_memory_is_gone)
{
	struct told told = { 0 };
	struct space_update *update;

	reserve_zeroes(app, 1024, 64);
	update = make_update(app, 1030, 4, &memories[0], &told);
	drop_memory(&memories[0]);
	space_update_run(update);
	flush();
	EXPECT_EQ(atomic_load(&told.count), 1);
	EXPECT_EQ(walk(app, 1030), 0);
}

SPACE_TEST(update, that_is_cancelled_lets_go_of_everything)
{
	struct told told = { 0 };

	reserve_zeroes(app, 1024, 64);
	space_update_cancel(make_update(app, 1030, 4, &memories[0], &told));
	EXPECT_EQ(atomic_load(&told.count), 0);
}

SPACE_TEST(update, survives_no_memory)
{
	struct gpuva_operation operations[2];
	uint64_t fail_at = 0;
	bool fired;

	reserve_zeroes(app, 1024, 2048);
	operations[0] = operation_at(app, 1100, 4, &memories[0]);
	operations[1] = operation_at(app, 2100, 4, &memories[1]);
	do {
		struct space_update *update = NULL;

		flush();
		mem_fail_nth(++fail_at);
		NTSTATUS status = address_space_update(app->space, operations, 2, NULL, &update);
		fired = mem_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		if (update)
			space_update_run(update);
	} while (fired);
	flush();
	EXPECT(shows(app, 2103, &memories[1], 3));
}

struct second_caller {
	struct space_update *update;
	uint32_t queued;
};

static void call_second(void *argument)
{
	struct second_caller *caller = argument;
	struct gpuva_operation operations[100];

	for (int i = 0; i < 100; i++)
		operations[i] = operation_at(app, 1024 + (uint64_t)i, 1, &memories[1]);
	EXPECT_EQ(address_space_update(app->space, operations, 100, NULL, &caller->update),
		  STATUS_SUCCESS);
	caller->queued = atomic_load(&app->space->queued_operations);
}

SPACE_TEST(update, more_than_128_operations_are_not_queued_the_caller_waits)
{
	struct gpuva_operation operations[100];
	struct space_update *first;
	struct second_caller caller;
	struct thread *thread;

	reserve_zeroes(app, 1024, 1024);
	for (int i = 0; i < 100; i++)
		operations[i] = operation_at(app, 1024 + (uint64_t)i, 1, &memories[0]);
	EXPECT_EQ(address_space_update(app->space, operations, 100, NULL, &first), STATUS_SUCCESS);
	EXPECT_EQ(thread_create("second", call_second, &caller, &thread), STATUS_SUCCESS);
	space_update_run(first);
	thread_join(thread);
	EXPECT_EQ(caller.queued, 100);
	space_update_run(caller.update);
	flush();
	EXPECT(shows(app, 1024, &memories[1], 0));
}

/* ---- threads ---- */

enum { THREADS = 3, ROUNDS = 150 };

static void map_and_free(void *argument)
{
	uint64_t number = *(uint64_t *)argument;
	uint64_t base = 1024 + number * 300;
	struct random random;

	random_init(&random, number);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t page = base + random_below(&random, 256);
		uint64_t count = 1 + random_below(&random, 16);

		switch (random_below(&random, 3)) {
		case 0:
			(void)release(app, page, count);
			break;
		default:
			(void)map_part(app, page, &memories[random_below(&random, MEMORIES)],
				       random_below(&random, 16), count, NULL);
		}
	}
}

TEST(threads, may_map_and_free_in_one_space)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		uint64_t numbers[THREADS];
		struct thread *threads[THREADS];

		begin(mode, 0);
		for (int i = 0; i < THREADS; i++) {
			numbers[i] = (uint64_t)i;
			EXPECT_EQ(thread_create("mapper", map_and_free, &numbers[i], &threads[i]),
				  STATUS_SUCCESS);
		}
		for (int i = 0; i < THREADS; i++)
			thread_join(threads[i]);
		finish();
	}
}

/* ---- openings ---- */

static void close_opening(struct space_memory *memory)
{
	struct counted_drop closing = { .drop.done = drop_done };

	if (!space_memory_close(memory) || address_space_drop_opened(memory, &closing.drop))
		return;
	flush();
	EXPECT_EQ(atomic_load(&closing.count), 1);
}

static struct space_memory *open_memory(void)
{
	struct space_memory *memory = NULL;

	EXPECT_EQ(address_space_open(app->space, &memories[0].mapped, &memory), STATUS_SUCCESS);
	return memory;
}

static void open_and_close(void *argument)
{
	struct space_memory *memory = open_memory();
	bool *was_parked = argument;

	space_memory_put(memory);
	close_opening(memory);
	*was_parked = sim_park_end();
}

/* The one that goes is gone, and its memory may be that of the next one, before who closed it looks again. */
TEST(openings, stay_when_they_begin_while_another_thread_ends_the_one_before)
{
	bool was_parked = true;

	SKIP_UNLESS(thread_is_simulated(), "threads are parked in seeded runs only");
	begin(MINIPORT_TABLE_CPU_VIRTUAL, 0);
	for (uint64_t point = 1; was_parked; point++) {
		struct thread *closer;

		sim_park("closer", point);
		EXPECT_EQ(thread_create("closer", open_and_close, &was_parked, &closer),
			  STATUS_SUCCESS);
		sim_park_await();
		flush();
		struct space_memory *memory = open_memory();
		thread_join(closer);
		EXPECT(!memory->is_gone);
		space_memory_put(memory);
		close_opening(memory);
	}
	finish();
}

TEST_MAIN("address_space/address_space")
