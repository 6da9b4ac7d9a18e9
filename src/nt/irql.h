/* SPDX-License-Identifier: MIT */
/*
 * irql.h - the interrupt request level of the calling thread.
 *
 * A thread of this process has a level as a processor has one on Windows. Raising it stops nobody
 * else; it is kept so that a driver sees the level it was promised, and so that what it may not do
 * there is noticed.
 */
#ifndef NT_IRQL_H
#define NT_IRQL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* Host side: around every call into a driver. */
struct nt_irql {
	uint8_t before;
	uint8_t entered;
	uint8_t held; /* locks, on entry */
};

/* The calling thread: behind the functions below, which every crossing goes through. */
union nt_level {
	struct {
		uint8_t irql;
		uint8_t held; /* how many locks of drivers (held.h) */
	};
	uint16_t both;
};
extern _Thread_local union nt_level nt_level __attribute__((visibility("hidden")));

static inline uint8_t nt_irql_current(void)
{
	return nt_level.irql;
}

/* At PASSIVE_LEVEL and without a lock, as a thread is that is nowhere in a driver. */
static inline bool nt_irql_is_plain(void)
{
	return nt_level.both == 0;
}

/* Somebody has to know when a thread comes to DISPATCH_LEVEL and leaves it (paged_guard.h). */
extern bool nt_irql_is_watched __attribute__((visibility("hidden")));
void nt_irql_watched_move(uint8_t from, uint8_t to);

static inline void nt_irql_set(uint8_t level)
{
	if (UNLIKELY(nt_irql_is_watched))
		nt_irql_watched_move(nt_level.irql, level);
	nt_level.irql = level;
}

static inline void nt_irql_enter(struct nt_irql *scope, uint8_t level)
{
	scope->before = nt_level.irql;
	scope->entered = level;
	scope->held = nt_level.held;
	nt_irql_set(level);
}

void nt_irql_report_return(const struct nt_irql *scope, const char *routine);

/*
 * Reports a routine that comes back at another level, or with a lock that it took, which is
 * released; and restores the level before.
 */
static inline void nt_irql_leave(const struct nt_irql *scope, const char *routine)
{
	if (UNLIKELY(nt_level.irql != scope->entered || nt_level.held > scope->held))
		nt_irql_report_return(scope, routine);
	nt_irql_set(scope->before);
}

/* The same for a routine that was called where the thread was plain. */
static inline void nt_irql_expect_plain(const char *routine)
{
	if (UNLIKELY(!nt_irql_is_plain()))
		nt_irql_leave(&(struct nt_irql){ 0 }, routine);
}

/* "DISPATCH_LEVEL" */
const char *nt_irql_name(uint8_t level);

void nt_irql_report_high(uint8_t highest, const char *routine);

/* Reports NT-IRQL-HIGH when the caller runs above `highest`. True when the call is in order. */
static inline bool nt_irql_require(uint8_t highest, const char *routine)
{
	if (LIKELY(nt_level.irql <= highest))
		return true;
	nt_irql_report_high(highest, routine);
	return false;
}

/* Reports NT-IRQL-WAIT: the caller is about to block, which it may only below DISPATCH_LEVEL. */
void nt_irql_require_waitable(const char *routine);

/* Many readers or one writer in a 32-bit word, zero when free; for the locks built on it. */
void nt_rw_acquire_shared(_Atomic uint32_t *word);
void nt_rw_acquire_exclusive(_Atomic uint32_t *word);

/* False, and nothing done, when it is not held in that way. */
bool nt_rw_release_shared(_Atomic uint32_t *word);
bool nt_rw_release_exclusive(_Atomic uint32_t *word);

#endif
