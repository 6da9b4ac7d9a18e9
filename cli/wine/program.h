/* SPDX-License-Identifier: MIT */
/*
 * program.h - is that a program that Wine can start here? Wine itself says it in words about documents and their applications.
 */
#ifndef CLI_WINE_PROGRAM_H
#define CLI_WINE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum program_answer {
	PROGRAM_IS_GOOD,    /* or has a name that only Windows understands */
	PROGRAM_IS_MISSING, /* with a sentence in `problem` */
	PROGRAM_CANNOT_RUN, /* likewise */
};

/* `system32`: where a name without a folder is looked for besides. */
enum program_answer program_look(const char *name, const char *system32, char *problem,
				 size_t problem_bytes);

#endif
