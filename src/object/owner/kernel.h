/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - the adapters there are, and the processes that use them.
 */
#ifndef OBJECT_OWNER_KERNEL_H
#define OBJECT_OWNER_KERNEL_H

#include "object/owner/adapter.h"
#include "object/owner/process.h"
#include "object/memory/share.h"

enum { KERNEL_MAX_ADAPTERS = 16 };

/* Read freely between start and end: adapters do not come and go while the kernel runs. */
struct dxg_kernel {
	uint32_t adapter_count;
	struct dxg_adapter *adapters[KERNEL_MAX_ADAPTERS];
	struct share_space shares;
};

/*
 * Starts every adapter of the profile, in order. One that does not start is left out and said so
 * (log and refusal); the others still work. Fails when there is no memory for the kernel itself.
 */
MUST_CHECK NTSTATUS kernel_start(struct dxg_kernel *kernel, const struct miniport_config *configs,
				 size_t count);

/* Ends what is still shared, then stops the adapters, last one first. No process is left. */
void kernel_end(struct dxg_kernel *kernel);

struct dxg_adapter *kernel_find_adapter(struct dxg_kernel *kernel, uint64_t luid);

#endif
