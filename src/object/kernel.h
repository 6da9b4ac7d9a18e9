/*
 * kernel.h - the adapters there are, and the processes that use them.
 */
#ifndef OBJECT_KERNEL_H
#define OBJECT_KERNEL_H

#include "object/adapter.h"
#include "object/process.h"

enum { KERNEL_MAX_ADAPTERS = 16 };

/* Read freely between start and end: adapters do not come and go while the kernel runs. */
struct dxg_kernel {
	uint32_t adapter_count;
	struct dxg_adapter *adapters[KERNEL_MAX_ADAPTERS];
};

/*
 * Starts every adapter of the profile, in order. One that does not start is left out and said so
 * (log and refusal); the others still work.
 */
void kernel_start(struct dxg_kernel *kernel, const struct miniport_config *configs, size_t count);

/* Stops the adapters, last one first. No process is left. */
void kernel_end(struct dxg_kernel *kernel);

struct dxg_adapter *kernel_find_adapter(struct dxg_kernel *kernel, uint64_t luid);

#endif
