/* SPDX-License-Identifier: MIT */
/*
 * space_test.c - the kernel's own address space under a GpuMmu. fake.c walks the tables and has a
 * TLB: what is not mapped, mapped elsewhere, or mapped and not flushed, ends the test.
 */
#include "fake.h"
#include "support/test.h"

enum {
	CPU = MINIPORT_TABLE_CPU_VIRTUAL,
	VIRT = MINIPORT_TABLE_GPU_VIRTUAL,
	PHYS = MINIPORT_TABLE_GPU_PHYSICAL
};

static struct fake_config mode_config(uint32_t mode)
{
	return (struct fake_config){
		.has_mmu = true,
		.update_mode = mode,
		.table_segment = mode == CPU ? 0 : FAKE_LOCAL,
		.buffer_bytes = 65536,
	};
}

static struct fake *create(uint32_t mode, bool is_automatic)
{
	struct fake_config config = mode_config(mode);

	config.is_automatic = is_automatic;
	return fake_create(&config);
}

static struct miniport_paging_op *add_copy(struct fake_job *job, struct miniport_location source,
					   struct miniport_location destination,
					   uint64_t size_bytes)
{
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_TRANSFER);

	op->subject.driver_allocation = job;
	op->source = source;
	op->target = destination;
	op->size_bytes = size_bytes;
	return op;
}

TEST(space, tables_the_cpu_can_see_are_written_by_it_before_the_root_is_set)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct fake *fake = create(mode, false);

		EXPECT_EQ(fake_submitted(fake), 0);
		EXPECT_EQ(fake->roots_set, 1);
		for (uint32_t i = 0; i < atomic_load(&fake->log_count); i++) {
			EXPECT_EQ(fake->log[i].kind, MINIPORT_PAGING_UPDATE_PAGE_TABLE);
			EXPECT_EQ(fake->log[i].op.update_table.mode, CPU);
			EXPECT(!fake->log[i].had_memory);
		}
		EXPECT_EQ(fake->root.segment, mode == CPU ? 0 : FAKE_LOCAL);
		fake_destroy(fake);
	}
}

#define MADE_TEST(suite, claim, ...)                                                               \
	TEST_WITH(fake, fake, __VA_ARGS__, fake_destroy(fake), suite, claim)

MADE_TEST(space, every_table_is_filled_with_invalid_entries_first, create(PHYS, false))
{
	uint32_t initial = 0;

	for (uint32_t i = 0; i < atomic_load(&fake->log_count); i++) {
		const struct miniport_paging_op *op = &fake->log[i].op;

		EXPECT_EQ(op->update_table.is_initial, op->update_table.is_repeated);
		if (!op->update_table.is_initial)
			continue;
		EXPECT_EQ(op->update_table.first_index, 0);
		EXPECT_EQ(op->update_table.count, 512);
		initial++;
	}
	EXPECT_EQ(initial, fake->tables_taken);
	/* Leaves before what points at them. */
	for (uint32_t i = 1; i < atomic_load(&fake->log_count); i++)
		EXPECT(fake->log[i].op.update_table.level >=
		       fake->log[i - 1].op.update_table.level);
}

TEST(space, tables_only_the_gpu_reaches_are_written_by_physical_address)
{
	struct fake_config config = mode_config(PHYS);

	config.hides_tables = true;
	config.is_automatic = true;
	struct fake *fake = fake_create(&config);
	EXPECT(fake_submitted(fake) > 0);
	EXPECT_EQ(fake->log[0].op.update_table.mode, PHYS);
	EXPECT(fake->log[0].had_memory);
	EXPECT_EQ(fake->roots_set, 1);

	struct miniport_page_run from = { 0, 4 };
	struct miniport_page_run to = { 8, 4 };
	struct fake_job job;
	memset(fake->memory.local, 0x77, 16384);
	fake_job_init(&job, fake);
	add_copy(&job, fake_place(FAKE_LOCAL, &from), fake_place(FAKE_LOCAL, &to), 16384);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(fake->memory.local[8 * 4096], 0x77);
	fake_destroy(fake);
}

TEST(space, tables_nobody_can_write_are_refused)
{
	struct fake_config config = mode_config(VIRT);
	struct fake *fake;

	config.hides_tables = true;
	EXPECT_EQ(fake_try_create(&config, &fake), STATUS_NOT_SUPPORTED);
	config.update_mode = CPU;
	EXPECT_EQ(fake_try_create(&config, &fake), STATUS_NOT_SUPPORTED);
}

TEST(space, too_few_address_bits_are_refused)
{
	struct fake_config config = mode_config(PHYS);
	struct fake *fake;

	config.levels = 2;
	config.address_bits = 16;
	EXPECT_EQ(fake_try_create(&config, &fake), STATUS_NOT_SUPPORTED);
}

TEST(space, the_root_of_two_levels_is_as_large_as_the_driver_says)
{
	struct fake_config config = mode_config(PHYS);

	config.levels = 2;
	config.address_bits = 32;
	config.is_automatic = true;
	struct fake *fake = fake_create(&config);
	EXPECT_EQ(fake->root.entry_count, 512);
	struct miniport_page_run run = { 0, 4 };
	struct fake_job job;
	fake_job_init(&job, fake);
	struct miniport_paging_op *op = fake_job_add(&job, MINIPORT_PAGING_FILL);
	op->target = fake_place(FAKE_LOCAL, &run);
	op->size_bytes = 16384;
	op->fill.pattern = 5;
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(fake->memory.local[12288], 5);
	fake_destroy(fake);
}

/* Entries of both windows, one flush, one transfer. */
TEST(space, a_copy_is_mapped_flushed_and_then_transferred)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct fake *fake = create(mode, true);
		uint32_t first = atomic_load(&fake->log_count);
		struct miniport_page_run local = { 100, 8 };
		struct fake_pages pages;
		struct fake_job job;

		fake_pages_init(&pages, 4, 2);
		for (uint32_t i = 0; i < 8; i++)
			memset(fake_pages_byte(&pages, i * 4096), (int)i + 1, 4096);
		fake_job_init(&job, fake);
		add_copy(&job, fake_pages_place(&pages), fake_place(FAKE_LOCAL, &local), 8 * 4096)
			->offset_bytes = 65536;
		paging_job_queue(&job.job);
		fake_job_wait(&job);
		EXPECT_EQ(job.status, STATUS_SUCCESS);
		EXPECT_EQ(atomic_load(&fake->log_count) - first, 4);
		const struct fake_log_entry *log = &fake->log[first];
		EXPECT_EQ(log[0].kind, MINIPORT_PAGING_UPDATE_PAGE_TABLE);
		EXPECT_EQ(log[0].op.update_table.mode, mode);
		EXPECT_EQ(log[0].op.update_table.count, 8);
		EXPECT(log[0].op.subject.driver_allocation == &job);
		EXPECT_EQ(log[0].op.offset_bytes, 65536);
		EXPECT_EQ(log[1].kind, MINIPORT_PAGING_UPDATE_PAGE_TABLE);
		EXPECT_EQ(log[1].op.offset_bytes, 65536);
		EXPECT_EQ(log[2].kind, MINIPORT_PAGING_FLUSH_TLB);
		EXPECT_EQ(log[3].kind, MINIPORT_PAGING_VIRTUAL_TRANSFER);
		EXPECT(log[3].op.source.segment == 0 && log[3].op.target.segment == FAKE_LOCAL);
		EXPECT_EQ(log[3].op.offset_bytes, 65536);
		EXPECT_EQ(log[3].op.source.gpu_address, log[0].op.update_table.first_address);
		EXPECT_EQ(log[3].op.target.gpu_address, log[1].op.update_table.first_address);
		for (uint32_t i = 0; i < 8; i++)
			EXPECT_EQ(fake->memory.local[(100 + i) * 4096], i + 1);
		fake_destroy(fake);
		fake_pages_finish(&pages);
	}
}

TEST(space, a_transfer_still_says_where_its_sides_are)
{
	struct fake *fake = create(PHYS, true);
	struct miniport_page_run local = { 100, 2 };
	struct miniport_page_run other = { 200, 2 };
	struct fake_pages pages;
	struct fake_job job;

	fake_pages_init(&pages, 1, 2);
	fake_job_init(&job, fake);
	add_copy(&job, fake_place(FAKE_LOCAL, &local), fake_pages_place(&pages), 8192);
	add_copy(&job, fake_place(FAKE_LOCAL, &local), fake_place(FAKE_LOCAL, &other), 8192);
	uint32_t first = atomic_load(&fake->log_count);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(fake->log[first + 3].op.source.segment, FAKE_LOCAL);
	EXPECT_EQ(fake->log[first + 3].op.target.segment, 0);
	EXPECT_EQ(fake->log[first + 7].op.source.segment, FAKE_LOCAL);
	EXPECT_EQ(fake->log[first + 7].op.target.segment, FAKE_LOCAL);
	fake_destroy(fake);
	fake_pages_finish(&pages);
}

/* Two pages of local memory, through the next window. */
static void copy_once(struct fake *fake, bool is_back)
{
	static const struct miniport_page_run here = { 0, 2 }, there = { 8, 2 };
	struct fake_job job;

	fake_job_init(&job, fake);
	add_copy(&job, fake_place(FAKE_LOCAL, is_back ? &there : &here),
		 fake_place(FAKE_LOCAL, is_back ? &here : &there), 8192);
	paging_job_queue(&job.job);
	fake_job_wait(&job);
}

/* Every window has been used, on a GPU that remembers no invalid entries. */
static struct fake *create_with_used_windows(void)
{
	struct fake_config config = mode_config(PHYS);

	config.mmu_flags = FAKE_INVALID_NOT_CACHED;
	config.is_automatic = true;
	struct fake *fake = fake_create(&config);
	for (uint32_t i = 0; i < fake->pager->space.layout.small_count; i++)
		copy_once(fake, false);
	return fake;
}

TEST(space, no_flush_for_entries_that_were_invalid_where_the_gpu_remembers_none)
{
	struct fake *fake = create_with_used_windows();
	uint32_t slots = fake->pager->space.layout.small_count;

	EXPECT_EQ(fake_count(fake, 0, MINIPORT_PAGING_FLUSH_TLB), 0);

	/* Now they come round: valid entries change, of a row of windows at once. */
	enum { ROW = 64 };
	EXPECT(slots >= 2 * ROW && slots % ROW == 0);
	for (uint32_t i = 0; i < 2 * ROW; i++)
		copy_once(fake, true);
	EXPECT_EQ(fake_count(fake, 0, MINIPORT_PAGING_FLUSH_TLB), 2);
	fake_destroy(fake);
}

/* Then the row cannot be made invalid, and each window is flushed by itself. */
TEST(space, a_row_of_windows_that_is_in_use_is_flushed_one_by_one)
{
	struct fake *fake = create_with_used_windows();

	/* As if the last of the row was not back. */
	fake->pager->space.small[63].last_sequence = UINT64_MAX;
	for (uint32_t i = 0; i < 3; i++)
		copy_once(fake, true);
	EXPECT_EQ(fake_count(fake, 0, MINIPORT_PAGING_FLUSH_TLB), 3);
	fake_destroy(fake);
}

TEST(space, a_windows_entries_are_not_written_again_before_its_fence)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct fake_config config = mode_config(mode);
		struct miniport_page_run from = { 0, 2 };
		struct miniport_page_run to = { 8, 2 };
		struct fake_job jobs[17];

		config.levels = 2; /* hardly any addresses, and buffers enough */
		config.address_bits = 21;
		config.buffer_bytes = 4096;
		config.buffer_count = 20;
		struct fake *fake = fake_create(&config);
		uint32_t slots = fake->pager->space.layout.small_count;
		EXPECT(slots >= 2 && slots <= 16);
		for (uint32_t i = 0; i < slots; i++) {
			fake_job_init(&jobs[i], fake);
			add_copy(&jobs[i], fake_place(FAKE_LOCAL, &from),
				 fake_place(FAKE_LOCAL, &to), 8192);
			paging_job_queue(&jobs[i].job);
			fake_wait_submitted(fake, i + 1);
		}
		uint32_t before = atomic_load(&fake->log_count);
		fake_job_init(&jobs[slots], fake);
		add_copy(&jobs[slots], fake_place(FAKE_LOCAL, &to), fake_place(FAKE_LOCAL, &from),
			 8192);
		paging_job_queue(&jobs[slots].job);
		EXPECT(pager_validate(fake->pager) == NULL);
		EXPECT_EQ(atomic_load(&fake->log_count), before);
		fake_complete_one(fake);
		fake_wait_submitted(fake, slots + 1);
		/* It is the one that came back. */
		EXPECT_EQ(fake->log[before].op.update_table.first_address,
			  fake->pager->space.small[0].address);
		fake_job_complete(&jobs[slots]);
		EXPECT_EQ(jobs[slots].status, STATUS_SUCCESS);
		fake_destroy(fake);
	}
}

enum { WINDOW_PAGES = 2048, MANY_WINDOWS = 5 };

/* So many windows one way, from or to local memory from `run` on. */
static void init_way(struct fake_job *job, struct fake *fake, struct fake_pages *pages,
		     const struct miniport_page_run *run, enum paging_way way)
{
	struct miniport_location local = fake_place(FAKE_LOCAL, run);
	uint32_t windows = (uint32_t)(run->count / WINDOW_PAGES);

	fake_pages_init(pages, windows, WINDOW_PAGES);
	fake_job_init(job, fake);
	job->job.way = way;
	if (way == PAGING_WAY_IN)
		add_copy(job, fake_pages_place(pages), local, run->count * 4096);
	else
		add_copy(job, local, fake_pages_place(pages), run->count * 4096);
}

/* Whose the n-th transfer was that the driver was asked for. */
static const void *transfer_of(struct fake *fake, uint32_t n)
{
	for (uint32_t i = 0; i < atomic_load(&fake->log_count); i++) {
		if (fake->log[i].kind == MINIPORT_PAGING_VIRTUAL_TRANSFER && n-- == 0)
			return fake->log[i].op.subject.driver_allocation;
	}
	return NULL;
}

TEST(space, what_moves_out_and_what_moves_in_have_turns_a_window_each)
{
	struct fake_config config = mode_config(PHYS);
	static struct miniport_page_run runs[] = { { 1024, 2 * WINDOW_PAGES },
						   { 6144, 2 * WINDOW_PAGES } };
	struct fake_pages pages[2];
	struct fake_job jobs[2];
	struct fake_job first;

	config.buffer_bytes = 4 << 20; /* the fake's entries take room */
	struct fake *fake = fake_create(&config);
	fake_job_queue_fill(&first, fake, 1);
	fake_wait_submitted(fake, 1);
	for (uint32_t i = 0; i < 2; i++) {
		init_way(&jobs[i], fake, &pages[i], &runs[i],
			 i == 0 ? PAGING_WAY_OUT : PAGING_WAY_IN);
		fake_job_after(&jobs[i], &first, 0);
		paging_job_queue(&jobs[i].job);
	}
	*fake_pages_byte(&pages[1], 3 * WINDOW_PAGES * 2048) = 77;
	fake_job_complete(&first);
	fake_job_complete(&jobs[0]);
	fake_job_complete(&jobs[1]);
	for (uint32_t i = 0; i < 4; i++)
		EXPECT(transfer_of(fake, i) == &jobs[i % 2]);
	EXPECT(transfer_of(fake, 4) == NULL);
	EXPECT_EQ(fake->memory.local[(6144ULL + WINDOW_PAGES * 3 / 2) * 4096], 77);
	fake_destroy(fake);
	fake_pages_finish(&pages[0]);
	fake_pages_finish(&pages[1]);
}

TEST(space, what_moves_out_leaves_windows_for_what_moves_in)
{
	struct fake_config config = mode_config(PHYS);
	static struct miniport_page_run out_run = { 1024, MANY_WINDOWS * WINDOW_PAGES };
	static struct miniport_page_run in_run = { 1024, WINDOW_PAGES };
	struct fake_pages pages[2];
	struct fake_job out;
	struct fake_job in;

	config.buffer_bytes = 4 << 20;
	struct fake *fake = fake_create(&config);
	init_way(&out, fake, &pages[0], &out_run, PAGING_WAY_OUT);
	paging_job_queue(&out.job);
	fake_wait_submitted(fake, 3); /* all windows that it may have */
	EXPECT(transfer_of(fake, MANY_WINDOWS - 1) == NULL);
	init_way(&in, fake, &pages[1], &in_run, PAGING_WAY_IN);
	paging_job_queue(&in.job);
	fake_wait_submitted(fake, 4);
	EXPECT(transfer_of(fake, MANY_WINDOWS - 1) == &in);
	EXPECT(pager_validate(fake->pager) == NULL);
	fake_job_complete(&in);
	fake_job_complete(&out);
	EXPECT_EQ(out.status, STATUS_SUCCESS);
	fake_destroy(fake);
	fake_pages_finish(&pages[0]);
	fake_pages_finish(&pages[1]);
}

TEST(space, a_large_copy_is_few_calls_and_several_packets)
{
	struct fake_config config = mode_config(PHYS);

	config.buffer_bytes = 4 << 20; /* the fake's entries take room */
	struct fake *fake = fake_create(&config);
	static struct miniport_page_run local = { 1024, 8192 };
	struct fake_pages pages;
	struct fake_job job;
	uint64_t size_bytes = 32 << 20;

	fake_pages_init(&pages, 32, 256);
	for (uint64_t i = 0; i < size_bytes; i += 4096)
		memcpy(fake_pages_byte(&pages, i), &i, sizeof(i));
	fake_job_init(&job, fake);
	add_copy(&job, fake_pages_place(&pages), fake_place(FAKE_LOCAL, &local), size_bytes);
	uint32_t first = atomic_load(&fake->log_count);
	paging_job_queue(&job.job);
	/* The first window's at once, then two together, and the rest. */
	fake_wait_submitted(fake, 3);
	EXPECT_EQ(fake_in_flight(fake), 3);
	fake_job_complete(&job);
	EXPECT_EQ(fake_count(fake, first, MINIPORT_PAGING_VIRTUAL_TRANSFER), 4);
	EXPECT_EQ(fake_count(fake, first, MINIPORT_PAGING_FLUSH_TLB), 4);
	/* One for each leaf table of each side. */
	EXPECT_EQ(fake_count(fake, first, MINIPORT_PAGING_UPDATE_PAGE_TABLE), 2 * 16);
	for (uint64_t i = 0; i < size_bytes; i += 4096) {
		uint64_t found;
		memcpy(&found, fake->memory.local + 1024 * 4096 + i, sizeof(found));
		EXPECT_EQ(found, i);
	}
	fake_destroy(fake);
	fake_pages_finish(&pages);
}

MADE_TEST(space, a_fill_larger_than_a_window_is_several, create(CPU, true))
{
	static struct miniport_page_run local = { 16, 5000 };
	struct fake_job job;

	fake_job_init(&job, fake);
	struct miniport_paging_op *op = fake_job_add(&job, MINIPORT_PAGING_FILL);
	op->target = fake_place(FAKE_LOCAL, &local);
	op->size_bytes = 5000 * 4096;
	op->fill.pattern = 0x03030303;
	op->offset_bytes = 4096;
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(fake_count(fake, 0, MINIPORT_PAGING_VIRTUAL_FILL), 2);
	uint32_t last = atomic_load(&fake->log_count) - 1;
	EXPECT_EQ(fake->log[last].op.offset_bytes, 4096 + (16 << 20));
	EXPECT_EQ(fake->memory.local[16 * 4096], 3);
	EXPECT_EQ(fake->memory.local[5016 * 4096 - 1], 3);
	EXPECT_EQ(fake->memory.local[5016 * 4096], 0xEE);
}

/* A window of several leaf tables, and several windows: each says which part of it is shown. */
MADE_TEST(space, entries_of_a_window_say_which_part_of_the_allocation_they_show, create(CPU, true))
{
	static struct miniport_page_run local = { 16, 5000 };
	uint32_t first = atomic_load(&fake->log_count);
	uint64_t offset_bytes = 3 * 4096;
	uint32_t updates = 0;
	struct fake_job job;

	fake_job_init(&job, fake);
	struct miniport_paging_op *op = fake_job_add(&job, MINIPORT_PAGING_FILL);
	op->target = fake_place(FAKE_LOCAL, &local);
	op->size_bytes = 5000 * 4096;
	op->offset_bytes = offset_bytes;
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	for (uint32_t i = first; i < atomic_load(&fake->log_count); i++) {
		const struct miniport_paging_op *update = &fake->log[i].op;

		if (fake->log[i].kind != MINIPORT_PAGING_UPDATE_PAGE_TABLE)
			continue;
		EXPECT_EQ(update->offset_bytes, offset_bytes);
		offset_bytes += update->update_table.count * 4096ULL;
		updates++;
	}
	EXPECT_EQ(offset_bytes, 5003 * 4096);
	EXPECT(updates > 2);
}

/* How many updates since `first` name the first of pages in a row, and how many each page. */
static void count_updates(const struct fake *fake, uint32_t first, uint32_t *runs, uint32_t *lists)
{
	*runs = 0;
	*lists = 0;
	for (uint32_t i = first; i < atomic_load(&fake->log_count); i++) {
		if (fake->log[i].kind != MINIPORT_PAGING_UPDATE_PAGE_TABLE)
			continue;
		*runs += fake->log[i].op.update_table.is_run;
		*lists += !fake->log[i].op.update_table.is_run;
	}
}

/* fake.c sees that both show the same. */
TEST(space, pages_in_a_row_are_shown_by_the_first_of_them_and_others_one_by_one)
{
	static const struct miniport_page_run row = { 16, 1024 };
	static const struct miniport_page_run pieces[] = { { 3000, 700 }, { 2000, 324 } };
	uint32_t runs;
	uint32_t lists;

	for (uint32_t mode = 0; mode < 3; mode++) {
		struct fake *fake = create(mode, true);
		struct fake_job jobs[2];

		for (uint32_t i = 0; i < 2; i++) {
			uint32_t first = atomic_load(&fake->log_count);

			fake_job_init(&jobs[i], fake);
			struct miniport_paging_op *op =
				fake_job_add(&jobs[i], MINIPORT_PAGING_FILL);
			op->target = fake_place(FAKE_LOCAL, i == 0 ? &row : pieces);
			op->target.run_count = i + 1;
			op->size_bytes = 1024 * 4096;
			op->fill.pattern = 0x07070707;
			paging_job_queue(&jobs[i].job);
			fake_job_wait(&jobs[i]);
			EXPECT_EQ(jobs[i].status, STATUS_SUCCESS);
			count_updates(fake, first, &runs, &lists);
			EXPECT(runs > 0);
			EXPECT_EQ(lists, i);
		}
		EXPECT_EQ(fake->memory.local[16 * 4096], 7);
		EXPECT_EQ(fake->memory.local[1040 * 4096 - 1], 7);
		EXPECT_EQ(fake->memory.local[1040 * 4096], 0xEE);
		EXPECT_EQ(fake->memory.local[3000 * 4096], 7);
		EXPECT_EQ(fake->memory.local[3700 * 4096 - 1], 7);
		EXPECT_EQ(fake->memory.local[2324 * 4096 - 1], 7);
		EXPECT_EQ(fake->memory.local[2324 * 4096], 0xEE);
		fake_destroy(fake);
	}
}

static void add_update(struct fake_job *job, uint32_t segment, const struct miniport_page_run *run,
		       const struct miniport_pte *entries, uint32_t count)
{
	struct miniport_paging_op *op = fake_job_add_update(job, segment, run);

	op->update_table.level = 1;
	op->update_table.entries = entries;
	op->update_table.first_index = 3;
	op->update_table.count = count;
	op->update_table.is_eviction = true;
	op->update_table.driver_protection = 99;
	op->update_table.driver_process = job;
	op->update_table.first_address = 0x123000;
	op->offset_bytes = 8192;
}

TEST(space, a_table_is_written_the_way_the_driver_wants)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct fake *fake = create(mode, true);
		uint32_t first = atomic_load(&fake->log_count);
		struct miniport_page_run run = { 300, 1 };
		struct miniport_pte entries[40];
		struct fake_pages pages;
		struct fake_job job;

		fake_pages_init(&pages, 1, 1);
		for (uint32_t i = 0; i < 40; i++)
			entries[i] = (struct miniport_pte){ .page = 7 * i,
							    .segment = 1,
							    .is_valid = true };
		fake_job_init(&job, fake);
		add_update(&job, mode == CPU ? 0 : FAKE_LOCAL, mode == CPU ? pages.runs : &run,
			   entries, 40);
		paging_job_queue(&job.job);
		fake_job_wait(&job);
		EXPECT_EQ(job.status, STATUS_SUCCESS);

		uint64_t *table = (uint64_t *)(mode == CPU ? fake_pages_byte(&pages, 0)
							   : fake->memory.local + 300 * 4096);
		for (uint32_t i = 0; i < 40; i++)
			EXPECT_EQ(table[3 + i], pte_pack(&entries[i]));
		const struct miniport_paging_op *op =
			&fake->log[atomic_load(&fake->log_count) - 1].op;
		EXPECT_EQ(op->update_table.mode, mode);
		EXPECT_EQ(op->update_table.level, 1);
		EXPECT_EQ(op->update_table.driver_protection, 99);
		EXPECT(op->update_table.driver_process == &job);
		EXPECT(op->update_table.is_eviction && !op->update_table.is_initial);
		EXPECT_EQ(op->update_table.first_address, 0x123000);
		EXPECT_EQ(op->offset_bytes, 8192);
		/* By address: the table is mapped and flushed first. */
		EXPECT_EQ(atomic_load(&fake->log_count) - first, mode == VIRT ? 3 : 1);
		EXPECT_EQ(fake->log[first].had_memory, mode != CPU);
		fake_destroy(fake);
		fake_pages_finish(&pages);
	}
}

TEST(space, a_table_the_cpu_writes_waits_for_the_jobs_copies)
{
	struct fake *fake = create(CPU, false);
	uint32_t first = atomic_load(&fake->log_count);
	struct miniport_page_run from = { 0, 2 };
	struct miniport_page_run to = { 8, 2 };
	struct miniport_pte entry = { .page = 1, .is_valid = true };
	struct fake_pages pages;
	struct fake_job job;

	fake_pages_init(&pages, 1, 1);
	fake_job_init(&job, fake);
	add_copy(&job, fake_place(FAKE_LOCAL, &from), fake_place(FAKE_LOCAL, &to), 8192);
	add_update(&job, 0, pages.runs, &entry, 1);
	paging_job_queue(&job.job);
	fake_wait_submitted(fake, 1);
	EXPECT_EQ(((uint64_t *)fake_pages_byte(&pages, 0))[3], 0);
	EXPECT_EQ(fake_count(fake, first, MINIPORT_PAGING_UPDATE_PAGE_TABLE), 2);
	fake_complete_one(fake);
	fake_job_wait(&job);
	EXPECT_EQ(((uint64_t *)fake_pages_byte(&pages, 0))[3], pte_pack(&entry));
	EXPECT_EQ(fake_submitted(fake), 1); /* nothing to submit for it */
	fake_destroy(fake);
	fake_pages_finish(&pages);
}

/* Both tables are mapped, each at a multiple of 64 KiB (fake.c), and the GPU reads what was there
 * when its turn came. */
TEST(space, entries_are_copied_from_table_to_table_at_addresses_of_the_kernels)
{
	static const uint32_t modes[] = { VIRT, PHYS };

	for (uint32_t m = 0; m < 2; m++) {
		struct fake *fake = create(modes[m], false);
		struct miniport_page_run from = { 40, 1 };
		struct miniport_page_run to = { 50, 1 };
		struct miniport_table_copy copies[2] = {
			{ .source_index = 3, .destination_index = 500, .count = 12 },
			{ .source_index = 511, .destination_index = 0, .count = 1 }
		};
		uint64_t *source = (uint64_t *)(fake->memory.local + 40 * 4096);
		const uint64_t *destination = (uint64_t *)(fake->memory.local + 50 * 4096);
		struct fake_job job;
		uint32_t before = atomic_load(&fake->log_count);

		fake_job_init(&job, fake);
		struct miniport_paging_op *op =
			fake_job_add(&job, MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES);
		op->source = fake_place(FAKE_LOCAL, &from);
		op->target = fake_place(FAKE_LOCAL, &to);
		op->size_bytes = 4096;
		op->copy_entries.copies = copies;
		op->copy_entries.count = 2;
		paging_job_queue(&job.job);
		fake_wait_submitted(fake, 1);
		for (uint64_t i = 0; i < 512; i++)
			source[i] = 0x1000 + i;
		fake_job_complete(&job);
		EXPECT_EQ(job.status, STATUS_SUCCESS);
		EXPECT_EQ(destination[499], 0xEEEEEEEEEEEEEEEE);
		for (uint64_t i = 0; i < 12; i++)
			EXPECT_EQ(destination[500 + i], 0x1003 + i);
		EXPECT_EQ(destination[0], 0x1000 + 511);
		EXPECT_EQ(destination[1], 0xEEEEEEEEEEEEEEEE);
		EXPECT_EQ(fake_count(fake, before, MINIPORT_PAGING_UPDATE_PAGE_TABLE), 2);
		EXPECT_EQ(fake_count(fake, before, MINIPORT_PAGING_FLUSH_TLB), 1);
		EXPECT_EQ(fake_count(fake, before, MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES), 1);
		fake_destroy(fake);
	}
}

MADE_TEST(space, a_table_in_a_segment_the_cpu_sees_is_written_through_its_pointer,
	  create(CPU, true))
{
	struct miniport_page_run run = { 300, 1 };
	struct miniport_pte entry = { .page = 1, .is_valid = true };
	struct fake_job job;

	fake_job_init(&job, fake);
	add_update(&job, FAKE_LOCAL, &run, &entry, 1);
	job.ops[0].target.pointer = fake->memory.local + 300 * 4096;
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(((uint64_t *)(fake->memory.local + 300 * 4096))[3], pte_pack(&entry));
}

TEST(space, a_context_is_seen_at_an_address_of_the_kernels)
{
	for (uint32_t mode = 0; mode < 3; mode++) {
		struct fake *fake = create(mode, true);
		char data[] = "where the root is";
		struct miniport_page_run run = { 300, 40 };
		struct fake_pages pages;
		struct fake_job job;

		fake_pages_init(&pages, 3, 1);
		fake_job_init(&job, fake);
		struct miniport_paging_op *op =
			fake_job_add(&job, MINIPORT_PAGING_INIT_CONTEXT_RESOURCE);
		op->target = fake_pages_place(&pages);
		op->size_bytes = 3 * 4096;
		op = fake_job_add(&job, MINIPORT_PAGING_INIT_CONTEXT_RESOURCE);
		op->target = fake_place(FAKE_LOCAL, &run);
		op->size_bytes = 40 * 4096;
		op = fake_job_add(&job, MINIPORT_PAGING_UPDATE_CONTEXT_ALLOCATION);
		op->target = fake_pages_place(&pages);
		op->size_bytes = 3 * 4096;
		op->update_context.private_data = data;
		op->update_context.private_bytes = sizeof(data);
		paging_job_queue(&job.job);
		fake_job_wait(&job);
		EXPECT_EQ(job.status, STATUS_SUCCESS);
		EXPECT_EQ(fake->memory.local[300 * 4096], 0x1C);
		EXPECT(memcmp(fake_pages_byte(&pages, 0), data, sizeof(data)) == 0);
		EXPECT_EQ(fake_pages_byte(&pages, 0)[63], 0x1C);
		fake_destroy(fake);
		fake_pages_finish(&pages);
	}
}

MADE_TEST(space, a_context_that_no_window_holds_is_refused, create(PHYS, true))
{
	struct miniport_page_run run = { 0, 4097 };
	struct fake_job job;

	fake_job_init(&job, fake);
	struct miniport_paging_op *op = fake_job_add(&job, MINIPORT_PAGING_INIT_CONTEXT_RESOURCE);
	op->target = fake_place(FAKE_LOCAL, &run);
	op->size_bytes = 4097 * 4096;
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_NOT_SUPPORTED);
}

TEST(space, tables_are_invalidated_at_the_end_where_the_driver_asks_for_it)
{
	struct fake_config config = mode_config(PHYS);

	config.mmu_flags = FAKE_EXPLICIT_INVALIDATION;
	struct fake *fake = fake_create(&config);
	uint8_t *local = fake->memory.local;
	uint64_t taken = fake->local_taken;
	uint64_t *tables = (uint64_t *)(local + FAKE_LOCAL_BYTES - taken);
	uint64_t valid = 0;
	for (uint64_t i = 0; i < taken / 8; i++)
		valid += tables[i] & 1;
	EXPECT(valid > 0);
	/* Destroyed by hand, because we want to see what is left. */
	pager_destroy(fake->pager);
	for (uint64_t i = 0; i < taken / 8; i++)
		EXPECT_EQ(tables[i], 0);
	EXPECT_EQ(fake->tables_taken, 0);
	fake_free(fake);
}

TEST_MAIN("paging/space")
