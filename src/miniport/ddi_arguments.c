/* SPDX-License-Identifier: MIT */
/*
 * ddi_arguments.c - see ddi_arguments.h. ddi_arguments.def turned into tables; offsetof and sizeof do
 * the work, so that they cannot disagree with the structs.
 *
 * Everything is written by hand: this may run in the handler of a signal.
 */
#include <stddef.h>
#include <string.h>

#include "miniport/ddi_arguments.h"
#include "miniport/internal.h"

/* ---- names of the headers ---- */

struct value_name {
	uint32_t value;
	const char *name;
};

#define NAME(value)                                                                                \
	{                                                                                          \
		(uint32_t)(value), #value                                                          \
	}

static const struct value_name paging_operations[] = {
	NAME(DXGK_OPERATION_TRANSFER),
	NAME(DXGK_OPERATION_FILL),
	NAME(DXGK_OPERATION_DISCARD_CONTENT),
	NAME(DXGK_OPERATION_READ_PHYSICAL),
	NAME(DXGK_OPERATION_WRITE_PHYSICAL),
	NAME(DXGK_OPERATION_MAP_APERTURE_SEGMENT),
	NAME(DXGK_OPERATION_UNMAP_APERTURE_SEGMENT),
	NAME(DXGK_OPERATION_SPECIAL_LOCK_TRANSFER),
	NAME(DXGK_OPERATION_VIRTUAL_TRANSFER),
	NAME(DXGK_OPERATION_VIRTUAL_FILL),
	NAME(DXGK_OPERATION_INIT_CONTEXT_RESOURCE),
	NAME(DXGK_OPERATION_UPDATE_PAGE_TABLE),
	NAME(DXGK_OPERATION_FLUSH_TLB),
	NAME(DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION),
	NAME(DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES),
	NAME(DXGK_OPERATION_NOTIFY_RESIDENCY),
	NAME(DXGK_OPERATION_SIGNAL_MONITORED_FENCE),
	NAME(DXGK_OPERATION_MAP_APERTURE_SEGMENT2),
	NAME(DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY),
	NAME(DXGK_OPERATION_MAP_MMU),
	NAME(DXGK_OPERATION_UNMAP_MMU),
	NAME(DXGK_OPERATION_NOTIFY_RESIDENCY2),
	NAME(DXGK_OPERATION_NOTIFY_ALLOC),
};

static const struct value_name query_types[] = {
	NAME(DXGKQAITYPE_UMDRIVERPRIVATE),
	NAME(DXGKQAITYPE_DRIVERCAPS),
	NAME(DXGKQAITYPE_QUERYSEGMENT),
	NAME(DXGKQAITYPE_ALLOCATIONGROUP),
	NAME(DXGKQAITYPE_QUERYSEGMENT2),
	NAME(DXGKQAITYPE_QUERYSEGMENT3),
	NAME(DXGKQAITYPE_NUMPOWERCOMPONENTS),
	NAME(DXGKQAITYPE_POWERCOMPONENTINFO),
	NAME(DXGKQAITYPE_PREFERREDGPUNODE),
	NAME(DXGKQAITYPE_POWERCOMPONENTPSTATEINFO),
	NAME(DXGKQAITYPE_HISTORYBUFFERPRECISION),
	NAME(DXGKQAITYPE_QUERYSEGMENT4),
	NAME(DXGKQAITYPE_SEGMENTMEMORYSTATE),
	NAME(DXGKQAITYPE_GPUMMUCAPS),
	NAME(DXGKQAITYPE_PAGETABLELEVELDESC),
	NAME(DXGKQAITYPE_PHYSICALADAPTERCAPS),
	NAME(DXGKQAITYPE_DISPLAY_DRIVERCAPS_EXTENSION),
	NAME(DXGKQAITYPE_INTEGRATED_DISPLAY_DESCRIPTOR),
	NAME(DXGKQAITYPE_UEFIFRAMEBUFFERRANGES),
	NAME(DXGKQAITYPE_QUERYCOLORIMETRYOVERRIDES),
	NAME(DXGKQAITYPE_DISPLAYID_DESCRIPTOR),
	NAME(DXGKQAITYPE_FRAMEBUFFERSAVESIZE),
	NAME(DXGKQAITYPE_HARDWARERESERVEDRANGES),
	NAME(DXGKQAITYPE_INTEGRATED_DISPLAY_DESCRIPTOR2),
	NAME(DXGKQAITYPE_NODEPERFDATA),
	NAME(DXGKQAITYPE_ADAPTERPERFDATA),
	NAME(DXGKQAITYPE_ADAPTERPERFDATA_CAPS),
	NAME(DXGKQAITYPE_GPUVERSION),
	NAME(DXGKQAITYPE_DEVICE_TYPE_CAPS),
	NAME(DXGKQAITYPE_WDDMDEVICECAPS),
	NAME(DXGKQAITYPE_GPUPCAPS),
	NAME(DXGKQAITYPE_QUERYTARGETGAMMACAPS),
	NAME(DXGKQAITYPE_SCANOUT_CAPS),
	NAME(DXGKQAITYPE_PHYSICAL_MEMORY_CAPS),
	NAME(DXGKQAITYPE_IOMMU_CAPS),
	NAME(DXGKQAITYPE_HARDWARERESERVEDRANGES2),
	NAME(DXGKQAITYPE_NATIVE_FENCE_CAPS),
	NAME(DXGKQAITYPE_USERMODESUBMISSION_CAPS),
	NAME(DXGKQAITYPE_DIRTYBITTRACKINGCAPS),
	NAME(DXGKQAITYPE_DIRTYBITTRACKINGSEGMENTCAPS),
	NAME(DXGKQAITYPE_SCATTER_RESERVE),
	NAME(DXGKQAITYPE_QUERYPAGINGBUFFERINFO),
	NAME(DXGKQAITYPE_QUERYSEGMENTCOUNT),
	NAME(DXGKQAITYPE_QUERYSEGMENT5),
	NAME(DXGKQAITYPE_QUERYMMUCOUNT),
	NAME(DXGKQAITYPE_QUERYMMUS),
	NAME(DXGKQAITYPE_64BITONLYCAPS),
	NAME(DXGKQAITYPE_PAGINGPROCESSGPUVASIZE),
};

static const struct value_name interrupt_types[] = {
	NAME(DXGK_INTERRUPT_DMA_COMPLETED),
	NAME(DXGK_INTERRUPT_DMA_PREEMPTED),
	NAME(DXGK_INTERRUPT_CRTC_VSYNC),
	NAME(DXGK_INTERRUPT_DMA_FAULTED),
	NAME(DXGK_INTERRUPT_DISPLAYONLY_VSYNC),
	NAME(DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS),
	NAME(DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY),
	NAME(DXGK_INTERRUPT_MICACAST_CHUNK_PROCESSING_COMPLETE),
	NAME(DXGK_INTERRUPT_DMA_PAGE_FAULTED),
	NAME(DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY2),
	NAME(DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED),
	NAME(DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED),
	NAME(DXGK_INTERRUPT_HWCONTEXTLIST_SWITCH_COMPLETED),
	NAME(DXGK_INTERRUPT_PERIODIC_MONITORED_FENCE_SIGNALED),
	NAME(DXGK_INTERRUPT_SCHEDULING_LOG_INTERRUPT),
	NAME(DXGK_INTERRUPT_GPU_ENGINE_TIMEOUT),
	NAME(DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED),
	NAME(DXGK_INTERRUPT_CRTC_VSYNC_WITH_MULTIPLANE_OVERLAY3),
	NAME(DXGK_INTERRUPT_NATIVE_FENCE_SIGNALED),
	NAME(DXGK_INTERRUPT_GPU_ENGINE_STATE_CHANGE),
};

static const char *name_of(const struct value_name *names, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++) {
		if (names[i].value == value)
			return names[i].name;
	}
	return NULL;
}

/* ---- tables ---- */

struct argument_part;

struct argument_field {
	const char *name;
	uint16_t offset;
	uint8_t size_bytes;
	bool is_hex;
	const struct value_name *names; /* NULL: it is a number */
	uint16_t name_count;
	const struct argument_part *parts; /* what follows, by its value; NULL: nothing */
	uint16_t part_count;
};

struct argument_part {
	uint32_t value;
	uint8_t count;
	const struct argument_field *fields;
};

struct argument_table {
	const char
		*handle_name; /* of the first argument; NULL: the entry point is not in the list */
	uint8_t count;
	const struct argument_field *fields;
};

#define FIELD_OF(field)                                                                            \
	.name = #field, .offset = offsetof(T, field), .size_bytes = sizeof(((T *)0)->field)
#define NUMBER(field)                                                                              \
	{                                                                                          \
		FIELD_OF(field)                                                                    \
	}
#define HEX(field)                                                                                 \
	{                                                                                          \
		FIELD_OF(field), .is_hex = true                                                    \
	}
#define NAMED(field, all)                                                                          \
	{                                                                                          \
		FIELD_OF(field), .names = (all), .name_count = ARRAY_SIZE(all)                     \
	}
#define KIND(field, all, more)                                                                     \
	{                                                                                          \
		FIELD_OF(field), .names = (all), .name_count = ARRAY_SIZE(all), .parts = (more),   \
				 .part_count = ARRAY_SIZE(more)                                    \
	}

/* The parts first: what has a union leads to them. */
#define CALL(ddi, handle, type, ...)
#define CALL_OF_HANDLE(ddi, handle)
#define PART(table, kind, ...)                                                                     \
	static const struct argument_field fields_of_##kind[] = { __VA_ARGS__ };
#include "miniport/ddi_arguments.def"
#undef PART

#define IS_paging_parts(...) __VA_ARGS__
#define IS_interrupt_parts(...)
#define PART(table, kind, ...)                                                                     \
	IS_##table({ (uint32_t)(kind), ARRAY_SIZE(fields_of_##kind), fields_of_##kind }, )
static const struct argument_part paging_parts[] = {
#include "miniport/ddi_arguments.def"
};
#undef IS_paging_parts
#undef IS_interrupt_parts
#define IS_paging_parts(...)
#define IS_interrupt_parts(...) __VA_ARGS__
static const struct argument_part interrupt_parts[] = {
#include "miniport/ddi_arguments.def"
};
#undef PART
#undef CALL

/* A function each, because only there can T mean the struct of the call. */
#define PART(table, kind, ...)
#define CALL(ddi, handle, type, ...)                                                               \
	static const struct argument_field *fields_of_##ddi(uint8_t *count_out)                    \
	{                                                                                          \
		typedef type T;                                                                    \
		static const struct argument_field fields[] = { __VA_ARGS__ };                     \
		*count_out = ARRAY_SIZE(fields);                                                   \
		return fields;                                                                     \
	}
#include "miniport/ddi_arguments.def"
#undef CALL
#undef CALL_OF_HANDLE

static struct argument_table tables[DDI_COUNT];

__attribute__((constructor)) static void tables_make(void)
{
#define CALL(ddi, handle, type, ...)                                                               \
	tables[DDI_##ddi].handle_name = #handle;                                                   \
	tables[DDI_##ddi].fields = fields_of_##ddi(&tables[DDI_##ddi].count);
#define CALL_OF_HANDLE(ddi, handle) tables[DDI_##ddi].handle_name = #handle;
#include "miniport/ddi_arguments.def"
#undef CALL
#undef CALL_OF_HANDLE
#undef PART
}

/* ---- text ---- */

struct text {
	char *bytes;
	size_t size;
	size_t used; /* what does not fit is left out */
};

static void put(struct text *text, const char *words)
{
	while (*words && text->used + 1 < text->size)
		text->bytes[text->used++] = *words++;
	if (text->size > 0)
		text->bytes[text->used] = '\0';
}

static void put_number(struct text *text, uint64_t value, bool is_hex)
{
	static const char digits[] = "0123456789abcdef";
	char reversed[24];
	unsigned base = is_hex ? 16 : 10;
	size_t at = sizeof(reversed) - 1;

	reversed[at] = '\0';
	do {
		reversed[--at] = digits[value % base];
		value /= base;
	} while (value != 0);
	put(text, is_hex ? "0x" : "");
	put(text, reversed + at);
}

/* As much of it as fits a number. */
static uint64_t read_field(const void *arguments, const struct argument_field *field)
{
	size_t size_bytes = field->size_bytes < 8 ? field->size_bytes : 8;
	uint64_t value = 0;

	memcpy(&value, (const char *)arguments + field->offset, size_bytes);
	return value;
}

static void put_name(struct text *text, const char *name)
{
	put(text, text->used > 0 ? ", " : "");
	put(text, name);
	put(text, " ");
}

/* Of a part, the member of the union goes without saying: `skips_first`. */
static void put_fields(struct text *text, const void *arguments,
		       const struct argument_field *fields, size_t count, bool skips_first)
{
	for (size_t i = 0; i < count; i++) {
		const struct argument_field *field = &fields[i];
		uint64_t value = read_field(arguments, field);
		const char *name = name_of(field->names, field->name_count, value);

		const char *dot = skips_first ? strchr(field->name, '.') : NULL;

		put_name(text, dot ? dot + 1 : field->name);
		if (name)
			put(text, name);
		else
			put_number(text, value, field->is_hex);
		for (size_t part = 0; part < field->part_count; part++) {
			if (field->parts[part].value == value)
				put_fields(text, arguments, field->parts[part].fields,
					   field->parts[part].count, true);
		}
	}
}

void ddi_describe_arguments(const struct ddi_crossing *crossing, char *bytes, size_t size)
{
	const struct argument_table *table = &tables[crossing->ddi];
	struct text text = { .bytes = bytes, .size = size };

	put(&text, "");
	if (!table->handle_name || (!crossing->handle && !crossing->arguments))
		return;
	put_name(&text, table->handle_name);
	put_number(&text, (uintptr_t)crossing->handle, true);
	if (crossing->arguments)
		put_fields(&text, crossing->arguments, table->fields, table->count, false);
}

void ddi_describe_interrupt(const void *interrupt_data, char *bytes, size_t size)
{
	typedef DXGKARGCB_NOTIFY_INTERRUPT_DATA T;
	static const struct argument_field fields[] = {
		KIND(InterruptType, interrupt_types, interrupt_parts),
	};
	struct text text = { .bytes = bytes, .size = size };

	put(&text, "");
	put_fields(&text, interrupt_data, fields, ARRAY_SIZE(fields), false);
}
