/* SPDX-License-Identifier: MIT */
/*
 * handle_pairs.c - handles come and go while `live` of them stay.
 *
 * usage: handle_pairs live pairs
 *
 * Each pair retires one of the living, at random, and publishes a new one. Nothing is measured
 * here: run.py runs it under callgrind, which counts the instructions of exchange_handles() alone.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "handle/table.h"

static void thing_destroy(struct object *object)
{
	(void)object; /* the storage is used again */
}

static const struct object_class thing_class = { "a thing", thing_destroy };

static void publish(struct handle_table *table, struct object *object)
{
	if (!NT_SUCCESS(object_init(object, &thing_class, table))) {
		fprintf(stderr, "handle_pairs: no memory for a handle\n");
		exit(1);
	}
	object_publish(object);
}

static void retire(struct object *object)
{
	if (!object_retire(object))
		abort();
	object_put(object);
}

__attribute__((noinline)) static void exchange_handles(struct handle_table *table,
						       struct object *objects,
						       const uint32_t *order, size_t pairs)
{
	for (size_t i = 0; i < pairs; i++) {
		retire(&objects[order[i]]);
		publish(table, &objects[order[i]]);
	}
}

int main(int argc, char **argv)
{
	size_t live = argc > 2 ? strtoull(argv[1], NULL, 0) : 0;
	size_t pairs = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;

	if (live == 0 || pairs == 0) {
		fprintf(stderr, "usage: handle_pairs live pairs\n");
		return 2;
	}
	struct object *objects = calloc(live, sizeof(*objects));
	uint32_t *order = calloc(pairs, sizeof(*order));
	struct handle_table table;
	struct random random;

	if (!objects || !order || !NT_SUCCESS(handle_table_init(&table, HANDLE_TAG_LOCAL))) {
		fprintf(stderr, "handle_pairs: no memory\n");
		return 1;
	}
	random_init(&random, 1);
	for (size_t i = 0; i < live; i++)
		publish(&table, &objects[i]);
	for (size_t i = 0; i < pairs; i++)
		order[i] = (uint32_t)random_below(&random, live);
	exchange_handles(&table, objects, order, pairs);
	for (size_t i = 0; i < live; i++)
		retire(&objects[i]);
	handle_table_finish(&table);
	free(order);
	free(objects);
	return 0;
}
