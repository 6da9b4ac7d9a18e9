/* SPDX-License-Identifier: MIT */
/*
 * control_test.c - what a tester may do to the memory manager: each control has the effect it is
 * named after, and what is wrong is refused with a reason. On a GPU with 8 MiB.
 */
#include "api/control.h"

enum { ALWAYS_DISCARD = 1 << 3, NEVER_DISCARD = 1 << 4, NO_DEMOTION = 1 << 13 };
enum { FAIL_DEFRAG = 1 << 14, ALWAYS_DECOMMIT = 1 << 16, NEVER_MOVE = 1 << 17 };
enum { SYNC_EVICT = 1, NEVER_DEFER = 2, FAIL_COMMIT = 4, DEMOTE = 8 };

/* ---- eviction ---- */

CLIENT_TEST(control, evict_all_moves_everything_out_and_loses_nothing, begin_uncontrolled())
{
	D3DKMT_HANDLE one = resident_filled(client, MIB, 1);
	D3DKMT_HANDLE two = resident_filled(client, MIB, 2);
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	UINT64 before = segment_statistics(LOCAL_SEGMENT).Memory.TotalBytesEvicted;

	EXPECT_OK(vidmm(client, &args));
	EXPECT_EQ(segment_statistics(LOCAL_SEGMENT).Memory.TotalBytesEvicted, before + 2 * MIB);
	flush(client);
	/* What is on a list comes back. */
	EXPECT_EQ(residency_status(client, one), IN_GPU_MEMORY);
	EXPECT_EQ(residency_status(client, two), IN_GPU_MEMORY);
	EXPECT_CONTENT(client, one, MIB, 1);
	EXPECT_CONTENT(client, two, MIB, 2);
}

TEST(control, evict_of_a_leftover_leaves_it_out)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = resident_filled(&client, MIB, 3);
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	EXPECT_OK(evict(&client, &one, 1, ONLY_IF_NECESSARY));
	EXPECT_EQ(residency_status(&client, one), IN_GPU_MEMORY);
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, one), NOT_RESIDENT);
	EXPECT_CONTENT(&client, one, MIB, 3);
}

TEST(control, evict_by_handle_takes_that_one)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[] = { resident_filled(&client, MIB, 4),
				 resident_filled(&client, MIB, 5) };
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	EXPECT_OK(evict(&client, list, 2, ONLY_IF_NECESSARY));
	args.Evict.AllocationHandle = list[0];
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, list[0]), NOT_RESIDENT);
	EXPECT_EQ(residency_status(&client, list[1]), IN_GPU_MEMORY);
	args.Evict.AllocationHandle = 0;
	args.Evict.hProcess = (HANDLE)(intptr_t)-1;
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, list[1]), NOT_RESIDENT);
}

TEST(control, evict_by_resource_and_by_nt_handle_takes_all_of_it)
{
	struct client client = begin_uncontrolled();
	struct creation creation;
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	HANDLE shared = NULL;

	creation_init_resource(&creation, client.device, 1, SHARED_NT);
	EXPECT_OK(create(&creation));
	D3DKMT_HANDLE one = creation.elements[0].hAllocation;
	EXPECT_OK(make_resident(&client, &one, 1, 0));
	EXPECT_OK(evict(&client, &one, 1, ONLY_IF_NECESSARY));
	args.Evict.ResourceHandle = creation.args.hResource;
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, one), NOT_RESIDENT);

	EXPECT_OK(make_resident(&client, &one, 1, 0));
	EXPECT_OK(evict(&client, &one, 1, ONLY_IF_NECESSARY));
	EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, 0, &shared));
	args = (D3DKMT_VIDMM_ESCAPE){ .Type = D3DKMT_VIDMMESCAPETYPE_EVICT_BY_NT_HANDLE };
	args.EvictByNtHandle.NtHandle = (UINT64)(uintptr_t)shared;
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, one), NOT_RESIDENT);
	args.EvictByNtHandle.NtHandle = 12345;
	EXPECT(!NT_SUCCESS(vidmm(&client, &args)));
	close((int)(intptr_t)shared);
}

TEST(control, evict_by_criteria_looks_at_sizes)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE list[] = { resident_filled(&client, 64 * KIB, 6),
				 resident_filled(&client, MIB, 7) };
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT_BY_CRITERIA };

	EXPECT_OK(evict(&client, list, 2, ONLY_IF_NECESSARY));
	args.EvictByCriteria.Flags.Primary = 1;
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, list[0]), IN_GPU_MEMORY);
	args.EvictByCriteria.Value = 0;
	args.EvictByCriteria.MinimumSize = 512 * KIB;
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, list[0]), IN_GPU_MEMORY);
	EXPECT_EQ(residency_status(&client, list[1]), NOT_RESIDENT);
	args.EvictByCriteria.MinimumSize = 0;
	args.EvictByCriteria.MaximumSize = 64 * KIB;
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, list[0]), NOT_RESIDENT);
}

TEST(control, wrong_evictions_are_refused)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	D3DKMT_ESCAPE no_device = { .hAdapter = client.adapter,
				    .Type = D3DKMT_ESCAPE_VIDMM,
				    .pPrivateDriverData = &args,
				    .PrivateDriverDataSize = sizeof(args) };

	args.Evict.hProcess = (HANDLE)(intptr_t)5;
	EXPECT_REFUSED(vidmm(&client, &args), STATUS_INVALID_HANDLE, "API-HANDLE", "hProcess");
	args.Evict.hProcess = NULL;
	args.Evict.AllocationHandle = one;
	EXPECT_BAD(D3DKMTEscape(&no_device), "API-HANDLE", "hDevice");
	args.Evict.ResourceHandle = one;
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "Evict.AllocationHandle");
	args.Evict.AllocationHandle = 0;
	EXPECT_BAD(vidmm(&client, &args), "API-HANDLE", "Evict.ResourceHandle");
	args.Evict.ResourceHandle = 0;
	args.Evict.AllocationHandle = GARBAGE;
	EXPECT_BAD(vidmm(&client, &args), "API-HANDLE", "Evict.AllocationHandle");
	args = (D3DKMT_VIDMM_ESCAPE){ .Type = D3DKMT_VIDMMESCAPETYPE_EVICT_BY_CRITERIA };
	args.EvictByCriteria.Value = 2;
	EXPECT_BAD(vidmm(&client, &args), "API-RESERVED", "EvictByCriteria.Flags");
	args.EvictByCriteria.Value = 0;
	args.EvictByCriteria.MinimumSize = 2;
	args.EvictByCriteria.MaximumSize = 1;
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "EvictByCriteria.MaximumSize");
}

TEST(control, a_suspended_process_has_nothing_in_gpu_memory)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = resident_filled(&client, MIB, 21);
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_SUSPEND_PROCESS };

	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, one), NOT_RESIDENT);
	expect_valid();
	args.Type = D3DKMT_VIDMMESCAPETYPE_RESUME_PROCESS;
	EXPECT_OK(vidmm(&client, &args));
	flush(&client);
	EXPECT_EQ(residency_status(&client, one), IN_GPU_MEMORY);
	EXPECT_CONTENT(&client, one, MIB, 21);
	expect_valid();
}

/* ---- budgets ---- */

TEST(control, a_budget_that_is_set_is_what_everybody_gets)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = create_sized(&client, 2 * MIB, SOFTGPU_CPU_VISIBLE);
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_GET_BUDGET };
	UINT64 whole = memory_info(&client, 0).Budget;

	EXPECT_OK(make_resident(&client, &one, 1, 0));
	EXPECT_OK(set_budget(&client, MIB, 0));
	EXPECT_EQ(memory_info(&client, 0).Budget, MIB);
	EXPECT_EQ(memory_info(&client, 1).Budget, 0);
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(args.GetBudget.NumBytesToTrim, MIB);
	D3DKMT_HANDLE more = create_sized(&client, MIB, SOFTGPU_CPU_VISIBLE);
	EXPECT_EQ(make_resident(&client, &more, 1, 0), STATUS_NO_MEMORY);
	EXPECT_OK(make_resident(&client, &more, 1, CANT_TRIM));
	expect_valid();
	EXPECT_OK(set_budget(&client, UINT64_MAX, UINT64_MAX));
	EXPECT_EQ(memory_info(&client, 0).Budget, whole);
}

TEST(control, a_process_can_be_restricted)
{
	struct client client = begin_uncontrolled();
	UINT64 whole = memory_info(&client, 0).Budget;
	D3DKMT_PROCESS_VERIFIER_OPTION args = {
		.Type = D3DKMT_PROCESS_VERIFIER_OPTION_VIDMM_RESTRICT_BUDGET,
		.Mode = D3DKMT_VERIFIER_OPTION_QUERY,
	};

	EXPECT_OK(escape_of(&client, D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION, &args, sizeof(args)));
	EXPECT_EQ(args.Data.VidMmRestrictBudget.LocalBudget, UINT64_MAX);
	args.Mode = D3DKMT_VERIFIER_OPTION_SET;
	args.Data.VidMmRestrictBudget.LocalBudget = 3 * MIB;
	EXPECT_OK(escape_of(&client, D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION, &args, sizeof(args)));
	EXPECT_EQ(memory_info(&client, 0).Budget, 3 * MIB);
	/* Its own end: the next process is as free as any. */
	client = begin_uncontrolled();
	EXPECT_EQ(memory_info(&client, 0).Budget, whole);
}

/* ---- offers ---- */

CLIENT_TEST(control, always_discard_drops_what_is_offered_at_once, begin_uncontrolled())
{
	D3DKMT_HANDLE in = resident_filled(client, MIB, 8);
	D3DKMT_HANDLE out = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE);
	D3DKMT_HANDLE list[] = { in, out };
	D3DDDI_RECLAIM_RESULT results[2];

	fill(client, out, MIB, 9);
	EXPECT_OK(set_adapter(client, ALWAYS_DISCARD));
	EXPECT_OK(offer(client, list, 2, D3DKMT_OFFER_PRIORITY_HIGH, 0));
	flush(client);
	EXPECT_EQ(residency_status(client, in), NOT_RESIDENT);
	EXPECT_OK(reclaim(client, list, 2, results));
	EXPECT_EQ(results[0], D3DDDI_RECLAIM_RESULT_DISCARDED);
	EXPECT_EQ(results[1], D3DDDI_RECLAIM_RESULT_DISCARDED);
	EXPECT_EQ(first_difference(client, out, MIB, 9), 0);
}

TEST(control, always_discard_counts_for_what_was_offered_before)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = resident_filled(&client, MIB, 10);
	D3DDDI_RECLAIM_RESULT result;

	EXPECT_OK(offer(&client, &one, 1, D3DKMT_OFFER_PRIORITY_LOW, 0));
	EXPECT_EQ(residency_status(&client, one), IN_GPU_MEMORY);
	EXPECT_OK(set_adapter(&client, ALWAYS_DISCARD));
	flush(&client);
	EXPECT_OK(reclaim(&client, &one, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_DISCARDED);
}

TEST(control, never_discard_keeps_the_content_of_what_has_to_leave)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = resident_filled(&client, MIB, 11);
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	D3DDDI_RECLAIM_RESULT result;

	/* Without it the content would be lost with the space. */
	EXPECT_OK(offer(&client, &one, 1, D3DKMT_OFFER_PRIORITY_LOW, 0));
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_OK(reclaim(&client, &one, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_DISCARDED);

	fill(&client, one, MIB, 12);
	EXPECT_OK(set_adapter(&client, NEVER_DISCARD));
	EXPECT_OK(offer(&client, &one, 1, D3DKMT_OFFER_PRIORITY_LOW, 0));
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, one), NOT_RESIDENT);
	EXPECT_OK(reclaim(&client, &one, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_OK);
	EXPECT_CONTENT(&client, one, MIB, 12);
}

TEST(control, set_fault_is_another_way_to_the_same_switches)
{
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_SETFAULT };
	UINT32 flags = 0;

	args.SetFault.AlwaysDiscardOfferedAllocation = 1;
	args.SetFault.NoDemotion = 1;
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_OK(adapter_option(&client, D3DKMT_VERIFIER_OPTION_QUERY, &flags));
	EXPECT_EQ(flags, ALWAYS_DISCARD | NO_DEMOTION);
	args.SetFault.NeverDiscardOfferedAllocation = 1;
	EXPECT_BAD(vidmm(&client, &args), "MM-CONTROL", "SetFault");
	args.SetFault.Value = 1u << 15;
	EXPECT_BAD(vidmm(&client, &args), "API-RESERVED", "SetFault");
	args.SetFault.Value = 1;
	EXPECT_REFUSED(vidmm(&client, &args), STATUS_NOT_SUPPORTED, "API-NOT-BUILT", "SetFault");
	args.SetFault.Value = 0;
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_OK(adapter_option(&client, D3DKMT_VERIFIER_OPTION_QUERY, &flags));
	EXPECT_EQ(flags, 0);
}

CLIENT_TEST(control, commit_on_reclaim_fails_when_it_is_to, begin_uncontrolled())
{
	D3DKMT_HANDLE one = create_sized(client, MIB, SOFTGPU_CPU_VISIBLE);
	D3DDDI_RECLAIM_RESULT result;
	void *pointer;

	fill(client, one, MIB, 13);
	EXPECT_OK(set_adapter(client, ALWAYS_DECOMMIT));
	EXPECT_OK(set_process(client, FAIL_COMMIT));
	EXPECT_OK(offer(client, &one, 1, D3DKMT_OFFER_PRIORITY_LOW, ALLOW_DECOMMIT));
	EXPECT_OK(reclaim(client, &one, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_NOT_COMMITTED);
	/* Still offered, and can be tried again. */
	EXPECT_BAD(lock2(client->device, one, &pointer), "MM-LOCK-OFFERED", "hAllocation");
	EXPECT_OK(set_process(client, 0));
	EXPECT_OK(reclaim(client, &one, 1, &result));
	EXPECT_EQ(result, D3DDDI_RECLAIM_RESULT_DISCARDED);
	EXPECT_OK(lock2(client->device, one, &pointer));
	EXPECT_OK(unlock2(client->device, one));
}

/* ---- evictions by the client ---- */

TEST(control, a_synchronous_evict_is_over_when_it_returns)
{
	struct client client = begin_uncontrolled();
	UINT32 flags = SYNC_EVICT;

	EXPECT_OK(process_option(&client, D3DKMT_VERIFIER_OPTION_SET, &flags));
	for (int i = 0; i < 20; i++) {
		D3DKMT_HANDLE one = resident_filled(&client, MIB, 14);

		EXPECT_OK(evict(&client, &one, 1, 0));
		EXPECT_EQ(residency_status(&client, one), NOT_RESIDENT);
		EXPECT_OK(destroy_now(&client, one));
	}
}

TEST(control, evictions_are_not_deferred_when_they_are_not_to_be)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = resident_filled(&client, MIB, 15);

	EXPECT_OK(set_process(&client, SYNC_EVICT | NEVER_DEFER));
	EXPECT_OK(evict(&client, &one, 1, ONLY_IF_NECESSARY));
	EXPECT_EQ(residency_status(&client, one), NOT_RESIDENT);
}

TEST(control, everything_is_placed_where_it_would_be_demoted_to)
{
	struct client client = begin_uncontrolled();

	EXPECT_OK(set_process(&client, DEMOTE));
	D3DKMT_HANDLE one = resident_filled(&client, MIB, 16);
	EXPECT_EQ(residency_status(&client, one), IN_SHARED_MEMORY);
	EXPECT_OK(set_process(&client, 0));
	D3DKMT_HANDLE two = resident_filled(&client, MIB, 17);
	EXPECT_EQ(residency_status(&client, two), IN_GPU_MEMORY);
}

TEST(control, without_demotion_what_does_not_fit_is_refused)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = create_sized(&client, 2 * MIB, SOFTGPU_CPU_VISIBLE);

	EXPECT_OK(set_budget(&client, MIB, UINT64_MAX));
	EXPECT_OK(set_adapter(&client, NO_DEMOTION));
	EXPECT_EQ(make_resident(&client, &one, 1, 0), STATUS_NO_MEMORY);
	EXPECT_OK(set_adapter(&client, 0));
	EXPECT_OK(make_resident(&client, &one, 1, 0));
	EXPECT_EQ(residency_status(&client, one), IN_SHARED_MEMORY);
}

TEST(control, options_are_queried_as_they_were_set)
{
	struct client client = begin_uncontrolled();
	UINT32 flags = NEVER_DISCARD | FAIL_DEFRAG | NEVER_MOVE | ALWAYS_DECOMMIT;

	EXPECT_OK(set_adapter(&client, flags));
	UINT32 found = GARBAGE;
	EXPECT_OK(adapter_option(&client, D3DKMT_VERIFIER_OPTION_QUERY, &found));
	EXPECT_EQ(found, flags);
	EXPECT_OK(set_process(&client, 15));
	EXPECT_OK(process_option(&client, D3DKMT_VERIFIER_OPTION_QUERY, &found));
	EXPECT_EQ(found, 15);
}

TEST(control, wrong_options_are_refused)
{
	struct client client = begin_uncontrolled();
	D3DKMT_ADAPTER_VERIFIER_OPTION adapter = {
		.Type = (D3DKMT_ADAPTER_VERIFIER_OPTION_TYPE)999
	};
	D3DKMT_PROCESS_VERIFIER_OPTION process = {
		.Type = D3DKMT_PROCESS_VERIFIER_OPTION_VIDMM_FLAGS
	};
	D3DKMT_ESCAPETYPE on_adapter = D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION;
	D3DKMT_ESCAPETYPE on_process = D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION;
	UINT32 flags = 0;

	EXPECT_BAD(set_adapter(&client, ALWAYS_DISCARD | NEVER_DISCARD), "MM-CONTROL",
		   "VidMmFlags");
	EXPECT_BAD(set_adapter(&client, 1u << 20), "API-RESERVED", "VidMmFlags");
	EXPECT_REFUSED(set_adapter(&client, 1), STATUS_NOT_SUPPORTED, "API-NOT-BUILT",
		       "VidMmFlags");
	EXPECT_BAD(set_process(&client, 16), "API-RESERVED", "VidMmFlags");
	EXPECT_BAD(adapter_option(&client, 2, &flags), "API-VALUE", "Mode");
	EXPECT_BAD(process_option(&client, 2, &flags), "API-VALUE", "Mode");
	EXPECT_BAD(escape_of(&client, on_adapter, &adapter, sizeof(adapter)), "API-VALUE", "Type");
	EXPECT_BAD(escape_of(&client, on_adapter, &adapter, sizeof(adapter) - 1), "API-BUFFER",
		   "PrivateDriverDataSize");
	process.hProcess = (HANDLE)(intptr_t)77;
	EXPECT_REFUSED(escape_of(&client, on_process, &process, sizeof(process)),
		       STATUS_INVALID_HANDLE, "API-HANDLE", "hProcess");
	process.hProcess = NULL;
	process.Type = (D3DKMT_PROCESS_VERIFIER_OPTION_TYPE)999;
	EXPECT_BAD(escape_of(&client, on_process, &process, sizeof(process)), "API-VALUE", "Type");
	EXPECT_BAD(escape_of(&client, on_process, &process, sizeof(process) - 1), "API-BUFFER",
		   "PrivateDriverDataSize");
	/* Nothing of it was set. */
	EXPECT_OK(adapter_option(&client, D3DKMT_VERIFIER_OPTION_QUERY, &flags));
	EXPECT_EQ(flags, 0);
}

/* ---- order ---- */

static D3DKMT_VIDMM_ESCAPE defrag_of(unsigned operation, UINT segment)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_DEFRAG };

	args.Defrag.Operation = (D3DKMT_DEFRAG_ESCAPE_OPERATION)operation;
	args.Defrag.SegmentId = segment;
	return args;
}

/* Four pieces of a MiB, the second and third of which go: a hole. */
static void make_hole(const struct client *client, D3DKMT_HANDLE kept[2])
{
	D3DKMT_HANDLE list[4];

	for (uint64_t i = 0; i < 4; i++)
		list[i] = resident_filled(client, MIB, 20 + i);
	EXPECT_OK(destroy_now(client, list[1]));
	EXPECT_OK(destroy_now(client, list[2]));
	kept[0] = list[0];
	kept[1] = list[3];
}

static void expect_hole_closed(unsigned operation)
{
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = defrag_of(D3DKMT_DEFRAG_ESCAPE_GET_FRAGMENTATION_STATS, 1);
	D3DKMT_HANDLE kept[2];

	make_hole(&client, kept);
	UINT64 evicted = segment_statistics(LOCAL_SEGMENT).Memory.TotalBytesEvicted;
	EXPECT_OK(vidmm(&client, &args));
	UINT64 gap = args.Defrag.LargestGapBefore;
	UINT64 total = args.Defrag.TotalFree;
	EXPECT(gap < total);
	EXPECT_EQ(args.Defrag.LargestGapAfter, gap);
	EXPECT_EQ(args.Defrag.TotalCommitted, segment_statistics(LOCAL_SEGMENT).BytesResident);

	args = defrag_of(operation, 1);
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(segment_statistics(LOCAL_SEGMENT).Memory.TotalBytesEvicted, evicted);
	EXPECT_EQ(args.Defrag.LargestGapBefore, gap);
	EXPECT(args.Defrag.LargestGapAfter > gap);
	EXPECT_EQ(args.Defrag.TotalFree, total);
	for (uint64_t i = 0; i < 2; i++) {
		EXPECT_EQ(residency_status(&client, kept[i]), IN_GPU_MEMORY);
		EXPECT_CONTENT(&client, kept[i], MIB, i == 0 ? 20 : 23);
	}
	expect_valid();
}

/* Upward, downward, a pass, verified. */
TEST(control, each_defrag_closes_a_hole_and_no_byte_leaves_the_segment)
{
	for (unsigned operation = 1; operation <= D3DKMT_DEFRAG_ESCAPE_VERIFY_TRANSFER; operation++)
		expect_hole_closed(operation);
}

TEST(control, defrag_moves_nothing_when_it_may_not_and_fails_when_it_is_to)
{
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = defrag_of(D3DKMT_DEFRAG_ESCAPE_DEFRAG_PASS, 1);
	D3DKMT_HANDLE kept[2];

	make_hole(&client, kept);
	UINT64 before = segment_statistics(LOCAL_SEGMENT).Memory.TotalBytesEvicted;
	EXPECT_OK(set_adapter(&client, NEVER_MOVE));
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(args.Defrag.LargestGapAfter, args.Defrag.LargestGapBefore);
	EXPECT_EQ(segment_statistics(LOCAL_SEGMENT).Memory.TotalBytesEvicted, before);
	EXPECT_OK(set_adapter(&client, FAIL_DEFRAG));
	EXPECT_REFUSED(vidmm(&client, &args), STATUS_UNSUCCESSFUL, "MM-CONTROL",
		       "Defrag.Operation");
}

TEST(control, wrong_defrags_are_refused)
{
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = defrag_of(5, 1);

	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "Defrag.Operation");
	args = defrag_of(0, 0);
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "Defrag.SegmentId");
	args = defrag_of(0, 33);
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "Defrag.SegmentId");
}

/* ---- time ---- */

static D3DKMT_VIDMM_ESCAPE delay_of(D3DKMT_HANDLE queue, ULONG milliseconds)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_DELAYEXECUTION };

	args.DelayExecution.hPagingQueue = queue;
	args.DelayExecution.Milliseconds = milliseconds;
	return args;
}

TEST(control, a_delayed_queue_stands_still_and_goes_on)
{
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE first = delay_of(client.queue, 60000);
	D3DKMT_VIDMM_ESCAPE second = delay_of(client.queue, 0);

	EXPECT_OK(vidmm(&client, &first));
	EXPECT(first.DelayExecution.PagingFenceValue > 0);
	EXPECT_OK(vidmm(&client, &second));
	EXPECT_EQ(second.DelayExecution.PagingFenceValue,
		  first.DelayExecution.PagingFenceValue + 1);
	/* What is behind it is over, and the queue does not say so. */
	flush(&client);
	EXPECT(*client.value < first.DelayExecution.PagingFenceValue);
	/* The end of a queue does not wait for the minute. */
	D3DDDI_DESTROYPAGINGQUEUE done = { client.queue };
	EXPECT_OK(D3DKMTDestroyPagingQueue(&done));
}

TEST(control, a_delay_ends_by_itself)
{
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = delay_of(client.queue, 20);

	EXPECT_OK(vidmm(&client, &args));
	wait_for(&client, args.DelayExecution.PagingFenceValue);
}

TEST(control, wrong_delays_are_refused)
{
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = delay_of(client.queue, 60001);

	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "DelayExecution.Milliseconds");
	args = delay_of(client.device, 1);
	EXPECT_BAD(vidmm(&client, &args), "API-HANDLE-KIND", "DelayExecution.hPagingQueue");
	args = delay_of(0, 1);
	EXPECT_BAD(vidmm(&client, &args), "API-HANDLE", "DelayExecution.hPagingQueue");
	args = delay_of(client.queue, 1);
	args.DelayExecution.PhysicalAdapterIndex = 1;
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "DelayExecution.PhysicalAdapterIndex");
	unsigned count = 0;
	NTSTATUS status;
	do {
		args = delay_of(client.queue, 60000);
		status = vidmm(&client, &args);
	} while (NT_SUCCESS(status) && ++count < 100);
	EXPECT_EQ(count, 16);
	EXPECT_EQ(status, STATUS_INSUFFICIENT_RESOURCES);
	EXPECT_STR(last_refusal().rule, "API-COUNT");
}

TEST(control, wake_and_validate_do_what_they_say)
{
	struct client client = begin_uncontrolled();
	D3DKMT_HANDLE one = create_one(client.device);
	D3DDDI_MAKERESIDENT make = residency_of(&client, &one, 1, 0);
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_WAKE };

	(void)D3DKMTMakeResident(&make);
	args.Wake.bFlush = TRUE;
	EXPECT_OK(vidmm(&client, &args));
	EXPECT_EQ(residency_status(&client, one), IN_GPU_MEMORY);
	args = (D3DKMT_VIDMM_ESCAPE){ .Type = D3DKMT_VIDMMESCAPETYPE_VALIDATE_INTEGRITY };
	EXPECT_OK(vidmm(&client, &args));
	args.VerifyIntegrity.SegmentId = LOCAL_SEGMENT;
	EXPECT_OK(vidmm(&client, &args));
	args.VerifyIntegrity.SegmentId = 33;
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "VerifyIntegrity.SegmentId");
}

TEST(control, what_cannot_be_done_says_so)
{
	static const unsigned types[] = { 1, 2, 3, 4, 18 };
	struct client client = begin_uncontrolled();
	D3DKMT_VIDMM_ESCAPE args = { 0 };

	for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		args.Type = (D3DKMT_VIDMMESCAPETYPE)types[i];
		EXPECT_REFUSED(vidmm(&client, &args), STATUS_NOT_SUPPORTED, "API-NOT-BUILT",
			       "Type");
	}
	args.Type = (D3DKMT_VIDMMESCAPETYPE)19;
	EXPECT_BAD(vidmm(&client, &args), "API-VALUE", "Type");
	args.Type = D3DKMT_VIDMMESCAPETYPE_EVICT;
	EXPECT_BAD(escape_of(&client, D3DKMT_ESCAPE_VIDMM, &args, sizeof(args) - 1), "API-BUFFER",
		   "PrivateDriverDataSize");
	EXPECT_BAD(escape_of(&client, D3DKMT_ESCAPE_VIDMM, NULL, 0), "API-BUFFER",
		   "PrivateDriverDataSize");
}

/* ---- want of memory ---- */

TEST(control, a_delay_survives_every_want_of_memory)
{
	struct client client = begin_uncontrolled();
	unsigned long long nth = 0;
	bool has_failed;

	do {
		D3DKMT_VIDMM_ESCAPE args = delay_of(client.queue, 0);

		dxgk_test_fail_nth_allocation(++nth);
		NTSTATUS status = vidmm(&client, &args);
		has_failed = dxgk_test_fail_stop();
		EXPECT(status == STATUS_SUCCESS || (has_failed && status == STATUS_NO_MEMORY));
		if (status == STATUS_SUCCESS)
			wait_for(&client, args.DelayExecution.PagingFenceValue);
	} while (has_failed && nth < 100);
	EXPECT(!has_failed);
}

API_TEST_MAIN("api/control")
