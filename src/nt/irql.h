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
};

/* The level of the calling thread: behind the functions below, which every crossing goes through.
 */
extern _Thread_local uint8_t nt_irql_level __attribute__((visibility("hidden")));

static inline uint8_t nt_irql_current(void)
{
	return nt_irql_level;
}

static inline void nt_irql_enter(struct nt_irql *scope, uint8_t level)
{
	scope->before = nt_irql_level;
	scope->entered = level;
	nt_irql_level = level;
}

void nt_irql_report_return(const struct nt_irql *scope, const char *routine);

/* Reports a routine that comes back at another level, and restores the one before. */
static inline void nt_irql_leave(const struct nt_irql *scope, const char *routine)
{
	if (UNLIKELY(nt_irql_level != scope->entered))
		nt_irql_report_return(scope, routine);
	nt_irql_level = scope->before;
}

/* The same for a routine that was called at PASSIVE_LEVEL, where the thread was before. */
static inline void nt_irql_expect_passive(const char *routine)
{
	if (UNLIKELY(nt_irql_level != 0))
		nt_irql_leave(&(struct nt_irql){ 0 }, routine);
}

/* "DISPATCH_LEVEL" */
const char *nt_irql_name(uint8_t level);

void nt_irql_report_high(uint8_t highest, const char *routine);

/* Reports NT-IRQL-HIGH when the caller runs above `highest`. True when the call is in order. */
static inline bool nt_irql_require(uint8_t highest, const char *routine)
{
	if (LIKELY(nt_irql_level <= highest))
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
