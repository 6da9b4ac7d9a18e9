/*
 * connection.h - the way to the kernel, opened on first use.
 */
#ifndef THUNK_CONNECTION_H
#define THUNK_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "wire/embed.h"

/* One call, by its number in calls.def, with the client's own struct. */
NTSTATUS connection_call(uint32_t id, void *arguments);

bool connection_last_refusal(struct dxgk_refusal *refusal);

/* Everything the process made is destroyed; the next call starts with nothing. */
void connection_close(void);

#endif
