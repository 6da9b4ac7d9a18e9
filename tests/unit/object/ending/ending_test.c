/* SPDX-License-Identifier: MIT */
/*
 * ending_test.c - stages in their order, what they wait for, and which thread goes through them.
 */
#include "unit/object/scene.h"

#include "object/ending/endings.h"
#include "object/check/validate.h"

/*
 * ---- something that ends ----
 *
 * What happens to it is in its log, a character each:
 *
 *	a b c  a stage was run
 *	-      it was asked what to wait for, and waits for nothing
 *	=      … for one thing, which is over before the question is answered
 *	2      … for two, which the test ends
 */

struct thing {
	struct ending ending;
	char log[32];
	const char *thread; /* of the last stage */
	struct sched_wait *waits[ENDING_WAITS];
	_Atomic uint32_t asked;
};

static void note(struct thing *thing, const char *letter)
{
	strcat(thing->log, letter);
	thing->thread = thread_name();
}

static void run_a(void *subject)
{
	note(subject, "a");
}

static void run_b(void *subject)
{
	note(subject, "b");
}

static void run_c(void *subject)
{
	note(subject, "c");
}

static uint32_t await_nothing(void *subject, struct sched_wait *waits)
{
	(void)waits;
	strcat(((struct thing *)subject)->log, "-");
	return 0;
}

static uint32_t await_one_that_is_over(void *subject, struct sched_wait *waits)
{
	strcat(((struct thing *)subject)->log, "=");
	waits[0].over(&waits[0]);
	return 1;
}

static uint32_t await_two(void *subject, struct sched_wait *waits)
{
	struct thing *thing = subject;

	strcat(thing->log, "2");
	thing->waits[0] = &waits[0];
	thing->waits[1] = &waits[1];
	thing->asked = 2;
	return 2;
}

static void over(struct sched_wait *wait)
{
	wait->over(wait);
}

#define IN_ONE_GO(STAGE)                                                                           \
	STAGE(NOTHING, run_a, "the first")                                                         \
	STAGE(await_nothing, run_b, "the second")                                                  \
	STAGE(await_one_that_is_over, NOTHING, "only a wait")                                      \
	STAGE(NOTHING, run_c, "the last")
#define WITH_A_WAIT(STAGE)                                                                         \
	STAGE(NOTHING, run_a, "the first")                                                         \
	STAGE(await_two, run_b, "after two things")                                                \
	STAGE(NOTHING, run_c, "the last")
ENDING_KIND(in_one_go, "a thing", IN_ONE_GO);
ENDING_KIND(with_a_wait, "a thing that waits", WITH_A_WAIT);

static void thing_init(struct thing *thing, const struct ending_kind *kind)
{
	*thing = (struct thing){ .asked = 0 };
	ending_init(&thing->ending, kind, thing);
}

/* ---- the page ---- */

#define WORDS(await, run, what) what,
/* clang-format off */
static const char *const page_words[] = {
	ENDING_OF_ALLOCATIONS(WORDS)
	ENDING_OF_UNREACHABLE_ALLOCATION(WORDS)
	ENDING_OF_SYNC_OBJECT(WORDS)
	ENDING_OF_SYNC_BODY(WORDS)
	ENDING_OF_CONTEXT_ALLOCATION(WORDS)
	ENDING_OF_CANCELLED(WORDS)
	ENDING_OF_CONTEXT_HANDLE(WORDS)
	ENDING_OF_CONTEXT(WORDS)
	ENDING_OF_COMPANION(WORDS)
	ENDING_OF_HW_CONTEXT_HANDLE(WORDS)
	ENDING_OF_HW_CONTEXT(WORDS)
	ENDING_OF_HW_QUEUE_HANDLE(WORDS)
	ENDING_OF_HW_QUEUE(WORDS)
	ENDING_OF_PAGING_QUEUE_HANDLE(WORDS)
	ENDING_OF_PAGING_QUEUE(WORDS)
	ENDING_OF_KEYED_MUTEX_HANDLE(WORDS)
	ENDING_OF_KEYED_MUTEX(WORDS)
	ENDING_OF_DEVICE_HANDLE(WORDS)
	ENDING_OF_DEVICE(WORDS)
	ENDING_OF_PROCESS(WORDS)
	ENDING_OF_DRIVER_PROCESS(WORDS)
	ENDING_OF_ADAPTER(WORDS)
	ENDING_OF_ADAPTER_WORK(WORDS)
};
/* clang-format on */

TEST(page, has_every_stage_of_every_kind_in_its_order)
{
	static char page[65536];
	FILE *file = fopen(LIFETIMES_PAGE, "r");

	EXPECT(file);
	EXPECT(fread(page, 1, sizeof(page) - 1, file) > 0);
	EXPECT_EQ(fclose(file), 0);
	const char *at = page;
	for (size_t i = 0; i < ARRAY_SIZE(page_words); i++) {
		char line[256];

		snprintf(line, sizeof(line), "%s\n", page_words[i]);
		EXPECT_CONTAINS(at, line);
		at = strstr(at, line) + strlen(line);
	}
}

/* ---- on a thread that waits ---- */

#define PLAIN_TEST(suite, claim) TEST_BETWEEN(begin_plain(), finish_plain(), suite, claim)

PLAIN_TEST(ending, goes_through_its_stages_in_the_order_of_the_table_in_one_go)
{
	struct thing thing;

	thing_init(&thing, &in_one_go);
	uint64_t blocks = mem_usage().blocks;
	EXPECT(ending_run(&thing.ending, &app.device->work, false));
	EXPECT_STR(thing.log, "a-b=c");
	EXPECT_STR(thing.thread, thread_name());
	EXPECT_EQ(mem_usage().blocks, blocks);
}

struct turner {
	struct thing *thing;
	char seen[2][32];
};

static void turn(void *context)
{
	struct turner *turner = context;
	struct thing *thing = turner->thing;

	while (thing->asked == 0)
		thread_point();
	memcpy(turner->seen[0], thing->log, sizeof(thing->log));
	over(thing->waits[1]);
	memcpy(turner->seen[1], thing->log, sizeof(thing->log));
	over(thing->waits[0]);
}

PLAIN_TEST(ending, waits_for_everything_that_its_stage_asked_for)
{
	struct thing thing;
	struct turner turner = { .thing = &thing };
	struct thread *thread;

	thing_init(&thing, &with_a_wait);
	EXPECT_EQ(thread_create("turner", turn, &turner, &thread), STATUS_SUCCESS);
	EXPECT(ending_run(&thing.ending, &app.device->work, true));
	thread_join(thread);
	EXPECT_STR(turner.seen[0], "a2");
	EXPECT_STR(turner.seen[1], "a2");
	EXPECT_STR(thing.log, "a2bc");
	EXPECT_STR(thing.thread, thread_name());
}

PLAIN_TEST(ending, that_is_given_up_goes_on_from_there_and_asks_for_nothing_twice)
{
	struct thing thing;

	thing_init(&thing, &with_a_wait);
	device_lose(app.device, DEVICE_STOPPED, NULL);
	EXPECT(!ending_run(&thing.ending, &app.device->work, true));
	EXPECT_STR(thing.log, "a2");
	EXPECT(!ending_run(&thing.ending, &app.device->work, true));
	EXPECT_STR(thing.log, "a2");
	over(thing.waits[0]);
	over(thing.waits[1]);
	EXPECT(ending_run(&thing.ending, &app.device->work, true));
	EXPECT_STR(thing.log, "a2bc");
}

/* ---- in a device's line ---- */

#define IN_LINE(STAGE)                                                                             \
	STAGE(await_two, run_a, "after two things")                                                \
	STAGE(NOTHING, run_b, "the second")                                                        \
	STAGE(await_one_that_is_over, run_c, "the last")
ENDING_KIND(in_line, "a thing in line", IN_LINE);

static void start(struct thing *thing, const void *group, _Atomic uint32_t *over_word)
{
	thing_init(thing, &in_line);
	ending_start(&thing->ending, app.device, group, over_word);
	EXPECT_STR(thing->log, "2");
}

static void all_over(struct thing *thing)
{
	over(thing->waits[0]);
	over(thing->waits[1]);
}

/* What was posted to the reaper before has run. */
static const char *log_after_reaper(struct thing *thing)
{
	worker_flush(&app.device->adapter->reaper);
	return thing->log;
}

PLAIN_TEST(line, is_gone_through_by_the_reaper_when_all_is_over_and_keeps_nobody)
{
	struct thing thing;

	uint64_t blocks = mem_usage().blocks;
	start(&thing, NULL, NULL);
	EXPECT_EQ(mem_usage().blocks, blocks);
	over(thing.waits[1]);
	EXPECT_STR(log_after_reaper(&thing), "2");
	over(thing.waits[0]);
	endings_wait(app.device);
	EXPECT_STR(thing.log, "2ab=c");
	EXPECT_CONTAINS(thing.thread, "reaper");
}

TEST(line, tells_who_waits_for_one_of_it)
{
	_Atomic uint32_t is_over = 0;
	struct thing thing;
	struct turner turner = { .thing = &thing };
	struct thread *thread;

	begin_plain();
	start(&thing, NULL, &is_over);
	EXPECT_EQ(thread_create("turner", turn, &turner, &thread), STATUS_SUCCESS);
	ending_await(&is_over);
	EXPECT_STR(thing.log, "2ab=c");
	thread_join(thread);
	finish_plain();
}

static bool is_due(const struct thing *thing)
{
	lock_acquire(&app.device->lock);
	bool is_due = ending_is_due_locked(app.device, &thing->ending);
	lock_release(&app.device->lock);
	return is_due;
}

PLAIN_TEST(line, keeps_the_order_of_a_group_and_of_nothing_else)
{
	struct thing first, second, other;

	start(&first, &app, NULL);
	start(&second, &app, NULL);
	start(&other, NULL, NULL);
	EXPECT_EQ(app.device->ordered_endings, 2);
	all_over(&second);
	all_over(&other);
	EXPECT_STR(log_after_reaper(&second), "2");
	EXPECT(!is_due(&first) && !is_due(&second));
	EXPECT_STR(other.log, "2ab=c");
	all_over(&first);
	endings_wait(app.device);
	EXPECT_STR(first.log, "2ab=c");
	EXPECT_STR(second.log, "2ab=c");
	EXPECT_EQ(app.device->ordered_endings, 0);
}

PLAIN_TEST(line, that_is_held_runs_nothing_else_until_the_last_holder_is_over)
{
	struct thing thing, holders[2];

	start(&thing, NULL, NULL);
	for (unsigned i = 0; i < 2; i++) {
		thing_init(&holders[i], &in_line);
		holders[i].ending.holds_line = true;
		ending_start(&holders[i].ending, app.device, NULL, NULL);
	}
	all_over(&thing);
	EXPECT_STR(log_after_reaper(&thing), "2");
	all_over(&holders[1]);
	EXPECT_STR(log_after_reaper(&thing), "2");
	EXPECT_STR(holders[1].log, "2ab=c");
	all_over(&holders[0]);
	endings_wait(app.device);
	EXPECT_STR(thing.log, "2ab=c");
}

PLAIN_TEST(line, with_something_that_holds_it_is_no_time_for_a_recount)
{
	struct thing first, second;
	char wrong[256];

	for (unsigned i = 0; i < 2; i++) {
		struct thing *thing = i == 0 ? &first : &second;

		thing_init(thing, &in_line);
		thing->ending.holds_line = true;
		ending_start(&thing->ending, app.device, &app, NULL);
	}
	EXPECT(!kernel_validate(&kernel, wrong, sizeof(wrong)));
	EXPECT_CONTAINS(wrong, "is ending a thing in line");
	all_over(&second);
	all_over(&first);
	endings_wait(app.device);
}

/* Keeps the reaper from everything else. */
struct blocker {
	struct work work;
	_Atomic uint32_t is_over;
};

static void block(struct work *work)
{
	ending_await(&container_of(work, struct blocker, work)->is_over);
}

static void blocker_start(struct blocker *blocker)
{
	atomic_store(&blocker->is_over, 0);
	work_init(&blocker->work, block);
	worker_post(&app.device->adapter->reaper, &blocker->work);
}

static void blocker_end(struct blocker *blocker)
{
	atomic_store(&blocker->is_over, 1);
	thread_wake_all(&blocker->is_over);
}

PLAIN_TEST(line, may_be_gone_through_by_who_cannot_wait_for_the_reaper)
{
	struct blocker blocker;
	struct thing thing, other;
	struct turner turner = { .thing = &thing };
	struct thread *thread;

	blocker_start(&blocker);
	start(&thing, &thing, NULL);
	start(&other, NULL, NULL);
	all_over(&other);
	EXPECT_EQ(thread_create("turner", turn, &turner, &thread), STATUS_SUCCESS);
	lock_acquire(&app.device->lock);
	while (!strchr(thing.log, 'c'))
		endings_help_relock(app.device, &thing);
	lock_release(&app.device->lock);
	thread_join(thread);
	EXPECT_STR(thing.log, "2ab=c");
	EXPECT_STR(thing.thread, thread_name());
	EXPECT_STR(other.log, "2");
	blocker_end(&blocker);
	endings_wait(app.device);
	EXPECT_STR(other.log, "2ab=c");
}

static struct blocker in_the_way;

/* The reaper looks, and finds nothing that may run beside the one that holds the line. */
static void let_reaper_look(void *subject)
{
	run_a(subject);
	blocker_end(&in_the_way);
	worker_flush(&app.device->adapter->reaper);
}

#define HOLDING(STAGE) STAGE(await_two, let_reaper_look, "after two things")
ENDING_KIND(holding, "a thing that holds the line", HOLDING);

PLAIN_TEST(line, that_who_helps_was_the_last_to_hold_goes_on)
{
	struct thing holder, other;

	blocker_start(&in_the_way);
	thing_init(&holder, &holding);
	holder.ending.holds_line = true;
	ending_start(&holder.ending, app.device, &holder, NULL);
	start(&other, NULL, NULL);
	all_over(&other);
	all_over(&holder);
	lock_acquire(&app.device->lock);
	endings_help_relock(app.device, &holder);
	lock_release(&app.device->lock);
	EXPECT_STR(holder.log, "2a");
	EXPECT_STR(holder.thread, thread_name());
	endings_wait(app.device);
	EXPECT_STR(other.log, "2ab=c");
	EXPECT_CONTAINS(other.thread, "reaper");
}

PLAIN_TEST(line, is_waited_for_by_who_ends_the_device)
{
	struct thing thing;

	start(&thing, NULL, NULL);
	all_over(&thing);
	object_get(&app.device->object);
	EXPECT(device_destroy(app.device));
	EXPECT_STR(thing.log, "2ab=c");
	object_put(&app.device->object);
}

TEST_MAIN("object/ending")
