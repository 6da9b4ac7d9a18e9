/* SPDX-License-Identifier: MIT */
/*
 * pools_test.c - updates whose entries the GPU copies from where tile pools are kept mapped:
 * COPY_PAGE_TABLE_ENTRIES, as documented for all adapters but those whose tables the CPU writes.
 */
#include "steps.h"
#include "support/failing.h"

enum {
	CPU = MINIPORT_TABLE_CPU_VIRTUAL,
	VIRT = MINIPORT_TABLE_GPU_VIRTUAL,
	PHYS = MINIPORT_TABLE_GPU_PHYSICAL,
	BASE = 1024, /* of the reservation that is updated */
	COPIES_MAX = 256,
};

static const uint32_t gpu_modes[] = { VIRT, PHYS };

/* What the driver was asked to copy. */
static struct {
	struct miniport_table_copy copies[COPIES_MAX];
	uint32_t count;
	uint32_t operations;
	NTSTATUS answer;                 /* to the next one; STATUS_PENDING: as usual */
	enum miniport_paging_kind fails; /* or to the next one of these … */
	uint64_t failing_table;          /* … for this table */
	uint64_t source_table;           /* of the last */
	uint64_t destination_table;
} asked;

static NTSTATUS note_copies(struct fake *fake, const struct miniport_paging_op *op,
			    struct miniport_paging_buffer *buffer, uint32_t *multipass)
{
	NTSTATUS answer = asked.answer;

	(void)fake;
	if (op->kind != asked.fails)
		return STATUS_PENDING;
	if (op->kind == MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES && *multipass == 0 &&
	    fake_has_room(buffer)) {
		asked.operations++;
		for (uint32_t i = 0; i < op->copy_entries.count && asked.count < COPIES_MAX; i++)
			asked.copies[asked.count++] = op->copy_entries.copies[i];
		asked.source_table = op->source.gpu_address;
		asked.destination_table = op->target.gpu_address;
	}
	if (op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE &&
	    op->target.offset_bytes != asked.failing_table)
		return STATUS_PENDING;
	asked.answer = STATUS_PENDING;
	return answer;
}

static void start_noting(void)
{
	memset(&asked, 0, sizeof(asked));
	asked.answer = STATUS_PENDING;
	asked.fails = MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES;
	flush();
	world.fake->hook = note_copies;
}

static void start_pools(uint32_t mode)
{
	start_as(&(struct shape){
		.update_mode = mode, .flags = TABLES_HAVE_READ_ONLY, .has_system_tables = true });
	reserve_zeroes(app, BASE, 2048);
	start_noting();
}

/* ---- copies ---- */

TEST(pools, entries_are_copied_where_the_gpu_writes_tables_and_written_where_the_cpu_does)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		start_pools(mode);
		update(app, 1100, 4, &memories[0]);
		EXPECT_EQ(asked.operations, mode == CPU ? 0 : 1);
		EXPECT(shows(app, 1100, &memories[0], 0));
		EXPECT(shows(app, 1103, &memories[0], 3));
		EXPECT(!shows(app, 1104, &memories[0], 4));
		EXPECT_EQ(mapped_memory_is_mapped(&memories[0].mapped), true);
		finish();
	}
}

TEST(pools, a_copy_says_which_entries_of_which_table)
{
	for (int m = 0; m < 2; m++) {
		struct gpuva_operation operation;

		start_pools(gpu_modes[m]);
		operation = operation_at(app, 1100, 4, &memories[0]);
		operation.offset_bytes = 5 << GPUVA_PAGE_SHIFT;
		update_all(app, &operation, 1);
		EXPECT_EQ(asked.count, 1);
		/* The first pool is where addresses begin: at 64 KiB. */
		EXPECT_EQ(asked.copies[0].source_index, 16 + 5);
		EXPECT_EQ(asked.copies[0].destination_index, 1100 % 512);
		EXPECT_EQ(asked.copies[0].count, 4);
		EXPECT(asked.source_table != asked.destination_table);
		EXPECT_EQ(asked.source_table % 65536, 0);
		EXPECT_EQ(asked.destination_table % 65536, 0);
		EXPECT(shows(app, 1100, &memories[0], 5));

		/* What crosses a table is two of them. */
		update(app, 2046, 4, &memories[1]);
		EXPECT_EQ(asked.operations, 3);
		EXPECT_EQ(asked.copies[1].destination_index, 510);
		EXPECT_EQ(asked.copies[1].count, 2);
		EXPECT_EQ(asked.copies[2].destination_index, 0);
		EXPECT_EQ(asked.copies[2].count, 2);
		EXPECT(shows(app, 2049, &memories[1], 3));
		finish();
	}
}

TEST(pools, the_copy_finds_the_memory_where_it_is_when_its_turn_comes)
{
	for (int m = 0; m < 2; m++) {
		struct space_update *late;

		start_pools(gpu_modes[m]);
		late = make_update(app, 1100, 4, &memories[0], NULL);
		move_memory(&memories[0], 3000);
		space_update_run(late);
		flush();
		EXPECT_EQ(asked.operations, 1);
		EXPECT(shows(app, 1100, &memories[0], 0));
		finish();
	}
}

/* Neither has run when the other one is built: the GPU does both, in order. */
TEST(pools, memory_that_moves_behind_the_copy_is_followed)
{
	for (int m = 0; m < 2; m++) {
		struct space_update *late;
		struct moving moving;

		start_pools(gpu_modes[m]);
		late = make_update(app, 1100, 4, &memories[0], NULL);
		flush();
		fake_set_automatic(world.fake, false);
		uint64_t submitted = fake_submitted(world.fake);
		space_update_run(late);
		fake_wait_submitted(world.fake, submitted + 1);
		moving_init(&moving, &memories[0], 3000);
		paging_job_queue(&moving.job.job);
		fake_set_automatic(world.fake, true);
		moving_wait(&moving);
		EXPECT_EQ(asked.operations, 1);
		EXPECT(shows(app, 1100, &memories[0], 0));
		EXPECT(shows(app, 1103, &memories[0], 3));
		finish();
	}
}

/* The entries of a move come space by space, and others are built in between. */
TEST(pools, entries_that_have_not_followed_a_move_are_written_instead)
{
	for (int m = 0; m < 2; m++) {
		start_pools(gpu_modes[m]);
		update(app, 1100, 4, &memories[0]);
		EXPECT_EQ(asked.operations, 1);
		memories[0].first_page = 3000;
		update(app, 1200, 4, &memories[0]);
		EXPECT_EQ(asked.operations, 1);
		EXPECT(shows(app, 1200, &memories[0], 0));
		move_memory(&memories[0], 3000);
		EXPECT(shows(app, 1100, &memories[0], 0));
		finish();
	}
}

TEST(pools, memory_that_is_nowhere_is_mapped_all_the_same)
{
	for (int m = 0; m < 2; m++) {
		start_pools(gpu_modes[m]);
		memories[0].first_page = 0;
		update(app, 1100, 4, &memories[0]);
		EXPECT_EQ(asked.operations, 1);
		EXPECT_EQ(walk(app, 1100), 0);
		move_memory(&memories[0], 3000);
		EXPECT(shows(app, 1100, &memories[0], 0));
		finish();
	}
}

TEST(pools, what_repeats_is_copied_piece_by_piece)
{
	for (int m = 0; m < 2; m++) {
		struct gpuva_operation operation;

		start_pools(gpu_modes[m]);
		operation = operation_at(app, 1100, 12, &memories[0]);
		operation.offset_bytes = 7 << GPUVA_PAGE_SHIFT;
		operation.repeat_bytes = 3 << GPUVA_PAGE_SHIFT;
		update_all(app, &operation, 1);
		EXPECT_EQ(asked.operations, 1);
		EXPECT_EQ(asked.count, 4);
		for (uint64_t i = 0; i < 12; i++)
			EXPECT(shows(app, 1100 + i, &memories[0], 7 + i % 3));
		for (uint32_t i = 0; i < 4; i++) {
			EXPECT_EQ(asked.copies[i].source_index, 16 + 7);
			EXPECT_EQ(asked.copies[i].destination_index, 1100 % 512 + 3 * i);
			EXPECT_EQ(asked.copies[i].count, 3);
		}
		finish();
	}
}

TEST(pools, more_pieces_than_one_operation_takes_are_several)
{
	for (int m = 0; m < 2; m++) {
		struct gpuva_operation operation;

		start_pools(gpu_modes[m]);
		operation = operation_at(app, 1024, 100, &memories[0]);
		operation.repeat_bytes = GPUVA_PAGE_BYTES;
		update_all(app, &operation, 1);
		EXPECT_EQ(asked.operations, 2);
		EXPECT_EQ(asked.count, 100);
		for (uint64_t i = 0; i < 100; i++)
			EXPECT(shows(app, 1024 + i, &memories[0], 0));
		finish();
	}
}

TEST(pools, each_protection_has_entries_of_its_own)
{
	for (int m = 0; m < 2; m++) {
		struct gpuva_operation operations[3];

		start_pools(gpu_modes[m]);
		for (uint64_t i = 0; i < 3; i++)
			operations[i] = operation_at(app, 1100 + 4 * i, 4, &memories[0]);
		operations[1].kind = GPUVA_OPERATION_MAP_PROTECT; /* reads only */
		operations[2].kind = GPUVA_OPERATION_MAP_PROTECT;
		operations[2].protection = GPUVA_WRITE;
		operations[2].driver_protection = GPUVA_UNIQUE | 7;
		operations[2].offset_bytes = 8 << GPUVA_PAGE_SHIFT;
		update_all(app, operations, 3);
		EXPECT(asked.operations >= 3);
		EXPECT_EQ(atomic_load(&memories[0].mapped.view_count), 1 + 3);
		/* What the driver was given says so (validate), and so does where it came from. */
		EXPECT(asked.copies[0].source_index != asked.copies[1].source_index);
		EXPECT_EQ(walk(app, 1104), entry_of(&memories[0], 0) | PACKED_READ_ONLY);
		EXPECT(shows(app, 1108, &memories[0], 8));
		update_all(app, operations, 3);
		EXPECT_EQ(atomic_load(&memories[0].mapped.view_count), 1 + 3);
		finish();
	}
}

/* As memmove() does it, whatever overlaps. */
TEST(pools, what_an_operation_copies_comes_from_the_same_place)
{
	for (int m = 0; m < 2; m++) {
		struct gpuva_operation copy = { .kind = GPUVA_OPERATION_COPY,
						.base = 1102 << GPUVA_PAGE_SHIFT,
						.size_bytes = 6 << GPUVA_PAGE_SHIFT,
						.source_base = 1100 << GPUVA_PAGE_SHIFT };

		start_pools(gpu_modes[m]);
		update(app, 1100, 4, &memories[0]);
		update_all(app, &copy, 1);
		EXPECT_EQ(asked.operations, 2);
		EXPECT(shows(app, 1101, &memories[0], 1));
		for (uint64_t i = 0; i < 4; i++)
			EXPECT(shows(app, 1102 + i, &memories[0], i));
		EXPECT_EQ(walk(app, 1106), 0);
		finish();
	}
}

#define POOLS_TEST(suite, claim, ...) TEST_BETWEEN(__VA_ARGS__, finish(), suite, claim)

POOLS_TEST(pools, a_map_or_a_move_copies_nothing, start_pools(PHYS))
{
	update(app, 1100, 4, &memories[0]);
	asked.operations = 0;
	EXPECT_EQ(map(app, 64, &memories[0], 8), STATUS_PENDING);
	move_memory(&memories[0], 3000);
	EXPECT_EQ(asked.operations, 0);
	EXPECT(shows(app, 64, &memories[0], 0));
}

/* ---- their life ---- */

TEST(pools, are_left_by_memory_that_goes)
{
	for (int m = 0; m < 2; m++) {
		start_pools(gpu_modes[m]);
		update(app, 1100, 4, &memories[0]);
		update(app, 1200, 4, &memories[1]);
		EXPECT_EQ(atomic_load(&memories[0].mapped.view_count), 2);
		drop_memory(&memories[0]);
		EXPECT(!mapped_memory_is_mapped(&memories[0].mapped));
		EXPECT_EQ(app->space->pools->tables.space.areas.range_count, 1);
		EXPECT_EQ(walk(app, 1100), 0);
		EXPECT(shows(app, 1200, &memories[1], 0));
		finish();
	}
}

POOLS_TEST(pools, come_with_the_first_update_that_shows_memory, start_pools(PHYS))
{
	struct gpuva_operation unmap = { .kind = GPUVA_OPERATION_UNMAP,
					 .base = 1100 << GPUVA_PAGE_SHIFT,
					 .size_bytes = 4 << GPUVA_PAGE_SHIFT,
					 .protection = GPUVA_NO_ACCESS };
	struct gpuva_operation wrong;
	struct space_update *refused;

	update_all(app, &unmap, 1);
	EXPECT(!app->space->pools);
	wrong = operation_at(app, 16, 4, &memories[0]);
	EXPECT_EQ(try_update(app, &wrong, 1, NULL, &refused), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(atomic_load(&memories[0].mapped.view_count), 1);
}

TEST(pools, survive_no_memory)
{
	for (int m = 0; m < 2; m++) {
		struct gpuva_operation operations[2];

		start_pools(gpu_modes[m]);
		operations[0] = operation_at(app, 1100, 4, &memories[0]);
		operations[1] = operation_at(app, 2100, 4, &memories[1]);
		EACH_FAILURE (failing, 6) {
			struct space_update *made = NULL;

			flush();
			failing_start(&failing);
			NTSTATUS status = try_update(app, operations, 2, NULL, &made);
			bool fired = failing_stop(&failing);
			EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
			if (made)
				space_update_run(made);
			check();
		}
		flush();
		EXPECT(shows(app, 1103, &memories[0], 3));
		EXPECT(shows(app, 2103, &memories[1], 3));
		finish();
	}
}

TEST(pools, are_written_anew_after_a_reset_and_so_is_what_was_copied)
{
	for (int m = 0; m < 2; m++) {
		struct space_update *late;

		start_pools(gpu_modes[m]);
		update(app, 1100, 4, &memories[0]);
		late = make_update(app, 1200, 4, &memories[0], NULL);
		flush();
		fake_set_automatic(world.fake, false);
		space_update_run(late);
		reset();
		EXPECT(shows(app, 1100, &memories[0], 0));
		EXPECT(shows(app, 1203, &memories[0], 3));
		update(app, 1300, 4, &memories[0]);
		EXPECT(shows(app, 1300, &memories[0], 0));
		finish();
	}
}

/* ---- drivers that fail ---- */

static void expect_broken_and_mended(const struct told *watched)
{
	await_turn();
	settle();
	EXPECT(atomic_load(&watched->count) > 0);
	EXPECT_EQ(watched->status, STATUS_DRIVER_INTERNAL_ERROR);
	EXPECT(!address_space_is_broken(app->space));
	EXPECT(!address_space_is_broken(app->space->pools));
	EXPECT(shows(app, 1100, &memories[0], 0));
	EXPECT(shows(app, 1103, &memories[0], 3));
}

TEST(pools, a_copy_that_the_driver_refuses_breaks_the_space_until_it_is_written_anew)
{
	for (int m = 0; m < 2; m++) {
		struct space_update *late;
		struct told told = { 0 };
		struct told watched = { 0 };

		start_pools(gpu_modes[m]);
		address_space_watch(app->space, &(struct space_listener){ told_done, &watched });
		late = make_update(app, 1100, 4, &memories[0], &told);
		flush();
		asked.answer = STATUS_INVALID_PARAMETER;
		space_update_run(late);
		flush();
		EXPECT_EQ(told.status, STATUS_DRIVER_INTERNAL_ERROR);
		expect_broken_and_mended(&watched);
		finish();
	}
}

/* What was copied from there may be anything. */
POOLS_TEST(pools, a_pool_that_cannot_be_written_breaks_the_space_that_copies_from_it,
	   start_pools(PHYS))
{
	struct gpuva_operation operation;
	struct space_update *late = NULL;
	struct told watched = { 0 };

	address_space_watch(app->space, &(struct space_listener){ told_done, &watched });
	update(app, 1200, 4, &memories[1]);
	asked.fails = MINIPORT_PAGING_UPDATE_PAGE_TABLE;
	asked.failing_table =
		app->space->pools->tables.root->below[0]->below[0]->memory.offset_bytes;
	asked.answer = STATUS_INVALID_PARAMETER;
	operation = operation_at(app, 1100, 4, &memories[0]);
	EXPECT_EQ(try_update(app, &operation, 1, NULL, &late), STATUS_SUCCESS);
	space_update_run(late);
	flush();
	expect_broken_and_mended(&watched);
	EXPECT(shows(app, 1200, &memories[1], 0));
}

/* ---- pages of 64 KiB ---- */

/* The GPU finds it in a table of 64 KiB pages. */
static bool shows_wide(uint64_t page, const struct memory *memory, uint64_t offset)
{
	uint64_t before = world.mmu.wide_walks;

	return shows(app, page, memory, offset) && world.mmu.wide_walks > before;
}

TEST(pools, pages_of_64k_are_copied_as_such)
{
	for (int m = 0; m < 2; m++) {
		for (int is_dual = 0; is_dual < 2; is_dual++) {
			struct memory *memory = &memories[0];

			start_as(&(struct shape){ .update_mode = gpu_modes[m],
						  .flags = is_dual ? TABLES_ARE_DUAL : 0,
						  .has_system_tables = true,
						  .has_twins = true });
			memory->first_page = 2048;
			reserve_zeroes(app, BASE, 512);
			start_noting();
			update(app, 1104, 32, memory);
			EXPECT_EQ(asked.count, 1);
			EXPECT_EQ(asked.copies[0].source_index, 1);
			EXPECT_EQ(asked.copies[0].destination_index, 1104 % 512 / 16);
			EXPECT_EQ(asked.copies[0].count, 2);
			EXPECT(shows_wide(1104, memory, 0));
			EXPECT(shows_wide(1120, memory, 16));
			/* Pages of 4 KiB are not to be found where those of 64 KiB are. */
			asked.count = 0;
			update(app, 1140, 2, memory);
			EXPECT_EQ(asked.count, 0);
			finish();
		}
	}
}

/* ---- a root that grows ---- */

TEST(pools, grow_with_what_is_kept_there)
{
	for (int m = 0; m < 2; m++) {
		start_as(&(struct shape){ .update_mode = gpu_modes[m],
					  .has_system_tables = true,
					  .root_bits = 2,
					  .leaf_bits = 5 }); /* one pool fills a leaf table */
		reserve_zeroes(app, 32, 32);
		for (uint64_t i = 0; i < MEMORIES; i++) {
			update(app, 32 + 4 * i, 4, &memories[i]);
			EXPECT(shows(app, 32 + 4 * i, &memories[i], 0));
		}
		EXPECT_EQ(app->space->tables.root->entry_count, 4);
		EXPECT_EQ(app->space->pools->tables.root->entry_count, 8);
		finish();
	}
}

TEST_MAIN("address_space/pools")
