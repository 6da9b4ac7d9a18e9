/* SPDX-License-Identifier: MIT */
/*
 * settings.c - see settings.h.
 *
 *   in:   registry values as they are stored: type and bytes
 *   out:  struct gpu_settings, complete and consistent, or which value is wrong
 *
 * Locks: none. Nothing here touches the registry.
 */
#include "settings.h"

static const char *const model_words[] = { "gpummu", "physical", NULL };
static const ULONG model_values[] = { SOFTGPU_MODEL_GPUMMU, SOFTGPU_MODEL_PHYSICAL };

static const char *const update_words[] = { "gpu_physical", "gpu_virtual", "cpu_virtual", NULL };
static const ULONG update_values[] = { GPU_UPDATE_GPU_PHYSICAL, GPU_UPDATE_GPU_VIRTUAL,
				       GPU_UPDATE_CPU };

static const char *const pages_64k_words[] = { "none", "single", "dual", NULL };
static const ULONG pages_64k_values[] = { GPU_64K_NONE, GPU_64K_SINGLE, GPU_64K_DUAL };

static const char *const node_words[] = { "3d", "copy", "paging", NULL };
static const ULONG node_values[] = { SOFTGPU_NODE_3D, SOFTGPU_NODE_COPY, SOFTGPU_NODE_PAGING };

static const char *const commands_words[] = { "softgpu", "intel", NULL };
static const ULONG commands_values[] = { SOFTGPU_COMMANDS_OWN, SOFTGPU_COMMANDS_INTEL };

static const char *const defect_words[] = { "none",        "slow",        "hang",
					    "wrong-fence", "wrong-bytes", NULL };
static const ULONG defect_values[] = { GPU_DEFECT_NONE, GPU_DEFECT_SLOW, GPU_DEFECT_HANG,
				       GPU_DEFECT_WRONG_FENCE, GPU_DEFECT_WRONG_BYTES };

#define OFFSET(field) __builtin_offsetof(struct gpu_settings, field)

const struct gpu_setting gpu_setting_table[] = {
	{ L"LocalMemoryMiB", "LocalMemoryMiB", OFFSET(local_mib), 1, 65536, NULL, NULL,
	  "a number from 1 to 65536" },
	{ L"ApertureMiB", "ApertureMiB", OFFSET(aperture_mib), 1, 65536, NULL, NULL,
	  "a number from 1 to 65536" },
	{ L"AddressModel", "AddressModel", OFFSET(model), 0, 0, model_words, model_values,
	  "gpummu or physical" },
	{ L"CopyEngines", "CopyEngines", OFFSET(copy_engines), 1, 4, NULL, NULL,
	  "a number from 1 to 4" },
	{ L"PageTableLevels", "PageTableLevels", OFFSET(page_table_levels), GPU_MIN_LEVELS,
	  GPU_MAX_LEVELS, NULL, NULL, "a number from 2 to 5" },
	{ L"VirtualAddressBits", "VirtualAddressBits", OFFSET(address_bits), 22, 57, NULL, NULL,
	  "a number from 22 to 57" },
	{ L"PageTableUpdateMode", "PageTableUpdateMode", OFFSET(update_mode), 0, 0, update_words,
	  update_values, "gpu_physical, gpu_virtual or cpu_virtual" },
	{ L"HwQueues", "HwQueues", OFFSET(hw_queues), 0, 1, NULL, NULL, "0 or 1" },
	{ L"DmaBuffersInAperture", "DmaBuffersInAperture", OFFSET(has_placed_buffers), 0, 1, NULL,
	  NULL, "0 or 1" },
	{ L"LoseMemoryOnReset", "LoseMemoryOnReset", OFFSET(loses_memory), 0, 1, NULL, NULL,
	  "0 or 1" },
	{ L"Pages64KiB", "Pages64KiB", OFFSET(pages_64k), 0, 0, pages_64k_words, pages_64k_values,
	  "none, single or dual" },
	{ L"CpuHostApertureMiB", "CpuHostApertureMiB", OFFSET(host_aperture_mib), 0, 65536, NULL,
	  NULL, "a number from 0 to 65536" },
	{ L"PagingCompanionNode", "PagingCompanionNode", OFFSET(companion_kind), 0, 0, node_words,
	  node_values, "3d, copy or paging" },
	{ L"Commands", "Commands", OFFSET(commands), 0, 0, commands_words, commands_values,
	  "softgpu or intel" },
	{ L"HardwareAddresses", "HardwareAddresses", OFFSET(hardware_addresses), 0, 1, NULL, NULL,
	  "0 or 1" },
	{ L"Defect", "Defect", OFFSET(defect), 0, 0, defect_words, defect_values,
	  "none, slow, hang, wrong-fence or wrong-bytes" },
	{ L"DefectAt", "DefectAt", OFFSET(defect_at), 1, 0xffffffff, NULL, NULL,
	  "a number from 1 to 4294967295" },
};
const ULONG gpu_setting_count = RTL_NUMBER_OF(gpu_setting_table);

enum {
	REGISTRY_TEXT = 1,  /* REG_SZ */
	REGISTRY_DWORD = 4, /* REG_DWORD */
	MAX_ROOT_BITS = 12,
};

void gpu_settings_init(struct gpu_settings *settings)
{
	*settings = (struct gpu_settings){
		.local_mib = 256,
		.aperture_mib = 1024,
		.model = SOFTGPU_MODEL_GPUMMU,
		.copy_engines = 2,
		.page_table_levels = 4,
		.update_mode = GPU_UPDATE_GPU_PHYSICAL,
		.companion_kind = SOFTGPU_NODE_PAGING,
		.defect_at = 1,
	};
}

/* A registry text may or may not have stored its terminator. */
static BOOLEAN text_is(const WCHAR *text, ULONG size_bytes, const char *word)
{
	ULONG length = size_bytes / sizeof(WCHAR);
	ULONG i = 0;

	if (size_bytes % sizeof(WCHAR) != 0)
		return FALSE;
	while (length > 0 && text[length - 1] == 0)
		length--;
	while (i < length && word[i] != 0 && text[i] == (WCHAR)word[i])
		i++;
	return i == length && word[i] == 0;
}

NTSTATUS gpu_settings_set(struct gpu_settings *settings, const struct gpu_setting *setting,
			  ULONG type, const void *data, ULONG size_bytes)
{
	ULONG *field = (ULONG *)((UCHAR *)settings + setting->offset);

	if (setting->words) {
		for (ULONG i = 0; type == REGISTRY_TEXT && setting->words[i]; i++) {
			if (text_is((const WCHAR *)data, size_bytes, setting->words[i])) {
				*field = setting->word_values[i];
				return STATUS_SUCCESS;
			}
		}
		return STATUS_INVALID_PARAMETER;
	}

	if (type != REGISTRY_DWORD || size_bytes != sizeof(ULONG))
		return STATUS_INVALID_PARAMETER;
	ULONG value = *(const ULONG *)data;
	if (value < setting->minimum || value > setting->maximum)
		return STATUS_INVALID_PARAMETER;
	*field = value;
	return STATUS_SUCCESS;
}

NTSTATUS gpu_settings_finish(struct gpu_settings *settings, PCSTR *problem_out)
{
	ULONG below_root = GPU_PAGE_BITS + GPU_TABLE_BITS * (settings->page_table_levels - 1);

	if (settings->address_bits == 0)
		settings->address_bits = below_root + GPU_TABLE_BITS;
	if (settings->address_bits <= below_root ||
	    settings->address_bits > below_root + MAX_ROOT_BITS) {
		*problem_out = "VirtualAddressBits leaves the root table, after 12 bits in the "
			       "page and 9 for each lower level, less than 1 or more than 12";
		return STATUS_INVALID_PARAMETER;
	}
	if (settings->hw_queues && settings->model != SOFTGPU_MODEL_GPUMMU) {
		*problem_out = "HwQueues needs AddressModel gpummu: hardware queues are given "
			       "commands by virtual address";
		return STATUS_INVALID_PARAMETER;
	}
	if (settings->commands == SOFTGPU_COMMANDS_INTEL &&
	    (!settings->has_intel || settings->model != SOFTGPU_MODEL_GPUMMU ||
	     settings->hw_queues)) {
		*problem_out = "Commands intel needs the software GPU, AddressModel gpummu and "
			       "HwQueues 0";
		return STATUS_INVALID_PARAMETER;
	}
	if (settings->hardware_addresses && settings->model != SOFTGPU_MODEL_GPUMMU) {
		*problem_out = "HardwareAddresses needs AddressModel gpummu: kernels go by virtual "
			       "address";
		return STATUS_INVALID_PARAMETER;
	}
	if (settings->host_aperture_mib != 0 && settings->model != SOFTGPU_MODEL_GPUMMU) {
		*problem_out = "CpuHostApertureMiB needs AddressModel gpummu";
		return STATUS_INVALID_PARAMETER;
	}
	/* A root of two levels has no fixed place for its second pointers. */
	if (settings->pages_64k == GPU_64K_DUAL && settings->page_table_levels == 2) {
		*problem_out = "Pages64KiB dual needs PageTableLevels 3 or more";
		return STATUS_INVALID_PARAMETER;
	}
	/* Tables that the CPU updates are in system memory, where a table is at most a page. */
	if (settings->update_mode == GPU_UPDATE_CPU &&
	    settings->address_bits > below_root + GPU_TABLE_BITS) {
		*problem_out = "VirtualAddressBits makes a root table larger than a page, which "
			       "PageTableUpdateMode cpu_virtual cannot have";
		return STATUS_INVALID_PARAMETER;
	}
	return STATUS_SUCCESS;
}

ULONG gpu_settings_index_bits(const struct gpu_settings *settings, ULONG level)
{
	ULONG root = settings->page_table_levels - 1;

	if (level < root)
		return GPU_TABLE_BITS;
	return settings->address_bits - GPU_PAGE_BITS - GPU_TABLE_BITS * root;
}

ULONG gpu_settings_node_count(const struct gpu_settings *settings)
{
	return settings->copy_engines + 2;
}

ULONG gpu_settings_node_kind(const struct gpu_settings *settings, ULONG node)
{
	if (node == 0)
		return SOFTGPU_NODE_3D;
	return node <= settings->copy_engines ? SOFTGPU_NODE_COPY : SOFTGPU_NODE_PAGING;
}

/* The first of its kind. */
ULONG gpu_settings_companion_node(const struct gpu_settings *settings)
{
	ULONG node = 0;

	while (gpu_settings_node_kind(settings, node) != settings->companion_kind)
		node++;
	return node;
}
