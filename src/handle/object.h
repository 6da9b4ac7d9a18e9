/* SPDX-License-Identifier: MIT */
/*
 * object.h - the first member of everything a handle can name.
 *
 * An object gets its number when it is built and answers to it from publish to retire. References
 * are counted in the handle table's slot, next to the number, so that a lookup can check the number
 * and take a reference in one atomic step (table.h). The last put destroys.
 */
#ifndef HANDLE_OBJECT_H
#define HANDLE_OBJECT_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct handle_table;
struct object;
struct share;

/* One constant per kind of object; its address is the type tag. */
struct object_class {
	const char *name; /* as people read it: "an adapter" */
	void (*destroy)(struct object *object);

	/*
	 * What it opened, and which rights to that (object/memory/share.h) the opening has not and cannot
	 * share. NULL: cannot be shared.
	 */
	struct share *(*share)(struct object *object, uint32_t *withheld_out);
};

/* Guarded by the state word itself; `object` is stable while references are held. */
struct handle_slot {
	/*
	 * 63..32  the handle while published, else 0
	 * 31      ready: drawn, and not handed out
	 * 30..0   references
	 */
	_Atomic uint64_t state;
	struct object *_Atomic object;
};

#define SLOT_READY         UINT64_C(0x80000000)
#define SLOT_REFS          UINT64_C(0x7fffffff)
#define SLOT_HANDLE(state) ((uint32_t)((state) >> 32))

struct object {
	const struct object_class *class;
	struct handle_table *table;
	struct handle_slot *slot;
	uint32_t handle;
};

/* Gives the number back without calling destroy(): for objects that were never finished. */
void object_abandon(struct object *object);
/* The same in two steps: of a quota its handle counts no more; and the rest, some time later. */
void object_uncount(struct object *object);
void object_abandon_uncounted(struct object *object);

static inline void object_get(struct object *object)
{
	uint64_t before = atomic_fetch_add_explicit(&object->slot->state, 1, memory_order_relaxed);

	assert((before & SLOT_REFS) != 0 && (before & SLOT_REFS) != SLOT_REFS);
	(void)before;
}

/* The last reference is gone. */
void object_end(struct object *object);

/* Accepts NULL. */
static inline void object_put(struct object *object)
{
	if (!object)
		return;
	uint64_t before = atomic_fetch_sub_explicit(&object->slot->state, 1, memory_order_acq_rel);
	assert((before & SLOT_REFS) != 0);
	if ((before & SLOT_REFS) == 1)
		object_end(object);
}

/* Several at once, of one that others mostly have references on, too. */
static inline void object_put_some(struct object *object, uint64_t references)
{
	uint64_t before =
		atomic_fetch_sub_explicit(&object->slot->state, references, memory_order_acq_rel);

	assert((before & SLOT_REFS) >= references);
	if (UNLIKELY((before & SLOT_REFS) == references))
		object_end(object);
}

/*
 * Gives several references back at once. Nobody takes one without a handle or another reference: who
 * has all that are left, of one that was retired, need not say so to anybody.
 */
static inline void object_put_several(struct object *object, uint64_t references)
{
	_Atomic uint64_t *state = &object->slot->state;

	if (LIKELY(atomic_load_explicit(state, memory_order_acquire) == references)) {
		atomic_store_explicit(state, 0, memory_order_relaxed);
		object_end(object);
		return;
	}
	object_put_some(object, references);
}

static inline void object_publish_with(struct object *object, uint64_t references)
{
	uint64_t before = atomic_fetch_add_explicit(&object->slot->state,
						    ((uint64_t)object->handle << 32) + references,
						    memory_order_release);

	assert(SLOT_HANDLE(before) == 0);
	(void)before;
}

/* From now on the handle finds it. The second one takes a reference in the same moment. */
static inline void object_publish(struct object *object)
{
	object_publish_with(object, 0);
}
static inline void object_publish_and_get(struct object *object)
{
	object_publish_with(object, 1);
}

/*
 * The same for what nobody else has a reference on yet, nor a way to get one: it is in no list, or
 * in one whose lock is held since it came in.
 */
static inline void object_publish_new(struct object *object, bool is_kept)
{
	assert(atomic_load_explicit(&object->slot->state, memory_order_relaxed) == 1);
	atomic_store_explicit(&object->slot->state, ((uint64_t)object->handle << 32) + 1 + is_kept,
			      memory_order_release);
}

/* From now on it does not. True for the one caller that ended it: that one destroys. */
MUST_CHECK bool object_retire(struct object *object);

/*
 * For who has one reference besides the handle's own. True: nobody else has one, it is retired, and
 * the two are one, with which the caller ends it. False: nothing happened.
 */
MUST_CHECK static inline bool object_retire_alone(struct object *object)
{
	uint64_t state = ((uint64_t)object->handle << 32) + 2;

	return atomic_compare_exchange_strong_explicit(&object->slot->state, &state, 1,
						       memory_order_acq_rel, memory_order_relaxed);
}

/* From the base to the outer struct, checked. */
#define object_cast(object, class_tag, type, member)                                               \
	(object_assert_class((object), (class_tag)), container_of((object), type, member))

/* The same for structs that are named as their class: object_as(context, …) is a dxg_context. */
#define object_as(kind, object_) object_cast(object_, &kind##_class, struct dxg_##kind, object)

void object_assert_class(const struct object *object, const struct object_class *class);

#endif
