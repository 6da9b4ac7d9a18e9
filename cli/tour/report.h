/* SPDX-License-Identifier: MIT */
/*
 * report.h - what came of a tour, as text.
 */
#ifndef CLI_TOUR_REPORT_H
#define CLI_TOUR_REPORT_H

#include <stdio.h>

#include "cli/tour/history.h"

void report_text(FILE *out, const struct tour_counts *counts, const struct history *history);

/* Do the trace and D3DKMTQueryStatistics tell the same? */
MUST_CHECK bool report_adds_up(const struct tour_counts *counts, const struct history *history);

#endif
