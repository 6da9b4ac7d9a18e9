/* SPDX-License-Identifier: MIT */
/*
 * egl_client.c - asks EGL for a display without a screen, as a program does that wants to draw into memory. Which driver of Mesa's answers is
 * the environment's choice. Nothing of EGL is needed to build it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { PLATFORM_SURFACELESS = 0x31dd }; /* of EGL_MESA_platform_surfaceless */

static void *find(void *library, const char *name, void *function_out)
{
	void *symbol = dlsym(library, name);

	/* dlsym() returns what a function pointer cannot be cast from. */
	memcpy(function_out, &symbol, sizeof(symbol));
	return symbol;
}

int main(void)
{
	void *(*get_display)(unsigned platform, void *native, const long *attributes);
	unsigned (*initialize)(void *display, int *major, int *minor);
	void *library = dlopen("libEGL.so.1", RTLD_NOW);

	if (!library || !find(library, "eglGetPlatformDisplay", &get_display) ||
	    !find(library, "eglInitialize", &initialize)) {
		printf("no EGL: %s\n", dlerror());
		return 2;
	}
	void *display = get_display(PLATFORM_SURFACELESS, NULL, NULL);
	printf("display %s\n", display ? "there" : "missing");
	printf("initialized %u\n", display ? initialize(display, NULL, NULL) : 0);
	return 0;
}
