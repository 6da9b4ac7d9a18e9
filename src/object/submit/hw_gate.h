/* SPDX-License-Identifier: MIT */
/*
 * hw_gate.h - waits in a context, for what its hardware queues are given later.
 *
 *	context          wait 1 ─▶ over ─▶ wait 2 …
 *	hardware queue   a   [1]  b   c   [2]  d        b and c go when the first is over
 *
 * A context with HwQueueSupported runs nothing itself: what is submitted to it goes to its hardware
 * queues. So each of them, before it takes anything more, gets a packet that waits for the waits
 * the context has by then.
 */
#ifndef OBJECT_SUBMIT_HW_GATE_H
#define OBJECT_SUBMIT_HW_GATE_H

#include "object/owner/hw_queue.h"

void hw_gate_init(struct hw_queue_parent *parent);
void hw_gate_finish(struct hw_queue_parent *parent);

/* sched_queue_submit() of a wait in the context. */
MUST_CHECK NTSTATUS hw_gate_wait(struct hw_queue_parent *parent, struct sched_queue *queue,
				 struct sched_packet *wait);

/* The oldest that was left is over. Any thread, DPC included. */
void hw_gate_pass(struct hw_queue_parent *parent);

/* Before something is queued in a hardware queue: it comes behind the waits of its context. */
MUST_CHECK NTSTATUS hw_gate_enter(struct dxg_hw_queue *queue);

#endif
