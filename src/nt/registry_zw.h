/* SPDX-License-Identifier: MIT */
/*
 * registry_zw.h - a registry key as a handle, for the routines that open one for a driver.
 */
#ifndef NT_REGISTRY_ZW_H
#define NT_REGISTRY_ZW_H

#include "base/attributes.h"
#include "base/status.h"

struct registry_key;

MUST_CHECK NTSTATUS nt_registry_open_handle(const char *path, void **handle_out);

/* The key that a handle names, with a reference. Reports a handle that names none. */
MUST_CHECK NTSTATUS registry_key_from_handle(void *handle, struct registry_key **key_out);

#endif
