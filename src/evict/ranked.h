/* SPDX-License-Identifier: MIT */
/*
 * ranked.h - entries in order of a number; among equals who got it first.
 */
#ifndef EVICT_RANKED_H
#define EVICT_RANKED_H

#include "base/rbtree.h"
#include "evict/evict.h"

/* Stands first in the memory of each entry. */
struct evict_ranked {
	struct rb_node node;
	double rank;
};

void ranked_insert(struct rb_tree *tree, struct evict_entry *entry, double rank);
void ranked_remove(struct rb_tree *tree, struct evict_entry *entry);

/* The lowest rank first. */
void ranked_walk_begin(const struct rb_tree *tree, struct evict_walk *walk);
struct evict_entry *ranked_walk_next(struct evict_walk *walk);

const char *ranked_validate(const struct rb_tree *tree, struct evict_count *found);

#endif
