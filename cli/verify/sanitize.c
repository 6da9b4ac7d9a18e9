/* SPDX-License-Identifier: MIT */
/*
 * sanitize.c - see sanitize.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/refusal.h"
#include "base/sanitizers.h"
#include "cli/verify/sanitize.h"
#include "cli/verify/verify.h"

static const struct {
	const char *name;
	uint32_t sanitizer;
	const char *
		trace; /* what it leaves in a library: the name of a function that it wants to be there */
} names[] = {
	{ "address", SANITIZE_ADDRESS, "__asan_init" },
	{ "undefined", SANITIZE_UNDEFINED, "__ubsan_handle_" },
	{ "thread", SANITIZE_THREAD, "__tsan_init" },
};

/* What this program itself was built with. */
#define OWN_SANITIZERS                                                                             \
	(IS_ADDRESS_SANITIZED  ? SANITIZE_ADDRESS | SANITIZE_UNDEFINED                             \
	 : IS_THREAD_SANITIZED ? SANITIZE_THREAD                                                   \
			       : 0)

/* Set for the program that was started over. */
static const char marker[] = "DXGK_SANITIZED";

uint32_t sanitize_read(const char *text)
{
	uint32_t sanitizers = 0;

	do {
		size_t length = strcspn(text, ",");
		uint32_t one = 0;

		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			if (strlen(names[i].name) == length &&
			    strncmp(names[i].name, text, length) == 0)
				one = names[i].sanitizer;
		}
		if (one == 0) {
			fprintf(stderr,
				"dxgk verify: --sanitize: \"%.*s\" is none of address, undefined "
				"and thread\n",
				(int)length, text);
			return 0;
		}
		sanitizers |= one;
		text += length + (text[length] == ',');
	} while (*text);
	if ((sanitizers & SANITIZE_THREAD) && sanitizers != SANITIZE_THREAD) {
		fputs("dxgk verify: --sanitize: thread goes with no other\n", stderr);
		return 0;
	}
	return sanitizers;
}

bool sanitize_is_built(const char *driver, uint32_t sanitizers)
{
	int file = sanitizers ? open(driver, O_RDONLY | O_CLOEXEC) : -1;
	struct stat info;
	bool is_built = true;

	if (file < 0)
		return true;
	void *bytes = fstat(file, &info) == 0
			      ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0)
			      : MAP_FAILED;
	/* What is no file of bytes is told when it is to be loaded. */
	for (size_t i = 0; bytes != MAP_FAILED && i < ARRAY_SIZE(names); i++) {
		if (!(sanitizers & names[i].sanitizer) ||
		    memmem(bytes, (size_t)info.st_size, names[i].trace, strlen(names[i].trace)))
			continue;
		fprintf(stderr, "dxgk verify: --sanitize: %s was not built with -fsanitize=%s\n",
			driver, names[i].name);
		is_built = false;
	}
	if (bytes != MAP_FAILED)
		munmap(bytes, (size_t)info.st_size);
	close(file);
	return is_built;
}

/* ---- the host ---- */

/*
 * The library of the thread sanitizer expects a program that is built with it, and whose first act is to call it: before the constructors
 * of the libraries. If it is there, we do.
 */
extern __attribute__((weak)) void __tsan_init(void);

static void begin_thread_sanitizer(void)
{
	if (__tsan_init)
		__tsan_init();
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const first_act)(void) = begin_thread_sanitizer;

static const char *library_of(uint32_t sanitizers)
{
	if (sanitizers & SANITIZE_THREAD)
		return "libclang_rt.tsan-x86_64.so";
	/* That of the address sanitizer has what undefined behaviour needs, too. */
	return sanitizers & SANITIZE_ADDRESS ? "libclang_rt.asan-x86_64.so"
					     : "libclang_rt.ubsan_standalone-x86_64.so";
}

/* The first line that a program prints; NULL when there is none. To be freed. */
static char *first_line_of(char *const arguments[])
{
	posix_spawn_file_actions_t files;
	char line[4096] = "";
	int channel[2];
	pid_t process;

	if (pipe2(channel, O_CLOEXEC) != 0)
		return NULL;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, channel[1], STDOUT_FILENO);
	int error = posix_spawnp(&process, arguments[0], &files, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&files);
	close(channel[1]);
	FILE *out = fdopen(channel[0], "r");
	if (error == 0 && out && !fgets(line, sizeof(line), out))
		line[0] = '\0';
	if (out)
		fclose(out);
	while (error == 0 && waitpid(process, NULL, 0) < 0 && errno == EINTR)
		;
	line[strcspn(line, "\n")] = '\0';
	return line[0] ? needed_text("%s", line) : NULL;
}

static char *find_library(uint32_t sanitizers)
{
	const char *chosen = getenv("OPENDXGK_CLANG");
	char *compiler = needed_text("%s", chosen && *chosen ? chosen : "clang");
	char *question = needed_text("-print-file-name=%s", library_of(sanitizers));
	char *path = first_line_of((char *[]){ compiler, question, NULL });

	/* A name that clang does not know comes back as it is. */
	if (!path || *path != '/' || access(path, R_OK) != 0) {
		fprintf(stderr,
			"dxgk verify: --sanitize needs %s of the clang that the driver was built "
			"with, and %s has none (Debian: libclang-rt-14-dev)\n",
			library_of(sanitizers), compiler);
		free(path);
		path = NULL;
	}
	free(question);
	free(compiler);
	return path;
}

/*
 * Crashes are told by the kernel, with what the driver was called with, and on the stack they happened on, since that takes more
 * room than a sanitizer gives a handler; leaks by the rules of the pool. A driver that asks for too much is refused, not ended.
 * Frames come in a form that can be taken apart.
 */
static void set_options(void)
{
	static const char frames[] = "stack_trace_format=\"    #%n|%f|%s|%l|%m|\"";
	static const char signals[] = "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:"
				      "handle_sigill=0:handle_abort=0:use_sigaltstack=0:"
				      "allocator_may_return_null=1";
	char *address =
		needed_text("detect_leaks=0:verify_asan_link_order=0:%s:%s", signals, frames);
	char *undefined = needed_text("print_stacktrace=1:%s:%s", signals, frames);
	char *thread = needed_text("report_signal_unsafe=0:detect_deadlocks=0:atexit_sleep_ms=0:"
				   "ignore_noninstrumented_modules=1:%s:%s",
				   signals, frames);

	setenv("ASAN_OPTIONS", address, 1);
	setenv("UBSAN_OPTIONS", undefined, 1);
	setenv("TSAN_OPTIONS", thread, 1);
	free(address);
	free(undefined);
	free(thread);
}

/*
 * A sanitizer stands between a program and dlopen(), which then does not look where the program says (RUNPATH). So the folder of the
 * kernel's library goes where everybody looks.
 */
static void set_library_path(void)
{
	void *library = dlopen("libdxgk.so.0", RTLD_LAZY | RTLD_LOCAL);
	void *known = library ? dlsym(library, "dxgk_embed") : NULL;
	const char *before = getenv("LD_LIBRARY_PATH");
	Dl_info info;

	if (!known || !dladdr(known, &info) || !strrchr(info.dli_fname, '/'))
		return;
	char *path =
		needed_text("%.*s%s%s", (int)(strrchr(info.dli_fname, '/') - info.dli_fname),
			    info.dli_fname, before && *before ? ":" : "", before ? before : "");
	setenv("LD_LIBRARY_PATH", path, 1);
	free(path);
}

bool sanitize_host(uint32_t sanitizers, char **argv)
{
	if (sanitizers == 0)
		return true;
	if (getenv(marker)) {
		/* The reader of symbols that it starts is no host, and would not stand it. */
		if (sanitizers & SANITIZE_THREAD)
			unsetenv("LD_PRELOAD");
		return true;
	}
	if (OWN_SANITIZERS != 0 && (sanitizers & ~(uint32_t)OWN_SANITIZERS) != 0) {
		fputs("dxgk verify: this program was built with another sanitizer itself\n",
		      stderr);
		return false;
	}
	if (OWN_SANITIZERS == 0) {
		char *path = find_library(sanitizers);

		if (!path)
			return false;
		setenv("LD_PRELOAD", path, 1);
		free(path);
		set_library_path();
	}
	set_options();
	setenv(marker, "1", 1);
	/* Their shadow memory has its place, and chance may put something else there. */
	personality(ADDR_NO_RANDOMIZE);
	execv("/proc/self/exe", argv);
	fprintf(stderr, "dxgk verify: cannot start over: %s\n", strerror(errno));
	return false;
}

bool sanitize_is_seeded(uint32_t sanitizers)
{
	return OWN_SANITIZERS != SANITIZE_THREAD || !(sanitizers & SANITIZE_THREAD);
}

/* ---- reports ---- */

struct reading {
	const char *driver;
	struct findings *findings;
	struct finding *now; /* the report that is being read; NULL: none */
	bool has_stack;      /* its first one is over */
	bool is_other_next;  /* the next one is of the other access of a race */
	char *other;         /* the function of that one; NULL: it is no race */
};

static void set_text(char **text, char *by)
{
	free(*text);
	*text = by;
}

static void report_end(struct reading *reading)
{
	bool is_news;

	if (!reading->now)
		return;
	if (reading->other)
		finding_set_fingerprint_of_race(reading->now, reading->driver, reading->other);
	else
		finding_set_fingerprint(reading->now, reading->driver, reading->now->sentence);
	set_text(&reading->other, NULL);
	struct finding *kept = findings_join(reading->findings, reading->now, &is_news);
	kept->run_count = 1;
	reading->now = NULL;
}

static void report_begin(struct reading *reading, char *sentence)
{
	report_end(reading);
	reading->now = finding_create(rule_id(RULE_DDI_SANITIZER), FINDING_CRASH);
	reading->now->frames = needed(calloc(1, sizeof(*reading->now->frames)));
	reading->has_stack = reading->is_other_next = false;
	set_text(&reading->now->sentence, sentence);
}

static char *field(const char **at)
{
	size_t length = strcspn(*at, "|");
	char *text = needed_text("%.*s", (int)length, *at);

	*at += length + ((*at)[length] == '|');
	return text;
}

/* "    #0|Function|/path/file.c|12|/path/driver.so|", as set_options() asks for it. */
static void add_frame(struct reading *reading, const char *line)
{
	struct finding *finding = reading->now;
	const char *at = strchr(line, '|') + 1;

	finding->frames = needed(
		realloc(finding->frames, (finding->frame_count + 1) * sizeof(*finding->frames)));
	struct finding_frame *frame = &finding->frames[finding->frame_count++];
	frame->function = field(&at);
	frame->file = field(&at);
	char *number = field(&at);
	char *image = field(&at);
	const char *slash = strrchr(image, '/');
	frame->line = (uint32_t)strtoul(number, NULL, 10);
	frame->image = needed_text("%s", slash ? slash + 1 : image);
	free(number);
	free(image);
}

/* A race is between two: who the other is belongs to the sentence. */
static void add_other(struct reading *reading, const char *line)
{
	const char *at = strchr(line, '|') + 1;
	char *function = field(&at);
	char *file = field(&at);
	char *number = field(&at);
	const char *slash = strrchr(file, '/');

	set_text(&reading->now->sentence, needed_text("%s with %s (%s:%s)", reading->now->sentence,
						      function, slash ? slash + 1 : file, number));
	set_text(&reading->other, function);
	free(file);
	free(number);
	reading->is_other_next = false;
}

/* What it is, without what differs from run to run. */
static char *cut(const char *text, const char *before)
{
	const char *end = strstr(text, before);

	return needed_text("%.*s", (int)(end ? (size_t)(end - text) : strlen(text)), text);
}

static void read_line(struct reading *reading, const char *line)
{
	const char *address = strstr(line, "ERROR: AddressSanitizer: ");
	const char *thread = strstr(line, "WARNING: ThreadSanitizer: ");
	const char *undefined = strstr(line, ": runtime error: ");
	const char *start = line + strspn(line, " ");
	bool is_frame = *start == '#' && strchr(start, '|');

	if (address)
		report_begin(reading, cut(address + strlen("ERROR: "), " on "));
	else if (thread)
		report_begin(reading, cut(thread + strlen("WARNING: "), " (pid="));
	else if (undefined)
		report_begin(reading, needed_text("UndefinedBehaviorSanitizer: %s",
						  undefined + strlen(": runtime error: ")));
	else if (!reading->now)
		return;
	else if (strncmp(line, "SUMMARY: ", strlen("SUMMARY: ")) == 0)
		report_end(reading);
	else if (is_frame && !reading->has_stack)
		add_frame(reading, start);
	else if (is_frame && reading->is_other_next)
		add_other(reading, start);
	else if (strncmp(start, "Previous ", strlen("Previous ")) == 0)
		reading->is_other_next = true;
	else if (reading->now->frame_count > 0)
		reading->has_stack = true;
}

void sanitize_read_reports(const char *text, const char *driver, struct findings *findings)
{
	struct reading reading = { .driver = driver, .findings = findings };

	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = needed_text("%.*s", (int)length, text);

		read_line(&reading, line);
		free(line);
		text += length + (text[length] == '\n');
	}
	report_end(&reading);
}
