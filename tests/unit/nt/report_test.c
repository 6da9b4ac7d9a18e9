/* SPDX-License-Identifier: MIT */
/*
 * report_test.c - a broken rule is told once per place, with the driver's call stack.
 */
#include <dlfcn.h>

#include "unit/nt/nt_harness.h"
#include "unit/nt/report_driver.h"

#include "nt/symbols.h"

static struct {
	void *image;
	void (*wait)(KEVENT *event);
	void *(*allocate)(SIZE_T size, ULONG tag);
	void *(*allocate_deep)(SIZE_T size, ULONG tag);
} driver;

static const struct report_driver_routines routines = { .wait = KeWaitForSingleObject,
							.allocate = ExAllocatePoolWithTag };

static void driver_load(void)
{
	void (*init)(const struct report_driver_routines *);

	driver.image = dlopen(REPORT_DRIVER, RTLD_NOW | RTLD_LOCAL);
	if (!driver.image)
		print_error("%s\n", dlerror());
	EXPECT(driver.image != NULL);
	*(void **)&init = dlsym(driver.image, "report_driver_init");
	*(void **)&driver.wait = dlsym(driver.image, "report_driver_wait");
	*(void **)&driver.allocate = dlsym(driver.image, "report_driver_allocate");
	*(void **)&driver.allocate_deep = dlsym(driver.image, "report_driver_allocate_deep");
	init(&routines);
}

static unsigned count_lines(const char *part)
{
	unsigned count = 0;

	for (const char *at = nt_test_log; (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

NT_TEST(report, names_function_file_line_and_image_of_every_frame_of_the_driver)
{
	KEVENT event;

	driver_load();
	KeInitializeEvent(&event, NotificationEvent, FALSE);
	KIRQL old = KeRaiseIrqlToDpcLevel();
	driver.wait(&event);
	KeLowerIrql(old);

	EXPECT_REPORTS(RULE_NT_IRQL_WAIT, 1);
	const char *first = strstr(nt_test_log, "dxgk:   at ");
	EXPECT_CONTAINS(nt_test_log, "dxgk: driver: KeWaitForSingleObject waits at DISPATCH_LEVEL");
	/* Our own frames in front are not shown: the first one is the driver's. */
	EXPECT(first && strncmp(first, "dxgk:   at wait_in_a_helper (", 29) == 0);
	EXPECT_CONTAINS(first, "report_driver.c:24) in report_driver.so\n"
			       "dxgk:   at report_driver_wait (");
	EXPECT_CONTAINS(first, "report_driver.c:30) in report_driver.so\n");
	/* One frame of the host tells how the driver was entered, and there it ends. */
	EXPECT_CONTAINS(first, "report_test.c:");
	EXPECT_EQ(count_lines("dxgk:   at "), 3);
	dlclose(driver.image);
}

NT_TEST(report, the_same_place_is_printed_once_and_summed_up)
{
	KEVENT event;

	driver_load();
	KeInitializeEvent(&event, NotificationEvent, FALSE);
	KIRQL old = KeRaiseIrqlToDpcLevel();
	for (int i = 0; i < 5; i++)
		driver.wait(&event);
	KeLowerIrql(old);
	EXPECT_REPORTS(RULE_NT_IRQL_WAIT, 5);
	EXPECT_EQ(count_lines("(NT-IRQL-WAIT)"), 1);
	nt_report_summarize();
	EXPECT_CONTAINS(nt_test_log, "driver: 4 more times: KeWaitForSingleObject waits");
	EXPECT_EQ(count_lines("(NT-IRQL-WAIT)"), 2);
	dlclose(driver.image);
}

struct heard {
	unsigned count;
	enum rule rule;
	char sentence[200];
};

static void listen(void *context, const struct nt_report_news *news)
{
	struct heard *heard = context;

	heard->count++;
	heard->rule = news->rule;
	snprintf(heard->sentence, sizeof(heard->sentence), "%.199s", news->sentence);
}

NT_TEST(report, a_listener_hears_every_one)
{
	struct heard heard = { 0 };

	nt_report_listen(listen, &heard);
	for (int i = 0; i < 3; i++)
		nt_report(RULE_NT_POOL_TAG, "round %d", i);
	nt_report_listen(NULL, NULL);
	nt_report(RULE_NT_POOL_TAG, "unheard");
	EXPECT_EQ(heard.count, 3);
	EXPECT_EQ(heard.rule, RULE_NT_POOL_TAG);
	EXPECT_STR(heard.sentence, "round 2");
	EXPECT_REPORTS(RULE_NT_POOL_TAG, 4);
}

NT_TEST(report, more_places_than_are_remembered_are_still_printed)
{
	for (unsigned i = 0; i < 10; i++) {
		for (unsigned rule = RULE_NT_IRQL_WAIT; rule <= RULE_NT_POOL_LEAK; rule++) {
			nt_test_log_length = 0;
			nt_report((enum rule)rule, "rule %u of round %u", rule, i);
		}
	}
	EXPECT_EQ(nt_report_count(RULE_NT_IRQL_WAIT), 10);
}

/* The range of the driver's image, from where its code is. */
static void driver_range(const void **begin, const void **end)
{
	Dl_info info;

	EXPECT(dladdr(*(void **)&driver.allocate, &info) != 0);
	*begin = info.dli_fbase;
	*end = (const char *)info.dli_fbase + 0x100000;
}

NT_TEST(report, leaks_are_told_per_tag_with_count_bytes_and_first_call_site)
{
	const void *begin, *end;

	driver_load();
	driver_range(&begin, &end);
	driver.allocate(100, 0x31676154);
	driver.allocate(28, 0x31676154);
	driver.allocate(5000, 0x32676154);
	void *ours = ExAllocatePoolWithTag(NonPagedPoolNx, 10, 0x33676154);

	EXPECT_EQ(nt_pool_report_leaks(begin, end), 3);
	/* Several places have to fit into a sentence, wherever the sources are. */
	EXPECT_CONTAINS(nt_test_log, "The driver left 2 blocks of 128 bytes, tag 'Tag1', the first "
				     "allocated at report_driver_allocate (report_driver.c:");
	EXPECT_CONTAINS(nt_test_log, "The driver left 1 block of 5000 bytes, tag 'Tag2'");
	EXPECT_REPORTS(RULE_NT_POOL_LEAK, 2);
	EXPECT_EQ(nt_pool_usage().blocks, 1); /* what somebody else allocated stays */
	EXPECT_EQ(nt_pool_report_leaks(begin, end), 0);
	ExFreePool(ours);
	EXPECT(nt_driver_unloaded(begin, end));
	dlclose(driver.image);
}

NT_TEST(report, a_leak_is_told_with_all_frames_of_the_driver_and_names_of_cpp_are_readable)
{
	const void *begin, *end;

	driver_load();
	driver_range(&begin, &end);
	/* All come from one place; who called it is what counts. */
	driver.allocate_deep(100, 0x31676154);
	driver.allocate_deep(5000, 0x32676154);
	EXPECT_EQ(nt_pool_report_leaks(begin, end), 2);
	EXPECT_CONTAINS(nt_test_log, "'Tag1', the first allocated at Adapter::Allocate(");
	EXPECT_EQ(count_lines("dxgk:   at Adapter::Allocate("), 2);
	EXPECT_EQ(count_lines("dxgk:   at report_driver_allocate_deep ("), 2);
	EXPECT_EQ(count_lines("dxgk:   at run_"), 0);
	EXPECT(nt_driver_unloaded(begin, end));
	dlclose(driver.image);
}

TEST(report, a_value_out_of_the_pool_is_called_what_it_is)
{
	static const struct text_case sentences[] = {
		{ "SegmentId is 0xcdcdcdcd", "uninitialised pool" },
		{ "SegmentId is 3452816845", "uninitialised pool" },
		{ "SegmentId is -842150451", "uninitialised pool" },
		{ "Size is 14829735431805717965", "uninitialised pool" },
		{ "hContext is 0xDDDDDDDDDDDDDDDD", "freed pool" },
		{ "Count is 3722304989", "freed pool" },
		{ "Count is 3722304988", NULL },
		{ "Count is 0xcdcdcd", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++) {
		char text[200];

		snprintf(text, sizeof(text), "%s", sentences[i].given);
		nt_report_explain_values(text, sizeof(text));
		if (sentences[i].said)
			EXPECT_CONTAINS(text, sentences[i].said);
		else
			EXPECT_STR(text, sentences[i].given);
	}
	/* What does not fit is cut, not written behind the end. */
	char tight[] = "0xcdcdcdcd is";
	nt_report_explain_values(tight, sizeof(tight));
	EXPECT_STR(tight, "0xcdcdcdcd is");
}

static const char *demangled(const char *name)
{
	static char text[200];

	symbols_demangle(name, text, sizeof(text));
	return text;
}

TEST(report, names_of_cpp_are_readable)
{
	EXPECT(strncmp(demangled("_ZN7Adapter5StartEv"), "Adapter::Start", 14) == 0);
	EXPECT(strncmp(demangled("_ZN7AdapterD1Ev"), "Adapter::~Adapter", 17) == 0);
	EXPECT(strncmp(demangled("_ZNK3Gpu6Engine4NodeEj"), "Gpu::Engine::Node", 17) == 0);
	EXPECT_STR(demangled("DriverEntry"), "DriverEntry");
	EXPECT_STR(demangled("_ZN99Short"), "_ZN99Short");
	EXPECT_STR(demangled("_Z"), "_Z");
}

TEST_MAIN("nt/report")
