/* SPDX-License-Identifier: MIT */
/*
 * terminal.h - can something be drawn where this program writes?
 */
#ifndef CLI_LIVE_TERMINAL_H
#define CLI_LIVE_TERMINAL_H

#include <stdbool.h>

/* A terminal of which something is known, and that can go to a line: others are written to line by line. */
bool terminal_has_screen(void);

#endif
