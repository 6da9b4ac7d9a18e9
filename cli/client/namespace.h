/* SPDX-License-Identifier: MIT */
/*
 * namespace.h - what a process sees at /usr/lib/wsl, without anybody else seeing it.
 *
 * Programs for WSL open /usr/lib/wsl/lib/libdxcore.so, by that name only. A mount namespace of the
 * process's own has it there: the system is not touched, and nothing is left behind.
 */
#ifndef CLI_CLIENT_NAMESPACE_H
#define CLI_CLIENT_NAMESPACE_H

#include <stdbool.h>
#include <stddef.h>

/* A link below /usr/lib/wsl; `folder` is made where it is not. */
struct namespace_link {
	const char *folder; /* "lib" */
	const char *name;
	const char *target; /* absolute */
};

/* What could not be done, for people. */
struct namespace_problem {
	const char *what;
	int error; /* errno */
};

/*
 * From here on this process, and what it becomes, has the links at /usr/lib/wsl. false: it has not,
 * and should end, because half of it may be done.
 */
bool namespace_enter(const struct namespace_link *links, size_t count,
		     struct namespace_problem *problem_out);

#endif
