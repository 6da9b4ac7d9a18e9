/* SPDX-License-Identifier: MIT */
/*
 * lock_ranks.h - THE lock order, outermost first. A thread takes locks downwards only.
 */
#ifndef BASE_LOCK_RANKS_H
#define BASE_LOCK_RANKS_H

enum lock_rank {
	LOCK_RANK_KERNEL,         /* start and end of the embedded kernel                */
	LOCK_RANK_CLIENTS,        /* shared: a call of any but the program; exclusive: recount */
	LOCK_RANK_CLIENT,         /* shared: a call of one client; exclusive: its end    */
	LOCK_RANK_ADAPTER,        /* shared: a call is inside; exclusive: stop, reset    */
	LOCK_RANK_DESTROY,        /* one destruction at a time on a device               */
	LOCK_RANK_COMPANION,      /* one context's paging context is being made          */
	LOCK_RANK_VA_ROOT,        /* one root of GPU addresses: who uses it, its change  */
	LOCK_RANK_DDI_PROCESS,    /* one thread of a process in the driver at a time     */
	LOCK_RANK_DDI_LEVEL,      /* shared: level 0 and 1; exclusive: alone in driver   */
	LOCK_RANK_DDI_CLASS,      /* one thread per class of driver entry points         */
	LOCK_RANK_DEVICE,         /* lists of what a device owns                         */
	LOCK_RANK_CONTEXT_BOOKS,  /* what a driver may name, and keeps for contexts      */
	LOCK_RANK_PROCESSES,      /* which processes the kernel has                      */
	LOCK_RANK_PROCESS,        /* lists of what a process owns                        */
	LOCK_RANK_NOTIFICATIONS,  /* what a process wants to be told                     */
	LOCK_RANK_SHARE,          /* names and NT handles of what is shared              */
	LOCK_RANK_HANDLE_TABLE,   /* short: make or recycle a chunk of numbers           */
	LOCK_RANK_VA_SPACES,      /* which of those an adapter has                       */
	LOCK_RANK_VA_SPACE,       /* one process's GPU addresses                         */
	LOCK_RANK_VA_POOLS,       /* where its tile pools are kept mapped                */
	LOCK_RANK_ALLOCATION,     /* one: its states, pages and CPU view                 */
	LOCK_RANK_SEGMENT,        /* offsets, residents, counts                          */
	LOCK_RANK_CPU_MAP,        /* addresses of CPU views                              */
	LOCK_RANK_PAGER,          /* jobs and buffers of one adapter's paging            */
	LOCK_RANK_PACKET,         /* a packet that others may still have to do with      */
	LOCK_RANK_NODE,           /* ready queues of one engine                          */
	LOCK_RANK_FENCE_PAGES,    /* where the values of fences live                     */
	LOCK_RANK_CLIENT_ARENA,   /* addresses of a client in another process            */
	LOCK_RANK_FENCE_OPENINGS, /* on which devices a fence is open                   */
	LOCK_RANK_FENCES_WATCHED, /* fences of a process that somebody waits for        */
	LOCK_RANK_FENCE,          /* value and waiters                                   */
	LOCK_RANK_INTERRUPT,      /* stands in for the driver's interrupt lock           */
	LOCK_RANK_NT_OBJECTS,     /* NT handles, the registry                            */
	LOCK_RANK_NT_DISPATCHER,  /* NT events, timers, waits                            */
	LOCK_RANK_NT_POOL,        /* list of pool blocks                                 */
	LOCK_RANK_MACHINE,        /* which pages are taken, views of scattered pages     */
	LOCK_RANK_WORKER,         /* a worker's queue                                    */
	LOCK_RANK_SESSION,        /* one client of the server: what is under way to it   */
	LOCK_RANK_SLAB,           /* new small blocks of memory                          */
	LOCK_RANK_LEAF,           /* nothing is taken under it                           */
};

#endif
