/* SPDX-License-Identifier: MIT */
/*
 * child.c - see child.h.
 *
 * Order matters: the environment is the kernel's when its library is loaded, the listener is there before the driver is, and
 * the last message comes after the kernel has ended, from a handler that exit() calls after the kernel's own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <opendxgk/testing.h>

#include "base/processor.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "cli/run/run.h"
#include "cli/verify/child.h"
#include "cli/verify/escape.h"
#include "cli/verify/facts.h"
#include "cli/verify/finding.h"
#include "cli/verify/plans.h"
#include "cli/verify/subject.h"
#include "cli/verify/verify.h"

enum { REPEATS_MOST = 256, EXIT_NO_KERNEL = 3, SIGNAL_STACK_BYTES = 1 << 20 };

/* Hooks of libdxgk.so that have to be there before the first call. */
struct first_hooks {
	__typeof__(dxgk_test_listen_reports) *listen_reports;
	__typeof__(dxgk_test_fault_fired) *fault_fired;
};

/* One process, one run. */
static struct {
	const struct run_request *request;
	int tell;
	struct first_hooks hooks;
	volatile sig_atomic_t is_late;
	bool is_client_killed;
	bool is_over; /* all that was to be done is */

	/* Reports by where they come from, and how often again. Changed by whichever thread reports. */
	struct repeat {
		_Atomic uint64_t site;
		char rule[RULE_BYTES];
		char fingerprint[FINGERPRINT_BYTES];
		_Atomic uint64_t count;
	} repeats[REPEATS_MOST];
	_Atomic uint32_t repeat_count;
} child;

/* ---- telling ---- */

struct message {
	char *text;
	size_t length;
	FILE *out;
};

static FILE *message_begin(struct message *message)
{
	message->text = NULL;
	message->out = needed(open_memstream(&message->text, &message->length));
	return message->out;
}

static void message_send(struct message *message)
{
	ssize_t sent;

	if (fclose(message->out) != 0)
		return;
	do {
		sent = send(child.tell, message->text, message->length, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	free(message->text);
}

static void tell_text(const char *name, const char *text)
{
	struct message message;

	fprintf(message_begin(&message), "{\"%s\":", name);
	json_put(message.out, text);
	fputs("}", message.out);
	message_send(&message);
}

static void tell_finding(const struct finding *finding)
{
	struct message message;

	fputs("{\"finding\":", message_begin(&message));
	finding_write(message.out, finding);
	fputs("}", message.out);
	message_send(&message);
}

/* ---- reports ---- */

static void count_again(const struct dxgk_test_report *report)
{
	uint32_t count = child.repeat_count < REPEATS_MOST ? child.repeat_count : REPEATS_MOST;

	for (uint32_t i = 0; i < count; i++) {
		if (child.repeats[i].site == report->site &&
		    strcmp(child.repeats[i].rule, report->rule) == 0) {
			child.repeats[i].count++;
			return;
		}
	}
}

static void remember(const struct finding *finding, uint64_t site)
{
	uint32_t at = atomic_fetch_add(&child.repeat_count, 1);

	if (at >= REPEATS_MOST)
		return;
	memcpy(child.repeats[at].rule, finding->rule, sizeof(finding->rule));
	memcpy(child.repeats[at].fingerprint, finding->fingerprint, sizeof(finding->fingerprint));
	child.repeats[at].site = site;
}

static bool was_reported(const char *rule)
{
	uint32_t count = child.repeat_count < REPEATS_MOST ? child.repeat_count : REPEATS_MOST;

	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(child.repeats[i].rule, rule) == 0)
			return true;
	}
	return false;
}

static void take_frames(const struct dxgk_test_report *report, struct finding *finding)
{
	finding->frames = needed(calloc(report->frame_count + 1, sizeof(*finding->frames)));
	finding->calls = needed(calloc(report->call_count + 1, sizeof(*finding->calls)));
	for (unsigned i = 0; i < report->frame_count; i++) {
		const struct dxgk_test_source_line *place = &report->frames[i];

		/* Who stopped a run that was late is in the way. */
		if (child.is_late && finding->frame_count == 0 &&
		    strcmp(place->image, child.request->driver) != 0)
			continue;
		finding->frames[finding->frame_count++] =
			(struct finding_frame){ .function = needed_text("%s", place->function),
						.file = needed_text("%s", place->file),
						.image = needed_text("%s", place->image),
						.line = place->line };
	}
	for (unsigned i = 0; i < report->call_count; i++)
		finding->calls[finding->call_count++] = needed_text("%s", report->calls[i]);
}

static void set_text(char **text, char *by)
{
	free(*text);
	*text = by;
}

static void hear_report(void *context, const struct dxgk_test_report *report)
{
	bool is_late = report->is_crash && child.is_late;

	(void)context;
	if (report->is_repeated) {
		count_again(report);
		return;
	}
	struct finding *finding = finding_create(is_late ? rule_id(RULE_DDI_HANG) : report->rule,
						 is_late            ? FINDING_HANG
						 : report->is_crash ? FINDING_CRASH
								    : FINDING_RULE);
	if (report->entry)
		set_text(&finding->entry, needed_text("%s", report->entry));
	set_text(&finding->sentence,
		 is_late ? needed_text("The run did not end; it was in %s",
				       report->entry ? report->entry : "the driver")
			 : needed_text("%s", report->sentence));
	take_frames(report, finding);
	finding_set_fingerprint(finding, child.request->driver, "");
	tell_finding(finding);
	remember(finding, report->site);
	finding_destroy(finding);
}

/* The parent's patience is over, and this thread is the one that is busy: the kernel tells where. */
static void on_late(int number)
{
	(void)number;
	child.is_late = 1;
	raise(SIGABRT);
}

/* ---- what the script came to ---- */

/* The rule in "… (MM-NO-ROOM)", where there is one. */
static const struct verify_rule *rule_in(const char *text)
{
	const struct verify_rule *found = NULL;

	for (const char *at = strchr(text, '('); at; at = strchr(at + 1, '(')) {
		char id[RULE_BYTES];
		size_t length = strcspn(at + 1, ")");

		snprintf(id, sizeof(id), "%.*s", length < sizeof(id) ? (int)length : 0, at + 1);
		if (verify_rule_find(id))
			found = verify_rule_find(id);
	}
	return found;
}

/* "submit" of "12: expect STATUS_… submit x0 fill a3 7: …". */
static char *verb_in(const char *failure)
{
	const char *text = failure + strcspn(failure, " ");

	text += strspn(text, " ");
	if (strncmp(text, "expect ", 7) == 0)
		text += 7 + strcspn(text + 7, " ");
	text += strspn(text, " ");
	return needed_text("%.*s", (int)strcspn(text, " :"), text);
}

/*
 * A statement came to something else than the contract says. Where the memory manager or the kernel's own rules refused it,
 * a driver is free to have little of something; where its answer was the reason, or work got lost, it is not.
 */
static void tell_failure(const struct run_counts *counts)
{
	const struct verify_rule *rule = rule_in(counts->failure);
	bool is_driver = rule && verify_rule_is_driver(rule);

	if (counts->wrong_bytes > 0 || (is_driver && was_reported(rule->id)))
		return; /* a report, and told */
	if (rule && !is_driver && !strstr(counts->failure, "STATUS_DEVICE_REMOVED")) {
		tell_text("skipped", counts->failure);
		return;
	}
	char *verb = verb_in(counts->failure);
	/* Of an access that should have been a fault, and went on. */
	bool is_unfaulted = strcmp(verb, "state") == 0 && strstr(counts->failure, "page-fault") &&
			    strstr(counts->failure, ": active");
	struct finding *finding = finding_create(is_driver      ? rule->id
						 : is_unfaulted ? rule_id(RULE_DDI_PT_INVALID)
								: rule_id(RULE_DDI_WORK_FAILED),
						 FINDING_RULE);
	set_text(&finding->sentence, needed_text("%s", counts->failure));
	finding_set_fingerprint(finding, child.request->driver, verb);
	tell_finding(finding);
	finding_destroy(finding);
	free(verb);
}

static void tell_result(const struct run_result *result)
{
	switch (result->end) {
	case RUN_DONE:
		tell_text("over", "");
		break;
	case RUN_STOPPED:
		tell_text("over", "");
		tell_failure(&result->counts);
		break;
	case RUN_NOT_UNDERSTOOD: {
		char *why = needed_text("the script: %s", result->counts.failure);

		tell_text("skipped", why);
		free(why);
		break;
	}
	case RUN_NO_ADAPTER:
		tell_text("skipped", "the adapter did not start");
		break;
	case RUN_NO_MEMORY:
		tell_text("skipped", "no memory");
		break;
	}
}

/* ---- the kernel ---- */

static bool load_hooks(void)
{
	void *library = dlopen("libdxgk.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!library) {
		fprintf(stderr, "dxgk verify: %s\n", dlerror());
		return false;
	}
	*(void **)&child.hooks.listen_reports = dlsym(library, "dxgk_test_listen_reports");
	*(void **)&child.hooks.fault_fired = dlsym(library, "dxgk_test_fault_fired");
	return child.hooks.listen_reports && child.hooks.fault_fired;
}

/* In memory; the kernel opens it at the first call. */
static char *keep_profile(const struct run_request *request)
{
	char *text = subject_profile(request->profile, request->plan);
	int file = memfd_create("dxgk-profile", MFD_CLOEXEC);
	bool is_kept = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);

	free(text);
	return is_kept ? needed_text("/proc/self/fd/%d", file) : NULL;
}

static bool set_environment(const struct run_request *request)
{
	char *profile = keep_profile(request);
	static const char *const others[] = { "DXGK_SOCKET", "DXGK_WIRE", "DXGK_CONTROL",
					      "DXGK_TRACE",  "DXGK_SEED", "DXGK_FAULT" };
	char seed[24];

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		unsetenv(others[i]);
	snprintf(seed, sizeof(seed), "%" PRIu64, request->seed);
	return profile && setenv("DXGK_PROFILE", profile, 1) == 0 &&
	       setenv("DXGK_VERIFY", request->is_again ? "all,refill" : "all", 1) == 0 &&
	       (!request->is_seeded || setenv("DXGK_SEED", seed, 1) == 0) &&
	       (*request->plan == '\0' || setenv("DXGK_FAULT", request->plan, 1) == 0) &&
	       (!request->trace || (setenv("DXGK_TRACE", request->trace, 1) == 0 &&
				    setenv("DXGK_TRACE_WITH", "driver", 1) == 0));
}

/* Called by exit() after the kernel has ended; by a driver that calls it, before the run is over: then nothing is said. */
static void tell_end(void)
{
	if (!child.is_over)
		return;

	uint32_t count = child.repeat_count < REPEATS_MOST ? child.repeat_count : REPEATS_MOST;
	struct message message;
	const char *before = "";

	fputs("{\"again\":[", message_begin(&message));
	for (uint32_t i = 0; i < count; i++) {
		if (child.repeats[i].count == 0)
			continue;
		fprintf(message.out, "%s[\"%s\",\"%s\",%" PRIu64 "]", before, child.repeats[i].rule,
			child.repeats[i].fingerprint, child.repeats[i].count);
		before = ",";
	}
	fputs("]}", message.out);
	message_send(&message);
	fprintf(message_begin(&message), "{\"ended\":true,\"fired\":%d}",
		child.is_client_killed || child.hooks.fault_fired());
	message_send(&message);
}

/* ---- the run ---- */

static bool tell_facts(void)
{
	D3DKMT_ADAPTERINFO infos[16];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = ARRAY_SIZE(infos), .pAdapters = infos };
	struct verify_facts facts;
	struct message message;

	if (!NT_SUCCESS(D3DKMTEnumAdapters2(&all)) || all.NumAdapters == 0 ||
	    !facts_ask(&infos[0], child.request->exerciser, &facts))
		return false;
	for (ULONG i = 0; i < all.NumAdapters; i++) {
		D3DKMT_CLOSEADAPTER done = { infos[i].hAdapter };
		D3DKMTCloseAdapter(&done);
	}
	fputs("{\"facts\":", message_begin(&message));
	facts_write(message.out, &facts);
	fputs("}", message.out);
	message_send(&message);
	return true;
}

/* A client that is killed in the middle is part of the script. */
static void run_text(const struct run_request *request)
{
	uint64_t death = plan_death(request->plan);
	char *with_death = death > 0 ? plan_kill_client(request->script, death) : NULL;
	const char *script = with_death ? with_death : request->script;
	bool is_excused = plan_is_excuse(request->plan);
	const struct run_options options = {
		.path = "script",
		.exerciser = request->exerciser,
		.is_silent = true,
		.is_tolerant = is_excused,
		.reports_content = !is_excused,
		.proves_work = true,
	};
	struct run_result result;

	child.is_client_killed = with_death != NULL;
	run_script_text(script, strlen(script), &options, &result);
	tell_result(&result);
	free(with_death);
}

static bool has_statements(const char *script)
{
	for (; *script;
	     script += script[strcspn(script, "\n")] ? strcspn(script, "\n") + 1 : strlen(script)) {
		if (*script != '#' && *script != '\n')
			return true;
	}
	return false;
}

static void watch_signals(void)
{
	struct sigaction action = { .sa_handler = on_late };

	sigemptyset(&action.sa_mask);
	sigaction(SIGALRM, &action, NULL);
}

/* A copy that a driver makes of the process has one of its threads, and would go on with the run: there is but one. */
static void on_copy(void)
{
	_exit(EXIT_SUCCESS);
}

/* Where a driver has used up its stack there is none for who tells of it. */
static void take_alternate_stack(void)
{
	stack_t stack = { .ss_size = SIGNAL_STACK_BYTES };

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack.ss_sp != MAP_FAILED)
		sigaltstack(&stack, NULL);
}

NORETURN void child_run(const struct run_request *request, int tell)
{
	child.request = request;
	child.tell = tell;
	if (request->is_seeded)
		processor_stay();
	if (!set_environment(request) || atexit(tell_end) != 0 || !load_hooks())
		_exit(EXIT_NO_KERNEL);
	child.hooks.listen_reports(hear_report, NULL);
	watch_signals();
	take_alternate_stack();
	thread_on_fork(on_copy);
	if (has_statements(request->script))
		run_text(request);
	else if (tell_facts())
		tell_text("over", "");
	else
		tell_text("skipped", "the adapter did not start");
	child.is_over = true;
	exit(EXIT_SUCCESS);
}

/* ---- in an image of its own ---- */

static char *read_descriptor(int descriptor)
{
	size_t length = 0;
	size_t capacity = 65536;
	char *text = needed(malloc(capacity));
	ssize_t got;

	while ((got = pread(descriptor, text + length, capacity - length - 1, (off_t)length)) > 0) {
		length += (size_t)got;
		if (length + 1 == capacity)
			text = needed(realloc(text, capacity *= 2));
	}
	text[length] = '\0';
	return text;
}

/* again TELL SCRIPT PROFILE SEED IS-SEEDED PLAN TRACE DRIVER EXERCISER; see job.c. */
int child_run_again(int argc, char **argv)
{
	enum { ARGUMENTS = 10 };

	if (argc != ARGUMENTS)
		return VERIFY_EXIT_USAGE;
	struct run_request request = {
		.script = read_descriptor((int)strtol(argv[2], NULL, 10)),
		.profile = read_descriptor((int)strtol(argv[3], NULL, 10)),
		.seed = strtoull(argv[4], NULL, 10),
		.is_seeded = argv[5][0] == '1',
		.plan = argv[6],
		.trace = *argv[7] ? argv[7] : NULL,
		.driver = argv[8],
		.exerciser = *argv[9] ? argv[9] : NULL,
		.is_again = true,
	};
	child_run(&request, (int)strtol(argv[1], NULL, 10));
}
