/* SPDX-License-Identifier: MIT */
/*
 * threads.h - who runs a kernel: threads of a GPU, or one thread of the processor for each block.
 *
 * A group is what walks a page table together: the 32 threads of a warp. Words that others may be
 * writing are read and written whole.
 */
#ifndef CUDA_THREADS_H
#define CUDA_THREADS_H

#include "ntdef.h"

#define INLINED __inline__ __attribute__((always_inline))
/* Called: the driver compiles a kernel when it is loaded, and copies of a page walk take seconds. */
#define SHARED  __attribute__((noinline))

#if defined(__NVPTX__)

#define KERNEL
#define GROUP_THREADS 32u
/* Memory that the threads of a block have together, beside them. */
#define BLOCK_MEMORY(type)                                                                         \
	static __attribute__((address_space(3), loader_uninitialized)) type block_memory
#define block block_memory

static INLINED ULONG thread_in_block(void)
{
	return (ULONG)__nvvm_read_ptx_sreg_tid_x();
}

static INLINED ULONG threads_of_block(void)
{
	return (ULONG)__nvvm_read_ptx_sreg_ntid_x();
}

static INLINED ULONGLONG block_in_grid(void)
{
	return (ULONGLONG)__nvvm_read_ptx_sreg_ctaid_x();
}

static INLINED ULONGLONG blocks_of_grid(void)
{
	return (ULONGLONG)__nvvm_read_ptx_sreg_nctaid_x();
}

/* Of each thread by itself: those of a warp come here from different places. */
static INLINED void block_barrier(void)
{
	__asm__ volatile("barrier.sync 0;" ::: "memory");
}

/* What was written before is seen by everybody before what is written after. */
static INLINED void fence_system(void)
{
	__asm__ volatile("fence.acq_rel.sys;" ::: "memory");
}

static INLINED ULONGLONG now_cycles(void)
{
	ULONGLONG now;

	__asm__ volatile("mov.u64 %0, %%clock64;" : "=l"(now));
	return now;
}

static INLINED ULONGLONG now_100ns(void)
{
	ULONGLONG now_ns;

	__asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns));
	return now_ns / 100;
}

static INLINED void pause_a_little(void)
{
	__asm__ volatile("nanosleep.u32 1000;");
}

static INLINED ULONGLONG load_word(const ULONGLONG *word)
{
	return *(const volatile ULONGLONG *)word;
}

/* What its writer wrote before it is read after this, by all threads that wait for this one. */
static INLINED ULONGLONG load_acquire(const ULONGLONG *word)
{
	ULONGLONG value;

	__asm__ volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
	return value;
}

/* Between two looks across the bus, which take long enough. */
static INLINED void pause_between_looks(void)
{
}

static INLINED UCHAR load_byte(const UCHAR *byte)
{
	return *(const volatile UCHAR *)byte;
}

static INLINED void store_word(ULONGLONG *word, ULONGLONG value)
{
	*(volatile ULONGLONG *)word = value;
}

static INLINED void add_word(ULONGLONG *word, ULONGLONG value)
{
	__asm__ volatile("red.add.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
}

static INLINED void lower_word(ULONGLONG *word, ULONGLONG value)
{
	ULONGLONG old;

	__asm__ volatile("atom.min.u64 %0, [%1], %2;"
			 : "=l"(old)
			 : "l"(word), "l"(value)
			 : "memory");
	(void)old;
}

#else

/* Who executes a kernel on the processor says which block it is, and lets time pass. */
struct cuda_host_block {
	ULONGLONG index;
	ULONGLONG count;
	void *memory; /* CUDA_HOST_BLOCK_BYTES, aligned to 16 */
};
enum { CUDA_HOST_BLOCK_BYTES = 8192 };
const struct cuda_host_block *cuda_host_block(void);
ULONGLONG cuda_host_now_100ns(void);
void cuda_host_pause(void);

#define KERNEL        __attribute__((visibility("hidden")))
#define GROUP_THREADS 1u
#define BLOCK_MEMORY(type)                                                                         \
	_Static_assert(sizeof(type) <= CUDA_HOST_BLOCK_BYTES, "who executes has less");            \
	typedef type block_memory
#define block (*(block_memory *)cuda_host_block()->memory)

static INLINED ULONG thread_in_block(void)
{
	return 0;
}

static INLINED ULONG threads_of_block(void)
{
	return 1;
}

static INLINED ULONGLONG block_in_grid(void)
{
	return cuda_host_block()->index;
}

static INLINED ULONGLONG blocks_of_grid(void)
{
	return cuda_host_block()->count;
}

static INLINED void block_barrier(void)
{
}

static INLINED void fence_system(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static INLINED ULONGLONG now_100ns(void)
{
	return cuda_host_now_100ns();
}

static INLINED ULONGLONG now_cycles(void)
{
	return cuda_host_now_100ns();
}

static INLINED void pause_a_little(void)
{
	cuda_host_pause();
}

static INLINED ULONGLONG load_word(const ULONGLONG *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static INLINED ULONGLONG load_acquire(const ULONGLONG *word)
{
	return load_word(word);
}

static INLINED void pause_between_looks(void)
{
	cuda_host_pause();
}

static INLINED UCHAR load_byte(const UCHAR *byte)
{
	return __atomic_load_n(byte, __ATOMIC_RELAXED);
}

static INLINED void store_word(ULONGLONG *word, ULONGLONG value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static INLINED void add_word(ULONGLONG *word, ULONGLONG value)
{
	__atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

static INLINED void lower_word(ULONGLONG *word, ULONGLONG value)
{
	ULONGLONG old = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (value < old && !__atomic_compare_exchange_n(word, &old, value, FALSE,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

#endif

static INLINED ULONG thread_in_group(void)
{
	return thread_in_block() % GROUP_THREADS;
}

static INLINED ULONG threads_of_group(void)
{
	return GROUP_THREADS;
}

static INLINED ULONG group_in_block(void)
{
	return thread_in_block() / GROUP_THREADS;
}

static INLINED ULONG groups_of_block(void)
{
	return threads_of_block() / GROUP_THREADS;
}

static INLINED ULONGLONG group_in_grid(void)
{
	return block_in_grid() * groups_of_block() + group_in_block();
}

static INLINED ULONGLONG groups_of_grid(void)
{
	return blocks_of_grid() * groups_of_block();
}

#endif
