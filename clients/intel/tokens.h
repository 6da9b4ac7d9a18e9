/* SPDX-License-Identifier: MIT */
/*
 * tokens.h - the notation in which Intel's compute runtime describes its structures to a helper.
 *
 * A stream of dwords. Each token begins with one: a number, how many dwords of value follow, flags.
 * A group says how long it is and contains tokens; what somebody does not know is skipped. So the
 * two sides need not have been built from the same structures.
 *
 *	| number:16 | value dwords:8 | flags:8 | value …
 *	| number:16 | 0              | GROUP   | element | bytes | dwords | tokens …
 *
 * Numbers are those of the runtime's public interface (shared/wsl_compute_helper in its sources).
 */
#ifndef INTEL_TOKENS_H
#define INTEL_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The structures that are translated. */
enum token_struct {
	TOKEN_ADAPTER_INFO = 1,
	TOKEN_RESOURCE_INFO = 7,
	TOKEN_CONTEXT_DATA = 33,
	TOKEN_COMMAND_HEADER = 48,
	TOKEN_PARTITION = 135,
};

/* What is in them, of what we read or say. */
enum token_id {
	/* Slices and what they are made of. */
	TOKEN_SUBSLICE_ENABLED = 195,
	TOKEN_SUBSLICE_EUS = 196,
	TOKEN_SUBSLICE_EU_MASK = 197,
	TOKEN_DUAL_ENABLED = 198,
	TOKEN_DUAL_SUBSLICE = 199, /* group, two */
	TOKEN_SLICE_ENABLED = 200,
	TOKEN_SLICE_SUBSLICE = 201, /* group */
	TOKEN_SLICE_DUAL = 202,     /* group */
	TOKEN_SLICE_SUBSLICES = 203,
	TOKEN_SLICE_DUALS = 204,
	TOKEN_SYSTEM_EUS = 299,
	TOKEN_SYSTEM_THREADS = 300,
	TOKEN_SYSTEM_SLICES = 301,
	TOKEN_SYSTEM_SUBSLICES = 302,
	TOKEN_SYSTEM_DUALS = 303,
	TOKEN_SYSTEM_L3_KIB = 304,
	TOKEN_SYSTEM_L3_BANKS = 308,
	TOKEN_SYSTEM_FILL_RATE = 309,
	TOKEN_SYSTEM_CSR_MIB = 318,
	TOKEN_SYSTEM_MAX_EUS = 319, /* in a subslice */
	TOKEN_SYSTEM_MAX_SLICES = 320,
	TOKEN_SYSTEM_MAX_SUBSLICES = 321,
	TOKEN_SYSTEM_MAX_DUALS = 322,
	TOKEN_SYSTEM_SLICE = 324, /* group */
	TOKEN_SYSTEM_THREADS_PER_EU = 336,
	/* Features. */
	TOKEN_FEATURE_CCS_RING = 453,
	TOKEN_FEATURE_PPGTT = 598,
	TOKEN_FEATURE_IA32E_ENTRIES = 599,
	TOKEN_FEATURE_SVM = 603,
	TOKEN_FEATURE_L3_COHERENCY = 609,
	TOKEN_FEATURE_TILE_Y = 645,
	/* The platform. */
	TOKEN_PLATFORM_PRODUCT = 3475,
	TOKEN_PLATFORM_DISPLAY_CORE = 3477,
	TOKEN_PLATFORM_RENDER_CORE = 3478,
	TOKEN_PLATFORM_TYPE = 3479,
	TOKEN_PLATFORM_DEVICE_ID = 3480,
	TOKEN_PLATFORM_REVISION = 3481,
	TOKEN_PLATFORM_GT = 3484,
	/* How addresses are divided. */
	TOKEN_RANGE_BASE = 3532,
	TOKEN_RANGE_LIMIT = 3533,
	TOKEN_PARTITION_STANDARD = 3534, /* groups */
	TOKEN_PARTITION_STANDARD_64K = 3535,
	TOKEN_PARTITION_SVM = 3538,
	TOKEN_PARTITION_TILED = 3539,
	TOKEN_PARTITION_HEAP32 = 3540, /* four */
	/* The adapter. */
	TOKEN_ADAPTER_PLATFORM = 3551, /* groups */
	TOKEN_ADAPTER_FEATURES = 3552,
	TOKEN_ADAPTER_TIMESTAMP_HZ = 3555,
	TOKEN_ADAPTER_MAX_MHZ = 3559,
	TOKEN_ADAPTER_EUS = 3562,
	TOKEN_ADAPTER_CACHE_LINE = 3571,
	TOKEN_ADAPTER_DEDICATED_BYTES = 3577,
	TOKEN_ADAPTER_SHARED_BYTES = 3578,
	TOKEN_ADAPTER_SYSTEM = 3585, /* groups */
	TOKEN_ADAPTER_PARTITION = 3588,
	/* A submission. */
	TOKEN_COMMAND_FENCE_ADDRESS = 3730,
	TOKEN_COMMAND_FENCE_VALUE = 3731,
	/* Memory. */
	TOKEN_SURFACE_EXISTING_MEMORY = 3791, /* in SURFACE_FLAGS_INFO */
	TOKEN_SURFACE_LOCAL_ONLY = 3800,
	TOKEN_SURFACE_NON_LOCAL_ONLY = 3807,
	TOKEN_FLAGS_INFO = 3850, /* group in SURFACE_FLAGS */
	TOKEN_SURFACE_FLAGS = 3905,
	TOKEN_SURFACE_SIZE = 3919,
	TOKEN_RESOURCE_SURFACE = 3951, /* groups in RESOURCE_COMMON */
	TOKEN_RESOURCE_AUXILIARY = 3952,
	TOKEN_RESOURCE_SECOND_AUXILIARY = 3953,
	TOKEN_RESOURCE_COMMON = 3962,
};

/* Tokens from `begin` up to `end`, in dwords. */
struct tokens {
	const uint32_t *begin;
	const uint32_t *end;
};

/* The group of that number in `tokens`; empty when there is none. */
struct tokens tokens_group(struct tokens tokens, enum token_id id, uint32_t element);
/* false: there is none, or it is no number. */
bool tokens_number(struct tokens tokens, enum token_id id, uint64_t *value_out);

/* Writes into room for `capacity` dwords; what does not fit is counted all the same. */
struct token_writer {
	uint32_t *dwords;
	size_t capacity;
	size_t count;
};
void tokens_put_bool(struct token_writer *writer, enum token_id id, bool value);
void tokens_put_dword(struct token_writer *writer, enum token_id id, uint32_t value);
void tokens_put_qword(struct token_writer *writer, enum token_id id, uint64_t value);
/* Returns what tokens_close() has to be told. `id` is an enum token_id or token_struct. */
size_t tokens_open(struct token_writer *writer, unsigned id, uint32_t element);
void tokens_close(struct token_writer *writer, size_t opened);

#endif
