/* SPDX-License-Identifier: MIT */
/*
 * machine_view.c - scattered pages seen in a row.
 *
 * Most views need nothing: pages that are neighbours are neighbours in the window too. The others
 * get a range of addresses of their own, with one mapping of the memfd for each run of pages. They
 * are remembered, so that a pointer into a view still has a physical address.
 *
 * Locks: one, LOCK_RANK_MACHINE, for the list; never together with another of that rank.
 */
#include <string.h>
#include <sys/mman.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/machine.h"
#include "base/machine_parts.h"
#include "base/mem.h"

struct view {
	struct list link;
	char *start;
	uint64_t count;
	uint64_t pfns[];
};

static struct {
	struct lock lock;
	struct list views; /* view.link */
	uint64_t count;
} list = {
	.lock = LOCK_INITIALIZER(LOCK_RANK_MACHINE, "views of physical memory"),
	.views = { &list.views, &list.views },
};

uint64_t machine_neighbours(const uint64_t pfns[], uint64_t count)
{
	uint64_t run = 1;

	while (run < count && pfns[run] == pfns[0] + run)
		run++;
	return run;
}

void *machine_map(const uint64_t pfns[], uint64_t count)
{
	struct view *view;
	char *start;

	if (count == 0 || count > UINT64_C(1) << 40)
		return NULL;
	if (machine_neighbours(pfns, count) == count &&
	    (machine_is_foreign(pfns[0] << MACHINE_PAGE_SHIFT) ||
	     machine_is_memory(pfns[0] << MACHINE_PAGE_SHIFT, count * MACHINE_PAGE_BYTES)))
		return machine_to_pointer(pfns[0] << MACHINE_PAGE_SHIFT);
	for (uint64_t i = 0; i < count; i++) {
		if (!machine_is_memory(pfns[i] << MACHINE_PAGE_SHIFT, MACHINE_PAGE_BYTES))
			return NULL;
	}

	view = mem_alloc(sizeof(*view) + count * sizeof(view->pfns[0]));
	if (!view)
		return NULL;
	start = mmap(NULL, count * MACHINE_PAGE_BYTES, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED)
		goto free_view;
	for (uint64_t i = 0; i < count;) {
		uint64_t run = machine_neighbours(pfns + i, count - i);
		void *at = start + i * MACHINE_PAGE_BYTES;

		if (!machine_show(at, pfns[i] << MACHINE_PAGE_SHIFT, run * MACHINE_PAGE_BYTES))
			goto unmap_start;
		i += run;
	}

	view->start = start;
	view->count = count;
	memcpy(view->pfns, pfns, count * sizeof(pfns[0]));
	lock_acquire(&list.lock);
	list_push_back(&list.views, &view->link);
	list.count++;
	lock_release(&list.lock);
	return start;

unmap_start:
	munmap(start, count * MACHINE_PAGE_BYTES);
free_view:
	mem_free(view);
	return NULL;
}

void machine_unmap(void *start, uint64_t count)
{
	struct list *link;
	struct view *found = NULL;

	lock_acquire(&list.lock);
	list_for_each (link, &list.views) {
		struct view *view = container_of(link, struct view, link);

		if (view->start == start && view->count == count)
			found = view;
	}
	if (found) {
		list_remove(&found->link);
		list.count--;
	}
	lock_release(&list.lock);

	/* Not one of ours: the pages were neighbours, and their pointer is the window's. */
	if (!found)
		return;
	munmap(found->start, found->count * MACHINE_PAGE_BYTES);
	mem_free(found);
}

bool machine_view_find(const void *pointer, uint64_t *address_out)
{
	const char *byte = pointer;
	struct list *link;
	bool is_found = false;

	lock_acquire(&list.lock);
	list_for_each (link, &list.views) {
		struct view *view = container_of(link, struct view, link);

		if (byte < view->start || byte >= view->start + view->count * MACHINE_PAGE_BYTES)
			continue;
		*address_out = (view->pfns[(uint64_t)(byte - view->start) >> MACHINE_PAGE_SHIFT]
				<< MACHINE_PAGE_SHIFT) +
			       ((uintptr_t)byte & (MACHINE_PAGE_BYTES - 1));
		is_found = true;
		break;
	}
	lock_release(&list.lock);
	return is_found;
}

uint64_t machine_view_count(void)
{
	lock_acquire(&list.lock);
	uint64_t count = list.count;
	lock_release(&list.lock);
	return count;
}

void machine_views_finish(void)
{
	struct list *link;

	lock_acquire(&list.lock);
	while ((link = list_pop_front(&list.views))) {
		struct view *view = container_of(link, struct view, link);

		munmap(view->start, view->count * MACHINE_PAGE_BYTES);
		mem_free(view);
	}
	list.count = 0;
	lock_release(&list.lock);
}
