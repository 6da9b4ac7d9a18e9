/* SPDX-License-Identifier: MIT */
/*
 * why_test.c - who is refused, lost or faulted reads why: which of three things is wrong with a handle,
 * which bits are reserved, what a device was lost for, when and by whom, what a GPU did where; and what
 * every call was given.
 */
#include <pthread.h>

#include "api/soft_work.h"

static D3DKMT_HANDLE never_given_out(D3DKMT_HANDLE handle)
{
	return handle + 0x40 * 1000000;
}

#define EXPECT_REASON(call, words)                                                                 \
	do {                                                                                       \
		EXPECT(!NT_SUCCESS(call));                                                         \
		struct dxgk_refusal reason_why = last_refusal();                                   \
		if (!strstr(reason_why.reason, words))                                             \
			print_error("\"%s\" without \"%s\"\n", reason_why.reason, words);          \
		EXPECT(strstr(reason_why.reason, words));                                          \
	} while (0)

/* ---- handles ---- */

TEST(handle, that_was_never_given_out_is_stale_or_foreign_is_told_apart)
{
	D3DKMTCloseDxCoreDevice();
	D3DKMT_HANDLE before = create_device(open_first_adapter());
	D3DKMTCloseDxCoreDevice();
	D3DKMT_HANDLE adapter = open_first_adapter();
	D3DKMT_HANDLE device = create_device(adapter);
	D3DKMT_HANDLE gone = create_device(adapter);

	EXPECT_OK(destroy_device(gone));
	EXPECT_REASON(destroy_device(0), "is not a device: such a handle was never given out");
	EXPECT_REASON(destroy_device(device + 1), "such a handle was never given out");
	EXPECT_REASON(destroy_device(never_given_out(device)), "such a handle was never given out");
	EXPECT_REASON(destroy_device(device + 0x40 * 2), "such a handle was never given out");
	EXPECT_REASON(destroy_device(gone), "it is stale, what it named was destroyed");
	EXPECT_REASON(destroy_device(before), "it is foreign, of a process that has ended");
	EXPECT_REASON(destroy_device(device + 2), "it is foreign, of the other kind of handles");
	EXPECT_REASON(destroy_device(adapter), "is an adapter, not a device");
}

TEST(handle, of_another_device_says_of_which)
{
	struct client client = begin();
	D3DKMT_HANDLE other = create_device(client.adapter);
	D3DKMT_HANDLE allocation = create_one(other);
	char words[96];
	void *pointer;

	snprintf(words, sizeof(words), "foreign, an allocation of device 0x%08x, not of 0x%08x",
		 other, client.device);
	EXPECT_REASON(lock2(client.device, allocation, &pointer), words);
	EXPECT_OK(destroy_one(other, allocation));
	EXPECT_REASON(lock2(client.device, allocation, &pointer), "stale");
	EXPECT_REASON(lock2(client.device, client.device, &pointer),
		      "is a device, not an allocation");
	EXPECT_REASON(destroy_list(client.device, &allocation, 1), "phAllocationList[0] is 0x");
	EXPECT_REASON(destroy_list(client.device, &allocation, 1), "stale");
}

/* ---- bits ---- */

TEST(flags, that_are_reserved_are_named)
{
	struct client client = begin();
	D3DKMT_DESTROYALLOCATION2 args = { .hDevice = client.device };
	D3DKMT_CREATEALLOCATION creation = { .hDevice = client.device };

	args.Flags.Value = 0x30;
	EXPECT_REASON(D3DKMTDestroyAllocation2(&args), "Flags has reserved bits 0x30 set: 4, 5");
	args.Flags.Value = 0x80000001;
	EXPECT_REASON(D3DKMTDestroyAllocation2(&args),
		      "Flags has reserved bits 0x80000000 set: 31 (SystemUseOnly)");
	creation.Flags.Reserved = 2;
	EXPECT_REASON(D3DKMTCreateAllocation2(&creation),
		      "Flags has reserved bits 0x800000 set: 23");
}

/* ---- states ---- */

TEST(device, that_is_lost_says_what_for_when_and_by_whom)
{
	struct client client = begin();
	D3DKMT_MARKDEVICEASERROR args = { .hDevice = client.device,
					  .Reason = D3DKMT_DEVICE_ERROR_REASON_GENERIC };
	D3DKMT_HANDLE context;

	EXPECT_OK(D3DKMTMarkDeviceAsError(&args));
	EXPECT_REASON(try_create_context(client.device, &context), "is lost: ");
	EXPECT_REASON(try_create_context(client.device, &context),
		      " s ago, by D3DKMTMarkDeviceAsError");
}

TEST(device, that_has_no_memory_for_what_must_succeed_says_so)
{
	struct client client = begin();
	UINT64 everything = memory_info(&client, 0).Budget;
	D3DKMT_HANDLE handles[2];
	D3DKMT_HANDLE context;

	for (int i = 0; i < 2; i++)
		handles[i] =
			create_sized(&client, everything / 4 * 3 / MIB * MIB, SOFTGPU_LOCAL_ONLY);
	D3DDDI_MAKERESIDENT args = residency_of(&client, handles, 2, CANT_TRIM | MUST_SUCCEED);
	(void)D3DKMTMakeResident(&args);
	for (int i = 0; i < 1000 && NT_SUCCESS(try_create_context(client.device, &context)); i++)
		usleep(1000);
	EXPECT_REASON(try_create_context(client.device, &context), "is lost: out of memory (5), ");
}

/* ---- faults ---- */

CHILD(fault)
{
	struct row row = { 0 };
	struct worker worker;

	worker_open(&worker, child_open_adapter());
	add_write(&row, UINT64_C(0x123456789000), 1);
	worker_run(&worker, &row);
	worker_wait(&worker);
	printf("%u\n", state_of(&worker));
	return 0;
}

TEST(fault, is_logged_and_traced_with_its_address_access_packet_and_process)
{
	char path[] = "/tmp/why_trace_XXXXXX.json";
	char setting[64];
	char *trace = malloc(1 << 24);
	int file = mkstemps(path, (int)strlen(".json"));

	EXPECT(file >= 0 && trace);
	snprintf(setting, sizeof(setting), "DXGK_TRACE=%s", path);
	const struct child_result *child = run_child("fault", setting);
	EXPECT_CHILD(child, 0);
	EXPECT_STR(child->out, "7\n");
	EXPECT_CONTAINS(child->err, "adapter 1, node 0: page fault at 0x123456789000 (write by "
				    "process 1, packet ");

	ssize_t length = pread(file, trace, (1 << 24) - 1, 0);
	trace[length > 0 ? length : 0] = '\0';
	EXPECT(strstr(trace, "\"GPU fault\""));
	EXPECT(strstr(trace, "0x123456789000"));
	EXPECT(strstr(trace, "write by process 1"));
	EXPECT(strstr(trace, "page fault of its work"));
	close(file);
	unlink(path);
	free(trace);
}

/* ---- the log of calls ---- */

CHILD(work)
{
	struct row row = { 0 };
	struct worker worker;
	D3DKMT_WDDM_2_7_CAPS caps;

	worker_open(&worker, child_open_adapter());
	(void)query_adapter(worker.client.adapter, KMTQAITYPE_WDDM_2_7_CAPS, &caps, sizeof(caps));
	add_write(&row, worker.data, 1);
	worker_run(&worker, &row);
	worker_wait(&worker);
	worker_close(&worker);
	return 0;
}

TEST(log, says_what_calls_were_given)
{
	const struct child_result *child = run_child("work", "DXGK_LOG=calls");

	EXPECT_CHILD(child, 0);
	EXPECT_CONTAINS(child->err, "D3DKMTQueryAdapterInfo(hAdapter 0x40000040, "
				    "PrivateDriverDataSize 4, Type KMTQAITYPE_WDDM_2_7_CAPS): ");
	EXPECT_CONTAINS(child->err,
			"D3DKMTCreateDevice(hAdapter 0x40000040, Flags 0x0): STATUS_SUCCESS, "
			"hDevice 0x40");
	EXPECT_CONTAINS(child->err, ", Info.Type D3DDDI_MONITORED_FENCE): STATUS_SUCCESS");
	EXPECT_CONTAINS(child->err, "D3DKMTMakeResident(hPagingQueue 0x4000");
	EXPECT_CONTAINS(child->err, "DxgkDdiQueryAdapterInfo(hAdapter 0x");
	EXPECT_CONTAINS(child->err,
			"Type DXGKQAITYPE_DRIVERCAPS, InputDataSize 0, OutputDataSize ");
	EXPECT_CONTAINS(child->err, ", NodeOrdinal 0, EngineAffinity 0x");
	EXPECT_CONTAINS(child->err, "Operation DXGK_OPERATION_UPDATE_PAGE_TABLE, hProcess 0x");
	EXPECT_CONTAINS(child->err, "DxgkDdiSubmitCommandVirtual(hAdapter 0x");
	EXPECT_CONTAINS(child->err,
			"DxgkCbNotifyInterrupt(InterruptType DXGK_INTERRUPT_DMA_COMPLETED, "
			"NodeOrdinal ");
	EXPECT_CONTAINS(child->err, "DxgkDdiCreateAllocation(hAdapter 0x");
	EXPECT_CONTAINS(child->err, "NumAllocations 1, ");
}

enum { TALKERS = 8, TALKS = 200 };

static void *talk(void *argument)
{
	(void)argument;
	for (int i = 0; i < TALKS; i++)
		close_adapter(0);
	return NULL;
}

CHILD(talk_at_once)
{
	pthread_t threads[TALKERS];

	child_open_adapter();
	for (int i = 0; i < TALKERS; i++)
		CHILD_EXPECT(pthread_create(&threads[i], NULL, talk, NULL) == 0);
	for (int i = 0; i < TALKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

TEST(log, of_several_threads_is_in_whole_lines)
{
	static const char wanted[] = "dxgk: D3DKMTCloseAdapter: hAdapter 0x00000000 is not an "
				     "adapter: such a handle was "
				     "never given out (API-HANDLE, STATUS_INVALID_PARAMETER)\n";
	const struct child_result *child = run_child("talk_at_once", "DXGK_LOG=refusals");
	const char *line = child->err;
	int count = 0;

	EXPECT_CHILD(child, 0);
	for (; strncmp(line, wanted, sizeof(wanted) - 1) == 0; line += sizeof(wanted) - 1)
		count++;
	EXPECT_STR(line, "");
	EXPECT_EQ(count, TALKERS * TALKS);
}

/* ---- starting ---- */

CHILD(try_twice)
{
	D3DKMT_ENUMADAPTERS2 all = { 0 };

	CHILD_EXPECT(!NT_SUCCESS(D3DKMTEnumAdapters2(&all)));
	CHILD_EXPECT(!NT_SUCCESS(D3DKMTEnumAdapters2(&all)));
	return 0;
}

static unsigned times_said(const char *text, const char *words)
{
	unsigned count = 0;

	for (text = strstr(text, words); text; text = strstr(text + 1, words))
		count++;
	return count;
}

TEST(start, that_fails_is_said_once)
{
	const struct child_result *child =
		run_child("try_twice", "DXGK_PROFILE=/nonexistent/profile.json");

	EXPECT_CHILD(child, 0);
	EXPECT_EQ(times_said(child->err, "/nonexistent/profile.json"), 1);
}

CHILD(start_nothing)
{
	D3DKMT_ENUMADAPTERS2 all = { 0 };

	CHILD_EXPECT(NT_SUCCESS(D3DKMTEnumAdapters2(&all)));
	return 0;
}

TEST(start, of_an_adapter_that_fails_is_explained_once)
{
	const char *profile =
		profile_setting("{\"adapters\": [{\"driver\": \"/nonexistent/driver.so\"}]}");
	const struct child_result *child = run_child("start_nothing", profile);

	EXPECT_CHILD(child, 0);
	EXPECT_EQ(times_said(child->err, "did not start"), 1);
	EXPECT_EQ(times_said(child->err, "DDI-IMAGE"), 1);
	child = run_child("start_nothing", profile, "DXGK_LOG=refusals");
	EXPECT_CHILD(child, 0);
	EXPECT_EQ(times_said(child->err, "did not start"), 1);
	EXPECT_EQ(times_said(child->err, "DDI-IMAGE"), 1);
}

API_TEST_MAIN("api/why")
