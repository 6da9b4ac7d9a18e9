/* SPDX-License-Identifier: MIT */
/*
 * hooks.c - see hooks.h. The library is the one that libdxcore.so has loaded; none is loaded for this.
 */
#include <dlfcn.h>

#include "cli/run/hooks.h"

void hooks_find(struct hooks *hooks)
{
	void *library = dlopen("libdxgk.so.0", RTLD_NOW | RTLD_NOLOAD);

	*hooks = (struct hooks){ 0 };
	if (!library)
		return;
#define HOOK(name) *(void **)&hooks->name = dlsym(library, "dxgk_test_" #name);
#include "cli/run/hooks.def"
#undef HOOK
	dlclose(library);
}
