/* SPDX-License-Identifier: MIT */
/*
 * quota.c - see quota.h.
 *
 * A word `used` for each kind, changed by whoever takes and gives; a process's `drawn` is never below
 * its `used` once a take is over, and the user's `used` is the sum of what its processes drew.
 *
 * Locks: a ledger's own around `drawn`, and the book's around the list of users. Nothing is taken
 * under either.
 */
#include <assert.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/quota.h"
#include "base/refusal.h"
#include "base/tally.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* Of a user's limit what a process draws ahead, at most. */
enum { DRAWS_OF_A_LIMIT = 1024 };

/*
 * What is counted in bytes is a quota in NT's sense; of things there are not enough resources for one
 * more, as NT says of handles.
 */
static const struct {
	const char *name;
	const char *words;
	uint64_t unit;
	NTSTATUS status;
	uint64_t strangers_process;
	uint64_t strangers_user;
} kinds[QUOTA_KINDS] = {
	[QUOTA_HANDLES] = { "handles", "handles", 1, STATUS_INSUFFICIENT_RESOURCES, 1000000,
			    4000000 },
	[QUOTA_ALLOCATIONS] = { "allocations", "allocations", 1, STATUS_INSUFFICIENT_RESOURCES,
				1000000, 4000000 },
	[QUOTA_SYSTEM_BYTES] = { "systemMiB", "bytes of system memory", MIB, STATUS_QUOTA_EXCEEDED,
				 0, 0 },
	[QUOTA_NT_HANDLES] = { "ntHandles", "NT handles", 1, STATUS_INSUFFICIENT_RESOURCES, 4096,
			       16384 },
	[QUOTA_NAMES] = { "names", "names", 1, STATUS_INSUFFICIENT_RESOURCES, 1024, 4096 },
	[QUOTA_EVENTS] = { "events", "events", 1, STATUS_INSUFFICIENT_RESOURCES, 4096, 16384 },
	[QUOTA_PRIVATE_BYTES] = { "privateKiB", "bytes of private data", KIB, STATUS_QUOTA_EXCEEDED,
				  256 * MIB, 1024 * MIB },
	[QUOTA_REGISTRATIONS] = { "registrations", "registrations", 1,
				  STATUS_INSUFFICIENT_RESOURCES, 4096, 16384 },
	[QUOTA_QUEUED_BYTES] = { "queuedKiB", "bytes of queued work", KIB, STATUS_QUOTA_EXCEEDED,
				 64 * MIB, 256 * MIB },
	[QUOTA_GPU_RANGES] = { "gpuRanges", "ranges of GPU addresses", 1,
			       STATUS_INSUFFICIENT_RESOURCES, 1000000, 4000000 },
	[QUOTA_BANK_BYTES] = { "bankMiB", "bytes in its banks", MIB, STATUS_QUOTA_EXCEEDED, 0, 0 },
	[QUOTA_MAPPINGS] = { "mappings", "mappings", 1, STATUS_INSUFFICIENT_RESOURCES, 2048, 6144 },
	[QUOTA_SESSIONS] = { "sessions", "sessions", 1, STATUS_INSUFFICIENT_RESOURCES, 64, 512 },
	[QUOTA_THREADS] = { "threads", "threads", 1, STATUS_INSUFFICIENT_RESOURCES, 64, 1024 },
	[QUOTA_DESCRIPTORS] = { "descriptors", "descriptors", 1, STATUS_INSUFFICIENT_RESOURCES,
				8192, 32768 },
	[QUOTA_REQUEST_BYTES] = { "requestKiB", "bytes of long requests and replies", KIB,
				  STATUS_QUOTA_EXCEEDED, 128 * MIB, 512 * MIB },
};

/* ---- limits ---- */

const char *quota_name(enum quota_kind kind)
{
	return kind < QUOTA_KINDS ? kinds[kind].name : NULL;
}

uint64_t quota_unit(enum quota_kind kind)
{
	return kinds[kind].unit;
}

void quota_limits_fill(struct quota_limits *limits, const struct quota_limits *fallback)
{
	for (int kind = 0; kind < QUOTA_KINDS; kind++) {
		if (limits->most[kind] == 0)
			limits->most[kind] = fallback ? fallback->most[kind] : QUOTA_UNLIMITED;
	}
}

void quota_limits_of_strangers(struct quota_limits *process, struct quota_limits *user,
			       uint64_t machine_bytes)
{
	for (int kind = 0; kind < QUOTA_KINDS; kind++) {
		process->most[kind] = kinds[kind].strangers_process;
		user->most[kind] = kinds[kind].strangers_user;
	}
	process->most[QUOTA_SYSTEM_BYTES] = machine_bytes / 2;
	user->most[QUOTA_SYSTEM_BYTES] = machine_bytes / 4 * 3;
	/* What is freed stays a bank's for a while. */
	process->most[QUOTA_BANK_BYTES] = machine_bytes / 4 * 3;
	user->most[QUOTA_BANK_BYTES] = machine_bytes;
}

static bool has_limit(const struct quota_limits *limits)
{
	for (int kind = 0; kind < QUOTA_KINDS; kind++) {
		if (limits->most[kind] != 0 && limits->most[kind] != QUOTA_UNLIMITED)
			return true;
	}
	return false;
}

/* ---- ledgers ---- */

void quota_book_init(struct quota_book *book)
{
	*book = (struct quota_book){ 0 };
	lock_init(&book->lock, LOCK_RANK_LEAF, "quotas of users");
	list_init(&book->ledgers);
}

void quota_book_finish(struct quota_book *book)
{
	if (!book->ledgers.next)
		return;
	assert(list_is_empty(&book->ledgers));
	lock_finish(&book->lock);
}

static struct quota_ledger *ledger_create(struct quota_book *book, uint32_t id,
					  const struct quota_limits *limits)
{
	struct quota_ledger *ledger = mem_zalloc_apart(sizeof(*ledger));

	if (!ledger)
		return NULL;
	refcount_init(&ledger->refs);
	ledger->book = book;
	ledger->id = id;
	ledger->limits = *limits;
	quota_limits_fill(&ledger->limits, NULL);
	lock_init(&ledger->lock, LOCK_RANK_LEAF, "quotas of a process");
	list_init(&ledger->link);
	return ledger;
}

/* Nobody has it any more. */
static void ledger_free(struct quota_ledger *ledger)
{
	lock_acquire(&ledger->book->lock);
	list_remove(&ledger->link);
	lock_release(&ledger->book->lock);
	lock_finish(&ledger->lock);
	mem_free(ledger);
}

static struct quota_ledger *find_user_locked(struct quota_book *book, uint32_t user)
{
	lock_assert_held(&book->lock);
	list_each (struct quota_ledger, ledger, &book->ledgers, link) {
		if (!ledger->above && ledger->id == user && refcount_get_unless_zero(&ledger->refs))
			return ledger;
	}
	return NULL;
}

/* With a reference; NULL: no memory. */
static struct quota_ledger *user_open(struct quota_book *book, uint32_t user)
{
	struct quota_ledger *fresh = ledger_create(book, user, &book->user);

	if (!fresh)
		return NULL;
	lock_acquire(&book->lock);
	struct quota_ledger *found = find_user_locked(book, user);
	if (!found)
		list_push_back(&book->ledgers, &fresh->link);
	lock_release(&book->lock);
	if (!found)
		return fresh;
	ledger_free(fresh);
	return found;
}

NTSTATUS quota_open(struct quota_book *book, uint32_t pid, uint32_t user,
		    const struct quota_limits *limits, struct quota_ledger **ledger_out)
{
	struct quota_limits own = limits ? *limits : book->process;

	*ledger_out = NULL;
	quota_limits_fill(&own, &book->process);
	if (!has_limit(&own) && !has_limit(&book->user))
		return STATUS_SUCCESS;
	struct quota_ledger *ledger = ledger_create(book, pid, &own);
	if (!ledger)
		goto no_memory;
	ledger->above = user_open(book, user);
	if (!ledger->above)
		goto free_ledger;
	lock_acquire(&book->lock);
	list_push_back(&book->ledgers, &ledger->link);
	lock_release(&book->lock);
	*ledger_out = ledger;
	return STATUS_SUCCESS;

free_ledger:
	ledger_free(ledger);
no_memory:
	return refuse_no_memory("no memory for the quotas of a process");
}

/* The one that the sessions of its process share, with a reference; or NULL, and `fresh` is that one from now on. */
static struct quota_ledger *find_shared(struct quota_ledger *fresh)
{
	struct quota_book *book = fresh->book;
	struct quota_ledger *found = NULL;

	lock_acquire(&book->lock);
	list_each (struct quota_ledger, ledger, &book->ledgers, link) {
		if (!found && ledger->is_shared && ledger->id == fresh->id &&
		    ledger->above == fresh->above && refcount_get_unless_zero(&ledger->refs))
			found = ledger;
	}
	fresh->is_shared = !found;
	lock_release(&book->lock);
	return found;
}

NTSTATUS quota_join(struct quota_book *book, uint32_t pid, uint32_t user,
		    struct quota_ledger **ledger_out)
{
	struct quota_ledger *fresh;
	NTSTATUS status = quota_open(book, pid, user, NULL, &fresh);
	struct quota_ledger *found = fresh && pid != 0 ? find_shared(fresh) : NULL;

	*ledger_out = found ? found : fresh;
	if (found)
		quota_put(fresh);
	return status;
}

struct quota_ledger *quota_get(struct quota_ledger *ledger)
{
	if (ledger)
		refcount_get(&ledger->refs);
	return ledger;
}

void quota_put(struct quota_ledger *ledger)
{
	if (!ledger || !refcount_put(&ledger->refs))
		return;
	for (int kind = 0; kind < QUOTA_KINDS; kind++) {
		assert(quota_used(ledger, (enum quota_kind)kind) == 0);
		atomic_fetch_sub(&ledger->above->used[kind], atomic_load(&ledger->drawn[kind]));
	}
	struct quota_ledger *user = ledger->above;
	ledger_free(ledger);
	if (refcount_put(&user->refs))
		ledger_free(user);
}

/* ---- taking and giving ---- */

static NTSTATUS refuse_more(const struct quota_ledger *ledger, enum quota_kind kind,
			    uint64_t amount)
{
	static struct tally refusals[QUOTA_KINDS];
	const bool is_user = !ledger->above;

	tally_count(&refusals[kind], "quota_refusals", kinds[kind].name);
	return refuse(kinds[kind].status, RULE_SYS_QUOTA, NULL,
		      "%s %u has %llu %s, and %llu more are above its quota of %llu "
		      "(limits.%s.%s)",
		      is_user ? "User" : "Process", ledger->id,
		      (unsigned long long)quota_used(ledger, kind), kinds[kind].words,
		      (unsigned long long)amount, (unsigned long long)ledger->limits.most[kind],
		      is_user ? "user" : "process", kinds[kind].name);
}

/* False: that is more than there may be, and nothing was taken. */
static bool take_own(struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount)
{
	uint64_t most = ledger->limits.most[kind];
	uint64_t used = atomic_load_explicit(&ledger->used[kind], memory_order_relaxed);

	do {
		if (amount > most || used > most - amount)
			return false;
	} while (!atomic_compare_exchange_weak(&ledger->used[kind], &used, used + amount));
	return true;
}

static uint64_t drawn_ahead(const struct quota_ledger *user, enum quota_kind kind)
{
	uint64_t most = user->limits.most[kind];

	return most == QUOTA_UNLIMITED ? UINT32_MAX : most / DRAWS_OF_A_LIMIT;
}

/* Until the user's ledger has what is used; `is_forced`: whatever its limit is. */
static bool draw_locked(struct quota_ledger *ledger, enum quota_kind kind, bool is_forced)
{
	struct quota_ledger *user = ledger->above;
	uint64_t used = atomic_load(&ledger->used[kind]);
	uint64_t drawn = atomic_load(&ledger->drawn[kind]);

	lock_assert_held(&ledger->lock);
	if (used <= drawn)
		return true;
	uint64_t wanted = used - drawn;
	uint64_t ahead = wanted + drawn_ahead(user, kind);
	if (take_own(user, kind, ahead)) {
		wanted = ahead;
	} else if (is_forced) {
		atomic_fetch_add(&user->used[kind], wanted);
	} else if (!take_own(user, kind, wanted)) {
		return false;
	}
	atomic_store(&ledger->drawn[kind], drawn + wanted);
	return true;
}

static bool draw(struct quota_ledger *ledger, enum quota_kind kind, bool is_forced)
{
	if (LIKELY(atomic_load(&ledger->used[kind]) <= atomic_load(&ledger->drawn[kind])))
		return true;
	lock_acquire(&ledger->lock);
	bool has_drawn = draw_locked(ledger, kind, is_forced);
	lock_release(&ledger->lock);
	return has_drawn;
}

static bool has_left(const struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount)
{
	uint64_t most = ledger->limits.most[kind];
	uint64_t used = atomic_load_explicit(&ledger->used[kind], memory_order_relaxed);

	return amount <= most && used <= most - amount;
}

bool quota_has_left(const struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount)
{
	return !ledger || (has_left(ledger, kind, amount) &&
			   (!ledger->above || has_left(ledger->above, kind, amount)));
}

NTSTATUS quota_take_from(struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount)
{
	if (!take_own(ledger, kind, amount))
		return refuse_more(ledger, kind, amount);
	if (LIKELY(!ledger->above || draw(ledger, kind, false)))
		return STATUS_SUCCESS;
	quota_give_to(ledger, kind, amount);
	return refuse_more(ledger->above, kind, amount);
}

void quota_force_from(struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount)
{
	atomic_fetch_add(&ledger->used[kind], amount);
	if (ledger->above)
		(void)draw(ledger, kind, true);
}

/* What is drawn beyond two steps goes back, down to one. */
static void return_locked(struct quota_ledger *ledger, enum quota_kind kind)
{
	uint64_t kept = atomic_load(&ledger->used[kind]) + drawn_ahead(ledger->above, kind);
	uint64_t drawn = atomic_load(&ledger->drawn[kind]);

	lock_assert_held(&ledger->lock);
	if (drawn <= kept)
		return;
	/* Whoever takes meanwhile finds less drawn, and draws, or is seen here. */
	atomic_store(&ledger->drawn[kind], kept);
	uint64_t used = atomic_load(&ledger->used[kind]);
	if (used > kept) {
		kept = used < drawn ? used : drawn;
		atomic_store(&ledger->drawn[kind], kept);
	}
	atomic_fetch_sub(&ledger->above->used[kind], drawn - kept);
}

void quota_give_to(struct quota_ledger *ledger, enum quota_kind kind, uint64_t amount)
{
	uint64_t before = atomic_fetch_sub(&ledger->used[kind], amount);

	assert(before >= amount);
	if (!ledger->above || atomic_load(&ledger->drawn[kind]) - (before - amount) <=
				      2 * drawn_ahead(ledger->above, kind))
		return;
	lock_acquire(&ledger->lock);
	return_locked(ledger, kind);
	lock_release(&ledger->lock);
}

/* ---- recounting ---- */

static const char *user_validate_locked(struct quota_book *book, const struct quota_ledger *user)
{
	lock_assert_held(&book->lock);
	for (int kind = 0; kind < QUOTA_KINDS; kind++) {
		uint64_t drawn = 0;

		list_each (struct quota_ledger, ledger, &book->ledgers, link) {
			if (ledger->above != user)
				continue;
			drawn += atomic_load(&ledger->drawn[kind]);
			if (atomic_load(&ledger->used[kind]) > atomic_load(&ledger->drawn[kind]))
				return "a process has more than it drew of its user's quota";
		}
		if (drawn != atomic_load(&user->used[kind]))
			return "a user's quota is not what its processes drew";
	}
	return NULL;
}

const char *quota_book_validate(struct quota_book *book)
{
	const char *wrong = NULL;

	lock_acquire(&book->lock);
	list_each (struct quota_ledger, ledger, &book->ledgers, link) {
		if (!wrong && !ledger->above)
			wrong = user_validate_locked(book, ledger);
	}
	lock_release(&book->lock);
	return wrong;
}
