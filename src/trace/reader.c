/* SPDX-License-Identifier: MIT */
/*
 * reader.c - see reader.h.
 *
 * Blocks of one thread are in order, so each thread is a row of events that is sorted; the rows are merged through a heap
 * of their next events:
 *
 *     file    |a1 a4 a9|b2 b3|a10 a11|b5 b8|
 *     heap     a1 …           b2 …
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/format.h"
#include "trace/reader.h"

struct block {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t time;
	uint64_t sequence;
	uint64_t written_time;
	uint64_t written_ns;
	uint32_t thread;
};

/* What the file says about an event, and what we know it as. */
struct file_event {
	struct trace_event_info info;
	enum trace_event event;
	uint8_t positions[TRACE_FIELDS_MAX]; /* of each of its fields in the entry */
	uint32_t
		last; /* where a row keeps what the last one had, from 1; 0: it has no short form */
};

/* An event that has only its first fields, and the others of the last one of its kind. */
struct short_form {
	const struct file_event *event;
	uint32_t field_count;
};

struct value {
	uint64_t number;
	const char *text;
};

enum { NO_POSITION = TRACE_FIELDS_MAX };

/* Blocks of one thread, and where in them we are. */
struct row {
	const struct block *block;
	const struct block *block_end;
	const uint8_t *at;
	const char **strings; /* of the block */
	uint32_t string_count;
	size_t string_capacity;
	uint64_t last_id; /* of an allocation, in the block */
	uint64_t last_handle;
	struct value (
		*lasts)[TRACE_FIELDS_MAX]; /* of the events of the block that have a short form */
	uint64_t next_sequence;
	uint64_t time;            /* of the next one, by the clock of the trace */
	struct trace_entry entry; /* the next one */
};

/* A moment by the clock of the trace, and in nanoseconds. */
struct moment {
	uint64_t time;
	uint64_t ns;
};

struct trace_reader {
	struct trace_facts facts;
	struct file_event *events;
	uint64_t event_count;
	struct short_form short_forms[TRACE_SHORT_FORMS_MAX];
	uint64_t short_form_count;
	struct block *blocks;
	size_t block_count;
	size_t block_capacity;
	struct row *rows;     /* a heap; behind it those that are over */
	size_t row_count;     /* in the heap */
	size_t all_row_count; /* with those */
	enum trace_clock clock;
	struct moment first; /* two moments say how long a tick is: the beginning */
	struct moment last;  /* and the last one that the file has */
	uint64_t first_sequence;
	uint64_t end_sequence; /* behind the last one that was seen */
	uint64_t shown;
	uint64_t missing; /* where each thread counts its own */
	bool has_lost;    /* who wrote it could not write everything */
	bool is_out_of_memory;
};

/* ---- bytes ---- */

/* False when there is none. */
static bool take_number(const uint8_t **at, const uint8_t *end, uint64_t *number_out)
{
	if (*at == end)
		return false;
	uint32_t first = *(*at)++;
	size_t more = 0;
	while (more < 8 && (first & 0x80U >> more))
		more++;
	if ((size_t)(end - *at) < more)
		return false;
	uint64_t number = 0;
	memcpy(&number, *at, more);
	if (more < 7)
		number |= (uint64_t)(first & 0x7fU >> more) << 8 * more;
	*at += more;
	*number_out = number;
	return true;
}

static bool take_text(const uint8_t **at, const uint8_t *end, const char **text_out)
{
	const uint8_t *zero = memchr(*at, '\0', (size_t)(end - *at));

	if (!zero)
		return false;
	*text_out = (const char *)*at;
	*at = zero + 1;
	return true;
}

/* ---- the table of events ---- */

static uint8_t position_of(const struct trace_event_info *known,
			   const struct trace_event_info *info, uint32_t field)
{
	for (uint32_t i = 0; i < known->field_count; i++) {
		if (strcmp(known->fields[i].name, info->fields[field].name) == 0 &&
		    trace_field_is_string(known->fields[i].type) ==
			    trace_field_is_string(info->fields[field].type))
			return (uint8_t)i;
	}
	return NO_POSITION;
}

static void recognize(struct file_event *event)
{
	for (uint32_t known = 1; known < TRACE_EVENT_COUNT; known++) {
		if (strcmp(trace_event_infos[known].name, event->info.name) == 0)
			event->event = (enum trace_event)known;
	}
	for (uint32_t i = 0; i < event->info.field_count; i++)
		event->positions[i] =
			event->event == TRACE_NOTHING
				? (uint8_t)i
				: position_of(&trace_event_infos[event->event], &event->info, i);
}

static bool take_event_info(const uint8_t **at, const uint8_t *end, struct trace_event_info *info)
{
	uint64_t kind, count, type;

	if (!take_number(at, end, &kind) || kind >= TRACE_KIND_COUNT ||
	    !take_text(at, end, &info->category) || !take_text(at, end, &info->name) ||
	    !take_text(at, end, &info->title) || !take_number(at, end, &count) ||
	    count > TRACE_FIELDS_MAX)
		return false;
	info->kind = (enum trace_kind)kind;
	info->field_count = (uint32_t)count;
	for (uint32_t i = 0; i < count; i++) {
		if (!take_number(at, end, &type) || type >= TRACE_FIELD_TYPE_COUNT ||
		    !take_text(at, end, &info->fields[i].name))
			return false;
		info->fields[i].type = (enum trace_field_type)type;
	}
	return true;
}

static bool take_short_forms(struct trace_reader *reader, const uint8_t *at, const uint8_t *end)
{
	uint64_t count = 0;
	uint64_t event, fields;

	/* Before version 3 there were none. */
	if (at < end && (!take_number(&at, end, &count) || count > TRACE_SHORT_FORMS_MAX))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!take_number(&at, end, &event) || !take_number(&at, end, &fields) ||
		    event >= reader->event_count || fields > reader->events[event].info.field_count)
			return false;
		reader->events[event].last = i + 1;
		reader->short_forms[i] =
			(struct short_form){ &reader->events[event], (uint32_t)fields };
	}
	reader->short_form_count = count;
	return true;
}

/* Of the least that an event takes there: five bytes. */
enum { EVENT_INFO_BYTES = 5 };

static bool take_schema(struct trace_reader *reader, const struct block *block)
{
	const uint8_t *at = block->at;
	uint64_t pid, clock, count;

	if (!take_text(&at, block->end, &reader->facts.program) ||
	    !take_number(&at, block->end, &pid) ||
	    !take_number(&at, block->end, &reader->facts.wall_ns) ||
	    !take_number(&at, block->end, &clock) || clock >= TRACE_CLOCK_COUNT ||
	    !take_number(&at, block->end, &count) ||
	    count > (size_t)(block->end - at) / EVENT_INFO_BYTES)
		return false;
	reader->facts.pid = (uint32_t)pid;
	reader->clock = (enum trace_clock)clock;
	reader->first = (struct moment){ block->written_time, block->written_ns };
	reader->last = reader->first;
	reader->facts.start_ns = block->written_ns;
	reader->first_sequence = block->sequence;
	reader->end_sequence = block->sequence;
	reader->events = mem_zalloc_array(count + 1, sizeof(*reader->events));
	if (!reader->events) {
		reader->is_out_of_memory = true;
		return false;
	}
	for (; reader->event_count < count; reader->event_count++) {
		struct file_event *event = &reader->events[reader->event_count];
		if (!take_event_info(&at, block->end, &event->info))
			return false;
		recognize(event);
	}
	return take_short_forms(reader, at, block->end);
}

/* ---- blocks ---- */

static bool add_block(struct trace_reader *reader, const struct block *block)
{
	struct block *blocks = mem_grow_array(reader->blocks, reader->block_count,
					      &reader->block_capacity, sizeof(*blocks));

	if (!blocks) {
		reader->is_out_of_memory = true;
		return false;
	}
	reader->blocks = blocks;
	reader->blocks[reader->block_count++] = *block;
	return true;
}

/* A whole block at `at`? */
static bool look_at_block(const uint8_t *at, const uint8_t *end, struct block *block_out,
			  uint32_t *kind_out)
{
	struct trace_block_header header;

	if ((size_t)(end - at) < sizeof(header))
		return false;
	memcpy(&header, at, sizeof(header));
	if (header.magic != TRACE_BLOCK_MAGIC || header.size_bytes > TRACE_BLOCK_MAX_BYTES ||
	    header.size_bytes > (size_t)(end - at) - sizeof(header) ||
	    header.checksum !=
		    trace_checksum(at + TRACE_CHECKED_FROM,
				   sizeof(header) - TRACE_CHECKED_FROM + header.size_bytes))
		return false;
	*block_out = (struct block){ at + sizeof(header), at + sizeof(header) + header.size_bytes,
				     header.time,         header.sequence,
				     header.written_time, header.written_ns,
				     header.thread };
	*kind_out = header.kind;
	return true;
}

/* Where the next block may begin; the end, when none does. */
static const uint8_t *next_magic(const uint8_t *at, const uint8_t *end)
{
	static const uint32_t magic = TRACE_BLOCK_MAGIC;
	const uint8_t *found = memmem(at, (size_t)(end - at), &magic, sizeof(magic));

	return found ? found : end;
}

/* A hole is passed over: blocks are written by many threads, and one that was killed leaves its own out. */
static bool find_blocks(struct trace_reader *reader, const uint8_t *at, const uint8_t *end)
{
	struct block block;
	uint32_t kind;

	while (at < end) {
		if (!look_at_block(at, end, &block, &kind)) {
			const uint8_t *next = next_magic(at + 1, end);
			reader->facts.damaged_bytes += (uint64_t)(next - at);
			at = next;
			continue;
		}
		at = block.end;
		if (block.written_time > reader->last.time)
			reader->last = (struct moment){ block.written_time, block.written_ns };
		if (kind == TRACE_BLOCK_EVENTS) {
			if (block.at < block.end && !add_block(reader, &block))
				return false;
		} else if (kind == TRACE_BLOCK_END) {
			reader->facts.is_complete = true;
			reader->has_lost = block.at < block.end && *block.at != 0;
		}
	}
	return true;
}

/* ---- rows ---- */

/* By thread, then as they are in the file. */
static int compare_blocks(const void *a, const void *b)
{
	const struct block *one = a;
	const struct block *other = b;

	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	return one->at < other->at ? -1 : one->at > other->at;
}

static bool is_before(const struct row *a, const struct row *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->entry.sequence < b->entry.sequence;
}

static void row_begin_block(struct trace_reader *reader, struct row *row)
{
	if (reader->clock == TRACE_CLOCK_TICKS && row->block->sequence > row->next_sequence)
		reader->missing += row->block->sequence - row->next_sequence;
	row->at = row->block->at;
	row->string_count = 0;
	row->last_id = 0;
	row->last_handle = 0;
	if (reader->short_form_count > 0)
		memset(row->lasts, 0, reader->short_form_count * sizeof(*row->lasts));
	row->next_sequence = row->block->sequence;
}

/* As nanoseconds. Whatever is in the file, later is not earlier. */
static uint64_t ns_of(const struct trace_reader *reader, uint64_t time)
{
	const struct moment *first = &reader->first;
	const struct moment *last = &reader->last;

	if (reader->clock == TRACE_CLOCK_NS)
		return time;
	if (time <= first->time || last->time <= first->time || last->ns <= first->ns)
		return first->ns;
	unsigned __int128 ns = (unsigned __int128)(time - first->time) * (last->ns - first->ns) /
				       (last->time - first->time) +
			       first->ns;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static bool row_add_string(struct trace_reader *reader, struct row *row, const char *text)
{
	const char **strings = mem_grow_array(row->strings, row->string_count,
					      &row->string_capacity, sizeof(*strings));

	if (!strings) {
		reader->is_out_of_memory = true;
		return false;
	}
	row->strings = strings;
	row->strings[row->string_count++] = text;
	return true;
}

static bool take_string(struct trace_reader *reader, struct row *row, const char **text_out)
{
	uint64_t number;

	*text_out = "";
	if (!take_number(&row->at, row->block->end, &number))
		return false;
	if (number == 0)
		return true;
	if (number == (uint64_t)row->string_count + 1) {
		if (!take_text(&row->at, row->block->end, text_out))
			return false;
		return row_add_string(reader, row, *text_out);
	}
	if (number > row->string_count)
		return false;
	*text_out = row->strings[number - 1];
	return true;
}

/* What differs from the last one, plus one. */
static bool take_difference(struct row *row, uint64_t *last, uint64_t *number_out)
{
	if (!take_number(&row->at, row->block->end, number_out))
		return false;
	if (*number_out != 0)
		*last = *number_out = (*number_out - 1) ^ *last;
	return true;
}

static bool take_field(struct trace_reader *reader, struct row *row, enum trace_field_type type,
		       uint64_t *number_out, const char **text_out)
{
	if (type == TRACE_FIELD_TEXT)
		return take_text(&row->at, row->block->end, text_out);
	if (trace_field_is_string(type))
		return take_string(reader, row, text_out);
	if (type == TRACE_FIELD_ID)
		return take_difference(row, &row->last_id, number_out);
	if (type == TRACE_FIELD_HANDLE)
		return take_difference(row, &row->last_handle, number_out);
	return take_number(&row->at, row->block->end, number_out);
}

/* Of `own` fields; the others are as the last one had them. */
static bool take_fields(struct trace_reader *reader, struct row *row,
			const struct file_event *event, uint32_t own, struct trace_entry *entry)
{
	struct value *last = event->last ? row->lasts[event->last - 1] : NULL;

	for (uint32_t i = 0; i < entry->info->field_count; i++) {
		if (trace_field_is_string(entry->info->fields[i].type))
			entry->fields[i].text = "";
	}
	for (uint32_t i = 0; i < event->info.field_count; i++) {
		enum trace_field_type type = event->info.fields[i].type;
		struct value value = i < own || !last ? (struct value){ 0 } : last[i];
		if (i < own && !take_field(reader, row, type, &value.number, &value.text))
			return false;
		if (trace_field_is_string(type) && !value.text)
			value.text = "";
		if (last)
			last[i] = value;
		if (event->positions[i] == NO_POSITION)
			continue;
		entry->fields[event->positions[i]].number = value.number;
		entry->fields[event->positions[i]].text = value.text;
	}
	return true;
}

/* Which event, in which form, how many numbers of events later, and when since the one before. */
struct head {
	const struct file_event *event;
	uint32_t field_count;
	uint64_t gap;
	uint64_t since;
};

static bool take_time(struct row *row, bool is_long, struct head *head)
{
	const uint8_t *end = row->block->end;
	uint16_t since;

	if (is_long)
		return take_number(&row->at, end, &head->gap) &&
		       take_number(&row->at, end, &head->since);
	if ((size_t)(end - row->at) < sizeof(since))
		return false;
	memcpy(&since, row->at, sizeof(since));
	row->at += sizeof(since);
	head->since = since;
	return true;
}

static bool take_head(const struct trace_reader *reader, struct row *row, struct head *head)
{
	uint8_t first = *row->at++;
	uint64_t number = first & TRACE_HEAD_EVENT;
	bool is_long = first & TRACE_HEAD_LONG;
	uint64_t more;

	*head = (struct head){ 0 };
	if (number == TRACE_HEAD_MORE) {
		if (!take_number(&row->at, row->block->end, &more) ||
		    __builtin_add_overflow(number, more, &number))
			return false;
	}
	if (number < reader->event_count) {
		head->event = &reader->events[number];
		head->field_count = head->event->info.field_count;
		return take_time(row, is_long, head);
	}
	number -= reader->event_count;
	if (number >= reader->short_form_count || is_long)
		return false;
	head->event = reader->short_forms[number].event;
	head->field_count = reader->short_forms[number].field_count;
	return true;
}

/* The next one of the block; false when it is damaged. */
static bool take_entry(struct trace_reader *reader, struct row *row, struct trace_entry *entry,
		       uint64_t *time_out)
{
	bool is_first = row->at == row->block->at;
	struct head head;

	*entry = (struct trace_entry){ .thread = row->block->thread };
	if (!take_head(reader, row, &head) ||
	    __builtin_add_overflow(is_first ? row->block->time : row->time, head.since, time_out) ||
	    __builtin_add_overflow(row->next_sequence, head.gap, &entry->sequence))
		return false;
	entry->time_ns = ns_of(reader, *time_out);
	entry->event = head.event->event;
	entry->info = entry->event == TRACE_NOTHING ? &head.event->info
						    : &trace_event_infos[entry->event];
	row->next_sequence = entry->sequence + 1;
	return take_fields(reader, row, head.event, head.field_count, entry);
}

/* Goes to the next event; false: there is none. What comes before what was there already is not one. */
static bool row_advance(struct trace_reader *reader, struct row *row)
{
	struct trace_entry entry;
	uint64_t time;

	while (row->block < row->block_end && !reader->is_out_of_memory) {
		if (row->at == row->block->end) {
			if (++row->block < row->block_end)
				row_begin_block(reader, row);
			continue;
		}
		const uint8_t *at = row->at;
		if (take_entry(reader, row, &entry, &time) && time >= row->time) {
			row->time = time;
			row->entry = entry;
			return true;
		}
		reader->facts.damaged_bytes += (uint64_t)(row->block->end - at);
		row->at = row->block->end;
	}
	return false;
}

/* Restores the heap below `at`, whose row may have become too late for its place. */
static void heap_settle(struct row *rows, size_t count, size_t at)
{
	for (;;) {
		size_t first = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
			if (is_before(&rows[child], &rows[first]))
				first = child;
		}
		if (first == at)
			return;
		struct row moved = rows[at];
		rows[at] = rows[first];
		rows[first] = moved;
		at = first;
	}
}

static size_t count_threads(const struct trace_reader *reader)
{
	size_t count = 0;

	for (size_t i = 0; i < reader->block_count; i++)
		count += i == 0 || reader->blocks[i].thread != reader->blocks[i - 1].thread;
	return count;
}

static bool make_rows(struct trace_reader *reader)
{
	if (reader->block_count == 0)
		return true;
	qsort(reader->blocks, reader->block_count, sizeof(*reader->blocks), compare_blocks);
	reader->all_row_count = count_threads(reader);
	reader->rows = mem_zalloc_array(reader->all_row_count, sizeof(*reader->rows));
	if (!reader->rows)
		return false;
	size_t made = 0;
	for (size_t i = 0; i < reader->block_count;) {
		struct row *row = &reader->rows[made++];
		size_t end = i;
		if (reader->short_form_count > 0 &&
		    !(row->lasts = mem_zalloc_array(reader->short_form_count, sizeof(*row->lasts))))
			return false;
		while (end < reader->block_count &&
		       reader->blocks[end].thread == reader->blocks[i].thread)
			end++;
		row->block = &reader->blocks[i];
		row->block_end = &reader->blocks[end];
		row_begin_block(reader, row);
		i = end;
	}
	/* Those without an event go to the end: their strings are freed with the others'. */
	for (size_t at = made; at-- > 0;) {
		if (row_advance(reader, &reader->rows[at]))
			continue;
		struct row empty = reader->rows[at];
		reader->rows[at] = reader->rows[--made];
		reader->rows[made] = empty;
	}
	reader->row_count = made;
	for (size_t at = made / 2; at-- > 0;)
		heap_settle(reader->rows, made, at);
	return !reader->is_out_of_memory;
}

/* ---- the whole file ---- */

bool trace_is_binary(const void *bytes, size_t size_bytes)
{
	return size_bytes >= sizeof(TRACE_FILE_MAGIC) &&
	       memcmp(bytes, TRACE_FILE_MAGIC, sizeof(TRACE_FILE_MAGIC)) == 0;
}

/* NULL, or what is wrong. */
static const char *open_file(struct trace_reader *reader, const uint8_t *bytes, size_t size_bytes)
{
	static const char json_begin[] = "{\"traceEvents\":[";
	struct trace_file_header header;
	struct block schema;
	uint32_t kind;

	if (size_bytes == 0)
		return "the file is empty: who was to write it was killed before its first event, "
		       "or never began";
	if (size_bytes >= strlen(json_begin) && memcmp(bytes, json_begin, strlen(json_begin)) == 0)
		return "this is a trace in JSON, for Perfetto: what is asked here takes one whose "
		       "name "
		       "did not end in .json";
	if (!trace_is_binary(bytes, size_bytes))
		return "this is no trace: its first bytes are not \"" TRACE_FILE_MAGIC "\"";
	if (size_bytes < sizeof(header))
		return "the trace is cut off in its first bytes";
	memcpy(&header, bytes, sizeof(header));
	if (header.version > TRACE_FILE_VERSION || header.version < TRACE_FILE_OLDEST_VERSION)
		return header.version > TRACE_FILE_VERSION
			       ? "the trace is of a newer version than this program reads"
		       : header.version == 1
			       ? "the trace is of version 1, which this program does not read any "
				 "more; the one that wrote it makes JSON of it (dxgk trace "
				 "--convert)"
			       : "the trace is of a version that there never was";
	const uint8_t *at = bytes + sizeof(header);
	const uint8_t *end = bytes + size_bytes;
	if (!look_at_block(at, end, &schema, &kind) || kind != TRACE_BLOCK_SCHEMA)
		return "the trace does not say which events there are: its first block is damaged "
		       "or cut off";
	if (!take_schema(reader, &schema))
		return "the trace does not say which events there are: their table makes no sense";
	if (!find_blocks(reader, schema.end, end) || !make_rows(reader))
		return "no memory";
	return NULL;
}

struct trace_reader *trace_reader_open(const void *bytes, size_t size_bytes, char *problem,
				       size_t problem_bytes)
{
	struct trace_reader *reader = mem_zalloc(sizeof(*reader));
	const char *wrong = reader ? open_file(reader, bytes, size_bytes) : "no memory";

	if (!wrong)
		return reader;
	snprintf(problem, problem_bytes, "%s",
		 reader && reader->is_out_of_memory ? "no memory" : wrong);
	trace_reader_close(reader);
	return NULL;
}

void trace_reader_close(struct trace_reader *reader)
{
	if (!reader)
		return;
	for (size_t i = 0; i < reader->all_row_count && reader->rows; i++) {
		mem_free(reader->rows[i].strings);
		mem_free(reader->rows[i].lasts);
	}
	mem_free(reader->rows);
	mem_free(reader->blocks);
	mem_free(reader->events);
	mem_free(reader);
}

bool trace_reader_next(struct trace_reader *reader, struct trace_entry *entry_out)
{
	if (reader->row_count == 0)
		return false;
	struct row *first = &reader->rows[0];
	*entry_out = first->entry;
	reader->shown++;
	if (first->entry.sequence >= reader->end_sequence)
		reader->end_sequence = first->entry.sequence + 1;
	if (!row_advance(reader, first)) {
		struct row over = *first;
		*first = reader->rows[--reader->row_count];
		reader->rows[reader->row_count] = over;
	}
	heap_settle(reader->rows, reader->row_count, 0);
	return true;
}

const struct trace_facts *trace_reader_facts(const struct trace_reader *reader)
{
	return &reader->facts;
}

/* Every event has a number. Those of who was killed are not counted: nobody knows how far they had come. */
static uint64_t missing_events(const struct trace_reader *reader)
{
	uint64_t there_were = reader->end_sequence - reader->first_sequence;

	if (reader->clock == TRACE_CLOCK_TICKS)
		return reader->missing;
	return there_were > reader->shown ? there_were - reader->shown : 0;
}

bool trace_reader_complain(const struct trace_reader *reader, char *problem, size_t problem_bytes)
{
	uint64_t missing = missing_events(reader);

	if (reader->is_out_of_memory)
		snprintf(problem, problem_bytes, "no memory to read all of the trace");
	else if (reader->facts.damaged_bytes > 0)
		snprintf(problem, problem_bytes,
			 "%" PRIu64 " bytes of the trace are damaged; %" PRIu64
			 " events at least are missing",
			 reader->facts.damaged_bytes, missing);
	else if (reader->has_lost)
		snprintf(problem, problem_bytes,
			 "not all of the trace could be written; %" PRIu64
			 " events at least are missing",
			 missing);
	else if (!reader->facts.is_complete)
		snprintf(problem, problem_bytes,
			 "the trace has no end: who wrote it was killed, or is still writing; the "
			 "last "
			 "events of each thread are missing");
	else
		return false;
	return true;
}
