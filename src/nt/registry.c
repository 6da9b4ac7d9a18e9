/* SPDX-License-Identifier: MIT */
/*
 * registry.c - the tree of keys and values, and the host's way to it.
 *
 * A key lives as long as the tree or a handle needs it: the tree holds one reference, every opener
 * another. A deleted key has left the tree, has no values, and says so. Subkeys are kept in the
 * order of their names, as they are enumerated; values in the order they were made.
 *
 * Locks: tree.lock, LOCK_RANK_NT_OBJECTS, around every access; never together with the handle
 * table's, which has the same rank.
 */
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "nt/registry.h"
#include "nt/registry_tree.h"
#include "nt/unicode.h"

#define SEPARATOR '\\'

struct value_node {
	struct list link;
	struct registry_value value;
	uint16_t *name;
	uint8_t *data;
};

struct registry_key {
	struct list link;
	struct registry_key *parent;
	struct list children; /* registry_key.link, by name */
	struct list values;   /* value_node.link */
	uint32_t refs;
	bool is_deleted;
	uint64_t last_write;
	size_t name_length;
	uint16_t name[];
};

static struct {
	struct lock lock;
	struct registry_key *root; /* the nameless key above "Registry"; NULL: not set up */
} tree = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_NT_OBJECTS, "registry"),
};

/* Keys. */

static uint64_t now_since_1601(void)
{
	return clock_wall_ns() / 100 + UINT64_C(116444736000000000);
}

static struct registry_key *key_create(const uint16_t *name, size_t length)
{
	struct registry_key *key = mem_zalloc(sizeof(*key) + length * sizeof(*name));

	if (!key)
		return NULL;
	list_init(&key->link);
	list_init(&key->children);
	list_init(&key->values);
	key->refs = 1;
	key->last_write = now_since_1601();
	key->name_length = length;
	if (length > 0)
		memcpy(key->name, name, length * sizeof(*name));
	return key;
}

static void value_destroy(struct value_node *node)
{
	list_remove(&node->link);
	mem_free(node->name);
	mem_free(node->data);
	mem_free(node);
}

static void key_unref_locked(struct registry_key *key)
{
	lock_assert_held(&tree.lock);
	if (--key->refs == 0)
		mem_free(key);
}

/* Takes the key and all below out of the tree. */
static void key_remove_locked(struct registry_key *key)
{
	lock_assert_held(&tree.lock);
	while (!list_is_empty(&key->children))
		key_remove_locked(container_of(key->children.next, struct registry_key, link));
	while (!list_is_empty(&key->values))
		value_destroy(container_of(key->values.next, struct value_node, link));
	list_remove(&key->link);
	key->parent = NULL;
	key->is_deleted = true;
	key_unref_locked(key);
}

/* The child of that name; else NULL and in *before_out the link it belongs in front of. */
static struct registry_key *key_find_locked(struct registry_key *key, const uint16_t *name,
					    size_t length, struct list **before_out)
{
	struct list *link;

	lock_assert_held(&tree.lock);
	list_for_each (link, &key->children) {
		struct registry_key *child = container_of(link, struct registry_key, link);
		int order = nt_utf16_compare(name, length, child->name, child->name_length, true);

		if (order == 0)
			return child;
		if (order < 0)
			break;
	}
	*before_out = link;
	return NULL;
}

static bool name_is_registry(const uint16_t *name, size_t length)
{
	static const char expected[] = "REGISTRY";

	if (length != sizeof(expected) - 1)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (nt_upcase(name[i]) != (uint16_t)expected[i])
			return false;
	}
	return true;
}

/* Cuts the next component off *path; false at the end. */
static bool path_next(const uint16_t **path, const uint16_t *end, const uint16_t **name_out,
		      size_t *length_out)
{
	const uint16_t *start = *path;

	if (start == end)
		return false;
	while (*path != end && **path != SEPARATOR)
		(*path)++;
	*name_out = start;
	*length_out = (size_t)(*path - start);
	if (*path != end)
		(*path)++;
	return true;
}

static NTSTATUS key_open_locked(struct registry_key *base, const uint16_t *path, size_t length,
				enum registry_open how, struct registry_key **key_out,
				bool *created_out)
{
	const uint16_t *end = length > 0 ? path + length : path; /* no path at all is NULL */
	struct registry_key *key = base;
	bool is_created = false;

	lock_assert_held(&tree.lock);
	if (base && base->is_deleted)
		return STATUS_KEY_DELETED;
	if (base && length > 0 && path[0] == SEPARATOR)
		return STATUS_OBJECT_PATH_SYNTAX_BAD;
	if (!base) {
		const uint16_t *name;
		size_t name_length;
		const uint16_t *rest = path + 1;

		if (length == 0 || path[0] != SEPARATOR)
			return STATUS_OBJECT_PATH_SYNTAX_BAD;
		if (!path_next(&rest, end, &name, &name_length) ||
		    !name_is_registry(name, name_length))
			return STATUS_OBJECT_NAME_NOT_FOUND;
		path = rest;
		key = tree.root;
	}

	for (;;) {
		const uint16_t *name;
		size_t name_length;
		struct list *before;

		if (!path_next(&path, end, &name, &name_length))
			break;
		if (name_length == 0 || name_length > REGISTRY_MAX_KEY_NAME)
			return STATUS_OBJECT_NAME_INVALID;
		struct registry_key *child = key_find_locked(key, name, name_length, &before);
		if (!child) {
			if (how == REGISTRY_OPEN || (how == REGISTRY_CREATE_LAST && path != end))
				return STATUS_OBJECT_NAME_NOT_FOUND;
			child = key_create(name, name_length);
			if (!child)
				return STATUS_INSUFFICIENT_RESOURCES;
			child->parent = key;
			list_push_back(before, &child->link);
			key->last_write = child->last_write;
			is_created = true;
		}
		key = child;
	}
	key->refs++;
	*key_out = key;
	if (created_out)
		*created_out = is_created;
	return STATUS_SUCCESS;
}

/* Keys that are there before any driver is, with everything above them. */
static const char *const first_keys[] = {
	NT_REGISTRY_SERVICES,
	NT_REGISTRY_CONTROL,
	"\\Registry\\Machine\\Hardware\\DeviceMap",
	"\\Registry\\Machine\\Software\\Microsoft\\Windows NT\\CurrentVersion",
	"\\Registry\\User\\.Default",
};

static NTSTATUS tree_set_up_locked(void)
{
	NTSTATUS status = STATUS_SUCCESS;

	lock_assert_held(&tree.lock);
	if (tree.root)
		return STATUS_SUCCESS;
	tree.root = key_create(NULL, 0);
	if (!tree.root)
		return STATUS_INSUFFICIENT_RESOURCES;
	for (size_t i = 0; NT_SUCCESS(status) && i < ARRAY_SIZE(first_keys); i++) {
		struct registry_key *key;
		uint16_t path[128];
		size_t length = nt_utf16_from_utf8(path, ARRAY_SIZE(path), first_keys[i],
						   strlen(first_keys[i]));

		status = key_open_locked(NULL, path, length, REGISTRY_CREATE_ALL, &key, NULL);
		if (NT_SUCCESS(status))
			key_unref_locked(key);
	}
	if (!NT_SUCCESS(status)) {
		key_remove_locked(tree.root);
		tree.root = NULL;
	}
	return status;
}

NTSTATUS registry_key_open(struct registry_key *base, const uint16_t *path, size_t length,
			   enum registry_open how, struct registry_key **key_out, bool *created_out)
{
	lock_acquire(&tree.lock);
	NTSTATUS status = tree_set_up_locked();
	if (NT_SUCCESS(status))
		status = key_open_locked(base, path, length, how, key_out, created_out);
	lock_release(&tree.lock);
	return status;
}

void registry_key_put(struct registry_key *key)
{
	if (!key)
		return;
	lock_acquire(&tree.lock);
	key_unref_locked(key);
	lock_release(&tree.lock);
}

NTSTATUS registry_key_child(struct registry_key *key, uint32_t index,
			    struct registry_key **child_out)
{
	NTSTATUS status = STATUS_NO_MORE_ENTRIES;
	struct list *link;

	lock_acquire(&tree.lock);
	if (key->is_deleted)
		status = STATUS_KEY_DELETED;
	list_for_each (link, &key->children) {
		if (index-- == 0) {
			*child_out = container_of(link, struct registry_key, link);
			(*child_out)->refs++;
			status = STATUS_SUCCESS;
			break;
		}
	}
	lock_release(&tree.lock);
	return status;
}

/* The path as text: \REGISTRY, then the names. */
static uint16_t *key_path(const struct registry_key *key, uint32_t *length_out)
{
	static const char prefix[] = "\\REGISTRY";
	size_t length = sizeof(prefix) - 1;

	for (const struct registry_key *k = key; k->parent; k = k->parent)
		length += 1 + k->name_length;
	uint16_t *path = mem_alloc(length * sizeof(*path));
	if (!path)
		return NULL;
	for (size_t i = 0; i < sizeof(prefix) - 1; i++)
		path[i] = (uint16_t)prefix[i];
	*length_out = (uint32_t)length;
	for (const struct registry_key *k = key; k->parent; k = k->parent) {
		length -= k->name_length;
		memcpy(path + length, k->name, k->name_length * sizeof(*path));
		path[--length] = SEPARATOR;
	}
	return path;
}

static uint16_t *key_name(const struct registry_key *key, uint32_t *length_out)
{
	uint16_t *name = mem_alloc(key->name_length * sizeof(*name) + 1);

	if (!name)
		return NULL;
	memcpy(name, key->name, key->name_length * sizeof(*name));
	*length_out = (uint32_t)key->name_length;
	return name;
}

NTSTATUS registry_key_describe(struct registry_key *key, bool with_path,
			       struct registry_key_info *info)
{
	NTSTATUS status = STATUS_KEY_DELETED;

	lock_acquire(&tree.lock);
	if (key->is_deleted)
		goto unlock;
	*info = (struct registry_key_info){ .last_write = key->last_write };
	list_each (struct registry_key, each, &key->children, link) {
		info->subkeys++;
		info->longest_subkey = (uint32_t)higher_of(info->longest_subkey, each->name_length);
	}
	list_each (struct value_node, each, &key->values, link) {
		const struct registry_value *value = &each->value;

		info->values++;
		info->longest_value_name =
			(uint32_t)higher_of(info->longest_value_name, value->name_length);
		info->largest_value_bytes =
			(uint32_t)higher_of(info->largest_value_bytes, value->size_bytes);
	}
	info->name =
		with_path ? key_path(key, &info->name_length) : key_name(key, &info->name_length);
	status = info->name ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;
unlock:
	lock_release(&tree.lock);
	return status;
}

NTSTATUS registry_key_delete(struct registry_key *key, bool with_subkeys)
{
	NTSTATUS status = STATUS_SUCCESS;

	lock_acquire(&tree.lock);
	if (key->is_deleted)
		status = STATUS_KEY_DELETED;
	else if (!key->parent || (!with_subkeys && !list_is_empty(&key->children)))
		status = STATUS_CANNOT_DELETE;
	else
		key_remove_locked(key);
	lock_release(&tree.lock);
	return status;
}

/* Values. */

static struct value_node *value_find_locked(struct registry_key *key, const uint16_t *name,
					    size_t length)
{
	lock_assert_held(&tree.lock);
	list_each (struct value_node, node, &key->values, link) {
		if (nt_utf16_compare(name, length, node->name, node->value.name_length, true) == 0)
			return node;
	}
	return NULL;
}

static NTSTATUS value_set_locked(struct registry_key *key, const uint16_t *name, size_t name_length,
				 uint32_t type, uint8_t *data, size_t size_bytes)
{
	lock_assert_held(&tree.lock);
	if (key->is_deleted)
		return STATUS_KEY_DELETED;
	struct value_node *node = value_find_locked(key, name, name_length);
	if (!node) {
		node = mem_zalloc(sizeof(*node));
		if (!node)
			return STATUS_INSUFFICIENT_RESOURCES;
		node->name = mem_alloc(name_length * sizeof(*name) + 1);
		if (!node->name) {
			mem_free(node);
			return STATUS_INSUFFICIENT_RESOURCES;
		}
		if (name_length > 0)
			memcpy(node->name, name, name_length * sizeof(*name));
		node->value.name_length = (uint32_t)name_length;
		list_push_back(&key->values, &node->link);
	}
	mem_free(node->data);
	node->data = data;
	node->value.type = type;
	node->value.size_bytes = (uint32_t)size_bytes;
	key->last_write = now_since_1601();
	return STATUS_SUCCESS;
}

NTSTATUS registry_value_set(struct registry_key *key, const uint16_t *name, size_t name_length,
			    uint32_t type, const void *data, size_t size_bytes)
{
	if (name_length > REGISTRY_MAX_VALUE_NAME)
		return STATUS_OBJECT_NAME_INVALID;
	if (size_bytes > UINT32_MAX / 2)
		return STATUS_INSUFFICIENT_RESOURCES;
	uint8_t *copy = mem_alloc(size_bytes + 1);
	if (!copy)
		return STATUS_INSUFFICIENT_RESOURCES;
	if (size_bytes > 0)
		memcpy(copy, data, size_bytes);

	lock_acquire(&tree.lock);
	NTSTATUS status = value_set_locked(key, name, name_length, type, copy, size_bytes);
	lock_release(&tree.lock);
	if (!NT_SUCCESS(status))
		mem_free(copy);
	return status;
}

static NTSTATUS value_copy(const struct value_node *node, struct registry_value **value_out)
{
	size_t name_bytes = node->value.name_length * sizeof(uint16_t);
	struct registry_value *copy =
		mem_alloc(sizeof(*copy) + name_bytes + node->value.size_bytes);

	if (!copy)
		return STATUS_INSUFFICIENT_RESOURCES;
	*copy = node->value;
	uint8_t *tail = (uint8_t *)(copy + 1);
	copy->name = memcpy(tail, node->name, name_bytes);
	copy->data = memcpy(tail + name_bytes, node->data, node->value.size_bytes);
	*value_out = copy;
	return STATUS_SUCCESS;
}

NTSTATUS registry_value_get(struct registry_key *key, const uint16_t *name, size_t name_length,
			    struct registry_value **value_out)
{
	NTSTATUS status = STATUS_OBJECT_NAME_NOT_FOUND;

	lock_acquire(&tree.lock);
	struct value_node *node = value_find_locked(key, name, name_length);
	if (key->is_deleted)
		status = STATUS_KEY_DELETED;
	else if (node)
		status = value_copy(node, value_out);
	lock_release(&tree.lock);
	return status;
}

NTSTATUS registry_value_at(struct registry_key *key, uint32_t index,
			   struct registry_value **value_out)
{
	NTSTATUS status = STATUS_NO_MORE_ENTRIES;

	lock_acquire(&tree.lock);
	if (key->is_deleted)
		status = STATUS_KEY_DELETED;
	list_each (struct value_node, each, &key->values, link) {
		if (index-- == 0) {
			status = value_copy(each, value_out);
			break;
		}
	}
	lock_release(&tree.lock);
	return status;
}

NTSTATUS registry_value_delete(struct registry_key *key, const uint16_t *name, size_t name_length)
{
	NTSTATUS status = STATUS_OBJECT_NAME_NOT_FOUND;

	lock_acquire(&tree.lock);
	struct value_node *node = value_find_locked(key, name, name_length);
	if (key->is_deleted) {
		status = STATUS_KEY_DELETED;
	} else if (node) {
		value_destroy(node);
		key->last_write = now_since_1601();
		status = STATUS_SUCCESS;
	}
	lock_release(&tree.lock);
	return status;
}

/* The host's side. */

static NTSTATUS host_open(const char *path, enum registry_open how, struct registry_key **key_out)
{
	size_t length;
	uint16_t *wide = nt_utf16_dup(path, &length);

	if (!wide)
		return STATUS_NO_MEMORY;
	NTSTATUS status = registry_key_open(NULL, wide, length, how, key_out, NULL);
	mem_free(wide);
	return status;
}

NTSTATUS nt_registry_create_key(const char *path)
{
	struct registry_key *key;
	NTSTATUS status = host_open(path, REGISTRY_CREATE_ALL, &key);

	if (NT_SUCCESS(status))
		registry_key_put(key);
	return status;
}

static NTSTATUS host_set(const char *path, const char *name, uint32_t type, const void *data,
			 size_t size_bytes)
{
	struct registry_key *key;
	size_t length;
	NTSTATUS status = host_open(path, REGISTRY_CREATE_ALL, &key);

	if (!NT_SUCCESS(status))
		return status;
	uint16_t *wide = nt_utf16_dup(name, &length);
	status = wide ? registry_value_set(key, wide, length, type, data, size_bytes)
		      : STATUS_NO_MEMORY;
	mem_free(wide);
	registry_key_put(key);
	return status;
}

NTSTATUS nt_registry_set_dword(const char *path, const char *name, uint32_t value)
{
	return host_set(path, name, NT_REG_DWORD, &value, sizeof(value));
}

NTSTATUS nt_registry_set_binary(const char *path, const char *name, const void *data,
				size_t size_bytes)
{
	return host_set(path, name, NT_REG_BINARY, data, size_bytes);
}

NTSTATUS nt_registry_set_string(const char *path, const char *name, const char *text)
{
	size_t length;
	uint16_t *wide = nt_utf16_dup(text, &length);

	if (!wide)
		return STATUS_NO_MEMORY;
	NTSTATUS status = host_set(path, name, NT_REG_SZ, wide, (length + 1) * sizeof(*wide));
	mem_free(wide);
	return status;
}

NTSTATUS nt_registry_set_strings(const char *path, const char *name, const char *const texts[],
				 size_t count)
{
	size_t units = 1; /* the terminator of the list */
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		units += nt_utf16_from_utf8(NULL, 0, texts[i], strlen(texts[i])) + 1;
	uint16_t *wide = mem_zalloc_array(units, sizeof(*wide));
	if (!wide)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		at += nt_utf16_from_utf8(wide + at, units - at, texts[i], strlen(texts[i])) + 1;
	NTSTATUS status = host_set(path, name, NT_REG_MULTI_SZ, wide, units * sizeof(*wide));
	mem_free(wide);
	return status;
}

void nt_registry_delete_tree(const char *path)
{
	struct registry_key *key;

	if (!NT_SUCCESS(host_open(path, REGISTRY_OPEN, &key)))
		return;
	registry_key_delete(key, true);
	registry_key_put(key);
}

static bool type_is_text(uint32_t type)
{
	return type == NT_REG_SZ || type == NT_REG_EXPAND_SZ || type == NT_REG_MULTI_SZ;
}

/* Text loses nothing but its width; a terminator that the driver left out is added. */
static NTSTATUS value_as_host_sees_it(const struct registry_value *value, void *data,
				      size_t capacity, size_t *needed_out)
{
	const uint16_t *text = (const uint16_t *)(const void *)value->data;
	size_t units = value->size_bytes / sizeof(uint16_t);

	if (!type_is_text(value->type)) {
		*needed_out = value->size_bytes;
		if (capacity < value->size_bytes)
			return STATUS_BUFFER_TOO_SMALL;
		if (value->size_bytes > 0)
			memcpy(data, value->data, value->size_bytes);
		return STATUS_SUCCESS;
	}
	if (value->type != NT_REG_MULTI_SZ)
		units = nt_utf16_length(text, units);
	else if (units > 0 && text[units - 1] == 0)
		units--;
	size_t needed = nt_utf8_from_utf16(NULL, 0, text, units) + 1;
	*needed_out = needed;
	if (capacity < needed)
		return STATUS_BUFFER_TOO_SMALL;
	nt_utf8_from_utf16(data, needed - 1, text, units);
	((char *)data)[needed - 1] = '\0';
	return STATUS_SUCCESS;
}

NTSTATUS nt_registry_query(const char *path, const char *name, uint32_t *type_out, void *data,
			   size_t capacity, size_t *needed_out)
{
	struct registry_value *value;
	struct registry_key *key;
	size_t length;
	NTSTATUS status = host_open(path, REGISTRY_OPEN, &key);

	if (!NT_SUCCESS(status))
		return status;
	uint16_t *wide = nt_utf16_dup(name, &length);
	status = wide ? registry_value_get(key, wide, length, &value) : STATUS_NO_MEMORY;
	if (NT_SUCCESS(status)) {
		*type_out = value->type;
		status = value_as_host_sees_it(value, data, capacity, needed_out);
		mem_free(value);
	}
	mem_free(wide);
	registry_key_put(key);
	return status;
}

void nt_registry_finish(void)
{
	lock_acquire(&tree.lock);
	if (tree.root)
		key_remove_locked(tree.root);
	tree.root = NULL;
	lock_release(&tree.lock);
}
