/* SPDX-License-Identifier: MIT */
/*
 * Lanes of paging work, on a driver API whose streams go on as they like: whatever they make of the
 * order, memory is in the end what it would be had everything been done at once, and nobody could see
 * it otherwise in between.
 */
#include <stdbool.h>

#include "support/test.h"

#include "base/random.h"

#include "cuda.h"
#include "support/driver_alone.h"

enum {
	LOCAL_BYTES = 4 << 20,
	SYSTEM_BYTES = 4 << 20,
	TABLE_BYTES = 1 << 20, /* the end of local memory: entries are there, and some bytes */
	APERTURE_PAGES = 1024,
	STREAMS = CUDA_LANES + 2, /* those that go over the bus are told of by another one */
	EVENTS = CUDA_LANES * CUDA_LANE_MARKS,
	MOST_WORK = 1 << 18,
	MOST_CALLS = 1 << 16,
};

/* ---- memory, as it is and as it ought to be ---- */

struct memory {
	_Alignas(4096) unsigned char local[LOCAL_BYTES];
	_Alignas(4096) unsigned char system[SYSTEM_BYTES];
	uint64_t aperture[APERTURE_PAGES];
};

static struct memory is;
static struct memory ought;

static void fill(unsigned char *to, uint64_t size_bytes, uint32_t pattern)
{
	for (uint64_t i = 0; i < size_bytes; i += sizeof(pattern))
		memcpy(to + i, &pattern, sizeof(pattern));
}

/* ---- what was asked for ---- */

enum asked_kind {
	ASKED_BYTES_IN,
	ASKED_BYTES_OUT,
	ASKED_NOWHERE,
	ASKED_SOMEWHERE,
	ASKED_BOTH,
	ASKED_WORD
};

static struct {
	enum asked_kind kind;
	unsigned parts; /* that have not happened */
} calls[MOST_CALLS];
static unsigned call_count;
static unsigned first_call; /* all before it have happened */

static bool is_bytes(enum asked_kind kind)
{
	return kind == ASKED_BYTES_IN || kind == ASKED_BYTES_OUT;
}

static bool must_be_first(enum asked_kind first, enum asked_kind second)
{
	if (second == ASKED_WORD)
		return true;
	if (is_bytes(second))
		return first == ASKED_NOWHERE || first == ASKED_BOTH;
	return (second == ASKED_SOMEWHERE || second == ASKED_BOTH) && first == ASKED_BYTES_IN;
}

/* A part of the call happens: what it is behind has. */
static void happens(unsigned call)
{
	for (unsigned i = first_call; i < call; i++)
		EXPECT(calls[i].parts == 0 || !must_be_first(calls[i].kind, calls[call].kind));
	EXPECT(calls[call].parts > 0);
	calls[call].parts--;
	while (first_call < call_count && calls[first_call].parts == 0)
		first_call++;
}

/* ---- the driver API ---- */

enum work_kind {
	WORK_COPY,
	WORK_FILL,
	WORK_PAGES,
	WORK_ENTRIES,
	WORK_WRITE,
	WORK_RECORD,
	WORK_WAIT
};

struct work {
	enum work_kind kind;
	unsigned call;
	uint64_t to;
	uint64_t from;
	uint64_t size_bytes; /* or number of items */
	uint64_t value;
	unsigned event;
};

static struct {
	struct work work[MOST_WORK];
	unsigned count;
	unsigned done;
} streams[STREAMS];
static unsigned stream_count;
static struct {
	uint64_t recorded;
	uint64_t happened;
} events[EVENTS];
static unsigned event_count;
static struct random chance;
static struct cuda_device device;
static unsigned call_of_item[CUDA_LANES][CUDA_LANE_ITEMS];

static unsigned number_of(cuda_stream stream)
{
	return (unsigned)(uintptr_t)stream - 1;
}

static bool is_runnable(const struct work *work)
{
	return work->kind != WORK_WAIT || events[work->event].happened >= work->value;
}

static void do_item(unsigned stream, const struct cuda_item *item, bool is_entries)
{
	happens(call_of_item[stream][item - device.lanes.lanes[stream].items]);
	if (is_entries) {
		uint64_t *to = (uint64_t *)(uintptr_t)item->to;

		EXPECT((uintptr_t)to / 4096 == (uintptr_t)(to + item->count - 1) / 4096);
		for (uint64_t i = 0; i < item->count; i++)
			to[i] = item->value + i * item->stride;
	} else if (item->from) {
		memcpy((void *)(uintptr_t)item->to, (const void *)(uintptr_t)item->from,
		       item->size_bytes);
	} else {
		fill((unsigned char *)(uintptr_t)item->to, item->size_bytes,
		     (uint32_t)item->pattern);
	}
}

/* In any order; of entries, each page's in theirs. */
static void do_items(unsigned stream, const struct work *work)
{
	const struct cuda_item *items = (const struct cuda_item *)(uintptr_t)work->from;
	unsigned count = (unsigned)work->size_bytes;
	unsigned first = (unsigned)random_below(&chance, count);
	bool is_entries = work->kind == WORK_ENTRIES;

	EXPECT(items >= device.lanes.lanes[stream].items &&
	       items + count <= device.lanes.lanes[stream].items + CUDA_LANE_ITEMS);
	if (!is_entries) {
		for (unsigned i = 0; i < count; i++)
			do_item(stream, &items[(first + i) % count], false);
		return;
	}
	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned i = 0; i < count; i++) {
			if ((items[i].to >> 12) % 2 == (turn + first) % 2)
				do_item(stream, &items[i], true);
		}
	}
}

static void do_work(unsigned stream)
{
	const struct work *work = &streams[stream].work[streams[stream].done++];

	switch (work->kind) {
	case WORK_COPY:
		happens(work->call);
		memcpy((void *)(uintptr_t)work->to, (const void *)(uintptr_t)work->from,
		       work->size_bytes);
		break;
	case WORK_FILL:
		happens(work->call);
		fill((unsigned char *)(uintptr_t)work->to, work->size_bytes, (uint32_t)work->value);
		break;
	case WORK_PAGES:
	case WORK_ENTRIES:
		do_items(stream, work);
		break;
	case WORK_WRITE:
		*(uint64_t *)(uintptr_t)work->to = work->value;
		break;
	case WORK_RECORD:
		events[work->event].happened = work->value;
		break;
	case WORK_WAIT:
		break;
	}
}

/* One step of one stream that can go on. */
static bool go_on(void)
{
	unsigned first = (unsigned)random_below(&chance, STREAMS);

	for (unsigned i = 0; i < stream_count; i++) {
		unsigned stream = (first + i) % STREAMS;

		if (streams[stream].done < streams[stream].count &&
		    is_runnable(&streams[stream].work[streams[stream].done])) {
			do_work(stream);
			return true;
		}
	}
	return false;
}

static unsigned most_steps;

static void go_on_a_little(void)
{
	for (uint64_t steps = random_below(&chance, most_steps + 1); steps > 0; steps--)
		(void)go_on();
}

static cuda_status put(cuda_stream stream, struct work work)
{
	unsigned number = number_of(stream);

	go_on_a_little();
	work.call = call_count - 1;
	assert_true(streams[number].count < MOST_WORK);
	streams[number].work[streams[number].count++] = work;
	return CUDA_OK;
}

static cuda_status stream_create(cuda_stream *stream_out, unsigned flags)
{
	*stream_out = (cuda_stream)(uintptr_t)++stream_count;
	return CUDA_OK;
}

static cuda_status event_create(cuda_event *event_out, unsigned flags)
{
	*event_out = (cuda_event)(uintptr_t)++event_count;
	return CUDA_OK;
}

static cuda_status host_allocate(void **pointer_out, size_t size_bytes, unsigned flags)
{
	*pointer_out = aligned_alloc(4096, (size_bytes + 4095) & ~(size_t)4095);
	memset(*pointer_out, 0x5a, size_bytes);
	return CUDA_OK;
}

static cuda_status stream_query(cuda_stream stream)
{
	return CUDA_NOT_READY;
}

static cuda_status stream_write(cuda_stream stream, cuda_pointer to, ULONGLONG value,
				unsigned flags)
{
	return put(stream, (struct work){ .kind = WORK_WRITE, .to = to, .value = value });
}

static cuda_status event_record(cuda_event event, cuda_stream stream)
{
	unsigned number = (unsigned)(uintptr_t)event - 1;

	return put(stream, (struct work){ .kind = WORK_RECORD,
					  .event = number,
					  .value = ++events[number].recorded });
}

static cuda_status stream_wait_event(cuda_stream stream, cuda_event event, unsigned flags)
{
	unsigned number = (unsigned)(uintptr_t)event - 1;

	EXPECT(events[number].recorded > 0);
	return put(stream, (struct work){ .kind = WORK_WAIT,
					  .event = number,
					  .value = events[number].recorded });
}

static unsigned row_count;

/* Items of a list that are a row, and belong to the calls that made them. False: `to` is nobody's. */
static bool is_put_as_row(cuda_stream stream, uint64_t to, uint64_t from, uint64_t size_bytes)
{
	const struct cuda_lane *lane = &device.lanes.lanes[number_of(stream)];
	const struct cuda_item *item = NULL;
	uint64_t done = 0;
	unsigned count = 0;

	for (uint64_t i = lane->launched; i < lane->filled && done < size_bytes; i++) {
		const struct cuda_item *next = &lane->items[i % CUDA_LANE_ITEMS];

		if (!item && next->to == to && next->from == from)
			item = next;
		if (!item)
			continue;
		EXPECT(next->to == to + done && next->from == from + done);
		EXPECT_EQ(next->piece, item->piece);
		done += next->size_bytes;
		count++;
	}
	if (!item)
		return false;
	EXPECT_EQ(done, size_bytes);
	EXPECT(size_bytes >= CUDA_ROW_BYTES);
	row_count++;
	(void)put(stream, (struct work){ .kind = WORK_PAGES,
					 .from = (uint64_t)(uintptr_t)item,
					 .size_bytes = count });
	return true;
}

static cuda_status put_bytes(cuda_stream stream, uint64_t to, uint64_t from, uint64_t size_bytes)
{
	if (is_put_as_row(stream, to, from, size_bytes))
		return CUDA_OK;
	calls[call_count - 1].parts++;
	return put(stream,
		   (struct work){
			   .kind = WORK_COPY, .to = to, .from = from, .size_bytes = size_bytes });
}

static cuda_status copy_to_device(cuda_pointer to, const void *from, size_t size_bytes,
				  cuda_stream stream)
{
	return put_bytes(stream, to, (uint64_t)(uintptr_t)from, size_bytes);
}

static cuda_status copy_to_host(void *to, cuda_pointer from, size_t size_bytes, cuda_stream stream)
{
	return put_bytes(stream, (uint64_t)(uintptr_t)to, from, size_bytes);
}

static cuda_status fill_words(cuda_pointer to, unsigned word, size_t count, cuda_stream stream)
{
	calls[call_count - 1].parts++;
	return put(stream,
		   (struct work){
			   .kind = WORK_FILL, .to = to, .size_bytes = count * 4, .value = word });
}

static int pages_function;
static int entries_function;

static cuda_status launch(cuda_function function, unsigned x, unsigned y, unsigned z, unsigned bx,
			  unsigned by, unsigned bz, unsigned shared, cuda_stream stream,
			  void **parameters, void **extra)
{
	bool is_entries = (void *)function == (void *)&entries_function;

	return put(stream, (struct work){ .kind = is_entries ? WORK_ENTRIES : WORK_PAGES,
					  .from = *(uint64_t *)parameters[0],
					  .size_bytes = *(uint64_t *)parameters[1] });
}

/* ---- what lanes.c calls beside it ---- */

static bool is_failing;

BOOLEAN cuda_did(struct cuda_device *of, cuda_status status, const char *what)
{
	if (is_failing)
		of->is_lost = TRUE;
	return !is_failing && status == CUDA_OK;
}

const char *cuda_error_name(const struct cuda_api *api, cuda_status status)
{
	return "an error";
}

/* Who waits lets the others go on. */
NTSTATUS KeDelayExecutionThread(KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
				PLARGE_INTEGER Interval)
{
	for (unsigned i = 0; i < 64; i++)
		(void)go_on();
	return STATUS_SUCCESS;
}

/* ---- a scene ---- */

static void scene_begin(uint64_t seed, unsigned steps)
{
	random_init(&chance, seed);
	most_steps = steps;
	memset(streams, 0, sizeof(streams));
	memset(events, 0, sizeof(events));
	memset(&device, 0, sizeof(device));
	stream_count = event_count = call_count = first_call = 0;
	is_failing = false;
	for (unsigned i = 0; i < LOCAL_BYTES; i += 8)
		*(uint64_t *)&is.local[i] = random_next(&chance);
	for (unsigned i = 0; i < SYSTEM_BYTES; i += 8)
		*(uint64_t *)&is.system[i] = random_next(&chance);
	memset(is.aperture, 0, sizeof(is.aperture));
	ought = is;
	device.api.stream_create = stream_create;
	device.api.event_create = event_create;
	device.api.host_allocate = host_allocate;
	device.api.stream_query = stream_query;
	device.api.stream_write = stream_write;
	device.api.stream_wait_event = stream_wait_event;
	device.api.event_record = event_record;
	device.api.copy_to_device = copy_to_device;
	device.api.copy_to_host = copy_to_host;
	device.api.fill_words = fill_words;
	device.api.launch = launch;
	device.pages = (cuda_function)(void *)&pages_function;
	device.entries = (cuda_function)(void *)&entries_function;
	device.local = (cuda_pointer)(uintptr_t)is.local;
	device.aperture = (cuda_pointer)(uintptr_t)is.aperture;
	device.local_bytes = LOCAL_BYTES;
	device.aperture_pages = APERTURE_PAGES;
	device.piece_count = (SYSTEM_BYTES >> CUDA_PIECE_BITS) + 1;
	device.processors = 2;
	EXPECT_EQ(cuda_lanes_make(&device), STATUS_SUCCESS);
}

static void scene_end(void)
{
	free(device.lanes.words);
	free(device.lanes.items);
	cuda_lanes_end(&device);
}

/* Around each call: which items it has made. */
static uint64_t filled_before[CUDA_LANES];

static void call_begins(enum asked_kind kind)
{
	assert_true(call_count < MOST_CALLS);
	calls[call_count].kind = kind;
	calls[call_count].parts = 0;
	call_count++;
	for (unsigned i = 0; i < CUDA_LANES; i++)
		filled_before[i] = device.lanes.lanes[i].filled;
}

/* Items that are skipped at the end of the ring are none. */
static void call_ends(unsigned stream, uint64_t items)
{
	const struct cuda_lane *lane = &device.lanes.lanes[stream];

	for (uint64_t i = lane->filled - items; i < lane->filled; i++)
		call_of_item[stream][i % CUDA_LANE_ITEMS] = call_count - 1;
	calls[call_count - 1].parts += (unsigned)items;
}

static uint64_t items_for(uint64_t size_bytes)
{
	return (size_bytes + CUDA_ITEM_BYTES - 1) / CUDA_ITEM_BYTES;
}

static uint64_t pages_for(uint64_t offset, uint64_t count)
{
	return (offset + count * 8 - 1) / 4096 - offset / 4096 + 1;
}

static void do_copy(bool is_out, uint64_t local, uint64_t system, uint64_t size_bytes)
{
	uint64_t pointer = (uint64_t)(uintptr_t)is.system + system;

	call_begins(is_out ? ASKED_BYTES_OUT : ASKED_BYTES_IN);
	EXPECT(is_out ? cuda_lanes_copy_out(&device, pointer, system, local, size_bytes)
		      : cuda_lanes_copy_in(&device, local, pointer, system, size_bytes));
	if (size_bytes < CUDA_ROW_BYTES)
		call_ends(is_out ? CUDA_LANE_OUT : CUDA_LANE_IN, items_for(size_bytes));
	if (is_out)
		memcpy(ought.system + system, ought.local + local, size_bytes);
	else
		memcpy(ought.local + local, ought.system + system, size_bytes);
}

static void do_copy_local(uint64_t to, uint64_t from, uint64_t size_bytes)
{
	call_begins(ASKED_BYTES_IN);
	EXPECT(cuda_lanes_copy_local(&device, to, from, size_bytes));
	call_ends(CUDA_LANE_LOCAL, items_for(size_bytes));
	memcpy(ought.local + to, ought.local + from, size_bytes);
}

static void do_fill(uint64_t local, uint64_t size_bytes, uint32_t pattern)
{
	call_begins(ASKED_BYTES_IN);
	EXPECT(cuda_lanes_fill(&device, local, size_bytes, pattern));
	if (size_bytes < CUDA_ROW_BYTES)
		call_ends(CUDA_LANE_LOCAL, items_for(size_bytes));
	fill(ought.local + local, size_bytes, pattern);
}

static void do_entries(uint64_t local, uint64_t count, uint64_t value, uint64_t stride)
{
	bool is_valid = (value & SOFTGPU_PTE_VALID) != 0;
	bool is_both = stride % 4096 != 0;

	call_begins(is_both ? ASKED_BOTH : is_valid ? ASKED_SOMEWHERE : ASKED_NOWHERE);
	EXPECT(cuda_lanes_entries(&device, local, count, value, stride));
	call_ends(is_both || is_valid ? CUDA_LANE_MAP : CUDA_LANE_UNMAP, pages_for(local, count));
	for (uint64_t i = 0; i < count; i++) {
		uint64_t entry = value + i * stride;

		memcpy(ought.local + local + i * 8, &entry, 8);
	}
}

static void do_aperture(uint64_t first, uint64_t count, uint64_t value)
{
	call_begins(ASKED_SOMEWHERE);
	EXPECT(cuda_lanes_aperture(&device, first, count, value, 4096));
	call_ends(CUDA_LANE_MAP, pages_for((uint64_t)(uintptr_t)&is.aperture[first], count));
	for (uint64_t i = 0; i < count; i++)
		ought.aperture[first + i] = value + i * 4096;
}

static void do_store(uint64_t system, uint64_t value)
{
	unsigned call = call_count;

	/* Its item is launched before the call ends. */
	call_begins(ASKED_WORD);
	most_steps = 0;
	EXPECT(cuda_lanes_store(&device, (uint64_t)(uintptr_t)is.system + system, system, value));
	call_ends(CUDA_LANE_MAP, 1);
	EXPECT_EQ(call_count, call + 1);
	memcpy(ought.system + system, &value, 8);
}

static void do_mark(bool is_waited_for)
{
	struct cuda_marks marks;

	EXPECT(cuda_lanes_mark(&device, &marks));
	if (!is_waited_for)
		return;
	EXPECT(cuda_lanes_wait(&device, &marks));
	EXPECT(cuda_lanes_have_told(&device, &marks));
	EXPECT_EQ(first_call, call_count);
}

static uint64_t some_pages(uint64_t most)
{
	return (1 + random_below(&chance, most)) * 4096;
}

static uint64_t some_place(uint64_t limit, uint64_t size_bytes)
{
	return random_below(&chance, (limit - size_bytes) / 4096 + 1) * 4096;
}

static void do_something(unsigned steps)
{
	uint64_t size_bytes = random_below(&chance, 64) == 0 ? CUDA_ROW_BYTES : some_pages(40);
	uint64_t local = some_place(LOCAL_BYTES, size_bytes);
	uint64_t count = 1 + random_below(&chance, 700);
	uint64_t table =
		LOCAL_BYTES - TABLE_BYTES + random_below(&chance, TABLE_BYTES / 8 - count) * 8;
	uint64_t page = random_below(&chance, 1 << 20) << 12;

	most_steps = steps;
	switch (random_below(&chance, 16)) {
	case 0 ... 3:
		do_copy(false, local, some_place(SYSTEM_BYTES, size_bytes), size_bytes);
		break;
	case 4 ... 7:
		do_copy(true, local, some_place(SYSTEM_BYTES, size_bytes), size_bytes);
		break;
	case 8:
		size_bytes = size_bytes > LOCAL_BYTES / 4 ? LOCAL_BYTES / 4 : size_bytes;
		do_copy_local(some_place(LOCAL_BYTES / 2, size_bytes),
			      LOCAL_BYTES / 2 + some_place(LOCAL_BYTES / 2, size_bytes),
			      size_bytes);
		break;
	case 9:
		do_fill(local, size_bytes, (uint32_t)random_next(&chance));
		break;
	case 10:
	case 11:
		do_entries(table, count, page | SOFTGPU_PTE_VALID, 4096);
		break;
	case 12:
	case 13:
		do_entries(table, count, 0, 0);
		break;
	case 14:
		if (random_below(&chance, 4) == 0)
			do_entries(table, 2, page | SOFTGPU_PTE_VALID, 0 - (page | 1));
		else if (random_below(&chance, 4) == 0)
			do_store(random_below(&chance, SYSTEM_BYTES / 8) * 8, random_next(&chance));
		else
			do_aperture(random_below(&chance, APERTURE_PAGES - 700), count, page | 1);
		break;
	default:
		do_mark(random_below(&chance, 8) == 0);
		break;
	}
}

static void compare(void)
{
	EXPECT(memcmp(is.local, ought.local, sizeof(is.local)) == 0);
	EXPECT(memcmp(is.system, ought.system, sizeof(is.system)) == 0);
	EXPECT(memcmp(is.aperture, ought.aperture, sizeof(is.aperture)) == 0);
}

/* ---- claims ---- */

TEST(lanes, memory_ends_as_if_everything_was_done_one_after_the_other)
{
	for (unsigned seed = 1; seed <= fewer_of(60, 1000); seed++) {
		scene_begin(seed, seed % 5);
		for (unsigned i = 0; i < 300; i++)
			do_something(seed % 5);
		do_mark(true);
		compare();
		scene_end();
	}
}

TEST(lanes, rings_go_round)
{
	scene_begin(7, 3);
	while (device.lanes.lanes[CUDA_LANE_IN].filled < 3 * CUDA_LANE_ITEMS / 2)
		do_something(3);
	do_mark(true);
	EXPECT(device.lanes.lanes[CUDA_LANE_IN].filled > CUDA_LANE_ITEMS);
	EXPECT(device.lanes.lanes[CUDA_LANE_IN].last_mark > CUDA_LANE_MARKS);
	compare();
	scene_end();
}

TEST(lanes, the_low_bits_of_a_mark_may_begin_again)
{
	scene_begin(9, 2);
	for (unsigned i = 0; i < CUDA_LANES; i++) {
		device.lanes.lanes[i].last_mark = UINT64_C(0xfffffff0);
		*device.lanes.lanes[i].told = UINT64_C(0xfffffff0);
	}
	for (unsigned i = 0; i < 3000; i++)
		do_something(2);
	do_mark(true);
	EXPECT(device.lanes.lanes[CUDA_LANE_IN].last_mark > UINT64_C(0x100000000));
	compare();
	scene_end();
}

/* What a pair of copies has to do with each other decides whether one waits. */
static unsigned waits_in(unsigned stream)
{
	unsigned waits = 0;

	for (unsigned i = 0; i < streams[stream].count; i++)
		waits += streams[stream].work[i].kind == WORK_WAIT;
	return waits;
}

TEST(lanes, ways_in_and_out_of_different_memory_do_not_wait_for_each_other)
{
	scene_begin(1, 0);
	do_copy(true, 0, 0, CUDA_ROW_BYTES);
	do_copy(false, CUDA_ROW_BYTES, CUDA_ROW_BYTES, CUDA_ROW_BYTES);
	do_copy(true, 2 * CUDA_ROW_BYTES, 2 * CUDA_ROW_BYTES, CUDA_ROW_BYTES);
	EXPECT_EQ(waits_in(CUDA_LANE_IN) + waits_in(CUDA_LANE_OUT), 0);
	/* … and who takes the room of the first waits for the first alone. */
	do_copy(false, 0, 3 * CUDA_ROW_BYTES, CUDA_ROW_BYTES);
	EXPECT_EQ(waits_in(CUDA_LANE_IN), 1);
	do_mark(true);
	compare();
	scene_end();
}

TEST(lanes, short_rows_of_many_calls_are_one_launch)
{
	scene_begin(1, 0);
	for (unsigned i = 0; i < 32; i++) {
		do_entries(LOCAL_BYTES - 4096, 16, 0, 0);
		do_copy(true, i * UINT64_C(65536), i * UINT64_C(65536), 65536);
	}
	do_mark(false);
	EXPECT_EQ(streams[CUDA_LANE_UNMAP].count, 3); /* launch, word, event */
	EXPECT_EQ(streams[CUDA_LANE_OUT].count, 3);   /* … behind those; another one tells */
	for (unsigned i = 0; i < 32; i++) {
		do_copy(false, i * UINT64_C(65536), i * UINT64_C(65536), 65536);
		do_entries(LOCAL_BYTES - 8192, 16, 4096 | SOFTGPU_PTE_VALID, 4096);
	}
	do_mark(true);
	EXPECT_EQ(streams[CUDA_LANE_IN].count, 4); /* … behind the ways out, too */
	EXPECT_EQ(streams[CUDA_LANE_MAP].count, 5);
	compare();
	scene_end();
}

TEST(lanes, say_that_the_context_is_lost)
{
	struct cuda_marks marks;

	scene_begin(1, 0);
	do_copy(false, 0, 0, 65536);
	is_failing = true;
	EXPECT(!cuda_lanes_mark(&device, &marks));
	EXPECT(!cuda_lanes_are_alive(&device));
	EXPECT(!cuda_lanes_fill(&device, 0, CUDA_ROW_BYTES, 0));
	is_failing = false;
	scene_end();
}

TEST(lanes, short_rows_that_are_neighbours_here_and_there_are_one_copy)
{
	scene_begin(4, 0);
	row_count = 0;
	for (unsigned i = 0; i < 20; i++)
		do_copy(false, (uint64_t)i * 65536, (uint64_t)(i + 3) * 65536, 65536);
	/* Those here, and not there. */
	for (unsigned i = 20; i < 40; i++)
		do_copy(false, (uint64_t)i * 65536, (uint64_t)(60 - i) * 65536, 65536);
	do_mark(true);
	EXPECT_EQ(row_count, 1);
	compare();
	scene_end();
}

TEST_MAIN("cuda/lanes")
