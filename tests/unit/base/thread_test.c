/* SPDX-License-Identifier: MIT */
/*
 * thread_test.c - threads and the one way to wait, on the real machine and in seeded runs.
 */
#include <pthread.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "support/test.h"
#include "child.h"

struct report {
	struct thread *self;
	uint32_t id;
	char name[32];
	char native_name[32];
	bool is_past_exit;
};

static void tell(void *argument)
{
	struct report *report = argument;

	report->self = thread_self();
	report->id = thread_id();
	snprintf(report->name, sizeof(report->name), "%s", thread_name());
	pthread_getname_np(pthread_self(), report->native_name, sizeof(report->native_name));
}

TEST(thread, runs_and_is_joined)
{
	struct mem_usage before = mem_usage();
	struct report report = { 0 };
	struct thread *thread = NULL;

	EXPECT(NT_SUCCESS(thread_create("a name that is long", tell, &report, &thread)));
	EXPECT(thread != NULL);
	struct thread *made = thread;
	thread_join(thread);
	EXPECT(report.self == made);
	EXPECT_STR(report.name, "a name that is ");
	EXPECT_STR(report.native_name, "a name that is ");
	EXPECT(report.id != thread_id());
	EXPECT_EQ(mem_usage().blocks, before.blocks);
	thread_join(NULL);
}

TEST(thread, a_clients_thread_is_not_ours)
{
	EXPECT(thread_self() == NULL);
	EXPECT_STR(thread_name(), "client");
	EXPECT(thread_id() != 0);
	EXPECT_EQ(thread_id(), thread_id());
}

static void exit_early(void *argument)
{
	pthread_exit(NULL);
	((struct report *)argument)->is_past_exit = true;
}

TEST(thread, can_end_itself_anywhere)
{
	struct mem_usage before = mem_usage();
	struct report report = { 0 };
	struct thread *thread;

	EXPECT(NT_SUCCESS(thread_create("exit", exit_early, &report, &thread)));
	thread_join(thread);
	EXPECT(!report.is_past_exit);
	EXPECT_EQ(mem_usage().blocks, before.blocks);
}

static _Atomic uint32_t word;

static void set_word(void *argument)
{
	word = (uint32_t)(uintptr_t)argument;
	thread_wake_all(&word);
}

static void wait_for_word(uint32_t value)
{
	uint32_t now;

	while ((now = word) != value)
		thread_wait(&word, now, CLOCK_FOREVER);
}

/* In children: nothing tells when the last trace of a detached thread is gone. */
static void detach_one(void *argument)
{
	struct thread *thread;

	(void)argument;
	CHILD_EXPECT(NT_SUCCESS(thread_create("detached", set_word, (void *)1, &thread)));
	thread_detach(thread);
	wait_for_word(1);
}

static struct thread *itself;

static void detach_itself(void *argument)
{
	(void)argument;
	thread_detach(itself);
	set_word((void *)2);
}

static void many_detach_themselves(void *argument)
{
	(void)argument;
	for (int i = 0; i < 50; i++) {
		word = 0;
		CHILD_EXPECT(NT_SUCCESS(thread_create("itself", detach_itself, NULL, &itself)));
		wait_for_word(2);
	}
}

TEST(thread, a_detached_one_runs_to_its_end_alone)
{
	struct child_result result;

	child_run(&result, detach_one, NULL);
	EXPECT_EQ(result.exit_status, 0);
}

TEST(thread, may_detach_itself_while_it_is_being_made)
{
	struct child_result result;

	child_run(&result, many_detach_themselves, NULL);
	EXPECT_EQ(result.exit_status, 0);
}

static void detach_in_a_seeded_run(void)
{
	detach_one(NULL);
	many_detach_themselves(NULL);
}

TEST(thread, is_detached_in_seeded_runs_too)
{
	for (uint64_t seed = 0; seed < 10; seed++)
		EXPECT_SEEDED_OK(seed, detach_in_a_seeded_run);
}

TEST(thread, without_memory_there_is_none)
{
	struct thread *thread = NULL;

	mem_fail_nth(1);
	EXPECT_EQ(thread_create("none", set_word, NULL, &thread), STATUS_NO_MEMORY);
	EXPECT(mem_fail_stop());
	EXPECT(thread == NULL);
}

/* ---- waiting ---- */

TEST(thread_wait, returns_at_once_when_the_word_is_another)
{
	word = 5;
	EXPECT_EQ(thread_wait(&word, 4, CLOCK_FOREVER), THREAD_WOKEN);
}

TEST(thread_wait, returns_at_its_deadline)
{
	word = 5;
	EXPECT_EQ(thread_wait(&word, 5, 0), THREAD_TIMED_OUT);
	EXPECT_EQ(thread_wait(&word, 5, clock_now_ns()), THREAD_TIMED_OUT);
}

static void wait_an_hour(void)
{
	uint64_t start_ns = clock_now_ns();

	word = 0;
	CHILD_EXPECT(thread_wait(&word, 0, start_ns + 3600 * NS_PER_S) == THREAD_TIMED_OUT);
	CHILD_EXPECT(clock_now_ns() - start_ns >= 3600 * NS_PER_S);
	CHILD_EXPECT(clock_now_ns() - start_ns < 3601 * NS_PER_S);
	CHILD_EXPECT(thread_wait(&word, 0, 0) == THREAD_TIMED_OUT);
	CHILD_EXPECT(thread_wait(&word, 1, CLOCK_FOREVER) == THREAD_WOKEN);
}

TEST(thread_wait, an_hour_costs_nothing_in_a_seeded_run)
{
	EXPECT_SEEDED_OK(1, wait_an_hour);
}

static _Atomic uint32_t woken;

static void sleep_once(void *argument)
{
	(void)argument;
	CHILD_EXPECT(thread_wait(&word, 0, CLOCK_FOREVER) == THREAD_WOKEN);
	woken++;
}

static void wake_by_number(void)
{
	struct thread *threads[5];

	word = 0;
	for (int i = 0; i < 5; i++)
		CHILD_EXPECT(NT_SUCCESS(thread_create("sleeper", sleep_once, NULL, &threads[i])));
	clock_sleep_until(clock_deadline(NS_PER_MS));
	CHILD_EXPECT(woken == 0);
	thread_wake_one(&word);
	clock_sleep_until(clock_deadline(NS_PER_MS));
	CHILD_EXPECT(woken == 1);
	thread_wake_one(&woken); /* another word */
	clock_sleep_until(clock_deadline(NS_PER_MS));
	CHILD_EXPECT(woken == 1);
	thread_wake_one(&word);
	thread_wake_one(&word);
	clock_sleep_until(clock_deadline(NS_PER_MS));
	CHILD_EXPECT(woken == 3);
	thread_wake_all(&word);
	for (int i = 0; i < 5; i++)
		thread_join(threads[i]);
	CHILD_EXPECT(woken == 5);
}

TEST(thread_wait, one_or_all_are_woken)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		EXPECT_SEEDED_OK(seed, wake_by_number);
}

static void pass_it_on(void *argument)
{
	uint32_t mine = (uint32_t)(uintptr_t)argument;

	for (uint32_t round = 0; round < 200; round++) {
		wait_for_word(round * 4 + mine);
		word = round * 4 + mine + 1;
		thread_wake_all(&word);
	}
}

TEST(thread_wait, four_threads_pass_a_word_round_on_the_real_machine)
{
	struct thread *threads[4];

	word = 0;
	for (uintptr_t i = 0; i < 4; i++)
		EXPECT(NT_SUCCESS(thread_create("round", pass_it_on, (void *)i, &threads[i])));
	for (int i = 0; i < 4; i++)
		thread_join(threads[i]);
	EXPECT_EQ(word, 800);
}

/* ---- ends ---- */

struct ending {
	struct thread_end end;
	char name;
};

static char endings[8];

static void note_ending(struct thread_end *end)
{
	endings[strlen(endings)] = container_of(end, struct ending, end)->name;
}

static struct ending first = { .end.run = note_ending, .name = 'a' };
static struct ending second = { .end.run = note_ending, .name = 'b' };

static void ask_to_be_told(void *argument)
{
	(void)argument;
	thread_on_end(&first.end);
	thread_on_end(&second.end);
}

static void *native_ask_to_be_told(void *argument)
{
	ask_to_be_told(argument);
	return NULL;
}

TEST(thread_on_end, tells_of_the_end_of_any_thread_once)
{
	struct thread *thread;
	pthread_t native;

	memset(endings, 0, sizeof(endings));
	EXPECT(NT_SUCCESS(thread_create("ours", ask_to_be_told, NULL, &thread)));
	thread_join(thread);
	EXPECT_STR(endings, "ba");
	EXPECT_EQ(pthread_create(&native, NULL, native_ask_to_be_told, NULL), 0);
	pthread_join(native, NULL);
	EXPECT_STR(endings, "baba");
}

static int in_child_calls;

static void note_child(void)
{
	in_child_calls++;
}

static void print_calls(void *argument)
{
	(void)argument;
	printf("%d", in_child_calls);
}

TEST(thread_on_fork, tells_the_child_and_not_the_parent)
{
	struct child_result result;

	thread_on_fork(note_child);
	child_run(&result, print_calls, NULL);
	EXPECT_STR(result.out, "1");
	EXPECT_EQ(in_child_calls, 0);
}

static _Thread_local void *kept;

static void keep_something(void *argument)
{
	uint64_t *words = thread_keep(&kept, 100 * sizeof(uint64_t));

	if (!words || kept != words || thread_keep(&kept, 100 * sizeof(uint64_t)) != words)
		abort();
	for (int i = 0; i < 100; i++) {
		if (words[i] != 0)
			abort();
		words[i] = (uintptr_t)argument;
	}
}

static void *native_keep_something(void *argument)
{
	keep_something(argument);
	return NULL;
}

TEST(thread_keep, every_thread_has_its_own_zeroed)
{
	struct mem_usage before = mem_usage();
	struct thread *thread;
	pthread_t native;

	keep_something((void *)1);
	EXPECT(NT_SUCCESS(thread_create("ours", keep_something, (void *)2, &thread)));
	thread_join(thread);
	EXPECT_EQ(pthread_create(&native, NULL, native_keep_something, (void *)3), 0);
	pthread_join(native, NULL);
	EXPECT_EQ(*(uint64_t *)kept, 1);
	EXPECT_EQ(mem_usage().blocks, before.blocks);
}

TEST(thread_keep, does_not_fail_on_demand)
{
	static _Thread_local void *place;

	mem_fail_nth(1);
	EXPECT(thread_keep(&place, 8));
	EXPECT(!mem_fail_stop());
}

struct late_end {
	struct thread_end end;
	struct thread_end later;
};

static _Atomic unsigned late_ends;

static void end_later(struct thread_end *end)
{
	(void)end;
	late_ends++;
}

static void end_with_another(struct thread_end *end)
{
	struct late_end *late = container_of(end, struct late_end, end);

	late->later.run = end_later;
	thread_on_end(&late->later);
}

static void *ask_for_two_ends(void *argument)
{
	struct late_end *late = argument;

	late->end.run = end_with_another;
	thread_on_end(&late->end);
	return NULL;
}

TEST(thread_on_end, an_end_may_ask_for_another)
{
	struct late_end late;
	pthread_t native;

	late_ends = 0;
	EXPECT_EQ(pthread_create(&native, NULL, ask_for_two_ends, &late), 0);
	pthread_join(native, NULL);
	EXPECT_EQ(late_ends, 1);
}

enum { SEATED = THREAD_SEATS + 8 };

static uint32_t seats[SEATED];
static _Atomic uint32_t seated;
static _Atomic uint32_t may_leave;

static void take_seat(void *argument)
{
	uint32_t *seat = argument;

	*seat = thread_seat();
	if (thread_seat() != *seat || (*seat != 0 && thread_own_seat != *seat))
		abort();
	seated++;
	thread_wake_all(&seated);
	while (!may_leave)
		thread_wait(&may_leave, 0, CLOCK_FOREVER);
}

static void seat_all(void)
{
	struct thread *threads[SEATED];
	bool is_taken[THREAD_SEATS + 1] = { 0 };
	uint32_t now;

	seated = 0;
	may_leave = 0;
	for (int i = 0; i < SEATED; i++)
		EXPECT(NT_SUCCESS(thread_create("seated", take_seat, &seats[i], &threads[i])));
	while ((now = seated) < SEATED)
		thread_wait(&seated, now, CLOCK_FOREVER);
	may_leave = 1;
	thread_wake_all(&may_leave);
	for (int i = 0; i < SEATED; i++)
		thread_join(threads[i]);
	for (int i = 0; i < SEATED; i++) {
		EXPECT(seats[i] <= THREAD_SEATS);
		EXPECT(seats[i] == 0 || !is_taken[seats[i]]);
		is_taken[seats[i]] = true;
	}
}

static unsigned count_seated(void)
{
	unsigned count = 0;

	for (int i = 0; i < SEATED; i++)
		count += seats[i] != 0;
	return count;
}

TEST(thread_seat, no_two_threads_have_the_same_and_they_come_back_when_threads_end)
{
	seat_all();
	unsigned at_first = count_seated();
	seat_all();
	EXPECT_EQ(count_seated(), at_first);
}

static void nobody_has_a_seat(void)
{
	CHILD_EXPECT(thread_seat() == 0);
	CHILD_EXPECT(thread_own_seat == 0);
}

TEST(thread_seat, there_are_none_in_seeded_runs)
{
	EXPECT_SEEDED_OK(1, nobody_has_a_seat);
}

static void fence_in_child(void *argument)
{
	(void)argument;
	thread_fence_all();
}

TEST(thread_fence_all, works_in_a_child_of_fork)
{
	struct child_result result;

	thread_fence_all();
	child_run(&result, fence_in_child, NULL);
	EXPECT_EQ(result.signal, 0);
	EXPECT_EQ(result.exit_status, 0);
}

TEST_MAIN("base/thread")
