/* SPDX-License-Identifier: MIT */
/*
 * settings.h - what the registry may say about this GPU.
 *
 * Pure: values in, a checked description of the hardware out. driver.c reads the registry.
 */
#ifndef SOFT_SETTINGS_H
#define SOFT_SETTINGS_H

#include "ntdef.h"
#include "opendxgk/softgpu.h"

enum {
	SOFT_MIN_LEVELS = 2,
	SOFT_MAX_LEVELS = 5,
	SOFT_PAGE_BITS = 12,
	SOFT_TABLE_BITS = 9, /* 512 entries of 8 bytes: a table is a page */
	SOFT_64K_BITS = 16,
	SOFT_64K_TABLE_BITS = SOFT_TABLE_BITS - (SOFT_64K_BITS - SOFT_PAGE_BITS),
};

/* Leaf tables of 64 KiB pages: none, instead of one of 4 KiB pages, or beside it. */
enum soft_pages_64k { SOFT_64K_NONE, SOFT_64K_SINGLE, SOFT_64K_DUAL };

/* What the hardware does wrong, for who verifies the verifier. */
enum soft_defect {
	SOFT_DEFECT_NONE,
	SOFT_DEFECT_SLOW,
	SOFT_DEFECT_HANG,
	SOFT_DEFECT_WRONG_FENCE,
	SOFT_DEFECT_WRONG_BYTES
};

enum soft_update_mode { SOFT_UPDATE_GPU_PHYSICAL, SOFT_UPDATE_GPU_VIRTUAL, SOFT_UPDATE_CPU };

struct soft_settings {
	ULONG local_mib;
	ULONG aperture_mib;
	ULONG model; /* enum softgpu_address_model */
	ULONG copy_engines;
	ULONG page_table_levels;
	ULONG address_bits;       /* 0 until soft_settings_finish(): whole tables at every level */
	ULONG update_mode;        /* enum soft_update_mode */
	ULONG hw_queues;          /* 1: there are hardware queues; needs virtual addresses */
	ULONG has_placed_buffers; /* those of physical contexts are in the aperture */
	ULONG loses_memory;       /* with a reset of the adapter; else it happens to stay */
	ULONG pages_64k;          /* enum soft_pages_64k */
	ULONG host_aperture_mib;  /* 0: the CPU sees all local memory */
	ULONG defect;             /* enum soft_defect */
	ULONG defect_at;          /* … of the packet that is so many-th to end, of all engines */
	ULONG companion_kind; /* enum softgpu_node_kind: where updates ordered with rendering run */
};

/* One registry value. A number has a range; a text is one of a few words. */
struct soft_setting {
	PCWSTR name;
	PCSTR print_name;
	size_t offset; /* of the ULONG in struct soft_settings */
	ULONG minimum;
	ULONG maximum;
	const char *const *words; /* REG_SZ, ended by NULL; or NULL for REG_DWORD */
	const ULONG *word_values;
	PCSTR expected; /* for people */
};

extern const struct soft_setting soft_setting_table[];
extern const ULONG soft_setting_count;

void soft_settings_init(struct soft_settings *settings);

/* STATUS_INVALID_PARAMETER, and nothing changed, when the value is not what `setting` expects. */
NTSTATUS soft_settings_set(struct soft_settings *settings, const struct soft_setting *setting,
			   ULONG type, const void *data, ULONG size_bytes);

/* Fills in what follows from the rest. On failure *problem_out says what does not fit together. */
NTSTATUS soft_settings_finish(struct soft_settings *settings, PCSTR *problem_out);

/* Index bits of one level; 0 is the leaf, the root takes what the others leave. */
ULONG soft_settings_index_bits(const struct soft_settings *settings, ULONG level);

/* 3D, the copy engines, paging: in this order. */
ULONG soft_settings_node_count(const struct soft_settings *settings);
ULONG soft_settings_node_kind(const struct soft_settings *settings, ULONG node);
/* The one for paging contexts beside those of clients. */
ULONG soft_settings_companion_node(const struct soft_settings *settings);

#endif
