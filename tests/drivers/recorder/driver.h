/* SPDX-License-Identifier: MIT */
/*
 * driver.h - what the files of the recorder driver share.
 */
#ifndef TESTS_DRIVERS_RECORDER_DRIVER_H
#define TESTS_DRIVERS_RECORDER_DRIVER_H

#include <ntddk.h>
#include <dispmprt.h>

#include "recorder.h"

#define RECORDER_TAG 0x52637264

struct crank;
struct hw_crank;

struct saved_call {
	ULONG calls;
	ULONG argument_bytes;
	ULONG list_bytes;
	UCHAR argument[RECORDER_ARGUMENT_BYTES];
	UCHAR list[RECORDER_LIST_BYTES];
};

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
	volatile LONG in_scheduler_class;
	struct crank *crank;
	struct hw_crank *hw_crank;
	struct saved_call *saved; /* RECORDER_ENTRIES */
};

enum {
	MAGIC_ADAPTER = 0x41414141,
	MAGIC_PROCESS = 0x50505050,
	MAGIC_DEVICE = 0x44444444,
	MAGIC_CONTEXT = 0x43434343,
	MAGIC_RESOURCE = 0x52525252,
	MAGIC_ALLOCATION = 0x4c4c4c4c,
	MAGIC_OPENING = 0x4f4f4f4f,
	MAGIC_HW_CONTEXT = 0x48484848,
	MAGIC_HW_QUEUE = 0x51515151,
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

/* For what has a kernel handle: contexts, hardware contexts and queues. */
struct object;
struct object *object_create(struct adapter *adapter, ULONG magic, HANDLE kernel_handle);
struct object *object_create_on(struct adapter *adapter, ULONG magic, HANDLE kernel_handle,
				ULONG node);
ULONG node_of_object(HANDLE handle);
BOOLEAN is_kernels(HANDLE handle);
/* A line about a context of the kernel's that is beside a client's; nothing for others. */
void note_companion(HANDLE handle, const char *what, const char *name, ULONG value);
struct adapter *object_destroy(HANDLE handle, ULONG magic);

/* Complains, and returns NULL, when it is not the driver's. */
struct adapter *adapter_of_object(HANDLE handle, ULONG magic);
HANDLE kernel_handle_of(HANDLE object);
/* The context allocation that the driver keeps for it; NULL: none. */
HANDLE kept_for(HANDLE object);

/* The same for a context of either kind. */
struct adapter *adapter_of_context(HANDLE handle);

/* ---- allocations.c ---- */

/* False when it is no command about handles. */
BOOLEAN handle_command(struct adapter *adapter, struct recorder_escape *escape);

/* Complains of what is in a list and not open. */
void check_list(const DXGK_ALLOCATIONLIST *list, ULONG count);

/* Waits for the thread that releases later. */
void end_release(void);

/* ---- settings.c ---- */

ULONG setting(const char *name, ULONG otherwise);

/* The setting "Segment1.Size", from "Segment", 1 and "Size". */
ULONG indexed(const char *what, ULONG index, const char *field, ULONG otherwise);
BOOLEAN setting_is(const char *name, const char *text);
BOOLEAN is_gpu_mmu(void);
ULONG version(void);

/* Writes behind what it was given, when the registry asks for that. */
void overrun(const char *name, PVOID buffer, SIZE_T bytes);

/* What the step has to return: success, or what the registry asks for. */
NTSTATUS step(const char *name);

/* ---- crank.c: what is submitted, until it is done ---- */

/* At StartDevice and RemoveDevice. */
NTSTATUS crank_create(struct adapter *adapter);
void crank_destroy(struct adapter *adapter);

NTSTATUS crank_submit(struct adapter *adapter, ULONG node, ULONG fence, ULONG bytes,
		      BOOLEAN is_paging);
void crank_preempt(struct adapter *adapter, ULONG node, ULONG preemption_fence);

/* The last fence that was completed. */
ULONG crank_current_fence(struct adapter *adapter, ULONG node);

/* Drops what is queued; returns the fence that was running, or the last completed one. */
ULONG crank_reset(struct adapter *adapter, ULONG node);
void crank_reset_all(struct adapter *adapter);

/* False when it is no command about work. */
BOOLEAN crank_command(struct adapter *adapter, struct recorder_escape *escape);

/* What DxgkCbNotifyInterrupt is given for an escape. */
void fill_interrupt(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data, const struct recorder_escape *escape);

/* ---- hw_queues.c: the same for hardware queues ---- */

NTSTATUS hw_crank_create(struct adapter *adapter);
void hw_crank_destroy(struct adapter *adapter);
void hw_crank_reset_all(struct adapter *adapter);
BOOLEAN hw_command(struct adapter *adapter, struct recorder_escape *escape);

/* ---- device.c: the same about the device ---- */

BOOLEAN device_command(struct adapter *adapter, const DXGKARG_ESCAPE *args);

/* ---- contexts.c: context allocations ---- */

BOOLEAN context_command(struct adapter *adapter, const DXGKARG_ESCAPE *args);
/* NULL when the registry does not ask for one. */
HANDLE keep(struct adapter *adapter, HANDLE kernel_device, HANDLE kernel_context);
void let_go(struct adapter *adapter, HANDLE kept);
void refresh(struct adapter *adapter, HANDLE kept);
void reserve_addresses(struct adapter *adapter, HANDLE kernel_process);

/* ---- the rest: each fills in its entry points ---- */

void fill_in_queries(DRIVER_INITIALIZATION_DATA *data);
void fill_in_objects(DRIVER_INITIALIZATION_DATA *data);
void fill_in_allocations(DRIVER_INITIALIZATION_DATA *data);
void fill_in_commands(DRIVER_INITIALIZATION_DATA *data);
void fill_in_work(DRIVER_INITIALIZATION_DATA *data);
void fill_in_hw_queues(DRIVER_INITIALIZATION_DATA *data);
void fill_in_cpu_events(DRIVER_INITIALIZATION_DATA *data);
/* True: it was one whose data the kernel knows, and `status` is the answer. */
BOOLEAN known_escape(struct adapter *adapter, const DXGKARG_ESCAPE *args, NTSTATUS *status);
void fill_in_recovery(DRIVER_INITIALIZATION_DATA *data);

/* rest.c: after all others. */
void fill_in_the_rest(DRIVER_INITIALIZATION_DATA *data);

/* recovery.c: keeps the arguments of a call for RECORDER_FETCH. */
void save_call(struct adapter *adapter, enum recorder_entry entry, const void *argument,
	       ULONG argument_bytes, const void *list, ULONG list_bytes);
BOOLEAN fetch_command(struct adapter *adapter, const DXGKARG_ESCAPE *args);

/* Around every entry point of the scheduler class: complains when two overlap. */
void enter_scheduler_class(struct adapter *adapter);
void leave_scheduler_class(struct adapter *adapter);

#endif
