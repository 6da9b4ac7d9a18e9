/* SPDX-License-Identifier: MIT */
/*
 * kernels.h - C for kernels that clang makes PTX of, and whose names tools/embed_ptx.py makes entry points.
 *
 *	KERNEL(fill, struct { float *to; index_type count; }, (float *to, index_type count), (p->to, p->count))
 *	{
 *		for (index_type i = first_index(); i < count; i += index_step())
 *			to[i] = 1;
 *	}
 *
 * says a kernel's parameters three times: as they lie in memory (struct softgpu_dispatch), as it takes them,
 * and the one from the other.
 *
 * The same source is compiled for the processor, where a block has one thread: that is how tests run it
 * without a GPU.
 */
#ifndef EXAMPLES_KERNELS_H
#define EXAMPLES_KERNELS_H

typedef unsigned long index_type; /* 64 bits, as pointers are */

#if defined(__NVPTX__)

#define INDEXES static inline __attribute__((always_inline))

INDEXES index_type first_index(void)
{
	return (index_type)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
	       __nvvm_read_ptx_sreg_tid_x();
}

INDEXES index_type index_step(void)
{
	return (index_type)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}

#define KERNEL(name, members, parameters, pass) void name parameters

#else

static _Thread_local index_type kernel_block;
static _Thread_local index_type kernel_blocks;

static inline index_type first_index(void)
{
	return kernel_block;
}

static inline index_type index_step(void)
{
	return kernel_blocks;
}

#define KERNEL(name, members, parameters, pass)                                                    \
	static void name parameters;                                                               \
	__attribute__((visibility("default"))) void name##_on_processor(                           \
		const void *bytes, const unsigned block[3], const unsigned grid[3]);               \
	void name##_on_processor(const void *bytes, const unsigned block[3],                       \
				 const unsigned grid[3])                                           \
	{                                                                                          \
		const members *p = bytes;                                                          \
                                                                                                   \
		kernel_block = block[0];                                                           \
		kernel_blocks = grid[0];                                                           \
		name pass;                                                                         \
	}                                                                                          \
	static void name parameters

#endif

#endif
