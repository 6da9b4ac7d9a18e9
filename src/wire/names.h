/* SPDX-License-Identifier: MIT */
/*
 * names.h - names.def as lists that end with a NULL name.
 */
#ifndef WIRE_NAMES_H
#define WIRE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include <dxg/d3dkmthk.h>

struct call_name {
	uint32_t value; /* of flags: the bit */
	const char *name;
};

#define FLAGS_BEGIN(type) extern const struct call_name names_of_##type[];
#define BIT(type, member, bit)
#define FLAGS_END(type)
#define VALUES_BEGIN(list) extern const struct call_name names_of_##list[];
#define VALUE(enumerator)
#define VALUES_END(list)
#include "wire/names.def"
#undef FLAGS_BEGIN
#undef BIT
#undef FLAGS_END
#undef VALUES_BEGIN
#undef VALUE
#undef VALUES_END

/* The list for the bits of a field; NULL where there is none. */
#define NAMES_OF_FLAGS(field)                                                                      \
	_Generic((field), D3DDDI_ESCAPEFLAGS                                                       \
		 : names_of_D3DDDI_ESCAPEFLAGS, D3DKMT_CREATEDEVICEFLAGS                           \
		 : names_of_D3DKMT_CREATEDEVICEFLAGS, D3DDDI_CREATECONTEXTFLAGS                    \
		 : names_of_D3DDDI_CREATECONTEXTFLAGS, D3DDDI_CREATEHWQUEUEFLAGS                   \
		 : names_of_D3DDDI_CREATEHWQUEUEFLAGS, D3DDDICB_SIGNALFLAGS                        \
		 : names_of_D3DDDICB_SIGNALFLAGS, D3DKMT_CREATEKEYEDMUTEX2_FLAGS                   \
		 : names_of_D3DKMT_CREATEKEYEDMUTEX2_FLAGS, D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS     \
		 : names_of_D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS,                                    \
		   D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS                                \
		 : names_of_D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS,                      \
		   D3DKMT_SUBMITCOMMANDFLAGS                                                       \
		 : names_of_D3DKMT_SUBMITCOMMANDFLAGS, D3DKMT_RENDERFLAGS                          \
		 : names_of_D3DKMT_RENDERFLAGS, D3DDDICB_DESTROYALLOCATION2FLAGS                   \
		 : names_of_D3DDDICB_DESTROYALLOCATION2FLAGS, D3DDDICB_LOCKFLAGS                   \
		 : names_of_D3DDDICB_LOCKFLAGS, D3DDDI_MAKERESIDENT_FLAGS                          \
		 : names_of_D3DDDI_MAKERESIDENT_FLAGS, D3DDDI_EVICT_FLAGS                          \
		 : names_of_D3DDDI_EVICT_FLAGS, D3DDDI_UPDATEALLOCPROPERTY_FLAGS                   \
		 : names_of_D3DDDI_UPDATEALLOCPROPERTY_FLAGS, D3DKMT_OFFER_FLAGS                   \
		 : names_of_D3DKMT_OFFER_FLAGS, D3DKMT_TRIMPROCESSCOMMITMENT_FLAGS                 \
		 : names_of_D3DKMT_TRIMPROCESSCOMMITMENT_FLAGS, D3DKMT_CREATEALLOCATIONFLAGS       \
		 : names_of_D3DKMT_CREATEALLOCATIONFLAGS, default                                  \
		 : NULL)

/* NULL: it has none. `list` may be NULL. */
const char *call_name_of(const struct call_name *list, uint64_t value);

/* "4, 5" or "31 (SystemUseOnly)": the numbers of bits, and the names of those that have one. */
void call_describe_bits(const struct call_name *list, uint32_t bits, char *text, size_t size);

#endif
