/* SPDX-License-Identifier: MIT */
/*
 * dirty.h - much memory that is full of 0xEE, of which a page comes into being when it is written: to
 * fill all of it would be most of what a test does.
 */
#ifndef TESTS_SUPPORT_DIRTY_H
#define TESTS_SUPPORT_DIRTY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DIRTY_PIECE_BYTES = 1 << 20 };

static inline void dirty_check(int works)
{
	if (!works)
		abort();
}

/* A file of one piece of it. */
static inline int dirty_pattern(void)
{
	int pattern = memfd_create("dirty", MFD_CLOEXEC);

	dirty_check(pattern >= 0 && ftruncate(pattern, DIRTY_PIECE_BYTES) == 0);
	void *bytes = mmap(NULL, DIRTY_PIECE_BYTES, PROT_WRITE, MAP_SHARED, pattern, 0);
	dirty_check(bytes != MAP_FAILED);
	memset(bytes, 0xEE, DIRTY_PIECE_BYTES);
	munmap(bytes, DIRTY_PIECE_BYTES);
	return pattern;
}

/* `size_bytes` in whole pieces; for dirty_free(). */
static inline uint8_t *dirty_memory(size_t size_bytes)
{
	uint8_t *memory = mmap(NULL, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int pattern = dirty_pattern();

	dirty_check(memory != MAP_FAILED && size_bytes % DIRTY_PIECE_BYTES == 0);
	for (size_t at = 0; at < size_bytes; at += DIRTY_PIECE_BYTES)
		dirty_check(mmap(memory + at, DIRTY_PIECE_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_FIXED, pattern, 0) == memory + at);
	close(pattern);
	return memory;
}

static inline void dirty_free(uint8_t *memory, size_t size_bytes)
{
	munmap(memory, size_bytes);
}

#endif
