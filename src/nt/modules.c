/* SPDX-License-Identifier: MIT */
/*
 * modules.c - images that a driver can ask about, the kernel's and the drivers', and the auxiliary
 * library's question for them.
 *
 * Locks: modules.lock, LOCK_RANK_NT_OBJECTS.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <ddk/aux_klib.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "nt/irql.h"
#include "nt/nt.h"

/* Of the linker: the image that this code is in. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

struct module {
	struct list link;
	const char *begin;
	const char *end;
	char path[AUX_KLIB_MODULE_PATH_LEN];
};

static struct {
	struct lock lock;
	struct list all; /* module.link, in the order of loading */
	uint32_t count;
} modules = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_NT_OBJECTS, "modules"),
	.all = { &modules.all, &modules.all },
};

static _Atomic bool is_initialized;

NTSTATUS nt_module_add(const char *path, const void *begin, const void *end)
{
	struct module *module = mem_zalloc(sizeof(*module));

	if (!module)
		return STATUS_NO_MEMORY;
	module->begin = begin;
	module->end = end;
	snprintf(module->path, sizeof(module->path), "%s", path);
	lock_acquire(&modules.lock);
	list_push_back(&modules.all, &module->link);
	modules.count++;
	lock_release(&modules.lock);
	return STATUS_SUCCESS;
}

void nt_module_remove(const void *begin)
{
	struct module *found = NULL;

	lock_acquire(&modules.lock);
	list_each (struct module, module, &modules.all, link) {
		if (module->begin == begin)
			found = module;
	}
	if (found) {
		list_remove(&found->link);
		modules.count--;
	}
	lock_release(&modules.lock);
	mem_free(found);
}

/* ---- the auxiliary library ---- */

static void tell(char *element, ULONG element_bytes, const struct module *module)
{
	AUX_MODULE_EXTENDED_INFO info = {
		.BasicInfo.ImageBase = (PVOID)(uintptr_t)module->begin,
		.ImageSize = (ULONG)(module->end - module->begin),
	};
	const char *name = strrchr(module->path, '/');

	info.FileNameOffset = (USHORT)(name ? name + 1 - module->path : 0);
	memcpy(info.FullPathName, module->path, sizeof(info.FullPathName));
	memcpy(element, &info, element_bytes); /* the short form is how the long one begins */
}

static struct module kernel_module(void)
{
	struct module kernel = { .begin = __ehdr_start, .end = _end };
	Dl_info us;

	if (dladdr(__ehdr_start, &us) && us.dli_fname)
		snprintf(kernel.path, sizeof(kernel.path), "%s", us.dli_fname);
	return kernel;
}

NTSTATUS AuxKlibInitialize(VOID)
{
	nt_irql_require(PASSIVE_LEVEL, __func__);
	atomic_store(&is_initialized, true);
	return STATUS_SUCCESS;
}

NTSTATUS AuxKlibQueryModuleInformation(PULONG BufferSize, ULONG ElementSize, PVOID QueryInfo)
{
	const struct module kernel = kernel_module();
	NTSTATUS status = STATUS_SUCCESS;
	char *element = QueryInfo;

	nt_irql_require(PASSIVE_LEVEL, __func__);
	if (!atomic_load(&is_initialized))
		return STATUS_UNSUCCESSFUL;
	if (ElementSize != sizeof(AUX_MODULE_BASIC_INFO) &&
	    ElementSize != sizeof(AUX_MODULE_EXTENDED_INFO))
		return STATUS_INVALID_PARAMETER;
	lock_acquire(&modules.lock);
	ULONG wanted = (modules.count + 1) * ElementSize;
	if (element && *BufferSize < wanted) {
		status = STATUS_BUFFER_TOO_SMALL;
	} else if (element) {
		tell(element, ElementSize, &kernel);
		list_each (struct module, each, &modules.all, link) {
			element += ElementSize;
			tell(element, ElementSize, each);
		}
	}
	lock_release(&modules.lock);
	*BufferSize = wanted;
	return status;
}
