/* SPDX-License-Identifier: MIT */
/*
 * report.c - see report.h.
 *
 *   in:   a rule and a sentence, on the thread of the driver that broke it
 *   out:  lines in the log, counts per rule
 *
 * The stack is walked by the unwinder of libgcc (backtrace(3)) and made readable by symbols.c,
 * which is not safe for threads, so `report_lock` guards it together with the list of known.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/log.h"
#include "nt/pool.h"
#include "nt/report.h"
#include "nt/symbols.h"

enum {
	FRAMES_MAX = 48, /* walked */
	KNOWN_MAX = 64,
	SENTENCE_MAX = 576,
};

/* A report that was made: the same rule, broken at the same site, is only counted. */
struct known_report {
	enum rule rule;
	uint64_t site;
	uint64_t repeats;
	char sentence[SENTENCE_MAX];
};

static _Atomic uint64_t counts[RULE_COUNT];
static _Atomic bool are_expected[RULE_COUNT];

static void (*report_listener)(void *context, const struct nt_report_news *news);
static void *report_listener_context;

_Thread_local struct nt_entered nt_entered;
_Thread_local uint64_t nt_reports_here;

/* Guarded by report_lock. */
static struct lock report_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "nt report");
static struct known_report known[KNOWN_MAX];
static unsigned known_count;
static struct symbols symbols;

void nt_report_where(const void *address, char *text, size_t size_bytes)
{
	struct source_line line;

	symbols_load();
	lock_acquire(&report_lock);
	symbols_refresh(&symbols);
	symbols_source_line(&symbols, address, &line);
	const char *slash = line.file ? strrchr(line.file, '/') : NULL;
	if (line.file)
		snprintf(text, size_bytes, "%s (%s:%u) in %s", line.function,
			 slash ? slash + 1 : line.file, line.line, line.image);
	else
		symbols_where(&symbols, address, text, size_bytes);
	lock_release(&report_lock);
}

void nt_report_where_called(const void *return_address, char *text, size_t size_bytes)
{
	nt_report_where((const char *)return_address - 1, text, size_bytes);
}

void nt_report_source_line(const void *address, struct nt_source_line *line_out)
{
	struct source_line line;

	symbols_load();
	lock_acquire(&report_lock);
	symbols_refresh(&symbols);
	symbols_source_line(&symbols, address, &line);
	lock_release(&report_lock);
	*line_out = (struct nt_source_line){ .line = line.line };
	snprintf(line_out->function, sizeof(line_out->function), "%.127s", line.function);
	snprintf(line_out->file, sizeof(line_out->file), "%s", line.file ? line.file : "");
	snprintf(line_out->image, sizeof(line_out->image), "%s", line.image ? line.image : "");
}

/* ---- the stack ---- */

static const void *image_of(const void *address)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	/* Needs no lock of the loader, and no name. */
	struct dl_find_object found;

	return _dl_find_object((void *)(uintptr_t)address, &found) == 0 ? found.dlfo_map_start
									: NULL;
#else
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fbase : NULL;
#endif
}

/* The image this file was linked into: the kernel's, or a test's. */
static const void *host_image(void)
{
	return image_of((const void *)(uintptr_t)nt_report);
}

struct walk {
	const void *frames[FRAMES_MAX]; /* innermost first */
	uint32_t count;
};

/* Return addresses point behind the call. */
static void walk_here(struct walk *walk)
{
	void *returns[FRAMES_MAX];

	walk->count = (uint32_t)backtrace(returns, FRAMES_MAX);
	for (uint32_t i = 0; i < walk->count; i++)
		walk->frames[i] = (const char *)returns[i] - 1;
}

/*
 * From a signal handler: the frames from the fault on. Where code ran that is none, through a wild
 * pointer, nothing is known but who called it.
 */
static void walk_from_fault(struct walk *walk, const struct nt_fault *fault)
{
	void *returns[FRAMES_MAX];
	uint32_t count = (uint32_t)backtrace(returns, FRAMES_MAX);
	bool is_wild = image_of(fault->code) == NULL && fault->stack;
	const char *caller = is_wild ? *(const char *const *)fault->stack : NULL;
	uint32_t next = 0;

	while (next < count && returns[next] != fault->code && (!caller || returns[next] != caller))
		next++;
	next += next < count && returns[next] == fault->code;
	walk->frames[0] = fault->code;
	walk->count = 1;
	if (is_wild && next == count)
		walk->frames[walk->count++] = caller - 1;
	for (uint32_t i = next; i < count && walk->count < FRAMES_MAX; i++)
		walk->frames[walk->count++] = (const char *)returns[i] - 1;
}

/*
 * A driver is entered from our image and calls back into it, so its frames are the first ones that
 * are neither ours nor the C library's, which may start us, and have one of ours further out. That
 * one is shown to tell how it was entered. Without any, all frames are shown.
 */
static void stack_of_driver(const struct walk *walk, struct nt_stack *stack)
{
	const void *host = host_image();
	const void *libc = image_of((const void *)(uintptr_t)backtrace);
	uint32_t outermost = 0;
	uint32_t first = 0;

	for (uint32_t i = 0; i < walk->count; i++) {
		if (image_of(walk->frames[i]) == host)
			outermost = i;
	}
	while (first < outermost &&
	       (image_of(walk->frames[first]) == host || image_of(walk->frames[first]) == libc))
		first++;
	stack->has_driver = first < outermost;
	if (!stack->has_driver)
		first = 0;
	stack->count = 0;
	for (uint32_t i = first; i < walk->count && stack->count < NT_STACK_FRAMES; i++) {
		stack->frames[stack->count++] = walk->frames[i];
		if (stack->has_driver && image_of(walk->frames[i]) == host)
			break;
	}
}

void nt_stack_take(struct nt_stack *stack)
{
	struct walk walk;

	walk_here(&walk);
	stack_of_driver(&walk, stack);
}

void nt_stack_take_fault(struct nt_stack *stack, const struct nt_fault *fault)
{
	struct walk walk;

	walk_from_fault(&walk, fault);
	stack_of_driver(&walk, stack);
}

/* One place in the source: the driver's frame, and which of our routines it called. */
static uint64_t site_of(const struct walk *walk, const struct nt_stack *stack)
{
	uint64_t site = 0;

	for (uint32_t i = 0; i < walk->count; i++) {
		site = site * 31 + (uint64_t)(uintptr_t)walk->frames[i];
		if (stack->has_driver && walk->frames[i] == stack->frames[0])
			break;
	}
	return site;
}

void nt_stack_print(struct symbols *readable, const struct nt_stack *stack)
{
	char text[512];

	for (uint32_t i = 0; i < stack->count; i++) {
		symbols_where(readable, stack->frames[i], text, sizeof(text));
		log_warn("  at %s", text);
	}
}

/* An answer is judged when the driver is gone from the stack: then it tells who gave it. */
static void print_routine(struct symbols *readable, const void *routine)
{
	char text[512];

	if (!routine)
		return;
	symbols_where(readable, routine, text, sizeof(text));
	log_warn("  after %s", text);
}

/* ---- values that give away where they come from ---- */

static bool says_any(const char *sentence, const char *const spellings[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcasestr(sentence, spellings[i]))
			return true;
	}
	return false;
}

void nt_report_explain_values(char *sentence, size_t size_bytes)
{
	/* Hexadecimal of either width; decimal, of 32 and 64 bits, without a sign and with one. */
	static const char *const fresh[] = { "cdcdcdcd", "3452816845", "14829735431805717965",
					     "-842150451", "-3617008641903833651" };
	static const char *const freed[] = { "dddddddd", "3722304989", "15987178197214944733",
					     "-572662307", "-2459565876494606883" };
	_Static_assert(POOL_FRESH_BYTE == 0xcd && POOL_FREED_BYTE == 0xdd, "spelt out above");
	size_t used = strlen(sentence);

	if (says_any(sentence, fresh, ARRAY_SIZE(fresh)))
		snprintf(sentence + used, size_bytes - used,
			 "; 0xcd in every byte is uninitialised pool");
	else if (says_any(sentence, freed, ARRAY_SIZE(freed)))
		snprintf(sentence + used, size_bytes - used, "; 0xdd in every byte is freed pool");
}

/* ---- reports ---- */

/* NULL when there is no room to remember it. */
static struct known_report *known_find_locked(enum rule rule, uint64_t site, bool *is_new_out)
{
	lock_assert_held(&report_lock);

	for (unsigned i = 0; i < known_count; i++) {
		if (known[i].rule == rule && known[i].site == site) {
			*is_new_out = false;
			return &known[i];
		}
	}
	*is_new_out = true;
	if (known_count == KNOWN_MAX)
		return NULL;
	known[known_count] = (struct known_report){ .rule = rule, .site = site };
	return &known[known_count++];
}

/* `stack` is where it happened; NULL: here. */
PRINTF_LIKE(4, 0)
static void report(enum rule rule, uint64_t subject, const struct nt_stack *given,
		   const char *format, va_list arguments)
{
	char sentence[SENTENCE_MAX];
	/* A stack that is given says all that is known of the place, also when it is empty. */
	const void *routine = given ? NULL : nt_entered.routine;
	struct nt_stack stack;
	struct walk walk;
	bool is_new;

	if (atomic_load_explicit(&are_expected[rule], memory_order_relaxed))
		return;
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	nt_report_explain_values(sentence, sizeof(sentence));
	atomic_fetch_add_explicit(&counts[rule], 1, memory_order_relaxed);
	nt_reports_here++;
	if (given) {
		stack = *given;
		memcpy(walk.frames, stack.frames, sizeof(stack.frames));
		walk.count = stack.count;
	} else {
		walk_here(&walk);
		stack_of_driver(&walk, &stack);
	}
	symbols_load();

	uint64_t site = site_of(&walk, &stack) + subject;
	lock_acquire(&report_lock);
	struct known_report *report = known_find_locked(rule, site, &is_new);
	if (is_new) {
		if (report)
			snprintf(report->sentence, sizeof(report->sentence), "%s", sentence);
		log_warn("driver: %s (%s)", sentence, rule_id(rule));
		symbols_refresh(&symbols);
		if (!stack.has_driver)
			print_routine(&symbols, routine);
		nt_stack_print(&symbols, &stack);
	} else {
		report->repeats++;
	}
	lock_release(&report_lock);
	if (report_listener)
		report_listener(report_listener_context,
				&(struct nt_report_news){
					.rule = rule,
					.sentence = sentence,
					.site = site,
					.is_repeated = !is_new,
					.stack = &stack,
					.routine = stack.has_driver ? NULL : routine,
				});
}

void nt_report_expect(enum rule rule)
{
	atomic_store(&are_expected[rule], true);
}

/* In a copy of the process that crashed: nobody else runs, and whoever holds a lock never lets go. */
void nt_report_tell_crash(const char *sentence, const struct nt_stack *stack)
{
	if (report_listener)
		report_listener(report_listener_context, &(struct nt_report_news){
								 .rule = RULE_DDI_CRASH,
								 .sentence = sentence,
								 .is_crash = true,
								 .stack = stack,
							 });
}

void nt_report(enum rule rule, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(rule, 0, NULL, format, arguments);
	va_end(arguments);
}

void nt_report_about(enum rule rule, uint64_t subject, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(rule, subject, NULL, format, arguments);
	va_end(arguments);
}

void nt_report_from(enum rule rule, uint64_t subject, const struct nt_stack *stack,
		    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(rule, subject, stack, format, arguments);
	va_end(arguments);
}

uint64_t nt_report_count(enum rule rule)
{
	return atomic_load_explicit(&counts[rule], memory_order_relaxed);
}

uint64_t nt_report_count_of(const char *id)
{
	for (unsigned i = 0; i < RULE_COUNT; i++) {
		if (strcmp(rule_id((enum rule)i), id) == 0)
			return nt_report_count((enum rule)i);
	}
	return 0;
}

void nt_report_listen(void (*listener)(void *context, const struct nt_report_news *news),
		      void *context)
{
	report_listener_context = context;
	report_listener = listener;
}

void nt_report_summarize(void)
{
	lock_acquire(&report_lock);
	for (unsigned i = 0; i < known_count; i++) {
		if (known[i].repeats != 0)
			log_warn("driver: %llu more times: %s (%s)",
				 (unsigned long long)known[i].repeats, known[i].sentence,
				 rule_id(known[i].rule));
	}
	known_count = 0;
	lock_release(&report_lock);
}

void nt_report_reset(void)
{
	lock_acquire(&report_lock);
	known_count = 0;
	symbols_close(&symbols);
	lock_release(&report_lock);
	for (unsigned rule = 0; rule < RULE_COUNT; rule++)
		atomic_store_explicit(&counts[rule], 0, memory_order_relaxed);
}
