/* SPDX-License-Identifier: MIT */
/*
 * setup.h - what a run needs before its first call: the adapter's profile, and where the exerciser is.
 *
 * The command line goes before the script. Files that a script names are beside it, unless their paths are absolute.
 */
#ifndef CLI_RUN_SETUP_H
#define CLI_RUN_SETUP_H

#include "cli/run/script.h"

struct setup {
	const char *script_path; /* "-": there is none to be beside of */
	const char *driver;      /* as the command line has it; NULL: the script's, or soft.so */
	const char *exerciser;   /* likewise; NULL: the script's, or none */
};

/*
 * DXGK_PROFILE, where script or command line say anything about the adapter; else it stays as it is. False with errno.
 */
MUST_CHECK bool setup_profile(const struct script *script, const struct setup *setup);

/* The file with the exerciser, or "none", in `path`; false: nothing is said. */
MUST_CHECK bool setup_exerciser(const struct script *script, const struct setup *setup, char *path,
				size_t path_bytes);

#endif
