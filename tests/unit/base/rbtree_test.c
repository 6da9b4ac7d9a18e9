/* SPDX-License-Identifier: MIT */
/*
 * rbtree_test.c - order, balance, and largest values that follow every change.
 */
#include "base/attributes.h"
#include "base/random.h"
#include "base/rbtree.h"
#include "support/test.h"

struct item {
	struct rb_node node;
	uint64_t key;
	bool is_in;
};

static struct item *item_of(const struct rb_node *node)
{
	return container_of(node, struct item, node);
}

static void insert(struct rb_tree *tree, struct item *item)
{
	struct rb_node *node = tree->root;
	struct rb_node *parent = NULL;
	bool is_left = false;

	while (node) {
		parent = node;
		is_left = item->key < item_of(node)->key;
		node = is_left ? node->left : node->right;
	}
	rb_insert(tree, &item->node, parent, is_left);
	item->is_in = true;
}

TEST(rbtree, an_empty_one_has_no_first_and_no_last)
{
	struct rb_tree tree = { 0 };

	EXPECT(!rb_first(&tree));
	EXPECT(!rb_last(&tree));
	EXPECT(!rb_validate(&tree));
}

TEST(rbtree, nodes_come_in_order_both_ways)
{
	enum { COUNT = 100 };
	struct item items[COUNT] = { 0 };
	struct rb_tree tree = { 0 };
	uint64_t key = 0;

	for (uint64_t i = 0; i < COUNT; i++) {
		items[i].key = i * 37 % COUNT;
		insert(&tree, &items[i]);
		EXPECT(!rb_validate(&tree));
	}
	for (struct rb_node *node = rb_first(&tree); node; node = rb_next(node))
		EXPECT_EQ(item_of(node)->key, key++);
	EXPECT_EQ(key, COUNT);
	for (struct rb_node *node = rb_last(&tree); node; node = rb_previous(node))
		EXPECT_EQ(item_of(node)->key, --key);
	EXPECT_EQ(key, 0);
}

TEST(rbtree, before_a_node_means_right_before_it)
{
	enum { COUNT = 200 };
	struct item items[COUNT] = { 0 };
	struct rb_tree tree = { 0 };
	struct rb_node *next = NULL;
	uint64_t count = 0;

	/* Each before the last but one that came: 1 3 5 … 4 2 0. */
	for (int i = 0; i < COUNT; i++) {
		rb_insert_before(&tree, &items[i].node, next);
		EXPECT(!rb_validate(&tree));
		EXPECT(rb_next(&items[i].node) == next);
		if (i % 2 == 0)
			next = &items[i].node;
	}
	for (struct rb_node *node = rb_first(&tree); node; node = rb_next(node))
		count++;
	EXPECT_EQ(count, COUNT);
}

TEST(rbtree, keys_in_order_do_not_make_a_list)
{
	enum { COUNT = 1 << 16 };
	struct item *items = calloc(COUNT, sizeof(*items));
	struct rb_tree tree = { 0 };
	unsigned depth = 0;

	assert_non_null(items);
	for (int i = 0; i < COUNT; i++)
		rb_insert_before(&tree, &items[i].node, NULL);
	for (struct rb_node *node = rb_last(&tree); node; node = rb_parent(node))
		depth++;
	EXPECT(depth <= 2 * 17);
	free(items);
}

TEST(rbtree, the_largest_value_of_a_subtree_follows_every_change)
{
	enum { COUNT = 31 };
	struct item items[COUNT] = { 0 };
	struct rb_tree tree = { 0 };

	for (uint64_t i = 0; i < COUNT; i++) {
		items[i].key = i;
		items[i].node.value = 100 + i;
		insert(&tree, &items[i]);
		EXPECT_EQ(rb_largest(tree.root), 100 + i);
	}
	rb_set_value(&items[7].node, 1000);
	EXPECT_EQ(rb_largest(tree.root), 1000);
	rb_set_value(&items[7].node, 3);
	EXPECT_EQ(rb_largest(tree.root), 130);
	rb_remove(&tree, &items[30].node);
	EXPECT_EQ(rb_largest(tree.root), 129);
	EXPECT_EQ(rb_largest(NULL), 0);
}

TEST(rbtree, validate_notices_a_value_that_was_set_by_hand)
{
	struct item items[3] = { { .key = 1 }, { .key = 0 }, { .key = 2 } };
	struct rb_tree tree = { 0 };

	for (int i = 0; i < 3; i++)
		insert(&tree, &items[i]);
	EXPECT(!rb_validate(&tree));
	items[2].node.value = 5;
	EXPECT_STR(rb_validate(&tree), "a largest value is not");
}

static void expect_order(const struct rb_tree *tree, uint64_t count)
{
	uint64_t seen = 0;
	uint64_t above = 0;

	for (struct rb_node *node = rb_first(tree); node; node = rb_next(node)) {
		EXPECT(seen == 0 || item_of(node)->key > above);
		EXPECT(item_of(node)->is_in);
		above = item_of(node)->key;
		seen++;
	}
	EXPECT_EQ(seen, count);
}

TEST(rbtree, random_use_keeps_order_balance_and_values)
{
	enum { COUNT = 150, STEPS = 6000 };

	/* Few values and many: the largest is there more than once, or is not. */
	for (uint64_t values = 1; values <= 1000; values *= 10) {
		struct item items[COUNT] = { 0 };
		struct rb_tree tree = { 0 };
		struct random random;
		uint64_t count = 0;

		random_init(&random, values);
		for (uint64_t i = 0; i < COUNT; i++)
			items[i].key = i;
		for (int step = 0; step < STEPS; step++) {
			struct item *item = &items[random_below(&random, COUNT)];

			if (item->is_in && random_below(&random, 4) == 0) {
				rb_set_value(&item->node, random_below(&random, values));
			} else if (item->is_in) {
				rb_remove(&tree, &item->node);
				item->is_in = false;
				count--;
			} else {
				item->node.value = random_below(&random, values);
				insert(&tree, item);
				count++;
			}
			EXPECT(!rb_validate(&tree));
			expect_order(&tree, count);
		}
	}
}

TEST_MAIN("base/rbtree")
