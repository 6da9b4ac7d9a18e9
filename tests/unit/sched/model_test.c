/* SPDX-License-Identifier: MIT */
/*
 * model_test.c - random steps, and what must hold after each whatever they were.
 *
 * The model knows of a packet only what stood in front of it in its queue, whether the GPU has
 * completed it, and whether its owner was lost:
 *
 *	it is retired after everything in front of it, once
 *	of an owner that is not lost everything ends as done
 *	done work was completed by the GPU; done waits were reached
 *	nothing is submitted behind a wait that was not reached
 *	a wait for an owner is over exactly when everything queued before it is retired
 */
#include "base/random.h"
#include "world.h"

enum { WORLDS = 12, STEPS = 250, QUEUES = 8, WAITS = 64, SYSTEM = WORLD_OWNERS };

struct step_wait {
	struct sched_wait wait;
	uint32_t owner;
	uint32_t packets; /* how many existed when it began */
	bool is_over;
};

static struct random dice;
static struct sched_queue *queues[QUEUES];
static uint32_t owner_of[WORLD_PACKETS];
static struct fake_packet *in_front[WORLD_PACKETS];
static struct fake_packet *last_of[QUEUES + 1];
static bool is_lost[WORLD_OWNERS + 1];
static struct step_wait waits[WAITS];
static uint32_t wait_count;
static bool has_reset; /* the whole adapter: the kernel's packets may end otherwise, too */

static void claim(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "model: %s\n", what);
	abort();
}

static uint32_t roll(uint32_t sides)
{
	return (uint32_t)random_below(&dice, sides);
}

static void on_retired(struct fake_packet *packet)
{
	const struct fake_packet *before = in_front[packet - world.packets];

	claim(!before || atomic_load(&before->is_retired), "a packet overtook another");
}

static struct fake_packet *new_packet(enum sched_packet_kind kind, uint32_t owner, uint32_t row)
{
	struct fake_packet *packet = world_packet('a', kind);
	uint32_t index = (uint32_t)(packet - world.packets);

	packet->on_retired = on_retired;
	owner_of[index] = owner;
	in_front[index] = last_of[row];
	return packet;
}

static void step_queue(void)
{
	uint32_t row = roll(QUEUES);
	uint32_t owner = row % WORLD_OWNERS;
	uint32_t kind = roll(8);
	struct fake_packet *packet = new_packet(kind < 5   ? SCHED_WORK
						: kind < 6 ? SCHED_WAIT
							   : SCHED_SIGNAL,
						owner, row);

	packet->is_reached = roll(2) == 0;
	packet->packet.signals_early = kind == 7;
	packet->prepare_status = roll(8) == 0 ? STATUS_PENDING : STATUS_SUCCESS;
	packet->completes_at_once = roll(10) == 0;
	NTSTATUS status = sched_queue_submit(queues[row], &packet->packet, false);
	EXPECT_EQ(status, is_lost[owner] ? STATUS_DEVICE_REMOVED : STATUS_SUCCESS);
	if (NT_SUCCESS(status))
		last_of[row] = packet;
	else
		packet->packet.queue = NULL;
}

static void step_page(void)
{
	struct fake_packet *packet = new_packet(SCHED_WORK, SYSTEM, QUEUES);

	packet->packet.keeps_fence = true;
	QUEUE(&world.system_queue, packet);
	last_of[QUEUES] = packet;
}

static void step_turn(void)
{
	fake_gpu_turn(&world.gpu, roll(3), 1 + roll(4));
}

/* What some packet waits for has come. */
static void step_kick(void)
{
	for (uint32_t tries = 0; tries < 20 && world.packet_count > 0; tries++) {
		struct fake_packet *packet = &world.packets[roll(world.packet_count)];

		if (!packet->packet.queue || packet->is_retired)
			continue;
		packet->is_reached = true;
		packet->prepare_status = STATUS_SUCCESS;
		sched_queue_kick(packet->packet.queue);
	}
}

static uint32_t suspended[WORLD_OWNERS];

static void step_suspend(void)
{
	uint32_t owner = roll(WORLD_OWNERS);

	if (suspended[owner] > 0 && roll(3) > 0) {
		suspended[owner]--;
		sched_owner_resume(&world.owners[owner]);
	} else {
		suspended[owner]++;
		sched_owner_suspend(&world.owners[owner]);
	}
}

static void step_priority(void)
{
	sched_queue_set_priority(queues[roll(QUEUES)], (int32_t)roll(15) - 7);
}

static void wait_over(struct sched_wait *wait)
{
	struct step_wait *step = container_of(wait, struct step_wait, wait);

	claim(!step->is_over, "a wait was over twice");
	step->is_over = true;
	for (uint32_t i = 0; i < step->packets; i++)
		claim(owner_of[i] != step->owner || !world.packets[i].packet.queue ||
			      atomic_load(&world.packets[i].is_retired),
		      "a wait was over too early");
}

static void step_wait(void)
{
	if (wait_count == WAITS)
		return;
	struct step_wait *wait = &waits[wait_count++];
	*wait = (struct step_wait){ .wait = { .over = wait_over },
				    .owner = roll(WORLD_OWNERS + 1),
				    .packets = world.packet_count };
	sched_after_owner(wait->owner == SYSTEM ? &world.system : &world.owners[wait->owner],
			  &wait->wait);
}

static void look_who_is_lost(void)
{
	for (uint32_t i = 0; i < WORLD_OWNERS; i++)
		is_lost[i] |= atomic_load(&world.owners[i].is_lost);
}

static void step_disaster(void)
{
	uint32_t node = roll(3);

	switch (roll(12)) {
	case 0:
		sched_owner_lose(&world.owners[roll(WORLD_OWNERS)]);
		break;
	case 1:
		sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET, node);
		break;
	case 2:
		if (fake_gpu_held(&world.gpu, node) > 0)
			fake_gpu_page_fault(&world.gpu, node, false);
		break;
	case 3:
		if (roll(8) == 0)
			sched_force_recovery(world.sched, SCHED_FORCE_ADAPTER_RESET, node);
		break;
	default:
		pass_time(roll(1000) * NS_PER_MS);
		break;
	}
}

/* ---- what must hold ---- */

static bool is_over_of_owner(const struct step_wait *wait)
{
	for (uint32_t i = 0; i < wait->packets; i++) {
		if (owner_of[i] == wait->owner && world.packets[i].packet.queue &&
		    !atomic_load(&world.packets[i].is_retired))
			return false;
	}
	return true;
}

static void check_packet(const struct fake_packet *packet, uint32_t owner)
{
	if (!packet->packet.queue)
		return;
	for (const struct fake_packet *before = in_front[packet - world.packets]; before;
	     before = in_front[before - world.packets]) {
		if (before->packet.kind == SCHED_WAIT && packet->submitted > 0)
			EXPECT(before->is_reached || before->is_retired);
	}
	if (!packet->is_retired)
		return;
	if (owner == SYSTEM ? !has_reset : !is_lost[owner])
		EXPECT_EQ(packet->outcome, SCHED_DONE);
	if (packet->outcome == SCHED_DONE && packet->packet.kind == SCHED_WAIT)
		EXPECT(packet->is_reached);
	if (packet->outcome == SCHED_DONE && packet->packet.kind == SCHED_WORK)
		EXPECT(packet->submitted > 0);
	if (packet->outcome == SCHED_CANCELLED)
		EXPECT_EQ(packet->submitted, 0);
}

static void check(void)
{
	sched_settle(world.sched);
	const char *problem = sched_validate(world.sched);
	if (problem)
		fail_msg("%s", problem);
	const char *log = fake_gpu_log(&world.gpu);
	has_reset |= strstr(log, "begin") != NULL;
	EXPECT(!strstr(log, "dead"));
	look_who_is_lost();
	for (uint32_t i = 0; i < world.packet_count; i++)
		check_packet(&world.packets[i], owner_of[i]);
	for (uint32_t i = 0; i < wait_count; i++)
		EXPECT_EQ(waits[i].is_over, is_over_of_owner(&waits[i]));
}

static void run_world(uint64_t seed)
{
	struct sched_config config = fake_gpu_config();

	random_init(&dice, seed);
	memset(is_lost, 0, sizeof(is_lost));
	memset(last_of, 0, sizeof(last_of));
	memset(suspended, 0, sizeof(suspended));
	wait_count = 0;
	has_reset = false;
	config.outstanding_max = 1 + roll(5);
	config.first_fence = roll(2) == 0 ? 0 : UINT32_MAX - roll(40);
	config.is_preemption_aware = roll(4) > 0;
	config.quantum_ns = roll(2) * 20 * NS_PER_MS;
	config.tdr_limit_count = 1000;
	world_start_with(&config);
	for (uint32_t i = 0; i < QUEUES; i++)
		queues[i] = world_queue(i % WORLD_OWNERS, i % 3);
	for (int step = 0; step < STEPS; step++) {
		static void (*const steps[])(void) = { step_queue, step_queue,   step_queue,
						       step_page,  step_turn,    step_turn,
						       step_kick,  step_suspend, step_priority,
						       step_wait,  step_disaster };
		steps[roll(ARRAY_SIZE(steps))]();
		check();
	}
	for (uint32_t i = 0; i < WORLD_OWNERS; i++) {
		while (suspended[i]-- > 0)
			sched_owner_resume(&world.owners[i]);
	}
	world_finish();
	for (uint32_t i = 0; i < wait_count; i++)
		EXPECT(waits[i].is_over);
}

TEST(model, random_steps_keep_the_rules)
{
	const char *seed = getenv("DXGK_SEED");
	uint64_t first = seed ? strtoull(seed, NULL, 0) * WORLDS : 0;

	for (uint64_t i = 0; i < WORLDS; i++)
		run_world(first + i);
}

WORLD_MAIN("sched/model")
