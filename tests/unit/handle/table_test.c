/* SPDX-License-Identifier: MIT */
/*
 * table_test.c - what clients expect of handles, and that a stale one never finds anything.
 */
#include "support/test.h"

#include "base/mem.h"
#include "base/random.h"
#include "base/sim.h"
#include "base/thread.h"
#include "handle/table.h"

struct thing {
	struct object object;
	_Atomic int *destroyed;
};

static void thing_destroy(struct object *object);
static void other_destroy(struct object *object);

static const struct object_class thing_class = { "a thing", thing_destroy };
static const struct object_class other_class = { "another thing", other_destroy };

static void thing_destroy(struct object *object)
{
	struct thing *thing = object_cast(object, &thing_class, struct thing, object);

	if (thing->destroyed)
		atomic_fetch_add(thing->destroyed, 1);
	mem_free(thing);
}

static void other_destroy(struct object *object)
{
	mem_free(object_cast(object, &other_class, struct thing, object));
}

/* Nobody finds it yet. */
static struct thing *thing_make(struct handle_table *table, const struct object_class *class,
				_Atomic int *destroyed)
{
	struct thing *thing = mem_zalloc(sizeof(*thing));

	EXPECT(thing);
	thing->destroyed = destroyed;
	EXPECT_EQ(object_init(&thing->object, class, table), STATUS_SUCCESS);
	return thing;
}

static struct thing *thing_create(struct handle_table *table, _Atomic int *destroyed)
{
	struct thing *thing = thing_make(table, &thing_class, destroyed);

	object_publish(&thing->object);
	return thing;
}

static void thing_end(struct thing *thing)
{
	EXPECT(object_retire(&thing->object));
	object_put(&thing->object);
}

static enum handle_verdict find(struct handle_table *table, uint32_t handle)
{
	struct object *object = NULL;
	const struct object_class *found = NULL;
	enum handle_verdict verdict = handle_find(table, handle, &thing_class, &object, &found);

	if (verdict == HANDLE_FOUND)
		object_put(object);
	return verdict;
}

static struct handle_table the_table;

static void begin(void)
{
	EXPECT_EQ(handle_table_init(&the_table, HANDLE_TAG_LOCAL), STATUS_SUCCESS);
}

#define TABLE_TEST(suite, claim)                                                                   \
	TEST_BETWEEN(begin(), handle_table_finish(&the_table), suite, claim)

TABLE_TEST(handle, numbers_look_as_clients_expect_and_go_up_by_0x40)
{
	struct thing *things[100];

	for (int i = 0; i < 100; i++) {
		things[i] = thing_create(&the_table, NULL);
		uint32_t handle = things[i]->object.handle;
		EXPECT(handle >> 30 != 0);
		EXPECT_EQ(handle & 0x3f, 0);
		if (i > 0)
			EXPECT_EQ(handle, things[i - 1]->object.handle + 0x40);
	}
	/* No immediate reuse. */
	uint32_t freed = things[50]->object.handle;
	thing_end(things[50]);
	things[50] = thing_create(&the_table, NULL);
	EXPECT(things[50]->object.handle != freed);
	EXPECT_EQ(things[50]->object.handle, things[99]->object.handle + 0x40);
	for (int i = 0; i < 100; i++)
		thing_end(things[i]);
}

TEST(handle, global_handles_end_in_2_and_do_not_pass_for_local_ones)
{
	struct handle_table local;
	struct handle_table global;

	EXPECT_EQ(handle_table_init(&local, HANDLE_TAG_LOCAL), STATUS_SUCCESS);
	EXPECT_EQ(handle_table_init(&global, HANDLE_TAG_GLOBAL), STATUS_SUCCESS);
	struct thing *a = thing_create(&local, NULL);
	struct thing *b = thing_create(&global, NULL);
	EXPECT_EQ(b->object.handle & 0x3f, 2);
	EXPECT(find(&local, b->object.handle) == HANDLE_UNKNOWN);
	EXPECT(find(&global, a->object.handle) == HANDLE_UNKNOWN);
	EXPECT(find(&global, b->object.handle) == HANDLE_FOUND);
	thing_end(a);
	thing_end(b);
	handle_table_finish(&local);
	handle_table_finish(&global);
}

TABLE_TEST(handle, nonsense_is_unknown)
{
	struct random random;

	struct thing *thing = thing_create(&the_table, NULL);
	const uint32_t nonsense[] = { 0,          1,          0x3fffffff, 0x40000000, 0x40000041,
				      0xffffffff, 0xffffffc0, 0x80000000, 0x7fffffc0 };
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		EXPECT(find(&the_table, nonsense[i]) == HANDLE_UNKNOWN);
	random_init(&random, 1);
	for (int i = 0; i < 100000; i++) {
		uint32_t handle = (uint32_t)random_next(&random);
		if (handle != thing->object.handle)
			EXPECT(find(&the_table, handle) == HANDLE_UNKNOWN);
	}
	thing_end(thing);
}

TABLE_TEST(handle, another_kind_is_told_apart_and_keeps_no_reference)
{
	struct object *object = NULL;
	const struct object_class *found = NULL;

	struct thing *thing = thing_make(&the_table, &other_class, NULL);
	object_publish(&thing->object);
	EXPECT(handle_find(&the_table, thing->object.handle, &thing_class, &object, &found) ==
	       HANDLE_OTHER_KIND);
	EXPECT(found == &other_class);
	EXPECT(object == NULL);
	thing_end(thing);
}

TABLE_TEST(handle, an_object_is_found_from_publish_to_retire_and_lives_to_the_last_put)
{
	_Atomic int destroyed = 0;
	struct object *object = NULL;
	const struct object_class *found = NULL;

	struct thing *thing = thing_make(&the_table, &thing_class, &destroyed);
	uint32_t handle = thing->object.handle;
	EXPECT(find(&the_table, handle) == HANDLE_UNKNOWN);
	object_publish(&thing->object);
	EXPECT(handle_find(&the_table, handle, &thing_class, &object, &found) == HANDLE_FOUND);
	EXPECT(object == &thing->object);

	EXPECT(object_retire(&thing->object));
	EXPECT(!object_retire(&thing->object));
	EXPECT(find(&the_table, handle) == HANDLE_UNKNOWN);
	object_put(&thing->object);
	EXPECT_EQ(destroyed, 0);
	object_put(object);
	EXPECT_EQ(destroyed, 1);
}

TABLE_TEST(handle, is_retired_alone_by_who_has_the_only_reference_besides_its_own)
{
	_Atomic int destroyed = 0;
	struct object *object = NULL;
	const struct object_class *found = NULL;

	struct thing *thing = thing_make(&the_table, &thing_class, &destroyed);
	object_publish_and_get(&thing->object);
	uint32_t handle = thing->object.handle;
	EXPECT(handle_find(&the_table, handle, &thing_class, &object, &found) == HANDLE_FOUND);
	EXPECT(object == &thing->object);
	EXPECT(!object_retire_alone(&thing->object));
	EXPECT(find(&the_table, handle) == HANDLE_FOUND);
	object_put(&thing->object);
	EXPECT(object_retire_alone(&thing->object));
	EXPECT(find(&the_table, handle) == HANDLE_UNKNOWN);
	EXPECT(!object_retire_alone(&thing->object));
	EXPECT_EQ(destroyed, 0);
	object_put(&thing->object);
	EXPECT_EQ(destroyed, 1);
}

TABLE_TEST(handle, references_that_are_given_back_together_end_it_with_the_last)
{
	_Atomic int destroyed = 0;
	struct thing *thing = thing_make(&the_table, &thing_class, &destroyed);

	object_publish_and_get(&thing->object);
	for (int i = 0; i < 3; i++)
		object_get(&thing->object);
	EXPECT(object_retire(&thing->object));
	object_put_several(&thing->object, 2);
	EXPECT_EQ(destroyed, 0);
	object_put_some(&thing->object, 3);
	EXPECT_EQ(destroyed, 1);
}

/* Three chunks' worth of churn around one survivor: the chunks are recycled, the stale stay dead.
 */
TEST(handle, a_stale_handle_never_matches_however_often_its_slot_was_reused)
{
	struct handle_table table;
	struct mem_usage before = mem_usage();

	EXPECT_EQ(handle_table_init(&table, HANDLE_TAG_LOCAL), STATUS_SUCCESS);
	struct thing *survivor = thing_create(&table, NULL);
	struct thing *first = thing_create(&table, NULL);
	uint32_t stale = first->object.handle;
	thing_end(first);
	int64_t blocks = 0;
	for (int i = 0; i < 200 * HANDLE_CHUNK; i++) {
		thing_end(thing_create(&table, NULL));
		EXPECT(find(&table, stale) == HANDLE_UNKNOWN);
		if (i == 4 * HANDLE_CHUNK)
			blocks = mem_usage().blocks;
	}
	EXPECT_EQ(mem_usage().blocks, blocks); /* recycled, not grown */
	EXPECT(find(&table, survivor->object.handle) == HANDLE_FOUND);
	thing_end(survivor);
	handle_table_finish(&table);
	EXPECT_EQ(mem_usage().blocks, before.blocks);
}

TABLE_TEST(handle, the_sequence_comes_round_and_steps_over_those_who_still_live)
{
	struct thing *old[3];
	for (int i = 0; i < 3; i++)
		old[i] = thing_create(&the_table, NULL); /* ordinals 1, 2, 3 */
	for (int i = 4; i < HANDLE_CHUNK; i++)
		thing_end(thing_create(&the_table, NULL));
	/* As if fifty million others had come and gone. */
	atomic_store(&the_table.drawn, HANDLE_ORDINALS);
	struct thing *zero = thing_create(&the_table, NULL);
	struct thing *next = thing_create(&the_table, NULL);
	EXPECT_EQ(zero->object.handle, 0x40000000);
	EXPECT_EQ(next->object.handle, 0x40000000 + 4 * 0x40);
	for (int i = 0; i < 3; i++) {
		EXPECT(find(&the_table, old[i]->object.handle) == HANDLE_FOUND);
		thing_end(old[i]);
	}
	thing_end(zero);
	thing_end(next);
}

/* ---- several threads ---- */

struct maker {
	struct handle_table *table;
	struct thing *things[10];
	_Atomic uint32_t step; /* the maker has made its first five; it may make the others */
};

static void make_ten(void *context)
{
	struct maker *maker = context;

	for (int i = 0; i < 5; i++)
		maker->things[i] = thing_create(maker->table, NULL);
	atomic_store(&maker->step, 1);
	thread_wake_all(&maker->step);
	while (atomic_load(&maker->step) != 2)
		thread_wait(&maker->step, 1, UINT64_MAX);
	for (int i = 5; i < 10; i++)
		maker->things[i] = thing_create(maker->table, NULL);
}

static struct thread *maker_start(struct maker *maker, struct handle_table *table)
{
	struct thread *thread;

	*maker = (struct maker){ .table = table };
	EXPECT_EQ(thread_create("maker", make_ten, maker, &thread), STATUS_SUCCESS);
	while (atomic_load(&maker->step) == 0)
		thread_wait(&maker->step, 0, UINT64_MAX);
	return thread;
}

static void maker_finish(struct maker *maker, struct thread *thread)
{
	atomic_store(&maker->step, 2);
	thread_wake_all(&maker->step);
	thread_join(thread);
}

TABLE_TEST(handle, a_thread_goes_up_by_0x40_whatever_others_do_meanwhile)
{
	struct maker maker;

	struct thing *first = thing_create(&the_table, NULL);
	struct thread *thread = maker_start(&maker, &the_table);
	struct thing *second = thing_create(&the_table, NULL);
	maker_finish(&maker, thread);
	if (thread_seat() != 0) { /* else all share one sequence */
		EXPECT_EQ(second->object.handle, first->object.handle + 0x40);
		for (int i = 1; i < 10; i++)
			EXPECT_EQ(maker.things[i]->object.handle,
				  maker.things[i - 1]->object.handle + 0x40);
	}
	/* Ended by another thread than made them. */
	for (int i = 0; i < 10; i++) {
		EXPECT(find(&the_table, maker.things[i]->object.handle) == HANDLE_FOUND);
		thing_end(maker.things[i]);
	}
	thing_end(first);
	thing_end(second);
}

static void end_all(void *context)
{
	struct thing **things = context;

	for (int i = 0; i < 2 * HANDLE_CHUNK; i++)
		thing_end(things[i]);
}

TABLE_TEST(handle, a_chunk_that_another_thread_has_emptied_is_used_again)
{
	static struct thing *things[2 * HANDLE_CHUNK];
	struct thread *thread;
	int64_t blocks = 0;

	for (int round = 0; round < 12; round++) {
		for (int i = 0; i < 2 * HANDLE_CHUNK; i++)
			things[i] = thing_create(&the_table, NULL);
		EXPECT_EQ(thread_create("end", end_all, things, &thread), STATUS_SUCCESS);
		thread_join(thread);
		if (round == 2)
			blocks = mem_usage().blocks;
	}
	EXPECT_EQ(mem_usage().blocks, blocks);
}

TABLE_TEST(handle, the_sequence_steps_over_what_another_thread_still_hands_out)
{
	struct maker maker;

	struct thread *thread = maker_start(&maker, &the_table);
	/* As if fifty million others had come and gone: the maker's chunk is next. */
	atomic_store(&the_table.drawn, HANDLE_ORDINALS);
	struct thing *other = thing_create(&the_table, NULL);
	maker_finish(&maker, thread);
	for (int i = 0; i < 10; i++) {
		EXPECT(maker.things[i]->object.handle != other->object.handle);
		EXPECT(find(&the_table, maker.things[i]->object.handle) == HANDLE_FOUND);
		thing_end(maker.things[i]);
	}
	EXPECT(find(&the_table, other->object.handle) == HANDLE_FOUND);
	thing_end(other);
}

TEST(handle, running_out_of_memory_changes_nothing)
{
	struct handle_table table;
	struct thing thing = { 0 };

	mem_fail_nth(1);
	EXPECT_EQ(handle_table_init(&table, HANDLE_TAG_LOCAL), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	EXPECT_EQ(handle_table_init(&table, HANDLE_TAG_LOCAL), STATUS_SUCCESS);
	mem_fail_nth(1);
	EXPECT_EQ(object_init(&thing.object, &thing_class, &table), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	struct thing *after = thing_create(&table, NULL);
	EXPECT(find(&table, after->object.handle) == HANDLE_FOUND);
	thing_end(after);
	handle_table_finish(&table);
}

enum { RACERS = THREAD_SEATS + 4 };

struct race {
	struct handle_table table;
	_Atomic uint32_t shared[8]; /* handles that all threads look up and end */
	_Atomic int created;
	_Atomic int destroyed;
	_Atomic int ended;
};

static void race_run(void *context)
{
	struct race *race = context;
	struct random random;

	random_init(&random, thread_id());
	for (int i = 0; i < 3000; i++) {
		_Atomic uint32_t *place = &race->shared[random_below(&random, 8)];
		uint32_t handle = atomic_load(place);
		struct object *object = NULL;
		const struct object_class *found = NULL;

		if (handle != 0 && handle_find(&race->table, handle, &thing_class, &object,
					       &found) == HANDLE_FOUND) {
			EXPECT_EQ(object->handle, handle);
			if (object_retire(object)) {
				atomic_fetch_add(&race->ended, 1);
				object_put(object);
			}
			object_put(object);
		}
		struct thing *thing = thing_create(&race->table, &race->destroyed);
		atomic_fetch_add(&race->created, 1);
		atomic_store(place, thing->object.handle);
	}
}

static void race_of_threads(int count)
{
	struct race race = { 0 };
	struct thread *threads[RACERS];

	EXPECT_EQ(handle_table_init(&race.table, HANDLE_TAG_LOCAL), STATUS_SUCCESS);
	for (int i = 0; i < count; i++)
		EXPECT_EQ(thread_create("race", race_run, &race, &threads[i]), STATUS_SUCCESS);
	for (int i = 0; i < count; i++)
		thread_join(threads[i]);
	/* Handles that were overwritten in `shared` before anybody ended them still live. */
	for (uint32_t ordinal = 0; ordinal < (uint32_t)atomic_load(&race.table.drawn) + 1;
	     ordinal++) {
		struct object *object = NULL;
		const struct object_class *found = NULL;
		if (handle_find(&race.table, 0x40000000 + (ordinal << 6), &thing_class, &object,
				&found) != HANDLE_FOUND)
			continue;
		EXPECT(object_retire(object));
		atomic_fetch_add(&race.ended, 1);
		object_put(object);
		object_put(object);
	}
	EXPECT_EQ(race.created, race.ended);
	EXPECT_EQ(race.created, race.destroyed);
	handle_table_finish(&race.table);
}

TEST(handle, threads_that_find_and_end_the_same_handles_destroy_each_object_once)
{
	race_of_threads(4);
}

TEST(handle, more_threads_than_there_are_seats_share_one)
{
	race_of_threads(RACERS);
}

/* ---- what became of a number, and recounting ---- */

TABLE_TEST(handle, that_finds_nothing_was_never_given_out_is_stale_or_is_foreign)
{
	handle_table_continue(&the_table, 2 * HANDLE_CHUNK);
	struct thing *thing = thing_create(&the_table, NULL);
	uint32_t handle = thing->object.handle;

	EXPECT_EQ(handle_past(&the_table, 0), HANDLE_NEVER);
	EXPECT_EQ(handle_past(&the_table, HANDLE_FIRST), HANDLE_NEVER);
	EXPECT_EQ(handle_past(&the_table, handle + 1), HANDLE_NEVER);
	EXPECT_EQ(handle_past(&the_table, handle + HANDLE_GAP), HANDLE_NEVER);
	EXPECT_EQ(handle_past(&the_table, handle + HANDLE_CHUNK * HANDLE_GAP), HANDLE_NEVER);
	EXPECT_EQ(handle_past(&the_table, UINT32_MAX), HANDLE_NEVER);
	EXPECT_EQ(handle_past(&the_table, handle + HANDLE_TAG_GLOBAL), HANDLE_OF_OTHER_SPACE);
	EXPECT_EQ(handle_past(&the_table, handle - HANDLE_GAP), HANDLE_OF_OTHER_PROCESS);
	thing_end(thing);
	EXPECT_EQ(handle_past(&the_table, handle), HANDLE_STALE);
}

/* Its chunk is used for others, and the numbers may have come round: nothing is known any more. */
TABLE_TEST(handle, of_long_ago_is_stale)
{
	struct thing *first = thing_create(&the_table, NULL);
	uint32_t handle = first->object.handle;

	thing_end(first);
	for (int i = 0; i < 3 * HANDLE_CHUNK; i++)
		thing_end(thing_create(&the_table, NULL));
	EXPECT(!handle_slot_of(&the_table, handle));
	EXPECT_EQ(handle_past(&the_table, handle), HANDLE_STALE);
	EXPECT_EQ(handle_past(&the_table, UINT32_MAX & ~(HANDLE_GAP - 1)), HANDLE_NEVER);
	atomic_store(&the_table.drawn, HANDLE_ORDINALS + HANDLE_CHUNK);
	EXPECT_EQ(handle_past(&the_table, UINT32_MAX & ~(HANDLE_GAP - 1)), HANDLE_STALE);
}

TABLE_TEST(handle, recounts_find_what_is_miscounted)
{
	uint32_t published;

	EXPECT(!handle_table_validate(&the_table, &published));
	EXPECT_EQ(published, 0);
	struct thing *thing = thing_create(&the_table, NULL);
	thing_end(thing_create(&the_table, NULL));
	EXPECT(!handle_table_validate(&the_table, &published));
	EXPECT_EQ(published, 1);
	atomic_fetch_add(&the_table.seats[0].live, 1);
	EXPECT_STR(handle_table_validate(&the_table, &published),
		   "objects that have a handle are miscounted");
	atomic_fetch_sub(&the_table.seats[0].live, 1);
	the_table.ring->handed++;
	EXPECT_STR(handle_table_validate(&the_table, &published),
		   "handles that were handed out or came back are miscounted");
	the_table.ring->handed--;
	atomic_fetch_add(&thing->object.slot->state, UINT64_C(0x40) << 32);
	EXPECT_STR(handle_table_validate(&the_table, &published),
		   "an object answers to the handle of another place");
	atomic_fetch_sub(&thing->object.slot->state, UINT64_C(0x40) << 32);
	atomic_fetch_sub(&thing->object.slot->state, 1);
	EXPECT_STR(handle_table_validate(&the_table, &published),
		   "a handle finds what nobody has a reference on");
	atomic_fetch_add(&thing->object.slot->state, 1);
	atomic_store(&thing->object.slot->object, NULL);
	EXPECT_STR(handle_table_validate(&the_table, &published),
		   "a handle was handed out and names nothing");
	atomic_store(&thing->object.slot->object, &thing->object);
	atomic_store(&the_table.directory[the_table.ring->index], NULL);
	EXPECT_STR(handle_table_validate(&the_table, &published),
		   "a chunk of handles is not where its numbers lead");
	atomic_store(&the_table.directory[the_table.ring->index], the_table.ring);
	EXPECT(!handle_table_validate(&the_table, &published));
	thing_end(thing);
}

TEST_MAIN("handle/table")
