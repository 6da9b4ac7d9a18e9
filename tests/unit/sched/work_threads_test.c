/* SPDX-License-Identifier: MIT */
/*
 * work_threads_test.c - many clients, engines that turn themselves, and somebody who disturbs.
 */
#include "base/random.h"
#include "world.h"

enum { CLIENTS = 4, ROUNDS = 60, NODES = 3 };

static _Atomic bool is_ending;
static struct fake_packet packets[CLIENTS][ROUNDS][3];

static struct thread *start(const char *name, void (*run)(void *), uintptr_t argument)
{
	struct thread *thread;

	if (!NT_SUCCESS(thread_create(name, run, (void *)argument, &thread)))
		abort();
	return thread;
}

static void engine(void *context)
{
	uint32_t node = (uint32_t)(uintptr_t)context;

	while (!atomic_load(&is_ending)) {
		if (!fake_gpu_turn(&world.gpu, node, 3))
			clock_sleep_until(clock_now_ns() + 20 * NS_PER_US);
	}
}

struct blocking_wait {
	struct sched_wait wait;
	struct notice notice;
	_Atomic bool is_over;
};

static void blocking_wait_over(struct sched_wait *wait)
{
	struct blocking_wait *blocking = container_of(wait, struct blocking_wait, wait);

	atomic_store(&blocking->is_over, true);
	notice_give(&blocking->notice);
}

static void wait_for_owner(struct sched_owner *owner)
{
	struct blocking_wait wait = { .wait = { .over = blocking_wait_over } };

	sched_after_owner(owner, &wait.wait);
	for (;;) {
		uint32_t seen = notice_read(&wait.notice);
		if (atomic_load(&wait.is_over))
			return;
		notice_wait(&wait.notice, seen, CLOCK_FOREVER);
	}
}

/* Work, a wait that is reached later, a signal; each round on two nodes. */
static void client_round(struct sched_queue *queue, struct fake_packet *round)
{
	static const enum sched_packet_kind kinds[] = { SCHED_WORK, SCHED_WAIT, SCHED_SIGNAL };
	bool is_queued[3];

	for (int i = 0; i < 3; i++) {
		fake_packet_init(&world.gpu, &round[i], 'a', kinds[i]);
		is_queued[i] = NT_SUCCESS(sched_queue_submit(queue, &round[i].packet, true));
		if (!is_queued[i])
			atomic_store(&round[i].is_retired, true);
	}
	atomic_store(&round[1].is_reached, true);
	sched_queue_kick(queue);
}

static void client(void *context)
{
	uintptr_t number = (uintptr_t)context;
	struct sched_owner *owner = &world.owners[number];
	struct sched_queue two[2];

	sched_queue_init(&two[0], owner, (uint32_t)number % NODES);
	sched_queue_init(&two[1], owner, (uint32_t)(number + 1) % NODES);
	sched_queue_set_priority(&two[1], (int32_t)number);
	for (int round = 0; round < ROUNDS; round++) {
		client_round(&two[round % 2], packets[number][round]);
		if (round % 16 == 15)
			wait_for_owner(owner);
		for (int i = 0; i < 3 && round % 16 == 15; i++)
			if (!atomic_load(&packets[number][round][i].is_retired))
				abort();
	}
	sched_queue_finish(&two[0], SCHED_RUN_OUT);
	sched_queue_finish(&two[1], number % 2 == 0 ? SCHED_CANCEL_ALL : SCHED_RUN_OUT);
}

static void pager(void *context)
{
	static struct fake_packet pages[ROUNDS];

	(void)context;
	for (int round = 0; round < ROUNDS; round++) {
		fake_packet_init(&world.gpu, &pages[round], 'p', SCHED_WORK);
		pages[round].packet.keeps_fence = true;
		if (!NT_SUCCESS(
			    sched_queue_submit(&world.system_queue, &pages[round].packet, true)))
			abort();
	}
	wait_for_owner(&world.system);
}

static void disturber(void *context)
{
	struct random dice;

	random_init(&dice, (uint64_t)(uintptr_t)context);
	while (!atomic_load(&is_ending)) {
		struct sched_owner *owner = &world.owners[random_below(&dice, CLIENTS)];

		switch (random_below(&dice, 8)) {
		case 0:
			sched_quiesce(world.sched);
			sched_unquiesce(world.sched);
			break;
		case 1:
			sched_force_recovery(world.sched, SCHED_FORCE_ENGINE_RESET,
					     1 + (uint32_t)random_below(&dice, 2));
			break;
		default:
			sched_owner_suspend(owner);
			thread_point();
			sched_owner_resume(owner);
			break;
		}
		clock_sleep_until(clock_now_ns() + 100 * NS_PER_US);
	}
}

TEST(threads, everything_queued_is_retired_whatever_happens_beside)
{
	struct sched_config config = fake_gpu_config();
	struct thread *clients[CLIENTS + 1];
	struct thread *others[NODES + 1];

	config.outstanding_max = 4;
	config.quantum_ns = 50 * NS_PER_US;
	config.tdr_delay_ns = 3600 * NS_PER_S; /* a busy machine is not late */
	world_start_with(&config);
	world.gpu.is_silent = true;
	for (uintptr_t i = 0; i < NODES; i++)
		others[i] = start("engine", engine, i);
	others[NODES] = start("disturber", disturber, 5);
	for (uintptr_t i = 0; i < CLIENTS; i++)
		clients[i] = start("client", client, i);
	clients[CLIENTS] = start("pager", pager, 0);
	for (int i = 0; i <= CLIENTS; i++)
		thread_join(clients[i]);
	atomic_store(&is_ending, true);
	for (int i = 0; i <= NODES; i++)
		thread_join(others[i]);
	for (int client_number = 0; client_number < CLIENTS; client_number++) {
		for (int round = 0; round < ROUNDS; round++) {
			for (int i = 0; i < 3; i++)
				EXPECT(packets[client_number][round][i].is_retired);
		}
	}
	world_finish();
}

TEST_MAIN("sched/work_threads")
