/* SPDX-License-Identifier: MIT */
/*
 * reader.c - bytes become a script.
 *
 * One function per statement takes its words from left to right and stops at the first that it
 * does not understand. Statements end up in one row; a block knows where it ends.
 */
#include <stdio.h>
#include <string.h>

#include <dxg/d3dkmthk.h>

#include "base/mem.h"
#include "cli/run/reader.h"

/* ---- things ---- */

static bool read_client(struct reader *reader, struct script_statement *statement)
{
	if (!reader_declare(reader, SCRIPT_CLIENT, &statement->name) ||
	    !reader_options(reader, OPTION_NO_TIMEOUT | OPTION_APART, &statement->options))
		return false;
	reader->script->names[statement->name].is_apart = (statement->options & OPTION_APART) != 0;
	return true;
}

/* NAME CLIENT; `by` is whose it will be. */
static bool declare_for_client(struct reader *reader, enum script_kind kind,
			       struct script_statement *statement)
{
	if (!reader_declare(reader, kind, &statement->name) ||
	    !reader_name(reader, SCRIPT_CLIENT, &statement->by))
		return false;
	reader->script->names[statement->name].client = statement->by;
	return true;
}

/* node NUMBER */
static bool read_node(struct reader *reader, struct script_statement *statement)
{
	enum { MOST_NODES = 64 };
	struct word word = words_peek(&reader->words);

	if (!words_take(&reader->words, "node"))
		return words_refuse(&reader->words, &word, "expected node");
	return words_number(&reader->words, "a node", 0, MOST_NODES - 1, &statement->number);
}

static bool read_context(struct reader *reader, struct script_statement *statement)
{
	if (!declare_for_client(reader, SCRIPT_CONTEXT, statement) ||
	    !read_node(reader, statement) ||
	    !reader_options(reader, OPTION_STUBBORN | OPTION_LIST, &statement->options))
		return false;
	reader->script->names[statement->name].has_lists = (statement->options & OPTION_LIST) != 0;
	return true;
}

static bool read_hw_queue(struct reader *reader, struct script_statement *statement)
{
	return declare_for_client(reader, SCRIPT_HW_QUEUE, statement) &&
	       read_node(reader, statement);
}

/* NAME CLIENT SIZE */
static bool read_sized(struct reader *reader, struct script_statement *statement, uint64_t most)
{
	if (!declare_for_client(reader, SCRIPT_ALLOCATION, statement) ||
	    !words_number(&reader->words, "a size", 1, most, &statement->size_bytes))
		return false;
	reader->script->names[statement->name].size_bytes = statement->size_bytes;
	return true;
}

static bool read_allocate(struct reader *reader, struct script_statement *statement)
{
	if (!read_sized(reader, statement, UINT64_C(1) << 47) ||
	    !reader_options(reader,
			    OPTION_LOCAL | OPTION_SYSTEM | OPTION_HIDDEN | OPTION_CACHED |
				    OPTION_CONTIGUOUS | OPTION_SHARED | OPTION_TRIPLE |
				    OPTION_RESOURCE,
			    &statement->options))
		return false;
	reader->script->names[statement->name].is_shared =
		(statement->options & OPTION_SHARED) != 0;
	return true;
}

static bool read_standard(struct reader *reader, struct script_statement *statement)
{
	if (!read_sized(reader, statement, UINT64_C(1) << 30))
		return false;
	reader->script->names[statement->name].is_standard = true;
	return true;
}

static bool read_fence(struct reader *reader, struct script_statement *statement)
{
	if (!declare_for_client(reader, SCRIPT_FENCE, statement))
		return false;
	if (words_peek(&reader->words).length > 0 && !reader_at_option(reader, OPTION_SHARED) &&
	    !words_number(&reader->words, "a value", 0, UINT64_MAX, &statement->number))
		return false;
	if (!reader_options(reader, OPTION_SHARED, &statement->options))
		return false;
	reader->script->names[statement->name].is_shared = statement->options != 0;
	return true;
}

/* NAME CLIENT FENCE or ALLOCATION; it is what that is. */
static bool read_open(struct reader *reader, struct script_statement *statement)
{
	if (!declare_for_client(reader, SCRIPT_FENCE, statement))
		return false;
	struct word word = words_peek(&reader->words);
	if (!reader_name(reader, SCRIPT_FENCE | SCRIPT_ALLOCATION, &statement->address.name))
		return false;
	const struct script_name *shared = &reader->script->names[statement->address.name];
	reader->script->names[statement->name].kind = shared->kind;
	reader->script->names[statement->name].size_bytes = shared->size_bytes;
	return shared->is_shared ||
	       words_refuse(&reader->words, &word, "expected %s that is made with shared",
			    shared->kind == SCRIPT_FENCE ? "a fence" : "an allocation");
}

/* Also while other branches use it: that is what it is for. */
static bool read_kill(struct reader *reader, struct script_statement *statement)
{
	struct word word = words_peek(&reader->words);

	return reader_name(reader, SCRIPT_CLIENT, &statement->name) &&
	       (reader->script->names[statement->name].is_apart ||
		words_refuse(&reader->words, &word, "expected a client that is made with apart"));
}

static bool read_destroy(struct reader *reader, struct script_statement *statement)
{
	return reader_ending(reader, &statement->name);
}

/* ---- memory ---- */

static bool read_map(struct reader *reader, struct script_statement *statement)
{
	if (!reader_name(reader, SCRIPT_ALLOCATION, &statement->name))
		return false;
	if (words_take(&reader->words, "at") &&
	    !words_number(&reader->words, "a GPU address", 1, UINT64_MAX, &statement->number))
		return false;
	return reader_options(reader, OPTION_READ_ONLY, &statement->options);
}

static bool read_allocation(struct reader *reader, struct script_statement *statement)
{
	return reader_name(reader, SCRIPT_ALLOCATION, &statement->name);
}

/* NAME…, all of one client, then options. */
static bool read_list(struct reader *reader, struct script_statement *statement, uint32_t allowed)
{
	const struct script *script = reader->script;
	size_t capacity = 0;

	do {
		struct word word = words_peek(&reader->words);
		uint32_t name = SCRIPT_NO_NAME;
		if (!reader_name(reader, SCRIPT_ALLOCATION, &name))
			return false;
		if (statement->list_count > 0 &&
		    script->names[name].client != script->names[statement->list[0]].client)
			return words_refuse(&reader->words, &word,
					    "expected allocations of one client");
		uint32_t *list = reader_grow(reader, statement->list, statement->list_count,
					     &capacity, sizeof(*list));
		if (!list)
			return false;
		statement->list = list;
		list[statement->list_count++] = name;
	} while (words_peek(&reader->words).length > 0 && !reader_at_option(reader, allowed));
	statement->name = statement->list[0];
	return reader_options(reader, allowed, &statement->options);
}

static bool read_resident(struct reader *reader, struct script_statement *statement)
{
	return read_list(reader, statement, OPTION_CANT_TRIM);
}

static bool read_evict(struct reader *reader, struct script_statement *statement)
{
	return read_list(reader, statement, OPTION_IF_NEEDED);
}

static bool read_offer(struct reader *reader, struct script_statement *statement)
{
	return read_list(reader, statement,
			 OPTION_LOW | OPTION_NORMAL | OPTION_HIGH | OPTION_AUTO | OPTION_DECOMMIT);
}

static bool read_reclaim(struct reader *reader, struct script_statement *statement)
{
	return read_allocation(reader, statement) &&
	       reader_options(reader, OPTION_KEPT | OPTION_DISCARDED, &statement->options);
}

static bool read_where(struct reader *reader, struct script_statement *statement)
{
	return read_allocation(reader, statement) &&
	       reader_options(reader, OPTION_LOCAL | OPTION_SHARED | OPTION_OUT,
			      &statement->options);
}

/* [at OFFSET] [size SIZE], within the allocation. */
static bool read_range(struct reader *reader, struct script_statement *statement)
{
	uint64_t whole = reader->script->names[statement->name].size_bytes;

	if (words_take(&reader->words, "at") &&
	    !words_number(&reader->words, "an offset", 0, whole - 1, &statement->at))
		return false;
	statement->size_bytes = whole - statement->at;
	return !words_take(&reader->words, "size") ||
	       words_number(&reader->words, "a size", 1, whole - statement->at,
			    &statement->size_bytes);
}

static bool read_bytes(struct reader *reader, struct script_statement *statement)
{
	if (!read_allocation(reader, statement))
		return false;
	statement->pattern.is_random = words_take(&reader->words, "random");
	return words_number(&reader->words, statement->pattern.is_random ? "a seed" : "a pattern",
			    0, statement->pattern.is_random ? UINT64_MAX : UINT32_MAX,
			    &statement->pattern.number) &&
	       read_range(reader, statement);
}

/* ---- queues ---- */

static bool is_reachable(struct reader *reader, const struct word *word, uint32_t queue,
			 uint32_t name)
{
	if (name != SCRIPT_NO_NAME && reader->script->names[name].is_standard)
		return words_refuse(
			&reader->words, word,
			"expected memory that is made with allocate, and %s is the client's",
			reader->script->names[name].text);
	return name == SCRIPT_NO_NAME || reader_are_together(reader, queue, name) ||
	       words_refuse(&reader->words, word,
			    "expected memory of its own process, and %s is in another one",
			    reader->script->names[name].text);
}

/* Where there are lists, there are no addresses. */
static bool is_listable(const struct script_command *command)
{
	bool has_place = command->opcode == OPCODE_FILL || command->opcode == OPCODE_COPY;

	if (command->opcode == OPCODE_WRITE64 || command->opcode == OPCODE_FAULT)
		return false;
	return !has_place ||
	       (command->to.name != SCRIPT_NO_NAME &&
		(command->opcode == OPCODE_FILL || command->from.name != SCRIPT_NO_NAME));
}

static bool read_submit(struct reader *reader, struct script_statement *statement)
{
	if (!reader_context(reader, &statement->name))
		return false;
	struct word word = words_peek(&reader->words);
	if (!reader_commands(reader, statement))
		return false;
	for (uint32_t i = 0; i < statement->command_count; i++) {
		const struct script_command *command = &statement->commands[i];
		if (!is_reachable(reader, &word, statement->name, command->to.name) ||
		    !is_reachable(reader, &word, statement->name, command->from.name))
			return false;
		if (reader->script->names[statement->name].has_lists && !is_listable(command))
			return words_refuse(
				&reader->words, &word,
				"expected nop, fill, copy, busy or hang with "
				"allocations, because the context has allocation lists");
	}
	return true;
}

static bool read_priority(struct reader *reader, struct script_statement *statement)
{
	if (!reader_name(reader, SCRIPT_CONTEXT, &statement->name))
		return false;
	struct word word = words_next(&reader->words);
	bool is_negative = word.length > 0 && word.text[0] == '-';
	uint64_t number = 0;
	if (!word_number(word.text + is_negative, word.length - is_negative, &number) ||
	    number > 100)
		return words_refuse(&reader->words, &word, "expected a priority, as -7, 0 or 7");
	statement->priority = is_negative ? -(int32_t)number : (int32_t)number;
	return true;
}

/* FENCE VALUE [by CONTEXT] */
static bool read_fence_value(struct reader *reader, struct script_statement *statement)
{
	if (!words_number(&reader->words, "a value", 0, UINT64_MAX, &statement->number))
		return false;
	if (!words_take(&reader->words, "by"))
		return true;
	struct word word = words_peek(&reader->words);
	return reader_name(reader, SCRIPT_QUEUES, &statement->by) &&
	       (reader_are_together(reader, statement->name, statement->by) ||
		words_refuse(
			&reader->words, &word,
			"expected a context of the fence's process; open opens it for others"));
}

static bool read_signal(struct reader *reader, struct script_statement *statement)
{
	return reader_name(reader, SCRIPT_FENCE, &statement->name) &&
	       read_fence_value(reader, statement);
}

static bool read_wait(struct reader *reader, struct script_statement *statement)
{
	struct words before = reader->words;

	if (!reader_name(reader, SCRIPT_ANY, &statement->name))
		return false;
	enum script_kind kind = reader->script->names[statement->name].kind;
	if (kind == SCRIPT_FENCE)
		return read_fence_value(reader, statement);
	if (!(kind & SCRIPT_QUEUES))
		return true;
	reader->words = before;
	return reader_context(reader, &statement->name);
}

static const struct {
	const char *word;
	D3DKMT_DEVICEEXECUTION_STATE state;
} state_words[] = {
	{ "active", D3DKMT_DEVICEEXECUTION_ACTIVE },
	{ "reset", D3DKMT_DEVICEEXECUTION_RESET },
	{ "hung", D3DKMT_DEVICEEXECUTION_HUNG },
	{ "stopped", D3DKMT_DEVICEEXECUTION_STOPPED },
	{ "out-of-memory", D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY },
	{ "fault", D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT },
	{ "page-fault", D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT },
};

/* CLIENT [STATE], and of a page fault [PLACE [read|write]] */
static bool read_state(struct reader *reader, struct script_statement *statement)
{
	if (!reader_name(reader, SCRIPT_CLIENT, &statement->name))
		return false;
	struct word word = words_next(&reader->words);
	if (word.length == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(state_words); i++) {
		if (word_is(&word, state_words[i].word))
			statement->state = state_words[i].state;
	}
	if (statement->state == 0)
		return words_refuse(
			&reader->words, &word,
			"expected active, reset, hung, stopped, out-of-memory, fault or "
			"page-fault");
	if (statement->state != D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT ||
	    words_peek(&reader->words).length == 0)
		return true;
	statement->number = 1; /* the place counts */
	return reader_address(reader, &statement->address) &&
	       reader_options(reader, OPTION_READ | OPTION_WRITE, &statement->options);
}

static bool read_escape(struct reader *reader, struct script_statement *statement)
{
	return reader_name(reader, SCRIPT_CLIENT, &statement->name);
}

/* The whole line is what is said. */
static bool read_echo(struct reader *reader, struct script_statement *statement)
{
	(void)statement;
	words_rest(&reader->words);
	return true;
}

/* ---- blocks ---- */

static bool open_block(struct reader *reader)
{
	if (reader->depth == SCRIPT_DEPTH_MAX)
		return words_refuse(&reader->words, &reader->verb,
				    "expected at most %d blocks in blocks", SCRIPT_DEPTH_MAX);
	reader->blocks[reader->depth++] = reader->script->statement_count - 1;
	return true;
}

static bool read_repeat(struct reader *reader, struct script_statement *statement)
{
	enum { MOST_TIMES = 1000000 };

	return words_number(&reader->words, "how often", 1, MOST_TIMES, &statement->number) &&
	       open_block(reader);
}

static bool read_parallel(struct reader *reader, struct script_statement *statement)
{
	if (reader->branch != 0)
		return words_refuse(&reader->words, &reader->verb,
				    "expected no parallel block in a parallel block");
	(void)statement;
	reader_forget_branches(reader);
	reader->branch = 1;
	return open_block(reader);
}

/* The statement that opened the innermost block, or NULL. */
static struct script_statement *innermost(struct reader *reader)
{
	if (reader->depth == 0)
		return NULL;
	return &reader->script->statements[reader->blocks[reader->depth - 1]];
}

static bool read_and(struct reader *reader, struct script_statement *statement)
{
	struct script_statement *block = innermost(reader);

	(void)statement;
	if (!block || (block->verb != VERB_PARALLEL && block->verb != VERB_AND))
		return words_refuse(
			&reader->words, &reader->verb,
			"expected and only in a parallel block, where repeats are ended");
	if (reader->branch == SCRIPT_BRANCHES_MAX)
		return words_refuse(&reader->words, &reader->verb, "expected at most %d branches",
				    SCRIPT_BRANCHES_MAX);
	reader->branch++;
	block->next = reader->script->statement_count - 1;
	reader->blocks[reader->depth - 1] = block->next;
	return true;
}

static bool read_end(struct reader *reader, struct script_statement *statement)
{
	struct script_statement *block = innermost(reader);

	(void)statement;
	if (!block)
		return words_refuse(&reader->words, &reader->verb,
				    "expected end only where a block is open");
	if (block->verb != VERB_REPEAT)
		reader->branch = 0;
	block->next = reader->script->statement_count - 1;
	reader->depth--;
	return true;
}

/* ---- statements ---- */

static const struct {
	const char *word;
	enum script_verb verb;
	bool (*read)(struct reader *reader, struct script_statement *statement);
	bool can_fail; /* so that it can be expected to */
} verbs[] = {
	{ "client", VERB_CLIENT, read_client, true },
	{ "context", VERB_CONTEXT, read_context, true },
	{ "hwqueue", VERB_HW_QUEUE, read_hw_queue, true },
	{ "allocate", VERB_ALLOCATE, read_allocate, true },
	{ "standard", VERB_STANDARD, read_standard, true },
	{ "fence", VERB_FENCE, read_fence, true },
	{ "open", VERB_OPEN, read_open, true },
	{ "destroy", VERB_DESTROY, read_destroy, true },
	{ "kill", VERB_KILL, read_kill, false },
	{ "map", VERB_MAP, read_map, true },
	{ "unmap", VERB_UNMAP, read_allocation, true },
	{ "resident", VERB_RESIDENT, read_resident, true },
	{ "evict", VERB_EVICT, read_evict, true },
	{ "offer", VERB_OFFER, read_offer, true },
	{ "reclaim", VERB_RECLAIM, read_reclaim, true },
	{ "where", VERB_WHERE, read_where, true },
	{ "write", VERB_WRITE, read_bytes, true },
	{ "check", VERB_CHECK, read_bytes, true },
	{ "lock", VERB_LOCK, read_allocation, true },
	{ "unlock", VERB_UNLOCK, read_allocation, true },
	{ "submit", VERB_SUBMIT, read_submit, true },
	{ "priority", VERB_PRIORITY, read_priority, true },
	{ "signal", VERB_SIGNAL, read_signal, true },
	{ "wait", VERB_WAIT, read_wait, true },
	{ "state", VERB_STATE, read_state, true },
	{ "escape", VERB_ESCAPE, read_escape, true },
	{ "fuzz", VERB_FUZZ, reader_fuzz, false },
	{ "budget", VERB_BUDGET, reader_budget, true },
	{ "verifier", VERB_VERIFIER, reader_verifier, true },
	{ "evict-all", VERB_EVICT_ALL, reader_no_word, true },
	{ "defragment", VERB_DEFRAGMENT, reader_no_word, true },
	{ "validate", VERB_VALIDATE, reader_alone, false },
	{ "power", VERB_POWER, reader_power, true },
	{ "remove", VERB_REMOVE, reader_remove, true },
	{ "reset", VERB_RESET, reader_reset, true },
	{ "reset-device", VERB_RESET_DEVICE, reader_no_word, true },
	{ "collect", VERB_COLLECT, reader_no_word, true },
	{ "sleep", VERB_SLEEP, reader_sleep, false },
	{ "echo", VERB_ECHO, read_echo, false },
	{ "repeat", VERB_REPEAT, read_repeat, false },
	{ "parallel", VERB_PARALLEL, read_parallel, false },
	{ "and", VERB_AND, read_and, false },
	{ "end", VERB_END, read_end, false },
};

/* STATUS[:RULE] */
static bool read_expectation(struct reader *reader, struct script_statement *statement)
{
	struct word word = words_next(&reader->words);
	const char *colon = word.length ? memchr(word.text, ':', word.length) : NULL;
	size_t length = colon ? (size_t)(colon - word.text) : word.length;
	size_t rule_length = colon ? word.length - length - 1 : 0;
	char name[64] = "";

	if (length < sizeof(name))
		memcpy(name, word.text, length);
	if (!status_from_name(name, &statement->expected))
		return words_refuse(&reader->words, &word,
				    "expected a status, as STATUS_NO_MEMORY, perhaps with :RULE");
	if (colon && (rule_length == 0 || rule_length > SCRIPT_RULE_MAX))
		return words_refuse(&reader->words, &word,
				    "expected a rule behind the colon, as API-HANDLE");
	if (colon)
		memcpy(statement->rule, colon + 1, rule_length);
	statement->has_expectation = true;
	return true;
}

static bool read_verb(struct reader *reader, struct script_statement *statement)
{
	struct word word = words_next(&reader->words);

	reader->verb = word;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!word_is(&word, verbs[i].word))
			continue;
		if ((statement->has_expectation || statement->is_tried) && !verbs[i].can_fail)
			return words_refuse(&reader->words, &word,
					    "expected a statement that calls the kernel");
		statement->verb = verbs[i].verb;
		return verbs[i].read(reader, statement) && words_end(&reader->words);
	}
	return words_refuse(&reader->words, &word, "expected a statement");
}

/* A zero at the end, for who prints it. */
static char *copy_text(struct reader *reader, struct word text)
{
	char *copy = mem_alloc(text.length + 1);

	if (!copy) {
		reader->is_out_of_memory = true;
		return NULL;
	}
	memcpy(copy, text.text, text.length);
	copy[text.length] = '\0';
	return copy;
}

static bool read_statement(struct reader *reader)
{
	struct script *script = reader->script;
	struct words whole = reader->words;
	struct word first = words_peek(&whole);

	if (script->statement_count == SCRIPT_STATEMENTS_MAX)
		return words_refuse(&reader->words, &first, "expected at most %d statements",
				    SCRIPT_STATEMENTS_MAX);
	struct script_statement *statements =
		reader_grow(reader, script->statements, script->statement_count,
			    &script->statement_capacity, sizeof(*statements));
	if (!statements)
		return false;
	script->statements = statements;
	struct script_statement *statement = &statements[script->statement_count++];
	*statement = (struct script_statement){ .line = reader->words.line_number,
						.name = SCRIPT_NO_NAME,
						.by = SCRIPT_NO_NAME,
						.address.name = SCRIPT_NO_NAME };
	statement->text = copy_text(reader, words_rest(&whole));
	if (!statement->text)
		return false;
	statement->is_tried = words_take(&reader->words, "try");
	if (!statement->is_tried && words_take(&reader->words, "expect") &&
	    !read_expectation(reader, statement))
		return false;
	return read_verb(reader, statement);
}

/* ---- settings ---- */

static bool read_file_name(struct reader *reader, const struct word *setting, char **file)
{
	struct word word = words_next(&reader->words);

	if (*file)
		return words_refuse(&reader->words, setting, "expected one %.*s",
				    (int)setting->length, setting->text);
	if (word.length == 0)
		return words_refuse(&reader->words, &word, "expected a file");
	*file = copy_text(reader, word);
	return *file != NULL;
}

static bool read_seed(struct reader *reader)
{
	reader->script->has_seed = true;
	return words_number(&reader->words, "a seed", 0, UINT64_MAX, &reader->script->seed);
}

static bool read_setting(struct reader *reader, const struct word *word)
{
	struct script *script = reader->script;

	if (script->statement_count > 0)
		return words_refuse(&reader->words, word,
				    "expected settings only before the first statement");
	words_next(&reader->words);
	if (word_is(word, "seed")) {
		if (script->has_seed)
			return words_refuse(&reader->words, word, "expected one seed");
		return read_seed(reader);
	}
	if (word_is(word, "exerciser"))
		return read_file_name(reader, word, &script->exerciser);
	if (script->profile || script->setting_count > 0 ||
	    (script->driver && word_is(word, "profile")))
		return words_refuse(&reader->words, word, "expected one adapter or one profile");
	if (word_is(word, "profile"))
		return read_file_name(reader, word, &script->profile);
	if (word_is(word, "driver"))
		return read_file_name(reader, word, &script->driver);
	return reader_adapter(reader);
}

/* ---- lines ---- */

static bool read_line(struct reader *reader)
{
	static const char *const settings[] = { "adapter", "driver", "exerciser", "profile",
						"seed" };
	struct word word = words_peek(&reader->words);

	if (word.length == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		if (word_is(&word, settings[i]))
			return read_setting(reader, &word) && words_end(&reader->words);
	}
	return read_statement(reader);
}

static bool read_lines(struct reader *reader, const char *bytes, size_t size_bytes,
		       struct script_problem *problem)
{
	uint32_t line_number = 1;

	for (size_t start = 0; start < size_bytes; line_number++) {
		const char *end = memchr(bytes + start, '\n', size_bytes - start);
		size_t length = end ? (size_t)(end - bytes) - start : size_bytes - start;
		if (!words_begin(&reader->words, bytes + start, length, line_number, problem) ||
		    !read_line(reader))
			return false;
		start += length + 1;
	}
	return true;
}

static void say(struct script_problem *problem, uint32_t line, const char *text)
{
	problem->line = line;
	problem->column = line ? 1 : 0;
	snprintf(problem->text, sizeof(problem->text), "%s", text);
}

NTSTATUS script_read(const char *bytes, size_t size_bytes, struct script *script,
		     struct script_problem *problem_out)
{
	struct reader reader = { .script = script };

	memset(script, 0, sizeof(*script));
	memset(problem_out, 0, sizeof(*problem_out));
	if (size_bytes > SCRIPT_BYTES_MAX) {
		say(problem_out, 0, "a script has at most 16 MiB");
		return STATUS_INVALID_PARAMETER;
	}
	if (!read_lines(&reader, bytes, size_bytes, problem_out))
		return reader.is_out_of_memory ? STATUS_NO_MEMORY : STATUS_INVALID_PARAMETER;
	if (reader.depth > 0) {
		say(problem_out, innermost(&reader)->line, "this block has no end");
		return STATUS_INVALID_PARAMETER;
	}
	if (script->statement_count == 0) {
		say(problem_out, 0, "there is no statement in it");
		return STATUS_INVALID_PARAMETER;
	}
	return STATUS_SUCCESS;
}

void script_finish(struct script *script)
{
	for (uint32_t i = 0; i < script->statement_count; i++) {
		mem_free(script->statements[i].text);
		mem_free(script->statements[i].list);
		mem_free(script->statements[i].commands);
	}
	mem_free(script->statements);
	mem_free(script->names);
	mem_free(script->profile);
	mem_free(script->driver);
	mem_free(script->exerciser);
	memset(script, 0, sizeof(*script));
}
