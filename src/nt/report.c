/*
 * report.c - see report.h.
 *
 *   in:   a rule and a sentence, on the thread of the driver that broke it
 *   out:  lines in the log, counts per rule
 *
 * The stack is walked by the unwinder of libgcc (backtrace(3)) and made readable by libdw, which
 * looks at the files mapped into this process. libdw keeps a table per process and is not safe for
 * threads, so `report_lock` guards it together with the list of places.
 */
#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <execinfo.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/log.h"
#include "nt/report.h"

enum {
	FRAMES_MAX = 48,   /* walked */
	FRAMES_SHOWN = 16, /* printed */
	PLACES_MAX = 64,
	SENTENCE_MAX = 400,
};

/* Where a rule was broken. */
struct place {
	enum rule rule;
	uint64_t site;
	uint64_t repeats;
	char sentence[SENTENCE_MAX];
};

static _Atomic uint64_t counts[RULE_COUNT];

static void (*report_listener)(void *context, enum rule rule, const char *sentence);
static void *report_listener_context;

/* Guarded by report_lock. */
static struct lock report_lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "nt report");
static struct place places[PLACES_MAX];
static unsigned place_count;
static Dwfl *symbols;

static const Dwfl_Callbacks symbol_callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_build_id_find_debuginfo, /* never asks a server */
};

/* ---- which image an address belongs to ---- */

static const void *image_of(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* The image this file was linked into: the kernel's, or a test's. */
static const void *host_image(void)
{
	return image_of((const void *)(uintptr_t)nt_report);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Images come and go with drivers, so the table is brought up to date before it is used. */
static bool symbols_refresh_locked(void)
{
	lock_assert_held(&report_lock);

	if (!symbols)
		symbols = dwfl_begin(&symbol_callbacks);
	if (!symbols)
		return false;
	dwfl_report_begin(symbols);
	int failed = dwfl_linux_proc_report(symbols, getpid());
	return dwfl_report_end(symbols, NULL, NULL) == 0 && failed == 0;
}

/* What the loader knows: exported names only, and no lines. */
static void where_without_symbols(const void *address, char *text, size_t size_bytes)
{
	Dl_info info;

	if (!dladdr(address, &info) || !info.dli_fname)
		snprintf(text, size_bytes, "%p", address);
	else if (info.dli_sname)
		snprintf(text, size_bytes, "%s in %s", info.dli_sname, base_name(info.dli_fname));
	else
		snprintf(text, size_bytes, "%p in %s", address, base_name(info.dli_fname));
}

/* NULL when it is not known. */
static const char *source_of(Dwfl_Module *module, Dwarf_Addr address, int *line_out)
{
	Dwfl_Line *known = dwfl_module_getsrc(module, address);
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	if (known)
		return dwfl_lineinfo(known, NULL, line_out, NULL, NULL, NULL);

	/* clang writes no index of addresses: ask every unit. */
	while ((unit = dwfl_module_nextcu(module, unit, &bias)) != NULL) {
		if (dwarf_haspc(unit, address - bias) <= 0)
			continue;
		Dwarf_Line *line = dwarf_getsrc_die(unit, address - bias);
		if (line && dwarf_lineno(line, line_out) == 0)
			return dwarf_linesrc(line, NULL, NULL);
	}
	return NULL;
}

static void where_locked(const void *address, bool has_symbols, char *text, size_t size_bytes)
{
	Dwarf_Addr wanted = (Dwarf_Addr)(uintptr_t)address;
	Dwfl_Module *module = has_symbols ? dwfl_addrmodule(symbols, wanted) : NULL;
	const char *function = module ? dwfl_module_addrname(module, wanted) : NULL;

	if (!function) {
		where_without_symbols(address, text, size_bytes);
		return;
	}
	const char *image = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	int line = 0;
	const char *file = source_of(module, wanted, &line);
	if (file)
		snprintf(text, size_bytes, "%s (%s:%d) in %s", function, file, line,
			 base_name(image));
	else
		snprintf(text, size_bytes, "%s in %s", function, base_name(image));
}

void nt_report_where(const void *address, char *text, size_t size_bytes)
{
	lock_acquire(&report_lock);
	where_locked(address, symbols_refresh_locked(), text, size_bytes);
	lock_release(&report_lock);
}

/* ---- the stack ---- */

struct stack {
	void *frames[FRAMES_MAX]; /* return addresses, innermost first */
	int count;
	int first; /* to be shown; the frames before it are ours */
	bool has_driver;
};

/*
 * A driver is entered from our image and calls back into it, so its frames are the first ones that
 * are not ours and have one of ours further out. Without any, all frames are shown.
 */
static void stack_walk(struct stack *stack)
{
	const void *host = host_image();
	int outermost = 0;

	stack->count = backtrace(stack->frames, FRAMES_MAX);
	for (int i = 0; i < stack->count; i++) {
		if (image_of(stack->frames[i]) == host)
			outermost = i;
	}
	stack->first = 0;
	while (stack->first < outermost && image_of(stack->frames[stack->first]) == host)
		stack->first++;
	stack->has_driver = stack->first < outermost;
	if (!stack->has_driver)
		stack->first = 0;
}

/* One place in the source: the driver's return address, and which of our routines it called. */
static uint64_t stack_site(const struct stack *stack)
{
	int last = stack->has_driver ? stack->first : stack->count - 1;
	uint64_t site = 0;

	for (int i = 0; i <= last; i++)
		site = site * 31 + (uint64_t)(uintptr_t)stack->frames[i];
	return site;
}

static void stack_print_locked(const struct stack *stack)
{
	const void *host = host_image();
	bool has_symbols = symbols_refresh_locked();
	char text[512];

	for (int i = stack->first; i < stack->count && i < stack->first + FRAMES_SHOWN; i++) {
		/* Return addresses point behind the call. */
		const char *address = (const char *)stack->frames[i] - 1;
		where_locked(address, has_symbols, text, sizeof(text));
		log_warn("  at %s", text);
		/* One frame of ours tells how the driver was entered. */
		if (stack->has_driver && image_of(address) == host)
			break;
	}
}

/* ---- reports ---- */

/* NULL when there is no room to remember it. */
static struct place *place_find_locked(enum rule rule, uint64_t site, bool *is_new_out)
{
	lock_assert_held(&report_lock);

	for (unsigned i = 0; i < place_count; i++) {
		if (places[i].rule == rule && places[i].site == site) {
			*is_new_out = false;
			return &places[i];
		}
	}
	*is_new_out = true;
	if (place_count == PLACES_MAX)
		return NULL;
	places[place_count] = (struct place){ .rule = rule, .site = site };
	return &places[place_count++];
}

PRINTF_LIKE(3, 0)
static void report(enum rule rule, uint64_t subject, const char *format, va_list arguments)
{
	char sentence[SENTENCE_MAX];
	struct stack stack;
	bool is_new;

	vsnprintf(sentence, sizeof(sentence), format, arguments);
	atomic_fetch_add_explicit(&counts[rule], 1, memory_order_relaxed);
	if (report_listener)
		report_listener(report_listener_context, rule, sentence);
	stack_walk(&stack);

	lock_acquire(&report_lock);
	struct place *place = place_find_locked(rule, stack_site(&stack) + subject, &is_new);
	if (is_new) {
		if (place)
			snprintf(place->sentence, sizeof(place->sentence), "%s", sentence);
		log_warn("driver: %s (%s)", sentence, rule_id(rule));
		stack_print_locked(&stack);
	} else {
		place->repeats++;
	}
	lock_release(&report_lock);
}

void nt_report(enum rule rule, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(rule, 0, format, arguments);
	va_end(arguments);
}

void nt_report_about(enum rule rule, uint64_t subject, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(rule, subject, format, arguments);
	va_end(arguments);
}

uint64_t nt_report_count(enum rule rule)
{
	return atomic_load_explicit(&counts[rule], memory_order_relaxed);
}

void nt_report_listen(void (*listener)(void *context, enum rule rule, const char *sentence),
		      void *context)
{
	report_listener_context = context;
	report_listener = listener;
}

void nt_report_summarize(void)
{
	lock_acquire(&report_lock);
	for (unsigned i = 0; i < place_count; i++) {
		if (places[i].repeats != 0)
			log_warn("driver: %llu more times: %s (%s)",
				 (unsigned long long)places[i].repeats, places[i].sentence,
				 rule_id(places[i].rule));
	}
	place_count = 0;
	lock_release(&report_lock);
}

void nt_report_reset(void)
{
	lock_acquire(&report_lock);
	place_count = 0;
	if (symbols)
		dwfl_end(symbols);
	symbols = NULL;
	lock_release(&report_lock);
	for (unsigned rule = 0; rule < RULE_COUNT; rule++)
		atomic_store_explicit(&counts[rule], 0, memory_order_relaxed);
}
