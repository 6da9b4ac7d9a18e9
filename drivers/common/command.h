/* SPDX-License-Identifier: MIT */
/*
 * command.h - reading command buffers.
 *
 * Pure. One function finds out what a command is and whether it is well formed; who executes or
 * patches it never looks at raw bytes again.
 */
#ifndef GPU_COMMAND_H
#define GPU_COMMAND_H

#include "ntdef.h"
#include "opendxgk/softgpu.h"

/*
 * What only the driver itself writes, into paging buffers. Addresses say a segment and an offset in
 * it, or a virtual address of the paging process.
 */
enum gpu_paging_opcode {
	GPU_PAGING_FILL = 0x100,     /* struct gpu_paging_fill */
	GPU_PAGING_COPY = 0x101,     /* struct gpu_paging_copy: between segments */
	GPU_PAGING_MDL_COPY = 0x102, /* struct gpu_paging_mdl_copy */
	GPU_PAGING_ENTRIES = 0x103,  /* struct gpu_paging_entries */
};

/* The GPU's own view of its memory. Neither starts at zero, so that a forgotten base is noticed. */
#define GPU_LOCAL_BASE    0x1000000000ULL
#define GPU_APERTURE_BASE 0x10000000000ULL

struct gpu_place {
	uint32_t segment; /* SOFTGPU_SEGMENT_*, or GPU_PLACE_VIRTUAL */
	uint32_t reserved;
	uint64_t offset; /* in the segment; or the virtual address */
};
SOFTGPU_ASSERT_SIZE(struct gpu_place, 16);
#define GPU_PLACE_VIRTUAL        0xffffffffu
#define GPU_PLACE_APERTURE_TABLE 0xfffffffeu /* the entries that back the aperture segment */
#define GPU_PLACE_POINTER        0xfffffffdu /* mapped already; never in a buffer */

struct gpu_paging_fill {
	struct softgpu_command header;
	struct gpu_place destination;
	uint64_t size_bytes;
	uint32_t pattern;
	uint32_t reserved;
};
SOFTGPU_ASSERT_SIZE(struct gpu_paging_fill, 40);

struct gpu_paging_copy {
	struct softgpu_command header;
	struct gpu_place destination;
	struct gpu_place source;
	uint64_t size_bytes;
};
SOFTGPU_ASSERT_SIZE(struct gpu_paging_copy, 48);

struct gpu_paging_mdl_copy {
	struct softgpu_command header;
	struct gpu_place segment_side;
	uint64_t mdl; /* PMDL; the kernel keeps it until the fence */
	uint64_t mdl_offset_bytes;
	uint64_t size_bytes;
	uint32_t is_to_mdl;
	uint32_t reserved;
};
SOFTGPU_ASSERT_SIZE(struct gpu_paging_mdl_copy, 56);

/* value, value + stride, value + 2 stride …, `count` times. */
struct gpu_paging_entries {
	struct softgpu_command header;
	struct gpu_place table; /* offset: of the first entry */
	uint64_t count;
	uint64_t value;
	uint64_t stride;
};
SOFTGPU_ASSERT_SIZE(struct gpu_paging_entries, 48);

/* An address field that physical contexts patch. */
struct gpu_operand {
	ULONG field_offset; /* from the start of the command */
	BOOLEAN is_write;
	ULONG alignment;
	ULONGLONG size_bytes; /* of the memory it reaches */
};

enum { GPU_MAX_OPERANDS = 2, GPU_MAX_GROUP_THREADS = 1024 };

struct gpu_command {
	ULONG opcode;
	ULONG size_bytes;
	ULONG operand_count;
	struct gpu_operand operands[GPU_MAX_OPERANDS]; /* destination before source */
};

/*
 * Looks at the command that starts at `bytes`, of which `available` may be read; eight-byte
 * aligned. STATUS_ILLEGAL_INSTRUCTION when it is none; STATUS_PRIVILEGED_INSTRUCTION when it is one
 * that only paging buffers may hold and `is_privileged` is not set.
 */
NTSTATUS gpu_command_decode(const void *bytes, ULONGLONG available, BOOLEAN is_privileged,
			    struct gpu_command *command_out);

/* Virtual operands may be anywhere, but have to be aligned; the decoder cannot know them. */
BOOLEAN gpu_command_is_aligned(const struct gpu_command *command, const void *bytes);

#endif
