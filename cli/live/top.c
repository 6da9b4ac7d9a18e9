/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/live/top.h"
#include "cli/verify/escape.h"

enum { BAR_WIDTH = 24 };
#define MIB (UINT64_C(1) << 20)

struct screen {
	struct top_line *lines;
	unsigned width, height;
	uint32_t count;
};

PRINTF_LIKE(3, 4)
static void put(struct screen *screen, enum top_style style, const char *format, ...)
{
	va_list arguments;

	if (screen->count >= screen->height)
		return;

	struct top_line *line = &screen->lines[screen->count++];

	va_start(arguments, format);
	vsnprintf(line->text, sizeof(line->text), format, arguments);
	va_end(arguments);
	line->style = style;
	if (screen->width < sizeof(line->text))
		line->text[screen->width] = '\0';
}

/* A counter's growth in a second. */
static double rate(uint64_t now, uint64_t before, const struct live_snapshot *later,
		   const struct live_snapshot *earlier)
{
	uint64_t span_ns = later->at_ns - earlier->at_ns;

	return span_ns == 0 || now < before
		       ? 0
		       : (double)(now - before) * (double)NS_PER_S / (double)span_ns;
}

static double busy_percent(const struct live_snapshot *now, const struct live_snapshot *before,
			   uint32_t node)
{
	double share = node < before->node_count ? rate(now->nodes[node].busy_ns,
							before->nodes[node].busy_ns, now, before) *
							   100 / (double)NS_PER_S
						 : 0;

	return share > 100 ? 100 : share;
}

static void put_bar(char bar[BAR_WIDTH + 1], uint64_t part, uint64_t whole)
{
	unsigned filled =
		whole == 0 ? 0 : (unsigned)((double)part * BAR_WIDTH / (double)whole + 0.5);

	for (unsigned i = 0; i < BAR_WIDTH; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[BAR_WIDTH] = '\0';
}

static void put_adapter(struct screen *screen, const struct live_snapshot *now,
			const struct live_snapshot *before)
{
	put(screen, TOP_HEAD,
	    "in %.1f MiB/s  out %.1f MiB/s  evictions %.1f/s  discarded %.1f MiB/s  resets %" PRIu64
	    "  refused %.1f/s",
	    rate(now->moved_in_bytes, before->moved_in_bytes, now, before) / MIB,
	    rate(now->moved_out_bytes, before->moved_out_bytes, now, before) / MIB,
	    rate(now->moves_out, before->moves_out, now, before),
	    rate(now->discarded_bytes, before->discarded_bytes, now, before) / MIB, now->resets,
	    rate(now->refused, before->refused, now, before));
	for (uint32_t i = 0; i < now->segment_count; i++) {
		const struct live_segment *segment = &now->segments[i];
		char bar[BAR_WIDTH + 1];

		put_bar(bar, segment->resident_bytes, segment->size_bytes);
		put(screen, TOP_PLAIN,
		    "segment %u %-8s [%s] %" PRIu64 " of %" PRIu64 " MiB  %u allocations", i + 1,
		    segment->is_aperture ? "aperture" : "memory", bar,
		    segment->resident_bytes / MIB, segment->size_bytes / MIB,
		    segment->resident_allocations);
	}
	for (uint32_t i = 0; i < now->node_count; i++) {
		const struct live_node *node = &now->nodes[i];
		double busy = busy_percent(now, before, i);
		char bar[BAR_WIDTH + 1];

		put_bar(bar, (uint64_t)busy, 100);
		put(screen, TOP_PLAIN,
		    "node %u           [%s] %3.0f %%  packets %.0f/s  paging %.0f/s  preempted "
		    "%" PRIu64 "  faulted %" PRIu64,
		    i, bar, busy,
		    i < before->node_count ? rate(node->client.completed,
						  before->nodes[i].client.completed, now, before)
					   : 0,
		    i < before->node_count ? rate(node->paging.completed,
						  before->nodes[i].paging.completed, now, before)
					   : 0,
		    node->client.preempted, node->client.faulted);
	}
}

/* ---- processes ---- */

static int by_number(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int by_local(const void *a, const void *b)
{
	const struct live_process *one = a, *other = b;
	int order = by_number(one->usage_bytes[0], other->usage_bytes[0]);

	return order ? order : by_number(other->id, one->id);
}

static int by_system(const void *a, const void *b)
{
	const struct live_process *one = a, *other = b;
	int order = by_number(one->system_bytes, other->system_bytes);

	return order ? order : by_number(other->id, one->id);
}

static int by_pid(const void *a, const void *b)
{
	const struct live_process *one = a, *other = b;

	return by_number(other->pid, one->pid);
}

static int by_name(const void *a, const void *b)
{
	const struct live_process *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	return order ? order : by_number(other->id, one->id);
}

static int (*const orders[TOP_ORDERS])(const void *a, const void *b) = { by_local, by_system,
									 by_pid, by_name };

static bool is_shown(const struct live_process *process, const char *filter)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", process->pid);
	return strstr(process->name, filter) || strcmp(pid, filter) == 0;
}

static void put_expanded(struct screen *screen, const struct live_process *process)
{
	put(screen, TOP_PLAIN, "          process %u  user %u  class %s  handles %" PRIu64,
	    process->id, process->user, process->class, process->handles);
	put(screen, TOP_PLAIN,
	    "          local %" PRIu64 " of %" PRIu64 " KiB  system %" PRIu64 " of %" PRIu64 " KiB",
	    process->usage_bytes[0] / 1024, process->budget_bytes[0] / 1024,
	    process->usage_bytes[1] / 1024, process->budget_bytes[1] / 1024);
}

static void put_processes(struct screen *screen, struct live_snapshot *now, struct top_view *view)
{
	uint32_t shown = 0;

	put(screen, TOP_HEAD, "%8s %6s %-20s %12s %12s %12s %10s  %s", "pid", "user", "name",
	    "local MiB", "budget MiB", "system MiB", "handles", "class");
	if (now->process_count > 1)
		qsort(now->processes, now->process_count, sizeof(*now->processes),
		      orders[view->order]);
	for (uint32_t i = 0; i < now->process_count; i++) {
		const struct live_process *process = &now->processes[i];
		bool is_over = process->usage_bytes[0] > process->budget_bytes[0];

		if (!is_shown(process, view->filter))
			continue;
		put(screen,
		    shown == view->selected ? TOP_SELECTED
		    : is_over               ? TOP_ALARM
					    : TOP_PLAIN,
		    "%8u %6u %-20.20s %12.1f %11.1f%c %12.1f %10" PRIu64 "  %s", process->pid,
		    process->user, process->name, (double)process->usage_bytes[0] / (double)MIB,
		    (double)process->budget_bytes[0] / (double)MIB, is_over ? '!' : ' ',
		    (double)process->system_bytes / (double)MIB, process->handles, process->class);
		if (shown == view->selected && view->is_expanded)
			put_expanded(screen, process);
		shown++;
	}
	if (view->selected >= shown)
		view->selected = shown ? shown - 1 : 0;
}

uint32_t top_lines(struct live_snapshot *now, const struct live_snapshot *before,
		   struct top_view *view, unsigned width, unsigned height, struct top_line *lines)
{
	struct screen screen = { lines, width, height, 0 };

	put_adapter(&screen, now, before);
	put(&screen, TOP_PLAIN, "%s", "");
	put_processes(&screen, now, view);
	return screen.count;
}

/* ---- JSON ---- */

void top_print_json(const struct live_snapshot *now, const struct live_snapshot *before, FILE *out)
{
	fprintf(out,
		"{\"resets\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"movedInBytes\":%" PRIu64
		",\"movedOutBytes\":%" PRIu64 ",\"segments\":[",
		now->resets, now->refused, now->moved_in_bytes, now->moved_out_bytes);
	for (uint32_t i = 0; i < now->segment_count; i++)
		fprintf(out,
			"%s{\"segment\":%u,\"aperture\":%s,\"sizeBytes\":%" PRIu64
			",\"residentBytes\":%" PRIu64 "}",
			i ? "," : "", i + 1, now->segments[i].is_aperture ? "true" : "false",
			now->segments[i].size_bytes, now->segments[i].resident_bytes);
	fprintf(out, "],\"nodes\":[");
	for (uint32_t i = 0; i < now->node_count; i++)
		fprintf(out,
			"%s{\"node\":%u,\"busyPercent\":%.1f,\"busyNs\":%" PRIu64
			",\"completed\":%" PRIu64 ",\"paging\":%" PRIu64 "}",
			i ? "," : "", i, busy_percent(now, before, i), now->nodes[i].busy_ns,
			now->nodes[i].client.completed, now->nodes[i].paging.completed);
	fprintf(out, "],\"processes\":[");
	for (uint32_t i = 0; i < now->process_count; i++) {
		const struct live_process *process = &now->processes[i];

		fprintf(out, "%s{\"id\":%u,\"pid\":%u,\"user\":%u,\"name\":", i ? "," : "",
			process->id, process->pid, process->user);
		json_put(out, process->name);
		fprintf(out,
			",\"localBytes\":%" PRIu64 ",\"localBudgetBytes\":%" PRIu64
			",\"systemBytes\":%" PRIu64 ",\"handles\":%" PRIu64 "}",
			process->usage_bytes[0], process->budget_bytes[0], process->system_bytes,
			process->handles);
	}
	fprintf(out, "]}\n");
}
