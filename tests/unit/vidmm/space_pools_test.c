/* SPDX-License-Identifier: MIT */
/*
 * space_pools_test.c - updates whose entries the GPU copies from where tile pools are kept mapped:
 * COPY_PAGE_TABLE_ENTRIES, as documented for all adapters but those whose tables the CPU writes.
 */
#include "space_world.h"

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
	}
	if (op->kind == MINIPORT_PAGING_UPDATE_PAGE_TABLE &&
	    op->update_table.offset_bytes != asked.failing_table)
		return STATUS_PENDING;
	asked.answer = STATUS_PENDING;
	return answer;
}

static void start_noting(struct world *world)
{
	memset(&asked, 0, sizeof(asked));
	asked.answer = STATUS_PENDING;
	asked.fails = MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES;
	flush(world);
	world->fake->hook = note_copies;
}

static void start_pools(struct world *world, uint32_t mode)
{
	start_as(world, mode, TABLES_HAVE_ZERO | TABLES_HAVE_READ_ONLY);
	EXPECT_EQ(reserve(world, BASE, 2048, true), STATUS_PENDING);
	start_noting(world);
}

static NTSTATUS try_update(struct world *world, const struct gpuva_operation *operations,
			   uint32_t count, struct told *told, struct space_update **update_out)
{
	return address_space_update(world->space, operations, count,
				    told ? &(struct space_listener){ told_done, told } : NULL,
				    update_out);
}

static void update(struct world *world, const struct gpuva_operation *operations, uint32_t count)
{
	struct space_update *update = NULL;
	struct told told = { 0 };

	EXPECT_EQ(try_update(world, operations, count, &told, &update), STATUS_SUCCESS);
	space_update_run(update);
	flush(world);
	EXPECT_EQ(atomic_load(&told.count), 1);
	EXPECT_EQ(told.status, STATUS_SUCCESS);
}

static void update_one(struct world *world, uint64_t page, uint64_t count, struct memory *memory)
{
	struct gpuva_operation operation = map_operation(world, page, count, memory);

	update(world, &operation, 1);
}

/* ---- memory that moves ---- */

struct move {
	struct paging_job job;
	struct mapped_memory *memory;
	struct mapped_memory_cursor cursor;
};

static bool move_next(struct paging_job *job, struct paging_op *op_out)
{
	struct move *move = container_of(job, struct move, job);

	return mapped_memory_next(move->memory, &move->cursor, op_out);
}

static void move_done(struct paging_job *job, NTSTATUS status)
{
	(void)job;
	EXPECT_EQ(status, STATUS_SUCCESS);
}

/* As of now it is there; the entries follow. */
static void move_to(struct world *world, struct memory *memory, uint64_t first_page,
		    struct move *move)
{
	*move = (struct move){ .memory = &memory->mapped };
	paging_job_init(&move->job, world->fake->pager);
	move->job.next = move_next;
	move->job.done = move_done;
	memory->first_page = first_page;
	paging_job_queue(&move->job);
}

/* ---- copies ---- */

TEST(pools, entries_are_copied_where_the_gpu_writes_tables_and_written_where_the_cpu_does)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct world world;

		start_pools(&world, mode);
		update_one(&world, 1100, 4, &world.memories[0]);
		EXPECT_EQ(asked.operations, mode == CPU ? 0 : 1);
		EXPECT(shows(&world, 1100, &world.memories[0], 0));
		EXPECT(shows(&world, 1103, &world.memories[0], 3));
		EXPECT(!shows(&world, 1104, &world.memories[0], 4));
		EXPECT_EQ(mapped_memory_is_mapped(&world.memories[0].mapped), true);
		finish(&world);
	}
}

TEST(pools, a_copy_says_which_entries_of_which_table)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct gpuva_operation operation;

		start_pools(&world, gpu_modes[m]);
		operation = map_operation(&world, 1100, 4, &world.memories[0]);
		operation.offset_bytes = 5 << GPUVA_PAGE_SHIFT;
		update(&world, &operation, 1);
		EXPECT_EQ(asked.count, 1);
		/* The first pool is where addresses begin: at 64 KiB. */
		EXPECT_EQ(asked.copies[0].source_index, 16 + 5);
		EXPECT_EQ(asked.copies[0].destination_index, 1100 % 512);
		EXPECT_EQ(asked.copies[0].count, 4);
		EXPECT(asked.copies[0].source_table != asked.copies[0].destination_table);
		EXPECT_EQ(asked.copies[0].source_table % 65536, 0);
		EXPECT_EQ(asked.copies[0].destination_table % 65536, 0);
		EXPECT(shows(&world, 1100, &world.memories[0], 5));

		/* What crosses a table is two of them. */
		update_one(&world, 2046, 4, &world.memories[1]);
		EXPECT_EQ(asked.operations, 3);
		EXPECT_EQ(asked.copies[1].destination_index, 510);
		EXPECT_EQ(asked.copies[1].count, 2);
		EXPECT_EQ(asked.copies[2].destination_index, 0);
		EXPECT_EQ(asked.copies[2].count, 2);
		EXPECT(shows(&world, 2049, &world.memories[1], 3));
		finish(&world);
	}
}

TEST(pools, the_copy_finds_the_memory_where_it_is_when_its_turn_comes)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct gpuva_operation operation;
		struct space_update *late = NULL;
		struct move move;

		start_pools(&world, gpu_modes[m]);
		operation = map_operation(&world, 1100, 4, &world.memories[0]);
		EXPECT_EQ(try_update(&world, &operation, 1, NULL, &late), STATUS_SUCCESS);
		move_to(&world, &world.memories[0], 3000, &move);
		flush(&world);
		space_update_run(late);
		flush(&world);
		EXPECT_EQ(asked.operations, 1);
		EXPECT(shows(&world, 1100, &world.memories[0], 0));
		finish(&world);
	}
}

/* Neither has run when the other one is built: the GPU does both, in order. */
TEST(pools, memory_that_moves_behind_the_copy_is_followed)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct gpuva_operation operation;
		struct space_update *late = NULL;
		struct move move;

		start_pools(&world, gpu_modes[m]);
		operation = map_operation(&world, 1100, 4, &world.memories[0]);
		EXPECT_EQ(try_update(&world, &operation, 1, NULL, &late), STATUS_SUCCESS);
		flush(&world);
		fake_set_automatic(world.fake, false);
		uint64_t submitted = fake_submitted(world.fake);
		space_update_run(late);
		fake_wait_submitted(world.fake, submitted + 1);
		move_to(&world, &world.memories[0], 3000, &move);
		fake_set_automatic(world.fake, true);
		flush(&world);
		EXPECT_EQ(asked.operations, 1);
		EXPECT(shows(&world, 1100, &world.memories[0], 0));
		EXPECT(shows(&world, 1103, &world.memories[0], 3));
		finish(&world);
	}
}

/* The entries of a move come space by space, and others are built in between. */
TEST(pools, entries_that_have_not_followed_a_move_are_written_instead)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct move move;

		start_pools(&world, gpu_modes[m]);
		update_one(&world, 1100, 4, &world.memories[0]);
		EXPECT_EQ(asked.operations, 1);
		world.memories[0].first_page = 3000;
		update_one(&world, 1200, 4, &world.memories[0]);
		EXPECT_EQ(asked.operations, 1);
		EXPECT(shows(&world, 1200, &world.memories[0], 0));
		move_to(&world, &world.memories[0], 3000, &move);
		flush(&world);
		EXPECT(shows(&world, 1100, &world.memories[0], 0));
		finish(&world);
	}
}

TEST(pools, memory_that_is_nowhere_is_mapped_all_the_same)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct move move;

		start_pools(&world, gpu_modes[m]);
		world.memories[0].first_page = 0;
		update_one(&world, 1100, 4, &world.memories[0]);
		EXPECT_EQ(asked.operations, 1);
		EXPECT_EQ(walk(&world, 1100), 0);
		move_to(&world, &world.memories[0], 3000, &move);
		flush(&world);
		EXPECT(shows(&world, 1100, &world.memories[0], 0));
		finish(&world);
	}
}

TEST(pools, what_repeats_is_copied_piece_by_piece)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct gpuva_operation operation;

		start_pools(&world, gpu_modes[m]);
		operation = map_operation(&world, 1100, 12, &world.memories[0]);
		operation.offset_bytes = 7 << GPUVA_PAGE_SHIFT;
		operation.repeat_bytes = 3 << GPUVA_PAGE_SHIFT;
		update(&world, &operation, 1);
		EXPECT_EQ(asked.operations, 1);
		EXPECT_EQ(asked.count, 4);
		for (uint64_t i = 0; i < 12; i++)
			EXPECT(shows(&world, 1100 + i, &world.memories[0], 7 + i % 3));
		for (uint32_t i = 0; i < 4; i++) {
			EXPECT_EQ(asked.copies[i].source_index, 16 + 7);
			EXPECT_EQ(asked.copies[i].destination_index, 1100 % 512 + 3 * i);
			EXPECT_EQ(asked.copies[i].count, 3);
		}
		finish(&world);
	}
}

TEST(pools, more_pieces_than_one_operation_takes_are_several)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct gpuva_operation operation;

		start_pools(&world, gpu_modes[m]);
		operation = map_operation(&world, 1024, 100, &world.memories[0]);
		operation.repeat_bytes = GPUVA_PAGE_BYTES;
		update(&world, &operation, 1);
		EXPECT_EQ(asked.operations, 2);
		EXPECT_EQ(asked.count, 100);
		for (uint64_t i = 0; i < 100; i++)
			EXPECT(shows(&world, 1024 + i, &world.memories[0], 0));
		finish(&world);
	}
}

TEST(pools, each_protection_has_entries_of_its_own)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct gpuva_operation operations[3];

		start_pools(&world, gpu_modes[m]);
		for (uint64_t i = 0; i < 3; i++)
			operations[i] = map_operation(&world, 1100 + 4 * i, 4, &world.memories[0]);
		operations[1].kind = GPUVA_OPERATION_MAP_PROTECT; /* reads only */
		operations[2].kind = GPUVA_OPERATION_MAP_PROTECT;
		operations[2].protection = GPUVA_WRITE;
		operations[2].driver_protection = GPUVA_UNIQUE | 7;
		operations[2].offset_bytes = 8 << GPUVA_PAGE_SHIFT;
		update(&world, operations, 3);
		EXPECT(asked.operations >= 3);
		EXPECT_EQ(atomic_load(&world.memories[0].mapped.view_count), 1 + 3);
		/* What the driver was given says so (validate), and so does where it came from. */
		EXPECT(asked.copies[0].source_index != asked.copies[1].source_index);
		EXPECT(shows(&world, 1104, &world.memories[0], 0));
		EXPECT(shows(&world, 1108, &world.memories[0], 8));
		update(&world, operations, 3);
		EXPECT_EQ(atomic_load(&world.memories[0].mapped.view_count), 1 + 3);
		finish(&world);
	}
}

/* As memmove() does it, whatever overlaps. */
TEST(pools, what_an_operation_copies_comes_from_the_same_place)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct gpuva_operation copy = { .kind = GPUVA_OPERATION_COPY,
						.base = 1102 << GPUVA_PAGE_SHIFT,
						.size_bytes = 6 << GPUVA_PAGE_SHIFT,
						.source_base = 1100 << GPUVA_PAGE_SHIFT };

		start_pools(&world, gpu_modes[m]);
		update_one(&world, 1100, 4, &world.memories[0]);
		update(&world, &copy, 1);
		EXPECT_EQ(asked.operations, 2);
		EXPECT(shows(&world, 1101, &world.memories[0], 1));
		for (uint64_t i = 0; i < 4; i++)
			EXPECT(shows(&world, 1102 + i, &world.memories[0], i));
		EXPECT_EQ(walk(&world, 1106), 0);
		finish(&world);
	}
}

TEST(pools, a_map_or_a_move_copies_nothing)
{
	struct world world;
	struct move move;

	start_pools(&world, PHYS);
	update_one(&world, 1100, 4, &world.memories[0]);
	asked.operations = 0;
	EXPECT_EQ(map(&world, 64, &world.memories[0], 0, 8, NULL), STATUS_PENDING);
	move_to(&world, &world.memories[0], 3000, &move);
	flush(&world);
	EXPECT_EQ(asked.operations, 0);
	EXPECT(shows(&world, 64, &world.memories[0], 0));
	finish(&world);
}

/* ---- their life ---- */

TEST(pools, are_left_by_memory_that_goes)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct counted_drop drop = { .drop.done = drop_done };

		start_pools(&world, gpu_modes[m]);
		update_one(&world, 1100, 4, &world.memories[0]);
		update_one(&world, 1200, 4, &world.memories[1]);
		EXPECT_EQ(atomic_load(&world.memories[0].mapped.view_count), 2);
		drop_memory(&world, &world.memories[0], &drop);
		flush(&world);
		EXPECT_EQ(atomic_load(&drop.count), 1);
		EXPECT(!mapped_memory_is_mapped(&world.memories[0].mapped));
		EXPECT_EQ(world.space->pools->tables.space.areas.range_count, 1);
		EXPECT_EQ(walk(&world, 1100), 0);
		EXPECT(shows(&world, 1200, &world.memories[1], 0));
		finish(&world);
	}
}

TEST(pools, come_with_the_first_update_that_shows_memory)
{
	struct world world;
	struct gpuva_operation unmap = { .kind = GPUVA_OPERATION_UNMAP,
					 .base = 1100 << GPUVA_PAGE_SHIFT,
					 .size_bytes = 4 << GPUVA_PAGE_SHIFT,
					 .protection = GPUVA_NO_ACCESS };
	struct gpuva_operation wrong;
	struct space_update *refused;

	start_pools(&world, PHYS);
	update(&world, &unmap, 1);
	EXPECT(!world.space->pools);
	wrong = map_operation(&world, 16, 4, &world.memories[0]);
	EXPECT_EQ(try_update(&world, &wrong, 1, NULL, &refused), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(atomic_load(&world.memories[0].mapped.view_count), 1);
	finish(&world);
}

TEST(pools, survive_no_memory)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct gpuva_operation operations[2];
		uint64_t fail_at = 0;
		bool fired;

		start_pools(&world, gpu_modes[m]);
		operations[0] = map_operation(&world, 1100, 4, &world.memories[0]);
		operations[1] = map_operation(&world, 2100, 4, &world.memories[1]);
		do {
			struct space_update *made = NULL;

			flush(&world);
			mem_fail_nth(++fail_at);
			NTSTATUS status = try_update(&world, operations, 2, NULL, &made);
			fired = mem_fail_stop();
			EXPECT_EQ(status, fired ? STATUS_NO_MEMORY : STATUS_SUCCESS);
			if (made)
				space_update_run(made);
			check(&world);
		} while (fired);
		EXPECT(fail_at > 6);
		flush(&world);
		EXPECT(shows(&world, 1103, &world.memories[0], 3));
		EXPECT(shows(&world, 2103, &world.memories[1], 3));
		finish(&world);
	}
}

TEST(pools, are_written_anew_after_a_reset_and_so_is_what_was_copied)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct gpuva_operation operation;
		struct space_update *late = NULL;

		start_pools(&world, gpu_modes[m]);
		update_one(&world, 1100, 4, &world.memories[0]);
		operation = map_operation(&world, 1200, 4, &world.memories[0]);
		EXPECT_EQ(try_update(&world, &operation, 1, NULL, &late), STATUS_SUCCESS);
		flush(&world);
		fake_set_automatic(world.fake, false);
		space_update_run(late);
		pager_suspend(world.fake->pager);
		while (fake_in_flight(world.fake) > 0)
			fake_retire_one(world.fake, SCHED_ABORTED);
		memset(world.fake->local + ROOM_FIRST, 0xA5, world.room_next - ROOM_FIRST);
		fake_set_automatic(world.fake, true);
		pager_restart(world.fake->pager);
		settle(&world);
		while (atomic_load(&world.space->pools->pending) > 0)
			flush(&world);
		EXPECT(shows(&world, 1100, &world.memories[0], 0));
		EXPECT(shows(&world, 1203, &world.memories[0], 3));
		update_one(&world, 1300, 4, &world.memories[0]);
		EXPECT(shows(&world, 1300, &world.memories[0], 0));
		finish(&world);
	}
}

/* ---- drivers that fail ---- */

static void expect_broken_and_mended(struct world *world, const struct told *watched)
{
	settle(world);
	while (atomic_load(&world->space->pools->pending) > 0)
		flush(world);
	EXPECT(atomic_load(&watched->count) > 0);
	EXPECT_EQ(watched->status, STATUS_DRIVER_INTERNAL_ERROR);
	EXPECT(!address_space_is_broken(world->space));
	EXPECT(!address_space_is_broken(world->space->pools));
	EXPECT(shows(world, 1100, &world->memories[0], 0));
	EXPECT(shows(world, 1103, &world->memories[0], 3));
}

TEST(pools, a_copy_that_the_driver_refuses_breaks_the_space_until_it_is_written_anew)
{
	for (int m = 0; m < 2; m++) {
		struct world world;
		struct gpuva_operation operation;
		struct space_update *late = NULL;
		struct told told = { 0 };
		struct told watched = { 0 };

		start_pools(&world, gpu_modes[m]);
		address_space_watch(world.space, &(struct space_listener){ told_done, &watched });
		operation = map_operation(&world, 1100, 4, &world.memories[0]);
		EXPECT_EQ(try_update(&world, &operation, 1, &told, &late), STATUS_SUCCESS);
		flush(&world);
		asked.answer = STATUS_INVALID_PARAMETER;
		space_update_run(late);
		flush(&world);
		EXPECT_EQ(told.status, STATUS_DRIVER_INTERNAL_ERROR);
		expect_broken_and_mended(&world, &watched);
		finish(&world);
	}
}

/* What was copied from there may be anything. */
TEST(pools, a_pool_that_cannot_be_written_breaks_the_space_that_copies_from_it)
{
	struct world world;
	struct gpuva_operation operation;
	struct space_update *late = NULL;
	struct told watched = { 0 };

	start_pools(&world, PHYS);
	address_space_watch(world.space, &(struct space_listener){ told_done, &watched });
	update_one(&world, 1200, 4, &world.memories[1]);
	asked.fails = MINIPORT_PAGING_UPDATE_PAGE_TABLE;
	asked.failing_table =
		world.space->pools->tables.root->below[0]->below[0]->place.offset_bytes;
	asked.answer = STATUS_INVALID_PARAMETER;
	operation = map_operation(&world, 1100, 4, &world.memories[0]);
	EXPECT_EQ(try_update(&world, &operation, 1, NULL, &late), STATUS_SUCCESS);
	space_update_run(late);
	flush(&world);
	expect_broken_and_mended(&world, &watched);
	EXPECT(shows(&world, 1200, &world.memories[1], 0));
	finish(&world);
}

/* ---- pages of 64 KiB ---- */

static struct page_tables_config describe_wide(struct world *world, uint32_t update_mode,
					       uint32_t flags)
{
	struct page_tables_config config = describe(world, update_mode, flags);

	config.mmu.leaf_table_size_64k_bytes = 4096;
	config.segments_of_64k_pages = 1 << (FAKE_LOCAL - 1);
	return config;
}

/* What the GPU finds in the twin of a leaf. */
static uint64_t wide_entry(struct world *world, uint64_t page)
{
	const struct table *wide = tables_at_locked(&world->space->tables, 0, page)->wide;
	uint64_t entry;

	memcpy(&entry,
	       fake_pointer(world->fake, wide->place.segment,
			    wide->place.offset_bytes + page % 512 / 16 * 8),
	       8);
	return entry;
}

TEST(pools, pages_of_64k_are_copied_as_such)
{
	for (int m = 0; m < 2; m++) {
		for (int is_dual = 0; is_dual < 2; is_dual++) {
			struct world world;
			struct memory *memory = &world.memories[0];

			start_with(&world, gpu_modes[m], describe_wide,
				   TABLES_HAVE_ZERO | (is_dual ? TABLES_ARE_DUAL : 0));
			memory->first_page = 2048;
			EXPECT_EQ(reserve(&world, BASE, 512, true), STATUS_PENDING);
			start_noting(&world);
			update_one(&world, 1104, 32, memory);
			EXPECT_EQ(asked.count, 1);
			EXPECT_EQ(asked.copies[0].source_index, 1);
			EXPECT_EQ(asked.copies[0].destination_index, 1104 % 512 / 16);
			EXPECT_EQ(asked.copies[0].count, 2);
			EXPECT_EQ(wide_entry(&world, 1104),
				  UINT64_C(2048) << MACHINE_PAGE_SHIFT | FAKE_LOCAL << 1 | 1);
			EXPECT_EQ(wide_entry(&world, 1120),
				  UINT64_C(2064) << MACHINE_PAGE_SHIFT | FAKE_LOCAL << 1 | 1);
			/* Pages of 4 KiB are not to be found where those of 64 KiB are. */
			asked.count = 0;
			update_one(&world, 1140, 2, memory);
			EXPECT_EQ(asked.count, 0);
			finish(&world);
		}
	}
}

/* ---- a root that grows ---- */

static uint64_t root_bytes(void *driver, uint32_t *entry_count)
{
	(void)driver;
	return *entry_count * 8ULL;
}

static struct page_tables_config describe_two_levels(struct world *world, uint32_t update_mode,
						     uint32_t flags)
{
	struct page_tables_config config = describe(world, update_mode, flags);

	config.mmu.level_count = 2;
	config.mmu.address_bits = 30;
	config.mmu.levels[0].index_bits = 5; /* one pool fills a leaf table */
	config.mmu.levels[1].index_bits = 2;
	config.root_bytes = root_bytes;
	return config;
}

TEST(pools, grow_with_what_is_kept_there)
{
	for (int m = 0; m < 2; m++) {
		struct world world;

		start_with(&world, gpu_modes[m], describe_two_levels, TABLES_HAVE_ZERO);
		EXPECT_EQ(reserve(&world, 32, 32, true), STATUS_PENDING);
		for (uint64_t i = 0; i < MEMORIES; i++) {
			update_one(&world, 32 + 4 * i, 4, &world.memories[i]);
			EXPECT(shows(&world, 32 + 4 * i, &world.memories[i], 0));
		}
		EXPECT_EQ(world.space->tables.root->entry_count, 4);
		EXPECT_EQ(world.space->pools->tables.root->entry_count, 8);
		finish(&world);
	}
}

TEST_MAIN("vidmm/space_pools")
