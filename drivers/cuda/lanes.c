/* SPDX-License-Identifier: MIT */
/*
 * lanes.c - see lanes.h.
 *
 *	cuda_lanes_…()  ─▶ touch(): who was there before? ─▶ need(): wait for its mark
 *	                ─▶ a copy engine, or an item of a list
 *	mark()          ─▶ launch(): the list, behind what all of it has to wait for
 *	                ─▶ the number of the mark, where the CPU and other lanes see it
 *
 * What a list has to wait for as a whole is put into its stream when it is launched, so that lists
 * grow long. Nobody waits for himself that way: lists of map wait for in and local, these and out
 * for unmap, and unmap for none.
 */
#include "cuda.h"

enum {
	LOOKS = 2000,    /* without sleeping */
	WORD_STRIDE = 8, /* a line of the processor's */
};
static const LONGLONG PAUSE_100NS = -500; /* 50 µs */

/* ---- beginning and end ---- */

#define TRY(call, what)                                                                            \
	do {                                                                                       \
		cuda_status tried = (call);                                                        \
		if (tried != CUDA_OK)                                                              \
			return gpu_refuse(STATUS_UNSUCCESSFUL, "%s: %s", what,                     \
					  cuda_error_name(&device->api, tried));                   \
	} while (0)

static NTSTATUS make_lane(struct cuda_device *device, ULONG number)
{
	struct cuda_lanes *lanes = &device->lanes;
	struct cuda_lane *lane = &lanes->lanes[number];

	lane->told = &lanes->words[(SIZE_T)number * WORD_STRIDE];
	lane->items = &lanes->items[(SIZE_T)number * CUDA_LANE_ITEMS];
	TRY(device->api.stream_create(&lane->stream, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
	for (ULONG i = 0; i < CUDA_LANE_MARKS; i++)
		TRY(device->api.event_create(&lane->events[i], CUDA_EVENT_DISABLE_TIMING),
		    "cuEventCreate");
	return STATUS_SUCCESS;
}

static BOOLEAN is_over_bus(const struct cuda_device *device, const struct cuda_lane *lane)
{
	const struct cuda_lane *lanes = device->lanes.lanes;

	return lane == &lanes[CUDA_LANE_IN] || lane == &lanes[CUDA_LANE_OUT];
}

static NTSTATUS make_teller(struct cuda_device *device, struct cuda_lane *lane)
{
	lane->teller = lane->stream;
	if (is_over_bus(device, lane))
		TRY(device->api.stream_create(&lane->teller, CUDA_STREAM_NON_BLOCKING),
		    "cuStreamCreate");
	return STATUS_SUCCESS;
}

NTSTATUS cuda_lanes_make(struct cuda_device *device)
{
	const unsigned flags = CUDA_HOST_PORTABLE | CUDA_HOST_DEVICEMAP;
	struct cuda_lanes *lanes = &device->lanes;
	NTSTATUS status = STATUS_SUCCESS;
	void *words;

	PAGED_CODE();

	cuda_lanes_end(device);
	lanes->local_granules = (device->local_bytes >> CUDA_GRANULE_BITS) + 1;
	lanes->system_granules = device->piece_count << (CUDA_PIECE_BITS - CUDA_GRANULE_BITS);
	lanes->local =
		gpu_pool_allocate(NonPagedPoolNx, lanes->local_granules * sizeof(*lanes->local));
	lanes->system =
		gpu_pool_allocate(NonPagedPoolNx, lanes->system_granules * sizeof(*lanes->system));
	if (!lanes->local || !lanes->system)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for stamps of memory");
	TRY(device->api.host_allocate(&words, CUDA_LANES * WORD_STRIDE * sizeof(ULONGLONG), flags),
	    "cuMemHostAlloc of lanes");
	lanes->words = (ULONGLONG *)words;
	RtlZeroMemory(words, CUDA_LANES * WORD_STRIDE * sizeof(ULONGLONG));
	TRY(device->api.host_allocate(
		    &words, (size_t)CUDA_LANES * CUDA_LANE_ITEMS * sizeof(*lanes->items), flags),
	    "cuMemHostAlloc of items");
	lanes->items = (struct cuda_item *)words;
	for (ULONG number = 0; NT_SUCCESS(status) && number < CUDA_LANES; number++)
		status = make_lane(device, number);
	for (ULONG number = 0; NT_SUCCESS(status) && number < CUDA_LANES; number++)
		status = make_teller(device, &lanes->lanes[number]);
	return status;
}

void cuda_lanes_end(struct cuda_device *device)
{
	gpu_pool_free(device->lanes.local);
	gpu_pool_free(device->lanes.system);
	RtlZeroMemory(&device->lanes, sizeof(device->lanes));
}

/* ---- marks ---- */

static ULONGLONG told_of(const struct cuda_lane *lane)
{
	return __atomic_load_n(lane->told, __ATOMIC_ACQUIRE);
}

/* Stamps have the low bits, and none is 0. */
static ULONGLONG next_mark(const struct cuda_lane *lane)
{
	ULONGLONG next = lane->last_mark + 1;

	return (ULONG)next == 0 ? next + 1 : next;
}

/* The one that will be behind all that is in it now. */
static ULONGLONG tail_of(const struct cuda_lane *lane)
{
	return lane->has_work ? next_mark(lane) : lane->last_mark;
}

BOOLEAN cuda_lanes_are_alive(struct cuda_device *device)
{
	for (ULONG i = 0; i < CUDA_LANES; i++) {
		cuda_status status = device->api.stream_query(device->lanes.lanes[i].stream);

		if (status != CUDA_NOT_READY && !cuda_did(device, status, "cuStreamQuery"))
			return FALSE;
	}
	return !device->is_lost;
}

static BOOLEAN wait_for(struct cuda_device *device, const struct cuda_lane *lane, ULONGLONG mark)
{
	LARGE_INTEGER pause = { .QuadPart = PAUSE_100NS };

	for (ULONG i = 0; told_of(lane) < mark; i++) {
		if (i < LOOKS) {
			YieldProcessor();
			continue;
		}
		if (!cuda_lanes_are_alive(device))
			return FALSE;
		KeDelayExecutionThread(KernelMode, FALSE, &pause);
	}
	return TRUE;
}

static BOOLEAN mark(struct cuda_device *device, struct cuda_lane *lane);

/* What comes next in `lane` happens after `mark` of the other. */
static BOOLEAN need(struct cuda_device *device, struct cuda_lane *lane, ULONG number,
		    ULONGLONG wanted)
{
	struct cuda_lane *other = &device->lanes.lanes[number];

	if (lane == other || wanted <= told_of(other) || wanted <= lane->waited[number])
		return TRUE;
	if (wanted > other->last_mark && !mark(device, other))
		return FALSE;
	lane->waited[number] = wanted;
	return cuda_did(device,
			device->api.stream_wait_event(lane->stream,
						      other->events[wanted % CUDA_LANE_MARKS], 0),
			"cuStreamWaitEvent");
}

static BOOLEAN need_tail(struct cuda_device *device, struct cuda_lane *lane, ULONG number)
{
	return need(device, lane, number, tail_of(&device->lanes.lanes[number]));
}

/* What all that is put into the lane now has to wait for. */
static BOOLEAN need_what_comes_first(struct cuda_device *device, struct cuda_lane *lane)
{
	switch (lane - device->lanes.lanes) {
	case CUDA_LANE_UNMAP:
		return TRUE;
	case CUDA_LANE_MAP:
		return need_tail(device, lane, CUDA_LANE_IN) &&
		       need_tail(device, lane, CUDA_LANE_LOCAL);
	default:
		return need_tail(device, lane, CUDA_LANE_UNMAP);
	}
}

/* ---- lists ---- */

static BOOLEAN is_of_entries(const struct cuda_device *device, const struct cuda_lane *lane)
{
	return lane >= &device->lanes.lanes[CUDA_LANE_UNMAP];
}

static struct cuda_item *item_of(const struct cuda_lane *lane, ULONGLONG number)
{
	return &lane->items[number % CUDA_LANE_ITEMS];
}

/* A kernel for so many items. */
static BOOLEAN launch_list(struct cuda_device *device, struct cuda_lane *lane, ULONGLONG first,
			   ULONGLONG count)
{
	ULONGLONG items = (ULONGLONG)(ULONG_PTR)item_of(lane, first);
	ULONGLONG tables = device->world + __builtin_offsetof(struct cuda_world, tables);
	void *parameters[] = { &items, &count, &tables };
	ULONG blocks = CUDA_PAGES_BLOCKS;

	if (count == 0)
		return TRUE;
	if (is_of_entries(device, lane))
		return cuda_did(device,
				device->api.launch(device->entries, 1, 1, 1, CUDA_ENTRIES_THREADS,
						   1, 1, 0, lane->stream, parameters, NULL),
				"cuLaunchKernel of cuda_entries");
	if (lane == &device->lanes.lanes[CUDA_LANE_LOCAL])
		blocks = device->processors;
	return cuda_did(device,
			device->api.launch(device->pages, blocks, 1, 1, CUDA_PAGES_THREADS, 1, 1, 0,
					   lane->stream, parameters, NULL),
			"cuLaunchKernel of cuda_pages");
}

/* Over the bus, by a copy engine, behind what is in the lane. */
static BOOLEAN copy_over(struct cuda_device *device, const struct cuda_lane *lane, ULONGLONG to,
			 ULONGLONG from, ULONGLONG size_bytes)
{
	if (lane == &device->lanes.lanes[CUDA_LANE_IN])
		return cuda_did(device,
				device->api.copy_to_device(to, (const void *)(ULONG_PTR)from,
							   size_bytes, lane->stream),
				"cuMemcpyHtoDAsync");
	return cuda_did(
		device,
		device->api.copy_to_host((void *)(ULONG_PTR)to, from, size_bytes, lane->stream),
		"cuMemcpyDtoHAsync");
}

/* Where the row ends that begins with this item: all in one piece of system memory. */
static ULONGLONG row_end(const struct cuda_lane *lane, ULONGLONG first)
{
	ULONGLONG end = first + 1;

	for (; end < lane->filled; end++) {
		const struct cuda_item *last = item_of(lane, end - 1);
		const struct cuda_item *next = item_of(lane, end);

		if (next->to != last->to + last->size_bytes ||
		    next->from != last->from + last->size_bytes || next->piece != last->piece)
			break;
	}
	return end;
}

/* What came in small pieces may be long rows all the same. */
static BOOLEAN launch_rows(struct cuda_device *device, struct cuda_lane *lane)
{
	ULONGLONG listed = lane->launched;

	for (ULONGLONG at = lane->launched, end; at < lane->filled; at = end) {
		const struct cuda_item *first = item_of(lane, at);

		end = row_end(lane, at);
		const struct cuda_item *last = item_of(lane, end - 1);
		ULONGLONG size_bytes = last->to + last->size_bytes - first->to;
		if (size_bytes < CUDA_ROW_BYTES)
			continue;
		if (!launch_list(device, lane, listed, at - listed) ||
		    !copy_over(device, lane, first->to, first->from, size_bytes))
			return FALSE;
		listed = end;
	}
	return launch_list(device, lane, listed, lane->filled - listed);
}

/* What there is for kernels and copy engines. */
static BOOLEAN launch(struct cuda_device *device, struct cuda_lane *lane)
{
	if (lane->filled == lane->launched)
		return TRUE;
	if (!need_what_comes_first(device, lane))
		return FALSE;
	if (!(is_over_bus(device, lane)
		      ? launch_rows(device, lane)
		      : launch_list(device, lane, lane->launched, lane->filled - lane->launched)))
		return FALSE;
	lane->launched = lane->filled;
	lane->highest = 0;
	return TRUE;
}

static BOOLEAN mark(struct cuda_device *device, struct cuda_lane *lane)
{
	if (!lane->has_work)
		return TRUE;
	if (!launch(device, lane))
		return FALSE;
	/* So that no two that are not told have the same event. */
	ULONGLONG next = next_mark(lane);
	if (next >= CUDA_LANE_MARKS && !wait_for(device, lane, next - CUDA_LANE_MARKS + 1))
		return FALSE;
	cuda_event event = lane->events[next % CUDA_LANE_MARKS];
	lane->has_work = FALSE;
	lane->last_mark = next;
	lane->ends[next % CUDA_LANE_MARKS] = lane->filled;
	return cuda_did(device, device->api.event_record(event, lane->stream), "cuEventRecord") &&
	       (lane->teller == lane->stream ||
		cuda_did(device, device->api.stream_wait_event(lane->teller, event, 0),
			 "cuStreamWaitEvent")) &&
	       cuda_did(device,
			device->api.stream_write(lane->teller, (cuda_pointer)(ULONG_PTR)lane->told,
						 next, 0),
			"cuStreamWriteValue64");
}

/* For so many more, before anything is said of them: they come behind the next mark. */
static BOOLEAN make_room(struct cuda_device *device, struct cuda_lane *lane, ULONGLONG count)
{
	ULONGLONG left = CUDA_LANE_ITEMS - lane->filled % CUDA_LANE_ITEMS;

	/* A list has its items in a row. */
	if ((left < count || left == CUDA_LANE_ITEMS) && !launch(device, lane))
		return FALSE;
	if (left < count) {
		lane->filled += left;
		lane->launched = lane->filled;
	}
	if (lane->filled + count <= CUDA_LANE_ITEMS + lane->freed)
		return TRUE;
	lane->freed = lane->ends[told_of(lane) % CUDA_LANE_MARKS];
	if (lane->filled + count <= CUDA_LANE_ITEMS + lane->freed)
		return TRUE;
	lane->has_work = TRUE;
	if (!mark(device, lane) || !wait_for(device, lane, lane->last_mark))
		return FALSE;
	lane->freed = lane->filled;
	return TRUE;
}

static void add(struct cuda_lane *lane, const struct cuda_item *item)
{
	lane->has_work = TRUE;
	lane->items[lane->filled++ % CUDA_LANE_ITEMS] = *item;
}

/* ---- who was there before ---- */

/* Bytes of one side. */
struct side {
	struct cuda_stamp *stamps;
	ULONGLONG first; /* granules */
	ULONGLONG last;
};

static struct side side_of(struct cuda_stamp *stamps, ULONGLONG offset, ULONGLONG size_bytes)
{
	return (struct side){ stamps, offset >> CUDA_GRANULE_BITS,
			      (offset + size_bytes - 1) >> CUDA_GRANULE_BITS };
}

/* Those among the bits that are still to be told, as a whole number; 0: none is. */
static ULONGLONG awaited(const struct cuda_lane *lane, ULONG bits)
{
	ULONGLONG told = told_of(lane);
	ULONG ahead = bits - (ULONG)told;

	return ahead != 0 && ahead <= (ULONG)(tail_of(lane) - told) ? told + ahead : 0;
}

static void look(const struct cuda_device *device, const struct side *side, ULONG own,
		 ULONGLONG wanted[CUDA_LANES], BOOLEAN *is_own_out)
{
	const ULONG open = (ULONG)next_mark(&device->lanes.lanes[own]);

	for (ULONGLONG granule = side->first; granule <= side->last; granule++) {
		struct cuda_stamp *stamp = &side->stamps[granule];

		*is_own_out |= stamp->marks[own] == open;
		for (ULONG i = 0; i < CUDA_LANES; i++) {
			if (stamp->marks[i] == 0 || i == own)
				continue;
			ULONGLONG mark = awaited(&device->lanes.lanes[i], stamp->marks[i]);

			if (mark == 0)
				stamp->marks[i] = 0;
			else if (mark > wanted[i])
				wanted[i] = mark;
		}
	}
}

/*
 * What comes next in the lane touches both sides, and waits for who was there before.
 * *is_own_out: so may something have that is not launched, of the same lane.
 */
static BOOLEAN touch(struct cuda_device *device, struct cuda_lane *lane, const struct side *a,
		     const struct side *b, BOOLEAN *is_own_out)
{
	const ULONG own = (ULONG)(lane - device->lanes.lanes);
	ULONGLONG wanted[CUDA_LANES] = { 0 };

	*is_own_out = FALSE;
	look(device, a, own, wanted, is_own_out);
	if (b)
		look(device, b, own, wanted, is_own_out);
	for (ULONG i = 0; i < CUDA_LANES; i++) {
		if (wanted[i] != 0 && !need(device, lane, i, wanted[i]))
			return FALSE;
	}
	/* Only now: who waits for others may have been marked for them. */
	const ULONG open = (ULONG)next_mark(lane);
	for (ULONGLONG granule = a->first; granule <= a->last; granule++)
		a->stamps[granule].marks[own] = open;
	for (ULONGLONG granule = b ? b->first : 1; granule <= (b ? b->last : 0); granule++)
		b->stamps[granule].marks[own] = open;
	return TRUE;
}

static BOOLEAN overlaps(ULONGLONG a, ULONGLONG a_bytes, ULONGLONG b, ULONGLONG b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

/* Does it write what one reads or writes that is not launched, or read what one writes? */
static BOOLEAN is_in_the_way(const struct cuda_lane *lane, const struct cuda_item *item)
{
	enum { LOOKED_AT = 256 };

	if (lane->filled - lane->launched > LOOKED_AT)
		return TRUE;
	for (ULONGLONG i = lane->launched; i < lane->filled; i++) {
		const struct cuda_item *other = &lane->items[i % CUDA_LANE_ITEMS];

		if (overlaps(item->to, item->size_bytes, other->to, other->size_bytes) ||
		    (other->from &&
		     overlaps(item->to, item->size_bytes, other->from, other->size_bytes)) ||
		    (item->from &&
		     overlaps(item->from, item->size_bytes, other->to, other->size_bytes)))
			return TRUE;
	}
	return FALSE;
}

/* ---- bytes ---- */

/* Entries that lead nowhere are before it, in a list with others that wait for what is here. */
static BOOLEAN leave_mixed_entries(struct cuda_device *device, struct cuda_lane *lane)
{
	return need(device, lane, CUDA_LANE_MAP, device->lanes.lanes[CUDA_LANE_MAP].nowhere_mark);
}

/* Room for `size_bytes` in items. */
static BOOLEAN begin(struct cuda_device *device, struct cuda_lane *lane, ULONGLONG size_bytes)
{
	return leave_mixed_entries(device, lane) &&
	       make_room(device, lane, (size_bytes + CUDA_ITEM_BYTES - 1) / CUDA_ITEM_BYTES);
}

static BOOLEAN add_items(struct cuda_device *device, struct cuda_lane *lane,
			 const struct cuda_item *all, BOOLEAN is_own)
{
	/* Neighbours come one above the other, mostly. */
	BOOLEAN is_above =
		all->to >= lane->highest && lane != &device->lanes.lanes[CUDA_LANE_LOCAL];

	if (is_own && !is_above && is_in_the_way(lane, all) && !launch(device, lane))
		return FALSE;
	for (ULONGLONG done = 0; done < all->size_bytes; done += CUDA_ITEM_BYTES) {
		struct cuda_item item = *all;

		item.to += done;
		item.from += all->from ? done : 0;
		item.size_bytes -= done;
		if (item.size_bytes > CUDA_ITEM_BYTES)
			item.size_bytes = CUDA_ITEM_BYTES;
		add(lane, &item);
	}
	if (lane->highest < all->to + all->size_bytes)
		lane->highest = all->to + all->size_bytes;
	return TRUE;
}

/* Behind what is in the lane, and without a list. */
static BOOLEAN begin_row(struct cuda_device *device, struct cuda_lane *lane)
{
	if (!launch(device, lane) || !need_what_comes_first(device, lane))
		return FALSE;
	lane->has_work = TRUE;
	return TRUE;
}

BOOLEAN cuda_lanes_copy_in(struct cuda_device *device, ULONGLONG local_offset, ULONGLONG system,
			   ULONGLONG physical, ULONGLONG size_bytes)
{
	struct cuda_lane *lane = &device->lanes.lanes[CUDA_LANE_IN];
	const struct cuda_item item = { .to = device->local + local_offset,
					.from = system,
					.size_bytes = size_bytes,
					.piece = physical >> CUDA_PIECE_BITS };
	const struct side to = side_of(device->lanes.local, local_offset, size_bytes);
	const struct side from = side_of(device->lanes.system, physical, size_bytes);
	BOOLEAN is_row = size_bytes >= CUDA_ROW_BYTES;
	BOOLEAN is_own;

	if (!begin(device, lane, is_row ? 0 : size_bytes) ||
	    !touch(device, lane, &to, &from, &is_own))
		return FALSE;
	if (!is_row)
		return add_items(device, lane, &item, is_own);
	return begin_row(device, lane) && copy_over(device, lane, item.to, system, size_bytes);
}

BOOLEAN cuda_lanes_copy_out(struct cuda_device *device, ULONGLONG system, ULONGLONG physical,
			    ULONGLONG local_offset, ULONGLONG size_bytes)
{
	struct cuda_lane *lane = &device->lanes.lanes[CUDA_LANE_OUT];
	const struct cuda_item item = { .to = system,
					.from = device->local + local_offset,
					.size_bytes = size_bytes,
					.piece = physical >> CUDA_PIECE_BITS };
	const struct side to = side_of(device->lanes.system, physical, size_bytes);
	const struct side from = side_of(device->lanes.local, local_offset, size_bytes);
	BOOLEAN is_row = size_bytes >= CUDA_ROW_BYTES;
	BOOLEAN is_own;

	if (!begin(device, lane, is_row ? 0 : size_bytes) ||
	    !touch(device, lane, &to, &from, &is_own))
		return FALSE;
	if (!is_row)
		return add_items(device, lane, &item, is_own);
	return begin_row(device, lane) && copy_over(device, lane, system, item.from, size_bytes);
}

static BOOLEAN copy_local_part(struct cuda_device *device, ULONGLONG to_offset,
			       ULONGLONG from_offset, ULONGLONG size_bytes)
{
	struct cuda_lane *lane = &device->lanes.lanes[CUDA_LANE_LOCAL];
	const struct cuda_item item = { .to = device->local + to_offset,
					.from = device->local + from_offset,
					.size_bytes = size_bytes };
	const struct side to = side_of(device->lanes.local, to_offset, size_bytes);
	const struct side from = side_of(device->lanes.local, from_offset, size_bytes);
	BOOLEAN is_own;

	return begin(device, lane, size_bytes) && touch(device, lane, &to, &from, &is_own) &&
	       add_items(device, lane, &item, is_own);
}

BOOLEAN cuda_lanes_copy_local(struct cuda_device *device, ULONGLONG to_offset,
			      ULONGLONG from_offset, ULONGLONG size_bytes)
{
	for (ULONGLONG done = 0; done < size_bytes; done += CUDA_ROW_BYTES) {
		ULONGLONG here = size_bytes - done;

		here = here < CUDA_ROW_BYTES ? here : CUDA_ROW_BYTES;
		if (!copy_local_part(device, to_offset + done, from_offset + done, here))
			return FALSE;
	}
	return TRUE;
}

BOOLEAN cuda_lanes_fill(struct cuda_device *device, ULONGLONG local_offset, ULONGLONG size_bytes,
			ULONG pattern)
{
	struct cuda_lane *lane = &device->lanes.lanes[CUDA_LANE_LOCAL];
	const struct cuda_item item = { .to = device->local + local_offset,
					.size_bytes = size_bytes,
					.pattern = pattern };
	const struct side to = side_of(device->lanes.local, local_offset, size_bytes);
	BOOLEAN is_row = size_bytes >= CUDA_ROW_BYTES;
	BOOLEAN is_own;

	if (!begin(device, lane, is_row ? 0 : size_bytes) ||
	    !touch(device, lane, &to, NULL, &is_own))
		return FALSE;
	if (!is_row)
		return add_items(device, lane, &item, is_own);
	return begin_row(device, lane) &&
	       cuda_did(device,
			device->api.fill_words(item.to, pattern, size_bytes / sizeof(pattern),
					       lane->stream),
			"cuMemsetD32Async");
}

/* ---- entries ---- */

enum leads { LEADS_NOWHERE, LEADS_SOMEWHERE, LEADS_BOTH };

static enum leads where_they_lead(ULONGLONG count, ULONGLONG value, ULONGLONG stride)
{
	BOOLEAN is_valid = (value & SOFTGPU_PTE_VALID) != 0;

	if (count > 1 && (stride % PAGE_SIZE != 0 || (!is_valid && stride != 0)))
		return LEADS_BOTH;
	return is_valid ? LEADS_SOMEWHERE : LEADS_NOWHERE;
}

/* Pages that so many entries are in, at most. */
static ULONGLONG item_count(ULONGLONG entry_count)
{
	return entry_count * sizeof(ULONGLONG) / PAGE_SIZE + 2;
}

/* Each item in one page: those of a page are written in order. */
static void add_entries(struct cuda_lane *lane, ULONGLONG to, ULONGLONG count, ULONGLONG value,
			ULONGLONG stride)
{
	for (ULONGLONG done = 0; done < count;) {
		ULONGLONG at = to + done * sizeof(ULONGLONG);
		ULONGLONG here = (PAGE_SIZE - at % PAGE_SIZE) / sizeof(ULONGLONG);
		struct cuda_item item;

		here = here < count - done ? here : count - done;
		item = (struct cuda_item){
			.to = at, .value = value + done * stride, .count = here, .stride = stride
		};
		add(lane, &item);
		done += here;
	}
}

/* As many as are sure to find room. */
enum { ENTRIES_AT_ONCE = 1 << 18 };

BOOLEAN cuda_lanes_entries(struct cuda_device *device, ULONGLONG local_offset, ULONGLONG count,
			   ULONGLONG value, ULONGLONG stride)
{
	enum leads leads = where_they_lead(count, value, stride);
	struct cuda_lane *lane =
		&device->lanes.lanes[leads == LEADS_NOWHERE ? CUDA_LANE_UNMAP : CUDA_LANE_MAP];
	BOOLEAN is_own;

	for (ULONGLONG done = 0; done < count; done += ENTRIES_AT_ONCE) {
		ULONGLONG at = local_offset + done * sizeof(ULONGLONG);
		ULONGLONG here = count - done < ENTRIES_AT_ONCE ? count - done : ENTRIES_AT_ONCE;
		const struct side table =
			side_of(device->lanes.local, at, here * sizeof(ULONGLONG));

		if (!make_room(device, lane, item_count(here)) ||
		    !touch(device, lane, &table, NULL, &is_own))
			return FALSE;
		add_entries(lane, device->local + at, here, value + done * stride, stride);
		if (leads == LEADS_BOTH)
			lane->nowhere_mark = tail_of(lane);
	}
	return TRUE;
}

/* What is taken from the aperture leads to a page of the kernel's: nobody waits for that. */
BOOLEAN cuda_lanes_aperture(struct cuda_device *device, ULONGLONG first, ULONGLONG count,
			    ULONGLONG value, ULONGLONG stride)
{
	struct cuda_lane *lane = &device->lanes.lanes[CUDA_LANE_MAP];

	for (ULONGLONG done = 0; done < count; done += ENTRIES_AT_ONCE) {
		ULONGLONG here = count - done < ENTRIES_AT_ONCE ? count - done : ENTRIES_AT_ONCE;

		if (!make_room(device, lane, item_count(here)))
			return FALSE;
		add_entries(lane, device->aperture + (first + done) * sizeof(ULONGLONG), here,
			    value + done * stride, stride);
	}
	return TRUE;
}

BOOLEAN cuda_lanes_store(struct cuda_device *device, ULONGLONG system, ULONGLONG physical,
			 ULONGLONG value)
{
	struct cuda_lane *lane = &device->lanes.lanes[CUDA_LANE_MAP];
	const struct side to = side_of(device->lanes.system, physical, sizeof(value));
	BOOLEAN is_own;

	if (!launch(device, lane) || !make_room(device, lane, 1))
		return FALSE;
	for (ULONG i = 0; i < CUDA_LANES; i++) {
		if (!need_tail(device, lane, i))
			return FALSE;
	}
	if (!touch(device, lane, &to, NULL, &is_own))
		return FALSE;
	add_entries(lane, system, 1, value, 0);
	return launch(device, lane);
}

/* ---- packets ---- */

BOOLEAN cuda_lanes_mark(struct cuda_device *device, struct cuda_marks *marks_out)
{
	/* From the last to the first: who waits marks whom it waits for. */
	for (ULONG i = CUDA_LANES; i-- > 0;) {
		if (!mark(device, &device->lanes.lanes[i]))
			return FALSE;
	}
	for (ULONG i = 0; i < CUDA_LANES; i++)
		marks_out->marks[i] = device->lanes.lanes[i].last_mark;
	return TRUE;
}

BOOLEAN cuda_lanes_have_told(const struct cuda_device *device, const struct cuda_marks *marks)
{
	for (ULONG i = 0; i < CUDA_LANES; i++) {
		if (told_of(&device->lanes.lanes[i]) < marks->marks[i])
			return FALSE;
	}
	return TRUE;
}

BOOLEAN cuda_lanes_wait(struct cuda_device *device, const struct cuda_marks *marks)
{
	for (ULONG i = 0; i < CUDA_LANES; i++) {
		if (!wait_for(device, &device->lanes.lanes[i], marks->marks[i]))
			return FALSE;
	}
	return TRUE;
}
