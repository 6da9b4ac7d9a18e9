/* SPDX-License-Identifier: MIT */
/*
 * options.h - the options of a command as a table: each says where it goes.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

struct command_option {
	const char *name; /* --name; NULL: it is a letter only */
	char letter;      /* 0: it has none */

	/* One of these: whether it was said; its text; or who reads that into `into` and returns NULL, or what was expected. */
	bool *flag;
	const char **text;
	const char *(*read)(const char *text, void *into);
	void *into;
};

struct command_options {
	const char *verb;
	void (*print_usage)(FILE *out);     /* for --help and -h, which every command has */
	const struct command_option *known; /* the last one has neither name nor letter */
	bool end_at_word; /* the first word that is no option ends them: what follows is a program's, or a control's */
};

enum { OPTIONS_GO_ON = -1, OPTIONS_WRONG = 2 };

/* OPTIONS_GO_ON, and optind is where the rest begins; else the exit status: there was help, or one was wrong. */
int options_take(int argc, char **argv, const struct command_options *of);

#endif
