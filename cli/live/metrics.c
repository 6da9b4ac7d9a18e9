/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "cli/live/metrics.h"

enum kind { GAUGE, COUNTER, INFO };

struct page {
	const struct live_snapshot *snapshot;
	const struct metrics_form *form;
	FILE *out;
};

/* A family begins: its samples follow. In OpenMetrics the name of a counter is that without "_total". */
static void family(const struct page *page, enum kind kind, const char *name, const char *help)
{
	const char *type = kind == COUNTER                              ? "counter"
			   : kind == INFO && page->form->is_openmetrics ? "info"
									: "gauge";
	const char *suffix = kind == COUNTER && !page->form->is_openmetrics ? "_total"
			     : kind == INFO && !page->form->is_openmetrics  ? "_info"
									    : "";

	fprintf(page->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name, suffix,
		type);
}

static void put_label_text(const struct page *page, const char *text)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			fprintf(page->out, "\\%c", *text);
		else if (*text == '\n')
			fputs("\\n", page->out);
		else
			fputc(*text, page->out);
	}
}

static void number(const struct page *page, const char *name, const char *labels, uint64_t value)
{
	fprintf(page->out, "%s%s%s%s %" PRIu64 "\n", name, *labels ? "{" : "", labels,
		*labels ? "}" : "", value);
}

static void seconds(const struct page *page, const char *name, const char *labels, uint64_t ns)
{
	fprintf(page->out, "%s{%s} %" PRIu64 ".%09" PRIu64 "\n", name, labels, ns / NS_PER_S,
		ns % NS_PER_S);
}

/* ---- segments ---- */

static void segment_family(const struct page *page, const char *name, const char *help,
			   size_t offset)
{
	family(page, GAUGE, name, help);
	for (uint32_t i = 0; i < page->snapshot->segment_count; i++) {
		const struct live_segment *segment = &page->snapshot->segments[i];
		char labels[64];
		uint64_t value;

		memcpy(&value, (const char *)segment + offset, sizeof(value));
		snprintf(labels, sizeof(labels), "segment=\"%u\",kind=\"%s\"", i + 1,
			 segment->is_aperture ? "aperture" : "memory");
		number(page, name, labels, value);
	}
}

static void put_segments(const struct page *page)
{
	segment_family(page, "dxgk_segment_size_bytes", "Bytes that the segment can hold.",
		       offsetof(struct live_segment, size_bytes));
	segment_family(page, "dxgk_segment_resident_bytes",
		       "Bytes that are in it, page tables included.",
		       offsetof(struct live_segment, resident_bytes));
	segment_family(page, "dxgk_segment_committed_bytes", "Bytes that are promised in it.",
		       offsetof(struct live_segment, committed_bytes));
	segment_family(page, "dxgk_segment_largest_free_bytes",
		       "Bytes of its largest gap; 0 of one without addresses.",
		       offsetof(struct live_segment, largest_gap_bytes));
	segment_family(page, "dxgk_offered_bytes", "Bytes in it whose content may be discarded.",
		       offsetof(struct live_segment, offered_bytes));
}

/* ---- nodes ---- */

static void node_packets(const struct page *page, const char *name, const char *help, size_t offset)
{
	char sample[64];

	family(page, COUNTER, name, help);
	snprintf(sample, sizeof(sample), "%s_total", name);
	for (uint32_t i = 0; i < page->snapshot->node_count; i++) {
		const struct live_node *node = &page->snapshot->nodes[i];
		const struct live_packets *const kinds[] = { &node->client, &node->paging };

		for (int kind = 0; kind < 2; kind++) {
			char labels[64];
			uint64_t value;

			memcpy(&value, (const char *)kinds[kind] + offset, sizeof(value));
			snprintf(labels, sizeof(labels), "node=\"%u\",kind=\"%s\"", i,
				 kind == 0 ? "client" : "paging");
			number(page, sample, labels, value);
		}
	}
}

static void put_nodes(const struct page *page)
{
	family(page, COUNTER, "dxgk_node_busy_seconds",
	       "Time in which the node had something to do.");
	for (uint32_t i = 0; i < page->snapshot->node_count; i++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "node=\"%u\"", i);
		seconds(page, "dxgk_node_busy_seconds_total", labels,
			page->snapshot->nodes[i].busy_ns);
	}
	family(page, GAUGE, "dxgk_queue_packets",
	       "Packets that are queued for the node or run there.");
	for (uint32_t i = 0; i < page->snapshot->node_count; i++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "node=\"%u\"", i);
		number(page, "dxgk_queue_packets", labels, page->snapshot->nodes[i].queued);
	}
	node_packets(page, "dxgk_packets_submitted", "Packets the node was given.",
		     offsetof(struct live_packets, submitted));
	node_packets(page, "dxgk_packets_completed", "Packets it completed.",
		     offsetof(struct live_packets, completed));
	node_packets(page, "dxgk_packets_preempted",
		     "Packets that were preempted; each is submitted again.",
		     offsetof(struct live_packets, preempted));
	node_packets(page, "dxgk_packets_faulted",
		     "Packets that were aborted by a fault or a reset.",
		     offsetof(struct live_packets, faulted));
}

/* ---- the adapter ---- */

static void put_adapter(const struct page *page)
{
	const struct live_snapshot *snapshot = page->snapshot;

	family(page, INFO, "dxgk_build", "Which opendxgk this is.");
	number(page, "dxgk_build_info", "version=\"" DXGK_VERSION "\"", 1);
	family(page, COUNTER, "dxgk_paging_bytes",
	       "Bytes of allocations that were brought in, or left.");
	number(page, "dxgk_paging_bytes_total", "direction=\"in\"", snapshot->moved_in_bytes);
	number(page, "dxgk_paging_bytes_total", "direction=\"out\"", snapshot->moved_out_bytes);
	family(page, COUNTER, "dxgk_paging_moves",
	       "Times that an allocation was brought in, or left.");
	number(page, "dxgk_paging_moves_total", "direction=\"in\"", snapshot->moves_in);
	number(page, "dxgk_paging_moves_total", "direction=\"out\"", snapshot->moves_out);
	family(page, COUNTER, "dxgk_discarded_bytes", "Bytes that were given up without a copy.");
	number(page, "dxgk_discarded_bytes_total", "", snapshot->discarded_bytes);
	uint64_t discards = 0;

	for (uint32_t i = 0; i < snapshot->segment_count; i++)
		discards += snapshot->segments[i].discards;
	family(page, COUNTER, "dxgk_discards", "Times that content was given up without a copy.");
	number(page, "dxgk_discards_total", "", discards);
	family(page, COUNTER, "dxgk_evictions",
	       "Times that an allocation was told to leave, by reason.");
	for (uint32_t i = 0; i < snapshot->leaves_count; i++) {
		char labels[64];

		snprintf(labels, sizeof(labels), "reason=\"%s\"", snapshot->leaves[i].reason);
		number(page, "dxgk_evictions_total", labels, snapshot->leaves[i].times);
	}
	family(page, COUNTER, "dxgk_refusals", "Calls and answers that were refused, by rule.");
	for (uint32_t i = 0; i < snapshot->refusal_count; i++) {
		char labels[64];

		snprintf(labels, sizeof(labels), "rule=\"%s\"", snapshot->refusals[i].rule);
		number(page, "dxgk_refusals_total", labels, snapshot->refusals[i].times);
	}
	family(page, COUNTER, "dxgk_resets", "Recoveries, those that were forced included.");
	number(page, "dxgk_resets_total", "", snapshot->resets);
}

/* ---- processes ---- */

/* Up to the closing quote of the name. */
static void begin_process(const struct page *page, const char *name,
			  const struct live_process *process)
{
	fprintf(page->out, "%s{process=\"%u\",pid=\"%u\",name=\"", name, process->id, process->pid);
	put_label_text(page, process->name);
}

static void process_counter(const struct page *page, const char *name, const char *help,
			    size_t offset)
{
	char sample[64];

	family(page, COUNTER, name, help);
	snprintf(sample, sizeof(sample), "%s_total", name);
	for (uint32_t i = 0; i < page->snapshot->process_count && i < METRICS_PROCESSES_MAX; i++) {
		const struct live_process *process = &page->snapshot->processes[i];
		uint64_t value;

		memcpy(&value, (const char *)process + offset, sizeof(value));
		begin_process(page, sample, process);
		fprintf(page->out, "\"} %" PRIu64 "\n", value);
	}
}

static void process_family(const struct page *page, const char *name, const char *help,
			   size_t offset)
{
	static const char *const groups[] = { "local", "system" };

	family(page, GAUGE, name, help);
	for (uint32_t i = 0; i < page->snapshot->process_count && i < METRICS_PROCESSES_MAX; i++) {
		const struct live_process *process = &page->snapshot->processes[i];

		for (int group = 0; group < LIVE_GROUPS; group++) {
			uint64_t value;

			memcpy(&value,
			       (const char *)process + offset + (size_t)group * sizeof(value),
			       sizeof(value));
			begin_process(page, name, process);
			fprintf(page->out, "\",group=\"%s\"} %" PRIu64 "\n", groups[group], value);
		}
	}
}

static void put_processes(const struct page *page)
{
	family(page, GAUGE, "dxgk_processes", "Processes that the kernel knows.");
	number(page, "dxgk_processes", "", page->snapshot->process_count);
	if (!page->form->is_per_process)
		return;
	process_family(page, "dxgk_process_budget_bytes", "What the process is granted.",
		       offsetof(struct live_process, budget_bytes));
	process_family(page, "dxgk_process_used_bytes", "What it has resident.",
		       offsetof(struct live_process, usage_bytes));
	process_counter(page, "dxgk_process_paging_in_bytes", "Bytes that were copied in for it.",
			offsetof(struct live_process, moved_in_bytes));
	process_counter(page, "dxgk_process_paging_out_bytes", "Bytes of it that were copied out.",
			offsetof(struct live_process, moved_out_bytes));
	family(page, COUNTER, "dxgk_process_busy_seconds",
	       "Time in which nodes ran packets of the devices that it has, each node for itself.");
	for (uint32_t i = 0; i < page->snapshot->process_count && i < METRICS_PROCESSES_MAX; i++) {
		const struct live_process *process = &page->snapshot->processes[i];

		begin_process(page, "dxgk_process_busy_seconds_total", process);
		fprintf(page->out, "\"} %" PRIu64 ".%09" PRIu64 "\n", process->busy_ns / NS_PER_S,
			process->busy_ns % NS_PER_S);
	}
}

void metrics_print(const struct live_snapshot *snapshot, const struct metrics_form *form, FILE *out)
{
	struct page page = { snapshot, form, out };

	put_adapter(&page);
	put_segments(&page);
	put_nodes(&page);
	put_processes(&page);
	if (form->is_openmetrics)
		fputs("# EOF\n", out);
}
