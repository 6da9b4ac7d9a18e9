/* SPDX-License-Identifier: MIT */
#include "base/text.h"
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

static void print_places(struct text *text, const struct list *places, const char *what)
{
	list_each (const struct vidmm_place, place, places, plan_link) {
		text_add(text, "%s 0x%llx, segment %u, %llu bytes\n", what,
			 (unsigned long long)place->allocation->id, place->segment->id,
			 (unsigned long long)place->allocation->size_bytes);
	}
}

static void print_windows(struct text *text, const struct list *windows)
{
	list_each (const struct vidmm_place, place, windows, window.plan_link)
		text_add(text, "%s the window of 0x%llx\n",
			 place->window.state == CPU_WINDOW_REOPENING ? "open" : "close",
			 (unsigned long long)place->allocation->id);
}

static void print_tables(struct text *text, const struct list *tables)
{
	list_each (struct vidmm_tables, each, tables, plan_link)
		text_add(text, "page tables %s\n",
			 tables_state(each) == VIDMM_TABLES_LEAVING ? "leave" : "enter");
}

static void print_devices(struct text *text, const struct list *devices)
{
	list_each (const struct vidmm_device, device, devices, plan_link) {
		if (device->resumes > 0)
			text_add(text, "resume a device\n");
		if (device->lists == DEVICE_MUST_YIELD)
			text_add(text, "a device gives up its lists\n");
		if (device->supply == DEVICE_STARVES)
			text_add(text, "a device cannot have what it needs\n");
	}
}

static void print_requests(struct text *text, const struct list *requests)
{
	list_each (struct vidmm_request, each, requests, link)
		text_add(text, "answer a call: 0x%08X\n", (unsigned)each->status);
}

static void print_each(struct text *text, const struct list *list, const char *what)
{
	const struct list *link;

	list_for_each (link, list)
		text_add(text, "%s\n", what);
}

void plan_print(const struct plan *plan, char *at, size_t size)
{
	struct text text = text_begin(at, size);

	print_windows(&text, &plan->parts[PLAN_WINDOWS]);
	print_places(&text, &plan->parts[PLAN_LEAVING], "leave");
	print_places(&text, &plan->parts[PLAN_SHIFTING], "shift");
	print_places(&text, &plan->parts[PLAN_ENTERING], "enter");
	print_tables(&text, &plan->parts[PLAN_TABLES]);
	print_devices(&text, &plan->parts[PLAN_DEVICES]);
	print_requests(&text, &plan->parts[PLAN_REQUESTS]);
	print_each(&text, &plan->parts[PLAN_DEPARTURES], "an allocation has left");
	print_each(&text, &plan->parts[PLAN_NEWS], "tell a process");
}
