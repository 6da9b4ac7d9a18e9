/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/live/top.h"
#include "cli/verify/escape.h"

enum {
	BAR_WIDTH = 24,
	NARROW_BAR_WIDTH = 8,
	NARROW = 100 /* columns are not enough for all at length */
};
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

static bool is_narrow(const struct screen *screen)
{
	return screen->width < NARROW;
}

static void make_bar(const struct screen *screen, char bar[BAR_WIDTH + 1], uint64_t part,
		     uint64_t whole)
{
	unsigned width = is_narrow(screen) ? NARROW_BAR_WIDTH : BAR_WIDTH;
	unsigned filled = whole == 0 ? 0 : (unsigned)((double)part * width / (double)whole + 0.5);

	for (unsigned i = 0; i < width; i++)
		bar[i] = i < filled ? '#' : '.';
	bar[width] = '\0';
}

static void put_movement(struct screen *screen, const struct live_snapshot *now,
			 const struct live_snapshot *before)
{
	char moved[96], ended[96];

	snprintf(moved, sizeof(moved), "in %.1f MiB/s  out %.1f MiB/s  evictions %.1f/s",
		 rate(now->moved_in_bytes, before->moved_in_bytes, now, before) / MIB,
		 rate(now->moved_out_bytes, before->moved_out_bytes, now, before) / MIB,
		 rate(now->moves_out, before->moves_out, now, before));
	snprintf(ended, sizeof(ended), "discarded %.1f MiB/s  resets %" PRIu64 "  refused %.1f/s",
		 rate(now->discarded_bytes, before->discarded_bytes, now, before) / MIB,
		 now->resets, rate(now->refused, before->refused, now, before));
	put(screen, TOP_HEAD, "%s%s%s", moved, is_narrow(screen) ? "" : "  ",
	    is_narrow(screen) ? "" : ended);
	if (is_narrow(screen))
		put(screen, TOP_HEAD, "%s", ended);
}

/* In a narrow one only what there is, and the worst first. */
static void put_node(struct screen *screen, uint32_t number, const struct live_node *node,
		     double busy, double packets, double pagings)
{
	char bar[BAR_WIDTH + 1];
	char hw_queues[16] = "";
	char faulted[32] = "", preempted[40] = "";

	make_bar(screen, bar, (uint64_t)busy, 100);
	if (node->hw_queues > 0)
		snprintf(hw_queues, sizeof(hw_queues), "%u hwq", node->hw_queues);
	if (!is_narrow(screen) || node->client.faulted > 0)
		snprintf(faulted, sizeof(faulted), "  faulted %" PRIu64, node->client.faulted);
	if (!is_narrow(screen) || node->client.preempted > 0)
		snprintf(preempted, sizeof(preempted), "  preempted %" PRIu64,
			 node->client.preempted);
	put(screen, TOP_PLAIN, "node %-2u %9s [%s] %3.0f %%  packets %.0f/s  paging %.0f/s%s%s",
	    number, hw_queues, bar, busy, packets, pagings, is_narrow(screen) ? faulted : preempted,
	    is_narrow(screen) ? preempted : faulted);
}

static void put_adapter(struct screen *screen, const struct live_snapshot *now,
			const struct live_snapshot *before)
{
	put_movement(screen, now, before);
	for (uint32_t i = 0; i < now->segment_count; i++) {
		const struct live_segment *segment = &now->segments[i];
		char bar[BAR_WIDTH + 1];

		make_bar(screen, bar, segment->resident_bytes, segment->size_bytes);
		put(screen, TOP_PLAIN,
		    "segment %u %-8s [%s] %" PRIu64 " of %" PRIu64
		    " MiB  %u allocations  gap %" PRIu64 " MiB",
		    i + 1, segment->is_aperture ? "aperture" : "memory", bar,
		    segment->resident_bytes / MIB, segment->size_bytes / MIB,
		    segment->resident_allocations, segment->largest_gap_bytes / MIB);
	}
	for (uint32_t i = 0; i < now->node_count; i++) {
		const struct live_node *node = &now->nodes[i];
		const struct live_node *then = i < before->node_count ? &before->nodes[i] : node;
		put_node(screen, i, node, busy_percent(now, before, i),
			 rate(node->client.completed, then->client.completed, now, before),
			 rate(node->paging.completed, then->paging.completed, now, before));
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

static int by_busy(const void *a, const void *b)
{
	const struct live_process *one = a, *other = b;
	int order = by_number(one->busy_ns, other->busy_ns);

	return order ? order : by_number(other->id, one->id);
}

static int by_moved(const void *a, const void *b)
{
	const struct live_process *one = a, *other = b;
	int order = by_number(one->moved_in_bytes + one->moved_out_bytes,
			      other->moved_in_bytes + other->moved_out_bytes);

	return order ? order : by_number(other->id, one->id);
}

static int (*const orders[TOP_ORDERS])(const void *a, const void *b) = { by_local, by_system,
									 by_pid,   by_name,
									 by_busy,  by_moved };

static bool is_shown(const struct live_process *process, const char *filter)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", process->pid);
	return strstr(process->name, filter) || strcmp(pid, filter) == 0;
}

/* As it was a while ago; itself when it is new. */
static const struct live_process *earlier(const struct live_snapshot *before,
					  const struct live_process *process)
{
	for (uint32_t i = 0; i < before->process_count; i++) {
		if (before->processes[i].id == process->id)
			return &before->processes[i];
	}
	return process;
}

static void put_detail(struct screen *screen, const char *text, uint32_t process)
{
	struct live_line line;

	if (live_line_split(text, "device", 4, &line) && live_line_number(&line, 1) == process)
		put(screen, TOP_PLAIN, "          device %s  %s", line.words[2], line.words[3]);
	else if (live_line_split(text, "queue", 6, &line) && live_line_number(&line, 1) == process)
		put(screen, TOP_PLAIN, "          %s %s  node %s  queued %s", line.words[5],
		    line.words[2], line.words[3], line.words[4]);
	else if (live_line_split(text, "allocation", 6, &line) &&
		 live_line_number(&line, 1) == process)
		put(screen, TOP_PLAIN, "          allocation %s  %" PRIu64 " KiB  segment %s  %s",
		    line.words[2], live_line_number(&line, 3) / 1024, line.words[4], line.words[5]);
}

/* Devices, queues, the largest allocations. */
static void put_details(struct screen *screen, const struct live_snapshot *now, uint32_t process)
{
	for (const char *line = now->details; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		put_detail(screen, line, process);
	}
}

static void put_expanded(struct screen *screen, const struct live_snapshot *now,
			 const struct live_process *process)
{
	put(screen, TOP_PLAIN, "          process %u  user %u  class %s  handles %" PRIu64 "  %s",
	    process->id, process->user, process->class, process->handles, process->state);
	put(screen, TOP_PLAIN,
	    "          local %" PRIu64 " of %" PRIu64 " KiB  system %" PRIu64 " of %" PRIu64
	    " KiB  offered %" PRIu64 " KiB  resident %u",
	    process->usage_bytes[0] / 1024, process->budget_bytes[0] / 1024,
	    process->usage_bytes[1] / 1024, process->budget_bytes[1] / 1024,
	    process->offered_bytes / 1024, process->resident_allocations);
	put_details(screen, now, process->id);
}

static void put_process(struct screen *screen, const struct live_snapshot *now,
			const struct live_snapshot *before, const struct live_process *process,
			bool is_selected)
{
	const struct live_process *then = earlier(before, process);
	bool is_over = process->usage_bytes[0] > process->budget_bytes[0];
	double moved = rate(process->moved_in_bytes + process->moved_out_bytes,
			    then->moved_in_bytes + then->moved_out_bytes, now, before);
	double busy = rate(process->busy_ns, then->busy_ns, now, before) * 100 / (double)NS_PER_S;

	put(screen,
	    is_selected ? TOP_SELECTED
	    : is_over   ? TOP_ALARM
			: TOP_PLAIN,
	    "%8u %6u %-20.20s %9.1f %9.1f%c %5.0f %7.1f %5" PRIu64 " %9.1f %8" PRIu64 "  %s",
	    process->pid, process->user, process->name,
	    (double)process->usage_bytes[0] / (double)MIB,
	    (double)process->budget_bytes[0] / (double)MIB, is_over ? '!' : ' ', busy,
	    moved / (double)MIB, process->queued, (double)process->system_bytes / (double)MIB,
	    process->handles, process->class);
}

/* The selected line is on the screen, and half of that below it when there is more to tell of it. */
static void keep_in_sight(struct top_view *view, uint32_t line_count, uint32_t rows)
{
	if (view->selected == TOP_NONE)
		return;
	uint32_t below = view->is_expanded ? rows / 2 : 0;
	uint32_t last = rows > below ? rows - below - 1 : 0;

	if (view->selected >= line_count)
		view->selected = line_count ? line_count - 1 : 0;
	if (view->first > view->selected)
		view->first = view->selected;
	if (view->selected - view->first > last)
		view->first = view->selected - last;
}

static uint32_t count_shown(const struct live_snapshot *now, const char *filter)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < now->process_count; i++)
		count += is_shown(&now->processes[i], filter);
	return count;
}

static void put_processes(struct screen *screen, struct live_snapshot *now,
			  const struct live_snapshot *before, struct top_view *view)
{
	uint32_t shown = 0;

	put(screen, TOP_HEAD, "%8s %6s %-20s %9s %10s %5s %7s %5s %9s %8s  %s", "pid", "user",
	    "name", "local MiB", "budget MiB", "busy%", "MiB/s", "queue", "system", "handles",
	    "class");
	if (now->process_count > 1)
		qsort(now->processes, now->process_count, sizeof(*now->processes),
		      orders[view->order]);
	view->expanded = 0;
	keep_in_sight(view, count_shown(now, view->filter), screen->height - screen->count);
	for (uint32_t i = 0; i < now->process_count; i++) {
		const struct live_process *process = &now->processes[i];
		bool is_selected = shown == view->selected;

		if (!is_shown(process, view->filter))
			continue;
		if (shown >= view->first)
			put_process(screen, now, before, process, is_selected);
		if (is_selected && view->is_expanded) {
			view->expanded = process->id;
			put_expanded(screen, now, process);
		}
		shown++;
	}
}

uint32_t top_lines(struct live_snapshot *now, const struct live_snapshot *before,
		   struct top_view *view, unsigned width, unsigned height, struct top_line *lines)
{
	struct screen screen = { lines, width, height, 0 };

	put_adapter(&screen, now, before);
	put(&screen, TOP_PLAIN, "%s", "");
	put_processes(&screen, now, before, view);
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
			",\"completed\":%" PRIu64 ",\"paging\":%" PRIu64 ",\"queued\":%" PRIu64
			",\"hardwareQueues\":%u}",
			i ? "," : "", i, busy_percent(now, before, i), now->nodes[i].busy_ns,
			now->nodes[i].client.completed, now->nodes[i].paging.completed,
			now->nodes[i].queued, now->nodes[i].hw_queues);
	fprintf(out, "],\"processes\":[");
	for (uint32_t i = 0; i < now->process_count; i++) {
		const struct live_process *process = &now->processes[i];

		fprintf(out, "%s{\"id\":%u,\"pid\":%u,\"user\":%u,\"name\":", i ? "," : "",
			process->id, process->pid, process->user);
		json_put(out, process->name);
		fprintf(out,
			",\"localBytes\":%" PRIu64 ",\"localBudgetBytes\":%" PRIu64
			",\"systemBytes\":%" PRIu64 ",\"handles\":%" PRIu64
			",\"movedInBytes\":%" PRIu64 ",\"movedOutBytes\":%" PRIu64
			",\"busyNs\":%" PRIu64 ",\"queued\":%" PRIu64 ",\"offeredBytes\":%" PRIu64
			",\"residentAllocations\":%u,\"state\":\"%s\"}",
			process->usage_bytes[0], process->budget_bytes[0], process->system_bytes,
			process->handles, process->moved_in_bytes, process->moved_out_bytes,
			process->busy_ns, process->queued, process->offered_bytes,
			process->resident_allocations, process->state);
	}
	fprintf(out, "]}\n");
}
