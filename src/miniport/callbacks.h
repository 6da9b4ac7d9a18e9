/* SPDX-License-Identifier: MIT */
/*
 * callbacks.h - what the files with callbacks share.
 */
#ifndef MINIPORT_CALLBACKS_H
#define MINIPORT_CALLBACKS_H

#include "miniport/internal.h"

/* Stands for the handle in callbacks that have none. */
#define CALLBACK_NO_HANDLE ((HANDLE)(~(uintptr_t)0))

/*
 * Opens every callback: the driver is traced as being in it, the handle is the DeviceHandle of
 * DXGKRNL_INTERFACE, and the caller's IRQL is not above `highest_irql`. NULL, after a report, when
 * the call is not in order; callback_end() follows in any case.
 */
struct miniport *callback_begin(HANDLE handle, const char *name, uint8_t highest_irql);
NTSTATUS callback_end(NTSTATUS status);

/* Reports "name was given what"; the second also ends the callback, STATUS_INVALID_PARAMETER. */
void callback_tell_argument(const char *name, const char *what);
NTSTATUS callback_bad_argument(const char *name, const char *what);

/* device_callbacks.c */
void callbacks_fill_device(DXGKRNL_INTERFACE *interface);

/* handle_callbacks.c */
void callbacks_fill_handles(DXGKRNL_INTERFACE *interface);

/* context_callbacks.c */
void callbacks_fill_contexts(DXGKRNL_INTERFACE *interface);

/* The members that are not served yet: an honest failure, recorded. */
void callbacks_fill_unbuilt(DXGKRNL_INTERFACE *interface);

#endif
