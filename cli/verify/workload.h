/* SPDX-License-Identifier: MIT */
/*
 * workload.h - what clients are made to do: a generator that turns a seed into a script (dxgk-run(5)).
 *
 * One file, or one part of a file, is one workload; workloads.def lists them. The same seed and the same facts give the
 * same text, so everything that is drawn is drawn from `random`. A script expects of each statement what the contract
 * says; where the driver may refuse, it says `try`.
 */
#ifndef CLI_VERIFY_WORKLOAD_H
#define CLI_VERIFY_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/random.h"
#include "cli/verify/facts.h"

struct workload {
	const char *id;   /* "W10" */
	const char *name; /* "make-resident" */
	const char *what; /* one line for people */
	uint32_t needs;   /* enum verify_ability */
	const char *plan; /* faults that belong to it; NULL: none do */
	uint32_t weight;  /* how often it is drawn; 0: only when it is asked for */
	void (*generate)(FILE *script, struct random *random, const struct verify_facts *facts);
};

#define WORKLOAD(name) extern const struct workload workload_##name;
#include "cli/verify/workloads.def"
#undef WORKLOAD

extern const struct workload *const workloads[];
extern const size_t workload_count;

/* By its id or its name, the first `length` characters of `word`; NULL: there is none. */
const struct workload *workload_find(const char *word, size_t length);

/* Whether a driver of which this is known can do it. */
static inline bool workload_fits(const struct workload *workload, const struct verify_facts *facts)
{
	return (workload->needs & facts->abilities) == workload->needs;
}

/* The script of a seed, to be freed; NULL when there is no memory. */
char *workload_script(const struct workload *workload, uint64_t seed,
		      const struct verify_facts *facts);

void workload_print_all(FILE *out);

#endif
