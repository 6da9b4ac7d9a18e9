/* SPDX-License-Identifier: MIT */
/*
 * cmd_trace_main.c - dxgk with one verb, for cmd_trace_test.c.
 */
#include "commands.h"

int main(int argc, char **argv)
{
	return cmd_trace(argc, argv);
}
