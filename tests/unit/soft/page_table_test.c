/* SPDX-License-Identifier: MIT */
/* Entries and walks, against tables that stand in an array. */
#include "support/test.h"

#include "page_table.h"

enum { TABLES = 16, ENTRIES = 4096 };

/* Table t is at offset t * 0x10000 of the local segment. */
struct tables {
	ULONGLONG entries[TABLES][ENTRIES];
	unsigned reads;
};

static struct tables tables;

static ULONGLONG table_at(unsigned table)
{
	return (ULONGLONG)table << 16;
}

static BOOLEAN read_entry(void *context, ULONG segment, ULONGLONG offset, ULONGLONG *entry_out)
{
	struct tables *t = context;

	t->reads++;
	if (segment != SOFTGPU_SEGMENT_LOCAL || offset >> 16 >= TABLES)
		return FALSE;
	*entry_out = t->entries[offset >> 16][(offset & 0xffff) / 8];
	return TRUE;
}

static ULONGLONG pte(ULONGLONG address, ULONG segment, ULONGLONG flags)
{
	return address | (ULONGLONG)segment << SOFTGPU_PTE_SEGMENT_SHIFT | flags;
}

static struct gpu_settings shape(ULONG levels, ULONG bits)
{
	struct gpu_settings settings;
	PCSTR problem = NULL;

	gpu_settings_init(&settings);
	settings.page_table_levels = levels;
	settings.address_bits = bits;
	EXPECT_EQ(gpu_settings_finish(&settings, &problem), STATUS_SUCCESS);
	memset(&tables, 0, sizeof(tables));
	return settings;
}

/* One page at `address`, through a table of its own on every level. */
static void map(const struct gpu_settings *settings, ULONGLONG address, ULONGLONG leaf)
{
	ULONG level = settings->page_table_levels - 1;
	unsigned table = 0;

	for (; level > 0; level--, table++) {
		ULONG shift = 12 + 9 * level;
		ULONGLONG index = address >> shift;

		if (level < settings->page_table_levels - 1)
			index &= 511;
		tables.entries[table][index] =
			pte(table_at(table + 1), SOFTGPU_SEGMENT_LOCAL, SOFTGPU_PTE_VALID);
	}
	tables.entries[table][address >> 12 & 511] = leaf;
}

static struct gpu_root root_of(const struct gpu_settings *settings)
{
	return (struct gpu_root){
		.segment = SOFTGPU_SEGMENT_LOCAL,
		.entry_count =
			1u << gpu_settings_index_bits(settings, settings->page_table_levels - 1),
	};
}

static BOOLEAN walk(const struct gpu_settings *settings, ULONGLONG address, BOOLEAN is_write,
		    struct gpu_translation *translation, struct gpu_walk_fault *fault)
{
	struct gpu_root root = root_of(settings);

	tables.reads = 0;
	return gpu_walk(settings, &root, address, is_write, read_entry, &tables, translation,
			fault);
}

TEST(page_table, an_entry_says_what_the_kernel_said)
{
	DXGK_PTE in = { .Flags = 0 };

	EXPECT_EQ(gpu_pte_encode(&in), 0);
	in.Valid = 1;
	in.Segment = 2;
	in.PageAddress = 0x12345;
	EXPECT_EQ(gpu_pte_encode(&in), 0x12345000 | 2 << 4 | SOFTGPU_PTE_VALID);
	in.ReadOnly = 1;
	in.LargePage = 1;
	EXPECT_EQ(gpu_pte_encode(&in), 0x12345000 | 2 << 4 | SOFTGPU_PTE_VALID |
					       SOFTGPU_PTE_READ_ONLY | SOFTGPU_PTE_LARGE);
	in.Zero = 1;
	EXPECT_EQ(gpu_pte_encode(&in), SOFTGPU_PTE_ZERO);
	in.Valid = 0;
	EXPECT_EQ(gpu_pte_encode(&in), SOFTGPU_PTE_ZERO);
}

TEST(page_table, entries_in_a_row_are_one_run)
{
	DXGK_PTE in[6] = { 0 };
	ULONGLONG value;
	ULONGLONG stride;

	for (unsigned i = 0; i < 6; i++) {
		in[i].Valid = 1;
		in[i].Segment = 1;
		in[i].PageAddress = 100 + i;
	}
	EXPECT_EQ(gpu_pte_run(in, 6, &value, &stride), 6);
	EXPECT_EQ(value, gpu_pte_encode(&in[0]));
	EXPECT_EQ(stride, 4096);
	EXPECT_EQ(gpu_pte_run(in, 1, &value, &stride), 1);

	in[3].PageAddress = 7;
	EXPECT_EQ(gpu_pte_run(in, 6, &value, &stride), 3);
	memset(in, 0, sizeof(in));
	EXPECT_EQ(gpu_pte_run(in, 6, &value, &stride), 6);
	EXPECT_EQ(stride, 0);
	/* Backwards is a run too, and comes out as it went in. */
	for (unsigned i = 0; i < 6; i++) {
		in[i].Valid = 1;
		in[i].PageAddress = 100 - i;
	}
	EXPECT_EQ(gpu_pte_run(in, 6, &value, &stride), 6);
	EXPECT_EQ(value + 5 * stride, gpu_pte_encode(&in[5]));
}

/* Runs, pages here and there, other kinds in between, whatever the number and the beginning. */
TEST(page_table, stored_entries_are_what_each_one_says_and_nothing_else_is_touched)
{
	enum { STORED = 70, AROUND = 3 };
	static const ULONGLONG kinds[] = { 0x21, 0x21, 0x29, 0x2, 0x0, 0x3, 0x421 };
	DXGK_PTE in[STORED];
	ULONGLONG table[AROUND + STORED + AROUND];

	for (unsigned kind_length = 1; kind_length <= STORED; kind_length += 3) {
		for (unsigned i = 0; i < STORED; i++) {
			in[i].Flags = kinds[i / kind_length % (sizeof(kinds) / sizeof(kinds[0]))];
			in[i].PageAddress = i % 20 < 12 ? 1000 + i : 0xfffffffff - 5 * i;
		}
		for (unsigned first = 0; first < 9; first++) {
			for (unsigned count = 0; count <= STORED - first; count++) {
				memset(table, 0xee, sizeof(table));
				gpu_pte_store(&table[AROUND], &in[first], count, FALSE);
				for (unsigned i = 0; i < count; i++)
					EXPECT_EQ(table[AROUND + i],
						  gpu_pte_encode(&in[first + i]));
				for (unsigned i = 0; i < AROUND; i++) {
					EXPECT_EQ(table[i], 0xeeeeeeeeeeeeeeee);
					EXPECT_EQ(table[AROUND + count + i], 0xeeeeeeeeeeeeeeee);
				}
			}
		}
	}
}

TEST(page_table, a_repeated_entry_is_stored_so_many_times)
{
	const DXGK_PTE in = { .Flags = 0x21, .PageAddress = 77 };
	ULONGLONG table[20];

	for (unsigned count = 0; count < 19; count++) {
		memset(table, 0xee, sizeof(table));
		gpu_pte_store(table, &in, count, TRUE);
		for (unsigned i = 0; i < count; i++)
			EXPECT_EQ(table[i], gpu_pte_encode(&in));
		EXPECT_EQ(table[count], 0xeeeeeeeeeeeeeeee);
	}
}

TEST(page_table, a_walk_reads_one_entry_per_level_in_every_shape)
{
	static const struct {
		ULONG levels;
		ULONG bits;
	} shapes[] = { { 2, 30 }, { 2, 32 }, { 3, 39 }, { 4, 48 }, { 4, 40 }, { 5, 57 } };

	for (size_t i = 0; i < RTL_NUMBER_OF(shapes); i++) {
		struct gpu_settings settings = shape(shapes[i].levels, shapes[i].bits);
		ULONGLONG last_page = (1ULL << shapes[i].bits) - 4096;
		struct gpu_translation to;
		struct gpu_walk_fault fault;

		map(&settings, last_page, pte(0xabc000, 2, SOFTGPU_PTE_VALID));
		EXPECT(walk(&settings, last_page + 0x123, TRUE, &to, &fault));
		EXPECT_EQ(tables.reads, shapes[i].levels);
		EXPECT_EQ(to.segment, 2);
		EXPECT_EQ(to.offset, 0xabc123);
		EXPECT_EQ(to.size_bytes, 4096 - 0x123);
		EXPECT(!to.is_zero);
	}
}

TEST(page_table, an_address_beyond_the_space_faults_without_a_read)
{
	struct gpu_settings settings = shape(4, 48);
	struct gpu_translation to;
	struct gpu_walk_fault fault;

	map(&settings, 0, pte(0, 1, SOFTGPU_PTE_VALID));
	EXPECT(walk(&settings, 0, FALSE, &to, &fault));
	EXPECT(!walk(&settings, 1ULL << 48, FALSE, &to, &fault));
	EXPECT_EQ(tables.reads, 0);
	EXPECT(!walk(&settings, ~0ULL, FALSE, &to, &fault));
}

TEST(page_table, a_fault_names_the_level_that_stopped_the_walk)
{
	struct gpu_settings settings = shape(4, 48);
	struct gpu_translation to;
	struct gpu_walk_fault fault;

	map(&settings, 0x1000, pte(0, 1, SOFTGPU_PTE_VALID));
	EXPECT(!walk(&settings, 0x2000, FALSE, &to, &fault));
	EXPECT_EQ(fault.level, 0);
	EXPECT(!walk(&settings, 0x200000, FALSE, &to, &fault));
	EXPECT_EQ(fault.level, 1);
	EXPECT(!walk(&settings, 0x40000000, FALSE, &to, &fault));
	EXPECT_EQ(fault.level, 2);
	EXPECT(!walk(&settings, 0x8000000000, FALSE, &to, &fault));
	EXPECT_EQ(fault.level, 3);
	EXPECT(!fault.is_write_protected);
}

TEST(page_table, a_root_shorter_than_the_space_ends_where_it_ends)
{
	struct gpu_settings settings = shape(2, 30);
	struct gpu_root root = root_of(&settings);
	struct gpu_translation to;
	struct gpu_walk_fault fault;

	map(&settings, 5u << 21, pte(0, 1, SOFTGPU_PTE_VALID));
	root.entry_count = 6;
	EXPECT(gpu_walk(&settings, &root, 5u << 21, FALSE, read_entry, &tables, &to, &fault));
	root.entry_count = 5;
	EXPECT(!gpu_walk(&settings, &root, 5u << 21, FALSE, read_entry, &tables, &to, &fault));
	EXPECT_EQ(fault.level, 1);
	root.entry_count = 0;
	EXPECT(!gpu_walk(&settings, &root, 0, FALSE, read_entry, &tables, &to, &fault));
}

TEST(page_table, read_only_pages_can_be_read)
{
	struct gpu_settings settings = shape(4, 48);
	struct gpu_translation to;
	struct gpu_walk_fault fault;

	map(&settings, 0x5000, pte(0x7000, 1, SOFTGPU_PTE_VALID | SOFTGPU_PTE_READ_ONLY));
	EXPECT(walk(&settings, 0x5000, FALSE, &to, &fault));
	EXPECT(!walk(&settings, 0x5000, TRUE, &to, &fault));
	EXPECT(fault.is_write_protected);
	EXPECT_EQ(fault.level, 0);
}

TEST(page_table, a_read_only_table_protects_what_is_below_it)
{
	struct gpu_settings settings = shape(4, 48);
	struct gpu_translation to;
	struct gpu_walk_fault fault;

	map(&settings, 0x5000, pte(0x7000, 1, SOFTGPU_PTE_VALID));
	tables.entries[1][0] |= SOFTGPU_PTE_READ_ONLY;
	EXPECT(walk(&settings, 0x5000, FALSE, &to, &fault));
	EXPECT(!walk(&settings, 0x5000, TRUE, &to, &fault));
}

TEST(page_table, zero_pages_take_reads_and_writes)
{
	struct gpu_settings settings = shape(4, 48);
	struct gpu_translation to;
	struct gpu_walk_fault fault;

	map(&settings, 0x5000, SOFTGPU_PTE_ZERO);
	EXPECT(walk(&settings, 0x5008, TRUE, &to, &fault));
	EXPECT(to.is_zero);
	EXPECT_EQ(to.size_bytes, 4096 - 8);
	/* A whole empty range above the leaf. */
	tables.entries[2][3] = SOFTGPU_PTE_ZERO;
	EXPECT(walk(&settings, 3u << 21, FALSE, &to, &fault));
	EXPECT(to.is_zero);
	EXPECT_EQ(to.size_bytes, 1u << 21);
}

TEST(page_table, a_large_page_covers_what_its_table_would)
{
	struct gpu_settings settings = shape(4, 48);
	struct gpu_translation to;
	struct gpu_walk_fault fault;

	map(&settings, 0x5000, pte(0x7000, 1, SOFTGPU_PTE_VALID));
	tables.entries[2][1] = pte(0x40000000, 1, SOFTGPU_PTE_VALID | SOFTGPU_PTE_LARGE);
	EXPECT(walk(&settings, 0x200000 + 0x12345, TRUE, &to, &fault));
	EXPECT_EQ(tables.reads, 3);
	EXPECT_EQ(to.offset, 0x40000000 + 0x12345);
	EXPECT_EQ(to.size_bytes, 0x200000 - 0x12345);
}

TEST(page_table, an_entry_says_that_the_table_below_has_64k_pages)
{
	DXGK_PTE entry = { .Valid = 1, .Segment = 1, .PageAddress = 7 };

	entry.PageTablePageSize = DXGK_PTE_PAGE_TABLE_PAGE_64KB;
	EXPECT_EQ(gpu_pte_encode(&entry),
		  pte(0x7000, 1, SOFTGPU_PTE_VALID | SOFTGPU_PTE_TABLE_64K));
}

TEST(page_table, a_table_of_64k_pages_has_32_entries)
{
	struct gpu_settings settings = shape(4, 48);
	struct gpu_translation to;
	struct gpu_walk_fault fault;

	map(&settings, 0x5000, 0);
	tables.entries[2][0] |= SOFTGPU_PTE_TABLE_64K;
	tables.entries[3][31] = pte(0x40000, 1, SOFTGPU_PTE_VALID);
	EXPECT(walk(&settings, 0x1f0000 + 0x4321, TRUE, &to, &fault));
	EXPECT_EQ(tables.reads, 4);
	EXPECT_EQ(to.offset, 0x40000 + 0x4321);
	EXPECT_EQ(to.size_bytes, 0x10000 - 0x4321);
	EXPECT_EQ(to.entries_behind, 0);
	EXPECT(!walk(&settings, 0x1e0000, FALSE, &to, &fault));
	EXPECT_EQ(fault.level, 0);
}

/* The second pointers stand behind the first; what is valid there goes first. */
TEST(page_table, of_two_tables_the_one_of_64k_pages_is_asked_first)
{
	struct gpu_settings settings = shape(4, 48);
	struct gpu_translation to;
	struct gpu_walk_fault fault;

	settings.pages_64k = GPU_64K_DUAL;
	map(&settings, 0x5000, pte(0x7000, 1, SOFTGPU_PTE_VALID));
	EXPECT(walk(&settings, 0x5000, FALSE, &to, &fault));
	EXPECT_EQ(to.offset, 0x7000);

	tables.entries[2][512] = pte(table_at(8), 1, SOFTGPU_PTE_VALID);
	tables.entries[8][1] = pte(0x40000, 1, SOFTGPU_PTE_VALID | SOFTGPU_PTE_READ_ONLY);
	EXPECT(walk(&settings, 0x5000, FALSE, &to, &fault));
	EXPECT_EQ(to.offset, 0x7000);
	EXPECT(walk(&settings, 0x12345, FALSE, &to, &fault));
	EXPECT_EQ(to.offset, 0x42345);
	EXPECT(!walk(&settings, 0x12345, TRUE, &to, &fault));
	EXPECT(fault.is_write_protected);
	tables.entries[8][2] = SOFTGPU_PTE_ZERO;
	EXPECT(walk(&settings, 0x20000, TRUE, &to, &fault));
	EXPECT(to.is_zero);
}

TEST(page_table, a_table_that_is_not_in_memory_is_a_fault)
{
	struct gpu_settings settings = shape(4, 48);
	struct gpu_translation to;
	struct gpu_walk_fault fault;

	map(&settings, 0x5000, pte(0x7000, 1, SOFTGPU_PTE_VALID));
	tables.entries[0][0] = pte(0x7fff0000000, 1, SOFTGPU_PTE_VALID);
	EXPECT(!walk(&settings, 0x5000, FALSE, &to, &fault));
	EXPECT_EQ(fault.level, 2);
}

TEST_MAIN("soft/page_table")
