/* SPDX-License-Identifier: MIT */
/*
 * planted.h - numbers of the kernel that a test makes wrong (planted_inside.c, which sees the kernel
 * from inside), to see that the recount finds them (planted_test.c, which sees it as a client does).
 */
#ifndef TESTS_API_PLANTED_H
#define TESTS_API_PLANTED_H

#include <stddef.h>

struct planted {
	const char *name;
	const char *says;    /* the recount, somewhere in its sentence */
	void (*add)(int by); /* to the number; what was added is taken off by the same */
};

extern const struct planted planted[];
extern const size_t planted_count;

/* Looks where everything is. There are a device, an allocation that is resident and mapped, a context,
 * a paging queue, a fence, and a resource that is shared by an NT handle. */
void planted_begin(void *kernel, void *process);

#endif
