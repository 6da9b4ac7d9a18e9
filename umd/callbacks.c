/* SPDX-License-Identifier: MIT */
/*
 * callbacks.c - the table of callbacks, made of callbacks.def.
 *
 * Each row becomes, in turn: what is refused (check_…), what of the D3DKMT structure stays empty (clear_…), what is written
 * into it (fill_…), handles of the runtime and arrays (map_…), what comes back (give_…), what is looked at when the kernel
 * refused (blame_…), the callback made of them, and its place in the table.
 *
 * What a callback adds to its call is counted (bench/run.py). So one way goes straight through all of it, for usual arguments
 * and success, and everything else leaves it. The compiler leaves out what is cleared and then written: so nothing may come
 * between that looks at another thread's memory, as finding a handle does.
 */
#include <dxg/ntstatus.h>
#include <string.h>

#include "umd/runtime.h"

/* ---- before ---- */

static RARE void refuse_value(enum umd_callback callback, enum umd_rule rule, const char *argument,
			      unsigned long long value)
{
	umd_report(rule, callback, argument, "is 0x%llx; %s", value,
		   rule == RULE_UMD_COUNT ? "more than there is room for" : "it has to be 0");
}

/* Reads them once more: so the straight way compares memory, and has no register for them. */
static RARE void refuse_flags(enum umd_callback callback, const char *argument, const void *args,
			      size_t at, UINT known)
{
	UINT flags;

	memcpy(&flags, (const char *)args + at, sizeof(flags));
	refuse_value(callback, RULE_UMD_NOT_BUILT, argument, flags & ~known);
}

#include "umd/no_steps.h"
#undef NONE
#define NONE(c)                                                                                    \
	if (UNLIKELY(args->c)) {                                                                   \
		refuse_value(callback, RULE_UMD_NOT_BUILT, #c,                                     \
			     (unsigned long long)(uintptr_t)args->c);                              \
		return false;                                                                      \
	}
#undef FLAGS
#define FLAGS(c, known)                                                                            \
	if (UNLIKELY(args->c.Value & ~(UINT)(known))) {                                            \
		refuse_flags(callback, #c, args, offsetof(__typeof__(*args), c), (known));         \
		return false;                                                                      \
	}

#define CHECK(name, type, ...)                                                                     \
	static inline bool check_##name(const type *args)                                          \
	{                                                                                          \
		const enum umd_callback callback = UMD_##name;                                     \
                                                                                                   \
		(void)args;                                                                        \
		(void)callback;                                                                    \
		__VA_ARGS__                                                                        \
		return true;                                                                       \
	}
#undef PAIR
#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	CHECK(name, type, __VA_ARGS__)
#undef PAIR_MAKES
#define PAIR_MAKES(name, level, constness, type, call, kernel_type, answer, kind, c, k, ...)       \
	CHECK(name, type, __VA_ARGS__)
#include "umd/callbacks.def"

/* ---- empty ---- */

/* All but what map_… or the kernel writes, constants, and some padding: of arrays nobody looks at more than their counts say. */
#include "umd/no_steps.h"
#undef ARRAY
#define ARRAY(k, ...)                                                                              \
	umd_clear(kernel, done, offsetof(__typeof__(*kernel), k));                                 \
	done = offsetof(__typeof__(*kernel), k) + sizeof(kernel->k);
#undef MAPPED_ARRAY
#define MAPPED_ARRAY ARRAY
#undef MAPPED
#define MAPPED ARRAY
#undef WRITTEN
#define WRITTEN ARRAY
#undef SET
#define SET ARRAY
#undef PADDING
#define PADDING(k)                                                                                 \
	umd_clear(kernel, done, offsetof(__typeof__(*kernel), k) + sizeof(kernel->k));             \
	done = (offsetof(__typeof__(*kernel), k) + sizeof(kernel->k) + 7) & ~(size_t)7;

#define CLEAR(name, kernel_type, ...)                                                              \
	SPECIALIZED void clear_##name(kernel_type *kernel)                                         \
	{                                                                                          \
		size_t done = 0;                                                                   \
                                                                                                   \
		__VA_ARGS__                                                                        \
		umd_clear(kernel, done, sizeof(*kernel));                                          \
	}
#undef PAIR
#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	CLEAR(name, kernel_type, __VA_ARGS__)
#undef PAIR_MAKES
#define PAIR_MAKES(name, level, constness, type, call, kernel_type, answer, kind, c, k, ...)       \
	CLEAR(name, kernel_type, __VA_ARGS__)
#include "umd/callbacks.def"

/* ---- in ---- */

#define SPAN_BYTES(structure, first, last)                                                         \
	(offsetof(__typeof__(*(structure)), last) + sizeof((structure)->last) -                    \
	 offsetof(__typeof__(*(structure)), first))
#define COPY_SPAN(to, t, tl, from, f, fl)                                                          \
	_Static_assert(SPAN_BYTES(to, t, tl) == SPAN_BYTES(from, f, fl), "they lie alike");        \
	_Static_assert(SPAN_BYTES(to, t, tl) <= 64, "as much as copy_span() does");                \
	copy_span((char *)(to) + offsetof(__typeof__(*(to)), t),                                   \
		  (const char *)(from) + offsetof(__typeof__(*(from)), f), SPAN_BYTES(to, t, tl));

/* By registers, none of which keeps an address for it. */
SPECIALIZED void copy_span(char *to, const char *from, size_t bytes)
{
	size_t whole = bytes / 16;

	if (whole > 0)
		memcpy(to, from, 16);
	if (whole > 1)
		memcpy(to + 16, from + 16, 16);
	if (whole > 2)
		memcpy(to + 32, from + 32, 16);
	if (whole > 3)
		memcpy(to + 48, from + 48, 16);
	if (bytes % 16 > 0)
		memcpy(to + whole * 16, from + whole * 16, bytes % 16);
}

#include "umd/no_steps.h"
#undef DEVICE
#define DEVICE(k) kernel->k = device->kernel;
#undef ADAPTER
#define ADAPTER(k) kernel->k = device->kernel_adapter;
#undef SET
#define SET(k, value) kernel->k = (value);
#undef COPY
#define COPY(k, c) kernel->k = args->c;
#undef SPAN
#define SPAN(k, kl, c, cl) COPY_SPAN(kernel, k, kl, args, c, cl)
#undef KERNEL
#define KERNEL(k, c) kernel->k = args->c;
#undef KERNEL_LIST
#define KERNEL_LIST(k, kn, c, cn)                                                                  \
	kernel->k = args->c;                                                                       \
	kernel->kn = args->cn;
#undef ARRAY
#define ARRAY(k, kn, c, cn, usual) kernel->kn = (usual);
#undef MAPPED_ARRAY
#define MAPPED_ARRAY(k, kn, c, cn, kind, usual) kernel->kn = (usual);

#define FILL(name, type, kernel_type, ...)                                                         \
	SPECIALIZED void fill_##name(const struct dxgk_umd_device *device, const type *args,       \
				     kernel_type *kernel)                                          \
	{                                                                                          \
		(void)device;                                                                      \
		__VA_ARGS__                                                                        \
	}
#undef PAIR
#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	FILL(name, type, kernel_type, __VA_ARGS__)
#undef PAIR_MAKES
#define PAIR_MAKES(name, level, constness, type, call, kernel_type, answer, kind, c, k, ...)       \
	FILL(name, type, kernel_type, __VA_ARGS__)
#include "umd/callbacks.def"

/* ---- handles of the runtime, and arrays ---- */

/* Arrays that are longer, or shorter, than they are as a rule. What is not used of them is cleared, too. */
static RARE bool copy_array(enum umd_callback callback, const char *count_name,
			    const D3DKMT_HANDLE *from, UINT count, D3DKMT_HANDLE *to, UINT room)
{
	if (count > room) {
		refuse_value(callback, RULE_UMD_COUNT, count_name, count);
		return false;
	}
	for (UINT i = 0; i < room; i++)
		to[i] = i < count ? from[i] : 0;
	return true;
}

static RARE bool map_array(const struct dxgk_umd_device *device, enum umd_callback callback,
			   const char *name, const char *count_name, const HANDLE *from, UINT count,
			   unsigned kinds, D3DKMT_HANDLE *to, UINT room)
{
	if (count > room) {
		refuse_value(callback, RULE_UMD_COUNT, count_name, count);
		return false;
	}
	memset(to, 0, room * sizeof(*to));
	for (UINT i = 0; i < count; i++)
		if (!umd_mapped(device, callback, name, from[i], kinds, &to[i]))
			return false;
	return true;
}

#include "umd/no_steps.h"
#undef ARRAY
#define ARRAY(k, kn, c, cn, usual)                                                                 \
	_Static_assert((usual) <= 1, "the others take a loop");                                    \
	_Static_assert(ARRAY_SIZE(kernel->k) == ARRAY_SIZE(args->c), "one length");                \
	if (UNLIKELY(args->cn != (usual))) {                                                       \
		kernel->kn = args->cn;                                                             \
		if (!copy_array(callback, #cn, args->c, args->cn, kernel->k,                       \
				ARRAY_SIZE(kernel->k)))                                            \
			return false;                                                              \
	} else if ((usual) == 1) {                                                                 \
		kernel->k[0] = args->c[0];                                                         \
	}
#undef MAPPED_ARRAY
#define MAPPED_ARRAY(k, kn, c, cn, kind, usual)                                                    \
	_Static_assert((usual) <= 1, "the others take a loop");                                    \
	_Static_assert(ARRAY_SIZE(kernel->k) == ARRAY_SIZE(args->c), "one length");                \
	if (UNLIKELY(args->cn != (usual))) {                                                       \
		kernel->kn = args->cn;                                                             \
		if (!map_array(device, callback, #c, #cn, args->c, args->cn, UMD_##kind,           \
			       kernel->k, ARRAY_SIZE(kernel->k)))                                  \
			return false;                                                              \
	} else if ((usual) == 1) {                                                                 \
		if (UNLIKELY(!umd_mapped(device, callback, #c, args->c[0], UMD_##kind,             \
					 &kernel->k[0])))                                          \
			return false;                                                              \
	}
#undef MAPPED
#define MAPPED(k, c, kind)                                                                         \
	if (UNLIKELY(!umd_mapped(device, callback, #c, args->c, UMD_##kind, &kernel->k)))          \
		return false;
#undef MAPPED_OR_0
#define MAPPED_OR_0(k, c, kind)                                                                    \
	if (args->c) {                                                                             \
		MAPPED(k, c, kind)                                                                 \
	}

#define MAP(name, type, kernel_type, ...)                                                          \
	static inline bool map_##name(const struct dxgk_umd_device *device, const type *args,      \
				      kernel_type *kernel)                                         \
	{                                                                                          \
		const enum umd_callback callback = UMD_##name;                                     \
                                                                                                   \
		(void)device;                                                                      \
		(void)args;                                                                        \
		(void)kernel;                                                                      \
		(void)callback;                                                                    \
		__VA_ARGS__                                                                        \
		return true;                                                                       \
	}
#undef PAIR
#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	MAP(name, type, kernel_type, __VA_ARGS__)
#undef PAIR_MAKES
#define PAIR_MAKES(name, level, constness, type, call, kernel_type, answer, kind, c, k, ...)       \
	MAP(name, type, kernel_type, __VA_ARGS__)
#include "umd/callbacks.def"

/* ---- out ---- */

#include "umd/no_steps.h"
#undef BACK
#define BACK(c, k) args->c = kernel->k;
#undef BACK_SPAN
#define BACK_SPAN(c, cl, k, kl) COPY_SPAN(args, c, cl, kernel, k, kl)

#define GIVE(name, constness, type, kernel_type, ...)                                              \
	SPECIALIZED void give_##name(constness type *args, const kernel_type *kernel)              \
	{                                                                                          \
		(void)args;                                                                        \
		(void)kernel;                                                                      \
		__VA_ARGS__                                                                        \
	}
#undef PAIR
#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	GIVE(name, constness, type, kernel_type, __VA_ARGS__)
#undef PAIR_MAKES
#define PAIR_MAKES(name, level, constness, type, call, kernel_type, answer, kind, c, k, ...)       \
	GIVE(name, constness, type, kernel_type, __VA_ARGS__)
#include "umd/callbacks.def"

/* ---- when the kernel refused ---- */

#include "umd/no_steps.h"
#undef KERNEL
#define KERNEL(k, c) umd_blame(callback, #c, args->c, -1);
#undef KERNEL_LIST
#define KERNEL_LIST(k, kn, c, cn) umd_blame_list(callback, #c, args->c, args->cn);
#undef ARRAY
#define ARRAY(k, kn, c, cn, usual) umd_blame_list(callback, #c, args->c, args->cn);

#define BLAME(name, type, ...)                                                                     \
	static RARE void blame_##name(const type *args)                                            \
	{                                                                                          \
		const enum umd_callback callback = UMD_##name;                                     \
                                                                                                   \
		(void)args;                                                                        \
		(void)callback;                                                                    \
		__VA_ARGS__                                                                        \
	}
#undef PAIR
#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	BLAME(name, type, __VA_ARGS__)
#undef PAIR_SHARED
#define PAIR_SHARED(name, level, constness, type, call, answer, ...) BLAME(name, type, __VA_ARGS__)
#include "umd/callbacks.def"

/* ---- the callbacks ---- */

/* Whose it is its number says, which has not been given out. */
static RARE void give_back(struct umd_slot *slot, enum umd_kind kind)
{
	struct dxgk_umd_device *device = umd_device_at(~atomic_load(&slot->handle));

	umd_slot_end(&device->handles, slot, kind);
}

#include "umd/no_steps.h"
#undef PAIR
#define PAIR(name, level, constness, type, call, kernel_type, answer, ...)                         \
	static HRESULT APIENTRY umd_callback_##name(HANDLE hDevice, constness type *args)          \
	{                                                                                          \
		kernel_type kernel;                                                                \
		HRESULT result;                                                                    \
		struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_##name, &result);    \
                                                                                                   \
		if (UNLIKELY(!device))                                                             \
			return result;                                                             \
		if (UNLIKELY(!check_##name(args)))                                                 \
			return E_INVALIDARG;                                                       \
		clear_##name(&kernel);                                                             \
		fill_##name(device, args, &kernel);                                                \
		if (UNLIKELY(!map_##name(device, args, &kernel)))                                  \
			return E_INVALIDARG;                                                       \
		NTSTATUS status = call(&kernel);                                                   \
		if (LIKELY(status == STATUS_SUCCESS)) {                                            \
			give_##name(args, &kernel);                                                \
			return S_OK;                                                               \
		}                                                                                  \
		if (NT_SUCCESS(status))                                                            \
			give_##name(args, &kernel);                                                \
		else                                                                               \
			blame_##name(args);                                                        \
		return umd_answer_slow(status, answer);                                            \
	}
#undef PAIR_MAKES
#define PAIR_MAKES(name, level, constness, type, call, kernel_type, answer, kind, c, k, ...)       \
	static HRESULT APIENTRY umd_callback_##name(HANDLE hDevice, constness type *args)          \
	{                                                                                          \
		kernel_type kernel;                                                                \
		HRESULT result;                                                                    \
		struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_##name, &result);    \
                                                                                                   \
		if (UNLIKELY(!device))                                                             \
			return result;                                                             \
		if (UNLIKELY(!check_##name(args)))                                                 \
			return E_INVALIDARG;                                                       \
		clear_##name(&kernel);                                                             \
		fill_##name(device, args, &kernel);                                                \
		if (UNLIKELY(!map_##name(device, args, &kernel)))                                  \
			return E_INVALIDARG;                                                       \
		/* First: what the kernel has made could not be undone without a failure. */       \
		struct umd_slot *slot = umd_slot_reserve(&device->handles, UMD_##kind);            \
		if (UNLIKELY(!slot))                                                               \
			return E_OUTOFMEMORY;                                                      \
		NTSTATUS status = call(&kernel);                                                   \
		if (UNLIKELY(!NT_SUCCESS(status))) {                                               \
			give_back(slot, UMD_##kind);                                               \
			return umd_answer_slow(status, answer);                                    \
		}                                                                                  \
		give_##name(args, &kernel);                                                        \
		args->c = umd_slot_publish(slot, kernel.k);                                        \
		return umd_answer(status, answer);                                                 \
	}
#undef PAIR_ENDS
#define PAIR_ENDS(name, level, constness, type, call, kernel_type, answer, kind, c, k)             \
	static HRESULT APIENTRY umd_callback_##name(HANDLE hDevice, constness type *args)          \
	{                                                                                          \
		HRESULT result;                                                                    \
		struct dxgk_umd_device *device = umd_begin(hDevice, args, UMD_##name, &result);    \
                                                                                                   \
		if (UNLIKELY(!device))                                                             \
			return result;                                                             \
		/* First: of two threads that end it, one goes on. */                              \
		struct umd_slot *slot = umd_slot_at(&device->handles, args->c, UMD_##kind);        \
		if (UNLIKELY(!umd_slot_claim(slot, args->c))) {                                    \
			umd_report_handle(UMD_##name, #c, args->c, UMD_##kind, device);            \
			return E_INVALIDARG;                                                       \
		}                                                                                  \
		kernel_type kernel = { .k = atomic_load(&slot->kernel) };                          \
		HRESULT ended = umd_answer(call(&kernel), answer);                                 \
		if (UNLIKELY(FAILED(ended)))                                                       \
			umd_slot_put_back(slot);                                                   \
		else                                                                               \
			umd_slot_end(&device->handles, slot, UMD_##kind);                          \
		return ended;                                                                      \
	}
#undef PAIR_SHARED
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
#undef PAIR_REFUSED
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

/* ---- the table ---- */

#include "umd/no_steps.h"
void umd_fill_callbacks(D3DDDI_DEVICECALLBACKS *table, UINT version)
{
	memset(table, 0, sizeof(*table));
#undef PAIR
#define PAIR(name, level, ...)                                                                     \
	_Static_assert(offsetof(D3DDDI_DEVICECALLBACKS, pfn##name##Cb) ==                          \
			       UMD_##name * sizeof(void *),                                        \
		       #name " is in its place");                                                  \
	if (version >= D3D_UMD_INTERFACE_VERSION_##level)                                          \
		table->pfn##name##Cb = umd_callback_##name;
#undef PAIR_MAKES
#define PAIR_MAKES PAIR
#undef PAIR_ENDS
#define PAIR_ENDS PAIR
#undef PAIR_SHARED
#define PAIR_SHARED PAIR
#undef PAIR_OWN
#define PAIR_OWN PAIR
#undef PAIR_OWN_VALUE
#define PAIR_OWN_VALUE PAIR
#undef PAIR_REFUSED
#define PAIR_REFUSED PAIR
#include "umd/callbacks.def"
}
