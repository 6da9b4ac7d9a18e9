/* SPDX-License-Identifier: MIT */
/*
 * evict.h - everything that may move leaves one segment (0: all) when the test's GPU moves it.
 */
#ifndef TESTS_UNIT_VIDMM_EVICT_H
#define TESTS_UNIT_VIDMM_EVICT_H

#include "vidmm/control.h"
#include "vidmm/place.h"

static inline void evict_segment(struct vidmm *manager, uint32_t segment_id)
{
	control_evict(manager, &(struct vidmm_selection){ .segment = segment_id });
}

#endif
