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

TEST(bare, plain_names_of_cpp_are_still_readable)
{
	char text[200];

	symbols_demangle("_ZN7Adapter5StartEv", text, sizeof(text));
	EXPECT_STR(text, "Adapter::Start");
	symbols_demangle("_ZN7AdapterD1Ev", text, sizeof(text));
	EXPECT_STR(text, "Adapter::~Adapter");
	symbols_demangle("_ZNK3Gpu6Engine4NodeEj", text, sizeof(text));
	EXPECT_STR(text, "Gpu::Engine::Node");
	symbols_demangle("_Z5startv", text, sizeof(text));
	EXPECT_STR(text, "start");
	/* What it cannot read in whole it leaves alone. */
	symbols_demangle("_ZN3BoxI4ItemE3putERKS0_", text, sizeof(text));
	EXPECT_STR(text, "_ZN3BoxI4ItemE3putERKS0_");
	symbols_demangle("_ZN7Adapter5St", text, sizeof(text));
	EXPECT_STR(text, "_ZN7Adapter5St");
}

TEST_MAIN("nt/bare")
