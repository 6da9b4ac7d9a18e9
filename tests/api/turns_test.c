/* SPDX-License-Identifier: MIT */
/*
 * turns_test.c - work that never ends and lets itself be preempted: others have the engine between
 * its turns, on the engine that pages, too. Unless preemption is off: then it is late.
 */
#include "api/crank.h"

enum { TURNS, TURNS_ONE_ENGINE, TURNS_WITHOUT_PREEMPTION, TURNS_ADAPTERS };

/* One after the other, each with its own preemption. */
static void page_some(D3DKMT_HANDLE on)
{
	D3DKMT_CREATEPAGINGQUEUE queue = { .hDevice = on };

	EXPECT_OK(D3DKMTCreatePagingQueue(&queue));
	for (unsigned i = 0; i < 5; i++) {
		D3DKMT_HANDLE allocation = make_allocation(on);
		D3DDDI_MAKERESIDENT resident = { .hPagingQueue = queue.hPagingQueue,
						 .NumAllocations = 1,
						 .AllocationList = &allocation };
		NTSTATUS status = D3DKMTMakeResident(&resident);

		EXPECT(status == STATUS_PENDING || status == STATUS_SUCCESS);
		EXPECT_OK(wait_fence(queue.hSyncObject, resident.PagingFenceValue, 0));
	}
}

TEST(endless, work_lets_a_new_device_page_on_its_engine)
{
	begin_on(TURNS_ONE_ENGINE);
	EXPECT_OK(submit(create_virtual(0), 1));
	AWAIT(pending(0) == 1);
	D3DKMT_HANDLE endless = device;

	device = create_device(adapter);
	page_some(device);
	EXPECT(notes_count("PreemptCommand irql=2 node=0") >= 5);
	EXPECT_OK(destroy_device(device));
	EXPECT_EQ(execution_state(endless), D3DKMT_DEVICEEXECUTION_ACTIVE);
	AWAIT(pending(0) == 1);
	EXPECT_EQ(complete(0), 1);
	EXPECT_EQ(notes_count("ResetEngine"), 0);
	expect_nothing_wrong();
}

/* Again and again, while it only ever sees what is first complete. */
TEST(endless, work_lets_others_of_its_priority_have_their_turns)
{
	begin_on(TURNS);
	D3DKMT_HANDLE endless = device;
	EXPECT_OK(submit(create_virtual(0), 99));
	AWAIT(pending(0) == 1);

	device = create_device(adapter);
	D3DKMT_HANDLE context = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	for (unsigned i = 1; i <= 5; i++) {
		EXPECT_OK(submit(context, i));
		EXPECT_OK(queue_signal(context, fence, i));
		/* In a simulated run time passes when everybody waits. */
		while (strncmp(pending_tags(0), "99 ", 3) == 0 || pending(0) == 0) {
			if (is_seeded())
				let_time_pass(1);
			else
				usleep(1000);
		}
		EXPECT_EQ(complete(0), i);
		EXPECT_OK(wait_fence(fence, i, 0));
	}
	EXPECT_OK(destroy_device(device));
	EXPECT_EQ(execution_state(endless), D3DKMT_DEVICEEXECUTION_ACTIVE);
	EXPECT_EQ(notes_count("ResetEngine"), 0);
	expect_nothing_wrong();
}

TEST(endless, work_is_late_when_preemption_is_off)
{
	SKIP_UNLESS_SEEDED();

	begin_on(TURNS_WITHOUT_PREEMPTION);
	D3DKMT_HANDLE endless = device;
	EXPECT_OK(submit(create_virtual(0), 99));

	device = create_device(adapter);
	D3DKMT_HANDLE important = create_virtual(0);
	D3DKMT_HANDLE fence = create_fence(0, 0, NULL);
	EXPECT_OK(set_priority(important, 7));
	EXPECT_OK(submit(important, 1));
	EXPECT_OK(queue_signal(important, fence, 1));
	let_time_pass(1);
	EXPECT_STR(pending_tags(0), "99 1 ");
	let_time_pass(2);
	EXPECT_EQ(execution_state(endless), D3DKMT_DEVICEEXECUTION_HUNG);
	EXPECT_EQ(execution_state(device), D3DKMT_DEVICEEXECUTION_ACTIVE);
	AWAIT(pending(0) == 1);
	EXPECT_EQ(complete(0), 1);
	EXPECT_OK(wait_fence(fence, 1, 0));
	EXPECT_EQ(notes_count("PreemptCommand"), 0);
	EXPECT_EQ(notes_count("ResetEngine irql=0 node=0"), 1);
	expect_nothing_wrong();
}

int main(int argc, char **argv)
{
	static const char *const registries[TURNS_ADAPTERS] = {
		[TURNS] = "\"HandCranked\": 1, \"QuantumMs\": 20",
		[TURNS_ONE_ENGINE] = "\"HandCranked\": 1, \"NbAsymetricProcessingNodes\": 1, "
				     "\"PagingNode\": 0, \"PagingAtOnce\": 1",
		[TURNS_WITHOUT_PREEMPTION] = "\"HandCranked\": 1, \"QuantumMs\": 20, "
					     "\"EnablePreemption\": 0",
	};

	crank_profile_of(registries, TURNS_ADAPTERS, "");
	return api_main("api/turns", argc, argv);
}
