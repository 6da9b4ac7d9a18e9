/* SPDX-License-Identifier: MIT */
/*
 * target.h - whose kernel is meant: the options that dxgk ctl, top and metrics have in common.
 */
#ifndef CLI_LIVE_TARGET_H
#define CLI_LIVE_TARGET_H

#include <stdbool.h>

#include "base/attributes.h"
#include "cli/control_client.h"
#include "cli/options.h"

struct live_target {
	const char *server;
	const char *program;
	const char *luid;
	struct control_client client;
};

#define LIVE_TARGET_USAGE "[--socket PATH | --control PATH] [--adapter LUID]"

/* Of a command's table of options. */
#define LIVE_TARGET_OPTIONS(target)                                                                \
	{ "socket", .text = &(target)->server }, { "control", .text = &(target)->program },        \
	{                                                                                          \
		"adapter", .text = &(target)->luid                                                 \
	}

/* By the options, else by DXGK_CONTROL and DXGK_SOCKET. False after saying for `verb` what is missing. */
MUST_CHECK bool live_target_find(struct live_target *target, const char *verb);

/* A command that has nothing but options: takes them, and finds the target. As options_take(). */
int live_options_take(int argc, char **argv, const struct command_options *of,
		      struct live_target *target);

#endif
