/* SPDX-License-Identifier: MIT */
/*
 * log_test.c - what people get to see.
 */
#include <stdbool.h>

#include "base/log.h"
#include "support/test.h"

static char last_line[2048];
static unsigned lines;

static void keep(void *context, const char *line)
{
	(void)context;
	snprintf(last_line, sizeof(last_line), "%s", line);
	lines++;
}

TEST(log, warnings_and_errors_are_always_written)
{
	log_redirect(keep, NULL);
	log_warn("number %d", 5);
	EXPECT_STR(last_line, "dxgk: number 5");
	log_error("text %s", "here");
	EXPECT_STR(last_line, "dxgk: text here");
	log_redirect(NULL, NULL);
	EXPECT_EQ(lines, 2);
}

TEST(log, a_line_that_is_too_long_is_cut)
{
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_redirect(keep, NULL);
	log_warn("%s", text);
	EXPECT(strlen(last_line) > 500 && strlen(last_line) < 1024);
	EXPECT(strspn(last_line + strlen("dxgk: "), "x") == strlen(last_line) - strlen("dxgk: "));

	/* Exactly at the border, and one to either side. */
	size_t longest = strlen(last_line) - strlen("dxgk: ");
	for (size_t length = longest - 1; length <= longest + 1; length++) {
		log_warn("%.*s", (int)length, text);
		EXPECT_EQ(strlen(last_line),
			  strlen("dxgk: ") + (length < longest ? length : longest));
	}
	log_redirect(NULL, NULL);
}

/* What base_run says on standard error, with DXGK_LOG set to `topics` or not at all. */
static const char *said_with(const char *topics)
{
	static char said[4096];
	char command[512];

	snprintf(command, sizeof(command), "%s%s%s %s log 2>&1 >/dev/null",
		 topics ? "DXGK_LOG='" : "env -u DXGK_LOG", topics ? topics : "", topics ? "'" : "",
		 BASE_RUN);
	FILE *pipe = popen(command, "r");
	size_t length = fread(said, 1, sizeof(said) - 1, pipe);
	said[length] = '\0';
	EXPECT_EQ(pclose(pipe), 0);
	return said;
}

TEST(log, topics_are_off_by_default)
{
	EXPECT_STR(said_with(NULL), "dxgk: an error\ndxgk: a warning\n");
	EXPECT_STR(said_with(""), "dxgk: an error\ndxgk: a warning\n");
}

TEST(log, topics_are_chosen_by_name)
{
	EXPECT_STR(said_with("refusals"),
		   "dxgk: an error\ndxgk: a warning\ndxgk: topic refusals\n");
	EXPECT_STR(said_with("calls,driver"),
		   "dxgk: an error\ndxgk: a warning\ndxgk: topic driver\ndxgk: topic calls\n");
	EXPECT_STR(said_with("all"),
		   "dxgk: an error\ndxgk: a warning\ndxgk: topic refusals\ndxgk: topic driver\n"
		   "dxgk: topic start\ndxgk: topic calls\ndxgk: topic memory\n");
}

TEST(log, an_unknown_topic_is_warned_of_and_the_others_count)
{
	const char *said = said_with("refusal,start,,ref");

	EXPECT_CONTAINS(said, "\"refusal\" is not a topic");
	EXPECT_CONTAINS(said, "\"ref\" is not a topic");
	EXPECT_CONTAINS(said, "topic start");
	EXPECT(!strstr(said, "topic refusals"));
}

TEST_MAIN("base/log")
