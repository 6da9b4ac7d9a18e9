/* SPDX-License-Identifier: MIT */
/*
 * gpuva_random_test.c - random reservations, mappings, updates, frees, evictions and destructions,
 * with a model of every page. After each step the kernel's ranges agree with the entries that the
 * driver was given (expect_valid), and the GPU finds at every address what the model says.
 *
 * The same with everything forced out after each step, page tables too: the next work has it back.
 *
 * A page that should fault is not touched: that costs the device (gpuva_access_test.c).
 * TEST_SEED chooses another row of steps.
 */
#include "api/gpu.h"

enum {
	MEMORIES = 5,
	MEMORY_PAGES = 96,
	WINDOW_PAGES = 640, /* more than one leaf table */
	STEPS = 220,
};

struct thing {
	D3DKMT_HANDLE handle;
	bool is_resident;
	unsigned tag; /* page i holds tag + i */
};

enum kind { FREE, NOTHING, ZEROES, SHOWN };

struct page {
	enum kind kind;
	bool is_reserved;
	unsigned memory;
	unsigned offset;
};

struct model {
	struct gpu gpu;
	uint64_t random;
	unsigned next_tag;
	UINT64 window; /* its address */
	struct thing things[MEMORIES];
	struct page pages[WINDOW_PAGES];
	D3DKMT_HANDLE seen; /* what the GPU found, page by page */
	UINT64 seen_address;
	unsigned accepted;
};

static unsigned below(struct model *model, unsigned bound)
{
	model->random ^= model->random << 13;
	model->random ^= model->random >> 7;
	model->random ^= model->random << 17;
	return (unsigned)(model->random % bound);
}

static UINT64 address_of(const struct model *model, unsigned page)
{
	return model->window + (UINT64)page * PAGE;
}

/* ---- memory ---- */

static void thing_make(struct model *model, struct thing *thing)
{
	static const unsigned kinds[] = { 0, SOFTGPU_LOCAL_ONLY, SOFTGPU_SYSTEM_ONLY };
	void *pointer;

	thing->handle = create_resident(&model->gpu, MEMORY_PAGES * PAGE, kinds[below(model, 3)]);
	thing->is_resident = true;
	thing->tag = model->next_tag;
	model->next_tag += 4096;
	EXPECT_OK(lock2(model->gpu.client.device, thing->handle, &pointer));
	for (unsigned i = 0; i < MEMORY_PAGES; i++)
		*(uint32_t *)((char *)pointer + i * PAGE) = thing->tag + i;
	EXPECT_OK(unlock2(model->gpu.client.device, thing->handle));
}

static void do_evict(struct model *model)
{
	struct thing *thing = &model->things[below(model, MEMORIES)];
	struct client *client = &model->gpu.client;

	if (thing->is_resident)
		EXPECT_OK(evict(client, &thing->handle, 1, 0));
	else
		EXPECT_OK(make_resident(client, &thing->handle, 1, 0));
	thing->is_resident = !thing->is_resident;
	model->accepted++;
}

/* What is in local memory moves there, to the one end or the other; every third time verified. */
static void do_put_in_order(struct model *model)
{
	static const D3DKMT_DEFRAG_ESCAPE_OPERATION operations[] = {
		D3DKMT_DEFRAG_ESCAPE_DEFRAG_UPWARD,
		D3DKMT_DEFRAG_ESCAPE_DEFRAG_DOWNWARD,
		D3DKMT_DEFRAG_ESCAPE_VERIFY_TRANSFER,
	};

	put_in_order(&model->gpu.client, operations[below(model, 3)]);
}

/* Map's addresses go with it; a reservation shows through again, and all of ours are zeroes. */
static void do_destroy(struct model *model)
{
	unsigned which = below(model, MEMORIES);

	EXPECT_OK(destroy_now(&model->gpu.client, model->things[which].handle));
	thing_make(model, &model->things[which]);
	for (unsigned i = 0; i < WINDOW_PAGES; i++) {
		struct page *page = &model->pages[i];

		if (page->kind == SHOWN && page->memory == which)
			page->kind = page->is_reserved ? ZEROES : FREE;
	}
	model->accepted++;
}

/* ---- addresses ---- */

static void do_reserve(struct model *model)
{
	unsigned first = below(model, WINDOW_PAGES / 16) * 16;
	unsigned count = (1 + below(model, 16)) * 16;

	if (first + count > WINDOW_PAGES)
		count = WINDOW_PAGES - first;
	D3DDDI_RESERVEGPUVIRTUALADDRESS args = {
		.hAdapter = model->gpu.client.adapter,
		.BaseAddress = address_of(model, first),
		.Size = (UINT64)count * PAGE,
		.ReservationType = D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO,
	};
	if (D3DKMTReserveGpuVirtualAddress(&args) != STATUS_SUCCESS)
		return;
	for (unsigned i = first; i < first + count; i++) {
		EXPECT_EQ(model->pages[i].kind, FREE);
		model->pages[i] = (struct page){ .kind = ZEROES, .is_reserved = true };
	}
	model->accepted++;
}

static void show(struct model *model, unsigned first, unsigned count, unsigned memory,
		 unsigned offset)
{
	for (unsigned i = 0; i < count; i++) {
		model->pages[first + i].kind = SHOWN;
		model->pages[first + i].memory = memory;
		model->pages[first + i].offset = offset + i;
	}
	model->accepted++;
}

static void do_map(struct model *model)
{
	unsigned memory = below(model, MEMORIES);
	unsigned first = below(model, WINDOW_PAGES - 1);
	unsigned count = 1 + below(model, MEMORY_PAGES);

	if (first + count > WINDOW_PAGES)
		count = WINDOW_PAGES - first;
	unsigned offset = below(model, MEMORY_PAGES - count + 1);
	D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(&model->gpu, model->things[memory].handle,
						   address_of(model, first), count, WRITE);
	args.OffsetInPages = offset;
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);
	if (status == STATUS_PENDING)
		wait_for(&model->gpu.client, args.PagingFenceValue);
	if (NT_SUCCESS(status))
		show(model, first, count, memory, offset);
}

/* Without memory, where a reservation is. */
static void do_map_nothing(struct model *model)
{
	bool is_zero = below(model, 2);
	unsigned first = below(model, WINDOW_PAGES - 1);
	unsigned count = 1 + below(model, 40);

	if (first + count > WINDOW_PAGES)
		count = WINDOW_PAGES - first;
	D3DDDI_MAPGPUVIRTUALADDRESS args = mapping(&model->gpu, 0, address_of(model, first), count,
						   is_zero ? ZERO : NO_ACCESS);
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);
	if (status == STATUS_PENDING)
		wait_for(&model->gpu.client, args.PagingFenceValue);
	for (unsigned i = 0; NT_SUCCESS(status) && i < count; i++)
		model->pages[first + i].kind = is_zero ? ZEROES : NOTHING;
	model->accepted += NT_SUCCESS(status);
}

static void do_free(struct model *model)
{
	unsigned first = below(model, WINDOW_PAGES - 1);
	unsigned count = 1 + below(model, 200);

	if (first + count > WINDOW_PAGES)
		count = WINDOW_PAGES - first;
	D3DKMT_FREEGPUVIRTUALADDRESS args = { model->gpu.client.adapter, address_of(model, first),
					      (UINT64)count * PAGE };
	if (D3DKMTFreeGpuVirtualAddress(&args) != STATUS_SUCCESS)
		return;
	for (unsigned i = first; i < first + count; i++)
		model->pages[i] = (struct page){ 0 };
	model->accepted++;
}

static void do_update(struct model *model)
{
	unsigned memory = below(model, MEMORIES);
	unsigned first = below(model, WINDOW_PAGES - 1);
	unsigned count = 1 + below(model, 60);
	unsigned source = below(model, WINDOW_PAGES - 60);
	bool is_copy = below(model, 2);

	if (first + count > WINDOW_PAGES)
		count = WINDOW_PAGES - first;
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION operation = {
		.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP,
		.Map = { .BaseAddress = address_of(model, first),
			 .SizeInBytes = (UINT64)count * PAGE,
			 .hAllocation = model->things[memory].handle },
	};
	if (is_copy)
		operation = (D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION){
			.OperationType = D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY,
			.Copy = { .SourceAddress = address_of(model, source),
				  .SizeInBytes = (UINT64)count * PAGE,
				  .DestAddress = address_of(model, first) },
		};
	UINT64 value = ++model->gpu.value;
	D3DKMT_UPDATEGPUVIRTUALADDRESS args = { .hDevice = model->gpu.client.device,
						.hContext = model->gpu.context,
						.hFenceObject = model->gpu.fence,
						.NumOperations = 1,
						.Operations = &operation,
						.FenceValue = value - 1 };
	if (D3DKMTUpdateGpuVirtualAddress(&args) != STATUS_SUCCESS) {
		model->gpu.value--;
		return;
	}
	EXPECT_OK(wait_value(model->gpu.client.device, model->gpu.fence, value));
	if (!is_copy) {
		show(model, first, count, memory, 0);
		return;
	}
	static struct page before[WINDOW_PAGES];
	memcpy(before, model->pages, sizeof(before));
	for (unsigned i = 0; i < count; i++)
		model->pages[first + i] = before[source + i];
	model->accepted++;
}

/* ---- what the GPU finds ---- */

static bool is_readable(const struct model *model, const struct page *page)
{
	return page->kind == ZEROES ||
	       (page->kind == SHOWN && model->things[page->memory].is_resident);
}

static uint32_t expected(const struct model *model, const struct page *page)
{
	return page->kind == SHOWN ? model->things[page->memory].tag + page->offset : 0;
}

static void compare(struct model *model)
{
	const uint32_t unread = 0xffffffff;
	void *pointer;

	/* The first word of each page, next to each other. */
	gpu_fill(&model->gpu, model->seen_address, WINDOW_PAGES * 4, unread);
	for (unsigned i = 0; i < WINDOW_PAGES; i++) {
		if (is_readable(model, &model->pages[i]))
			gpu_copy(&model->gpu, model->seen_address + i * 4, address_of(model, i), 4);
	}
	EXPECT(gpu_run(&model->gpu));
	EXPECT_OK(lock2(model->gpu.client.device, model->seen, &pointer));
	for (unsigned i = 0; i < WINDOW_PAGES; i++) {
		uint32_t found = ((const uint32_t *)pointer)[i];
		uint32_t wanted = is_readable(model, &model->pages[i])
					  ? expected(model, &model->pages[i])
					  : unread;

		if (found != wanted)
			print_error("page %u of the window\n", i);
		EXPECT_EQ(found, wanted);
	}
	EXPECT_OK(unlock2(model->gpu.client.device, model->seen));
	expect_valid();
}

/* Memory, and the page tables of who does nothing right now. */
static void force_out(const struct model *model)
{
	D3DKMT_VIDMM_ESCAPE everything = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	D3DKMT_ESCAPE args = { .hAdapter = model->gpu.client.adapter,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &everything,
			       .PrivateDriverDataSize = sizeof(everything) };

	EXPECT_OK(D3DKMTEscape(&args));
}

static void run(uint64_t seed, bool is_forced_out)
{
	static struct model model;

	model = (struct model){ .gpu = gpu_begin(), .random = seed * 2654435761u + 1 };
	/* Across the end of a leaf table, and of what a 2 MiB page would cover. */
	model.window = BASE + 2 * MIB - 256 * PAGE;
	model.next_tag = 1;
	model.seen = create_resident(&model.gpu, WINDOW_PAGES * PAGE, SOFTGPU_SYSTEM_ONLY);
	model.seen_address = map(&model.gpu, model.seen, BASE + 64 * MIB, WINDOW_PAGES, WRITE);
	for (unsigned i = 0; i < MEMORIES; i++)
		thing_make(&model, &model.things[i]);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned what = below(&model, 100);

		if (what < 12)
			do_reserve(&model);
		else if (what < 42)
			do_map(&model);
		else if (what < 50)
			do_map_nothing(&model);
		else if (what < 60)
			do_free(&model);
		else if (what < 75)
			do_update(&model);
		else if (what < 90)
			do_evict(&model);
		else if (what < 95)
			do_put_in_order(&model);
		else
			do_destroy(&model);
		if (is_forced_out)
			force_out(&model);
		compare(&model);
	}
	EXPECT(model.accepted > STEPS / 4);
}

static uint64_t seed_of_run(void)
{
	const char *text = getenv("TEST_SEED");

	return text ? strtoull(text, NULL, 0) : 1;
}

TEST(random, steps_show_what_the_model_says)
{
	run(seed_of_run(), false);
}

TEST(random, steps_show_what_the_model_says_when_everything_is_forced_out_after_each)
{
	run(seed_of_run() + 100, true);
}

TEST_MAIN("api/gpuva_random")
