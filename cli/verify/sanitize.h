/* SPDX-License-Identifier: MIT */
/*
 * sanitize.h - drivers that were built with -fsanitize=…: the host they need, and what their sanitizers say.
 *
 * A shared object that is instrumented leaves the functions of its sanitizer to the program that loads it. This program is
 * not instrumented where it is installed, so it starts over with the sanitizer's own library in front (LD_PRELOAD), which
 * is the one of the clang that drivers are built with.
 */
#ifndef CLI_VERIFY_SANITIZE_H
#define CLI_VERIFY_SANITIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "cli/verify/finding.h"

/* "address,undefined", "thread"; 0: that is none, and standard error says what there is. */
uint32_t sanitize_read(const char *text);

/* False after saying with which of them the driver was not built: its runs would find nothing of what was asked for. */
MUST_CHECK bool sanitize_is_built(const char *driver, uint32_t sanitizers);

/*
 * Returns in a host that fits, after an exec() with the same arguments where this one does not. False after saying what is
 * missing.
 */
MUST_CHECK bool sanitize_host(uint32_t sanitizers, char **argv);

/* Are threads simulated under a seed? A thread sanitizer that watches the simulation itself sees that one runs at a time, and no race: then
 * they run as they come. */
bool sanitize_is_seeded(uint32_t sanitizers);

/* What sanitizers said on standard error, as findings. */
void sanitize_read_reports(const char *text, const char *driver, struct findings *findings);

#endif
