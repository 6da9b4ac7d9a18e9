/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "base/attributes.h"
#include "cli/options.h"

enum { KNOWN_MAX = 16, CODE_OF_FIRST = 256 }; /* codes of names are above all letters */

struct tables {
	struct option names[KNOWN_MAX + 2];
	char letters[2 * KNOWN_MAX + 3];
};

static bool is_last(const struct command_option *option)
{
	return !option->name && !option->letter;
}

static void tables_make(const struct command_options *of, struct tables *tables)
{
	struct option *name = tables->names;
	char *letter = tables->letters;

	if (of->end_at_word)
		*letter++ = '+';
	*letter++ = 'h';
	*name++ = (struct option){ "help", no_argument, NULL, 'h' };
	for (int i = 0; !is_last(&of->known[i]); i++) {
		const struct command_option *option = &of->known[i];
		int argument = option->flag ? no_argument : required_argument;

		if (option->name)
			*name++ =
				(struct option){ option->name, argument, NULL, CODE_OF_FIRST + i };
		if (option->letter)
			*letter++ = option->letter;
		if (option->letter && argument == required_argument)
			*letter++ = ':';
	}
	*name = (struct option){ 0 };
	*letter = '\0';
}

/* NULL: there is none, which getopt has said. */
static const struct command_option *find(const struct command_options *of, int code)
{
	if (code >= CODE_OF_FIRST)
		return &of->known[code - CODE_OF_FIRST];
	for (const struct command_option *option = of->known; !is_last(option); option++) {
		if (option->letter == code)
			return option;
	}
	return NULL;
}

/* False after saying what is wrong. */
static bool take(const struct command_options *of, const struct command_option *option)
{
	const char *expected = NULL;

	if (option->flag)
		*option->flag = true;
	else if (option->text)
		*option->text = optarg;
	else
		expected = option->read(optarg, option->into);
	if (expected)
		fprintf(stderr, "dxgk %s: %s%s: \"%s\": expected %s\n", of->verb,
			option->name ? "--" : "-",
			option->name ? option->name : (char[]){ option->letter, '\0' }, optarg,
			expected);
	return !expected;
}

int options_take(int argc, char **argv, const struct command_options *of)
{
	char *verb = argv[0];
	int status = OPTIONS_GO_ON;
	struct tables tables;
	char program[64];
	int code;

	tables_make(of, &tables);
	snprintf(program, sizeof(program), "dxgk %s", of->verb);
	argv[0] = program; /* what getopt complains about begins with it */
	optind = 1;
	while (status == OPTIONS_GO_ON &&
	       (code = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
		const struct command_option *option = find(of, code);

		if (code == 'h') {
			of->print_usage(stdout);
			status = 0;
		} else if (!option || !take(of, option)) {
			status = OPTIONS_WRONG;
		}
	}
	argv[0] = verb; /* who starts over with these arguments needs it */
	return status;
}
