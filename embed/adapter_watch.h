/* SPDX-License-Identifier: MIT */
/*
 * adapter_watch.h - what DXCore hears of adapters, whichever process it is in.
 */
#ifndef EMBED_ADAPTER_WATCH_H
#define EMBED_ADAPTER_WATCH_H

#include "base/attributes.h"
#include "object/owner/kernel.h"
#include "object/owner/notification.h"

/* `news` is an enum dxgk_embed_news; its kind of notification is filled in here. */
MUST_CHECK NTSTATUS adapter_watch(struct dxg_kernel *kernel, struct dxg_process *process,
				  uint32_t news, const uint64_t *luids, uint32_t count,
				  const struct notification_target *target);

#endif
