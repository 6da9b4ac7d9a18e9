/* SPDX-License-Identifier: MIT */
/*
 * calls.c - a Windows program that makes the calls whose arguments are of another kind there than on Linux: text, NT handles, events,
 * callbacks; and the plain life of memory. Linked twice: to gdi32, and to the API sets.
 */
#include "program.h"

enum { MIB = 1 << 20, PATIENCE_MS = 20000 };

static struct client client;

/* ---- memory ---- */

static void test_memory(void)
{
	D3DKMT_HANDLE one = create(&client, 65536, SOFTGPU_CPU_VISIBLE, 0, NULL);
	char *bytes = lock(&client, one);

	if (bytes) {
		strcpy(bytes, "video memory seen from a Windows program");
		make_resident(&client, one);
		EXPECT(strcmp(bytes, "video memory seen from a Windows program") == 0);
	}
	EXPECT_OK(unlock(&client, one));
	EXPECT_OK(destroy(&client, one, 0));
	EXPECT_STATUS(destroy(&client, one, 0), 0xc000000d);
	claim("memory is created, written, made resident, read and destroyed once");
}

static void test_offer(void)
{
	D3DKMT_HANDLE one = create(&client, MIB, SOFTGPU_CPU_VISIBLE, 0, NULL);
	D3DKMT_OFFERALLOCATIONS offer = { .hDevice = client.device,
					  .HandleList = &one,
					  .NumAllocations = 1,
					  .Priority = D3DKMT_OFFER_PRIORITY_LOW };
	D3DDDI_RECLAIM_RESULT result = (D3DDDI_RECLAIM_RESULT)99;
	D3DKMT_RECLAIMALLOCATIONS2 reclaim = { .hPagingQueue = client.queue,
					       .NumAllocations = 1,
					       .HandleList = &one,
					       .pResults = &result };
	D3DKMT_LOCK2 refused = { .hDevice = client.device, .hAllocation = one };

	make_resident(&client, one);
	EXPECT_OK(D3DKMTOfferAllocations(&offer));
	EXPECT(D3DKMTLock2(&refused) < 0);
	NTSTATUS status = D3DKMTReclaimAllocations2(&reclaim);
	EXPECT(status == 0 || status == STATUS_PENDING);
	EXPECT(result == D3DDDI_RECLAIM_RESULT_OK || result == D3DDDI_RECLAIM_RESULT_DISCARDED);
	EXPECT_OK(wait_for(&client, client.queue_fence, reclaim.PagingFenceValue, NULL));
	EXPECT(lock(&client, one) != NULL);
	EXPECT_OK(unlock(&client, one));
	EXPECT_OK(destroy(&client, one, 0));
	claim("memory is offered, not to be locked meanwhile, and reclaimed");
}

/* ---- text ---- */

static NTSTATUS query(KMTQUERYADAPTERINFOTYPE type, void *data, UINT size_bytes)
{
	return D3DKMTQueryAdapterInfo(
		&(D3DKMT_QUERYADAPTERINFO){ .hAdapter = client.adapter,
					    .Type = type,
					    .pPrivateDriverData = data,
					    .PrivateDriverDataSize = size_bytes });
}

static void test_description(void)
{
	static D3DKMT_DRIVER_DESCRIPTION description;
	static D3DKMT_ADAPTERREGISTRYINFO registry;
	D3DKMT_NODEMETADATA node = { 0 };
	D3DKMT_QUERY_ADAPTER_UNIQUE_GUID guid = { 0 };

	EXPECT(sizeof(description) == 8192 && sizeof(registry) == 2080);
	EXPECT_OK(query(KMTQAITYPE_DRIVER_DESCRIPTION, &description, sizeof(description)));
	EXPECT(wcscmp(description.DriverDescription,
		      L"Soft GPU \x00e4 \xd83d\xde00 of the tests") == 0);
	EXPECT_OK(query(KMTQAITYPE_ADAPTERREGISTRYINFO, &registry, sizeof(registry)));
	EXPECT(wcscmp(registry.ChipType, description.DriverDescription) == 0);
	EXPECT(registry.BiosString[0] == 0);
	EXPECT_OK(query(KMTQAITYPE_NODEMETADATA, &node, sizeof(node)));
	EXPECT(node.NodeData.FriendlyName[0] != 0 &&
	       wcslen(node.NodeData.FriendlyName) < DXGK_MAX_METADATA_NAME_LENGTH);
	EXPECT_OK(query(KMTQAITYPE_QUERY_ADAPTER_UNIQUE_GUID, &guid, sizeof(guid)));
	EXPECT(wcslen(guid.AdapterUniqueGUID) == 38 && guid.AdapterUniqueGUID[0] == L'{');
	EXPECT_STATUS(query(KMTQAITYPE_DRIVER_DESCRIPTION, &description, sizeof(description) - 1),
		      0xc000000d);
	EXPECT_STATUS(query(KMTQAITYPE_DRIVER_DESCRIPTION, NULL, sizeof(description)), 0xc000000d);
	claim("names of an adapter are text of 2-byte characters, pairs included");
}

static void test_registry(void)
{
	static struct {
		D3DDDI_QUERYREGISTRY_INFO info;
		WCHAR more[512];
	} value;
	UINT least = sizeof(value.info);

	value.info.QueryType = D3DDDI_QUERYREGISTRY_ADAPTERKEY;
	value.info.ValueType = REG_SZ;
	wcscpy(value.info.ValueName, L"TestText");
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &value, least));
	EXPECT(value.info.Status == D3DDDI_QUERYREGISTRY_STATUS_BUFFER_OVERFLOW);
	EXPECT(value.info.OutputValueSize == sizeof(L"nine \xd83d\xde00 times"));
	EXPECT(value.info.OutputQword == 0);
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &value, sizeof(value)));
	EXPECT(value.info.Status == D3DDDI_QUERYREGISTRY_STATUS_SUCCESS);
	EXPECT(wcscmp(value.info.OutputString, L"nine \xd83d\xde00 times") == 0);
	EXPECT(wcscmp(value.info.ValueName, L"TestText") == 0);

	value.info.ValueType = REG_DWORD;
	wcscpy(value.info.ValueName, L"LocalMemoryMiB");
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &value, least));
	EXPECT(value.info.Status == D3DDDI_QUERYREGISTRY_STATUS_SUCCESS);
	EXPECT(value.info.OutputValueSize == 4 && value.info.OutputDword == 8);

	value.info.QueryType = D3DDDI_QUERYREGISTRY_DRIVERIMAGEPATH;
	EXPECT_OK(query(KMTQAITYPE_QUERYREGISTRY, &value, sizeof(value)));
	EXPECT(value.info.OutputString[0] == L'/');
	EXPECT((wcslen(value.info.OutputString) + 1) * sizeof(WCHAR) == value.info.OutputValueSize);
	claim("values of the registry are asked for by name, and texts have their size in 2-byte "
	      "characters");
}

/* ---- sharing ---- */

static OBJECT_ATTRIBUTES attributes_of(UNICODE_STRING *name, const WCHAR *text)
{
	OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = name };

	name->Buffer = (WCHAR *)text;
	name->Length = name->MaximumLength = (USHORT)(wcslen(text) * sizeof(WCHAR));
	return attributes;
}

static void test_share_handle(void)
{
	D3DKMT_HANDLE resource;
	D3DKMT_HANDLE memory = create(&client, 65536, SOFTGPU_CPU_VISIBLE, 1, &resource);
	D3DKMT_HANDLE seen;
	HANDLE handle = NULL;
	HANDLE copy = NULL;

	EXPECT_OK(D3DKMTShareObjects(1, &resource, NULL, SHARED_ALLOCATION_WRITE, &handle));
	EXPECT(handle != NULL);
	EXPECT(DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &copy, 0, FALSE,
			       DUPLICATE_SAME_ACCESS));
	EXPECT(CloseHandle(handle));
	D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE info = { .hDevice = client.device, .hNtHandle = copy };
	EXPECT_OK(D3DKMTQueryResourceInfoFromNtHandle(&info));
	EXPECT(info.NumAllocations == 1);
	D3DKMT_GETSHAREDRESOURCEADAPTERLUID whose = { .hNtHandle = copy };
	EXPECT_OK(D3DKMTGetSharedResourceAdapterLuid(&whose));
	EXPECT(memcmp(&whose.AdapterLuid, &client.luid, sizeof(LUID)) == 0);
	D3DKMT_HANDLE opened = open_handle(&client, copy, &seen);
	strcpy(lock(&client, memory), "through one door");
	EXPECT(strcmp(lock(&client, seen), "through one door") == 0);
	EXPECT(CloseHandle(copy));
	info.hNtHandle = copy;
	EXPECT_STATUS(D3DKMTQueryResourceInfoFromNtHandle(&info), 0xc0000008);
	HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
	info.hNtHandle = event;
	EXPECT_STATUS(D3DKMTQueryResourceInfoFromNtHandle(&info), 0xc0000008);
	CloseHandle(event);
	EXPECT_OK(destroy(&client, 0, opened));
	EXPECT_OK(destroy(&client, 0, resource));
	claim("a shared resource has a handle of Windows, which is duplicated, opened and closed");
}

static void test_share_name(void)
{
	static const WCHAR text[] = L"\\BaseNamedObjects\\opendxgk \x00e9 \xd83d\xde00 test";
	UNICODE_STRING name;
	OBJECT_ATTRIBUTES attributes = attributes_of(&name, text);
	D3DKMT_HANDLE resource;
	D3DKMT_HANDLE seen;
	HANDLE handle = NULL;

	(void)create(&client, 65536, SOFTGPU_CPU_VISIBLE, 1, &resource);
	D3DKMT_OPENNTHANDLEFROMNAME open = { SHARED_ALLOCATION_WRITE, &attributes, NULL };
	EXPECT_STATUS(D3DKMTOpenNtHandleFromName(&open), 0xc0000034);
	EXPECT_OK(D3DKMTShareObjects(1, &resource, &attributes, SHARED_ALLOCATION_WRITE, &handle));
	EXPECT_OK(D3DKMTOpenNtHandleFromName(&open));
	EXPECT(open.hNtHandle != NULL && open.hNtHandle != handle);
	D3DKMT_HANDLE opened = open_handle(&client, open.hNtHandle, &seen);
	EXPECT_OK(destroy(&client, 0, opened));
	EXPECT(CloseHandle(open.hNtHandle));
	EXPECT(CloseHandle(handle));
	EXPECT_STATUS(D3DKMTOpenNtHandleFromName(&open), 0xc0000034);
	name.Length = 3;
	EXPECT_STATUS(D3DKMTOpenNtHandleFromName(&open), 0xc0000033);
	EXPECT_OK(destroy(&client, 0, resource));
	claim("a shared resource is opened by its name, which is free when all handles are closed");
}

static void test_share_fence(void)
{
	enum { SHARED_NT = 3 };
	UNICODE_STRING name;
	OBJECT_ATTRIBUTES attributes = attributes_of(&name, L"opendxgk fence of a test");
	volatile UINT64 *value;
	D3DKMT_HANDLE fence = create_fence(&client, SHARED_NT, &value);
	HANDLE handle = NULL;

	EXPECT_OK(D3DKMTShareObjects(1, &fence, &attributes, 0x10000000, &handle));
	D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME by_name = { 0x10000000, &attributes, NULL };
	EXPECT_OK(D3DKMTOpenSyncObjectNtHandleFromName(&by_name));
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 open = { .hNtHandle = by_name.hNtHandle,
						    .hDevice = client.device };
	EXPECT_OK(D3DKMTOpenSyncObjectFromNtHandle2(&open));
	EXPECT_OK(signal_fence(&client, open.hSyncObject, 5));
	EXPECT(*value == 5);
	EXPECT_OK(wait_for(&client, fence, 5, NULL));
	EXPECT(CloseHandle(by_name.hNtHandle) && CloseHandle(handle));
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT end = { open.hSyncObject };
	EXPECT_OK(D3DKMTDestroySynchronizationObject(&end));
	end.hSyncObject = fence;
	EXPECT_OK(D3DKMTDestroySynchronizationObject(&end));
	claim("a fence is shared and opened by name, and what one signals the other sees");
}

/* ---- events ---- */

static void test_wait_event(void)
{
	D3DKMT_HANDLE fence = create_fence(&client, 0, NULL);
	D3DKMT_HANDLE second = create_fence(&client, 0, NULL);
	HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
	HANDLE closed = CreateEventW(NULL, FALSE, FALSE, NULL);
	HANDLE kept;

	EXPECT_OK(wait_for(&client, fence, 1, event));
	EXPECT(WaitForSingleObject(event, 0) == WAIT_TIMEOUT);
	EXPECT_OK(signal_fence(&client, fence, 1));
	EXPECT(WaitForSingleObject(event, PATIENCE_MS) == WAIT_OBJECT_0);
	/* What is there already sets it, too. */
	EXPECT_OK(wait_for(&client, fence, 1, event));
	EXPECT(WaitForSingleObject(event, PATIENCE_MS) == WAIT_OBJECT_0);
	/* The event is the kernel's as well: closing it here takes nothing away. */
	EXPECT(DuplicateHandle(GetCurrentProcess(), closed, GetCurrentProcess(), &kept, 0, FALSE,
			       DUPLICATE_SAME_ACCESS));
	EXPECT_OK(wait_for(&client, second, 7, closed));
	EXPECT(CloseHandle(closed));
	EXPECT_OK(signal_fence(&client, second, 7));
	EXPECT(WaitForSingleObject(kept, PATIENCE_MS) == WAIT_OBJECT_0);
	EXPECT_STATUS(wait_for(&client, second, 8, closed), 0xc0000008);
	CloseHandle(kept);
	CloseHandle(event);
	claim("a wait sets an event of Windows, once, and keeps its own hold of it");
}

static void test_many_events(void)
{
	enum { COUNT = 64 };
	D3DKMT_HANDLE fence = create_fence(&client, 0, NULL);
	HANDLE events[COUNT];
	DWORD before = 0;
	DWORD after = 0;

	GetProcessHandleCount(GetCurrentProcess(), &before);
	for (unsigned i = 0; i < COUNT; i++) {
		events[i] = CreateEventW(NULL, TRUE, FALSE, NULL);
		EXPECT_OK(wait_for(&client, fence, i + 1, events[i]));
	}
	EXPECT_OK(signal_fence(&client, fence, COUNT / 2));
	for (unsigned i = 0; i < COUNT / 2; i++)
		EXPECT(WaitForSingleObject(events[i], PATIENCE_MS) == WAIT_OBJECT_0);
	for (unsigned i = COUNT / 2; i < COUNT; i++)
		EXPECT(WaitForSingleObject(events[i], 0) == WAIT_TIMEOUT);
	EXPECT_OK(signal_fence(&client, fence, COUNT));
	EXPECT(WaitForMultipleObjects(COUNT, events, TRUE, PATIENCE_MS) < WAIT_OBJECT_0 + COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		CloseHandle(events[i]);
	/* The last one's own hold ends behind the event that was waited for. */
	for (unsigned i = 0; i < 1000; i++) {
		GetProcessHandleCount(GetCurrentProcess(), &after);
		if (after <= before)
			break;
		Sleep(1);
	}
	EXPECT(after <= before);
	claim("each of many events is set when its value is reached, and none is kept");
}

static void test_notification_object(void)
{
	HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args = { .hDevice = client.device };
	D3DKMT_CREATECONTEXTVIRTUAL context = { .hDevice = client.device };

	args.Info.Type = D3DDDI_CPU_NOTIFICATION;
	args.Info.CPUNotification.Event = event;
	EXPECT_OK(D3DKMTCreateSynchronizationObject2(&args));
	EXPECT(args.Info.CPUNotification.Event == event);
	EXPECT_OK(D3DKMTCreateContextVirtual(&context));
	D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 signal = { .ObjectCount = 1,
							      .ObjectHandleArray =
								      &args.hSyncObject,
							      .BroadcastContextCount = 1,
							      .BroadcastContextArray =
								      &context.hContext };
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_OK(D3DKMTSignalSynchronizationObjectFromGpu2(&signal));
		EXPECT(WaitForSingleObject(event, PATIENCE_MS) == WAIT_OBJECT_0);
	}
	D3DKMT_DESTROYSYNCHRONIZATIONOBJECT end = { args.hSyncObject };
	EXPECT_OK(D3DKMTDestroySynchronizationObject(&end));
	/* And one that comes with a signal alone. */
	signal = (D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2){ .BroadcastContextCount = 1,
							       .BroadcastContextArray =
								       &context.hContext };
	signal.Flags.EnqueueCpuEvent = 1;
	signal.CpuEventHandle = event;
	EXPECT_OK(D3DKMTSignalSynchronizationObjectFromGpu2(&signal));
	EXPECT(WaitForSingleObject(event, PATIENCE_MS) == WAIT_OBJECT_0);
	D3DKMT_DESTROYCONTEXT last = { context.hContext };
	EXPECT_OK(D3DKMTDestroyContext(&last));
	CloseHandle(event);
	claim("a notification object sets its event as often as it is signalled, a queued event "
	      "once");
}

/* ---- callbacks ---- */

struct ear {
	volatile LONG calls;
	HANDLE heard;
	DWORD thread;
	UINT flags;
	UINT64 bytes;
	VOID *handle;
	BOOL unregisters;
	NTSTATUS unregistered;
};

static VOID APIENTRY on_trim(D3DKMT_TRIMNOTIFICATION *told)
{
	struct ear *ear = told->Context;

	ear->thread = GetCurrentThreadId();
	ear->flags = told->Flags.Value;
	ear->bytes = told->NumBytesToTrim;
	if (ear->unregisters) {
		D3DKMT_UNREGISTERTRIMNOTIFICATION end = { ear->handle, NULL };
		ear->unregistered = D3DKMTUnregisterTrimNotification(&end);
	}
	InterlockedIncrement(&ear->calls);
	SetEvent(ear->heard);
}

static VOID APIENTRY on_budget(D3DKMT_BUDGETCHANGENOTIFICATION *told)
{
	struct ear *ear = told->Context;

	ear->bytes = told->Budget;
	InterlockedIncrement(&ear->calls);
	SetEvent(ear->heard);
}

static NTSTATUS set_budget(UINT64 local)
{
	D3DKMT_VIDMM_ESCAPE data = { .Type = D3DKMT_VIDMMESCAPETYPE_SET_BUDGET };
	D3DKMT_ESCAPE args = { .hAdapter = client.adapter,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &data,
			       .PrivateDriverDataSize = sizeof(data) };

	data.SetBudget.LocalMemoryBudget = local;
	data.SetBudget.SystemMemoryBudget = ~(UINT64)0;
	return D3DKMTEscape(&args);
}

static void listen_for_trims(struct ear *ear)
{
	D3DKMT_REGISTERTRIMNOTIFICATION args = { .AdapterLuid = client.luid,
						 .hDevice = client.device,
						 .Callback = on_trim,
						 .Context = ear };

	*ear = (struct ear){ .heard = CreateEventW(NULL, FALSE, FALSE, NULL),
			     .unregisters = ear->unregisters };
	EXPECT_OK(D3DKMTRegisterTrimNotification(&args));
	ear->handle = args.Handle;
}

static void test_trim(void)
{
	D3DKMT_HANDLE memory = create(&client, 2 * MIB, SOFTGPU_LOCAL_ONLY, 0, NULL);
	struct ear ear = { 0 };
	D3DKMT_UNREGISTERTRIMNOTIFICATION end = { 0 };

	make_resident(&client, memory);
	EXPECT_OK(set_budget(~(UINT64)0));
	listen_for_trims(&ear);
	EXPECT_OK(set_budget(MIB));
	EXPECT(WaitForSingleObject(ear.heard, PATIENCE_MS) == WAIT_OBJECT_0);
	EXPECT((ear.flags & 4) != 0 && ear.bytes == MIB);
	EXPECT(ear.thread != 0 && ear.thread != GetCurrentThreadId());
	end.Handle = ear.handle;
	EXPECT_OK(D3DKMTUnregisterTrimNotification(&end));
	ResetEvent(ear.heard);
	LONG calls = ear.calls;
	EXPECT_OK(set_budget(MIB / 2));
	EXPECT(WaitForSingleObject(ear.heard, 50) == WAIT_TIMEOUT && ear.calls == calls);
	EXPECT_STATUS(D3DKMTUnregisterTrimNotification(&end), 0xc000000d);

	/* From inside the callback, and by the callback alone. */
	EXPECT_OK(set_budget(~(UINT64)0));
	ear.unregisters = TRUE;
	listen_for_trims(&ear);
	EXPECT_OK(set_budget(MIB));
	EXPECT(WaitForSingleObject(ear.heard, PATIENCE_MS) == WAIT_OBJECT_0);
	EXPECT_OK(ear.unregistered);
	EXPECT_OK(set_budget(~(UINT64)0));
	ear.unregisters = FALSE;
	listen_for_trims(&ear);
	end = (D3DKMT_UNREGISTERTRIMNOTIFICATION){ NULL, on_trim };
	EXPECT_OK(D3DKMTUnregisterTrimNotification(&end));
	EXPECT_OK(set_budget(MIB));
	EXPECT(WaitForSingleObject(ear.heard, 50) == WAIT_TIMEOUT && ear.calls == 0);
	EXPECT_OK(set_budget(~(UINT64)0));
	EXPECT_OK(destroy(&client, memory, 0));
	claim("a trim callback runs on a thread of the program, and may unregister itself");
}

static void test_budget(void)
{
	struct ear ear = { .heard = CreateEventW(NULL, FALSE, FALSE, NULL) };
	D3DKMT_REGISTERBUDGETCHANGENOTIFICATION args = { .hDevice = client.device,
							 .Callback = on_budget,
							 .Context = &ear };

	EXPECT_OK(D3DKMTRegisterBudgetChangeNotification(&args));
	EXPECT_OK(set_budget(3 * MIB));
	for (unsigned i = 0; ear.bytes != 3 * MIB && i < 10; i++)
		EXPECT(WaitForSingleObject(ear.heard, PATIENCE_MS) == WAIT_OBJECT_0);
	EXPECT(ear.bytes == 3 * MIB);
	D3DKMT_UNREGISTERBUDGETCHANGENOTIFICATION end = { args.Handle };
	EXPECT_OK(D3DKMTUnregisterBudgetChangeNotification(&end));
	EXPECT(D3DKMTUnregisterBudgetChangeNotification(&end) < 0);
	EXPECT_OK(set_budget(~(UINT64)0));
	claim("a budget callback is told the new budget");
}

/* ---- the program's own faults ---- */

static volatile LONG faults;

static LONG CALLBACK on_fault(EXCEPTION_POINTERS *pointers)
{
	if (pointers->ExceptionRecord->ExceptionCode != (DWORD)EXCEPTION_ACCESS_VIOLATION)
		return EXCEPTION_CONTINUE_SEARCH;
	InterlockedIncrement(&faults);
	pointers->ContextRecord->Rip += 2; /* behind the instruction below */
	return EXCEPTION_CONTINUE_EXECUTION;
}

static void test_fault(void)
{
	void *handler = AddVectoredExceptionHandler(1, on_fault);

	/* Two bytes: 88 08, mov %cl, (%rax). */
	__asm__ volatile(".byte 0x88, 0x08" : : "a"(8), "c"(1) : "memory");
	EXPECT(faults == 1);
	RemoveVectoredExceptionHandler(handler);
	EXPECT_OK(signal_fence(&client, create_fence(&client, 0, NULL), 1));
	claim("an access violation of the program is the program's, also when the kernel runs");
}

/* ---- what is refused ---- */

/* Names that calls.def has not. */
NTSTATUS APIENTRY D3DKMTCreateSwapChain(void *);
BOOLEAN APIENTRY D3DKMTCheckExclusiveOwnership(void);

static void test_refusals(void)
{
	int (*last)(struct dxgk_refusal *) =
		(void *)GetProcAddress(GetModuleHandleA("dxgkwine.dll"), "DxgkLastRefusal");
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };
	D3DKMT_DESTROYDEVICE nothing = { 0 };

	EXPECT(last != NULL);
	EXPECT_STATUS(D3DKMTCreateSwapChain(NULL), 0xc00000bb);
	EXPECT(last && last(&why) == 1 && strcmp(why.call, "D3DKMTCreateSwapChain") == 0);
	EXPECT(strcmp(why.rule, "API-NOT-BUILT") == 0 && why.reason[0] != 0);
	EXPECT(D3DKMTDestroyDevice(&nothing) < 0);
	EXPECT(last && last(&why) == 1 && strcmp(why.call, "D3DKMTDestroyDevice") == 0);
	EXPECT(!D3DKMTCheckExclusiveOwnership());
	EXPECT(last && last(&why) == 1 && strcmp(why.call, "D3DKMTCheckExclusiveOwnership") == 0);
	D3DKMT_CREATEALLOCATION section = { .hDevice = client.device };
	section.Flags.ExistingSection = 1;
	EXPECT_STATUS(D3DKMTCreateAllocation2(&section), 0xc00000bb);
	EXPECT(last && last(&why) == 1 && strcmp(why.argument, "Flags") == 0);
	EXPECT_STATUS(D3DKMTCreateDevice(NULL), 0xc000000d);
	claim("what is refused says why, in the pair as in the kernel");
}

int main(void)
{
	client = client_open();
	test_memory();
	test_offer();
	test_description();
	test_registry();
	test_share_handle();
	test_share_name();
	test_share_fence();
	test_wait_event();
	test_many_events();
	test_notification_object();
	test_trim();
	test_budget();
	test_fault();
	test_refusals();
	return end_of_claims();
}
