/* SPDX-License-Identifier: MIT */
/*
 * lirs.c - LIRS (Jiang and Zhang, SIGMETRICS 2002): what matters is not when something was used
 * last, but how long before that the time before was, in bytes of others used between.
 *
 *	bottom            the stack                         top: the last use
 *	near  near  far  ghost  near  far  near  ghost  near
 *
 *   near    used again while it was in the stack; 99 of 100 bytes of the segment
 *   far     all others that are resident, in a queue in order of their last use: the first goes
 *   ghost   left, and still in the stack
 *
 * The bottom of the stack is near: what is below the last near one has been used longer ago than
 * any near one, and is taken off. When a far one or a ghost of the stack is used it is near, and
 * the bottom becomes far instead. Ghosts have the bytes of two segments at most.
 */
#include "evict/capacity.h"
#include "evict/queues.h"

enum { FAR, NEAR, QUEUE_COUNT };
enum { NEAR_PERCENT = 99 };

struct lirs_state {
	struct evict_queue queues[QUEUE_COUNT]; /* NEAR in no order: the stack has it */
	struct list stack;                      /* lirs_memory.stack, the bottom first */
	struct evict_ghosts ghosts;
	struct evict_capacity capacity;
};

struct lirs_memory {
	struct evict_ghost ghost; /* first */
	struct list stack;        /* lirs_state.stack; .next NULL: not in it */
};

static struct lirs_memory *memory_of(struct evict_entry *entry)
{
	return (struct lirs_memory *)entry->memory;
}

static struct evict_entry *entry_in_stack(struct list *link)
{
	return evict_entry_of_memory(container_of(link, struct lirs_memory, stack));
}

static bool is_near(const struct evict_entry *entry)
{
	return entry->is_ordered && entry->list == NEAR;
}

static void lirs_init(void *state)
{
	struct lirs_state *lirs = state;

	queues_init(lirs->queues, QUEUE_COUNT);
	list_init(&lirs->stack);
	ghosts_init(&lirs->ghosts);
	capacity_init(&lirs->capacity);
}

/* The stack. */

static bool is_in_stack(struct evict_entry *entry)
{
	return memory_of(entry)->stack.next != NULL;
}

static void stack_take(struct evict_entry *entry)
{
	struct lirs_memory *memory = memory_of(entry);

	if (!is_in_stack(entry))
		return;
	list_unlink(&memory->stack);
	memory->stack.next = NULL;
}

static void stack_push(struct lirs_state *lirs, struct evict_entry *entry)
{
	stack_take(entry);
	list_push_back(&lirs->stack, &memory_of(entry)->stack);
}

/* Until the bottom is near. */
static void stack_prune(struct lirs_state *lirs)
{
	while (!list_is_empty(&lirs->stack)) {
		struct evict_entry *bottom = entry_in_stack(lirs->stack.next);

		if (is_near(bottom))
			return;
		ghosts_take(bottom);
		stack_take(bottom);
	}
}

static void trim_ghosts(struct lirs_state *lirs)
{
	while (lirs->ghosts.bytes > 2 * lirs->capacity.bytes) {
		struct evict_entry *oldest = evict_entry_of_memory(lirs->ghosts.list.next);

		ghosts_take(oldest);
		stack_take(oldest);
	}
}

/* Near and far. */

static void change_queue(struct lirs_state *lirs, struct evict_entry *entry, unsigned queue)
{
	queues_take(lirs->queues, entry);
	queues_push(lirs->queues, queue, entry);
}

static uint64_t near_limit(const struct lirs_state *lirs)
{
	return capacity_percent(&lirs->capacity, NEAR_PERCENT);
}

/* The bottom becomes far, the youngest of them, until what is near fits. */
static void shrink_near(struct lirs_state *lirs)
{
	stack_prune(lirs);
	while (lirs->queues[NEAR].bytes > near_limit(lirs)) {
		struct evict_entry *bottom = entry_in_stack(lirs->stack.next);

		stack_take(bottom);
		change_queue(lirs, bottom, FAR);
		stack_prune(lirs);
	}
}

static void lirs_insert(void *state, struct evict_entry *entry)
{
	struct lirs_state *lirs = state;
	bool was_in_stack = is_in_stack(entry);
	bool fits = lirs->queues[NEAR].bytes + entry->size_bytes <= near_limit(lirs);

	ghosts_take(entry);
	stack_push(lirs, entry);
	queues_push(lirs->queues, was_in_stack || fits ? NEAR : FAR, entry);
	capacity_insert(&lirs->capacity, entry->size_bytes);
}

static void lirs_use(void *state, struct evict_entry *entry, uint64_t now)
{
	struct lirs_state *lirs = state;
	bool was_in_stack = is_in_stack(entry);

	(void)now;
	if (!entry->is_ordered || entry->is_fresh)
		return;
	stack_push(lirs, entry);
	if (entry->list == FAR)
		change_queue(lirs, entry, was_in_stack ? NEAR : FAR);
	shrink_near(lirs);
}

/* It leaves. Whoever was near is no ghost: its like would fill the stack. */
static void lirs_remove(void *state, struct evict_entry *entry)
{
	struct lirs_state *lirs = state;

	queues_take(lirs->queues, entry);
	capacity_remove(&lirs->capacity, entry->size_bytes);
	if (entry->list == NEAR) {
		stack_take(entry);
		stack_prune(lirs);
	} else if (is_in_stack(entry)) {
		ghosts_push(&lirs->ghosts, entry);
		trim_ghosts(lirs);
	}
}

static void lirs_forget(void *state, struct evict_entry *entry)
{
	(void)state;
	ghosts_take(entry);
	stack_take(entry);
}

/* Victims: those that are far, then the near ones from the bottom of the stack. */

static void lirs_walk_begin(void *state, struct evict_walk *walk)
{
	struct lirs_state *lirs = state;

	capacity_is_reached(&lirs->capacity);
	shrink_near(lirs);
	queues_walk_begin(lirs->queues, QUEUE_COUNT, walk);
	walk->at = lirs->stack.next;
}

/* The first near one from there on. What is between may leave the stack during the walk. */
static struct list *next_near(struct lirs_state *lirs, struct list *link)
{
	while (link != &lirs->stack && !is_near(entry_in_stack(link)))
		link = link->next;
	return link;
}

static struct evict_entry *lirs_walk_next(void *state, struct evict_walk *walk)
{
	struct lirs_state *lirs = state;
	struct evict_entry *entry = queues_next(lirs->queues, walk, FAR);
	struct list *link = walk->at;

	if (entry || link == &lirs->stack)
		return entry;
	walk->at = next_near(lirs, link->next);
	return entry_in_stack(link);
}

static const char *lirs_validate(const void *state, struct evict_count *found)
{
	const struct lirs_state *lirs = state;
	uint64_t near_bytes = 0;
	struct list *link;

	list_for_each (link, &lirs->stack) {
		const struct evict_entry *entry = entry_in_stack(link);

		near_bytes += is_near(entry) ? entry->size_bytes : 0;
	}
	if (near_bytes != lirs->queues[NEAR].bytes)
		return "something near is not in the stack";
	return queues_validate(lirs->queues, QUEUE_COUNT, found);
}

const struct evict_policy evict_lirs = {
	.name = "lirs",
	.state_bytes = sizeof(struct lirs_state),
	.init = lirs_init,
	.use = lirs_use,
	.insert = lirs_insert,
	.remove = lirs_remove,
	.forget = lirs_forget,
	.walk_begin = lirs_walk_begin,
	.walk_next = lirs_walk_next,
	.validate = lirs_validate,
};
