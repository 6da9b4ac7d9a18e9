/* SPDX-License-Identifier: MIT */
/*
 * base_run.c - what base/ reads from the environment when a program starts. See log_test.c,
 * sim_test.c.
 *
 *   log      one line of each kind
 *   clock    the time at which the run starts
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "log")) {
		log_check_topics();
		log_error("an error");
		log_warn("a warning");
		log_topic(LOG_REFUSALS, "topic refusals");
		log_topic(LOG_DRIVER, "topic driver");
		log_topic(LOG_START, "topic start");
		log_topic(LOG_CALLS, "topic calls");
		log_topic(LOG_MEMORY, "topic memory");
	}
	if (argc > 1 && !strcmp(argv[1], "clock"))
		printf("%llu\n", (unsigned long long)clock_now_ns());
	return 0;
}
