/* SPDX-License-Identifier: MIT */
/*
 * registry.h - the machine's registry, as the host fills and reads it.
 *
 * One tree in memory, gone with the process. Paths and names are UTF-8 here and 16-bit inside;
 * both are compared as NT compares names, without case. A path is absolute and begins with
 * \Registry. Drivers use the Zw and Rtl routines of <ddk/wdm.h> on the same tree.
 *
 * Set up at first use. LOCK_RANK_NT_OBJECTS guards the whole tree.
 */
#ifndef NT_REGISTRY_H
#define NT_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

#define NT_REGISTRY_SERVICES "\\Registry\\Machine\\System\\CurrentControlSet\\Services"
#define NT_REGISTRY_CONTROL  "\\Registry\\Machine\\System\\CurrentControlSet\\Control"

/* The REG_ types, for those who do not include driver headers. */
enum nt_registry_type {
	NT_REG_NONE = 0,
	NT_REG_SZ = 1,
	NT_REG_EXPAND_SZ = 2,
	NT_REG_BINARY = 3,
	NT_REG_DWORD = 4,
	NT_REG_MULTI_SZ = 7,
};

/* Keys on the way are created. A value that was there is replaced, whatever its type. */
MUST_CHECK NTSTATUS nt_registry_create_key(const char *path);
MUST_CHECK NTSTATUS nt_registry_set_dword(const char *path, const char *name, uint32_t value);
MUST_CHECK NTSTATUS nt_registry_set_string(const char *path, const char *name, const char *text);
MUST_CHECK NTSTATUS nt_registry_set_strings(const char *path, const char *name,
					    const char *const texts[], size_t count);
MUST_CHECK NTSTATUS nt_registry_set_binary(const char *path, const char *name, const void *data,
					   size_t size_bytes);

/* The key with all below it. Keys that a driver has open answer STATUS_KEY_DELETED from then on. */
void nt_registry_delete_tree(const char *path);

/*
 * The value's type and data. Text comes as UTF-8 with its terminator; the strings of a MULTI_SZ
 * each with one, and one more at the end. STATUS_OBJECT_NAME_NOT_FOUND when there is no such key
 * or value, STATUS_BUFFER_TOO_SMALL when `capacity` is less than *needed_out.
 */
MUST_CHECK NTSTATUS nt_registry_query(const char *path, const char *name, uint32_t *type_out,
				      void *data, size_t capacity, size_t *needed_out);

/* Forgets everything. For the end, and for tests. */
void nt_registry_finish(void);

#endif
