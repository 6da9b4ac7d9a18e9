/* SPDX-License-Identifier: MIT */
/*
 * curve.h - when do such things come back? Learned from all that were quiet so far.
 *
 * How long something was quiet falls into one of 48 bins. Of each bin the curve knows how many got
 * as far, and how many of those came back within it:
 *
 *	bin        0    1    2    3    4  …
 *	entered  100   90   40   38   38
 *	returned  10   50    2    0    1
 *
 * From that follows what keeping one in that bin is worth. Whoever keeps it for a while buys the
 * chance that it comes back until then, and pays the time for which it takes memory; the best ratio
 * of both, over all whiles, is the bin's index (Gittins'). Its inverse is a time, curve_wait(): like
 * the time until the next use of something whose next use is known, and comparable with it.
 *
 * Old counts fade, so that a curve follows what a program does now.
 */
#ifndef EVICT_CURVE_H
#define EVICT_CURVE_H

#include <stdint.h>

enum { CURVE_BINS = 48, CURVE_STEPS_MAX = 4 };

/* Even bins from 0 to a power of two, then so many for each octave. */
struct curve_shape {
	uint8_t even_log2;  /* of the end of the even bins        */
	uint8_t even_shift; /* log2 of the width of one           */
	uint8_t even_bins;  /* how many                           */
	uint8_t steps;      /* to an octave, behind them          */
	float prior; /* of returning within a bin of an octave, or 0: …                     */
	float unit;  /* … at any time, in so long on average                               */
};

/* By ticks; where nothing is known yet: as long again as it was quiet. */
extern const struct curve_shape curve_of_ages;
/* By 256ths of a mean, in eighths or sixteenths of it; where nothing is known: at any time. */
extern const struct curve_shape curve_of_eighths;
extern const struct curve_shape curve_of_sixteenths;

struct curve {
	const struct curve_shape *shape;
	float entered[CURVE_BINS];
	float returned[CURVE_BINS];
	float prior[CURVE_BINS];
	float starts[CURVE_BINS + 1];
	float waits[CURVE_BINS];
	float slopes[CURVE_BINS]; /* of the wait within a bin */
};

void curve_init(struct curve *curve, const struct curve_shape *shape);

unsigned curve_bin(const struct curve_shape *shape, uint64_t quiet);

static inline void curve_enter(struct curve *curve, unsigned bin)
{
	curve->entered[bin]++;
}

static inline void curve_return(struct curve *curve, unsigned bin)
{
	curve->returned[bin]++;
}

/* From time to time: what was counted decides from now on, and fades. */
void curve_learn(struct curve *curve);

/* In the units of `quiet`. */
float curve_wait(const struct curve *curve, uint64_t quiet);

#endif
