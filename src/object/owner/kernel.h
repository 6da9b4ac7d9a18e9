/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - the adapters there are, and the processes that use them.
 */
#ifndef OBJECT_OWNER_KERNEL_H
#define OBJECT_OWNER_KERNEL_H

#include "miniport/handle_services.h"
#include "object/owner/adapter.h"
#include "object/owner/process.h"
#include "object/memory/share.h"

enum { KERNEL_MAX_ADAPTERS = 16 };

struct dxg_kernel {
	/* Read freely between start and end: adapters do not come and go while the kernel runs. */
	uint32_t adapter_count;
	struct dxg_adapter *adapters[KERNEL_MAX_ADAPTERS];
	struct share_table shares;
	struct quota_book quotas;

	struct lock lock; /* LOCK_RANK_PROCESSES */

	/* Guarded by it. */
	struct list processes;      /* dxg_process.kernel_link */
	_Atomic bool has_elsewhere; /* one of them was in another process; read without it */
	uint32_t last_process_id;
	struct control_text *text; /* that a controller reads (control_text.h); NULL: none */
	uint64_t last_text;
};

/*
 * Starts every adapter of the profile, in order. One that does not start is left out and said so
 * (log and refusal); the others still work. Fails when there is no memory for the kernel itself.
 */
MUST_CHECK NTSTATUS kernel_start(struct dxg_kernel *kernel, const struct miniport_config *configs,
				 size_t count);

/* Quotas of processes, which may have their own, and of users. Before there are processes. */
void kernel_limit(struct dxg_kernel *kernel, const struct quota_limits *process,
		  const struct quota_limits *user);

/* Ends what is still shared, then stops the adapters, last one first. No process is left. */
void kernel_end(struct dxg_kernel *kernel);

/* What a driver is told about a client's handles; `owner` of a query is a process_adapter. */
extern const struct miniport_handle_services handle_data_services;

struct dxg_adapter *kernel_find_adapter(struct dxg_kernel *kernel, uint64_t luid);

#endif
