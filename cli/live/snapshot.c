/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <dxg/d3dkmthk.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/control_text.h"
#include "cli/live/snapshot.h"

static bool ask(const struct control_client *client, D3DKMT_QUERYSTATISTICS_TYPE type,
		uint32_t selector, D3DKMT_QUERYSTATISTICS *query)
{
	struct control_reply reply;

	*query = (D3DKMT_QUERYSTATISTICS){ .Type = type };
	query->QuerySegment.SegmentId = selector;
	if (!control_ask(client, CONTROL_STATISTICS, 0, query, sizeof(*query), &reply))
		return false;
	if (!NT_SUCCESS(reply.status))
		control_print_refusal(client, NULL, &reply);
	return NT_SUCCESS(reply.status);
}

static bool take_adapter(const struct control_client *client, struct live_snapshot *snapshot)
{
	D3DKMT_QUERYSTATISTICS query;

	if (!ask(client, D3DKMT_QUERYSTATISTICS_ADAPTER, 0, &query))
		return false;

	const D3DKMT_QUERYSTATISTICS_ADAPTER_INFORMATION *adapter =
		&query.QueryResult.AdapterInformation;

	snapshot->segment_count =
		adapter->NbSegments < LIVE_SEGMENTS_MAX ? adapter->NbSegments : LIVE_SEGMENTS_MAX;
	snapshot->node_count =
		adapter->NodeCount < LIVE_NODES_MAX ? adapter->NodeCount : LIVE_NODES_MAX;
	snapshot->resets = adapter->TdrDetectedCount;
	snapshot->moves_in = adapter->PagingFault.Faults.Count;
	snapshot->moved_in_bytes = adapter->PagingFault.Faults.Bytes;
	snapshot->moves_out = adapter->PagingFault.Evictions.Count;
	snapshot->moved_out_bytes = adapter->PagingFault.Evictions.Bytes;
	snapshot->discarded_bytes = adapter->PagingTransfer.BytesDiscarded;
	return true;
}

static bool take_segment(const struct control_client *client, uint32_t index,
			 struct live_segment *segment)
{
	D3DKMT_QUERYSTATISTICS query;

	if (!ask(client, D3DKMT_QUERYSTATISTICS_SEGMENT, index, &query))
		return false;

	const D3DKMT_QUERYSTATISTICS_SEGMENT_INFORMATION *answer =
		&query.QueryResult.SegmentInformation;

	*segment = (struct live_segment){
		.is_aperture = answer->Aperture != 0,
		.size_bytes = answer->CommitLimit,
		.resident_bytes = answer->BytesResident,
		.committed_bytes = answer->BytesCommitted,
		.evicted_bytes = answer->Memory.TotalBytesEvicted,
		.resident_allocations = answer->Memory.AllocsResident,
	};
	return true;
}

static struct live_packets packets_of(
	const D3DKMT_QUERYSTATISTICS_DMA_PACKET_TYPE_INFORMATION *packets)
{
	return (struct live_packets){ packets->PacketSubmited, packets->PacketCompleted,
				      packets->PacketPreempted, packets->PacketFaulted };
}

static bool take_node(const struct control_client *client, uint32_t index, struct live_node *node)
{
	D3DKMT_QUERYSTATISTICS query;

	if (!ask(client, D3DKMT_QUERYSTATISTICS_NODE, index, &query))
		return false;

	const D3DKMT_QUERYSTATISTICS_PROCESS_NODE_INFORMATION *all =
		&query.QueryResult.NodeInformation.GlobalInformation;

	*node = (struct live_node){
		.busy_ns = (uint64_t)all->RunningTime.QuadPart * 100,
		.context_switches = all->ContextSwitch,
		.client = packets_of(&all->PacketStatistics.DmaPacket[D3DKMT_ClientRenderBuffer]),
		.paging = packets_of(&all->PacketStatistics.DmaPacket[D3DKMT_SystemPagingBuffer]),
	};
	return true;
}

/* ---- processes, which come as text ---- */

/* A number, and where it ends; 0 and the text itself when there is none. */
static uint64_t read_number(const char *text, const char **end_out)
{
	uint64_t number;

	if (text_read_number(text, &number, end_out))
		return number;
	*end_out = text;
	return 0;
}

/* The number behind "  word "; `of_out` is what stands behind " of ", else what it was. */
static uint64_t number_behind(const char *line, const char *word, uint64_t *of_out)
{
	char mark[32];
	const char *at;

	snprintf(mark, sizeof(mark), "  %s ", word);
	at = strstr(line, mark);
	if (!at)
		return 0;

	uint64_t number = read_number(at + strlen(mark), &at);

	if (of_out && strncmp(at, " of ", strlen(" of ")) == 0)
		*of_out = read_number(at + strlen(" of "), &at);
	return number;
}

/* Steps over `word` and the number behind it. */
static bool read_word(const char **at, const char *word, uint32_t *number_out)
{
	const char *digits = *at + strlen(word);

	if (strncmp(*at, word, strlen(word)) != 0)
		return false;
	*number_out = (uint32_t)read_number(digits, at);
	return *at != digits;
}

/* A line of `dxgk ctl processes`; false when it is none. */
static bool live_process_parse(const char *line, struct live_process *process)
{
	const char *name = line;

	*process = (struct live_process){ 0 };
	if (!read_word(&name, "process ", &process->id) ||
	    !read_word(&name, "  pid ", &process->pid) ||
	    !read_word(&name, "  user ", &process->user) || strncmp(name, "  ", 2) != 0)
		return false;
	name += 2;

	/* A program may call itself anything: the last of what looks like the end of a name is. */
	const char *class = NULL;

	for (const char *at = name - 2; (at = strstr(at, "  class ")); at++)
		class = at;
	if (!class)
		return false;

	size_t length = class > name ? (size_t)(class - name) : 0;
	uint64_t budget_kib = 0;

	snprintf(process->name, sizeof(process->name), "%.*s", (int)length, name);
	class += strlen("  class ");
	snprintf(process->class, sizeof(process->class), "%.*s", (int)strcspn(class, "\n"), class);
	char *end = strstr(process->class, "  ");

	if (end)
		*end = '\0';
	end = strstr(process->name, " (controller)");
	if (end)
		*end = '\0';
	process->handles = number_behind(class, "handles", NULL);
	process->system_bytes = number_behind(class, "memory", NULL) * 1024;
	for (int group = 0; group < LIVE_GROUPS; group++) {
		budget_kib = 0;
		process->usage_bytes[group] =
			number_behind(class, group == 0 ? "local" : "system", &budget_kib) * 1024;
		process->budget_bytes[group] = budget_kib * 1024;
	}
	return true;
}

static bool add_process(struct live_snapshot *snapshot, const struct live_process *process)
{
	struct live_process *larger =
		mem_realloc(snapshot->processes, (snapshot->process_count + 1) * sizeof(*larger));

	if (!larger)
		return false;
	snapshot->processes = larger;
	larger[snapshot->process_count++] = *process;
	return true;
}

/* The lines of one answer; the number of the last process, 0 when there was none, in `last`. */
static bool add_processes(struct live_snapshot *snapshot, char *text, uint32_t *last)
{
	char *rest = NULL;

	*last = 0;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct live_process process;

		if (!live_process_parse(line, &process))
			continue;
		*last = process.id;
		/* Who asks has a process of its own for it. */
		if (process.pid == (uint32_t)getpid() && process.handles == 0)
			continue;
		if (!add_process(snapshot, &process))
			return false;
	}
	return true;
}

static bool add_refusal(struct live_snapshot *snapshot, const struct live_refusal *refusal)
{
	struct live_refusal *larger =
		mem_realloc(snapshot->refusals, (snapshot->refusal_count + 1) * sizeof(*larger));

	if (!larger)
		return false;
	snapshot->refusals = larger;
	larger[snapshot->refusal_count++] = *refusal;
	snapshot->refused += refusal->times;
	return true;
}

static bool add_refusal_lines(struct live_snapshot *snapshot, char *text, uint32_t *last)
{
	char *rest = NULL;

	*last = 0;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct live_refusal refusal;
		uint32_t number;

		const char *rule = line;
		const char *end;

		if (!read_word(&rule, "", &number) || *rule++ != ' ')
			continue;
		snprintf(refusal.rule, sizeof(refusal.rule), "%.*s", (int)strcspn(rule, " "), rule);
		rule += strcspn(rule, " ");
		refusal.times = *rule ? read_number(rule + 1, &end) : 0;
		if (!add_refusal(snapshot, &refusal))
			return false;
		*last = number;
	}
	return true;
}

/* As many lines as an answer has room for, then those behind. */
static bool take_lines(const struct control_client *client, enum control_kind kind,
		       bool (*add)(struct live_snapshot *snapshot, char *text, uint32_t *last),
		       struct live_snapshot *snapshot)
{
	char text[CONTROL_MOST_BYTES];
	struct control_reply reply;
	uint32_t after = 0;

	do {
		memset(text, 0, sizeof(text));
		if (!control_ask(client, kind, after, text, sizeof(text), &reply))
			return false;
		text[sizeof(text) - 1] = '\0';
		if (!NT_SUCCESS(reply.status)) {
			control_print_refusal(client, NULL, &reply);
			return false;
		}
		if (!add(snapshot, text, &after)) {
			fprintf(stderr, "dxgk %s: no memory\n", client->command);
			return false;
		}
	} while (after != 0);
	return true;
}

/* ---- what the adapter and the processes do ---- */

static struct live_process *find_process(struct live_snapshot *snapshot, uint32_t id)
{
	for (uint32_t i = 0; i < snapshot->process_count; i++) {
		if (snapshot->processes[i].id == id)
			return &snapshot->processes[i];
	}
	return NULL;
}

bool live_line_split(const char *line, const char *kind, uint32_t count, struct live_line *split)
{
	char *at = split->text;
	uint32_t found = 0;

	snprintf(split->text, sizeof(split->text), "%.*s", (int)strcspn(line, "\n"), line);
	while (*at && found < count) {
		split->words[found++] = at;
		if (found == count)
			break;
		at += strcspn(at, " ");
		if (*at)
			*at++ = '\0';
	}
	return found == count && strcmp(split->words[0], kind) == 0;
}

uint64_t live_line_number(const struct live_line *line, uint32_t word)
{
	const char *end;

	return read_number(line->words[word], &end);
}

static void read_process_line(struct live_snapshot *snapshot, const char *text)
{
	struct live_line line;

	if (!live_line_split(text, "process", 9, &line))
		return;

	struct live_process *process = find_process(snapshot, (uint32_t)live_line_number(&line, 1));

	if (!process)
		return;
	process->moved_in_bytes = live_line_number(&line, 2);
	process->moved_out_bytes = live_line_number(&line, 3);
	process->busy_ns = live_line_number(&line, 4);
	process->queued = live_line_number(&line, 5);
	process->offered_bytes = live_line_number(&line, 6);
	process->resident_allocations = (uint32_t)live_line_number(&line, 7);
	snprintf(process->state, sizeof(process->state), "%s", line.words[8]);
}

static void read_adapter_line(struct live_snapshot *snapshot, const char *text)
{
	struct live_line line;

	if (live_line_split(text, "segment", 7, &line)) {
		uint64_t at = live_line_number(&line, 1);

		if (at < 1 || at > snapshot->segment_count)
			return;
		snapshot->segments[at - 1].largest_gap_bytes = live_line_number(&line, 2);
		snapshot->segments[at - 1].offered_bytes = live_line_number(&line, 3);
		snapshot->segments[at - 1].discards = live_line_number(&line, 4);
		snapshot->moves_within += live_line_number(&line, 5);
		snapshot->moved_within_bytes += live_line_number(&line, 6);
	} else if (live_line_split(text, "node", 4, &line)) {
		uint64_t at = live_line_number(&line, 1);

		if (at >= snapshot->node_count)
			return;
		snapshot->nodes[at].queued = live_line_number(&line, 2);
		snapshot->nodes[at].hw_queues = (uint32_t)live_line_number(&line, 3);
	} else if (live_line_split(text, "leaves", 3, &line) &&
		   snapshot->leaves_count < LIVE_LEAVES_MAX) {
		struct live_leaves *leaves = &snapshot->leaves[snapshot->leaves_count++];

		snprintf(leaves->reason, sizeof(leaves->reason), "%s", line.words[1]);
		leaves->times = live_line_number(&line, 2);
	}
}

static bool take_details(const struct control_client *client, uint32_t expanded,
			 struct live_snapshot *snapshot)
{
	snapshot->details = control_text_take(client, NULL, CONTROL_TEXT_DETAILS, expanded);
	if (!snapshot->details)
		return false;
	for (const char *line = snapshot->details; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		read_adapter_line(snapshot, line);
		read_process_line(snapshot, line);
	}
	return true;
}

bool live_snapshot_take(const struct control_client *client, uint32_t expanded,
			struct live_snapshot *snapshot)
{
	*snapshot = (struct live_snapshot){ .at_ns = clock_now_ns() };

	bool is_taken = take_adapter(client, snapshot);

	for (uint32_t i = 0; is_taken && i < snapshot->segment_count; i++)
		is_taken = take_segment(client, i, &snapshot->segments[i]);
	for (uint32_t i = 0; is_taken && i < snapshot->node_count; i++)
		is_taken = take_node(client, i, &snapshot->nodes[i]);
	if (is_taken && take_lines(client, CONTROL_PROCESSES, add_processes, snapshot) &&
	    take_lines(client, CONTROL_REFUSALS, add_refusal_lines, snapshot) &&
	    take_details(client, expanded, snapshot) &&
	    (snapshot->counts = control_text_take(client, NULL, CONTROL_TEXT_COUNTS, 0)))
		return true;
	live_snapshot_finish(snapshot);
	return false;
}

void live_snapshot_finish(struct live_snapshot *snapshot)
{
	mem_free(snapshot->processes);
	mem_free(snapshot->refusals);
	mem_free(snapshot->details);
	mem_free(snapshot->counts);
	*snapshot = (struct live_snapshot){ 0 };
}
