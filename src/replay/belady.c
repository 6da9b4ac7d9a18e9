/* SPDX-License-Identifier: MIT */
/*
 * belady.c - the least that has to move when the future is known; see replay.h.
 *
 * At each use the missing bytes come in, and as many bytes leave of those allocations whose next
 * use is farthest: a part of one, if that is enough. For paging on demand nothing needs less.
 */
#include "base/mem.h"
#include "replay/replay.h"

static const size_t never = SIZE_MAX;

/* Somebody resident, and when it is used next; out of date when it was used since. */
struct wait {
	size_t next_use;
	uint32_t allocation;
};

struct belady {
	size_t *next_uses;        /* for each event: when its allocation is used after it */
	size_t *nexts;            /* for each allocation: its next use                    */
	uint64_t *resident_bytes; /* for each allocation */
	struct wait *heap;        /* the farthest next use on top */
	size_t heap_count;
	uint64_t used_bytes;
};

static NTSTATUS belady_init(struct belady *belady, const struct workload *workload)
{
	size_t events = workload->event_count + 1;
	size_t allocations = (size_t)workload->allocation_count + 1;

	*belady = (struct belady){
		.next_uses = mem_zalloc_array(events, sizeof(*belady->next_uses)),
		.nexts = mem_zalloc_array(allocations, sizeof(*belady->nexts)),
		.resident_bytes = mem_zalloc_array(allocations, sizeof(*belady->resident_bytes)),
		.heap = mem_zalloc_array(events, sizeof(*belady->heap)),
	};
	return belady->next_uses && belady->nexts && belady->resident_bytes && belady->heap
		       ? STATUS_SUCCESS
		       : STATUS_NO_MEMORY;
}

static void belady_finish(struct belady *belady)
{
	mem_free(belady->next_uses);
	mem_free(belady->nexts);
	mem_free(belady->resident_bytes);
	mem_free(belady->heap);
}

static void look_ahead(struct belady *belady, const struct workload *workload)
{
	for (uint32_t i = 0; i < workload->allocation_count; i++)
		belady->nexts[i] = never;
	for (size_t i = workload->event_count; i-- > 0;) {
		uint32_t allocation = workload->events[i].allocation;

		belady->next_uses[i] = belady->nexts[allocation];
		belady->nexts[allocation] = workload->events[i].kind == WORKLOAD_USE ? i : never;
	}
}

static void heap_push(struct belady *belady, struct wait wait)
{
	size_t at = belady->heap_count++;

	while (at > 0 && belady->heap[(at - 1) / 2].next_use < wait.next_use) {
		belady->heap[at] = belady->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	belady->heap[at] = wait;
}

static void heap_pop(struct belady *belady)
{
	struct wait last = belady->heap[--belady->heap_count];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= belady->heap_count)
			break;
		if (child + 1 < belady->heap_count &&
		    belady->heap[child + 1].next_use > belady->heap[child].next_use)
			child++;
		if (belady->heap[child].next_use <= last.next_use)
			break;
		belady->heap[at] = belady->heap[child];
		at = child;
	}
	belady->heap[at] = last;
}

/* The one that is used now is not in the heap: its place there is out of date. */
static void make_room(struct belady *belady, uint64_t excess_bytes)
{
	while (excess_bytes > 0) {
		struct wait top = belady->heap[0];
		uint64_t *resident_bytes = &belady->resident_bytes[top.allocation];

		if (belady->nexts[top.allocation] != top.next_use || *resident_bytes == 0) {
			heap_pop(belady);
			continue;
		}
		uint64_t bytes = *resident_bytes < excess_bytes ? *resident_bytes : excess_bytes;
		*resident_bytes -= bytes;
		belady->used_bytes -= bytes;
		excess_bytes -= bytes;
		if (*resident_bytes == 0)
			heap_pop(belady);
	}
}

static void use(struct belady *belady, uint32_t allocation, uint64_t size_bytes,
		uint64_t segment_bytes, size_t next_use, struct replay_result *result)
{
	uint64_t missing_bytes = size_bytes - belady->resident_bytes[allocation];

	result->uses++;
	result->misses += missing_bytes > 0;
	result->bytes_in += missing_bytes;
	belady->used_bytes += missing_bytes;
	belady->resident_bytes[allocation] = 0; /* nothing of it leaves now */
	if (belady->used_bytes > segment_bytes)
		make_room(belady, belady->used_bytes - segment_bytes);
	belady->resident_bytes[allocation] = size_bytes;
	belady->nexts[allocation] = next_use;
	heap_push(belady, (struct wait){ next_use, allocation });
}

static void run(struct belady *belady, const struct workload *workload, uint64_t segment_bytes,
		struct replay_result *result)
{
	look_ahead(belady, workload);
	for (size_t i = 0; i < workload->event_count; i++) {
		uint32_t allocation = workload->events[i].allocation;

		if (workload->sizes[allocation] > segment_bytes) {
			result->too_large += workload->events[i].kind == WORKLOAD_USE;
		} else if (workload->events[i].kind == WORKLOAD_USE) {
			use(belady, allocation, workload->sizes[allocation], segment_bytes,
			    belady->next_uses[i], result);
		} else {
			belady->used_bytes -= belady->resident_bytes[allocation];
			belady->resident_bytes[allocation] = 0;
		}
	}
}

NTSTATUS replay_belady(const struct workload *workload, uint64_t segment_bytes,
		       struct replay_result *result_out)
{
	struct replay_result result = { 0 };
	struct belady belady;
	NTSTATUS status = belady_init(&belady, workload);

	if (NT_SUCCESS(status)) {
		run(&belady, workload, segment_bytes, &result);
		*result_out = result;
	}
	belady_finish(&belady);
	return status;
}
