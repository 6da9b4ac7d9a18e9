/* SPDX-License-Identifier: MIT */
/*
 * faults.h - the plan of this run (DXGK_FAULT), and what the files that carry it out share.
 *
 *	watch_faults.c    what passes the driver line: callbacks that fail, time, requests at the n-th call
 *	late_interrupts.c interrupts that are heard later, or in another order
 *	user_memory.c     command buffers that change or vanish
 */
#ifndef VERIFY_FAULTS_H
#define VERIFY_FAULTS_H

#include "verify/plan.h"
#include "verify/verify.h"

/* Reads DXGK_FAULT and arranges for what concerns no adapter. Before the first driver is loaded. */
void faults_start(void);

/* NULL: it is not in the plan. */
const struct fault *fault_planned(enum fault_kind kind);

/* Asked when a driver starts. */
bool fault_wants_restart(void);

/* It has happened, at least once. */
void fault_note(void);

/* How much of a DMA buffer's capacity a driver is given at the first try; less is what it would have behind other commands. */
UINT fault_small_buffer(UINT capacity);

/* ---- late_interrupts.c ---- */

struct late_interrupts;

MUST_CHECK NTSTATUS late_interrupts_create(struct miniport *miniport, uint64_t delay_ns,
					   bool is_reordered, struct late_interrupts **late_out);
void late_interrupts_destroy(struct late_interrupts *late);
/* Keeps it for later. False: the list is full, and it is heard now. */
MUST_CHECK bool late_interrupts_keep(struct late_interrupts *late,
				     const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
/* All that is kept is heard now. */
void late_interrupts_flush(struct late_interrupts *late);

/* ---- user_memory.c ---- */

/* A copy of a command buffer, as the driver is to see it; NULL: it sees the client's. */
struct user_memory *user_memory_lend(DXGKARG_RENDER *render, bool vanishes);
void user_memory_take_back(struct user_memory *memory, DXGKARG_RENDER *render);

#endif
