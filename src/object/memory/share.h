/* SPDX-License-Identifier: MIT */
/*
 * share.h - the part of an object that outlives its first owner.
 *
 * A shareable object is two things: the body, with a struct share in it, and the openings, each
 * named by a local handle of one process. The body goes when the last reference to it does.
 *
 *	opening ──┐
 *	opening ──┼──▶ share (in the body) ◀── bundle ◀── descriptor = pipe, the client has the
 *	call    ──┘        ▲                             read end and copies of it
 *	                   └ ─ ─ global handle: finds it, holds nothing
 *
 * Two schemes, exclusive per object:
 *
 *   global handle   a number of the global namespace. Dies with the last opening. Numbers can be
 *                   guessed, so they find nothing for another user
 *   NT handle       a file descriptor, which holds references until its last copy is closed,
 *                   wherever dup(), fork() or SCM_RIGHTS took it. Stands for one object or for
 *                   a resource, its keyed mutex and its sync object, and may have a name,
 *                   by which only the same user finds it. Who was given the descriptor may open
 *                   it, whoever he is
 *
 * Last references end bodies, and a body may enter its driver: share_put(), share_close(),
 * share_set_put() and share_sweep() are called with no lock held.
 */
#ifndef OBJECT_MEMORY_SHARE_H
#define OBJECT_MEMORY_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/quota.h"
#include "base/refcount.h"
#include "handle/table.h"

struct dxg_adapter;

enum share_kind { SHARE_RESOURCE, SHARE_KEYED_MUTEX, SHARE_SYNC_OBJECT, SHARE_KIND_COUNT };

enum share_scheme { SHARE_PRIVATE, SHARE_GLOBAL, SHARE_NT };

enum { SHARE_SET_MAX = 3 };

/* What one who opens may do. Who creates may do everything, and nobody gives what he has not. */
enum share_right { SHARE_RIGHT_WRITE = 1, SHARE_RIGHT_WAIT = 2, SHARE_RIGHT_SIGNAL = 4 };

/* Everything that is shared, one per kernel. */
struct share_table {
	struct handle_table globals;

	struct lock lock;         /* LOCK_RANK_SHARE */
	struct list descriptors;  /* share_descriptor.link */
	struct list bundles;      /* share_bundle.link */
	uint64_t last_descriptor; /* their ids, from 1 */
	int watch_fd; /* epoll: says which descriptors have no copy left; -1 when there are none */

	/* Written under lock; a look without it decides whether there is anything to sweep. */
	_Atomic uint32_t descriptor_count;
};

MUST_CHECK NTSTATUS share_table_init(struct share_table *table);

/* Ends every bundle, whoever still has a descriptor of it. Accepts a zeroed struct. */
void share_table_finish(struct share_table *table);

/* First thing of every call that shares, opens or destroys: ends bundles nobody can open any more.
 */
RARE void share_sweep_bundles(struct share_table *table);
static inline bool share_has_bundles(struct share_table *table)
{
	return UNLIKELY(atomic_load_explicit(&table->descriptor_count, memory_order_relaxed) != 0);
}
static inline void share_sweep(struct share_table *table)
{
	if (share_has_bundles(table))
		share_sweep_bundles(table);
}

/* ---- the base of a body ---- */

struct share {
	/* Set by share_init(). Read freely afterwards. */
	struct share_table *table;
	uint32_t user;               /* whose processes find it by its global handle */
	struct dxg_adapter *adapter; /* NULL: of no adapter */
	enum share_kind kind;
	enum share_scheme scheme;
	void (*destroy)(struct share *share);

	struct refcount refs;      /* openings, bundles, calls under way */
	_Atomic uint32_t openings; /* for the life of the global handle */
	struct object global;      /* its handle is 0 unless scheme is SHARE_GLOBAL */
};

/*
 * One reference and one opening: the creator's. destroy() is called when the last reference goes.
 * Nobody finds it by global handle before share_publish().
 */
MUST_CHECK NTSTATUS share_init(struct share *share, struct share_table *table, uint32_t user,
			       enum share_kind kind, enum share_scheme scheme,
			       struct dxg_adapter *adapter, void (*destroy)(struct share *share));

/* Takes share_init() back without calling destroy(): for bodies that were never finished. */
void share_abandon(struct share *share);

void share_publish(struct share *share);

void share_get(struct share *share);
void share_put(struct share *share);

/* For who has a reference: is it the only one? It stays so when nobody can find the body. */
static inline bool share_is_last(const struct share *share)
{
	return refcount_is_last(&share->refs);
}

/*
 * One more opening, with a reference of its own. False when the last
 * opening of a globally shared object was closed after it was found: its global handle is dead.
 */
MUST_CHECK bool share_open(struct share *share);

/* One opening and its reference fewer; the last opening ends the global handle. */
void share_close(struct share *share);

/* The same, and the reference stays with the caller, who puts it later. */
void share_close_keep(struct share *share);

static inline uint32_t share_global_handle(const struct share *share)
{
	return share->global.handle;
}

/* By a global handle of `user`, with a reference. `argument` names the handle in a refusal. */
MUST_CHECK NTSTATUS share_find_global(struct share_table *table, uint32_t user, uint32_t handle,
				      enum share_kind kind, const char *argument,
				      struct share **share_out);

/* ---- NT handles ---- */

/* What an NT handle stands for, with references: a sync object, or a resource and what goes with
 * it. */
struct share_set {
	uint32_t count;  /* 1 or 3 */
	uint32_t rights; /* to the first, enum share_right */
	uint32_t withheld[SHARE_SET_MAX];
	struct share *shares[SHARE_SET_MAX];
};

struct share_nt_options {
	uint32_t access;             /* as the client asked for it */
	uint32_t rights;             /* which of them that are, enum share_right */
	bool is_maximum;             /* and all others that can be had */
	const char *name;            /* UTF-8; NULL for none */
	uint32_t user;               /* among whose names */
	struct quota_ledger *ledger; /* whose quotas the handle and the name count for, or NULL */
	bool is_inherited;           /* survives exec() */
};

/*
 * Makes an NT handle for {resource}, {sync object} or {resource, keyed mutex, sync object}, all
 * created for NT handles; anything else is refused. `withheld` are the rights that the openings
 * have not through which they are shared; NULL: they have all.
 */
MUST_CHECK NTSTATUS share_create_nt(struct share_table *table, struct share *const *shares,
				    const uint32_t *withheld, uint32_t count,
				    const struct share_nt_options *options, int *descriptor_out);

/* One more NT handle of what was shared under options->name, the first of which is of `kind`. */
MUST_CHECK NTSTATUS share_open_name(struct share_table *table, enum share_kind kind,
				    const struct share_nt_options *options, int *descriptor_out);

/*
 * What a client's NT handle (any pointer-sized number) stands for, when the first of it is of
 * `kind`. Put the set afterwards.
 */
MUST_CHECK NTSTATUS share_find_nt(struct share_table *table, uintptr_t nt_handle,
				  enum share_kind kind, const char *argument,
				  struct share_set *set_out);
void share_set_put(struct share_set *set);

/* Recounts its handles and descriptors. NULL, or what does not add up. */
const char *share_table_validate(struct share_table *table);

/* What NT handles stand for, each once per bundle it is in. `visit` is called with the lock held.
 */
void share_for_each_bundled(struct share_table *table,
			    void (*visit)(void *context, struct share *share), void *context);

#endif
