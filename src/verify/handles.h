/* SPDX-License-Identifier: MIT */
/*
 * handles.h - what a driver that is verified has given out: its handles for adapters, processes, devices and so on, for
 * as long as the kernel has them.
 *
 * A driver gives any number it likes. Most give addresses of what they allocated, and then the memory has to stay:
 * handles_in() tells who has something in it that is about to be freed.
 */
#ifndef VERIFY_HANDLES_H
#define VERIFY_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct verify_adapter;

enum handle_kind {
	HANDLE_ADAPTER,
	HANDLE_PROCESS,
	HANDLE_DEVICE,
	HANDLE_CONTEXT,
	HANDLE_HW_CONTEXT,
	HANDLE_HW_QUEUE,
	HANDLE_RESOURCE,
	HANDLE_ALLOCATION,
	HANDLE_OPENING,
	HANDLE_KINDS,
	HANDLE_ANY = HANDLE_KINDS
};
extern const char *const handle_names[HANDLE_KINDS]; /* "context" */

struct handle_record {
	struct verify_adapter *adapter;
	enum handle_kind kind;
	const void *handle;
	const void *kernel; /* the kernel's for the same; NULL where it has none */
	const void *parent; /* the driver's: of a context its device, of an opening its device … */
	const void *about;  /* of an opening the allocation; of that one, the device that made it */
	uint32_t node;      /* of a context */
	uint32_t users;     /* of an allocation its openings; else how many have it as parent */
	bool is_ended;  /* the kernel does not have it any more, and its memory is still there */
	bool is_orphan; /* of an allocation: the device that made it is gone */
};

/* False: there is one of the kind with this handle, or no memory to remember it. */
enum handle_added { HANDLE_ADDED, HANDLE_TWICE, HANDLE_NOT_KEPT };
enum handle_added handles_add(const struct handle_record *record);

/* A copy of it; false: there is none. */
bool handles_find(const struct verify_adapter *adapter, enum handle_kind kind, const void *handle,
		  struct handle_record *record_out);
bool handles_remove(const struct verify_adapter *adapter, enum handle_kind kind, const void *handle,
		    struct handle_record *record_out);

/* The kernel has no more to do with it; its memory is looked after until it is freed. */
void handles_end(const struct verify_adapter *adapter, enum handle_kind kind, const void *handle);

/* By its own handle, or by the kernel's. */
bool handles_knows(const struct verify_adapter *adapter, enum handle_kind kind, const void *handle);

/* An allocation was made by this device. */
void handles_set_creator(const struct verify_adapter *adapter, const void *allocation,
			 const void *device);
/* … which is gone. */
void handles_orphan(const struct verify_adapter *adapter, const void *device);

/* The first in [begin, end) that is not ended, of any adapter. Those that are ended are forgotten. */
bool handles_in(const void *begin, const void *end, struct handle_record *record_out);

/* One of the adapter's that is ended, and is forgotten now. */
bool handles_take_ended(const struct verify_adapter *adapter, struct handle_record *record_out);

void handles_forget(const struct verify_adapter *adapter);

#endif
