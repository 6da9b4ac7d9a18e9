/* SPDX-License-Identifier: MIT */
/*
 * access.h - how the CPU gets at an allocation, by where it is. Pure.
 */
#ifndef VIDMM_ACCESS_H
#define VIDMM_ACCESS_H

#include <stdbool.h>

#include "vidmm/vidmm.h"

struct access_question {
	enum vidmm_content content;
	bool is_cpu_visible;          /* the allocation                             */
	bool is_cached;               /* the allocation                             */
	bool supports_aperture;       /* the allocation could be in system memory   */
	bool segment_is_cpu_visible;  /* the segment it is in, all of it            */
	bool host_aperture_has_room;  /* the window into a segment that is not      */
	bool host_aperture_is_cached; /* …, and caches see what the GPU writes      */
	bool segment_is_coherent;     /* caches see what the GPU writes to it       */
};

enum access_way {
	ACCESS_SYSTEM,        /* its system memory, taken now if there is none */
	ACCESS_SEGMENT,       /* where it is                                    */
	ACCESS_HOST_APERTURE, /* where it is, through the window                */
	ACCESS_DEMOTE,        /* it has to move to system memory first          */
	ACCESS_NONE,          /* not while it is where it is                    */
};

enum access_way access_decide(const struct access_question *question);

#endif
