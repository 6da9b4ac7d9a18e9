/* SPDX-License-Identifier: MIT */
/*
 * host_aperture.h - memory that the CPU does not see, through the CPU host aperture of its segment.
 *
 *	segment   |····aaaa··········bb····|      granules of the GPU's memory
 *	                └─┐           │
 *	aperture  |····|aa aa|·|bb|···|           what the CPU sees of it, where the driver maps it
 *
 * A place has at most one window, in one stretch of the aperture, for as long as it is locked: the
 * first lock has the driver open it, the last unlock, or the end, has it closed. Meanwhile the
 * place counts as locked. When there is no stretch left, whoever locks goes another way
 * (access.h).
 *
 * What is seen through one is evicted like any other if the GPU can reach it in system memory, and what
 * the window shows is memory of the machine: its pages change their role (roles.h), the window is
 * closed, and it stays outside until it is unlocked. Otherwise it stays where it is until then, because
 * a copy could miss a store; it is no candidate for eviction meanwhile, and who finds no room for that
 * reason is told so (MM-NO-ROOM). Clients in other processes are shown no
 * windows at all, which they would keep; what they lock in such memory leaves it, or is refused
 * (elsewhere.h).
 *
 * Locks: the manager's guards windows; none is held in the driver. Who opens or closes one says so
 * (OPENING, CLOSING) and holds on to the place.
 */
#ifndef VIDMM_HOST_APERTURE_H
#define VIDMM_HOST_APERTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/status.h"
#include "vidmm/backing.h"
#include "vidmm/state_tables.h"

struct range;
struct vidmm;
struct vidmm_place;
struct vidmm_table_block;

/* Part of a place. */
struct cpu_window {
	struct range *range; /* granules of the aperture; NULL: there is none */
	uint8_t state;       /* enum cpu_window_state */
	bool is_unwanted; /* unlocked while somebody was in the driver for it: closed afterwards */
	bool shows_memory; /* OPEN: of the machine, where the segment's is (vidmm_segment.memory_address) */
	uint64_t opened_at;    /* vidmm.resets: of before that the driver knows nothing */
	struct list plan_link; /* plan: to be closed; its place may be in the plan as well */
};

/* Has it one, or can it have one now? Then it does. */
MUST_CHECK bool window_take_locked(struct vidmm_place *place);
/* Not opened after all. */
void window_give_locked(struct vidmm_place *place);

/* The pages of the machine that show it. */
struct vidmm_backing window_pages(const struct vidmm_place *place);

/* Before window_open(): others wait, and the place stays. */
void window_change_locked(struct vidmm_place *place);

/* Is somebody in the driver for it? */
static inline bool window_is_changing(const struct cpu_window *window)
{
	return window->state != CPU_WINDOW_CLOSED && window->state != CPU_WINDOW_OPEN;
}

/* Its place is LEAVING: returns when it has none any more. No lock is held. */
void window_leave(struct vidmm_place *place);

/* Asks the driver, and ends the change. False: it has none any more. No lock is held. */
MUST_CHECK bool window_open(struct vidmm_place *place);

/* Nobody sees through it any more. True: it goes on when it is closed, and the place is locked
 * till then. */
bool window_end_locked(struct vidmm_place *place);

/*
 * A page table of the kernel's own, for as long as it lives, where the CPU sees it through a host
 * aperture; elsewhere nothing is opened. STATUS_GRAPHICS_NO_VIDEO_MEMORY: there is no stretch left;
 * or what the driver answered. No lock is held.
 */
MUST_CHECK NTSTATUS window_open_table(struct vidmm *manager, struct vidmm_table_block *block);
/* Accepts one without a window. */
void window_close_table(struct vidmm *manager, struct vidmm_table_block *block);

/* Of a plan: those that ended. No lock is held. */
void windows_close(struct list *places);

#endif
