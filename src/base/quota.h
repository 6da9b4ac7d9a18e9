/* SPDX-License-Identifier: MIT */
/*
 * quota.h - how much of each kind a process and all processes of a user may have at once.
 *
 *	take ──▶ process's ledger ──draws ahead, returns what it does not need──▶ user's ledger
 *
 * Whoever takes says of whose ledger; NULL is nobody's, and nothing is counted. A process counts what
 * it has exactly. Of its user it draws a little more than it needs, so that processes of one user do
 * not write the same word at every step; near the user's limit it draws what it needs.
 *
 * A ledger lives as long as anybody has something of it: what was shared goes on being its maker's.
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/refcount.h"
#include "base/status.h"

enum quota_kind {
	QUOTA_HANDLES,
	QUOTA_ALLOCATIONS,
	QUOTA_SYSTEM_BYTES, /* of the machine's memory */
	QUOTA_NT_HANDLES,
	QUOTA_NAMES,
	QUOTA_EVENTS, /* of which the kernel keeps a copy */
	QUOTA_PRIVATE_BYTES,
	QUOTA_REGISTRATIONS,
	QUOTA_QUEUED_BYTES, /* of the kernel, for work that is queued and not over */
	QUOTA_GPU_RANGES,   /* of GPU addresses */
	QUOTA_BANK_BYTES,   /* addresses of the machine that its banks have, used or not */
	QUOTA_MAPPINGS,     /* of the kernel, for it: banks, and memory that it brought */
	/* A server's. */
	QUOTA_SESSIONS,
	QUOTA_THREADS,
	QUOTA_DESCRIPTORS,
	QUOTA_REQUEST_BYTES, /* of calls that are longer than a channel, while they travel */
	QUOTA_KINDS
};

#define QUOTA_UNLIMITED UINT64_MAX

/* Of one owner; 0: not said. */
struct quota_limits {
	uint64_t most[QUOTA_KINDS];
};

/* What is not said is as `fallback` says; NULL: unlimited. */
void quota_limits_fill(struct quota_limits *limits, const struct quota_limits *fallback);

/* What strangers may have, of a machine with so much memory: for a server. */
void quota_limits_of_strangers(struct quota_limits *process, struct quota_limits *user,
			       uint64_t machine_bytes);

/* As the profile has it ("handles"), and in how many bytes it counts there; NULL behind the last. */
const char *quota_name(enum quota_kind kind);
uint64_t quota_unit(enum quota_kind kind);

/* Everybody's, one per kernel. */
struct quota_book {
	/* Set before the first ledger is opened. What is not said is unlimited. */
	struct quota_limits process;
	struct quota_limits user;

	struct lock lock; /* LOCK_RANK_LEAF */
	struct list
		ledgers; /* quota_ledger.link: of users, and of processes as long as something is left */
};

struct quota_ledger {
	/* Set at creation. */
	struct refcount refs;
	struct quota_book *book;
	struct quota_ledger *above; /* the user's, with a reference; NULL: this is one */
	uint32_t id;                /* pid or user */
	struct quota_limits limits;

	/* Guarded by the book's lock. */
	struct list link; /* quota_book.ledgers */
	bool is_shared;   /* by all sessions of the process that join it */

	struct lock lock;                    /* LOCK_RANK_LEAF; around changes of `drawn` */
	_Atomic uint64_t drawn[QUOTA_KINDS]; /* of the one above */
	_Atomic uint64_t used[QUOTA_KINDS];
};

void quota_book_init(struct quota_book *book);
/* No ledger is left. Accepts a zeroed struct. */
void quota_book_finish(struct quota_book *book);

/*
 * For a process of a user. `limits` are its own; NULL: as the book says. *ledger_out is NULL where
 * neither the process nor the user has a limit. Put it afterwards.
 */
MUST_CHECK NTSTATUS quota_open(struct quota_book *book, uint32_t pid, uint32_t user,
			       const struct quota_limits *limits, struct quota_ledger **ledger_out);

/*
 * The same for what a process has in all of its connections together: there is one ledger, whoever opens it. Who
 * has no pid (another namespace) has one of his own.
 */
MUST_CHECK NTSTATUS quota_join(struct quota_book *book, uint32_t pid, uint32_t user,
			       struct quota_ledger **ledger_out);

/* Both accept NULL. */
struct quota_ledger *quota_get(struct quota_ledger *ledger);
void quota_put(struct quota_ledger *ledger);

/* Would it be taken? A look, which may be wrong a moment later. Accepts NULL: it would. */
bool quota_has_left(const struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount);

/* Behind quota_take(). */
MUST_CHECK NTSTATUS quota_take_from(struct quota_ledger *ledger, enum quota_kind kind,
				    uint64_t amount);
void quota_give_to(struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount);
void quota_force_from(struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount);

/* So much more of a kind, or a refusal that names the quota (SYS-QUOTA), and nothing happened. */
MUST_CHECK static inline NTSTATUS quota_take(struct quota_ledger *ledger, enum quota_kind kind,
					     uint64_t amount)
{
	return UNLIKELY(ledger) ? quota_take_from(ledger, kind, amount) : STATUS_SUCCESS;
}

/* The same for what cannot be refused: it may be above the quota then. */
static inline void quota_force(struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount)
{
	if (UNLIKELY(ledger))
		quota_force_from(ledger, kind, amount);
}

/* Refused when so much more would be above it, and nothing is taken: for what is forced later. */
MUST_CHECK static inline NTSTATUS quota_check(struct quota_ledger *ledger, enum quota_kind kind,
					      uint64_t amount)
{
	NTSTATUS status = quota_take(ledger, kind, amount);

	if (NT_SUCCESS(status) && UNLIKELY(ledger))
		quota_give_to(ledger, kind, amount);
	return status;
}

static inline void quota_give(struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount)
{
	if (UNLIKELY(ledger) && amount != 0)
		quota_give_to(ledger, kind, amount);
}

/* A look. */
static inline uint64_t quota_used(const struct quota_ledger *ledger, enum quota_kind kind)
{
	return atomic_load_explicit(&ledger->used[kind], memory_order_relaxed);
}

/* Whether users have what their processes drew. NULL, or what is wrong. Nobody takes meanwhile. */
const char *quota_book_validate(struct quota_book *book);

#endif
