/* SPDX-License-Identifier: MIT */
/*
 * pool_table.c - pool blocks that are apart (pool_block.h), by the address of their payload: a hash
 * table, and the last few that were freed.
 *
 * Locks: pool_lock guards all of it.
 */
#include <string.h>

#include "base/lock.h"
#include "base/mem.h"
#include "nt/pool_block.h"
#include "nt/pool.h"

/* Set before there is a driver, if at all. */
const struct nt_pool_watch *pool_watch;

void nt_pool_watch_with(const struct nt_pool_watch *watch)
{
	pool_watch = watch;
}

void nt_pool_refused(size_t size_bytes, const void *site)
{
	if (pool_watch)
		pool_watch->refused(size_bytes, site);
}

enum {
	FREED_REMEMBERED = 64,
	BUCKETS_FIRST = 4096,
	BLOCKS_PER_BUCKET = 2,
};

#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* Guarded by pool_lock. */
static struct lock pool_lock = LOCK_INITIALIZER(LOCK_RANK_NT_POOL, "nt pool");
static struct pool_block *few_buckets[BUCKETS_FIRST];
static struct pool_block **buckets = few_buckets;
static size_t bucket_count = BUCKETS_FIRST;
static struct nt_pool_usage apart_usage;
static struct freed_block freed[FREED_REMEMBERED];
static unsigned freed_next;

static struct pool_block **bucket_of(const void *payload)
{
	uint64_t hash = (uint64_t)(uintptr_t)payload * HASH_FACTOR;

	return &buckets[(hash >> 32) & (bucket_count - 1)];
}

static void block_link_locked(struct pool_block *block)
{
	struct pool_block **bucket = bucket_of(payload_of(block));

	lock_assert_held(&pool_lock);
	block->next = *bucket;
	*bucket = block;
}

/* Twice as many buckets. Keeps the old ones when there is no memory, which is only slower. */
static void buckets_grow_locked(void)
{
	size_t smaller_count = bucket_count;
	struct pool_block **smaller = buckets;
	struct pool_block **larger = mem_zalloc_array(smaller_count * 2, sizeof(*larger));

	lock_assert_held(&pool_lock);
	if (!larger)
		return;
	buckets = larger;
	bucket_count = smaller_count * 2;
	for (size_t i = 0; i < smaller_count; i++) {
		struct pool_block *block = smaller[i];
		while (block) {
			struct pool_block *next = block->next;
			block_link_locked(block);
			block = next;
		}
	}
	if (smaller == few_buckets)
		memset(few_buckets, 0, sizeof(few_buckets));
	else
		mem_free(smaller);
}

static void block_insert_locked(struct pool_block *block)
{
	lock_assert_held(&pool_lock);
	if (apart_usage.blocks >= bucket_count * BLOCKS_PER_BUCKET)
		buckets_grow_locked();
	block_link_locked(block);
	apart_usage.blocks++;
	apart_usage.bytes += size_of(block);
}

static void block_remove_locked(struct pool_block **link)
{
	struct pool_block *block = *link;

	lock_assert_held(&pool_lock);
	*link = block->next;
	apart_usage.blocks--;
	apart_usage.bytes -= size_of(block);
}

static void buckets_shrink_locked(void)
{
	lock_assert_held(&pool_lock);
	if (apart_usage.blocks != 0 || buckets == few_buckets)
		return;
	mem_free(buckets);
	buckets = few_buckets;
	bucket_count = BUCKETS_FIRST;
}

struct pool_block *pool_table_take(const void *payload, const void *site)
{
	lock_acquire(&pool_lock);
	struct pool_block **link = bucket_of(payload);
	while (*link && payload_of(*link) != payload)
		link = &(*link)->next;
	struct pool_block *block = *link;
	if (block) {
		block_remove_locked(link);
		buckets_shrink_locked();
		freed[freed_next] = (struct freed_block){ payload, site, block->tag };
		freed_next = (freed_next + 1) % FREED_REMEMBERED;
	}
	lock_release(&pool_lock);
	return block;
}

void pool_table_insert(struct pool_block *block)
{
	lock_acquire(&pool_lock);
	block_insert_locked(block);
	lock_release(&pool_lock);
}

struct freed_block pool_table_find_freed(const void *payload)
{
	struct freed_block found = { 0 };

	lock_acquire(&pool_lock);
	for (unsigned i = 0; i < FREED_REMEMBERED && payload; i++) {
		if (freed[i].payload == payload)
			found = freed[i];
	}
	lock_release(&pool_lock);
	return found;
}

bool pool_table_has(const void *payload)
{
	lock_acquire(&pool_lock);
	struct pool_block *block = *bucket_of(payload);
	while (block && payload_of(block) != payload)
		block = block->next;
	lock_release(&pool_lock);
	return block != NULL;
}

struct nt_pool_usage pool_table_usage(void)
{
	lock_acquire(&pool_lock);
	struct nt_pool_usage now = apart_usage;
	lock_release(&pool_lock);
	return now;
}

void pool_table_take_all(uintptr_t begin, uintptr_t end, struct pool_block **first)
{
	lock_acquire(&pool_lock);
	for (size_t i = 0; i < bucket_count; i++) {
		struct pool_block **link = &buckets[i];
		while (*link) {
			struct pool_block *block = *link;
			uintptr_t site = (uintptr_t)site_of(block);
			if (site < begin || site >= end) {
				link = &block->next;
				continue;
			}
			block_remove_locked(link);
			block->next = *first;
			*first = block;
		}
	}
	buckets_shrink_locked();
	lock_release(&pool_lock);
}
