/* SPDX-License-Identifier: MIT */
/*
 * first_thread_test.c - what the kernel has done by the time it starts its first thread.
 *
 * Descriptors that it keeps have numbers from 1024 on. A host lets who lengthens a table of descriptors that threads share wait
 * for all processors, for milliseconds; so the table is long before there are threads.
 */
#include "api/allocation.h"

#include <dlfcn.h>
#include <pthread.h>

static unsigned threads;
static unsigned length_at_first;

static unsigned table_length(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned length = 0;
	char line[256];

	while (status && fgets(line, sizeof(line), status) &&
	       sscanf(line, "FDSize: %u", &length) != 1)
		;
	if (status)
		fclose(status);
	return length;
}

/* In place of libc's, for every library of this process. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *restrict thread,
							  const pthread_attr_t *restrict attributes,
							  void *(*run)(void *),
							  void *restrict context)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *symbol = dlsym(RTLD_NEXT, "pthread_create");

	if (threads++ == 0)
		length_at_first = table_length();
	memcpy(&real, &symbol, sizeof(symbol));
	return real(thread, attributes, run, context);
}

TEST(first_thread, comes_when_the_table_of_descriptors_is_long)
{
	D3DKMT_ENUMADAPTERS2 args = { 0 };

	EXPECT(table_length() < 1024);
	EXPECT_OK(D3DKMTEnumAdapters2(&args));
	EXPECT(args.NumAdapters > 0);
	EXPECT(threads > 0);
	EXPECT(length_at_first > 1024);
}

API_TEST_MAIN("api/first_thread")
