/* SPDX-License-Identifier: MIT */
/*
 * interface_test.c - DXGKRNL_INTERFACE, member by member: what a driver asks with arguments that are
 * none, what is not built, and what is there and does nothing.
 *
 * The members are called on a thread of the test, as a driver calls them on one of its own.
 */
#include "host.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "miniport/internal.h"

static struct host host;
static const DXGKRNL_INTERFACE *kernel;
static HANDLE handle;

static void begin(void)
{
	host_init(&host);
	EXPECT_EQ(host_start_settings(&host, NULL, 0), STATUS_SUCCESS);
	kernel = &host.miniport->interface;
	handle = kernel->DeviceHandle;
	host_listen();
}

static void end(void)
{
	host_finish_reported(&host);
}

/* One report since the last look, of this rule, that has these words. */
static void expect_report(enum rule rule, const char *words)
{
	EXPECT_EQ(host_reports.count, 1);
	EXPECT_EQ(host_reports.rule, rule);
	EXPECT_CONTAINS(host_reports.sentence, words);
	host_reports.count = 0;
}

#define EXPECT_BAD_ARGUMENT(call, words)                                                           \
	do {                                                                                       \
		EXPECT_EQ(call, STATUS_INVALID_PARAMETER);                                         \
		expect_report(RULE_DDI_CALLBACK_ARGUMENT, words);                                  \
	} while (0)
#define EXPECT_BAD_HANDLE(call)                                                                    \
	do {                                                                                       \
		EXPECT_EQ(call, STATUS_INVALID_PARAMETER);                                         \
		expect_report(RULE_DDI_CALLBACK_HANDLE, "is not the DeviceHandle");                \
	} while (0)

/* ---- what is not built ---- */

#define EXPECT_UNBUILT(member, ...)                                                                \
	do {                                                                                       \
		EXPECT_EQ(kernel->member(__VA_ARGS__), STATUS_NOT_IMPLEMENTED);                    \
		expect_report(RULE_DDI_CALLBACK_NOT_BUILT, #member);                               \
	} while (0)
#define EXPECT_UNBUILT_VOID(member, ...)                                                           \
	do {                                                                                       \
		kernel->member(__VA_ARGS__);                                                       \
		expect_report(RULE_DDI_CALLBACK_NOT_BUILT, #member);                               \
	} while (0)

#define INTERFACE_TEST(suite, claim) TEST_BETWEEN(begin(), end(), suite, claim)

INTERFACE_TEST(unbuilt, display_members_fail_and_are_named)
{
	EXPECT_UNBUILT(DxgkCbIndicateChildStatus, handle, NULL);
	EXPECT_UNBUILT(DxgkCbQueryServices, handle, (DXGK_SERVICES)0, NULL);
	EXPECT_UNBUILT(DxgkCbQueryVidPnInterface, NULL, (DXGK_VIDPN_INTERFACE_VERSION)0, NULL);
	EXPECT_UNBUILT(DxgkCbQueryMonitorInterface, handle, (DXGK_MONITOR_INTERFACE_VERSION)0,
		       NULL);
	EXPECT_UNBUILT(DxgkCbGetCaptureAddress, NULL);
	EXPECT_UNBUILT_VOID(DxgkCbMultiPlaneOverlayDisabled, handle, 0);
	EXPECT_UNBUILT(DxgkCbIndicateConnectorChange, handle);
	EXPECT_UNBUILT(DxgkCbUnblockUEFIFrameBufferRanges, handle, NULL);
	EXPECT_UNBUILT(DxgkCbNotifyCursorSupportChange,
		       &(DXGKARGCB_NOTIFYCURSORSUPPORTCHANGE){ .DeviceHandle = handle });
}

INTERFACE_TEST(unbuilt, members_about_memory_and_power_fail_and_are_named)
{
	EXPECT_UNBUILT(DxgkCbExcludeAdapterAccess, handle, 0, NULL, NULL);
	EXPECT_UNBUILT(DxgkCbPowerRuntimeControlRequest, handle, NULL, NULL, 0, NULL, 0, NULL);
	EXPECT_UNBUILT_VOID(DxgkCbHardwareContentProtectionTeardown, handle, 0);
	EXPECT_UNBUILT(DxgkCbMitigatedRangeUpdate, handle, 0, 0);
	EXPECT_UNBUILT(DxgkCbSetProtectedSessionStatus, NULL);
	EXPECT_UNBUILT(DxgkCbPinFrameBufferForSave, handle, NULL);
	EXPECT_UNBUILT(DxgkCbUnpinFrameBufferForSave, handle, NULL);
	EXPECT_UNBUILT(DxgkCbMapFrameBufferPointer, handle, NULL);
	EXPECT_UNBUILT(DxgkCbUnmapFrameBufferPointer, handle, NULL);
	EXPECT_UNBUILT(DxgkCbMapMdlToIoMmu, handle, NULL);
	EXPECT_UNBUILT_VOID(DxgkCbUnmapMdlFromIoMmu, handle, NULL);
	EXPECT_UNBUILT(DxgkCbReportDiagnostic, handle, NULL);
	EXPECT_UNBUILT(DxgkCbSaveMemoryForHotUpdate, handle, NULL);
	EXPECT_UNBUILT(DxgkCbCreatePhysicalMemoryObject,
		       &(DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT){ .hAdapter = handle });
	EXPECT_UNBUILT_VOID(DxgkCbDestroyPhysicalMemoryObject, NULL);
	EXPECT_UNBUILT(DxgkCbMapPhysicalMemory, NULL);
	EXPECT_UNBUILT_VOID(DxgkCbUnmapPhysicalMemory, NULL);
	EXPECT_UNBUILT(DxgkCbAllocateAdl, NULL);
	EXPECT_UNBUILT_VOID(DxgkCbFreeAdl, NULL);
	EXPECT_UNBUILT(DxgkCbOpenPhysicalMemoryObject,
		       &(DXGKARGCB_OPEN_PHYSICAL_MEMORY_OBJECT){ .hAdapter = handle });
	EXPECT_UNBUILT_VOID(DxgkCbClosePhysicalMemoryObject, NULL);
	EXPECT_UNBUILT(DxgkCbPinFrameBufferForSave2, handle, NULL);
	EXPECT_UNBUILT(DxgkCbDisconnectDoorbell, NULL);
}

/* ---- memory ---- */

static PHYSICAL_ADDRESS at(uint64_t address)
{
	return (PHYSICAL_ADDRESS){ .QuadPart = (LONGLONG)address };
}

TEST(map_memory, needs_a_length_and_somewhere_to_put_the_pointer)
{
	PVOID pointer = NULL;

	begin();
	EXPECT_BAD_HANDLE(
		kernel->DxgkCbMapMemory(NULL, at(0), 4096, FALSE, FALSE, MmNonCached, &pointer));
	EXPECT_BAD_ARGUMENT(
		kernel->DxgkCbMapMemory(handle, at(0), 0, FALSE, FALSE, MmNonCached, &pointer),
		"a Length of 0");
	EXPECT_BAD_ARGUMENT(
		kernel->DxgkCbMapMemory(handle, at(0), 4096, FALSE, FALSE, MmNonCached, NULL),
		"a NULL VirtualAddress");
	EXPECT_BAD_HANDLE(kernel->DxgkCbUnmapMemory(NULL, &pointer));
	EXPECT_BAD_ARGUMENT(kernel->DxgkCbUnmapMemory(handle, &pointer), "did not return");
	EXPECT_BAD_ARGUMENT(kernel->DxgkCbUnmapMemory(handle, NULL), "did not return");
	end();
}

INTERFACE_TEST(map_memory, maps_no_ports_and_nothing_into_a_client)
{
	PVOID pointer = &pointer;

	EXPECT_EQ(
		kernel->DxgkCbMapMemory(handle, at(0x3c0), 16, TRUE, FALSE, MmNonCached, &pointer),
		STATUS_NOT_SUPPORTED);
	EXPECT(!pointer);
	EXPECT_EQ(kernel->DxgkCbMapMemory(handle, at(0x100000), 16, FALSE, TRUE, MmNonCached,
					  &pointer),
		  STATUS_NOT_SUPPORTED);
	EXPECT(!pointer);
	EXPECT_EQ(host_reports.count, 0);
}

INTERFACE_TEST(map_memory, without_memory_or_at_no_memory_is_a_status)
{
	PVOID pointer;

	mem_fail_nth(1);
	EXPECT_EQ(kernel->DxgkCbMapMemory(handle, at(0x100000), 4096, FALSE, FALSE, MmNonCached,
					  &pointer),
		  STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	EXPECT_EQ(kernel->DxgkCbMapMemory(handle, at(UINT64_C(1) << 50), 4096, FALSE, FALSE,
					  MmNonCached, &pointer),
		  STATUS_INSUFFICIENT_RESOURCES);
	EXPECT(!pointer);
}

INTERFACE_TEST(contiguous_memory, comes_in_every_kind_of_caching)
{
	static const DXGK_MEMORY_CACHING_TYPE kinds[] = {
		DXGK_MEMORY_CACHING_TYPE_NON_CACHED,
		DXGK_MEMORY_CACHING_TYPE_CACHED,
		DXGK_MEMORY_CACHING_TYPE_WRITE_COMBINED,
	};

	for (size_t i = 0; i < ARRAYSIZE(kinds); i++) {
		DXGKARGCB_ALLOCATECONTIGUOUSMEMORY args = { .NumberOfBytes = 8192,
							    .HighestAcceptableAddress =
								    at(INT64_MAX),
							    .CacheType = kinds[i] };

		EXPECT_EQ(kernel->DxgkCbAllocateContiguousMemory(handle, &args), STATUS_SUCCESS);
		EXPECT(args.pMemory && args.hMemoryHandle);
		kernel->DxgkCbFreeContiguousMemory(
			handle,
			&(DXGKARGCB_FREECONTIGUOUSMEMORY){ .hMemoryHandle = args.hMemoryHandle });
	}
	EXPECT_EQ(host_reports.count, 0);
}

TEST(contiguous_memory, of_nothing_is_refused)
{
	DXGKARGCB_ALLOCATECONTIGUOUSMEMORY none = { .HighestAcceptableAddress = at(INT64_MAX) };
	DXGKARGCB_ALLOCATECONTIGUOUSMEMORY nowhere = { .NumberOfBytes = 4096,
						       .HighestAcceptableAddress = at(1) };

	begin();
	EXPECT_BAD_HANDLE(kernel->DxgkCbAllocateContiguousMemory(NULL, &none));
	EXPECT_BAD_ARGUMENT(kernel->DxgkCbAllocateContiguousMemory(handle, NULL), "NULL");
	EXPECT_BAD_ARGUMENT(kernel->DxgkCbAllocateContiguousMemory(handle, &none),
			    "a NumberOfBytes of 0");
	EXPECT_EQ(kernel->DxgkCbAllocateContiguousMemory(handle, &nowhere), STATUS_NO_MEMORY);
	kernel->DxgkCbFreeContiguousMemory(handle, NULL);
	EXPECT_EQ(host_reports.count, 0);
	end();
}

TEST(pages_for_mdl, of_nothing_are_refused)
{
	DXGKARGCB_ALLOCATEPAGESFORMDL none = { .HighAddress = at(INT64_MAX) };
	DXGKARGCB_ALLOCATEPAGESFORMDL some = { .HighAddress = at(INT64_MAX), .TotalBytes = 8192 };

	begin();
	EXPECT_BAD_HANDLE(kernel->DxgkCbAllocatePagesForMdl(NULL, &none));
	EXPECT_BAD_ARGUMENT(kernel->DxgkCbAllocatePagesForMdl(handle, NULL), "NULL");
	EXPECT_BAD_ARGUMENT(kernel->DxgkCbAllocatePagesForMdl(handle, &none), "a TotalBytes of 0");
	EXPECT_EQ(kernel->DxgkCbAllocatePagesForMdl(handle, &some), STATUS_SUCCESS);
	EXPECT(some.pMdl && some.hMemoryHandle);
	kernel->DxgkCbFreePagesFromMdl(
		handle, &(DXGKARGCB_FREEPAGESFROMMDL){ .hMemoryHandle = some.hMemoryHandle });
	kernel->DxgkCbFreePagesFromMdl(handle, NULL);
	EXPECT_EQ(host_reports.count, 0);
	end();
}

/* ---- interrupts ---- */

static BOOLEAN NTAPI synchronized(PVOID context)
{
	(*(unsigned *)context)++;
	return TRUE;
}

INTERFACE_TEST(synchronize_execution, needs_a_routine_and_room_for_what_it_returns)
{
	unsigned calls = 0;
	BOOLEAN result = FALSE;

	EXPECT_BAD_HANDLE(
		kernel->DxgkCbSynchronizeExecution(NULL, synchronized, &calls, 0, &result));
	EXPECT_BAD_ARGUMENT(kernel->DxgkCbSynchronizeExecution(handle, NULL, &calls, 0, &result),
			    "a NULL SynchronizeRoutine");
	EXPECT_BAD_ARGUMENT(
		kernel->DxgkCbSynchronizeExecution(handle, synchronized, &calls, 0, NULL),
		"a NULL ReturnValue");
	EXPECT_BAD_ARGUMENT(
		kernel->DxgkCbSynchronizeExecution(handle, synchronized, &calls, 99, &result),
		"a MessageNumber");
	EXPECT_EQ(calls, 0);
	EXPECT_EQ(kernel->DxgkCbSynchronizeExecution(handle, synchronized, &calls, 0, &result),
		  STATUS_SUCCESS);
	EXPECT(calls == 1 && result);
}

INTERFACE_TEST(notify, has_a_level_of_its_own)
{
	kernel->DxgkCbNotifyDpc(handle);
	expect_report(RULE_DDI_CALLBACK_IRQL, "it is for DISPATCH_LEVEL");
	kernel->DxgkCbNotifyDpc(NULL);
	expect_report(RULE_DDI_CALLBACK_HANDLE, "DxgkCbNotifyDpc");
	kernel->DxgkCbNotifyInterrupt(handle, NULL);
	EXPECT_EQ(host_reports.count, 2); /* the level, and the argument */
	EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_ARGUMENT);
	EXPECT(!kernel->DxgkCbQueueDpc(NULL));
}

/* ---- power, features, the firmware's picture ---- */

INTERFACE_TEST(power, of_a_component_that_there_is_not_is_reported)
{
	kernel->DxgkCbSetPowerComponentActive(handle, 7);
	expect_report(RULE_DDI_CALLBACK_ARGUMENT, "DxgkCbSetPowerComponentActive");
	kernel->DxgkCbSetPowerComponentIdle(handle, 7);
	expect_report(RULE_DDI_CALLBACK_ARGUMENT, "ComponentIndex 7");
	kernel->DxgkCbSetPowerComponentLatency(handle, 7, 1);
	expect_report(RULE_DDI_CALLBACK_ARGUMENT, "DxgkCbSetPowerComponentLatency");
	kernel->DxgkCbSetPowerComponentResidency(handle, 7, 1);
	expect_report(RULE_DDI_CALLBACK_ARGUMENT, "DxgkCbSetPowerComponentResidency");
	kernel->DxgkCbCompleteFStateTransition(handle, 7);
	expect_report(RULE_DDI_CALLBACK_ARGUMENT, "DxgkCbCompleteFStateTransition");
	kernel->DxgkCbCompletePStateTransition(handle, 7, 0);
	expect_report(RULE_DDI_CALLBACK_ARGUMENT, "DxgkCbCompletePStateTransition");
	kernel->DxgkCbSetPowerComponentActive(NULL, 0);
	expect_report(RULE_DDI_CALLBACK_HANDLE, "DxgkCbSetPowerComponentActive");
	kernel->DxgkCbLogEtwEvent(NULL, 0, 0, NULL);
	EXPECT_EQ(host_reports.count, 0);
}

INTERFACE_TEST(feature, that_nobody_has_is_not_enabled)
{
	DXGKARGCB_ISFEATUREENABLED enabled = { .FeatureId = (DXGK_FEATURE_ID)99, .Enabled = TRUE };
	DXGKARGCB_QUERYFEATURESUPPORT support = { .FeatureId = (DXGK_FEATURE_ID)99,
						  .Enabled = TRUE };

	enabled.DeviceHandle = handle;
	support.DeviceHandle = handle;
	EXPECT_EQ(kernel->DxgkCbIsFeatureEnabled(&enabled), STATUS_SUCCESS);
	EXPECT(!enabled.Enabled);
	EXPECT_EQ(kernel->DxgkCbQueryFeatureSupport(&support), STATUS_SUCCESS);
	EXPECT(!support.Enabled);
	EXPECT_BAD_HANDLE(kernel->DxgkCbIsFeatureEnabled(NULL));
	EXPECT_BAD_HANDLE(kernel->DxgkCbQueryFeatureSupport(NULL));
}

INTERFACE_TEST(post_display, ownership_of_no_picture_is_to_be_had)
{
	DXGK_DISPLAY_INFORMATION info = { .Width = 640 };
	DXGK_DISPLAY_OWNERSHIP_FLAGS flags = { 0 };

	EXPECT_EQ(kernel->DxgkCbAcquirePostDisplayOwnership(handle, &info), STATUS_SUCCESS);
	EXPECT_EQ(info.Width, 0);
	EXPECT_EQ(kernel->DxgkCbAcquirePostDisplayOwnership2(handle, &info, &flags),
		  STATUS_SUCCESS);
	EXPECT_EQ(flags.Value, FrameBufferStateUnknown);
	EXPECT_EQ(kernel->DxgkCbAcquirePostDisplayOwnership2(handle, &info, NULL), STATUS_SUCCESS);
	EXPECT_BAD_ARGUMENT(kernel->DxgkCbAcquirePostDisplayOwnership(handle, NULL),
			    "a NULL DisplayInfo");
	EXPECT_BAD_HANDLE(kernel->DxgkCbAcquirePostDisplayOwnership(NULL, &info));
}

INTERFACE_TEST(acpi, answers_say_that_there_is_no_firmware)
{
	ACPI_EVAL_OUTPUT_BUFFER output = { 0 };

	EXPECT_BAD_HANDLE(kernel->DxgkCbEvalAcpiMethod(NULL, 0, NULL, 0, &output, sizeof(output)));
	EXPECT_EQ(kernel->DxgkCbEvalAcpiMethod(handle, 0, NULL, 0, NULL, 0),
		  STATUS_OBJECT_NAME_NOT_FOUND);
}

TEST_MAIN("miniport/interface")
