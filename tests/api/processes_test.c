/* SPDX-License-Identifier: MIT */
/*
 * processes_test.c - several processes in one kernel: what each has is its own, what they share outlives
 * any of them, and one that dies, wherever it is, is missed by nobody.
 */
#include "api/strangers.h"

#define A_RESERVED (2 * (UINT64)MIB)

/* ---- what is whose ---- */

TEST(handles, of_one_process_mean_nothing_in_another)
{
	struct stranger a;
	struct stranger b;

	ours = begin();
	stranger_open(&a, "a");
	stranger_open(&b, "b");
	be(a.process);
	D3DKMT_HANDLE memory = create_sized(&a.worker.client, MIB, SOFTGPU_CPU_VISIBLE);
	be(b.process);
	EXPECT_EQ(destroy_one(a.worker.client.device + 64, memory), STATUS_INVALID_PARAMETER);
	be(NULL);
	EXPECT_EQ(destroy_one(ours.device, memory), STATUS_INVALID_PARAMETER);
	be(a.process);
	EXPECT_OK(destroy_one(a.worker.client.device, memory));
	be(NULL);
	stranger_end(&a);
	stranger_work(&b, 7);
	stranger_end(&b);
}

TEST(processes, are_told_apart_by_the_driver)
{
	struct stranger a;

	ours = begin();
	uint32_t before = soft_info(ours.adapter).live_processes;
	stranger_open(&a, "a");
	EXPECT_EQ(soft_info(ours.adapter).live_processes, before + 1);
	stranger_end(&a);
	EXPECT_EQ(soft_info(ours.adapter).live_processes, before);
}

TEST(usage, is_counted_by_process)
{
	struct stranger a;

	ours = begin();
	stranger_open(&a, "a");
	UINT64 ours_before = memory_info(&ours, 0).CurrentUsage;
	be(a.process);
	UINT64 before = memory_info(&a.worker.client, 0).CurrentUsage;
	D3DKMT_HANDLE memory = create_sized(&a.worker.client, MIB, SOFTGPU_LOCAL_ONLY);
	EXPECT_OK(make_resident(&a.worker.client, &memory, 1, 0));
	EXPECT_EQ(memory_info(&a.worker.client, 0).CurrentUsage, before + MIB);
	be(NULL);
	EXPECT_EQ(memory_info(&ours, 0).CurrentUsage, ours_before);
	stranger_end(&a);
}

/* A process alone may have everything; what another has reserved is not its any more. */
TEST(budget, of_one_process_leaves_what_another_reserved)
{
	struct stranger a;

	ours = begin();
	stranger_open(&a, "a");
	UINT64 before = memory_info(&ours, 0).Budget;
	be(a.process);
	D3DKMT_CHANGEVIDEOMEMORYRESERVATION reserve = { .hAdapter = a.worker.client.adapter,
							.Reservation = A_RESERVED };
	UINT64 used = memory_info(&a.worker.client, 0).CurrentUsage;
	EXPECT_OK(D3DKMTChangeVideoMemoryReservation(&reserve));
	be(NULL);
	EXPECT_EQ(memory_info(&ours, 0).Budget, before - (A_RESERVED - used));
	stranger_end(&a);
	EXPECT(memory_info(&ours, 0).Budget >= before + used); /* its page tables are gone, too */
}

/* ---- what they share ---- */

static void share_through(int sharing)
{
	struct stranger a;
	struct stranger b;
	struct creation creation;
	HANDLE handle = NULL;

	ours = begin();
	stranger_open(&a, "a");
	stranger_open(&b, "b");
	be(a.process);
	creation_init_resource(&creation, a.worker.client.device, 1, sharing);
	EXPECT_OK(create(&creation));
	fill(&a.worker.client, creation.elements[0].hAllocation, SOME_BYTES, 1);
	if (sharing == SHARED_NT)
		EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL,
					     SHARED_ALLOCATION_WRITE, &handle));
	be(b.process);
	struct pair opened = sharing == SHARED_NT
				     ? open_nt(&b.worker.client, handle)
				     : open_global(&b.worker.client, creation.args.hGlobalShare);
	EXPECT_CONTENT(&b.worker.client, opened.memory, SOME_BYTES, 1);
	fill(&b.worker.client, opened.memory, SOME_BYTES, 2);
	be(a.process);
	EXPECT_CONTENT(&a.worker.client, creation.elements[0].hAllocation, SOME_BYTES, 2);
	be(NULL);
	/* Whose it was first has died; it lives on for who opened it. */
	stranger_end(&a);
	be(b.process);
	EXPECT_CONTENT(&b.worker.client, opened.memory, SOME_BYTES, 2);
	EXPECT_OK(make_resident(&b.worker.client, &opened.memory, 1, 0));
	EXPECT_OK(destroy_resource(b.worker.client.device, opened.resource));
	be(NULL);
	if (sharing == SHARED_NT)
		close((int)(intptr_t)handle);
	stranger_end(&b);
}

TEST(resource, is_shared_by_global_handle_and_outlives_its_creator)
{
	share_through(SHARED_GLOBAL);
}

TEST(resource, is_shared_by_nt_handle_and_outlives_its_creator)
{
	share_through(SHARED_NT);
}

TEST(keyed_mutex, is_abandoned_when_its_holder_dies)
{
	struct dxgk_test_process *maker;
	struct dxgk_test_process *holder;
	D3DKMT_CREATEKEYEDMUTEX made = { .InitialValue = 3 };
	LARGE_INTEGER now = { .QuadPart = 0 };

	ours = begin();
	maker = stranger_process("maker");
	be(maker);
	EXPECT_OK(D3DKMTCreateKeyedMutex(&made));
	holder = stranger_process("holder");
	be(holder);
	D3DKMT_OPENKEYEDMUTEX open = { .hSharedHandle = made.hSharedHandle };
	EXPECT_OK(D3DKMTOpenKeyedMutex(&open));
	D3DKMT_ACQUIREKEYEDMUTEX acquire = { .hKeyedMutex = open.hKeyedMutex,
					     .Key = 3,
					     .pTimeout = &now };
	EXPECT_OK(D3DKMTAcquireKeyedMutex(&acquire));
	be(maker);
	acquire.hKeyedMutex = made.hKeyedMutex;
	EXPECT_EQ(D3DKMTAcquireKeyedMutex(&acquire), STATUS_TIMEOUT);
	dxgk_test_process_end(holder);
	EXPECT_EQ(D3DKMTAcquireKeyedMutex(&acquire), STATUS_ABANDONED);
	be(NULL);
	dxgk_test_process_end(maker);
	expect_valid();
}

TEST(fence, signalled_in_one_process_is_seen_in_another)
{
	struct stranger a;
	HANDLE handle;

	ours = begin();
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = monitored_fence(ours.device, true);
	EXPECT_OK(D3DKMTShareObjects(1, &fence.hSyncObject, NULL,
				     D3DDDI_SYNC_OBJECT_WAIT | D3DDDI_SYNC_OBJECT_SIGNAL, &handle));
	stranger_open(&a, "a");
	be(a.process);
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 open = { .hNtHandle = handle,
						    .hDevice = a.worker.client.device };
	EXPECT_OK(D3DKMTOpenSyncObjectFromNtHandle2(&open));
	EXPECT_OK(signal_value(a.worker.client.device, open.hSyncObject, 5));
	be(NULL);
	EXPECT_EQ(*(const volatile UINT64 *)fence.Info.MonitoredFence.FenceValueCPUVirtualAddress,
		  5);
	stranger_end(&a);
	EXPECT_OK(signal_value(ours.device, fence.hSyncObject, 6));
	close((int)(intptr_t)handle);
	expect_valid();
}

/* ---- one does not disturb the other ---- */

TEST(memory, of_two_that_want_all_of_it_stays_right)
{
	struct stranger a;
	struct stranger b;
	struct stranger *both[] = { &a, &b };
	D3DKMT_HANDLE memory[2];

	ours = begin();
	stranger_open(&a, "a");
	stranger_open(&b, "b");
	UINT64 size_bytes = memory_info(&ours, 0).Budget * 3 / 4 / MIB * MIB;
	for (int turn = 0; turn < 4; turn++) {
		struct client *client = &both[turn % 2]->worker.client;

		be(both[turn % 2]->process);
		if (turn < 2) {
			memory[turn] = create_sized(client, size_bytes,
						    SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY);
			fill(client, memory[turn], size_bytes, (uint64_t)turn);
		}
		EXPECT_OK(make_resident(client, &memory[turn % 2], 1, CANT_TRIM));
		EXPECT_CONTENT(client, memory[turn % 2], size_bytes, (uint64_t)(turn % 2));
		EXPECT_OK(evict(client, &memory[turn % 2], 1, ONLY_IF_NECESSARY));
	}
	be(NULL);
	stranger_end(&a);
	be(b.process);
	EXPECT_CONTENT(&b.worker.client, memory[1], size_bytes, 1);
	be(NULL);
	stranger_end(&b);
}

TEST(hang, of_one_process_loses_its_device_alone)
{
	struct stranger a;
	struct stranger b;
	struct row row = { 0 };

	SKIP_UNLESS_SEEDED();
	ours = begin();
	stranger_open(&a, "a");
	stranger_open(&b, "b");
	be(a.process);
	add_hang(&row);
	worker_run(&a.worker, &row);
	be(NULL);
	stranger_work(&b, 11);
	be(a.process);
	while (state_of(&a.worker) == D3DKMT_DEVICEEXECUTION_ACTIVE)
		worker_wait(&a.worker);
	be(b.process);
	EXPECT_EQ(state_of(&b.worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	be(NULL);
	stranger_work(&b, 12);
	stranger_end(&a);
	stranger_work(&b, 13);
	stranger_end(&b);
}

/* ---- ends ---- */

TEST(end, closes_one_process_and_no_other)
{
	struct stranger a;
	D3DKMT_HANDLE device;

	ours = begin();
	stranger_open(&a, "a");
	be(a.process);
	D3DKMTCloseDxCoreDevice();
	EXPECT_REFUSED(try_create_device(a.worker.client.adapter, &device), STATUS_DEVICE_REMOVED,
		       "SYS-ENDED", "");
	be(NULL);
	EXPECT_OK(get_execution_state(ours.device));
	stranger_end(&a);
	EXPECT_OK(get_execution_state(ours.device));
}

/* The program's own process is one of several. */
TEST(end, of_the_programs_own_process_is_noticed_by_nobody)
{
	struct stranger a;

	ours = begin();
	stranger_open(&a, "a");
	D3DKMTCloseDxCoreDevice();
	stranger_work(&a, 3);
	ours = begin();
	stranger_work(&a, 4);
	stranger_end(&a);
}

struct waiter {
	struct stranger *stranger;
	D3DKMT_HANDLE fence;
	NTSTATUS status;
};

static void wait_for_ever(void *argument)
{
	struct waiter *waiter = argument;
	const UINT64 value = 1;

	be(waiter->stranger->process);
	waiter->status = wait_value(waiter->stranger->worker.client.device, waiter->fence, value);
	be(NULL);
}

TEST(end, of_a_process_that_waits_ends_its_wait)
{
	struct stranger a;

	ours = begin();
	stranger_open(&a, "a");
	be(a.process);
	struct waiter waiter = { &a, monitored_fence(a.worker.client.device, true).hSyncObject,
				 STATUS_SUCCESS };
	be(NULL);
	struct dxgk_test_thread *thread = dxgk_test_thread_create(wait_for_ever, &waiter);
	if (!is_seeded())
		usleep(20000);
	/* On a busy machine it may not even have entered the process yet. */
	dxgk_test_process_kill(a.process);
	dxgk_test_thread_join(thread);
	stranger_end(&a);
	/* The second one, if it had not come to that. */
	EXPECT(waiter.status == STATUS_PROCESS_IS_TERMINATING ||
	       waiter.status == STATUS_DEVICE_REMOVED);
	EXPECT_OK(get_execution_state(ours.device));
}

/* ---- the end of the program, and what is said of processes ---- */

CHILD(leaves_strangers_behind)
{
	static struct dxgk_test_process *strangers[3]; /* never ended, nor lost */

	CHILD_EXPECT(child_open_adapter() != 0);
	for (unsigned i = 0; i < 3; i++) {
		strangers[i] = dxgk_test_process_create(5000 + i, 1000, "stranger");
		be(strangers[i]);
		(void)child_create_device(child_open_adapter());
	}
	be(NULL);
	return 0;
}

TEST(program, ends_with_processes_that_still_have_everything)
{
	EXPECT_CHILD(run_child("leaves_strangers_behind"), 0);
	EXPECT_CHILD(run_child("leaves_strangers_behind", "DXGK_SEED=1"), 0);
}

TEST(trace, names_processes)
{
	char setting[128];
	static char text[CHILD_TEXT];

	char path[] = "/tmp/dxgk-test-XXXXXX.json";
	int file = mkstemps(path, (int)strlen(".json"));

	snprintf(setting, sizeof(setting), "DXGK_TRACE=%s", path);
	EXPECT_CHILD(run_child("leaves_strangers_behind", setting, "DXGK_SEED=1"), 0);
	unlink(path);
	EXPECT(file >= 0);
	read_back(file, text);
	EXPECT(strstr(text, "\"pid\":5002,\"user\":1000,\"name\":\"stranger\"") != NULL);
}

TEST(log, names_processes_where_there_are_several)
{
	const struct child_result *result = run_child("leaves_strangers_behind", "DXGK_LOG=calls");

	EXPECT_CHILD(result, 0);
	EXPECT(strstr(result->err, "dxgk: stranger[5001]: D3DKMTCreateDevice(") != NULL);
	EXPECT(strstr(result->err, "dxgk: D3DKMTEnumAdapters2(") != NULL);
}

API_TEST_MAIN("api/processes")
