/*
 * object.h - the first member of everything a handle can name.
 *
 * An object gets its number when it is built and answers to it from publish to retire. References
 * are counted in the handle table's slot, next to the number, so that a lookup can check the number
 * and take a reference in one atomic step (table.h). The last put destroys.
 */
#ifndef HANDLE_OBJECT_H
#define HANDLE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct handle_slot;
struct handle_table;
struct object;
struct share;

/* One constant per kind of object; its address is the type tag. */
struct object_class {
	const char *name; /* as people read it: "an adapter" */
	void (*destroy)(struct object *object);
	struct share *(*share)(struct object *object); /* what it opened; NULL: cannot be shared */
};

struct object {
	const struct object_class *class;
	struct handle_table *table;
	struct handle_slot *slot;
	uint32_t handle;
};

/* Numbers the object, with one reference, not yet findable. */
MUST_CHECK NTSTATUS object_init(struct object *object, const struct object_class *class,
				struct handle_table *table);

/* Gives the number back without calling destroy(): for objects that were never finished. */
void object_abandon(struct object *object);

void object_get(struct object *object);

/* For those who know it without a reference: false when the last one is gone. */
MUST_CHECK bool object_get_unless_gone(struct object *object);

/* Accepts NULL. */
void object_put(struct object *object);

/* From now on the handle finds it. The second one takes a reference in the same moment. */
void object_publish(struct object *object);
void object_publish_and_get(struct object *object);

/* From now on it does not. True for the one caller that ended it: that one destroys. */
MUST_CHECK bool object_retire(struct object *object);

/* From the base to the outer struct, checked. */
#define object_cast(object, class_tag, type, member)                                               \
	(object_assert_class((object), (class_tag)), container_of((object), type, member))

void object_assert_class(const struct object *object, const struct object_class *class);

#endif
