/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - adapters, devices and handles of the runtime, and what a callback begins with.
 *
 * A handle of the runtime is a number that is neither an address nor one of the kernel's, so that a driver that mixes the
 * worlds up is noticed:
 *
 *	 63    56 55    48 47        32 31              6 5     0
 *	| 5 kind | owner  | generation | index           | 0x2b |
 *
 * Handles of the kernel have 0 or 2 in the lowest six bits: the lower half of one of these, in a place for a handle of the
 * kernel, cannot be taken for one. Nothing here takes a lock: a lookup compares the whole number with the one in its slot.
 */
#ifndef UMD_RUNTIME_H
#define UMD_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <opendxgk/umd.h>

#include "base/attributes.h"

enum umd_rule {
#define RULE(name, id) RULE_##name,
#include "base/rules.def"
#undef RULE
};

enum umd_kind {
	UMD_RESOURCE = 0x1,
	UMD_CONTEXT = 0x2,
	UMD_HWCONTEXT = 0x4,
	UMD_HWQUEUE = 0x8,
	UMD_DEVICE = 0x10,
	UMD_ADAPTER = 0x20,
	UMD_ANY_CONTEXT = UMD_CONTEXT | UMD_HWCONTEXT, /* a hardware queue is made on either */
};

enum {
	UMD_MARK = 0x2b,
	UMD_MARK_MASK = 0x3f,
	UMD_OWNERS = 256, /* devices, and adapters, at a time */
	UMD_CHUNK = 1024,
	UMD_CHUNKS = 256,
	UMD_KERNEL_BUSY = 1, /* in place of a handle of the kernel: being made, or being ended */
};

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

/* ---- handles ---- */

struct umd_slot {
	_Atomic uint64_t handle; /* 0: nobody has it */
	_Atomic uint32_t kernel; /* 0: a resource that nothing is allocated for */
	_Atomic uint32_t next;   /* in the stack of free ones: index + 1 */
	uint32_t index;
	uint16_t generation; /* guarded by having the slot */
	bool is_shared;      /* of a resource */
};

struct umd_handles {
	struct umd_slot *_Atomic chunks[UMD_CHUNKS];
	_Atomic uint32_t used;
	_Atomic uint64_t free; /* 63..32 how often it was changed, 31..0 index + 1 */
	_Atomic uint32_t live;
};

/* NULL when there is no memory, or no more room. It answers to no handle before it is published. */
struct umd_slot *umd_slot_reserve(struct umd_handles *handles);
HANDLE umd_slot_publish(struct umd_handles *handles, struct umd_slot *slot, unsigned owner,
			enum umd_kind kind, D3DKMT_HANDLE kernel);
/* Of a reserved or a published one. */
void umd_slot_end(struct umd_handles *handles, struct umd_slot *slot);
void umd_handles_clear(struct umd_handles *handles);

uint64_t umd_handle(enum umd_kind kind, unsigned owner, uint16_t generation, uint32_t index);

static inline enum umd_kind umd_handle_kind(uint64_t number)
{
	return (enum umd_kind)(number >> 60 == 5 ? 1u << (number >> 56 & 0xf) : 0);
}

/* One comparison where the kind is known when this is compiled, as it is in all callbacks but a few. */
static inline bool umd_handle_is_of(uint64_t number, unsigned kinds)
{
	if (__builtin_constant_p(kinds) && (kinds & (kinds - 1)) == 0)
		return number >> 56 == (0x50 | (unsigned)__builtin_ctz(kinds));
	return (umd_handle_kind(number) & kinds) != 0;
}

static inline struct umd_slot *umd_slot_find(struct umd_handles *handles, HANDLE handle,
					     unsigned kinds)
{
	uint64_t number = (uintptr_t)handle;
	uint32_t index = (uint32_t)number >> 6;

	if (UNLIKELY(index >= UMD_CHUNK * UMD_CHUNKS || !umd_handle_is_of(number, kinds)))
		return NULL;
	struct umd_slot *chunk =
		atomic_load_explicit(&handles->chunks[index / UMD_CHUNK], memory_order_acquire);
	if (UNLIKELY(!chunk))
		return NULL;
	struct umd_slot *slot = &chunk[index % UMD_CHUNK];
	return LIKELY(atomic_load_explicit(&slot->handle, memory_order_acquire) == number) ? slot
											   : NULL;
}

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

extern struct dxgk_umd_device *_Atomic umd_devices[UMD_OWNERS];
extern struct dxgk_umd_adapter *_Atomic umd_adapters[UMD_OWNERS];

static inline struct dxgk_umd_device *umd_device_find(HANDLE handle)
{
	uint64_t number = (uintptr_t)handle;
	struct dxgk_umd_device *device = atomic_load_explicit(
		&umd_devices[number >> 48 & (UMD_OWNERS - 1)], memory_order_acquire);

	return LIKELY(device &&
		      atomic_load_explicit(&device->handle, memory_order_acquire) == number)
		       ? device
		       : NULL;
}

static inline struct dxgk_umd_adapter *umd_adapter_find(HANDLE handle)
{
	uint64_t number = (uintptr_t)handle;
	struct dxgk_umd_adapter *adapter = atomic_load_explicit(
		&umd_adapters[number >> 48 & (UMD_OWNERS - 1)], memory_order_acquire);

	return adapter && atomic_load_explicit(&adapter->handle, memory_order_acquire) == number
		       ? adapter
		       : NULL;
}

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

/* Callbacks are looked at one by one: some are to fail, or all are to be told. */
extern _Atomic int umd_watched;
/* True: it fails with that result. */
bool umd_watch(enum umd_callback callback, HRESULT *result_out) RARE;
static inline bool umd_is_to_fail(enum umd_callback callback, HRESULT *result_out)
{
	return UNLIKELY(atomic_load_explicit(&umd_watched, memory_order_relaxed) != 0 &&
			umd_watch(callback, result_out));
}
/* Where all callbacks are told, what the driver says with this one is, too. */
void umd_tell_marker(const D3DDDICB_LOGUMDMARKER *marker);
void umd_read_environment(void);
const char *umd_callback_name(enum umd_callback callback);

void umd_enter_ddi(const char *call);
HRESULT umd_leave_ddi(HRESULT result);

/* ---- callbacks ---- */

enum umd_answer { PLAIN, PENDS, RELEASES };

HRESULT umd_answer_slow(NTSTATUS status, enum umd_answer answer) RARE;
static inline HRESULT umd_answer(NTSTATUS status, enum umd_answer answer)
{
	return LIKELY(status == 0) ? S_OK : umd_answer_slow(status, answer);
}

HRESULT umd_not_a_device(HANDLE handle, const void *args, enum umd_callback callback) RARE;

/* What each callback begins with. NULL: the answer is in `result_out`. */
static inline struct dxgk_umd_device *umd_begin(HANDLE handle, const void *args,
						enum umd_callback callback, HRESULT *result_out)
{
	struct dxgk_umd_device *device = umd_device_find(handle);

	if (UNLIKELY(!device || !args)) {
		*result_out = umd_not_a_device(handle, args, callback);
		return NULL;
	}
	return umd_is_to_fail(callback, result_out) ? NULL : device;
}

/* The kernel's handle behind one of the runtime's; false: it was reported. */
static inline bool umd_mapped(struct dxgk_umd_device *device, enum umd_callback callback,
			      const char *argument, HANDLE handle, unsigned kinds,
			      D3DKMT_HANDLE *kernel_out)
{
	struct umd_slot *slot = umd_slot_find(&device->handles, handle, kinds);

	if (LIKELY(slot)) {
		*kernel_out = atomic_load_explicit(&slot->kernel, memory_order_acquire);
		if (LIKELY(*kernel_out > UMD_KERNEL_BUSY))
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
