/* SPDX-License-Identifier: MIT */
/*
 * proxy.c - see proxy.h. Reads the export tables of two 64-bit PE files, and writes a third that has one section with
 * an export table and one import. A file may be anything: what does not lie in it is not read.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "cli/wine/proxy.h"

/* Where things are in a PE file. */
enum {
	DOS_NEW_HEADER = 0x3c,
	COFF_SECTION_COUNT = 6,
	COFF_OPTIONAL_BYTES = 20,
	OPTIONAL = 24, /* behind the signature and the COFF header */
	OPTIONAL_MAGIC_64 = 0x20b,
	OPTIONAL_EXPORTS = 112,
	OPTIONAL_IMPORTS = 120,
	OPTIONAL_BYTES = 240,
	SECTION_BYTES = 40,
	EXPORT_BASE = 16,
	EXPORT_FUNCTION_COUNT = 20,
	EXPORT_NAME_COUNT = 24,
	EXPORT_FUNCTIONS = 28,
	EXPORT_NAMES = 32,
	EXPORT_ORDINALS = 36,
	EXPORT_BYTES = 40,
	IMPORT_BYTES = 20, /* of one DLL; one of zeros is the end */
	FILE_MAX_BYTES = 64 << 20,
	EXPORTS_MAX = 16384,
};

/* ---- reading ---- */

struct image {
	unsigned char *bytes;
	size_t size;
	const unsigned char *sections;
	uint32_t section_count;
	uint32_t exports; /* its address in memory, counted from the image's */
	uint32_t ordinal_base;
	uint32_t function_count;
	uint32_t name_count;
	uint32_t functions, names, ordinals; /* addresses */
};

static uint32_t get16(const unsigned char *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t get32(const unsigned char *at)
{
	return get16(at) | get16(at + 2) << 16;
}

/* `bytes` of the file that are at that address in memory; NULL: there are none. */
static const unsigned char *at_address(const struct image *image, uint32_t address, size_t bytes)
{
	for (uint32_t i = 0; i < image->section_count; i++) {
		const unsigned char *section = image->sections + (size_t)i * SECTION_BYTES;
		uint64_t begin = get32(section + 12);
		uint64_t size = get32(section + 16);
		uint64_t offset = get32(section + 20);

		if (address >= begin && address + bytes <= begin + size &&
		    offset + (address - begin) + bytes <= image->size)
			return image->bytes + offset + (address - begin);
	}
	return NULL;
}

static bool read_all(const char *path, struct image *image, char *problem, size_t problem_bytes)
{
	FILE *file = fopen(path, "rbe");

	*image = (struct image){ 0 };
	if (file && fseek(file, 0, SEEK_END) == 0) {
		long size = ftell(file);

		rewind(file);
		image->bytes = size > 0 && size <= FILE_MAX_BYTES ? malloc((size_t)size) : NULL;
		if (image->bytes)
			image->size = fread(image->bytes, 1, (size_t)size, file);
	}
	if (!file || image->size == 0)
		snprintf(problem, problem_bytes, "%s: %s", path,
			 file ? "cannot be read" : strerror(errno));
	if (file)
		fclose(file);
	return image->size != 0;
}

static bool find_exports(struct image *image)
{
	if (image->size < DOS_NEW_HEADER + 4 || memcmp(image->bytes, "MZ", 2) != 0)
		return false;
	uint64_t header = get32(image->bytes + DOS_NEW_HEADER);
	if (header + OPTIONAL + OPTIONAL_BYTES > image->size ||
	    memcmp(image->bytes + header, "PE\0\0", 4) != 0 ||
	    get16(image->bytes + header + OPTIONAL) != OPTIONAL_MAGIC_64)
		return false;
	uint64_t sections = header + OPTIONAL + get16(image->bytes + header + COFF_OPTIONAL_BYTES);
	image->section_count = get16(image->bytes + header + COFF_SECTION_COUNT);
	image->sections = image->bytes + sections;
	if (sections + (uint64_t)image->section_count * SECTION_BYTES > image->size)
		return false;

	image->exports = get32(image->bytes + header + OPTIONAL + OPTIONAL_EXPORTS);
	const unsigned char *exports = at_address(image, image->exports, EXPORT_BYTES);
	if (!exports)
		return false;
	image->ordinal_base = get32(exports + EXPORT_BASE);
	image->function_count = get32(exports + EXPORT_FUNCTION_COUNT);
	image->name_count = get32(exports + EXPORT_NAME_COUNT);
	image->functions = get32(exports + EXPORT_FUNCTIONS);
	image->names = get32(exports + EXPORT_NAMES);
	image->ordinals = get32(exports + EXPORT_ORDINALS);
	return image->function_count <= EXPORTS_MAX && image->name_count <= EXPORTS_MAX &&
	       at_address(image, image->names, 4 * (size_t)image->name_count) &&
	       at_address(image, image->ordinals, 2 * (size_t)image->name_count) &&
	       at_address(image, image->functions, 4 * (size_t)image->function_count);
}

static bool image_open(const char *path, struct image *image, char *problem, size_t problem_bytes)
{
	if (!read_all(path, image, problem, problem_bytes))
		return false;
	if (find_exports(image))
		return true;
	snprintf(problem, problem_bytes, "%s: is no 64-bit DLL with names", path);
	free(image->bytes);
	return false;
}

/* The `index`th name; NULL: it does not lie in the file. */
static const char *name_at(const struct image *image, uint32_t index)
{
	uint32_t address = get32(at_address(image, image->names, 4 * (size_t)image->name_count) +
				 4 * (size_t)index);
	const unsigned char *name = at_address(image, address, 1);

	return name && memchr(name, 0, image->size - (size_t)(name - image->bytes))
		       ? (const char *)name
		       : NULL;
}

static uint32_t ordinal_at(const struct image *image, uint32_t index)
{
	return image->ordinal_base +
	       get16(at_address(image, image->ordinals, 2 * (size_t)image->name_count) +
		     2 * (size_t)index);
}

/* ---- what is forwarded where ---- */

struct forwarder {
	const char *name; /* NULL: by its ordinal only */
	const char *to;
	uint32_t ordinal; /* 0: whichever */
};

static int compare_names(const void *first, const void *second)
{
	return strcmp(((const struct forwarder *)first)->name,
		      ((const struct forwarder *)second)->name);
}

static bool has_name(const struct image *image, const char *name)
{
	for (uint32_t i = 0; i < image->name_count; i++) {
		const char *other = name_at(image, i);
		if (other && strcmp(other, name) == 0)
			return true;
	}
	return false;
}

static bool is_d3dkmt(const char *name)
{
	return strncmp(name, "D3DKMT", 6) == 0;
}

/* No kernel has to do with them: they are bitmaps in the program's memory. */
static bool is_of_gdi(const char *name)
{
	return strcmp(name, "D3DKMTCreateDCFromMemory") == 0 ||
	       strcmp(name, "D3DKMTDestroyDCFromMemory") == 0;
}

/* Room for as many as both have; returns how many there are. */
static uint32_t choose(const struct image *wine, const struct image *ours, struct forwarder *list)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < wine->name_count; i++) {
		const char *name = name_at(wine, i);

		if (name && (!is_d3dkmt(name) || is_of_gdi(name)))
			list[count++] =
				(struct forwarder){ name, "winegdi32", ordinal_at(wine, i) };
		else if (name && has_name(ours, name))
			list[count++] = (struct forwarder){ name, "dxgkwine", ordinal_at(wine, i) };
	}
	for (uint32_t i = 0; i < ours->name_count; i++) {
		const char *name = name_at(ours, i);

		if (name && is_d3dkmt(name) && !has_name(wine, name))
			list[count++] = (struct forwarder){ name, "dxgkwine", 0 };
	}
	return count;
}

/* ---- writing ---- */

enum {
	HEADER_AT = 0x80,
	PAGE = 0x1000,
	BLOCK = 0x200,
	SECTION_AT = PAGE, /* in memory; in the file it is at BLOCK times 2 */
	SECTION_FILE_AT = 2 * BLOCK,
};

static void put16(unsigned char *at, uint32_t value)
{
	at[0] = (unsigned char)value;
	at[1] = (unsigned char)(value >> 8);
}

static void put32(unsigned char *at, uint32_t value)
{
	put16(at, value);
	put16(at + 2, value >> 16);
}

static uint32_t up_to(uint32_t value, uint32_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static void put_headers(unsigned char *file, uint32_t export_bytes, uint32_t section_bytes)
{
	static const char section_name[8] = ".edata";
	unsigned char *coff = file + HEADER_AT;
	unsigned char *optional = coff + OPTIONAL;
	unsigned char *section = optional + OPTIONAL_BYTES;

	put16(file, 0x5a4d); /* "MZ" */
	put32(file + DOS_NEW_HEADER, HEADER_AT);
	put32(coff, 0x4550);     /* "PE" */
	put16(coff + 4, 0x8664); /* x86-64 */
	put16(coff + COFF_SECTION_COUNT, 1);
	put16(coff + COFF_OPTIONAL_BYTES, OPTIONAL_BYTES);
	put16(coff + 22, 0x2022); /* a DLL that can be run, and be anywhere */
	put16(optional, OPTIONAL_MAGIC_64);
	put32(optional + 24, 0x7bc00000); /* where it would like to be */
	put32(optional + 32, PAGE);
	put32(optional + 36, BLOCK);
	put16(optional + 40, 6); /* for Windows Vista and later */
	put16(optional + 48, 6);
	put32(optional + 56, SECTION_AT + up_to(section_bytes, PAGE));
	put32(optional + 60, SECTION_FILE_AT);
	put16(optional + 68, 2);     /* of the graphical kind, as gdi32 is */
	put16(optional + 70, 0x160); /* may be anywhere, has no code that could be run */
	put32(optional + 72, 0x100000);
	put32(optional + 80, 0x1000);
	put32(optional + 88, 0x100000);
	put32(optional + 96, 0x1000);
	put32(optional + 108, 16);
	put32(optional + OPTIONAL_EXPORTS, SECTION_AT);
	put32(optional + OPTIONAL_EXPORTS + 4, export_bytes);
	put32(optional + OPTIONAL_IMPORTS, SECTION_AT + export_bytes);
	put32(optional + OPTIONAL_IMPORTS + 4, 2 * IMPORT_BYTES);
	memcpy(section, section_name, sizeof(section_name));
	put32(section + 8, section_bytes);
	put32(section + 12, SECTION_AT);
	put32(section + 16, up_to(section_bytes, BLOCK));
	put32(section + 20, SECTION_FILE_AT);
	put32(section + 36, 0xc0000040); /* data, to be read, and written where imports are */
}

/* The export table, or how long it is where `section` is NULL. The list is sorted, and every ordinal is set. */
static uint32_t put_exports(unsigned char *section, const struct forwarder *list, uint32_t count,
			    uint32_t base, uint32_t function_count)
{
	const uint32_t functions = EXPORT_BYTES;
	const uint32_t names = functions + 4 * function_count;
	const uint32_t ordinals = names + 4 * count;
	uint32_t text = ordinals + 2 * count;
	static const char dll_name[] = "gdi32.dll";

	if (section) {
		put32(section + 12, SECTION_AT + text);
		put32(section + EXPORT_BASE, base);
		put32(section + EXPORT_FUNCTION_COUNT, function_count);
		put32(section + EXPORT_NAME_COUNT, count);
		put32(section + EXPORT_FUNCTIONS, SECTION_AT + functions);
		put32(section + EXPORT_NAMES, SECTION_AT + names);
		put32(section + EXPORT_ORDINALS, SECTION_AT + ordinals);
		memcpy(section + text, dll_name, sizeof(dll_name));
	}
	text += sizeof(dll_name);
	for (uint32_t i = 0; i < count; i++) {
		size_t name_bytes = strlen(list[i].name) + 1;
		size_t to_bytes = strlen(list[i].to) + 1;

		if (section) {
			put32(section + names + 4 * (size_t)i, SECTION_AT + text);
			put16(section + ordinals + 2 * (size_t)i, list[i].ordinal - base);
			memcpy(section + text, list[i].name, name_bytes);
		}
		text += (uint32_t)name_bytes;
		if (section) {
			put32(section + functions + 4 * (size_t)(list[i].ordinal - base),
			      SECTION_AT + text);
			memcpy(section + text, list[i].to, to_bytes - 1);
			section[text + to_bytes - 1] = '.';
			memcpy(section + text + to_bytes, list[i].name, name_bytes);
		}
		text += (uint32_t)(to_bytes + name_bytes);
	}
	return text;
}

/*
 * One import of winegdi32.dll, so that it is loaded with this file: where it came with the first forwarder that is followed, it
 * would ask for names of this file in the middle of that. `at` is a multiple of 8; returns how long it is, as above.
 */
static uint32_t put_imports(unsigned char *section, uint32_t at, const char *name)
{
	static const char dll_name[] = "winegdi32.dll";
	const uint32_t lookup = at + 2 * IMPORT_BYTES;
	const uint32_t addresses = lookup + 2 * 8;
	const uint32_t dll_text = addresses + 2 * 8;
	const uint32_t text = up_to(dll_text + sizeof(dll_name), 2);
	const size_t name_bytes = strlen(name) + 1;

	if (section) {
		put32(section + at, SECTION_AT + lookup);
		put32(section + at + 12, SECTION_AT + dll_text);
		put32(section + at + 16, SECTION_AT + addresses);
		put32(section + lookup, SECTION_AT + text);
		put32(section + addresses, SECTION_AT + text);
		memcpy(section + dll_text, dll_name, sizeof(dll_name));
		memcpy(section + text + 2, name, name_bytes);
	}
	return text + 2 + (uint32_t)name_bytes - at;
}

/* One that Wine has for sure: it is forwarded there. */
static const char *name_of_wine(const struct forwarder *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!is_d3dkmt(list[i].name))
			return list[i].name;
	return "GetStockObject";
}

/* Names that are new get ordinals behind Wine's. */
static uint32_t give_ordinals(struct forwarder *list, uint32_t count, const struct image *wine)
{
	uint32_t next = wine->ordinal_base + wine->function_count;

	for (uint32_t i = 0; i < count; i++)
		if (list[i].ordinal == 0)
			list[i].ordinal = next++;
	return next - wine->ordinal_base;
}

static bool write_proxy(const struct image *wine, struct forwarder *list, uint32_t count,
			struct proxy_file *proxy)
{
	uint32_t function_count = give_ordinals(list, count, wine);

	qsort(list, count, sizeof(*list), compare_names);
	uint32_t export_bytes =
		up_to(put_exports(NULL, list, count, wine->ordinal_base, function_count), 8);
	const char *name = name_of_wine(list, count);
	uint32_t bytes = export_bytes + put_imports(NULL, export_bytes, name);
	proxy->size = SECTION_FILE_AT + up_to(bytes, BLOCK);
	proxy->bytes = calloc(1, proxy->size);
	if (!proxy->bytes)
		return false;
	put_headers(proxy->bytes, export_bytes, bytes);
	(void)put_imports(proxy->bytes + SECTION_FILE_AT, export_bytes, name);
	(void)put_exports(proxy->bytes + SECTION_FILE_AT, list, count, wine->ordinal_base,
			  function_count);
	return true;
}

bool proxy_make(const char *wine_gdi32, const char *dxgkwine, struct proxy_file *proxy,
		char *problem, size_t problem_bytes)
{
	struct image wine;
	struct image ours;
	bool is_made = false;

	*proxy = (struct proxy_file){ 0 };
	if (!image_open(wine_gdi32, &wine, problem, problem_bytes))
		return false;
	if (image_open(dxgkwine, &ours, problem, problem_bytes)) {
		struct forwarder *list =
			calloc((size_t)wine.name_count + ours.name_count, sizeof(*list));

		is_made = list && write_proxy(&wine, list, choose(&wine, &ours, list), proxy);
		if (!is_made)
			snprintf(problem, problem_bytes, "no memory");
		free(list);
		free(ours.bytes);
	}
	free(wine.bytes);
	return is_made;
}
