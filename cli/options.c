/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "cli/options.h"

enum { EXIT_USAGE = 2 };

int options_take(int argc, char **argv, const struct options_of *of, void *options)
{
	int option;

	optind = 1;
	while ((option = getopt_long(argc, argv, of->letters, of->names, NULL)) != -1) {
		if (option == 'h')
			return -1;
		if (!of->take(options, option))
			return EXIT_USAGE;
	}
	return 0;
}
