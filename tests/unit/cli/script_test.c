/* SPDX-License-Identifier: MIT */
/*
 * script_test.c - dxgk-run(5), statement by statement: what is understood, and what is said about
 * the rest.
 */
#include "base/mem.h"
#include "base/random.h"
#include "cli/run/script.h"
#include "support/test.h"

#include <dxg/d3dkmthk.h>

static struct script script;
static struct script_problem problem;

static NTSTATUS read_text(const char *text)
{
	return script_read(text, strlen(text), &script, &problem);
}

/* Understood; `script` is to be finished. */
static void expect_read(const char *text)
{
	NTSTATUS status = read_text(text);

	if (!NT_SUCCESS(status))
		print_error("%u:%u: %s\n", problem.line, problem.column, problem.text);
	EXPECT_EQ(status, STATUS_SUCCESS);
}

static void expect_refused(const char *text, uint32_t line, uint32_t column, const char *part)
{
	NTSTATUS status = read_text(text);

	script_finish(&script);
	EXPECT_EQ((uint32_t)status, (uint32_t)STATUS_INVALID_PARAMETER);
	EXPECT_CONTAINS(problem.text, part);
	EXPECT_EQ(problem.line, line);
	EXPECT_EQ(problem.column, column);
}

/* Behind lines that make one of each kind. */
#define THINGS                                                                                     \
	"client alice\nclient bob\ncontext draw alice node 0\ncontext move bob node 1\n"           \
	"allocate picture alice 64K\nallocate other bob 1M\nfence done alice\n"
enum { THINGS_LINES = 7 };

static const struct script_statement *read_one(const char *statement)
{
	static char text[4096];

	snprintf(text, sizeof(text), THINGS "%s\n", statement);
	expect_read(text);
	EXPECT_EQ(script.statement_count, THINGS_LINES + 1);
	EXPECT_EQ(script.statements[THINGS_LINES].line, THINGS_LINES + 1);
	return &script.statements[THINGS_LINES];
}

static void refuse_one(const char *statement, uint32_t column, const char *part)
{
	static char text[8192];

	snprintf(text, sizeof(text), THINGS "%s\n", statement);
	expect_refused(text, THINGS_LINES + 1, column, part);
}

static uint32_t named(const char *text)
{
	for (uint32_t i = 0; i < script.name_count; i++) {
		if (strcmp(script.names[i].text, text) == 0)
			return i;
	}
	return SCRIPT_NO_NAME;
}

/* ---- lines and words ---- */

TEST(lines, may_be_empty_commented_and_indented)
{
	expect_read("\n# nothing\n\t client  alice # who\r\n\n   \n");
	EXPECT_EQ(script.statement_count, 1);
	EXPECT_STR(script.statements[0].text, "client  alice");
	EXPECT_EQ(script.statements[0].line, 3);
	script_finish(&script);
}

TEST(lines, need_no_line_end_at_the_end)
{
	expect_read("client alice");
	script_finish(&script);
}

TEST(lines, without_a_statement_are_no_script)
{
	expect_refused("", 0, 0, "no statement");
	expect_refused("# only a comment\nseed 1\n", 0, 0, "no statement");
}

TEST(lines, with_bytes_that_are_no_text_are_refused_where_they_are)
{
	EXPECT_EQ((uint32_t)script_read("client a\nclient\0b", 17, &script, &problem),
		  (uint32_t)STATUS_INVALID_PARAMETER);
	script_finish(&script);
	EXPECT_EQ(problem.line, 2);
	EXPECT_EQ(problem.column, 7);
	EXPECT_CONTAINS(problem.text, "0x00");
}

TEST(lines, of_a_huge_file_are_not_read)
{
	static char byte = ' ';

	EXPECT_EQ((uint32_t)script_read(&byte, SCRIPT_BYTES_MAX + 1, &script, &problem),
		  (uint32_t)STATUS_INVALID_PARAMETER);
	script_finish(&script);
	EXPECT_CONTAINS(problem.text, "16 MiB");
}

TEST(words, that_are_no_statement_are_named)
{
	expect_refused("client a\n  dance wildly\n", 2, 3, "\"dance\": expected a statement");
	expect_refused("expect\n", 1, 7, "the line ends here: expected a status");
}

TEST(words, too_many_are_refused)
{
	refuse_one("wait draw 1", 11, "\"1\": expected the end of the line");
	refuse_one("submit draw nop nop", 17, "expected the end of the line");
	refuse_one("end of", 1, "expected end only where a block is open");
}

TEST(words, that_are_long_are_shown_by_their_start)
{
	char line[600];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	expect_refused(line, 1, 1, "…");
	EXPECT(strlen(problem.text) < sizeof(problem.text) - 1);
}

/* ---- numbers ---- */

TEST(numbers, are_decimal_or_hexadecimal_with_a_suffix)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = { { "1", 1 },
		      { "0x10", 16 },
		      { "3K", 3072 },
		      { "0x2M", UINT64_C(2) << 20 },
		      { "4G", UINT64_C(4) << 30 } };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char statement[64];
		snprintf(statement, sizeof(statement), "allocate new alice %s", sizes[i].text);
		EXPECT_EQ(read_one(statement)->size_bytes, sizes[i].bytes);
		EXPECT_EQ(script.names[named("new")].size_bytes, sizes[i].bytes);
		script_finish(&script);
	}
}

TEST(numbers, that_are_none_are_refused)
{
	static const char *const wrong[] = {
		"allocate new alice",
		"allocate new alice K",
		"allocate new alice 0x",
		"allocate new alice 12kb",
		"allocate new alice -1",
		"allocate new alice 1.5M",
		"allocate new alice 18446744073709551616",
		"allocate new alice 0x10000000000000000",
		"allocate new alice 17179869184G",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		refuse_one(wrong[i], i == 0 ? 19 : 20, "expected a size");
	refuse_one("allocate new alice 0", 20, "expected a size from 1");
	refuse_one("allocate new alice 0x800000000001", 20, "expected a size from 1");
}

TEST(numbers, of_times_have_a_unit)
{
	EXPECT_EQ(read_one("submit draw busy 5us")->commands[0].value, 5);
	script_finish(&script);
	EXPECT_EQ(read_one("submit draw busy 20ms")->commands[0].value, 20000);
	script_finish(&script);
	EXPECT_EQ(read_one("submit draw busy 3s")->commands[0].value, 3000000);
	script_finish(&script);
	refuse_one("submit draw busy 3", 18, "expected a time");
	refuse_one("submit draw busy 3601s", 18, "up to 3600s");
	refuse_one("submit draw busy 99999999999999999999us", 18, "expected a time");
}

/* ---- names ---- */

TEST(names, are_made_once_and_known_from_then_on)
{
	refuse_one("client alice", 8, "this is a client since line 1");
	refuse_one("map nothing", 5, "nothing above has this name");
	refuse_one("map draw", 5, "expected an allocation, and this is a context");
	refuse_one("context draw2 picture node 0", 15, "expected a client");
	refuse_one("destroy nobody", 9, "expected a client, a context, an allocation or a fence");
}

TEST(names, have_letters_digits_and_dashes)
{
	expect_read("client A_b-9\n");
	script_finish(&script);
	expect_refused("client 9lives\n", 1, 8, "expected a name");
	expect_refused("client a+b\n", 1, 8, "expected a name");
	expect_refused("client \xc3\xa4\n", 1, 8, "expected a name");
	expect_refused("client abcdefghijklmnopqrstuvwxyz123456\n", 1, 8, "at most 31");
	expect_refused("client local\n", 1, 8, "a meaning of its own");
	expect_refused("client size\n", 1, 8, "a meaning of its own");
	expect_refused("client\n", 1, 7, "the line ends here");
}

TEST(names, belong_to_their_client)
{
	read_one("map picture");
	EXPECT_EQ(script.names[named("picture")].client, named("alice"));
	EXPECT_EQ(script.names[named("move")].client, named("bob"));
	EXPECT_EQ(script.names[named("bob")].client, named("bob"));
	script_finish(&script);
}

TEST(names, are_limited_in_number)
{
	enum { LINE = 16 };
	static char text[(SCRIPT_NAMES_MAX + 1) * LINE + 1];
	size_t used = 0;

	for (unsigned i = 0; i <= SCRIPT_NAMES_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "client c%u\n", i);
	expect_refused(text, SCRIPT_NAMES_MAX + 1, 8, "no more than 4096 names");
}

/* ---- statements ---- */

TEST(statements, options_are_read_in_any_order_and_once)
{
	EXPECT_EQ(read_one("allocate new alice 4K cached local hidden")->options,
		  OPTION_CACHED | OPTION_LOCAL | OPTION_HIDDEN);
	script_finish(&script);
	refuse_one("allocate new alice 4K local system", 29, "nothing more of its kind");
	refuse_one("allocate new alice 4K cached cached", 30, "nothing more of its kind");
	refuse_one("allocate new alice 4K shared triple", 30, "nothing more of its kind");
	refuse_one(
		"allocate new alice 4K quickly", 23,
		"expected local, system, hidden, cached, contiguous, shared, triple or resource");
	refuse_one("client new stubborn", 12, "expected no-timeout");
}

TEST(statements, map_has_an_address_and_a_protection)
{
	const struct script_statement *statement = read_one("map picture at 0x10000 read-only");

	EXPECT_EQ(statement->verb, VERB_MAP);
	EXPECT_EQ(statement->number, 0x10000);
	EXPECT_EQ(statement->options, OPTION_READ_ONLY);
	script_finish(&script);
	refuse_one("map picture at", 15, "expected a GPU address");
	refuse_one("map picture at 0", 16, "expected a GPU address from 1");
}

TEST(statements, lists_are_of_one_client)
{
	const struct script_statement *statement = read_one("resident picture picture cant-trim");

	EXPECT_EQ(statement->list_count, 2);
	EXPECT_EQ(statement->options, OPTION_CANT_TRIM);
	script_finish(&script);
	refuse_one("resident picture other", 18, "of one client");
	refuse_one("evict", 6, "expected an allocation");
	refuse_one("offer picture low high", 19, "nothing more of its kind");
}

TEST(statements, ranges_stay_inside_their_allocation)
{
	const struct script_statement *statement = read_one("check picture 7 at 4K size 8");

	EXPECT_EQ(statement->at, 4096);
	EXPECT_EQ(statement->size_bytes, 8);
	EXPECT_EQ(statement->pattern.number, 7);
	script_finish(&script);
	EXPECT_EQ(read_one("write picture random 9 at 65535")->size_bytes, 1);
	script_finish(&script);
	refuse_one("write picture 1 at 64K", 20, "expected an offset from 0 to 65535");
	refuse_one("write picture 1 at 60K size 5K", 29, "expected a size from 1 to 4096");
	refuse_one("write picture 0x100000000", 15, "expected a pattern from 0 to 4294967295");
}

TEST(statements, waits_depend_on_what_is_waited_for)
{
	EXPECT_EQ(read_one("wait done 3 by move")->by, named("move"));
	script_finish(&script);
	EXPECT_EQ(read_one("wait done 3")->by, SCRIPT_NO_NAME);
	script_finish(&script);
	EXPECT_EQ(read_one("wait draw")->name, named("draw"));
	script_finish(&script);
	EXPECT_EQ(read_one("wait alice")->name, named("alice"));
	script_finish(&script);
	EXPECT_EQ(read_one("wait picture")->name, named("picture"));
	script_finish(&script);
	refuse_one("wait done", 10, "expected a value");
	refuse_one("signal draw 1", 8, "expected a fence, and this is a context");
}

TEST(statements, priorities_have_a_sign)
{
	EXPECT_EQ((uint32_t)read_one("priority draw -7")->priority, (uint32_t)-7);
	script_finish(&script);
	refuse_one("priority draw high", 15, "expected a priority");
	refuse_one("priority draw -", 15, "expected a priority");
	refuse_one("priority draw", 14, "expected a priority");
}

TEST(statements, states_have_names_and_page_faults_a_place)
{
	const struct script_statement *statement =
		read_one("state alice page-fault picture+4K write");

	EXPECT_EQ(statement->state, D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT);
	EXPECT_EQ(statement->address.name, named("picture"));
	EXPECT_EQ(statement->address.offset, 4096);
	EXPECT_EQ(statement->options, OPTION_WRITE);
	script_finish(&script);
	refuse_one("state alice happy", 13, "expected active, reset");
	refuse_one("state alice hung 0x1000", 18, "expected the end of the line");
}

TEST(statements, only_shared_fences_are_opened)
{
	expect_refused(THINGS "open mine bob done\n", THINGS_LINES + 1, 15, "made with shared");
	expect_read(THINGS "fence both alice 5 shared\nopen mine bob both\n");
	EXPECT_EQ(script.statements[THINGS_LINES].number, 5);
	EXPECT_EQ(script.statements[THINGS_LINES + 1].address.name, named("both"));
	script_finish(&script);
}

TEST(statements, expectations_stand_in_front)
{
	const struct script_statement *statement =
		read_one("expect STATUS_INVALID_PARAMETER:API-HANDLE unmap picture");

	EXPECT(statement->has_expectation);
	EXPECT_EQ((uint32_t)statement->expected, (uint32_t)STATUS_INVALID_PARAMETER);
	EXPECT_STR(statement->rule, "API-HANDLE");
	EXPECT_EQ(statement->verb, VERB_UNMAP);
	script_finish(&script);
	refuse_one("expect STATUS_SURPRISE unmap picture", 8, "expected a status");
	refuse_one("expect STATUS_NO_MEMORY: unmap picture", 8, "expected a rule");
	refuse_one("expect STATUS_NO_MEMORY echo x", 25, "calls the kernel");
	refuse_one("expect STATUS_NO_MEMORY", 24, "expected a statement");
	refuse_one("expect STATUS_NO_MEMORY expect STATUS_NO_MEMORY map picture", 25,
		   "expected a statement");
}

/* ---- submissions ---- */

TEST(submit, has_commands_one_behind_the_other)
{
	const struct script_statement *statement = read_one(
		"submit draw fill picture+4 7;copy other to picture size 1K ; write64 0x1000 5 ;"
		"busy 1ms; nop ; fault other+8 write");

	EXPECT_EQ(statement->command_count, 6);
	EXPECT_EQ(statement->commands[0].opcode, OPCODE_FILL);
	EXPECT_EQ(statement->commands[0].size_bytes, 65532);
	EXPECT_EQ(statement->commands[1].from.name, named("other"));
	EXPECT_EQ(statement->commands[1].to.name, named("picture"));
	EXPECT_EQ(statement->commands[1].size_bytes, 1024);
	EXPECT_EQ(statement->commands[2].to.name, SCRIPT_NO_NAME);
	EXPECT_EQ(statement->commands[2].to.offset, 0x1000);
	EXPECT_EQ(statement->commands[3].opcode, OPCODE_BUSY);
	EXPECT_EQ(statement->commands[4].opcode, OPCODE_NOP);
	EXPECT(statement->commands[5].is_write);
	script_finish(&script);
}

TEST(submit, refuses_what_is_no_command)
{
	refuse_one("submit draw", 12, "expected nop, fill");
	refuse_one("submit draw paint picture", 13, "expected nop, fill");
	refuse_one("submit draw nop ;", 18, "expected nop, fill");
	refuse_one("submit draw fill 0x1000 1", 26, "an address has no end");
	refuse_one("submit draw fill picture+64K 1", 31, "the allocation ends before");
	refuse_one("submit draw fill picture+ 1", 18, "an allocation and an offset");
	refuse_one("submit draw fill 12x 1", 18, "expected a GPU address");
	refuse_one("submit draw copy picture other", 26, "expected to");
	refuse_one("submit picture nop", 8, "expected a context");
}

TEST(submit, is_limited_in_length)
{
	static char line[2048] = "submit draw nop";

	for (unsigned i = 1; i < SCRIPT_COMMANDS_MAX; i++)
		strcat(line, ";nop");
	EXPECT_EQ(read_one(line)->command_count, SCRIPT_COMMANDS_MAX);
	script_finish(&script);
	strcat(line, ";nop");
	refuse_one(line, (uint32_t)strlen(line) - 2, "at most 64 commands");
}

/* ---- settings ---- */

TEST(settings, come_first_and_once)
{
	expect_read("seed 7\nadapter LocalMemoryMiB=8 AddressModel=physical\nclient a\n");
	EXPECT(script.has_seed);
	EXPECT_EQ(script.seed, 7);
	EXPECT_EQ(script.setting_count, 2);
	EXPECT_STR(script.settings[0].key, "LocalMemoryMiB");
	EXPECT_EQ(script.settings[0].number, 8);
	EXPECT_STR(script.settings[1].word, "physical");
	script_finish(&script);
	expect_refused("client a\nseed 1\n", 2, 1, "before the first statement");
	expect_refused("seed 1\nseed 1\n", 2, 1, "expected one seed");
	expect_refused("adapter CopyEngines=1\nprofile x\n", 2, 1, "one adapter or one profile");
	expect_refused("profile a b\n", 1, 11, "expected the end of the line");
	expect_refused("profile\n", 1, 8, "expected a file");
}

TEST(settings, name_a_driver_and_an_exerciser)
{
	expect_read("driver gpu/my.so\nexerciser ex.so\nadapter Speed=9 Kind=fast_one\nclient a\n");
	EXPECT_STR(script.driver, "gpu/my.so");
	EXPECT_STR(script.exerciser, "ex.so");
	EXPECT_EQ(script.setting_count, 2);
	EXPECT_STR(script.settings[0].key, "Speed");
	EXPECT_EQ(script.settings[0].number, 9);
	EXPECT_STR(script.settings[1].word, "fast_one");
	script_finish(&script);
	expect_read("profile p.json\nexerciser ex.so\nclient a\n");
	script_finish(&script);
	expect_refused("driver\n", 1, 7, "expected a file");
	expect_refused("driver a.so\ndriver b.so\n", 2, 1, "expected one driver");
	expect_refused("exerciser a.so\nexerciser b.so\n", 2, 1, "expected one exerciser");
	expect_refused("profile p\ndriver a.so\n", 2, 1, "one adapter or one profile");
	expect_refused("driver a.so\nprofile p\n", 2, 1, "one adapter or one profile");
	expect_refused("adapter Speed=9\ndriver a.so\n", 1, 9, "of the software GPU");
	expect_refused("driver a.so\nadapter Sp\"eed=9\n", 2, 9, "letters, digits and _");
	expect_refused("driver a.so\nadapter Speed=f\"st\n", 2, 9, "expected a word");
	expect_refused("driver a.so\nadapter TdrDelay=fast\n", 2, 9, "expected a number");
}

TEST(settings, have_known_names_and_values)
{
	expect_refused("adapter\n", 1, 8, "expected a setting");
	expect_refused("adapter Speed=9\n", 1, 9, "expected a setting of the software GPU");
	expect_refused("adapter TdrDelay\n", 1, 9, "expected a setting, as");
	expect_refused("adapter TdrDelay=fast\n", 1, 9, "expected a number");
	expect_refused("adapter TdrDelay=4294967296\n", 1, 9, "expected a number");
	expect_refused("adapter AddressModel=1\n", 1, 9, "expected a word");
	expect_refused("adapter AddressModel=\n", 1, 9, "expected a word");
	expect_refused("adapter AddressModel=abcdefghijklmnopq\n", 1, 9, "expected a word");
	expect_refused("adapter TdrDelay=1 TdrDelay=2\n", 1, 20, "each setting once");
}

/* ---- blocks ---- */

TEST(blocks, know_where_they_end)
{
	expect_read(
		"client a\nrepeat 3\nrepeat 2\nwait a\nend\nend\nparallel\nwait a\nand\nwait a\n"
		"end\n");
	EXPECT_EQ(script.statements[1].next, 5);
	EXPECT_EQ(script.statements[1].number, 3);
	EXPECT_EQ(script.statements[2].next, 4);
	EXPECT_EQ(script.statements[6].next, 8);
	EXPECT_EQ(script.statements[8].next, 10);
	EXPECT_EQ(script.statements[10].verb, VERB_END);
	script_finish(&script);
}

TEST(blocks, are_closed_and_nested_properly)
{
	expect_refused("client a\nrepeat 2\nwait a\n", 2, 1, "no end");
	expect_refused("client a\nparallel\nwait a\nand\nwait a\n", 4, 1, "no end");
	expect_refused("end\n", 1, 1, "where a block is open");
	expect_refused("repeat 2\nand\n", 2, 1, "only in a parallel block");
	expect_refused("parallel\nrepeat 2\nand\n", 3, 1, "only in a parallel block");
	expect_refused("parallel\nparallel\n", 2, 1, "no parallel block in a parallel block");
	expect_refused("repeat 0\n", 1, 8, "how often from 1");
	expect_refused("repeat\n", 1, 7, "expected how often");
}

TEST(blocks, are_limited_in_depth_and_branches)
{
	static char text[4096];
	size_t used = 0;

	for (unsigned i = 0; i <= SCRIPT_DEPTH_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "repeat 1\n");
	expect_refused(text, SCRIPT_DEPTH_MAX + 1, 1, "at most 16 blocks");
	used = (size_t)snprintf(text, sizeof(text), "parallel\n");
	for (unsigned i = 0; i < SCRIPT_BRANCHES_MAX; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "and\n");
	expect_refused(text, SCRIPT_BRANCHES_MAX + 1, 1, "at most 32 branches");
}

TEST(branches, keep_to_themselves_what_they_make_submit_to_and_destroy)
{
	expect_refused(THINGS "parallel\nclient new\nand\nwait new\nend\n", 11, 6,
		       "another one makes this");
	expect_refused(THINGS "parallel\nsubmit draw nop\nand\nwait draw\nend\n", 11, 6,
		       "no other branch submits to");
	expect_refused(THINGS "parallel\ndestroy picture\nand\nmap picture\nend\n", 11, 5,
		       "no other branch destroys");
	expect_refused(THINGS "parallel\nmap picture\nand\ndestroy picture\nend\n", 11, 9,
		       "no other branch uses picture");
	expect_refused(THINGS "parallel\nmap picture\nand\ndestroy alice\nend\n", 11, 9,
		       "no other branch uses picture");
	expect_refused(THINGS "parallel\nwait alice\nand\nwait alice\ndestroy alice\nend\n", 12, 9,
		       "no other branch uses alice");
}

TEST(branches, may_share_the_rest_and_what_was_theirs_is_everybodys_afterwards)
{
	expect_read(THINGS "parallel\nclient new\nsubmit draw nop\nwait done 1\nresident picture\n"
			   "and\nsignal done 1\nevict picture\nsubmit move nop\nend\n"
			   "wait new\nwait draw\nwait move\n"
			   "parallel\nsubmit move nop\nwait new\nand\nsubmit draw nop\n"
			   "wait new\nend\ndestroy new\n");
	script_finish(&script);
}

/* ---- nonsense ---- */

TEST(nonsense, of_our_own_words_never_breaks_the_reader)
{
	static const char *const words[] = {
		"client",  "context",  "allocate",
		"fence",   "open",     "destroy",
		"map",     "unmap",    "resident",
		"evict",   "offer",    "reclaim",
		"where",   "write",    "check",
		"submit",  "priority", "signal",
		"wait",    "state",    "echo",
		"repeat",  "parallel", "and",
		"end",     "expect",   "STATUS_SUCCESS",
		"adapter", "seed",     "profile",
		"a",       "b",        "c",
		"a+4K",    "a+",       "0x1000",
		"4K",      "-3",       "at",
		"size",    "by",       "node",
		"random",  "to",       "local",
		"fill",    "copy",     "busy",
		"1ms",     ";",        ";;",
		"hang",    "fault",    "page-fault",
		"\n",      "\n",       "\n",
		"\t",      "#",        "TdrDelay=1",
		"=",       ":",        "STATUS_SUCCESS:X",
	};
	struct random random;
	unsigned understood = 0;

	random_init(&random, 1);
	for (unsigned round = 0; round < 20000; round++) {
		char text[1024] = "client a\n";
		uint64_t count = random_below(&random, 30);

		for (uint64_t i = 0; i < count; i++) {
			strcat(text, words[random_below(&random, ARRAY_SIZE(words))]);
			strcat(text, " ");
		}
		problem.text[0] = '\0';
		NTSTATUS status = read_text(text);
		EXPECT((status == STATUS_SUCCESS) == (problem.text[0] == '\0'));
		understood += status == STATUS_SUCCESS;
		script_finish(&script);
	}
	EXPECT(understood > 0);
}

TEST(memory, runs_out_at_every_place_and_nothing_is_left)
{
	int64_t before = mem_usage().blocks;
	bool fired;
	unsigned fail_at = 0;

	do {
		mem_fail_nth(++fail_at);
		NTSTATUS status = read_text("profile x\n" THINGS "resident picture\nrepeat 2\n"
					    "submit draw fill picture 1 ; nop\nend\n");
		fired = mem_fail_stop();
		EXPECT_EQ((uint32_t)status, (uint32_t)(fired ? STATUS_NO_MEMORY : STATUS_SUCCESS));
		script_finish(&script);
		EXPECT_EQ(mem_usage().blocks, before);
	} while (fired);
	EXPECT(fail_at > 10);
}

TEST_MAIN("cli/script")
