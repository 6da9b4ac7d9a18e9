/* SPDX-License-Identifier: MIT */
/*
 * pool.h - what the host asks about the memory drivers allocated.
 */
#ifndef NT_POOL_H
#define NT_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What fresh memory holds that was not asked for zeroed, and what a freed block is left with. */
enum { POOL_FRESH_BYTE = 0xCD, POOL_FREED_BYTE = 0xDD };

/* In the place of POOL_FRESH_BYTE, for who compares two runs: what a driver does may depend on no bit of it. */
enum { POOL_OTHER_FRESH_BYTE = 0xff & ~POOL_FRESH_BYTE };
void nt_pool_fill_with(uint8_t byte);

struct nt_pool_usage {
	uint64_t blocks;
	uint64_t bytes;
};

/* What is allocated by all drivers now. */
struct nt_pool_usage nt_pool_usage(void);

/*
 * The image [begin, end) is being unloaded: reports what it allocated and did not free, per tag,
 * frees it, and returns how many blocks that were.
 */
uint64_t nt_pool_report_leaks(const void *begin, const void *end);

/* ExAllocatePoolWithTag and ExFreePoolWithTag for `routine`, which was called at `site`. */
void *nt_pool_allocate(int type, size_t size_bytes, uint32_t tag, const void *site,
		       const char *routine);
void nt_pool_free(void *payload, uint32_t tag, const void *site, const char *routine);

/* A block begins at that address, which may be any, and was not freed. */
bool nt_pool_is_live(const void *payload);

/*
 * Told of every block that a driver takes, gives back, or does not get, on the thread that asks and before a block
 * that is given back is touched. NULL: nobody. For a verifier; before the first driver is loaded.
 */
struct nt_pool_watch {
	void (*allocated)(void *payload, size_t size_bytes, const void *site);
	void (*refused)(size_t size_bytes, const void *site);
	void (*freed)(void *payload, size_t size_bytes, const void *site);
};
void nt_pool_watch_with(const struct nt_pool_watch *watch);

/* For routines that hand out other memory, and had none. */
void nt_pool_refused(size_t size_bytes, const void *site);

/* For routines that allocate for a driver: the block counts as allocated at `site`. */
void *nt_pool_alloc_at(const void *site, size_t size_bytes, uint32_t tag);

#endif
