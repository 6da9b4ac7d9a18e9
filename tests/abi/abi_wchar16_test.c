/* SPDX-License-Identifier: MIT */
/*
 * abi_wchar16_test.c - the D3D headers as a driver sees them, with 16-bit characters.
 *
 * Built with -fshort-wchar and with the driver's basic types where they exist. Exactly the structs
 * that carry text get smaller, to the size the kernel side of the interface has always had; all
 * others must be what clients see.
 */
#if __has_include(<ddk/ntdef.h>)
#include <ddk/ntdef.h>
#endif
#include <dxg/d3dkmthk.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct row {
	const char *name;
	size_t bytes, expected;
};

#define TYPE(name, type)                                                                           \
	_Static_assert(__builtin_types_compatible_p(name, type), "what " #name " is");
#define STRUCT(name, bytes) _Static_assert(sizeof(name) == (bytes), "size of " #name);
#define FIELD(name, field, offset, bytes)                                                          \
	_Static_assert(offsetof(name, field) == (offset), "offset of " #name "." #field);
#include "basic_types.def"
#undef TYPE
#undef STRUCT
#undef FIELD

static const struct row measured[] = {
#define STRUCT(name, bytes) { #name, sizeof(name), bytes },
#define FIELD(...)
#define TAIL(...)
#define BITS(...)
#define ENUM(...)
#define CONSTANT(...)
#define CALL(...)
#include "client_abi.def"
};

static const struct row with_text[] = {
#define NARROW(name, bytes)                                                                        \
	{                                                                                          \
#name, sizeof(name), bytes                                                         \
	}
	NARROW(D3DDDI_QUERYREGISTRY_INFO, 552),
	NARROW(DXGK_NODEMETADATA, 74),
	NARROW(DXGK_GPUVERSION, 128),
	NARROW(D3DKMT_NODEMETADATA, 78),
	NARROW(D3DKMT_ADAPTERREGISTRYINFO, 2080),
	NARROW(D3DKMT_CPDRIVERNAME, 520),
	NARROW(D3DKMT_DISPLAY_UMD_FILENAMEINFO, 524),
	NARROW(D3DKMT_DLIST_DRIVER_NAME, 520),
	NARROW(D3DKMT_DRIVER_DESCRIPTION, 8192),
	NARROW(D3DKMT_GPUVERSION, 132),
	NARROW(D3DKMT_MIRACASTCOMPANIONDRIVERNAME, 520),
	NARROW(D3DKMT_OPENADAPTERFROMGDIDISPLAYNAME, 80),
	NARROW(D3DKMT_OPENGLINFO, 528),
	NARROW(D3DKMT_QUERYREMOTEVIDPNSOURCEFROMGDIDISPLAYNAME, 68),
	NARROW(D3DKMT_QUERYSTATISTICS_PHYSICAL_ADAPTER_INFORMATION, 240),
	NARROW(D3DKMT_QUERY_ADAPTER_UNIQUE_GUID, 80),
	NARROW(D3DKMT_UMDFILENAMEINFO, 524),
};
enum { MEASURED = sizeof(measured) / sizeof(measured[0]) };
enum { WITH_TEXT = sizeof(with_text) / sizeof(with_text[0]) };

static const struct row *find_with_text(const char *name)
{
	for (size_t i = 0; i < WITH_TEXT; i++)
		if (!strcmp(with_text[i].name, name))
			return &with_text[i];
	return NULL;
}

int main(void)
{
	unsigned failures = sizeof(WCHAR) != 2;

	for (size_t i = 0; i < MEASURED; i++) {
		const struct row *narrow = find_with_text(measured[i].name);
		size_t expected = narrow ? narrow->expected : measured[i].expected;

		if (measured[i].bytes != expected) {
			printf("# %s has %zu bytes, expected %zu\n", measured[i].name,
			       measured[i].bytes, expected);
			failures++;
		}
	}
	printf("1..1\n%s 1 - %u of %u structs carry text and are narrower, no other changes\n",
	       failures ? "not ok" : "ok", (unsigned)WITH_TEXT, (unsigned)MEASURED);
	return failures != 0;
}
