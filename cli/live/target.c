/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live/target.h"

/* "00000000:00000001" */
static bool parse_luid(const char *text, uint64_t *luid_out)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	size_t high = strspn(text, digits);

	if (high != 8 || text[high] != ':' || strspn(text + high + 1, digits) != 8 ||
	    text[17] != '\0')
		return false;
	*luid_out = strtoull(text, NULL, 16) << 32 | strtoull(text + high + 1, NULL, 16);
	return true;
}

bool live_target_find(struct live_target *target, const char *verb)
{
	const char *server = target->server;
	const char *program = target->program;

	target->client.command = verb;
	if (target->luid && !parse_luid(target->luid, &target->client.luid)) {
		fprintf(stderr, "dxgk %s: --adapter: \"%s\" is not one\n", verb, target->luid);
		return false;
	}
	if (!server && !program)
		program = getenv("DXGK_CONTROL");
	if (!server && !program)
		server = getenv("DXGK_SOCKET");
	if (server && control_find_server(&target->client, server))
		return true;
	if (program && *program) {
		control_of_program(&target->client, program);
		return true;
	}
	if (server && strcmp(server, "auto") == 0)
		fprintf(stderr, "dxgk %s: no server listens at any of the usual places\n", verb);
	else
		fprintf(stderr, "dxgk %s: it takes a socket\n", verb);
	return false;
}

int live_options_take(int argc, char **argv, const struct command_options *of,
		      struct live_target *target)
{
	int status = options_take(argc, argv, of);

	if (status != OPTIONS_GO_ON)
		return status;
	if (optind < argc) {
		fprintf(stderr, "dxgk %s: \"%s\" is too much; dxgk %s --help tells more\n",
			of->verb, argv[optind], of->verb);
		return OPTIONS_WRONG;
	}
	return live_target_find(target, of->verb) ? OPTIONS_GO_ON : OPTIONS_WRONG;
}
