/* SPDX-License-Identifier: MIT */
/*
 * stream.h - bytes past the cache, for more than fits it.
 *
 * What is moved in bulk is larger than the cache and not looked at soon: stores that go by it save
 * reading what is about to be overwritten, and leave the cache to others. They are in memory when
 * these functions return.
 */
#ifndef SOFT_STREAM_H
#define SOFT_STREAM_H

#include "ntdef.h"

/* The two do not overlap. */
void soft_stream_copy(PVOID destination, const VOID *source, SIZE_T size_bytes);

/* `count` words, at a multiple of four. */
void soft_stream_fill(PULONG destination, SIZE_T count, ULONG pattern);

#endif
