/* SPDX-License-Identifier: MIT */
/*
 * submission.h - commands that a client wrote itself, at an address of its GPU space.
 */
#ifndef OBJECT_SUBMIT_SUBMISSION_H
#define OBJECT_SUBMIT_SUBMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "object/owner/context.h"

struct submission_request {
	uint64_t gpu_address;
	uint32_t size_bytes;
	bool is_null;             /* the driver only pretends */
	const void *private_data; /* for the driver, copied */
	uint32_t private_bytes;
};

enum { SUBMISSION_CONTEXTS_MAX = 64 }; /* that one call can name */

/* Queues it on every context of the list, all virtual ones of one device. All or none. */
MUST_CHECK NTSTATUS submission_queue(struct dxg_context *const *contexts, uint32_t context_count,
				     const struct submission_request *request);

#endif
