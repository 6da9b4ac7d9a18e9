/* SPDX-License-Identifier: MIT */
/*
 * ctl_map.c - dxgk ctl map: who is where in a segment, at one moment, to scale.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/status.h"
#include "cli/control_text.h"
#include "cli/ctl.h"
#include "cli/live/snapshot.h"
#include "cli/verify/escape.h"

/* The picture: so many cells, each a letter. */
enum { COLUMNS = 64, ROWS = 8, CELLS = COLUMNS * ROWS, LETTERS = 26 };

struct run {
	uint64_t offset, size, allocation;
	uint32_t process;
	const char *state; /* in the text */
	bool is_free;
};

struct map {
	char *text;
	uint64_t size, resident, largest_gap;
	const char *kind;
	uint32_t count;
	struct run *runs;              /* by address, gaps included */
	struct live_snapshot snapshot; /* who the processes are */
};

/* ---- reading ---- */

/* The next word of the line, which it ends; "" when there is none. */
static const char *next_word(char **line)
{
	char *word = *line;
	size_t length = strcspn(word, " \n");

	*line = word + length + (word[length] != '\0');
	word[length] = '\0';
	return word;
}

static uint64_t next_number(char **line)
{
	return strtoull(next_word(line), NULL, 0);
}

static void add_run(struct map *map, const struct run *run)
{
	map->runs[map->count++] = *run;
}

/* What nobody has, up to `offset`. */
static void add_gap(struct map *map, uint64_t from, uint64_t offset)
{
	const struct run gap = {
		.offset = from, .size = offset - from, .is_free = true, .state = "free"
	};

	if (offset > from)
		add_run(map, &gap);
}

static bool read_map(struct map *map)
{
	uint32_t lines = 0;
	uint64_t end = 0;

	for (const char *at = map->text; (at = strchr(at, '\n')); at++)
		lines++;
	map->runs = mem_zalloc_array(2 * (size_t)lines + 2, sizeof(*map->runs));
	if (!map->runs || lines == 0)
		return false;
	char *line = map->text;
	(void)next_word(&line);
	map->size = next_number(&line);
	map->resident = next_number(&line);
	map->largest_gap = next_number(&line);
	map->kind = next_word(&line);
	for (uint32_t i = 1; i < lines; i++) {
		struct run run = { 0 };

		run.offset = next_number(&line);
		run.size = next_number(&line);
		run.process = (uint32_t)next_number(&line);
		run.allocation = next_number(&line);
		run.state = next_word(&line);
		add_gap(map, end, run.offset);
		add_run(map, &run);
		end = run.offset + run.size;
	}
	add_gap(map, end, map->size);
	return true;
}

static const struct live_process *who(const struct map *map, uint32_t process)
{
	for (uint32_t i = 0; i < map->snapshot.process_count; i++) {
		if (map->snapshot.processes[i].id == process)
			return &map->snapshot.processes[i];
	}
	return NULL;
}

/* ---- text ---- */

/* Of a process, in the order of their numbers; the kernel's own is '+', many processes begin anew. */
static char letter_of(const struct run *run)
{
	return run->is_free        ? '.'
	       : run->process == 0 ? '+'
				   : (char)('a' + (run->process - 1) % LETTERS);
}

/* Of each cell who has most of it. */
static void print_picture(const struct map *map)
{
	char cells[CELLS];
	uint32_t at = 0;

	for (uint32_t i = 0; i < CELLS; i++) {
		uint64_t begin = (uint64_t)((__uint128_t)map->size * i / CELLS);
		uint64_t end = (uint64_t)((__uint128_t)map->size * (i + 1) / CELLS);
		uint64_t most = 0;

		cells[i] = ' ';
		while (at < map->count && map->runs[at].offset + map->runs[at].size <= begin)
			at++;
		for (uint32_t j = at; j < map->count && map->runs[j].offset < end; j++) {
			const struct run *run = &map->runs[j];
			uint64_t from = run->offset > begin ? run->offset : begin;
			uint64_t to = run->offset + run->size < end ? run->offset + run->size : end;

			if (to - from > most) {
				most = to - from;
				cells[i] = letter_of(run);
			}
		}
	}
	for (uint32_t row = 0; row < ROWS; row++)
		printf("0x%010" PRIx64 "  %.*s\n", (uint64_t)((__uint128_t)map->size * row / ROWS),
		       COLUMNS, cells + (size_t)row * COLUMNS);
}

static void print_run(const struct map *map, const struct run *run)
{
	const struct live_process *process = who(map, run->process);

	printf("%c  0x%010" PRIx64 " %14" PRIu64 "  ", letter_of(run), run->offset, run->size);
	if (run->is_free) {
		printf("free\n");
		return;
	}
	if (run->process == 0)
		printf("the kernel");
	else if (process)
		printf("process %u (%s, pid %u)", run->process, process->name, process->pid);
	else
		printf("process %u", run->process);
	if (run->allocation == 0)
		printf("  page tables\n");
	else
		printf("  allocation 0x%" PRIx64 "  %s\n", run->allocation, run->state);
}

/* Page tables of one owner that are neighbours are a line for people: there are hundreds, of a page each. */
static bool is_more_tables(const struct run *run, const struct run *next)
{
	return !run->is_free && !next->is_free && run->allocation == 0 && next->allocation == 0 &&
	       run->process == next->process && run->offset + run->size == next->offset;
}

static void print_text(const struct map *map, const char *segment)
{
	printf("segment %s  %s  %" PRIu64 " bytes  resident %" PRIu64 "  free %" PRIu64
	       "  largest gap %" PRIu64 "\n\n",
	       segment, map->kind, map->size, map->resident, map->size - map->resident,
	       map->largest_gap);
	print_picture(map);
	printf("\n");
	for (uint32_t i = 0; i < map->count; i++) {
		struct run run = map->runs[i];
		while (i + 1 < map->count && is_more_tables(&run, &map->runs[i + 1]))
			run.size += map->runs[++i].size;
		print_run(map, &run);
	}
}

/* ---- JSON ---- */

static void print_json_run(const struct map *map, const struct run *run)
{
	const struct live_process *process = who(map, run->process);

	printf("{\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"kind\":\"%s\"", run->offset,
	       run->size,
	       run->is_free           ? "free"
	       : run->allocation == 0 ? "page tables"
				      : "allocation");
	if (!run->is_free)
		printf(",\"process\":%u", run->process);
	if (process && !run->is_free) {
		printf(",\"pid\":%u,\"name\":", process->pid);
		json_put(stdout, process->name);
	}
	if (run->allocation != 0)
		printf(",\"allocation\":\"0x%" PRIx64 "\",\"state\":\"%s\"", run->allocation,
		       run->state);
	printf("}");
}

static void print_json(const struct map *map, const char *segment)
{
	printf("{\"segment\":%s,\"kind\":\"%s\",\"sizeBytes\":%" PRIu64
	       ",\"residentBytes\":%" PRIu64 ",\"largestGapBytes\":%" PRIu64 ",\"runs\":[",
	       segment, map->kind, map->size, map->resident, map->largest_gap);
	for (uint32_t i = 0; i < map->count; i++) {
		if (i > 0)
			printf(",\n");
		print_json_run(map, &map->runs[i]);
	}
	printf("]}\n");
}

int ctl_map(const struct control_client *client, char **arguments)
{
	bool is_json = arguments[1] != NULL; /* "--json", and nothing else can be there */
	struct map map = { 0 };
	uint64_t segment;
	char number[16];

	if (!ctl_number(arguments[0], &segment) || segment > UINT32_MAX)
		return ctl_complain("segment", arguments[0]);
	snprintf(number, sizeof(number), "%u", (unsigned)segment);
	map.text = control_text_take(client, "map", CONTROL_TEXT_MAP, (uint32_t)segment);
	if (!map.text)
		return CTL_FAILED;
	bool is_good = live_snapshot_take(client, 0, &map.snapshot);
	if (is_good && !read_map(&map)) {
		fprintf(stderr, "dxgk ctl: map: no memory\n");
		is_good = false;
	}
	if (is_good && is_json)
		print_json(&map, number);
	else if (is_good)
		print_text(&map, number);
	live_snapshot_finish(&map.snapshot);
	mem_free(map.runs);
	mem_free(map.text);
	return is_good ? 0 : CTL_FAILED;
}
