/* SPDX-License-Identifier: MIT */
/*
 * client_arena.h - addresses of a client that is in another process.
 *
 *	the client    | mapping A |··· nothing ···| mapping B |·····      one stretch, which it reserved
 *	                    │                          │
 *	files           pages of shown files (base/client_file.h), as the calls say (base/client_call.h)
 *
 * The kernel hands the addresses out and says what is to be seen there; the client maps it. What the
 * same thing is for several clients has a mapping in the arena of each, found by the arena, and keeps
 * it for as long as it lives. So an arena lives as long as somebody has a mapping in it, which may be
 * longer than its client.
 *
 * Locks: an arena's own guards which addresses are taken. Mappings are guarded by whoever has them.
 */
#ifndef RANGES_CLIENT_ARENA_H
#define RANGES_CLIENT_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/client_call.h"
#include "base/status.h"

struct client_arena;
struct range;

/* NULL: no memory, or there is no whole page in it. One reference; `put` accepts NULL. */
MUST_CHECK struct client_arena *client_arena_create(uint64_t address, uint64_t size_bytes);
/* Whose it is: a number that no other client has now. Before it is used. */
void client_arena_belong(struct client_arena *arena, uint64_t client);
/* Are they of one client, which has had another process object before? Addresses mean the same then. */
bool client_arena_is_of_same(const struct client_arena *arena, const struct client_arena *other);
/* A number that no other arena ever has. */
uint64_t client_arena_number(const struct client_arena *arena);
void client_arena_get(struct client_arena *arena);
void client_arena_put(struct client_arena *arena);

/* Where one thing is seen. */
struct client_mapping {
	struct client_mapping *next;
	struct client_arena *arena;
	struct range *range;
	uint64_t version; /* of what was noted last; 0: nothing was */
	uint64_t stamp;
	enum client_view_kind kind; /* shown so: whoever in the process asks next, it keeps that */
};

/* Where clients see one thing. Zeroed: nowhere. */
struct client_mappings {
	struct client_mapping *first;
};

/*
 * Its mapping in this arena, of `page_count` pages; made now if it has none. Not refused:
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY when no addresses are left, STATUS_NO_MEMORY.
 */
MUST_CHECK NTSTATUS client_mappings_find(struct client_mappings *mappings,
					 struct client_arena *arena, uint64_t page_count,
					 struct client_mapping **mapping_out);

/* Nothing is shown there any more. Accepts a zeroed one. */
void client_mappings_finish(struct client_mappings *mappings);

uint64_t client_mapping_address(const struct client_mapping *mapping);

/*
 * The call that is under way shows what was added to it (client_call_add_run()) there. `version` is
 * that of what is shown, not 0, and changes with it. STATUS_NO_MEMORY, not refused.
 */
MUST_CHECK NTSTATUS client_mapping_note(struct client_mapping *mapping, uint64_t version,
					enum client_view_kind kind);

/* Does any of it lie in the arena? */
bool client_arena_contains(const struct client_arena *arena, uint64_t address, uint64_t size_bytes);

/* Recounts it. NULL when it adds up, else what does not. */
const char *client_arena_validate(struct client_arena *arena);

#endif
