/* SPDX-License-Identifier: MIT */
/*
 * state_tables.h - the states of the memory manager's objects, and which may follow which. Pure.
 *
 * docs/states.md draws them, `dxgk ctl states` prints them with how many are in each, and whoever
 * changes one goes through state_step(), which stops at a step that is not in its table.
 */
#ifndef VIDMM_STATE_TABLES_H
#define VIDMM_STATE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

/* ---- an allocation (vidmm.h, states.h) ---- */

enum vidmm_life { VIDMM_LIVE, VIDMM_DYING, VIDMM_DEAD };
enum vidmm_content { VIDMM_CONTENT_NONE, VIDMM_CONTENT_BACKED, VIDMM_CONTENT_LOCAL };
enum vidmm_offer { VIDMM_NOT_OFFERED, VIDMM_OFFERED, VIDMM_DISCARDED, VIDMM_DECOMMITTED };

/* ---- where it is for the GPU (place.h) ---- */

enum place_state { PLACE_OUT, PLACE_ENTERING, PLACE_IN, PLACE_LEAVING, PLACE_SHIFTING };

enum place_offer {
	PLACE_NOT_OFFERED,
	PLACE_RECLAIMED,  /* … and not in yet */
	PLACE_OFFERED,    /* work queued before the offer needs it */
	PLACE_OFFER_DUE,  /* that is over, and nobody does */
	PLACE_REPURPOSED, /* … and its content was dropped; what it keeps is no copy */
};

/* Of what is in system memory while it is in a segment, by what those said who evicted it. */
enum place_copy {
	PLACE_COPY_OPEN, /* somebody has it on his list */
	PLACE_COPY_GOOD, /* it is the content */
	PLACE_COPY_OLD,  /* it cannot be: it was written to in the segment */
};

/* By the CPU. */
enum place_lock {
	PLACE_NOT_LOCKED,
	PLACE_LOCK_AWAITED, /* it leaves for a lock, and stays out until that has been taken */
	PLACE_LOCKED,
};

/* Besides others who need its room: is it to leave? */
enum place_stay {
	PLACE_STAYS,
	PLACE_LEAVES_SOON, /* evicted, at the earliest opportunity: when nobody lists it */
	PLACE_MISPLACED,   /* its wishes have changed, and it may not be where it is */
};

enum place_end {
	PLACE_LIVES,
	PLACE_DESTROYED, /* by its client, and no work is left that may use it */
	PLACE_DYING,     /* … and now it ends */
};

/* ---- what the CPU sees of it through a CPU host aperture (cpu_window) ---- */

enum cpu_window_state {
	CPU_WINDOW_CLOSED,
	CPU_WINDOW_OPENING, /* somebody is in the driver for it … */
	CPU_WINDOW_OPEN,
	CPU_WINDOW_REOPENING, /* … again, after a reset */
	CPU_WINDOW_CLOSING,   /* … or to close it */
};

/* ---- its way in, out, or to other pages (place_move) ---- */

/* What the CPU does about it between two operations of the driver (a comparison, an exchange of pages). */
enum move_check {
	MOVE_UNSETTLED, /* the hardware may still be at what was built so far */
	MOVE_SETTLED,   /* it is done with that */
	MOVE_REFUSED, /* … and it stays where it was: the copy is wrong, or pages could not change */
};

/* ---- a device's opening of it (vidmm_binding) ---- */

/* For work of its device that was queued before an eviction, an offer or its end. */
enum binding_wait {
	BINDING_WAITS_FOR_NOTHING,
	BINDING_WAITS,
	BINDING_WAITS_AGAIN, /* work came after that counts, too */
};

enum binding_need {
	BINDING_NOT_MISSED, /* in place, or on no list */
	BINDING_PROMISED,   /* asked for or reclaimed: what is queued does not need it */
	BINDING_NEEDED,     /* counted in vidmm_device.needed_count */
};

/* Evicted while work or updates are queued: counted once more, until `wait` and its keeps are over … */
enum binding_keep {
	BINDING_NOT_KEPT,
	BINDING_KEPT,          /* … and then it goes if its room is needed */
	BINDING_KEPT_TO_LEAVE, /* … and then it goes */
};

enum binding_end {
	BINDING_LIVES,
	BINDING_ENDED,        /* its device has the allocation no more */
	BINDING_RETIRED,      /* … and its client knows; counted in vidmm_place.retired */
	BINDING_RETIRED_LAST, /* … and nobody else has it */
};

/* ---- a device (vidmm_device) ---- */

enum device_stage {
	DEVICE_NEW,    /* its owner is not there yet */
	DEVICE_OPEN,   /* it can have work */
	DEVICE_HELD,   /* its process is suspended */
	DEVICE_ENDING, /* it is held no more, and pays for nothing */
};

enum device_supply {
	DEVICE_SUPPLIED,     /* as far as is known */
	DEVICE_STARVES,      /* it cannot have what it lists … */
	DEVICE_STARVES_TOLD, /* … and was told */
};

/* Its allocation lists that are in place (allocation_list_turns.c). */
enum device_lists {
	DEVICE_KEEPS_LISTS,
	DEVICE_MUST_YIELD, /* the scheduler is to say when the hardware has nothing of it … */
	DEVICE_YIELDS,     /* … and was asked */
};

/* ---- the page tables of a process (table_states.h) ---- */

enum vidmm_tables_state {
	VIDMM_TABLES_IN,
	VIDMM_TABLES_LEAVING,
	VIDMM_TABLES_OUT,
	VIDMM_TABLES_ENTERING
};

/* ---- the tables ---- */

enum state_table_id {
	STATES_LIFE,
	STATES_CONTENT,
	STATES_OFFER,
	STATES_PLACE,
	STATES_PLACE_OFFER,
	STATES_PLACE_COPY,
	STATES_PLACE_LOCK,
	STATES_PLACE_STAY,
	STATES_PLACE_END,
	STATES_CPU_WINDOW,
	STATES_MOVE_CHECK,
	STATES_BINDING_WAIT,
	STATES_BINDING_NEED,
	STATES_BINDING_KEEP,
	STATES_BINDING_END,
	STATES_DEVICE_STAGE,
	STATES_DEVICE_SUPPLY,
	STATES_DEVICE_LISTS,
	STATES_PAGE_TABLES,
	STATE_TABLES
};

enum { STATES_MOST = 5 };

struct state_table {
	const char *name;
	uint8_t count;
	const char *states[STATES_MOST];
	uint8_t next[STATES_MOST]; /* for each the set of those that may follow, itself included */
};

extern const struct state_table state_tables[STATE_TABLES];

static inline bool state_may_become(enum state_table_id id, unsigned from, unsigned to)
{
	return state_tables[id].next[from] & 1U << to;
}

/* Says which step of which table nobody may take, and ends the process. */
_Noreturn void state_step_stop(enum state_table_id id, unsigned from, unsigned to);

static inline uint8_t state_step(enum state_table_id id, unsigned from, unsigned to)
{
#ifndef NDEBUG
	if (!state_may_become(id, from, to))
		state_step_stop(id, from, to);
#else
	(void)id;
	(void)from;
#endif
	return (uint8_t)to;
}

#endif
