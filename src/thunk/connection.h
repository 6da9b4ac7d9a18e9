/* SPDX-License-Identifier: MIT */
/*
 * connection.h - the way to the kernel, opened on first use.
 */
#ifndef THUNK_CONNECTION_H
#define THUNK_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "wire/embed.h"

/* Behind connection_call(): NULL before the first, and where there are none. */
extern _Atomic(const struct dxgk_ways *) connection_ways __attribute__((visibility("hidden")));
NTSTATUS connection_call_otherwise(uint32_t id, void *arguments);

/* One call, by its number in calls.def, with the client's own struct. */
static inline NTSTATUS connection_call(uint32_t id, void *arguments)
{
	const struct dxgk_ways *ways = atomic_load_explicit(&connection_ways, memory_order_acquire);

	return LIKELY(ways != NULL) ? ways->calls[id](ways->door, arguments, id)
				    : connection_call_otherwise(id, arguments);
}

bool connection_last_refusal(struct dxgk_refusal *refusal);

/* As dxgk_embed.listen and unlisten. */
NTSTATUS connection_listen(struct dxgk_embed_listener *listener, const uint64_t *luids,
			   uint32_t count);
void connection_unlisten(struct dxgk_embed_listener *listener);

/* Everything the process made is destroyed; the next call starts with nothing. */
void connection_close(void);

#endif
