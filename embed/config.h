/* SPDX-License-Identifier: MIT */
/*
 * config.h - which adapters there are: the file that DXGK_PROFILE names, or the default.
 */
#ifndef EMBED_CONFIG_H
#define EMBED_CONFIG_H

#include <stddef.h>

#include "base/attributes.h"
#include "base/status.h"
#include "object/owner/kernel.h"

struct config {
	struct miniport_config *adapters;
	size_t adapter_count;
};

/* `path` NULL: the default adapter. A broken file is refused with file:line:column. */
MUST_CHECK NTSTATUS config_read(const char *path, struct config *config);

/* Accepts a zeroed struct. */
void config_finish(struct config *config);

#endif
