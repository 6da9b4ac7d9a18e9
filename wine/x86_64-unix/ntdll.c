/* SPDX-License-Identifier: MIT */
/*
 * ntdll.c - functions of Wine that Unix libraries may call, found in the process: nothing of Wine is linked.
 */
#include <dlfcn.h>

#include "wine/x86_64-unix/pair_unix.h"

struct ntdll ntdll;

bool ntdll_find(void)
{
	/* It is there: who calls us came through it. */
	void *library = dlopen("ntdll.so", RTLD_NOW | RTLD_NOLOAD);

	if (!library)
		return false;
	*(void **)&ntdll.fd_to_handle = dlsym(library, "wine_server_fd_to_handle");
	*(void **)&ntdll.handle_to_fd = dlsym(library, "wine_server_handle_to_fd");
	*(void **)&ntdll.duplicate = dlsym(library, "NtDuplicateObject");
	*(void **)&ntdll.set_event = dlsym(library, "NtSetEvent");
	*(void **)&ntdll.close = dlsym(library, "NtClose");
	return ntdll.fd_to_handle && ntdll.handle_to_fd && ntdll.duplicate && ntdll.set_event &&
	       ntdll.close;
}
