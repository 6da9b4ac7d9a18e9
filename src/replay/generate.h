/* SPDX-License-Identifier: MIT */
/*
 * generate.h - what makers of workloads have in common.
 */
#ifndef REPLAY_GENERATE_H
#define REPLAY_GENERATE_H

#include "base/random.h"
#include "replay/workload.h"

/* Errors are remembered; everything after the first does nothing. */
struct generator {
	struct workload *workload;
	struct random random;
	NTSTATUS status;
};

/* In [0, 1). */
double generate_uniform(struct generator *generator);

/* In [low, high). */
uint32_t generate_between(struct generator *generator, uint32_t low, uint32_t high);

/* Log-uniform between two powers of two, in whole pages. */
uint32_t generate_allocation(struct generator *generator, double low_log2, double high_log2);

void generate_use(struct generator *generator, uint32_t allocation);

/* Allocations `first`, `first` + `step`, … before `first` + `count`. */
void generate_uses(struct generator *generator, uint32_t first, uint32_t count, uint32_t step);

/* Number i is drawn in proportion to (i + 1) to the power of -skew. */
struct zipf {
	double *sums;
	uint32_t count;
};

void zipf_init(struct generator *generator, struct zipf *zipf, uint32_t count, double skew);
uint32_t zipf_draw(struct generator *generator, const struct zipf *zipf);
void zipf_finish(struct zipf *zipf);

/* What programs do: generate_work.c. */
void generate_game(struct generator *generator);
void generate_model(struct generator *generator);
void generate_training(struct generator *generator);
void generate_desktop(struct generator *generator);

#endif
