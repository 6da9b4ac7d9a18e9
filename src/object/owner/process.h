/* SPDX-License-Identifier: MIT */
/*
 * process.h - one per client; owns the handles and everything they name.
 *
 * In embedded use there is one. Its end is the same as a client's death: teardown.c fixes the
 * order.
 */
#ifndef OBJECT_OWNER_PROCESS_H
#define OBJECT_OWNER_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "handle/table.h"
#include "object/owner/adapter.h"
#include "object/memory/share.h"
#include "vidmm/manager.h"

struct address_space;
struct fence_address;

/*
 * What a process has on one adapter, made at its first use and kept to its end: the rule that one
 * thread of a process is in the driver at a time and, from its first device on, the driver's
 * process.
 */
struct process_adapter {
	struct dxg_process *process;
	struct dxg_adapter *adapter;
	struct list link; /* dxg_process.adapters */
	struct miniport_client *client;
	struct vidmm_process memory;
	struct address_space *addresses; /* with the driver's process; NULL: no page tables */
	struct lock updates_lock;        /* LOCK_RANK_PACKET */
	struct list updates;             /* gpu_update.link: those that wait for a fence */
	struct list introduced;          /* context_books.introduced, guarded by that lock */

	struct work root_work; /* see gpu_addresses_tell_root() */

	/* See fence_address.h. */
	struct lock fence_lock; /* LOCK_RANK_PACKET */
	struct list fence_addresses;
	struct fence_address *kept_fence_addresses[2]; /* nobody's; by whether it is writable */
	struct notice fence_address_came;

	struct lock watched_lock; /* LOCK_RANK_FENCES_WATCHED */
	struct list watched;      /* dxg_sync_object.watched_link: see fence_watch.h */

	/* Guarded by dxg_process.lock; `driver_process` is constant once KNOWN. */
	enum { PROCESS_UNKNOWN, PROCESS_BEING_INTRODUCED, PROCESS_KNOWN } driver_knows;
	void *driver_process;
};

struct fence_pages;
struct notifier;

struct dxg_process {
	uint32_t id;
	struct share_space *shares; /* the kernel's */
	struct handle_table handles;
	struct fence_pages *fence_pages; /* where the process's own fences have their values */
	struct machine_bank *bank;       /* the system memory that it may be shown */

	struct lock lock; /* LOCK_RANK_PROCESS */
	struct notice
		changed; /* a driver came to know the process or refused to; a device is gone */
	struct list adapters;      /* process_adapter.link */
	struct list opens;         /* adapter_open.process_link */
	struct list devices;       /* dxg_device.process_link */
	struct list keyed_mutexes; /* dxg_keyed_mutex.process_link */
	struct list sync_objects;  /* dxg_sync_object.owned of those of no device */
	struct list waits;         /* sync_wait.process_link of those that sit in a call */

	_Atomic(struct notifier *) notifier; /* see notification.h; NULL before its first use */

	_Atomic uint32_t driver_devices; /* devices that a driver knows; not all are in the list */

	_Atomic bool is_dying; /* a call that would wait is refused instead */
};

MUST_CHECK NTSTATUS process_create(uint32_t id, struct share_space *shares,
				   struct dxg_process **process_out);

/* Calls that wait are refused, and so are those that are about to. The process is ending. */
void process_cancel_waits(struct dxg_process *process);

/* See teardown.c. No call of this process is under way. Accepts NULL. */
void process_destroy(struct dxg_process *process);

/* The process's place on `adapter`, made now if this is its first use. */
MUST_CHECK NTSTATUS process_join_adapter(struct dxg_process *process, struct dxg_adapter *adapter,
					 struct process_adapter **process_adapter_out);

/* The same, and through the adapter's gate: adapter_leave() ends that. */
MUST_CHECK NTSTATUS process_enter_adapter(struct dxg_process *process, struct dxg_adapter *adapter,
					  struct process_adapter **process_adapter_out);

/* The first one (NULL) or the next, until NULL. None goes before the process's end. */
struct process_adapter *process_next_adapter(struct dxg_process *process,
					     struct process_adapter *previous);

/* Makes the driver's process unless it is there (DxgkDdiCreateProcess). The gate is held. */
MUST_CHECK NTSTATUS process_introduce(struct dxg_process *process,
				      struct process_adapter *process_adapter);

MUST_CHECK NTSTATUS process_calibrate_clock(struct dxg_process *process,
					    struct dxg_adapter *adapter, uint32_t node,
					    struct miniport_clock *clock_out);

/* The driver's private channels, which need no device. */
MUST_CHECK NTSTATUS process_escape(struct dxg_process *process, struct dxg_adapter *adapter,
				   const struct miniport_escape_desc *desc);
MUST_CHECK NTSTATUS process_query_umd_private(struct dxg_process *process,
					      struct dxg_adapter *adapter, void *data,
					      uint32_t size_bytes);

#endif
