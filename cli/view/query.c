/* SPDX-License-Identifier: MIT */
/*
 * query.c - the questions, each a function that walks the tables.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/view/names.h"
#include "cli/view/query.h"

enum { DEFAULT_THRASH_MS = 10, PATH_STEPS_MAX = 64, LOOK_BACK_MAX = 64 };

/* ---- answers ---- */

static void add(struct view_answer *answer, const char *text)
{
	char **cells = mem_grow_array(answer->cells, answer->cell_count, &answer->cell_capacity,
				      sizeof(*cells));
	char *cell = cells ? mem_strdup(text) : NULL;

	if (cells)
		answer->cells = cells;
	if (cell)
		answer->cells[answer->cell_count++] = cell;
	else
		answer->has_no_memory = true;
}

static void add_number(struct view_answer *answer, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	add(answer, text);
}

static void add_time(struct view_answer *answer, int64_t ns)
{
	view_name name;

	add(answer, view_time_name(ns, name));
}

static void add_bytes(struct view_answer *answer, int64_t bytes)
{
	view_name name;

	add(answer, view_bytes_name(bytes, name));
}

static void add_allocation(struct view_answer *answer, const struct view_model *model,
			   int64_t allocation)
{
	view_name name;

	add(answer, allocation < 0 ? "" : view_allocation_name(model, allocation, name));
}

static void add_process(struct view_answer *answer, const struct view_model *model, int64_t process)
{
	view_name name;

	add(answer, view_process_name(model, process, name));
}

static void add_owner(struct view_answer *answer, const struct view_model *model,
		      int64_t allocation)
{
	add_process(answer, model, VIEW_AT(model, allocations, process, allocation));
}

static void add_segment(struct view_answer *answer, const struct view_model *model, int64_t segment)
{
	view_name name;

	add(answer, segment ? view_segment_name(model, segment, name) : "");
}

static void set_columns(struct view_answer *answer, unsigned count, ...)
{
	va_list names;

	va_start(names, count);
	answer->column_count = count;
	for (unsigned i = 0; i < count; i++)
		answer->columns[i] = va_arg(names, const char *);
	va_end(names);
}

/* ---- rows in an order ---- */

struct ranked {
	int64_t key, second;
	int64_t row, from, to;
};

struct ranking {
	struct ranked *entries;
	size_t count, capacity;
};

static void rank(struct view_answer *answer, struct ranking *ranking, struct ranked entry)
{
	struct ranked *entries = mem_grow_array(ranking->entries, ranking->count,
						&ranking->capacity, sizeof(*entries));

	if (!entries) {
		answer->has_no_memory = true;
		return;
	}
	ranking->entries = entries;
	ranking->entries[ranking->count++] = entry;
}

static int by_key(const void *a, const void *b)
{
	const struct ranked *one = a;
	const struct ranked *other = b;

	if (one->key != other->key)
		return one->key < other->key ? -1 : 1;
	if (one->second != other->second)
		return one->second < other->second ? -1 : 1;
	return (one->row > other->row) - (one->row < other->row);
}

static void sort(struct ranking *ranking)
{
	if (ranking->count > 1)
		qsort(ranking->entries, ranking->count, sizeof(*ranking->entries), by_key);
}

/* ---- why was it evicted? ---- */

static void why_evicted(const struct view_model *model, const struct view_about *about,
			struct view_answer *answer)
{
	set_columns(answer, 8, "at", "allocation", "of", "size", "left", "because", "for", "rank");
	for (uint32_t row = 0; row < VIEW_ROWS(model, states); row++) {
		int64_t allocation = VIEW_AT(model, states, allocation, row);

		if (VIEW_AT(model, states, state, row) != VIEW_LEAVING ||
		    (about->allocation >= 0 && about->allocation != allocation))
			continue;
		add_time(answer, VIEW_AT(model, states, time, row));
		add_allocation(answer, model, allocation);
		add_owner(answer, model, allocation);
		add_bytes(answer, VIEW_AT(model, allocations, size, allocation));
		add_segment(answer, model, VIEW_AT(model, states, segment, row));
		add(answer, view_text(model, VIEW_AT(model, states, reason, row)));
		add_allocation(answer, model, VIEW_AT(model, states, for, row) - 1);
		add(answer, view_text(model, VIEW_AT(model, states, rank, row)));
	}
}

/* ---- what waited longest for room? ---- */

static void longest_wait(const struct view_model *model, const struct view_about *about,
			 struct view_answer *answer)
{
	struct ranking ranking = { 0 };

	(void)about;
	set_columns(answer, 6, "waited", "at", "process", "bytes", "where", "for");
	for (uint32_t row = 0; row < VIEW_ROWS(model, rooms); row++) {
		int64_t begin = VIEW_AT(model, rooms, begin, row);
		int64_t waited = view_until(model, VIEW_AT(model, rooms, end, row)) - begin;

		rank(answer, &ranking,
		     (struct ranked){ .key = -waited, .second = row, .row = row, .from = begin });
	}
	sort(&ranking);
	for (size_t i = 0; i < ranking.count; i++) {
		int64_t row = ranking.entries[i].row;

		add_time(answer, -ranking.entries[i].key);
		add_time(answer, ranking.entries[i].from);
		add_process(answer, model, VIEW_AT(model, rooms, process, row));
		add_bytes(answer, VIEW_AT(model, rooms, bytes, row));
		add_segment(answer, model, VIEW_AT(model, rooms, segment, row));
		add_allocation(answer, model, VIEW_AT(model, rooms, allocation, row) - 1);
	}
	mem_free(ranking.entries);
}

/* ---- what went out and came back? ---- */

static void thrash(const struct view_model *model, const struct view_about *about,
		   struct view_answer *answer)
{
	int64_t within;
	if (__builtin_mul_overflow(about->milliseconds >= 0 ? about->milliseconds
							    : DEFAULT_THRASH_MS,
				   (int64_t)NS_PER_MS, &within))
		within = INT64_MAX; /* longer than any trace */
	uint32_t count = VIEW_ROWS(model, allocations);
	int64_t *left = mem_zalloc_array(count ? count : 1, sizeof(*left));
	struct ranking ranking = { 0 };

	set_columns(answer, 5, "back after", "left", "allocation", "of", "size");
	if (!left) {
		answer->has_no_memory = true;
		return;
	}
	/* Time + 1 of the last eviction; 0: it is not out since one. */
	for (uint32_t row = 0; row < VIEW_ROWS(model, states); row++) {
		int64_t allocation = VIEW_AT(model, states, allocation, row);
		int64_t state = VIEW_AT(model, states, state, row);
		int64_t time = VIEW_AT(model, states, time, row);

		if (state == VIEW_LEAVING) {
			left[allocation] = time + 1;
		} else if (state == VIEW_ENTERING && left[allocation] > 0) {
			int64_t from = left[allocation] - 1;

			if (time - from <= within)
				rank(answer, &ranking,
				     (struct ranked){ time - from, from, allocation, from, time });
			left[allocation] = 0;
		}
	}
	sort(&ranking);
	for (size_t i = 0; i < ranking.count; i++) {
		add_time(answer, ranking.entries[i].key);
		add_time(answer, ranking.entries[i].from);
		add_allocation(answer, model, ranking.entries[i].row);
		add_owner(answer, model, ranking.entries[i].row);
		add_bytes(answer, VIEW_AT(model, allocations, size, ranking.entries[i].row));
	}
	mem_free(ranking.entries);
	mem_free(left);
}

/* ---- who held the paging node? ---- */

struct moving {
	int64_t total, since;
	int64_t in, out;
	bool is_moving;
};

static void stop_moving(struct moving *moving, int64_t now)
{
	if (moving->is_moving)
		moving->total += now - moving->since;
	moving->is_moving = false;
}

static void paging_holders(const struct view_model *model, const struct view_about *about,
			   struct view_answer *answer)
{
	uint32_t count = VIEW_ROWS(model, allocations);
	struct moving *held = mem_zalloc_array(count ? count : 1, sizeof(*held));
	struct ranking ranking = { 0 };

	(void)about;
	set_columns(answer, 6, "moving for", "allocation", "of", "in", "out", "bytes");
	if (!held) {
		answer->has_no_memory = true;
		return;
	}
	for (uint32_t row = 0; row < VIEW_ROWS(model, states); row++) {
		struct moving *moving = &held[VIEW_AT(model, states, allocation, row)];
		int64_t state = VIEW_AT(model, states, state, row);

		stop_moving(moving, VIEW_AT(model, states, time, row));
		moving->is_moving = state == VIEW_ENTERING || state == VIEW_LEAVING;
		moving->since = VIEW_AT(model, states, time, row);
		moving->in += state == VIEW_ENTERING;
		moving->out += state == VIEW_LEAVING;
	}
	for (uint32_t row = 0; row < count; row++) {
		stop_moving(&held[row], view_until(model, VIEW_AT(model, allocations, died, row)));
		if (held[row].in + held[row].out > 0)
			rank(answer, &ranking,
			     (struct ranked){ .key = -held[row].total, .row = row });
	}
	sort(&ranking);
	for (size_t i = 0; i < ranking.count; i++) {
		int64_t row = ranking.entries[i].row;

		add_time(answer, held[row].total);
		add_allocation(answer, model, row);
		add_owner(answer, model, row);
		add_number(answer, held[row].in);
		add_number(answer, held[row].out);
		add_bytes(answer,
			  (held[row].in + held[row].out) * VIEW_AT(model, allocations, size, row));
	}
	mem_free(ranking.entries);
	mem_free(held);
}

/* ---- what did a packet wait for? ---- */

static int64_t last_packet(const struct view_model *model)
{
	int64_t last = -1;

	for (uint32_t row = 0; row < VIEW_ROWS(model, packets); row++) {
		int64_t left = VIEW_AT(model, packets, left, row);

		if (left >= 0 && (last < 0 || left >= VIEW_AT(model, packets, left, last)))
			last = row;
	}
	return last;
}

static void add_step(struct view_answer *answer, const struct view_model *model, int64_t from,
		     int64_t to, const char *what, int64_t packet)
{
	view_name name;

	if (to <= from)
		return;
	add_time(answer, from);
	add_time(answer, to - from);
	add(answer, what);
	add(answer, view_packet_name(model, packet, name));
}

/* The one in front of it in its queue that left last before `time`; -1: none of the nearest. */
static int64_t packet_before(const struct view_model *model, int64_t packet, int64_t time)
{
	unsigned looked_at = 1;

	for (int64_t row = packet - 1; row >= 0 && looked_at < LOOK_BACK_MAX; row--) {
		int64_t left = VIEW_AT(model, packets, left, row);

		if (VIEW_AT(model, packets, queue, row) != VIEW_AT(model, packets, queue, packet))
			continue;
		if (left >= 0 && left <= time)
			return row;
		looked_at++;
	}
	return -1;
}

/* Its turns with the hardware and its waits, the last first; when the first of them began. */
static int64_t steps_of_packet(const struct view_model *model, int64_t packet,
			       struct view_answer *answer)
{
	int64_t begin = view_until(model, VIEW_AT(model, packets, left, packet));
	char what[VIEW_NAME_BYTES + 32];
	view_name name;

	for (int64_t run = (int64_t)VIEW_ROWS(model, runs) - 1; run >= 0; run--) {
		if (VIEW_AT(model, runs, packet, run) != packet + 1)
			continue;
		snprintf(what, sizeof(what), "with %s",
			 view_node_name(model, VIEW_AT(model, runs, node, run), name));
		begin = VIEW_AT(model, runs, begin, run);
		add_step(answer, model, begin, view_until(model, VIEW_AT(model, runs, end, run)),
			 what, packet);
	}
	for (int64_t wait = (int64_t)VIEW_ROWS(model, waits) - 1; wait >= 0; wait--) {
		int64_t from = VIEW_AT(model, waits, begin, wait);
		int64_t to = view_until(model, VIEW_AT(model, waits, end, wait));

		if (VIEW_AT(model, waits, packet, wait) != packet + 1)
			continue;
		if (VIEW_AT(model, waits, sync, wait))
			snprintf(what, sizeof(what),
				 "waited for fence 0x%" PRIx64 " to be %" PRId64,
				 (uint64_t)VIEW_AT(model, waits, sync, wait),
				 VIEW_AT(model, waits, value, wait));
		else
			snprintf(what, sizeof(what), "waited: %s",
				 view_text(model, VIEW_AT(model, waits, kind, wait)));
		add_step(answer, model, from, to < begin ? to : begin, what, packet);
		begin = from < begin ? from : begin;
	}
	return begin;
}

/*
 * Backwards: with the hardware; waiting; behind the one before it in its queue; then that packet's own way.
 */
static void critical_path(const struct view_model *model, const struct view_about *about,
			  struct view_answer *answer)
{
	int64_t packet = about->packet >= 0 ? about->packet : last_packet(model);

	set_columns(answer, 4, "from", "for", "what", "packet");
	while (packet >= 0 && answer->cell_count / answer->column_count < PATH_STEPS_MAX) {
		int64_t begin = steps_of_packet(model, packet, answer);
		int64_t before = packet_before(model, packet, begin);
		int64_t queued = VIEW_AT(model, packets, queued, packet);
		int64_t since = before >= 0 ? VIEW_AT(model, packets, left, before) : 0;

		add_step(answer, model, since > queued ? since : queued, begin,
			 "in its queue, ready", packet);
		packet = since > queued ? before : -1;
	}
}

/* ---- all of them ---- */

const struct view_query view_queries[] = {
	{ "why-evicted", "why was it evicted?", why_evicted },
	{ "longest-wait", "what waited longest for room?", longest_wait },
	{ "thrash", "what went out and came back?", thrash },
	{ "paging-holders", "who held the paging node?", paging_holders },
	{ "critical-path", "what did the last packet wait for?", critical_path },
	{ 0 },
};

const struct view_query *view_query_find(const char *name)
{
	for (const struct view_query *query = view_queries; query->name; query++) {
		if (strcmp(query->name, name) == 0)
			return query;
	}
	return NULL;
}

bool view_query_ask(const struct view_query *query, const struct view_model *model,
		    const struct view_about *about, struct view_answer *answer)
{
	*answer = (struct view_answer){ 0 };
	query->answer(model, about, answer);
	return !answer->has_no_memory;
}

void view_answer_finish(struct view_answer *answer)
{
	for (size_t i = 0; i < answer->cell_count; i++)
		mem_free(answer->cells[i]);
	mem_free(answer->cells);
	*answer = (struct view_answer){ 0 };
}
