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

/* Behind connection_call(): NULL before the first. */
extern _Atomic(const struct dxgk_embed *) connection_kernel __attribute__((visibility("hidden")));
NTSTATUS connection_call_first(uint32_t id, void *arguments);

/* One call, by its number in calls.def, with the client's own struct. */
static inline NTSTATUS connection_call(uint32_t id, void *arguments)
{
	const struct dxgk_embed *kernel =
		atomic_load_explicit(&connection_kernel, memory_order_acquire);

	return LIKELY(kernel != NULL) ? kernel->call(id, arguments)
				      : connection_call_first(id, arguments);
}

bool connection_last_refusal(struct dxgk_refusal *refusal);

/* As dxgk_embed.listen and unlisten. */
NTSTATUS connection_listen(struct dxgk_embed_listener *listener, const uint64_t *luids,
			   uint32_t count);
void connection_unlisten(struct dxgk_embed_listener *listener);

/* Everything the process made is destroyed; the next call starts with nothing. */
void connection_close(void);

#endif
