/* SPDX-License-Identifier: MIT */
/*
 * reader_submit.c - what goes to the software GPU: its settings, and the commands of a submission.
 */
#include <string.h>

#include <opendxgk/softgpu.h>

#include "cli/run/reader.h"

/* ---- settings ---- */

/* What ranges they have is the driver's to say (docs/softgpu.md, docs/profile.md). */
static const struct {
	const char *key;
	bool is_word;
} setting_keys[] = {
	{ "LocalMemoryMiB", false },
	{ "ApertureMiB", false },
	{ "AddressModel", true },
	{ "CopyEngines", false },
	{ "PageTableLevels", false },
	{ "VirtualAddressBits", false },
	{ "PageTableUpdateMode", true },
	{ "Pages64KiB", true },
	{ "HwQueues", false },
	{ "CpuHostApertureMiB", false },
	{ "DmaBuffersInAperture", false },
	{ "LoseMemoryOnReset", false },
	{ "PagingCompanionNode", true },
	{ "TdrLevel", false },
	{ "TdrDelay", false },
	{ "TdrDdiDelay", false },
	{ "TdrLimitTime", false },
	{ "TdrLimitCount", false },
	{ "EnablePreemption", false },
	{ "QuantumMs", false },
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Letters, digits and _, and not digits alone. */
static bool is_word(const struct word *word, size_t most)
{
	bool has_letter = false;

	for (size_t i = 0; i < word->length; i++) {
		char c = word->text[i];
		if (!is_letter(c) && !(c >= '0' && c <= '9'))
			return false;
		has_letter |= is_letter(c);
	}
	return has_letter && word->length <= most;
}

/* Another driver has keys of its own, and what looks like a number is one. */
static bool read_key(struct reader *reader, const struct word *word, const struct word *key,
		     struct script_setting *setting, bool *may_be_word, bool *may_be_number)
{
	*may_be_word = *may_be_number = reader->script->driver != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(setting_keys); i++) {
		if (!word_is(key, setting_keys[i].key))
			continue;
		*may_be_word = setting_keys[i].is_word;
		*may_be_number = !setting_keys[i].is_word;
	}
	if (!*may_be_word && !*may_be_number)
		return words_refuse(&reader->words, word,
				    "expected a setting of the software GPU or a Tdr value");
	if (!is_word(key, SCRIPT_KEY_MAX))
		return words_refuse(&reader->words, word,
				    "expected letters, digits and _ in front of =, at most %d",
				    SCRIPT_KEY_MAX);
	memcpy(setting->key, key->text, key->length);
	return true;
}

static bool read_value(struct reader *reader, const struct word *word, const struct word *value,
		       struct script_setting *setting, bool may_be_word, bool may_be_number)
{
	uint64_t number = 0;

	if (may_be_number && word_number(value->text, value->length, &number) &&
	    number <= UINT32_MAX) {
		setting->number = (uint32_t)number;
		return true;
	}
	if (!may_be_word)
		return words_refuse(&reader->words, word,
				    "expected a number up to 4294967295 behind %s=", setting->key);
	if (!is_word(value, sizeof(setting->word) - 1))
		return words_refuse(&reader->words, word,
				    "expected a word behind %s=", setting->key);
	memcpy(setting->word, value->text, value->length);
	setting->is_word = true;
	return true;
}

static bool read_setting(struct reader *reader)
{
	struct script *script = reader->script;
	struct word word = words_next(&reader->words);
	const char *equals = word.length ? memchr(word.text, '=', word.length) : NULL;
	struct word key = word;
	struct script_setting setting = { 0 };
	bool may_be_word;
	bool may_be_number;

	if (!equals)
		return words_refuse(&reader->words, &word,
				    "expected a setting, as LocalMemoryMiB=8");
	key.length = (size_t)(equals - word.text);
	struct word value = { equals + 1, word.length - key.length - 1, word.column };
	if (!read_key(reader, &word, &key, &setting, &may_be_word, &may_be_number))
		return false;
	for (uint32_t i = 0; i < script->setting_count; i++) {
		if (strcmp(script->settings[i].key, setting.key) == 0)
			return words_refuse(&reader->words, &word, "expected each setting once");
	}
	if (script->setting_count == SCRIPT_SETTINGS_MAX)
		return words_refuse(&reader->words, &word, "expected at most %d settings",
				    SCRIPT_SETTINGS_MAX);
	if (!read_value(reader, &word, &value, &setting, may_be_word, may_be_number))
		return false;
	script->settings[script->setting_count++] = setting;
	return true;
}

bool reader_adapter(struct reader *reader)
{
	do {
		if (!read_setting(reader))
			return false;
	} while (words_peek(&reader->words).length > 0);
	return true;
}

/* ---- commands ---- */

/* Without `size`: to the end of the allocation. */
static bool read_size(struct reader *reader, const struct script_address *address,
		      uint64_t *size_out)
{
	struct word word = words_peek(&reader->words);

	if (words_take(&reader->words, "size"))
		return words_number(&reader->words, "a size", 1, UINT64_MAX, size_out);
	if (address->name == SCRIPT_NO_NAME)
		return words_refuse(&reader->words, &word,
				    "expected size and a number, because an address has no end");
	uint64_t whole = reader->script->names[address->name].size_bytes;
	if (address->offset >= whole)
		return words_refuse(
			&reader->words, &word,
			"expected size and a number, because the allocation ends before");
	*size_out = whole - address->offset;
	return true;
}

static bool read_fill(struct reader *reader, struct script_command *command)
{
	return reader_address(reader, &command->to) &&
	       words_number(&reader->words, "a pattern", 0, UINT32_MAX, &command->value) &&
	       read_size(reader, &command->to, &command->size_bytes);
}

static bool read_copy(struct reader *reader, struct script_command *command)
{
	struct word word;

	if (!reader_address(reader, &command->from))
		return false;
	word = words_peek(&reader->words);
	if (!words_take(&reader->words, "to"))
		return words_refuse(&reader->words, &word, "expected to");
	return reader_address(reader, &command->to) &&
	       read_size(reader, &command->to, &command->size_bytes);
}

static bool read_write64(struct reader *reader, struct script_command *command)
{
	return reader_address(reader, &command->to) &&
	       words_number(&reader->words, "a number", 0, UINT64_MAX, &command->value);
}

static bool read_busy(struct reader *reader, struct script_command *command)
{
	return words_time(&reader->words, SOFTGPU_MAX_BUSY_MICROSECONDS, &command->value);
}

static bool read_fault(struct reader *reader, struct script_command *command)
{
	if (!reader_address(reader, &command->to))
		return false;
	command->is_write = words_take(&reader->words, "write");
	if (!command->is_write)
		(void)words_take(&reader->words, "read");
	return true;
}

static bool read_nothing(struct reader *reader, struct script_command *command)
{
	(void)reader;
	(void)command;
	return true;
}

static const struct {
	const char *word;
	enum script_opcode opcode;
	bool (*read)(struct reader *reader, struct script_command *command);
} command_words[] = {
	{ "nop", OPCODE_NOP, read_nothing },   { "fill", OPCODE_FILL, read_fill },
	{ "copy", OPCODE_COPY, read_copy },    { "write64", OPCODE_WRITE64, read_write64 },
	{ "busy", OPCODE_BUSY, read_busy },    { "hang", OPCODE_HANG, read_nothing },
	{ "fault", OPCODE_FAULT, read_fault },
};

static bool read_command(struct reader *reader, struct script_command *command)
{
	struct word word = words_next(&reader->words);

	*command =
		(struct script_command){ .to.name = SCRIPT_NO_NAME, .from.name = SCRIPT_NO_NAME };
	for (size_t i = 0; i < ARRAY_SIZE(command_words); i++) {
		if (word_is(&word, command_words[i].word)) {
			command->opcode = command_words[i].opcode;
			return command_words[i].read(reader, command);
		}
	}
	return words_refuse(&reader->words, &word,
			    "expected nop, fill, copy, write64, busy, hang or fault");
}

bool reader_commands(struct reader *reader, struct script_statement *statement)
{
	size_t capacity = 0;

	do {
		struct word word = words_peek(&reader->words);
		if (statement->command_count == SCRIPT_COMMANDS_MAX)
			return words_refuse(&reader->words, &word,
					    "expected at most %d commands in a submission",
					    SCRIPT_COMMANDS_MAX);
		struct script_command *commands =
			reader_grow(reader, statement->commands, statement->command_count,
				    &capacity, sizeof(*commands));
		if (!commands)
			return false;
		statement->commands = commands;
		if (!read_command(reader, &statement->commands[statement->command_count]))
			return false;
		statement->command_count++;
	} while (words_take(&reader->words, ";"));
	return true;
}
