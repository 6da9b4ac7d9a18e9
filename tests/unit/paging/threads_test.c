/* SPDX-License-Identifier: MIT */
/*
 * threads_test.c - jobs from many threads, a hardware thread, resets and recounts in between.
 */
#include "base/clock.h"
#include "base/sim.h"
#include "base/thread.h"
#include "fake.h"
#include "support/test.h"

enum { THREADS = 4, ROUNDS = 60, HAND = 4 };

struct client {
	struct fake *fake;
	struct thread *thread;
	uint32_t number;
	uint32_t failures;
	bool may_fail;
	struct miniport_page_run local;
	struct miniport_page_run other;
};

static void client_round(struct client *client, uint32_t round)
{
	struct fake_job jobs[HAND];

	for (uint32_t i = 0; i < HAND; i++) {
		fake_job_init(&jobs[i], client->fake);
		struct miniport_paging_op *op = fake_job_add(&jobs[i], MINIPORT_PAGING_FILL);
		op->target = fake_place(FAKE_LOCAL, &client->local);
		op->size_bytes = 8 * 4096;
		op->fill.pattern = round * HAND + i;
		op = fake_job_add(&jobs[i], MINIPORT_PAGING_TRANSFER);
		op->source = fake_place(FAKE_LOCAL, &client->local);
		op->target = fake_place(FAKE_LOCAL, &client->other);
		op->size_bytes = 8 * 4096;
		if (i > 0)
			fake_job_after(&jobs[i], &jobs[i - 1], 0);
		paging_job_queue(&jobs[i].job);
	}
	if (round % 4 == 0)
		pager_flush(client->fake->pager);
	for (uint32_t i = 0; i < HAND; i++) {
		fake_job_wait(&jobs[i]);
		client->failures += !NT_SUCCESS(jobs[i].status);
	}
	/* Nobody else writes there, and everything is over. */
	if (client->failures == 0) {
		uint32_t found;

		memcpy(&found, client->fake->memory.local + client->other.first_pfn * 4096 + 4, 4);
		EXPECT_EQ(found, round * HAND + HAND - 1);
	}
	/* done() was called, and the pager may not have come out of it. */
	pager_flush(client->fake->pager);
}

static void client_main(void *context)
{
	struct client *client = context;

	for (uint32_t round = 0; round < ROUNDS; round++)
		client_round(client, round);
}

static void start(struct client *clients, struct fake *fake)
{
	for (uint32_t i = 0; i < THREADS; i++) {
		clients[i] = (struct client){ .fake = fake,
					      .number = i,
					      .local = { 64 + i * 32, 8 },
					      .other = { 80 + i * 32, 8 } };
		EXPECT(NT_SUCCESS(
			thread_create("client", client_main, &clients[i], &clients[i].thread)));
	}
}

static uint32_t join(struct client *clients)
{
	uint32_t failures = 0;

	for (uint32_t i = 0; i < THREADS; i++) {
		thread_join(clients[i].thread);
		failures += clients[i].failures;
	}
	return failures;
}

struct hardware {
	struct fake *fake;
	struct thread *thread;
	_Atomic bool is_over;
};

static void hardware_main(void *context)
{
	struct hardware *hardware = context;
	struct fake *fake = hardware->fake;

	for (;;) {
		uint32_t seen = notice_read(&fake->sched.changed);

		if (fake_in_flight(fake) > 0)
			fake_complete_one(fake);
		else if (atomic_load(&hardware->is_over))
			break;
		else
			notice_wait(&fake->sched.changed, seen, UINT64_MAX);
		EXPECT(pager_validate(fake->pager) == NULL);
	}
}

static void run(const struct fake_config *config)
{
	struct fake *fake = fake_create(config);
	struct hardware hardware = { .fake = fake };
	struct client clients[THREADS];

	EXPECT(NT_SUCCESS(thread_create("hardware", hardware_main, &hardware, &hardware.thread)));
	start(clients, fake);
	EXPECT_EQ(join(clients), 0);
	atomic_store(&hardware.is_over, true);
	notice_give(&fake->sched.changed);
	thread_join(hardware.thread);
	fake_destroy(fake);
}

TEST(threads, many_clients_in_the_physical_model)
{
	run(&(struct fake_config){ 0 });
	run(&(struct fake_config){ .buffer_count = 1 });
}

TEST(threads, many_clients_with_an_address_space)
{
	run(&(struct fake_config){ .has_mmu = true });
	run(&(struct fake_config){ .has_mmu = true,
				   .update_mode = MINIPORT_TABLE_GPU_PHYSICAL,
				   .table_segment = FAKE_LOCAL,
				   .levels = 2,
				   .address_bits = 21,
				   .buffer_count = 2 });
}

/* Every job ends, whatever a reset makes of it; afterwards all is as before. */
TEST(threads, resets_in_between)
{
	struct fake *fake =
		fake_create(&(struct fake_config){ .has_mmu = true, .is_automatic = true });
	struct client clients[THREADS];
	struct fake_job job;

	start(clients, fake);
	for (uint32_t i = 0; i < 20; i++) {
		pager_suspend(fake->pager);
		EXPECT(pager_validate(fake->pager) == NULL);
		pager_restart(fake->pager);
	}
	(void)join(clients);
	fake_job_init(&job, fake);
	struct miniport_paging_op *op = fake_job_add(&job, MINIPORT_PAGING_FILL);
	op->target = fake_place(FAKE_LOCAL, &clients[0].local);
	op->size_bytes = 8 * 4096;
	op->fill.pattern = 0x12345678;
	paging_job_queue(&job.job);
	fake_job_wait(&job);
	EXPECT_EQ(job.status, STATUS_SUCCESS);
	EXPECT_EQ(fake->memory.local[64 * 4096], 0x78);
	fake_destroy(fake);
}

/* Packets come back late: everybody else has gone as far as he can. */
static void complete_slowly(struct fake_job *job)
{
	while (atomic_load(&job->done_count) == 0) {
		clock_sleep_until(clock_deadline(NS_PER_MS));
		if (fake_in_flight(job->fake) > 0)
			fake_complete_one(job->fake);
	}
	fake_job_wait(job);
}

/* The pager's thread goes on meanwhile, as far as it may. */
static void dawdle(void)
{
	for (int i = 0; i < 300; i++)
		sim_point();
}

TEST(threads, a_reset_between_any_steps_of_the_one_before_finds_no_packets_under_its_tables)
{
	bool was_parked = true;

	SKIP_UNLESS(thread_is_simulated(), "threads are parked in seeded runs only");
	for (uint64_t point = 1; was_parked; point++) {
		struct fake *fake = fake_create(&(struct fake_config){ .has_mmu = true });
		struct fake_job job;

		fake->hook = fake_count_early_tables;
		sim_park("pager", point);
		pager_restart(fake->pager);
		dawdle();
		pager_restart(fake->pager);
		fake_job_queue_fill(&job, fake, 1);
		was_parked = sim_park_end();
		complete_slowly(&job);
		EXPECT_EQ(job.status, STATUS_SUCCESS);
		EXPECT_EQ(fake->hook_count, 0);
		fake_destroy(fake);
	}
}

TEST_MAIN("paging/threads")
