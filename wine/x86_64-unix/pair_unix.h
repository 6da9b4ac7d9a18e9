/* SPDX-License-Identifier: MIT */
/*
 * pair_unix.h - what the files of dxgkwine.so share.
 *
 * A Windows program's structs have the layout of ours, so most calls are libdxcore's own functions. What has another
 * form there is converted on the way: characters of two bytes (text.c), handles of Wine's server in place of
 * descriptors (nt_handles.c) and of eventfds (events.c), callbacks, which have to run on a thread of the program
 * (callbacks.c).
 */
#ifndef WINE_PAIR_UNIX_H
#define WINE_PAIR_UNIX_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/refusal.h"
#include "wine/pair.h"

typedef NTSTATUS pair_function(void *args);

#define FUNCTION(name) ((pair_function *)(void (*)(void))(name))

/* ---- calls that are converted; the others are in the table as they are ---- */

/* text.c */
pair_function pair_query_adapter_info;

/* nt_handles.c */
pair_function pair_share_objects, pair_open_nt_handle_from_name,
	pair_open_sync_object_nt_handle_from_name, pair_query_resource_info_from_nt_handle,
	pair_open_resource_from_nt_handle, pair_open_keyed_mutex_from_nt_handle,
	pair_open_sync_object_from_nt_handle2, pair_get_shared_resource_adapter_luid, pair_escape,
	pair_create_sync_file, pair_create_allocation, pair_create_allocation2;

/* events.c */
pair_function pair_wait_for_synchronization_object_from_cpu, pair_create_synchronization_object2,
	pair_destroy_synchronization_object, pair_signal_synchronization_object2,
	pair_signal_synchronization_object_from_gpu2;

/* callbacks.c */
pair_function pair_register_trim_notification, pair_unregister_trim_notification,
	pair_register_budget_change_notification, pair_unregister_budget_change_notification;

/* ---- the end of a thread ---- */

/*
 * Wine ends the other threads of a program that exits by a signal, wherever they are. One that is in the kernel
 * would leave it locked for ever: calls that wait, and those that take a lock of ours, hold the signal off.
 */
void pair_hold_end_off(sigset_t *before);
void pair_allow_end(const sigset_t *before);

/* ---- refusals of our own ---- */

/* As refusal_begin() and refusal_end_call(), and DxgkLastRefusal() knows that it was here. */
void pair_refusal_begin(struct refusal_scope *scope, const char *call);
NTSTATUS pair_refusal_end(struct refusal_scope *scope, NTSTATUS status);

/* ---- text.c: between 2-byte and 4-byte characters ---- */

/* Room for `count` characters in both; returns how many were written. */
size_t text_widen(WCHAR *wide, const uint16_t *narrow, size_t count);
/* How many characters of 2 bytes they make; written as far as there is room. */
size_t text_narrow(uint16_t *narrow, size_t capacity, const WCHAR *wide, size_t count);

/* ---- ntdll.c: Wine's own functions ---- */

#define WINE_ABI __attribute__((ms_abi))

struct ntdll {
	NTSTATUS(WINE_ABI *fd_to_handle)
	(int fd, unsigned access, unsigned attributes, HANDLE *handle);
	NTSTATUS(WINE_ABI *handle_to_fd)
	(HANDLE handle, unsigned access, int *fd, unsigned *options);
	NTSTATUS(WINE_ABI *duplicate)
	(HANDLE from_process, HANDLE from, HANDLE to_process, HANDLE *to, unsigned access,
	 unsigned attributes, unsigned options);
	NTSTATUS(WINE_ABI *set_event)(HANDLE event, LONG *before);
	NTSTATUS(WINE_ABI *close)(HANDLE handle);
};

extern struct ntdll ntdll;
MUST_CHECK bool ntdll_find(void);

/* ---- the parked thread ---- */

/* events.c: one thread of the program waits for events here, and for callbacks. */
bool events_are_parked(void);
void events_set_parked(void);
/* Until there is something to do for callbacks.c, who wakes it. Sets the events that are due meanwhile. */
void events_wait(const sigset_t *while_waiting);
void events_wake(void);
/* Everything that was watched is forgotten: its process has ended. */
void events_forget(void);

/* callbacks.c */
NTSTATUS callbacks_park(struct pair_callback *callback);
void callbacks_forget(void);

#endif
