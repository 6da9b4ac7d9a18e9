/* SPDX-License-Identifier: MIT */
/*
 * gpuva_access_test.c - what the GPU finds at its addresses: memory wherever that is, zeroes, or a
 * fault that says where. Runs with page tables of all shapes and all ways of writing them.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/control.h"
#include "api/gpu.h"

/* ---- memory ---- */

GPU_TEST(memory, is_filled_through_its_address, gpu_begin())
{
	D3DKMT_HANDLE memory = create_resident(gpu, K64, 0);

	map(gpu, memory, BASE, 16, WRITE);
	gpu_fill(gpu, BASE + 8, K64 - 16, 0x12345678);
	EXPECT(gpu_run(gpu));
	EXPECT_WORDS(gpu, memory, 0, 8, 0);
	EXPECT_WORDS(gpu, memory, 8, K64 - 16, 0x12345678);
	EXPECT_WORDS(gpu, memory, K64 - 8, 8, 0);
}

TEST(memory, is_copied_from_one_address_to_another)
{
	static const unsigned kinds[] = { SOFTGPU_LOCAL_ONLY, SOFTGPU_SYSTEM_ONLY };

	for (int i = 0; i < 4; i++) {
		struct gpu gpu = gpu_begin();
		D3DKMT_HANDLE from = create_resident(&gpu, 4 * K64, kinds[i / 2]);
		D3DKMT_HANDLE to = create_resident(&gpu, 4 * K64, kinds[i % 2]);

		map(&gpu, from, BASE, 64, READ_ONLY);
		map(&gpu, to, BASE + 64 * K64, 64, WRITE);
		fill(&gpu.client, from, 4 * K64, 7);
		gpu_copy(&gpu, BASE + 64 * K64, BASE, 4 * K64);
		EXPECT(gpu_run(&gpu));
		EXPECT_CONTENT(&gpu.client, to, 4 * K64, 7);
	}
}

TEST(memory, is_shown_in_parts_and_more_than_once)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);

	map_part(&gpu, memory, BASE, 3, 2, WRITE);
	map(&gpu, memory, BASE + K64, 16, READ_ONLY);
	D3DKMT_HANDLE seen = create_resident(&gpu, K64, 0);
	map(&gpu, seen, BASE + 2 * K64, 16, WRITE);
	gpu_fill(&gpu, BASE, 2 * PAGE, 5);
	gpu_copy(&gpu, BASE + 2 * K64, BASE + K64, K64);
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, seen, 0, 3 * PAGE, 0);
	EXPECT_WORDS(&gpu, seen, 3 * PAGE, 2 * PAGE, 5);
	EXPECT_WORDS(&gpu, seen, 5 * PAGE, K64 - 5 * PAGE, 0);
}

TEST(memory, mapped_anew_at_an_address_is_what_is_found_there)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE first = create_resident(&gpu, K64, 0);
	D3DKMT_HANDLE second = create_resident(&gpu, K64, 0);

	map(&gpu, first, BASE, 16, WRITE);
	map(&gpu, second, BASE + 4 * PAGE, 4, WRITE);
	gpu_fill(&gpu, BASE, K64, 9);
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, first, 0, 4 * PAGE, 9);
	EXPECT_WORDS(&gpu, first, 4 * PAGE, 4 * PAGE, 0);
	EXPECT_WORDS(&gpu, first, 8 * PAGE, 8 * PAGE, 9);
	EXPECT_WORDS(&gpu, second, 0, 4 * PAGE, 9);
	EXPECT_WORDS(&gpu, second, 4 * PAGE, 12 * PAGE, 0);
}

TEST(memory, of_many_tables_is_mapped_in_one_call)
{
	enum { SIZE_BYTES = 7 * MIB };
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, SIZE_BYTES, SOFTGPU_SYSTEM_ONLY);

	map(&gpu, memory, BASE + MIB + 3 * PAGE, SIZE_BYTES / PAGE, WRITE);
	gpu_fill(&gpu, BASE + MIB + 3 * PAGE, SIZE_BYTES, 0xabcdef01);
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, memory, 0, SIZE_BYTES, 0xabcdef01);
}

/* ---- pages of 64 KiB ---- */

/* The entry of `address` as the driver was given it; false: there is none of that kind. */
static bool read_entry(const struct gpu *gpu, UINT64 address, unsigned level, bool is_wide,
		       DXGK_PTE *entry_out)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_GET_VAD_INFO };
	D3DKMT_GET_PTE *get = &args.GetVads.GetPte;
	unsigned levels = soft_info(gpu->client.adapter).adapter.page_table_levels;

	args.GetVads.Command = D3DKMT_VAD_ESCAPE_GET_PTE;
	get->PageTableLevel = level;
	get->NumPtes = 1;
	get->b64KBPte = is_wide;
	for (unsigned i = 0; i < levels; i++)
		get->PageTableIndex[i] =
			(UINT)(address >> (12 + 9 * i) & (i + 1 < levels ? 511 : 4095));
	if (is_wide && level == 0)
		get->PageTableIndex[0] /= 16;
	if (escape_of(&gpu->client, D3DKMT_ESCAPE_VIDMM, &args, sizeof(args)) != STATUS_SUCCESS)
		return false;
	*entry_out = get->Pte[0];
	return get->NumPtes == 1;
}

/* What the profile says of pages of 64 KiB. */
static const char *has_64k_pages(void)
{
	const char *words = getenv("TEST_PAGES_64K");

	return words && strcmp(words, "none") != 0 ? words : NULL;
}

static bool is_64k(const char *word)
{
	return has_64k_pages() && strcmp(has_64k_pages(), word) == 0;
}

static bool is_64k_page(const struct gpu *gpu, UINT64 address)
{
	DXGK_PTE entry;

	return read_entry(gpu, address, 0, true, &entry) && entry.Valid;
}

GPU_TEST(memory, of_whole_64k_pages_is_mapped_in_those_until_something_smaller_comes, gpu_begin())
{
	D3DKMT_HANDLE memory = create_resident(gpu, 4 * K64, SOFTGPU_LOCAL_ONLY);
	D3DKMT_HANDLE small = create_resident(gpu, PAGE, SOFTGPU_SYSTEM_ONLY);
	DXGK_PTE entry;

	map(gpu, memory, BASE, 64, WRITE);
	EXPECT_EQ(is_64k_page(gpu, BASE + 3 * K64), has_64k_pages() != NULL);
	EXPECT(read_entry(gpu, BASE, 1, false, &entry));
	EXPECT_EQ(entry.PageTablePageSize, is_64k("single"));
	gpu_fill(gpu, BASE, 4 * K64, 1);
	EXPECT(gpu_run(gpu));
	EXPECT_WORDS(gpu, memory, 0, 4 * K64, 1);

	/* In the middle of a page; the rest of it stays what it is. */
	map(gpu, small, BASE + K64 + PAGE, 1, WRITE);
	EXPECT(read_entry(gpu, BASE, 1, false, &entry));
	EXPECT_EQ(entry.PageTablePageSize, 0);
	EXPECT_EQ(is_64k_page(gpu, BASE), is_64k("dual"));
	EXPECT(!is_64k_page(gpu, BASE + K64));
	gpu_fill(gpu, BASE, 4 * K64, 2);
	EXPECT(gpu_run(gpu));
	EXPECT_WORDS(gpu, memory, 0, K64 + PAGE, 2);
	EXPECT_WORDS(gpu, memory, K64 + PAGE, PAGE, 1);
	EXPECT_WORDS(gpu, memory, K64 + 2 * PAGE, 3 * K64 - 2 * PAGE, 2);
	EXPECT_WORDS(gpu, small, 0, PAGE, 2);
}

TEST(memory, is_found_at_both_ends_of_the_space)
{
	struct gpu gpu = gpu_begin();
	UINT64 end = UINT64_C(1) << soft_info(gpu.client.adapter).adapter.virtual_address_bits;
	D3DKMT_HANDLE memory = create_resident(&gpu, 2 * PAGE, 0);

	map_part(&gpu, memory, PAGE, 0, 1, WRITE);
	map_part(&gpu, memory, end - PAGE, 1, 1, WRITE);
	gpu_fill(&gpu, PAGE, PAGE, 1);
	gpu_fill(&gpu, end - PAGE, PAGE, 2);
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, memory, 0, PAGE, 1);
	EXPECT_WORDS(&gpu, memory, PAGE, PAGE, 2);
}

/* Of two levels the root grows meanwhile: contexts that were there before find everything, too. */
TEST(memory, is_found_by_all_contexts_however_high_it_is_mapped)
{
	struct gpu first = gpu_begin();
	struct gpu second;
	UINT64 end = UINT64_C(1) << soft_info(first.client.adapter).adapter.virtual_address_bits;
	D3DKMT_HANDLE memory = create_resident(&first, 64 * PAGE, 0);
	UINT64 page = 0;

	gpu_open(&second, first.client.adapter);
	for (UINT64 address = 16 * MIB; address < end; address *= 2, page++) {
		map_part(&first, memory, address, page, 1, WRITE);
		gpu_fill(&first, address, PAGE / 2, (uint32_t)(2 * page));
		gpu_fill(&second, address + PAGE / 2, PAGE / 2, (uint32_t)(2 * page + 1));
		EXPECT(gpu_run(&first));
		EXPECT(gpu_run(&second));
	}
	for (UINT64 i = 0; i < page; i++) {
		EXPECT_WORDS(&first, memory, i * PAGE, PAGE / 2, (uint32_t)(2 * i));
		EXPECT_WORDS(&first, memory, i * PAGE + PAGE / 2, PAGE / 2, (uint32_t)(2 * i + 1));
	}
	expect_valid();
}

/* 2 MiB pages where tables have 512 entries; what a client sees is the same everywhere. */
TEST(memory, of_large_pages_falls_apart_where_part_of_it_changes)
{
	enum { LARGE = 2 * MIB };
	struct gpu gpu = gpu_begin();
	struct creation creation;
	void *pointer;

	creation_init(&creation, gpu.client.device, 1);
	creation.data[0].size_bytes = 2 * LARGE;
	creation.data[0].alignment = LARGE;
	creation.data[0].flags = SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY | SOFTGPU_CONTIGUOUS;
	EXPECT_OK(create(&creation));
	D3DKMT_HANDLE memory = creation.elements[0].hAllocation;
	EXPECT_OK(make_resident(&gpu.client, &memory, 1, 0));
	EXPECT_OK(lock2(gpu.client.device, memory, &pointer));
	map(&gpu, memory, BASE, 2 * LARGE / PAGE, WRITE);
	gpu_fill(&gpu, BASE, 2 * LARGE, 1);
	EXPECT(gpu_run(&gpu));
	EXPECT_EQ(count_words(pointer, 0, 2 * LARGE, 1), 2 * LARGE / 4);
	/* One page of it shows another. */
	map_part(&gpu, memory, BASE + 7 * PAGE, 1, 1, WRITE);
	gpu_fill(&gpu, BASE + 7 * PAGE, PAGE, 2);
	EXPECT(gpu_run(&gpu));
	EXPECT_EQ(count_words(pointer, PAGE, PAGE, 2), PAGE / 4);
	EXPECT_EQ(count_words(pointer, 2 * PAGE, 2 * LARGE - 2 * PAGE, 1), LARGE / 2 - PAGE / 2);
	/* And is whole again. */
	map_part(&gpu, memory, BASE + 7 * PAGE, 7, 1, WRITE);
	gpu_fill(&gpu, BASE, 2 * LARGE, 3);
	EXPECT(gpu_run(&gpu));
	EXPECT_EQ(count_words(pointer, 0, 2 * LARGE, 3), 2 * LARGE / 4);
	unmap(&gpu, BASE + LARGE + PAGE, PAGE);
	flush(&gpu.client);
	gpu_fill(&gpu, BASE, 2 * LARGE, 4);
	EXPECT_FAULT(&gpu, BASE + LARGE + PAGE, true);
	EXPECT_EQ(count_words(pointer, 0, LARGE + PAGE, 4), (LARGE + PAGE) / 4);
}

/* ---- faults ---- */

TEST(fault, at_what_was_never_mapped)
{
	struct gpu gpu = gpu_begin();

	gpu_fill(&gpu, BASE + 64, 64, 1);
	EXPECT_FAULT(&gpu, BASE + 64, true);
}

TEST(fault, behind_the_end_of_what_was_mapped)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);

	map(&gpu, memory, BASE, 16, WRITE);
	gpu_fill(&gpu, BASE, K64 + 4, 1);
	EXPECT_FAULT(&gpu, BASE + K64, true);
}

TEST(fault, is_told_apart_when_it_was_a_read)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);

	map(&gpu, memory, BASE, 16, WRITE);
	gpu_copy(&gpu, BASE, BASE + 2 * K64, 64);
	EXPECT_FAULT(&gpu, BASE + 2 * K64, false);
}

TEST(fault, at_page_zero)
{
	struct gpu gpu = gpu_begin();

	gpu_write64(&gpu, 8, 1);
	EXPECT_FAULT(&gpu, 8, true);
}

TEST(fault, at_what_is_written_and_may_only_be_read)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);

	void *pointer;

	map(&gpu, memory, BASE, 16, READ_ONLY);
	EXPECT_OK(lock2(gpu.client.device, memory, &pointer)); /* a lost device locks nothing */
	gpu_fill(&gpu, BASE + PAGE, 64, 1);
	EXPECT_FAULT(&gpu, BASE + PAGE, true);
	EXPECT_EQ(count_words(pointer, 0, K64, 0), K64 / 4);
}

TEST(fault, at_what_was_freed)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);
	void *pointer;

	map(&gpu, memory, BASE, 16, WRITE);
	EXPECT_OK(lock2(gpu.client.device, memory, &pointer));
	gpu_fill(&gpu, BASE, K64, 1);
	EXPECT(gpu_run(&gpu));
	unmap(&gpu, BASE + 4 * PAGE, PAGE);
	flush(&gpu.client);
	gpu_fill(&gpu, BASE, K64, 2);
	EXPECT_FAULT(&gpu, BASE + 4 * PAGE, true);
	EXPECT_EQ(count_words(pointer, 0, 4 * PAGE, 2), PAGE);
	/* Hardware that writes many pages at once may have written some behind that. */
	if (!getenv("TEST_HIDDEN_LOCAL"))
		EXPECT_EQ(count_words(pointer, 4 * PAGE, 12 * PAGE, 1), 3 * PAGE);
}

TEST(fault, at_what_was_destroyed)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);

	map(&gpu, memory, BASE, 16, WRITE);
	EXPECT_OK(destroy_now(&gpu.client, memory));
	gpu_fill(&gpu, BASE, 64, 1);
	EXPECT_FAULT(&gpu, BASE, true);
}

TEST(fault, leaves_other_devices_of_the_process_alone)
{
	struct gpu guilty = gpu_begin();
	struct gpu other;

	gpu_open(&other, guilty.client.adapter);
	gpu_fill(&guilty, BASE, 64, 1);
	EXPECT_FAULT(&guilty, BASE, true);
	D3DKMT_HANDLE memory = create_resident(&other, K64, 0);
	map(&other, memory, BASE, 16, WRITE);
	gpu_fill(&other, BASE, K64, 3);
	EXPECT(gpu_run(&other));
	EXPECT_WORDS(&other, memory, 0, K64, 3);
}

/* ---- reservations ---- */

TEST(reservation, of_zeroes_reads_zeroes_and_drops_writes)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);

	reserve(&gpu, BASE, 64 * MIB, D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO);
	map(&gpu, memory, BASE + 128 * MIB, 16, WRITE);
	fill(&gpu.client, memory, K64, 1);
	gpu_fill(&gpu, BASE + MIB, 8 * MIB, 0xffffffff);
	gpu_copy(&gpu, BASE + 128 * MIB, BASE + 64 * MIB - K64, K64);
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, memory, 0, K64, 0);
}

TEST(reservation, without_access_faults)
{
	struct gpu gpu = gpu_begin();

	reserve(&gpu, BASE, K64, D3DDDIGPUVIRTUALADDRESS_RESERVE_NO_ACCESS);
	gpu_fill(&gpu, BASE, 64, 1);
	EXPECT_FAULT(&gpu, BASE, true);
}

TEST(reservation, shows_memory_where_some_was_mapped_and_again_what_it_was)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);

	reserve(&gpu, BASE, MIB, D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO);
	map(&gpu, memory, BASE + K64, 16, WRITE);
	gpu_fill(&gpu, BASE, MIB, 4);
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, memory, 0, K64, 4);
	map(&gpu, 0, BASE + K64, 16, ZERO);
	gpu_fill(&gpu, BASE, MIB, 5);
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, memory, 0, K64, 4);
	map(&gpu, 0, BASE + K64, 1, NO_ACCESS);
	gpu_fill(&gpu, BASE, MIB, 6);
	EXPECT_FAULT(&gpu, BASE + K64, true);
}

TEST(reservation, takes_access_back_from_what_is_named)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);

	reserve(&gpu, BASE, K64, D3DDDIGPUVIRTUALADDRESS_RESERVE_NO_ACCESS);
	map(&gpu, memory, BASE, 16, WRITE);
	map(&gpu, memory, BASE, 16, NO_ACCESS);
	gpu_fill(&gpu, BASE, 64, 1);
	EXPECT_FAULT(&gpu, BASE, true);
}

/* ---- memory that is elsewhere ---- */

TEST(eviction, makes_an_access_fault)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, SOFTGPU_LOCAL_ONLY);

	map(&gpu, memory, BASE, 16, WRITE);
	gpu_fill(&gpu, BASE, K64, 1);
	EXPECT(gpu_run(&gpu));
	EXPECT_OK(evict(&gpu.client, &memory, 1, 0));
	/* Not before the GPU has said that it is done. */
	while (residency_status(&gpu.client, memory) != NOT_RESIDENT)
		usleep(100);
	flush(&gpu.client);
	gpu_fill(&gpu, BASE + 4 * PAGE, 64, 2);
	EXPECT_FAULT(&gpu, BASE + 4 * PAGE, true);
}

TEST(eviction, is_over_at_the_same_address_when_it_is_resident_again)
{
	static const unsigned kinds[] = { SOFTGPU_LOCAL_ONLY, SOFTGPU_SYSTEM_ONLY, 0 };

	for (unsigned i = 0; i < 3; i++) {
		struct gpu gpu = gpu_begin();
		D3DKMT_HANDLE memory = create_resident(&gpu, 4 * K64, kinds[i]);

		map(&gpu, memory, BASE, 64, WRITE);
		gpu_fill(&gpu, BASE, 4 * K64, 1);
		EXPECT(gpu_run(&gpu));
		EXPECT_OK(evict(&gpu.client, &memory, 1, 0));
		EXPECT_OK(make_resident(&gpu.client, &memory, 1, 0));
		gpu_fill(&gpu, BASE + PAGE, PAGE, 2);
		EXPECT(gpu_run(&gpu));
		EXPECT_WORDS(&gpu, memory, 0, PAGE, 1);
		EXPECT_WORDS(&gpu, memory, PAGE, PAGE, 2);
		EXPECT_WORDS(&gpu, memory, 2 * PAGE, 4 * K64 - 2 * PAGE, 1);
		expect_valid();
	}
}

TEST(eviction, of_what_is_not_resident_yet_is_no_reason_not_to_map_it)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE memory = create_sized(&gpu.client, K64, SOFTGPU_CPU_VISIBLE);

	map(&gpu, memory, BASE, 16, WRITE);
	EXPECT_OK(make_resident(&gpu.client, &memory, 1, 0));
	gpu_fill(&gpu, BASE, K64, 8);
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, memory, 0, K64, 8);
}

/* So much of local memory that nothing else has a place there. */
static unsigned fill_local_memory(const struct gpu *gpu, D3DKMT_HANDLE handles[], unsigned most)
{
	unsigned count = 0;

	while (count < most &&
	       NT_SUCCESS(try_create_sized(&gpu->client, MIB / 4, SOFTGPU_LOCAL_ONLY,
					   &handles[count])) &&
	       make_resident(&gpu->client, &handles[count], 1, CANT_TRIM) == STATUS_SUCCESS)
		count++;
	return count;
}

GPU_TEST(move, is_followed_from_one_segment_to_another, gpu_begin())
{
	static D3DKMT_HANDLE others[256];

	D3DKMT_HANDLE memory = create_resident(gpu, 4 * K64, 0);

	EXPECT_EQ(residency_status(&gpu->client, memory), IN_GPU_MEMORY);
	map(gpu, memory, BASE, 64, WRITE);
	map(gpu, memory, BASE + 64 * MIB, 64, READ_ONLY);
	gpu_fill(gpu, BASE, 4 * K64, 1);
	EXPECT(gpu_run(gpu));
	EXPECT_OK(evict(&gpu->client, &memory, 1, 0));
	unsigned count = fill_local_memory(gpu, others, 256);
	EXPECT(count > 0);
	EXPECT_OK(make_resident(&gpu->client, &memory, 1, 0));
	EXPECT_EQ(residency_status(&gpu->client, memory), IN_SHARED_MEMORY);
	gpu_fill(gpu, BASE + K64, K64, 2);
	gpu_copy(gpu, BASE, BASE + 64 * MIB + K64, K64);
	EXPECT(gpu_run(gpu));
	EXPECT_WORDS(gpu, memory, 0, 2 * K64, 2);
	EXPECT_WORDS(gpu, memory, 2 * K64, 2 * K64, 1);
}

/* ---- updates ---- */

static D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION tile(UINT64 address, UINT64 size_bytes,
						     D3DKMT_HANDLE pool, UINT64 offset)
{
	return (D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION){
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = address,
			 .SizeInBytes = size_bytes,
			 .hAllocation = pool,
			 .AllocationOffsetInBytes = offset },
	};
}

static void update(struct gpu *gpu, D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *operations,
		   unsigned count)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = create_fence(gpu, 0);
	const volatile UINT64 *view = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .hDevice = gpu->client.device,
						.hContext = gpu->context,
						.hFenceObject = fence.hSyncObject,
						.NumOperations = count,
						.Operations = operations };
	UINT64 value = 1;

	EXPECT_OK(D3DKMTUpdateGpuVirtualAddress(&args));
	EXPECT_OK(wait_value(gpu->client.device, fence.hSyncObject, value));
	EXPECT_EQ(*view, 1);
}

TEST(update, maps_tiles_in_any_order_and_copies_them)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE pool = create_resident(&gpu, 4 * K64, 0);
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operations[] = {
		tile(BASE + 2 * K64, K64, pool, 0),
		tile(BASE, K64, pool, 2 * K64),
		{ .OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY,
		  .Copy = { .SourceAddress = BASE,
			    .SizeInBytes = K64,
			    .DestAddress = BASE + K64 } },
	};

	reserve(&gpu, BASE, MIB, D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO);
	update(&gpu, operations, 3);
	gpu_fill(&gpu, BASE + 2 * K64, K64, 1);
	gpu_fill(&gpu, BASE, K64 / 2, 2);
	gpu_fill(&gpu, BASE + K64 + K64 / 2, K64 / 2, 3); /* the same tile, by its copy */
	gpu_fill(&gpu, BASE + 3 * K64, K64, 4);           /* nothing there: dropped */
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, pool, 0, K64, 1);
	EXPECT_WORDS(&gpu, pool, K64, K64, 0);
	EXPECT_WORDS(&gpu, pool, 2 * K64, K64 / 2, 2);
	EXPECT_WORDS(&gpu, pool, 2 * K64 + K64 / 2, K64 / 2, 3);
	EXPECT_WORDS(&gpu, pool, 3 * K64, K64, 0);
}

TEST(update, repeats_a_part_and_takes_it_back)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_HANDLE pool = create_resident(&gpu, 4 * K64, 0);
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION repeat = tile(BASE, 4 * K64, pool, K64);
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION unmap_all = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_UNMAP,
		.Unmap = { .BaseAddress = BASE, .SizeInBytes = 4 * K64, .Protection.NoAccess = 1 },
	};

	repeat.Map.AllocationSizeInBytes = K64;
	reserve(&gpu, BASE, MIB, D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO);
	update(&gpu, &repeat, 1);
	gpu_fill(&gpu, BASE, K64, 1);
	gpu_fill(&gpu, BASE + 3 * K64, PAGE, 2);
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, pool, 0, K64, 0);
	EXPECT_WORDS(&gpu, pool, K64, PAGE, 2);
	EXPECT_WORDS(&gpu, pool, K64 + PAGE, K64 - PAGE, 1);
	EXPECT_WORDS(&gpu, pool, 2 * K64, 2 * K64, 0);
	update(&gpu, &unmap_all, 1);
	gpu_fill(&gpu, BASE + K64, 64, 3);
	EXPECT_FAULT(&gpu, BASE + K64, true);
}

/* ---- fences ---- */

TEST(fence, is_signalled_by_the_gpu_through_its_address)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = create_fence(&gpu, 0);
	const volatile UINT64 *view = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;

	gpu_write64(&gpu, fence.Info.MonitoredFence.FenceValueGPUVirtualAddress, 77);
	EXPECT(gpu_run(&gpu));
	EXPECT_EQ(*view, 77);
}

/* Devices of a process have their addresses in common. */
TEST(fence, of_one_device_lets_those_go_that_wait_when_work_of_another_writes_it)
{
	enum { PATIENCE_MS = 10000 };
	struct gpu gpu = gpu_begin();
	struct gpu other;
	UINT64 value = 77;
	struct pollfd event = { .fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN };

	gpu_open(&other, gpu.client.adapter);
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = create_fence(&other, 0);

	EXPECT(event.fd > 0);
	EXPECT_OK(wait_event(other.client.device, fence.hSyncObject, value, event.fd));
	gpu_write64(&gpu, fence.Info.MonitoredFence.FenceValueGPUVirtualAddress, value);
	EXPECT(gpu_run(&gpu));
	EXPECT_EQ(poll(&event, 1, PATIENCE_MS), 1);
	close(event.fd);
}

TEST(fence, that_may_not_be_signalled_is_read_and_faults_when_it_is_written)
{
	enum { NO_SIGNAL = 0x10 };
	struct gpu gpu = gpu_begin();
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = create_fence(&gpu, NO_SIGNAL);
	UINT64 address = fence.Info.MonitoredFence.FenceValueGPUVirtualAddress;
	D3DKMT_HANDLE memory = create_resident(&gpu, K64, 0);

	map(&gpu, memory, BASE, 16, WRITE);
	gpu_fill(&gpu, BASE, K64, 1);
	gpu_copy(&gpu, BASE, address, 8);
	EXPECT(gpu_run(&gpu));
	EXPECT_WORDS(&gpu, memory, 0, 8, 0);
	gpu_write64(&gpu, address, 1);
	EXPECT_FAULT(&gpu, address, true);
}

/* One that only this process knows has its page together with others, and may go later. */
TEST(fence, that_others_can_open_has_no_address_any_more_when_it_is_destroyed)
{
	enum { SHARED_NT_FENCE = 3 };
	struct gpu gpu = gpu_begin();
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = create_fence(&gpu, SHARED_NT_FENCE);
	const volatile UINT64 *view = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
	UINT64 address = fence.Info.MonitoredFence.FenceValueGPUVirtualAddress;
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT end = { fence.hSyncObject };

	gpu_write64(&gpu, address, 1);
	EXPECT(gpu_run(&gpu));
	EXPECT_EQ(*view, 1);
	/* The value is seen before the work is over. */
	EXPECT_OK(destroy_now(&gpu.client, create_sized(&gpu.client, PAGE, 0)));
	EXPECT_OK(D3DKMTDestroySynchronizationObject(&end));
	gpu_write64(&gpu, address, 2);
	EXPECT_FAULT(&gpu, address, true);
}

TEST(fence, has_an_address_that_no_client_frees_or_maps_at)
{
	struct gpu gpu = gpu_begin();
	UINT64 page = gpu.fence_address & ~(UINT64)(PAGE - 1);
	D3DKMT_FREEGPUVIRTUALADDRESS end = { gpu.client.adapter, page, PAGE };
	D3DDDI_MAPGPUVIRTUALADDRESS over = mapping(&gpu, gpu.buffer, page, 1, READ_ONLY);

	EXPECT_BAD(D3DKMTFreeGpuVirtualAddress(&end), "VA-DRIVER", "BaseAddress");
	EXPECT_BAD(D3DKMTMapGpuVirtualAddress(&over), "VA-DRIVER", "BaseAddress");
	EXPECT(gpu_run(&gpu));
}

/* ---- fences that end with work queued ---- */

static NTSTATUS destroy_fence(const D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *fence)
{
	return D3DKMTDestroySynchronizationObject(
		&(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){ fence->hSyncObject });
}

static UINT64 value_of(const D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *fence)
{
	return *(const volatile UINT64 *)fence->Info.MonitoredFence.FenceValueCPUVirtualAddress;
}

static void wait_in_queue(D3DKMT_HANDLE context, D3DKMT_HANDLE fence, UINT64 value)
{
	EXPECT_OK(D3DKMTWaitForSynchronizationObjectFromGpu(&(
		D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){ .hContext = context,
							     .ObjectCount = 1,
							     .ObjectHandleArray = &fence,
							     .MonitoredFenceValueArray = &value }));
}

/* A context with a command in its queue that writes a fence, behind what only the test lets go. */
struct held_write {
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 gate;
	D3DKMT_HANDLE context;
};

static struct held_write hold_write(struct gpu *gpu, UINT64 address, UINT64 value)
{
	struct held_write held = { .gate = create_fence(gpu, 0) };
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = gpu->client.device };
	D3DKMT_SUBMITCOMMAND work = { .Commands = gpu->address + COMMAND_BYTES / 2,
				      .BroadcastContextCount = 1 };
	unsigned used = gpu->used;

	EXPECT_OK(D3DKMTCreateContextVirtual(&context));
	held.context = context.hContext;
	wait_in_queue(held.context, held.gate.hSyncObject, 1);
	gpu->used = COMMAND_BYTES / 2; /* gpu_run() writes what it runs from the beginning */
	gpu_write64(gpu, address, value);
	work.CommandLength = gpu->used - COMMAND_BYTES / 2;
	gpu->used = used;
	work.BroadcastContext[0] = held.context;
	EXPECT_OK(D3DKMTSubmitCommand(&work));
	return held;
}

/* Returns when it has run, and the device has nothing queued any more. */
static void let_write(const struct gpu *gpu, const struct held_write *held)
{
	UINT64 value = 1;

	EXPECT_OK(signal_value(gpu->client.device, held->gate.hSyncObject, value));
	EXPECT_OK(destroy_now(&gpu->client, create_sized(&gpu->client, PAGE, 0)));
	EXPECT_EQ(execution_state(gpu->client.device), D3DKMT_DEVICEEXECUTION_ACTIVE);
}

TEST(fence, that_ended_with_work_queued_that_writes_it_is_no_later_one)
{
	enum { LATER = 24, OLD_VALUE = 1000 };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 later[LATER];
	struct gpu gpu = gpu_begin();
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 ended = create_fence(&gpu, 0);
	struct held_write held =
		hold_write(&gpu, ended.Info.MonitoredFence.FenceValueGPUVirtualAddress, OLD_VALUE);

	EXPECT_OK(destroy_fence(&ended));
	expect_valid();
	for (unsigned i = 0; i < LATER; i++)
		later[i] = create_fence(&gpu, 0);
	let_write(&gpu, &held);
	for (unsigned i = 0; i < LATER; i++)
		EXPECT_EQ(value_of(&later[i]), 0);
	expect_valid();
}

TEST(fence, that_others_can_open_keeps_its_address_until_queued_work_is_over)
{
	enum { SHARED_NT_FENCE = 3 };
	struct gpu gpu = gpu_begin();
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 ended = create_fence(&gpu, SHARED_NT_FENCE);
	UINT64 address = ended.Info.MonitoredFence.FenceValueGPUVirtualAddress;
	struct held_write held = hold_write(&gpu, address, 1);

	EXPECT_OK(destroy_fence(&ended));
	let_write(&gpu, &held); /* without a fault */
	expect_valid();         /* and it is gone */
	gpu_write64(&gpu, address, 2);
	EXPECT_FAULT(&gpu, address, true);
}

TEST(fence, that_ended_lets_those_go_that_wait_in_queues_when_the_gpu_writes_it)
{
	struct gpu gpu = gpu_begin();
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 ended = create_fence(&gpu, 0);
	struct held_write held =
		hold_write(&gpu, ended.Info.MonitoredFence.FenceValueGPUVirtualAddress, 5);

	wait_in_queue(gpu.context, ended.hSyncObject, 5);
	EXPECT_OK(destroy_fence(&ended));
	let_write(&gpu, &held);
	EXPECT(gpu_run(&gpu));
}

TEST(fence, that_ended_goes_with_its_device_when_queued_work_never_runs)
{
	enum { MANY = 100 };
	struct gpu gpu = gpu_begin();
	D3DKMT_DESTROYDEVICE end = { gpu.client.device };

	(void)hold_write(&gpu, gpu.fence_address, 1);
	for (unsigned i = 0; i < MANY; i++) {
		D3DKMT_CREATESYNCHRONIZATIONOBJECT2 ended = create_fence(&gpu, i % 4 == 3 ? 3 : 0);

		EXPECT_OK(destroy_fence(&ended));
	}
	expect_valid();
	EXPECT_OK(D3DKMTDestroyDevice(&end));
	expect_valid();
}

TEST_MAIN("api/gpuva_access")
