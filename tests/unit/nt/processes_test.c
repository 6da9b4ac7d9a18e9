/* SPDX-License-Identifier: MIT */
/*
 * processes_test.c - processes and images as a driver sees them.
 */
#include "unit/nt/nt_harness.h"

#include <ddk/aux_klib.h>
#include <ddk/ntifs.h>
#include <string.h>
#include <unistd.h>

/* ---- processes ---- */

NT_TEST(processes, are_found_by_their_ids)
{
	PEPROCESS found = NULL;

	EXPECT_EQ(PsLookupProcessByProcessId(ULongToHandle(4), &found), STATUS_SUCCESS);
	EXPECT(found == PsInitialSystemProcess);
	ObDereferenceObject(found);
	EXPECT_EQ(PsLookupProcessByProcessId(ULongToHandle((ULONG)getpid()), &found),
		  STATUS_SUCCESS);
	EXPECT(found == PsGetCurrentProcess());
	ObDereferenceObject(found);
	found = NULL;
	EXPECT_EQ(PsLookupProcessByProcessId(ULongToHandle(0), &found), STATUS_INVALID_PARAMETER);
	EXPECT(!found);
	EXPECT_NO_REPORT();
}

NT_TEST(processes, one_can_be_attached_to_inside_of_another)
{
	KAPC_STATE outer;
	KAPC_STATE inner;

	PEPROCESS client = PsGetCurrentProcess();
	KeStackAttachProcess(PsInitialSystemProcess, &outer);
	EXPECT(PsGetCurrentProcess() == PsInitialSystemProcess);
	EXPECT(outer.Process == client);
	KeStackAttachProcess(client, &inner);
	EXPECT(PsGetCurrentProcess() == client);
	EXPECT(inner.Process == PsInitialSystemProcess);
	KeUnstackDetachProcess(&inner);
	EXPECT(PsGetCurrentProcess() == PsInitialSystemProcess);
	KeUnstackDetachProcess(&outer);
	EXPECT(PsGetCurrentProcess() == client);
	EXPECT_NO_REPORT();
}

NT_TEST(processes, of_clients_elsewhere_come_and_go)
{
	PEPROCESS found = NULL;
	PEPROCESS again = NULL;

	struct nt_process *client = nt_process_begin(4711);
	EXPECT_EQ(PsLookupProcessByProcessId(ULongToHandle(4711), &found), STATUS_SUCCESS);
	EXPECT(found != PsInitialSystemProcess && found != PsGetCurrentProcess());
	EXPECT_EQ((uintptr_t)PsGetProcessId(found), 4711);
	nt_process_end(client);
	EXPECT_EQ(PsLookupProcessByProcessId(ULongToHandle(4711), &again),
		  STATUS_INVALID_PARAMETER);
	/* Who has a reference may still look at it. */
	EXPECT_EQ((uintptr_t)PsGetProcessId(found), 4711);
	ObDereferenceObject(found);
	EXPECT_NO_REPORT();
}

/* ---- who is told ---- */

static struct nt_process *us;

static void begin_us(void)
{
	us = nt_process_begin((uint32_t)getpid());
}

static struct {
	unsigned begins;
	unsigned ends;
	HANDLE parent;
	HANDLE process;
	BOOLEAN apcs_are_off;
	PEPROCESS current;
} told;

static VOID NTAPI be_told(HANDLE parent, HANDLE process, BOOLEAN create)
{
	told.begins += create;
	told.ends += !create;
	told.parent = parent;
	told.process = process;
	told.apcs_are_off = KeAreApcsDisabled();
	told.current = PsGetCurrentProcess();
}

NT_TEST(routine, is_told_of_processes_until_it_is_removed)
{
	memset(&told, 0, sizeof(told));
	begin_us();
	EXPECT_EQ(told.begins, 0);
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, FALSE), STATUS_SUCCESS);
	begin_us();
	EXPECT_EQ(told.begins, 1);
	EXPECT_EQ((uintptr_t)told.process, (uintptr_t)getpid());
	EXPECT_EQ((uintptr_t)told.parent, (uintptr_t)getppid());
	EXPECT(told.apcs_are_off);
	EXPECT(told.current != PsInitialSystemProcess);
	EXPECT(!KeAreApcsDisabled());
	nt_process_end(us);
	EXPECT_EQ(told.ends, 1);
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, TRUE), STATUS_SUCCESS);
	nt_process_end(us);
	EXPECT_EQ(told.ends, 1);
	EXPECT_NO_REPORT();
}

NT_TEST(routine, is_told_of_clients_elsewhere_on_their_behalf)
{
	PEPROCESS client = NULL;

	memset(&told, 0, sizeof(told));
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, FALSE), STATUS_SUCCESS);
	struct nt_process *process = nt_process_begin(4711);
	EXPECT_EQ((uintptr_t)told.process, 4711);
	EXPECT_EQ(PsLookupProcessByProcessId(ULongToHandle(4711), &client), STATUS_SUCCESS);
	EXPECT(told.current == client);
	ObDereferenceObject(client);
	nt_process_end(process);
	EXPECT_EQ(told.ends, 1);
	EXPECT_EQ((uintptr_t)told.process, 4711);
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, TRUE), STATUS_SUCCESS);
	EXPECT_NO_REPORT();
}

NT_TEST(routine, is_registered_once_and_removed_once)
{
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, TRUE), STATUS_PROCEDURE_NOT_FOUND);
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(NULL, FALSE), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, FALSE), STATUS_SUCCESS);
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, FALSE), STATUS_INVALID_PARAMETER);
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, TRUE), STATUS_SUCCESS);
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, TRUE), STATUS_PROCEDURE_NOT_FOUND);
	EXPECT_NO_REPORT();
}

NT_TEST(routine, of_a_driver_that_is_gone_is_reported_and_forgotten)
{
	const char *begin = __extension__(const char *) be_told;

	memset(&told, 0, sizeof(told));
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, FALSE), STATUS_SUCCESS);
	EXPECT(nt_driver_unloaded(begin + 1, begin + 2));
	begin_us();
	EXPECT_EQ(told.begins, 1); /* another driver's */
	EXPECT(nt_driver_unloaded(begin, begin + 1));
	EXPECT(strstr(nt_test_log, "NT-NOTIFY-LEFT"));
	begin_us();
	EXPECT_EQ(told.begins, 1);
}

static VOID NTAPI remove_it(PVOID context)
{
	*(NTSTATUS *)context = PsSetCreateProcessNotifyRoutine(be_told, TRUE);
}

/* While others are told, again and again: it is over when the removal is. */
NT_TEST(routine, can_be_removed_by_another_thread)
{
	NTSTATUS status = STATUS_UNSUCCESSFUL;

	memset(&told, 0, sizeof(told));
	EXPECT_EQ(PsSetCreateProcessNotifyRoutine(be_told, FALSE), STATUS_SUCCESS);
	PKTHREAD thread = nt_test_start(remove_it, &status);
	for (unsigned i = 0; i < 100; i++)
		begin_us();
	nt_test_join(thread);
	EXPECT_EQ(status, STATUS_SUCCESS);
	unsigned begins = told.begins;
	begin_us();
	EXPECT_EQ(told.begins, begins);
	EXPECT_NO_REPORT();
}

/* ---- images ---- */

NT_TEST(images, are_the_kernel_and_the_drivers)
{
	static const char image[100];
	AUX_MODULE_EXTENDED_INFO info[3];
	ULONG size = 0;

	EXPECT_EQ(AuxKlibInitialize(), STATUS_SUCCESS);
	EXPECT_EQ(nt_module_add("/drivers/one.so", image, image + sizeof(image)), STATUS_SUCCESS);
	EXPECT_EQ(AuxKlibQueryModuleInformation(&size, sizeof(info[0]), NULL), STATUS_SUCCESS);
	EXPECT_EQ(size, 2 * sizeof(info[0]));
	size = sizeof(info[0]);
	EXPECT_EQ(AuxKlibQueryModuleInformation(&size, sizeof(info[0]), info),
		  STATUS_BUFFER_TOO_SMALL);
	EXPECT_EQ(size, 2 * sizeof(info[0]));
	size = sizeof(info);
	memset(info, 0xab, sizeof(info));
	EXPECT_EQ(AuxKlibQueryModuleInformation(&size, sizeof(info[0]), info), STATUS_SUCCESS);
	EXPECT_EQ(size, 2 * sizeof(info[0]));
	EXPECT(info[0].BasicInfo.ImageBase && info[0].ImageSize > 0);
	EXPECT(info[1].BasicInfo.ImageBase == image);
	EXPECT_EQ(info[1].ImageSize, sizeof(image));
	EXPECT_STR((const char *)info[1].FullPathName + info[1].FileNameOffset, "one.so");
	EXPECT_EQ(info[2].FullPathName[0], 0xab);
	nt_module_remove(image);
	EXPECT_EQ(AuxKlibQueryModuleInformation(&size, sizeof(info[0]), NULL), STATUS_SUCCESS);
	EXPECT_EQ(size, sizeof(info[0]));
	EXPECT_NO_REPORT();
}

TEST(images, come_in_two_forms)
{
	AUX_MODULE_BASIC_INFO info[2];
	ULONG size = sizeof(info);

	nt_test_begin();
	EXPECT_EQ(AuxKlibInitialize(), STATUS_SUCCESS);
	EXPECT_EQ(AuxKlibQueryModuleInformation(&size, sizeof(info[0]), info), STATUS_SUCCESS);
	EXPECT_EQ(size, sizeof(info[0]));
	EXPECT(info[0].ImageBase);
	EXPECT_EQ(AuxKlibQueryModuleInformation(&size, sizeof(info[0]) + 1, info),
		  STATUS_INVALID_PARAMETER);
	nt_test_finish();
}

TEST_MAIN("nt/processes")
