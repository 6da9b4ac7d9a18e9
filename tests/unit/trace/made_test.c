/* SPDX-License-Identifier: MIT */
/*
 * made_test.c - traces made by hand, byte by byte: what a file may contain although no program of ours wrote it, with
 * checksums that are right.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/failing.h"
#include "trace/convert.h"
#include "trace/format.h"
#include "trace/summary.h"
#include "trace/trace.h"
#include "shell.h"

/* ---- making one ---- */

static struct {
	unsigned char bytes[1 << 16];
	size_t size;
} made;

static void add(const void *bytes, size_t size)
{
	EXPECT(made.size + size <= sizeof(made.bytes));
	memcpy(made.bytes + made.size, bytes, size);
	made.size += size;
}

static void begin_version(uint32_t version)
{
	const struct trace_file_header header = { .magic = TRACE_FILE_MAGIC, .version = version };

	made.size = 0;
	add(&header, sizeof(header));
}

static void add_block(const struct trace_block_header *as, const void *bytes, size_t size)
{
	struct trace_block_header header = *as;
	size_t at = made.size;

	header.magic = TRACE_BLOCK_MAGIC;
	header.size_bytes = (uint32_t)size;
	add(&header, sizeof(header));
	add(bytes, size);
	header.checksum = trace_checksum(made.bytes + at + TRACE_CHECKED_FROM,
					 made.size - at - TRACE_CHECKED_FROM);
	memcpy(made.bytes + at, &header, sizeof(header));
}

/* A program, its number, when, its clock; event 0 nobody knows, 1 is known with one field that is not and one of another type. */
#define OF_ONE      "p\0\x01\x01\x00"
#define OF_TICKS    "p\0\x01\x01\x01"
#define EVENT_ZERO  "\1c\0mine\0title\0\x03\x00n\0\x07s\0\x08t\0"
#define EVENT_KNOWN "\1c\0allocation_place\0t\0\x03\x01nonsense\0\x01size_bytes\0\x01where\0"
#define SCHEMA      OF_ONE "\x02" EVENT_ZERO EVENT_KNOWN
#define BYTES(text) (text), sizeof(text) - 1

static void begin(void)
{
	begin_version(TRACE_FILE_VERSION);
	add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_SCHEMA }, BYTES(SCHEMA));
}

static void add_events(uint32_t thread, uint64_t time, const void *bytes, size_t size)
{
	add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_EVENTS,
						.thread = thread,
						.time = time },
		  bytes, size);
}

static void add_end(void)
{
	add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_END }, "", 1);
}

/* ---- reading it ---- */

static struct {
	unsigned count;
	struct trace_entry last;
	char name[32]; /* of the last, which is the reader's */
	char problem[256];
} told;

/* False: nothing can be read of it. */
static bool read_made(void)
{
	struct trace_reader *reader =
		trace_reader_open(made.bytes, made.size, told.problem, sizeof(told.problem));

	told.count = 0;
	if (!reader)
		return false;
	while (trace_reader_next(reader, &told.last)) {
		snprintf(told.name, sizeof(told.name), "%s", told.last.info->name);
		told.count++;
	}
	if (!trace_reader_complain(reader, told.problem, sizeof(told.problem)))
		told.problem[0] = '\0';
	trace_reader_close(reader);
	return true;
}

/* ---- tests ---- */

TEST(made, a_table_of_events_that_makes_no_sense_is_said)
{
	static const struct {
		const char *bytes;
		size_t size;
	} wrong[] = {
		{ BYTES("") },
		{ BYTES("p") },
		{ BYTES("p\0") },
		{ BYTES("p\0\x01") },
		{ BYTES(OF_ONE) },
		{ BYTES(OF_ONE "\x03" EVENT_ZERO) },                  /* three */
		{ BYTES("p\0\x01\x01\x02\x01" EVENT_ZERO) },          /* no such clock */
		{ BYTES("p\0\x01\xff\xff\xff\xff\xff\xff\xff\xff") }, /* nothing behind it */
		{ BYTES("p\0\x01\xff\xff\xff\xff\xff\xff\xff") },     /* 56 bits of 64 */
		{ BYTES(OF_ONE "\x01\xff\xff\xff\xff\xff\xff") },
		{ BYTES(OF_ONE "\x01\x07\0\0\0\0\0\0\0") }, /* no such kind */
		{ BYTES(OF_ONE "\x01\x01"
			       "12345") },
		{ BYTES(OF_ONE "\x01\x01"
			       "c\0"
			       "12345") },
		{ BYTES(OF_ONE "\x01\x01"
			       "c\0n\0"
			       "12345") },
		{ BYTES(OF_ONE "\x01\x01"
			       "c\0n\0t\0") },
		{ BYTES(OF_ONE "\x01\x01"
			       "c\0n\0t\0\x7f") }, /* fields */
		{ BYTES(OF_ONE "\x01\x01"
			       "c\0n\0t\0\x01") },
		{ BYTES(OF_ONE "\x01\x01"
			       "c\0n\0t\0\x01\x0a"
			       "f\0") }, /* no such type */
		{ BYTES(OF_ONE "\x01\x01"
			       "c\0n\0t\0\x01\x01"
			       "f") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		begin_version(TRACE_FILE_VERSION);
		add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_SCHEMA },
			  wrong[i].bytes, wrong[i].size);
		EXPECT(!read_made());
		EXPECT_CONTAINS(told.problem, "makes no sense");
	}
}

TEST(made, a_version_that_never_was_and_a_first_block_of_events_are_said)
{
	begin_version(0);
	EXPECT(!read_made());
	EXPECT_CONTAINS(told.problem, "never was");
	begin_version(1);
	EXPECT(!read_made());
	EXPECT_CONTAINS(told.problem, "of version 1");
	begin_version(TRACE_FILE_VERSION);
	add_events(1, 0, "", 0);
	EXPECT(!read_made());
	EXPECT_CONTAINS(told.problem, "first block");
	begin_version(TRACE_FILE_VERSION);
	add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_SCHEMA }, BYTES(SCHEMA));
	((struct trace_block_header *)(void *)(made.bytes + sizeof(struct trace_file_header)))
		->size_bytes = TRACE_BLOCK_MAX_BYTES + 1;
	EXPECT(!read_made());
	EXPECT_CONTAINS(told.problem, "first block");
}

/* Head, time since the last; number, string, text. */
#define GOOD       "\x00\x05\x00\x07\x01new\0text\0"
#define GOOD_AGAIN "\x00\x05\x00\x07\x01text\0"

TEST(made, events_are_read_up_to_where_they_make_no_sense)
{
	static const struct {
		const char *bytes;
		size_t size;
		unsigned count;
	} cases[] = {
		{ BYTES(GOOD), 1 },
		{ BYTES(GOOD "\x00\x05\x00\x07\x01t2\0"), 2 }, /* the string that there was */
		{ BYTES(GOOD "\x00\x05\x00\x07\x00t2\0"), 2 }, /* none */
		{ BYTES(GOOD "\x80\x03\x05\x07\x01t\0"), 2 },
		{ BYTES(GOOD "\x01\x05\x00\x01\x02\x03"), 2 },
		{ BYTES(GOOD "\x7f"), 1 },                    /* which? */
		{ BYTES(GOOD "\x7f\x00\x00\x00"), 1 },        /* 127 */
		{ BYTES(GOOD "\x02\x00\x00"), 1 },            /* there are two */
		{ BYTES(GOOD "\x80"), 1 },                    /* how many are missing? */
		{ BYTES(GOOD "\x80\x00"), 1 },                /* when? */
		{ BYTES(GOOD "\x00\x05"), 1 },                /* when? */
		{ BYTES(GOOD "\x00\x05\x00"), 1 },            /* its number? */
		{ BYTES(GOOD "\x00\x05\x00\x80"), 1 },        /* the rest of it? */
		{ BYTES(GOOD "\x00\x05\x00\x07"), 1 },        /* its string? */
		{ BYTES(GOOD "\x00\x05\x00\x07\x09t\0"), 1 }, /* of those there is one */
		{ BYTES(GOOD "\x00\x05\x00\x07\x02with no end"), 1 },
		{ BYTES(GOOD "\x00\x05\x00\x07\x01with no end"), 1 },
		{ BYTES(GOOD "\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x07\x01t\0"), 1 },
		{ BYTES(GOOD "\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\x05\x07\x01t\0"), 1 },
		{ BYTES("\x7f"), 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool is_good = i < 5;

		begin();
		add_events(1, 100, cases[i].bytes, cases[i].size);
		add_events(2, 100, BYTES(GOOD));
		add_end();
		EXPECT(read_made());
		EXPECT_EQ(told.count, cases[i].count + 1);
		EXPECT_EQ(strlen(told.problem) > 0, !is_good);
		if (!is_good)
			EXPECT_CONTAINS(told.problem, "damaged");
	}
}

TEST(made, fields_are_found_by_name_and_type_and_the_rest_is_empty)
{
	begin();
	add_events(1, 100, BYTES("\x01\x05\x00\x01\x02\x03"));
	add_end();
	EXPECT(read_made());
	EXPECT_EQ(told.last.event, TRACE_allocation_place);
	EXPECT(told.last.info == &trace_event_infos[TRACE_allocation_place]);
	for (uint32_t i = 0; i < told.last.info->field_count; i++) {
		const char *name = told.last.info->fields[i].name;

		if (trace_field_is_string(told.last.info->fields[i].type))
			EXPECT_STR(told.last.fields[i].text, "");
		else
			EXPECT_EQ(told.last.fields[i].number,
				  strcmp(name, "size_bytes") == 0 ? 2 : 0);
	}
	begin();
	add_events(1, 100, BYTES(GOOD));
	EXPECT(read_made());
	EXPECT_EQ(told.last.event, TRACE_NOTHING);
	EXPECT_STR(told.name, "mine");
	EXPECT_STR(told.last.fields[1].text, "new");
	EXPECT_STR(told.last.fields[2].text, "text");
	EXPECT_CONTAINS(told.problem, "no end");
}

/* ---- ticks ---- */

static void begin_ticks(uint64_t ticks, uint64_t ns)
{
	begin_version(TRACE_FILE_VERSION);
	add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_SCHEMA,
						.written_time = ticks,
						.written_ns = ns },
		  BYTES(OF_TICKS "\x02" EVENT_ZERO EVENT_KNOWN));
}

static void end_ticks(uint64_t ticks, uint64_t ns)
{
	add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_END,
						.written_time = ticks,
						.written_ns = ns },
		  "", 1);
}

TEST(made, ticks_become_nanoseconds_by_the_first_and_the_last_moment)
{
	static const struct {
		uint64_t ticks, ns; /* at the end; 1000 and 5000 at the beginning */
		uint64_t at, at_ns; /* the event, five ticks later than its block */
	} cases[] = {
		{ 4000, 6000, 1000 + 295, 5100 },
		{ 1500, 6000, 1000 + 95, 5200 },
		{ 4000, 6000, 1000 + 5995, 7000 }, /* behind the last moment */
		{ 4000, 6000, 100, 5000 },         /* before the first: a file of nobody's */
		{ 4000, 4000, 2000, 5000 },        /* a clock that went back */
		{ 1000, 6000, 2000, 5000 },        /* one that stood */
		{ 1001, UINT64_MAX, 1 << 20, UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin_ticks(1000, 5000);
		add_events(1, cases[i].at, BYTES(GOOD));
		end_ticks(cases[i].ticks, cases[i].ns);
		EXPECT(read_made());
		EXPECT_EQ(told.count, 1);
		EXPECT_EQ(told.last.time_ns, cases[i].at_ns);
		EXPECT_STR(told.problem, "");
	}
}

TEST(made, threads_are_merged_by_ticks_also_within_a_nanosecond)
{
	begin_ticks(1000, 0);
	add_events(1, 2001, BYTES(GOOD));
	add_events(2, 2000, BYTES(GOOD));
	end_ticks(4000, 10);
	EXPECT(read_made());
	EXPECT_EQ(told.count, 2);
	EXPECT_EQ(told.last.thread, 1);
}

TEST(made, what_is_missing_of_each_thread_is_counted)
{
	begin_ticks(0, 0);
	add_events(1, 1, BYTES(GOOD GOOD_AGAIN));
	add_block(
		&(struct trace_block_header){
			.kind = TRACE_BLOCK_EVENTS, .thread = 1, .time = 100, .sequence = 9 },
		BYTES(GOOD));
	add_block(
		&(struct trace_block_header){
			.kind = TRACE_BLOCK_EVENTS, .thread = 2, .time = 100, .sequence = 4 },
		BYTES(GOOD));
	add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_END }, BYTES("\x01"));
	EXPECT(read_made());
	EXPECT_EQ(told.count, 4);
	EXPECT_CONTAINS(told.problem, "11 events at least are missing");
}

/* ---- */

TEST(made, a_thread_does_not_go_back_in_time)
{
	begin();
	add_events(1, 100, BYTES(GOOD));
	add_events(1, 50, BYTES(GOOD));
	add_events(1, 200, BYTES(GOOD));
	add_end();
	EXPECT(read_made());
	EXPECT_EQ(told.count, 2);
	EXPECT_CONTAINS(told.problem, "damaged");
}

/* Behind the table: event 0 has a short form of its first field, and there is no other. */
#define SHORT_FORMS "\x01\0\x01"

static void begin_short(uint32_t version, const void *schema, size_t size)
{
	begin_version(version);
	add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_SCHEMA }, schema, size);
}

TEST(made, a_short_form_has_the_time_before_it_and_the_other_fields_of_the_last_one)
{
	static const char events[] = "\0\x05\0"
				     "\x07\x01one\0two\0"
				     "\x02\x08"
				     "\x02\x09";

	begin_short(TRACE_FILE_VERSION, BYTES(SCHEMA SHORT_FORMS));
	add_events(1, 10, BYTES(events));
	add_end();
	EXPECT(read_made());
	EXPECT_STR(told.problem, "");
	EXPECT_EQ(told.count, 3);
	EXPECT_EQ(told.last.time_ns, 15);
	EXPECT_EQ(told.last.sequence, 2);
	EXPECT_EQ(told.last.fields[0].number, 9);
	EXPECT_STR(told.last.fields[1].text, "one");
	EXPECT_STR(told.last.fields[2].text, "two");
}

TEST(made, a_short_form_knows_nothing_of_another_block)
{
	begin_short(TRACE_FILE_VERSION, BYTES(SCHEMA SHORT_FORMS));
	add_events(1, 10,
		   BYTES("\0\x05\0"
			 "\x07\x01one\0two\0"));
	add_events(1, 20, BYTES("\x02\x08"));
	add_end();
	EXPECT(read_made());
	EXPECT_EQ(told.count, 2);
	EXPECT_EQ(told.last.time_ns, 20);
	EXPECT_EQ(told.last.fields[0].number, 8);
	EXPECT_STR(told.last.fields[1].text, "");
	EXPECT_STR(told.last.fields[2].text, "");
}

TEST(made, short_forms_that_make_no_sense_are_said)
{
	static const struct {
		const char *bytes;
		size_t size;
	} wrong[] = {
		{ BYTES(SCHEMA "\x09") }, /* more than there may be */
		{ BYTES(SCHEMA "\xff") },
		{ BYTES(SCHEMA "\x01") },
		{ BYTES(SCHEMA "\x01\0") },
		{ BYTES(SCHEMA "\x01\x02\0") }, /* of an event that there is not */
		{ BYTES(SCHEMA "\x01\0\x04") }, /* of more fields than it has */
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		begin_short(TRACE_FILE_VERSION, wrong[i].bytes, wrong[i].size);
		EXPECT(!read_made());
		EXPECT_CONTAINS(told.problem, "their table makes no sense");
	}
}

TEST(made, a_short_form_has_no_long_head_and_a_place_in_the_table)
{
	static const char *const wrong[] = { "\x82\x08", "\x03\x08", "\x7f\x08" };

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		begin_short(TRACE_FILE_VERSION, BYTES(SCHEMA SHORT_FORMS));
		add_events(1, 10, wrong[i], 2);
		add_end();
		EXPECT(read_made());
		EXPECT_EQ(told.count, 0);
		EXPECT_CONTAINS(told.problem, "2 bytes of the trace are damaged");
	}
}

TEST(made, version_2_which_has_no_short_forms_is_read)
{
	begin_short(2, BYTES(SCHEMA));
	add_events(1, 10,
		   BYTES("\0\x05\0"
			 "\x07\x01one\0two\0"));
	add_end();
	EXPECT(read_made());
	EXPECT_STR(told.problem, "");
	EXPECT_EQ(told.count, 1);
	EXPECT_EQ(told.last.fields[0].number, 7);
}

TEST(made, empty_blocks_and_those_of_later_versions_are_passed_over)
{
	begin();
	add_events(1, 100, "", 0);
	add_block(&(struct trace_block_header){ .kind = 77 }, BYTES("later"));
	add_events(1, 100, BYTES(GOOD));
	add_end();
	EXPECT(read_made());
	EXPECT_EQ(told.count, 1);
	EXPECT_STR(told.problem, "");
}

TEST(made, what_could_not_be_written_is_said)
{
	begin();
	add_events(1, 100, BYTES(GOOD));
	add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_END }, BYTES("\x01"));
	EXPECT(read_made());
	EXPECT_EQ(told.count, 1);
	EXPECT_CONTAINS(told.problem, "not all of the trace could be written");
	begin();
	add_block(&(struct trace_block_header){ .kind = TRACE_BLOCK_END }, "", 0);
	EXPECT(read_made());
	EXPECT_STR(told.problem, "");
}

/* More blocks and more strings than it has room for at first. */
static void make_much(void)
{
	begin();
	for (uint32_t block = 0; block < 70; block++)
		add_events(block % 3, 100 + block, BYTES(GOOD));
	unsigned char many[80 * 9];
	size_t size = 0;
	for (unsigned i = 0; i < 80; i++) {
		const unsigned char event[] = {
			0, 1, 0, 7, (unsigned char)(i + 1), 's', 0, 't', 0
		};

		memcpy(many + size, event, sizeof(event));
		size += sizeof(event);
	}
	add_events(9, 500, many, size);
	add_end();
}

TEST(made, memory_that_is_not_there_is_said_wherever_it_is_missing)
{
	struct mem_usage before = mem_usage();

	make_much();
	EXPECT(read_made());
	EXPECT_EQ(told.count, 70 + 80);
	EXPECT_STR(told.problem, "");
	EACH_FAILURE (failing, 8) {
		failing_start(&failing);
		bool is_read = read_made();
		bool fired = failing_stop(&failing);
		EXPECT(is_read || fired);
		EXPECT_CONTAINS(told.problem, fired ? "no memory" : "");
		EXPECT_EQ(mem_usage().blocks, before.blocks);
	}
}

/* ---- files ---- */

static const char *write_made(const char *name)
{
	const char *path = in_folder(name);
	FILE *file = fopen(path, "w");

	EXPECT(file && fwrite(made.bytes, 1, made.size, file) == made.size);
	EXPECT_EQ(fclose(file), 0);
	return path;
}

TEST(made, a_pipe_is_read_to_its_end)
{
	struct trace_file file;
	char path[32];
	int ends[2];

	make_much();
	EXPECT_EQ(pipe(ends), 0);
	EXPECT_EQ(write(ends[1], made.bytes, made.size), (ssize_t)made.size);
	close(ends[1]);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	EXPECT(trace_file_open(path, &file));
	EXPECT_EQ(file.size_bytes, made.size);
	EXPECT(memcmp(file.bytes, made.bytes, made.size) == 0);
	trace_file_close(&file);
	/* Nothing more, and nothing at all. */
	EXPECT(trace_file_open(path, &file));
	EXPECT_EQ(file.size_bytes, 0);
	trace_file_close(&file);
	close(ends[0]);
	(void)in_folder("there is one");
	EXPECT(!trace_file_open(folder, &file));
	EXPECT_EQ(errno, EISDIR);
}

/* Who writes comes later, and takes time. */
TEST(made, a_fifo_is_waited_for_and_a_device_is_no_file)
{
	const char *path = in_folder("fifo");
	struct trace_file file;

	make_much();
	unlink(path);
	EXPECT_EQ(mkfifo(path, 0600), 0);
	pid_t writer = fork();
	if (writer == 0) {
		usleep(120000);
		int end = open(path, O_WRONLY);
		usleep(120000);
		bool is_written = write(end, made.bytes, 100) == 100;
		usleep(20000);
		_exit(!is_written ||
		      write(end, made.bytes + 100, made.size - 100) != (ssize_t)made.size - 100);
	}
	EXPECT(trace_file_open(path, &file));
	EXPECT_EQ(file.size_bytes, made.size);
	EXPECT(memcmp(file.bytes, made.bytes, made.size) == 0);
	trace_file_close(&file);
	int status;
	EXPECT(waitpid(writer, &status, 0) == writer && status == 0);
	EXPECT(!trace_file_open("/dev/zero", &file));
	EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST(made, json_is_made_of_traces_only)
{
	const struct trace_file file = { "neither", 7 };
	char problem[256];

	EXPECT(!trace_write_json(&file, stderr, problem, sizeof(problem)));
	EXPECT_CONTAINS(problem, "no trace");
}

TEST(made, whoever_converts_is_told_which_file_and_why)
{
	char problem[512] = "";
	const char *json = in_folder("made.json");

	make_much();
	const char *path = write_made("made");
	EXPECT(trace_convert(path, json, problem, sizeof(problem)));
	EXPECT_STR(problem, "");
	EXPECT_EQ(shell("python3 -m json.tool %s /dev/null", json), 0);
	EXPECT(!trace_convert(in_folder("none"), json, problem, sizeof(problem)));
	EXPECT_CONTAINS(problem, "none: No such file");
	EXPECT(!trace_convert(path, folder, problem, sizeof(problem)));
	EXPECT_CONTAINS(problem, "Is a directory");
	EXPECT(!trace_convert(path, "/dev/full", problem, sizeof(problem)));
	EXPECT_CONTAINS(problem, "/dev/full: No space left");
	mem_fail_nth(1);
	problem[0] = '\0';
	EXPECT(!trace_convert(path, json, problem, sizeof(problem)));
	EXPECT(mem_fail_stop());
	EXPECT_CONTAINS(problem, "no memory");
}

TEST(made, wishes_are_words_with_commas_between)
{
	static const struct {
		const char *words;
		bool is_known;
		uint32_t wishes;
	} cases[] = {
		{ "", true, 0 },
		{ "arguments", true, TRACE_WITH_ARGUMENTS | TRACE_WITH_DRIVER },
		{ ",addresses,", true, TRACE_WITH_ADDRESSES },
		{ "addresses,lists", true, TRACE_WITH_ADDRESSES | TRACE_WITH_LISTS },
		{ "driver,other,addresses", false, TRACE_WITH_ADDRESSES | TRACE_WITH_DRIVER },
		{ "argumentsss", false, 0 },
		{ "other,another", false, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t wishes = 0;

		EXPECT_EQ(trace_wishes_read(cases[i].words, &wishes), cases[i].is_known);
		EXPECT_EQ(wishes, cases[i].wishes);
	}
}

/* ---- every event ---- */

#define SAY_1(say, name) say##name(0)
#define SAY_2(say, name) say##name(0, 0)
#define SAY_3(say, name) say##name(0, 0, 0)
#define SAY_4(say, name) say##name(0, 0, 0, 0)
#define SAY_5(say, name) say##name(0, 0, 0, 0, 0)
#define SAY_6(say, name) say##name(0, 0, 0, 0, 0, 0)
#define SAY_7(say, name) say##name(0, 0, 0, 0, 0, 0, 0)
#define SAY_8(say, name) say##name(0, 0, 0, 0, 0, 0, 0, 0)

TEST(made, every_event_can_be_said_and_is_read_as_what_it_is)
{
	static const enum trace_event said[] = {
#define CATEGORY(name, title)
#define EVENT(kind, category, name, title, count, ...) TRACE_##name,
#include "trace/events.def"
#undef EVENT
	};
	const char *path = in_folder("every");
	struct trace_entry entry;
	struct trace_file file;
	char problem[256];

	EXPECT(trace_start(path));
#define EVENT(kind, category, name, title, count, ...) SAY_##count(trace_, name);
#include "trace/events.def"
#undef EVENT
	trace_finish();
	/* Too late: also by who has looked whether there is a trace, and found that there was. */
#define EVENT(kind, category, name, title, count, ...)                                             \
	SAY_##count(trace_, name);                                                                 \
	SAY_##count(trace_put_, name);
#include "trace/events.def"
#undef EVENT
#undef CATEGORY
	EXPECT(trace_file_open(path, &file));
	struct trace_reader *reader =
		trace_reader_open(file.bytes, file.size_bytes, problem, sizeof(problem));
	EXPECT(reader);
	EXPECT(trace_reader_next(reader, &entry)); /* the thread's name comes first */
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		EXPECT(trace_reader_next(reader, &entry));
		EXPECT_EQ(entry.event, said[i]);
	}
	EXPECT(!trace_reader_next(reader, &entry));
	EXPECT(!trace_reader_complain(reader, problem, sizeof(problem)));
	trace_reader_close(reader);
	trace_file_close(&file);
	EXPECT_EQ(shell("%s -o %s.json --convert %s", CMD_TRACE, path, path), 0);
}

TEST_MAIN("trace/made")
