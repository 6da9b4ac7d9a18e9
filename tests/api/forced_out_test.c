/* SPDX-License-Identifier: MIT */
/*
 * forced_out_test.c - everything is forced out of GPU memory (D3DKMT_VIDMMESCAPETYPE_EVICT) while a
 * client goes on working: what is queued finds in place what it needs, whatever is said about that
 * memory afterwards.
 */
#include "api/soft_work.h"

enum { ROUNDS = 100 };

enum afterwards { NOTHING, OFFERED, EVICTED, DESTROYED };

static void force_out(const struct worker *worker)
{
	D3DKMT_VIDMM_ESCAPE everything = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	D3DKMT_ESCAPE args = { .hAdapter = worker->client.adapter,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &everything,
			       .PrivateDriverDataSize = sizeof(everything) };

	EXPECT_OK(D3DKMTEscape(&args));
}

/* Said of the memory behind the work that was queued on it. */
static void say(struct worker *worker, enum afterwards what)
{
	if (what == OFFERED)
		EXPECT_OK(offer(&worker->client, &worker->memory, 1, 1, 0));
	else if (what == EVICTED)
		EXPECT_OK(evict(&worker->client, &worker->memory, 1, 0));
	else if (what == DESTROYED)
		EXPECT_OK(destroy_one(worker->client.device, worker->memory));
}

/* The work came to its end, and its bytes are there unless the memory is gone or was given up. */
static void check_round(struct worker *worker, enum afterwards what, uint64_t value)
{
	D3DDDI_RECLAIM_RESULT result = D3DDDI_RECLAIM_RESULT_OK;

	worker_wait(worker);
	EXPECT_EQ(state_of(worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	EXPECT_EQ(*worker->value, worker->last_value);
	if (what == OFFERED)
		EXPECT_OK(reclaim(&worker->client, &worker->memory, 1, &result));
	if (what != DESTROYED && result == D3DDDI_RECLAIM_RESULT_OK)
		EXPECT_EQ(worker_read(worker, 16), value);
	if (what == EVICTED)
		EXPECT_OK(make_resident(&worker->client, &worker->memory, 1, 0));
	if (what == DESTROYED)
		worker->memory =
			mapped_memory(&worker->client, DATA_BYTES,
				      SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY, &worker->data);
}

static void play(enum afterwards what)
{
	struct worker worker;

	D3DKMTCloseDxCoreDevice();
	worker_open(&worker, open_first_adapter());
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		struct row row = { 0 };

		add_write(&row, worker.data + 16, round);
		force_out(&worker);
		worker_run(&worker, &row);
		say(&worker, what);
		check_round(&worker, what, round);
	}
	worker_close(&worker);
	expect_valid();
}

TEST(forced_out, memory_is_back_when_work_uses_it)
{
	play(NOTHING);
}

TEST(forced_out, memory_that_is_offered_later_is_back_for_the_work_before)
{
	play(OFFERED);
}

TEST(forced_out, memory_that_is_evicted_later_is_back_for_the_work_before)
{
	play(EVICTED);
}

TEST(forced_out, memory_that_is_destroyed_later_is_back_for_the_work_before)
{
	play(DESTROYED);
}

API_TEST_MAIN("api/forced_out")
