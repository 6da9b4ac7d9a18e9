/* SPDX-License-Identifier: MIT */
/*
 * embed.h - what the other files of libdxgk.so ask of the embedded kernel.
 */
#ifndef EMBED_EMBED_H
#define EMBED_EMBED_H

#include <stdbool.h>
#include <stddef.h>

#include <stdint.h>

#include "base/attributes.h"

/* kernel_validate() while no call is under way. True as well when no kernel is running. */
MUST_CHECK bool embed_validate(char *wrong, size_t wrong_size);

/* guest_create(). NULL: the kernel does not run, or has no memory. */
struct process_arena;
struct process_identity;
struct guest *embed_create_guest(const struct process_identity *identity,
				 const struct process_arena *arena);

/* For tests: the dxg_kernel and the dxg_process, or NULL. */
void embed_look_inside(void **kernel_out, void **process_out);

/* adapter_remove(). False when there is no such adapter. */
MUST_CHECK bool embed_remove_adapter(uint64_t luid, bool is_surprise);

/* Does that to the adapter; `name` is the call's, in a refusal. */
struct dxg_adapter;
MUST_CHECK NTSTATUS embed_control_adapter(uint64_t luid, const char *name,
					  NTSTATUS (*control)(struct dxg_adapter *adapter));

#endif
