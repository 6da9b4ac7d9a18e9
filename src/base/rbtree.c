/* SPDX-License-Identifier: MIT */
/*
 * rbtree.c - see rbtree.h.
 *
 * The usual rules: the root is black, a red node has no red child, and every way from a node down
 * to its missing children passes the same number of black nodes.
 */
#include "base/rbtree.h"

static bool is_black(const struct rb_node *node)
{
	return !node || (node->parent_and_colour & 1) != 0;
}

static bool is_red(const struct rb_node *node)
{
	return !is_black(node);
}

static void set_black(struct rb_node *node)
{
	node->parent_and_colour |= 1;
}

static void set_red(struct rb_node *node)
{
	node->parent_and_colour &= ~(uintptr_t)1;
}

static void set_parent(struct rb_node *node, struct rb_node *parent)
{
	node->parent_and_colour = (uintptr_t)parent | (node->parent_and_colour & 1);
}

static void set_colour_of(struct rb_node *node, const struct rb_node *model)
{
	node->parent_and_colour =
		(node->parent_and_colour & ~(uintptr_t)1) | (model->parent_and_colour & 1);
}

/* `parent` (or the tree) has `new_child` where it had `old_child`. */
static void replace_child(struct rb_tree *tree, struct rb_node *parent, struct rb_node *old_child,
			  struct rb_node *new_child)
{
	if (!parent)
		tree->root = new_child;
	else if (parent->left == old_child)
		parent->left = new_child;
	else
		parent->right = new_child;
}

/* Largest values. */

static uint64_t largest_of(const struct rb_node *node)
{
	uint64_t largest = node->value;

	if (node->left && node->left->largest > largest)
		largest = node->left->largest;
	if (node->right && node->right->largest > largest)
		largest = node->right->largest;
	return largest;
}

/* A value has come below `node`, or grown. */
static void note_more(struct rb_node *node, uint64_t value)
{
	for (; node && node->largest < value; node = rb_parent(node))
		node->largest = value;
}

/* A value is gone below `node` or in it; matters up to `top`, as far as it was the largest. */
static void note_less(struct rb_node *node, const struct rb_node *top, uint64_t value)
{
	for (; node != top && node->largest == value; node = rb_parent(node)) {
		node->largest = largest_of(node);
		if (node->largest == value)
			return;
	}
}

void rb_set_value(struct rb_node *node, uint64_t value)
{
	uint64_t old = node->value;

	node->value = value;
	if (value < old)
		note_less(node, NULL, old);
	else
		note_more(node, value);
}

/*
 * Turning: the pair has the same below it as before, so nothing changes above.
 *
 *	    node                 child
 *	    /  \      left       /  \
 *	   a   child  ---->    node  c
 *	       /  \            /  \
 *	      b    c          a    b
 */

static void finish_turn(struct rb_tree *tree, struct rb_node *node, struct rb_node *child)
{
	struct rb_node *parent = rb_parent(node);

	set_parent(child, parent);
	replace_child(tree, parent, node, child);
	set_parent(node, child);
	child->largest = node->largest;
	node->largest = largest_of(node);
}

static void turn_left(struct rb_tree *tree, struct rb_node *node)
{
	struct rb_node *child = node->right;

	node->right = child->left;
	if (child->left)
		set_parent(child->left, node);
	child->left = node;
	finish_turn(tree, node, child);
}

static void turn_right(struct rb_tree *tree, struct rb_node *node)
{
	struct rb_node *child = node->left;

	node->left = child->right;
	if (child->right)
		set_parent(child->right, node);
	child->right = node;
	finish_turn(tree, node, child);
}

/* Turns `node` down to the side that is said; its other child takes its place. */
static void turn(struct rb_tree *tree, struct rb_node *node, bool to_left)
{
	if (to_left)
		turn_left(tree, node);
	else
		turn_right(tree, node);
}

/* Inserting. */

/* `node` is red, and its parent may be. */
static void repair_red_pair(struct rb_tree *tree, struct rb_node *node)
{
	struct rb_node *parent;

	while ((parent = rb_parent(node)) && is_red(parent)) {
		struct rb_node *grandparent = rb_parent(parent);
		bool is_left = parent == grandparent->left;
		struct rb_node *uncle = is_left ? grandparent->right : grandparent->left;

		if (is_red(uncle)) {
			set_black(parent);
			set_black(uncle);
			set_red(grandparent);
			node = grandparent;
			continue;
		}
		if (node == (is_left ? parent->right : parent->left)) {
			turn(tree, parent, is_left);
			parent = node;
		}
		set_black(parent);
		set_red(grandparent);
		turn(tree, grandparent, !is_left);
		break;
	}
	set_black(tree->root);
}

void rb_insert(struct rb_tree *tree, struct rb_node *node, struct rb_node *parent, bool is_left)
{
	node->parent_and_colour = (uintptr_t)parent;
	node->left = NULL;
	node->right = NULL;
	if (!parent)
		tree->root = node;
	else if (is_left)
		parent->left = node;
	else
		parent->right = node;
	node->largest = node->value;
	note_more(parent, node->value);
	repair_red_pair(tree, node);
}

void rb_insert_before(struct rb_tree *tree, struct rb_node *node, struct rb_node *next)
{
	if (next && !next->left) {
		rb_insert(tree, node, next, true);
		return;
	}
	struct rb_node *parent = next ? next->left : tree->root;
	while (parent && parent->right)
		parent = parent->right;
	rb_insert(tree, node, parent, false);
}

/* Removing. */

/* The other child, where one side has black nodes to spare: there always is one. */
static struct rb_node *other_child(const struct rb_node *parent, bool is_left)
{
	struct rb_node *other = is_left ? parent->right : parent->left;

	if (!other)
		__builtin_unreachable();
	return other;
}

/* Below `parent`, the ways through `node` (maybe NULL) pass one black node too few. */
static void repair_missing_black(struct rb_tree *tree, struct rb_node *node, struct rb_node *parent)
{
	while (parent && is_black(node)) {
		bool is_left = node == parent->left;
		struct rb_node *sibling = other_child(parent, is_left);

		if (is_red(sibling)) {
			set_black(sibling);
			set_red(parent);
			turn(tree, parent, is_left);
			sibling = other_child(parent, is_left);
		}
		struct rb_node *near = is_left ? sibling->left : sibling->right;
		struct rb_node *far = is_left ? sibling->right : sibling->left;
		if (is_black(near) && is_black(far)) {
			set_red(sibling);
			node = parent;
			parent = rb_parent(node);
			continue;
		}
		if (is_black(far)) {
			set_black(near);
			set_red(sibling);
			turn(tree, sibling, !is_left);
			far = sibling;
			sibling = near;
		}
		set_colour_of(sibling, parent);
		set_black(parent);
		set_black(far);
		turn(tree, parent, is_left);
		return;
	}
	if (node)
		set_black(node);
}

/* `node` has two children: the one after it in order, which has no left child, takes its place. */
static void remove_inner(struct rb_tree *tree, struct rb_node *node)
{
	struct rb_node *heir = node->right;

	while (heir->left)
		heir = heir->left;
	bool was_black = is_black(heir);
	struct rb_node *hole_child = heir->right;
	struct rb_node *hole_parent = rb_parent(heir);
	if (hole_parent == node) {
		hole_parent = heir;
	} else {
		hole_parent->left = hole_child;
		if (hole_child)
			set_parent(hole_child, hole_parent);
		heir->right = node->right;
		set_parent(heir->right, heir);
	}
	heir->left = node->left;
	set_parent(heir->left, heir);
	replace_child(tree, rb_parent(node), node, heir);
	heir->parent_and_colour = node->parent_and_colour;
	note_less(hole_parent, heir, heir->value);
	heir->largest = largest_of(heir);
	note_less(rb_parent(heir), NULL, node->value);
	if (was_black)
		repair_missing_black(tree, hole_child, hole_parent);
}

void rb_remove(struct rb_tree *tree, struct rb_node *node)
{
	struct rb_node *parent = rb_parent(node);
	struct rb_node *child = node->left ? node->left : node->right;

	if (node->left && node->right) {
		remove_inner(tree, node);
		return;
	}
	replace_child(tree, parent, node, child);
	if (child)
		set_parent(child, parent);
	note_less(parent, NULL, node->value);
	if (is_black(node))
		repair_missing_black(tree, child, parent);
}

/* In order. */

struct rb_node *rb_first(const struct rb_tree *tree)
{
	struct rb_node *node = tree->root;

	while (node && node->left)
		node = node->left;
	return node;
}

struct rb_node *rb_last(const struct rb_tree *tree)
{
	struct rb_node *node = tree->root;

	while (node && node->right)
		node = node->right;
	return node;
}

struct rb_node *rb_next(const struct rb_node *node)
{
	struct rb_node *next = node->right;

	if (next) {
		while (next->left)
			next = next->left;
		return next;
	}
	for (next = rb_parent(node); next && next->right == node; next = rb_parent(next))
		node = next;
	return next;
}

struct rb_node *rb_previous(const struct rb_node *node)
{
	struct rb_node *previous = node->left;

	if (previous) {
		while (previous->right)
			previous = previous->right;
		return previous;
	}
	for (previous = rb_parent(node); previous && previous->left == node;
	     previous = rb_parent(previous))
		node = previous;
	return previous;
}

/* Recounting. */

/* Black nodes on every way down from `node`; -1 and `wrong_out` when something is not right. */
static int black_height(const struct rb_node *node, const char **wrong_out)
{
	int left;
	int right;

	if (!node)
		return 0;
	if ((node->left && rb_parent(node->left) != node) ||
	    (node->right && rb_parent(node->right) != node))
		*wrong_out = "a child does not know its parent";
	else if (is_red(node) && (is_red(node->left) || is_red(node->right)))
		*wrong_out = "a red node has a red child";
	else if (node->largest != largest_of(node))
		*wrong_out = "a largest value is not";
	if (*wrong_out)
		return -1;
	left = black_height(node->left, wrong_out);
	right = black_height(node->right, wrong_out);
	if (left >= 0 && right >= 0 && left != right)
		*wrong_out = "one side has more black nodes than the other";
	return *wrong_out ? -1 : left + (is_black(node) ? 1 : 0);
}

const char *rb_validate(const struct rb_tree *tree)
{
	const char *wrong = NULL;

	if (!tree->root)
		return NULL;
	if (rb_parent(tree->root) || is_red(tree->root))
		return "the root has a parent or is red";
	black_height(tree->root, &wrong);
	return wrong;
}
