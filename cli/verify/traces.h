/* SPDX-License-Identifier: MIT */
/*
 * traces.h - are two traces the same, byte for byte?
 *
 * Two runs of one seed are, unless the driver does something that depends on more than the seed: on addresses, on real time,
 * or on what is in memory that nobody wrote (NT-POOL-UNINIT).
 */
#ifndef CLI_VERIFY_TRACES_H
#define CLI_VERIFY_TRACES_H

#include <stdbool.h>

#include "cli/verify/finding.h"

/*
 * NULL: they are, or one of them is not there. Else a sentence with the first events that differ, to be freed, and in `entry`
 * the entry point of the driver that the thread was in there; "": in none.
 */
enum { TRACES_ENTRY_BYTES = 64 };
char *traces_compare(const char *path, const char *other_path, char entry[TRACES_ENTRY_BYTES]);

/* Is it there, with its end? Where a disk is full, or a folder nobody's to write to, it is not. */
bool traces_is_whole(const char *path);

/* The same as a finding about the driver in this image. */
struct finding *traces_difference(const char *path, const char *other_path, const char *driver);

#endif
