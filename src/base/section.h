/* SPDX-License-Identifier: MIT */
/*
 * section.h - memory behind a descriptor, mapped here.
 *
 * What Windows calls a section is a memfd, or any file that can be mapped. It must be sealed
 * against shrinking: a section keeps its size, and nobody here is prepared for pages that go away.
 */
#ifndef BASE_SECTION_H
#define BASE_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct quota_ledger;
struct client_file;

struct section {
	void *pointer;
	uint64_t size_bytes;
	struct quota_ledger *ledger; /* whose mapping it is, with a reference, or NULL */

	/* For clients in other processes, when the call is one's (client_call.h). */
	struct client_file *file; /* NULL: it is not, or somebody else has taken it */
	uint64_t first_page;
	uint64_t client_address; /* where the client has it already; 0: nowhere */
};

/*
 * The first `size_bytes` (whole pages) of what `handle` (any pointer-sized number) names. The
 * client may close its descriptor afterwards. `argument` names it in a refusal. The mapping counts for
 * the ledger.
 */
MUST_CHECK NTSTATUS section_map(struct quota_ledger *ledger, uintptr_t handle, uint64_t size_bytes,
				bool is_read_only, const char *argument,
				struct section **section_out);

/* The same of a part of it, whole pages. */
MUST_CHECK NTSTATUS section_map_part(struct quota_ledger *ledger, uintptr_t handle, uint64_t offset,
				     uint64_t size_bytes, bool is_read_only, const char *argument,
				     struct section **section_out);

/* Accepts NULL. */
void section_unmap(struct section *section);

#endif
