/* SPDX-License-Identifier: MIT */
/*
 * statement.c - one statement: left out or carried out, judged by what the script expects, said and counted.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <opendxgk/refusal.h>

#include "cli/run/run.h"

static void do_destroy(struct world *world, const struct script_statement *statement,
		       struct outcome *outcome)
{
	outcome->status = world_destroy(world, statement->name);
}

static statement_action *const actions[] = {
	[VERB_CLIENT] = world_do_create,
	[VERB_CONTEXT] = world_do_create,
	[VERB_HW_QUEUE] = world_do_create,
	[VERB_ALLOCATE] = world_do_create,
	[VERB_STANDARD] = world_do_create,
	[VERB_FENCE] = world_do_create,
	[VERB_OPEN] = world_do_create,
	[VERB_DESTROY] = do_destroy,
	[VERB_KILL] = client_do_kill,
	[VERB_MAP] = memory_do_map,
	[VERB_UNMAP] = memory_do_unmap,
	[VERB_RESIDENT] = memory_do_resident,
	[VERB_EVICT] = memory_do_evict,
	[VERB_OFFER] = memory_do_offer,
	[VERB_RECLAIM] = memory_do_reclaim,
	[VERB_WHERE] = memory_do_where,
	[VERB_WRITE] = memory_do_write,
	[VERB_CHECK] = memory_do_check,
	[VERB_LOCK] = memory_do_lock,
	[VERB_UNLOCK] = memory_do_unlock,
	[VERB_SUBMIT] = submit_do,
	[VERB_PRIORITY] = queue_do_priority,
	[VERB_SIGNAL] = queue_do_signal,
	[VERB_WAIT] = queue_do_wait,
	[VERB_STATE] = queue_do_state,
	[VERB_ESCAPE] = fuzz_do_escape,
	[VERB_FUZZ] = fuzz_do,
	[VERB_BUDGET] = control_do,
	[VERB_VERIFIER] = control_do,
	[VERB_EVICT_ALL] = control_do,
	[VERB_DEFRAGMENT] = control_do,
	[VERB_VALIDATE] = control_do,
	[VERB_POWER] = control_do,
	[VERB_REMOVE] = control_do,
	[VERB_RESET] = control_do,
	[VERB_RESET_DEVICE] = control_do,
	[VERB_COLLECT] = control_do,
	[VERB_SLEEP] = control_do,
};

/* ---- what is left out ---- */

static bool is_left_out(struct world *world, uint32_t name, struct outcome *outcome)
{
	if (name == SCRIPT_NO_NAME || !world_thing(world, name)->is_left_out)
		return false;
	outcome_leave_out(outcome, "%s was left out", world->script->names[name].text);
	return true;
}

bool statement_makes(const struct script_statement *statement)
{
	return actions[statement->verb] == world_do_create;
}

/* How work ends that was left out nobody can tell, and so not what follows from it. */
static bool is_open_question(const struct script_statement *statement)
{
	return statement->has_expectation || statement->verb == VERB_STATE;
}

static bool is_killed(struct world *world, uint32_t name)
{
	return name != SCRIPT_NO_NAME && world_client_of(world, name)->is_killed;
}

static bool is_of_killed(struct world *world, const struct script_statement *statement)
{
	return statement->verb != VERB_CLIENT && statement->verb != VERB_KILL &&
	       (is_killed(world, statement->name) || is_killed(world, statement->by));
}

/* Something that it names was left out itself. */
static bool needs_left_out(struct world *world, const struct script_statement *statement,
			   struct outcome *outcome)
{
	/* What is made here may be made again. */
	if ((!statement_makes(statement) && is_left_out(world, statement->name, outcome)) ||
	    is_left_out(world, statement->by, outcome) ||
	    is_left_out(world, statement->address.name, outcome))
		return true;
	for (uint32_t i = 0; i < statement->list_count; i++) {
		if (is_left_out(world, statement->list[i], outcome))
			return true;
	}
	for (uint32_t i = 0; i < statement->command_count; i++) {
		if (is_left_out(world, statement->commands[i].to.name, outcome) ||
		    is_left_out(world, statement->commands[i].from.name, outcome))
			return true;
	}
	return false;
}

static bool leave_out(struct world *world, const struct run_settings *settings,
		      const struct script_statement *statement, struct outcome *outcome)
{
	if (is_of_killed(world, statement))
		outcome_leave_out(outcome, "its client was killed");
	else if (needs_left_out(world, statement, outcome))
		return true;
	else if (statement->name != SCRIPT_NO_NAME && is_open_question(statement) &&
		 world_client_of(world, statement->name)->has_gaps)
		outcome_leave_out(outcome, "work of its client was left out");
	return outcome->is_left_out ||
	       tolerate_leaves_out(world, statement, settings->is_tolerant, outcome);
}

/* ---- what is said ---- */

static uint64_t last_refusal(struct dxgk_refusal *refusal)
{
	*refusal = (struct dxgk_refusal){ .size_bytes = sizeof(*refusal) };
	return DxgkLastRefusal(refusal) ? refusal->sequence : 0;
}

/* The first that comes has the text to itself; it is read when all threads are over. */
static void keep_first(_Atomic bool *has_one, char *text, size_t size_bytes,
		       const struct script_statement *statement, const char *what)
{
	if (!atomic_exchange(has_one, true))
		snprintf(text, size_bytes, "%u: %s: %s", statement->line, statement->text, what);
}

bool statement_complain(const struct run_settings *settings,
			const struct script_statement *statement, const char *format, ...)
{
	struct run_counts *counts = settings->counts;
	char text[640];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	atomic_fetch_add(&counts->failed, 1);
	keep_first(&counts->has_failure, counts->failure, sizeof(counts->failure), statement, text);
	if (!settings->is_silent)
		fprintf(stderr, "%s:%u: %s: %s\n", settings->path, statement->line, statement->text,
			text);
	return false;
}

/* Of what was left out somebody should know. */
static void tell_left_out(const struct run_settings *settings,
			  const struct script_statement *statement, const struct outcome *outcome)
{
	atomic_fetch_add(&settings->counts->left_out, 1);
	if (!settings->is_silent)
		fprintf(stderr, "%s:%u: %s: left out: %s\n", settings->path, statement->line,
			statement->text, outcome->note);
}

static void show(const struct run_settings *settings, const struct script_statement *statement,
		 const struct outcome *outcome)
{
	if (settings->is_silent)
		return;
	if (settings->is_verbose)
		printf("%u: %s -> %s%s%s\n", statement->line, statement->text,
		       status_name(outcome->status), outcome->note[0] ? ", " : "", outcome->note);
	else if (outcome->is_shown)
		printf("%s\n", outcome->note);
}

static void echo(const struct run_settings *settings, const struct script_statement *statement)
{
	const char *text = statement->text + strlen("echo");

	if (settings->is_silent)
		return;
	printf("%s\n", *text ? text + 1 : text);
	fflush(stdout);
}

/* ---- what is expected ---- */

/* A status stands for success when none is expected. */
static bool is_status_expected(const struct script_statement *statement, NTSTATUS status)
{
	return statement->has_expectation ? status == statement->expected : NT_SUCCESS(status);
}

/* Who lost a device wants to know how: ", alice: hung". */
static void describe_loss(struct world *world, const struct script_statement *statement,
			  const struct outcome *outcome, char *text, size_t size_bytes)
{
	struct outcome state = { .status = STATUS_SUCCESS };
	struct script_statement question = { .verb = VERB_STATE };

	text[0] = '\0';
	if (outcome->status != STATUS_DEVICE_REMOVED || statement->name == SCRIPT_NO_NAME)
		return;
	question.name = world->script->names[statement->name].client;
	queue_do_state(world, &question, &state);
	if (NT_SUCCESS(state.status))
		snprintf(text, size_bytes, "; %s", state.note);
}

/* Memory did not hold what was written to it; who says so is believed. */
static void report_content(struct world *world, const struct run_settings *settings,
			   const struct script_statement *statement, const struct outcome *outcome)
{
	struct run_counts *counts = settings->counts;
	char sentence[512];

	atomic_fetch_add(&counts->wrong_bytes, 1);
	keep_first(&counts->has_wrong_bytes, counts->wrong, sizeof(counts->wrong), statement,
		   outcome->note);
	if (!settings->reports_content || !world->hooks.report_content)
		return;
	snprintf(sentence, sizeof(sentence), "%.200s: %s", statement->text, outcome->note);
	world->hooks.report_content(world_thing(world, statement->name)->handle, sentence);
}

static bool judge(struct world *world, const struct run_settings *settings,
		  const struct script_statement *statement, const struct outcome *outcome,
		  uint64_t refusals_before)
{
	struct dxgk_refusal why;
	bool is_refused = last_refusal(&why) > refusals_before && why.status == outcome->status;

	if (outcome->has_wrong_bytes)
		report_content(world, settings, statement, outcome);
	if (outcome->is_wrong)
		return statement_complain(settings, statement, "%s", outcome->note);
	if (!is_status_expected(statement, outcome->status)) {
		char loss[200];
		describe_loss(world, statement, outcome, loss, sizeof(loss));
		if (!is_refused)
			return statement_complain(settings, statement, "%s%s",
						  status_name(outcome->status), loss);
		return statement_complain(settings, statement, "%s: %s: %s (%s)%s",
					  status_name(outcome->status), why.call, why.reason,
					  why.rule, loss);
	}
	if (statement->rule[0] != '\0' && (!is_refused || strcmp(why.rule, statement->rule) != 0))
		return statement_complain(settings, statement, "the rule was %s",
					  is_refused ? why.rule : "none");
	return true;
}

/* Whose process makes the calls of a statement. */
static uint32_t caller_of(const struct world *world, const struct script_statement *statement)
{
	bool is_about_process = statement->verb == VERB_CLIENT || statement->verb == VERB_KILL;

	return statement->name == SCRIPT_NO_NAME || is_about_process
		       ? SCRIPT_NO_NAME
		       : world->script->names[statement->name].client;
}

/* What failed because of something that the script cannot know counts as left out. */
static void excuse(struct world *world, const struct script_statement *statement,
		   struct outcome *outcome)
{
	if (NT_SUCCESS(outcome->status) || statement->name == SCRIPT_NO_NAME ||
	    outcome->is_left_out)
		return;
	if (is_of_killed(world, statement))
		outcome_leave_out(outcome, "its client was killed");
	else if (outcome->status == STATUS_DEVICE_REMOVED &&
		 world_client_of(world, statement->name)->has_gaps)
		outcome_leave_out(outcome, "its client is lost, and work of it was left out");
}

static bool carry_out(struct world *world, const struct run_settings *settings,
		      const struct script_statement *statement)
{
	struct outcome outcome = { .status = STATUS_SUCCESS };
	struct dxgk_refusal before;
	uint64_t refusals_before = last_refusal(&before);
	bool is_good = true;

	if (!leave_out(world, settings, statement, &outcome))
		actions[statement->verb](world, statement, &outcome);
	excuse(world, statement, &outcome);
	if (outcome.is_left_out)
		tell_left_out(settings, statement, &outcome);
	else if (!statement->is_tried || outcome.is_wrong)
		is_good = judge(world, settings, statement, &outcome, refusals_before);
	if (is_good && !outcome.is_left_out)
		show(settings, statement, &outcome);
	if (settings->is_tolerant || statement->is_tried || outcome.is_left_out)
		tolerate(world, statement, &outcome);
	return is_good || settings->is_tolerant;
}

bool statement_run(struct world *world, const struct run_settings *settings,
		   const struct script_statement *statement)
{
	bool is_good;

	atomic_fetch_add(&settings->counts->statements, 1);
	if (statement->verb == VERB_ECHO) {
		echo(settings, statement);
		return true;
	}
	struct dxgk_test_process *before = client_enter(world, caller_of(world, statement));
	is_good = carry_out(world, settings, statement);
	client_leave(world, before);
	/* A client that was destroyed leaves its process as well. */
	if (statement->verb == VERB_DESTROY && !world_thing(world, statement->name)->is_there &&
	    world->script->names[statement->name].kind == SCRIPT_CLIENT)
		client_end_process(world, statement->name);
	return is_good;
}
