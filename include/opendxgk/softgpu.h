/* SPDX-License-Identifier: MIT */
/*
 * softgpu.h - what a client and the software GPU say to each other.
 *
 * The kernel carries all of this as private driver data and never looks inside: what an allocation
 * should be, what a context should do, the commands in a command buffer, escapes, and what the
 * driver tells about itself. docs/softgpu.md has the picture.
 *
 * Numbers are little-endian, structs have no padding, reserved fields are zero and are checked.
 */
#ifndef OPENDXGK_SOFTGPU_H
#define OPENDXGK_SOFTGPU_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define SOFTGPU_ASSERT_SIZE(type, size) static_assert(sizeof(type) == (size), #type)
#else
#define SOFTGPU_ASSERT_SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#endif

/* ---- allocations: pPrivateDriverData of each allocation ---- */

#define SOFTGPU_ALLOCATION_VERSION 1

/* Without LOCAL_ONLY and SYSTEM_ONLY: local memory, or system memory when that is full. */
#define SOFTGPU_CPU_VISIBLE      0x01u /* can be locked */
#define SOFTGPU_LOCAL_ONLY       0x02u /* never in system memory; not with SYSTEM_ONLY */
#define SOFTGPU_SYSTEM_ONLY      0x04u /* never in local memory */
#define SOFTGPU_CACHED           0x08u /* cacheable for the CPU; needs CPU_VISIBLE */
#define SOFTGPU_CONTIGUOUS       0x10u /* at one physical address; the physical model implies it */
/* For kernels (SOFTGPU_DISPATCH): in local memory, in one run of large pages; not with SYSTEM_ONLY. */
#define SOFTGPU_HARDWARE_ADDRESS 0x20u
#define SOFTGPU_ALLOCATION_FLAGS                                                                   \
	(SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY | SOFTGPU_SYSTEM_ONLY | SOFTGPU_CACHED |         \
	 SOFTGPU_CONTIGUOUS | SOFTGPU_HARDWARE_ADDRESS)
#define SOFTGPU_LARGE_PAGE_BYTES (UINT64_C(1) << 21)

/* Another version is STATUS_GRAPHICS_DRIVER_MISMATCH, anything else wrong INVALID_PARAMETER. */
struct softgpu_allocation {
	uint32_t version; /* SOFTGPU_ALLOCATION_VERSION */
	uint32_t flags;
	uint64_t size_bytes; /* not zero, at most SOFTGPU_MAX_ALLOCATION_BYTES */
	uint64_t alignment;  /* zero or a power of two, at most SOFTGPU_MAX_ALIGNMENT; 4096 at least
			      */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_allocation, 24);

#define SOFTGPU_MAX_ALLOCATION_BYTES (UINT64_C(1) << 47)
#define SOFTGPU_MAX_ALIGNMENT        (UINT64_C(1) << 30)

/*
 * Surfaces that the operating system asked for (standard allocations) carry their shape as well.
 * The driver writes these; a client only meets one when it opens a shared surface.
 */
#define SOFTGPU_SURFACE_VERSION         2
#define SOFTGPU_SURFACE_EXISTING_MEMORY 0x1u /* the pages behind it were there before */

struct softgpu_surface {
	struct softgpu_allocation allocation; /* version is SOFTGPU_SURFACE_VERSION */
	uint32_t surface_flags;
	uint32_t width;
	uint32_t height;
	uint32_t pitch_bytes;
	uint32_t format; /* D3DDDIFORMAT; 0 for plain bytes */
	uint32_t reserved;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_surface, 48);

/*
 * Plain memory of which a client knows more than this GPU has to: with this version, any bytes may
 * follow the struct. They are carried to whoever opens the allocation, and not looked at.
 */
#define SOFTGPU_DESCRIBED_VERSION 3

/* ---- contexts: pPrivateDriverData of CreateContext(Virtual), which may be absent ---- */

#define SOFTGPU_CONTEXT_VERSION 1

/* Runs every packet to its end, so that a long one is late for the scheduler. */
#define SOFTGPU_CONTEXT_IGNORES_PREEMPTION 0x1u
#define SOFTGPU_CONTEXT_FLAGS              SOFTGPU_CONTEXT_IGNORES_PREEMPTION

struct softgpu_context {
	uint32_t version; /* SOFTGPU_CONTEXT_VERSION */
	uint32_t flags;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_context, 8);

/* ---- submissions: private data of D3DKMTSubmitCommand, which may be absent ---- */

#define SOFTGPU_SUBMISSION_VERSION 1

/* A submission whose version or flags are wrong puts its device in error. */
struct softgpu_submission {
	uint32_t version; /* SOFTGPU_SUBMISSION_VERSION */
	uint32_t flags;   /* zero */
	uint64_t tag;     /* the client's own; appears in debug records of a hang */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_submission, 16);

/*
 * With SOFTGPU_COMMANDS_INTEL also this: a store that is the last thing the packet does, which is
 * how such clients learn that it has ended.
 */
#define SOFTGPU_FENCED_SUBMISSION_VERSION 2

struct softgpu_fenced_submission {
	struct softgpu_submission submission; /* version is SOFTGPU_FENCED_SUBMISSION_VERSION */
	uint64_t fence_address;               /* virtual, a multiple of 8 */
	uint64_t fence_value;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_fenced_submission, 32);

/*
 * ---- commands ----
 *
 * A command buffer is a row of commands, each a multiple of eight bytes long, no gaps:
 *
 *	| magic opcode size | operands … | magic opcode size | operands … |
 *
 * They run in order. The last one ends exactly where the buffer ends.
 */

#define SOFTGPU_COMMAND_MAGIC     0x4753u /* "SG" */
#define SOFTGPU_MAX_COMMAND_BYTES 4096u

enum softgpu_opcode {
	SOFTGPU_NOP = 1,      /* struct softgpu_command, any length: padding */
	SOFTGPU_FILL = 2,     /* struct softgpu_fill */
	SOFTGPU_COPY = 3,     /* struct softgpu_copy */
	SOFTGPU_WRITE64 = 4,  /* struct softgpu_write64 */
	SOFTGPU_BUSY = 5,     /* struct softgpu_busy */
	SOFTGPU_HANG = 6,     /* struct softgpu_command: never ends, answers no preemption */
	SOFTGPU_FAULT = 7,    /* struct softgpu_fault: behaves as a failed access */
	SOFTGPU_LOOP = 8,     /* struct softgpu_command: never ends, can be preempted meanwhile */
	SOFTGPU_DISPATCH = 9, /* struct softgpu_dispatch: a kernel that the client has brought */
};

struct softgpu_command {
	uint16_t magic;      /* SOFTGPU_COMMAND_MAGIC */
	uint16_t opcode;     /* enum softgpu_opcode */
	uint32_t size_bytes; /* of the whole command with this header, a multiple of 8 */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_command, 8);

/*
 * Where a command reads or writes.
 *
 * Virtual contexts say a GPU virtual address, which the engine translates through the page tables
 * of the context's process.
 *
 * Physical contexts say an entry of the allocation list and an offset in that allocation. The
 * patch location list of D3DKMTRender either is empty, or has one entry for each such field, in the
 * order of the fields: AllocationIndex and AllocationOffset repeat the field, PatchOffset is the
 * field's place in the command buffer, the rest is zero. An entry that a command writes through
 * has WriteOperation set.
 */
struct softgpu_reference {
	uint32_t allocation_index;
	uint32_t offset_bytes;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_reference, 8);

union softgpu_address {
	uint64_t virtual_address;
	struct softgpu_reference reference;
};
SOFTGPU_ASSERT_SIZE(union softgpu_address, 8);

/* Stores `pattern` over and over. */
struct softgpu_fill {
	struct softgpu_command header;
	union softgpu_address destination; /* a multiple of 4 */
	uint64_t size_bytes;               /* a multiple of 4 */
	uint32_t pattern;
	uint32_t reserved;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_fill, 32);

/* Lower addresses first. What overlapping ranges end up with is not specified. */
struct softgpu_copy {
	struct softgpu_command header;
	union softgpu_address destination;
	union softgpu_address source;
	uint64_t size_bytes;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_copy, 32);

/* One store of eight bytes; what the commands before it wrote is visible to who sees it. */
struct softgpu_write64 {
	struct softgpu_command header;
	union softgpu_address destination; /* a multiple of 8 */
	uint64_t value;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_write64, 24);

/* The engine is occupied that long, and can be preempted meanwhile. */
struct softgpu_busy {
	struct softgpu_command header;
	uint64_t microseconds; /* at most SOFTGPU_MAX_BUSY_MICROSECONDS */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_busy, 16);
#define SOFTGPU_MAX_BUSY_MICROSECONDS UINT64_C(3600000000)

struct softgpu_fault {
	struct softgpu_command header;
	uint64_t address;  /* what is reported, in either kind of context */
	uint32_t is_write; /* 0 or 1 */
	uint32_t reserved;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_fault, 24);

/*
 * Launches a kernel of a module that the process has loaded (SOFTGPU_ESCAPE_LOAD_MODULE), and ends when
 * it has. Virtual contexts only. The software GPU has no kernels: the packet ends as DMA_FAULTED with
 * STATUS_NOT_SUPPORTED there.
 *
 * A kernel goes by hardware addresses, which are the GPU virtual addresses. It sees the ranges that are
 * named here and nothing else; each is memory of SOFTGPU_HARDWARE_ADDRESS, mapped at a multiple of
 * SOFTGPU_LARGE_PAGE_BYTES. What is not mapped, or only to be read and named as written, is a page fault
 * before the kernel runs. One that touches anything else ends with STATUS_ACCESS_VIOLATION, and with it
 * all that its process has loaded: its devices are lost, each with the next kernel that it launches.
 *
 *	arguments ─▶ | range | range | … | parameters, as the kernel's module lays them out |
 */
struct softgpu_dispatch {
	struct softgpu_command header;
	uint32_t kernel; /* softgpu_escape_kernel.kernel */
	uint32_t shared_bytes;
	uint32_t groups[3];       /* of the grid; not zero */
	uint32_t threads[3];      /* of a group; not zero, together at most 1024 */
	uint64_t arguments;       /* a virtual address, multiple of 8 */
	uint32_t range_count;     /* at most SOFTGPU_MAX_RANGES */
	uint32_t parameter_bytes; /* at most SOFTGPU_MAX_PARAMETER_BYTES, a multiple of 4 */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_dispatch, 56);

#define SOFTGPU_MAX_RANGES          256u
#define SOFTGPU_MAX_PARAMETER_BYTES 4096u

#define SOFTGPU_RANGE_WRITTEN 0x1u

struct softgpu_range {
	uint64_t address;    /* a multiple of SOFTGPU_LARGE_PAGE_BYTES, behind the range before */
	uint64_t size_bytes; /* likewise, not zero */
	uint32_t flags;      /* SOFTGPU_RANGE_* */
	uint32_t reserved;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_range, 24);

/* ---- what the adapter is: KMTQAITYPE_UMDRIVERPRIVATE ---- */

#define SOFTGPU_ADAPTER_INFO_VERSION 1
#define SOFTGPU_MAX_NODES            8

enum softgpu_address_model { SOFTGPU_MODEL_GPUMMU = 1, SOFTGPU_MODEL_PHYSICAL = 2 };
enum softgpu_node_kind { SOFTGPU_NODE_3D = 1, SOFTGPU_NODE_COPY = 2, SOFTGPU_NODE_PAGING = 3 };

struct softgpu_adapter_info {
	uint32_t version;       /* out: SOFTGPU_ADAPTER_INFO_VERSION */
	uint32_t address_model; /* out: enum softgpu_address_model */
	uint64_t local_bytes;
	uint64_t aperture_bytes;
	uint32_t virtual_address_bits; /* 0 in the physical model */
	uint32_t page_table_levels;    /* 0 in the physical model */
	uint32_t max_command_bytes;    /* SOFTGPU_MAX_COMMAND_BYTES of this driver */
	uint32_t node_count;
	uint32_t node_kinds[SOFTGPU_MAX_NODES]; /* enum softgpu_node_kind, by node ordinal */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_adapter_info, 72);

/* In which language virtual contexts are given commands (registry value Commands). */
enum softgpu_commands { SOFTGPU_COMMANDS_OWN = 0, SOFTGPU_COMMANDS_INTEL = 1 };

/* Who brings room for it is also told which device this is to be. */
struct softgpu_device_info {
	struct softgpu_adapter_info adapter;
	uint32_t commands;  /* enum softgpu_commands */
	uint16_t vendor_id; /* of configuration space; 0 when it is on no bus */
	uint16_t device_id;
	uint32_t revision;
	uint32_t reserved;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_device_info, 88);

/* ---- escapes: D3DKMT_ESCAPE_DRIVERPRIVATE ---- */

#define SOFTGPU_ESCAPE_VERSION 1

enum softgpu_escape_code {
	SOFTGPU_ESCAPE_GET_INFO = 1, /* struct softgpu_escape_info */
	SOFTGPU_ESCAPE_ECHO = 2,     /* struct softgpu_escape_echo */
	SOFTGPU_ESCAPE_GET_WORK = 3, /* struct softgpu_escape_work */
	/* With hDevice: modules are its process's, and end with it. STATUS_NOT_SUPPORTED where the
	 * adapter has no kernels. */
	SOFTGPU_ESCAPE_LOAD_MODULE = 4,   /* struct softgpu_escape_module */
	SOFTGPU_ESCAPE_UNLOAD_MODULE = 5, /* struct softgpu_escape_module, without an image */
	SOFTGPU_ESCAPE_FIND_KERNEL = 6,   /* struct softgpu_escape_kernel */
	/* For who measures. All zero where the driver's hardware takes no times. */
	SOFTGPU_ESCAPE_GET_TIMES = 7, /* struct softgpu_escape_times */
};

struct softgpu_escape {
	uint32_t version;    /* SOFTGPU_ESCAPE_VERSION */
	uint32_t code;       /* enum softgpu_escape_code */
	uint32_t size_bytes; /* of the whole request: what PrivateDriverDataSize says */
	uint32_t reserved;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_escape, 16);

struct softgpu_escape_info {
	struct softgpu_escape header;
	struct softgpu_adapter_info adapter;
	/* How many of each the driver holds now; the kernel's own are among them. */
	uint32_t live_processes;
	uint32_t live_devices;
	uint32_t live_contexts;
	uint32_t live_resources;
	uint32_t live_allocations;
	uint32_t live_openings; /* allocations times the devices that opened them */
	/* Since the adapter started. */
	uint64_t packets_completed;
	uint64_t packets_preempted;
	uint64_t packets_faulted;
	uint64_t engine_resets;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_escape_info, 144);

#define SOFTGPU_ECHO_HAD_DEVICE          0x1u
#define SOFTGPU_ECHO_HAD_CONTEXT         0x2u
#define SOFTGPU_ECHO_HAD_HARDWARE_ACCESS 0x4u

struct softgpu_escape_echo {
	struct softgpu_escape header;
	uint64_t value;
	uint64_t inverted; /* out: ~value */
	uint32_t had;      /* out: SOFTGPU_ECHO_*, what came with the call */
	uint32_t reserved;
};
SOFTGPU_ASSERT_SIZE(struct softgpu_escape_echo, 40);

/* What one engine did since the adapter started. */
struct softgpu_node_work {
	uint64_t packets;       /* that came to their end */
	uint64_t bytes_written; /* filled, copied, stored */
	uint64_t table_entries; /* of page tables and of the aperture */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_node_work, 24);

struct softgpu_escape_work {
	struct softgpu_escape header;
	struct softgpu_node_work nodes[SOFTGPU_MAX_NODES]; /* out: by node ordinal */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_escape_work, 208);

/* Where the time of packets went, of one engine, since it was first asked for. */
struct softgpu_node_times {
	uint64_t packets;
	uint64_t
		under_way_ns; /* from the hardware's having it to the driver's knowing of its end */
	uint64_t busy_ns;     /* by the GPU's clock: from its finding it to its end */
	uint64_t looks;       /* in which the GPU has found packets, */
	uint64_t look_ns;     /* … and how long these took */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_node_times, 40);

struct softgpu_escape_times {
	struct softgpu_escape header;
	struct softgpu_node_times nodes[SOFTGPU_MAX_NODES]; /* out: by node ordinal */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_escape_times, 336);

/* A module is PTX, as text. One that cannot be compiled is STATUS_INVALID_IMAGE_FORMAT. */
struct softgpu_escape_module {
	struct softgpu_escape header;
	uint32_t module;      /* out, when it is loaded; never 0 */
	uint32_t image_bytes; /* behind this, with the zero that ends it */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_escape_module, 24);

/* A name that the module does not have is STATUS_NOT_FOUND. */
struct softgpu_escape_kernel {
	struct softgpu_escape header;
	uint32_t module;
	uint32_t kernel; /* out: for softgpu_dispatch.kernel; never 0 */
	char name[128];  /* ended by a zero */
};
SOFTGPU_ASSERT_SIZE(struct softgpu_escape_kernel, 152);

/*
 * ---- page-table entries ----
 *
 *	 63                                12 11 10  9  8       4 3     2        1    0
 *	| page number                        | 0   |64K| segment | large | read | zero | valid |
 *	                                                                   only
 *
 * Page number and segment as in DXGK_PTE: 4 KiB pages from the start of the segment, or of physical
 * memory for segment 0. A table above the leaves says where the next table is; with `large` set in
 * level 1, where a page is that covers as much as that table would. `zero` reads as zeroes and
 * drops writes. With `64K` in level 1 the table below has 32 entries for pages of 64 KiB instead of
 * 512 for pages of 4 KiB. Where each entry of level 1 has two pointers (Pages64KiB dual), those to
 * tables of 64 KiB pages are the second 512 of its table, and what is valid there goes first.
 */
#define SOFTGPU_PTE_VALID         UINT64_C(0x001)
#define SOFTGPU_PTE_ZERO          UINT64_C(0x002)
#define SOFTGPU_PTE_READ_ONLY     UINT64_C(0x004)
#define SOFTGPU_PTE_LARGE         UINT64_C(0x008)
#define SOFTGPU_PTE_TABLE_64K     UINT64_C(0x200)
#define SOFTGPU_PTE_SEGMENT_SHIFT 4
#define SOFTGPU_PTE_SEGMENT_MASK  UINT64_C(0x1f0)
#define SOFTGPU_PTE_ADDRESS_MASK  UINT64_C(0xfffffffffffff000)

#define SOFTGPU_SEGMENT_SYSTEM   0u
#define SOFTGPU_SEGMENT_LOCAL    1u
#define SOFTGPU_SEGMENT_APERTURE 2u

#ifdef __cplusplus
}
#endif

#endif
