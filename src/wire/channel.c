/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_size.h"
#include "base/processor.h"
#include "base/thread.h"
#include "base/tally.h"
#include "wire/channel.h"

/*
 * A look costs some tens of nanoseconds, sleeping and being woken some tens of thousands. So one looks for
 * about as long: never is that much worse than sleeping at once. Who was woken has to get a processor
 * first.
 */
enum {
	LOOKS_USUAL = 1024,
	LOOKS_AFTER_WAKING = 4096,
	MISSES_COUNTED = 6, /* 2^n waits until the next try, at most */
};

int channel_file_create(uint64_t size_bytes)
{
	int file = memfd_create("dxgk-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (file < 0)
		return -1;
	/* Whoever has it can neither cut pages off under the other one nor add any. */
	if (file_size_is_allowed(size_bytes) && ftruncate(file, (off_t)size_bytes) == 0 &&
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
		.can_look = thread_processors() > 1,
		.may_look = true,
		.has_slept = true,
	};
	return true;
}

void channel_close(struct channel *channel)
{
	if (channel->memory)
		munmap(channel->memory, CHANNEL_BYTES);
	*channel = (struct channel){ 0 };
}

/* Where looking does not help, because others need the processors, or calls take long, it is rare. */
static void learn_miss(struct channel *channel)
{
	if (channel->misses < MISSES_COUNTED)
		channel->misses++;
	channel->sleep_next = (UINT32_C(1) << channel->misses) - 1;
}

/* How often to look in the wait that begins. */
static uint32_t looks_now(struct channel *channel)
{
	if (!channel->can_look || !channel->may_look)
		return 0;
	if (LIKELY(channel->sleep_next == 0))
		return channel->has_woken ? LOOKS_AFTER_WAKING : LOOKS_USUAL;
	channel->sleep_next--;
	return 0;
}

/* Who changes the number or is_over wakes whoever said that he sleeps. */
RARE static bool sleep_until(struct channel_way *way, uint32_t wanted, const _Atomic bool *is_over,
			     uint64_t deadline_ns)
{
	enum thread_wait_result result = THREAD_WOKEN;
	static struct tally sleeps;
	uint32_t seen;

	tally_count(&sleeps, "ring_sleeps", "");
	atomic_store(&way->reader_sleeps, 1);
	while ((seen = atomic_load(&way->number)) != wanted && !atomic_load(is_over) &&
	       result == THREAD_WOKEN)
		result = thread_wait_shared(&way->number, seen, deadline_ns);
	atomic_store_explicit(&way->reader_sleeps, 0, memory_order_relaxed);
	return seen == wanted;
}

/* True: the number came to be `wanted` meanwhile. `advice`: of a client, in the same line; who is told to sleep does. */
static inline bool look(struct channel *channel, const struct channel_way *way, uint32_t wanted,
			const _Atomic uint32_t *advice)
{
	for (uint32_t looks = looks_now(channel); looks > 0; looks--) {
		if (atomic_load_explicit(&way->number, memory_order_acquire) == wanted) {
			channel->misses = 0;
			return true;
		}
		if (advice && atomic_load_explicit(advice, memory_order_relaxed) == CHANNEL_SLEEP)
			return false;
		thread_relax();
		if (looks == 1)
			learn_miss(channel);
	}
	return false;
}

/*
 * Sequentially consistent against sleep_until(): the sleeper sees the number, or we see the sleeper.
 * True: there was one.
 */
static bool tell(struct channel_way *way, uint32_t number)
{
	static struct tally wakes;

	atomic_store(&way->number, number);
	if (LIKELY(atomic_load(&way->reader_sleeps) == 0))
		return false;
	tally_count(&wakes, "ring_wakes", "");
	thread_wake_shared(&way->number);
	return true;
}

static void take_advice(struct channel *channel, uint32_t advice)
{
	channel->may_look = advice != CHANNEL_SLEEP;
	if (UNLIKELY(advice == CHANNEL_LOOK_AGAIN))
		channel->misses = channel->sleep_next = 0;
}

void channel_ask(struct channel *channel)
{
	struct channel_way *way = &channel->memory->request;

	if (UNLIKELY(channel->has_slept))
		atomic_store_explicit(&way->processor, processor_number(), memory_order_relaxed);
	channel->has_woken = tell(way, ++channel->number);
}

bool channel_await_answer(struct channel *channel, const _Atomic bool *is_over)
{
	struct channel_way *way = &channel->memory->reply;

	channel->has_slept = !look(channel, way, channel->number, &way->said);
	if (UNLIKELY(channel->has_slept) &&
	    !sleep_until(way, channel->number, is_over, CLOCK_FOREVER))
		return false;
	take_advice(channel, atomic_load_explicit(&way->said, memory_order_relaxed));
	return true;
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

bool channel_look_for_request(struct channel *channel)
{
	bool has_come = look(channel, &channel->memory->request, channel->number + 1, NULL);

	channel->number += has_come;
	return has_come;
}

bool channel_await_request(struct channel *channel, const _Atomic bool *is_over,
			   uint64_t deadline_ns)
{
	bool has_come =
		sleep_until(&channel->memory->request, channel->number + 1, is_over, deadline_ns);

	channel->number += has_come;
	return has_come && !atomic_load(is_over);
}

/* A client that lies about it moves its own worker about, and that less and less often, but for once in a turn. */
enum channel_place channel_look_where(struct channel *channel, bool is_turn)
{
	uint32_t processor =
		atomic_load_explicit(&channel->memory->request.processor, memory_order_relaxed);

	if (processor != processor_number())
		return CHANNEL_APART;
	if (is_turn)
		return CHANNEL_PARTING;
	if (channel->sleep_next > 0) {
		channel->sleep_next--;
		return CHANNEL_TOGETHER;
	}
	learn_miss(channel);
	return CHANNEL_PARTING;
}

enum channel_place channel_part(void)
{
	return processor_leave(processor_number()) ? CHANNEL_APART : CHANNEL_TOGETHER;
}

void channel_wake_server(struct channel *channel)
{
	disturb(&channel->memory->request);
}

void channel_hold_off(struct channel *channel)
{
	atomic_store_explicit(&channel->memory->reply.said, CHANNEL_SLEEP, memory_order_relaxed);
}

void channel_answer(struct channel *channel, enum channel_advice advice)
{
	struct channel_way *way = &channel->memory->reply;

	take_advice(channel, advice);
	atomic_store_explicit(&way->said, advice, memory_order_relaxed);
	channel->has_woken = tell(way, channel->number);
}
