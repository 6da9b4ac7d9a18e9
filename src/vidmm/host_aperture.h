/* SPDX-License-Identifier: MIT */
/*
 * host_aperture.h - memory that the CPU does not see, through the CPU host aperture of its segment.
 *
 *	segment   |····aaaa··········bb····|      granules of the GPU's memory
 *	                └─┐           │
 *	aperture  |····|aa aa|·|bb|···|           what the CPU sees of it, where the driver maps it
 *
 * A place has at most one window, in one stretch of the aperture, for as long as it is locked: the
 * first lock, or its way in, has the driver open it, the last unlock, its way out or its end has it
 * closed. Meanwhile the place counts as locked. When there is no stretch left, whoever locks goes another
 * way (access.h).
 *
 * Where what a window shows is memory of the machine, what is locked comes and goes like any other: its
 * pages change their role (roles.h), and the window is opened and closed with it. What is listed and
 * could be nowhere else keeps its stretch of the aperture while it is outside, so that it can come back
 * before anybody unlocks anything. Elsewhere it stays where it is until it is unlocked, because a copy
 * could miss a store; it is no candidate for eviction meanwhile, and who finds no room for that reason is
 * told so (MM-NO-ROOM).
 *
 * Clients in other processes see no window, which they would keep, but the pages of their own that are
 * behind it (elsewhere.h).
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
	struct range *range;           /* granules of the aperture; NULL: there is none */
	struct vidmm_segment *segment; /* whose aperture */
	uint8_t state;                 /* enum cpu_window_state */
	bool is_unwanted; /* unlocked while somebody was in the driver for it: closed afterwards */
	bool shows_memory; /* OPEN: of the machine, where the segment's is (vidmm_segment.memory_address) */
	uint64_t opened_at; /* vidmm.resets: of before that the driver knows nothing */
	uint64_t
		refused_at; /* vidmm.retry_generation: the driver would not open it, on its way in */
	struct list plan_link; /* plan: to be closed; its place may be in the plan as well */
};

/*
 * Has it one of this segment, or can it have one now? Then it does. STATUS_GRAPHICS_NO_VIDEO_MEMORY: no
 * stretch is left. STATUS_NO_MEMORY: nor memory to write it down.
 */
MUST_CHECK NTSTATUS window_take_locked(struct vidmm_place *place, struct vidmm_segment *segment);
/* Could it enter there while it is locked, seen through a window? As things are now. */
bool window_can_be_had(const struct vidmm_place *place, const struct vidmm_segment *segment);
/*
 * It is locked, and whoever lists it is to have it in without an unlock: where that takes a window, it
 * has a stretch of an aperture then. Statuses as above: it can be nowhere.
 */
MUST_CHECK NTSTATUS window_promise_locked(struct vidmm_place *place);
/* Is OUT, or not locked: a stretch that it does not need is given back. */
void window_settle_locked(struct vidmm_place *place);
/* About to be OUT from anywhere: nobody is shown the segment's pages behind it. */
void window_out_locked(struct vidmm_place *place);
/* Is IN: opened again, where a reset came in between. */
void window_arrive_locked(struct vidmm_place *place);

/* The pages of the machine that show it. */
struct vidmm_backing window_pages(const struct vidmm_place *place);

/* Before window_open(): others wait, and the place stays. */
void window_change_locked(struct vidmm_place *place);

/* Is somebody in the driver for it? */
static inline bool window_is_changing(const struct cpu_window *window)
{
	return window->state != CPU_WINDOW_CLOSED && window->state != CPU_WINDOW_OPEN;
}

/* Its place is LEAVING: returns when it is not open any more. No lock is held. */
void window_leave(struct vidmm_place *place);

/*
 * Its place is ENTERING: what is locked has a window then, behind which is memory of the machine, or
 * needs none. STATUS_GRAPHICS_CANT_LOCK_MEMORY: it cannot. No lock is held.
 */
MUST_CHECK NTSTATUS window_enter(struct vidmm_place *place);

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

/* Of a plan: those that are closed, or opened again. No lock is held. */
void windows_carry_out(struct list *places);

#endif
