/* SPDX-License-Identifier: MIT */
/*
 * arithmetic.c - two kernels, for dispatch.c.
 */
#include "kernels.h"

/* y = a x + y */
KERNEL(
	saxpy,
	struct {
		float *y;
		const float *x;
		index_type count;
		float a;
	},
	(float *y, const float *x, index_type count, float a), (p->y, p->x, p->count, p->a))
{
	for (index_type i = first_index(); i < count; i += index_step())
		y[i] = a * x[i] + y[i];
}

/* c = a b, of matrices with n rows and n columns */
KERNEL(
	multiply,
	struct {
		float *c;
		const float *a;
		const float *b;
		index_type n;
	},
	(float *c, const float *a, const float *b, index_type n), (p->c, p->a, p->b, p->n))
{
	for (index_type i = first_index(); i < n * n; i += index_step()) {
		const float *row = a + i / n * n;
		const float *column = b + i % n;
		float sum = 0;

		for (index_type k = 0; k < n; k++)
			sum += row[k] * column[k * n];
		c[i] = sum;
	}
}
