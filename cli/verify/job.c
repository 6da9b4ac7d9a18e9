/* SPDX-License-Identifier: MIT */
/*
 * job.c - see job.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/refusal.h"
#include "cli/verify/job.h"
#include "cli/verify/sanitize.h"
#include "cli/verify/verify.h"

enum {
	MESSAGE_BYTES = 1 << 18,
	LAST_WORDS_MS = 3000, /* of a child that was late, to say where it is */
	SLOWNESS = 20,        /* by the clock, of a child that others keep from a processor */
	LOOK_MS = 100,        /* between two looks at its memory */
	ORPHANS_TEXT = 4096,  /* process numbers at a time */
};

static struct job *jobs; /* whose process is there; job.next */

void job_result_finish(struct job_result *result)
{
	findings_finish(&result->findings);
	free(result->skipped);
	free(result->tail);
	*result = (struct job_result){ 0 };
}

/* ---- the child's beginning ---- */

static int memory_file(const char *text)
{
	int file = memfd_create("dxgk-request", 0);

	if (file >= 0 && write(file, text, strlen(text)) != (ssize_t)strlen(text)) {
		close(file);
		return -1;
	}
	return file;
}

/* Other addresses, and nothing that the parent's memory could have brought along. */
NORETURN static void start_again(const struct run_request *request, int tell)
{
	char told[16], script[16], profile[16], seed[24];
	int script_file = memory_file(request->script);
	int profile_file = memory_file(request->profile);

	if (script_file < 0 || profile_file < 0)
		_exit(VERIFY_EXIT_USAGE);
	snprintf(told, sizeof(told), "%d", tell);
	snprintf(script, sizeof(script), "%d", script_file);
	snprintf(profile, sizeof(profile), "%d", profile_file);
	snprintf(seed, sizeof(seed), "%" PRIu64, request->seed);
	fcntl(tell, F_SETFD, 0);
	execl("/proc/self/exe", "dxgk", "verify", "again", told, script, profile, seed,
	      request->is_seeded ? "1" : "0", request->plan, request->trace ? request->trace : "",
	      request->driver, request->exerciser ? request->exerciser : "", (char *)NULL);
	_exit(VERIFY_EXIT_USAGE);
}

NORETURN static void child_begin(const struct run_request *request, int tell, int errors,
				 pid_t parent)
{
	int nothing = open("/dev/null", O_RDWR);
	const struct rlimit no_core = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(VERIFY_EXIT_USAGE);
	signal(SIGINT, SIG_IGN); /* from the terminal: the parent sees to it */
	signal(SIGTERM, SIG_DFL);
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	dup2(errors, STDERR_FILENO);
	if (request->is_again)
		start_again(request, tell);
	child_run(request, tell);
}

static bool make_channels(int tell[2], int errors[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, tell) != 0)
		return false;
	if (pipe2(errors, O_CLOEXEC) == 0)
		return true;
	close(tell[0]);
	close(tell[1]);
	return false;
}

static void jobs_add(struct job *job)
{
	job->next = jobs;
	jobs = job;
}

static void jobs_remove(const struct job *job)
{
	struct job **link = &jobs;

	while (*link && *link != job)
		link = &(*link)->next;
	if (*link)
		*link = job->next;
}

bool job_start(struct job *job, const struct run_request *request, const struct job_limits *limits)
{
	int tell[2], errors[2];
	pid_t parent = getpid();

	*job = (struct job){ .limits = *limits };
	if (!make_channels(tell, errors))
		return false;
	fflush(NULL);
	/* What a driver leaves behind of processes becomes ours: end_orphans(). */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	job->process = fork();
	if (job->process == 0)
		child_begin(request, tell[1], errors[1], parent);
	close(tell[1]);
	close(errors[1]);
	if (job->process < 0) {
		close(tell[0]);
		close(errors[0]);
		job->process = 0;
		return false;
	}
	job->end = (int)syscall(SYS_pidfd_open, job->process, 0);
	job->tell = tell[0];
	job->errors = errors[0];
	fcntl(job->errors, F_SETFL, O_NONBLOCK);
	job->driver = needed_text("%s", request->driver);
	job->started_ns = clock_now_ns();
	job->deadline_ns = clock_deadline(limits->seconds * NS_PER_S);
	jobs_add(job);
	return true;
}

/* ---- what it tells ---- */

static void hear_again(struct job_result *result, const struct json *list)
{
	for (const struct json *item = list->first; item; item = item->next) {
		const struct json *rule = item->first;
		const struct json *fingerprint = rule ? rule->next : NULL;
		const struct json *count = fingerprint ? fingerprint->next : NULL;

		if (!count || rule->type != JSON_STRING || fingerprint->type != JSON_STRING)
			continue;
		struct finding *finding =
			findings_find(&result->findings, rule->string, fingerprint->string);
		if (finding)
			finding->count += (uint64_t)count->number;
	}
}

/* In one run it is one, however often it is reported. */
static void add_finding(struct job_result *result, struct finding *finding)
{
	bool is_news;

	if (!finding)
		return;
	struct finding *kept = findings_join(&result->findings, finding, &is_news);
	kept->run_count = 1;
}

static void hear(struct job *job, const char *text, size_t length)
{
	struct job_result *result = &job->result;
	struct json_document document;

	if (NT_SUCCESS(json_read_line("child", 1, text, length, &document))) {
		const struct json *root = document.root;
		const struct json *skipped = json_member(root, "skipped");
		const struct json *fired = json_member(root, "fired");
		const struct json *again = json_member(root, "again");
		const struct json *facts = json_member(root, "facts");
		const struct json *finding = json_member(root, "finding");

		if (finding)
			add_finding(result, finding_read(finding));
		if (skipped && skipped->type == JSON_STRING && !result->skipped)
			result->skipped = needed_text("%s", skipped->string);
		if (facts)
			result->has_facts = facts_read(facts, &result->facts);
		if (again)
			hear_again(result, again);
		if (json_member(root, "over"))
			result->is_over = true;
		if (json_member(root, "ended"))
			result->has_ended = true;
		if (fired && fired->type == JSON_NUMBER)
			result->has_fired = fired->number != 0;
	}
	json_finish(&document);
}

static void hear_all(struct job *job)
{
	static char message[MESSAGE_BYTES];
	ssize_t length;

	while ((length = recv(job->tell, message, sizeof(message), MSG_DONTWAIT)) > 0)
		hear(job, message, (size_t)length);
	job->is_silent |= length == 0;
}

static void read_errors(struct job *job)
{
	char bytes[4096];
	ssize_t length;

	while ((length = read(job->errors, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < length; i++)
			job->tail[job->tail_used++ % JOB_TAIL_BYTES] = bytes[i];
	}
	job->is_mute |= length == 0;
}

static char *tail_text(const struct job *job)
{
	size_t length = job->tail_used < JOB_TAIL_BYTES ? job->tail_used : JOB_TAIL_BYTES;
	size_t first = job->tail_used - length;
	char *text = needed(malloc(length + 1));

	for (size_t i = 0; i < length; i++) {
		char byte = job->tail[(first + i) % JOB_TAIL_BYTES];
		text[i] = byte != '\0' ? byte : ' ';
	}
	text[length] = '\0';
	return text;
}

/* ---- limits ---- */

static uint64_t resident_mib(pid_t process)
{
	unsigned long long pages = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)process);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	// NOLINTNEXTLINE(cert-err34-c): what the kernel writes there are numbers
	if (fscanf(file, "%*u %llu", &pages) != 1)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE) >> 20;
}

/* R: it runs, or could. */
static bool is_thread_busy(pid_t process, long thread)
{
	char path[64], line[512];
	bool is_busy = false;

	snprintf(path, sizeof(path), "/proc/%d/task/%ld/stat", (int)process, thread);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(line, sizeof(line), file)) {
		const char *name_end = strrchr(line, ')');
		is_busy = name_end && name_end[1] == ' ' && name_end[2] == 'R';
	}
	fclose(file);
	return is_busy;
}

/* One of the child's threads; 0: all of them wait. */
static pid_t find_busy_thread(pid_t process)
{
	pid_t found = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	DIR *threads = opendir(path);
	if (!threads)
		return 0;
	for (struct dirent *entry = readdir(threads); entry && found == 0;
	     entry = readdir(threads)) {
		long thread = strtol(entry->d_name, NULL, 10);

		if (thread > 0 && is_thread_busy(process, thread))
			found = (pid_t)thread;
	}
	closedir(threads);
	return found;
}

/* The thread that is busy is asked where it is; where all wait there is nobody to ask. */
static void ask_where(pid_t process)
{
	pid_t thread = find_busy_thread(process);

	if (thread != 0)
		syscall(SYS_tgkill, process, thread, SIGALRM);
}

/* How long it had a processor, all threads together. */
static uint64_t processor_ns(pid_t process)
{
	unsigned long long user = 0, system = 0;
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	const char *name_end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	// NOLINTNEXTLINE(cert-err34-c): what the kernel writes there are numbers
	if (name_end && sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu",
			       &user, &system) != 2)
		user = system = 0;
	fclose(file);
	return (user + system) * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* It is at work, and had not so much time on a processor as the limit says: the machine has other things to do. */
static bool is_kept_waiting(struct job *job, uint64_t now_ns)
{
	uint64_t limit_ns = job->limits.seconds * NS_PER_S;
	uint64_t had_ns = processor_ns(job->process);
	bool is_at_work = had_ns > job->had_ns || find_busy_thread(job->process) != 0;

	job->had_ns = had_ns;
	return is_at_work && had_ns < limit_ns && now_ns - job->started_ns < SLOWNESS * limit_ns;
}

static void see_to_limits(struct job *job, uint64_t now_ns)
{
	if (job->is_killed || (now_ns < job->look_ns && now_ns < job->deadline_ns))
		return;
	job->look_ns = now_ns + LOOK_MS * NS_PER_MS;
	if (resident_mib(job->process) > job->limits.memory_mib) {
		job->is_large = job->is_killed = true;
		kill(job->process, SIGKILL);
	} else if (now_ns >= job->deadline_ns && !job->is_asked && is_kept_waiting(job, now_ns)) {
		job->deadline_ns = job->look_ns;
	} else if (now_ns >= job->deadline_ns && !job->is_asked) {
		job->is_asked = true;
		job->deadline_ns = now_ns + LAST_WORDS_MS * NS_PER_MS;
		ask_where(job->process);
	} else if (now_ns >= job->deadline_ns) {
		job->is_killed = true;
		kill(job->process, SIGKILL);
	}
}

/* ---- its end ---- */

static bool has_kind(const struct job_result *result, enum finding_kind kind)
{
	for (uint32_t i = 0; i < result->findings.count; i++) {
		if (result->findings.items[i]->kind == kind)
			return true;
	}
	return false;
}

/* For what the child could not tell itself. */
static struct finding *new_finding(struct job *job, enum rule rule, enum finding_kind kind,
				   char *sentence)
{
	struct finding *finding = finding_create(rule_id(rule), kind);

	free(finding->sentence);
	finding->sentence = sentence;
	free(finding->tail);
	finding->tail = needed_text("%s", job->result.tail);
	finding_set_fingerprint(finding, job->driver, "");
	return finding;
}

static bool is_stuck(const struct job *job)
{
	return strstr(job->result.tail, "simulated run is stuck") != NULL;
}

/* It has said so, and left (cli/run/exerciser.c): nothing that a driver did. */
static bool is_of_exerciser(const struct job *job)
{
	return strstr(job->result.tail, "the exerciser says that it wrote") != NULL;
}

/* Where it was and what was called before. */
static void take_where(struct finding *to, struct finding *from)
{
	struct finding kept = *to;

	to->entry = from->entry;
	to->frames = from->frames;
	to->frame_count = from->frame_count;
	to->calls = from->calls;
	to->call_count = from->call_count;
	from->entry = kept.entry;
	from->frames = kept.frames;
	from->frame_count = kept.frame_count;
	from->calls = kept.calls;
	from->call_count = kept.call_count;
}

/* The simulator ends such a run by abort(), on a thread that waits in the driver if there is one: no crash, but the place. */
static void explain_stuck(struct job *job)
{
	struct findings *told = &job->result.findings;
	struct finding *hang =
		new_finding(job, RULE_DDI_HANG, FINDING_HANG,
			    needed_text("Every thread waits, and nobody will ever wake one"));

	for (uint32_t i = 0; i < told->count; i++) {
		struct finding *crash = told->items[i];

		if (strcmp(crash->rule, rule_id(RULE_DDI_CRASH)) != 0)
			continue;
		told->count--;
		memmove(&told->items[i], &told->items[i + 1],
			(told->count - i) * sizeof(*told->items));
		take_where(hang, crash);
		finding_set_fingerprint(hang, job->driver, "");
		finding_destroy(crash);
		break;
	}
	add_finding(&job->result, hang);
}

/* How it ended, where it did not end well and did not say so itself. */
static void explain_end(struct job *job, int status)
{
	struct job_result *result = &job->result;

	if (job->is_large)
		add_finding(result, new_finding(job, RULE_DDI_HANG, FINDING_HANG,
						needed_text("The run needed more than %u MiB of "
							    "memory, and was ended",
							    job->limits.memory_mib)));
	else if (job->is_asked && !has_kind(result, FINDING_HANG))
		add_finding(result, new_finding(job, RULE_DDI_HANG, FINDING_HANG,
						needed_text("The run did not end within %u s",
							    job->limits.seconds)));
	else if (is_stuck(job))
		explain_stuck(job);
	else if (is_of_exerciser(job))
		return;
	else if (WIFSIGNALED(status) && !job->is_asked && !has_kind(result, FINDING_CRASH))
		add_finding(
			result,
			new_finding(job, RULE_DDI_CRASH, FINDING_CRASH,
				    needed_text("The process ended by signal %d (%s), in no "
						"entry point of the driver",
						WTERMSIG(status), strsignal(WTERMSIG(status)))));
	else if (WIFEXITED(status) && !result->has_ended && !has_kind(result, FINDING_CRASH) &&
		 !job->is_asked)
		add_finding(result,
			    new_finding(job, RULE_DDI_CRASH, FINDING_CRASH,
					needed_text("The process exited with status %d before the "
						    "run was over",
						    WEXITSTATUS(status))));
}

static enum job_verdict verdict_of(const struct job_result *result)
{
	if (has_kind(result, FINDING_CRASH))
		return JOB_CRASHED;
	if (has_kind(result, FINDING_HANG))
		return JOB_HUNG;
	if (result->findings.count > 0)
		return JOB_BROKEN;
	/* A fault that came to pass may well have kept the script from its end. */
	return result->skipped && !result->has_fired ? JOB_SKIPPED : JOB_OK;
}

/* What has come to its end would be ready all the time. */
void job_poll(const struct job *job, struct pollfd files[JOB_FILES])
{
	files[0] = (struct pollfd){ .fd = job->is_silent ? -1 : job->tell, .events = POLLIN };
	files[1] = (struct pollfd){ .fd = job->is_mute ? -1 : job->errors, .events = POLLIN };
	files[2] = (struct pollfd){ .fd = job->end, .events = POLLIN };
}

static bool is_of_job(pid_t process)
{
	const struct job *job = jobs;

	while (job && job->process != process)
		job = job->next;
	return job != NULL;
}

/* False: there is none. */
static bool end_some_orphans(void)
{
	char path[64], text[ORPHANS_TEXT];
	bool are_there_any = false;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	size_t length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	/* A number that is cut off at the end has its turn when it is whole. */
	for (char *at = text, *end; (end = strchr(at, ' ')) != NULL; at = end + 1) {
		pid_t process = (pid_t)strtol(at, NULL, 10);

		if (is_of_job(process))
			continue;
		are_there_any |= kill(process, SIGKILL) == 0;
		waitpid(process, NULL, 0);
	}
	return are_there_any;
}

/* What a driver forked outlives its run; children of an orphan become orphans with its end. */
static void end_orphans(void)
{
	while (end_some_orphans())
		;
}

static void close_job(struct job *job)
{
	jobs_remove(job);
	end_orphans();
	close(job->tell);
	close(job->errors);
	close(job->end);
	free(job->driver);
	job->driver = NULL;
	job->process = 0;
}

static void conclude(struct job *job, int status)
{
	hear_all(job);
	read_errors(job);
	job->result.tail = tail_text(job);
	sanitize_read_reports(job->result.tail, job->driver, &job->result.findings);
	explain_end(job, status);
	job->result.verdict = verdict_of(&job->result);
	job->result.took_ns = clock_now_ns() - job->started_ns;
	close_job(job);
}

bool job_step(struct job *job, uint64_t now_ns)
{
	int status = 0;

	hear_all(job);
	read_errors(job);
	pid_t ended = waitpid(job->process, &status, WNOHANG);
	if (ended == 0) {
		see_to_limits(job, now_ns);
		return false;
	}
	conclude(job, status);
	return true;
}

void job_finish(struct job *job, struct job_result *result_out)
{
	*result_out = job->result;
	job->result = (struct job_result){ 0 };
}

void job_abandon(struct job *job)
{
	if (job->process == 0)
		return;
	kill(job->process, SIGKILL);
	while (waitpid(job->process, NULL, 0) < 0 && errno == EINTR)
		;
	close_job(job);
	job_result_finish(&job->result);
}

bool job_run(const struct run_request *request, const struct job_limits *limits,
	     struct job_result *result_out)
{
	struct pollfd files[JOB_FILES];
	struct job *job = needed(calloc(1, sizeof(*job)));
	bool is_started = job_start(job, request, limits);

	while (is_started && !job_step(job, clock_now_ns())) {
		job_poll(job, files);
		poll(files, JOB_FILES, LOOK_MS);
	}
	if (is_started)
		job_finish(job, result_out);
	free(job);
	return is_started;
}
