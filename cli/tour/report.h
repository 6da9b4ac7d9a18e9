/* SPDX-License-Identifier: MIT */
/*
 * report.h - what came of a tour, on a page: as text, and as HTML with pictures.
 */
#ifndef CLI_TOUR_REPORT_H
#define CLI_TOUR_REPORT_H

#include <stdio.h>

#include "cli/tour/history.h"

void report_text(FILE *out, const struct tour_counts *counts, const struct history *history);

/* The stream's own error flag tells how it went. */
void report_html(FILE *out, const struct tour_counts *counts, const struct history *history);

/* Do the trace and D3DKMTQueryStatistics tell the same? */
MUST_CHECK bool report_adds_up(const struct tour_counts *counts, const struct history *history);

#endif
