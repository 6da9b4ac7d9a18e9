/* SPDX-License-Identifier: MIT */
/*
 * pressure_test.c - clients that want three times the local memory there is. Every byte that one
 * wrote is there when it reads it back, or its allocation was thrown away and says so.
 *
 * The steps are random and can be repeated: TEST_SEED chooses another row of them.
 */
#include "api/residency.h"

#include <pthread.h>

enum { THINGS = 32, SOME_STEPS = 600, ALL_STEPS = 1500, LARGEST = MIB };

static unsigned all_steps(void)
{
	return some_of(SOME_STEPS, ALL_STEPS);
}

static uint64_t seed_of_run(void)
{
	const char *text = getenv("TEST_SEED");

	return text ? strtoull(text, NULL, 0) : 1;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct thing {
	D3DKMT_HANDLE handle; /* 0: there is none */
	uint64_t size_bytes;
	uint64_t seed;
	bool is_written;
	bool is_offered;
	unsigned count; /* how often it is resident */
};

struct player {
	struct client client;
	uint64_t random;
	struct thing things[THINGS];
	unsigned steps;
	unsigned discards;
};

static void thing_make(struct player *player, struct thing *thing)
{
	static const unsigned kinds[] = { SOFTGPU_CPU_VISIBLE,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY,
					  SOFTGPU_LOCAL_ONLY,
					  SOFTGPU_CPU_VISIBLE | SOFTGPU_CACHED };
	uint64_t pages = 16 + next_random(&player->random) % (LARGEST / PAGE - 16);

	*thing = (struct thing){ .size_bytes = pages * PAGE };
	thing->handle = create_sized(&player->client, thing->size_bytes,
				     kinds[next_random(&player->random) % 5]);
}

/* What cannot be seen where it is cannot be locked there; that is no mistake. */
static bool try_lock(struct player *player, struct thing *thing, uint64_t **pointer_out)
{
	void *pointer;
	NTSTATUS status = lock2(player->client.device, thing->handle, &pointer);

	*pointer_out = pointer;
	if (status == STATUS_INVALID_PARAMETER) {
		EXPECT_STR(last_refusal().rule, "MM-LOCK-PLACE");
		return false;
	}
	EXPECT_OK(status);
	return true;
}

static void thing_check(struct player *player, struct thing *thing)
{
	uint64_t *pointer;

	if (thing->is_offered || !try_lock(player, thing, &pointer))
		return;
	for (uint64_t i = 0; thing->is_written && i < thing->size_bytes / 8; i++) {
		if (pointer[i] == pattern(thing->seed, i))
			continue;
		EXPECT_EQ(i * 8, thing->size_bytes); /* says where */
		break;
	}
	EXPECT_OK(unlock2(player->client.device, thing->handle));
}

static void thing_write(struct player *player, struct thing *thing)
{
	uint64_t *pointer;

	if (thing->is_offered || !try_lock(player, thing, &pointer))
		return;
	thing->seed = next_random(&player->random);
	for (uint64_t i = 0; i < thing->size_bytes / 8; i++)
		pointer[i] = pattern(thing->seed, i);
	thing->is_written = true;
	EXPECT_OK(unlock2(player->client.device, thing->handle));
}

static void thing_evict(struct player *player, struct thing *thing)
{
	if (thing->count == 0)
		return;
	unsigned flags = next_random(&player->random) % 4 ? ONLY_IF_NECESSARY : 0;
	EXPECT_OK(evict(&player->client, &thing->handle, 1, flags));
	thing->count--;
}

/* Over budget, others of this client go first. */
static void thing_make_resident(struct player *player, struct thing *thing)
{
	NTSTATUS status = make_resident(&player->client, &thing->handle, 1, 0);

	for (unsigned i = 0; status == STATUS_NO_MEMORY && i < THINGS; i++) {
		while (player->things[i].count > 0)
			thing_evict(player, &player->things[i]);
		status = make_resident(&player->client, &thing->handle, 1, 0);
	}
	if (status == STATUS_NO_MEMORY)
		return; /* others have it */
	EXPECT_OK(status);
	thing->count++;
}

static void thing_offer(struct player *player, struct thing *thing)
{
	unsigned priority = 1 + (unsigned)(next_random(&player->random) % 4);
	unsigned flags = (unsigned)(next_random(&player->random) % 4);

	EXPECT_OK(offer(&player->client, &thing->handle, 1, priority, flags));
	thing->is_offered = true;
}

/*
 * What comes back in with a reclaim is not asked whether there is a budget for it; a client that
 * lists more than there is loses its device.
 */
static void make_budget(struct player *player, const struct thing *thing)
{
	for (unsigned i = 0; i < THINGS && thing->count > 0; i++) {
		D3DKMT_QUERYVIDEOMEMORYINFO info = memory_info(&player->client, 0);
		if (info.CurrentUsage + thing->size_bytes <= info.Budget)
			return;
		while (&player->things[i] != thing && player->things[i].count > 0)
			thing_evict(player, &player->things[i]);
	}
}

/* By the one call or the other. */
static D3DDDI_RECLAIM_RESULT reclaim_somehow(struct player *player, const struct thing *thing)
{
	D3DDDI_RECLAIM_RESULT result = (D3DDDI_RECLAIM_RESULT)GARBAGE;
	BOOL is_discarded = GARBAGE;

	if (next_random(&player->random) % 2) {
		EXPECT_OK(reclaim(&player->client, &thing->handle, 1, &result));
		return result;
	}
	EXPECT_OK(reclaim_now(&player->client, &thing->handle, 1, &is_discarded));
	EXPECT(is_discarded == TRUE || is_discarded == FALSE);
	return is_discarded ? D3DDDI_RECLAIM_RESULT_DISCARDED : D3DDDI_RECLAIM_RESULT_OK;
}

static void thing_reclaim(struct player *player, struct thing *thing)
{
	make_budget(player, thing);
	D3DDDI_RECLAIM_RESULT result = reclaim_somehow(player, thing);
	EXPECT(result == D3DDDI_RECLAIM_RESULT_OK || result == D3DDDI_RECLAIM_RESULT_DISCARDED);
	EXPECT(thing->is_offered || result == D3DDDI_RECLAIM_RESULT_OK);
	thing->is_offered = false;
	if (result == D3DDDI_RECLAIM_RESULT_DISCARDED) {
		thing->is_written = false;
		player->discards++;
	}
}

static void play_step(struct player *player)
{
	struct thing *thing = &player->things[next_random(&player->random) % THINGS];

	if (thing->handle == 0) {
		thing_make(player, thing);
		thing_write(player, thing);
		return;
	}
	switch (next_random(&player->random) % 12) {
	case 0:
	case 1:
		thing_write(player, thing);
		break;
	case 2:
	case 3:
	case 4:
		thing_check(player, thing);
		break;
	case 5:
	case 6:
	case 7:
		thing_make_resident(player, thing);
		break;
	case 8:
		thing_evict(player, thing);
		break;
	case 9:
		thing_offer(player, thing);
		break;
	case 10:
		thing_reclaim(player, thing);
		break;
	default:
		if (next_random(&player->random) % 4 != 0)
			break;
		thing_check(player, thing);
		EXPECT_OK(destroy_one(player->client.device, thing->handle));
		*thing = (struct thing){ 0 };
		break;
	}
}

static void play_end(struct player *player)
{
	for (unsigned i = 0; i < THINGS; i++) {
		struct thing *thing = &player->things[i];
		if (thing->handle == 0)
			continue;
		thing_reclaim(player, thing);
		while (thing->count > 0)
			thing_evict(player, thing);
	}
	flush(&player->client);
	for (unsigned i = 0; i < THINGS; i++) {
		if (player->things[i].handle)
			thing_check(player, &player->things[i]);
	}
}

TEST(pressure, one_client_keeps_every_byte)
{
	struct player player = { .client = begin(), .random = seed_of_run() * 2654435761u + 1 };

	for (unsigned step = 0; step < all_steps(); step++) {
		play_step(&player);
		if (step % 100 == 0) {
			flush(&player.client);
			expect_valid();
		}
	}
	play_end(&player);
	expect_valid();
	EXPECT(player.discards > 0);
}

/* ---- out with everything, at every step ---- */

static void force_out(const struct client *client)
{
	D3DKMT_VIDMM_ESCAPE everything = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };
	D3DKMT_ESCAPE args = { .hAdapter = client->adapter,
			       .Type = D3DKMT_ESCAPE_VIDMM,
			       .pPrivateDriverData = &everything,
			       .PrivateDriverDataSize = sizeof(everything) };

	EXPECT_OK(D3DKMTEscape(&args));
}

TEST(pressure, one_client_keeps_every_byte_though_all_is_forced_out_at_every_step)
{
	struct player player = { .client = begin(), .random = seed_of_run() * 69069 + 1 };

	for (unsigned step = 0; step < all_steps() / 3; step++) {
		play_step(&player);
		force_out(&player.client);
		if (step % 20 == 0)
			expect_valid();
	}
	play_end(&player);
	expect_valid();
}

/* ---- put in order, at every step ---- */

static D3DKMT_DEFRAG_ESCAPE_OPERATION some_order(unsigned step)
{
	return (D3DKMT_DEFRAG_ESCAPE_OPERATION)(1 + step % D3DKMT_DEFRAG_ESCAPE_VERIFY_TRANSFER);
}

TEST(pressure, one_client_keeps_every_byte_though_all_is_put_in_order_at_every_step)
{
	struct player player = { .client = begin(), .random = seed_of_run() * 16807 + 1 };

	for (unsigned step = 0; step < all_steps() / 10; step++) {
		play_step(&player);
		put_in_order(&player.client, some_order(step));
		if (step % 20 == 0)
			expect_valid();
	}
	play_end(&player);
	expect_valid();
}

/* ---- many at once ---- */

enum { PLAYERS = 10 };

struct tester {
	struct client client;
	_Atomic bool is_over;
};

static void *put_in_order_again(void *argument)
{
	struct tester *tester = argument;

	for (unsigned i = 0; !tester->is_over; i++)
		put_in_order(&tester->client, some_order(i));
	return NULL;
}

static void *play(void *argument)
{
	struct player *player = argument;

	for (unsigned step = 0; step < player->steps; step++)
		play_step(player);
	play_end(player);
	return NULL;
}

static void play_together(unsigned count, unsigned steps, bool with_tester)
{
	static struct player players[PLAYERS];
	pthread_t threads[PLAYERS];
	struct client first = begin();
	struct tester tester = { .client = first };
	pthread_t tester_thread;

	for (unsigned i = 0; i < count; i++) {
		memset(&players[i], 0, sizeof(players[i]));
		players[i].random = seed_of_run() * 40503 + i + 1;
		players[i].steps = steps;
		client_open(&players[i].client, first.adapter);
	}
	for (unsigned i = 0; i < count; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, play, &players[i]), 0);
	if (with_tester)
		EXPECT_EQ(pthread_create(&tester_thread, NULL, put_in_order_again, &tester), 0);
	for (unsigned i = 0; i < count; i++)
		EXPECT_EQ(pthread_join(threads[i], NULL), 0);
	tester.is_over = true;
	if (with_tester)
		EXPECT_EQ(pthread_join(tester_thread, NULL), 0);
	expect_valid();
	for (unsigned i = 0; i < count; i++)
		EXPECT_OK(destroy_device(players[i].client.device));
	expect_valid();
}

TEST(pressure, four_devices_at_once_keep_every_byte)
{
	play_together(4, all_steps() / 4, false);
}

TEST(pressure, four_devices_at_once_keep_every_byte_while_a_tester_puts_memory_in_order)
{
	play_together(4, all_steps() / 20, true);
}

/* As many as ten processes have, and next to no room for each. */
TEST(pressure, ten_devices_at_once_keep_every_byte)
{
	play_together(PLAYERS, all_steps() / 12, false);
}

/* ---- destroyed while another thread uses it ---- */

struct racer {
	struct client client;
	_Atomic D3DKMT_HANDLE handle;
	_Atomic bool is_over;
};

static void *race(void *argument)
{
	struct racer *racer = argument;

	while (!racer->is_over) {
		D3DKMT_HANDLE handle = racer->handle;
		D3DDDI_MAKERESIDENT args = residency_of(&racer->client, &handle, 1, 0);
		D3DDDI_RECLAIM_RESULT result;
		if (!NT_SUCCESS(D3DKMTMakeResident(&args)))
			continue;
		(void)offer(&racer->client, &handle, 1, 2, ALLOW_DECOMMIT);
		(void)reclaim(&racer->client, &handle, 1, &result);
		(void)evict(&racer->client, &handle, 1, 0);
	}
	return NULL;
}

TEST(pressure, what_is_destroyed_meanwhile_leaves_nothing_behind)
{
	static struct racer racer;
	pthread_t threads[2];

	racer.client = begin();
	racer.is_over = false;
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(pthread_create(&threads[i], NULL, race, &racer), 0);
	for (int i = 0; i < 400; i++) {
		D3DKMT_HANDLE handle = create_one(racer.client.device);
		racer.handle = handle;
		if (i % 3 == 0)
			sched_yield();
		EXPECT_OK(destroy_one(racer.client.device, handle));
	}
	racer.is_over = true;
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(pthread_join(threads[i], NULL), 0);
	expect_valid();
	EXPECT_OK(destroy_device(racer.client.device));
	expect_valid();
}

API_TEST_MAIN("api/pressure")
