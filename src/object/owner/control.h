/* SPDX-License-Identifier: MIT */
/*
 * control.h - what a tester may do to an adapter that is at work (see vidmm/control.h for its
 * memory).
 *
 * Nothing here is a privilege: a process that may open an adapter could do all of it by using the
 * adapter badly.
 */
#ifndef OBJECT_OWNER_CONTROL_H
#define OBJECT_OWNER_CONTROL_H

#include "base/attributes.h"
#include "miniport/work.h"
#include "object/owner/adapter.h"
#include "object/memory/paging_queue.h"
#include "object/owner/process.h"
#include "vidmm/control.h"

/* Recounts the adapter's memory; what does not add up is the reason of the refusal. */
MUST_CHECK NTSTATUS control_check_integrity(struct dxg_adapter *adapter);

/* As vidmm_print_states(). */
MUST_CHECK NTSTATUS control_print_states(struct dxg_adapter *adapter, char *text, size_t size);

/* A line for each process behind number `after`, while there is room: who it is, and its memory on the adapter. */
struct dxg_kernel;
void control_print_processes(struct dxg_kernel *kernel, const struct dxg_adapter *adapter,
			     uint32_t after, char *text, size_t size);

/* Those who wait for room are looked at now; with `is_flush`, returns when what moves is there. */
void control_wake(struct dxg_adapter *adapter, bool is_flush);

/*
 * Off: what can leave GPU memory does, the hardware finishes what it has, and what is queued from then on waits for the power;
 * DxgkDdiSetPowerState is told D3. On: D0. Refused when it is as asked for already.
 */
MUST_CHECK NTSTATUS control_power(struct dxg_adapter *adapter, bool is_on);

/* DxgkDdiResetDevice, as at a bug check; DxgkDdiCollectDbgInfo, as before a reset. */
MUST_CHECK NTSTATUS control_reset_device(struct dxg_adapter *adapter);
MUST_CHECK NTSTATUS control_collect_debug_info(struct dxg_adapter *adapter);

/*
 * Everything that is put into the queue from now on is over `milliseconds` later at the earliest.
 * The end of the queue is not kept waiting.
 */
enum { CONTROL_LONGEST_DELAY_MS = 60000, CONTROL_MOST_DELAYS = 16 };
MUST_CHECK NTSTATUS control_delay(struct dxg_paging_queue *queue, uint32_t milliseconds,
				  uint64_t *fence_value_out);

/* Entries of a table of the process, as the driver was given them. */
struct control_table {
	uint32_t level;
	const uint32_t *path; /* an index for each level from `level` on; [level] is the first */
	uint32_t count;       /* at most that many, and as many as there are in the table */
	bool is_wide;         /* of 64 KiB pages; above, the second pointers of entries */
};

/* `*count_out` is 0 where there is no such table. */
MUST_CHECK NTSTATUS control_read_table(struct dxg_process *process, struct dxg_adapter *adapter,
				       const struct control_table *table,
				       struct miniport_pte *entries, uint32_t *count_out);

/* What the tables look like; refused where there are none. */
struct gpuva_shape;
MUST_CHECK NTSTATUS control_table_shape(const struct dxg_adapter *adapter,
					const struct gpuva_shape **shape_out);

#endif
