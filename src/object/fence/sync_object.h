/* SPDX-License-Identifier: MIT */
/*
 * sync_object.h - synchronization objects: what work and threads wait for and signal.
 *
 *	dxg_sync_object (one per opening) ───▶ sync_body (one; may be shared)
 *	  whose it is, what it may do            the value, or the count
 *
 *	kind               wait                           signal                       who
 *	mutex              takes it                       gives it back                queues
 *	semaphore          takes one of the count         adds one, up to the maximum  queues
 *	fence              until the value is reached     moves the value forward      queues
 *	CPU notification   nobody can                     sets the client's event      queues, or
 *	                                                                               the driver
 *	monitored fence    until the value is reached     moves the value forward      CPU, queues,
 *	                                                                               a GPU
 *
 * The value of a monitored fence is in memory that the client sees (sched/fence_page.h).
 *
 * An opening belongs to the device it was made on and ends with it, or, when it was opened by a
 * global handle, to the process. A queue that has a wait or a signal in it holds the body
 * (share_get(&body->share)), never the opening: what was queued still happens when the handle is
 * destroyed, and an opening holds its device.
 *
 * Locks: body->lock guards the count, the watches, and who waits through which opening. Nothing
 * here is called with a lock of rank FENCE or inner held, for it may call whoever waits.
 */
#ifndef OBJECT_FENCE_SYNC_OBJECT_H
#define OBJECT_FENCE_SYNC_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "handle/object.h"
#include "object/owner/device.h"
#include "object/ending/ending.h"
#include "object/fence/event.h"
#include "object/owner/process.h"
#include "object/memory/share.h"
#include "sched/fence.h"
#include "sched/fence_page.h"
#include "sched/sched.h"

/* As D3DDDI_SYNCHRONIZATIONOBJECT_TYPE counts them. */
enum sync_kind {
	SYNC_MUTEX = 1,
	SYNC_SEMAPHORE = 2,
	SYNC_FENCE = 3,
	SYNC_CPU_NOTIFICATION = 4,
	SYNC_MONITORED_FENCE = 5,
};

struct cpu_event;
struct fence_address;
struct sync_body;

/* "a mutex" */
const char *sync_kind_name(enum sync_kind kind);

/* What one opening may do. */
struct sync_access {
	bool may_signal;
	bool may_wait;
	bool jumps_when_lost; /* the fence goes to its maximum when the device is lost */
	bool has_gpu_access;
	bool is_owned; /* by a paging or hardware queue: it ends with that, and by no call */
};

/* One opening: what a sync object handle names. */
struct dxg_sync_object {
	struct object object;

	/* Set at creation. Read freely afterwards. */
	struct dxg_process *process;
	struct dxg_device *device; /* which counts it; NULL: the process's */
	struct sync_body *body;    /* with a reference */
	struct sync_access access;
	struct fence_address *address; /* of the value; NULL: the GPU does not see it, and … */
	uint64_t gpu_address;          /* … this is 0 */
	const uint64_t *view;          /* where its client reads the value of a monitored fence */

	/* dxg_device.sync_objects or dxg_process.sync_objects, guarded by that lock. */
	struct owned owned;
	bool is_lost; /* sync_object_device_lost() has been here; the device's lock */

	/* See fence_watch.h. */
	struct list body_link;    /* sync_body.openings */
	struct list watched_link; /* dxg_device.watched */
	_Atomic bool is_watched;  /* … in that list */
	_Atomic bool was_watched; /* … at some time */

	/* Guarded by the body's lock. */
	struct list waits; /* sync_wait_item.link */
	bool is_closed;

	struct ending ending; /* of one whose handle ended while queued work may still write it */
	bool is_charged;      /* … which counts as queued work */
};

/* What all openings share. */
struct sync_body {
	struct share share;

	/* Set at creation. Read freely afterwards. */
	enum sync_kind kind;
	bool is_cross_adapter;
	struct fence_slot slot;      /* of a monitored fence */
	struct event event;          /* of a CPU notification */
	struct cpu_event *cpu_event; /* … that the driver sets; NULL: queues do */

	struct fence fence;            /* of both kinds of fence */
	_Atomic uint64_t packet_value; /* of a fence that is not monitored */

	struct lock lock; /* LOCK_RANK_FENCE */
	uint32_t count;   /* of a mutex (0: taken) and a semaphore */
	uint32_t max_count;
	struct list watches; /* sync_watch.link of these two kinds */

	struct lock openings_lock; /* LOCK_RANK_FENCE_OPENINGS */
	struct list openings;      /* dxg_sync_object.body_link of those on a device */

	struct dxg_sync_object first; /* the creator's opening, which the body outlives */
};

extern const struct object_class sync_object_class;

struct sync_options {
	enum sync_kind kind;
	enum share_scheme scheme;
	bool is_cross_adapter;
	struct sync_access access;
	bool is_taken;          /* of a mutex, at the beginning */
	uint32_t initial_count; /* of a semaphore */
	uint32_t max_count;
	uint64_t initial_value; /* of both kinds of fence */
	struct event event;     /* of a CPU notification; taken over in any case */
	bool is_set_by_driver;  /* … by it alone; such a one is not shared */
};

/* A new object and its first opening, with a reference for the caller. */
MUST_CHECK NTSTATUS sync_object_create(struct dxg_device *device,
				       const struct sync_options *options,
				       struct dxg_sync_object **object_out);

/*
 * The fence that tells how far a queue is: a client waits for it, and it ends with the queue, by
 * sync_object_destroy(). Its handle keeps the opening; the body has a reference for the caller.
 */
MUST_CHECK NTSTATUS sync_object_create_of_queue(struct dxg_device *device, bool has_gpu_access,
						struct dxg_sync_object **object_out,
						struct sync_body **body_out);

/* What a client is told of a new object. */
struct sync_names {
	uint32_t handle;
	uint32_t global_handle; /* 0: it has none */
	const uint64_t *view;   /* see sync_object_view() */
	uint64_t gpu_address;
};

/* The same for a client, which gets names and no reference. */
MUST_CHECK NTSTATUS sync_object_create_named(struct dxg_device *device,
					     const struct sync_options *options,
					     struct sync_names *names_out);

/*
 * The same for a monitored fence without flags, of one that ended and was kept. False: none was, and nothing
 * happened. `seat` is the thread's (thread_own_seat).
 */
MUST_CHECK bool sync_object_create_again(struct dxg_device *device, uint32_t seat,
					 uint64_t initial_value, struct sync_names *names_out);

/*
 * One more opening of the object whose base is `share`, with a reference for the caller; of
 * `device` or, when that is NULL, of the process.
 */
MUST_CHECK NTSTATUS sync_object_open(struct dxg_process *process, struct dxg_device *device,
				     struct share *share, const struct sync_access *access,
				     struct dxg_sync_object **object_out);

/* Ends the handle, and the CPU waits through it. False when another thread was faster. */
MUST_CHECK bool sync_object_destroy(struct dxg_sync_object *object);

/*
 * The same for who has nothing but one reference, which goes, unless it was not the faster one. `seat` is the
 * thread's (thread_own_seat).
 */
MUST_CHECK bool sync_object_destroy_and_put(struct dxg_sync_object *object, uint32_t seat);

/* For kernel_validate(): its subject is a dxg_sync_object. */
bool sync_object_is_ending(const struct ending *ending);

/* Everything the device still has; nothing is added any more. */
void sync_object_destroy_all(struct dxg_device *device);

/* Where the client reads the value of a monitored fence; NULL for the other kinds. */
static inline const uint64_t *sync_object_view(const struct dxg_sync_object *object)
{
	return object->view;
}

static inline struct sync_body *sync_body_of_share(struct share *share)
{
	return container_of(share, struct sync_body, share);
}

/* ---- what the CPU and the queues do with it ---- */

static inline bool sync_body_is_fence(const struct sync_body *body)
{
	return body->kind == SYNC_FENCE || body->kind == SYNC_MONITORED_FENCE;
}

/*
 * Signals it, when it is its turn: `value` is for fences, which do not go backwards unless
 * `is_rewind`; false when that was tried. Any thread, no lock held.
 */
bool sync_body_signal(struct sync_body *body, uint64_t value, bool is_rewind);

/* True: what waits goes on, and has taken the mutex or one of the semaphore. */
MUST_CHECK bool sync_body_try_wait(struct sync_body *body, uint64_t value);

/*
 * Who was not let through wants to be told when it is worth another try. For a mutex and a
 * semaphore everybody is told of every signal, so one who was told and does not try costs nobody
 * anything.
 */
struct sync_watch {
	void (*try_again)(struct sync_watch *watch); /* once, any thread, no lock held */

	/* The body's. */
	struct fence_wait fence_wait;
	struct list link;
	bool is_queued;
};

/* True: try_again() will be called. False: it is worth a try now, and it will not be called. */
MUST_CHECK bool sync_body_watch(struct sync_body *body, uint64_t value, struct sync_watch *watch);

/* As fence_wait_cancel(). */
bool sync_body_watch_cancel(struct sync_body *body, struct sync_watch *watch);

/*
 * Work of the device completed, and may have written monitored fences of its process: who is reached
 * goes on. Any thread, DPC included.
 */
void sync_object_look_at_fences(struct dxg_device *device);

/*
 * The device has left DEVICE_ACTIVE for good. The fences it could signal go to their
 * maximum, unless their openings were made not to; calls that wait on this device are refused. No
 * lock is held.
 */
void sync_object_device_lost(struct dxg_device *device);

#endif
