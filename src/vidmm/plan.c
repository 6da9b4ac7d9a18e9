/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "base/attributes.h"
#include "vidmm/place.h"
#include "vidmm/plan.h"

void plan_init(struct plan *plan)
{
	for (int i = 0; i < PLAN_PARTS; i++)
		list_init(&plan->parts[i]);
	plan->used = 0;
	plan->has_changes = false;
}

/* What was put on a part may have been taken off it again. */
bool plan_is_empty(const struct plan *plan)
{
	for (uint32_t used = plan->used; used != 0; used &= used - 1) {
		if (!list_is_empty(&plan->parts[__builtin_ctz(used)]))
			return false;
	}
	return true;
}

void plan_take(struct plan *plan, struct plan *from)
{
	plan_init(plan);
	for (uint32_t used = from->used; used != 0; used &= used - 1) {
		uint32_t part = (uint32_t)__builtin_ctz(used);

		list_splice_back(&plan->parts[part], &from->parts[part]);
	}
	plan->used = from->used;
	plan->has_changes = from->has_changes;
	from->used = 0;
	from->has_changes = false;
}

/* ---- for people ---- */

enum { LINE_BYTES = 96 };

struct printer {
	plan_line *say;
	void *context;
};

PRINTF_LIKE(2, 3) static void print(const struct printer *printer, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	printer->say(printer->context, line);
}

static void print_places(const struct printer *printer, const struct list *places, const char *what)
{
	list_each (const struct vidmm_place, place, places, plan_link) {
		print(printer, "%s 0x%llx, segment %u, %llu bytes", what,
		      (unsigned long long)place->allocation->id, place->segment->id,
		      (unsigned long long)place->allocation->size_bytes);
	}
}

static void print_windows(const struct printer *printer, const struct list *windows)
{
	list_each (const struct vidmm_place, place, windows, window.plan_link)
		print(printer, "%s the window of 0x%llx",
		      place->window.state == CPU_WINDOW_REOPENING ? "open" : "close",
		      (unsigned long long)place->allocation->id);
}

static void print_tables(const struct printer *printer, const struct list *tables)
{
	list_each (struct vidmm_tables, each, tables, plan_link)
		print(printer, "page tables %s",
		      tables_state(each) == VIDMM_TABLES_LEAVING ? "leave" : "enter");
}

static void print_devices(const struct printer *printer, const struct list *devices)
{
	list_each (const struct vidmm_device, device, devices, plan_link) {
		if (device->resumes > 0)
			print(printer, "resume a device");
		if (device->lists == DEVICE_MUST_YIELD)
			print(printer, "a device gives up its lists");
		if (device->supply == DEVICE_STARVES)
			print(printer, "a device cannot have what it needs");
	}
}

static void print_requests(const struct printer *printer, const struct list *requests)
{
	list_each (struct vidmm_request, each, requests, link)
		print(printer, "answer a call: 0x%08X", (unsigned)each->status);
}

static void print_each(const struct printer *printer, const struct list *list, const char *what)
{
	const struct list *link;

	list_for_each (link, list)
		print(printer, "%s", what);
}

void plan_print(const struct plan *plan, plan_line *say, void *context)
{
	const struct printer printer = { say, context };

	print_windows(&printer, &plan->parts[PLAN_WINDOWS]);
	print_places(&printer, &plan->parts[PLAN_LEAVING], "leave");
	print_places(&printer, &plan->parts[PLAN_SHIFTING], "shift");
	print_places(&printer, &plan->parts[PLAN_ENTERING], "enter");
	print_tables(&printer, &plan->parts[PLAN_TABLES]);
	print_devices(&printer, &plan->parts[PLAN_DEVICES]);
	print_requests(&printer, &plan->parts[PLAN_REQUESTS]);
	print_each(&printer, &plan->parts[PLAN_DEPARTURES], "an allocation has left");
	print_each(&printer, &plan->parts[PLAN_NEWS], "tell a process");
}
