/* SPDX-License-Identifier: MIT */
/*
 * options.h - the options of a command, one after the other.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>

/* Tells `take` of each, with optarg; false: it is wrong, and that was said. Then optind is where the rest begins. */
struct options_of {
	const char *letters; /* short ones, as getopt_long() has them */
	const struct option *names;
	bool (*take)(void *options, int option);
};

/* 0; 2 when one was wrong; -1 when help ('h') was asked for. */
int options_take(int argc, char **argv, const struct options_of *of, void *options);

#endif
