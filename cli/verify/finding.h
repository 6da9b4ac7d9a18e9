/* SPDX-License-Identifier: MIT */
/*
 * finding.h - what is wrong with a driver: one rule, broken at one place, however often.
 *
 * Two reports are one finding when rule and fingerprint are the same. The fingerprint is made of the rule, the function
 * of the driver's innermost frame and the entry point, so it survives a change of lines elsewhere in the driver.
 */
#ifndef CLI_VERIFY_FINDING_H
#define CLI_VERIFY_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "cli/verify/rules.h"

enum { FINGERPRINT_BYTES = 17, RULE_BYTES = 40 };

enum finding_kind {
	FINDING_RULE,  /* a rule was broken, and the run went on */
	FINDING_CRASH, /* it ended the run: a signal, a sanitizer */
	FINDING_HANG,  /* the run did not end */
};

struct finding_frame {
	char *function;
	char *file; /* "" where it is not known */
	char *image;
	uint32_t line;
};

/* A run that shows it. */
struct finding_example {
	char *workload; /* "W10" */
	uint64_t seed;
	char *plan;
	char *script;
};

struct finding {
	char rule[RULE_BYTES];
	char fingerprint[FINGERPRINT_BYTES];
	enum finding_kind kind;
	char *sentence;
	char *entry; /* "" where the driver was in none */
	struct finding_frame *frames;
	uint32_t frame_count;
	char **calls; /* oldest first */
	uint32_t call_count;
	char *tail; /* what the run said at its end; "" where nothing is worth keeping */

	uint64_t count;     /* reports */
	uint64_t run_count; /* runs that had one */
	uint64_t first_seed;
	uint64_t last_seed;
	struct finding_example example; /* the smallest there was */

	bool is_unsteady; /* its example was run again, and did not show it */

	/* From a baseline: it is known, for this reason, which is not NULL then. */
	char *known;
	bool is_expired; /* … and was to be gone by now */
};

/* Ordered by rule and fingerprint. */
struct findings {
	struct finding **items;
	uint32_t count;
	uint32_t capacity;
};

struct finding *finding_create(const char *rule, enum finding_kind kind);
void finding_destroy(struct finding *finding);

/*
 * `driver` is the file name of its image: frames in it are the driver's. `detail` tells apart what is the same otherwise; ""
 * of a rule that is about one thing.
 */
void finding_set_fingerprint(struct finding *finding, const char *driver, const char *detail);
/* Of two that meet it is chance which comes second, and is found: `other` is the other one's function. */
void finding_set_fingerprint_of_race(struct finding *finding, const char *driver,
				     const char *other);

void finding_set_example(struct finding *finding, const char *workload, uint64_t seed,
			 const char *plan, const char *script);

/* The innermost frame of the driver; NULL: there is none. */
const struct finding_frame *finding_driver_frame(const struct finding *finding, const char *driver);

enum verify_level finding_level(const struct finding *finding);

void findings_finish(struct findings *findings);
struct finding *findings_find(const struct findings *findings, const char *rule,
			      const char *fingerprint);

/*
 * Takes `finding`, which is destroyed when there is one already: then that has its counts, and its example when that is
 * smaller. Returns the one there is; *is_news_out: it has a new example.
 */
struct finding *findings_join(struct findings *findings, struct finding *finding,
			      bool *is_news_out);

/* One object of JSON, and back; NULL: that is none. Counts are no part of it. */
struct json;
void finding_write(FILE *out, const struct finding *finding);
struct finding *finding_read(const struct json *from);

/* Memory that there has to be: ends the program where it is not. */
void *needed(void *memory);
char *needed_text(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
