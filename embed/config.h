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
	struct quota_limits process_limits; /* base/quota.h; what is 0 was not said */
	struct quota_limits user_limits;
};

/* `path` NULL: the default adapter. A broken file is refused with file:line:column. */
MUST_CHECK NTSTATUS config_read(const char *path, struct config *config);

/* Accepts a zeroed struct. */
void config_finish(struct config *config);

/*
 * Reads the profile, NULL or "" is none, and starts the kernel with it. Where it is for strangers, what the
 * profile does not limit has limits, too.
 */
MUST_CHECK NTSTATUS config_start(struct dxg_kernel *kernel, const char *profile,
				 bool is_for_strangers);

#endif
