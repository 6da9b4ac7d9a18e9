/* SPDX-License-Identifier: MIT */
/*
 * top.h - two snapshots as lines of text, and as JSON. Knows no terminal.
 */
#ifndef CLI_LIVE_TOP_H
#define CLI_LIVE_TOP_H

#include <stdio.h>

#include "cli/live/snapshot.h"

enum top_order {
	TOP_BY_LOCAL,
	TOP_BY_SYSTEM,
	TOP_BY_PID,
	TOP_BY_NAME,
	TOP_BY_BUSY,
	TOP_BY_MOVED,
	TOP_ORDERS
};

struct top_view {
	enum top_order order;
	char filter[LIVE_NAME_BYTES]; /* a part of the name, or the pid; "": all */
	uint32_t selected;            /* a line of the table, from 0; TOP_NONE: none */
	uint32_t first;               /* in and out: the line that is the first on the screen */
	bool is_expanded;             /* the selected one tells more */
	uint32_t expanded;            /* out: its process, for the next snapshot; 0: none */
};

enum { TOP_LINE_BYTES = 256 };
static const uint32_t TOP_NONE = UINT32_MAX;

enum top_style { TOP_PLAIN, TOP_HEAD, TOP_SELECTED, TOP_ALARM };

struct top_line {
	char text[TOP_LINE_BYTES];
	enum top_style style;
};

/*
 * At most `height` lines of at most `width` columns. `before` is the snapshot a while ago, for what is told per second; the
 * same as `now` at first. Returns how many. The order of now->processes changes.
 */
uint32_t top_lines(struct live_snapshot *now, const struct live_snapshot *before,
		   struct top_view *view, unsigned width, unsigned height, struct top_line *lines);

/* One line of JSON. */
void top_print_json(const struct live_snapshot *now, const struct live_snapshot *before, FILE *out);

#endif
