/* SPDX-License-Identifier: MIT */
/*
 * access.h - how the CPU gets at an allocation that is in local memory. Pure.
 */
#ifndef VIDMM_ACCESS_H
#define VIDMM_ACCESS_H

#include <stdbool.h>

struct access_question {
	bool is_cpu_visible;          /* the allocation                             */
	bool is_cached;               /* the allocation                             */
	bool supports_aperture;       /* the allocation could be in system memory   */
	bool segment_is_cpu_visible;  /* the segment it is in, all of it            */
	bool host_aperture_has_room;  /* the window into a segment that is not      */
	bool host_aperture_is_cached; /* …, and caches see what the GPU writes      */
	bool segment_is_coherent;     /* caches see what the GPU writes to it       */
};

enum access_way {
	ACCESS_SEGMENT,       /* where it is                                    */
	ACCESS_HOST_APERTURE, /* where it is, through the window                */
	ACCESS_DEMOTE,        /* it has to move to system memory first          */
	ACCESS_NONE,          /* not while it is where it is                    */
};

enum access_way access_decide(const struct access_question *question);

#endif
