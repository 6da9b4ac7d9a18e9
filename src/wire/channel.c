/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "wire/channel.h"

/*
 * A look costs some tens of nanoseconds; sleeping and being woken thousands. Who never looks long never
 * learns that it would help: so once in a while one does.
 */
enum {
	LOOKS_LEAST = 16,
	LOOKS_FIRST = 256,
	LOOKS_MOST = 1024,
	MISSES_TO_GIVE_UP = 8,
	MISSES_TO_TRY_AGAIN = 64,
};

int channel_file_create(uint64_t size_bytes)
{
	int file = memfd_create("dxgk-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (file < 0)
		return -1;
	/* Whoever has it can neither cut pages off under the other one nor add any. */
	if (ftruncate(file, (off_t)size_bytes) == 0 &&
	    fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return file;
	int problem = errno;
	close(file);
	errno = problem;
	return -1;
}

bool channel_open(struct channel *channel, int file)
{
	void *memory = mmap(NULL, CHANNEL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (memory == MAP_FAILED)
		return false;
	*channel = (struct channel){
		.memory = memory,
		.looks = thread_processors() > 1 ? LOOKS_FIRST : 0,
	};
	return true;
}

void channel_close(struct channel *channel)
{
	if (channel->memory)
		munmap(channel->memory, CHANNEL_BYTES);
	*channel = (struct channel){ 0 };
}

/* The next look is as long as the last ones were worth it. Where nobody else runs none is. */
static void learn_hit(struct channel *channel)
{
	channel->misses = 0;
	if (UNLIKELY(channel->looks < LOOKS_MOST))
		channel->looks *= 2;
}

static void learn_miss(struct channel *channel)
{
	if (channel->looks == 0)
		return;
	channel->misses++;
	if (channel->misses % MISSES_TO_TRY_AGAIN == 0)
		channel->looks = LOOKS_FIRST;
	else if (channel->misses > MISSES_TO_GIVE_UP)
		channel->looks = LOOKS_LEAST;
	else if (channel->looks > LOOKS_LEAST)
		channel->looks /= 2;
}

/* Who changes the number or is_over wakes whoever said that he sleeps. */
RARE static bool sleep_until(struct channel_way *way, uint32_t wanted, const _Atomic bool *is_over)
{
	uint32_t seen;

	atomic_store(&way->reader_sleeps, 1);
	while ((seen = atomic_load(&way->number)) != wanted && !atomic_load(is_over))
		thread_wait_shared(&way->number, seen, CLOCK_FOREVER);
	atomic_store_explicit(&way->reader_sleeps, 0, memory_order_relaxed);
	return seen == wanted;
}

/* Returns when the number is `wanted` (true), or is_over is. */
static bool await(struct channel *channel, struct channel_way *way, uint32_t wanted,
		  const _Atomic bool *is_over)
{
	for (uint32_t i = 0; i < channel->looks; i++) {
		if (atomic_load_explicit(&way->number, memory_order_acquire) == wanted) {
			learn_hit(channel);
			return true;
		}
		thread_relax();
	}
	learn_miss(channel);
	return sleep_until(way, wanted, is_over);
}

/* Sequentially consistent against sleep_until(): the sleeper sees the number, or we see the sleeper. */
static void tell(struct channel_way *way, uint32_t number)
{
	atomic_store(&way->number, number);
	if (UNLIKELY(atomic_load(&way->reader_sleeps) != 0))
		thread_wake_shared(&way->number);
}

void channel_ask(struct channel *channel)
{
	tell(&channel->memory->request, ++channel->number);
}

bool channel_await_answer(struct channel *channel, const _Atomic bool *is_over)
{
	return await(channel, &channel->memory->reply, channel->number, is_over);
}

/* Another value, or who is about to sleep would; and none that a side waits for. */
static void disturb(struct channel_way *way)
{
	atomic_fetch_xor(&way->number, UINT32_C(1) << 31);
	thread_wake_shared(&way->number);
}

void channel_wake_client(struct channel *channel)
{
	disturb(&channel->memory->reply);
}

bool channel_await_request(struct channel *channel, const _Atomic bool *is_over)
{
	bool has_come = await(channel, &channel->memory->request, channel->number + 1, is_over);

	channel->number += has_come;
	return has_come && !atomic_load(is_over);
}

void channel_wake_server(struct channel *channel)
{
	disturb(&channel->memory->request);
}

void channel_answer(struct channel *channel)
{
	tell(&channel->memory->reply, channel->number);
}
