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

enum { TRACE_FILE_VERSION = 1 };

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
	uint64_t time_ns;    /* of its first event */
	uint64_t sequence;   /* likewise */
	uint32_t thread;
	uint32_t kind;
};
_Static_assert(sizeof(struct trace_block_header) == 40, "part of the format");

enum { TRACE_CHECKED_FROM = offsetof(struct trace_block_header, time_ns) };

/* The first byte of an event: which one, and whether its sequence is not the one after the last. */
enum { TRACE_HEAD_EVENT = 0x7f, TRACE_HEAD_MORE = 0x7f, TRACE_HEAD_GAP = 0x80 };

enum { TRACE_TEXT_MAX_BYTES = 512 /* with its zero; a longer text is cut */ };

/* Finds what was damaged by accident, eight bytes at a time; what is left over counts as with zeroes behind it. */
static inline uint64_t trace_checksum(const void *bytes, size_t size_bytes)
{
	const uint8_t *at = bytes;
	uint64_t sum = size_bytes;
	uint64_t word;

	for (; size_bytes >= sizeof(word); size_bytes -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		sum ^= sum >> 29;
	}
	word = 0;
	memcpy(&word, at, size_bytes);
	sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 32;
}

#endif
