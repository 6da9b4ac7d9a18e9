/* SPDX-License-Identifier: MIT */
/*
 * settings.h - what the registry may say about this GPU.
 *
 * Pure: values in, a checked description of the hardware out. driver.c reads the registry.
 */
#ifndef GPU_SETTINGS_H
#define GPU_SETTINGS_H

#include "ntdef.h"
#include "opendxgk/softgpu.h"

enum {
	GPU_MIN_LEVELS = 2,
	GPU_MAX_LEVELS = 5,
	GPU_PAGE_BITS = 12,
	GPU_TABLE_BITS = 9, /* 512 entries of 8 bytes: a table is a page */
	GPU_64K_BITS = 16,
	GPU_64K_TABLE_BITS = GPU_TABLE_BITS - (GPU_64K_BITS - GPU_PAGE_BITS),
};

/* Leaf tables of 64 KiB pages: none, instead of one of 4 KiB pages, or beside it. */
enum gpu_pages_64k { GPU_64K_NONE, GPU_64K_SINGLE, GPU_64K_DUAL };

/* What the hardware does wrong, for who verifies the verifier. */
enum gpu_defect {
	GPU_DEFECT_NONE,
	GPU_DEFECT_SLOW,
	GPU_DEFECT_HANG,
	GPU_DEFECT_WRONG_FENCE,
	GPU_DEFECT_WRONG_BYTES
};

enum gpu_update_mode { GPU_UPDATE_GPU_PHYSICAL, GPU_UPDATE_GPU_VIRTUAL, GPU_UPDATE_CPU };

struct gpu_settings {
	ULONG local_mib;
	ULONG aperture_mib;
	ULONG model; /* enum softgpu_address_model */
	ULONG copy_engines;
	ULONG page_table_levels;
	ULONG address_bits;       /* 0 until gpu_settings_finish(): whole tables at every level */
	ULONG update_mode;        /* enum gpu_update_mode */
	ULONG hw_queues;          /* 1: there are hardware queues; needs virtual addresses */
	ULONG has_placed_buffers; /* those of physical contexts are in the aperture */
	ULONG loses_memory;       /* with a reset of the adapter; else it happens to stay */
	ULONG pages_64k;          /* enum gpu_pages_64k */
	ULONG host_aperture_mib;  /* 0: the CPU sees all local memory */
	ULONG defect;             /* enum gpu_defect */
	ULONG defect_at;          /* … of the packet that is so many-th to end, of all engines */
	ULONG hardware_addresses; /* 1: local memory is in large pages that clients' kernels can be shown */
	ULONG companion_kind; /* enum softgpu_node_kind: where updates ordered with rendering run */
	ULONG commands;       /* enum softgpu_commands */
	ULONG has_intel; /* this hardware can be told SOFTGPU_COMMANDS_INTEL; not in the registry */
};

/* One registry value. A number has a range; a text is one of a few words. */
struct gpu_setting {
	PCWSTR name;
	PCSTR print_name;
	size_t offset; /* of the ULONG in struct gpu_settings */
	ULONG minimum;
	ULONG maximum;
	const char *const *words; /* REG_SZ, ended by NULL; or NULL for REG_DWORD */
	const ULONG *word_values;
	PCSTR expected; /* for people */
};

extern const struct gpu_setting gpu_setting_table[];
extern const ULONG gpu_setting_count;

void gpu_settings_init(struct gpu_settings *settings);

/* STATUS_INVALID_PARAMETER, and nothing changed, when the value is not what `setting` expects. */
NTSTATUS gpu_settings_set(struct gpu_settings *settings, const struct gpu_setting *setting,
			  ULONG type, const void *data, ULONG size_bytes);

/* Fills in what follows from the rest. On failure *problem_out says what does not fit together. */
NTSTATUS gpu_settings_finish(struct gpu_settings *settings, PCSTR *problem_out);

/* Index bits of one level; 0 is the leaf, the root takes what the others leave. */
ULONG gpu_settings_index_bits(const struct gpu_settings *settings, ULONG level);

/* 3D, the copy engines, paging: in this order. */
ULONG gpu_settings_node_count(const struct gpu_settings *settings);
ULONG gpu_settings_node_kind(const struct gpu_settings *settings, ULONG node);
/* The one for paging contexts beside those of clients. */
ULONG gpu_settings_companion_node(const struct gpu_settings *settings);

#endif
