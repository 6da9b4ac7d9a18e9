/* SPDX-License-Identifier: MIT */
/*
 * shapes.h - the shapes of page tables that are tried: levels, sizes, kinds of entries.
 */
#ifndef TESTS_UNIT_PAGETABLE_SHAPES_H
#define TESTS_UNIT_PAGETABLE_SHAPES_H

#include "pagetable/page_tables.h"

enum {
	LOCAL = 1,
	IMPLICIT = 2,
	LOCAL_BYTES = 64 << 20,
	WINDOWS = 5,
	WINDOW_PAGES = 64,
	MEMORIES = 5,
	MEMORY_PAGES = 48,
	MAX_TABLES = 4096,
};

/* How tables look, and where they are. */
struct shape {
	const char *name;
	uint32_t level_count;
	uint32_t address_bits;
	uint32_t index_bits[GPUVA_MAX_LEVELS];
	uint32_t segments[GPUVA_MAX_LEVELS];
	uint32_t flags;
	uint32_t leaf_64k_bytes; /* 0: there are no tables of 64 KiB pages */
	uint32_t segments_of_64k_pages;
};

static const struct shape shapes[] = {
	{ "two levels, 32 bits", 2, 32, { 10, 10 }, { 0, 0 }, TABLES_HAVE_READ_ONLY },
	{ "two levels, the root described as empty",
	  2,
	  34,
	  { 9, 0 },
	  { LOCAL, 0 },
	  TABLES_HAVE_ZERO | TABLES_CACHE_NO_INVALID },
	{ "three levels, 39 bits", 3, 39, { 9, 9, 9 }, { LOCAL, LOCAL, LOCAL }, TABLES_HAVE_ZERO },
	{ "four levels, 48 bits",
	  4,
	  48,
	  { 9, 9, 9, 9 },
	  { IMPLICIT, LOCAL, 0, LOCAL },
	  TABLES_HAVE_ZERO | TABLES_HAVE_READ_ONLY | TABLES_HAVE_NO_EXECUTE |
		  TABLES_HAVE_CACHE_COHERENT | TABLES_CACHE_NO_INVALID | TABLES_END_INVALID },
	{ "five levels, 57 bits", 5, 57, { 9, 9, 9, 9, 9 }, { 0 }, TABLES_HAVE_ZERO },
	{ "three uneven levels", 3, 36, { 5, 12, 7 }, { 0, LOCAL, 0 }, TABLES_END_INVALID },
	{ "large pages of 32 KiB",
	  3,
	  33,
	  { 3, 9, 9 },
	  { LOCAL, LOCAL, LOCAL },
	  TABLES_HAVE_ZERO | TABLES_HAVE_READ_ONLY | TABLES_HAVE_LARGE },
	{ "two levels, large pages anywhere in any memory",
	  2,
	  22,
	  { 2, 8 },
	  { 0, 0 },
	  TABLES_HAVE_LARGE | TABLES_HAVE_UNALIGNED | TABLES_HAVE_LARGE_SYSTEM |
		  TABLES_CACHE_NO_INVALID | TABLES_END_INVALID },
	{ "two levels, a root that begins with four entries, large pages",
	  2,
	  24,
	  { 3, 2 },
	  { LOCAL, LOCAL },
	  TABLES_HAVE_ZERO | TABLES_HAVE_LARGE | TABLES_END_INVALID },
	{ "large pages of 8 and of 32 KiB",
	  4,
	  27,
	  { 1, 2, 3, 9 },
	  { LOCAL, LOCAL, 0, LOCAL },
	  TABLES_HAVE_ZERO | TABLES_HAVE_READ_ONLY | TABLES_HAVE_LARGE },
	{ "large pages of three sizes anywhere in any memory",
	  4,
	  27,
	  { 2, 1, 1, 11 },
	  { 0, LOCAL, LOCAL, LOCAL },
	  TABLES_HAVE_LARGE | TABLES_HAVE_UNALIGNED | TABLES_HAVE_LARGE_SYSTEM |
		  TABLES_CACHE_NO_INVALID | TABLES_END_INVALID },
	{ "64 KiB pages of local memory",
	  3,
	  31,
	  { 5, 7, 7 },
	  { LOCAL, LOCAL, 0 },
	  TABLES_HAVE_ZERO | TABLES_HAVE_READ_ONLY,
	  4096,
	  1 },
	{ "64 KiB pages in any memory, a root that grows",
	  2,
	  24,
	  { 5, 2 },
	  { 0, LOCAL },
	  TABLES_HAVE_64K_SYSTEM | TABLES_CACHE_NO_INVALID | TABLES_END_INVALID,
	  4096,
	  1 },
	{ "64 KiB pages and large pages of 128 KiB",
	  3,
	  31,
	  { 5, 7, 7 },
	  { LOCAL, LOCAL, LOCAL },
	  TABLES_HAVE_ZERO | TABLES_HAVE_LARGE,
	  8192,
	  1 },
	{ "two tables in each entry, for 4 and for 64 KiB pages",
	  3,
	  31,
	  { 5, 7, 7 },
	  { LOCAL, LOCAL, LOCAL },
	  TABLES_HAVE_ZERO | TABLES_HAVE_READ_ONLY | TABLES_ARE_DUAL,
	  4096,
	  1 },
	{ "two tables in each entry of a root that grows, large pages",
	  2,
	  24,
	  { 5, 2 },
	  { 0, LOCAL },
	  TABLES_HAVE_64K_SYSTEM | TABLES_HAVE_LARGE | TABLES_CACHE_NO_INVALID |
		  TABLES_END_INVALID | TABLES_ARE_DUAL,
	  4096,
	  1 },
};

/* Those with tables of 64 KiB pages. */
enum { FIRST_WIDE_SHAPE = 11, FIRST_DUAL_SHAPE = 14, ALL_SHAPES = 16 };

/* The first of them have leaves of 32 pages at least, and no large pages. */
enum { SHAPES = 6 };

#endif
