/* SPDX-License-Identifier: MIT */
/*
 * debug_test.c - what a driver prints, where it breaks, how it ends.
 */
#include "nt_harness.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

NT_TEST(debug, a_line_is_a_line_however_it_is_printed)
{
	UNICODE_STRING name = { 6, 6, (PWSTR)L"abc" };

	EXPECT(log_is_on(LOG_DRIVER)); /* the test runs with DXGK_LOG=driver */
	EXPECT_EQ(DbgPrint("half "), STATUS_SUCCESS);
	EXPECT_STR(nt_test_log, "");
	DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "%wZ %lx\r\nnext ", &name, 0xabcu);
	EXPECT_STR(nt_test_log, "dxgk: driver: half abc abc\n");
	DbgPrint("line\n\n");
	EXPECT_STR(nt_test_log, "dxgk: driver: half abc abc\ndxgk: driver: next line\n"
				"dxgk: driver: \n");
}

NT_TEST(debug, endless_text_is_cut_at_512_bytes)
{
	char text[2000];

	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	DbgPrint("%s", text);
	DbgPrint("\n");
	EXPECT_EQ(strlen(nt_test_log), strlen("dxgk: driver: \ndxgk: driver: \n") + 512);
}

NT_TEST(debug, there_is_no_debugger_and_nobody_answers)
{
	char answer[4] = "xyz";

	EXPECT(!KD_DEBUGGER_ENABLED && KD_DEBUGGER_NOT_PRESENT && KdRefreshDebuggerNotPresent());
	EXPECT_EQ(DbgPrompt("well?", answer, sizeof(answer)), 0);
	EXPECT_STR(answer, "");
	EXPECT_EQ(KdDisableDebugger(), STATUS_DEBUGGER_INACTIVE);
	EXPECT_EQ(KdEnableDebugger(), STATUS_DEBUGGER_INACTIVE);
	/* The filter is DXGK_LOG, which this test runs with, and no driver sets it. */
	EXPECT_EQ(DbgQueryDebugFilterState(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL), TRUE);
	EXPECT_EQ(DbgSetDebugFilterState(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, FALSE),
		  STATUS_ACCESS_DENIED);
	EXPECT_CONTAINS(nt_test_log, "well?");
}

NT_TEST(debug, break_points_and_assertions_are_told_and_survived)
{
	unsetenv("DXGK_BREAK");
	DbgBreakPoint();
	DbgBreakPointWithStatus(7);
	EXPECT_CONTAINS(nt_test_log, "break point at");
	EXPECT_CONTAINS(nt_test_log, "status 0x00000007");
	EXPECT_NO_REPORT();
	OpendxgkAssertionFailed("m_count < 32", "engine.cpp", 77);
	EXPECT_REPORTS(RULE_NT_ASSERT, 1);
	EXPECT_CONTAINS(nt_test_log, "m_count < 32 (engine.cpp:77)");
	EXPECT(NT_VERIFY(1 == 1));
	EXPECT_REPORTS(RULE_NT_ASSERT, 1);
}

static jmp_buf caught;
static struct nt_bugcheck seen;

static void catch_bugcheck(const struct nt_bugcheck *bugcheck)
{
	seen = *bugcheck;
	longjmp(caught, 1);
}

NT_TEST(debug, a_bug_check_says_its_name_and_a_test_can_catch_it)
{
	nt_bugcheck_hook(catch_bugcheck);
	if (setjmp(caught) == 0)
		KeBugCheckEx(VIDEO_TDR_FAILURE, 1, 2, 3, 0xffffffffffffffff);
	nt_bugcheck_hook(NULL);
	EXPECT_EQ(seen.code, 0x116);
	EXPECT_EQ(seen.parameters[3], UINT64_MAX);
	EXPECT_REPORTS(RULE_NT_BUGCHECK, 1);
	EXPECT_CONTAINS(nt_test_log, "0x00000116 VIDEO_TDR_FAILURE (0x1, 0x2, 0x3, 0xffff");
	EXPECT_STR(nt_bugcheck_name(0x117), "VIDEO_TDR_TIMEOUT_DETECTED");
	EXPECT(!nt_bugcheck_name(0x12345));
}

TEST(debug, without_a_hook_a_bug_check_aborts)
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		freopen("/dev/null", "w", stderr);
		KeBugCheck(MANUALLY_INITIATED_CRASH);
	}
	int status;
	EXPECT_EQ(waitpid(child, &status, 0), child);
	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST_MAIN("nt/debug")
