/* SPDX-License-Identifier: MIT */
/*
 * cmd_trace_test.c - dxgk trace as somebody at a terminal sees it.
 */
#include "support/test.h"
#include "shell.h"

#define EXPECT_SAYS(path, part)                                                                    \
	do {                                                                                       \
		char *said_text = read_all(path);                                                  \
		EXPECT_CONTAINS(said_text, part);                                                  \
		free(said_text);                                                                   \
	} while (0)

TEST(cmd_trace, tells_how_many_events_of_which_kind_there_are)
{
	const char *path = in_folder("work.json");
	const char *said = in_folder("said");

	EXPECT_EQ(shell("%s -o %s -- %s work >/dev/null 2>%s", CMD_TRACE, path, TRACE_RUN, said),
		  0);
	EXPECT_SAYS(said, "1220 events (api 400, ddi 400, refusal 20, object 400)");
	EXPECT_SAYS(said, path);
	EXPECT_EQ(shell("python3 %s %s api=400 object=400", TRACE_CHECK, path), 0);
}

TEST(cmd_trace, works_from_another_folder_and_through_a_shell)
{
	const char *said = in_folder("said");

	EXPECT_EQ(shell("cd %s && %s -o here.json sh -c 'cd / && %s flood' 2>%s", folder, CMD_TRACE,
			TRACE_RUN, said),
		  0);
	EXPECT_SAYS(said, "10000 events (object 10000)");
	EXPECT_EQ(shell("python3 %s %s object=10000", TRACE_CHECK, in_folder("here.json")), 0);
}

TEST(cmd_trace, says_that_a_program_never_used_the_library)
{
	const char *said = in_folder("said");
	const char *path = in_folder("old.json");

	EXPECT_EQ(shell("echo old >%s; %s -o %s -- true 2>%s", path, CMD_TRACE, path, said), 0);
	EXPECT_SAYS(said, "true never used libdxcore.so");
	EXPECT_EQ(shell("test -e %s", path), 1);
}

TEST(cmd_trace, says_that_a_program_called_nothing)
{
	const char *said = in_folder("said");

	EXPECT_EQ(shell("%s -o %s -- %s idle 2>%s", CMD_TRACE, in_folder("idle.json"), TRACE_RUN,
			said),
		  0);
	EXPECT_SAYS(said, "called nothing");
}

TEST(cmd_trace, passes_the_exit_status_on_and_says_why_there_is_no_trace)
{
	const char *said = in_folder("said");
	const char *path = in_folder("quit.json");

	EXPECT_EQ(shell("%s -o %s -- %s quit 2>%s", CMD_TRACE, path, TRACE_RUN, said), 3);
	EXPECT_SAYS(said, "did not end through exit()");
	EXPECT_EQ(shell("%s -o %s -- sh -c 'exit 42' 2>%s", CMD_TRACE, path, said), 42);
}

TEST(cmd_trace, passes_signals_on)
{
	const char *said = in_folder("said");
	const char *path = in_folder("signal.json");

	/* The program tells the one that watches it to stop, and waits for the echo. */
	EXPECT_EQ(shell("%s -o %s -- sh -c 'trap \"exit 7\" TERM; kill -TERM $PPID; while :; do "
			":; done' 2>%s",
			CMD_TRACE, path, said),
		  7);
	EXPECT_EQ(shell("%s -o %s -- sh -c 'kill -KILL $$' 2>%s", CMD_TRACE, path, said), 128 + 9);
}

TEST(cmd_trace, refuses_what_it_cannot_do_before_running_anything)
{
	const char *said = in_folder("said");

	EXPECT_EQ(shell("%s -o /nowhere/at/all.json -- touch %s/ran 2>%s", CMD_TRACE, folder, said),
		  2);
	EXPECT_SAYS(said, "/nowhere/at/all.json");
	EXPECT_EQ(shell("test -e %s/ran", folder), 1);
	EXPECT_EQ(shell("%s 2>%s", CMD_TRACE, said), 2);
	EXPECT_SAYS(said, "Usage");
	EXPECT_EQ(shell("%s --help >%s", CMD_TRACE, said), 0);
	EXPECT_SAYS(said, "Usage");
	EXPECT_EQ(shell("%s --nonsense true 2>%s", CMD_TRACE, said), 2);
	EXPECT_EQ(shell("%s -o %s/x.json no-such-program 2>%s", CMD_TRACE, folder, said), 127);
	EXPECT_SAYS(said, "no-such-program");
	EXPECT_EQ(shell("%s -o %s/x.json %s 2>%s", CMD_TRACE, folder, folder, said), 126);
}

TEST_MAIN("trace/cmd_trace")
