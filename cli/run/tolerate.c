/* SPDX-License-Identifier: MIT */
/*
 * tolerate.c - a run into which faults are put: what a statement that failed means for those that follow.
 *
 *	could not be made       what is done with it is left out
 *	not mapped, not there   commands that lead there are left out: they would cost the device
 *	not written             what is in it is not compared
 *	not signalled           the CPU does it, or somebody would wait for ever
 *
 * So that what still goes wrong is the driver's, and not a consequence of the fault.
 */
#include "cli/run/run.h"

/* ---- contents ---- */

enum { WRITERS = 64 };

/* Clients share a bit where there are very many. */
static uint64_t writer_bit(uint32_t client)
{
	return UINT64_C(1) << client % WRITERS;
}

static void note_writes(struct world *world, const struct script_statement *statement)
{
	uint32_t client = world->script->names[statement->name].client;

	for (uint32_t i = 0; i < statement->command_count; i++) {
		uint32_t to = statement->commands[i].to.name;

		if (to != SCRIPT_NO_NAME)
			atomic_fetch_or(&world_thing(world, to)->writers, writer_bit(client));
	}
}

/* Maybe in the middle of what it wrote. NULL: nobody. */
static const char *lost_writer(struct world *world, uint32_t name)
{
	const struct script *script = world->script;
	uint64_t writers = world_thing(world, name)->writers;

	for (uint32_t i = 0; i < script->name_count; i++) {
		if (script->names[i].kind == SCRIPT_CLIENT && (writers & writer_bit(i)) &&
		    (!world->things[i].is_there || !queue_is_active(world, &world->things[i])))
			return script->names[i].text;
	}
	return NULL;
}

/* ---- reach ---- */

static void note_reach(struct world *world, const struct script_statement *statement,
		       bool has_happened)
{
	if (statement->list_count == 0)
		world_thing(world, statement->name)->is_out_of_reach = !has_happened;
	for (uint32_t i = 0; i < statement->list_count; i++)
		world_thing(world, statement->list[i])->is_out_of_reach = !has_happened;
}

static bool is_out_of_reach(struct world *world, uint32_t name)
{
	return name != SCRIPT_NO_NAME && world_thing(world, name)->is_out_of_reach;
}

bool tolerate_leaves_out(struct world *world, const struct script_statement *statement,
			 bool is_tolerant, struct outcome *outcome)
{
	const char *lost;

	for (uint32_t i = 0; i < statement->command_count; i++) {
		const struct script_command *command = &statement->commands[i];
		if (!is_out_of_reach(world, command->to.name) &&
		    !is_out_of_reach(world, command->from.name))
			continue;
		outcome_leave_out(outcome,
				  "command %u leads to what could not be mapped or made "
				  "resident",
				  i + 1);
		return true;
	}
	if (is_tolerant && statement->verb == VERB_CHECK &&
	    (lost = lost_writer(world, statement->name)) != NULL)
		outcome_leave_out(outcome, "%s has written to it and is lost", lost);
	return outcome->is_left_out;
}

/* ---- after a statement ---- */

/* Whoever waits for that goes on; so does a run in which this fails, too, when its client is lost. */
static void signal_anyway(struct world *world, const struct script_statement *statement)
{
	const struct script_statement by_cpu = { .verb = VERB_SIGNAL,
						 .name = statement->name,
						 .by = SCRIPT_NO_NAME,
						 .number = statement->number };
	struct outcome ignored = { .status = STATUS_SUCCESS };

	if (!world_thing(world, statement->name)->is_left_out)
		queue_do_signal(world, &by_cpu, &ignored);
}

static void note_failure(struct world *world, const struct script_statement *statement)
{
	if (statement->verb == VERB_SUBMIT)
		submit_leave_gap(world, statement);
	else if (statement->verb == VERB_WRITE)
		world_thing(world, statement->name)->is_unknown = true;
	else if (statement->verb == VERB_SIGNAL)
		signal_anyway(world, statement);
	else if (statement_makes(statement))
		world_thing(world, statement->name)->is_left_out = true;
}

void tolerate(struct world *world, const struct script_statement *statement,
	      const struct outcome *outcome)
{
	bool is_done = !outcome->is_left_out && NT_SUCCESS(outcome->status);

	if (statement->verb == VERB_MAP || statement->verb == VERB_RESIDENT ||
	    statement->verb == VERB_RECLAIM)
		note_reach(world, statement, is_done);
	else if (!is_done)
		note_failure(world, statement);
	else if (statement->verb == VERB_SUBMIT)
		note_writes(world, statement);
}
