/* SPDX-License-Identifier: MIT */
/*
 * table_states.h - where the page tables of a process are, all of them together.
 *
 *	IN ──room is short──▶ LEAVING ──job done──▶ OUT ──its turn──▶ ENTERING ──written anew──▶ IN
 *	 ▲                       │
 *	 └──needed after all─────┘
 *
 * They go for others when nothing of the process runs (none of its devices has work queued, or those
 * that have are suspended already, because something else of theirs is missing or their process is),
 * or when those at work had their slice. From the decision on the devices are suspended, and wait
 * for their turn (room.c) like those of which an allocation was taken. No byte is copied: the owner of the tables (address_space/eviction.c) writes them
 * anew from what is true then.
 *
 * Who writes tables, or counts on where they are, holds them, and not for long: others wait for
 * that. It does not bring them back, it keeps them where they are; who needs them there waits
 * (vidmm_tables_await).
 *
 * Locks: the manager's. Holds are counted without.
 */
#ifndef VIDMM_TABLE_STATES_H
#define VIDMM_TABLE_STATES_H

#include "vidmm/manager.h"
#include "pagetable/page_tables.h"

/* Each accepts NULL: tables that stay. */
void vidmm_tables_hold(struct vidmm_process *process);
void vidmm_tables_release(struct vidmm_process *process);
bool vidmm_tables_are_held(struct vidmm_process *process);
bool vidmm_tables_are_in(const struct vidmm_process *process);

/*
 * Returns when everything the process has is IN, and `blocks` are taken besides: others are evicted
 * for it, in its turn. Refused when nothing more can go. The tables are held by the caller, and in
 * between they are not: they may have been elsewhere. Not on the pager's thread, no lock held.
 */
MUST_CHECK NTSTATUS vidmm_tables_await(struct vidmm_process *process,
				       struct table_block_want blocks[], uint32_t count);

/*
 * From now on they may go; no more. The second one returns when they are on no way: IN, or OUT for
 * good.
 */
void vidmm_tables_attach(struct vidmm_process *process, const struct vidmm_tables_ops *ops,
			 void *context);
void vidmm_tables_detach(struct vidmm_process *process);

/* In ops->leave(): `job` begins when the hardware has nothing more of the process. */
void vidmm_tables_order(struct vidmm_process *process, struct paging_job *job);

/*
 * The end of ops->leave(): out, or in as before, because somebody held them, or the way out failed;
 * of ops->enter(). On the pager's thread.
 */
void vidmm_tables_left(struct vidmm_process *process);
void vidmm_tables_stayed(struct vidmm_process *process, bool has_failed);
void vidmm_tables_entered(struct vidmm_process *process);

#endif
