/* SPDX-License-Identifier: MIT */
/*
 * address_space_test.c - requests for GPU addresses through the real pager, in all three ways of
 * writing page tables, against a GPU that executes what was built.
 */
#include "base/clock.h"
#include "base/random.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "space_world.h"

/* ---- requests ---- */

TEST(space, what_is_mapped_is_found_and_what_is_freed_is_not_in_all_three_modes)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;
		struct told told = { 0 };

		start_as(&world, mode, TABLES_HAVE_ZERO);
		EXPECT_EQ(map(&world, 510, &world.memories[0], 2, 20, &told), STATUS_PENDING);
		flush(&world);
		EXPECT_EQ(atomic_load(&told.count), 1);
		EXPECT_EQ(told.status, STATUS_SUCCESS);
		EXPECT(shows(&world, 510, &world.memories[0], 2));
		EXPECT(shows(&world, 529, &world.memories[0], 21));
		EXPECT_EQ(walk(&world, 530), 0);
		EXPECT(atomic_load(&world.fake->other_flushes) > 0);

		EXPECT_EQ(release(&world, 510, 20), STATUS_SUCCESS);
		flush(&world);
		EXPECT_EQ(walk(&world, 510), 0);
		EXPECT_EQ(walk(&world, 529), 0);
		finish(&world);
	}
}

TEST(space, a_reservation_without_access_is_done_at_once)
{
	struct world world;

	start(&world);
	EXPECT_EQ(reserve(&world, 1024, 1024, false), STATUS_SUCCESS);
	EXPECT_EQ(reserve(&world, 4096, 1024, true), STATUS_PENDING);
	finish(&world);
}

/* Free is synchronous: the range is anybody's, whatever is still to be written. */
TEST(space, what_was_freed_can_be_mapped_anew_while_its_job_waits)
{
	struct world world;
	struct told told = { 0 };

	start(&world);
	fake_set_automatic(world.fake, false);
	EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 8, &told), STATUS_PENDING);
	EXPECT_EQ(release(&world, 64, 8), STATUS_SUCCESS);
	EXPECT_EQ(map(&world, 66, &world.memories[1], 0, 8, &told), STATUS_PENDING);
	fake_set_automatic(world.fake, true);
	flush(&world);
	EXPECT_EQ(atomic_load(&told.count), 2);
	EXPECT_EQ(walk(&world, 64), 0);
	EXPECT(shows(&world, 66, &world.memories[1], 0));
	EXPECT(shows(&world, 73, &world.memories[1], 7));
	finish(&world);
}

TEST(space, what_is_refused_changes_nothing)
{
	struct world world;

	start(&world);
	EXPECT_EQ(map(&world, 64, &world.memories[0], PAGES - 1, 2, NULL),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(release(&world, 64, 1), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 2, NULL), STATUS_PENDING);
	EXPECT_EQ(reserve(&world, 64, 16, false), STATUS_INVALID_PARAMETER);
	finish(&world);
}

TEST(space, all_addresses_of_memory_that_goes_are_gone_when_it_is_told)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;
		struct counted_drop drop = { .drop.done = drop_done };
		struct memory *memory;

		start_as(&world, mode, TABLES_HAVE_ZERO);
		memory = &world.memories[0];
		EXPECT(address_space_drop(NULL, &memory->mapped, &drop.drop));
		EXPECT_EQ(map(&world, 64, memory, 0, 8, NULL), STATUS_PENDING);
		EXPECT_EQ(map(&world, 5000, memory, 0, 8, NULL), STATUS_PENDING);
		EXPECT_EQ(map(&world, 72, &world.memories[1], 0, 8, NULL), STATUS_PENDING);
		EXPECT_EQ(reserve(&world, 1024, 16, false), STATUS_SUCCESS);
		EXPECT_EQ(map(&world, 1030, memory, 0, 4, NULL), STATUS_PENDING);
		flush(&world);
		EXPECT(shows(&world, 1030, memory, 0));
		EXPECT(mapped_memory_is_mapped(&memory->mapped));

		drop_memory(&world, memory, &drop);
		flush(&world);
		EXPECT_EQ(atomic_load(&drop.count), 1);
		EXPECT(!mapped_memory_is_mapped(&memory->mapped));
		EXPECT_EQ(walk(&world, 64), 0);
		EXPECT_EQ(walk(&world, 5000), 0);
		EXPECT_EQ(walk(&world, 1030), 0);
		EXPECT(shows(&world, 72, &world.memories[1], 0));
		/* Addresses that a map request found are free, those of a reservation are its. */
		EXPECT_EQ(release(&world, 64, 8), STATUS_INVALID_PARAMETER);
		EXPECT_EQ(release(&world, 1024, 16), STATUS_SUCCESS);
		finish(&world);
	}
}

TEST(space, everything_is_written_anew_after_a_reset)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;

		start_as(&world, mode, TABLES_HAVE_ZERO);
		EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 8, NULL), STATUS_PENDING);
		EXPECT_EQ(map(&world, 5000, &world.memories[1], 0, 8, NULL), STATUS_PENDING);
		flush(&world);
		pager_suspend(world.fake->pager);
		memset(world.fake->local + ROOM_FIRST, 0xA5, world.room_next - ROOM_FIRST);
		/* It goes out of its place meanwhile, as everything does. */
		world.memories[1].first_page = 0;
		EXPECT_EQ(map(&world, 80, &world.memories[0], 0, 8, NULL), STATUS_PENDING);
		pager_restart(world.fake->pager);
		settle(&world);
		EXPECT(shows(&world, 64, &world.memories[0], 0));
		EXPECT(shows(&world, 71, &world.memories[0], 7));
		EXPECT(shows(&world, 80, &world.memories[0], 0));
		EXPECT_EQ(walk(&world, 5000), 0);
		EXPECT_EQ(walk(&world, 72), 0);
		world.memories[1].first_page = 1000 + PAGES;
		EXPECT_EQ(map(&world, 5008, &world.memories[1], 0, 8, NULL), STATUS_PENDING);
		flush(&world);
		EXPECT(shows(&world, 5015, &world.memories[1], 7));
		world.memories[1].first_page = 0;
		pager_suspend(world.fake->pager);
		pager_restart(world.fake->pager);
		settle(&world);
		finish(&world);
	}
}

/* Who waits for it is told when it is written, and that is after the reset. */
TEST(space, changes_that_meet_a_reset_are_made_after_it)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;
		struct told told = { 0 };
		struct counted_drop drop = { .drop.done = drop_done };

		start_as(&world, mode, TABLES_HAVE_ZERO);
		EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 8, NULL), STATUS_PENDING);
		EXPECT_EQ(map(&world, 72, &world.memories[1], 0, 8, NULL), STATUS_PENDING);
		flush(&world);
		fake_set_automatic(world.fake, false);
		EXPECT_EQ(map(&world, 80, &world.memories[0], 0, 8, &told), STATUS_PENDING);
		drop_memory(&world, &world.memories[1], &drop);
		pager_suspend(world.fake->pager);
		while (fake_in_flight(world.fake) > 0)
			fake_retire_one(world.fake, SCHED_ABORTED);
		fake_set_automatic(world.fake, true);
		pager_restart(world.fake->pager);
		settle(&world);
		EXPECT_EQ(atomic_load(&told.count), 1);
		EXPECT_EQ(told.status, STATUS_SUCCESS);
		EXPECT_EQ(atomic_load(&drop.count), 1);
		EXPECT(shows(&world, 64, &world.memories[0], 0));
		EXPECT(shows(&world, 80, &world.memories[0], 0));
		EXPECT_EQ(walk(&world, 72), 0);
		finish(&world);
	}
}

TEST(space, jobs_of_a_lost_adapter_fail_and_the_space_ends_all_the_same)
{
	struct world world;
	struct told told = { 0 };
	struct counted_drop drop = { .drop.done = drop_done };

	start_as(&world, MINIPORT_TABLE_CPU_VIRTUAL, TABLES_END_INVALID);
	EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 8, NULL), STATUS_PENDING);
	flush(&world);
	pager_give_up(world.fake->pager);
	EXPECT_EQ(map(&world, 80, &world.memories[1], 0, 8, &told), STATUS_PENDING);
	drop_memory(&world, &world.memories[0], &drop);
	flush(&world);
	EXPECT_EQ(told.status, STATUS_DEVICE_REMOVED);
	EXPECT_EQ(atomic_load(&drop.count), 1);
	address_space_destroy(world.space);
	for (int m = 0; m < MEMORIES; m++)
		mapped_memory_finish(&world.memories[m].mapped);
	page_tables_config_finish(&world.config);
	EXPECT_EQ(mem_usage().blocks, world.usage.blocks);
	fake_destroy(world.fake);
}

TEST(space, entries_are_invalid_before_the_tables_go_where_the_driver_wants_that)
{
	struct world world;
	uint32_t before;

	start_as(&world, MINIPORT_TABLE_CPU_VIRTUAL, TABLES_END_INVALID | TABLES_HAVE_ZERO);
	EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 8, NULL), STATUS_PENDING);
	flush(&world);
	before = atomic_load(&world.fake->log_count);
	address_space_destroy(world.space);
	flush(&world);
	EXPECT_EQ(fake_count(world.fake, before, MINIPORT_PAGING_UPDATE_PAGE_TABLE), 3);
	EXPECT_EQ(fake_count(world.fake, before, MINIPORT_PAGING_FLUSH_TLB), 1);
	for (int m = 0; m < MEMORIES; m++)
		mapped_memory_finish(&world.memories[m].mapped);
	page_tables_config_finish(&world.config);
	fake_destroy(world.fake);
}

TEST(space, a_request_without_memory_leaves_no_trace)
{
	struct world world;
	struct gpuva_owner *owner;
	uint64_t fail_at = 0;
	bool fired;

	start(&world);
	owner = owner_of(&world, &world.memories[0]);
	do {
		struct gpuva_map_request request = { .window.base = 64 << GPUVA_PAGE_SHIFT,
						     .owner = owner,
						     .page_count = 8,
						     .protection = GPUVA_WRITE };
		uint64_t address;

		flush(&world);
		mem_fail_nth(++fail_at);
		NTSTATUS status = address_space_map(world.space, &request, NULL, &address);
		fired = mem_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_PENDING);
		if (fired)
			EXPECT_EQ(release(&world, 64, 8), STATUS_INVALID_PARAMETER);
	} while (fired);
	EXPECT(fail_at > 3);
	finish(&world);
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

TEST(space, tables_without_system_memory_are_refused_with_a_reason)
{
	struct world world;
	struct refusal_scope scope;
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal) };

	start(&world);
	(void)owner_of(&world, &world.memories[0]);
	take_all_system_memory();
	refusal_begin(&scope, "test");
	EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 8, NULL), STATUS_NO_MEMORY);
	EXPECT(refusal_end(&scope));
	EXPECT(refusal_last(&refusal));
	EXPECT_STR(refusal.rule, "API-NO-MEMORY");
	give_all_system_memory();
	EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 8, NULL), STATUS_PENDING);
	flush(&world);
	EXPECT(shows(&world, 64, &world.memories[0], 0));
	finish(&world);
}

TEST(space, a_space_that_cannot_be_made_leaves_no_trace)
{
	struct world world;
	uint64_t fail_at = 0;
	bool fired;

	start(&world);
	do {
		struct address_space *space = NULL;
		struct mem_usage usage = mem_usage();

		mem_fail_nth(++fail_at);
		NTSTATUS status =
			address_space_create(&world.config, world.fake->pager, NULL, &space);
		if (NT_SUCCESS(status))
			status = address_space_start(space, &process,
						     &(struct space_root_listener){ 0 });
		fired = mem_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		address_space_destroy(space);
		EXPECT_EQ(mem_usage().blocks, usage.blocks);
	} while (fired);
	finish(&world);
}

/* ---- tables that change while nothing runs ---- */

static void set_busy(struct world *world)
{
	lock_acquire(&world->fake->sched.lock);
	world->fake->sched.are_clients_busy = true;
	lock_release(&world->fake->sched.lock);
}

static void await_hold(struct world *world)
{
	struct notice *changed = &world->fake->sched.changed;

	for (;;) {
		uint32_t seen = notice_read(changed);

		if (fake_client_holds(world->fake) > 0)
			return;
		notice_wait(changed, seen, CLOCK_FOREVER);
	}
}

/* An ordering point goes on: when it is done, the pager has been at all that is queued before it. */
static void await_turn(struct world *world)
{
	struct fake_job job;

	fake_job_init(&job, world->fake);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
}

TEST(quiet, several_changes_that_wait_for_it_are_all_made)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;

		start_as(&world, mode, TABLES_HAVE_ZERO | FAKE_REQUIRES_IDLE);
		EXPECT_EQ(map(&world, 600, &world.memories[1], 0, 8, NULL), STATUS_PENDING);
		flush(&world);
		EXPECT(shows(&world, 600, &world.memories[1], 0));
		set_busy(&world);
		EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 8, NULL), STATUS_PENDING);
		EXPECT_EQ(release(&world, 600, 8), STATUS_SUCCESS);
		EXPECT_EQ(map(&world, 2000, &world.memories[2], 4, 8, NULL), STATUS_PENDING);
		await_hold(&world);
		await_turn(&world);
		EXPECT_EQ(walk(&world, 64), 0);
		EXPECT(shows(&world, 600, &world.memories[1], 0));
		fake_clients_idle(world.fake);
		flush(&world);
		EXPECT(shows(&world, 64, &world.memories[0], 0));
		EXPECT(shows(&world, 2000, &world.memories[2], 4));
		EXPECT_EQ(walk(&world, 600), 0);
		finish(&world);
	}
}

/* Its entries are invalid already, as far as anybody has said; they were not written yet. */
TEST(quiet, memory_is_not_gone_before_a_change_that_waits_is_made)
{
	struct world world;
	struct counted_drop drop = { .drop.done = drop_done };

	start_as(&world, MINIPORT_TABLE_GPU_PHYSICAL, TABLES_HAVE_ZERO | FAKE_REQUIRES_IDLE);
	EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 8, NULL), STATUS_PENDING);
	flush(&world);
	set_busy(&world);
	EXPECT_EQ(release(&world, 64, 8), STATUS_SUCCESS);
	await_hold(&world);
	drop_memory(&world, &world.memories[0], &drop);
	await_turn(&world);
	EXPECT_EQ(atomic_load(&drop.count), 0);
	EXPECT(shows(&world, 64, &world.memories[0], 0));
	fake_clients_idle(world.fake);
	flush(&world);
	EXPECT_EQ(atomic_load(&drop.count), 1);
	EXPECT_EQ(walk(&world, 64), 0);
	finish(&world);
}

/* As the memory manager has it: entries that follow memory, here to nowhere. */
struct departure {
	struct paging_job job;
	struct mapped_memory *memory;
	struct mapped_memory_cursor cursor;
};

static bool departure_next(struct paging_job *job, struct paging_op *op_out)
{
	struct departure *departure = container_of(job, struct departure, job);

	return mapped_memory_next(departure->memory, &departure->cursor, op_out);
}

static void departure_done(struct paging_job *job, NTSTATUS status)
{
	(void)job;
	EXPECT_EQ(status, STATUS_SUCCESS);
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
	struct world world;
	struct memory *memory = &world.memories[0];
	struct counted_drop drop = { .drop.done = drop_done };

	start_as(&world, MINIPORT_TABLE_GPU_PHYSICAL, TABLES_HAVE_ZERO | FAKE_REQUIRES_IDLE);
	struct departure departure = { .memory = &memory->mapped };
	EXPECT_EQ(map(&world, 64, memory, 0, 8, NULL), STATUS_PENDING);
	flush(&world);
	set_busy(&world);
	memory->first_page = 0;
	paging_job_init(&departure.job, world.fake->pager);
	departure.job.next = departure_next;
	departure.job.done = departure_done;
	departure.job.shares_tables = true;
	paging_job_queue(&departure.job);
	await_hold(&world);
	drop_memory(&world, memory, &drop);
	await_turn(&world);
	world.fake->hook = note_order;
	fake_clients_idle(world.fake);
	flush(&world);
	EXPECT_EQ(atomic_load(&drop.count), 1);
	EXPECT_EQ(walk(&world, 64), 0);
	EXPECT(!is_tlb_behind);
	finish(&world);
}

/* ---- updates ---- */

static struct space_update *make_update(struct world *world, uint64_t page, struct memory *memory,
					struct told *told)
{
	struct gpuva_operation operation = map_operation(world, page, 4, memory);
	struct space_update *update = NULL;

	EXPECT_EQ(address_space_update(world->space, &operation, 1,
				       &(struct space_listener){ told_done, told }, &update),
		  STATUS_SUCCESS);
	return update;
}

TEST(update, nothing_changes_before_its_turn)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;
		struct told told = { 0 };
		struct space_update *update;

		start_as(&world, mode, TABLES_HAVE_ZERO);
		EXPECT_EQ(reserve(&world, 1024, 1024, true), STATUS_PENDING);
		update = make_update(&world, 1100, &world.memories[0], &told);
		flush(&world);
		EXPECT_EQ(walk(&world, 1100), 0);
		EXPECT_EQ(atomic_load(&told.count), 0);
		space_update_run(update);
		flush(&world);
		EXPECT(shows(&world, 1100, &world.memories[0], 0));
		EXPECT(shows(&world, 1103, &world.memories[0], 3));
		EXPECT_EQ(atomic_load(&told.count), 1);
		EXPECT_EQ(told.status, STATUS_SUCCESS);
		finish(&world);
	}
}

TEST(update, what_is_wrong_with_it_is_said_when_it_is_made)
{
	struct world world;
	struct gpuva_operation operation;
	struct space_update *update;

	start(&world);
	operation = map_operation(&world, 1100, 4, &world.memories[0]);
	EXPECT_EQ(address_space_update(world.space, &operation, 1, NULL, &update),
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(atomic_load(&world.space->queued_operations), 0);
	finish(&world);
}

TEST(update, is_dropped_when_its_addresses_were_freed_even_if_they_are_taken_again)
{
	struct world world;
	struct told told = { 0 };
	struct space_update *freed;
	struct space_update *taken;

	start(&world);
	EXPECT_EQ(reserve(&world, 1024, 64, true), STATUS_PENDING);
	EXPECT_EQ(reserve(&world, 2048, 64, true), STATUS_PENDING);
	freed = make_update(&world, 1030, &world.memories[0], &told);
	taken = make_update(&world, 2050, &world.memories[0], &told);
	EXPECT_EQ(release(&world, 1024, 64), STATUS_SUCCESS);
	EXPECT_EQ(release(&world, 2048, 64), STATUS_SUCCESS);
	EXPECT_EQ(reserve(&world, 2048, 64, true), STATUS_PENDING);
	space_update_run(freed);
	space_update_run(taken);
	flush(&world);
	EXPECT_EQ(atomic_load(&told.count), 2);
	EXPECT_EQ(told.status, STATUS_SUCCESS);
	EXPECT_EQ(walk(&world, 1030), 0);
	EXPECT_EQ(walk(&world, 2050), 0);
	finish(&world);
}

TEST(update, is_dropped_when_its_memory_is_gone)
{
	struct world world;
	struct told told = { 0 };
	struct counted_drop drop = { .drop.done = drop_done };
	struct space_update *update;

	start(&world);
	EXPECT_EQ(reserve(&world, 1024, 64, true), STATUS_PENDING);
	update = make_update(&world, 1030, &world.memories[0], &told);
	drop_memory(&world, &world.memories[0], &drop);
	flush(&world);
	EXPECT_EQ(atomic_load(&drop.count), 1);
	space_update_run(update);
	flush(&world);
	EXPECT_EQ(atomic_load(&told.count), 1);
	EXPECT_EQ(walk(&world, 1030), 0);
	finish(&world);
}

TEST(update, that_is_cancelled_lets_go_of_everything)
{
	struct world world;
	struct told told = { 0 };

	start(&world);
	EXPECT_EQ(reserve(&world, 1024, 64, true), STATUS_PENDING);
	space_update_cancel(make_update(&world, 1030, &world.memories[0], &told));
	EXPECT_EQ(atomic_load(&told.count), 0);
	finish(&world);
}

TEST(update, survives_no_memory)
{
	struct world world;
	struct gpuva_operation operations[2];
	uint64_t fail_at = 0;
	bool fired;

	start(&world);
	EXPECT_EQ(reserve(&world, 1024, 2048, true), STATUS_PENDING);
	operations[0] = map_operation(&world, 1100, 4, &world.memories[0]);
	operations[1] = map_operation(&world, 2100, 4, &world.memories[1]);
	do {
		struct space_update *update = NULL;

		flush(&world);
		mem_fail_nth(++fail_at);
		NTSTATUS status = address_space_update(world.space, operations, 2, NULL, &update);
		fired = mem_fail_stop();
		EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
		if (update)
			space_update_run(update);
	} while (fired);
	flush(&world);
	EXPECT(shows(&world, 2103, &world.memories[1], 3));
	finish(&world);
}

struct second_caller {
	struct world *world;
	struct space_update *update;
	uint32_t queued;
};

static void call_second(void *argument)
{
	struct second_caller *caller = argument;
	struct gpuva_operation operations[100];

	for (int i = 0; i < 100; i++)
		operations[i] = map_operation(caller->world, 1024 + (uint64_t)i, 1,
					      &caller->world->memories[1]);
	EXPECT_EQ(
		address_space_update(caller->world->space, operations, 100, NULL, &caller->update),
		STATUS_SUCCESS);
	caller->queued = atomic_load(&caller->world->space->queued_operations);
}

TEST(update, more_than_128_operations_are_not_queued_the_caller_waits)
{
	struct world world;
	struct gpuva_operation operations[100];
	struct space_update *first;
	struct second_caller caller = { .world = &world };
	struct thread *thread;

	start(&world);
	EXPECT_EQ(reserve(&world, 1024, 1024, true), STATUS_PENDING);
	for (int i = 0; i < 100; i++)
		operations[i] = map_operation(&world, 1024 + (uint64_t)i, 1, &world.memories[0]);
	EXPECT_EQ(address_space_update(world.space, operations, 100, NULL, &first), STATUS_SUCCESS);
	EXPECT_EQ(thread_create("second", call_second, &caller, &thread), STATUS_SUCCESS);
	space_update_run(first);
	thread_join(thread);
	EXPECT_EQ(caller.queued, 100);
	space_update_run(caller.update);
	flush(&world);
	EXPECT(shows(&world, 1024, &world.memories[1], 0));
	finish(&world);
}

/* ---- threads ---- */

enum { THREADS = 3, ROUNDS = 150 };

struct mapper {
	struct world *world;
	int number;
};

static void map_and_free(void *argument)
{
	struct mapper *mapper = argument;
	struct world *world = mapper->world;
	uint64_t base = 1024 + (uint64_t)mapper->number * 300;
	struct random random;

	random_init(&random, (uint64_t)mapper->number);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t page = base + random_below(&random, 256);
		uint64_t count = 1 + random_below(&random, 16);

		switch (random_below(&random, 3)) {
		case 0:
			(void)release(world, page, count);
			break;
		default:
			(void)map(world, page, &world->memories[random_below(&random, MEMORIES)],
				  random_below(&random, 16), count, NULL);
		}
	}
}

TEST(threads, may_map_and_free_in_one_space)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;
		struct mapper mappers[THREADS];
		struct thread *threads[THREADS];

		start_as(&world, mode, TABLES_HAVE_ZERO);
		for (int i = 0; i < THREADS; i++) {
			mappers[i] = (struct mapper){ &world, i };
			EXPECT_EQ(thread_create("mapper", map_and_free, &mappers[i], &threads[i]),
				  STATUS_SUCCESS);
		}
		for (int i = 0; i < THREADS; i++)
			thread_join(threads[i]);
		finish(&world);
	}
}

TEST_MAIN("vidmm/address_space")
