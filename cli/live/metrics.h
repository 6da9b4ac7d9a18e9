/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - a snapshot as Prometheus text (0.0.4) or OpenMetrics (1.0).
 */
#ifndef CLI_LIVE_METRICS_H
#define CLI_LIVE_METRICS_H

#include <stdio.h>

#include "cli/live/snapshot.h"

enum { METRICS_PROCESSES_MAX = 1000 /* with --per-process: more would be too many series */ };

struct metrics_form {
	bool is_openmetrics;
	bool is_per_process;
};

#define METRICS_TYPE_PROMETHEUS  "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* The stream's own error flag tells how it went. */
void metrics_print(const struct live_snapshot *snapshot, const struct metrics_form *form,
		   FILE *out);

#endif
