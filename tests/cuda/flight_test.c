/* SPDX-License-Identifier: MIT */
/*
 * flight_test.c - many packets of clients under way at once: each takes effect once and in order, whatever
 * happens to one among them; and what an engine remembers of page tables and commands is what they are.
 */
#include "api/soft_work.h"

enum { MANY = 200, WORDS = DATA_BYTES / 8 };

#define FAULT_ADDRESS UINT64_C(0x7654321000)

/* ---- in short ---- */

/* Copies word `from` to the one behind it: a row of these carries a value along, in order alone. */
static void carry(struct worker *worker, unsigned from)
{
	struct row row = { 0 };

	add_copy(&row, worker->data + 8 * (from + 1), worker->data + 8 * from, 8);
	EXPECT_OK(worker_submit(worker, &row));
}

static void write_word(struct worker *worker, unsigned word, uint64_t value)
{
	struct row row = { 0 };

	add_write(&row, worker->data + 8 * word, value);
	EXPECT_OK(worker_submit(worker, &row));
}

static void end(struct worker *worker)
{
	EXPECT_OK(worker_signal(worker, ++worker->last_value));
}

static void expect_words(struct worker *worker, unsigned count, uint64_t value)
{
	void *pointer;

	EXPECT_OK(lock2(worker->client.device, worker->memory, &pointer));
	for (unsigned i = 0; i < count; i++)
		EXPECT_EQ(((const uint64_t *)pointer)[i], value);
	EXPECT_OK(unlock2(worker->client.device, worker->memory));
}

static void submit_row(struct worker *worker, const struct row *row)
{
	EXPECT_OK(worker_submit(worker, row));
}

/* ---- order ---- */

TEST(many, take_effect_in_order)
{
	struct worker worker;

	worker_open(&worker, open_first_adapter());
	write_word(&worker, 0, 7);
	for (unsigned i = 0; i + 1 < MANY; i++)
		carry(&worker, i);
	end(&worker);
	worker_wait(&worker);
	expect_words(&worker, MANY, 7);
	worker_close(&worker);
}

/* A fence that a packet writes is seen with all that packets before it wrote. */
TEST(many, are_seen_in_order)
{
	struct worker worker;
	void *pointer;

	worker_open(&worker, open_first_adapter());
	EXPECT_OK(lock2(worker.client.device, worker.memory, &pointer));
	const volatile uint64_t *words = pointer;
	/* It may have moved to where it can be seen: all of it is there again. */
	EXPECT_OK(make_resident(&worker.client, &worker.memory, 1, 0));
	for (unsigned turn = 1; turn <= 5; turn++) {
		for (unsigned i = 0; i < MANY; i++)
			write_word(&worker, i, turn * 1000 + i);
		end(&worker);
		for (unsigned i = MANY; i-- > 0;) {
			uint64_t before = i > 0 ? __atomic_load_n(&words[i], __ATOMIC_ACQUIRE) : 0;

			if (before == turn * 1000 + i)
				EXPECT_EQ(words[i - 1], turn * 1000 + i - 1);
		}
		worker_wait(&worker);
		worker.used_bytes = 0;
	}
	EXPECT_OK(unlock2(worker.client.device, worker.memory));
	worker_close(&worker);
}

/* Long commands, short ones, and such as the packet's own page of commands does not hold. */
TEST(many, of_all_lengths_take_effect_in_order)
{
	struct worker worker;
	struct row row = { 0 };

	worker_open(&worker, open_first_adapter());
	for (unsigned turn = 0; turn < 8; turn++) {
		row.used_bytes = 0;
		add_fill(&row, worker.data, DATA_BYTES, 0x01010101 * turn);
		submit_row(&worker, &row);
		row.used_bytes = 0;
		for (unsigned i = 0; i < 60; i++)
			add_write(&row, worker.data + 8 * i, turn * 100 + i);
		submit_row(&worker, &row);
		carry(&worker, 59);
	}
	end(&worker);
	worker_wait(&worker);
	for (unsigned i = 0; i < 60; i++)
		EXPECT_EQ(worker_read(&worker, 8 * i), 700 + i);
	EXPECT_EQ(worker_read(&worker, 8 * 60), 759);
	EXPECT_EQ(worker_read(&worker, 8 * 61), UINT64_C(0x0707070707070707));
	worker_close(&worker);
}

/* ---- stops ---- */

TEST(preemption, of_the_first_of_many_leaves_all_to_come)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct worker low;
	struct worker high;
	struct row row = { 0 };

	worker_open(&low, adapter);
	worker_open(&high, adapter);
	EXPECT_OK(set_priority(high.context, 7));
	struct softgpu_busy busy = { .header = command(SOFTGPU_BUSY, sizeof(busy)),
				     .microseconds = 100000 };
	row_add(&row, &busy, sizeof(busy));
	add_write(&row, low.data, 9);
	submit_row(&low, &row);
	for (unsigned i = 0; i < 40; i++)
		carry(&low, i);
	end(&low);
	for (unsigned turn = 0; turn < 5; turn++) {
		write_word(&high, turn, turn + 1);
		end(&high);
		worker_wait(&high);
		usleep(2000);
	}
	/* Who came later did not wait for who was there. */
	EXPECT(*low.value < low.last_value);
	worker_wait(&low);
	expect_words(&low, 41, 9);
	for (unsigned turn = 0; turn < 5; turn++)
		EXPECT_EQ(worker_read(&high, 8 * turn), turn + 1);
	worker_close(&low);
	worker_close(&high);
}

/* `trouble` is in the middle of what one has under way, and others have work behind it. */
static void expect_trouble_in_the_middle(const struct row *trouble, unsigned state,
					 unsigned other_state)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	struct worker guilty;
	struct worker innocent;
	void *pointer;

	worker_open(&guilty, adapter);
	worker_open(&innocent, adapter);
	EXPECT_OK(lock2(guilty.client.device, guilty.memory, &pointer));
	EXPECT_OK(make_resident(&guilty.client, &guilty.memory, 1, 0));
	const volatile uint64_t *words = pointer;
	write_word(&guilty, 0, 3);
	for (unsigned i = 0; i < 6; i++)
		carry(&guilty, i);
	EXPECT_OK(worker_submit(&guilty, trouble));
	for (unsigned i = 6; i < 12 && state_of(&guilty) == D3DKMT_DEVICEEXECUTION_ACTIVE; i++) {
		struct row row = { 0 };

		add_copy(&row, guilty.data + 8 * (i + 1), guilty.data + 8 * i, 8);
		(void)worker_submit(&guilty, &row);
	}
	NTSTATUS status = worker_signal(&guilty, ++guilty.last_value);
	EXPECT(status == STATUS_SUCCESS || status == STATUS_DEVICE_REMOVED);
	write_word(&innocent, 0, 5);
	for (unsigned i = 0; i < 20; i++)
		carry(&innocent, i);
	end(&innocent);
	worker_wait(&guilty);
	while (state_of(&guilty) == D3DKMT_DEVICEEXECUTION_ACTIVE)
		worker_pause(&guilty);
	EXPECT_EQ(state_of(&guilty), state);
	for (unsigned i = 0; i <= 12; i++)
		EXPECT_EQ(words[i], i <= 6 ? 3 : 0);
	worker_wait(&innocent);
	EXPECT_EQ(state_of(&innocent), other_state);
	expect_words(&innocent, 21, 5);
	EXPECT_OK(unlock2(guilty.client.device, guilty.memory));
	worker_close(&guilty);
	worker_close(&innocent);
	expect_work_gets_done(adapter);
}

TEST(fault, in_the_middle_ends_what_is_behind_it)
{
	struct row row = { 0 };

	add_fault(&row, FAULT_ADDRESS);
	expect_trouble_in_the_middle(&row, D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT,
				     D3DKMT_DEVICEEXECUTION_ACTIVE);
	row.used_bytes = 0;
	add_write(&row, FAULT_ADDRESS, 1);
	expect_trouble_in_the_middle(&row, D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT,
				     D3DKMT_DEVICEEXECUTION_ACTIVE);
}

TEST(hang, in_the_middle_ends_what_is_behind_it)
{
	struct row row = { 0 };

	add_hang(&row);
	expect_trouble_in_the_middle(&row, D3DKMT_DEVICEEXECUTION_HUNG,
				     D3DKMT_DEVICEEXECUTION_ACTIVE);
}

/* ---- what is remembered ---- */

static void map_at(const struct client *client, D3DKMT_HANDLE memory, uint64_t address)
{
	D3DDDI_MAPGPUVIRTUALADDRESS args = { .hPagingQueue = client->queue,
					     .hAllocation = memory,
					     .BaseAddress = address,
					     .SizeInPages = DATA_BYTES / PAGE,
					     .Protection.Write = 1 };
	NTSTATUS status = D3DKMTMapGpuVirtualAddress(&args);

	EXPECT(status == STATUS_PENDING || status == STATUS_SUCCESS);
	if (status == STATUS_PENDING)
		wait_for(client, args.PagingFenceValue);
}

static uint64_t read_memory(const struct worker *worker, D3DKMT_HANDLE memory, unsigned word)
{
	void *pointer;

	EXPECT_OK(lock2(worker->client.device, memory, &pointer));
	uint64_t value = ((const uint64_t *)pointer)[word];
	EXPECT_OK(unlock2(worker->client.device, memory));
	return value;
}

TEST(page_tables, count_as_they_are_for_each_packet)
{
	enum { TURNS = 6 };
	struct worker worker;
	D3DKMT_HANDLE memory[TURNS];
	struct row row = { 0 };
	uint64_t address;

	worker_open(&worker, open_first_adapter());
	memory[0] = mapped_memory(&worker.client, DATA_BYTES,
				  SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY, &address);
	for (unsigned turn = 0; turn < TURNS; turn++) {
		if (turn > 0) {
			EXPECT_OK(unmap(&worker.client, address, DATA_BYTES));
			memory[turn] = create_sized(&worker.client, DATA_BYTES,
						    SOFTGPU_CPU_VISIBLE | SOFTGPU_LOCAL_ONLY);
			EXPECT_OK(make_resident(&worker.client, &memory[turn], 1, 0));
			map_at(&worker.client, memory[turn], address);
		}
		/* At once, while whoever executed the one before may be there still. */
		for (unsigned i = 0; i < 3; i++) {
			row.used_bytes = 0;
			add_write(&row, address + 8 * i, 100 + turn);
			submit_row(&worker, &row);
		}
		end(&worker);
		worker_wait(&worker);
	}
	for (unsigned turn = 0; turn < TURNS; turn++)
		EXPECT_EQ(read_memory(&worker, memory[turn], 2), 100 + turn);
	/* What leads nowhere by now is a page fault, whatever it was. */
	row.used_bytes = 0;
	add_write(&row, address, 1);
	worker_run(&worker, &row);
	worker_wait(&worker);
	EXPECT_EQ(state_of(&worker), D3DKMT_DEVICEEXECUTION_ACTIVE);
	EXPECT_OK(unmap(&worker.client, address, DATA_BYTES));
	worker_run(&worker, &row);
	worker_wait(&worker);
	while (state_of(&worker) == D3DKMT_DEVICEEXECUTION_ACTIVE)
		worker_pause(&worker);
	EXPECT_EQ(state_of(&worker), D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT);
	worker_close(&worker);
}

TEST(commands, are_what_is_in_their_memory_when_the_packet_is_submitted)
{
	struct worker worker;
	D3DKMT_HANDLE other;
	void *pointer;
	uint64_t address = 0;

	worker_open(&worker, open_first_adapter());
	/* The same place, over and over. */
	for (unsigned turn = 0; turn < 50; turn++) {
		worker.used_bytes = 0;
		write_word(&worker, turn, turn + 1);
		end(&worker);
		worker_wait(&worker);
	}
	for (unsigned turn = 0; turn < 50; turn++)
		EXPECT_EQ(worker_read(&worker, 8 * turn), turn + 1);
	/* Other memory at its address. */
	EXPECT_OK(unmap(&worker.client, worker.command_address, DATA_BYTES));
	other = create_sized(&worker.client, DATA_BYTES, SOFTGPU_CPU_VISIBLE | SOFTGPU_SYSTEM_ONLY);
	EXPECT_OK(make_resident(&worker.client, &other, 1, 0));
	map_at(&worker.client, other, worker.command_address);
	EXPECT_OK(lock2(worker.client.device, other, &pointer));
	worker.pointer = pointer;
	for (unsigned turn = 0; turn < 50; turn++) {
		worker.used_bytes = 0;
		write_word(&worker, turn, turn + 1001);
		end(&worker);
		worker_wait(&worker);
	}
	for (unsigned turn = 0; turn < 50; turn++)
		EXPECT_EQ(worker_read(&worker, 8 * turn), turn + 1001);
	(void)address;
	worker_close(&worker);
}

/* A packet may write the commands of those behind it. */
TEST(commands, of_a_packet_may_be_written_by_the_one_before)
{
	struct worker worker;
	struct row row = { 0 };

	worker_open(&worker, open_first_adapter());
	for (unsigned turn = 0; turn < 20; turn++) {
		worker.used_bytes = 0;
		row.used_bytes = 0;
		/* The value of the command behind this one. */
		add_write(&row, worker.command_address + 24 + 16, 5000 + turn);
		submit_row(&worker, &row);
		end(&worker);
		worker_wait(&worker);
		struct softgpu_write64 *next = (struct softgpu_write64 *)(worker.pointer + 24);
		uint64_t value = next->value;
		EXPECT_EQ(value, 5000 + turn);
		D3DKMT_SUBMITCOMMAND args = { .Commands = worker.command_address + 24,
					      .CommandLength = 24,
					      .BroadcastContextCount = 1 };
		next->header = command(SOFTGPU_WRITE64, sizeof(*next));
		next->destination.virtual_address = worker.data + 8 * turn;
		args.BroadcastContext[0] = worker.context;
		EXPECT_OK(D3DKMTSubmitCommand(&args));
		end(&worker);
		worker_wait(&worker);
		EXPECT_EQ(worker_read(&worker, 8 * turn), 5000 + turn);
	}
	worker_close(&worker);
}

TEST_MAIN("cuda/flight")
