/* SPDX-License-Identifier: MIT */
/*
 * callbacks.c - the table of callbacks, made of callbacks.def.
 *
 * Each row becomes, in turn: what is written into the D3DKMT structure (fill_…), what comes back (give_…), what is looked at
 * when the kernel refused (blame_…), the callback made of them, and its place in the table.
 */
#include <string.h>

#include "umd/runtime.h"

/* The parts of a row that a pass does not look at. */
#define PAIR_OWN(...)
#define PAIR_OWN_VALUE(...)
#define PAIR_REFUSED(...)

/* ---- in ---- */

static RARE bool refuse_value(enum umd_callback callback, enum umd_rule rule, const char *argument,
			      unsigned long long value)
{
	umd_report(rule, callback, argument, "is 0x%llx; %s", value,
		   rule == RULE_UMD_COUNT ? "more than there is room for" : "it has to be 0");
	return false;
}

#define DEVICE(k)     kernel->k = device->kernel;
#define ADAPTER(k)    kernel->k = device->kernel_adapter;
#define SET(k, value) kernel->k = (value);
#define COPY(k, c)    kernel->k = args->c;
#define BACK(c, k)
#define KERNEL(k, c) kernel->k = args->c;
#define KERNEL_LIST(k, kn, c, cn)                                                                  \
	kernel->k = args->c;                                                                       \
	kernel->kn = args->cn;
#define FLAGS(k, c, known)                                                                         \
	_Static_assert(sizeof(kernel->k) == sizeof(args->c), "one word");                          \
	if (UNLIKELY(args->c.Value & ~(UINT)(known)))                                              \
		return refuse_value(callback, RULE_UMD_NOT_BUILT, #c,                              \
				    args->c.Value & ~(UINT)(known));                               \
	memcpy(&kernel->k, &args->c, sizeof(kernel->k));
#define ARRAY(k, kn, c, cn)                                                                        \
	if (UNLIKELY(args->cn > ARRAY_SIZE(args->c)))                                              \
		return refuse_value(callback, RULE_UMD_COUNT, #cn, args->cn);                      \
	kernel->kn = args->cn;                                                                     \
	for (UINT i = 0; i < args->cn; i++)                                                        \
		kernel->k[i] = args->c[i];
#define MAPPED(k, c, kind)                                                                         \
	if (UNLIKELY(!umd_mapped(device, callback, #c, args->c, UMD_##kind, &kernel->k)))          \
		return false;
#define MAPPED_OR_0(k, c, kind)                                                                    \
	if (args->c) {                                                                             \
		MAPPED(k, c, kind)                                                                 \
	}
#define MAPPED_ARRAY(k, kn, c, cn, kind)                                                           \
	if (UNLIKELY(args->cn > ARRAY_SIZE(args->c)))                                              \
		return refuse_value(callback, RULE_UMD_COUNT, #cn, args->cn);                      \
	kernel->kn = args->cn;                                                                     \
	for (UINT i = 0; i < args->cn; i++)                                                        \
		if (UNLIKELY(!umd_mapped(device, callback, #c, args->c[i], UMD_##kind,             \
					 &kernel->k[i])))                                          \
			return false;
#define NONE(c)                                                                                    \
	if (UNLIKELY(args->c))                                                                     \
		return refuse_value(callback, RULE_UMD_NOT_BUILT, #c,                              \
				    (unsigned long long)(uintptr_t)args->c);

/* Everything, tails of arrays included: all of it may travel to a server. Stores cost less here than `rep stos` takes to begin. */
static inline void clear(void *structure, size_t size_bytes)
{
	typedef uint64_t pair __attribute__((vector_size(16), aligned(4), may_alias));
	pair *words = structure;

	if (size_bytes < 128) {
		memset(structure, 0, size_bytes);
		return;
	}
#pragma GCC unroll 64
	for (size_t i = 0; i < size_bytes / sizeof(*words); i++) {
		words[i] = (pair){ 0, 0 };
		/* Stays a store: the compiler would make a memset of them again. */
		__asm__("" : "+m"(words[i]));
	}
	memset((char *)structure + size_bytes / sizeof(*words) * sizeof(*words), 0,
	       size_bytes % sizeof(*words));
}

#define FILL(name, type, kernel_type, ...)                                                         \
	static inline bool fill_##name(struct dxgk_umd_device *device, const type *args,           \
				       kernel_type *kernel)                                        \
	{                                                                                          \
		const enum umd_callback callback = UMD_##name;                                     \
                                                                                                   \
		(void)device;                                                                      \
		(void)callback;                                                                    \
		clear(kernel, sizeof(*kernel));                                                    \
		__VA_ARGS__                                                                        \
		return true;                                                                       \
	}
#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	FILL(name, type, kernel_type, __VA_ARGS__)
#define PAIR_MAKES(name, level, constness, type, call, kernel_type, answer, kind, c, k, ...)       \
	FILL(name, type, kernel_type, __VA_ARGS__)
#define PAIR_ENDS(...)
#define PAIR_SHARED(...)
#include "umd/callbacks.def"
#undef PAIR
#undef PAIR_MAKES
#undef PAIR_ENDS
#undef PAIR_SHARED
#undef DEVICE
#undef ADAPTER
#undef SET
#undef COPY
#undef BACK
#undef KERNEL
#undef KERNEL_LIST
#undef FLAGS
#undef ARRAY
#undef MAPPED
#undef MAPPED_OR_0
#undef MAPPED_ARRAY
#undef NONE

/* ---- out ---- */

#define DEVICE(...)
#define ADAPTER(...)
#define SET(...)
#define COPY(...)
#define BACK(c, k) args->c = kernel->k;
#define KERNEL(...)
#define KERNEL_LIST(...)
#define FLAGS(...)
#define ARRAY(...)
#define MAPPED(...)
#define MAPPED_OR_0(...)
#define MAPPED_ARRAY(...)
#define NONE(...)

#define GIVE(name, constness, type, kernel_type, ...)                                              \
	static inline void give_##name(constness type *args, const kernel_type *kernel)            \
	{                                                                                          \
		(void)args;                                                                        \
		(void)kernel;                                                                      \
		__VA_ARGS__                                                                        \
	}
#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	GIVE(name, constness, type, kernel_type, __VA_ARGS__)
#define PAIR_MAKES(name, level, constness, type, call, kernel_type, answer, kind, c, k, ...)       \
	GIVE(name, constness, type, kernel_type, __VA_ARGS__)
#define PAIR_ENDS(...)
#define PAIR_SHARED(...)
#include "umd/callbacks.def"
#undef PAIR
#undef PAIR_MAKES
#undef PAIR_ENDS
#undef PAIR_SHARED
#undef BACK
#undef KERNEL
#undef KERNEL_LIST
#undef ARRAY

/* ---- when the kernel refused ---- */

#define BACK(...)
#define KERNEL(k, c)              umd_blame(callback, #c, args->c, -1);
#define KERNEL_LIST(k, kn, c, cn) umd_blame_list(callback, #c, args->c, args->cn);
#define ARRAY(k, kn, c, cn)       umd_blame_list(callback, #c, args->c, args->cn);

#define BLAME(name, type, ...)                                                                     \
	static RARE void blame_##name(const type *args)                                            \
	{                                                                                          \
		const enum umd_callback callback = UMD_##name;                                     \
                                                                                                   \
		(void)args;                                                                        \
		(void)callback;                                                                    \
		__VA_ARGS__                                                                        \
	}
#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	BLAME(name, type, __VA_ARGS__)
#define PAIR_MAKES(...)
#define PAIR_ENDS(...)
#define PAIR_SHARED(name, level, constness, type, call, answer, ...) BLAME(name, type, __VA_ARGS__)
#include "umd/callbacks.def"
#undef PAIR
#undef PAIR_MAKES
#undef PAIR_ENDS
#undef PAIR_SHARED
#undef PAIR_REFUSED

/* ---- the callbacks ---- */

#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	static HRESULT APIENTRY umd_callback_##name(HANDLE hDevice, constness type *args)          \
	{                                                                                          \
		kernel_type kernel;                                                                \
		HRESULT result;                                                                    \
		struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_##name, &result);    \
                                                                                                   \
		if (UNLIKELY(!device))                                                             \
			return result;                                                             \
		if (UNLIKELY(!fill_##name(device, args, &kernel)))                                 \
			return E_INVALIDARG;                                                       \
		NTSTATUS status = call(&kernel);                                                   \
		if (LIKELY(NT_SUCCESS(status)))                                                    \
			give_##name(args, &kernel);                                                \
		else                                                                               \
			blame_##name(args);                                                        \
		return umd_answer(status, answer);                                                 \
	}
#define PAIR_MAKES(name, level, constness, type, call, kernel_type, answer, kind, c, k, ...)       \
	static HRESULT APIENTRY umd_callback_##name(HANDLE hDevice, constness type *args)          \
	{                                                                                          \
		kernel_type kernel;                                                                \
		HRESULT result;                                                                    \
		struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_##name, &result);    \
                                                                                                   \
		if (UNLIKELY(!device))                                                             \
			return result;                                                             \
		if (UNLIKELY(!fill_##name(device, args, &kernel)))                                 \
			return E_INVALIDARG;                                                       \
		/* First: what the kernel has made could not be undone without a failure. */       \
		struct umd_slot *slot = umd_slot_reserve(&device->handles);                        \
		if (UNLIKELY(!slot))                                                               \
			return E_OUTOFMEMORY;                                                      \
		NTSTATUS status = call(&kernel);                                                   \
		if (LIKELY(NT_SUCCESS(status))) {                                                  \
			give_##name(args, &kernel);                                                \
			args->c = umd_slot_publish(&device->handles, slot, device->owner,          \
						   UMD_##kind, kernel.k);                          \
		} else {                                                                           \
			umd_slot_end(&device->handles, slot);                                      \
		}                                                                                  \
		return umd_answer(status, answer);                                                 \
	}
#define PAIR_ENDS(name, level, constness, type, call, kernel_type, answer, kind, c, k)             \
	static HRESULT APIENTRY umd_callback_##name(HANDLE hDevice, constness type *args)          \
	{                                                                                          \
		kernel_type kernel = { 0 };                                                        \
		HRESULT result;                                                                    \
		struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_##name, &result);    \
                                                                                                   \
		if (UNLIKELY(!device))                                                             \
			return result;                                                             \
		if (UNLIKELY(!umd_mapped(device, UMD_##name, #c, args->c, UMD_##kind, &kernel.k))) \
			return E_INVALIDARG;                                                       \
		struct umd_slot *slot = umd_slot_find(&device->handles, args->c, UMD_##kind);      \
		result = umd_answer(call(&kernel), answer);                                        \
		if (LIKELY(SUCCEEDED(result) && slot))                                             \
			umd_slot_end(&device->handles, slot);                                      \
		return result;                                                                     \
	}
#define PAIR_SHARED(name, level, constness, type, call, answer, ...)                               \
	static HRESULT APIENTRY umd_callback_##name(HANDLE hDevice, constness type *args)          \
	{                                                                                          \
		HRESULT result;                                                                    \
                                                                                                   \
		if (UNLIKELY(!umd_begin(hDevice, args, UMD_##name, &result)))                      \
			return result;                                                             \
		NTSTATUS status = call((type *)args);                                              \
		if (UNLIKELY(!NT_SUCCESS(status)))                                                 \
			blame_##name(args);                                                        \
		return umd_answer(status, answer);                                                 \
	}
#define PAIR_REFUSED(name, level, type, structure, rule, reason)                                   \
	static HRESULT APIENTRY umd_callback_##name(HANDLE hDevice, type *args)                    \
	{                                                                                          \
		HRESULT result;                                                                    \
                                                                                                   \
		(void)args;                                                                        \
		if (!umd_begin(hDevice, hDevice, UMD_##name, &result))                             \
			return result;                                                             \
		umd_report(RULE_##rule, UMD_##name, "", reason);                                   \
		return E_NOTIMPL;                                                                  \
	}
#include "umd/callbacks.def"
#undef PAIR
#undef PAIR_MAKES
#undef PAIR_ENDS
#undef PAIR_SHARED
#undef PAIR_REFUSED
#undef PAIR_OWN
#undef PAIR_OWN_VALUE

/* ---- the table ---- */

void umd_fill_callbacks(D3DDDI_DEVICECALLBACKS *table, UINT version)
{
	memset(table, 0, sizeof(*table));
#define PAIR(name, level, ...)                                                                     \
	_Static_assert(offsetof(D3DDDI_DEVICECALLBACKS, pfn##name##Cb) ==                          \
			       UMD_##name * sizeof(void *),                                        \
		       #name " is in its place");                                                  \
	if (version >= D3D_UMD_INTERFACE_VERSION_##level)                                          \
		table->pfn##name##Cb = umd_callback_##name;
#define PAIR_MAKES     PAIR
#define PAIR_ENDS      PAIR
#define PAIR_SHARED    PAIR
#define PAIR_OWN       PAIR
#define PAIR_OWN_VALUE PAIR
#define PAIR_REFUSED   PAIR
#include "umd/callbacks.def"
}
