/* SPDX-License-Identifier: MIT */
/*
 * verifier_escape.c - the verifier's options that concern memory: of an adapter, and of a process.
 *
 * A set replaces all options of its kind; a query answers with what is set. Of a client's word each
 * bit has one of ours (vidmm/control.h), or cannot be set and says so.
 */
#include <string.h>

#include "base/clock.h"
#include "base/refusal.h"
#include "dispatch/escapes.h"
#include "dispatch/rights.h"
#include "object/owner/control.h"

/* A client's bit and ours. */
struct option {
	uint32_t theirs;
	uint32_t ours;
};

/* By the order of the bits in D3DKMT_ADAPTER_VERIFIER_VIDMM_FLAGS. */
enum {
	ALWAYS_DISCARD_OFFER = 1 << 3,
	NEVER_DISCARD_OFFER = 1 << 4,
	NO_DEMOTION = 1 << 13,
	FAIL_DEFRAG_PASS = 1 << 14,
	ALWAYS_DECOMMIT_OFFER = 1 << 16,
	NEVER_MOVE_DEFRAG = 1 << 17,
	ADAPTER_FLAGS_KNOWN = 0x000fffff,
};

static const struct option adapter_options[] = {
	{ ALWAYS_DISCARD_OFFER, VIDMM_ALWAYS_DISCARD_OFFERS },
	{ NEVER_DISCARD_OFFER, VIDMM_NEVER_DISCARD_OFFERS },
	{ NO_DEMOTION, VIDMM_NO_DEMOTION },
	{ FAIL_DEFRAG_PASS, VIDMM_FAIL_DEFRAG },
	{ ALWAYS_DECOMMIT_OFFER, VIDMM_ALWAYS_DECOMMIT_OFFERS },
	{ NEVER_MOVE_DEFRAG, VIDMM_NEVER_MOVE_TO_DEFRAG },
};

/* D3DKMT_PROCESS_VERIFIER_VIDMM_FLAGS, all of which there are. */
enum { PROCESS_FLAGS_KNOWN = 0x0000000f };

static const struct option process_options[] = {
	{ 1 << 0, VIDMM_EVICT_SYNCHRONOUSLY },
	{ 1 << 1, VIDMM_NEVER_DEFER_EVICTIONS },
	{ 1 << 2, VIDMM_FAIL_COMMIT_ON_RECLAIM },
	{ 1 << 3, VIDMM_ALWAYS_DEMOTE },
};

static uint32_t options_of(const struct option *options, size_t count, uint32_t theirs)
{
	uint32_t ours = 0;

	for (size_t i = 0; i < count; i++)
		ours |= theirs & options[i].theirs ? options[i].ours : 0;
	return ours;
}

static uint32_t flags_of(const struct option *options, size_t count, uint32_t ours)
{
	uint32_t theirs = 0;

	for (size_t i = 0; i < count; i++)
		theirs |= ours & options[i].ours ? options[i].theirs : 0;
	return theirs;
}

static NTSTATUS check_flags(const struct option *options, size_t count, uint32_t known,
			    uint32_t flags)
{
	uint32_t built = flags_of(options, count, UINT32_MAX);

	if (flags & ~known)
		return call_refuse_bits("VidMmFlags", NULL, flags & ~known);
	if (flags & ~built)
		return refuse(
			STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "VidMmFlags",
			"has 0x%x, which concerns displays, protected memory or swizzling, which "
			"are not built, or patching and split points, which are not asked for here",
			flags & ~built);
	return STATUS_SUCCESS;
}

static NTSTATUS check_mode(D3DKMT_VERIFIER_OPTION_MODE mode)
{
	if (mode != D3DKMT_VERIFIER_OPTION_QUERY && mode != D3DKMT_VERIFIER_OPTION_SET)
		return invalid(RULE_API_VALUE, "Mode", "is %u, not 0 (query) or 1 (set)",
			       (unsigned)mode);
	return STATUS_SUCCESS;
}

/* ---- the adapter's ---- */

static NTSTATUS adapter_flags(const struct escape *escape, D3DKMT_ADAPTER_VERIFIER_OPTION *args)
{
	struct vidmm *memory = escape->adapter->memory;
	uint32_t flags = args->Data.VidMmFlags.Value;

	if (args->Mode == D3DKMT_VERIFIER_OPTION_QUERY) {
		args->Data.VidMmFlags.Value = flags_of(adapter_options, ARRAY_SIZE(adapter_options),
						       vidmm_options(memory));
		return STATUS_SUCCESS;
	}
	NTSTATUS status = check_flags(adapter_options, ARRAY_SIZE(adapter_options),
				      ADAPTER_FLAGS_KNOWN, flags);
	if (!NT_SUCCESS(status))
		return status;
	if ((flags & ALWAYS_DISCARD_OFFER) && (flags & NEVER_DISCARD_OFFER))
		return invalid(RULE_MM_CONTROL, "VidMmFlags",
			       "asks for offers to be discarded always and never");
	vidmm_set_options(memory, options_of(adapter_options, ARRAY_SIZE(adapter_options), flags));
	return STATUS_SUCCESS;
}

/* ---- intervals between trims ---- */

enum { NS_PER_UNIT = 100 };

/* All ones is never. */
static uint64_t units_to_ns(uint64_t units)
{
	return units < CLOCK_FOREVER / NS_PER_UNIT ? units * NS_PER_UNIT : CLOCK_FOREVER;
}

static uint64_t ns_to_units(uint64_t ns)
{
	return ns == CLOCK_FOREVER ? UINT64_MAX : ns / NS_PER_UNIT;
}

static NTSTATUS check_interval(const char *name, uint64_t units)
{
	if (units == 0)
		return invalid(RULE_API_VALUE, name, "is 0");
	return STATUS_SUCCESS;
}

NTSTATUS escape_set_trim_intervals(const struct escape *escape, const struct trim_units *units)
{
	NTSTATUS status = check_interval(units->shortest.name, units->shortest.units);

	if (NT_SUCCESS(status))
		status = check_interval(units->longest.name, units->longest.units);
	if (NT_SUCCESS(status))
		status = check_interval(units->idle.name, units->idle.units);
	if (!NT_SUCCESS(status))
		return status;
	if (units->shortest.units > units->longest.units)
		return invalid(RULE_API_VALUE, units->longest.name,
			       "is %llu, below the shortest interval of %llu",
			       (unsigned long long)units->longest.units,
			       (unsigned long long)units->shortest.units);
	const struct vidmm_trim_intervals intervals = {
		.shortest_ns = units_to_ns(units->shortest.units),
		.longest_ns = units_to_ns(units->longest.units),
		.idle_ns = units_to_ns(units->idle.units),
	};
	vidmm_set_trim_intervals(escape->adapter->memory, &intervals);
	return STATUS_SUCCESS;
}

static NTSTATUS adapter_trim_interval(const struct escape *escape,
				      D3DKMT_ADAPTER_VERIFIER_OPTION *args)
{
	D3DKMT_ADAPTER_VERIFIER_VIDMM_TRIM_INTERVAL *data = &args->Data.VidMmTrimInterval;
	const struct trim_units units = {
		.shortest = { "VidMmTrimInterval.MinimumTrimInterval", data->MinimumTrimInterval },
		.longest = { "VidMmTrimInterval.MaximumTrimInterval", data->MaximumTrimInterval },
		.idle = { "VidMmTrimInterval.IdleTrimInterval", data->IdleTrimInterval },
	};

	if (args->Mode == D3DKMT_VERIFIER_OPTION_SET)
		return escape_set_trim_intervals(escape, &units);
	struct vidmm_trim_intervals found = vidmm_trim_intervals(escape->adapter->memory);
	data->MinimumTrimInterval = ns_to_units(found.shortest_ns);
	data->MaximumTrimInterval = ns_to_units(found.longest_ns);
	data->IdleTrimInterval = ns_to_units(found.idle_ns);
	return STATUS_SUCCESS;
}

NTSTATUS escape_adapter_verifier(const struct escape *escape)
{
	D3DKMT_ADAPTER_VERIFIER_OPTION args;
	NTSTATUS status =
		escape_read(escape, "D3DKMT_ADAPTER_VERIFIER_OPTION", &args, sizeof(args));

	if (NT_SUCCESS(status))
		status = check_mode(args.Mode);
	if (NT_SUCCESS(status) && args.Mode == D3DKMT_VERIFIER_OPTION_SET)
		status = call_check_controller(escape->call, "Mode",
					       "sets options of the adapter, which others use");
	if (!NT_SUCCESS(status))
		return status;
	if (args.Type == D3DKMT_ADAPTER_VERIFIER_OPTION_VIDMM_FLAGS)
		status = adapter_flags(escape, &args);
	else if (args.Type == D3DKMT_ADAPTER_VERIFIER_OPTION_VIDMM_TRIM_INTERVAL)
		status = adapter_trim_interval(escape, &args);
	else
		status = invalid(RULE_API_VALUE, "Type", "is %u, not 1000 or 1001",
				 (unsigned)args.Type);
	if (NT_SUCCESS(status))
		memcpy(escape->data, &args, sizeof(args));
	return status;
}

/* ---- a process's ---- */

static NTSTATUS process_flags(struct vidmm_process *process, D3DKMT_PROCESS_VERIFIER_OPTION *args)
{
	uint32_t flags = args->Data.VidMmFlags.Value;

	if (args->Mode == D3DKMT_VERIFIER_OPTION_QUERY) {
		args->Data.VidMmFlags.Value = flags_of(process_options, ARRAY_SIZE(process_options),
						       vidmm_process_options(process));
		return STATUS_SUCCESS;
	}
	NTSTATUS status = check_flags(process_options, ARRAY_SIZE(process_options),
				      PROCESS_FLAGS_KNOWN, flags);
	if (NT_SUCCESS(status))
		vidmm_process_set_options(
			process, options_of(process_options, ARRAY_SIZE(process_options), flags));
	return status;
}

static void process_budget(struct vidmm_process *process, D3DKMT_PROCESS_VERIFIER_OPTION *args)
{
	D3DKMT_PROCESS_VERIFIER_VIDMM_RESTRICT_BUDGET *budget = &args->Data.VidMmRestrictBudget;
	struct vidmm_budget_limits limits = {
		.bytes = { [VIDMM_LOCAL] = budget->LocalBudget,
			   [VIDMM_NON_LOCAL] = budget->NonLocalBudget },
	};

	if (args->Mode == D3DKMT_VERIFIER_OPTION_SET)
		vidmm_process_set_budget_limits(process, &limits);
	else
		limits = vidmm_process_budget_limits(process);
	budget->LocalBudget = limits.bytes[VIDMM_LOCAL];
	budget->NonLocalBudget = limits.bytes[VIDMM_NON_LOCAL];
}

NTSTATUS escape_process_verifier(const struct escape *escape)
{
	D3DKMT_PROCESS_VERIFIER_OPTION args;
	struct vidmm_process *process;
	NTSTATUS status =
		escape_read(escape, "D3DKMT_PROCESS_VERIFIER_OPTION", &args, sizeof(args));

	if (NT_SUCCESS(status))
		status = check_mode(args.Mode);
	if (NT_SUCCESS(status))
		status = escape_find_process(escape, args.hProcess, &process);
	if (!NT_SUCCESS(status))
		return status;
	if (args.Type == D3DKMT_PROCESS_VERIFIER_OPTION_VIDMM_FLAGS)
		status = process_flags(process, &args);
	else if (args.Type == D3DKMT_PROCESS_VERIFIER_OPTION_VIDMM_RESTRICT_BUDGET)
		process_budget(process, &args);
	else
		status = invalid(RULE_API_VALUE, "Type", "is %u, not 1000 or 1001",
				 (unsigned)args.Type);
	if (NT_SUCCESS(status))
		memcpy(escape->data, &args, sizeof(args));
	return status;
}
