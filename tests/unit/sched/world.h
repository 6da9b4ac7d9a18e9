/* SPDX-License-Identifier: MIT */
/*
 * world.h - a scheduler on a GPU turned by hand, with owners, queues and packets at hand.
 *
 * These programs run simulated, so that time is turned by hand, too.
 */
#ifndef TESTS_UNIT_SCHED_WORLD_H
#define TESTS_UNIT_SCHED_WORLD_H

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sim.h"
#include "fake/gpu.h"
#include "sched/sched.h"
#include "support/test.h"

enum { WORLD_OWNERS = 4, WORLD_QUEUES = 12, WORLD_PACKETS = 600 };

struct world {
	struct fake_gpu gpu;
	struct sched *sched;
	struct mem_usage before;
	struct sched_owner system;               /* S */
	struct sched_queue system_queue;         /* of node 0 */
	struct sched_owner owners[WORLD_OWNERS]; /* W X Y Z */
	struct sched_queue queues[WORLD_QUEUES];
	bool has_queue[WORLD_QUEUES];
	struct fake_packet packets[WORLD_PACKETS];
	uint32_t packet_count;
};

static struct world world;

static inline void world_silence(void *context, const char *line)
{
	(void)context;
	(void)line;
}

static inline void world_start_with(const struct sched_config *config)
{
	log_redirect(world_silence, NULL);
	memset(&world, 0, sizeof(world));
	world.before = mem_usage();
	fake_gpu_start(&world.gpu, config);
	world.sched = world.gpu.sched;
	sched_owner_init(&world.system, world.sched, true);
	fake_gpu_name_owner(&world.system, 'S');
	sched_queue_init(&world.system_queue, &world.system, 0);
	for (uint32_t i = 0; i < WORLD_OWNERS; i++) {
		sched_owner_init(&world.owners[i], world.sched, false);
		fake_gpu_name_owner(&world.owners[i], (char)('W' + i));
	}
}

static inline void world_start(void)
{
	struct sched_config config = fake_gpu_config();

	world_start_with(&config);
}

static inline struct sched_queue *world_queue(uint32_t owner, uint32_t node)
{
	for (uint32_t i = 0; i < WORLD_QUEUES; i++) {
		if (world.has_queue[i])
			continue;
		world.has_queue[i] = true;
		sched_queue_init(&world.queues[i], &world.owners[owner], node);
		return &world.queues[i];
	}
	abort();
}

static inline struct sched_queue *world_queue_at(uint32_t owner, uint32_t node, int32_t priority)
{
	struct sched_queue *queue = world_queue(owner, node);

	sched_queue_set_priority(queue, priority);
	return queue;
}

static inline void world_finish_queue(struct sched_queue *queue, bool is_cancelling)
{
	sched_queue_finish(queue, is_cancelling ? SCHED_CANCEL_ALL : SCHED_RUN_OUT);
	world.has_queue[queue - world.queues] = false;
}

static inline struct fake_packet *world_packet(char name, enum sched_packet_kind kind)
{
	if (world.packet_count == WORLD_PACKETS)
		abort();
	struct fake_packet *packet = &world.packets[world.packet_count++];
	fake_packet_init(&world.gpu, packet, name, kind);
	return packet;
}

#define QUEUE(queue, packet_in)                                                                    \
	EXPECT_EQ(sched_queue_submit(queue, &(packet_in)->packet, false), STATUS_SUCCESS)

static inline struct fake_packet *queue_kind(struct sched_queue *queue, char name,
					     enum sched_packet_kind kind)
{
	struct fake_packet *packet = world_packet(name, kind);

	QUEUE(queue, packet);
	return packet;
}

static inline struct fake_packet *work(struct sched_queue *queue, char name)
{
	return queue_kind(queue, name, SCHED_WORK);
}

/* One for each letter. */
static inline void works(struct sched_queue *queue, const char *names)
{
	while (*names)
		work(queue, *names++);
}

/* "W1:ab X2:c": owner W has a and b for node 1, X has c for node 2; each on its one queue there. */
static inline void bring(const char *words)
{
	for (; *words; words += *words == ' ') {
		struct sched_owner *owner = &world.owners[words[0] - 'W'];
		uint32_t node = (uint32_t)(words[1] - '0');
		struct sched_queue *queue = NULL;

		for (uint32_t i = 0; i < WORLD_QUEUES && !queue; i++) {
			struct sched_queue *known = &world.queues[i];
			if (world.has_queue[i] && known->owner == owner && known->node == node)
				queue = known;
		}
		if (!queue)
			queue = world_queue((uint32_t)(words[0] - 'W'), node);
		for (words += 3; *words && *words != ' '; words++)
			work(queue, *words);
	}
}

/* Nobody's clock ends it. */
static inline struct fake_packet *endless(struct sched_queue *queue, char name)
{
	struct fake_packet *packet = world_packet(name, SCHED_WORK);

	packet->packet.is_never_late = true;
	QUEUE(queue, packet);
	return packet;
}

static inline struct fake_packet *wait_packet(struct sched_queue *queue, char name)
{
	return queue_kind(queue, name, SCHED_WAIT);
}

static inline struct fake_packet *signal_packet(struct sched_queue *queue, char name)
{
	return queue_kind(queue, name, SCHED_SIGNAL);
}

static inline struct fake_packet *paging(char name)
{
	struct fake_packet *packet = world_packet(name, SCHED_WORK);

	packet->packet.keeps_fence = true;
	QUEUE(&world.system_queue, packet);
	return packet;
}

/* What happened, after the scheduler's thread has done what it can; and everything adds up. */
static inline const char *happened(void)
{
	sched_settle(world.sched);
	const char *problem = sched_validate(world.sched);
	if (problem)
		fail_msg("%s", problem);
	return fake_gpu_log(&world.gpu);
}

/*
 * Threads act side by side: the one that brings news retires, the scheduler's own submits, resets
 * and tells. Between them there is no order, so each is looked at alone.
 */
enum stream { SUBMISSIONS, RETIREMENTS, THE_REST };

static inline enum stream stream_of(const char *word)
{
	char last = word[strlen(word) - 1];

	if (strchr(word, ':') && word[0] != 'P')
		return SUBMISSIONS;
	return strchr(".!-^", last) ? RETIREMENTS : THE_REST;
}

static inline const char *words_of(const char *log, enum stream stream)
{
	static char text[3][FAKE_LOG_BYTES];
	char copy[FAKE_LOG_BYTES];
	char *rest = copy;
	char *word;

	text[stream][0] = '\0';
	snprintf(copy, sizeof(copy), "%s", log);
	while ((word = strsep(&rest, " "))) {
		if (!*word || stream_of(word) != stream)
			continue;
		strcat(text[stream], text[stream][0] ? " " : "");
		strcat(text[stream], word);
	}
	return text[stream];
}

#define EXPECT_STREAMS(the_submissions, the_retirements, the_rest)                                 \
	do {                                                                                       \
		const char *streams_log = happened();                                              \
		EXPECT_STR(words_of(streams_log, SUBMISSIONS), the_submissions);                   \
		EXPECT_STR(words_of(streams_log, RETIREMENTS), the_retirements);                   \
		EXPECT_STR(words_of(streams_log, THE_REST), the_rest);                             \
	} while (0)

/* What a step leads to. */
#define EXPECT_AFTER(step, expected)                                                               \
	do {                                                                                       \
		(void)(step);                                                                      \
		EXPECT_STR(happened(), expected);                                                  \
	} while (0)

#define EXPECT_STREAMS_AFTER(step, the_submissions, the_retirements, the_rest)                     \
	do {                                                                                       \
		(void)(step);                                                                      \
		EXPECT_STREAMS(the_submissions, the_retirements, the_rest);                        \
	} while (0)

static inline void complete(uint32_t node, uint32_t count)
{
	fake_gpu_complete(&world.gpu, node, count);
}

static inline void preempted(uint32_t node, uint32_t completed)
{
	fake_gpu_preempted(&world.gpu, node, completed);
}

static inline void pass_time(uint64_t ns)
{
	clock_sleep_until(clock_now_ns() + ns);
}

static inline bool is_about(uint64_t ns, uint64_t expected_ns)
{
	return ns + NS_PER_MS > expected_ns && ns < expected_ns + NS_PER_MS;
}

/* What is left completes. Leaves nothing behind. */
static inline void world_finish(void)
{
	bool is_done = false;

	while (!is_done) {
		is_done = true;
		sched_settle(world.sched);
		for (uint32_t node = 0; node < FAKE_NODES; node++) {
			struct fake_node *fake = &world.gpu.nodes[node];
			bool has_work = fake_gpu_held(&world.gpu, node) > 0;
			fake->hides_completion = false;
			if (fake->preemption != 0 && !fake->is_stuck)
				preempted(node, 0);
			else if (has_work)
				complete(node, 1);
			is_done &= !has_work;
		}
	}
	for (uint32_t i = 0; i < WORLD_QUEUES; i++) {
		if (world.has_queue[i])
			sched_queue_finish(&world.queues[i], SCHED_CANCEL_ALL);
	}
	sched_queue_finish(&world.system_queue, SCHED_CANCEL_ALL);
	sched_settle(world.sched);
	const char *problem = sched_validate(world.sched);
	if (problem)
		fail_msg("at the end: %s", problem);
	for (uint32_t i = 0; i < world.packet_count; i++)
		EXPECT(world.packets[i].packet.queue == NULL ||
		       atomic_load(&world.packets[i].is_retired));
	for (uint32_t i = 0; i < WORLD_OWNERS; i++)
		sched_owner_finish(&world.owners[i]);
	sched_owner_finish(&world.system);
	fake_gpu_finish(&world.gpu);
	log_redirect(NULL, NULL);
	struct mem_usage now = mem_usage();
	EXPECT_EQ(now.blocks, world.before.blocks);
	EXPECT_EQ(now.bytes, world.before.bytes);
}

#define WORLD_MAIN(group)                                                                          \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		if (!sim_is_on())                                                                  \
			sim_start(1);                                                              \
		return test_run(group, argc, argv);                                                \
	}

#define WORLD_TEST(suite, claim) TEST_BETWEEN(world_start(), world_finish(), suite, claim)

/* … of a GPU that is not as all the others: what is different in its `config`, by commas. */
#define WORLD_TEST_WITH(suite, claim, ...)                                                         \
	TEST_BETWEEN(struct sched_config config = fake_gpu_config(); (__VA_ARGS__);                \
		     world_start_with(&config), world_finish(), suite, claim)

#endif
