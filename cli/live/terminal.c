/* SPDX-License-Identifier: MIT */
/*
 * terminal.c - see terminal.h. Alone, because <term.h> has names like `lines' for itself.
 */
#include <curses.h>
#include <term.h>
#include <unistd.h>

#include "cli/live/terminal.h"

bool terminal_has_screen(void)
{
	int answer;

	return isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) &&
	       setupterm(NULL, STDOUT_FILENO, &answer) == OK && cursor_address != NULL;
}
