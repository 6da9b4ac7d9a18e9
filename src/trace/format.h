/* SPDX-License-Identifier: MIT */
/*
 * format.h - the binary form of a trace; docs/trace.md describes it. For trace/ only.
 *
 *	file header | block | block | …
 *
 * All numbers are little-endian, and so is every machine that this is built for.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TRACE_FILE_MAGIC "DXGKTRC"

enum {
	TRACE_FILE_VERSION = 3,
	TRACE_FILE_OLDEST_VERSION = 2 /* that is read: it has no short forms */
};

struct trace_file_header {
	char magic[8];
	uint32_t version;
	uint32_t reserved; /* 0 */
};
_Static_assert(sizeof(struct trace_file_header) == 16, "part of the format");

#define TRACE_BLOCK_MAGIC UINT32_C(0x4b4c4244) /* "DBLK" */

enum { TRACE_BLOCK_MAX_BYTES = 65536 /* behind its header */ };

enum trace_block_kind { TRACE_BLOCK_SCHEMA, TRACE_BLOCK_EVENTS, TRACE_BLOCK_END };

struct trace_block_header {
	uint32_t magic;
	uint32_t size_bytes; /* of what follows this header */
	uint64_t checksum;   /* of everything behind this field */
	uint64_t time;       /* of its first event, by the clock of the trace */
	uint64_t sequence;   /* likewise */
	uint32_t thread;
	uint32_t kind;
	uint64_t written_time; /* when it was written, by the clock of the trace and */
	uint64_t written_ns;   /* in nanoseconds */
};
_Static_assert(sizeof(struct trace_block_header) == 56, "part of the format");

enum { TRACE_CHECKED_FROM = offsetof(struct trace_block_header, time) };

/* What times are counted in, and whose events a sequence counts. */
enum trace_clock {
	TRACE_CLOCK_NS,    /* those of all threads: it says what was first in one nanosecond */
	TRACE_CLOCK_TICKS, /* of one clock that all threads see; those of the thread alone */
	TRACE_CLOCK_COUNT
};

/*
 * An event may have a short form, with a place in the table behind all events: it was at the time of the event before it,
 * and has its first fields only; the others are as they were in the last event of its kind in the block, at first 0.
 */
enum { TRACE_SHORT_FORMS_MAX = 8 };

/*
 * The first byte of an event: which one, and how it goes on: two bytes, the time since the event before; or, when that
 * is too long or the sequence is not the next one, two numbers.
 * Nothing of that in a short form.
 */
enum { TRACE_HEAD_EVENT = 0x7f, TRACE_HEAD_MORE = 0x7f, TRACE_HEAD_LONG = 0x80 };

enum { TRACE_TEXT_MAX_BYTES = 512 /* with its zero; a longer text is cut */ };

static inline uint64_t trace_checksum_add(uint64_t sum, const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Finds what was damaged by accident. Four sums, which a processor makes at once, of every fourth word each. */
static inline uint64_t trace_checksum(const void *bytes, size_t size_bytes)
{
	const uint8_t *at = bytes;
	uint64_t sums[4] = { size_bytes, 1, 2, 3 };
	uint8_t rest[8] = { 0 };

	for (; size_bytes >= sizeof(sums); size_bytes -= sizeof(sums), at += sizeof(sums)) {
		sums[0] = trace_checksum_add(sums[0], at);
		sums[1] = trace_checksum_add(sums[1], at + 8);
		sums[2] = trace_checksum_add(sums[2], at + 16);
		sums[3] = trace_checksum_add(sums[3], at + 24);
	}
	for (; size_bytes >= sizeof(rest); size_bytes -= sizeof(rest), at += sizeof(rest))
		sums[0] = trace_checksum_add(sums[0], at);
	memcpy(rest, at, size_bytes);
	sums[0] = trace_checksum_add(sums[0], rest);
	for (int i = 1; i < 4; i++)
		sums[0] = trace_checksum_add(sums[0] ^ sums[0] >> 32, (const uint8_t *)&sums[i]);
	return sums[0] ^ sums[0] >> 32;
}

#endif
