/* SPDX-License-Identifier: MIT */
/*
 * context_services.h - memory that a driver asks the kernel to own (context allocations), and what
 * else it may tell the kernel about contexts and processes.
 *
 * No client sees any of it: a driver names the device or the context by the handle that the kernel
 * gave it (DXGKARG_CREATEDEVICE.hDevice, DXGKARG_CREATECONTEXT.hContext as they went down), and its
 * allocation by a cookie of its own, which comes back in paging operations.
 *
 * The arguments were checked as far as the driver line can check them (context_callbacks.c); that a
 * handle is one of the kernel's is for the services to find out. `listener` is what
 * miniport_start() was given. Called at PASSIVE_LEVEL, on any thread of the driver or in any entry
 * point, so with locks of the driver line held: they may wait for the kernel's own threads, which
 * never stand behind anybody there, and for nobody else. Without `may_wait` not even for those: the
 * driver is in an entry point of the scheduler's class, and they need it.
 */
#ifndef MINIPORT_CONTEXT_SERVICES_H
#define MINIPORT_CONTEXT_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct miniport_context_allocation {
	void *kernel_device;
	void *kernel_context;    /* NULL: for all contexts of the device */
	void *driver_allocation; /* the driver's cookie */
	uint64_t size_bytes;
	uint64_t alignment_bytes; /* at least a page */
	uint32_t supported_segments;
	uint32_t eviction_segments;
	uint32_t preferred_segments; /* DXGK_SEGMENTPREFERENCE, as for allocations */
	uint32_t hinted_banks;
	uint32_t flags; /* DXGK_ALLOCATIONINFOFLAGS */
	bool is_cpu_visible;
	bool is_cached;
	bool is_accessed_physically;
	bool wants_residency_news;
	bool wants_pointer; /* INIT_CONTEXT_RESOURCE has to have a CPU address */
};

struct miniport_context_mapping {
	void *allocation; /* of create() */
	uint64_t base_address;
	uint64_t lowest_address; /* with no base */
	uint64_t end_address;    /* with no base; 0: none */
	uint64_t first_page;
	uint64_t page_count;
	uint64_t protection; /* D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE */
	uint64_t driver_protection;
};

struct miniport_reservation {
	void *kernel_process;
	bool is_for_kernel; /* the system process */
	uint64_t size_bytes;
	uint64_t alignment_bytes; /* 0: none in particular */
	uint64_t base_address;    /* 0: anywhere */
	bool is_mappable_by_client;
};

/*
 * STATUS_INVALID_HANDLE, of any of them: what the driver named is not there; that is reported, and
 * the driver told STATUS_INVALID_PARAMETER.
 */
struct miniport_context_services {
	NTSTATUS(*create)
	(void *listener, const struct miniport_context_allocation *desc, void **allocation_out);

	/* The address in the space of the process of the context; 0 when it cannot be. */
	uint64_t (*map)(void *listener, const struct miniport_context_mapping *mapping,
			bool may_wait);

	/* Returns when DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION was executed. */
	NTSTATUS(*update)
	(void *listener, void *allocation, void *private_data, uint32_t private_bytes,
	 bool may_wait);
	NTSTATUS (*destroy)(void *listener, void *allocation, bool may_wait);

	/* In DxgkDdiCreateProcess of that process. */
	NTSTATUS(*reserve_addresses)
	(void *listener, const struct miniport_reservation *reservation, uint64_t *address_out);

	/* A reset hit this hardware context: the guilty one, or one that was beside it. */
	NTSTATUS (*invalidate_hw_context)(void *listener, void *kernel_context, bool is_collateral);

	/* Up to DISPATCH_LEVEL: must not block. There is no adapter in this one. */
	NTSTATUS (*signal_event)(void *kernel_process, void *event, bool is_cpu_event);
};

/* Once, before the first adapter starts. Members may be NULL: those refuse. */
void miniport_serve_contexts(const struct miniport_context_services *services);

/* The driver has forgotten its owner, and left this: reported as its mistake. */
void miniport_report_leak(const char *whose, const void *driver_allocation, uint64_t size_bytes);

#endif
