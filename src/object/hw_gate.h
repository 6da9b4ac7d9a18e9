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
#ifndef OBJECT_HW_GATE_H
#define OBJECT_HW_GATE_H

#include "object/hw_queue.h"

/* One more wait was queued in the context. */
void hw_gate_close(struct hw_queue_parent *parent);

/* The oldest that was left is over. Any thread, DPC included. */
void hw_gate_pass(struct hw_queue_parent *parent);

/* Before something is queued in a hardware queue: it comes behind the waits of its context. */
MUST_CHECK NTSTATUS hw_gate_enter(struct dxg_hw_queue *queue);

#endif
