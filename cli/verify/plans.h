/* SPDX-License-Identifier: MIT */
/*
 * plans.h - what is made to fail in the runs of a seed.
 *
 * The text is that of src/verify/plan.h, the same on the command line, in reports and in DXGK_FAULT. On the command line a
 * fault may leave out its number (memory-nth): then the plan is a series, n = 1, 2, … until a run had no failure left.
 * "none" and "" are a plan without faults.
 */
#ifndef CLI_VERIFY_PLANS_H
#define CLI_VERIFY_PLANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/random.h"
#include "cli/verify/facts.h"

enum { PLAN_TEXT_BYTES = 256 };

struct plan {
	char text[PLAN_TEXT_BYTES]; /* with %n% where the number of a series belongs */
	bool is_series;
};

/* False, and what was not understood in `problem`, one sentence. */
MUST_CHECK bool plan_read(const char *text, struct plan *plan_out, char *problem,
			  size_t problem_bytes);

/* The plan of one run; `n` counts in a series and means nothing elsewhere. Empty without faults. */
void plan_write(const struct plan *plan, uint64_t n, char text[PLAN_TEXT_BYTES]);

/* One that fits the driver, or none at all. */
void plan_draw(struct random *random, const struct verify_facts *facts, struct plan *plan_out);

/* All faults there are, with what they mean: for --help. */
void plan_print_faults(FILE *out);

/* ---- what of a run's plan is not the kernel's ---- */

/* Values in the registry of the adapter, as `, "PreemptAlways": 1`: how many were written. */
uint32_t plan_write_settings(const char *text, FILE *out);

/*
 * Something may fail because of it. What a kernel may do to any driver at any time (cut, patch and preempt whatever it likes)
 * is no excuse: everything has to work.
 */
bool plan_is_excuse(const char *text);

/* The statement at which a client is to be killed; 0: none is. */
uint64_t plan_death(const char *text);

/*
 * The script with that death in it, to be freed: the client is one of those that are processes of their own (apart). NULL:
 * there is none at that statement, or no such statement.
 */
char *plan_kill_client(const char *script, uint64_t statement);

#endif
