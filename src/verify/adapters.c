/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "verify/adapters.h"
#include "verify/verify.h"

static struct {
	_Atomic(const void *) handle; /* NULL: free. Written last, and taken back first */
	struct verify_adapter *adapter;
} listed[VERIFY_ADAPTERS_MAX];

static struct lock list_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "verified adapters");

bool verify_adapter_list(struct verify_adapter *adapter)
{
	bool has_slot = false;

	lock_acquire(&list_lock);
	for (size_t i = 0; i < ARRAY_SIZE(listed) && !has_slot; i++) {
		has_slot = !atomic_load(&listed[i].handle);
		if (has_slot) {
			listed[i].adapter = adapter;
			atomic_store(&listed[i].handle, adapter->miniport);
		}
	}
	lock_release(&list_lock);
	return has_slot;
}

void verify_adapter_unlist(struct verify_adapter *adapter)
{
	lock_acquire(&list_lock);
	for (size_t i = 0; i < ARRAY_SIZE(listed); i++) {
		if (listed[i].adapter == adapter && atomic_load(&listed[i].handle)) {
			atomic_store(&listed[i].handle, NULL);
			listed[i].adapter = NULL;
		}
	}
	lock_release(&list_lock);
}

struct verify_adapter *verify_adapter_of(const void *handle)
{
	for (size_t i = 0; handle && i < ARRAY_SIZE(listed); i++) {
		if (atomic_load(&listed[i].handle) == handle)
			return listed[i].adapter;
	}
	return NULL;
}

struct verify_adapter *verify_adapter_at(unsigned index)
{
	return atomic_load(&listed[index].handle) ? listed[index].adapter : NULL;
}
