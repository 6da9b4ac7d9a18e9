/* SPDX-License-Identifier: MIT */
/* dispatch_kernels.c - kernels of a client, for dispatch_test.c. */
#include "kernels.h"

KERNEL(
	add,
	struct {
		index_type *to;
		index_type count;
		index_type value;
	},
	(index_type * to, index_type count, index_type value), (p->to, p->count, p->value))
{
	for (index_type i = first_index(); i < count; i += index_step())
		to[i] += value;
}

/* Some ten milliseconds long. */
KERNEL(
	add_slowly,
	struct {
		volatile index_type *to;
		index_type looks;
	},
	(volatile index_type * to, index_type looks), (p->to, p->looks))
{
	index_type seen = 0;

	for (index_type i = 0; i < looks; i++)
		seen |= to[1];
	if (first_index() == 0)
		to[0] += 1 + seen;
}

/* What is at an address, wherever that is. */
KERNEL(
	look,
	struct {
		index_type *to;
		const index_type *from;
	},
	(index_type * to, const index_type *from), (p->to, p->from))
{
	if (first_index() == 0)
		*to = *from;
}

/* Never ends. */
KERNEL(
	spin, struct { volatile index_type *word; }, (volatile index_type * word), (p->word))
{
	while (*word != 12345)
		;
}

/* bench/cuda_pairs.c has it as PTX of its own. */
KERNEL(
	store,
	struct {
		volatile index_type *to;
		index_type value;
	},
	(volatile index_type * to, index_type value), (p->to, p->value))
{
	*to = value;
}
