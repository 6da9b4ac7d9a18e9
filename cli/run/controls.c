/* SPDX-License-Identifier: MIT */
/*
 * controls.c - statements about the whole adapter: power, stops and resets, limits and switches of a tester, time.
 *
 * What has an escape (docs/control.md) is one, by the program's own process, which is a controller of its kernel; the rest
 * are hooks of the kernel (<opendxgk/testing.h>), which a server does not have.
 */
#include <stdio.h>

#include "base/clock.h"
#include "cli/run/world.h"
#include "cli/verifier_options.h"

/* ---- escapes ---- */

static NTSTATUS escape(struct world *world, D3DKMT_HANDLE adapter, D3DKMT_ESCAPETYPE type,
		       void *data, uint32_t size_bytes)
{
	D3DKMT_ESCAPE args = { .hAdapter = adapter,
			       .Type = type,
			       .pPrivateDriverData = data,
			       .PrivateDriverDataSize = size_bytes };

	return CALL(world, D3DKMTEscape(&args));
}

static NTSTATUS vidmm(struct world *world, D3DKMT_VIDMM_ESCAPE *args)
{
	return escape(world, world->adapter, D3DKMT_ESCAPE_VIDMM, args, sizeof(*args));
}

static uint32_t count_segments(struct world *world)
{
	D3DKMT_QUERYSTATISTICS args = { .Type = D3DKMT_QUERYSTATISTICS_ADAPTER,
					.AdapterLuid = world->luid };

	if (!NT_SUCCESS(CALL(world, D3DKMTQueryStatistics(&args))))
		return 0;
	return args.QueryResult.AdapterInformation.NbSegments;
}

/* Segments that cannot be put in order refuse it; that a driver fails to is something else. */
static NTSTATUS defragment(struct world *world)
{
	uint32_t count = count_segments(world);
	NTSTATUS status = STATUS_SUCCESS;

	for (uint32_t i = 1; i <= count && NT_SUCCESS(status); i++) {
		D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_DEFRAG };

		args.Defrag.Operation = D3DKMT_DEFRAG_ESCAPE_DEFRAG_PASS;
		args.Defrag.SegmentId = i;
		status = vidmm(world, &args);
		if (status == STATUS_INVALID_PARAMETER || status == STATUS_NOT_SUPPORTED)
			status = STATUS_SUCCESS;
	}
	return status;
}

static NTSTATUS evict_all(struct world *world)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	return vidmm(world, &args);
}

static NTSTATUS reset(struct world *world, const struct script_statement *statement)
{
	D3DKMT_TDRDBGCTRL_ESCAPE args = { .TdrControl = D3DKMT_TDRDBGCTRLTYPE_FORCETDR };

	if (statement->choice != 0) {
		args.TdrControl = D3DKMT_TDRDBGCTRLTYPE_ENGINETDR;
		args.NodeOrdinal = (ULONG)statement->number;
	}
	return escape(world, world->adapter, D3DKMT_ESCAPE_TDRDBGCTRL, &args, sizeof(args));
}

/* ---- limits and switches ---- */

static NTSTATUS budget(struct world *world, const struct script_statement *statement)
{
	D3DKMT_PROCESS_VERIFIER_OPTION args = {
		.Type = D3DKMT_PROCESS_VERIFIER_OPTION_VIDMM_RESTRICT_BUDGET,
		.Mode = D3DKMT_VERIFIER_OPTION_SET,
	};
	struct thing *client = world_thing(world, statement->name);

	args.Data.VidMmRestrictBudget.LocalBudget = statement->number;
	args.Data.VidMmRestrictBudget.NonLocalBudget = UINT64_MAX;
	return escape(world, client_adapter(world, client), D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION,
		      &args, sizeof(args));
}

static NTSTATUS switch_adapter(struct world *world, uint32_t flag, bool is_on)
{
	const D3DKMT_ESCAPETYPE type = D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION;
	D3DKMT_ADAPTER_VERIFIER_OPTION args = { .Type = D3DKMT_ADAPTER_VERIFIER_OPTION_VIDMM_FLAGS,
						.Mode = D3DKMT_VERIFIER_OPTION_QUERY };
	NTSTATUS status = escape(world, world->adapter, type, &args, sizeof(args));

	if (!NT_SUCCESS(status))
		return status;
	args.Mode = D3DKMT_VERIFIER_OPTION_SET;
	args.Data.VidMmFlags.Value = (args.Data.VidMmFlags.Value & ~flag) | (is_on ? flag : 0);
	return escape(world, world->adapter, type, &args, sizeof(args));
}

static NTSTATUS switch_process(struct world *world, uint32_t flag, bool is_on)
{
	const D3DKMT_ESCAPETYPE type = D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION;
	D3DKMT_PROCESS_VERIFIER_OPTION args = { .Type = D3DKMT_PROCESS_VERIFIER_OPTION_VIDMM_FLAGS,
						.Mode = D3DKMT_VERIFIER_OPTION_QUERY };
	NTSTATUS status = escape(world, world->adapter, type, &args, sizeof(args));

	if (!NT_SUCCESS(status))
		return status;
	args.Mode = D3DKMT_VERIFIER_OPTION_SET;
	args.Data.VidMmFlags.Value = (args.Data.VidMmFlags.Value & ~flag) | (is_on ? flag : 0);
	return escape(world, world->adapter, type, &args, sizeof(args));
}

static NTSTATUS verifier(struct world *world, const struct script_statement *statement)
{
	const struct verifier_option *option = &verifier_options[statement->choice];
	bool is_on = statement->number != 0;

	return option->process.Value != 0 ? switch_process(world, option->process.Value, is_on)
					  : switch_adapter(world, option->adapter.Value, is_on);
}

/* ---- hooks ---- */

static void leave_out_hook(struct outcome *outcome)
{
	outcome_leave_out(outcome, "the kernel is not in this program");
}

/* Soon: a thread of the kernel may be about to let go of something. */
static void validate(struct world *world, struct outcome *outcome)
{
	enum { LOOKS = 1000 };

	if (!world->hooks.validate) {
		leave_out_hook(outcome);
		return;
	}
	for (int i = 0; i < LOOKS; i++) {
		if (world->hooks.validate(outcome->note, sizeof(outcome->note))) {
			outcome->note[0] = '\0';
			return;
		}
		world_sleep(world, NS_PER_MS);
	}
	outcome->is_wrong = true;
}

static void remove_adapter(struct world *world, const struct script_statement *statement,
			   struct outcome *outcome)
{
	if (!world->hooks.remove_adapter)
		leave_out_hook(outcome);
	else if (!world->hooks.remove_adapter(world->luid.LowPart, world->luid.HighPart,
					      (statement->options & OPTION_SURPRISE) != 0))
		outcome->status = STATUS_NO_SUCH_DEVICE;
}

static void set_power(struct world *world, const struct script_statement *statement,
		      struct outcome *outcome)
{
	if (!world->hooks.power)
		leave_out_hook(outcome);
	else
		outcome->status = world->hooks.power(world->luid.LowPart, world->luid.HighPart,
						     statement->choice);
	if (!outcome->is_left_out && NT_SUCCESS(outcome->status))
		world->is_asleep = statement->choice != 0;
}

static void ask_adapter(struct world *world, int (*hook)(unsigned luid_low, int luid_high),
			struct outcome *outcome)
{
	if (!hook)
		leave_out_hook(outcome);
	else
		outcome->status = hook(world->luid.LowPart, world->luid.HighPart);
}

/* ---- the statements ---- */

static void do_escape(struct world *world, const struct script_statement *statement,
		      struct outcome *outcome)
{
	if (statement->verb == VERB_BUDGET)
		outcome->status = budget(world, statement);
	else if (statement->verb == VERB_VERIFIER)
		outcome->status = verifier(world, statement);
	else if (statement->verb == VERB_EVICT_ALL)
		outcome->status = evict_all(world);
	else if (statement->verb == VERB_DEFRAGMENT)
		outcome->status = defragment(world);
	else if (statement->verb == VERB_RESET)
		outcome->status = reset(world, statement);
}

void control_do(struct world *world, const struct script_statement *statement,
		struct outcome *outcome)
{
	if (statement->verb == VERB_SLEEP)
		world_sleep(world, statement->number * NS_PER_US);
	else if (statement->verb == VERB_VALIDATE)
		validate(world, outcome);
	else if (statement->verb == VERB_REMOVE)
		remove_adapter(world, statement, outcome);
	else if (statement->verb == VERB_POWER)
		set_power(world, statement, outcome);
	else if (statement->verb == VERB_RESET_DEVICE)
		ask_adapter(world, world->hooks.reset_device, outcome);
	else if (statement->verb == VERB_COLLECT)
		ask_adapter(world, world->hooks.collect_debug_info, outcome);
	else
		do_escape(world, statement, outcome);
}
