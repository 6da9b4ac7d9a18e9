/* SPDX-License-Identifier: MIT */
/*
 * no_steps.h - the steps and rows of callbacks.def, none of which does anything: what a pass over the table begins with,
 * before it defines those that it is about. So it is included as often as there are passes.
 */
#undef DEVICE
#undef ADAPTER
#undef SET
#undef COPY
#undef SPAN
#undef BACK
#undef BACK_SPAN
#undef KERNEL
#undef KERNEL_LIST
#undef FLAGS
#undef ARRAY
#undef MAPPED
#undef MAPPED_OR_0
#undef MAPPED_ARRAY
#undef WRITTEN
#undef PADDING
#undef NONE
#define DEVICE(...)
#define ADAPTER(...)
#define SET(...)
#define COPY(...)
#define SPAN(...)
#define BACK(...)
#define BACK_SPAN(...)
#define KERNEL(...)
#define KERNEL_LIST(...)
#define FLAGS(...)
#define ARRAY(...)
#define MAPPED(...)
#define MAPPED_OR_0(...)
#define MAPPED_ARRAY(...)
#define WRITTEN(...)
#define PADDING(...)
#define NONE(...)

#undef PAIR
#undef PAIR_MAKES
#undef PAIR_ENDS
#undef PAIR_SHARED
#undef PAIR_OWN
#undef PAIR_OWN_VALUE
#undef PAIR_REFUSED
#define PAIR(...)
#define PAIR_MAKES(...)
#define PAIR_ENDS(...)
#define PAIR_SHARED(...)
#define PAIR_OWN(...)
#define PAIR_OWN_VALUE(...)
#define PAIR_REFUSED(...)
