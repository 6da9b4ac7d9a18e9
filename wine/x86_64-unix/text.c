/* SPDX-License-Identifier: MIT */
/*
 * text.c - D3DKMTQueryAdapterInfo where its answer has text: WCHAR has two bytes in a Windows program and four here.
 *
 * Characters beyond U+FFFF are two surrogates there and one character here. What is no text stays what it is, and the
 * kernel says so.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "wine/x86_64-unix/pair_unix.h"

enum {
	SURROGATE_HIGH = 0xd800,
	SURROGATE_LOW = 0xdc00,
	SURROGATE_END = 0xe000,
	FIRST_PAIRED = 0x10000,
};

size_t text_widen(WCHAR *wide, const uint16_t *narrow, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t character = narrow[i];
		bool is_pair = character >= SURROGATE_HIGH && character < SURROGATE_LOW &&
			       i + 1 < count && narrow[i + 1] >= SURROGATE_LOW &&
			       narrow[i + 1] < SURROGATE_END;

		if (is_pair)
			character = FIRST_PAIRED + ((character - SURROGATE_HIGH) << 10) +
				    (narrow[++i] - (uint32_t)SURROGATE_LOW);
		wide[used++] = (WCHAR)character;
	}
	return used;
}

size_t text_narrow(uint16_t *narrow, size_t capacity, const WCHAR *wide, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t character = (uint32_t)wide[i];
		uint32_t paired = character - FIRST_PAIRED;
		uint32_t halves[2] = { character };
		size_t needed = 1;

		if (character >= FIRST_PAIRED) {
			halves[0] = SURROGATE_HIGH + (paired >> 10);
			halves[1] = SURROGATE_LOW + (paired & 0x3ff);
			needed = 2;
		}
		for (size_t half = 0; half < needed; half++, used++)
			if (used < capacity)
				narrow[used] = (uint16_t)halves[half];
	}
	return used;
}

/* ---- answers with fixed texts ---- */

/* Pieces of an answer, in order: bytes that are the same on both sides, or a text of so many characters. */
struct piece {
	uint16_t bytes;
	uint16_t characters;
};

enum { PIECES_MAX = 4 };

/* A registry value is more than pieces: what follows depends on what it is. */
struct texts {
	KMTQUERYADAPTERINFOTYPE type;
	uint32_t wide_bytes; /* sizeof(), here */
	struct piece pieces[PIECES_MAX];
};

#define NAME_CHARACTERS(type, field) (sizeof(((type *)0)->field) / sizeof(WCHAR))

static const struct texts answers[] = {
	{ KMTQAITYPE_UMDRIVERNAME,
	  sizeof(D3DKMT_UMDFILENAMEINFO),
	  { { .bytes = sizeof(KMTUMDVERSION) }, { .characters = MAX_PATH } } },
	{ KMTQAITYPE_UMOPENGLINFO,
	  sizeof(D3DKMT_OPENGLINFO),
	  { { .characters = MAX_PATH }, { .bytes = 2 * sizeof(ULONG) } } },
	{ KMTQAITYPE_ADAPTERREGISTRYINFO,
	  sizeof(D3DKMT_ADAPTERREGISTRYINFO),
	  { { .characters = MAX_PATH },
	    { .characters = MAX_PATH },
	    { .characters = MAX_PATH },
	    { .characters = MAX_PATH } } },
	{ KMTQAITYPE_ADAPTERREGISTRYINFO_RENDER,
	  sizeof(D3DKMT_ADAPTERREGISTRYINFO),
	  { { .characters = MAX_PATH },
	    { .characters = MAX_PATH },
	    { .characters = MAX_PATH },
	    { .characters = MAX_PATH } } },
	{ KMTQAITYPE_NODEMETADATA,
	  sizeof(D3DKMT_NODEMETADATA),
	  { { .bytes = sizeof(UINT) + sizeof(DXGK_ENGINE_TYPE) },
	    { .characters = DXGK_MAX_METADATA_NAME_LENGTH },
	    { .bytes = sizeof(DXGK_NODEMETADATA_FLAGS) + 2 * sizeof(BOOLEAN) } } },
	{ KMTQAITYPE_QUERY_ADAPTER_UNIQUE_GUID,
	  sizeof(D3DKMT_QUERY_ADAPTER_UNIQUE_GUID),
	  { { .characters =
		      NAME_CHARACTERS(D3DKMT_QUERY_ADAPTER_UNIQUE_GUID, AdapterUniqueGUID) } } },
	{ KMTQAITYPE_DRIVER_DESCRIPTION,
	  sizeof(D3DKMT_DRIVER_DESCRIPTION),
	  { { .characters = NAME_CHARACTERS(D3DKMT_DRIVER_DESCRIPTION, DriverDescription) } } },
	{ KMTQAITYPE_DRIVER_DESCRIPTION_RENDER,
	  sizeof(D3DKMT_DRIVER_DESCRIPTION),
	  { { .characters = NAME_CHARACTERS(D3DKMT_DRIVER_DESCRIPTION, DriverDescription) } } },
};

static uint32_t narrow_bytes(const struct texts *texts)
{
	uint32_t bytes = 0;

	for (unsigned i = 0; i < PIECES_MAX; i++)
		bytes += texts->pieces[i].bytes +
			 texts->pieces[i].characters * (uint32_t)sizeof(uint16_t);
	return bytes;
}

static void widen_pieces(const struct texts *texts, unsigned char *wide,
			 const unsigned char *narrow)
{
	for (unsigned i = 0; i < PIECES_MAX; i++) {
		const struct piece *piece = &texts->pieces[i];

		memcpy(wide, narrow, piece->bytes);
		wide += piece->bytes;
		narrow += piece->bytes;
		text_widen((WCHAR *)wide, (const uint16_t *)narrow, piece->characters);
		wide += piece->characters * sizeof(WCHAR);
		narrow += piece->characters * sizeof(uint16_t);
	}
}

/* A text keeps its zero where pairs make it longer than its place. */
static void narrow_text(uint16_t *narrow, size_t capacity, const WCHAR *wide)
{
	size_t count = 0;

	while (count < capacity && wide[count])
		count++;
	memset(narrow, 0, capacity * sizeof(*narrow));
	if (text_narrow(narrow, capacity, wide, count) >= capacity)
		narrow[capacity - 1] = 0;
}

static void narrow_pieces(const struct texts *texts, unsigned char *narrow,
			  const unsigned char *wide)
{
	for (unsigned i = 0; i < PIECES_MAX; i++) {
		const struct piece *piece = &texts->pieces[i];

		memcpy(narrow, wide, piece->bytes);
		wide += piece->bytes;
		narrow += piece->bytes;
		if (piece->characters)
			narrow_text((uint16_t *)narrow, piece->characters, (const WCHAR *)wide);
		wide += piece->characters * sizeof(WCHAR);
		narrow += piece->characters * sizeof(uint16_t);
	}
}

static NTSTATUS query_in_wide(const D3DKMT_QUERYADAPTERINFO *args, void *wide, uint32_t wide_bytes)
{
	const D3DKMT_QUERYADAPTERINFO own = { .hAdapter = args->hAdapter,
					      .Type = args->Type,
					      .pPrivateDriverData = wide,
					      .PrivateDriverDataSize = wide_bytes };

	return D3DKMTQueryAdapterInfo(&own);
}

static NTSTATUS query_texts(const D3DKMT_QUERYADAPTERINFO *args, const struct texts *texts)
{
	unsigned char *wide;

	if (args->PrivateDriverDataSize < narrow_bytes(texts))
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_BUFFER, "PrivateDriverDataSize",
			      "is %u, and type %u needs %u bytes", args->PrivateDriverDataSize,
			      (unsigned)args->Type, narrow_bytes(texts));
	wide = mem_zalloc(texts->wide_bytes);
	if (!wide)
		return refuse_no_memory("no memory for the text of an answer");
	widen_pieces(texts, wide, args->pPrivateDriverData);
	NTSTATUS status = query_in_wide(args, wide, texts->wide_bytes);
	if (NT_SUCCESS(status))
		narrow_pieces(texts, args->pPrivateDriverData, wide);
	mem_free(wide);
	return status;
}

/* ---- registry values ---- */

/* D3DDDI_QUERYREGISTRY_INFO as a Windows program has it. */
struct narrow_registry {
	uint32_t query_type;
	uint32_t query_flags;
	uint16_t value_name[MAX_PATH];
	uint32_t value_type;
	uint32_t physical_adapter;
	uint32_t output_bytes;
	uint32_t status;
	uint64_t output;
};

_Static_assert(offsetof(struct narrow_registry, output) == 544 &&
		       sizeof(struct narrow_registry) == 552,
	       "as mingw has D3DDDI_QUERYREGISTRY_INFO");

enum { REGISTRY_TEXT = 1, REGISTRY_EXPANDED_TEXT = 2, REGISTRY_MULTI_TEXT = 7 }; /* REG_SZ … */
enum { REGISTRY_ROOM_BYTES = 64 << 10 };

/* Paths are text; a value is what its asker says it is. */
static bool is_text(const struct narrow_registry *narrow)
{
	return narrow->query_type >= D3DDDI_QUERYREGISTRY_DRIVERSTOREPATH ||
	       narrow->value_type == REGISTRY_TEXT ||
	       narrow->value_type == REGISTRY_EXPANDED_TEXT ||
	       narrow->value_type == REGISTRY_MULTI_TEXT;
}

/* What fits is handed back, what it needs is always said. */
static void narrow_registry_answer(struct narrow_registry *narrow, size_t capacity_bytes,
				   const D3DDDI_QUERYREGISTRY_INFO *wide)
{
	const unsigned char *output = wide->OutputBinary;
	size_t bytes = wide->OutputValueSize;

	narrow->status = (uint32_t)wide->Status;
	narrow->output_bytes = wide->OutputValueSize;
	if (wide->Status != D3DDDI_QUERYREGISTRY_STATUS_SUCCESS)
		return;
	if (is_text(narrow)) {
		size_t count = bytes / sizeof(WCHAR);
		bytes = text_narrow(NULL, 0, (const WCHAR *)output, count) * sizeof(uint16_t);
		narrow->output_bytes = (uint32_t)bytes;
		if (bytes <= capacity_bytes)
			text_narrow((uint16_t *)&narrow->output, capacity_bytes / sizeof(uint16_t),
				    (const WCHAR *)output, count);
	} else if (bytes <= capacity_bytes) {
		memcpy(&narrow->output, output, bytes);
	}
	if (bytes > capacity_bytes)
		narrow->status = D3DDDI_QUERYREGISTRY_STATUS_BUFFER_OVERFLOW;
}

static NTSTATUS query_registry(const D3DKMT_QUERYADAPTERINFO *args)
{
	struct narrow_registry *narrow = args->pPrivateDriverData;
	const size_t head = offsetof(struct narrow_registry, output);

	if (args->PrivateDriverDataSize < sizeof(*narrow))
		return refuse(STATUS_INVALID_PARAMETER, RULE_API_BUFFER, "PrivateDriverDataSize",
			      "is %u, and type %u needs %zu bytes", args->PrivateDriverDataSize,
			      (unsigned)args->Type, sizeof(*narrow));
	uint32_t wide_bytes = (uint32_t)sizeof(D3DDDI_QUERYREGISTRY_INFO) + REGISTRY_ROOM_BYTES;
	D3DDDI_QUERYREGISTRY_INFO *wide = mem_zalloc(wide_bytes);
	if (!wide)
		return refuse_no_memory("no memory for a value of the registry");
	wide->QueryType = (D3DDDI_QUERYREGISTRY_TYPE)narrow->query_type;
	memcpy(&wide->QueryFlags, &narrow->query_flags, sizeof(wide->QueryFlags));
	text_widen(wide->ValueName, narrow->value_name, MAX_PATH);
	wide->ValueType = narrow->value_type;
	wide->PhysicalAdapterIndex = narrow->physical_adapter;
	NTSTATUS status = query_in_wide(args, wide, wide_bytes);
	if (NT_SUCCESS(status))
		narrow_registry_answer(narrow, args->PrivateDriverDataSize - head, wide);
	mem_free(wide);
	return status;
}

/* ---- the call ---- */

static NTSTATUS query_text(const D3DKMT_QUERYADAPTERINFO *args, const struct texts *texts)
{
	struct refusal_scope scope;

	pair_refusal_begin(&scope, "D3DKMTQueryAdapterInfo");
	return pair_refusal_end(&scope, texts ? query_texts(args, texts) : query_registry(args));
}

NTSTATUS pair_query_adapter_info(void *arguments)
{
	const D3DKMT_QUERYADAPTERINFO *args = arguments;

	/* Without a place for an answer there is nothing to convert, and the kernel says what is wrong. */
	if (!args || !args->pPrivateDriverData)
		return D3DKMTQueryAdapterInfo(args);
	if (args->Type == KMTQAITYPE_QUERYREGISTRY)
		return query_text(args, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (answers[i].type == args->Type)
			return query_text(args, &answers[i]);
	return D3DKMTQueryAdapterInfo(args);
}
