/* SPDX-License-Identifier: MIT */
/*
 * modules.h - images that a driver can ask about: the kernel's, and the drivers'.
 */
#ifndef NT_MODULES_H
#define NT_MODULES_H

#include "base/attributes.h"
#include "base/status.h"

/* Until nt_module_remove(). STATUS_NO_MEMORY. */
MUST_CHECK NTSTATUS nt_module_add(const char *path, const void *begin, const void *end);
void nt_module_remove(const void *begin);

#endif
