/* SPDX-License-Identifier: MIT */
/*
 * verify.h - rules of the driver line that only a look at every call tells (DXGK_VERIFY=rules).
 *
 *   kernel  ──▶ entries.c ──▶ the driver's DxgkDdi*         each entry point and each callback has one
 *   driver  ──▶ callbacks.c ──▶ the kernel's DxgkCb*        function in between, which asks the watches
 *
 * A watch is one group of rules in one file (watches.def): it looks at what a driver is given and at what comes
 * back, keeps what it has to remember of the driver, and reports (nt_report) which rule was broken. It changes
 * nothing of what the kernel or the driver sees. Faults that are injected are a watch of their own (watch_faults.c): that one
 * changes what passes.
 *
 * Locks: watches are asked on the thread that crosses, several at once, with no lock of the verifier. What a watch
 * keeps it guards itself, with a lock of rank LEAF that it does not hold while it reports.
 */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "miniport/internal.h"

enum verify_watch {
#define WATCH(name) VERIFY_WATCH_##name,
#include "verify/watches.def"
#undef WATCH
	VERIFY_WATCH_COUNT
};

enum verify_callback_id {
#define VERIFY_CALLBACK(name) VERIFY_CB_##name,
#include "verify/callbacks.def"
#undef VERIFY_CALLBACK
	VERIFY_CALLBACK_COUNT
};

/* A driver that is verified. */
struct verify_adapter {
	struct miniport *miniport;
	void *states[VERIFY_WATCH_COUNT]; /* what each watch keeps; NULL where it keeps nothing */
};

/* One call of an entry point, on the stack of the thread that makes it. */
struct verify_call {
	struct verify_adapter *adapter;
	enum ddi ddi;
	const void *handle;  /* the first argument: hAdapter, hDevice, hContext, … */
	void *arguments;     /* the struct; NULL where there is none */
	uint64_t numbers[3]; /* arguments that are neither, in order */
	const void *routine; /* the driver's */
	struct verify_call
		*outer; /* the call on this thread that led to a callback, which led here */
	uint64_t kept[VERIFY_WATCH_COUNT]; /* of each watch, from before it to after it */

	struct user_memory *lent; /* of a Render whose command buffer is not the client's */

	/* After it. */
	NTSTATUS status; /* STATUS_SUCCESS of what returns none */
	uint64_t result; /* of what returns something else */
};

/* One call of a callback. */
struct verify_callback {
	struct verify_adapter
		*adapter; /* NULL: its handle is none of an adapter that is verified */
	enum verify_callback_id id;
	const void *handle;
	void *arguments;
	uint64_t numbers[3];

	/* Set before: the kernel is not asked, and `status` and `result` are the answer. */
	bool is_answered;
	/* Set before: the kernel is told once more. Of DxgkCbNotifyInterrupt alone. */
	bool is_repeated;

	uint64_t kept[VERIFY_WATCH_COUNT];

	/* After it. */
	NTSTATUS status;
	uint64_t result;
};

/* Members may be NULL. */
struct verify_watching {
	size_t state_bytes; /* zeroed, and there from `begin` to `end` */
	void (*begin)(struct verify_adapter *adapter, void *state); /* DriverEntry has returned */
	void (*end)(struct verify_adapter *adapter, void *state);   /* the image is gone */
	void (*before)(struct verify_call *call, void *state);
	void (*after)(struct verify_call *call, void *state);
	void (*callback_before)(struct verify_callback *callback, void *state);
	void (*callback_after)(struct verify_callback *callback, void *state);
	/* Around the routine that DxgkCbSynchronizeExecution was given: at the level of the interrupt. */
	void (*routine_before)(struct verify_callback *callback, void *state);
	void (*routine_after)(struct verify_callback *callback, void *state);
};

#define WATCH(name) extern const struct verify_watching verify_watch_##name;
#include "verify/watches.def"
#undef WATCH

extern const char *const verify_callback_names[VERIFY_CALLBACK_COUNT]; /* "DxgkCbMapMemory" */

/* ---- entries.c ---- */

void verify_entries_replace(DRIVER_INITIALIZATION_DATA *ddi);

/* ---- callbacks.c ---- */

void verify_callbacks_replace(DXGKRNL_INTERFACE *interface);

/* ---- watch_time.c ---- */

/* The calling thread leaves the driver's code for a callback, and returns to it. */
void verify_time_stop(void);
void verify_time_go_on(void);

/* ---- verify.c ---- */

void verify_call_begin(struct verify_call *call, enum ddi ddi, const void *handle, void *arguments);
void verify_call_end(struct verify_call *call, NTSTATUS status, uint64_t result);
/* False: it is answered. */
bool verify_callback_begin(struct verify_callback *callback, enum verify_callback_id id,
			   const void *handle, void *arguments);
void verify_callback_end(struct verify_callback *callback, NTSTATUS status, uint64_t result);
void verify_routine_begin(struct verify_callback *callback);
void verify_routine_end(struct verify_callback *callback);

static inline bool verify_is_lack_of_memory(NTSTATUS status)
{
	return status == STATUS_NO_MEMORY || status == STATUS_INSUFFICIENT_RESOURCES;
}

/* The call of an entry point that the thread is in; NULL: none. */
struct verify_call *verify_call_innermost(void);

#endif
