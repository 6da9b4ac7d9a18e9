/* SPDX-License-Identifier: MIT */
/*
 * plan.h - what is made to fail while a driver is verified, as text and back.
 *
 *	memory-nth 17; late-dpc 3ms
 *
 * A plan is a row of faults, each a word and what belongs to it. The text is the same in DXGK_FAULT, on the command line and
 * in reports: with the seed it repeats a run. Pure: no thread, no kernel; the command line reads plans with it, too.
 */
#ifndef VERIFY_PLAN_H
#define VERIFY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

enum fault_kind {
#define FAULT(NAME, word, operand, agent, meaning) FAULT_##NAME,
#include "verify/plan.def"
#undef FAULT
	FAULT_COUNT
};

enum fault_operand {
	FAULT_OPERAND_NONE,
	FAULT_OPERAND_NTH,      /* 1, 2, … */
	FAULT_OPERAND_PERCENT,  /* 1 to 100 */
	FAULT_OPERAND_TIME,     /* 50us, 3ms, 2s */
	FAULT_OPERAND_CALLBACK, /* DxgkCb…, or any, and 1, 2, … */
};

/* Who carries it out. */
enum fault_agent {
	FAULT_BY_KERNEL,  /* DXGK_FAULT: between kernel and driver (watch_faults.c) */
	FAULT_BY_SETTING, /* a value in the registry of the adapter */
	FAULT_BY_CLIENTS, /* what the clients of the workload do */
};

struct fault_info {
	const char *word;
	enum fault_operand operand;
	enum fault_agent agent;
	const char *meaning; /* one sentence, for people */
};
extern const struct fault_info fault_infos[FAULT_COUNT];

enum { FAULT_NAME_MAX = 39, PLAN_FAULTS_MAX = 8, PLAN_TEXT_MAX = 256 };

struct fault {
	enum fault_kind kind;
	uint64_t number;               /* n, percent, nanoseconds; 0: none */
	char name[FAULT_NAME_MAX + 1]; /* of a callback; empty: any */
};

struct plan_of_faults {
	struct fault faults[PLAN_FAULTS_MAX];
	uint32_t count;
};

/*
 * What of a plan is in the registry of the adapter: "PreemptAlways" = 1, "Defect" = "hang", "DefectAt" = 3. At most two values each.
 * Returns how many there are.
 */
struct fault_setting {
	const char *name;
	const char *word; /* NULL: a number */
	uint32_t number;
};
enum { FAULT_SETTINGS_MAX = 2 };
uint32_t fault_settings(const struct fault *fault, struct fault_setting settings[]);

/* False, and what was not understood in `problem`, one sentence. An empty text is a plan without faults. */
MUST_CHECK bool fault_plan_read(const char *text, struct plan_of_faults *plan_out, char *problem,
				size_t problem_bytes);

/* Always what fault_plan_read() understands. */
void fault_plan_write(const struct plan_of_faults *plan, char *text, size_t size_bytes);

#endif
