/* SPDX-License-Identifier: MIT */
/*
 * plan.h - what was decided about an adapter's memory, as data.
 *
 * A decision puts what it is about on one of these lists, through a link of its own: nothing is
 * allocated, and nothing happens before the plan is carried out (decide.c). What is on a list is in
 * the state that says so (LEAVING, ENTERING, …), so it is decided about once.
 *
 * Locks: vidmm.plan is guarded by the manager's; one that was taken belongs to who took it.
 */
#ifndef VIDMM_PLAN_H
#define VIDMM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

/* In the order in which they are carried out: what makes room before what needs it. */
enum plan_part {
	PLAN_WINDOWS,    /* cpu_window.plan_link: nobody sees through them any more */
	PLAN_LEAVING,    /* vidmm_place.plan_link: victims, and what goes by itself */
	PLAN_SHIFTING,   /* vidmm_place.plan_link */
	PLAN_ENTERING,   /* vidmm_place.plan_link: room was found */
	PLAN_TABLES,     /* vidmm_tables.plan_link: about to leave or enter */
	PLAN_DEVICES,    /* vidmm_device.plan_link: to resume, to tell that they starve */
	PLAN_REQUESTS,   /* vidmm_request.link: calls to be answered */
	PLAN_DEPARTURES, /* vidmm_departure.link: allocations that have left for good */
	PLAN_NEWS,       /* vidmm_process.news_link: to be told of budgets, trims, loss */
	PLAN_PARTS
};

struct plan {
	struct list parts[PLAN_PARTS];
	uint32_t used;    /* parts that something was put on, a bit each */
	bool has_changes; /* somebody may wait for vidmm.changed */
};

void plan_init(struct plan *plan);
static inline void plan_add(struct plan *plan, enum plan_part part, struct list *link)
{
	plan->used |= 1u << part;
	list_push_back(&plan->parts[part], link);
}
bool plan_is_empty(const struct plan *plan);
/* Everything of `from`, to a plan that was not begun; `from` is empty afterwards. */
void plan_take(struct plan *plan, struct plan *from);

/* Says each thing that is to be done, in order, as a line. */
typedef void plan_line(void *context, const char *line);
void plan_print(const struct plan *plan, plan_line *say, void *context);

#endif
