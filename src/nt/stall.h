/* SPDX-License-Identifier: MIT */
/*
 * stall.h - how long the calling thread has stalled its processor (KeStallExecutionProcessor), in all.
 */
#ifndef NT_STALL_H
#define NT_STALL_H

#include <stdint.h>

extern _Thread_local uint64_t nt_stalled_ns __attribute__((visibility("hidden")));

#endif
