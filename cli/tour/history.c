/* SPDX-License-Identifier: MIT */
/*
 * history.c - see history.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/tour/history.h"
#include "trace/trace_file.h"

struct life {
	uint64_t id;
	uint64_t size_bytes;
	uint64_t lent_bytes; /* of its memory, to others */
	uint32_t segment;
	bool is_entering;
};

struct reader {
	struct history *history;
	struct life *alive;
	uint32_t alive_count;
	size_t alive_capacity;
};

/* ---- lives ---- */

static struct life *life_of(struct reader *reader, uint64_t id)
{
	for (uint32_t i = reader->alive_count; i-- > 0;) {
		if (reader->alive[i].id == id)
			return &reader->alive[i];
	}
	return NULL;
}

static bool begin_life(struct reader *reader, const struct trace_entry *entry)
{
	struct life *alive = mem_grow_array(reader->alive, reader->alive_count,
					    &reader->alive_capacity, sizeof(*alive));

	if (!alive)
		return false;
	reader->alive = alive;
	reader->alive[reader->alive_count++] =
		(struct life){ .id = entry->fields[0].number,
			       .size_bytes = entry->fields[1].number };
	reader->history->allocations++;
	return true;
}

/* ---- segments ---- */

static void set_level(struct segment_history *segment, uint64_t bytes)
{
	segment->now_bytes = bytes;
	if (bytes > segment->most_bytes)
		segment->most_bytes = bytes;
}

/* Room is taken from entering to out; only what arrived has come in, and goes out. */
static void move(struct reader *reader, struct life *life, const char *place, uint32_t id)
{
	uint32_t before = life->segment;
	bool is_arriving = strcmp(place, "in") == 0 && life->is_entering;
	bool is_leaving = before != 0 && id == 0 && !life->is_entering;
	struct segment_history *segment = &reader->history->segments[id != 0 ? id : before];

	life->is_entering = strcmp(place, "entering") == 0;
	life->segment = id;
	if (is_arriving) {
		segment->in_count++;
		segment->in_bytes += life->size_bytes;
	}
	if (is_leaving) {
		segment->out_count++;
		segment->out_bytes += life->size_bytes;
	}
	if (before == id)
		return;

	uint64_t own_bytes = life->size_bytes - life->lent_bytes;

	life->lent_bytes = 0;
	set_level(segment,
		  id != 0 ? segment->now_bytes + own_bytes : segment->now_bytes - own_bytes);
}

/* Who is about to enter there has it from now on. */
static void lend(struct reader *reader, struct life *life, uint64_t lent_bytes)
{
	struct segment_history *segment = &reader->history->segments[life->segment];

	life->lent_bytes += lent_bytes;
	set_level(segment, segment->now_bytes - lent_bytes);
}

/* ---- events ---- */

/* Everything about allocations has the allocation first. */
static bool is_of_allocation(const struct trace_entry *entry)
{
	return entry->info->field_count > 0 &&
	       strcmp(entry->info->fields[0].name, "allocation_id") == 0;
}

static bool read_entry(struct reader *reader, const struct trace_entry *entry)
{
	if (!is_of_allocation(entry))
		return true;
	reader->history->events++;
	if (entry->event == TRACE_allocation_live)
		return begin_life(reader, entry);

	struct life *life = life_of(reader, entry->fields[0].number);

	if (!life)
		return true;
	if (entry->event == TRACE_allocation_dead)
		*life = reader->alive[--reader->alive_count];
	else if (entry->event == TRACE_allocation_lends)
		lend(reader, life, entry->fields[2].number);
	/* Another segment than a tour can show is none of the adapter's own. */
	else if (entry->event == TRACE_allocation_place &&
		 entry->fields[2].number <= TOUR_SEGMENTS_MAX)
		move(reader, life, entry->fields[1].text, (uint32_t)entry->fields[2].number);
	return true;
}

static bool read_events(struct reader *reader, const struct trace_file *file, char *problem,
			size_t problem_bytes)
{
	struct trace_reader *events =
		trace_reader_open(file->bytes, file->size_bytes, problem, problem_bytes);
	struct trace_entry entry;
	bool is_good = events != NULL;

	while (is_good && trace_reader_next(events, &entry)) {
		is_good = read_entry(reader, &entry);
		if (!is_good)
			snprintf(problem, problem_bytes, "no memory");
	}
	if (is_good)
		is_good = !trace_reader_complain(events, problem, problem_bytes);
	trace_reader_close(events);
	return is_good;
}

bool history_read(const char *path, struct history *history, char *problem, size_t problem_bytes)
{
	struct reader reader = { .history = history };
	struct trace_file file;

	*history = (struct history){ 0 };
	if (!trace_file_open(path, &file)) {
		snprintf(problem, problem_bytes, "%s", strerror(errno));
		return false;
	}
	bool is_good = read_events(&reader, &file, problem, problem_bytes);
	trace_file_close(&file);
	mem_free(reader.alive);
	return is_good;
}
