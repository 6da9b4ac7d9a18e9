/* SPDX-License-Identifier: MIT */
/*
 * script_fuzz.c - bytes become a script, as libFuzzer invents them.
 *
 *   in:   any bytes
 *   out:  nothing, or the end of the program: a sanitizer's report, or a script that is read and
 *         leads outside of itself
 */
#include <stdlib.h>

#include "cli/run/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool is_good)
{
	if (!is_good)
		abort();
}

static void check_name(const struct script *script, uint32_t name)
{
	expect(name == SCRIPT_NO_NAME || name < script->name_count);
}

static void check_statement(const struct script *script, uint32_t at)
{
	const struct script_statement *statement = &script->statements[at];
	enum script_verb verb = statement->verb;

	check_name(script, statement->name);
	check_name(script, statement->by);
	check_name(script, statement->address.name);
	for (uint32_t i = 0; i < statement->list_count; i++)
		expect(statement->list[i] < script->name_count);
	for (uint32_t i = 0; i < statement->command_count; i++) {
		check_name(script, statement->commands[i].to.name);
		check_name(script, statement->commands[i].from.name);
	}
	if (verb == VERB_REPEAT || verb == VERB_PARALLEL || verb == VERB_AND)
		expect(statement->next > at && statement->next < script->statement_count);
	if (verb == VERB_WRITE || verb == VERB_CHECK)
		expect(statement->at + statement->size_bytes <=
		       script->names[statement->name].size_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script script;
	struct script_problem problem;
	NTSTATUS status = script_read((const char *)data, size, &script, &problem);

	expect(NT_SUCCESS(status) || problem.text[0] != '\0');
	for (uint32_t i = 0; NT_SUCCESS(status) && i < script.statement_count; i++)
		check_statement(&script, i);
	script_finish(&script);
	return 0;
}
