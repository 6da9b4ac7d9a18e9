/* SPDX-License-Identifier: MIT */
/*
 * sink.c - see sink.h. The format is described in "Trace Event Format" of the Chromium project.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "trace/sink.h"

static const char kind_phases[] = {
	[TRACE_KIND_INSTANT] = 'i',     [TRACE_KIND_BEGIN] = 'B',     [TRACE_KIND_END] = 'E',
	[TRACE_KIND_ASYNC_BEGIN] = 'b', [TRACE_KIND_ASYNC_END] = 'e', [TRACE_KIND_COUNTER] = 'C',
};

/* Length of the UTF-8 character that `text` starts with; 0 when it is not one. */
static size_t utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char first_low, first_high, second_low, second_high;
		size_t length;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	if (text[0] < 0x80)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (text[0] < forms[i].first_low || text[0] > forms[i].first_high)
			continue;
		if (text[1] < forms[i].second_low || text[1] > forms[i].second_high)
			return 0;
		for (size_t k = 2; k < forms[i].length; k++) {
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].length;
	}
	return 0;
}

/* Names come from strangers and may be cut in the middle of a character; the file stays valid. */
static void put_string(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)(text ? text : "");

	fputc('"', out);
	while (*at) {
		size_t length = utf8_length(at);
		if (length == 0) {
			fputs("\\ufffd", out);
			length = 1;
		} else if (*at == '"' || *at == '\\') {
			fprintf(out, "\\%c", *at);
		} else if (*at < 0x20) {
			fprintf(out, "\\u%04x", *at);
		} else {
			fwrite(at, 1, length, out);
		}
		at += length;
	}
	fputc('"', out);
}

static void put_value(FILE *out, const struct trace_entry *entry, uint32_t field)
{
	uint64_t value = entry->fields[field].number;

	switch (entry->info->fields[field].type) {
	case TRACE_FIELD_U32:
	case TRACE_FIELD_U64:
		fprintf(out, "%" PRIu64, value);
		break;
	case TRACE_FIELD_HEX:
	case TRACE_FIELD_HANDLE:
	case TRACE_FIELD_KEY:
	case TRACE_FIELD_ID:
		fprintf(out, "\"0x%" PRIx64 "\"", value);
		break;
	case TRACE_FIELD_STATUS:
		put_string(out, status_name((NTSTATUS)(uint32_t)value));
		break;
	case TRACE_FIELD_NAME:
	case TRACE_FIELD_LITERAL:
	case TRACE_FIELD_TEXT:
	case TRACE_FIELD_TYPE_COUNT:
		put_string(out, entry->fields[field].text);
		break;
	}
}

static void put_title(FILE *out, const struct trace_entry *entry)
{
	const struct trace_event_info *info = entry->info;
	const char *title = info->title;

	for (uint32_t i = 0; i < info->field_count; i++) {
		if (info->fields[i].type == TRACE_FIELD_NAME && *entry->fields[i].text)
			title = entry->fields[i].text;
	}
	fputs(",\"name\":", out);
	put_string(out, title);
}

/* "id":"0x1:0x40000080" from the keys, if there are any. */
static void put_id(FILE *out, const struct trace_entry *entry)
{
	const struct trace_event_info *info = entry->info;
	bool is_first = true;

	for (uint32_t i = 0; i < info->field_count; i++) {
		if (!trace_field_is_key(info->fields[i].type))
			continue;
		fprintf(out, "%s0x%" PRIx64, is_first ? ",\"id\":\"" : ":",
			entry->fields[i].number);
		is_first = false;
	}
	if (!is_first)
		fputc('"', out);
}

static void put_arguments(FILE *out, const struct trace_entry *entry)
{
	const struct trace_event_info *info = entry->info;
	bool is_first = true;

	for (uint32_t i = 0; i < info->field_count; i++) {
		enum trace_field_type type = info->fields[i].type;
		/* Every argument of a counter is a curve. */
		if (type == TRACE_FIELD_NAME ||
		    (trace_field_is_key(type) && info->kind == TRACE_KIND_COUNTER))
			continue;
		fputs(is_first ? ",\"args\":{" : ",", out);
		put_string(out, info->fields[i].name);
		fputc(':', out);
		put_value(out, entry, i);
		is_first = false;
	}
	if (!is_first)
		fputc('}', out);
}

static void put_process_name(FILE *out, uint32_t pid, const char *name)
{
	fprintf(out,
		"{\"ph\":\"M\",\"pid\":%" PRIu32
		",\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":",
		pid);
	put_string(out, name);
	fputs("}}", out);
}

static void begin(struct sink *sink, FILE *out, const char *process_name, uint32_t pid)
{
	*sink = (struct sink){ .out = out, .pid = pid };
	fputs("{\"traceEvents\":[\n", out);
	put_process_name(out, pid, process_name);
}

/* Viewers take the name of a thread from an event of their own. */
static void put_thread(FILE *out, uint32_t pid, uint32_t thread, const char *name)
{
	fprintf(out,
		",\n{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
		",\"name\":\"thread_name\",\"args\":{\"name\":",
		pid, thread);
	put_string(out, name);
	fputs("}}", out);
}

static void put_head(FILE *out, char phase, const char *category, uint32_t pid, uint32_t thread,
		     uint64_t time_ns)
{
	fprintf(out, ",\n{\"ph\":\"%c\",\"cat\":", phase);
	put_string(out, category);
	fprintf(out, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03" PRIu64, pid,
		thread, time_ns / NS_PER_US, time_ns % NS_PER_US);
}

/* ---- whose ---- */

static void meet_process(struct sink *sink, const struct trace_entry *entry)
{
	uint64_t id = entry->fields[0].number;
	uint32_t pid = (uint32_t)entry->fields[1].number;

	if (id >= SINK_PROCESSES || pid == 0)
		return;
	sink->pids[id] = pid;
	if (pid == sink->pid)
		return;
	fputs(",\n", sink->out);
	put_process_name(sink->out, pid, entry->fields[3].text);
}

/* Lives and curves are of the process that they name; everything else is of the thread that said it. */
static uint32_t pid_of(const struct sink *sink, const struct trace_entry *entry)
{
	const struct trace_event_info *info = entry->info;

	for (uint32_t i = 0; i < info->field_count && info->kind >= TRACE_KIND_ASYNC_BEGIN; i++) {
		uint64_t id = entry->fields[i].number;
		if (strcmp(info->fields[i].name, "process_id") == 0 && id < SINK_PROCESSES &&
		    sink->pids[id] != 0)
			return sink->pids[id];
	}
	return sink->pid;
}

/* ---- nodes ---- */

static const char node_category[] = "node";

/* No program has such a number. */
static uint32_t adapter_pid(uint32_t adapter)
{
	return UINT32_C(0x70000000) + adapter;
}

static uint64_t adapter_bit(uint32_t adapter)
{
	return adapter < 64 ? UINT64_C(1) << adapter : 0;
}

static void name_node(struct sink *sink, uint32_t adapter, uint32_t number, const char *name)
{
	char text[512];

	snprintf(text, sizeof(text), "node %" PRIu32 "%s%s", number, *name ? " " : "", name);
	put_thread(sink->out, adapter_pid(adapter), number + 1, text);
}

static void name_adapter(struct sink *sink, uint32_t adapter)
{
	char name[32];

	snprintf(name, sizeof(name), "adapter %" PRIu32, adapter);
	fputs(",\n", sink->out);
	put_process_name(sink->out, adapter_pid(adapter), name);
}

/* Who meets an adapter's nodes so does not number them later. Of numbers that are too high the last word counts. */
static void meet_node(struct sink *sink, const struct trace_entry *entry)
{
	uint32_t adapter = (uint32_t)entry->fields[0].number;
	char name[480];

	if (!(sink->named_adapters & adapter_bit(adapter)))
		name_adapter(sink, adapter);
	sink->named_adapters |= adapter_bit(adapter);
	snprintf(name, sizeof(name), "%.360s (%.100s)", entry->fields[3].text,
		 entry->fields[2].text);
	name_node(sink, adapter, (uint32_t)entry->fields[1].number, name);
}

/* Its row begins with the first packet that it is seen with. NULL: there are too many. */
static struct sink_node *node_of(struct sink *sink, const struct trace_entry *entry)
{
	uint32_t adapter = (uint32_t)entry->fields[0].number;
	uint32_t number = (uint32_t)entry->fields[1].number;
	bool is_new_adapter = true;

	for (uint32_t i = 0; i < sink->node_count; i++) {
		if (sink->nodes[i].adapter != adapter)
			continue;
		if (sink->nodes[i].node == number)
			return &sink->nodes[i];
		is_new_adapter = false;
	}
	if (sink->node_count == SINK_NODES)
		return NULL;
	if (!(sink->named_adapters & adapter_bit(adapter))) {
		if (is_new_adapter)
			name_adapter(sink, adapter);
		name_node(sink, adapter, number, "");
	}
	struct sink_node *node = &sink->nodes[sink->node_count++];
	node->adapter = adapter;
	node->node = number;
	return node;
}

/* Adapter, queue and ticket are one packet. */
static uint64_t flow_of(uint64_t adapter, uint64_t queue, uint64_t ticket)
{
	return adapter << 56 ^ queue << 32 ^ ticket;
}

static void put_flow(struct sink *sink, char phase, uint32_t pid, uint32_t thread, uint64_t time_ns,
		     uint64_t flow)
{
	put_head(sink->out, phase, node_category, pid, thread, time_ns);
	fprintf(sink->out, ",\"name\":\"packet's way\",\"id\":\"0x%" PRIx64 "\"%s}", flow,
		phase == 's' ? "" : ",\"bp\":\"e\"");
}

static void begin_packet(struct sink *sink, const struct sink_node *node, uint64_t time_ns)
{
	const struct sink_packet *packet = &node->packets[0];
	uint32_t pid = adapter_pid(node->adapter);

	put_head(sink->out, 'B', node_category, pid, node->node + 1, time_ns);
	fprintf(sink->out,
		",\"name\":\"queue %" PRIu32 "\",\"args\":{\"fence\":\"0x%" PRIx64 "\"}}",
		packet->queue, packet->fence);
	put_flow(sink, 't', pid, node->node + 1, time_ns, packet->flow);
}

/* A trace that begins late may be told twice. */
static bool has_packet(const struct sink_node *node, uint64_t fence)
{
	for (uint32_t i = 0; i < node->count; i++) {
		if (node->packets[i].fence == fence)
			return true;
	}
	return false;
}

static void submit_packet(struct sink *sink, const struct trace_entry *entry)
{
	struct sink_node *node = node_of(sink, entry);

	if (!node || node->count == SINK_PACKETS || has_packet(node, entry->fields[2].number))
		return;
	node->packets[node->count++] = (struct sink_packet){
		.fence = entry->fields[2].number,
		.flow = flow_of(entry->fields[0].number, entry->fields[3].number,
				entry->fields[5].number),
		.queue = (uint32_t)entry->fields[3].number,
	};
	if (node->count == 1)
		begin_packet(sink, node, entry->time_ns);
}

static void leave_packet(struct sink *sink, const struct trace_entry *entry)
{
	struct sink_node *node = node_of(sink, entry);
	uint32_t at = 0;

	while (node && at < node->count && node->packets[at].fence != entry->fields[2].number)
		at++;
	if (!node || at == node->count)
		return;
	memmove(&node->packets[at], &node->packets[at + 1],
		(node->count - at - 1) * sizeof(node->packets[0]));
	node->count--;
	if (at > 0)
		return;
	put_head(sink->out, 'E', node_category, adapter_pid(node->adapter), node->node + 1,
		 entry->time_ns);
	fputc('}', sink->out);
	if (node->count > 0)
		begin_packet(sink, node, entry->time_ns);
}

/* ---- events ---- */

static uint64_t flow_of_queued(const struct trace_entry *entry)
{
	return flow_of(entry->fields[0].number, entry->fields[1].number, entry->fields[2].number);
}

static struct sink_way *way_of(struct sink *sink, uint64_t flow)
{
	return &sink->ways[(flow * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (SINK_WAYS - 1)];
}

/* Where work is queued its way begins; it ends at the signal behind it. */
static void queue_packet(struct sink *sink, const struct trace_entry *entry)
{
	uint64_t flow = flow_of_queued(entry);
	bool is_work = strcmp(entry->fields[3].text, "work") == 0;

	if (is_work)
		put_flow(sink, 's', sink->pid, entry->thread, entry->time_ns, flow);
	if (is_work || strcmp(entry->fields[3].text, "signal") == 0)
		*way_of(sink, flow) = (struct sink_way){ flow, !is_work };
}

static void retire_packet(struct sink *sink, const struct trace_entry *entry)
{
	struct sink_way *way = way_of(sink, flow_of_queued(entry));
	uint64_t queue = entry->fields[0].number * 64 + entry->fields[1].number;
	uint64_t *last = &sink->last_work[queue % SINK_WAYS];

	if (way->flow != flow_of_queued(entry))
		return;
	if (!way->is_signal)
		put_flow(sink, 't', sink->pid, entry->thread, entry->time_ns, way->flow);
	else if (*last != 0)
		put_flow(sink, 'f', sink->pid, entry->thread, entry->time_ns, *last);
	*last = way->is_signal ? 0 : way->flow;
	way->flow = 0;
}

static void put_event(struct sink *sink, const struct trace_entry *entry)
{
	const struct trace_event_info *info = entry->info;
	FILE *out = sink->out;

	put_head(out, kind_phases[info->kind], info->category, pid_of(sink, entry), entry->thread,
		 entry->time_ns);
	if (info->kind == TRACE_KIND_INSTANT)
		fputs(",\"s\":\"t\"", out); /* as tall as its thread */
	/* An end closes the newest begin of its thread; by another name a viewer would not find it.
	 */
	if (info->kind != TRACE_KIND_END)
		put_title(out, entry);
	put_id(out, entry);
	put_arguments(out, entry);
	fputc('}', out);
}

void sink_event(struct sink *sink, const struct trace_entry *entry)
{
	if (entry->event == TRACE_thread)
		put_thread(sink->out, sink->pid, entry->thread, entry->fields[0].text);
	if (entry->event == TRACE_process_is)
		meet_process(sink, entry);
	if (entry->info->kind == TRACE_KIND_METADATA)
		return;
	put_event(sink, entry);
	if (entry->event == TRACE_node_is)
		meet_node(sink, entry);
	if (entry->event == TRACE_packet_queued)
		queue_packet(sink, entry);
	if (entry->event == TRACE_packet_submitted)
		submit_packet(sink, entry);
	if (entry->event == TRACE_packet_left)
		leave_packet(sink, entry);
	if (entry->event == TRACE_packet_retired)
		retire_packet(sink, entry);
}

/* What the hardware still has: every stretch ends. */
static void end_packets(struct sink *sink, uint64_t time_ns)
{
	for (uint32_t i = 0; i < sink->node_count; i++) {
		const struct sink_node *node = &sink->nodes[i];
		if (node->count == 0)
			continue;
		put_head(sink->out, 'E', node_category, adapter_pid(node->adapter), node->node + 1,
			 time_ns);
		fputc('}', sink->out);
	}
}

void sink_write(FILE *out, struct trace_reader *reader)
{
	const struct trace_facts *facts = trace_reader_facts(reader);
	struct trace_entry entry = { 0 };
	struct sink sink;

	begin(&sink, out, facts->program, facts->pid);
	while (trace_reader_next(reader, &entry))
		sink_event(&sink, &entry);
	end_packets(&sink, entry.time_ns);
	fputs("\n],\"displayTimeUnit\":\"ns\"}\n", out);
}
