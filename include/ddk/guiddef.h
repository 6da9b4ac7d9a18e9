/* SPDX-License-Identifier: MIT */
/*
 * guiddef.h - declaring, defining and comparing GUIDs.
 *
 * DEFINE_GUID declares a GUID, or defines it in files that included initguid.h first. Drivers do
 * that in every file, so the definition is weak: the linker keeps one of them.
 */
#ifndef OPENDXGK_DDK_GUIDDEF_H
#define OPENDXGK_DDK_GUIDDEF_H

#include "ntdef.h"

#ifdef __cplusplus
#define REFGUID const GUID &
#define REFIID  const IID &
#else
#define REFGUID const GUID *
#define REFIID  const IID *
#endif

OPENDXGK_INLINE int OpendxgkEqualGuid(const GUID *a, const GUID *b)
{
	return __builtin_memcmp(a, b, sizeof(GUID)) == 0;
}

#ifdef __cplusplus
extern "C++" {
static inline __attribute__((unused)) int IsEqualGUID(const GUID &a, const GUID &b)
{
	return OpendxgkEqualGuid(&a, &b);
}
static inline __attribute__((unused)) bool operator==(const GUID &a, const GUID &b)
{
	return OpendxgkEqualGuid(&a, &b) != 0;
}
static inline __attribute__((unused)) bool operator!=(const GUID &a, const GUID &b)
{
	return OpendxgkEqualGuid(&a, &b) == 0;
}
}
#else
#define IsEqualGUID(a, b) OpendxgkEqualGuid(a, b)
#endif
#define InlineIsEqualGUID(a, b) IsEqualGUID(a, b)
#define IsEqualIID(a, b)        IsEqualGUID(a, b)

#define OPENDXGK_GUID_DECLARE(name) EXTERN_C const GUID name
#define OPENDXGK_GUID_DEFINE(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8)                      \
	EXTERN_C const GUID name DECLSPEC_SELECTANY;                                               \
	const GUID name = { l, w1, w2, { b1, b2, b3, b4, b5, b6, b7, b8 } }

#endif

/* Outside the guard: initguid.h includes this again to switch from declaring to defining. */
#undef DEFINE_GUID
#ifdef INITGUID
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8)                               \
	OPENDXGK_GUID_DEFINE(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8)
#else
#define DEFINE_GUID(name, l, w1, w2, b1, b2, b3, b4, b5, b6, b7, b8) OPENDXGK_GUID_DECLARE(name)
#endif
