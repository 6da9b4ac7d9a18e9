/* SPDX-License-Identifier: MIT */
/*
 * runner.h - kernels of one client run in a process of the host of their own: what the driver and that
 * process say to each other.
 *
 *	driver (runner.c) ── question, what it is about, descriptors ──▶ runner (runner_main.c)
 *	                  ◀── answer ──
 *
 * One at a time. A runner has a CUDA context, the client's modules, and those large pages of video memory
 * mapped that the next kernel may see. It ends with its socket.
 */
#ifndef CUDA_RUNNER_H
#define CUDA_RUNNER_H

#include "api.h"

enum cuda_question_kind {
	CUDA_ASK_BEGIN, /* number: of the GPU. A context is made */
	CUDA_ASK_LOAD, /* behind it: PTX, with the zero that ends it. Answer: the module's number */
	CUDA_ASK_UNLOAD, /* number: of the module */
	CUDA_ASK_FIND,   /* number: of the module; behind it: a name. Answer: the kernel's number */
	CUDA_ASK_TAKE,   /* behind it: numbers of large pages, and a descriptor for each */
	CUDA_ASK_MAP,    /* behind it: struct cuda_page, all that are to be mapped, by address */
	CUDA_ASK_LAUNCH, /* number: of the kernel; behind it: struct cuda_grid, parameters */
};

struct cuda_question {
	ULONG kind;
	ULONG number;
	ULONGLONG size_bytes; /* of what is behind it */
};

struct cuda_answer {
	int status; /* cuda_status */
	ULONG number;
	ULONG is_lost; /* the context is no more good for anything */
	ULONG reserved;
};

/* One that is mapped. */
struct cuda_page {
	ULONGLONG address;
	ULONG number; /* in the slab */
	ULONG access; /* CUDA_ACCESS_… */
};

struct cuda_grid {
	ULONG groups[3];
	ULONG threads[3];
	ULONG shared_bytes;
	ULONG reserved;
};

enum {
	RUNNER_MOST_THINGS = 4096, /* modules, kernels */
	RUNNER_MOST_BYTES = 64 << 20,
};

#endif
