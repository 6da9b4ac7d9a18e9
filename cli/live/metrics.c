/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/tally.h"
#include "cli/live/metrics.h"

enum kind { GAUGE, COUNTER, INFO, HISTOGRAM };

struct page {
	const struct live_snapshot *snapshot;
	const struct metrics_form *form;
	FILE *out;
	char adapter[24]; /* the label: which one it is */
};

enum { LABELS_BYTES = 128 };

/* A family begins: its samples follow. In OpenMetrics the name of a counter is that without "_total". */
static void family(const struct page *page, enum kind kind, const char *name, const char *help)
{
	const char *type = kind == COUNTER                              ? "counter"
			   : kind == HISTOGRAM                          ? "histogram"
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

/* Of the adapter, with `more` labels or none. */
static void adapter_number(const struct page *page, const char *name, const char *more,
			   uint64_t value)
{
	char labels[LABELS_BYTES];

	snprintf(labels, sizeof(labels), "%s%s%s", page->adapter, *more ? "," : "", more);
	number(page, name, labels, value);
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
		adapter_number(page, name, labels, value);
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
			adapter_number(page, sample, labels, value);
		}
	}
}

static void put_nodes(const struct page *page)
{
	family(page, COUNTER, "dxgk_node_busy_seconds",
	       "Time in which the node had something to do.");
	for (uint32_t i = 0; i < page->snapshot->node_count; i++) {
		char labels[LABELS_BYTES];

		snprintf(labels, sizeof(labels), "%s,node=\"%u\"", page->adapter, i);
		seconds(page, "dxgk_node_busy_seconds_total", labels,
			page->snapshot->nodes[i].busy_ns);
	}
	family(page, GAUGE, "dxgk_queue_packets",
	       "Packets that are queued for the node or run there.");
	for (uint32_t i = 0; i < page->snapshot->node_count; i++) {
		char labels[32];

		snprintf(labels, sizeof(labels), "node=\"%u\"", i);
		adapter_number(page, "dxgk_queue_packets", labels, page->snapshot->nodes[i].queued);
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

/* The next line of that kind behind `*at`; false: there is none. */
static bool next_count(const char **at, const char *kind, uint32_t words, struct live_line *line)
{
	while (*at && **at) {
		const char *text = *at;
		const char *end = strchr(text, '\n');

		*at = end ? end + 1 : NULL;
		if (live_line_split(text, kind, words, line))
			return true;
	}
	return false;
}

/* How long something took: a sum, and how many up to each step; from word `first` of a line on. */
enum { SPREAD_WORDS = 1 + TALLY_STEPS + 1 };

static void put_spread(const struct page *page, const char *name, const char *labels,
		       const struct live_line *line, uint32_t first)
{
	uint64_t sum_ns = live_line_number(line, first);
	uint64_t times = 0;

	for (uint32_t i = 0; i <= TALLY_STEPS; i++) {
		times += live_line_number(line, first + 1 + i);
		fprintf(page->out, "%s_bucket{%s,le=\"", name, labels);
		if (i < TALLY_STEPS)
			fprintf(page->out, "%g\"} %" PRIu64 "\n",
				(double)tally_step_ns(i) / NS_PER_S, times);
		else
			fprintf(page->out, "+Inf\"} %" PRIu64 "\n", times);
	}
	fprintf(page->out, "%s_sum{%s} %" PRIu64 ".%09" PRIu64 "\n%s_count{%s} %" PRIu64 "\n", name,
		labels, sum_ns / NS_PER_S, sum_ns % NS_PER_S, name, labels, times);
}

static void put_resets(const struct page *page)
{
	const char *at = page->snapshot->details;
	struct live_line line;

	family(page, COUNTER, "dxgk_resets",
	       "Resets that the driver was asked for, by what was reset.");
	while (next_count(&at, "resets", 3, &line)) {
		char labels[64];

		snprintf(labels, sizeof(labels), "kind=\"%.32s\"", line.words[1]);
		adapter_number(page, "dxgk_resets_total", labels, live_line_number(&line, 2));
	}
}

static void put_paging_times(const struct page *page)
{
	const char *at = page->snapshot->details;
	struct live_line line;

	family(page, HISTOGRAM, "dxgk_paging_seconds",
	       "How long paging jobs took, from when they were queued until they were done.");
	if (next_count(&at, "paging", SPREAD_WORDS + 1, &line))
		put_spread(page, "dxgk_paging_seconds", page->adapter, &line, 1);
}

static void put_adapter(const struct page *page)
{
	const struct live_snapshot *snapshot = page->snapshot;

	family(page, INFO, "dxgk_build", "Which opendxgk this is.");
	number(page, "dxgk_build_info", "version=\"" DXGK_VERSION "\"", 1);
	family(page, COUNTER, "dxgk_paging_bytes",
	       "Bytes of allocations that were brought in, left, or were moved within their "
	       "segment.");
	adapter_number(page, "dxgk_paging_bytes_total", "direction=\"in\"",
		       snapshot->moved_in_bytes);
	adapter_number(page, "dxgk_paging_bytes_total", "direction=\"out\"",
		       snapshot->moved_out_bytes);
	adapter_number(page, "dxgk_paging_bytes_total", "direction=\"within\"",
		       snapshot->moved_within_bytes);
	family(page, COUNTER, "dxgk_paging_moves",
	       "Times that an allocation was brought in, left, or was moved within its segment.");
	adapter_number(page, "dxgk_paging_moves_total", "direction=\"in\"", snapshot->moves_in);
	adapter_number(page, "dxgk_paging_moves_total", "direction=\"out\"", snapshot->moves_out);
	adapter_number(page, "dxgk_paging_moves_total", "direction=\"within\"",
		       snapshot->moves_within);
	family(page, COUNTER, "dxgk_discarded_bytes", "Bytes that were given up without a copy.");
	adapter_number(page, "dxgk_discarded_bytes_total", "", snapshot->discarded_bytes);
	uint64_t discards = 0;

	for (uint32_t i = 0; i < snapshot->segment_count; i++)
		discards += snapshot->segments[i].discards;
	family(page, COUNTER, "dxgk_discards", "Times that content was given up without a copy.");
	adapter_number(page, "dxgk_discards_total", "", discards);
	family(page, COUNTER, "dxgk_evictions",
	       "Times that an allocation was told to leave, by reason.");
	for (uint32_t i = 0; i < snapshot->leaves_count; i++) {
		char labels[64];

		snprintf(labels, sizeof(labels), "reason=\"%s\"", snapshot->leaves[i].reason);
		adapter_number(page, "dxgk_evictions_total", labels, snapshot->leaves[i].times);
	}
	family(page, COUNTER, "dxgk_refusals", "Calls and answers that were refused, by rule.");
	for (uint32_t i = 0; i < snapshot->refusal_count; i++) {
		char labels[64];

		snprintf(labels, sizeof(labels), "rule=\"%s\"", snapshot->refusals[i].rule);
		number(page, "dxgk_refusals_total", labels, snapshot->refusals[i].times);
	}
	family(page, COUNTER, "dxgk_recoveries",
	       "Times that work hung or faulted, or a reset was asked for.");
	adapter_number(page, "dxgk_recoveries_total", "", snapshot->resets);
	put_resets(page);
	put_paging_times(page);
}

/* ---- what was counted ---- */

/* Of one name, by label where `label_name` says what that is. */
static void count_family(const struct page *page, const char *name, const char *help,
			 const char *label_name)
{
	const char *at = page->snapshot->counts;
	struct live_line line;
	char sample[64];
	bool has_any = false;

	snprintf(sample, sizeof(sample), "dxgk_%s", name);
	family(page, COUNTER, sample, help);
	snprintf(sample, sizeof(sample), "dxgk_%s_total", name);
	while (next_count(&at, "count", 4, &line)) {
		char labels[64] = "";

		if (strcmp(line.words[1], name) != 0)
			continue;
		if (label_name)
			snprintf(labels, sizeof(labels), "%s=\"%s\"", label_name, line.words[2]);
		number(page, sample, labels, live_line_number(&line, 3));
		has_any = true;
	}
	if (!has_any && !label_name)
		number(page, sample, "", 0);
}

enum { CALL_WORDS = 3 + SPREAD_WORDS };

static uint64_t calls_of(const struct live_line *line)
{
	uint64_t calls = 0;

	for (uint32_t i = 4; i < CALL_WORDS; i++)
		calls += live_line_number(line, i);
	return calls;
}

static void put_call_times(const struct page *page, const struct live_line *line)
{
	char labels[LABELS_BYTES];

	snprintf(labels, sizeof(labels), "call=\"%.100s\"", line->words[1]);
	put_spread(page, "dxgk_call_seconds", labels, line, 3);
}

static void put_calls(const struct page *page)
{
	const char *at = page->snapshot->counts;
	struct live_line line;

	family(page, COUNTER, "dxgk_calls", "Calls of a server's clients, by result.");
	while (next_count(&at, "call", CALL_WORDS, &line)) {
		char labels[128];

		for (int failed = 0; failed < 2; failed++) {
			snprintf(labels, sizeof(labels), "call=\"%s\",result=\"%s\"", line.words[1],
				 failed ? "failure" : "success");
			number(page, "dxgk_calls_total", labels,
			       failed ? live_line_number(&line, 2)
				      : calls_of(&line) - live_line_number(&line, 2));
		}
	}
	family(page, HISTOGRAM, "dxgk_call_seconds", "How long they took, inside of the kernel.");
	at = page->snapshot->counts;
	while (next_count(&at, "call", CALL_WORDS, &line))
		put_call_times(page, &line);
}

static void put_counts(const struct page *page)
{
	const char *at = page->snapshot->counts;
	struct live_line line;

	family(page, INFO, "dxgk_adapter", "Which adapter this is, its driver and its WDDM.");
	if (next_count(&at, "adapter", 4, &line)) {
		fprintf(page->out, "dxgk_adapter_info{adapter=\"%s\",wddm=\"%s\",driver=\"",
			line.words[1], line.words[2]);
		put_label_text(page, line.words[3]);
		fputs("\"} 1\n", page->out);
	}
	family(page, COUNTER, "dxgk_driver_reports",
	       "Times that the driver broke a rule, by rule.");
	at = page->snapshot->counts;
	while (next_count(&at, "report", 3, &line)) {
		char labels[64];

		snprintf(labels, sizeof(labels), "rule=\"%s\"", line.words[1]);
		number(page, "dxgk_driver_reports_total", labels, live_line_number(&line, 2));
	}
	count_family(page, "quota_refusals", "Times that something was above a quota.", "quota");
	count_family(page, "client_deaths",
		     "Processes that ended with devices of theirs still there.", NULL);
	count_family(page, "ring_sleeps",
		     "Times that the server slept until a client wrote to its ring.", NULL);
	count_family(page, "ring_wakes", "Times that it woke a client that slept.", NULL);
	put_calls(page);
}

/* ---- processes ---- */

/* Up to the closing quote of the name. */
static void begin_process(const struct page *page, const char *name,
			  const struct live_process *process)
{
	fprintf(page->out, "%s{%s,process=\"%u\",pid=\"%u\",name=\"", name, page->adapter,
		process->id, process->pid);
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
	uint32_t clients = 0;

	for (uint32_t i = 0; i < page->snapshot->process_count; i++)
		clients += page->snapshot->processes[i].handles > 0;
	family(page, GAUGE, "dxgk_processes", "Processes that the kernel knows.");
	number(page, "dxgk_processes", "", page->snapshot->process_count);
	family(page, GAUGE, "dxgk_clients",
	       "Those of them that have a handle: who only controls has none.");
	number(page, "dxgk_clients", "", clients);
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
	       "Time in which nodes had packets of its devices, each node and hardware queue for "
	       "itself.");
	for (uint32_t i = 0; i < page->snapshot->process_count && i < METRICS_PROCESSES_MAX; i++) {
		const struct live_process *process = &page->snapshot->processes[i];

		begin_process(page, "dxgk_process_busy_seconds_total", process);
		fprintf(page->out, "\"} %" PRIu64 ".%09" PRIu64 "\n", process->busy_ns / NS_PER_S,
			process->busy_ns % NS_PER_S);
	}
}

void metrics_print(const struct live_snapshot *snapshot, const struct metrics_form *form, FILE *out)
{
	struct page page = { snapshot, form, out, "adapter=\"1\"" };
	const char *at = snapshot->counts;
	struct live_line line;

	if (next_count(&at, "adapter", 4, &line))
		snprintf(page.adapter, sizeof(page.adapter), "adapter=\"%.10s\"", line.words[1]);
	put_adapter(&page);
	put_counts(&page);
	put_segments(&page);
	put_nodes(&page);
	put_processes(&page);
	if (form->is_openmetrics)
		fputs("# EOF\n", out);
}
