/* SPDX-License-Identifier: MIT */
/*
 * tables_test.c - page tables are written as told; roots and faults fit to them.
 */
#include "crooked.h"

#include "base/machine.h"

enum { PAGE = 4096, TABLE = 30, OTHER_TABLE = 31 };

static void *const pager = (void *)0x77000;
static void *const process = (void *)0x88000;

#define STORY(name, ...) CROOKED_STORY(tables, name, CROOKED_VIRTUAL, __VA_ARGS__)

/* ---- updates ---- */

static void write_pages(struct crooked *gpu, enum miniport_table_update_mode mode, uint32_t first,
			uint32_t count, uint64_t page)
{
	struct miniport_pte entry = crooked_entry(1, page);

	crooked_update(gpu, &(struct crooked_update){ .table = TABLE,
						      .first = first,
						      .count = count,
						      .entries = &entry,
						      .is_run = true,
						      .mode = mode,
						      .process = process,
						      .address = (uint64_t)first * PAGE });
}

/* The first teaches what an entry is. */
static void writes_a_few(struct crooked *gpu, enum miniport_table_update_mode mode)
{
	enum crooked_bend bend = gpu->bend;

	gpu->bend = HONEST;
	write_pages(gpu, mode, 16, 4, 8);
	gpu->bend = bend;
	write_pages(gpu, mode, 32, 4, 8);
	write_pages(gpu, mode, 16, 4, 12);
}

static void gpu_writes_a_few(struct crooked *gpu)
{
	writes_a_few(gpu, MINIPORT_TABLE_GPU_PHYSICAL);
}

static void processor_writes_a_few(struct crooked *gpu)
{
	writes_a_few(gpu, MINIPORT_TABLE_CPU_VIRTUAL);
}

STORY(an_update_ends_with_its_last_entry, BEND_ENTRY_BEHIND, RULE_DDI_PT_UPDATE, gpu_writes_a_few)
STORY(an_update_begins_with_its_first_entry, BEND_ENTRY_SHIFTED, RULE_DDI_PT_UPDATE,
      gpu_writes_a_few)
STORY(an_update_takes_effect, BEND_ENTRY_NONE, RULE_DDI_PT_UPDATE, gpu_writes_a_few)
STORY(the_processor_ends_with_the_last_entry, BEND_ENTRY_BEHIND, RULE_DDI_PT_UPDATE,
      processor_writes_a_few)
STORY(the_processor_begins_with_the_first_entry, BEND_ENTRY_SHIFTED, RULE_DDI_PT_UPDATE,
      processor_writes_a_few)
STORY(what_the_processor_writes_takes_effect, BEND_ENTRY_NONE, RULE_DDI_PT_UPDATE,
      processor_writes_a_few)

/* One entry of the table. */
static struct miniport_paging_op write_of(const struct miniport_pte *entry, uint32_t index)
{
	return (struct miniport_paging_op){
		.kind = MINIPORT_PAGING_UPDATE_PAGE_TABLE,
		.target = { .segment = 1, .offset_bytes = TABLE * PAGE },
		.update_table = { .mode = MINIPORT_TABLE_GPU_PHYSICAL,
				  .entries = entry,
				  .first_index = index,
				  .count = 1,
				  .driver_process = process },
	};
}

static void writes_twice_in_one_packet(struct crooked *gpu)
{
	struct miniport_pte entries[] = { crooked_entry(1, 8), crooked_entry(1, 9) };
	struct miniport_paging_op op = write_of(&entries[0], 100);

	write_pages(gpu, MINIPORT_TABLE_GPU_PHYSICAL, 16, 4, 8);
	EXPECT_EQ(crooked_build(gpu, op), STATUS_SUCCESS);
	op = write_of(&entries[1], 300);
	EXPECT_EQ(crooked_build(gpu, op), STATUS_SUCCESS);
	crooked_run(gpu);
}

TEST(tables, updates_of_one_packet_are_seen_together)
{
	crooked_compare(CROOKED_VIRTUAL, BEND_ENTRY_BEHIND, RULE_DDI_PT_UPDATE,
			writes_twice_in_one_packet);
}

/* The first part of the second one is executed with the first one, and the rest in the next packet. */
TEST(tables, an_update_in_passes_begins_in_the_packet_before)
{
	static struct crooked gpu;
	struct miniport_pte entries[] = { crooked_entry(1, 8), crooked_entry(1, 9) };
	struct miniport_paging_op op = write_of(&entries[0], 100);

	crooked_start(&gpu, CROOKED_VIRTUAL);
	write_pages(&gpu, MINIPORT_TABLE_GPU_PHYSICAL, 16, 4, 8);
	EXPECT_EQ(crooked_build(&gpu, op), STATUS_SUCCESS);
	op = write_of(&entries[1], 300);
	gpu.passes = 1;
	gpu.passes_work = true;
	EXPECT_EQ(crooked_build(&gpu, op), STATUS_SUCCESS);
	crooked_run(&gpu);
	crooked_expect_nothing(&gpu);
	crooked_finish(&gpu);
}

static void repeats(struct crooked *gpu)
{
	struct miniport_pte entry = crooked_entry(1, 8);
	static const struct miniport_pte invalid;

	write_pages(gpu, MINIPORT_TABLE_GPU_PHYSICAL, 16, 4, 8);
	crooked_update(gpu, &(struct crooked_update){ .table = TABLE,
						      .first = 64,
						      .count = 8,
						      .entries = &entry,
						      .is_repeated = true,
						      .mode = MINIPORT_TABLE_GPU_PHYSICAL,
						      .process = process });
	crooked_update(gpu, &(struct crooked_update){ .table = TABLE,
						      .count = 512,
						      .entries = &invalid,
						      .is_repeated = true,
						      .is_initial = true,
						      .mode = MINIPORT_TABLE_CPU_VIRTUAL,
						      .process = process });
}

STORY(what_is_repeated_is_the_same_everywhere, BEND_REPEAT_ONCE, RULE_DDI_PT_REPEAT, repeats)

static void copies(struct crooked *gpu)
{
	static const struct miniport_table_copy copy = { .source_index = 16,
							 .destination_index = 40,
							 .count = 4 };

	crooked_space(gpu, pager);
	crooked_map(gpu, pager, 0x40000, crooked_entry(1, TABLE), 1);
	crooked_map(gpu, pager, 0x50000, crooked_entry(1, OTHER_TABLE), 1);
	write_pages(gpu, MINIPORT_TABLE_GPU_PHYSICAL, 16, 4, 8);
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_COPY_PAGE_TABLE_ENTRIES,
					.source = crooked_place_at(0x40000),
					.target = crooked_place_at(0x50000),
					.copy_entries = { .copies = &copy, .count = 1 },
				}),
		  STATUS_SUCCESS);
	crooked_run(gpu);
}

STORY(a_copy_of_entries_is_a_copy, BEND_COPY_OF_ENTRIES_SHORT, RULE_DDI_PT_COPY, copies)

/* ---- roots ---- */

static void asks_for_sizes(struct crooked *gpu)
{
	uint32_t few = 512;
	uint32_t many = 2048;
	uint32_t some = 600;

	(void)miniport_root_page_table_bytes(&gpu->miniport, &few);
	(void)miniport_root_page_table_bytes(&gpu->miniport, &some);
	(void)miniport_root_page_table_bytes(&gpu->miniport, &many);
}

STORY(a_larger_root_is_not_smaller, BEND_ROOT_SMALLER, RULE_DDI_PT_ROOT_SIZE, asks_for_sizes)
STORY(a_root_is_whole_pages, BEND_ROOT_ODD, RULE_DDI_PT_ROOT_SIZE, asks_for_sizes)

static struct miniport_submission client_work(struct crooked *gpu, void *context)
{
	return (struct miniport_submission){
		.driver_context = context,
		.node = 1,
		.fence = ++gpu->fence,
		.gpu_address = 0x1000,
		.size_bytes = 16,
	};
}

CROOKED_TEST(tables, a_root_changes_while_its_context_is_idle, CROOKED_VIRTUAL)
{
	crooked_process(gpu, process, false);
	void *context = crooked_context(gpu, process, true);
	miniport_set_root_page_table(&gpu->miniport, context, 1, 0, 512);
	crooked_client_work(gpu, context, true, 0);
	miniport_set_root_page_table(&gpu->miniport, context, 1, 4 * PAGE, 512);
	crooked_expect_nothing(gpu);
	struct miniport_submission work = client_work(gpu, context);
	EXPECT_EQ(miniport_submit(&gpu->miniport, true, &work), STATUS_SUCCESS);
	miniport_set_root_page_table(&gpu->miniport, context, 1, 0, 512);
	crooked_expect(gpu, RULE_DDI_PT_ROOT);
}

CROOKED_TEST(tables, a_context_is_told_its_root_before_it_works, CROOKED_VIRTUAL)
{
	crooked_process(gpu, process, false);
	crooked_client_work(gpu, crooked_context(gpu, process, true), true, 0);
	crooked_expect(gpu, RULE_DDI_PT_ROOT);
}

/* ---- faults ---- */

enum { ROOT = 40, MIDDLE = 41, LEAF = 42, EMPTY_ROOT = 43 };

static void write_entry(struct crooked *gpu, uint64_t table, uint32_t level, uint32_t index,
			struct miniport_pte entry)
{
	crooked_update(gpu, &(struct crooked_update){ .table = table,
						      .level = level,
						      .first = index,
						      .count = 1,
						      .entries = &entry,
						      .mode = MINIPORT_TABLE_CPU_VIRTUAL,
						      .process = process });
}

static void clear_table(struct crooked *gpu, uint64_t table, uint32_t level)
{
	static const struct miniport_pte invalid;

	crooked_update(gpu, &(struct crooked_update){ .table = table,
						      .level = level,
						      .count = 512,
						      .entries = &invalid,
						      .is_repeated = true,
						      .is_initial = true,
						      .mode = MINIPORT_TABLE_CPU_VIRTUAL,
						      .process = process });
}

/* A context with this root. Below ROOT page 5 may be written, page 7 be read; nothing else is there. */
static void *make_space(struct crooked *gpu, uint64_t root)
{
	struct miniport_pte read_only = crooked_entry(1, 9);

	read_only.is_read_only = true;
	crooked_process(gpu, process, false);
	clear_table(gpu, LEAF, 0);
	clear_table(gpu, MIDDLE, 1);
	clear_table(gpu, ROOT, 2);
	clear_table(gpu, EMPTY_ROOT, 2);
	write_entry(gpu, LEAF, 0, 5, crooked_entry(1, 8));
	write_entry(gpu, LEAF, 0, 7, read_only);
	write_entry(gpu, MIDDLE, 1, 0, crooked_entry(1, LEAF));
	write_entry(gpu, ROOT, 2, 0, crooked_entry(1, MIDDLE));

	void *context = crooked_context(gpu, process, true);
	miniport_set_root_page_table(&gpu->miniport, context, 1, root * PAGE, 512);
	return context;
}

/* A fault of work that was submitted, if it is reported now. */
static DXGKARGCB_NOTIFY_INTERRUPT_DATA fault_of(const struct miniport_submission *work,
						uint64_t address)
{
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = { .InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED };

	data.DmaPageFaulted.FaultedFenceId = work->fence;
	data.DmaPageFaulted.NodeOrdinal = 1;
	data.DmaPageFaulted.FaultedVirtualAddress = address;
	return data;
}

static void fault(struct crooked *gpu, void *context, uint64_t address, bool is_write)
{
	struct miniport_submission work = client_work(gpu, context);
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = fault_of(&work, address);

	EXPECT_EQ(miniport_submit(&gpu->miniport, true, &work), STATUS_SUCCESS);
	data.DmaPageFaulted.PageFaultFlags = is_write ? DXGK_PAGE_FAULT_WRITE : 0;
	crooked_interrupt(gpu, &data);
}

CROOKED_TEST(tables, a_fault_is_where_nothing_may_be, CROOKED_VIRTUAL)
{
	void *context = make_space(gpu, ROOT);
	fault(gpu, context, 6 * PAGE, false);
	fault(gpu, context, 7 * PAGE, true);
	fault(gpu, context, UINT64_C(1) << 30, false);
	fault(gpu, context, UINT64_C(1) << 40, false);
	crooked_expect_nothing(gpu);
	fault(gpu, context, 5 * PAGE + 12, true);
	crooked_expect(gpu, RULE_DDI_PT_INVALID);
}

CROOKED_TEST(tables, a_fault_is_not_where_an_address_led_before, CROOKED_VIRTUAL)
{
	void *context = make_space(gpu, ROOT);
	write_entry(gpu, LEAF, 0, 5, (struct miniport_pte){ 0 });
	fault(gpu, context, 5 * PAGE, false);
	crooked_expect_nothing(gpu);
	write_entry(gpu, LEAF, 0, 5, crooked_entry(1, 10));
	fault(gpu, context, 5 * PAGE, false);
	crooked_expect(gpu, RULE_DDI_PT_TLB);
}

/* Page 5 leads again where it led before: nothing else is remembered, and a fault there is wrong. */
static void expect_mapped_again(struct crooked *gpu, void *context)
{
	write_entry(gpu, LEAF, 0, 5, crooked_entry(1, 8));
	fault(gpu, context, 5 * PAGE, false);
	crooked_expect(gpu, RULE_DDI_PT_INVALID);
}

CROOKED_TEST(tables, an_address_that_leads_where_it_led_is_not_remembered_wrongly, CROOKED_VIRTUAL)
{
	void *context = make_space(gpu, ROOT);
	write_entry(gpu, LEAF, 0, 5, (struct miniport_pte){ 0 });
	expect_mapped_again(gpu, context);
}

CROOKED_TEST(tables, what_was_mapped_meanwhile_is_no_reproach, CROOKED_VIRTUAL)
{
	void *context = make_space(gpu, ROOT);
	struct miniport_submission work = client_work(gpu, context);
	EXPECT_EQ(miniport_submit(&gpu->miniport, true, &work), STATUS_SUCCESS);
	write_entry(gpu, LEAF, 0, 6, crooked_entry(1, 10));
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = fault_of(&work, 6 * PAGE);
	crooked_interrupt(gpu, &data);
	crooked_expect_nothing(gpu);
}

CROOKED_TEST(tables, what_the_processor_is_taking_away_is_no_reproach, CROOKED_VIRTUAL)
{
	void *context = make_space(gpu, ROOT);
	struct miniport_submission work = client_work(gpu, context);
	EXPECT_EQ(miniport_submit(&gpu->miniport, true, &work), STATUS_SUCCESS);
	DXGKARGCB_NOTIFY_INTERRUPT_DATA data = fault_of(&work, 5 * PAGE);
	gpu->meanwhile = &data;
	write_entry(gpu, LEAF, 0, 5, (struct miniport_pte){ 0 });
	crooked_expect_nothing(gpu);
	gpu->meanwhile = NULL;
	expect_mapped_again(gpu, context);
}

CROOKED_TEST(tables, what_the_gpu_is_taking_away_is_no_reproach, CROOKED_VIRTUAL)
{
	void *context = make_space(gpu, ROOT);
	EXPECT_EQ(crooked_build(gpu,
				(struct miniport_paging_op){
					.kind = MINIPORT_PAGING_UPDATE_PAGE_TABLE,
					.target = crooked_place(1, LEAF),
					.update_table = { .mode = MINIPORT_TABLE_GPU_PHYSICAL,
							  .entries = &(struct miniport_pte){ 0 },
							  .first_index = 5,
							  .count = 1,
							  .driver_process = process } }),
		  STATUS_SUCCESS);
	crooked_submit(gpu);
	fault(gpu, context, 5 * PAGE, false);
	crooked_expect_nothing(gpu);
	gpu->fence--; /* the paging packet's */
	crooked_complete(gpu);
	expect_mapped_again(gpu, context);
}

CROOKED_TEST(tables, the_root_that_was_set_last_is_the_one, CROOKED_VIRTUAL)
{
	void *context = make_space(gpu, EMPTY_ROOT);
	fault(gpu, context, 5 * PAGE, false);
	crooked_expect_nothing(gpu);
	miniport_set_root_page_table(&gpu->miniport, context, 1, ROOT * PAGE, 512);
	fault(gpu, context, 5 * PAGE, false);
	crooked_expect(gpu, RULE_DDI_PT_ROOT);
}

TEST_MAIN("verify/tables")
