/* SPDX-License-Identifier: MIT */
/*
 * image.h - a driver as a file: finding it, looking at it, loading it.
 *
 * Every adapter has an image of its own, with its own statics, as if each had been loaded on a
 * machine where it is the only one.
 */
#ifndef MINIPORT_IMAGE_H
#define MINIPORT_IMAGE_H

#include <stddef.h>

#include "base/attributes.h"
#include "base/own_fd.h"
#include "base/status.h"

struct image {
	void *library;      /* dlopen handle */
	struct own_fd file; /* kept open: /proc/self/fd/<number> is a copy's name in the loader */
	char path[4096];
};

/*
 * The file for what a profile calls a driver: an absolute path, or a name, which is looked for as
 * <name>.so in DXGK_DRIVER_PATH, beside this library, and where drivers are installed.
 */
MUST_CHECK NTSTATUS image_find(const char *driver, char *path, size_t size_bytes);

/*
 * Loads the file. Whether it is a driver at all is read from the file before any of its code runs.
 */
MUST_CHECK NTSTATUS image_load(struct image *image, const char *path);

/* Accepts a zeroed struct. */
void image_unload(struct image *image);

/* The addresses of a loaded image: code, constants and statics. */
void image_range(const struct image *image, const void **begin_out, const void **end_out);

/* Never NULL for DriverEntry of a loaded image. */
void *image_symbol(const struct image *image, const char *name);

#endif
