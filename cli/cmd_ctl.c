/* SPDX-License-Identifier: MIT */
/*
 * cmd_ctl.c - dxgk ctl: controls of a running kernel, each an escape over a socket: the server's, or that of a
 * program with a kernel of its own.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dxg/d3dkmthk.h>

#include "base/status.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/ctl.h"
#include "cli/live/target.h"

/* ---- for the verbs ---- */

bool ctl_escape(const struct control_client *client, const char *what, uint32_t type, void *data,
		uint32_t size_bytes)
{
	struct control_reply reply;

	if (!control_ask(client, CONTROL_ESCAPE, type, data, size_bytes, &reply))
		return false;
	if (!NT_SUCCESS(reply.status))
		control_print_refusal(client, what, &reply);
	return NT_SUCCESS(reply.status);
}

static bool vidmm(const struct control_client *client, const char *what, D3DKMT_VIDMM_ESCAPE *args)
{
	return ctl_escape(client, what, D3DKMT_ESCAPE_VIDMM, args, sizeof(*args));
}

static unsigned shift_of(const char *suffix)
{
	static const char suffixes[] = "KMG";
	const char *found = *suffix ? strchr(suffixes, *suffix) : NULL;

	return found && suffix[1] == '\0' ? 10 * (unsigned)(found - suffixes + 1) : 0;
}

bool ctl_number(const char *text, uint64_t *number_out)
{
	const char *end;

	if (!text_read_number(text, number_out, &end))
		return false;
	unsigned shift = shift_of(end);
	if ((*end != '\0' && shift == 0) || *number_out > UINT64_MAX >> shift)
		return false;
	*number_out <<= shift;
	return true;
}

/* "none": no limit. */
bool ctl_limit(const char *text, uint64_t *limit_out)
{
	*limit_out = UINT64_MAX;
	return strcmp(text, "none") == 0 || ctl_number(text, limit_out);
}

bool ctl_is_of_many(const struct control_client *client, const char *what)
{
	if (client->is_server)
		fprintf(stderr,
			"dxgk ctl: %s: is about one program, which asks for it itself; a server "
			"has many\n",
			what);
	return client->is_server;
}

int ctl_complain(const char *what, const char *text)
{
	fprintf(stderr, "dxgk ctl: %s: \"%s\" is not one\n", what, text);
	return CTL_USAGE;
}

/* ---- actions ---- */

static int evict_all(const struct control_client *client, char **arguments)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT };

	(void)arguments;
	return vidmm(client, "evict-all", &args) ? 0 : CTL_FAILED;
}

static int evict_by_size(const struct control_client *client, char **arguments)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_EVICT_BY_CRITERIA };
	uint64_t least;
	uint64_t most;

	if (!ctl_number(arguments[0], &least))
		return ctl_complain("evict", arguments[0]);
	if (!ctl_number(arguments[1], &most))
		return ctl_complain("evict", arguments[1]);
	args.EvictByCriteria.MinimumSize = least;
	args.EvictByCriteria.MaximumSize = most;
	return vidmm(client, "evict", &args) ? 0 : CTL_FAILED;
}

static int budget(const struct control_client *client, char **arguments)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_SET_BUDGET };
	uint64_t local;
	uint64_t system;

	if (!ctl_limit(arguments[0], &local))
		return ctl_complain("budget", arguments[0]);
	if (!ctl_limit(arguments[1], &system))
		return ctl_complain("budget", arguments[1]);
	args.SetBudget.LocalMemoryBudget = local;
	args.SetBudget.SystemMemoryBudget = system;
	if (!vidmm(client, "budget", &args))
		return CTL_FAILED;
	args = (D3DKMT_VIDMM_ESCAPE){ .Type = D3DKMT_VIDMMESCAPETYPE_GET_BUDGET };
	if (!vidmm(client, "budget", &args))
		return CTL_FAILED;
	printf("to trim: %" PRIu64 " bytes\n", (uint64_t)args.GetBudget.NumBytesToTrim);
	return 0;
}

static int put_in_order(const struct control_client *client, const char *verb, const char *text,
			D3DKMT_DEFRAG_ESCAPE_OPERATION operation)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_DEFRAG };
	uint64_t segment;

	if (!ctl_number(text, &segment) || segment > UINT32_MAX)
		return ctl_complain(verb, text);
	args.Defrag.Operation = operation;
	args.Defrag.SegmentId = (UINT)segment;
	if (!vidmm(client, verb, &args))
		return CTL_FAILED;
	printf("taken %" PRIu64 " bytes, free %" PRIu64 " bytes; the largest gap was %" PRIu64
	       " bytes and is %" PRIu64 " bytes\n",
	       (uint64_t)args.Defrag.TotalCommitted, (uint64_t)args.Defrag.TotalFree,
	       (uint64_t)args.Defrag.LargestGapBefore, (uint64_t)args.Defrag.LargestGapAfter);
	return 0;
}

static int defrag(const struct control_client *client, char **arguments)
{
	return put_in_order(client, "defrag", arguments[0], D3DKMT_DEFRAG_ESCAPE_DEFRAG_PASS);
}

static int defrag_up(const struct control_client *client, char **arguments)
{
	return put_in_order(client, "defrag-up", arguments[0], D3DKMT_DEFRAG_ESCAPE_DEFRAG_UPWARD);
}

static int verify_transfer(const struct control_client *client, char **arguments)
{
	return put_in_order(client, "verify-transfer", arguments[0],
			    D3DKMT_DEFRAG_ESCAPE_VERIFY_TRANSFER);
}

static int delay(const struct control_client *client, char **arguments)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_DELAYEXECUTION };
	uint64_t queue;
	uint64_t milliseconds;

	if (!ctl_number(arguments[0], &queue) || queue > UINT32_MAX)
		return ctl_complain("delay", arguments[0]);
	if (!ctl_number(arguments[1], &milliseconds) || milliseconds > UINT32_MAX)
		return ctl_complain("delay", arguments[1]);
	args.DelayExecution.hPagingQueue = (D3DKMT_HANDLE)queue;
	args.DelayExecution.Milliseconds = (ULONG)milliseconds;
	if (!vidmm(client, "delay", &args))
		return CTL_FAILED;
	printf("paging fence value %" PRIu64 "\n", (uint64_t)args.DelayExecution.PagingFenceValue);
	return 0;
}

static int validate(const struct control_client *client, char **arguments)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_VALIDATE_INTEGRITY };

	(void)arguments;
	if (!vidmm(client, "validate", &args))
		return CTL_FAILED;
	printf("everything adds up\n");
	return 0;
}

static int suspend(const struct control_client *client, char **arguments)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_SUSPEND_PROCESS };

	if (strcmp(arguments[0], "until-work") == 0)
		args.SuspendProcess.bAllowWakeOnSubmission = TRUE;
	else if (strcmp(arguments[0], "until-resume") != 0)
		return ctl_complain("suspend", arguments[0]);
	return vidmm(client, "suspend", &args) ? 0 : CTL_FAILED;
}

static int resume(const struct control_client *client, char **arguments)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_RESUME_PROCESS };

	(void)arguments;
	return vidmm(client, "resume", &args) ? 0 : CTL_FAILED;
}

static int wake(const struct control_client *client, char **arguments)
{
	D3DKMT_VIDMM_ESCAPE args = { .Type = D3DKMT_VIDMMESCAPETYPE_WAKE };

	(void)arguments;
	args.Wake.bFlush = TRUE;
	return vidmm(client, "wake", &args) ? 0 : CTL_FAILED;
}

static int tdr(const struct control_client *client, char **arguments)
{
	D3DKMT_TDRDBGCTRL_ESCAPE args = { .TdrControl = D3DKMT_TDRDBGCTRLTYPE_FORCETDR };
	uint64_t node = 0;

	if (strcmp(arguments[0], "adapter") != 0) {
		if (!ctl_number(arguments[0], &node) || node > UINT32_MAX)
			return ctl_complain("tdr", arguments[0]);
		args.TdrControl = D3DKMT_TDRDBGCTRLTYPE_ENGINETDR;
		args.NodeOrdinal = (ULONG)node;
	}
	return ctl_escape(client, "tdr", D3DKMT_ESCAPE_TDRDBGCTRL, &args, sizeof(args))
		       ? 0
		       : CTL_FAILED;
}

/* ---- the command ---- */

/* `text` has CONTROL_MOST_BYTES. */
static bool ask_text(const struct control_client *client, enum control_kind kind, uint32_t type,
		     const char *what, char *text)
{
	struct control_reply reply;

	memset(text, 0, CONTROL_MOST_BYTES);
	if (!control_ask(client, kind, type, text, CONTROL_MOST_BYTES, &reply))
		return false;
	text[CONTROL_MOST_BYTES - 1] = '\0';
	if (!NT_SUCCESS(reply.status))
		control_print_refusal(client, what, &reply);
	return NT_SUCCESS(reply.status);
}

static int states(const struct control_client *client, char **arguments)
{
	char text[CONTROL_MOST_BYTES];

	(void)arguments;
	if (!ask_text(client, CONTROL_STATES, 0, "states", text))
		return CTL_FAILED;
	fputs(text, stdout);
	return 0;
}

/* The number in the last line, "process 7  pid …". */
static uint32_t last_process(const char *text)
{
	uint32_t last = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "process ", strlen("process ")) == 0)
			last = (uint32_t)strtoul(line + strlen("process "), NULL, 10);
	}
	return last;
}

/* As many lines as an answer has room for, then those behind. */
static int processes(const struct control_client *client, char **arguments)
{
	char text[CONTROL_MOST_BYTES];
	uint32_t last = 0;

	(void)arguments;
	do {
		if (!ask_text(client, CONTROL_PROCESSES, last, "processes", text))
			return CTL_FAILED;
		fputs(text, stdout);
		last = last_process(text);
	} while (last != 0 && strlen(text) > CONTROL_MOST_BYTES / 2);
	return 0;
}

static int check(const struct control_client *client, char **arguments)
{
	char text[CONTROL_MOST_BYTES];

	(void)arguments;
	if (!ask_text(client, CONTROL_CHECK, 0, "check", text))
		return CTL_FAILED;
	printf("%s", text[0] ? text : "books: right\n");
	return text[0] ? CTL_FAILED : 0;
}

/* What is about the process that asks: of a program with a kernel of its own that is the program. */
enum { OF_PROGRAM = 1, MAY_BE_JSON = 2 };

static const struct {
	const char *name;
	int argument_count;
	int (*run)(const struct control_client *client, char **arguments);
	const char *usage;
	const char *help;
	int flags;
} verbs[] = {
	{ "evict-all", 0, evict_all, "evict-all", "everything leaves GPU memory" },
	{ "evict", 2, evict_by_size, "evict MIN MAX", "what is of that size does (MAX 0: any)" },
	{ "budget", 2, budget, "budget LOCAL SYSTEM",
	  "no process is granted more (none: no limit)" },
	{ "defrag", 1, defrag, "defrag SEGMENT", "puts together what is in the segment" },
	{ "defrag-up", 1, defrag_up, "defrag-up SEGMENT", "the same, at its upper end" },
	{ "verify-transfer", 1, verify_transfer, "verify-transfer SEGMENT",
	  "as defrag, and the CPU compares each copy" },
	{ "delay", 2, delay, "delay QUEUE MS", "a paging queue stands still for a while",
	  OF_PROGRAM },
	{ "validate", 0, validate, "validate", "recounts the memory manager's books" },
	{ "check", 0, check, "check", "recounts everything the kernel has" },
	{ "wake", 0, wake, "wake", "who waits for room looks again, and what moves arrives" },
	{ "suspend", 1, suspend, "suspend until-resume|until-work",
	  "the program's work stands still, its memory leaves", OF_PROGRAM },
	{ "resume", 0, resume, "resume", "the program goes on", OF_PROGRAM },
	{ "intervals", 3, ctl_intervals, "intervals MIN MAX IDLE",
	  "milliseconds between periodic trims (none: never)" },
	{ "restrict", 2, ctl_restrict, "restrict LOCAL SYSTEM", "as budget, for this program alone",
	  OF_PROGRAM },
	{ "offers", 1, ctl_offers, "offers always|never|default",
	  "when offered content is discarded" },
	{ "sync-evict", 1, ctl_sync_evict, "sync-evict on|off",
	  "evictions are over when they return", OF_PROGRAM },
	{ "fail-reclaim", 1, ctl_fail_reclaim, "fail-reclaim on|off",
	  "reclaim finds no memory for what was decommitted", OF_PROGRAM },
	{ "option", 2, ctl_option, "option NAME on|off", "another option of the verifier" },
	{ "tdr", 1, tdr, "tdr adapter|NODE", "resets the adapter, or one busy node" },
	{ "stats", 0, ctl_stats, "stats", "what was counted" },
	{ "states", 0, states, "states", "the states there are, and how many are in each" },
	{ "processes", 0, processes, "processes", "who uses the adapter, and how much memory" },
	{ "map", 1, ctl_map, "map SEGMENT [--json]", "who is where in a segment, and the gaps",
	  MAY_BE_JSON },
	{ "walk", 1, ctl_walk, "walk ADDRESS", "a GPU address through the page tables",
	  OF_PROGRAM },
};

static void print_help(FILE *out)
{
	fprintf(out, "usage: dxgk ctl [--socket PATH | --control PATH] [--adapter LUID] CONTROL\n\n"
		     "Controls the kernel of a server (dxgkd) that listens at --socket or "
		     "DXGK_SOCKET, \"auto\"\nfor the usual places; or the kernel inside a "
		     "program that was started with\nDXGK_CONTROL=PATH (--control).\n\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-31s %s\n", verbs[i].usage, verbs[i].help);
	fprintf(out, "\nNAME is always-decommit, no-demotion, never-move or fail-defrag (of the "
		     "adapter), or\nnever-defer or demote (of the program).\n");
	fprintf(out, "\nSizes may end in K, M or G. LUID is as `dxgk info` prints it; the first "
		     "adapter\nunless one is named.\n");
}

static int run_verb(const struct control_client *client, int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[0], verbs[i].name) != 0)
			continue;
		bool is_json = (verbs[i].flags & MAY_BE_JSON) && argc > 1 &&
			       strcmp(argv[argc - 1], "--json") == 0;

		if (argc - 1 - is_json != verbs[i].argument_count) {
			fprintf(stderr, "dxgk ctl: it is: %s\n", verbs[i].usage);
			return CTL_USAGE;
		}
		if ((verbs[i].flags & OF_PROGRAM) && ctl_is_of_many(client, argv[0]))
			return CTL_FAILED;
		return verbs[i].run(client, argv + 1);
	}
	fprintf(stderr, "dxgk ctl: \"%s\" is no control; --help lists them\n", argv[0]);
	return CTL_USAGE;
}

int cmd_ctl(int argc, char **argv)
{
	struct live_target target = { 0 };
	const struct command_option known[] = { LIVE_TARGET_OPTIONS(&target), { 0 } };
	const struct command_options of = { "ctl", print_help, known, .end_at_word = true };
	int status = options_take(argc, argv, &of);

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind == argc) {
		fprintf(stderr, "dxgk ctl: it takes a control\n");
		print_help(stderr);
		return CTL_USAGE;
	}
	if (!live_target_find(&target, "ctl"))
		return CTL_USAGE;
	return run_verb(&target.client, argc - optind, argv + optind);
}
