/* SPDX-License-Identifier: MIT */
/*
 * runs.h - entries of one owner that follow each other in a list, all passed in one step.
 *
 *	A A A A A B B A C C C
 *	└──run──┘ └─┘ │ └───┘     the first of a run knows its last, and the last its first; those between know nothing
 *
 * Who looks for room keeps what it has itself, and that may be very much: nobody walks over it entry by entry. Whatever
 * comes goes to the end of a list, so that runs change at their ends only, or become one where what stood between them leaves.
 */
#ifndef EVICT_RUNS_H
#define EVICT_RUNS_H

#include "evict/evict.h"

void runs_push_back(struct list *head, struct evict_entry *entry);
void runs_remove(const struct list *head, struct evict_entry *entry);

/* The other end of the run that begins with `entry`, or ends with it; NULL: it does neither. */
struct list *runs_last(const struct list *head, struct evict_entry *entry);
struct list *runs_first(const struct list *head, struct evict_entry *entry);

/* Of a whole list. NULL, or what is wrong. */
const char *runs_validate(const struct list *head);

#endif
