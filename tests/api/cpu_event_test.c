/* SPDX-License-Identifier: MIT */
/*
 * cpu_event_test.c - CPU notifications that the driver sets, and the escape that says what they are
 * for: D3DDDI_DRIVERESCAPETYPE_CPUEVENTUSAGE with DriverKnownEscape.
 */
#include "api/recorder.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "drivers/recorder/recorder.h"

#define WDDM_3_0 "\"Version\": 61443, \"WDDMVersion\": 12288"

static int event;
static D3DKMT_HANDLE adapter;
static D3DKMT_HANDLE device;

static void open_all(void)
{
	adapter = child_open_adapter();
	device = child_create_device(adapter);
	event = eventfd(0, EFD_NONBLOCK);
	CHILD_EXPECT(event >= 0);
	say("-- begin");
}

static NTSTATUS try_create(UINT more_flags, D3DKMT_HANDLE *handle_out)
{
	enum { SIGNAL_BY_KMD = 0x100 };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = device,
						     .Info.Type = D3DDDI_CPU_NOTIFICATION };

	args.Info.Flags.Value = SIGNAL_BY_KMD | more_flags;
	args.Info.CPUNotification.Event = (HANDLE)(intptr_t)event;
	NTSTATUS status = D3DKMTCreateSynchronizationObject2(&args);
	*handle_out = args.hSyncObject;
	return status;
}

static D3DKMT_HANDLE create(void)
{
	D3DKMT_HANDLE handle = 0;

	CHILD_EXPECT(try_create(0, &handle) == STATUS_SUCCESS);
	return handle;
}

static NTSTATUS destroy(D3DKMT_HANDLE handle)
{
	return D3DKMTDestroySynchronizationObject(&(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){ handle });
}

static NTSTATUS known(void *data, size_t size_bytes)
{
	return D3DKMTEscape(&(D3DKMT_ESCAPE){
		.hAdapter = adapter,
		.Flags = { .DriverKnownEscape = 1, .NoAdapterSynchronization = 1 },
		.pPrivateDriverData = data,
		.PrivateDriverDataSize = (UINT)size_bytes });
}

static D3DDDI_DRIVERESCAPE_CPUEVENTUSAGE usage_of(D3DKMT_HANDLE handle, UINT usage)
{
	return (D3DDDI_DRIVERESCAPE_CPUEVENTUSAGE){
		.EscapeType = D3DDDI_DRIVERESCAPETYPE_CPUEVENTUSAGE,
		.hSyncObject = handle,
		.Usage = { usage },
	};
}

static bool is_set(void)
{
	uint64_t count;

	return read(event, &count, sizeof(count)) == sizeof(count);
}

static void child_refused(NTSTATUS status, NTSTATUS wanted, const char *rule, const char *argument)
{
	struct dxgk_refusal why = last_refusal();

	if (status != wanted || strcmp(why.rule, rule) != 0 || strcmp(why.argument, argument) != 0)
		fprintf(stderr, "0x%08x, %s about \"%s\": %s\n", (unsigned)status, why.rule,
			why.argument, why.reason);
	CHILD_EXPECT(status == wanted && strcmp(why.rule, rule) == 0 &&
		     strcmp(why.argument, argument) == 0);
}

#define CHILD_REFUSED(call, rule, argument)                                                        \
	child_refused((call), STATUS_INVALID_PARAMETER, rule, argument)

/* ---- a life ---- */

CHILD(is_set_by_the_driver)
{
	D3DDDI_DRIVERESCAPE_CPUEVENTUSAGE usage;

	open_all();
	D3DKMT_HANDLE handle = create();
	usage = usage_of(handle, 5);
	usage.hKmdCpuEvent = 0x1234; /* is the kernel's to say */
	CHILD_EXPECT(known(&usage, sizeof(usage)) == STATUS_SUCCESS);
	CHILD_EXPECT(!is_set());
	/* What the driver wrote comes back, its own handle does not. */
	CHILD_EXPECT(usage.Usage[7] == 77 && usage.hKmdCpuEvent == 0x1234 &&
		     usage.hSyncObject == handle);
	usage = usage_of(handle, 1);
	CHILD_EXPECT(known(&usage, sizeof(usage)) == STATUS_SUCCESS);
	CHILD_EXPECT(is_set());
	CHILD_EXPECT(destroy(handle) == STATUS_SUCCESS);
	say("-- end");
	return 0;
}

static const char *const profile_of_events = WDDM_3_0 ", \"CpuEvents\": 1";

TEST(cpu_event, is_known_to_the_driver_and_set_by_it)
{
	const struct child_result *child = RECORDED("is_set_by_the_driver", profile_of_events);

	EXPECT_CONTAINS(after_line(child->out, "-- begin\n"),
			"CreateCpuEvent irql=0 device=1 flags=0\n"
			"Features irql=0 cpu_event=1 sample=0\n"
			"KnownEscape irql=0 type=2 device=1\n"
			"CpuEventUsage irql=0 event=1 usage=5\n"
			"KnownEscape irql=0 type=2 device=1\n"
			"CpuEventUsage irql=0 event=1 usage=1\n"
			"DestroyCpuEvent irql=0 event=1\n"
			"-- end\n");
}

CHILD(leaves_events_behind)
{
	open_all();
	create();
	create();
	CHILD_EXPECT(destroy_device(device) == STATUS_SUCCESS);
	say("-- device gone");
	device = child_create_device(adapter);
	create();
	D3DKMTCloseDxCoreDevice();
	say("-- process gone");
	return 0;
}

TEST(cpu_event, ends_with_its_device_and_with_its_process)
{
	const struct child_result *child =
		run_child("leaves_events_behind", recorder_profile(profile_of_events, ""));
	const char *left;

	EXPECT_CHILD(child, 0);
	left = after_line(child->out, "-- begin\n");
	EXPECT_CONTAINS(left, "DestroyCpuEvent irql=0 event=1\n"
			      "DestroyCpuEvent irql=0 event=2\n"
			      "DestroyDevice irql=0\n"
			      "-- device gone\n");
	left = after_line(left, "-- device gone\n");
	EXPECT(strstr(left, "DestroyCpuEvent irql=0 event=1\n"));
	EXPECT(strstr(left, "DestroyCpuEvent irql=0 event=1\n") < strstr(left, "-- process gone"));
}

/* ---- too late ---- */

CHILD(is_set_too_late)
{
	struct recorder_escape signal = { .command = RECORDER_SIGNAL, .flags = 1 };
	D3DKMT_ESCAPE args = { .hDevice = 0,
			       .pPrivateDriverData = &signal,
			       .PrivateDriverDataSize = sizeof(signal) };
	D3DDDI_DRIVERESCAPE_CPUEVENTUSAGE usage;

	open_all();
	args.hAdapter = adapter;
	D3DKMT_HANDLE handle = create();
	usage = usage_of(handle, 0);
	CHILD_EXPECT(known(&usage, sizeof(usage)) == STATUS_SUCCESS);
	signal.values[1] = (uint64_t)usage.Usage[2] << 32 | usage.Usage[1];
	CHILD_EXPECT(D3DKMTEscape(&args) == STATUS_SUCCESS && signal.result == STATUS_SUCCESS);
	CHILD_EXPECT(is_set());
	CHILD_EXPECT(destroy(handle) == STATUS_SUCCESS);
	signal.values[1] = (uint64_t)usage.Usage[2] << 32 | usage.Usage[1];
	signal.flags = 1;
	CHILD_EXPECT(D3DKMTEscape(&args) == STATUS_SUCCESS &&
		     (NTSTATUS)signal.result == STATUS_INVALID_PARAMETER);
	CHILD_EXPECT(!is_set());
	return 0;
}

TEST(cpu_event, that_is_gone_is_not_set_and_the_driver_is_told_on)
{
	const struct child_result *child = RECORDED("is_set_too_late", profile_of_events);

	EXPECT_CONTAINS(child->err, "DDI-CALLBACK-ARGUMENT");
	EXPECT_CONTAINS(child->err, "DxgkCbSignalEvent");
}

/* ---- what is refused ---- */

CHILD(asks_a_driver_without)
{
	D3DKMT_HANDLE handle;

	open_all();
	child_refused(try_create(0, &handle), STATUS_NOT_SUPPORTED, "DDI-ENTRY-MISSING",
		      "DxgkDdiCreateCpuEvent");
	return 0;
}

TEST(cpu_event, needs_a_driver_that_has_them)
{
	RECORDED("asks_a_driver_without", WDDM_3_0);
	RECORDED("asks_a_driver_without", "\"CpuEvents\": 1");
}

CHILD(asks_a_driver_that_fails)
{
	D3DKMT_HANDLE handle;

	open_all();
	child_refused(try_create(0, &handle), STATUS_UNSUCCESSFUL, "DDI-STATUS",
		      "DxgkDdiCreateCpuEvent");
	CHILD_EXPECT(destroy_device(device) == STATUS_SUCCESS);
	say("-- end");
	return 0;
}

TEST(cpu_event, that_the_driver_refuses_is_not_there)
{
	const struct child_result *child =
		RECORDED("asks_a_driver_that_fails", WDDM_3_0 ", \"CpuEvents\": 1, "
							      "\"Fail\": \"CreateCpuEvent\"");

	EXPECT(!strstr(child->out, "DestroyCpuEvent"));
}

static NTSTATUS signal_by_queue(D3DKMT_HANDLE context, D3DKMT_HANDLE handle)
{
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 args = { .hContext = context, .ObjectCount = 1 };

	args.ObjectHandleArray[0] = handle;
	return D3DKMTSignalSynchronizationObject2(&args);
}

CHILD(asks_for_too_much)
{
	enum { SHARED = 1, NT_SHARED = 3 };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 plain = { 0 };
	D3DDDI_DRIVERESCAPE_CPUEVENTUSAGE usage;
	D3DKMT_HANDLE other;

	open_all();
	D3DKMT_HANDLE handle = create();
	/* It is the driver that sets it, and one client that hears it. */
	CHILD_REFUSED(signal_by_queue(child_create_context(device), handle), "API-SYNC-KIND",
		      "ObjectHandleArray");
	CHILD_REFUSED(try_create(SHARED, &other), "API-VALUE", "Info.Flags");
	CHILD_REFUSED(try_create(NT_SHARED, &other), "API-VALUE", "Info.Flags");

	usage = usage_of(handle, 0);
	CHILD_REFUSED(known(&usage, sizeof(usage) - 1), "API-BUFFER", "PrivateDriverDataSize");
	CHILD_REFUSED(known(&usage, 3), "API-BUFFER", "PrivateDriverDataSize");
	CHILD_REFUSED(known(NULL, 0), "API-BUFFER", "PrivateDriverDataSize");
	usage.EscapeType = D3DDDI_DRIVERESCAPETYPE_MAX;
	CHILD_REFUSED(known(&usage, sizeof(usage)), "API-VALUE", "EscapeType");
	usage = usage_of(0, 0);
	CHILD_REFUSED(known(&usage, sizeof(usage)), "API-HANDLE", "hSyncObject");
	usage = usage_of(device, 0);
	CHILD_REFUSED(known(&usage, sizeof(usage)), "API-HANDLE-KIND", "hSyncObject");

	plain.hDevice = device;
	plain.Info.Type = D3DDDI_CPU_NOTIFICATION;
	plain.Info.CPUNotification.Event = (HANDLE)(intptr_t)event;
	CHILD_EXPECT(D3DKMTCreateSynchronizationObject2(&plain) == STATUS_SUCCESS);
	usage = usage_of(plain.hSyncObject, 0);
	CHILD_REFUSED(known(&usage, sizeof(usage)), "API-SYNC-KIND", "hSyncObject");

	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .hDevice = child_create_device(adapter),
			       .Flags.DriverKnownEscape = 1,
			       .pPrivateDriverData = &usage,
			       .PrivateDriverDataSize = sizeof(usage) };
	usage = usage_of(handle, 0);
	CHILD_REFUSED(D3DKMTEscape(&args), "API-VALUE", "hDevice");
	args.hDevice = device;
	CHILD_EXPECT(D3DKMTEscape(&args) == STATUS_SUCCESS);
	args.Type = D3DKMT_ESCAPE_VIDMM;
	CHILD_REFUSED(D3DKMTEscape(&args), "API-VALUE", "Flags");
	CHILD_EXPECT(destroy(handle) == STATUS_SUCCESS);
	usage = usage_of(handle, 0);
	CHILD_REFUSED(known(&usage, sizeof(usage)), "API-HANDLE", "hSyncObject");
	say("-- end");
	return 0;
}

TEST(cpu_event, and_its_escape_are_refused_where_they_make_no_sense)
{
	RECORDED("asks_for_too_much", profile_of_events);
}

/* ---- the other escapes that the kernel knows ---- */

CHILD(translates_handles)
{
	D3DDDI_ALLOCATIONINFO2 element = { 0 };
	D3DKMT_CREATEALLOCATION allocation = { .NumAllocations = 1,
					       .Flags.CreateResource = 1,
					       .pAllocationInfo2 = &element };
	D3DDDI_DRIVERESCAPE_TRANSLATEALLOCATIONEHANDLE one = { 0 };
	D3DDDI_DRIVERESCAPE_TRANSLATERESOURCEHANDLE all = { 0 };

	open_all();
	allocation.hDevice = device;
	CHILD_EXPECT(D3DKMTCreateAllocation2(&allocation) == STATUS_SUCCESS);
	one.EscapeType = D3DDDI_DRIVERESCAPETYPE_TRANSLATEALLOCATIONHANDLE;
	one.hAllocation = element.hAllocation;
	CHILD_EXPECT(known(&one, sizeof(one)) == STATUS_SUCCESS);
	all.EscapeType = D3DDDI_DRIVERESCAPETYPE_TRANSLATERESOURCEHANDLE;
	all.hResource = allocation.hResource;
	CHILD_EXPECT(known(&all, sizeof(all)) == STATUS_SUCCESS);
	one.hAllocation = allocation.hResource;
	CHILD_REFUSED(known(&one, sizeof(one)), "API-HANDLE-KIND", "hAllocation");
	all.hResource = 0;
	CHILD_REFUSED(known(&all, sizeof(all)), "API-HANDLE", "hResource");
	CHILD_REFUSED(known(&all, sizeof(all) - 1), "API-BUFFER", "PrivateDriverDataSize");
	return 0;
}

TEST(known_escape, names_things_that_the_client_has)
{
	const struct child_result *child = RECORDED("translates_handles", "");

	EXPECT_CONTAINS(child->out, "KnownEscape irql=0 type=0 device=0\n"
				    "KnownEscape irql=0 type=1 device=0\n");
}

API_TEST_MAIN("api/cpu_event")
