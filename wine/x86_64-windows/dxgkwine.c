/* SPDX-License-Identifier: MIT */
/*
 * dxgkwine.c - dxgkwine.dll: the D3DKMT names for Windows programs under Wine, each a call into dxgkwine.so.
 *
 * Made from calls.def and apisets.txt; gdi32.dll, which programs import them from, is a list of forwarders to this file
 * (cli/wine/proxy.h). Needs neither a C library nor anything of Wine at link time but the names of ntdll and kernel32: how
 * the Unix half is found is Wine's interface, asked for below.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <opendxgk/refusal.h>

#include "wine/pair.h"

#define EXPORTED __declspec(dllexport)

typedef LONG NTSTATUS;

/* ---- the way into the other half ---- */

/* Wine's own kind of NtQueryVirtualMemory(): the functions of the library beside a module. */
enum { MEMORY_WINE_UNIX_FUNCS = 1000 };

NTSYSAPI NTSTATUS NTAPI NtQueryVirtualMemory(HANDLE process, const void *address, int kind,
					     void *answer, SIZE_T answer_bytes, SIZE_T *needed);

typedef NTSTATUS(WINAPI *unix_call)(UINT64 library, unsigned int code, void *args);

static UINT64 library;
static unix_call dispatch;

static BOOL find_library(HMODULE module)
{
	HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
	/* A variable that has the function; a Wine that has none exports the function itself. */
	unix_call *variable =
		(unix_call *)(void *)GetProcAddress(ntdll, "__wine_unix_call_dispatcher");

	if (NtQueryVirtualMemory(GetCurrentProcess(), module, MEMORY_WINE_UNIX_FUNCS, &library,
				 sizeof(library), NULL) < 0)
		return FALSE;
	dispatch =
		variable ? *variable : (unix_call)(void *)GetProcAddress(ntdll, "__wine_unix_call");
	return dispatch != NULL;
}

/* ---- the thread that callbacks of the program run on ---- */

static DWORD WINAPI park(void *unused)
{
	struct pair_callback callback;

	(void)unused;
	while (dispatch(library, PAIR_PARK, &callback) >= 0)
		((void(WINAPI *)(void *))(UINT_PTR)callback.function)(callback.words);
	return 0;
}

static NTSTATUS start_parked_thread(void)
{
	static volatile LONG is_started;
	HANDLE thread;

	if (InterlockedCompareExchange(&is_started, 1, 0) == 0) {
		thread = CreateThread(NULL, 0, park, NULL, 0, NULL);
		if (!thread) {
			InterlockedExchange(&is_started, 0);
			return (NTSTATUS)STATUS_NO_MEMORY;
		}
		CloseHandle(thread);
		dispatch(library, PAIR_PARKED, NULL);
	}
	/* Another thread was faster, and is about to say so. */
	SwitchToThread();
	return 0;
}

/*
 * Wine leaves a call of the other half in the middle where that touches memory that is not there, and this is its answer. The
 * kernel cannot go on then: what the call had locked stays so. Its own answers of that kind have a record.
 */
static __attribute__((noinline, cold)) void end_if_left(void)
{
	static const char said[] = "dxgk: the program gave a pointer that leads nowhere, and the "
				   "call was left in the middle; "
				   "the program ends with the kernel\n";
	static struct dxgk_refusal last; /* there is no memset() */
	DWORD written;

	last.size_bytes = sizeof(last);
	if (dispatch(library, PAIR_LAST_REFUSAL, &last) &&
	    last.status == (NTSTATUS)STATUS_ACCESS_VIOLATION)
		return;
	WriteFile(GetStdHandle(STD_ERROR_HANDLE), said, sizeof(said) - 1, &written, NULL);
	TerminateProcess(GetCurrentProcess(), STATUS_ACCESS_VIOLATION);
}

static __attribute__((noinline, cold)) NTSTATUS call_again(NTSTATUS status, unsigned int code,
							   void *args)
{
	if (status == (NTSTATUS)STATUS_ACCESS_VIOLATION)
		end_if_left();
	while (status == PAIR_NEEDS_PARKED) {
		status = start_parked_thread();
		if (status >= 0)
			status = dispatch(library, code, args);
	}
	return status;
}

static inline NTSTATUS call(unsigned int code, const void *args)
{
	NTSTATUS status = dispatch(library, code, (void *)args);

	return __builtin_expect(status == PAIR_NEEDS_PARKED ||
					status == (NTSTATUS)STATUS_ACCESS_VIOLATION,
				0)
		       ? call_again(status, code, (void *)args)
		       : status;
}

/* ---- the names ---- */

#define CALL(id, name, type, constness, ...)                                                       \
	EXPORTED NTSTATUS WINAPI name(const void *args)                                            \
	{                                                                                          \
		return call(CALL_##id, args);                                                      \
	}
#define CALL_NOT_BUILT(name, type, constness)                                                      \
	EXPORTED NTSTATUS WINAPI name(const void *args)                                            \
	{                                                                                          \
		return call(CALL_##name, args);                                                    \
	}
/* Below, by hand. */
#define CALL_OWN_THUNK(id, name, type, constness, ...)
#include "wire/calls.def"
#undef CALL
#undef CALL_NOT_BUILT

static NTSTATUS refuse(uint32_t which)
{
	return dispatch(library, PAIR_REFUSE, &which);
}

#define REFUSED(name, reason)                                                                      \
	EXPORTED NTSTATUS WINAPI name(void)                                                        \
	{                                                                                          \
		return refuse(REFUSED_##name);                                                     \
	}
#define REFUSED_FALSE(name, reason)                                                                \
	EXPORTED BOOLEAN WINAPI name(void)                                                         \
	{                                                                                          \
		refuse(REFUSED_##name);                                                            \
		return FALSE;                                                                      \
	}
#include "refused.inc"
#undef REFUSED
#undef REFUSED_FALSE

/* Structs as D3DKMT_SHAREOBJECTS and wire_process_class have them. */
EXPORTED NTSTATUS WINAPI D3DKMTShareObjects(UINT count, const UINT *objects, void *attributes,
					    DWORD access, HANDLE *handle)
{
	struct {
		UINT count;
		const UINT *objects;
		void *attributes;
		DWORD access;
		HANDLE *handle;
	} args = { count, objects, attributes, access, handle };

	return call(CALL_share_objects, &args);
}

struct process_class {
	HANDLE process;
	UINT class;
};

EXPORTED NTSTATUS WINAPI D3DKMTSetProcessSchedulingPriorityClass(HANDLE process, UINT class)
{
	struct process_class args = { process, class };

	return call(CALL_set_process_scheduling_priority_class, &args);
}

EXPORTED NTSTATUS WINAPI D3DKMTGetProcessSchedulingPriorityClass(HANDLE process, UINT *class)
{
	struct process_class args = { process, 0 };
	NTSTATUS status = call(CALL_get_process_scheduling_priority_class, class ? &args : NULL);

	if (class && status >= 0)
		*class = args.class;
	return status;
}

EXPORTED void WINAPI D3DKMTCloseDxCoreDevice(void)
{
	dispatch(library, PAIR_CLOSE, NULL);
}

EXPORTED int DxgkLastRefusal(struct dxgk_refusal *refusal)
{
	return dispatch(library, PAIR_LAST_REFUSAL, refusal);
}

/* What the bench compares with. */
EXPORTED NTSTATUS DxgkEmptyCall(void)
{
	return dispatch(library, PAIR_EMPTY, NULL);
}

/* ---- begin and end ---- */

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, void *is_process_end);

BOOL WINAPI DllMain(HINSTANCE module, DWORD reason, void *is_process_end)
{
	struct pair_attach attach = { PAIR_COUNT, REFUSED_COUNT, DXGK_VERSION };
	HMODULE pinned;

	(void)is_process_end;
	switch (reason) {
	case DLL_PROCESS_ATTACH:
		DisableThreadLibraryCalls(module);
		/* Stays: a thread is parked in it, and the kernel lives as long as the process. */
		GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN |
					   GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
				   (const WCHAR *)(void *)module, &pinned);
		return find_library(module) && dispatch(library, PAIR_ATTACH, &attach) >= 0;
	case DLL_PROCESS_DETACH:
		/* Here and not at exit(), which Wine cuts short. */
		if (dispatch)
			dispatch(library, PAIR_DETACH, NULL);
		return TRUE;
	default:
		return TRUE;
	}
}
