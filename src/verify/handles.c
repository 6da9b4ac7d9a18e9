/* SPDX-License-Identifier: MIT */
/*
 * handles.c - see handles.h. One tree for all adapters, by the number of the handle: what is freed is a range of them.
 *
 * Locks: handles_lock guards it. Memory is taken and given back outside.
 */
#include "base/lock.h"
#include "base/mem.h"
#include "base/rbtree.h"
#include "verify/handles.h"

const char *const handle_names[HANDLE_KINDS] = {
	[HANDLE_ADAPTER] = "adapter",
	[HANDLE_PROCESS] = "process",
	[HANDLE_DEVICE] = "device",
	[HANDLE_CONTEXT] = "context",
	[HANDLE_HW_CONTEXT] = "hardware context",
	[HANDLE_HW_QUEUE] = "hardware queue",
	[HANDLE_RESOURCE] = "resource",
	[HANDLE_ALLOCATION] = "allocation",
	[HANDLE_OPENING] = "opening of an allocation",
};

struct known {
	struct rb_node tree;
	struct handle_record record;
};

static struct lock handles_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "handles of drivers");
static struct rb_tree handles; /* guarded by handles_lock */

static struct known *known_of(struct rb_node *tree)
{
	return tree ? container_of(tree, struct known, tree) : NULL;
}

static struct known *next_of(struct known *known)
{
	return known_of(rb_next(&known->tree));
}

/* The first whose handle is that or larger. */
static struct known *first_from_locked(const void *handle)
{
	struct rb_node *at = handles.root;
	struct known *found = NULL;

	lock_assert_held(&handles_lock);
	while (at) {
		struct known *known = known_of(at);

		if ((uintptr_t)known->record.handle >= (uintptr_t)handle) {
			found = known;
			at = at->left;
		} else {
			at = at->right;
		}
	}
	return found;
}

static struct known *find_locked(const struct verify_adapter *adapter, enum handle_kind kind,
				 const void *handle)
{
	struct known *known = first_from_locked(handle);

	lock_assert_held(&handles_lock);
	while (known && known->record.handle == handle) {
		if (known->record.adapter == adapter && !known->record.is_ended &&
		    (kind == HANDLE_ANY || known->record.kind == kind))
			return known;
		known = next_of(known);
	}
	return NULL;
}

/* Of what it is one; HANDLE_ANY: of nothing that counts. */
static const enum handle_kind parent_kinds[HANDLE_KINDS] = {
	[HANDLE_ADAPTER] = HANDLE_ANY,        [HANDLE_PROCESS] = HANDLE_ANY,
	[HANDLE_DEVICE] = HANDLE_PROCESS,     [HANDLE_CONTEXT] = HANDLE_DEVICE,
	[HANDLE_HW_CONTEXT] = HANDLE_DEVICE,  [HANDLE_HW_QUEUE] = HANDLE_HW_CONTEXT,
	[HANDLE_RESOURCE] = HANDLE_ANY,       [HANDLE_ALLOCATION] = HANDLE_ANY,
	[HANDLE_OPENING] = HANDLE_ALLOCATION,
};

static void count_user_locked(const struct handle_record *record, int change)
{
	enum handle_kind kind = parent_kinds[record->kind];

	lock_assert_held(&handles_lock);
	if (kind == HANDLE_ANY)
		return;
	const void *handle = record->kind == HANDLE_OPENING ? record->about : record->parent;
	struct known *parent = find_locked(record->adapter, kind, handle);
	/* A context may stand in for a hardware context. */
	if (!parent && kind == HANDLE_HW_CONTEXT)
		parent = find_locked(record->adapter, HANDLE_CONTEXT, handle);
	if (parent)
		parent->record.users = (uint32_t)((int)parent->record.users + change);
}

enum handle_added handles_add(const struct handle_record *record)
{
	struct known *known = mem_zalloc_aside(sizeof(*known));

	if (!known)
		return HANDLE_NOT_KEPT;
	known->record = *record;
	lock_acquire(&handles_lock);
	bool is_twice = find_locked(record->adapter, record->kind, record->handle) != NULL;
	if (!is_twice) {
		struct known *next = first_from_locked(record->handle);

		rb_insert_before(&handles, &known->tree, next ? &next->tree : NULL);
		count_user_locked(record, 1);
	}
	lock_release(&handles_lock);
	if (is_twice)
		mem_free_aside(known);
	return is_twice ? HANDLE_TWICE : HANDLE_ADDED;
}

bool handles_find(const struct verify_adapter *adapter, enum handle_kind kind, const void *handle,
		  struct handle_record *record_out)
{
	lock_acquire(&handles_lock);
	const struct known *known = find_locked(adapter, kind, handle);
	if (known)
		*record_out = known->record;
	lock_release(&handles_lock);
	return known != NULL;
}

bool handles_remove(const struct verify_adapter *adapter, enum handle_kind kind, const void *handle,
		    struct handle_record *record_out)
{
	lock_acquire(&handles_lock);
	struct known *known = find_locked(adapter, kind, handle);
	if (known) {
		*record_out = known->record;
		rb_remove(&handles, &known->tree);
		count_user_locked(&known->record, -1);
	}
	lock_release(&handles_lock);
	mem_free_aside(known);
	return known != NULL;
}

void handles_end(const struct verify_adapter *adapter, enum handle_kind kind, const void *handle)
{
	lock_acquire(&handles_lock);
	struct known *known = find_locked(adapter, kind, handle);
	if (known)
		known->record.is_ended = true;
	lock_release(&handles_lock);
}

bool handles_knows(const struct verify_adapter *adapter, enum handle_kind kind, const void *handle)
{
	lock_acquire(&handles_lock);
	bool is_known = find_locked(adapter, kind, handle) != NULL;
	for (struct known *known = first_from_locked(NULL); known && !is_known;
	     known = next_of(known))
		is_known = known->record.adapter == adapter && known->record.kind == kind &&
			   known->record.kernel == handle && !known->record.is_ended;
	lock_release(&handles_lock);
	return is_known;
}

void handles_set_creator(const struct verify_adapter *adapter, const void *allocation,
			 const void *device)
{
	lock_acquire(&handles_lock);
	struct known *known = find_locked(adapter, HANDLE_ALLOCATION, allocation);
	if (known)
		known->record.about = device;
	lock_release(&handles_lock);
}

void handles_orphan(const struct verify_adapter *adapter, const void *device)
{
	lock_acquire(&handles_lock);
	for (struct known *known = first_from_locked(NULL); known; known = next_of(known)) {
		struct handle_record *record = &known->record;

		if (record->adapter == adapter && record->kind == HANDLE_ALLOCATION &&
		    record->about == device) {
			record->is_orphan = true;
			record->about = NULL; /* another device may be given that number */
		}
	}
	lock_release(&handles_lock);
}

bool handles_in(const void *begin, const void *end, struct handle_record *record_out)
{
	struct known *ended = NULL;
	bool is_found = false;

	lock_acquire(&handles_lock);
	struct known *known = first_from_locked(begin);
	while (known && (uintptr_t)known->record.handle < (uintptr_t)end) {
		struct known *next = next_of(known);

		if (known->record.is_ended) {
			rb_remove(&handles, &known->tree);
			known->tree.left = ended ? &ended->tree : NULL;
			ended = known;
		} else if (!is_found) {
			*record_out = known->record;
			is_found = true;
		}
		known = next;
	}
	lock_release(&handles_lock);
	while (ended) {
		struct known *next = known_of(ended->tree.left);

		mem_free_aside(ended);
		ended = next;
	}
	return is_found;
}

static struct known *take_next(const struct verify_adapter *adapter, bool only_ended)
{
	lock_acquire(&handles_lock);
	struct known *known = first_from_locked(NULL);
	while (known &&
	       (known->record.adapter != adapter || (only_ended && !known->record.is_ended)))
		known = next_of(known);
	if (known)
		rb_remove(&handles, &known->tree);
	lock_release(&handles_lock);
	return known;
}

bool handles_take_ended(const struct verify_adapter *adapter, struct handle_record *record_out)
{
	struct known *known = take_next(adapter, true);

	if (known)
		*record_out = known->record;
	mem_free_aside(known);
	return known != NULL;
}

void handles_forget(const struct verify_adapter *adapter)
{
	struct known *known;

	while ((known = take_next(adapter, false)) != NULL)
		mem_free_aside(known);
}
