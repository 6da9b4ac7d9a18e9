/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "cli/view/names.h"

/* `value` in units, rounded to so many digits behind the point, halves up. */
static void put_fixed(uint64_t value, uint64_t unit, unsigned digits, const char *unit_name,
		      view_name name)
{
	uint64_t power = digits == 3 ? 1000 : digits == 2 ? 100 : 10;
	uint64_t scaled = value / unit * power + (value % unit * power + unit / 2) / unit;

	snprintf(name, VIEW_NAME_BYTES, "%" PRIu64 ".%0*" PRIu64 " %s", scaled / power, (int)digits,
		 scaled % power, unit_name);
}

const char *view_time_name(int64_t ns, view_name name)
{
	uint64_t size = ns < 0 ? 0 : (uint64_t)ns;

	if (size >= NS_PER_S)
		put_fixed(size, NS_PER_S, 3, "s", name);
	else if (size >= NS_PER_MS)
		put_fixed(size, NS_PER_MS, 3, "ms", name);
	else if (size >= NS_PER_US)
		put_fixed(size, NS_PER_US, 2, "µs", name);
	else
		snprintf(name, VIEW_NAME_BYTES, "%" PRIu64 " ns", size);
	return name;
}

const char *view_bytes_name(int64_t bytes, view_name name)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	uint64_t size = bytes < 0 ? 0 : (uint64_t)bytes;
	unsigned unit = 0;

	while (size >> 10 * unit >= 1024 && unit + 1 < ARRAY_SIZE(units))
		unit++;
	if (size % (UINT64_C(1) << 10 * unit) == 0)
		snprintf(name, VIEW_NAME_BYTES, "%" PRIu64 " %s", size >> 10 * unit, units[unit]);
	else
		put_fixed(size, UINT64_C(1) << 10 * unit, 1, units[unit], name);
	return name;
}

const char *view_process_name(const struct view_model *model, int64_t process, view_name name)
{
	if (process <= 0) {
		snprintf(name, VIEW_NAME_BYTES, "kernel");
		return name;
	}

	const char *known = view_text(model, VIEW_AT(model, processes, name, process - 1));
	int64_t pid = VIEW_AT(model, processes, pid, process - 1);

	snprintf(name, VIEW_NAME_BYTES, "%s %" PRId64, *known ? known : "process",
		 pid ? pid : VIEW_AT(model, processes, id, process - 1));
	return name;
}

const char *view_allocation_name(const struct view_model *model, int64_t allocation, view_name name)
{
	const char *given = view_text(model, VIEW_AT(model, allocations, name, allocation));
	int64_t id = VIEW_AT(model, allocations, id, allocation);

	if (*given)
		snprintf(name, VIEW_NAME_BYTES, "allocation 0x%" PRIx64 " \"%s\"", (uint64_t)id,
			 given);
	else
		snprintf(name, VIEW_NAME_BYTES, "allocation 0x%" PRIx64, (uint64_t)id);
	return name;
}

static const char *view_queue_name(const struct view_model *model, int64_t queue, view_name name)
{
	const char *kind = view_text(model, VIEW_AT(model, queues, kind, queue));
	int64_t handle = VIEW_AT(model, queues, handle, queue);

	if (handle)
		snprintf(name, VIEW_NAME_BYTES, "%s 0x%" PRIx64, *kind ? kind : "queue",
			 (uint64_t)handle);
	else
		snprintf(name, VIEW_NAME_BYTES, "%s %" PRId64, *kind ? kind : "queue",
			 VIEW_AT(model, queues, number, queue));
	return name;
}

const char *view_packet_name(const struct view_model *model, int64_t packet, view_name name)
{
	view_name queue;

	snprintf(name, VIEW_NAME_BYTES, "packet %" PRId64 " of %.100s",
		 VIEW_AT(model, packets, ticket, packet),
		 view_queue_name(model, VIEW_AT(model, packets, queue, packet), queue));
	return name;
}

static const char *with_kind(const char *what, int64_t adapter, int64_t number, const char *kind,
			     view_name name)
{
	snprintf(name, VIEW_NAME_BYTES, "%s %" PRId64 ".%" PRId64 "%s%s", what, adapter, number,
		 *kind ? " " : "", kind);
	return name;
}

const char *view_node_name(const struct view_model *model, int64_t node, view_name name)
{
	return with_kind("node", VIEW_AT(model, nodes, adapter, node),
			 VIEW_AT(model, nodes, number, node),
			 view_text(model, VIEW_AT(model, nodes, name, node)), name);
}

const char *view_segment_name(const struct view_model *model, int64_t segment, view_name name)
{
	if (segment <= 0) {
		snprintf(name, VIEW_NAME_BYTES, "no segment");
		return name;
	}
	return with_kind("segment", VIEW_AT(model, segments, adapter, segment - 1),
			 VIEW_AT(model, segments, number, segment - 1),
			 view_text(model, VIEW_AT(model, segments, kind, segment - 1)), name);
}
