/* SPDX-License-Identifier: MIT */
/*
 * verify.h - dxgk verify: a driver is put through workloads under seeds and faults, and what is wrong with it is told.
 *
 *	settings ──▶ campaign.c: seed ──▶ unit.c: workload, plan, script
 *	                  │                        │
 *	                  │            job.c ──▶ child.c: a kernel, the driver, the script
 *	                  │              │
 *	                  ◀── findings ──┘
 *	                  ▼
 *	             record.c ──▶ results.jsonl ──▶ merge.c, the next campaign
 *	                  └────▶ report_*.c: people, TAP, JUnit, SARIF; failing.c: what replay.c does again
 */
#ifndef CLI_VERIFY_VERIFY_H
#define CLI_VERIFY_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "cli/verify/plans.h"
#include "cli/verify/workload.h"

enum verify_exit {
	VERIFY_EXIT_CLEAN = 0,
	VERIFY_EXIT_BROKEN = 1,
	VERIFY_EXIT_USAGE = 2, /* also: something that cannot be read or written */
	VERIFY_EXIT_NOT_STARTED = 3,
	VERIFY_EXIT_CRASH = 4,
	VERIFY_EXIT_HANG = 5,
	VERIFY_EXIT_WARNINGS = 6,
	VERIFY_EXIT_SKIPPED = 77,
};

enum {
	VERIFY_PLANS_MOST = 32,
	VERIFY_WORKLOADS_MOST = 64,
	VERIFY_TIMEOUT_S = 30, /* of a run, which is over in a few milliseconds */
	VERIFY_MEMORY_MIB = 2048,
};

/* The largest number that JSON has exactly. */
#define VERIFY_SEED_MOST ((UINT64_C(1) << 53) - 1)

enum verify_sanitizer { SANITIZE_ADDRESS = 1, SANITIZE_UNDEFINED = 2, SANITIZE_THREAD = 4 };

struct verify_settings {
	char *driver;    /* absolute */
	char *exerciser; /* absolute; NULL: none */
	char *profile;   /* NULL: the driver and nothing else */
	char *baseline;  /* NULL: none */
	char *report;    /* the folder */
	char *command;   /* the line that was typed */
	uint64_t first_seed;
	uint64_t last_seed;
	uint64_t seconds; /* 0: as long as it takes */
	uint32_t jobs;
	uint32_t shard;
	uint32_t shard_count;
	uint32_t sanitizers; /* enum verify_sanitizer */
	uint32_t timeout_s;
	uint32_t memory_mib;
	bool is_strict;
	bool is_tap;
	const struct workload *workloads[VERIFY_WORKLOADS_MOST]; /* none: all that fit */
	uint32_t workload_count;
	struct plan plans[VERIFY_PLANS_MOST]; /* none: drawn */
	uint32_t plan_count;
};

/* Each returns an exit status. `whole_argv` is what the program was started with, to start over with a sanitizer. */
int verify_campaign(const struct verify_settings *settings);
int verify_replay(int argc, char **argv, char **whole_argv);
int verify_merge(int argc, char **argv);

/* shrink.c: makes the script of a failing run small. `folder` is DIR/failing/RULE-FINGERPRINT. */
int verify_shrink(const char *folder, uint32_t minutes);

#endif
