/* SPDX-License-Identifier: MIT */
/*
 * rbtree.h - intrusive red-black tree that knows the largest value below each node.
 *
 * The tree does not compare: the user walks down from `root` and says where a node goes, so a key
 * can be whatever the user likes. Besides, every node has a `value`, which has nothing to do with
 * the order, and the tree keeps the largest value of each subtree: whoever looks for a node with at
 * least some value passes by all subtrees that have none. Users without a need leave it at 0.
 */
#ifndef BASE_RBTREE_H
#define BASE_RBTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rb_node {
	uintptr_t parent_and_colour; /* the lowest bit: this node is black */
	struct rb_node *left;
	struct rb_node *right;
	uint64_t value;   /* set before it is inserted; then by rb_set_value() */
	uint64_t largest; /* of the subtree */
};

struct rb_tree {
	struct rb_node *root;
};

static inline struct rb_node *rb_parent(const struct rb_node *node)
{
	return (struct rb_node *)(node->parent_and_colour & ~(uintptr_t)1);
}

static inline uint64_t rb_largest(const struct rb_node *node)
{
	return node ? node->largest : 0;
}

/*
 * Puts `node` below `parent` (NULL: as the root of an empty tree), on the side that is said and
 * that is empty.
 */
void rb_insert(struct rb_tree *tree, struct rb_node *node, struct rb_node *parent, bool is_left);

/* Puts `node` right before `next`; at the very end when `next` is NULL. */
void rb_insert_before(struct rb_tree *tree, struct rb_node *node, struct rb_node *next);

void rb_remove(struct rb_tree *tree, struct rb_node *node);

/* `node` is in a tree. */
void rb_set_value(struct rb_node *node, uint64_t value);

/* In order; NULL when there is none. */
struct rb_node *rb_first(const struct rb_tree *tree);
struct rb_node *rb_last(const struct rb_tree *tree);
struct rb_node *rb_next(const struct rb_node *node);
struct rb_node *rb_previous(const struct rb_node *node);

/* Links, colours, heights, largest values. NULL when all is well, else what is not. */
const char *rb_validate(const struct rb_tree *tree);

#endif
