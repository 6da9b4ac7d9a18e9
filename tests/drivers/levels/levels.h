/* SPDX-License-Identifier: MIT */
/*
 * levels.h - the escape of the driver that watches its own levels.
 *
 * It asks the driver what it has seen so far. A registry value "Levels" tells the driver to believe
 * something wrong, so that a test can see it notice:
 *
 *   "wrong irql"     DpcRoutine at PASSIVE_LEVEL
 *   "wrong level"    DpcRoutine at level 3: alone
 *   "wrong class"    DpcRoutine and Escape in one class of level 1
 *   "wrong process"  DpcRoutine at level 0, and every thread of the same process
 *   "wrong idle"     a GPU that is never idle
 *   "wrong memory"   memory that nothing ever leaves
 *   "wrong root"     contexts that are told of no root page table
 *   "many processes" that no two threads are of the same one
 *
 * Built with LEVELS_FATAL the first violation stops the machine: then any test is a test of levels.
 */
#ifndef TESTS_DRIVERS_LEVELS_H
#define TESTS_DRIVERS_LEVELS_H

#include <stdint.h>

enum { LEVELS_ESCAPE = 0x4c56454c, LEVELS_SENTENCE_BYTES = 256 };

enum levels_entry {
#define ENTRY(member, irql, level, class) LEVELS_##member,
#include "levels.def"
#undef ENTRY
	LEVELS_SynchronizeExecution, /* the routine it was given */
	LEVELS_ENTRY_COUNT
};

struct levels_seen {
	uint32_t magic;
	uint32_t size_bytes;
	uint64_t violations;
	uint64_t probes;             /* callbacks made from inside entry points */
	uint64_t meetings;           /* entry points that waited for another thread's */
	uint64_t most_inside;        /* threads at once, of any level */
	uint64_t entered;            /* times that something came into video memory */
	uint64_t table_updates;      /* of page tables that could be followed to where they are */
	uint64_t rooted_submissions; /* whose root was looked at */
	uint64_t calls[LEVELS_ENTRY_COUNT];
	char first[LEVELS_SENTENCE_BYTES]; /* violation, as a sentence; "" */
};

#endif
