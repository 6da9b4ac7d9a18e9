/* SPDX-License-Identifier: MIT */
/*
 * pool_events.c - see pool_events.h.
 *
 * Locks: blocks_lock guards the tree of listed blocks and all lists. Memory is taken and given back outside.
 */
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/rbtree.h"
#include "nt/pool.h"
#include "verify/pool_events.h"

struct block_list {
	struct block_list *outer; /* of the same thread */
	struct list blocks;       /* block.link */
	uint32_t refusals;
};

struct block {
	struct rb_node tree; /* by payload */
	struct list link;
	const void *payload;
	const void *site;
	size_t size_bytes;
};

static struct lock blocks_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "blocks of drivers");
static struct rb_tree blocks; /* guarded by blocks_lock */
static _Thread_local struct block_list *innermost;

static struct block *find_locked(const void *payload, struct block **next_out)
{
	struct rb_node *at = blocks.root;

	lock_assert_held(&blocks_lock);
	*next_out = NULL;
	while (at) {
		struct block *block = container_of(at, struct block, tree);

		if (block->payload == payload)
			return block;
		if ((uintptr_t)block->payload > (uintptr_t)payload) {
			*next_out = block;
			at = at->left;
		} else {
			at = at->right;
		}
	}
	return NULL;
}

static void remove_locked(struct block *block)
{
	lock_assert_held(&blocks_lock);
	rb_remove(&blocks, &block->tree);
	list_remove(&block->link);
}

struct block_list *blocks_begin(void)
{
	struct block_list *list = mem_zalloc_aside(sizeof(*list));

	if (!list)
		return NULL;
	list_init(&list->blocks);
	list->outer = innermost;
	innermost = list;
	return list;
}

void blocks_end(struct block_list *list)
{
	if (list)
		innermost = list->outer;
}

uint32_t blocks_refusals(const struct block_list *list)
{
	return list ? list->refusals : 0;
}

void blocks_refuse(void)
{
	if (innermost)
		innermost->refusals++;
}

struct block_left blocks_left(const struct block_list *list)
{
	struct block_left left = { 0 };

	lock_acquire(&blocks_lock);
	list_each (struct block, block, &list->blocks, link) {
		if (left.count++ == 0)
			left.site = block->site;
		left.bytes += block->size_bytes;
	}
	lock_release(&blocks_lock);
	return left;
}

static struct block *take_first(struct block_list *list)
{
	struct block *block = NULL;

	lock_acquire(&blocks_lock);
	if (!list_is_empty(&list->blocks)) {
		block = container_of(list->blocks.next, struct block, link);
		remove_locked(block);
	}
	lock_release(&blocks_lock);
	return block;
}

void blocks_forget(struct block_list *list)
{
	struct block *block;

	while (list && (block = take_first(list)) != NULL)
		mem_free_aside(block);
	mem_free_aside(list);
}

/* ---- from the pool ---- */

static void allocated(void *payload, size_t size_bytes, const void *site)
{
	struct block *next;

	if (!innermost)
		return;
	struct block *block = mem_zalloc_aside(sizeof(*block));
	if (!block)
		return;
	block->payload = payload;
	block->site = site;
	block->size_bytes = size_bytes;
	lock_acquire(&blocks_lock);
	(void)find_locked(payload, &next);
	rb_insert_before(&blocks, &block->tree, next ? &next->tree : NULL);
	list_push_back(&innermost->blocks, &block->link);
	lock_release(&blocks_lock);
}

static void refused(size_t size_bytes, const void *site)
{
	(void)size_bytes;
	(void)site;
	blocks_refuse();
}

static void freed(void *payload, size_t size_bytes, const void *site)
{
	struct block *next;

	(void)site;
	lock_acquire(&blocks_lock);
	struct block *block = find_locked(payload, &next);
	if (block)
		remove_locked(block);
	lock_release(&blocks_lock);
	mem_free_aside(block);
	pairs_freed(payload, size_bytes);
}

void pool_events_start(void)
{
	static const struct nt_pool_watch watch = {
		.allocated = allocated,
		.refused = refused,
		.freed = freed,
	};

	nt_pool_watch_with(&watch);
}
