/* SPDX-License-Identifier: MIT */
/*
 * main.c - dxgk: picks the verb.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{ "client", cmd_client, "run a program that was written for WSL" },
	{ "ctl", cmd_ctl, "controls of a running kernel, and what it counts" },
	{ "info", cmd_info, "the adapters there are, or why one did not start" },
	{ "metrics", cmd_metrics, "what a running kernel counts, for monitoring" },
	{ "replay", cmd_replay, "how many bytes a policy of eviction would move" },
	{ "run", cmd_run, "carry out a scenario that a script describes" },
	{ "top", cmd_top, "what a running kernel does, again and again" },
	{ "tour", cmd_tour, "clients that want more memory than there is, watched" },
	{ "trace", cmd_trace, "run a program and record what it makes the kernel do" },
	{ "verify", cmd_verify, "what is wrong with a driver" },
	{ "view", cmd_view, "a trace as a page, or as the answer to a question" },
	{ "why", cmd_why, "the life of an allocation in a trace" },
	{ "wine", cmd_wine, "a Windows program on this kernel, under Wine" },
};

static void print_help(FILE *out)
{
	fprintf(out, "usage: dxgk VERB [options]\n\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].help);
	fprintf(out,
		"\nDXGK_PROFILE names a JSON file with the adapters to start; DXGK_LOG=refusals "
		"says\nwhy a call was refused. `dxgk VERB --help` tells more, `dxgk --version` "
		"which\n"
		"one this is.\n");
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return 2;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("dxgk %s\n", DXGK_VERSION);
		return 0;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return 0;
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "dxgk: \"%s\" is not a verb\n", argv[1]);
	print_help(stderr);
	return 2;
}

int main(int argc, char **argv)
{
	int status = run(argc, argv);

	/* Whatever was to be told: who does not get it is not told that all is well. */
	errno = 0;
	if ((fflush(stdout) == 0 && !ferror(stdout)) || status != 0)
		return status;
	fprintf(stderr, "dxgk: standard output: %s\n",
		errno ? strerror(errno) : "not all of it could be written");
	return 1;
}
