/* SPDX-License-Identifier: MIT */
/*
 * run.c - statements one after the other, again, or at the same time.
 *
 * One thread runs a range of statements; a parallel block has one for each of its branches. The
 * first statement that is not what was expected ends the run: the other branches stop before their
 * next one.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <opendxgk/refusal.h>

#include "base/thread.h"
#include "cli/run/run.h"

/* One thread's. */
struct run {
	struct world *world;
	const struct run_settings *settings;
	_Atomic bool *is_over; /* something was not as expected; all threads' */
	int *links;            /* to the processes, where there are any */
};

/* ---- one statement ---- */

static NTSTATUS create(struct world *world, const struct script_statement *statement)
{
	if (statement->verb == VERB_CLIENT)
		return world_create_client(world, statement);
	if (statement->verb == VERB_CONTEXT)
		return world_create_context(world, statement);
	if (statement->verb == VERB_ALLOCATE)
		return world_create_allocation(world, statement);
	if (statement->verb == VERB_OPEN)
		return world_open_fence(world, statement);
	return world_create_fence(world, statement);
}

static void do_create(struct world *world, const struct script_statement *statement,
		      struct outcome *outcome)
{
	if (!world_thing(world, statement->name)->is_there) {
		outcome->status = create(world, statement);
		return;
	}
	outcome->is_wrong = true;
	outcome_note(outcome, "there is one already; destroy it before it is made again");
}

static void do_destroy(struct world *world, const struct script_statement *statement,
		       struct outcome *outcome)
{
	outcome->status = world_destroy(world, statement->name);
}

static void (*const actions[])(struct world *world, const struct script_statement *statement,
			       struct outcome *outcome) = {
	[VERB_CLIENT] = do_create,
	[VERB_CONTEXT] = do_create,
	[VERB_ALLOCATE] = do_create,
	[VERB_FENCE] = do_create,
	[VERB_OPEN] = do_create,
	[VERB_DESTROY] = do_destroy,
	[VERB_MAP] = memory_do_map,
	[VERB_UNMAP] = memory_do_unmap,
	[VERB_RESIDENT] = memory_do_resident,
	[VERB_EVICT] = memory_do_evict,
	[VERB_OFFER] = memory_do_offer,
	[VERB_RECLAIM] = memory_do_reclaim,
	[VERB_WHERE] = memory_do_where,
	[VERB_WRITE] = memory_do_write,
	[VERB_CHECK] = memory_do_check,
	[VERB_SUBMIT] = queue_do_submit,
	[VERB_PRIORITY] = queue_do_priority,
	[VERB_SIGNAL] = queue_do_signal,
	[VERB_WAIT] = queue_do_wait,
	[VERB_STATE] = queue_do_state,
};

static uint64_t last_refusal(struct dxgk_refusal *refusal)
{
	*refusal = (struct dxgk_refusal){ .size_bytes = sizeof(*refusal) };
	return DxgkLastRefusal(refusal) ? refusal->sequence : 0;
}

/* A status stands for success when none is expected. */
static bool is_status_expected(const struct script_statement *statement, NTSTATUS status)
{
	return statement->has_expectation ? status == statement->expected : NT_SUCCESS(status);
}

static bool complain(const struct run *run, const struct script_statement *statement,
		     const char *format, ...) PRINTF_LIKE(3, 4);

static bool complain(const struct run *run, const struct script_statement *statement,
		     const char *format, ...)
{
	char text[640];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fprintf(stderr, "%s:%u: %s: %s\n", run->settings->path, statement->line, statement->text,
		text);
	return false;
}

/* Who lost a device wants to know how: ", alice: hung". */
static void describe_loss(const struct run *run, const struct script_statement *statement,
			  const struct outcome *outcome, char *text, size_t size_bytes)
{
	struct outcome state = { .status = STATUS_SUCCESS };
	struct script_statement question = { .verb = VERB_STATE };

	text[0] = '\0';
	if (outcome->status != STATUS_DEVICE_REMOVED)
		return;
	question.name = run->world->script->names[statement->name].client;
	queue_do_state(run->world, &question, &state);
	if (NT_SUCCESS(state.status))
		snprintf(text, size_bytes, "; %s", state.note);
}

static bool judge(const struct run *run, const struct script_statement *statement,
		  const struct outcome *outcome, uint64_t refusals_before)
{
	struct dxgk_refusal why;
	bool is_refused = last_refusal(&why) > refusals_before && why.status == outcome->status;

	if (outcome->is_wrong)
		return complain(run, statement, "%s", outcome->note);
	if (!is_status_expected(statement, outcome->status)) {
		char loss[200];
		describe_loss(run, statement, outcome, loss, sizeof(loss));
		if (!is_refused)
			return complain(run, statement, "%s%s", status_name(outcome->status), loss);
		return complain(run, statement, "%s: %s: %s (%s)%s", status_name(outcome->status),
				why.call, why.reason, why.rule, loss);
	}
	if (statement->rule[0] != '\0' && (!is_refused || strcmp(why.rule, statement->rule) != 0))
		return complain(run, statement, "the rule was %s", is_refused ? why.rule : "none");
	return true;
}

static void show(const struct run *run, const struct script_statement *statement,
		 const struct outcome *outcome)
{
	if (run->settings->is_verbose)
		printf("%u: %s -> %s%s%s\n", statement->line, statement->text,
		       status_name(outcome->status), outcome->note[0] ? ", " : "", outcome->note);
	else if (outcome->is_shown)
		printf("%s\n", outcome->note);
}

static bool run_elsewhere(struct run *run, const struct script_statement *statement)
{
	const struct script *script = run->world->script;
	uint32_t client = script->names[statement->name].client;
	bool is_gone;

	if (processes_run(run->settings->processes, run->links, client,
			  (uint32_t)(statement - script->statements), &is_gone))
		return true;
	*run->is_over = true;
	return is_gone ? complain(run, statement, "the process of %s has ended",
				  script->names[client].text)
		       : false;
}

static bool run_statement(struct run *run, const struct script_statement *statement)
{
	struct outcome outcome = { .status = STATUS_SUCCESS };
	struct dxgk_refusal before;
	uint64_t refusals_before;

	if (statement->verb == VERB_ECHO) {
		const char *text = statement->text + strlen("echo");
		printf("%s\n", *text ? text + 1 : text);
		fflush(stdout);
		return true;
	}
	if (run->links)
		return run_elsewhere(run, statement);
	refusals_before = last_refusal(&before);
	actions[statement->verb](run->world, statement, &outcome);
	if (!judge(run, statement, &outcome, refusals_before)) {
		*run->is_over = true;
		return false;
	}
	show(run, statement, &outcome);
	return true;
}

/* ---- blocks ---- */

static bool run_range(struct run *run, uint32_t first, uint32_t end);

struct branch {
	struct run run;
	uint32_t first;
	uint32_t end;
	struct thread *thread;
};

static void run_branch(void *argument)
{
	struct branch *branch = argument;

	(void)run_range(&branch->run, branch->first, branch->end);
}

/* A thread has links of its own. */
static bool add_branch(const struct run *run, uint32_t first, uint32_t end, struct branch *branch)
{
	*branch = (struct branch){ *run, first, end, NULL };
	if (run->links)
		branch->run.links = processes_make_links(run->settings->processes);
	return !run->links || branch->run.links;
}

static void finish_branch(struct branch *branch)
{
	thread_join(branch->thread);
	if (branch->run.links)
		processes_close_links(branch->run.settings->processes, branch->run.links);
}

/* Where the block ends is where the last `and` says. */
static bool run_parallel(struct run *run, uint32_t at, uint32_t *end_out)
{
	const struct script_statement *statements = run->world->script->statements;
	struct branch branches[SCRIPT_BRANCHES_MAX];
	uint32_t count = 0;
	NTSTATUS status = STATUS_SUCCESS;

	for (; statements[at].verb != VERB_END; at = statements[at].next)
		if (!add_branch(run, at + 1, statements[at].next, &branches[count++]))
			status = STATUS_NO_MEMORY;
	*end_out = at;
	for (uint32_t i = 0; i < count && NT_SUCCESS(status); i++)
		status = thread_create("branch", run_branch, &branches[i], &branches[i].thread);
	if (!NT_SUCCESS(status))
		*run->is_over = true;
	for (uint32_t i = 0; i < count; i++)
		finish_branch(&branches[i]);
	if (!NT_SUCCESS(status))
		return complain(run, &statements[at], "a branch has no thread: %s",
				status_name(status));
	return !*run->is_over;
}

static bool run_repeat(struct run *run, uint32_t at)
{
	const struct script_statement *statement = &run->world->script->statements[at];

	for (uint64_t i = 0; i < statement->number; i++) {
		if (!run_range(run, at + 1, statement->next))
			return false;
	}
	return true;
}

static bool run_range(struct run *run, uint32_t first, uint32_t end)
{
	const struct script_statement *statements = run->world->script->statements;

	for (uint32_t at = first; at < end; at++) {
		enum script_verb verb = statements[at].verb;
		bool is_good;
		if (*run->is_over)
			return false;
		if (verb == VERB_PARALLEL) {
			is_good = run_parallel(run, at, &at);
		} else if (verb == VERB_REPEAT) {
			is_good = run_repeat(run, at);
			at = statements[at].next;
		} else {
			is_good = run_statement(run, &statements[at]);
		}
		if (!is_good)
			return false;
	}
	return true;
}

bool run_script(struct world *world, const struct run_settings *settings)
{
	_Atomic bool is_over = false;
	struct run run = { .world = world, .settings = settings, .is_over = &is_over };
	bool is_good;

	if (settings->processes && !(run.links = processes_make_links(settings->processes))) {
		fprintf(stderr, "dxgk run: no memory\n");
		return false;
	}
	is_good = run_range(&run, 0, world->script->statement_count);
	if (run.links)
		processes_close_links(settings->processes, run.links);
	return is_good;
}

bool run_in_process(void *settings, struct world *world, uint32_t at)
{
	_Atomic bool is_over = false;
	struct run run = { .world = world, .settings = settings, .is_over = &is_over };

	return run_statement(&run, &world->script->statements[at]);
}
