/* SPDX-License-Identifier: MIT */
/*
 * exerciser.h - a driver's private language, for `dxgk verify` and `dxgk run`.
 *
 * What a client hands through the kernel to its driver is the driver's business: private data, command buffers, addresses in
 * them. An exerciser is a small library, beside the driver, that writes these for whoever wants to make the driver work
 * without knowing it:
 *
 *	const struct dxgk_exerciser *dxgk_exerciser(void);
 *
 * Each member writes at most `room` bytes and returns how many; 0, or a NULL member: this driver has none. A member that
 * would need more than `room` returns 0. Nothing is kept between two calls, and any thread may make them.
 * `size_bytes` is sizeof(struct dxgk_exerciser) as the exerciser was compiled: members behind it are NULL.
 */
#ifndef OPENDXGK_EXERCISER_H
#define OPENDXGK_EXERCISER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DXGK_EXERCISER_VERSION = 1 };

/* What an allocation has to be able to do; more than one may be asked for. */
enum {
	DXGK_EXERCISER_CPU_VISIBLE = 0x1, /* the CPU can lock it; as allocation_data's cpu_visible */
	DXGK_EXERCISER_LOCAL = 0x2,       /* GPU memory only */
	DXGK_EXERCISER_SYSTEM = 0x4,      /* system memory only */
	DXGK_EXERCISER_PHYSICAL = 0x8,    /* at one address, for contexts with allocation lists */
	DXGK_EXERCISER_CACHED = 0x10,     /* cacheable for the CPU */
};

/* What a context has to be like. */
enum {
	DXGK_EXERCISER_STUBBORN = 0x1, /* its work is not preempted, however long it takes */
};

/* One place of a command buffer where an address of an allocation belongs: an entry of the patch location list. */
struct dxgk_exerciser_patch {
	uint32_t allocation_index;  /* in the allocation list */
	uint32_t slot_id;           /* D3DDDI_PATCHLOCATIONLIST.SlotId */
	uint32_t driver_id;         /* D3DDDI_PATCHLOCATIONLIST.DriverId */
	uint32_t allocation_offset; /* bytes */
	uint32_t patch_offset;      /* bytes from the start of the commands */
	uint32_t split_offset;      /* bytes from the start of the commands */
};

/* Where a command of a context with an allocation list reads or writes. */
struct dxgk_exerciser_reference {
	uint32_t allocation_index;
	uint32_t is_written;
	uint64_t offset_bytes;
};

/* Room for the patch locations of one command; the exerciser fills `patches` and sets `count`. */
struct dxgk_exerciser_patches {
	struct dxgk_exerciser_patch *patches;
	uint32_t room;
	uint32_t count;
};

struct dxgk_exerciser {
	uint32_t version; /* DXGK_EXERCISER_VERSION */
	uint32_t size_bytes;

	/* pPrivateDriverData of an allocation of that size. */
	uint32_t (*allocation_data)(uint64_t size_bytes, uint32_t cpu_visible, void *data,
				    uint32_t room);
	/* pPrivateDriverData of a context on that node. */
	uint32_t (*context_data)(uint32_t node, void *data, uint32_t room);

	/* Commands for a context with GPU virtual addresses. They are put one behind the other. */
	uint32_t (*fill)(uint64_t address, uint64_t size_bytes, uint32_t value, void *commands,
			 uint32_t room);
	uint32_t (*copy)(uint64_t to, uint64_t from, uint64_t size_bytes, void *commands,
			 uint32_t room);
	/* Never ends, until the engine is reset. */
	uint32_t (*hang)(void *commands, uint32_t room);

	/* Private data of D3DKMTSubmitCommand for `length` bytes of commands at that GPU address. */
	uint32_t (*submission_data)(uint64_t commands, uint32_t length, void *data, uint32_t room);

	/* ---- what is behind here came later; an older exerciser has none of it ---- */

	/*
	 * As allocation_data, with DXGK_EXERCISER_* in `wishes`; 0 for what the driver cannot do. NULL: allocation_data is
	 * asked.
	 */
	uint32_t (*allocation_data_for)(uint64_t size_bytes, uint32_t wishes, void *data,
					uint32_t room);

	/* Commands for a context with an allocation list (D3DKMTRender), and their patch locations. */
	uint32_t (*fill_list)(const struct dxgk_exerciser_reference *to, uint64_t size_bytes,
			      uint32_t value, void *commands, uint32_t room, uint32_t at_offset,
			      struct dxgk_exerciser_patches *patches);
	uint32_t (*copy_list)(const struct dxgk_exerciser_reference *to,
			      const struct dxgk_exerciser_reference *from, uint64_t size_bytes,
			      void *commands, uint32_t room, uint32_t at_offset,
			      struct dxgk_exerciser_patches *patches);

	/* Occupies the engine for about that long, and can be preempted meanwhile. */
	uint32_t (*busy)(uint64_t microseconds, void *commands, uint32_t room);
	/* Does nothing. */
	uint32_t (*nop)(void *commands, uint32_t room);

	/* pPrivateDriverData of a hardware queue on that node. */
	uint32_t (*hw_queue_data)(uint32_t node, void *data, uint32_t room);
	/* Private data of D3DKMTSubmitCommandToHwQueue. */
	uint32_t (*hw_submission_data)(uint64_t commands, uint32_t length, void *data,
				       uint32_t room);
	/* A private escape that the driver answers with success. */
	uint32_t (*escape_data)(void *data, uint32_t room);

	/* Nodes of the driver that run these commands, a bit each; 0: node 0. */
	uint64_t nodes;
	/* Bytes of a command buffer that one submission may have at most; 0: as many as one likes. */
	uint32_t max_command_bytes;
	uint32_t reserved;

	/* As context_data, with DXGK_EXERCISER_STUBBORN in `wishes`; NULL: context_data is asked. */
	uint32_t (*context_data_for)(uint32_t node, uint32_t wishes, void *data, uint32_t room);
	/* pPrivateDriverData of a hardware context on that node. */
	uint32_t (*hw_context_data)(uint32_t node, void *data, uint32_t room);
	/* Eight bytes, at an address that is a multiple of eight. */
	uint32_t (*store)(uint64_t address, uint64_t value, void *commands, uint32_t room);
	/* Fails as an access to that address would, whatever is there. */
	uint32_t (*fault)(uint64_t address, uint32_t is_write, void *commands, uint32_t room);
};

__attribute__((visibility("default"))) const struct dxgk_exerciser *dxgk_exerciser(void);

#ifdef __cplusplus
}
#endif

#endif
