/* SPDX-License-Identifier: MIT */
/*
 * control_text.c - see control_text.h. Locks: the kernel's guards which text there is; others for what they guard while it
 * is written down.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "base/tally.h"
#include "miniport/miniport.h"
#include "object/owner/control_text.h"
#include "object/owner/device.h"
#include "paging/pager.h"
#include "sched/sched.h"
#include "vidmm/map.h"

/* Allocations of one process that are told, the largest first. */
enum { LARGEST = 32, LINE_BYTES = 256 };

struct control_text {
	uint64_t ticket;
	char *bytes;
	size_t used;
	size_t capacity;
	bool is_cut; /* for want of memory */
};

/* ---- one that is being made ---- */

PRINTF_LIKE(2, 3)
static void add(struct control_text *text, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (length < 0 || text->is_cut)
		return;
	size_t bytes = (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1;
	if (text->used + bytes > text->capacity) {
		size_t capacity = text->capacity * 2 + LINE_BYTES;
		char *larger = mem_realloc(text->bytes, capacity);

		text->is_cut = !larger;
		if (!larger)
			return;
		text->bytes = larger;
		text->capacity = capacity;
	}
	memcpy(text->bytes + text->used, line, bytes);
	text->used += bytes;
}

static void text_free(struct control_text *text)
{
	if (!text)
		return;
	mem_free(text->bytes);
	mem_free(text);
}

/* It is the kernel's from now on, whatever comes of it. */
static NTSTATUS publish(struct dxg_kernel *kernel, struct control_text *text, uint64_t *ticket_out)
{
	if (text->is_cut) {
		text_free(text);
		return refuse_no_memory("no memory for the text");
	}
	lock_acquire(&kernel->lock);
	struct control_text *old = kernel->text;
	kernel->text = text;
	*ticket_out = text->ticket = ++kernel->last_text;
	lock_release(&kernel->lock);
	text_free(old);
	return STATUS_SUCCESS;
}

NTSTATUS control_text_read(struct dxg_kernel *kernel, uint64_t ticket, uint64_t offset, char *part,
			   size_t part_bytes, uint64_t *size_out)
{
	struct control_text *over = NULL;
	bool is_there;

	lock_acquire(&kernel->lock);
	const struct control_text *text = kernel->text;
	is_there = text && text->ticket == ticket && offset <= text->used;
	if (is_there) {
		size_t left = text->used - (size_t)offset;
		size_t bytes = left < part_bytes ? left : part_bytes;

		memcpy(part, text->bytes ? text->bytes + offset : "", bytes);
		*size_out = text->used;
		if (bytes == left) {
			over = kernel->text;
			kernel->text = NULL;
		}
	}
	lock_release(&kernel->lock);
	text_free(over);
	return is_there ? STATUS_SUCCESS
			: invalid(RULE_API_VALUE, "ticket",
				  "is of a text that is gone: another one was made since");
}

void control_text_forget(struct dxg_kernel *kernel)
{
	text_free(kernel->text);
	kernel->text = NULL;
}

/* ---- a segment ---- */

NTSTATUS control_text_map(struct dxg_kernel *kernel, struct dxg_adapter *adapter, uint32_t segment,
			  uint64_t *ticket_out)
{
	struct control_text *text = mem_zalloc(sizeof(*text));
	struct vidmm_map map = { 0 };

	if (!text)
		return refuse_no_memory("no memory for the text");
	NTSTATUS status = adapter_enter(adapter);
	if (NT_SUCCESS(status)) {
		status = vidmm_map_take(adapter->memory, segment, &map);
		adapter_leave(adapter);
	}
	if (!NT_SUCCESS(status)) {
		text_free(text);
		return status;
	}
	add(text, "segment %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", map.size_bytes,
	    map.resident_bytes, map.largest_gap_bytes, map.is_aperture ? "aperture" : "memory");
	for (uint32_t i = 0; i < map.count; i++) {
		const struct vidmm_map_entry *entry = &map.entries[i];

		add(text, "0x%" PRIx64 " %" PRIu64 " %u 0x%" PRIx64 " %s\n", entry->offset_bytes,
		    entry->size_bytes, entry->process_id, entry->allocation_id, entry->state);
	}
	vidmm_map_finish(&map);
	return publish(kernel, text, ticket_out);
}

/* ---- what it does ---- */

enum { NODES_MOST = 64 };

struct queues {
	struct control_text *text; /* NULL: they are counted only */
	uint32_t process_id;
	uint64_t queued;
	uint64_t by_node[NODES_MOST];
	uint32_t hw_by_node[NODES_MOST]; /* hardware queues */
};

static void look_at_queue(void *context, const struct sched_queue_facts *facts)
{
	struct queues *queues = context;

	if (facts->node < NODES_MOST) {
		queues->by_node[facts->node] += facts->length;
		queues->hw_by_node[facts->node] += facts->is_hw;
	}
	if (facts->process_id != queues->process_id)
		return;
	queues->queued += facts->length;
	if (queues->text)
		add(queues->text, "queue %u 0x%08x %u %u %s\n", facts->process_id, facts->handle,
		    facts->node, facts->length, facts->kind);
}

static const char *const reset_names[SCHED_RESETS] = { [SCHED_RESET_ENGINE] = "engine",
						       [SCHED_RESET_HW_QUEUES] = "hw-queues",
						       [SCHED_RESET_ADAPTER] = "adapter" };

/* The rest of a line: nanoseconds in all, and how many took how long. */
static void add_spread(struct control_text *text, const struct tally_spread *spread)
{
	add(text, " %" PRIu64, atomic_load(&spread->sum_ns));
	for (uint32_t i = 0; i <= TALLY_STEPS; i++)
		add(text, " %" PRIu64, atomic_load(&spread->counts[i]));
	add(text, "\n");
}

static void add_adapter(struct control_text *text, struct dxg_adapter *adapter, struct sched *sched)
{
	struct vidmm_leave_count leaves[VIDMM_LEAVE_REASONS];
	struct vidmm_segment_usage usage;
	struct queues queues = { .process_id = UINT32_MAX };

	for (uint32_t id = 1; vidmm_segment_usage(adapter->memory, id, &usage); id++)
		add(text,
		    "segment %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", id,
		    usage.largest_gap_bytes, usage.offered_bytes, usage.traffic.discarded.count,
		    usage.traffic.shifted.count, usage.traffic.shifted.bytes);
	sched_for_each_queue(sched, look_at_queue, &queues);
	for (uint32_t i = 0; i < adapter->info->node_count && i < NODES_MOST; i++)
		add(text, "node %u %" PRIu64 " %u\n", i, queues.by_node[i], queues.hw_by_node[i]);
	vidmm_leave_counts(adapter->memory, leaves);
	for (int i = 0; i < VIDMM_LEAVE_REASONS; i++)
		add(text, "leaves %s %" PRIu64 "\n", leaves[i].reason, leaves[i].times);
	for (int i = 0; i < SCHED_RESETS; i++)
		add(text, "resets %s %" PRIu64 "\n", reset_names[i],
		    sched_reset_count(sched, (enum sched_reset)i));
	const struct pager *pager = atomic_load(&adapter->pager);
	if (!pager)
		return;
	add(text, "paging");
	add_spread(text, pager_times(pager));
}

static const char *state_of_locked(const struct dxg_process *process,
				   const struct dxg_adapter *adapter, bool is_suspended)
{
	bool is_lost = false;

	lock_assert_held(&process->lock);
	list_each (const struct dxg_device, device, &process->devices, process_link)
		is_lost |= device->adapter == adapter && device_state(device) != DEVICE_ACTIVE;
	return is_lost ? "lost" : is_suspended ? "suspended" : "active";
}

static void add_process(struct control_text *text, struct dxg_process *process,
			struct process_adapter *process_adapter, struct sched *sched,
			bool is_expanded)
{
	const struct dxg_adapter *adapter = process_adapter->adapter;
	const struct vidmm_process_facts facts = vidmm_process_facts(&process_adapter->memory);
	struct queues queues = { .process_id = process->id };

	sched_for_each_queue(sched, look_at_queue, &queues);
	lock_acquire(&process->lock);
	add(text, "process %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %s\n",
	    process->id, facts.moved_in_bytes, facts.moved_out_bytes,
	    sched_process_busy_ns(sched, &process_adapter->work), queues.queued,
	    facts.offered_bytes, facts.resident_count,
	    state_of_locked(process, adapter, facts.is_suspended));
	if (is_expanded) {
		list_each (const struct dxg_device, device, &process->devices, process_link) {
			if (device->adapter == adapter)
				add(text, "device %u 0x%08x %s\n", process->id,
				    device->object.handle,
				    device_state(device) == DEVICE_ACTIVE ? "active" : "lost");
		}
	}
	lock_release(&process->lock);
	if (!is_expanded)
		return;
	queues.text = text;
	sched_for_each_queue(sched, look_at_queue, &queues);
}

static void add_allocations(struct control_text *text, struct dxg_adapter *adapter,
			    uint32_t process_id)
{
	struct vidmm_large_one largest[LARGEST];
	uint32_t count = vidmm_largest_of(adapter->memory, process_id, LARGEST, largest);

	for (uint32_t i = 0; i < count; i++)
		add(text, "allocation %u 0x%" PRIx64 " %" PRIu64 " %u %s\n", process_id,
		    largest[i].allocation_id, largest[i].size_bytes, largest[i].segment,
		    largest[i].state);
}

/* Nobody leaves the list meanwhile. */
static void add_processes(struct control_text *text, struct dxg_kernel *kernel,
			  const struct dxg_adapter *adapter, struct sched *sched,
			  uint32_t process_id)
{
	lock_acquire(&kernel->lock);
	list_each (struct dxg_process, process, &kernel->processes, kernel_link) {
		struct process_adapter *process_adapter = NULL;

		while ((process_adapter = process_next_adapter(process, process_adapter))) {
			if (process_adapter->adapter == adapter)
				add_process(text, process, process_adapter, sched,
					    process->id == process_id);
		}
	}
	lock_release(&kernel->lock);
}

NTSTATUS control_text_details(struct dxg_kernel *kernel, struct dxg_adapter *adapter,
			      uint32_t process_id, uint64_t *ticket_out)
{
	struct control_text *text = mem_zalloc(sizeof(*text));

	if (!text)
		return refuse_no_memory("no memory for the text");
	NTSTATUS status = adapter_enter(adapter);
	if (!NT_SUCCESS(status)) {
		text_free(text);
		return status;
	}
	struct sched *sched = atomic_load(&adapter->sched);
	add_adapter(text, adapter, sched);
	add_processes(text, kernel, adapter, sched, process_id);
	if (process_id != 0)
		add_allocations(text, adapter, process_id);
	adapter_leave(adapter);
	return publish(kernel, text, ticket_out);
}

/* ---- what was counted ---- */

static void add_tally(void *context, const struct tally *tally)
{
	add(context, "count %s %s %" PRIu64 "\n", tally->name, *tally->label ? tally->label : "-",
	    atomic_load(&tally->times));
}

static void add_times(void *context, const struct tally_times *times)
{
	struct tally_stripe sum;

	tally_sum(times, &sum);
	add(context, "call %s %" PRIu64, times->name, atomic_load(&sum.failed));
	add_spread(context, &sum.took);
}

NTSTATUS control_text_counts(struct dxg_kernel *kernel, struct dxg_adapter *adapter,
			     uint64_t *ticket_out)
{
	struct control_text *text = mem_zalloc(sizeof(*text));

	if (!text)
		return refuse_no_memory("no memory for the text");
	const char *file = strrchr(adapter->info->driver_path, '/');
	add(text, "adapter %u %u.%u %.128s\n", adapter->id, adapter->info->wddm_version / 1000,
	    adapter->info->wddm_version / 100 % 10, file ? file + 1 : adapter->info->driver_path);
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		uint64_t times = miniport_report_count((enum rule)rule);

		if (times > 0)
			add(text, "report %s %" PRIu64 "\n", rule_id((enum rule)rule), times);
	}
	tally_each(add_tally, text);
	tally_each_time(add_times, text);
	return publish(kernel, text, ticket_out);
}
