/* SPDX-License-Identifier: MIT */
/*
 * workload.h - which allocations are used in which order: what a policy of eviction is judged by.
 *
 * Recorded by `dxgk trace`, or made up from a seed. docs/replay.md describes both.
 */
#ifndef REPLAY_WORKLOAD_H
#define REPLAY_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/status.h"

enum workload_event_kind { WORKLOAD_USE, WORKLOAD_DESTROY };

struct workload_event {
	uint32_t allocation;
	enum workload_event_kind kind;
};

struct workload {
	uint64_t *sizes; /* in bytes, of each allocation */
	uint32_t allocation_count;
	uint32_t allocation_capacity;
	struct workload_event *events;
	size_t event_count;
	size_t event_capacity;

	/* What a segment would have to hold, that nothing needs to leave. */
	uint64_t reference_bytes;
};

/* Accepts a zeroed struct. */
void workload_finish(struct workload *workload);

MUST_CHECK NTSTATUS workload_add_allocation(struct workload *workload, uint64_t size_bytes,
					    uint32_t *allocation_out);
MUST_CHECK NTSTATUS workload_add_event(struct workload *workload, enum workload_event_kind kind,
				       uint32_t allocation);

/* One that the generator knows, by its number; NULL behind the last. */
struct workload_kind {
	const char *name;
	const char *title;
};
const struct workload_kind *workload_kind_at(unsigned number);

/* STATUS_NOT_FOUND for an unknown name. The same seed makes the same workload. */
MUST_CHECK NTSTATUS workload_generate(const char *name, uint64_t seed,
				      struct workload *workload_out);

/*
 * From a trace file. STATUS_INVALID_PARAMETER with the line and what is wrong with it in `problem`;
 * STATUS_NOT_FOUND, with errno, when the file cannot be read. reference_bytes is the most that was
 * alive at once.
 */
MUST_CHECK NTSTATUS workload_read(const char *path, struct workload *workload_out, char *problem,
				  size_t problem_bytes);

/* As a trace file. False, with errno, when not all of it could be written. */
MUST_CHECK bool workload_write(const struct workload *workload, FILE *file);

#endif
