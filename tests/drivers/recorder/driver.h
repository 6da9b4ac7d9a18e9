/*
 * driver.h - what the files of the recorder driver share.
 */
#ifndef TESTS_DRIVERS_RECORDER_DRIVER_H
#define TESTS_DRIVERS_RECORDER_DRIVER_H

#include <ntddk.h>
#include <dispmprt.h>

#include "recorder.h"

#define RECORDER_TAG 0x52637264

struct adapter {
	ULONG magic;
	PDEVICE_OBJECT device_object;
	DXGKRNL_INTERFACE interface;
	LONG processes;
	LONG devices;
	LONG contexts;
	LONG resources;
	LONG allocations;
	LONG openings;
	volatile LONG inside; /* threads in RECORDER_SLOW */
	volatile LONG most_inside;
};

enum {
	MAGIC_ADAPTER = 0x41414141,
	MAGIC_PROCESS = 0x50505050,
	MAGIC_DEVICE = 0x44444444,
	MAGIC_CONTEXT = 0x43434343,
	MAGIC_RESOURCE = 0x52525252,
	MAGIC_ALLOCATION = 0x4c4c4c4c,
	MAGIC_OPENING = 0x4f4f4f4f,
	MAGIC_GONE = 0x47474747,
};

/* A copy of what DriverEntry was given. */
extern UNICODE_STRING registry_path;

/* ---- notes.c ---- */

void append(char *line, ULONG capacity, ULONG *used, const char *text);
void append_number(char *line, ULONG capacity, ULONG *used, ULONG number);

/* "CreateContext irql=0 node=2 flags=1": at most two names with their values, or NULL. */
void note(const char *entry, const char *name1, ULONG value1, const char *name2, ULONG value2);

/* The host did something that no host may do; tests fail on it. */
void complain(const char *what);

struct adapter *adapter_of(PVOID context);

/* ---- objects.c ---- */

struct adapter *adapter_of_device(HANDLE device);

/* ---- allocations.c ---- */

/* False when it is no command about handles. */
BOOLEAN handle_command(struct adapter *adapter, struct recorder_escape *escape);

/* Waits for the thread that releases later. */
void end_release(void);

/* ---- settings.c ---- */

ULONG setting(const char *name, ULONG otherwise);

/* The setting "Segment1.Size", from "Segment", 1 and "Size". */
ULONG indexed(const char *what, ULONG index, const char *field, ULONG otherwise);
BOOLEAN setting_is(const char *name, const char *text);
BOOLEAN is_gpu_mmu(void);
ULONG version(void);

/* What the step has to return: success, or what the registry asks for. */
NTSTATUS step(const char *name);

/* ---- the rest: each fills in its entry points ---- */

void fill_in_queries(DRIVER_INITIALIZATION_DATA *data);
void fill_in_objects(DRIVER_INITIALIZATION_DATA *data);
void fill_in_allocations(DRIVER_INITIALIZATION_DATA *data);
void fill_in_commands(DRIVER_INITIALIZATION_DATA *data);
void fill_in_unreached(DRIVER_INITIALIZATION_DATA *data);

#endif
