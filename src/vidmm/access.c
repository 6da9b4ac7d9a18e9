/* SPDX-License-Identifier: MIT */
/*
 * access.c - see access.h.
 *
 *	not CPU visible                              only after a move, if it may be in an aperture
 *	CPU visible, cached                          the same, but in a coherent segment: caches do
 *	                                             not see what the GPU writes
 *	CPU visible, in a visible segment            in place
 *	CPU visible, elsewhere                       through the host aperture while it has room,
 *	                                             else move; cached ones if that is */
#include "vidmm/access.h"

enum access_way access_decide(const struct access_question *question)
{
	if (question->is_cpu_visible && question->segment_is_cpu_visible &&
	    (!question->is_cached || question->segment_is_coherent))
		return ACCESS_SEGMENT;
	if (question->is_cpu_visible && question->host_aperture_has_room &&
	    (!question->is_cached || question->host_aperture_is_cached))
		return ACCESS_HOST_APERTURE;
	return question->supports_aperture ? ACCESS_DEMOTE : ACCESS_NONE;
}
