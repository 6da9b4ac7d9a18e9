/* SPDX-License-Identifier: MIT */
/*
 * kept_bytes.h - private data of a client that the kernel keeps: a copy, which counts for the quota of
 * whoever brought it until it is freed.
 */
#ifndef OBJECT_MEMORY_KEPT_BYTES_H
#define OBJECT_MEMORY_KEPT_BYTES_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/quota.h"

/* *copy_out is NULL for no bytes. Refused at the quota; STATUS_NO_MEMORY is the caller's to explain. */
MUST_CHECK NTSTATUS kept_bytes_copy(struct quota_ledger *ledger, const void *data,
				    uint32_t size_bytes, void **copy_out);

/* Accepts NULL. */
void kept_bytes_free(void *copy);

#endif
