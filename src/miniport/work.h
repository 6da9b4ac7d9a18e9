/* SPDX-License-Identifier: MIT */
/*
 * work.h - a driver's entry points for work: paging buffers, submission, preemption, page tables,
 * recovery. The other half of miniport.h.
 *
 * Everything here is called by the scheduler and the pager, on behalf of nobody's process: the
 * entries of the scheduler class never overlap on an adapter (ddi.c). Statuses come back as the
 * driver gave them when WDDM allows them; what it does not allow is reported and becomes
 * STATUS_DRIVER_INTERNAL_ERROR.
 */
#ifndef MINIPORT_WORK_H
#define MINIPORT_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/refusal.h"
#include "base/status.h"
#include "miniport/miniport.h"
#include "miniport/paging_op.h"

/* ---- pages of system memory, as a driver is shown them ---- */

/* Alive and unchanged until the fence of the last operation that names it. */
MUST_CHECK NTSTATUS miniport_mdl_create(const struct miniport_page_run *runs, uint32_t run_count,
					struct miniport_mdl **mdl_out);
void miniport_mdl_destroy(struct miniport_mdl *mdl);

/* ---- paging buffers ---- */

enum { MINIPORT_ENTRY_BYTES = 16 };

/*
 * A paging buffer while operations are packed into it. The two used_bytes grow as the driver
 * writes; that is all the driver is asked about it. As long as both are 0 the buffer is fresh.
 */
struct miniport_paging_buffer {
	void *memory; /* 4 KiB aligned; NULL: only page tables, by the CPU, now */
	uint64_t physical_address;
	uint64_t gpu_address; /* in the paging process; 0 in the physical model */
	void *driver_context; /* for which it is built; NULL: the kernel's own */
	uint32_t size_bytes;  /* as reported by the driver */
	void *private_data;   /* zeroed when the buffer is fresh */
	uint32_t private_bytes;
	uint32_t used_bytes; /* of memory */
	/* For the entries of one update as the driver reads them, MINIPORT_ENTRY_BYTES each; only
	 * more than MINIPORT_FEW_ENTRIES need it. */
	void *entry_memory;
	uint32_t entry_max;
	uint32_t private_used_bytes;

	/* A reset of the adapter counts it up first: what is of before does not enter after. */
	struct {
		const _Atomic uint32_t *now; /* NULL: it may enter whenever */
		uint32_t mine;
	} generation;
};

/*
 * DxgkDdiBuildPagingBuffer for one pass of one operation. `multipass` is 0 at the first pass and
 * kept by the caller between passes.
 *
 *	STATUS_SUCCESS
 *		the operation is in the buffer, or was done at once
 *	STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER
 *		submit what is there, come again with a fresh buffer
 *	STATUS_GRAPHICS_ALLOCATION_BUSY
 *		transfer, discard: idle it, come again with is_idle
 *	STATUS_DEVICE_REMOVED
 *		the driver was not asked, because a reset has begun
 *	STATUS_DRIVER_INTERNAL_ERROR
 *		anything else; also a fresh buffer and no progress
 */
MUST_CHECK NTSTATUS miniport_build_paging(struct miniport *miniport,
					  const struct miniport_paging_op *op,
					  struct miniport_paging_buffer *buffer,
					  uint32_t *multipass);

/* ---- submission ---- */

struct miniport_submission {
	void *driver_context; /* NULL: the kernel's own on `node` */
	void *driver_device;  /* its device, for drivers that know no contexts */
	uint32_t node;
	uint32_t fence;
	bool is_paging;
	bool is_null;           /* NullRendering */
	bool is_context_switch; /* empty: leave the context that is loaded */
	bool is_resubmission;

	/* Where the commands are. Virtual: in the space of the context, the first of them … */
	uint64_t gpu_address;
	uint32_t size_bytes;
	/* … physical: [start, end) of a DMA buffer. */
	uint32_t segment;          /* 0: contiguous system memory */
	uint64_t physical_address; /* of the buffer; in the segment, where there is one */
	void *memory; /* the kernel's pointer, for DxgkDdiPatch and DxgkDdiCancelCommand */
	uint32_t buffer_bytes;
	uint32_t start_bytes;
	uint32_t end_bytes;

	void *private_data;
	uint32_t private_bytes;
	uint32_t private_start_bytes;
	uint32_t private_end_bytes;
	uint32_t client_private_bytes; /* virtual: how many of them are the client's */
};

/* Is the context to be fed by DxgkDdiSubmitCommandVirtual? Paging too, when there is no other. */
bool miniport_submits_virtually(const struct miniport *miniport, bool is_virtual_context);

/*
 * DxgkDdiSubmitCommand, or …Virtual. Only the virtual one may fail: STATUS_INVALID_PARAMETER means
 * that the client's private data was malformed; the device is lost, the fence counts as completed
 * after those before it.
 */
MUST_CHECK NTSTATUS miniport_submit(struct miniport *miniport, bool is_virtual,
				    const struct miniport_submission *submission);

/* ---- rendering, physical model ---- */

struct miniport_list_entry {
	void *driver_binding;
	bool is_written;
	uint32_t segment;      /* 0: paged out, nothing known */
	uint64_t offset_bytes; /* in the segment; the base address is added below */
};

struct miniport_patch_entry {
	uint32_t allocation_index;
	uint32_t slot;
	uint32_t driver_id;
	uint32_t allocation_offset;
	uint32_t patch_offset;
	uint32_t split_offset;
};

struct miniport_render {
	void *driver_context;
	void *driver_device; /* as in miniport_submission */
	const void *command; /* the client's memory, as DxgkDdiRender expects it */
	uint32_t command_bytes;
	struct miniport_list_entry *allocations;
	uint32_t allocation_count;
	const struct miniport_patch_entry *patches_in; /* the client's memory, likewise */
	uint32_t patch_in_count;

	void *buffer;
	uint64_t buffer_physical_address; /* in the segment, where there is one */
	uint32_t buffer_segment;
	uint32_t buffer_bytes;
	void *private_data;
	uint32_t private_bytes;
	struct miniport_patch_entry *patches_out;
	uint32_t patch_out_capacity;

	/* Out. */
	uint32_t multipass; /* in/out */
	uint32_t used_bytes;
	uint32_t private_used_bytes;
	uint32_t patch_out_count;
};

/*
 * DxgkDdiRender for one pass. STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER: come again with a fresh
 * buffer. Any of the documented failures comes back unchanged, refused. What the driver wrote into
 * patches_out was checked: it is about the list and the buffer, in the order of split offsets.
 */
MUST_CHECK NTSTATUS miniport_render(struct miniport *miniport, struct miniport_client *client,
				    struct miniport_render *render);

struct miniport_patch {
	const struct miniport_submission *submission;
	const struct miniport_list_entry *allocations;
	uint32_t allocation_count;
	const struct miniport_patch_entry *patches;
	uint32_t patch_count;
	uint32_t first_patch; /* of those, the part that belongs to this submission */
	uint32_t submitted_patches;
	void *list_storage; /* MINIPORT_LIST_ENTRY_BYTES for each allocation; NULL: taken as needed */
};

enum { MINIPORT_LIST_ENTRY_BYTES = 24 };

/*
 * DxgkDdiPatch where the driver patches; nothing where it does not. STATUS_NO_MEMORY when the list
 * is long and there is no room for it; else it must succeed.
 */
MUST_CHECK NTSTATUS miniport_patch(struct miniport *miniport, const struct miniport_patch *patch);

/* A call that submits by address, for as many contexts as it names. */
struct miniport_validation {
	void *const *targets; /* the driver's contexts, or its hardware queues */
	uint32_t target_count;
	bool is_for_hw_queues;
	uint64_t progress_fence_value; /* with those */
	uint64_t gpu_address;
	uint32_t size_bytes;
	void *private_data; /* the driver may write to it */
	uint32_t private_bytes;
	uint32_t client_private_bytes; /* of those, from the client */
};

/*
 * DxgkDdiValidateSubmitCommand, where there is one, once for the call: STATUS_SUCCESS or
 * STATUS_INVALID_USER_BUFFER. Without data of a client there is nothing to judge.
 */
MUST_CHECK NTSTATUS miniport_validate_submission(struct miniport *miniport,
						 struct miniport_client *client,
						 const struct miniport_validation *validation);

/* DxgkDdiCancelCommand where the driver wants to know: never submitted, its device is lost. */
void miniport_cancel(struct miniport *miniport, const struct miniport_submission *submission,
		     const struct miniport_patch *patch);

/* ---- preemption and recovery ---- */

/* DISPATCH_LEVEL; the answer is an event, perhaps before this returns. */
void miniport_preempt(struct miniport *miniport, uint32_t node, uint32_t preemption_fence);

/* False when the driver has no such entry point. */
bool miniport_query_current_fence(struct miniport *miniport, uint32_t node, uint32_t *fence_out);

/* A bit per node that has to be reset with this one; includes it. */
uint64_t miniport_dependent_nodes(struct miniport *miniport, uint32_t node);
bool miniport_node_is_responsive(struct miniport *miniport, uint32_t node);

/* *last_aborted_out is checked by the caller. A failure is an adapter reset's reason. */
MUST_CHECK NTSTATUS miniport_reset_node(struct miniport *miniport, uint32_t node,
					uint32_t *last_aborted_out);

/*
 * The same for hardware queues: meanwhile the driver names the contexts it hit
 * (context_services.h), and the others go on when it is resumed.
 */
MUST_CHECK NTSTATUS miniport_reset_hw_node(struct miniport *miniport, uint32_t node);
MUST_CHECK NTSTATUS miniport_resume_hw_node(struct miniport *miniport, uint32_t node);

/*
 * Bugcheck code 0x117 (adapter) or 0x141 (engine). Returns how many bytes the driver wrote, as far
 * as that can be seen: up to the last one that is not zero.
 */
uint32_t miniport_collect_debug_info(struct miniport *miniport, uint32_t reason, void *buffer,
				     uint32_t size_bytes);

/*
 * Level three: alone in the driver. False when the driver failed, or when others are in it for
 * longer than TdrDdiDelay: neither can be mended.
 */
bool miniport_reset_from_timeout(struct miniport *miniport);
bool miniport_restart_from_timeout(struct miniport *miniport);

/*
 * Level three: alone in the driver, and nothing is with the hardware. False, and not entered, when others are still in the
 * driver at the deadline.
 */
MUST_CHECK bool miniport_set_power(struct miniport *miniport, bool is_on, uint64_t deadline_ns,
				   NTSTATUS *status_out);
/* As at a bug check: nothing of the driver is relied upon after it. */
void miniport_reset_device(struct miniport *miniport);

/* The hardware is gone. True: the driver knows it now, and no engine touches memory any more. */
bool miniport_notify_surprise_removal(struct miniport *miniport);

/*
 * Returns when every event that the driver had reported is delivered; not from a listener. And
 * while a node's events are ignored, what the driver reports about it is dropped: a reset begins
 * with both, in the order ignore, flush, so that the fences then known to be completed stay so.
 */
void miniport_flush_events(struct miniport *miniport);

/* What the driver said of a node's work cannot be: told to who wrote it, once for each node. */
void miniport_report(struct miniport *miniport, enum rule rule, uint32_t node,
		     const char *sentence);
void miniport_ignore_node_events(struct miniport *miniport, uint32_t node, bool is_ignored);

/* What the registry says about turns and recovery, and the defaults where it says nothing. */
struct miniport_tdr_settings {
	uint32_t level;          /* TdrLevel: 0 off, 1 stop the program, 3 recover (default) */
	uint32_t delay_s;        /* TdrDelay, 2 */
	uint32_t ddi_delay_s;    /* TdrDdiDelay, 5 */
	uint32_t limit_time_s;   /* TdrLimitTime, 60 */
	uint32_t limit_count;    /* TdrLimitCount, 5 */
	bool enables_preemption; /* EnablePreemption, 1 */
	uint32_t quantum_ms;     /* QuantumMs, 20; not one of Windows' */
	bool preempts_always;    /* PreemptAlways, 0; likewise, for who verifies a driver */
	bool splits_always;      /* SplitAlways, 0; likewise */
};
void miniport_tdr_settings(struct miniport *miniport, struct miniport_tdr_settings *settings_out);

/* ---- page tables ---- */

/* The context is idle. */
void miniport_set_root_page_table(struct miniport *miniport, void *driver_context, uint32_t segment,
				  uint64_t offset_bytes, uint32_t entry_count);

/* Two levels only: bytes for a root of at least *entry_count entries; says how many really fit. */
uint64_t miniport_root_page_table_bytes(struct miniport *miniport, uint32_t *entry_count);

MUST_CHECK NTSTATUS miniport_map_host_aperture(struct miniport *miniport, void *driver_allocation,
					       uint32_t segment, uint64_t page_count,
					       const uint32_t *aperture_pages,
					       const uint64_t *segment_pages);
void miniport_unmap_host_aperture(struct miniport *miniport, uint32_t segment, uint64_t page_count,
				  const uint32_t *aperture_pages);

/* ---- the kernel's own context on the paging node ---- */

void *miniport_system_context(const struct miniport *miniport);
void *miniport_system_process(const struct miniport *miniport);

/* ---- hardware queues (WDDM 2.2) ---- */

bool miniport_has_hw_queues(const struct miniport *miniport);
/* Their engine can be reset alone. */
bool miniport_has_hw_engine_reset(const struct miniport *miniport);

struct miniport_hw_queue_desc {
	void *kernel_handle;
	void *driver_context; /* of CreateHwContext, or an ordinary one with has_hw_queues */
	bool is_hw_context;
	void *private_data;
	uint32_t private_bytes;
	uint32_t flags;          /* D3DDDI_CREATEHWQUEUEFLAGS */
	uint32_t progress_fence; /* D3DKMT handle */
	uint64_t fence_gpu_address;
	void *fence_pointer;
};

MUST_CHECK NTSTATUS miniport_create_hw_context(struct miniport *miniport,
					       struct miniport_client *client,
					       const struct miniport_context_desc *desc,
					       void **driver_hw_context_out);
void miniport_destroy_hw_context(struct miniport *miniport, struct miniport_client *client,
				 void *driver_hw_context);

/*
 * Hardware that schedules itself is told when nothing of a context may stay on it. True: it is so
 * already; false: events.context_suspended() comes with this fence, or never. Runs again when it is
 * resumed.
 */
bool miniport_has_suspension(const struct miniport *miniport);
MUST_CHECK bool miniport_suspend_context(struct miniport *miniport, void *driver_context,
					 uint64_t fence);
void miniport_resume_context(struct miniport *miniport, void *driver_context);
MUST_CHECK NTSTATUS miniport_create_hw_queue(struct miniport *miniport,
					     struct miniport_client *client,
					     const struct miniport_hw_queue_desc *desc,
					     void **driver_queue_out);
void miniport_destroy_hw_queue(struct miniport *miniport, struct miniport_client *client,
			       void *driver_queue);

struct miniport_hw_submission {
	void *driver_queue;
	uint64_t progress_fence_value;
	uint64_t gpu_address;
	uint32_t size_bytes;
	void *private_data;
	uint32_t private_bytes;
	uint64_t fence_gpu_address;
	void *fence_pointer;
};
MUST_CHECK NTSTATUS miniport_submit_to_hw_queue(struct miniport *miniport,
						const struct miniport_hw_submission *submission);

#endif
