/* SPDX-License-Identifier: MIT */
/*
 * device.h - what is told of the software GPU to a runtime that expects one of Intel's.
 */
#ifndef INTEL_DEVICE_H
#define INTEL_DEVICE_H

#include "opendxgk/softgpu.h"
#include "tokens.h"

/* The tokens of TOKEN_ADAPTER_INFO. false: the GPU cannot be taken for a device that we know. */
bool device_describe(const struct softgpu_device_info *info, struct token_writer *writer);

/* How a process divides its addresses: what travels in escapes, as it stands. All zero: not yet. */
struct device_range {
	uint64_t base;
	uint64_t limit; /* of the last byte */
};

enum { DEVICE_HEAPS32 = 4 };

struct device_partition {
	struct device_range standard;
	struct device_range standard_64k;
	struct device_range svm;
	struct device_range tiled;
	struct device_range heap32[DEVICE_HEAPS32];
};
SOFTGPU_ASSERT_SIZE(struct device_partition, 128);

void partition_read(struct tokens tokens, struct device_partition *partition_out);
/* As a group of the number `id`. */
void partition_write(const struct device_partition *partition, unsigned id,
		     struct token_writer *writer);

#endif
