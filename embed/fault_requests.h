/* SPDX-License-Identifier: MIT */
/*
 * fault_requests.h - what a plan of faults has happen to an adapter while its driver is at work (verify/requests.h).
 */
#ifndef EMBED_FAULT_REQUESTS_H
#define EMBED_FAULT_REQUESTS_H

#include <stdint.h>

#include "verify/requests.h"

struct dxg_kernel;

/* The kernel runs, and does not end meanwhile. An adapter that is not there any more is left alone. */
void fault_request_carry_out(struct dxg_kernel *kernel, uint32_t adapter_id,
			     enum verify_request request);

#endif
