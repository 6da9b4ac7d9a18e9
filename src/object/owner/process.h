/* SPDX-License-Identifier: MIT */
/*
 * process.h - one per client; owns the handles and everything they name.
 *
 * In embedded use there is one, unless a test makes more. Its end is the same as a client's death:
 * teardown.c fixes the order.
 */
#ifndef OBJECT_OWNER_PROCESS_H
#define OBJECT_OWNER_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/machine_bank.h"
#include "base/notice.h"
#include "base/quota.h"
#include "handle/table.h"
#include "object/owner/adapter.h"
#include "object/memory/share.h"
#include "vidmm/manager.h"

struct address_space;
struct client_port;
struct dxg_kernel;
struct dxg_sync_object;
struct gate;
struct client_arena;
struct fence_address;

enum { PROCESS_NAME_BYTES = 32 };

/* Who a client is, as the host knows it; in a seeded run, as whoever made it says. */
struct process_identity {
	uint32_t pid;
	uint32_t user;
	char name[PROCESS_NAME_BYTES];
	struct client_port
		*port;      /* NULL: it is in this process; else it outlives the process object */
	bool is_controller; /* may do what touches others (dispatch/rights.h) */
	struct gate
		*calls[2]; /* which its calls have passed: that of all, which who recounts closes,
				  and its own; NULL: none */
	const struct quota_limits
		*limits; /* of its own; NULL: the kernel's. Read at creation only */
};

/* Addresses that a client in another process has reserved: what it is shown is shown there. */
struct process_arena {
	uint64_t address;
	uint64_t size_bytes;
};

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
	struct sched_process work;
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
struct nt_process;

struct dxg_process {
	/* Set at creation. */
	uint32_t id; /* of those that the kernel ever had, from 1 */
	struct process_identity identity;
	struct dxg_kernel *kernel;
	struct list kernel_link;    /* dxg_kernel.processes */
	struct nt_process *nt;      /* what a driver sees as the current process */
	struct share_table *shares; /* the kernel's */
	struct quota_ledger
		*ledger; /* what it has of its quotas (base/quota.h); NULL: none are set */
	struct handle_table handles;
	struct fence_pages *fence_pages; /* where the process's own fences have their values */
	struct machine_bank *bank;       /* the system memory that it may be shown */
	struct client_arena *arena;      /* where it is shown it; NULL: it is in this process */

	struct lock lock; /* LOCK_RANK_PROCESS */
	struct notice
		changed; /* a driver came to know the process or refused to; a device is gone */
	int32_t scheduling_class;  /* of the work of its devices: sched/priority.h */
	struct list adapters;      /* process_adapter.link */
	struct list opens;         /* adapter_open.process_link */
	struct list devices;       /* dxg_device.process_link */
	struct list keyed_mutexes; /* dxg_keyed_mutex.process_link */
	struct list sync_objects;  /* dxg_sync_object.owned of those of no device */
	struct list waits;         /* sync_wait.process_link of those that sit in a call */
	struct list rests;         /* process_rest.link */

	_Atomic(struct notifier *) notifier; /* see notification.h; NULL before its first use */

	_Atomic uint32_t driver_devices; /* devices that a driver knows; not all are in the list */

	_Atomic bool is_dying; /* a call that would wait is refused instead */
};

/* `arena` is of a client in another process, whose calls have a client_call; NULL: it is in this one. */
MUST_CHECK NTSTATUS process_create(struct dxg_kernel *kernel,
				   const struct process_identity *identity,
				   const struct process_arena *arena,
				   struct dxg_process **process_out);

/* A bank that other processes map, which counts for the ledger. Refused. */
MUST_CHECK NTSTATUS process_make_bank(enum machine_bank_viewers viewers,
				      struct quota_ledger *ledger, struct machine_bank **bank_out);

/* May processes elsewhere open what this one shares? Then it is in files that they can map. */
bool process_shares_elsewhere(const struct dxg_process *process);

/* Calls that wait are refused, and so are those that are about to. The process is ending. */
void process_cancel_waits(struct dxg_process *process);

/*
 * Around a wait of a call for something that only a client does: a recount does not wait for it, and finds
 * here what it holds. No lock is held, nothing is half done. On the caller's stack.
 */
enum { PROCESS_REST_OBJECTS = 2 };

struct process_rest {
	struct list link; /* dxg_process.rests */
	struct object *objects[PROCESS_REST_OBJECTS];
	struct dxg_sync_object *const *fences; /* and these */
	uint32_t fence_count;
};
void process_rest_begin(struct dxg_process *process, struct process_rest *rest);
void process_rest_end(struct dxg_process *process, struct process_rest *rest);

/* Of all its work from now on, queued or not. A process of which nothing was said has class 0. */
enum { PROCESS_CLASS_LOWEST = -2, PROCESS_CLASS_HIGHEST = 3 };
void process_set_class(struct dxg_process *process, int32_t scheduling_class);
int32_t process_class(struct dxg_process *process);

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
