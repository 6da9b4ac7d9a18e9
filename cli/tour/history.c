/* SPDX-License-Identifier: MIT */
/*
 * history.c - see history.h. Reads what src/trace/sink.c writes, one event in a line; a quote
 * inside of a string is escaped there, so what is searched for here cannot be part of one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/tour/history.h"

enum { THREADS_MAX = 256 };

struct reader {
	const struct tour_counts *counts;
	struct history *history;
	uint32_t owners[THREADS_MAX];     /* by thread; client + 1, or 0 */
	uint64_t processes[TOUR_CLIENTS]; /* the kernel's numbers of them */
	uint32_t *alive;                  /* numbers of lives */
	uint32_t alive_count;
	uint32_t alive_room;
	bool is_complete;
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

/* ---- lines ---- */

static bool has(const char *line, const char *part)
{
	return strstr(line, part) != NULL;
}

static uint64_t number_behind(const char *line, const char *before)
{
	const char *at = strstr(line, before);

	return at ? strtoull(at + strlen(before), NULL, 0) : 0;
}

/* Microseconds with three digits behind the point. */
static uint64_t time_of(const char *line)
{
	const char *at = strstr(line, "\"ts\":");
	char *end;

	if (!at)
		return 0;
	uint64_t microseconds = strtoull(at + strlen("\"ts\":"), &end, 10);
	return microseconds * 1000 + (*end == '.' ? strtoull(end + 1, NULL, 10) : 0);
}

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

static bool begin_life(struct reader *reader, const char *line, uint64_t id, uint64_t now_ns)
{
	struct history *history = reader->history;
	uint64_t thread = number_behind(line, "\"tid\":");
	uint32_t owner = thread < THREADS_MAX ? reader->owners[thread] : 0;

	if (!GROW(history->lives, history->life_count, history->life_room) ||
	    !GROW(reader->alive, reader->alive_count, reader->alive_room))
		return false;
	reader->alive[reader->alive_count++] = history->life_count;
	struct life *life = &history->lives[history->life_count++];
	*life = (struct life){
		.id = id,
		.size_bytes = number_behind(line, "\"size_bytes\":"),
		.owner = owner > 0 ? owner - 1 : TOUR_CLIENTS,
		.from_ns = now_ns,
		.to_ns = now_ns,
		.place = "out",
		.offer = "not offered",
	};
	return add_span(reader, life, now_ns);
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
static bool lend(struct reader *reader, struct life *life, const char *line, uint64_t now_ns)
{
	struct segment_history *segment = &reader->history->segments[life->segment];
	uint64_t lent_bytes = number_behind(line, "\"lent_bytes\":");

	life->lent_bytes += lent_bytes;
	return set_level(segment, now_ns, segment->now_bytes - lent_bytes);
}

static bool change_place(struct reader *reader, struct life *life, const char *line,
			 uint64_t now_ns)
{
	static const char *const places[] = { "out", "entering", "in", "leaving", "shifting" };
	uint64_t segment = number_behind(line, "\"segment\":");
	char wanted[32];

	/* Another segment than a tour can show is none of the adapter's own. */
	if (segment > TOUR_SEGMENTS_MAX)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(wanted, sizeof(wanted), "\"place\":\"%s\"", places[i]);
		if (has(line, wanted))
			return move(reader, life, places[i], (uint32_t)segment, now_ns);
	}
	return true;
}

static void change_offer(struct life *life, const char *line)
{
	static const char *const offers[] = { "not offered", "offered", "discarded",
					      "decommitted" };
	char wanted[40];

	for (size_t i = 0; i < ARRAY_SIZE(offers); i++) {
		snprintf(wanted, sizeof(wanted), "\"offer\":\"%s\"", offers[i]);
		if (has(line, wanted))
			life->offer = offers[i];
	}
}

/* ---- events ---- */

/* Which of the kernel's processes is whose, when each client is one. */
static void meet_process(struct reader *reader, const char *line)
{
	const char *facts = strstr(line, "\"args\":");
	uint64_t pid = facts ? number_behind(facts, "\"pid\":") : 0;

	for (uint32_t i = 0; i < TOUR_CLIENTS; i++) {
		if (pid != 0 && reader->counts->processes[i] == pid)
			reader->processes[i] = number_behind(line, "\"process_id\":");
	}
}

/* Handles are numbers of one process, which others have as well. */
static void meet_device(struct reader *reader, const char *line)
{
	uint64_t thread = number_behind(line, "\"tid\":");
	uint64_t device = number_behind(line, "\"device_handle\":\"");
	uint64_t process = number_behind(line, "\"process_id\":\"");

	for (uint32_t i = 0; i < TOUR_CLIENTS && thread < THREADS_MAX; i++) {
		if (reader->counts->devices[i] == device &&
		    (reader->counts->processes[i] == 0 || reader->processes[i] == process))
			reader->owners[thread] = i + 1;
	}
}

static bool change(struct reader *reader, struct life *life, const char *line, uint64_t now_ns)
{
	if (has(line, "\"name\":\"allocation place\"")) {
		if (!change_place(reader, life, line, now_ns))
			return false;
	} else if (has(line, "\"name\":\"allocation lends\"")) {
		return lend(reader, life, line, now_ns);
	} else if (has(line, "\"name\":\"allocation offer\"")) {
		change_offer(life, line);
	} else {
		return true;
	}
	return add_span(reader, life, now_ns);
}

static bool read_line(struct reader *reader, const char *line)
{
	struct history *history = reader->history;
	uint64_t id = number_behind(line, "\"allocation_id\":\"");
	uint64_t now_ns = time_of(line);

	if (line[0] == ']')
		reader->is_complete = true;
	if (has(line, "\"name\":\"process is\""))
		meet_process(reader, line);
	if (has(line, "\"ph\":\"b\"") && has(line, "\"name\":\"device\""))
		meet_device(reader, line);
	if (id == 0)
		return true;
	history->from_ns = history->events++ ? history->from_ns : now_ns;
	history->to_ns = now_ns;
	if (has(line, "\"ph\":\"b\""))
		return begin_life(reader, line, id, now_ns);
	struct life *life = life_of(reader, id);
	if (life && has(line, "\"ph\":\"e\""))
		end_life(reader, life, now_ns);
	else if (life)
		return change(reader, life, line, now_ns);
	return true;
}

static bool read_lines(struct reader *reader, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	bool is_good = true;

	while (is_good && getline(&line, &room, file) > 0)
		is_good = read_line(reader, line);
	free(line);
	if (is_good && !reader->is_complete)
		errno = ENODATA;
	return is_good && reader->is_complete;
}

bool history_read(const char *path, const struct tour_counts *counts, struct history *history)
{
	struct reader reader = { .counts = counts, .history = history };
	FILE *file = fopen(path, "re");

	*history = (struct history){ 0 };
	if (!file)
		return false;
	bool is_good = read_lines(&reader, file);
	int saved_errno = errno;
	fclose(file);
	mem_free(reader.alive);
	for (uint32_t i = 0; i < history->life_count; i++) {
		if (!history->lives[i].is_over)
			history->lives[i].to_ns = history->to_ns;
	}
	errno = saved_errno;
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
