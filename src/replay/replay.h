/* SPDX-License-Identifier: MIT */
/*
 * replay.h - a workload through a policy of eviction alone: how many bytes have to move?
 *
 * Every use needs the whole allocation in the segment. What is not there is brought in, which is
 * counted; for that others leave, whole, in the order the policy gives. Bytes that are already
 * there at the first use are counted as well: somebody has to fill them.
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "replay/workload.h"
#include "evict/evict.h"

struct replay_result {
	uint64_t bytes_in;
	uint64_t uses;
	uint64_t misses;
	uint64_t too_large; /* uses of what is larger than the segment; counted nowhere else */
};

/* Who is told of everyone that leaves to make room, before it does. */
struct replay_witness {
	void (*leaves)(void *context, uint32_t allocation, const struct evict_belief *belief,
		       uint64_t now);
	void (*returns)(void *context, uint32_t allocation, uint64_t now);
	void *context;
};

/* `witness` NULL: nobody. */
MUST_CHECK NTSTATUS replay_run(const struct workload *workload, const struct evict_policy *policy,
			       uint64_t segment_bytes, const struct replay_witness *witness,
			       struct replay_result *result_out);

/*
 * The least that any policy can do: it knows the future, and pages of what is used last leave one
 * by one.
 */
MUST_CHECK NTSTATUS replay_belady(const struct workload *workload, uint64_t segment_bytes,
				  struct replay_result *result_out);

#endif
