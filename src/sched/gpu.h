/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - a miniport as the scheduler's hardware.
 *
 *	sched_create(&config, &sched_gpu_miniport, miniport, …)
 */
#ifndef SCHED_GPU_H
#define SCHED_GPU_H

#include "sched/sched.h"

extern const struct sched_gpu_ops sched_gpu_miniport;

#endif
