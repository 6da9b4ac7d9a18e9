/* SPDX-License-Identifier: MIT */
/*
 * locked_moves_test.c - user-mode drivers keep their memory locked for as long as it lives. It comes
 * and goes like any other: its address stays, and no store is lost.
 *
 * The profile has 64 MiB of GPU memory.
 */
#include "api/soft_work.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BUFFERS = 6, BUFFER_BYTES = 32 * MIB };
enum { LOCAL_ONLY = SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY };

struct buffer {
	D3DKMT_HANDLE handle;
	_Atomic uint64_t *words;
};

/* The first word of a page. */
static _Atomic uint64_t *word_of(const struct buffer *buffer, uint64_t page)
{
	return &buffer->words[page * PAGE / sizeof(uint64_t)];
}

static uint64_t word_read(const struct buffer *buffer, uint64_t page)
{
	return atomic_load_explicit(word_of(buffer, page), memory_order_relaxed);
}

static void word_write(const struct buffer *buffer, uint64_t page, uint64_t value)
{
	atomic_store_explicit(word_of(buffer, page), value, memory_order_relaxed);
}

static void buffer_make(const struct client *client, struct buffer *buffer, uint64_t size_bytes,
			unsigned flags)
{
	void *pointer;

	buffer->handle = create_sized(client, size_bytes, flags);
	EXPECT_OK(lock2(client->device, buffer->handle, &pointer));
	buffer->words = pointer;
}

static void buffer_mark(const struct buffer *buffer, uint64_t size_bytes, uint64_t seed)
{
	for (uint64_t i = 0; i < size_bytes / PAGE; i++)
		word_write(buffer, i, pattern(seed, i));
}

static void expect_marks(const struct buffer *buffer, uint64_t size_bytes, uint64_t seed)
{
	for (uint64_t i = 0; i < size_bytes / PAGE; i++) {
		if (word_read(buffer, i) != pattern(seed, i)) {
			EXPECT_EQ(i * PAGE, size_bytes); /* says where */
			return;
		}
	}
}

static void expect_resident_in(const struct client *client, D3DKMT_HANDLE handle, unsigned where)
{
	flush(client);
	EXPECT_EQ(residency_status(client, handle), where);
}

/* ---- scenes ---- */

static void take_turns(unsigned flags)
{
	struct client client = begin();
	struct buffer buffers[BUFFERS];

	for (unsigned i = 0; i < BUFFERS; i++) {
		buffer_make(&client, &buffers[i], BUFFER_BYTES, flags);
		buffer_mark(&buffers[i], BUFFER_BYTES, i);
	}
	for (unsigned turn = 0; turn < 2 * BUFFERS; turn++) {
		const struct buffer *buffer = &buffers[turn % BUFFERS];

		EXPECT_OK(make_resident(&client, &buffer->handle, 1, 0));
		expect_resident_in(&client, buffer->handle, IN_GPU_MEMORY);
		expect_marks(buffer, BUFFER_BYTES, turn < BUFFERS ? turn : turn - BUFFERS);
		buffer_mark(buffer, BUFFER_BYTES, turn);
		EXPECT_OK(evict(&client, &buffer->handle, 1, turn % 2 ? ONLY_IF_NECESSARY : 0));
	}
	for (unsigned i = 0; i < BUFFERS; i++)
		expect_marks(&buffers[i], BUFFER_BYTES, BUFFERS + i);
	expect_valid();
	EXPECT_OK(destroy_device(client.device));
}

TEST(locked, six_of_half_the_size_of_gpu_memory_enter_by_turns)
{
	take_turns(LOCAL_ONLY);
	take_turns(SOFTGPU_CPU_VISIBLE);
}

TEST(locked, what_does_not_fit_is_refused_with_a_true_reason)
{
	struct client client = begin();
	struct buffer buffers[3];

	for (unsigned i = 0; i < 3; i++)
		buffer_make(&client, &buffers[i], BUFFER_BYTES, LOCAL_ONLY);
	unsigned resident = 0;
	while (resident < 3 &&
	       make_resident(&client, &buffers[resident].handle, 1, 0) == STATUS_SUCCESS)
		resident++;
	EXPECT(resident >= 1 && resident < 3);
	EXPECT_STR(last_refusal().rule, "MM-BUDGET");
	EXPECT_OK(evict(&client, &buffers[0].handle, 1, 0));
	EXPECT_OK(make_resident(&client, &buffers[2].handle, 1, 0));
	EXPECT_OK(destroy_device(client.device));
}

/* Its fence is signalled, and so are those behind it. */
TEST(locked, local_only_memory_holds_up_no_paging_queue)
{
	struct client client = begin();
	struct buffer buffer;

	buffer_make(&client, &buffer, MIB, LOCAL_ONLY);
	EXPECT_OK(make_resident(&client, &buffer.handle, 1, 0));
	D3DKMT_HANDLE other = create_sized(&client, MIB, LOCAL_ONLY);
	EXPECT_OK(make_resident(&client, &other, 1, 0));
	expect_resident_in(&client, buffer.handle, IN_GPU_MEMORY);
	expect_resident_in(&client, other, IN_GPU_MEMORY);
	EXPECT_OK(destroy_device(client.device));
}

TEST(locked, memory_is_unlocked_offered_and_destroyed_wherever_it_is)
{
	struct client client = begin();

	for (unsigned turn = 0; turn < 4; turn++) {
		struct buffer buffer;
		void *again;

		buffer_make(&client, &buffer, MIB, LOCAL_ONLY);
		buffer_mark(&buffer, MIB, turn);
		EXPECT_OK(make_resident(&client, &buffer.handle, 1, 0));
		if (turn % 2)
			EXPECT_OK(evict(&client, &buffer.handle, 1, 0));
		flush(&client);
		EXPECT_REFUSED(offer(&client, &buffer.handle, 1, 1, 0), STATUS_INVALID_PARAMETER,
			       "MM-OFFER-IN-USE", "HandleList");
		if (turn >= 2) {
			EXPECT_OK(unlock2(client.device, buffer.handle));
			EXPECT_OK(lock2(client.device, buffer.handle, &again));
			EXPECT(again == (void *)buffer.words);
			expect_marks(&buffer, MIB, turn);
			EXPECT_OK(unlock2(client.device, buffer.handle));
			EXPECT_OK(offer(&client, &buffer.handle, 1, 1, 0));
		}
		EXPECT_OK(destroy_now(&client, buffer.handle));
		expect_valid();
	}
	EXPECT_OK(destroy_device(client.device));
}

/* ---- while somebody writes ---- */

struct writer {
	const struct buffer *buffer;
	uint64_t page_count;
	_Atomic uint64_t count; /* rounds begun */
	_Atomic uint64_t done;  /* … and ended */
	_Atomic bool must_stop;
};

/* A counter in every page; in a seeded run one round for each turn of the others. */
static void *run_writer(void *argument)
{
	struct writer *writer = argument;

	while (!atomic_load(&writer->must_stop)) {
		atomic_fetch_add(&writer->count, 1);
		for (uint64_t i = 0; i < writer->page_count; i++)
			word_write(writer->buffer, i, word_read(writer->buffer, i) + 1);
		atomic_fetch_add(&writer->done, 1);
	}
	return NULL;
}

/* Copied by the GPU: no older than what was there before, no newer than what is there after. */
static void expect_gpu_sees(struct worker *worker, uint64_t address, const struct writer *writer)
{
	uint64_t page = atomic_load(&writer->done) % writer->page_count;
	uint64_t before = word_read(writer->buffer, page);
	struct row row = { 0 };

	worker->used_bytes = 0;
	add_copy(&row, worker->data, address + page * PAGE, PAGE);
	worker_run(worker, &row);
	worker_wait(worker);
	uint64_t seen = worker_read(worker, 0);
	EXPECT(seen >= before);
	EXPECT(seen <= word_read(writer->buffer, page));
}

TEST(stores, are_never_lost_and_the_gpu_sees_them)
{
	struct worker worker;
	struct buffer buffer;
	struct writer writer = { .buffer = &buffer, .page_count = 2 * MIB / PAGE };
	uint64_t address = 0;
	pthread_t thread;

	D3DKMTCloseDxCoreDevice();
	worker_open(&worker, open_first_adapter());
	buffer_make(&worker.client, &buffer, 2 * MIB, LOCAL_ONLY);
	EXPECT_OK(make_resident(&worker.client, &buffer.handle, 1, 0));
	if (!is_physical())
		EXPECT_OK(try_map(&worker.client, buffer.handle, 2 * MIB, &address));
	EXPECT_EQ(pthread_create(&thread, NULL, run_writer, &writer), 0);
	for (unsigned turn = 0; turn < 300; turn++) {
		EXPECT_OK(evict(&worker.client, &buffer.handle, 1, 0));
		/* When the work that was queued is over. */
		while (residency_status(&worker.client, buffer.handle) != NOT_RESIDENT)
			worker_pause(&worker);
		EXPECT_OK(make_resident(&worker.client, &buffer.handle, 1, 0));
		if (!is_physical())
			expect_gpu_sees(&worker, address, &writer);
	}
	atomic_store(&writer.must_stop, true);
	EXPECT_EQ(pthread_join(thread, NULL), 0);
	for (uint64_t i = 0; i < writer.page_count; i++)
		EXPECT_EQ(word_read(&buffer, i), writer.count);
	EXPECT_OK(unlock2(worker.client.device, buffer.handle));
	expect_valid();
	worker_close(&worker);
}

int main(int argc, char **argv)
{
	return api_main("api/locked_moves", argc, argv);
}
