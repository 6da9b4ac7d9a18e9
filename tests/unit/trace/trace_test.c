/* SPDX-License-Identifier: MIT */
/*
 * trace_test.c - tracing from the outside: what trace_run does must be what its file says.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "support/test.h"
#include "trace/trace.h"
#include "shell.h"

static bool same_files(const char *a, const char *b)
{
	char *text_a = read_all(a);
	char *text_b = read_all(b);
	bool is_same = text_a && text_b && *text_a && strcmp(text_a, text_b) == 0;

	free(text_a);
	free(text_b);
	return is_same;
}

#define EXPECT_VALID(path, expectations)                                                           \
	EXPECT_EQ(shell("python3 %s %s %s", TRACE_CHECK, path, expectations), 0)

TEST(trace, a_run_with_threads_gives_a_valid_file)
{
	const char *path = in_folder("real.json");

	EXPECT_EQ(shell("DXGK_TRACE=%s %s work >/dev/null", path, TRACE_RUN), 0);
	EXPECT_VALID(path, "closed api=400 ddi=400 object=400 refusal=20");
}

TEST(trace, the_same_seed_gives_the_same_file_to_the_byte)
{
	for (int seed = 1; seed <= (int)fewer_of(6, 20); seed++) {
		const char *first = in_folder("first.json");
		const char *second = in_folder("second.json");
		EXPECT_EQ(shell("DXGK_SEED=%d DXGK_TRACE=%s %s work >/dev/null", seed, first,
				TRACE_RUN),
			  0);
		EXPECT_EQ(shell("DXGK_SEED=%d DXGK_TRACE=%s %s work >/dev/null", seed, second,
				TRACE_RUN),
			  0);
		EXPECT(same_files(first, second));
		if (seed == 1)
			EXPECT_VALID(first, "closed api=400 ddi=400 object=400 refusal=20");
	}
}

TEST(trace, different_seeds_give_different_files)
{
	const char *first = in_folder("seed1.json");
	const char *second = in_folder("seed2.json");

	EXPECT_EQ(shell("DXGK_SEED=1 DXGK_TRACE=%s %s work >/dev/null", first, TRACE_RUN), 0);
	EXPECT_EQ(shell("DXGK_SEED=2 DXGK_TRACE=%s %s work >/dev/null", second, TRACE_RUN), 0);
	EXPECT(!same_files(first, second));
}

TEST(trace, tracing_does_not_change_a_seeded_run)
{
	for (int seed = 1; seed <= (int)fewer_of(6, 20); seed++) {
		const char *traced = in_folder("traced.txt");
		const char *untraced = in_folder("untraced.txt");
		EXPECT_EQ(shell("DXGK_SEED=%d DXGK_TRACE=/dev/null %s work >%s", seed, TRACE_RUN,
				traced),
			  0);
		EXPECT_EQ(shell("DXGK_SEED=%d %s work >%s", seed, TRACE_RUN, untraced), 0);
		EXPECT(same_files(traced, untraced));
	}
}

TEST(trace, nothing_is_lost_when_rings_fill_up)
{
	const char *path = in_folder("flood.json");

	EXPECT_EQ(shell("DXGK_TRACE=%s %s flood", path, TRACE_RUN), 0);
	EXPECT_VALID(path, "closed object=10000");
}

TEST(trace, threads_that_ended_are_in_the_file)
{
	const char *path = in_folder("churn.json");

	EXPECT_EQ(shell("DXGK_TRACE=%s %s churn", path, TRACE_RUN), 0);
	EXPECT_VALID(path, "closed object=200");
	EXPECT_EQ(shell("DXGK_SEED=7 DXGK_TRACE=%s %s churn", path, TRACE_RUN), 0);
	EXPECT_VALID(path, "closed object=200");
}

TEST(trace, a_forked_child_does_not_write_the_parents_file)
{
	const char *path = in_folder("fork.json");

	EXPECT_EQ(shell("DXGK_TRACE=%s %s fork", path, TRACE_RUN), 0);
	EXPECT_VALID(path, "closed object=2");
}

TEST(trace, a_program_started_by_the_traced_one_does_not_write_its_file)
{
	const char *path = in_folder("exec.json");
	const char *said = in_folder("exec.txt");

	EXPECT_EQ(shell("DXGK_TRACE=%s %s exec 2>%s", path, TRACE_RUN, said), 0);
	EXPECT_VALID(path, "closed object=2");
	char *text = read_all(said);
	EXPECT_CONTAINS(text, "another process is tracing to this file");
	free(text);
}

TEST(trace, threads_that_still_emit_at_exit_do_no_harm)
{
	const char *path = in_folder("late.json");

	for (int i = 0; i < 5; i++) {
		EXPECT_EQ(shell("DXGK_TRACE=%s %s late", path, TRACE_RUN), 0);
		EXPECT_VALID(path, "");
	}
}

TEST(trace, an_end_without_exit_leaves_an_empty_file)
{
	const char *path = in_folder("quit.json");
	struct stat status;

	EXPECT_EQ(shell("DXGK_TRACE=%s %s quit", path, TRACE_RUN), 3);
	EXPECT_EQ(stat(path, &status), 0);
	EXPECT_EQ(status.st_size, 0);
}

TEST(trace, a_run_without_events_gives_a_valid_file)
{
	const char *path = in_folder("idle.json");

	EXPECT_EQ(shell("DXGK_TRACE=%s %s idle", path, TRACE_RUN), 0);
	EXPECT_VALID(path, "closed api=0");
}

TEST(trace, a_file_that_cannot_be_written_is_reported_and_the_program_runs)
{
	const char *said = in_folder("said.txt");

	EXPECT_EQ(shell("DXGK_TRACE=/nowhere/at/all.json %s work >/dev/null 2>%s", TRACE_RUN, said),
		  0);
	char *text = read_all(said);
	EXPECT_CONTAINS(text, "/nowhere/at/all.json");
	EXPECT_CONTAINS(text, "not tracing");
	free(text);

	EXPECT_EQ(shell("DXGK_TRACE=/dev/full %s work >/dev/null 2>%s", TRACE_RUN, said), 0);
	text = read_all(said);
	EXPECT_CONTAINS(text, "not complete");
	free(text);

	EXPECT_EQ(shell("TMPDIR=/nowhere DXGK_TRACE=%s %s work >/dev/null 2>%s",
			in_folder("no.json"), TRACE_RUN, said),
		  0);
	text = read_all(said);
	EXPECT_CONTAINS(text, "temporary file");
	free(text);
}

TEST(trace, a_full_disk_is_reported)
{
	const char *path = in_folder("limit.json");
	const char *said = in_folder("limit.txt");

	/* Counted in blocks of 512 or 1024 bytes: the flood does not fit, in either form. */
	EXPECT_EQ(shell("(trap '' XFSZ; ulimit -f 512; DXGK_TRACE=%s exec %s flood) 2>%s", path,
			TRACE_RUN, said),
		  0);
	char *text = read_all(said);
	EXPECT_CONTAINS(text, "not complete");
	free(text);
	EXPECT_EQ(shell("(trap '' XFSZ; ulimit -f 16; DXGK_TRACE=%s.binary exec %s flood) 2>%s",
			path, TRACE_RUN, said),
		  0);
	text = read_all(said);
	EXPECT_CONTAINS(text, "events are missing");
	free(text);
}

TEST(trace, can_be_started_and_finished_again_and_again)
{
	for (int i = 0; i < 3; i++) {
		const char *path = in_folder("again.json");
		EXPECT(!trace_is_on());
		EXPECT(trace_start(path));
		EXPECT(trace_is_on());
		trace_process_create(1);
		trace_process_destroy(1);
		trace_finish();
		EXPECT(!trace_is_on());
		trace_process_create(2);
		EXPECT_VALID(path, "closed object=2");
	}
	trace_finish();
}

TEST(trace, goes_to_a_file_that_is_open)
{
	const char *path = in_folder("open.json");
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	EXPECT(file >= 0);
	EXPECT(trace_start_to(file, "a file", TRACE_AS_JSON));
	trace_process_create(1);
	trace_process_destroy(1);
	trace_finish();
	EXPECT_VALID(path, "closed object=2");
	EXPECT(!trace_is_on());
}

static unsigned warnings;

static void count_warning(void *context, const char *line)
{
	warnings += strstr(line, "already running") != NULL;
}

TEST(trace, a_second_start_is_refused_and_harms_nothing)
{
	const char *path = in_folder("one.json");

	EXPECT(trace_start(path));
	log_redirect(count_warning, NULL);
	EXPECT(!trace_start(in_folder("two.json")));
	log_redirect(NULL, NULL);
	EXPECT_EQ(warnings, 1);
	EXPECT(access(in_folder("two.json"), F_OK) != 0);
	/* Nor to a file that is open, which is closed then. */
	int file = open("/dev/null", O_RDWR);
	log_redirect(count_warning, NULL);
	EXPECT(!trace_start_to(file, "three", 0));
	log_redirect(NULL, NULL);
	EXPECT_EQ(warnings, 2);
	EXPECT(fcntl(file, F_GETFD) < 0);
	trace_process_create(1);
	trace_finish();
	EXPECT_VALID(path, "object=1");
}

static void count_wishes(void *context, const char *line)
{
	(void)context;
	warnings += strstr(line, "DXGK_TRACE_WITH=everything: it knows") != NULL;
}

TEST(trace, a_wish_that_nobody_knows_is_said_and_it_begins)
{
	const char *path = in_folder("wishes.json");

	warnings = 0;
	setenv("DXGK_TRACE_WITH", "everything", 1);
	log_redirect(count_wishes, NULL);
	EXPECT(trace_start(path));
	log_redirect(NULL, NULL);
	EXPECT_EQ(warnings, 1);
	trace_process_create(1);
	trace_finish();
	setenv("DXGK_TRACE_WITH", "lists", 1);
	log_redirect(count_wishes, NULL);
	EXPECT(trace_start(path));
	log_redirect(NULL, NULL);
	EXPECT_EQ(warnings, 1);
	EXPECT(trace_has(TRACE_WITH_LISTS));
	EXPECT(!trace_has(TRACE_WITH_DRIVER));
	trace_process_create(1);
	trace_finish();
	unsetenv("DXGK_TRACE_WITH");
	EXPECT(!trace_has(TRACE_WITH_LISTS));
	EXPECT_VALID(path, "object=1");
}

TEST(trace, every_refusal_is_an_event_with_its_sentence)
{
	const char *path = in_folder("refusal.json");
	struct refusal_scope scope;

	EXPECT(trace_start(path));
	refusal_begin(&scope, "D3DKMTDestroyAllocation2");
	NTSTATUS status = refuse_item(STATUS_INVALID_PARAMETER, RULE_API_HANDLE_KIND,
				      "phAllocationList", 3, "is not an allocation");
	refusal_end(&scope);
	trace_finish();

	EXPECT_EQ(status, STATUS_INVALID_PARAMETER);
	EXPECT_VALID(path, "refusal=1");
	char *text = read_all(path);
	EXPECT_CONTAINS(text, "{\"call\":\"D3DKMTDestroyAllocation2\",\"rule\":\"API-HANDLE-KIND\","
			      "\"reason\":\"phAllocationList[3] is not an allocation\","
			      "\"status\":\"STATUS_INVALID_PARAMETER\"}");
	free(text);
}

TEST(trace, is_not_counted_as_memory_and_does_not_meet_a_planned_failure)
{
	struct mem_usage before = mem_usage();

	EXPECT(trace_start(in_folder("memory.json")));
	mem_fail_nth(1);
	trace_process_create(1);
	trace_adapter_start(1, "soft");
	EXPECT(!mem_fail_stop());
	EXPECT_EQ(mem_usage().blocks, before.blocks);
	trace_finish();
	EXPECT_EQ(mem_usage().blocks, before.blocks);
}

TEST(trace, emitting_leaves_errno_alone)
{
	EXPECT(trace_start(in_folder("errno.json")));
	errno = EDOM;
	for (int i = 0; i < 3000; i++)
		trace_process_create((uint64_t)i);
	EXPECT_EQ(errno, EDOM);
	trace_finish();
}

TEST(trace, a_long_text_is_cut_and_a_missing_one_is_empty)
{
	const char *path = in_folder("text.json");
	char text[5000];

	memset(text, 'q', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	EXPECT(trace_start(path));
	for (int i = 0; i < 500; i++) {
		trace_refusal(text, NULL, text, STATUS_UNSUCCESSFUL);
		trace_refusal("a", "b", "c", STATUS_UNSUCCESSFUL);
	}
	trace_finish();
	EXPECT_VALID(path, "refusal=1000");
	char *file = read_all(path);
	EXPECT_CONTAINS(file, "qqq\",\"rule\":\"\",\"reason\":\"qqq");
	EXPECT_CONTAINS(file, "{\"call\":\"a\",\"rule\":\"b\",\"reason\":\"c\",");
	free(file);
}

/* ---- what a trace costs threads ---- */

struct watched {
	_Atomic uint32_t has_begun;
	_Atomic uint32_t may_go_on;
	long pages_before;
	long pages_after;
};

/* Of the whole program; nobody else does anything meanwhile. */
static long mapped_pages(void)
{
	char text[64] = "";
	int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	EXPECT(read(file, text, sizeof(text) - 1) > 0);
	close(file);
	return strtol(text, NULL, 10);
}

static void say_something(void *context)
{
	struct watched *watched = context;

	(void)thread_id();
	(void)mapped_pages();
	atomic_store(&watched->has_begun, 1);
	thread_wake_all(&watched->has_begun);
	while (!atomic_load(&watched->may_go_on))
		thread_wait(&watched->may_go_on, 0, CLOCK_FOREVER);
	watched->pages_before = mapped_pages();
	trace_process_create(1);
	watched->pages_after = mapped_pages();
}

static void start_watched(struct watched *watched, struct thread **thread_out)
{
	EXPECT_EQ(thread_create("watched", say_something, watched, thread_out), STATUS_SUCCESS);
	while (!atomic_load(&watched->has_begun))
		thread_wait(&watched->has_begun, 0, CLOCK_FOREVER);
}

static void expect_nothing_was_mapped(struct watched *watched, struct thread *thread)
{
	atomic_store(&watched->may_go_on, 1);
	thread_wake_all(&watched->may_go_on);
	thread_join(thread);
	EXPECT_EQ(watched->pages_after, watched->pages_before);
}

TEST(trace, maps_nothing_where_a_thread_first_says_something)
{
	enum { BEFORE = 12, LATER = 12 };
	struct watched watched[BEFORE + LATER] = { 0 };
	struct thread *threads[BEFORE + LATER];
	const char *path = in_folder("threads.json");

	for (unsigned i = 0; i < BEFORE; i++)
		start_watched(&watched[i], &threads[i]);
	EXPECT(trace_start(path));
	trace_process_create(2);
	for (unsigned i = BEFORE; i < BEFORE + LATER; i++)
		start_watched(&watched[i], &threads[i]);
	for (unsigned i = 0; i < BEFORE + LATER; i++)
		expect_nothing_was_mapped(&watched[i], threads[i]);
	trace_finish();
}

TEST_MAIN("trace/trace")
