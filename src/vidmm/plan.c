/* SPDX-License-Identifier: MIT */
/*
 * plan.c - see plan.h.
 */
#include <stdarg.h>
#include <stdio.h>

#include "vidmm/place.h"
#include "vidmm/plan.h"

void plan_init(struct plan *plan)
{
	for (int i = 0; i < PLAN_PARTS; i++)
		list_init(&plan->parts[i]);
	plan->has_changes = false;
}

bool plan_is_empty(const struct plan *plan)
{
	for (int i = 0; i < PLAN_PARTS; i++) {
		if (!list_is_empty(&plan->parts[i]))
			return false;
	}
	return true;
}

void plan_take(struct plan *plan, struct plan *from)
{
	for (int i = 0; i < PLAN_PARTS; i++)
		list_splice_back(&plan->parts[i], &from->parts[i]);
	plan->has_changes |= from->has_changes;
	from->has_changes = false;
}

/* ---- for people ---- */

struct page {
	char *text;
	size_t size;
	size_t used;
};

static void print(struct page *page, const char *format, ...) PRINTF_LIKE(2, 3);

static void print(struct page *page, const char *format, ...)
{
	va_list arguments;

	if (page->used >= page->size)
		return;
	va_start(arguments, format);
	int length = vsnprintf(page->text + page->used, page->size - page->used, format, arguments);
	va_end(arguments);
	page->used += length > 0 ? (size_t)length : 0;
}

static void print_places(struct page *page, const struct list *places, const char *what)
{
	const struct list *link;

	list_for_each (link, places) {
		const struct vidmm_place *place = container_of(link, struct vidmm_place, plan_link);

		print(page, "%s %llu, segment %u, %llu bytes\n", what,
		      (unsigned long long)place->allocation->id, place->segment->id,
		      (unsigned long long)place->allocation->size_bytes);
	}
}

static void print_tables(struct page *page, const struct list *tables)
{
	const struct list *link;

	list_for_each (link, tables)
		print(page, "page tables %s\n",
		      tables_state(container_of(link, struct vidmm_tables, plan_link)) ==
				      VIDMM_TABLES_LEAVING
			      ? "leave"
			      : "enter");
}

static void print_devices(struct page *page, const struct list *devices)
{
	const struct list *link;

	list_for_each (link, devices) {
		const struct vidmm_device *device =
			container_of(link, struct vidmm_device, plan_link);

		if (device->resumes > 0)
			print(page, "resume a device\n");
		if (device->must_ask_sched)
			print(page, "a device gives up its lists\n");
		if (device->must_tell_starved)
			print(page, "a device cannot have what it needs\n");
	}
}

static void print_requests(struct page *page, const struct list *requests)
{
	const struct list *link;

	list_for_each (link, requests)
		print(page, "answer a call: 0x%08X\n",
		      (unsigned)container_of(link, struct vidmm_request, link)->status);
}

static void print_each(struct page *page, const struct list *list, const char *what)
{
	const struct list *link;

	list_for_each (link, list)
		print(page, "%s\n", what);
}

void plan_print(const struct plan *plan, char *text, size_t size)
{
	struct page page = { .text = text, .size = size };

	if (size > 0)
		text[0] = '\0';
	print_places(&page, &plan->parts[PLAN_WINDOWS], "close the window of");
	print_places(&page, &plan->parts[PLAN_LEAVING], "leave");
	print_places(&page, &plan->parts[PLAN_SHIFTING], "shift");
	print_places(&page, &plan->parts[PLAN_ENTERING], "enter");
	print_tables(&page, &plan->parts[PLAN_TABLES]);
	print_devices(&page, &plan->parts[PLAN_DEVICES]);
	print_requests(&page, &plan->parts[PLAN_REQUESTS]);
	print_each(&page, &plan->parts[PLAN_DEPARTURES], "an allocation has left");
	print_each(&page, &plan->parts[PLAN_NEWS], "tell a process");
}
