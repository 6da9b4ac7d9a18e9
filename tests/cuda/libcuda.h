/* SPDX-License-Identifier: MIT */
/*
 * libcuda.h - what a test may ask of the library that stands in the place of libcuda.so.1.
 *
 * It has one GPU, whose memory is ordinary memory and whose kernels are those of drivers/cuda,
 * compiled for the processor; each stream is a thread. A call that breaks a rule of the driver API
 * is printed, and ends the program: such a call is a bug of the driver's, whatever CUDA would make of
 * it.
 *
 *	TEST_CUDA_MIB       memory of the GPU; 4096
 *	TEST_CUDA_GPUS      how many there are; 1
 *	TEST_CUDA_FAIL_AT   the n-th call fails
 *	TEST_CUDA_LATE_US   so long after its stream comes to it a kernel begins, as on a GPU that others use; 0
 *	TEST_CUDA_KERNELS   a library with kernels of clients, compiled for the processor, under the
 *	                    same names with _on_processor behind them (streams.h)
 */
#ifndef TESTS_CUDA_LIBCUDA_H
#define TESTS_CUDA_LIBCUDA_H

#include <stdint.h>

/* Calls so far. */
typedef uint64_t test_cuda_calls(void);
/* That many calls from now one fails; 0: none does. */
typedef void test_cuda_fail_after(uint64_t calls);
/* Every context that exists is lost, as after a kernel with a bad pointer. */
typedef void test_cuda_lose(void);

#endif
