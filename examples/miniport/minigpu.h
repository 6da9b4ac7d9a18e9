/* SPDX-License-Identifier: MIT */
/*
 * minigpu.h - what a client and the mini GPU say to each other.
 *
 * The kernel carries all of it as private data and never looks inside. A driver of your own has a header like this one; its user-mode
 * half includes it, and so does the exerciser.
 */
#ifndef MINIGPU_H
#define MINIGPU_H

#include <stdint.h>

#define MINIGPU_MAGIC 0x494e494du /* "MINI", the first word of all private data */

/* pPrivateDriverData of an allocation. It may be in one of the memories, or in either. */
#define MINIGPU_LOCAL       0x1u
#define MINIGPU_SYSTEM      0x2u
#define MINIGPU_EITHER      0x3u
#define MINIGPU_CPU_VISIBLE 0x4u
#define MINIGPU_FLAGS       0x7u

struct minigpu_allocation {
	uint32_t magic;
	uint32_t flags;
	uint64_t size_bytes; /* at most MINIGPU_MAX_BYTES */
};

#define MINIGPU_MAX_BYTES (UINT64_C(1) << 32)

/* A command buffer is a row of these. Addresses are GPU virtual addresses of the context. */
enum minigpu_opcode {
	MINIGPU_FILL, /* with the low 32 bits of `from`; address and size are multiples of 4 */
	MINIGPU_COPY, /* lower addresses first */
	MINIGPU_BUSY, /* for `size` microseconds */
	MINIGPU_HANG, /* for ever, and not to be preempted */
};

struct minigpu_command {
	uint64_t opcode;
	uint64_t to;
	uint64_t from;
	uint64_t size;
};

#endif
