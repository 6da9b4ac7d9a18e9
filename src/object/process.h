/*
 * process.h - one per client; owns the handles and everything they name.
 *
 * In embedded use there is one. Its end is the same as a client's death: teardown.c fixes the order.
 */
#ifndef OBJECT_PROCESS_H
#define OBJECT_PROCESS_H

#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "handle/table.h"
#include "object/adapter.h"

/*
 * What a process has on one adapter, made with its first device there and kept to its end: the driver's
 * process, and the rule that one thread of a process is in the driver at a time.
 */
struct process_adapter {
	struct dxg_adapter *adapter;
	struct list link; /* dxg_process.adapters */
	struct miniport_client *client;
	void *driver_process;

	/* Guarded by dxg_process.lock. Others wait until the maker has finished. */
	bool is_ready;
};

struct dxg_process {
	uint32_t id;
	struct handle_table handles;

	struct lock lock;         /* LOCK_RANK_PROCESS */
	struct notice changed;    /* a process_adapter became ready, or went away */
	struct list adapters;     /* process_adapter.link */
	struct list opens;        /* adapter_open.process_link */
	struct list devices;      /* dxg_device.process_link */
};

MUST_CHECK NTSTATUS process_create(uint32_t id, struct dxg_process **process_out);

/* See teardown.c. No call of this process is under way. Accepts NULL. */
void process_destroy(struct dxg_process *process);

/* The process's place on `adapter`, made now if this is the first use. The gate is held. */
MUST_CHECK NTSTATUS process_join_adapter(struct dxg_process *process, struct dxg_adapter *adapter,
					 struct process_adapter **joined_out);

#endif
