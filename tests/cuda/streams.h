/* SPDX-License-Identifier: MIT */
/*
 * streams.h - what the files of the stand-in for libcuda.so.1 know of each other.
 */
#ifndef TESTS_CUDA_STREAMS_H
#define TESTS_CUDA_STREAMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/thread.h"

#include "cuda/libcuda.h"

#define PUBLIC __attribute__((visibility("default")))

enum {
	OK = 0,
	ERROR_OUT_OF_MEMORY = 2,
	ERROR_NO_DEVICE = 100,
	ERROR_INVALID_IMAGE = 200,
	ERROR_INVALID_PTX = 218,
	ERROR_NOT_FOUND = 500,
	ERROR_NOT_READY = 600,
	ERROR_LAUNCH_FAILED = 719,
	ERROR_UNKNOWN = 999,
};

enum thing_kind {
	THING_CONTEXT,
	THING_STREAM,
	THING_EVENT,
	THING_MODULE,
	THING_FUNCTION,
	THING_MEMORY,
	THING_HOST,       /* memory of the machine, from us */
	THING_REGISTERED, /* … and of the caller's */
	THING_PAGES,      /* vmm.c: memory, */
	THING_RESERVED,   /* addresses, */
	THING_MAPPED,     /* and one at the other */
};

enum work_kind { WORK_COPY, WORK_FILL, WORK_LAUNCH, WORK_WRITE, WORK_EVENT, WORK_WAIT };

enum { MOST_PARAMETERS = 16 };

/* A client's kernel, compiled for the processor: a block of one thread. */
typedef void fake_kernel(const void *parameters, const unsigned block[3], const unsigned grid[3]);

struct work {
	struct list link;
	enum work_kind kind;
	void *to;
	const void *from;
	size_t size_bytes;
	unsigned pattern;
	uint64_t value;      /* that is written; the recording that is made, or waited for */
	struct thing *event; /* events live as long as their context */
	const char *function;
	unsigned grid[3];
	uint64_t parameters[MOST_PARAMETERS]; /* of the driver's own */
	fake_kernel *kernel;                  /* … of a client's they are behind this */
	unsigned char inline_bytes[];         /* what the caller may change at once */
};

struct thing {
	struct list link; /* guarded by fake.lock */
	enum thing_kind kind;
	struct thing *context;
	uint64_t address; /* is the handle, too */
	uint64_t size_bytes;
	_Atomic bool is_lost; /* contexts */
	char *text;           /* modules: the PTX; functions: the name; ours */
	struct thing *module; /* functions */
	int file;             /* vmm.c */
	bool is_imported;
	bool is_accessible;

	/* Events: how often it was recorded, and how much of that has happened. */
	uint64_t recorded; /* guarded by fake.lock */
	_Atomic uint64_t happened;

	/* Streams. Guarded by fake.lock. */
	struct list work; /* struct work.link; the first one is being done */
	_Atomic uint32_t news;
	_Atomic uint32_t done; /* changes with every piece of work */
	bool is_ending;
	struct thread *thread;
};

struct fake {
	struct lock lock;
	struct list things; /* struct thing.link */
	_Atomic uint64_t used_bytes;
	_Atomic uint64_t calls;
	_Atomic uint64_t fail_at;
	_Atomic uint64_t late_ns; /* TEST_CUDA_LATE_US */
};

extern struct fake fake;
extern _Thread_local struct thing *fake_current;

_Noreturn void fake_violation(const char *function, const char *what);
bool fake_call_fails(int *status_out);
struct thing *fake_add(enum thing_kind kind, uint64_t address, uint64_t size_bytes);
/* With all these bytes; of none, exactly there. */
struct thing *fake_find(enum thing_kind kind, uint64_t address, uint64_t size_bytes);
struct thing *fake_own(const char *function, enum thing_kind kind, const void *handle);
void fake_remove(struct thing *thing);

/* FALSE: the GPU has less. */
bool fake_take_bytes(uint64_t size_bytes);

/* vmm.c */
bool fake_is_mapped(uint64_t pointer, uint64_t size_bytes);

/* streams.c */
void fake_stream_end(struct thing *stream);
bool fake_streams_are_busy(void);
bool fake_range_is_used(const struct thing *range);

#endif
