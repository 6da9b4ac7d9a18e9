/* SPDX-License-Identifier: MIT */
/*
 * w_tinylfu.c - W-TinyLFU (Einziger, Friedman and Manes, 2017).
 *
 *   window      a hundredth of the segment; what is new, the oldest use first
 *   probation   what came on from the window
 *   protected   what was used in probation; four fifths of the rest of the segment
 *
 * Who has to leave the window goes on only when it was used more often than the first of probation,
 * which then leaves instead. Uses are counted for each entry up to 15, resident or not, and all
 * counts are halved after ten times as many uses as there are residents. The original counts in a
 * sketch because it cannot remember everybody; the kernel can.
 */
#include "evict/capacity.h"
#include "evict/queues.h"

enum { WINDOW, PROBATION, PROTECTED, QUEUE_COUNT };
enum { WINDOW_PERCENT = 1, PROTECTED_PERCENT = 79, USES_MAX = 15, USES_TO_HALVE = 10 };

struct tiny_state {
	struct evict_queue queues[QUEUE_COUNT];
	struct evict_capacity capacity;
	uint64_t residents;
	uint64_t uses;     /* since the counts were halved   */
	uint64_t halvings; /* how often they were            */
};

struct tiny_memory {
	uint64_t halvings; /* as many as `uses' has seen */
	uint8_t uses;
};

static struct tiny_memory *memory_of(struct evict_entry *entry)
{
	return (struct tiny_memory *)entry->memory;
}

static void tiny_init(void *state)
{
	struct tiny_state *tiny = state;

	queues_init(tiny->queues, QUEUE_COUNT);
	capacity_init(&tiny->capacity);
}

/* Counts are halved when somebody looks at them. */
static uint8_t *uses_of(const struct tiny_state *tiny, struct evict_entry *entry)
{
	struct tiny_memory *memory = memory_of(entry);
	uint64_t missed = tiny->halvings - memory->halvings;

	memory->uses = missed < 8 ? (uint8_t)(memory->uses >> missed) : 0;
	memory->halvings = tiny->halvings;
	return &memory->uses;
}

static void count_use(struct tiny_state *tiny, struct evict_entry *entry)
{
	uint8_t *uses = uses_of(tiny, entry);

	if (*uses < USES_MAX)
		(*uses)++;
	if (++tiny->uses >= USES_TO_HALVE * tiny->residents && tiny->residents > 0) {
		tiny->uses = 0;
		tiny->halvings++;
	}
}

static void tiny_insert(void *state, struct evict_entry *entry)
{
	struct tiny_state *tiny = state;

	queues_push(tiny->queues, WINDOW, entry);
	capacity_insert(&tiny->capacity, entry->size_bytes);
	tiny->residents++;
}

/* What is too much for the protected part is on probation again. */
static void trim_protected(struct tiny_state *tiny)
{
	struct evict_queue *queue = &tiny->queues[PROTECTED];

	while (queue->bytes > capacity_percent(&tiny->capacity, PROTECTED_PERCENT)) {
		struct evict_entry *oldest = evict_entry_of(queue->list.next);

		queues_take(tiny->queues, oldest);
		queues_push(tiny->queues, PROBATION, oldest);
	}
}

static void tiny_use(void *state, struct evict_entry *entry, uint64_t now)
{
	struct tiny_state *tiny = state;

	(void)now;
	count_use(tiny, entry);
	if (!entry->is_ordered || entry->is_fresh)
		return;
	queues_take(tiny->queues, entry);
	queues_push(tiny->queues, entry->list == WINDOW ? WINDOW : PROTECTED, entry);
	trim_protected(tiny);
}

static void tiny_remove(void *state, struct evict_entry *entry)
{
	struct tiny_state *tiny = state;

	queues_take(tiny->queues, entry);
	capacity_remove(&tiny->capacity, entry->size_bytes);
	tiny->residents--;
}

static uint64_t main_limit(const struct tiny_state *tiny)
{
	return tiny->capacity.bytes - capacity_percent(&tiny->capacity, WINDOW_PERCENT);
}

static uint64_t main_bytes(const struct tiny_state *tiny)
{
	return tiny->queues[PROBATION].bytes + tiny->queues[PROTECTED].bytes;
}

/* What is new goes on by itself while the rest of the segment has room for it. */
static void fill_main(struct tiny_state *tiny)
{
	struct list *window = &tiny->queues[WINDOW].list;

	while (!list_is_empty(window)) {
		struct evict_entry *oldest = evict_entry_of(window->next);

		if (main_bytes(tiny) + oldest->size_bytes > main_limit(tiny))
			return;
		queues_take(tiny->queues, oldest);
		queues_push(tiny->queues, PROBATION, oldest);
	}
}

static void tiny_walk_begin(void *state, struct evict_walk *walk)
{
	struct tiny_state *tiny = state;

	capacity_is_reached(&tiny->capacity);
	trim_protected(tiny);
	fill_main(tiny);
	queues_walk_begin(tiny->queues, QUEUE_COUNT, walk);
}

static struct evict_entry *next_of_main(struct tiny_state *tiny, struct evict_walk *walk)
{
	struct evict_entry *entry = queues_next(tiny->queues, walk, PROBATION);

	return entry ? entry : queues_next(tiny->queues, walk, PROTECTED);
}

/*
 * Who has to leave the window, or the one that leaves for it. The use that brought the newcomer
 * does not count: in a loop it would always win against what is used next.
 */
static struct evict_entry *next_of_window(struct tiny_state *tiny, struct evict_walk *walk)
{
	struct evict_entry *newcomer = queues_peek(tiny->queues, walk, WINDOW);
	struct evict_entry *victim = queues_peek(tiny->queues, walk, PROBATION);

	if (!victim)
		victim = queues_peek(tiny->queues, walk, PROTECTED);
	if (!newcomer || !victim || *uses_of(tiny, newcomer) - 1 <= *uses_of(tiny, victim))
		return queues_next(tiny->queues, walk, WINDOW);
	next_of_main(tiny, walk);
	queues_move_next(tiny->queues, walk, WINDOW, PROBATION);
	return victim;
}

/* Whoever comes enters the window: others leave that, unless the rest has too much. */
static struct evict_entry *tiny_walk_next(void *state, struct evict_walk *walk)
{
	struct tiny_state *tiny = state;
	bool is_main_full = main_bytes(tiny) > main_limit(tiny);
	struct evict_entry *entry =
		is_main_full ? next_of_main(tiny, walk) : next_of_window(tiny, walk);

	if (!entry)
		entry = is_main_full ? next_of_window(tiny, walk) : next_of_main(tiny, walk);
	return entry;
}

static const char *tiny_validate(const void *state, struct evict_count *found)
{
	const struct tiny_state *tiny = state;

	return queues_validate(tiny->queues, QUEUE_COUNT, found);
}

const struct evict_policy evict_w_tinylfu = {
	.name = "w-tinylfu",
	.state_bytes = sizeof(struct tiny_state),
	.init = tiny_init,
	.use = tiny_use,
	.insert = tiny_insert,
	.remove = tiny_remove,
	.walk_begin = tiny_walk_begin,
	.walk_next = tiny_walk_next,
	.validate = tiny_validate,
};
