/* SPDX-License-Identifier: MIT */
/*
 * model_test.c - random jobs against a model of memory, in every address model and table mode.
 *
 * Blocks have a home in the machine and one in local memory. Jobs copy in, copy out, fill, copy
 * between blocks and write page tables; jobs on one block follow each other, others run as they
 * like. The model applies each job when it is queued, so after a flush every byte has a value.
 */
#include "base/random.h"
#include "fake.h"
#include "support/test.h"

enum { BLOCKS = 12, BLOCK_PAGES = 24, ROUNDS = 40, JOBS = 24, TABLES = 4 };

struct block {
	struct fake_pages pages;
	struct miniport_page_run local[BLOCK_PAGES];
	uint32_t local_runs;
	uint32_t system_model[BLOCK_PAGES]; /* what every word of a page is */
	uint32_t local_model[BLOCK_PAGES];
	struct fake_job *last;
};

struct written_table {
	struct fake_pages pages;
	struct miniport_page_run local;
	uint64_t model[512];
	struct fake_job *last;
};

struct model {
	struct fake *fake;
	struct random random;
	struct block blocks[BLOCKS];
	struct written_table tables[TABLES];
	struct fake_job jobs[JOBS];
	struct miniport_pte entries[JOBS][FAKE_OPS][16];
	uint32_t job_count;
	uint32_t last_pattern;
};

static uint32_t below(struct model *model, uint32_t bound)
{
	return (uint32_t)random_below(&model->random, bound);
}

static struct miniport_location local_place(const struct block *block)
{
	return (struct miniport_location){ .segment = FAKE_LOCAL,
					   .run_count = block->local_runs,
					   .runs = block->local };
}

static void set_words(uint8_t *page, uint32_t word)
{
	for (uint32_t i = 0; i < 4096; i += 4)
		memcpy(page + i, &word, 4);
}

static uint8_t *local_byte(struct fake *fake, const struct block *block, uint32_t page)
{
	uint64_t in_row;
	struct miniport_location place = local_place(block);

	return fake->memory.local + location_page(&place, page * 4096ULL, &in_row) * 4096;
}

static void block_init(struct model *model, struct block *block, uint32_t number)
{
	bool is_scattered = model->fake->config.has_mmu;
	uint32_t first = 64 + number * 4 * BLOCK_PAGES;

	fake_pages_init(&block->pages, 6, BLOCK_PAGES / 6);
	block->local_runs = is_scattered ? BLOCK_PAGES / 2 : 1;
	for (uint32_t i = 0; i < block->local_runs; i++)
		block->local[i] = is_scattered
					  ? (struct miniport_page_run){ first + (11 - i) * 4, 2 }
					  : (struct miniport_page_run){ first, BLOCK_PAGES };
	block->last = NULL;
	for (uint32_t i = 0; i < BLOCK_PAGES; i++) {
		block->system_model[i] = ++model->last_pattern;
		block->local_model[i] = ++model->last_pattern;
		set_words(fake_pages_byte(&block->pages, i * 4096ULL), block->system_model[i]);
		set_words(local_byte(model->fake, block, i), block->local_model[i]);
	}
}

static void after(struct fake_job *job, struct fake_job **last, uint32_t *dependency)
{
	if (*last && *last != job)
		fake_job_after(job, *last, (*dependency)++);
	*last = job;
}

static void add_copy(struct model *model, struct fake_job *job, struct block *block)
{
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_TRANSFER);
	bool is_in = below(model, 2);
	uint32_t first = below(model, BLOCK_PAGES);
	uint32_t count = 1 + below(model, BLOCK_PAGES - first);

	op->source = is_in ? fake_pages_place(&block->pages) : local_place(block);
	op->target = is_in ? local_place(block) : fake_pages_place(&block->pages);
	op->source.offset_bytes = op->target.offset_bytes = first * 4096ULL;
	op->size_bytes = count * 4096ULL;
	for (uint32_t i = first; i < first + count; i++) {
		if (is_in)
			block->local_model[i] = block->system_model[i];
		else
			block->system_model[i] = block->local_model[i];
	}
}

static void add_fill(struct model *model, struct fake_job *job, struct block *block)
{
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_FILL);
	uint32_t first = below(model, BLOCK_PAGES);
	uint32_t count = 1 + below(model, BLOCK_PAGES - first);

	op->target = local_place(block);
	op->target.offset_bytes = first * 4096ULL;
	op->size_bytes = count * 4096ULL;
	op->fill.pattern = ++model->last_pattern;
	for (uint32_t i = first; i < first + count; i++)
		block->local_model[i] = op->fill.pattern;
}

static void add_exchange(struct fake_job *job, struct block *from, struct block *to)
{
	struct miniport_paging_op *op = fake_job_add(job, MINIPORT_PAGING_TRANSFER);

	op->source = local_place(from);
	op->target = local_place(to);
	op->size_bytes = BLOCK_PAGES * 4096ULL;
	memcpy(to->local_model, from->local_model, sizeof(to->local_model));
}

static void add_table(struct model *model, struct fake_job *job, struct written_table *table,
		      struct miniport_pte *entries)
{
	bool is_cpu = model->fake->config.update_mode == MINIPORT_TABLE_CPU_VIRTUAL;
	struct miniport_paging_op *op = fake_job_add_update(
		job, is_cpu ? 0 : FAKE_LOCAL, is_cpu ? table->pages.runs : &table->local);
	bool is_repeated = below(model, 2);
	uint32_t count = 1 + below(model, 16);
	uint32_t first = below(model, 512 - 16);

	for (uint32_t i = 0; i < 16; i++)
		entries[i] = (struct miniport_pte){ .page = below(model, 1 << 20),
						    .segment = (uint8_t)below(model, 3),
						    .is_valid = below(model, 4) != 0 };
	op->update_table.entries = entries;
	op->update_table.first_index = first;
	op->update_table.count = count;
	op->update_table.is_repeated = is_repeated;
	for (uint32_t i = 0; i < count; i++)
		table->model[first + i] = pte_pack(&entries[is_repeated ? 0 : i]);
}

static void queue_random(struct model *model)
{
	uint32_t number = model->job_count++;
	struct fake_job *job = &model->jobs[number];
	struct block *block = &model->blocks[below(model, BLOCKS)];
	struct block *other = &model->blocks[below(model, BLOCKS)];
	struct written_table *table =
		model->fake->config.has_mmu ? &model->tables[below(model, TABLES)] : NULL;
	uint32_t ops = below(model, 6);
	uint32_t dependency = 0;

	fake_job_init(job, model->fake);
	after(job, &block->last, &dependency);
	after(job, &other->last, &dependency);
	if (table)
		after(job, &table->last, &dependency);
	for (uint32_t i = 0; i < ops; i++) {
		uint32_t kind = below(model, table ? 4 : 3);

		if (kind == 0)
			add_copy(model, job, block);
		else if (kind == 1)
			add_fill(model, job, other);
		else if (kind == 2 && block != other)
			add_exchange(job, block, other);
		else if (kind == 3)
			add_table(model, job, table, model->entries[number][i]);
	}
	paging_job_queue(&job->job);
}

static void expect_words(const uint8_t *page, uint32_t word)
{
	for (uint32_t i = 0; i < 4096; i += 4) {
		uint32_t found;

		memcpy(&found, page + i, 4);
		EXPECT_EQ(found, word);
	}
}

static void compare(struct model *model)
{
	for (uint32_t b = 0; b < BLOCKS; b++) {
		struct block *block = &model->blocks[b];

		for (uint32_t i = 0; i < BLOCK_PAGES; i++) {
			expect_words(fake_pages_byte(&block->pages, i * 4096ULL),
				     block->system_model[i]);
			expect_words(local_byte(model->fake, block, i), block->local_model[i]);
		}
	}
	for (uint32_t t = 0; model->fake->config.has_mmu && t < TABLES; t++) {
		struct written_table *table = &model->tables[t];
		const void *found =
			model->fake->config.update_mode == MINIPORT_TABLE_CPU_VIRTUAL
				? fake_pages_byte(&table->pages, 0)
				: model->fake->memory.local + table->local.first_pfn * 4096;

		EXPECT(memcmp(found, table->model, sizeof(table->model)) == 0);
	}
}

static void run_round(struct model *model)
{
	model->job_count = 0;
	while (model->job_count < JOBS) {
		queue_random(model);
		if (below(model, 3) == 0 && fake_in_flight(model->fake) > 0)
			fake_complete_one(model->fake);
		EXPECT(pager_validate(model->fake->pager) == NULL);
	}
	for (uint32_t i = 0; i < JOBS; i++) {
		fake_job_complete(&model->jobs[i]);
		EXPECT_EQ(model->jobs[i].status, STATUS_SUCCESS);
		EXPECT(pager_validate(model->fake->pager) == NULL);
	}
	pager_flush(model->fake->pager);
	for (uint32_t b = 0; b < BLOCKS; b++)
		model->blocks[b].last = NULL;
	for (uint32_t t = 0; t < TABLES; t++)
		model->tables[t].last = NULL;
}

static void run_model(const struct fake_config *config, uint64_t seed)
{
	struct model *model = calloc(1, sizeof(*model));

	EXPECT(model != NULL);
	random_init(&model->random, seed);
	model->fake = fake_create(config);
	for (uint32_t b = 0; b < BLOCKS; b++)
		block_init(model, &model->blocks[b], b);
	for (uint32_t t = 0; t < TABLES; t++) {
		fake_pages_init(&model->tables[t].pages, 1, 1);
		model->tables[t].local = (struct miniport_page_run){ 8 + t, 1 };
		memset(model->fake->memory.local + (8 + t) * 4096, 0, 4096);
	}
	for (uint32_t i = 0; i < ROUNDS; i++) {
		run_round(model);
		compare(model);
	}
	fake_destroy(model->fake);
	for (uint32_t b = 0; b < BLOCKS; b++)
		fake_pages_finish(&model->blocks[b].pages);
	for (uint32_t t = 0; t < TABLES; t++)
		fake_pages_finish(&model->tables[t].pages);
	free(model);
}

static void run_mode(uint32_t mode)
{
	struct fake_config config = {
		.has_mmu = true,
		.update_mode = mode,
		.table_segment = mode == MINIPORT_TABLE_CPU_VIRTUAL ? 0 : FAKE_LOCAL,
	};

	for (uint64_t seed = 1; seed <= 2; seed++)
		run_model(&config, seed);
	/* Hardly any room: windows and buffers have to be waited for all the time. */
	config.levels = 2;
	config.address_bits = 21;
	config.buffer_count = 2;
	config.transfer_bytes = 8192;
	config.mmu_flags = FAKE_INVALID_NOT_CACHED;
	for (uint64_t seed = 3; seed <= 4; seed++)
		run_model(&config, seed);
}

TEST(model, contents_are_right_in_the_physical_model)
{
	for (uint64_t seed = 1; seed <= 3; seed++)
		run_model(&(struct fake_config){ .buffer_count = (uint32_t)seed % 3 }, seed);
}

TEST(model, contents_are_right_where_the_cpu_writes_tables)
{
	run_mode(MINIPORT_TABLE_CPU_VIRTUAL);
}

TEST(model, contents_are_right_where_the_gpu_writes_tables_by_address)
{
	run_mode(MINIPORT_TABLE_GPU_VIRTUAL);
}

TEST(model, contents_are_right_where_the_gpu_writes_tables_by_physical_address)
{
	run_mode(MINIPORT_TABLE_GPU_PHYSICAL);
}

TEST_MAIN("paging/model")
