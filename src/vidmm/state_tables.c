/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "vidmm/state_tables.h"

#define TO(state) (1U << (state))

const struct state_table state_tables[STATE_TABLES] = {
	[STATES_LIFE] = {
		"allocation's life", 3, { "live", "dying", "dead" },
		{
			[VIDMM_LIVE] = TO(VIDMM_DYING) | TO(VIDMM_DEAD),
			[VIDMM_DYING] = TO(VIDMM_DEAD),
		},
	},
	[STATES_CONTENT] = {
		"allocation's content", 3, { "none", "backed", "local" },
		{
			[VIDMM_CONTENT_NONE] = TO(VIDMM_CONTENT_BACKED) | TO(VIDMM_CONTENT_LOCAL),
			[VIDMM_CONTENT_BACKED] = TO(VIDMM_CONTENT_NONE) | TO(VIDMM_CONTENT_LOCAL),
			[VIDMM_CONTENT_LOCAL] = TO(VIDMM_CONTENT_NONE) | TO(VIDMM_CONTENT_BACKED),
		},
	},
	[STATES_OFFER] = {
		"allocation's offer", 4, { "not offered", "offered", "discarded", "decommitted" },
		{
			[VIDMM_NOT_OFFERED] = TO(VIDMM_OFFERED),
			/* To itself: the priority changes. */
			[VIDMM_OFFERED] = TO(VIDMM_NOT_OFFERED) | TO(VIDMM_OFFERED) |
					  TO(VIDMM_DISCARDED) | TO(VIDMM_DECOMMITTED),
			[VIDMM_DISCARDED] = TO(VIDMM_NOT_OFFERED) | TO(VIDMM_DECOMMITTED),
			/* Whoever wants it back has memory for it first. */
			[VIDMM_DECOMMITTED] = TO(VIDMM_DISCARDED),
		},
	},
	[STATES_PLACE] = {
		"place", 5, { "out", "entering", "in", "leaving", "shifting" },
		{
			[PLACE_OUT] = TO(PLACE_ENTERING),
			[PLACE_ENTERING] = TO(PLACE_IN) | TO(PLACE_OUT),
			/* OUT at once: a reset has taken it. */
			[PLACE_IN] = TO(PLACE_LEAVING) | TO(PLACE_SHIFTING) | TO(PLACE_OUT),
			[PLACE_LEAVING] = TO(PLACE_OUT) | TO(PLACE_IN),
			[PLACE_SHIFTING] = TO(PLACE_IN) | TO(PLACE_OUT),
		},
	},
	[STATES_PLACE_OFFER] = {
		"place's offer", 5, { "not offered", "reclaimed", "offered", "due", "repurposed" },
		{
			[PLACE_NOT_OFFERED] = TO(PLACE_NOT_OFFERED) | TO(PLACE_OFFERED),
			[PLACE_RECLAIMED] = TO(PLACE_NOT_OFFERED) | TO(PLACE_OFFERED),
			[PLACE_OFFERED] = TO(PLACE_NOT_OFFERED) | TO(PLACE_RECLAIMED) |
					  TO(PLACE_OFFERED) | TO(PLACE_OFFER_DUE) |
					  TO(PLACE_REPURPOSED),
			[PLACE_OFFER_DUE] = TO(PLACE_NOT_OFFERED) | TO(PLACE_RECLAIMED) |
					    TO(PLACE_OFFERED) | TO(PLACE_OFFER_DUE) |
					    TO(PLACE_REPURPOSED),
			[PLACE_REPURPOSED] = TO(PLACE_NOT_OFFERED) | TO(PLACE_RECLAIMED) |
					     TO(PLACE_REPURPOSED),
		},
	},
	[STATES_PLACE_COPY] = {
		"place's copy", 3, { "open", "good", "old" },
		{
			[PLACE_COPY_OPEN] = TO(PLACE_COPY_OPEN) | TO(PLACE_COPY_GOOD) |
					    TO(PLACE_COPY_OLD),
			[PLACE_COPY_GOOD] = TO(PLACE_COPY_OPEN) | TO(PLACE_COPY_GOOD) |
					    TO(PLACE_COPY_OLD),
			/* When it enters again. */
			[PLACE_COPY_OLD] = TO(PLACE_COPY_OPEN) | TO(PLACE_COPY_OLD),
		},
	},
	[STATES_PLACE_LOCK] = {
		"place's lock", 3, { "none", "awaited", "locked" },
		{
			[PLACE_NOT_LOCKED] = TO(PLACE_NOT_LOCKED) | TO(PLACE_LOCK_AWAITED) |
					     TO(PLACE_LOCKED),
			[PLACE_LOCK_AWAITED] = TO(PLACE_NOT_LOCKED) | TO(PLACE_LOCKED),
			[PLACE_LOCKED] = TO(PLACE_NOT_LOCKED) | TO(PLACE_LOCKED),
		},
	},
	[STATES_PLACE_STAY] = {
		"place's stay", 3, { "stays", "leaves soon", "misplaced" },
		{
			[PLACE_STAYS] = TO(PLACE_STAYS) | TO(PLACE_LEAVES_SOON) |
					TO(PLACE_MISPLACED),
			[PLACE_LEAVES_SOON] = TO(PLACE_STAYS) | TO(PLACE_LEAVES_SOON) |
					      TO(PLACE_MISPLACED),
			/* Out, or where it may be after all. */
			[PLACE_MISPLACED] = TO(PLACE_STAYS) | TO(PLACE_MISPLACED),
		},
	},
	[STATES_PLACE_END] = {
		"place's end", 3, { "lives", "destroyed", "dying" },
		{
			[PLACE_LIVES] = TO(PLACE_DESTROYED) | TO(PLACE_DYING),
			[PLACE_DESTROYED] = TO(PLACE_DYING),
			/* Of what had no place when its end began. */
			[PLACE_DYING] = TO(PLACE_DYING),
		},
	},
	[STATES_CPU_WINDOW] = {
		"window", 5, { "closed", "opening", "open", "reopening", "closing" },
		{
			[CPU_WINDOW_CLOSED] = TO(CPU_WINDOW_OPENING),
			[CPU_WINDOW_OPENING] = TO(CPU_WINDOW_OPEN) | TO(CPU_WINDOW_CLOSED),
			[CPU_WINDOW_OPEN] = TO(CPU_WINDOW_REOPENING) | TO(CPU_WINDOW_CLOSING) |
					    TO(CPU_WINDOW_CLOSED),
			[CPU_WINDOW_REOPENING] = TO(CPU_WINDOW_OPEN),
			[CPU_WINDOW_CLOSING] = TO(CPU_WINDOW_CLOSED),
		},
	},
	[STATES_MOVE_CHECK] = {
		"move's check", 3, { "unsettled", "settled", "refused" },
		{
			[MOVE_UNSETTLED] = TO(MOVE_SETTLED),
			[MOVE_SETTLED] = TO(MOVE_REFUSED),
		},
	},
	[STATES_BINDING_WAIT] = {
		"binding's wait", 3, { "none", "waits", "waits again" },
		{
			[BINDING_WAITS_FOR_NOTHING] = TO(BINDING_WAITS),
			[BINDING_WAITS] = TO(BINDING_WAITS_FOR_NOTHING) | TO(BINDING_WAITS_AGAIN),
			[BINDING_WAITS_AGAIN] = TO(BINDING_WAITS) | TO(BINDING_WAITS_AGAIN),
		},
	},
	[STATES_BINDING_NEED] = {
		"binding's need", 3, { "not missed", "promised", "needed" },
		{
			[BINDING_NOT_MISSED] = TO(BINDING_NOT_MISSED) | TO(BINDING_PROMISED) |
					       TO(BINDING_NEEDED),
			[BINDING_PROMISED] = TO(BINDING_NOT_MISSED) | TO(BINDING_PROMISED),
			[BINDING_NEEDED] = TO(BINDING_NOT_MISSED) | TO(BINDING_NEEDED),
		},
	},
	[STATES_BINDING_KEEP] = {
		"binding's keep", 3, { "none", "kept", "kept to leave" },
		{
			[BINDING_NOT_KEPT] = TO(BINDING_NOT_KEPT) | TO(BINDING_KEPT) |
					     TO(BINDING_KEPT_TO_LEAVE),
			/* The last eviction counts. */
			[BINDING_KEPT] = TO(BINDING_NOT_KEPT) | TO(BINDING_KEPT) |
					 TO(BINDING_KEPT_TO_LEAVE),
			[BINDING_KEPT_TO_LEAVE] = TO(BINDING_NOT_KEPT) | TO(BINDING_KEPT) |
						  TO(BINDING_KEPT_TO_LEAVE),
		},
	},
	[STATES_BINDING_END] = {
		"binding's end", 4, { "lives", "ended", "retired", "retired last" },
		{
			[BINDING_LIVES] = TO(BINDING_ENDED) | TO(BINDING_RETIRED) |
					  TO(BINDING_RETIRED_LAST),
			[BINDING_ENDED] = TO(BINDING_ENDED),
			[BINDING_RETIRED] = TO(BINDING_ENDED),
			[BINDING_RETIRED_LAST] = TO(BINDING_ENDED),
		},
	},
	[STATES_DEVICE_STAGE] = {
		"device's stage", 4, { "new", "open", "held", "ending" },
		{
			[DEVICE_NEW] = TO(DEVICE_OPEN) | TO(DEVICE_ENDING),
			[DEVICE_OPEN] = TO(DEVICE_HELD) | TO(DEVICE_ENDING),
			[DEVICE_HELD] = TO(DEVICE_OPEN) | TO(DEVICE_ENDING),
		},
	},
	[STATES_DEVICE_SUPPLY] = {
		"device's supply", 3, { "supplied", "starves", "starves and knows" },
		{
			[DEVICE_SUPPLIED] = TO(DEVICE_SUPPLIED) | TO(DEVICE_STARVES),
			[DEVICE_STARVES] = TO(DEVICE_SUPPLIED) | TO(DEVICE_STARVES_TOLD),
			[DEVICE_STARVES_TOLD] = TO(DEVICE_SUPPLIED),
		},
	},
	[STATES_DEVICE_LISTS] = {
		"device's lists", 3, { "kept", "must yield", "yielding" },
		{
			[DEVICE_KEEPS_LISTS] = TO(DEVICE_MUST_YIELD),
			[DEVICE_MUST_YIELD] = TO(DEVICE_YIELDS),
			[DEVICE_YIELDS] = TO(DEVICE_KEEPS_LISTS),
		},
	},
	[STATES_PAGE_TABLES] = {
		"page tables", 4, { "in", "leaving", "out", "entering" },
		{
			[VIDMM_TABLES_IN] = TO(VIDMM_TABLES_LEAVING),
			[VIDMM_TABLES_LEAVING] = TO(VIDMM_TABLES_OUT) | TO(VIDMM_TABLES_IN),
			[VIDMM_TABLES_OUT] = TO(VIDMM_TABLES_ENTERING) | TO(VIDMM_TABLES_IN),
			[VIDMM_TABLES_ENTERING] = TO(VIDMM_TABLES_IN) | TO(VIDMM_TABLES_OUT),
		},
	},
};

void state_step_stop(enum state_table_id id, unsigned from, unsigned to)
{
	const struct state_table *table = &state_tables[id];

	fprintf(stderr, "dxgk: %s: \"%s\" may not become \"%s\"\n", table->name,
		table->states[from], table->states[to]);
	abort();
}
