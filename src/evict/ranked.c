/* SPDX-License-Identifier: MIT */
#include "evict/ranked.h"

static struct evict_ranked *ranked_of(struct rb_node *node)
{
	return container_of(node, struct evict_ranked, node);
}

void ranked_insert(struct rb_tree *tree, struct evict_entry *entry, double rank)
{
	struct evict_ranked *ranked = (struct evict_ranked *)entry->memory;
	struct rb_node *below = tree->root;
	struct rb_node *parent = NULL;
	bool is_left = false;

	ranked->rank = rank;
	ranked->node.value = 0;
	while (below) {
		parent = below;
		is_left = rank < ranked_of(below)->rank;
		below = is_left ? below->left : below->right;
	}
	rb_insert(tree, &ranked->node, parent, is_left);
}

void ranked_remove(struct rb_tree *tree, struct evict_entry *entry)
{
	rb_remove(tree, &((struct evict_ranked *)entry->memory)->node);
}

void ranked_walk_begin(const struct rb_tree *tree, struct evict_walk *walk)
{
	walk->node = rb_first(tree);
}

struct evict_entry *ranked_walk_next(struct evict_walk *walk)
{
	struct rb_node *node = walk->node;

	if (!node)
		return NULL;
	walk->node = rb_next(node);
	return evict_entry_of_memory(node);
}

const char *ranked_validate(const struct rb_tree *tree, struct evict_count *found)
{
	for (struct rb_node *node = rb_first(tree), *next; node; node = next) {
		next = rb_next(node);
		if (next && ranked_of(next)->rank < ranked_of(node)->rank)
			return "entries are not in order";
		found->bytes += evict_entry_of_memory(node)->size_bytes;
		found->entries++;
	}
	return rb_validate(tree);
}
