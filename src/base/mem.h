/* SPDX-License-Identifier: MIT */
/*
 * mem.h - memory that is counted, and that fails when a test says so.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/sanitizers.h"

MUST_CHECK void *mem_alloc(size_t size_bytes);
MUST_CHECK void *mem_zalloc(size_t size_bytes);

/* Zeroed, and in no cache line with anything else: for what one thread writes all the time. */
MUST_CHECK void *mem_zalloc_apart(size_t size_bytes);

/* count * size_bytes, zeroed; NULL also when the product does not fit. */
MUST_CHECK void *mem_zalloc_array(size_t count, size_t size_bytes);
MUST_CHECK void *mem_realloc(void *memory, size_t size_bytes);
/* The array with a slot behind `count` items: as it is, or twice as long. NULL without memory, and it stays. */
MUST_CHECK void *mem_grow_array(void *array, size_t count, size_t *capacity, size_t item_bytes);
MUST_CHECK char *mem_strdup(const char *text);
MUST_CHECK char *mem_printf(const char *format, ...) PRINTF_LIKE(1, 2);

/* Accepts NULL. */
void mem_free(void *memory);

/*
 * For who only watches, and must leave no trace in what is watched: not counted, and never failing on demand. Zeroed;
 * NULL when there is none. Given back to mem_free_aside(), which accepts NULL.
 */
MUST_CHECK void *mem_zalloc_aside(size_t size_bytes);
void mem_free_aside(void *memory);

/*
 * Are blocks kept at hand? Not where a sanitizer watches, which knows what was freed only if it is.
 */
#ifndef MEM_KEEPS
#define MEM_KEEPS !IS_SANITIZED
#endif

/*
 * Small blocks that come and go all the time: the calling thread keeps a few of each size at hand,
 * so that most are neither taken from the system nor given back to it. Counted and failing on
 * demand like all others. What is in a new one is not defined. Whoever gives one back says how
 * large it is; any thread may.
 */
MUST_CHECK void *mem_take(size_t size_bytes);
void mem_give(void *memory, size_t size_bytes);

/*
 * The same, up to MEM_KNOWN_MAX_BYTES, for who is given pointers by strangers: whether a block
 * begins there is answered without following the pointer. Kept in any case: who wants them watched
 * looks at MEM_KEEPS. The memory stays readable for ever, also
 * when the block is not taken; then its first word is ours. A block that was never taken is zero.
 */
enum { MEM_KNOWN_MAX_BYTES = 528 };
MUST_CHECK void *mem_take_known(size_t size_bytes);
void mem_give_known(void *memory, size_t size_bytes);
bool mem_is_known(const void *pointer);
void mem_visit_known(void (*visit)(void *context, void *memory), void *context);

/*
 * Between the two this thread takes no memory, no pages of the machine and no mapping: what it does
 * can neither fail nor wait for want of them. Builds with assertions stop at who does. They nest.
 */
#ifdef NDEBUG
#define mem_forbid()               ((void)0)
#define mem_permit()               ((void)0)
#define mem_assert_permitted(what) ((void)(what))
#else
void mem_forbid(void);
void mem_permit(void);
void mem_assert_permitted(const char *what);
#endif

struct mem_usage {
	int64_t blocks;
	int64_t bytes;
};

/* What is allocated now. Exact while no other thread allocates. */
struct mem_usage mem_usage(void);

/*
 * The n-th allocation from now fails (1 is the next). mem_fail_stop() ends that and tells whether
 * it came to a failure, so a test can walk through all of them:
 *
 *	do {
 *		mem_fail_nth(++n);
 *		…
 *	} while (mem_fail_stop());
 */
void mem_fail_nth(uint64_t n);
bool mem_fail_stop(void);

#endif
