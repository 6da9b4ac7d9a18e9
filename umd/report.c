/* SPDX-License-Identifier: MIT */
/*
 * report.c - what a driver is reported for, and failures that somebody chose.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "umd/runtime.h"

static const char *const rule_ids[] = {
#define RULE(name, id) id,
#include "base/rules.def"
#undef RULE
};

static void (*report_listener)(void *context, const struct dxgk_umd_report *report);
static void *report_context;

/* The driver's function that this thread is in, and the failure it was given. */
static _Thread_local struct {
	const char *call; /* "pfnLock(…"; NULL: none */
	unsigned depth;
	HRESULT given;
	enum umd_callback given_by;
} ddi;

enum { WATCH_FAILURE = 1, WATCH_ALL = 2 };
_Atomic int umd_watched;

static _Atomic int failing = UMD_NO_CALLBACK;
static _Atomic unsigned long long calls_left;
static _Atomic HRESULT failure;
static _Atomic bool has_failed;

static const struct dxgk_umd_pair pairs[] = {
#define PAIR(name, level, constness, type, call, ...)        { #name, #type, #call },
#define PAIR_MAKES(name, level, constness, type, call, ...)  { #name, #type, #call },
#define PAIR_ENDS(name, level, constness, type, call, ...)   { #name, #type, #call },
#define PAIR_SHARED(name, level, constness, type, call, ...) { #name, #type, #call },
#define PAIR_OWN(name, level, constness, type, call)         { #name, #type, #call },
#define PAIR_OWN_VALUE(name, level, type, call)              { #name, #type, #call },
#define PAIR_REFUSED(name, level, type, structure, ...)      { #name, #structure, "" },
#include "umd/callbacks.def"
#undef PAIR
#undef PAIR_MAKES
#undef PAIR_ENDS
#undef PAIR_SHARED
#undef PAIR_OWN
#undef PAIR_OWN_VALUE
#undef PAIR_REFUSED
};

EXPORTED const struct dxgk_umd_pair *DxgkUmdPair(unsigned index)
{
	return index < ARRAY_SIZE(pairs) ? &pairs[index] : NULL;
}

/* What the runtime calls by itself; a driver sees only that its function is, or is not, called. */
static const char *const own_calls[] = { "CreateDevice", "DestroyDevice" };
_Static_assert(ARRAY_SIZE(own_calls) == UMD_WATCHED_CALLS - UMD_CALLBACKS, "each has a name");

const char *umd_callback_name(enum umd_callback callback)
{
	if (callback == UMD_NO_CALLBACK)
		return "";
	return callback < UMD_CALLBACKS ? pairs[callback].callback
					: own_calls[callback - UMD_CALLBACKS];
}

/* pfnLock2Cb, D3DKMTCreateDevice. */
static void watched_name(enum umd_callback callback, char *name, size_t size)
{
	bool is_own = callback >= UMD_CALLBACKS;

	snprintf(name, size, "%s%s%s", is_own ? "D3DKMT" : "pfn", umd_callback_name(callback),
		 is_own ? "" : "Cb");
}

EXPORTED void DxgkUmdListen(void (*listener)(void *context, const struct dxgk_umd_report *report),
			    void *context)
{
	report_listener = listener;
	report_context = context;
}

static void ddi_name(char *name, size_t size)
{
	snprintf(name, size, "%.*s", ddi.call ? (int)strcspn(ddi.call, "(") : 0,
		 ddi.call ? ddi.call : "");
}

void umd_report(enum umd_rule rule, enum umd_callback callback, const char *argument,
		const char *format, ...)
{
	char name[64] = "";
	char function[64];
	char sentence[256];
	va_list list;

	va_start(list, format);
	vsnprintf(sentence, sizeof(sentence), format, list);
	va_end(list);
	if (callback != UMD_NO_CALLBACK)
		snprintf(name, sizeof(name), "pfn%sCb", umd_callback_name(callback));
	ddi_name(function, sizeof(function));

	struct dxgk_umd_report report = { rule_ids[rule], name, function, argument, sentence };
	if (report_listener) {
		report_listener(report_context, &report);
		return;
	}
	fprintf(stderr, "dxgkumd: %s%s%s%s%s: %s (%s)\n", name, *name && *function ? " in " : "",
		function, *argument ? ": " : "", argument, sentence, report.rule);
}

static const char *kinds_text(unsigned kinds)
{
	switch (kinds) {
	case UMD_RESOURCE:
		return "a resource";
	case UMD_CONTEXT:
		return "a context";
	case UMD_HWCONTEXT:
		return "a hardware context";
	case UMD_ANY_CONTEXT:
		return "a context or a hardware context";
	case UMD_HWQUEUE:
		return "a hardware queue";
	case UMD_DEVICE:
		return "a device";
	case UMD_ADAPTER:
		return "an adapter";
	default:
		return "a handle";
	}
}

static bool is_busy(const struct dxgk_umd_device *device, HANDLE handle, enum umd_kind kind)
{
	const struct umd_slot *slot =
		kind == UMD_RESOURCE ? umd_slot_find(&device->handles, handle, UMD_RESOURCE) : NULL;

	return slot && atomic_load(&slot->kernel) == UMD_KERNEL_BUSY;
}

void umd_report_handle(enum umd_callback callback, const char *argument, HANDLE handle,
		       unsigned kinds, const struct dxgk_umd_device *device)
{
	uint64_t number = (uintptr_t)handle;
	enum umd_kind kind = umd_handle_kind(number);
	const char *wanted = kinds_text(kinds);
	unsigned low = number & UMD_MARK_MASK;

	if (number == 0)
		umd_report(RULE_UMD_HANDLE, callback, argument, "is NULL; it has to be %s", wanted);
	else if (number <= UINT32_MAX && (low == 0 || low == 2))
		umd_report(RULE_UMD_HANDLE_WORLD, callback, argument,
			   "is 0x%08x, a handle of the kernel; it has to be the runtime's, of %s",
			   (unsigned)number, wanted);
	else if (!kind || low != UMD_MARK)
		umd_report(
			RULE_UMD_HANDLE_WORLD, callback, argument,
			"is 0x%llx, which the runtime never gave; perhaps it is the driver's own, "
			"and it has to be the runtime's, of %s",
			(unsigned long long)number, wanted);
	else if (!(kind & kinds))
		umd_report(RULE_UMD_HANDLE, callback, argument,
			   "is the runtime's handle of %s; it has to be of %s",
			   kinds_text((unsigned)kind), wanted);
	else if (device && umd_handle_owner(number) != device->owner)
		umd_report(RULE_UMD_HANDLE, callback, argument, "is of another device");
	else if (device && is_busy(device, handle, kind))
		umd_report(RULE_UMD_RESOURCE_BUSY, callback, argument,
			   "is being made, or ended, by another thread");
	else
		umd_report(RULE_UMD_HANDLE, callback, argument, "is of %s that has %s", wanted,
			   kind == UMD_RESOURCE ? "nothing allocated (any more)" : "ended");
}

void umd_blame(enum umd_callback callback, const char *argument, D3DKMT_HANDLE handle, long index)
{
	if ((handle & UMD_MARK_MASK) != UMD_MARK)
		return;
	if (index < 0)
		umd_report(RULE_UMD_HANDLE_WORLD, callback, argument,
			   "is 0x%08x, the lower half of a handle of the runtime; it has to be the "
			   "kernel's",
			   handle);
	else
		umd_report(RULE_UMD_HANDLE_WORLD, callback, argument,
			   "has 0x%08x at %ld, the lower half of a handle of the runtime; it has "
			   "to be "
			   "the kernel's",
			   handle, index);
}

void umd_blame_list(enum umd_callback callback, const char *argument, const D3DKMT_HANDLE *list,
		    UINT count)
{
	/* The kernel has refused it: a list that is not there, or longer than any may be, says nothing. */
	for (UINT i = 0; list && count <= 65536 && i < count; i++)
		umd_blame(callback, argument, list[i], (long)i);
}

struct dxgk_umd_device *umd_begin_slow(HANDLE handle, const void *args, enum umd_callback callback,
				       HRESULT *result_out)
{
	struct dxgk_umd_device *device = umd_device_find(handle);

	*result_out = E_INVALIDARG;
	if (!device) {
		umd_report_handle(callback, "hDevice", handle, UMD_DEVICE, NULL);
		return NULL;
	}
	if (!args) {
		umd_report(RULE_UMD_HANDLE, callback, "pData", "is NULL");
		return NULL;
	}
	return umd_is_to_fail(callback, result_out) ? NULL : device;
}

/* ---- callbacks are looked at ---- */

EXPORTED int DxgkUmdFailNth(const char *callback, unsigned long long n, HRESULT result)
{
	for (int i = 0; i < UMD_WATCHED_CALLS; i++)
		if (strcmp(umd_callback_name((enum umd_callback)i), callback) == 0 && n > 0) {
			atomic_store(&failing, UMD_NO_CALLBACK);
			atomic_store(&calls_left, n);
			atomic_store(&failure, result);
			atomic_store(&has_failed, false);
			atomic_store(&failing, i);
			atomic_fetch_or(&umd_watched, WATCH_FAILURE);
			umd_watch_devices();
			return 1;
		}
	return 0;
}

EXPORTED int DxgkUmdFailStop(void)
{
	atomic_store(&failing, UMD_NO_CALLBACK);
	atomic_fetch_and(&umd_watched, ~WATCH_FAILURE);
	return atomic_load(&has_failed);
}

bool umd_watch(enum umd_callback callback, HRESULT *result_out)
{
	char name[64];
	bool fails =
		atomic_load(&failing) == (int)callback && atomic_fetch_sub(&calls_left, 1) == 1;
	char function[64];

	watched_name(callback, name, sizeof(name));
	ddi_name(function, sizeof(function));
	if (atomic_load(&umd_watched) & WATCH_ALL && callback < UMD_CALLBACKS)
		fprintf(stderr, "dxgkumd: %s%s%s\n", name, *function ? " in " : "", function);
	if (!fails)
		return false;
	(void)DxgkUmdFailStop();
	atomic_store(&has_failed, true);
	*result_out = atomic_load(&failure);
	ddi.given = *result_out;
	ddi.given_by = callback;
	/* Said now: a driver that cannot cope may end the process. */
	fprintf(stderr, "dxgkumd: %s answers 0x%08x, as was asked for%s%s\n", name,
		(unsigned)*result_out, *function ? ", in " : "", function);
	return true;
}

void umd_tell_marker(const DXGK_MARKER *marker)
{
	if (atomic_load(&umd_watched) & WATCH_ALL)
		fprintf(stderr, "dxgkumd: marker \"%s\", call %llu of the API, index %d\n",
			marker->Text, (unsigned long long)marker->APISequenceNumber, marker->Index);
}

/* CALLBACK:N:HRESULT */
static bool read_failure(const char *text)
{
	size_t length = strcspn(text, ":");
	char name[64];
	char *end;

	if (text[length] == '\0' || length >= sizeof(name))
		return false;
	memcpy(name, text, length);
	name[length] = '\0';
	unsigned long long n = strtoull(text + length + 1, &end, 10);
	if (*end != ':')
		return false;
	unsigned long result = strtoul(end + 1, &end, 16);
	return *end == '\0' && result <= UINT32_MAX &&
	       DxgkUmdFailNth(name, n, (HRESULT)(uint32_t)result);
}

void umd_read_environment(void)
{
	static _Atomic bool was_read;
	const char *log = getenv("DXGK_LOG");
	const char *fail = getenv("DXGK_UMD_FAIL");

	if (atomic_exchange(&was_read, true))
		return;
	/* There is no device yet. */
	if (log && strstr(log, "calls"))
		atomic_fetch_or(&umd_watched, WATCH_ALL);
	if (fail && *fail && !read_failure(fail))
		fprintf(stderr,
			"dxgkumd: DXGK_UMD_FAIL=%s: wanted is CALLBACK:N:HRESULT, as in "
			"Allocate:1:0x8007000e\n",
			fail);
}

void umd_enter_ddi(const char *call)
{
	if (ddi.depth++ > 0)
		return;
	ddi.call = call;
	ddi.given = S_OK;
}

HRESULT umd_leave_ddi(HRESULT result)
{
	if (--ddi.depth > 0)
		return result;
	if (FAILED(ddi.given) && SUCCEEDED(result))
		umd_report(RULE_UMD_FAILURE_HIDDEN, ddi.given_by, "",
			   "answered 0x%08x, and the driver's function succeeded all the same",
			   (unsigned)ddi.given);
	else if (ddi.given == D3DDDIERR_DEVICEREMOVED && result != ddi.given)
		umd_report(RULE_UMD_REMOVED_CHANGED, ddi.given_by, "",
			   "answered D3DDDIERR_DEVICEREMOVED, and the driver's function made "
			   "0x%08x of it",
			   (unsigned)result);
	ddi.call = NULL;
	return result;
}
