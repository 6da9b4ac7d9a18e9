/* SPDX-License-Identifier: MIT */
/*
 * ctl_options.c - dxgk ctl: the verifier's options that concern memory.
 *
 * Flags are one word for each kind: a verb that turns one on or off asks for the word, changes its
 * bit and sets it.
 */
#include <stdio.h>
#include <string.h>

#include <dxg/d3dkmthk.h>

#include "cli/ctl.h"
#include "cli/verifier_options.h"

/* ---- flags ---- */

static bool parse_switch(const char *text, bool *is_on_out)
{
	*is_on_out = strcmp(text, "on") == 0;
	return *is_on_out || strcmp(text, "off") == 0;
}

static int change_adapter(const struct control_client *client, const char *what, uint32_t clear,
			  uint32_t set)
{
	D3DKMT_ADAPTER_VERIFIER_OPTION args = { .Type = D3DKMT_ADAPTER_VERIFIER_OPTION_VIDMM_FLAGS,
						.Mode = D3DKMT_VERIFIER_OPTION_QUERY };

	if (!ctl_escape(client, what, D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION, &args, sizeof(args)))
		return CTL_FAILED;
	args.Mode = D3DKMT_VERIFIER_OPTION_SET;
	args.Data.VidMmFlags.Value = (args.Data.VidMmFlags.Value & ~clear) | set;
	return ctl_escape(client, what, D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION, &args, sizeof(args))
		       ? 0
		       : CTL_FAILED;
}

static int change_process(const struct control_client *client, const char *what, uint32_t flag,
			  const char *text)
{
	D3DKMT_PROCESS_VERIFIER_OPTION args = { .Type = D3DKMT_PROCESS_VERIFIER_OPTION_VIDMM_FLAGS,
						.Mode = D3DKMT_VERIFIER_OPTION_QUERY };
	bool is_on;

	if (!parse_switch(text, &is_on))
		return ctl_complain(what, text);
	if (ctl_is_of_many(client, what) ||
	    !ctl_escape(client, what, D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION, &args, sizeof(args)))
		return CTL_FAILED;
	args.Mode = D3DKMT_VERIFIER_OPTION_SET;
	args.Data.VidMmFlags.Value = (args.Data.VidMmFlags.Value & ~flag) | (is_on ? flag : 0);
	return ctl_escape(client, what, D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION, &args, sizeof(args))
		       ? 0
		       : CTL_FAILED;
}

int ctl_offers(const struct control_client *client, char **arguments)
{
	D3DKMT_ADAPTER_VERIFIER_VIDMM_FLAGS always = { .AlwaysDiscardOffer = 1 };
	D3DKMT_ADAPTER_VERIFIER_VIDMM_FLAGS never = { .NeverDiscardOffer = 1 };
	uint32_t set = 0;

	if (strcmp(arguments[0], "always") == 0)
		set = always.Value;
	else if (strcmp(arguments[0], "never") == 0)
		set = never.Value;
	else if (strcmp(arguments[0], "default") != 0)
		return ctl_complain("offers", arguments[0]);
	return change_adapter(client, "offers", always.Value | never.Value, set);
}

int ctl_sync_evict(const struct control_client *client, char **arguments)
{
	D3DKMT_PROCESS_VERIFIER_VIDMM_FLAGS flag = { .ForceSynchronousEvict = 1 };

	return change_process(client, "sync-evict", flag.Value, arguments[0]);
}

int ctl_fail_reclaim(const struct control_client *client, char **arguments)
{
	D3DKMT_PROCESS_VERIFIER_VIDMM_FLAGS flag = { .AlwaysFailCommitOnReclaim = 1 };

	return change_process(client, "fail-reclaim", flag.Value, arguments[0]);
}

int ctl_option(const struct control_client *client, char **arguments)
{
	uint32_t index;
	bool is_on;

	if (!verifier_option_find(arguments[0], strlen(arguments[0]), &index))
		return ctl_complain("option", arguments[0]);
	const struct verifier_option *option = &verifier_options[index];
	if (option->process.Value != 0)
		return change_process(client, "option", option->process.Value, arguments[1]);
	if (!parse_switch(arguments[1], &is_on))
		return ctl_complain("option", arguments[1]);
	return change_adapter(client, "option", option->adapter.Value,
			      is_on ? option->adapter.Value : 0);
}

/* ---- numbers ---- */

int ctl_restrict(const struct control_client *client, char **arguments)
{
	D3DKMT_PROCESS_VERIFIER_OPTION args = {
		.Type = D3DKMT_PROCESS_VERIFIER_OPTION_VIDMM_RESTRICT_BUDGET,
		.Mode = D3DKMT_VERIFIER_OPTION_SET,
	};
	uint64_t limits[2];

	for (int i = 0; i < 2; i++) {
		if (!ctl_limit(arguments[i], &limits[i]))
			return ctl_complain("restrict", arguments[i]);
	}
	args.Data.VidMmRestrictBudget.LocalBudget = limits[0];
	args.Data.VidMmRestrictBudget.NonLocalBudget = limits[1];
	return ctl_escape(client, "restrict", D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION, &args,
			  sizeof(args))
		       ? 0
		       : CTL_FAILED;
}

int ctl_intervals(const struct control_client *client, char **arguments)
{
	enum { UNITS_PER_MS = 10000 }; /* of 100 ns */
	D3DKMT_ADAPTER_VERIFIER_OPTION args = {
		.Type = D3DKMT_ADAPTER_VERIFIER_OPTION_VIDMM_TRIM_INTERVAL,
		.Mode = D3DKMT_VERIFIER_OPTION_SET,
	};
	uint64_t units[3];

	for (int i = 0; i < 3; i++) {
		if (!ctl_limit(arguments[i], &units[i]))
			return ctl_complain("intervals", arguments[i]);
		units[i] =
			units[i] > UINT64_MAX / UNITS_PER_MS ? UINT64_MAX : units[i] * UNITS_PER_MS;
	}
	args.Data.VidMmTrimInterval.MinimumTrimInterval = units[0];
	args.Data.VidMmTrimInterval.MaximumTrimInterval = units[1];
	args.Data.VidMmTrimInterval.IdleTrimInterval = units[2];
	return ctl_escape(client, "intervals", D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION, &args,
			  sizeof(args))
		       ? 0
		       : CTL_FAILED;
}
