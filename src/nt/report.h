/* SPDX-License-Identifier: MIT */
/*
 * report.h - a driver broke a rule: say which, and where.
 *
 * A report is one warning, "driver: <sentence> (<RULE-ID>)", and the driver's call stack under it.
 * It changes nothing else: the routine that noticed goes on in the way that keeps the process
 * alive. The same rule broken again at the same place is counted, not printed.
 *
 * Rules are those of base/rules.def; docs/rules.md explains them.
 */
#ifndef NT_REPORT_H
#define NT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/refusal.h"

/* The sentence opens with the routine that was misused: "ExFreePool was given …". */
void nt_report(enum rule rule, const char *format, ...) PRINTF_LIKE(2, 3);

/*
 * The same for one of several subjects at the same place, such as a tag: each is printed once. Any
 * value that tells them apart.
 */
void nt_report_about(enum rule rule, uint64_t subject, const char *format, ...) PRINTF_LIKE(3, 4);

/*
 * Frames of code, innermost first, as addresses within the calls: those of the driver, and the one
 * of ours it was entered from. All there are when none is a driver's.
 */
enum { NT_STACK_FRAMES = 16 };
struct nt_stack {
	const void *frames[NT_STACK_FRAMES];
	uint32_t count;
	bool has_driver;
};
void nt_stack_take(struct nt_stack *stack);

/* The same in a signal handler, from what the handler was told on. */
struct nt_fault {
	const void *code;  /* the instruction */
	const void *stack; /* the stack pointer; NULL when it cannot be read */
};
void nt_stack_take_fault(struct nt_stack *stack, const struct nt_fault *fault);

/* "  at …" lines. */
struct symbols;
void nt_stack_print(struct symbols *readable, const struct nt_stack *stack);

/* A report about what happened elsewhere or earlier. */
void nt_report_from(enum rule rule, uint64_t subject, const struct nt_stack *stack,
		    const char *format, ...) PRINTF_LIKE(4, 5);

/*
 * The routine of a driver that the calling thread was in last, NULL before the first, which a report
 * about an answer names; and whether the driver has printed something since it was entered (debug.h).
 * Whoever enters a driver sets both, in one piece: that is done all the time.
 */
struct nt_entered {
	const void *routine;
	bool has_said;
};
extern _Thread_local struct nt_entered nt_entered __attribute__((visibility("hidden")));

/* Says of a sentence with a number out of fresh or freed pool memory that this is where it is from.
 */
void nt_report_explain_values(char *sentence, size_t size_bytes);

/* How many reports the calling thread has made, in all. */
extern _Thread_local uint64_t nt_reports_here __attribute__((visibility("hidden")));

/* How often the rule was broken since the process began, or since nt_report_reset(). */
uint64_t nt_report_count(enum rule rule);
/* The same by its id; 0 for one that there is not. */
uint64_t nt_report_count_of(const char *id);

/* What there is to say about one report. */
struct nt_report_news {
	enum rule rule;
	const char *sentence;
	uint64_t site; /* the same for each report of the rule at this place in the driver */
	bool is_repeated;
	bool is_crash;                /* told by a copy of the process, which ends then */
	const struct nt_stack *stack; /* innermost first; of the driver when it has one */
	const void *routine;          /* of the driver, whose answer it is about; else NULL */
};

/* Told of every report, also of repeated ones, on the reporting thread. NULL: nobody. */
void nt_report_listen(void (*listener)(void *context, const struct nt_report_news *news),
		      void *context);

/* From now on reports of this rule are not made: what brings them about is done on purpose. */
void nt_report_expect(enum rule rule);

/* For who tells of a crash. */
void nt_report_tell_crash(const char *sentence, const struct nt_stack *stack);

/* What stands at an address of code, in parts; empty, and 0, as far as it is not known. */
struct nt_source_line {
	char function[128];
	char file[192];
	char image[64];
	uint32_t line;
};
void nt_report_source_line(const void *address, struct nt_source_line *line_out);

/* "function (file.c:12) in driver.so", as much of it as is known; for sentences, of which the folder would take the room. */
void nt_report_where(const void *address, char *text, size_t size_bytes);

/* The same of a call, by the address that it returns to: that may be on the next line. */
void nt_report_where_called(const void *return_address, char *text, size_t size_bytes);

/* Prints how often each report was repeated, and starts counting anew. At driver unload. */
void nt_report_summarize(void);

/* As if nothing had been reported yet; gives back the symbol tables. */
void nt_report_reset(void);

#endif
