/* SPDX-License-Identifier: MIT */
/*
 * probe.h - is there memory at an address?
 */
#ifndef BASE_PROBE_H
#define BASE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/* Can all of it be read, or written; also brings it in. */
bool probe_is_readable(const void *pointer, uint64_t size_bytes);
bool probe_is_writable(void *pointer, uint64_t size_bytes);

#endif
