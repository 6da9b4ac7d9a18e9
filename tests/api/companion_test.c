/* SPDX-License-Identifier: MIT */
/*
 * companion_test.c - the paging context that updates of GPU addresses are executed in: one beside
 * each context that has some, on the node that the driver named for it.
 */
#include "api/tile_pool.h"

enum {
	BESIDE_BY_HAND, /* the GPU's work is; paging on its own node is not */
	BESIDE_HOLDING, /* likewise, and a preemption is not answered */
	BESIDE_AT_ONCE,
	BY_CPU,   /* the CPU writes page tables */
	REFUSING, /* the driver makes none */
	NOWHERE,  /* the driver names a node that there is not */
	COMPANION_ADAPTERS
};

enum { COMPANION_NODE = 1 };

static D3DKMT_HANDLE fence;
static const volatile UINT64 *seen;

/* A process with a reservation of zeroes. */
static UINT64 begin_tiled(unsigned which)
{
	begin_with_queue_on(which);
	fence = create_fence(0, 0, &seen);
	return reserve_zero(65536);
}

static NTSTATUS map_in(D3DKMT_HANDLE context, UINT64 value, UINT64 address)
{
	D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION map = map_pool(create_plain(), address, 3, 5);

	return update_in(context, fence, value, &map, 1);
}

/* SystemContext and VirtualAddressing. */
static unsigned made(void)
{
	return notes_count("CompanionMade irql=0 node=1 flags=5");
}

static void hold_paging(bool is_held)
{
	struct recorder_escape hold = { .command = RECORDER_HOLD_PAGING, .flags = is_held };

	(void)crank(&hold);
}

/* An update is with the hardware, and nothing in front of it. */
static void begin_update_by_hand(D3DKMT_HANDLE context, UINT64 address)
{
	EXPECT_OK(map_in(context, 7, address));
	UINT64 value = map_at(create_plain(), 0, 4);
	AWAIT(*paging_value >= value);
	hold_paging(true);
	EXPECT_OK(signal_fence(fence, 7));
	AWAIT(pending(COMPANION_NODE) > 0);
}

/* A process keeps its addresses when a device of it is lost. */
static void expect_new_device_updates(UINT64 address)
{
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = device = create_device(adapter) };

	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	paging_queue = queue.hPagingQueue;
	paging_value = queue.FenceValueCPUVirtualAddress;
	fence = create_fence(0, 0, &seen);
	EXPECT_OK(map_in(create_virtual(0), 0, address));
	AWAIT(*seen == 1);
}

TEST(companion, is_made_with_the_first_update_of_a_context_and_not_before)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);
	D3DKMT_HANDLE context = create_virtual(0);

	EXPECT_EQ(notes_count("CompanionMade"), 0);
	EXPECT_OK(map_in(context, 0, address));
	EXPECT_EQ(made(), 1);
	AWAIT(*seen == 1);
	EXPECT_OK(map_in(context, 1, address));
	AWAIT(*seen == 2);
	EXPECT_EQ(notes_count("CompanionMade"), 1);
	expect_sound("with a companion");
	expect_nothing_wrong();
}

TEST(companion, is_of_one_context)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);

	EXPECT_OK(map_in(create_virtual(0), 0, address));
	AWAIT(*seen == 1);
	EXPECT_OK(map_in(create_virtual(2), 1, address));
	AWAIT(*seen == 2);
	EXPECT_EQ(made(), 2);
	expect_nothing_wrong();
}

TEST(companion, is_told_its_root_before_its_first_packet)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);

	EXPECT_OK(map_in(create_virtual(0), 0, address));
	AWAIT(*seen == 1);
	EXPECT(notes_in_order("CompanionMade", "CompanionRoot"));
	EXPECT(notes_in_order("CompanionRoot", "CompanionBuild"));
	EXPECT(notes_in_order("CompanionRoot", "CompanionSubmit"));
	expect_nothing_wrong();
}

TEST(companion, has_the_entries_copied_in_it_on_its_node)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);

	EXPECT_OK(map_in(create_virtual(0), 0, address));
	AWAIT(*seen == 1);
	EXPECT_EQ(copies(), 1);
	EXPECT_EQ(notes_count("CompanionBuild irql=0 node=1 operation=14"), 1);
	EXPECT(notes_count("CompanionSubmit irql=2 node=1 paging=1") > 0);
	EXPECT_EQ(notes_count("CompanionSubmit irql=2 node=1 paging=0"), 0);
	expect_nothing_wrong();
}

static const char *last_note(const char *beginning)
{
	const char *last = NULL;

	pthread_mutex_lock(&notes_lock);
	for (const char *at = notes; (at = strstr(at, beginning)); at++)
		last = at;
	pthread_mutex_unlock(&notes_lock);
	return last;
}

TEST(companion, has_the_TLB_flushed_behind_the_copies)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);

	EXPECT_OK(map_in(create_virtual(0), 0, address));
	AWAIT(*seen == 1);
	EXPECT(last_note("CompanionBuild irql=0 node=1 operation=14") <
	       last_note("CompanionBuild irql=0 node=1 operation=12"));
}

/* What does not belong to the update stays in the kernel's own context. */
TEST(companion, has_nothing_else_to_do)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);

	EXPECT_OK(map_in(create_virtual(0), 0, address));
	AWAIT(*seen == 1);
	unsigned submitted = notes_count("CompanionSubmit");
	D3DKMT_HANDLE other = create_plain();
	UINT64 value = map_at(other, 0, 4);
	AWAIT(*paging_value >= value);
	EXPECT_EQ(notes_count("CompanionSubmit"), submitted);
}

TEST(companion, goes_before_the_context_it_is_beside)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);
	D3DKMT_HANDLE context = create_virtual(0);

	EXPECT_OK(map_in(context, 0, address));
	AWAIT(*seen == 1);
	mark("ending");
	EXPECT_OK(destroy_context(context));
	EXPECT_EQ(notes_count("CompanionEnds"), 1);
	EXPECT_EQ(notes_count("DestroyContext"), 2);
	/* The first of them is its own. */
	EXPECT(notes_in_order("ending", "CompanionEnds"));
	EXPECT(notes_in_order("CompanionEnds", "DestroyContext"));
	expect_sound("without the context");
	expect_nothing_wrong();
}

TEST(companion, goes_with_the_device)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);

	EXPECT_OK(map_in(create_virtual(0), 0, address));
	EXPECT_OK(destroy_device(device));
	EXPECT_EQ(notes_count("CompanionEnds"), 1);
	EXPECT(notes_in_order("CompanionEnds", "DestroyDevice"));
	expect_nothing_wrong();
}

TEST(companion, goes_with_the_process)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);

	EXPECT_OK(map_in(create_virtual(0), 0, address));
	EXPECT_OK(map_in(create_virtual(0), 100, address));
	D3DKMTCloseDxCoreDevice();
	EXPECT_EQ(notes_count("CompanionEnds"), 2);
	expect_nothing_wrong();
}

/* Nobody else could end it: so ends what waits in a context's queue, too. */
TEST(companion, drops_an_update_that_waits_when_its_context_ends)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);
	D3DKMT_HANDLE context = create_virtual(0);

	EXPECT_OK(map_in(context, 7, address));
	EXPECT_OK(destroy_context(context));
	EXPECT_EQ(notes_count("CompanionEnds"), 1);
	EXPECT_OK(signal_fence(fence, 7));
	settle();
	EXPECT_EQ(*seen, 7);
	EXPECT_EQ(copies(), 0);
	expect_sound("after it was dropped");
	expect_nothing_wrong();
}

TEST(companion, is_not_made_where_the_CPU_writes_page_tables)
{
	UINT64 address = begin_tiled(BY_CPU);

	EXPECT_OK(map_in(create_virtual(0), 0, address));
	AWAIT(*seen == 1);
	EXPECT_EQ(notes_count("CompanionMade"), 0);
	EXPECT_EQ(copies(), 0);
	expect_nothing_wrong();
}

TEST(companion, that_the_driver_does_not_make_is_the_end_of_the_update)
{
	UINT64 address = begin_tiled(REFUSING);
	D3DKMT_HANDLE context = create_virtual(0);

	EXPECT_EQ(map_in(context, 0, address), STATUS_NO_MEMORY);
	EXPECT_STR(last_refusal().rule, "DDI-STATUS");
	settle();
	EXPECT_EQ(*seen, 0);
	EXPECT_EQ(copies(), 0);
	EXPECT_OK(destroy_context(context));
	EXPECT_EQ(notes_count("CompanionEnds"), 0);
	expect_sound("after the refusal");
	expect_nothing_wrong();
}

TEST(companion, on_a_node_that_there_is_not_is_refused_with_its_context)
{
	D3DKMT_HANDLE context;

	begin_on(NOWHERE);
	EXPECT_EQ(try_create_virtual(device, 0, &context), STATUS_GRAPHICS_INVALID_DRIVER_MODEL);
	EXPECT_STR(last_refusal().rule, "DDI-CONTEXT-INFO");
	EXPECT_STR(last_refusal().argument, "DXGK_CONTEXTINFO.PagingCompanionNodeId");
}

/* ---- order between the two nodes ---- */

TEST(order, of_what_is_built_is_kept_across_nodes)
{
	UINT64 address = begin_tiled(BESIDE_BY_HAND);
	D3DKMT_HANDLE context = create_virtual(0);

	begin_update_by_hand(context, address);

	/* It was built behind the update, for another context on another node. */
	UINT64 value = map_at(create_plain(), 0, 4);
	settle();
	EXPECT_EQ(pending(3), 0);
	EXPECT(*paging_value < value);
	while (*seen < 8) {
		if (pending(COMPANION_NODE) > 0)
			complete(COMPANION_NODE);
		let_others();
	}
	AWAIT(pending(3) > 0);
	while (*paging_value < value) {
		if (pending(3) > 0)
			complete(3);
		let_others();
	}
	hold_paging(false);
	expect_sound("after both");
	expect_nothing_wrong();
}

static void end_context(void *context)
{
	EXPECT_OK(destroy_context(*(D3DKMT_HANDLE *)context));
}

TEST(order, the_context_ends_behind_what_its_companion_has_with_the_hardware)
{
	UINT64 address = begin_tiled(BESIDE_BY_HAND);
	D3DKMT_HANDLE context = create_virtual(0);

	begin_update_by_hand(context, address);
	struct dxgk_test_thread *thread = begin_thread(end_context, &context);
	settle();
	EXPECT_EQ(notes_count("CompanionEnds"), 0);
	hold_paging(false);
	complete_all(COMPANION_NODE, 1);
	dxgk_test_thread_join(thread);
	EXPECT_EQ(notes_count("CompanionEnds"), 1);
	EXPECT_EQ(*seen, 8);
	expect_nothing_wrong();
}

/* Of the kernel's, it goes ahead of what a client has on its node. */
TEST(order, it_preempts_clients_on_its_node)
{
	UINT64 address = begin_tiled(BESIDE_BY_HAND);

	EXPECT_OK(submit(create_virtual(COMPANION_NODE), 8));
	AWAIT(pending(COMPANION_NODE) == 1);
	EXPECT_OK(map_in(create_virtual(0), 0, address));
	AWAIT(*seen == 1);
	EXPECT(notes_in_order("PreemptCommand irql=2 node=1", "CompanionSubmit"));
	/* It comes again, and to its end. */
	AWAIT(pending(COMPANION_NODE) == 1);
	EXPECT_EQ(complete(COMPANION_NODE), 8);
	expect_nothing_wrong();
}

/* ---- resets ---- */

TEST(reset, is_of_the_adapter_when_it_hangs)
{
	SKIP_UNLESS_SEEDED();

	UINT64 address = begin_tiled(BESIDE_HOLDING);
	D3DKMT_HANDLE context = create_virtual(0);

	begin_update_by_hand(context, address);
	(void)wait_fence(fence, 8, 0);
	AWAIT(notes_count("RestartFromTimeout") == 1);
	EXPECT(notes_in_order("ResetFromTimeout", "RestartFromTimeout"));
	hold_paging(false);
	EXPECT_OK(destroy_device(device));
	EXPECT_EQ(notes_count("CompanionEnds"), 1);
	/* The GPU works again, for others. */
	expect_new_device_updates(address);
	expect_nothing_wrong();
}

TEST(reset, of_the_adapter_ends_what_it_has_and_tells_it_the_root_again)
{
	UINT64 address = begin_tiled(BESIDE_BY_HAND);
	D3DKMT_HANDLE context = create_virtual(0);

	begin_update_by_hand(context, address);
	unsigned roots = notes_count("CompanionRoot");
	hold_paging(false);
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_GPUTDR, 0));
	EXPECT_EQ(notes_count("CompanionRoot"), roots + 1);
	EXPECT_OK(destroy_context(context));
	EXPECT_EQ(notes_count("CompanionEnds"), 1);
	EXPECT_OK(destroy_device(device));
	expect_sound("after the reset");
	expect_nothing_wrong();
}

TEST(reset, leaves_nothing_that_another_device_would_meet)
{
	UINT64 address = begin_tiled(BESIDE_AT_ONCE);

	EXPECT_OK(map_in(create_virtual(0), 0, address));
	AWAIT(*seen == 1);
	EXPECT_OK(force(D3DKMT_TDRDBGCTRLTYPE_GPUTDR, 0));
	expect_new_device_updates(address);
	expect_sound("after the reset");
	expect_nothing_wrong();
}

int main(int argc, char **argv)
{
	static const char *const registries[COMPANION_ADAPTERS] = {
		[BESIDE_BY_HAND] = "\"HandCranked\": 1, \"PageTableUpdateMode\": 2, "
				   "\"PagingCompanionNodeId\": 1",
		[BESIDE_HOLDING] = "\"HandCranked\": 1, \"PageTableUpdateMode\": 2, "
				   "\"PagingCompanionNodeId\": 1, \"HoldPreemption\": 1",
		[BESIDE_AT_ONCE] = "\"HandCranked\": 0, \"PageTableUpdateMode\": 2, "
				   "\"PagingCompanionNodeId\": 1",
		[BY_CPU] = "\"HandCranked\": 0, \"PageTableUpdateMode\": 0, "
			   "\"PagingCompanionNodeId\": 1",
		[REFUSING] = "\"HandCranked\": 0, \"PageTableUpdateMode\": 2, "
			     "\"FailCompanion\": 3221225495", /* STATUS_NO_MEMORY */
		[NOWHERE] = "\"HandCranked\": 0, \"PageTableUpdateMode\": 2, "
			    "\"PagingCompanionNodeId\": 9",
	};

	crank_profile_of(registries, COMPANION_ADAPTERS, "");
	return api_main("api/companion", argc, argv);
}
