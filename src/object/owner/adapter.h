/* SPDX-License-Identifier: MIT */
/*
 * adapter.h - one per started miniport.
 *
 * Adapters belong to the kernel, from its start to its end; clients hold opens of them. Every call
 * that may enter the driver first passes the gate, so that a stop has the adapter to itself.
 */
#ifndef OBJECT_OWNER_ADAPTER_H
#define OBJECT_OWNER_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/gate.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "base/rbtree.h"
#include "base/refusal.h"
#include "base/worker.h"
#include "handle/object.h"
#include "miniport/miniport.h"
#include "object/submit/hw_suspend.h"
#include "sched/sched.h"
#include "vidmm/account.h"

struct context_switch;
struct dxg_process;
struct page_tables_config;
struct pager;
struct vidmm;
struct work_source;

/* What a driver may name when it asks for memory of its own (context_allocation.h). */
struct context_books {
	struct lock lock;           /* LOCK_RANK_CONTEXT_BOOKS */
	struct rb_tree owners;      /* context_memory.known */
	struct rb_tree allocations; /* by handle */
	struct list introduced;     /* process_adapter.introduced: processes being made */
	struct notice changed;      /* a call is over, something is gone */
};

struct dxg_adapter {
	/* Set at start. Read freely afterwards. */
	uint32_t id;
	uint64_t luid;
	const struct evict_policy *eviction; /* NULL: the memory manager's own choice */
	bool splits_always; /* SplitAlways: DMA buffers are cut wherever they can be */
	struct miniport *miniport;
	const struct miniport_info
		*info; /* valid as long as the adapter, also when it is stopped */

	/* Passed by every call that may enter the driver, closed to stop. */
	struct gate gate; /* LOCK_RANK_ADAPTER */
	bool is_stopped;  /* guarded by gate */

	/* See adapter_work.h. */
	_Atomic(struct sched *) sched;   /* NULL: the driver starts, or has stopped */
	struct sched_owner system_work;  /* the kernel's own: paging */
	struct context_switch *switches; /* one per node */
	struct hw_suspensions suspensions;
	struct context_books books;

	/* See adapter_memory.h. */
	struct vidmm *memory;
	_Atomic(struct pager *) pager;     /* NULL: memory has not started, or has ended */
	struct page_tables_config *tables; /* NULL: there are no GPU addresses */
	struct worker root_update_worker; /* with them: tells contexts where root page tables are */
	struct vidmm_account account;     /* of what outlives the process that made it, too */
	uint64_t dummy_page_address;

	struct work_source *work_source; /* who knows what the GPU still does (ending.h) */
	struct worker reaper;            /* where destructions run that had to wait */
	_Atomic bool is_lost;            /* recovery failed; nothing new begins */
	_Atomic(const char *) lost_why;  /* written before it, read after it … */
	_Atomic uint64_t lost_at_ns;     /* … as this is; the first reason stands */
	_Atomic bool is_removed;         /* … because it was taken away */
	_Atomic bool is_asleep;          /* in D3: the hardware is given nothing (control.h) */
};

/* One successful open by a client: what an adapter handle names. */
struct adapter_open {
	struct object object;
	struct dxg_adapter *adapter;
	struct dxg_process *process;
	struct list process_link; /* dxg_process.opens, guarded by its lock */
};

extern const struct object_class adapter_open_class;

/* Starts the driver. A failure leaves a refusal that says why. */
MUST_CHECK NTSTATUS adapter_create(const struct miniport_config *config,
				   struct dxg_adapter **adapter_out);

/* Stops the driver; nothing of any client is left on it. Accepts NULL. */
void adapter_destroy(struct dxg_adapter *adapter);

/*
 * Passes the gate for new work; a stopped adapter refuses. Releasing what a client holds must
 * always be possible, so that has a gate of its own that refuses nobody.
 */
RARE NTSTATUS adapter_refuse_gone(struct dxg_adapter *adapter);

/* For who knows its seat. */
MUST_CHECK SPECIALIZED NTSTATUS adapter_enter_from(struct dxg_adapter *adapter, uint32_t seat)
{
	gate_enter_from(&adapter->gate, seat);
	if (UNLIKELY(adapter->is_stopped ||
		     atomic_load_explicit(&adapter->is_lost, memory_order_relaxed)))
		return refused(adapter_refuse_gone(adapter));
	return STATUS_SUCCESS;
}

MUST_CHECK SPECIALIZED NTSTATUS adapter_enter(struct dxg_adapter *adapter)
{
	return adapter_enter_from(adapter, thread_own_seat);
}

SPECIALIZED void adapter_enter_to_release(struct dxg_adapter *adapter)
{
	gate_enter(&adapter->gate);
}

SPECIALIZED void adapter_leave(struct dxg_adapter *adapter)
{
	gate_leave(&adapter->gate);
}

/* Refused when it is gone. */
MUST_CHECK NTSTATUS adapter_check_present(struct dxg_adapter *adapter);

MUST_CHECK NTSTATUS adapter_open_create(struct dxg_process *process, struct dxg_adapter *adapter,
					struct adapter_open **open_out);

/* Ends the handle. False when another thread was faster. */
MUST_CHECK bool adapter_open_close(struct adapter_open *open);

#endif
