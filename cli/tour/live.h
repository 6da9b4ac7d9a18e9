/* SPDX-License-Identifier: MIT */
/*
 * live.h - the tour while it runs: a bar for each segment on a terminal, plain lines elsewhere.
 */
#ifndef CLI_TOUR_LIVE_H
#define CLI_TOUR_LIVE_H

#include "cli/tour/tour.h"

/* Asks the kernel how the segments stand, and what has moved so far. */
MUST_CHECK bool live_ask(struct tour *tour);

/* Until no client runs. */
void live_watch(struct tour *tour);

#endif
