/* SPDX-License-Identifier: MIT */
/*
 * quota_test.c - a process has no more than its quota, and neither do all processes of a user: one
 * more is refused by name and changes nothing, and what was given back can be had again.
 */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "api/strangers.h"

#define EXPECT_OVER(call, status) EXPECT_REFUSED(call, status, "SYS-QUOTA", "")
#define EXPECT_TOO_MANY(call)     EXPECT_OVER(call, STATUS_INSUFFICIENT_RESOURCES)
#define EXPECT_TOO_MUCH(call)     EXPECT_OVER(call, STATUS_QUOTA_EXCEEDED)
#define LIMITED(...)                                                                               \
	(const struct dxgk_test_limit[]){ __VA_ARGS__ },                                           \
		sizeof((const struct dxgk_test_limit[]){ __VA_ARGS__ }) /                          \
			sizeof(struct dxgk_test_limit)

enum { FEW = 8, MANY = 4 * FEW };

static NTSTATUS try_open_first_adapter(void)
{
	return D3DKMTOpenAdapterFromLuid(
		&(D3DKMT_OPENADAPTERFROMLUID){ .AdapterLuid = { .LowPart = 0x10000 } });
}

static struct client limited_open(struct stranger *stranger, const struct dxgk_test_limit *limits,
				  size_t count)
{
	ours = begin();
	stranger_open_as(stranger, (struct dxgk_test_identity){ .user = STRANGERS_USER,
								.name = "limited",
								.limits = limits,
								.limit_count = (unsigned)count });
	be(stranger->process);
	return stranger->worker.client;
}

static void limited_end(struct stranger *stranger)
{
	be(NULL);
	stranger_end(stranger);
}

static NTSTATUS try_allocate(const struct client *client, D3DKMT_HANDLE *memory_out)
{
	struct creation creation;

	creation_init(&creation, client->device, 1);
	NTSTATUS status = create(&creation);
	*memory_out = creation.elements[0].hAllocation;
	return status;
}

/* How many there can be; they are in `memory`. */
static unsigned allocate_all(const struct client *client, D3DKMT_HANDLE memory[MANY])
{
	unsigned count = 0;

	while (count < MANY && try_allocate(client, &memory[count]) == STATUS_SUCCESS)
		count++;
	return count;
}

/* Whatever the kind, what a stranger had when it began is counted as well. */
TEST(handles, are_counted_and_come_back)
{
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "handles", 2 * FEW }));
	D3DKMT_HANDLE memory[MANY];
	D3DKMT_HANDLE other;

	unsigned count = allocate_all(&client, memory);
	EXPECT(count > 0 && count < 2 * FEW);
	EXPECT_TOO_MANY(try_allocate(&client, &other));
	EXPECT(strstr(last_refusal().reason, "quota of 16 (limits.process.handles)") != NULL);
	EXPECT_TOO_MANY(try_create_device(client.adapter, &other));
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = client.device };
	fence.Info.Type = D3DDDI_MONITORED_FENCE;
	EXPECT_TOO_MANY(D3DKMTCreateSynchronizationObject2(&fence));
	D3DKMT_CREATEKEYEDMUTEX mutex = { 0 };
	EXPECT_TOO_MANY(D3DKMTCreateKeyedMutex(&mutex));
	EXPECT_TOO_MANY(try_open_first_adapter());
	expect_valid();
	EXPECT_OK(destroy_one(client.device, memory[--count]));
	EXPECT_OK(try_allocate(&client, &memory[count]));
	limited_end(&stranger);
}

TEST(allocations, are_counted_and_come_back)
{
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "allocations", FEW }));
	D3DKMT_HANDLE memory[MANY];
	struct creation group;

	unsigned count = allocate_all(&client, memory);
	EXPECT(count > 1 && count <= FEW);
	EXPECT_TOO_MANY(try_allocate(&client, &memory[count]));
	EXPECT_OK(destroy_one(client.device, memory[--count]));
	/* Of two only one has room, so neither is made. */
	creation_init_resource(&group, client.device, 2, 0);
	EXPECT_TOO_MANY(create(&group));
	EXPECT_OK(try_allocate(&client, &memory[count]));
	limited_end(&stranger);
}

TEST(system_memory, is_refused_to_who_asks)
{
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "systemMiB", 4 * MIB }));
	D3DKMT_HANDLE first = create_sized(&client, MIB, SOFTGPU_CPU_VISIBLE);
	D3DKMT_HANDLE second = create_sized(&client, 4 * MIB, SOFTGPU_CPU_VISIBLE);
	void *pointer;

	EXPECT_OK(lock2(client.device, first, &pointer));
	EXPECT_TOO_MUCH(lock2(client.device, second, &pointer));
	EXPECT_OK(unlock2(client.device, first));
	EXPECT_OK(destroy_one(client.device, first));
	be(NULL);
	expect_valid();
	limited_end(&stranger);
}

/* What somebody else needs leaves GPU memory, whatever its owner has in system memory. */
TEST(system_memory, keeps_nothing_in_gpu_memory)
{
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "systemMiB", 4 * MIB }));
	D3DKMT_HANDLE memory = create_sized(&client, 8 * MIB, SOFTGPU_LOCAL_ONLY);
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	EXPECT_OK(make_resident(&client, &memory, 1, 0));
	EXPECT_OK(evict(&client, &memory, 1, 0));
	be(NULL);
	D3DKMT_ESCAPE escape = { .hAdapter = ours.adapter,
				 .Type = D3DKMT_ESCAPE_VIDMM,
				 .pPrivateDriverData = &args,
				 .PrivateDriverDataSize = sizeof(args) };
	EXPECT_OK(D3DKMTEscape(&escape));
	be(stranger.process);
	EXPECT_OK(make_resident(&client, &memory, 1, 0));
	limited_end(&stranger);
}

TEST(shared_memory, counts_for_its_maker)
{
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "systemMiB", 4 * MIB }));
	struct creation creation;
	unsigned count = 0;

	do {
		creation_init_resource(&creation, client.device, 1, SHARED_NT);
		creation.data[0].size_bytes = MIB;
	} while (create(&creation) == STATUS_SUCCESS && ++count < MANY);
	EXPECT(count > 0 && count <= 4);
	EXPECT_TOO_MUCH(create(&creation));
	limited_end(&stranger);
}

/* ---- mappings ---- */

TEST(mappings, are_counted_for_what_is_brought_and_come_back)
{
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "mappings", FEW }));
	int section = memfd_create("section", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	D3DKMT_HANDLE brought[MANY];
	D3DKMT_HANDLE one_more;
	unsigned count = 0;

	EXPECT_EQ(ftruncate(section, 64 * KIB), 0);
	EXPECT_EQ(fcntl(section, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	while (count < MANY &&
	       bring_section(&client, section, 64 * KIB, &brought[count]) == STATUS_SUCCESS)
		count++;
	EXPECT(count > 0 && count <= FEW);
	EXPECT_TOO_MANY(bring_section(&client, section, 64 * KIB, &one_more));
	EXPECT_OK(destroy_one(client.device, brought[0]));
	EXPECT_OK(bring_section(&client, section, 64 * KIB, &brought[0]));
	EXPECT_TOO_MANY(bring_section(&client, section, 64 * KIB, &one_more));
	close(section);
	limited_end(&stranger);
}

TEST(nt_handles_and_names, are_counted_until_the_last_copy_is_closed)
{
	static WCHAR text[] = { 'n', 0 };
	UNICODE_STRING name = { sizeof(WCHAR), sizeof(WCHAR), text };
	OBJECT_ATTRIBUTES named = { .Length = sizeof(named), .ObjectName = &name };
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "ntHandles", 3 }, { "names", 1 }));
	struct creation creation;
	HANDLE handles[4];

	creation_init_resource(&creation, client.device, 1, SHARED_NT);
	EXPECT_OK(create(&creation));
	EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, &named, 0, &handles[0]));
	text[0] = 'm';
	EXPECT_TOO_MANY(D3DKMTShareObjects(1, &creation.args.hResource, &named, 0, &handles[1]));
	for (int i = 1; i < 3; i++)
		EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, NULL, 0, &handles[i]));
	EXPECT_TOO_MANY(D3DKMTShareObjects(1, &creation.args.hResource, NULL, 0, &handles[3]));
	close((int)(intptr_t)handles[0]);
	EXPECT_OK(D3DKMTShareObjects(1, &creation.args.hResource, &named, 0, &handles[0]));
	/* They outlive the process, and so does what it had of its quota. */
	limited_end(&stranger);
	for (int i = 0; i < 3; i++)
		close((int)(intptr_t)handles[i]);
	expect_valid();
}

TEST(private_data, is_counted)
{
	static unsigned char bytes[4096];
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "privateKiB", 8192 }));
	D3DKMT_CREATEKEYEDMUTEX2 mutex = { .pPrivateRuntimeData = bytes,
					   .PrivateRuntimeDataSize = sizeof(bytes) };
	D3DKMT_HANDLE first;

	(void)client;
	EXPECT_OK(D3DKMTCreateKeyedMutex2(&mutex));
	first = mutex.hKeyedMutex;
	EXPECT_TOO_MUCH(D3DKMTCreateKeyedMutex2(&mutex));
	D3DKMT_DESTROYKEYEDMUTEX destroy = { first };
	EXPECT_OK(D3DKMTDestroyKeyedMutex(&destroy));
	EXPECT_OK(D3DKMTCreateKeyedMutex2(&mutex));
	limited_end(&stranger);
}

TEST(events, are_counted_while_the_kernel_keeps_them)
{
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "events", 1 }));
	int event = eventfd(0, EFD_CLOEXEC);
	UINT64 value = 1;
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = monitored_fence(client.device, false);

	EXPECT_OK(wait_event(client.device, fence.hSyncObject, value, event));
	EXPECT_TOO_MANY(wait_event(client.device, fence.hSyncObject, value, event));
	EXPECT_OK(signal_value(client.device, fence.hSyncObject, value));
	value = 2;
	EXPECT_OK(wait_event(client.device, fence.hSyncObject, value, event));
	limited_end(&stranger);
	close(event);
}

static VOID APIENTRY on_trim(D3DKMT_TRIMNOTIFICATION *told)
{
	(void)told;
}

TEST(registrations, are_counted)
{
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "registrations", 1 }));
	D3DKMT_REGISTERTRIMNOTIFICATION registration = { .AdapterLuid = { .LowPart = 0x10000 },
							 .hDevice = client.device,
							 .Callback = on_trim };

	EXPECT_OK(D3DKMTRegisterTrimNotification(&registration));
	EXPECT_TOO_MANY(D3DKMTRegisterTrimNotification(&registration));
	limited_end(&stranger);
}

/* ---- work ---- */

static NTSTATUS queue_wait(const struct worker *worker, D3DKMT_HANDLE fence)
{
	const UINT64 value = 1;
	return D3DKMTWaitForSynchronizationObjectFromGpu(&(
		D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){ .hContext = worker->context,
							     .ObjectCount = 1,
							     .ObjectHandleArray = &fence,
							     .MonitoredFenceValueArray = &value });
}

static NTSTATUS queue_signal(const struct worker *worker, D3DKMT_HANDLE fence)
{
	const UINT64 value = 1;
	return D3DKMTSignalSynchronizationObjectFromGpu(
		&(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU){ .hContext = worker->context,
							      .ObjectCount = 1,
							      .ObjectHandleArray = &fence,
							      .MonitoredFenceValueArray = &value });
}

static NTSTATUS submit_nothing(const struct worker *worker, D3DKMT_HANDLE unused)
{
	D3DKMT_SUBMITCOMMAND submit = { .Commands = worker->command_address,
					.CommandLength = ROW_BYTES,
					.BroadcastContextCount = 1,
					.BroadcastContext = { worker->context } };

	(void)unused;
	submit.Flags.NullRendering = 1;
	return D3DKMTSubmitCommand(&submit);
}

static void expect_bounded(NTSTATUS (*queue)(const struct worker *worker, D3DKMT_HANDLE fence))
{
	enum { LIMIT = 32 * KIB, TOO_MANY = LIMIT / 64 };
	const UINT64 value = 1;
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "queuedKiB", LIMIT }));
	D3DKMT_HANDLE gate = monitored_fence(client.device, false).hSyncObject;
	D3DKMT_HANDLE other = monitored_fence(client.device, false).hSyncObject;
	unsigned count = 0;

	EXPECT_OK(queue_wait(&stranger.worker, gate));
	while (count < TOO_MANY && queue(&stranger.worker, queue == queue_wait ? gate : other) == 0)
		count++;
	EXPECT(count > 0 && count < TOO_MANY);
	EXPECT_TOO_MUCH(queue(&stranger.worker, other));
	EXPECT(strstr(last_refusal().reason, "(limits.process.queuedKiB)") != NULL);
	expect_valid();
	EXPECT_OK(signal_value(client.device, gate, value));
	/* What is over is not counted any more: as much as there ever was can be queued again. */
	for (unsigned done = 0, refused = 0; done < 3 * count; done++) {
		while (queue(&stranger.worker, gate) != STATUS_SUCCESS)
			EXPECT(++refused < 1000000);
	}
	limited_end(&stranger);
}

TEST(queued_work, is_bounded_for_waits)
{
	expect_bounded(queue_wait);
}

TEST(queued_work, is_bounded_for_signals)
{
	expect_bounded(queue_signal);
}

TEST(queued_work, is_bounded_for_submissions)
{
	expect_bounded(submit_nothing);
}

/* An end is never refused, and what is left of it counts: then no more can begin. */
TEST(queued_work, is_bounded_for_fences_whose_handles_have_ended)
{
	enum { LIMIT = 64 * KIB };
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "queuedKiB", LIMIT }));
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = client.device };
	struct row row = { 0 };
	unsigned count = 0;

	fence.Info.Type = D3DDDI_MONITORED_FENCE;
	EXPECT_OK(queue_wait(&stranger.worker, monitored_fence(client.device, false).hSyncObject));
	add_write(&row, stranger.worker.data, 1);
	worker_run(&stranger.worker, &row);
	while (count < LIMIT / 64 && D3DKMTCreateSynchronizationObject2(&fence) == 0) {
		D3DKMT_DESTROYSYNCHRONIZATIONOBJECT done = { fence.hSyncObject };

		EXPECT_OK(D3DKMTDestroySynchronizationObject(&done));
		count++;
	}
	EXPECT(count > 0 && count < LIMIT / 64);
	EXPECT_TOO_MUCH(D3DKMTCreateSynchronizationObject2(&fence));
	limited_end(&stranger);
}

/* ---- GPU addresses ---- */

TEST(gpu_ranges, are_counted_and_come_back)
{
	enum { LIMIT = 600 };
	struct stranger stranger;
	struct client client = limited_open(&stranger, LIMITED({ "gpuRanges", LIMIT }));
	uint64_t addresses[LIMIT];
	uint64_t other;
	unsigned count = 0;

	while (count < LIMIT &&
	       try_map(&client, stranger.worker.memory, PAGE, &addresses[count]) == 0)
		count++;
	EXPECT(count > 0 && count < LIMIT);
	EXPECT_TOO_MANY(try_map(&client, stranger.worker.memory, PAGE, &other));
	EXPECT(strstr(last_refusal().reason, "(limits.process.gpuRanges)") != NULL);
	D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = { .hPagingQueue = client.queue, .Size = 65536 };
	EXPECT_TOO_MANY(D3DKMTReserveGpuVirtualAddress(&reserve));
	expect_valid();
	for (unsigned i = 0; i < count; i++) {
		D3DKMT_FREEGPUVIRTUALADDRESS done = { .hAdapter = client.adapter,
						      .BaseAddress = addresses[i],
						      .Size = PAGE };
		EXPECT_OK(D3DKMTFreeGpuVirtualAddress(&done));
	}
	EXPECT_OK(try_map(&client, stranger.worker.memory, PAGE, &other));
	limited_end(&stranger);
}

/* ---- of the profile ---- */

CHILD(fills_the_quota_of_a_user)
{
	struct dxgk_test_process *both[2];
	unsigned handles = 0;

	CHILD_EXPECT(child_open_adapter() != 0);
	for (unsigned i = 0; i < 2; i++)
		both[i] = dxgk_test_process_create(5000 + i, 1000, "one of two");
	for (unsigned i = 0; i < MANY; i++) {
		dxgk_test_process_enter(both[i % 2]);
		handles += try_open_first_adapter() == STATUS_SUCCESS;
	}
	struct dxgk_refusal why = last_refusal();
	CHILD_EXPECT(strstr(why.reason, "(limits.user.handles)") != NULL);
	CHILD_EXPECT(handles == 10);
	dxgk_test_process_enter(NULL);
	dxgk_test_process_end(both[0]);
	/* What one gave back the other may have. */
	dxgk_test_process_enter(both[1]);
	CHILD_EXPECT(try_open_first_adapter() == STATUS_SUCCESS);
	dxgk_test_process_enter(NULL);
	dxgk_test_process_end(both[1]);
	/* Another user has its own. */
	both[0] = dxgk_test_process_create(5002, 1001, "another");
	dxgk_test_process_enter(both[0]);
	CHILD_EXPECT(try_open_first_adapter() == STATUS_SUCCESS);
	return 0;
}

#define PROFILE(limits) "{ \"adapters\": [ { \"driver\": \"soft\" } ], \"limits\": " limits " }"

TEST(user, has_one_quota_for_all_its_processes)
{
	EXPECT_CHILD(run_child("fills_the_quota_of_a_user",
			       profile_setting(PROFILE("{ \"user\": { \"handles\": 10 } }"))),
		     0);
}

CHILD(fills_its_own_quota)
{
	unsigned handles = 0;

	while (handles < MANY && try_open_first_adapter() == STATUS_SUCCESS)
		handles++;
	printf("%u\n", handles);
	return 0;
}

TEST(program, has_a_quota_where_the_profile_says_so)
{
	const struct child_result *child =
		run_child("fills_its_own_quota",
			  profile_setting(PROFILE("{ \"process\": { \"handles\": 5 } }")));

	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "5\n");
	child = run_child("fills_its_own_quota");
	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "32\n");
}

TEST(profile, names_what_it_does_not_know)
{
	const struct child_result *child =
		run_child("fills_its_own_quota",
			  profile_setting(PROFILE("{ \"process\": { \"hands\": 5 } }")));

	EXPECT_STR(child->out, "0\n");
	EXPECT(strstr(child->err, "expected \"handles\", \"allocations\", \"systemMiB\"") != NULL);
	child = run_child("fills_its_own_quota",
			  profile_setting(PROFILE("{ \"user\": { \"names\": 0 } }")));
	EXPECT(strstr(child->err, "from 1") != NULL);
}

API_TEST_MAIN("api/quota")
