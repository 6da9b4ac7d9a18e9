/* SPDX-License-Identifier: MIT */
/*
 * table_writes.c - how fast page tables are filled, next to memset of the same bytes.
 *
 * usage: table_writes mib rounds [large]	prints bytes per second of both: tables memset
 *
 * A contiguous allocation of so many MiB is mapped, and its entries are written from what is true,
 * again and again, by a driver whose entries have eight bytes. Everything on our side of the driver
 * line counts: looking up what is shown and where that is, the DXGK_PTE of every page, and what was
 * given to the driver; and so does the driver's part, which is the software GPU's. Both are timed
 * by what this thread had of the processor.
 *
 * With `large` the driver has large pages. The bytes are those of the entries of 4 KiB pages all
 * the same: what a map of that size would have taken.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/machine.h"
#include "drivers/common/page_table.h"
#include "gpuva/plan.h"
#include "miniport/pte.h"
#include "pagetable/page_tables.h"

static struct page_tables_config config;
static struct page_tables tables;

static void must_succeed(NTSTATUS status)
{
	if (!NT_SUCCESS(status)) {
		fprintf(stderr, "table_writes: a request failed: 0x%x\n", (unsigned)status);
		exit(1);
	}
}

static void look(void *context, const struct mapped_memory *memory, uint64_t offset_pages,
		 struct resident_run *run)
{
	(void)context;
	(void)memory;
	run->is_resident = true;
	run->segment = 1;
	run->first_page = offset_pages;
}

static void write_entries(const struct miniport_paging_op *op)
{
	static DXGK_PTE entries[TABLES_FEW_ENTRIES];
	ULONGLONG *table = (ULONGLONG *)op->target.pointer + op->update_table.first_index;
	uint32_t count = op->update_table.count;

	if (op->kind != MINIPORT_PAGING_UPDATE_PAGE_TABLE)
		return;
	if (op->update_table.is_run)
		pte_write_run(op->update_table.entries, count, entries);
	else
		for (uint32_t i = 0; i < (op->update_table.is_repeated ? 1 : count); i++)
			entries[i] = pte_from(&op->update_table.entries[i]);
	__asm__ volatile("" ::"r"(entries) : "memory"); /* the driver line */
	gpu_pte_store(table, entries, count, op->update_table.is_repeated);
}

static bool is_in_large_pages;

/* A sync writes what differs, and large pages do not after the first time. */
static void forget_what_was_given(void)
{
	if (is_in_large_pages)
		page_tables_forget(&tables);
}

static void write_range(uint64_t first_page, uint64_t page_count)
{
	struct table_sync sync;
	struct miniport_paging_op op;

	table_sync_init(&sync, &tables, first_page, page_count);
	while (table_sync_next(&sync, &op))
		write_entries(&op);
}

static uint64_t thread_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static double bytes_per_s(uint64_t bytes, uint64_t from_ns, uint64_t to_ns)
{
	return (double)bytes * 1e9 / (double)(to_ns - from_ns);
}

int main(int argc, char **argv)
{
	if (argc != 3 && (argc != 4 || strcmp(argv[3], "large") != 0)) {
		fprintf(stderr, "usage: table_writes mib rounds [large]\n");
		return 2;
	}
	uint64_t page_count = strtoull(argv[1], NULL, 0) << 8;
	uint64_t rounds = strtoull(argv[2], NULL, 0);
	uint64_t bytes = page_count * sizeof(uint64_t);

	config = (struct page_tables_config){
		.mmu = { .flags = TABLES_HAVE_ZERO | TABLES_HAVE_READ_ONLY |
				  (argc == 4 ? TABLES_HAVE_LARGE : 0),
			 .address_bits = 48,
			 .level_count = 4,
			 .levels = { { 9, 0, 0, 4096, 0 },
				     { 9, 0, 0, 4096, 0 },
				     { 9, 0, 0, 4096, 0 },
				     { 9, 0, 0, 4096, 0 } } },
		.look = look,
	};
	is_in_large_pages = argc == 4;
	if (!machine_set_up()) /* tables are memory of the machine */
		must_succeed(STATUS_NO_MEMORY);
	must_succeed(page_tables_config_init(&config));
	must_succeed(page_tables_init(&tables, &config, NULL, NULL, NULL));

	struct mapped_memory memory;
	struct memory_view view;
	mapped_memory_init(&memory, page_count, (struct miniport_subject){ 0 }, NULL);
	memory_view_init(&view, &memory, &tables);

	struct gpuva_map_request request = { .window.base = UINT64_C(1) << 32,
					     .owner = &view.owner,
					     .page_count = page_count,
					     .protection = GPUVA_WRITE };
	struct gpuva_plan plan;
	lock_acquire(&tables.lock);
	must_succeed(gpuva_plan_map(&tables.space, &request, &plan));
	must_succeed(page_tables_make_steps_locked(&tables, plan.steps, 1, TABLES_NOW, NULL));
	uint64_t first_page = plan.first_page;
	gpuva_plan_apply(&plan);
	gpuva_plan_finish(&plan);
	lock_release(&tables.lock);
	write_range(first_page, page_count);

	uint64_t begin = thread_now_ns();
	for (uint64_t i = 0; i < rounds; i++) {
		forget_what_was_given();
		write_range(first_page, page_count);
	}
	uint64_t end = thread_now_ns();

	char *plain = malloc(bytes);
	memset(plain, 1, bytes);
	uint64_t plain_begin = thread_now_ns();
	for (uint64_t i = 0; i < rounds; i++) {
		memset(plain, (int)i, bytes);
		__asm__ volatile("" ::"r"(plain) : "memory");
	}
	uint64_t plain_end = thread_now_ns();

	printf("%.0f %.0f\n", bytes_per_s(bytes * rounds, begin, end),
	       bytes_per_s(bytes * rounds, plain_begin, plain_end));
	free(plain);
	return 0;
}
