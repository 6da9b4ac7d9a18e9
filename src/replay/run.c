/* SPDX-License-Identifier: MIT */
/*
 * run.c - a workload through a policy; see replay.h.
 */
#include "base/mem.h"
#include "replay/replay.h"

enum { PRIORITY_NORMAL = 0x78000000 };

struct run {
	struct evict_set set;
	struct evict_entry *entries; /* one for each allocation */
	uint64_t segment_bytes;
	uint64_t used_bytes;
	const struct replay_witness *witness;
};

static void leave(struct run *run, struct evict_entry *entry)
{
	evict_remove(&run->set, entry);
	run->used_bytes -= entry->size_bytes;
}

static void evict(struct run *run, struct evict_entry *entry, uint64_t now)
{
	const struct evict_policy *policy = run->set.policy;
	struct evict_belief belief = { .kind = "by order" };

	if (run->witness) {
		if (policy->believe)
			belief = policy->believe(entry->band->state, entry, now);
		run->witness->leaves(run->witness->context, (uint32_t)(entry - run->entries),
				     &belief, now);
	}
	leave(run, entry);
}

static void make_room(struct run *run, uint64_t size_bytes, uint64_t now)
{
	struct evict_walk walk;

	if (run->segment_bytes - run->used_bytes >= size_bytes)
		return;
	evict_walk_begin(&walk, now);
	while (run->segment_bytes - run->used_bytes < size_bytes)
		evict(run, evict_walk_next(&run->set, &walk, NULL, NULL), now);
}

static void use(struct run *run, struct evict_entry *entry, uint64_t now,
		struct replay_result *result)
{
	if (entry->size_bytes > run->segment_bytes) {
		result->too_large++;
		return;
	}
	result->uses++;
	evict_use(&run->set, entry, now);
	if (entry->is_resident)
		return;
	if (run->witness)
		run->witness->returns(run->witness->context, (uint32_t)(entry - run->entries), now);
	make_room(run, entry->size_bytes, now);
	evict_insert(&run->set, entry);
	run->used_bytes += entry->size_bytes;
	result->misses++;
	result->bytes_in += entry->size_bytes;
}

static void destroy(struct run *run, struct evict_entry *entry)
{
	if (entry->is_resident)
		leave(run, entry);
	evict_forget(entry);
}

NTSTATUS replay_run(const struct workload *workload, const struct evict_policy *policy,
		    uint64_t segment_bytes, const struct replay_witness *witness,
		    struct replay_result *result_out)
{
	struct run run = { .segment_bytes = segment_bytes, .witness = witness };
	struct replay_result result = { 0 };

	run.entries =
		mem_zalloc_array((size_t)workload->allocation_count + 1, sizeof(*run.entries));
	if (!run.entries)
		return STATUS_NO_MEMORY;
	NTSTATUS status = evict_set_init(&run.set, policy);
	if (!NT_SUCCESS(status))
		goto free_entries;
	for (uint32_t i = 0; i < workload->allocation_count; i++) {
		run.entries[i].size_bytes = workload->sizes[i];
		run.entries[i].priority = PRIORITY_NORMAL;
		run.entries[i].class = EVICT_NEEDED;
	}
	for (size_t i = 0; i < workload->event_count; i++) {
		struct evict_entry *entry = &run.entries[workload->events[i].allocation];

		if (workload->events[i].kind == WORKLOAD_USE)
			use(&run, entry, i + 1, &result);
		else
			destroy(&run, entry);
	}
	for (uint32_t i = 0; i < workload->allocation_count; i++)
		destroy(&run, &run.entries[i]);
	evict_set_finish(&run.set);
	*result_out = result;
free_entries:
	mem_free(run.entries);
	return status;
}
