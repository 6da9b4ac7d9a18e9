/* SPDX-License-Identifier: MIT */
/*
 * keep.c - see keep.h.
 *
 * Locks: the manager's.
 */
#include "base/mem.h"
#include "vidmm/keep.h"
#include "vidmm/place.h"

static void begin_locked(struct vidmm_keep *keep, struct vidmm_device *device)
{
	lock_assert_held(&keep->manager->lock);
	for (uint32_t i = 0; i < keep->count; i++) {
		if (keep->bindings[i]->end != BINDING_LIVES)
			keep->bindings[i] = NULL;
		else
			keep->bindings[i]->keeps++;
	}
	list_push_back(&device->keeps, &keep->link);
}

struct vidmm_keep *vidmm_keep_create(struct vidmm_device *device,
				     struct vidmm_binding *const bindings[], uint32_t count)
{
	struct vidmm *manager = device->process->manager;
	struct vidmm_keep *keep =
		mem_zalloc(sizeof(*keep) + (size_t)count * sizeof(keep->bindings[0]));

	if (!keep)
		return NULL;
	keep->manager = manager;
	list_init(&keep->link);
	for (uint32_t i = 0; i < count; i++) {
		if (bindings[i])
			keep->bindings[keep->count++] = bindings[i];
	}
	if (keep->count == 0)
		return keep;
	lock_acquire(&manager->lock);
	begin_locked(keep, device);
	lock_release(&manager->lock);
	return keep;
}

static void end_locked(struct vidmm_keep *keep)
{
	lock_assert_held(&keep->manager->lock);
	list_remove(&keep->link);
	for (uint32_t i = 0; i < keep->count; i++) {
		struct vidmm_binding *binding = keep->bindings[i];

		if (!binding)
			continue;
		binding->keeps--;
		binding_release_kept_locked(binding);
	}
}

void vidmm_keep_end(struct vidmm_keep *keep)
{
	if (keep && keep->count > 0) {
		lock_acquire(&keep->manager->lock);
		end_locked(keep);
		decide_unlock(keep->manager);
	}
	mem_free(keep);
}

static void forget_in_locked(struct vidmm_keep *keep, struct vidmm_binding *binding)
{
	lock_assert_held(&keep->manager->lock);
	for (uint32_t i = 0; i < keep->count; i++) {
		if (keep->bindings[i] != binding)
			continue;
		keep->bindings[i] = NULL;
		binding->keeps--;
	}
}

void keep_forget_binding_locked(struct vidmm_binding *binding)
{
	lock_assert_held(&binding->device->process->manager->lock);
	if (binding->keeps == 0)
		return;
	list_each (struct vidmm_keep, each, &binding->device->keeps, link)
		forget_in_locked(each, binding);
}
