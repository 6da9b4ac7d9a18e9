/* SPDX-License-Identifier: MIT */
/*
 * registry_tree.h - keys and values by 16-bit name, for registry*.c and io.c.
 *
 * A key is found by path and held by reference; a value is handed out as a copy, so nobody reads
 * the tree without its lock.
 */
#ifndef NT_REGISTRY_TREE_H
#define NT_REGISTRY_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct registry_key;

/* As a handle, for the routines that open one for a driver (registry_zw.c). */
MUST_CHECK NTSTATUS nt_registry_open_handle(const char *path, void **handle_out);

/* The key that a handle names, with a reference. Reports a handle that names none. */
MUST_CHECK NTSTATUS registry_key_from_handle(void *handle, struct registry_key **key_out);

enum registry_open { REGISTRY_OPEN, REGISTRY_CREATE_LAST, REGISTRY_CREATE_ALL };

enum { REGISTRY_MAX_KEY_NAME = 255, REGISTRY_MAX_VALUE_NAME = 16383 };

struct registry_value {
	uint32_t type;
	uint32_t size_bytes;
	uint32_t name_length; /* units */
	const uint16_t *name;
	const uint8_t *data;
};

struct registry_key_info {
	uint64_t last_write; /* 100 ns since 1601 */
	uint32_t subkeys;
	uint32_t longest_subkey; /* units */
	uint32_t values;
	uint32_t longest_value_name; /* units */
	uint32_t largest_value_bytes;
	uint32_t name_length; /* units; the whole path when asked for */
	uint16_t *name;       /* mem_free() it */
};

/*
 * `path` is absolute when `base` is NULL, and else relative to it (empty: `base` itself). Takes a
 * reference. *created_out may be NULL.
 */
MUST_CHECK NTSTATUS registry_key_open(struct registry_key *base, const uint16_t *path,
				      size_t length, enum registry_open how,
				      struct registry_key **key_out, bool *created_out);
void registry_key_put(struct registry_key *key);
MUST_CHECK NTSTATUS registry_key_child(struct registry_key *key, uint32_t index,
				       struct registry_key **child_out);
MUST_CHECK NTSTATUS registry_key_describe(struct registry_key *key, bool with_path,
					  struct registry_key_info *info);
/* Refuses a key that has subkeys, unless `with_subkeys`. */
NTSTATUS registry_key_delete(struct registry_key *key, bool with_subkeys);

MUST_CHECK NTSTATUS registry_value_set(struct registry_key *key, const uint16_t *name,
				       size_t name_length, uint32_t type, const void *data,
				       size_t size_bytes);
/* A copy in one block; mem_free() it. */
MUST_CHECK NTSTATUS registry_value_get(struct registry_key *key, const uint16_t *name,
				       size_t name_length, struct registry_value **value_out);
MUST_CHECK NTSTATUS registry_value_at(struct registry_key *key, uint32_t index,
				      struct registry_value **value_out);
NTSTATUS registry_value_delete(struct registry_key *key, const uint16_t *name, size_t name_length);

#endif
