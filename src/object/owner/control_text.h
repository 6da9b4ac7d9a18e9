/* SPDX-License-Identifier: MIT */
/*
 * control_text.h - long texts about a kernel at work, which a controller reads in parts.
 *
 * A text is made at one moment and kept until its last part is read, or until somebody has another one made: there is one
 * at a time.
 */
#ifndef OBJECT_OWNER_CONTROL_TEXT_H
#define OBJECT_OWNER_CONTROL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "object/owner/kernel.h"

/* Has a text made. Refused: there is no such thing, or no memory. */
MUST_CHECK NTSTATUS control_text_map(struct dxg_kernel *kernel, struct dxg_adapter *adapter,
				     uint32_t segment, uint64_t *ticket_out);
MUST_CHECK NTSTATUS control_text_details(struct dxg_kernel *kernel, struct dxg_adapter *adapter,
					 uint32_t process_id, uint64_t *ticket_out);

/* Bytes from `offset` on, as many as there are and have room. Refused: another text was made since. */
MUST_CHECK NTSTATUS control_text_read(struct dxg_kernel *kernel, uint64_t ticket, uint64_t offset,
				      char *part, size_t part_bytes, uint64_t *size_out);

/* The kernel ends. */
void control_text_forget(struct dxg_kernel *kernel);

/* Which adapter it is, and what was counted (CONTROL_TEXT_COUNTS). */
MUST_CHECK NTSTATUS control_text_counts(struct dxg_kernel *kernel, struct dxg_adapter *adapter,
					uint64_t *ticket_out);

#endif
