/* SPDX-License-Identifier: MIT */
/*
 * brought.h - memory that a client has and brings. In this process it is used where it is; of one in another
 * process, what came along with its call (client_call.h) is mapped here, as a section is, and clients see
 * it through the file that it is in.
 */
#ifndef OBJECT_MEMORY_BROUGHT_H
#define OBJECT_MEMORY_BROUGHT_H

#include "object/memory/allocation.h"

/*
 * At least `size_bytes` of it; the driver says later how much it is, so it is all that came along from
 * there on. From then on the body has a section, and the item no memory of its own. Refused.
 */
MUST_CHECK NTSTATUS brought_map(struct client_arena *arena, struct allocation_body *body,
				struct allocation_item *item, uint64_t size_bytes,
				bool is_read_only, uint32_t index);

/* The file of its section is the allocation's, whose memory is known. Refused. */
MUST_CHECK NTSTATUS brought_keep_file(struct allocation_body *body, struct client_arena *arena,
				      bool is_read_only);

/*
 * What a lock handed out may move to the GPU: it cannot be the memory of another allocation. What
 * cannot be read or written now cannot be lent to a GPU either; the status is the one for which
 * clients make a copy instead.
 */
MUST_CHECK NTSTATUS brought_check_here(void *memory, uint64_t size_bytes, bool is_read_only,
				       uint32_t index);

#endif
