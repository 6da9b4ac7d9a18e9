/* SPDX-License-Identifier: MIT */
/*
 * run.c - statements one after the other, again, or at the same time.
 *
 * One thread runs a range of statements; a parallel block has one for each of its branches. The
 * first statement that is not what was expected ends the run: the other branches stop before their
 * next one.
 */
#include <stdio.h>

#include "base/thread.h"
#include "cli/run/run.h"
#include "cli/run/setup.h"

/* One thread's. */
struct run {
	struct world *world;
	const struct run_settings *settings;
	_Atomic bool *is_over; /* something was not as expected; all threads' */
	int *links;            /* to the processes, where there are any */
};

/* ---- one statement ---- */

static bool run_elsewhere(struct run *run, const struct script_statement *statement)
{
	const struct script *script = run->world->script;
	uint32_t client = script->names[statement->name].client;
	bool is_gone;

	if (processes_run(run->settings->processes, run->links, client,
			  (uint32_t)(statement - script->statements), &is_gone))
		return true;
	return is_gone ? statement_complain(run->settings, statement, "the process of %s has ended",
					    script->names[client].text)
		       : false;
}

static bool run_statement(struct run *run, const struct script_statement *statement)
{
	bool is_good = run->links && statement->name != SCRIPT_NO_NAME
			       ? run_elsewhere(run, statement)
			       : statement_run(run->world, run->settings, statement);

	if (!is_good)
		*run->is_over = true;
	return is_good;
}

/* ---- blocks ---- */

static bool run_range(struct run *run, uint32_t first, uint32_t end);

struct branch {
	struct run run;
	uint32_t first;
	uint32_t end;
	struct thread *thread;
	struct dxgk_test_thread *simulated; /* one of the kernel's run, in its place */
};

static void run_branch(void *argument)
{
	struct branch *branch = argument;

	(void)run_range(&branch->run, branch->first, branch->end);
}

/* A thread has links of its own. */
static bool add_branch(const struct run *run, uint32_t first, uint32_t end, struct branch *branch)
{
	*branch = (struct branch){ .run = *run, .first = first, .end = end };
	if (run->links)
		branch->run.links = processes_make_links(run->settings->processes);
	return !run->links || branch->run.links;
}

/* In a simulated run the seed says who goes when, also here. */
static NTSTATUS start_branch(struct branch *branch)
{
	const struct hooks *hooks = &branch->run.world->hooks;

	if (!branch->run.world->is_simulated)
		return thread_create("branch", run_branch, branch, &branch->thread);
	branch->simulated = hooks->thread_create(run_branch, branch);
	return branch->simulated ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static void finish_branch(struct branch *branch)
{
	thread_join(branch->thread);
	if (branch->simulated)
		branch->run.world->hooks.thread_join(branch->simulated);
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
		status = start_branch(&branches[i]);
	if (!NT_SUCCESS(status))
		*run->is_over = true;
	for (uint32_t i = 0; i < count; i++)
		finish_branch(&branches[i]);
	if (!NT_SUCCESS(status))
		return statement_complain(run->settings, &statements[at],
					  "a branch has no thread: %s", status_name(status));
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
	return statement_run(world, settings, &world->script->statements[at]);
}

/* ---- a script as a text ---- */

static void say_not_understood(const struct run_options *options,
			       const struct script_problem *problem, struct run_counts *counts)
{
	snprintf(counts->failure, sizeof(counts->failure), "%u:%u: %s", problem->line,
		 problem->column, problem->text);
	counts->has_failure = true;
	if (!options->is_silent)
		fprintf(stderr, "%s:%s\n", options->path, counts->failure);
}

static bool run_world(const struct script *script, const struct run_options *options,
		      const char *exerciser, struct run_result *result)
{
	const struct run_settings settings = {
		.path = options->path,
		.is_verbose = options->is_verbose,
		.is_silent = options->is_silent,
		.is_tolerant = options->is_tolerant,
		.reports_content = options->reports_content,
		.counts = &result->counts,
	};
	struct world world = { 0 };

	if (!world_open(&world, script, NULL, exerciser)) {
		world_close(&world);
		return false;
	}
	world.proves_work =
		options->proves_work && world.hooks.expect && world.hooks.expect_nothing;
	result->end = run_script(&world, &settings) ? RUN_DONE : RUN_STOPPED;
	world_destroy_all(&world);
	result->calls = world.calls;
	world_close(&world);
	return true;
}

void run_script_text(const char *text, size_t size_bytes, const struct run_options *options,
		     struct run_result *result)
{
	const struct setup setup = { .script_path = options->path,
				     .driver = options->driver,
				     .exerciser = options->exerciser };
	struct script_problem problem;
	struct script script;
	char exerciser[4096];
	NTSTATUS status = script_read(text, size_bytes, &script, &problem);

	*result = (struct run_result){ .end = RUN_NO_MEMORY };
	if (status == STATUS_INVALID_PARAMETER) {
		result->end = RUN_NOT_UNDERSTOOD;
		say_not_understood(options, &problem, &result->counts);
	} else if (NT_SUCCESS(status) && setup_profile(&script, &setup)) {
		bool is_named = setup_exerciser(&script, &setup, exerciser, sizeof(exerciser));
		if (!run_world(&script, options, is_named ? exerciser : NULL, result))
			result->end = RUN_NO_ADAPTER;
	}
	script_finish(&script);
}
