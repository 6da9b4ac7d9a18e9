/* SPDX-License-Identifier: MIT */
#include "evict/curve.h"

static const float weight_of_prior = 4;
static const float fading = 0.9F;

const struct curve_shape curve_of_ages = { 8, 8, 1, 3, 0.12F, 0 };
const struct curve_shape curve_of_eighths = { 9, 5, 16, 4, 0, 256 };
const struct curve_shape curve_of_sixteenths = { 9, 4, 32, 4, 0, 256 };

/* 2 to the power of k / steps, as a mantissa of 32 bits; what is missing lies behind the octave. */
static const uint64_t octave_parts[CURVE_STEPS_MAX + 1][CURVE_STEPS_MAX] = {
	[3] = { 0x80000000, 0xa14517cc, 0xcb2ff52a, UINT64_C(1) << 32 },
	[4] = { 0x80000000, 0x9837f051, 0xb504f333, 0xd744fccb },
};

unsigned curve_bin(const struct curve_shape *shape, uint64_t quiet)
{
	if (quiet >> shape->even_log2 == 0)
		return (unsigned)(quiet >> shape->even_shift);

	unsigned log2 = 63 - (unsigned)__builtin_clzll(quiet);
	uint64_t mantissa = quiet << (63 - log2) >> 32;
	const uint64_t *parts = octave_parts[shape->steps];
	unsigned bin = shape->even_bins + (log2 - shape->even_log2) * shape->steps +
		       (mantissa >= parts[1]) + (mantissa >= parts[2]) + (mantissa >= parts[3]);

	return bin < CURVE_BINS ? bin : CURVE_BINS - 1;
}

static float start_of(const struct curve_shape *shape, unsigned bin)
{
	if (bin < shape->even_bins)
		return (float)((uint64_t)bin << shape->even_shift);
	bin -= shape->even_bins;

	unsigned log2 = shape->even_log2 + bin / shape->steps;

	return (float)(octave_parts[shape->steps][bin % shape->steps] << log2 >> 31);
}

static float width_of(const struct curve *curve, unsigned bin)
{
	return curve->starts[bin + 1] - curve->starts[bin];
}

/* What is expected of a bin of which nothing is known. */
static float prior_of(const struct curve *curve, unsigned bin)
{
	const struct curve_shape *shape = curve->shape;
	float width = width_of(curve, bin);

	/* One in a mean time, as good as 1 - exp(-width). */
	if (shape->prior == 0)
		return width / (width + shape->unit);
	/* Even bins as the first behind them: without knowledge nobody is more likely to return. */
	return bin < shape->even_bins ? shape->prior * width / width_of(curve, shape->even_bins)
				      : shape->prior;
}

void curve_init(struct curve *curve, const struct curve_shape *shape)
{
	curve->shape = shape;
	for (unsigned bin = 0; bin <= CURVE_BINS; bin++)
		curve->starts[bin] = start_of(shape, bin);
	for (unsigned bin = 0; bin < CURVE_BINS; bin++) {
		curve->prior[bin] = prior_of(curve, bin);
		curve->entered[bin] = 0;
		curve->returned[bin] = 0;
	}
	curve_learn(curve);
}

/* The best that keeping one from `bin` on is worth: returns for each tick. */
static float index_of(const struct curve *curve, const float *chance, unsigned bin)
{
	float left = 1, returns = 0, ticks = 0, best = 0;

	for (; bin < CURVE_BINS && left > 0.001F; bin++) {
		float gone = left * chance[bin];

		ticks += (left - gone / 2) * width_of(curve, bin);
		returns += gone;
		left -= gone;
		if (returns > best * ticks)
			best = returns / ticks;
	}
	return best;
}

void curve_learn(struct curve *curve)
{
	float chance[CURVE_BINS];

	for (unsigned bin = 0; bin < CURVE_BINS; bin++) {
		chance[bin] = (curve->returned[bin] + weight_of_prior * curve->prior[bin]) /
			      (curve->entered[bin] + weight_of_prior);
		if (chance[bin] > 1)
			chance[bin] = 1;
		curve->entered[bin] *= fading;
		curve->returned[bin] *= fading;
	}
	for (unsigned bin = 0; bin < CURVE_BINS; bin++)
		curve->waits[bin] = 1 / index_of(curve, chance, bin);
	for (unsigned bin = 0; bin < CURVE_BINS; bin++) {
		float next = bin + 1 < CURVE_BINS ? curve->waits[bin + 1] : curve->waits[bin];

		curve->slopes[bin] = next < curve->waits[bin]
					     ? (next - curve->waits[bin]) / width_of(curve, bin)
					     : 0;
	}
}

float curve_wait(const struct curve *curve, uint64_t quiet)
{
	unsigned bin = curve_bin(curve->shape, quiet);

	return curve->waits[bin] + curve->slopes[bin] * ((float)quiet - curve->starts[bin]);
}
