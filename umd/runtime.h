/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - adapters and devices of the runtime, and what a callback begins with. Nothing here takes a lock.
 */
#ifndef UMD_RUNTIME_H
#define UMD_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <opendxgk/marker.h>
#include <opendxgk/umd.h>

#include "base/attributes.h"
#include "umd/handles.h"

enum umd_rule {
#define RULE(name, id) RULE_##name,
#include "base/rules.def"
#undef RULE
};

/* Adapters, and one more than devices, at a time. */
enum { UMD_OWNERS = 256 };

enum umd_callback {
#define PAIR(name, ...)           UMD_##name,
#define PAIR_MAKES(name, ...)     UMD_##name,
#define PAIR_ENDS(name, ...)      UMD_##name,
#define PAIR_SHARED(name, ...)    UMD_##name,
#define PAIR_OWN(name, ...)       UMD_##name,
#define PAIR_OWN_VALUE(name, ...) UMD_##name,
#define PAIR_REFUSED(name, ...)   UMD_##name,
#include "umd/callbacks.def"
#undef PAIR
#undef PAIR_MAKES
#undef PAIR_ENDS
#undef PAIR_SHARED
#undef PAIR_OWN
#undef PAIR_OWN_VALUE
#undef PAIR_REFUSED
	UMD_CALLBACKS,
	/* Calls of the runtime itself, which can be made to fail as callbacks can. */
	UMD_CREATE_DEVICE = UMD_CALLBACKS,
	UMD_DESTROY_DEVICE,
	UMD_WATCHED_CALLS,
	UMD_NO_CALLBACK = -1,
};
_Static_assert(UMD_CALLBACKS * sizeof(void *) == sizeof(D3DDDI_DEVICECALLBACKS),
	       "callbacks.def has the whole table");

/* ---- adapters and devices: never freed, used again ---- */

struct dxgk_umd_adapter {
	_Atomic uint64_t handle; /* 0: not in use */
	_Atomic bool is_taken;
	_Atomic uint32_t device_count;
	unsigned owner;
	uint16_t generation;
	D3DKMT_HANDLE kernel;
	LUID luid;
	void *library;
	HANDLE driver;
	UINT version; /* the driver's */
	D3DDDI_ADAPTERFUNCS funcs;
	D3DDDI_ADAPTERCALLBACKS callbacks;
};

struct dxgk_umd_device {
	_Atomic uint64_t handle; /* 0: not in use */
	_Atomic uint64_t
		plain_handle; /* the same; one of another place where somebody watches its callbacks */
	_Atomic bool is_taken;
	unsigned owner;
	uint16_t generation;
	D3DKMT_HANDLE kernel;
	D3DKMT_HANDLE kernel_adapter;
	struct dxgk_umd_adapter *adapter;
	HANDLE driver;
	void *trim; /* the registration; NULL: the driver does not want to know */
	_Atomic BOOL is_async;
	D3DDDI_DEVICEFUNCS funcs;
	D3DDDI_DEVICECALLBACKS callbacks;
	struct umd_handles handles;
};

/* By owner, none of them NULL: where there was no device yet, it is one that has the handle of another place. */
extern struct dxgk_umd_device *_Atomic umd_devices[UMD_OWNERS];
extern struct dxgk_umd_adapter *_Atomic umd_adapters[UMD_OWNERS];

static inline struct dxgk_umd_device *umd_device_at(uint64_t number)
{
	struct dxgk_umd_device *device =
		atomic_load_explicit(&umd_devices[umd_handle_owner(number)], memory_order_acquire);

	if (!device)
		__builtin_unreachable();
	return device;
}

static inline struct dxgk_umd_device *umd_device_find(HANDLE handle)
{
	struct dxgk_umd_device *device = umd_device_at((uintptr_t)handle);

	return atomic_load_explicit(&device->handle, memory_order_acquire) == (uintptr_t)handle
		       ? device
		       : NULL;
}

static inline struct dxgk_umd_adapter *umd_adapter_find(HANDLE handle)
{
	uint64_t number = (uintptr_t)handle;
	struct dxgk_umd_adapter *adapter =
		atomic_load_explicit(&umd_adapters[umd_handle_owner(number)], memory_order_acquire);

	return adapter && atomic_load_explicit(&adapter->handle, memory_order_acquire) == number
		       ? adapter
		       : NULL;
}

/* False: it was reported. */
bool umd_is_open(const struct dxgk_umd_adapter *adapter);

/* What a driver of this version finds in its tables. */
void umd_fill_callbacks(D3DDDI_DEVICECALLBACKS *table, UINT version);
void umd_fill_adapter_callbacks(D3DDDI_ADAPTERCALLBACKS *table);

/* ---- reports and chosen failures ---- */

void umd_report(enum umd_rule rule, enum umd_callback callback, const char *argument,
		const char *format, ...) PRINTF_LIKE(4, 5) RARE;
/* Reports what is wrong with a handle that should be one of the runtime's, of these kinds. */
void umd_report_handle(enum umd_callback callback, const char *argument, HANDLE handle,
		       unsigned kinds, const struct dxgk_umd_device *device) RARE;
/* Reports a handle that should be the kernel's, and has the mark of the runtime's. index -1: not of a list. */
void umd_blame(enum umd_callback callback, const char *argument, D3DKMT_HANDLE handle,
	       long index) RARE;
void umd_blame_list(enum umd_callback callback, const char *argument, const D3DKMT_HANDLE *list,
		    UINT count) RARE;

/*
 * Callbacks are looked at one by one: some are to fail, or all are to be told. Devices that were there then stay watched:
 * nobody who chooses failures is in a hurry afterwards.
 */
extern _Atomic int umd_watched;
void umd_watch_devices(void);
/* True: it fails with that result. */
bool umd_watch(enum umd_callback callback, HRESULT *result_out) RARE;
static inline bool umd_is_to_fail(enum umd_callback callback, HRESULT *result_out)
{
	return UNLIKELY(atomic_load_explicit(&umd_watched, memory_order_relaxed) != 0 &&
			umd_watch(callback, result_out));
}
/* Where all callbacks are told, what the driver says with this one is, too. */
void umd_tell_marker(const DXGK_MARKER *marker);
void umd_read_environment(void);
const char *umd_callback_name(enum umd_callback callback);

void umd_enter_ddi(const char *call);
HRESULT umd_leave_ddi(HRESULT result);

/* ---- callbacks ---- */

enum umd_answer { PLAIN, PENDS, RELEASES };

/* Of the bytes from `from` to `to`, the eight at `at`, or as many as there are. */
SPECIALIZED void umd_clear_word(void *structure, size_t at, size_t to)
{
	if (at + 8 <= to)
		memset((char *)structure + at, 0, 8);
	else if (at < to)
		memset((char *)structure + at, 0, to - at);
}

/* Word by word, so that the compiler leaves out those that are written afterwards. */
SPECIALIZED void umd_clear(void *structure, size_t from, size_t to)
{
#define EIGHT_WORDS(at)                                                                            \
	umd_clear_word(structure, (at), to);                                                       \
	umd_clear_word(structure, (at) + 8, to);                                                   \
	umd_clear_word(structure, (at) + 16, to);                                                  \
	umd_clear_word(structure, (at) + 24, to);                                                  \
	umd_clear_word(structure, (at) + 32, to);                                                  \
	umd_clear_word(structure, (at) + 40, to);                                                  \
	umd_clear_word(structure, (at) + 48, to);                                                  \
	umd_clear_word(structure, (at) + 56, to);
	EIGHT_WORDS(from)
	EIGHT_WORDS(from + 64)
#undef EIGHT_WORDS
	if (from + 128 < to)
		memset((char *)structure + from + 128, 0, to - from - 128);
}

HRESULT umd_answer_slow(NTSTATUS status, enum umd_answer answer) RARE;
static inline HRESULT umd_answer(NTSTATUS status, enum umd_answer answer)
{
	return LIKELY(status == 0) ? S_OK : umd_answer_slow(status, answer);
}

/* Of a device that is watched, or none; of arguments that are none. NULL: the answer is in `result_out`. */
struct dxgk_umd_device *umd_begin_slow(HANDLE handle, const void *args, enum umd_callback callback,
				       HRESULT *result_out) RARE;

/* What each callback begins with; likewise. */
SPECIALIZED struct dxgk_umd_device *umd_begin(HANDLE handle, const void *args,
					      enum umd_callback callback, HRESULT *result_out)
{
	struct dxgk_umd_device *device = umd_device_at((uintptr_t)handle);

	if (LIKELY(atomic_load_explicit(&device->plain_handle, memory_order_acquire) ==
			   (uintptr_t)handle &&
		   args))
		return device;
	return umd_begin_slow(handle, args, callback, result_out);
}

/* The kernel's handle behind one of the runtime's; false: it was reported. */
SPECIALIZED bool umd_mapped(const struct dxgk_umd_device *device, enum umd_callback callback,
			    const char *argument, HANDLE handle, unsigned kinds,
			    D3DKMT_HANDLE *kernel_out)
{
	const struct umd_slot *slot = umd_slot_at(&device->handles, handle, kinds);

	if (umd_slot_is(slot, handle)) {
		*kernel_out = atomic_load_explicit(&slot->kernel, memory_order_acquire);
		/* Resources only are there before, and after, the kernel's. */
		if (LIKELY(!(kinds & UMD_RESOURCE) || *kernel_out > UMD_KERNEL_BUSY))
			return true;
	}
	umd_report_handle(callback, argument, handle, kinds, device);
	return false;
}

#define PAIR(...)
#define PAIR_MAKES(...)
#define PAIR_ENDS(...)
#define PAIR_SHARED(...)
#define PAIR_REFUSED(...)
#define MUTABLE
#define PAIR_OWN(name, level, constness, type, call)                                               \
	HRESULT APIENTRY umd_callback_##name(HANDLE hDevice, constness type *args);
#define PAIR_OWN_VALUE(name, level, type, call)                                                    \
	HRESULT APIENTRY umd_callback_##name(HANDLE hDevice, type value);
#include "umd/callbacks.def"
#undef PAIR
#undef PAIR_MAKES
#undef PAIR_ENDS
#undef PAIR_SHARED
#undef PAIR_REFUSED
#undef PAIR_OWN
#undef PAIR_OWN_VALUE

#endif
