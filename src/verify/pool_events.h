/* SPDX-License-Identifier: MIT */
/*
 * pool_events.h - pool memory that drivers take and give back (nt/pool.h), for the watches that look at it.
 *
 * A call can be watched for what it takes: from blocks_begin() to blocks_end() the blocks that the calling thread
 * allocates are listed, until somebody frees them.
 */
#ifndef VERIFY_POOL_EVENTS_H
#define VERIFY_POOL_EVENTS_H

#include <stddef.h>
#include <stdint.h>

/* From now on the watches are told. Before the first driver is loaded. */
void pool_events_start(void);

/* watch_pairs.c: that memory goes. */
void pairs_freed(const void *payload, size_t size_bytes);

/* What a call has taken. */
struct block_list;

/* NULL: no memory, and nothing is listed. They nest. */
struct block_list *blocks_begin(void);
void blocks_end(struct block_list *blocks);

/* While a list is begun: how often the thread was refused memory, and by a callback as well (blocks_refuse()). */
uint32_t blocks_refusals(const struct block_list *blocks);
void blocks_refuse(void);

/* What is left of it now. */
struct block_left {
	uint64_t count;
	uint64_t bytes;
	const void *site; /* where the first was allocated; NULL: there is none */
};
struct block_left blocks_left(const struct block_list *blocks);

void blocks_forget(struct block_list *blocks);

#endif
