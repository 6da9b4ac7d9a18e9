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

enum { THREADS_MAX = 256 };

struct reader {
	const struct tour_counts *counts;
	struct history *history;
	uint32_t owners[THREADS_MAX];     /* by thread; client + 1, or 0 */
	uint64_t processes[TOUR_CLIENTS]; /* the kernel's numbers of them */
	uint32_t *alive;                  /* numbers of lives */
	uint32_t alive_count;
	uint32_t alive_room;
};

/* ---- rows that grow ---- */

static bool has_room(void **row, uint32_t count, uint32_t *room, size_t item_bytes)
{
	uint32_t wanted = *room ? 2 * *room : 64;
	void *grown;

	if (count < *room)
		return true;
	grown = mem_realloc(*row, wanted * item_bytes);
	if (!grown) {
		errno = ENOMEM;
		return false;
	}
	*row = grown;
	*room = wanted;
	return true;
}

#define GROW(row, count, room) has_room((void **)&(row), (count), &(room), sizeof(*(row)))

/* ---- lives ---- */

static struct life *life_of(struct reader *reader, uint64_t id)
{
	for (uint32_t i = reader->alive_count; i-- > 0;) {
		struct life *life = &reader->history->lives[reader->alive[i]];
		if (life->id == id)
			return life;
	}
	return NULL;
}

static enum place place_of(const struct reader *reader, const struct life *life)
{
	uint32_t index = life->segment - 1;

	if (strcmp(life->offer, "discarded") == 0 || strcmp(life->offer, "decommitted") == 0)
		return PLACE_DISCARDED;
	if (strcmp(life->offer, "offered") == 0)
		return PLACE_OFFERED;
	if (life->segment == 0)
		return PLACE_OUT;
	if (strcmp(life->place, "in") != 0)
		return PLACE_MOVING;
	return index < reader->counts->segment_count && !reader->counts->segments[index].is_aperture
		       ? PLACE_LOCAL
		       : PLACE_APERTURE;
}

static bool add_span(struct reader *reader, struct life *life, uint64_t now_ns)
{
	enum place place = place_of(reader, life);

	if (life->span_count > 0 && life->spans[life->span_count - 1].place == place)
		return true;
	if (!GROW(life->spans, life->span_count, life->span_room))
		return false;
	reader->history->discards += place == PLACE_DISCARDED;
	life->spans[life->span_count++] = (struct span){ now_ns, place };
	return true;
}

static bool begin_life(struct reader *reader, const struct trace_entry *entry)
{
	struct history *history = reader->history;
	uint32_t owner = entry->thread < THREADS_MAX ? reader->owners[entry->thread] : 0;

	if (!GROW(history->lives, history->life_count, history->life_room) ||
	    !GROW(reader->alive, reader->alive_count, reader->alive_room))
		return false;
	reader->alive[reader->alive_count++] = history->life_count;
	struct life *life = &history->lives[history->life_count++];
	*life = (struct life){
		.id = entry->fields[0].number,
		.size_bytes = entry->fields[1].number,
		.owner = owner > 0 ? owner - 1 : TOUR_CLIENTS,
		.from_ns = entry->time_ns,
		.to_ns = entry->time_ns,
		.place = "out",
		.offer = "not offered",
	};
	return add_span(reader, life, entry->time_ns);
}

static void end_life(struct reader *reader, struct life *life, uint64_t now_ns)
{
	uint32_t number = (uint32_t)(life - reader->history->lives);

	life->to_ns = now_ns;
	life->is_over = true;
	for (uint32_t i = 0; i < reader->alive_count; i++) {
		if (reader->alive[i] == number) {
			reader->alive[i] = reader->alive[--reader->alive_count];
			return;
		}
	}
}

/* ---- segments ---- */

static bool set_level(struct segment_history *segment, uint64_t now_ns, uint64_t bytes)
{
	if (!GROW(segment->levels, segment->level_count, segment->level_room))
		return false;
	segment->now_bytes = bytes;
	if (bytes > segment->most_bytes)
		segment->most_bytes = bytes;
	segment->levels[segment->level_count++] = (struct level){ now_ns, bytes };
	return true;
}

/* Room is taken from entering to out; only what arrived has come in, and goes out. */
static bool move(struct reader *reader, struct life *life, const char *place, uint32_t id,
		 uint64_t now_ns)
{
	uint32_t before = life->segment;
	bool is_arriving = strcmp(place, "in") == 0 && strcmp(life->place, "entering") == 0;
	bool is_leaving = before != 0 && id == 0 && strcmp(life->place, "entering") != 0;
	struct segment_history *segment = &reader->history->segments[id != 0 ? id : before];

	life->place = place;
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
		return true;
	uint64_t table_block_bytes = life->size_bytes - life->lent_bytes;
	life->lent_bytes = 0;
	return set_level(segment, now_ns,
			 id != 0 ? segment->now_bytes + table_block_bytes
				 : segment->now_bytes - table_block_bytes);
}

/* Who is about to enter there has it from now on. */
static bool lend(struct reader *reader, struct life *life, uint64_t lent_bytes, uint64_t now_ns)
{
	struct segment_history *segment = &reader->history->segments[life->segment];

	life->lent_bytes += lent_bytes;
	return set_level(segment, now_ns, segment->now_bytes - lent_bytes);
}

/* ---- events ---- */

/* Which of the kernel's processes is whose, when each client is one. */
static void meet_process(struct reader *reader, uint64_t process, uint64_t pid)
{
	for (uint32_t i = 0; i < TOUR_CLIENTS; i++) {
		if (pid != 0 && reader->counts->processes[i] == pid)
			reader->processes[i] = process;
	}
}

/* Handles are numbers of one process, which others have as well. */
static void meet_device(struct reader *reader, uint32_t thread, uint64_t process, uint64_t device)
{
	for (uint32_t i = 0; i < TOUR_CLIENTS && thread < THREADS_MAX; i++) {
		if (reader->counts->devices[i] == device &&
		    (reader->counts->processes[i] == 0 || reader->processes[i] == process))
			reader->owners[thread] = i + 1;
	}
}

static bool change(struct reader *reader, struct life *life, const struct trace_entry *entry)
{
	uint64_t segment = entry->fields[2].number;

	if (entry->event == TRACE_allocation_lends)
		return lend(reader, life, entry->fields[2].number, entry->time_ns);
	/* Another segment than a tour can show is none of the adapter's own. */
	if (entry->event == TRACE_allocation_place && segment <= TOUR_SEGMENTS_MAX &&
	    !move(reader, life, entry->fields[1].text, (uint32_t)segment, entry->time_ns))
		return false;
	if (entry->event == TRACE_allocation_offer)
		life->offer = entry->fields[1].text;
	return add_span(reader, life, entry->time_ns);
}

/* Everything about allocations has the allocation first. */
static bool is_of_allocation(const struct trace_entry *entry)
{
	return entry->info->field_count > 0 &&
	       strcmp(entry->info->fields[0].name, "allocation_id") == 0;
}

static bool read_entry(struct reader *reader, const struct trace_entry *entry)
{
	struct history *history = reader->history;

	if (entry->event == TRACE_process_is)
		meet_process(reader, entry->fields[0].number, entry->fields[1].number);
	if (entry->event == TRACE_device_create)
		meet_device(reader, entry->thread, entry->fields[0].number,
			    entry->fields[1].number);
	if (!is_of_allocation(entry))
		return true;
	history->from_ns = history->events++ ? history->from_ns : entry->time_ns;
	history->to_ns = entry->time_ns;
	if (entry->event == TRACE_allocation_live)
		return begin_life(reader, entry);
	struct life *life = life_of(reader, entry->fields[0].number);
	if (life && entry->event == TRACE_allocation_dead)
		end_life(reader, life, entry->time_ns);
	else if (life)
		return change(reader, life, entry);
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

bool history_read(const char *path, const struct tour_counts *counts, struct history *history,
		  char *problem, size_t problem_bytes)
{
	struct reader reader = { .counts = counts, .history = history };
	struct trace_file file;

	*history = (struct history){ 0 };
	if (!trace_file_open(path, &file)) {
		snprintf(problem, problem_bytes, "%s", strerror(errno));
		return false;
	}
	bool is_good = read_events(&reader, &file, problem, problem_bytes);
	trace_file_close(&file);
	mem_free(reader.alive);
	for (uint32_t i = 0; i < history->life_count; i++) {
		struct life *life = &history->lives[i];
		if (!life->is_over)
			life->to_ns = history->to_ns;
		life->place = life->offer = NULL; /* they were the file's */
	}
	return is_good;
}

void history_finish(struct history *history)
{
	for (uint32_t i = 0; i < history->life_count; i++)
		mem_free(history->lives[i].spans);
	mem_free(history->lives);
	for (size_t i = 0; i < ARRAY_SIZE(history->segments); i++)
		mem_free(history->segments[i].levels);
	*history = (struct history){ 0 };
}
