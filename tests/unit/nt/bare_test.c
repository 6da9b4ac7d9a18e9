/* SPDX-License-Identifier: MIT */
/*
 * bare_test.c - reports on a machine without libdw and without a C++ run-time library. The test
 * runs where files of their names are no libraries.
 */
#include <dlfcn.h>

#include "unit/nt/nt_harness.h"
#include "unit/nt/report_driver.h"

#include "nt/symbols.h"

static const struct report_driver_routines routines = { .wait = KeWaitForSingleObject,
							.allocate = ExAllocatePoolWithTag };

TEST(bare, the_libraries_are_really_not_there)
{
	EXPECT(dlopen("libdw.so.1", RTLD_LAZY) == NULL);
	EXPECT(dlopen("libstdc++.so.6", RTLD_LAZY) == NULL);
}

TEST(bare, frames_are_named_by_what_the_loader_knows)
{
	void (*init)(const struct report_driver_routines *);
	void (*wait)(KEVENT * event);
	KEVENT event;

	nt_test_begin();
	void *image = dlopen(REPORT_DRIVER, RTLD_NOW | RTLD_LOCAL);
	EXPECT(image != NULL);
	*(void **)&init = dlsym(image, "report_driver_init");
	*(void **)&wait = dlsym(image, "report_driver_wait");
	init(&routines);
	KeInitializeEvent(&event, NotificationEvent, FALSE);
	KIRQL old = KeRaiseIrqlToDpcLevel();
	wait(&event);
	KeLowerIrql(old);
	EXPECT_REPORTS(RULE_NT_IRQL_WAIT, 1);
	/* A function that is not exported has no name; the offset is for addr2line. */
	EXPECT_CONTAINS(nt_test_log, "in report_driver.so+0x");
	EXPECT_CONTAINS(nt_test_log, "dxgk:   at report_driver_wait in report_driver.so+0x");
	EXPECT(strstr(nt_test_log, ".c:") == NULL);
	dlclose(image);
	nt_test_finish();
}

static const char *demangled(const char *name)
{
	static char text[200];

	symbols_demangle(name, text, sizeof(text));
	return text;
}

TEST(bare, plain_names_of_cpp_are_still_readable)
{
	EXPECT_STR(demangled("_ZN7Adapter5StartEv"), "Adapter::Start");
	EXPECT_STR(demangled("_ZN7AdapterD1Ev"), "Adapter::~Adapter");
	EXPECT_STR(demangled("_ZNK3Gpu6Engine4NodeEj"), "Gpu::Engine::Node");
	EXPECT_STR(demangled("_Z5startv"), "start");
	/* What it cannot read in whole it leaves alone. */
	EXPECT_STR(demangled("_ZN3BoxI4ItemE3putERKS0_"), "_ZN3BoxI4ItemE3putERKS0_");
	EXPECT_STR(demangled("_ZN7Adapter5St"), "_ZN7Adapter5St");
}

TEST_MAIN("nt/bare")
