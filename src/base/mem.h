/*
 * mem.h - memory that is counted, and that fails when a test says so.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

MUST_CHECK void *mem_alloc(size_t size_bytes);
MUST_CHECK void *mem_zalloc(size_t size_bytes);

/* count * size_bytes, zeroed; NULL also when the product does not fit. */
MUST_CHECK void *mem_zalloc_array(size_t count, size_t size_bytes);
MUST_CHECK void *mem_realloc(void *memory, size_t size_bytes);
MUST_CHECK char *mem_strdup(const char *text);
MUST_CHECK char *mem_printf(const char *format, ...) PRINTF_LIKE(1, 2);

/* Accepts NULL. */
void mem_free(void *memory);

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
