/* SPDX-License-Identifier: MIT */
/*
 * ending_test.c - stages in their order, what they wait for, and which thread goes through them.
 */
#include "support/test.h"

#include "base/mem.h"
#include "base/thread.h"
#include "drivers/recorder/recorder.h"
#include "object/device.h"
#include "object/ending.h"
#include "object/endings.h"
#include "object/kernel.h"

EXPORTED void recorder_note(const char *line)
{
	(void)line;
}

/* ---- the world: a device, with a scheduler and a reaper ---- */

static struct mem_usage before;
static struct dxg_kernel kernel;
static struct dxg_process *process;
static struct dxg_device *device;

static void begin(void)
{
	const struct miniport_config config = {
		.driver = RECORDER_PATH, .name = "recorder", .adapter_id = 1, .luid = 0x10000
	};

	before = mem_usage();
	EXPECT_EQ(kernel_start(&kernel, &config, 1), STATUS_SUCCESS);
	EXPECT_EQ(process_create(1, &kernel.shares, &process), STATUS_SUCCESS);
	EXPECT_EQ(
		device_create(process, kernel.adapters[0], &(struct device_options){ 0 }, &device),
		STATUS_SUCCESS);
}

static void end(void)
{
	object_put(&device->object);
	process_destroy(process);
	kernel_end(&kernel);
	EXPECT_EQ(mem_usage().blocks, before.blocks);
}

/* ---- something that ends ---- */

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

/* ---- on a thread that waits ---- */

TEST(ending, goes_through_its_stages_in_the_order_of_the_table_in_one_go)
{
	struct thing thing;

	begin();
	thing_init(&thing, &in_one_go);
	uint64_t blocks = mem_usage().blocks;
	EXPECT(ending_run(&thing.ending, &device->work, false));
	EXPECT_STR(thing.log, "a-b=c");
	EXPECT_STR(thing.thread, thread_name());
	EXPECT_EQ(mem_usage().blocks, blocks);
	end();
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

TEST(ending, waits_for_everything_that_its_stage_asked_for)
{
	struct thing thing;
	struct turner turner = { .thing = &thing };
	struct thread *thread;

	begin();
	thing_init(&thing, &with_a_wait);
	EXPECT_EQ(thread_create("turner", turn, &turner, &thread), STATUS_SUCCESS);
	EXPECT(ending_run(&thing.ending, &device->work, true));
	thread_join(thread);
	EXPECT_STR(turner.seen[0], "a2");
	EXPECT_STR(turner.seen[1], "a2");
	EXPECT_STR(thing.log, "a2bc");
	EXPECT_STR(thing.thread, thread_name());
	end();
}

TEST(ending, that_is_given_up_goes_on_from_there_and_asks_for_nothing_twice)
{
	struct thing thing;

	begin();
	thing_init(&thing, &with_a_wait);
	device_lose(device, DEVICE_STOPPED, NULL);
	EXPECT(!ending_run(&thing.ending, &device->work, true));
	EXPECT_STR(thing.log, "a2");
	EXPECT(!ending_run(&thing.ending, &device->work, true));
	EXPECT_STR(thing.log, "a2");
	over(thing.waits[0]);
	over(thing.waits[1]);
	EXPECT(ending_run(&thing.ending, &device->work, true));
	EXPECT_STR(thing.log, "a2bc");
	end();
}

TEST_MAIN("object/ending")
