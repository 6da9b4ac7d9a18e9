/* SPDX-License-Identifier: MIT */
/*
 * keyed_mutex.h - a mutex that is handed on: who acquires it names the key it was released with.
 *
 *	free, key K ──acquire K──▶ held by one opening ──release K'──▶ free, key K'
 *	                                  │
 *	                          opening destroyed ──▶ abandoned, for good
 *
 * With the key travel a GPU fence value and a blob of the runtime's, from who releases to who
 * acquires next. An abandoned mutex answers every acquire at once with STATUS_ABANDONED; that and
 * STATUS_TIMEOUT are successes to NT_SUCCESS().
 */
#ifndef OBJECT_FENCE_KEYED_MUTEX_H
#define OBJECT_FENCE_KEYED_MUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/notice.h"
#include "handle/object.h"
#include "object/owner/process.h"
#include "object/memory/share.h"

struct dxg_keyed_mutex;

/* What all openings share. */
struct keyed_mutex_body {
	struct share share;

	struct lock lock;      /* LOCK_RANK_FENCE */
	struct notice changed; /* released, abandoned, an opening closed, or a process ends */
	uint64_t key;          /* of the last release */
	uint64_t fence_value;  /* of the last release */
	const struct dxg_keyed_mutex *owner; /* NULL: free */
	bool is_abandoned;
	uint32_t private_bytes; /* once not 0, it stays the same */
	void *private_data;
};

/* The runtime's blob; `data` may be NULL when `bytes` is 0. */
struct keyed_mutex_data {
	void *data;
	uint32_t bytes;
};

/* One opening: what a keyed mutex handle names. */
struct dxg_keyed_mutex {
	struct object object;

	/* Set at creation. Read freely afterwards. */
	struct dxg_process *process;
	struct keyed_mutex_body *body; /* with a reference */

	struct list process_link; /* dxg_process.keyed_mutexes, guarded by its lock */

	/* Guarded by the body's lock. */
	bool is_closed;
	struct keyed_mutex_data offered; /* ours; for a mutex that has none */
};

extern const struct object_class keyed_mutex_class;

/* A new mutex and its first opening, with a reference for the caller. */
MUST_CHECK NTSTATUS keyed_mutex_create(struct dxg_process *process, uint64_t initial_key,
				       const struct keyed_mutex_data *initial_data,
				       enum share_scheme scheme,
				       struct dxg_keyed_mutex **mutex_out);

/*
 * One more opening of the mutex whose base is `share`, with a reference for the caller. The blob is
 * for a mutex that has none; otherwise only its size counts, which is 0 or the right one.
 */
MUST_CHECK NTSTATUS keyed_mutex_open(struct dxg_process *process, struct share *share,
				     const struct keyed_mutex_data *initial_data,
				     struct dxg_keyed_mutex **mutex_out);

/* The call that opened it succeeds: now the mutex takes the blob, if it still has none. */
void keyed_mutex_settle(struct dxg_keyed_mutex *mutex);

/* Ends the handle, and abandons the mutex if it holds it. False when another thread was faster. */
MUST_CHECK bool keyed_mutex_destroy(struct dxg_keyed_mutex *mutex);

/*
 * Waits until the mutex is free with this key. STATUS_SUCCESS, STATUS_TIMEOUT, STATUS_ABANDONED
 * (the fence value is 0 with these two), or a refusal. A deadline of 0 does not wait at all. The
 * blob is written into `room` when there is any; less room than the blob needs is refused.
 */
MUST_CHECK NTSTATUS keyed_mutex_acquire(struct dxg_keyed_mutex *mutex, uint64_t key,
					uint64_t deadline_ns, const struct keyed_mutex_data *buffer,
					uint64_t *fence_value_out);

/* The blob replaces the stored one, when there is one; it has the same size, once there was any. */
MUST_CHECK NTSTATUS keyed_mutex_release(struct dxg_keyed_mutex *mutex, uint64_t key,
					uint64_t fence_value,
					const struct keyed_mutex_data *new_data);

/* How large the blob of the mutex whose base is `share` is; 0: it has none. */
uint32_t keyed_mutex_data_bytes(struct share *share);

/* Those who wait look again. */
void keyed_mutex_wake(struct dxg_keyed_mutex *mutex);

#endif
