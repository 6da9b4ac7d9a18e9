/* SPDX-License-Identifier: MIT */
/*
 * tally.h - what is counted for whoever looks after a kernel and belongs to no object of it; `dxgk metrics` shows it.
 *
 *	static struct tally sleeps;
 *	tally_count(&sleeps, "ring_sleeps", "");
 *
 * One is known from its first time on, for the life of the process. No lock; nothing here is a step of a seeded run.
 */
#ifndef BASE_TALLY_H
#define BASE_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tally {
	/* Set at the first time. */
	const char *name;
	const char *label; /* which of those of that name; "": the only one */
	struct tally *next;
	_Atomic bool is_known;
	_Atomic uint64_t times;
};

/* The strings are never freed, and the same each time. */
void tally_count(struct tally *tally, const char *name, const char *label);
void tally_each(void (*visit)(void *context, const struct tally *tally), void *context);

/* How long something took, from a microsecond on in steps of four times as long. */
enum { TALLY_STEPS = 10, TALLY_STRIPES = 8 };

/* Of an object that has one of its own, and shows it itself. */
struct tally_spread {
	_Atomic uint64_t sum_ns;
	_Atomic uint64_t
		counts[TALLY_STEPS + 1]; /* at most as long as the step; the last: longer */
};

void tally_spread_add(struct tally_spread *spread, uint64_t ns);

/* Of some threads: those that count all the time on different processors do not meet. */
struct tally_stripe {
	_Alignas(64) _Atomic uint64_t failed;
	struct tally_spread took;
};

struct tally_times {
	const char *name; /* set at the first time */
	struct tally_times *next;
	_Atomic bool is_known;
	struct tally_stripe stripes[TALLY_STRIPES];
};

/* 1 µs, 4 µs … 262 ms. */
static inline uint64_t tally_step_ns(uint32_t step)
{
	return UINT64_C(1000) << 2 * step;
}

void tally_time(struct tally_times *times, const char *name, uint64_t ns, bool has_failed);
/* All stripes together, at about one moment. */
void tally_sum(const struct tally_times *times, struct tally_stripe *sum_out);
void tally_each_time(void (*visit)(void *context, const struct tally_times *times), void *context);

#endif
