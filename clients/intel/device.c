/* SPDX-License-Identifier: MIT */
/*
 * device.c - see device.h.
 *
 * Which device it is to be, the profile says with its PCI ids; the shape is that of the hardware
 * with these ids, memory and addresses are the software GPU's. Of features it has what it keeps:
 * addresses per process, shared with the CPU's. No preemption inside work, since it executes none.
 */
#include "device.h"

enum {
	VENDOR_INTEL = 0x8086,
	GEN9_CORE = 12,
	GEN12LP_CORE = 18,
	/* As kernel drivers count products; the runtime translates. */
	PRODUCT_SKYLAKE = 18,
	PRODUCT_TIGERLAKE = 33,
	PLATFORM_DESKTOP = 1,
	PLATFORM_MOBILE = 2,
	GT2 = 1,
	TICKS_PER_SECOND = 10000000, /* of timestamps: drivers/soft/intel_stream.c */
	CACHE_LINE_BYTES = 64,
	MAX_MHZ = 1000,
	CSR_MIB = 8,
	THREADS_PER_EU = 7,
};

#define GIB       (UINT64_C(1) << 30)
#define HALF_OF48 (UINT64_C(1) << 47) /* where addresses of programs end */

struct shape {
	uint16_t device_id;
	uint16_t product;
	uint16_t core;
	uint16_t type;
	uint32_t subslices; /* in one slice */
	uint32_t duals;     /* of which each is two of them; 0: there are none */
	uint32_t eus;       /* in a subslice */
	uint32_t l3_kib;
	uint32_t l3_banks;
	uint32_t fill_rate;
	uint32_t address_bits;
	/* The runtime divides the addresses itself, and tells the kernel driver (escapes). */
	bool divides_addresses;
};

static const struct shape shapes[] = {
	{ 0x1912, PRODUCT_SKYLAKE, GEN9_CORE, PLATFORM_DESKTOP, 3, 0, 8, 768, 4, 8, 48, false },
	{ 0x9a49, PRODUCT_TIGERLAKE, GEN12LP_CORE, PLATFORM_MOBILE, 12, 6, 8, 3840, 8, 16, 47,
	  true },
};

static const struct shape *shape_find(const struct softgpu_device_info *info)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (info->vendor_id == VENDOR_INTEL && info->device_id == shapes[i].device_id)
			return &shapes[i];
	}
	return NULL;
}

static void put_platform(const struct shape *shape, const struct softgpu_device_info *info,
			 struct token_writer *writer)
{
	size_t platform = tokens_open(writer, TOKEN_ADAPTER_PLATFORM, 0);

	tokens_put_dword(writer, TOKEN_PLATFORM_PRODUCT, shape->product);
	tokens_put_dword(writer, TOKEN_PLATFORM_DISPLAY_CORE, shape->core);
	tokens_put_dword(writer, TOKEN_PLATFORM_RENDER_CORE, shape->core);
	tokens_put_dword(writer, TOKEN_PLATFORM_TYPE, shape->type);
	tokens_put_dword(writer, TOKEN_PLATFORM_DEVICE_ID, info->device_id);
	tokens_put_dword(writer, TOKEN_PLATFORM_REVISION, info->revision);
	tokens_put_dword(writer, TOKEN_PLATFORM_GT, GT2);
	tokens_close(writer, platform);
}

static void put_features(const struct shape *shape, struct token_writer *writer)
{
	size_t features = tokens_open(writer, TOKEN_ADAPTER_FEATURES, 0);

	tokens_put_dword(writer, TOKEN_FEATURE_PPGTT, 1);
	tokens_put_dword(writer, TOKEN_FEATURE_IA32E_ENTRIES, 1);
	tokens_put_dword(writer, TOKEN_FEATURE_SVM, 1);
	tokens_put_dword(writer, TOKEN_FEATURE_L3_COHERENCY, 1);
	tokens_put_dword(writer, TOKEN_FEATURE_TILE_Y, 1);
	tokens_put_dword(writer, TOKEN_FEATURE_CCS_RING, shape->divides_addresses);
	tokens_close(writer, features);
}

static void put_subslice(const struct shape *shape, unsigned id, uint32_t element,
			 struct token_writer *writer)
{
	size_t subslice = tokens_open(writer, id, element);

	tokens_put_bool(writer, TOKEN_SUBSLICE_ENABLED, true);
	tokens_put_dword(writer, TOKEN_SUBSLICE_EUS, shape->eus);
	tokens_put_dword(writer, TOKEN_SUBSLICE_EU_MASK, (1u << shape->eus) - 1);
	tokens_close(writer, subslice);
}

static void put_slice(const struct shape *shape, struct token_writer *writer)
{
	enum { SLICE_SUBSLICES = 8 }; /* as many as a slice can say one by one */
	size_t slice = tokens_open(writer, TOKEN_SYSTEM_SLICE, 0);

	tokens_put_bool(writer, TOKEN_SLICE_ENABLED, true);
	for (uint32_t i = 0; i < shape->subslices && i < SLICE_SUBSLICES; i++)
		put_subslice(shape, TOKEN_SLICE_SUBSLICE, i, writer);
	for (uint32_t i = 0; i < shape->duals; i++) {
		size_t dual = tokens_open(writer, TOKEN_SLICE_DUAL, i);

		tokens_put_bool(writer, TOKEN_DUAL_ENABLED, true);
		put_subslice(shape, TOKEN_DUAL_SUBSLICE, 0, writer);
		put_subslice(shape, TOKEN_DUAL_SUBSLICE, 1, writer);
		tokens_close(writer, dual);
	}
	tokens_put_dword(writer, TOKEN_SLICE_SUBSLICES, shape->subslices);
	tokens_put_dword(writer, TOKEN_SLICE_DUALS, shape->duals);
	tokens_close(writer, slice);
}

static uint32_t eu_count(const struct shape *shape)
{
	return shape->subslices * shape->eus;
}

static void put_system(const struct shape *shape, struct token_writer *writer)
{
	size_t system = tokens_open(writer, TOKEN_ADAPTER_SYSTEM, 0);

	tokens_put_dword(writer, TOKEN_SYSTEM_EUS, eu_count(shape));
	tokens_put_dword(writer, TOKEN_SYSTEM_THREADS, eu_count(shape) * THREADS_PER_EU);
	tokens_put_dword(writer, TOKEN_SYSTEM_SLICES, 1);
	tokens_put_dword(writer, TOKEN_SYSTEM_SUBSLICES, shape->subslices);
	tokens_put_dword(writer, TOKEN_SYSTEM_DUALS, shape->duals);
	tokens_put_qword(writer, TOKEN_SYSTEM_L3_KIB, shape->l3_kib);
	tokens_put_dword(writer, TOKEN_SYSTEM_L3_BANKS, shape->l3_banks);
	tokens_put_dword(writer, TOKEN_SYSTEM_FILL_RATE, shape->fill_rate);
	tokens_put_dword(writer, TOKEN_SYSTEM_CSR_MIB, CSR_MIB);
	tokens_put_dword(writer, TOKEN_SYSTEM_MAX_EUS, shape->eus);
	tokens_put_dword(writer, TOKEN_SYSTEM_MAX_SLICES, 1);
	tokens_put_dword(writer, TOKEN_SYSTEM_MAX_SUBSLICES, shape->subslices);
	tokens_put_dword(writer, TOKEN_SYSTEM_MAX_DUALS, shape->duals);
	tokens_put_dword(writer, TOKEN_SYSTEM_THREADS_PER_EU, THREADS_PER_EU);
	put_slice(shape, writer);
	tokens_close(writer, system);
}

static struct device_range range_of(uint64_t base, uint64_t bytes)
{
	return (struct device_range){ base, base + bytes - 1 };
}

/*
 * The lower half is where programs have their memory, at the same addresses for both. The upper:
 *
 *	| heap32 0 … 3, 4 GiB each |  standard  |  standard, 64 KiB pages |
 *
 * Without an upper half the runtime finds a place that the CPU does not use.
 */
static struct device_partition partition_of(const struct shape *shape)
{
	struct device_partition partition = { .svm = range_of(0, HALF_OF48) };
	const uint64_t heaps_end = HALF_OF48 + DEVICE_HEAPS32 * 4 * GIB;
	const uint64_t half = (2 * HALF_OF48 - heaps_end) / 2;

	if (shape->divides_addresses)
		return partition;
	for (uint64_t i = 0; i < DEVICE_HEAPS32; i++)
		partition.heap32[i] = range_of(HALF_OF48 + i * 4 * GIB, 4 * GIB);
	partition.standard = range_of(heaps_end, half);
	partition.standard_64k = range_of(heaps_end + half, half);
	return partition;
}

bool device_describe(const struct softgpu_device_info *info, struct token_writer *writer)
{
	const struct shape *shape = shape_find(info);

	if (!shape || info->adapter.version != SOFTGPU_ADAPTER_INFO_VERSION ||
	    info->commands != SOFTGPU_COMMANDS_INTEL ||
	    info->adapter.virtual_address_bits < shape->address_bits)
		return false;
	const struct device_partition partition = partition_of(shape);
	size_t all = tokens_open(writer, TOKEN_ADAPTER_INFO, 0);

	put_platform(shape, info, writer);
	put_features(shape, writer);
	tokens_put_dword(writer, TOKEN_ADAPTER_TIMESTAMP_HZ, TICKS_PER_SECOND);
	tokens_put_dword(writer, TOKEN_ADAPTER_MAX_MHZ, MAX_MHZ);
	tokens_put_dword(writer, TOKEN_ADAPTER_EUS, eu_count(shape));
	tokens_put_dword(writer, TOKEN_ADAPTER_CACHE_LINE, CACHE_LINE_BYTES);
	tokens_put_qword(writer, TOKEN_ADAPTER_DEDICATED_BYTES, info->adapter.local_bytes);
	tokens_put_qword(writer, TOKEN_ADAPTER_SHARED_BYTES,
			 info->adapter.local_bytes + info->adapter.aperture_bytes);
	put_system(shape, writer);
	partition_write(&partition, TOKEN_ADAPTER_PARTITION, writer);
	tokens_close(writer, all);
	return true;
}

/* ---- partitions ---- */

static struct device_range range_read(struct tokens tokens, enum token_id id, uint32_t element)
{
	struct tokens group = tokens_group(tokens, id, element);
	struct device_range range = { 0 };

	(void)tokens_number(group, TOKEN_RANGE_BASE, &range.base);
	(void)tokens_number(group, TOKEN_RANGE_LIMIT, &range.limit);
	return range;
}

void partition_read(struct tokens tokens, struct device_partition *partition_out)
{
	partition_out->standard = range_read(tokens, TOKEN_PARTITION_STANDARD, 0);
	partition_out->standard_64k = range_read(tokens, TOKEN_PARTITION_STANDARD_64K, 0);
	partition_out->svm = range_read(tokens, TOKEN_PARTITION_SVM, 0);
	partition_out->tiled = range_read(tokens, TOKEN_PARTITION_TILED, 0);
	for (uint32_t i = 0; i < DEVICE_HEAPS32; i++)
		partition_out->heap32[i] = range_read(tokens, TOKEN_PARTITION_HEAP32, i);
}

static void range_write(const struct device_range *range, enum token_id id, uint32_t element,
			struct token_writer *writer)
{
	size_t group = tokens_open(writer, id, element);

	tokens_put_qword(writer, TOKEN_RANGE_BASE, range->base);
	tokens_put_qword(writer, TOKEN_RANGE_LIMIT, range->limit);
	tokens_close(writer, group);
}

void partition_write(const struct device_partition *partition, unsigned id,
		     struct token_writer *writer)
{
	size_t all = tokens_open(writer, id, 0);

	range_write(&partition->standard, TOKEN_PARTITION_STANDARD, 0, writer);
	range_write(&partition->standard_64k, TOKEN_PARTITION_STANDARD_64K, 0, writer);
	range_write(&partition->svm, TOKEN_PARTITION_SVM, 0, writer);
	range_write(&partition->tiled, TOKEN_PARTITION_TILED, 0, writer);
	for (uint32_t i = 0; i < DEVICE_HEAPS32; i++)
		range_write(&partition->heap32[i], TOKEN_PARTITION_HEAP32, i, writer);
	tokens_close(writer, all);
}
