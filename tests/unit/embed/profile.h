/* SPDX-License-Identifier: MIT */
/* profile.h - a profile that is a text of the test's. */
#ifndef TESTS_UNIT_EMBED_PROFILE_H
#define TESTS_UNIT_EMBED_PROFILE_H

#include "support/test.h"

#include <stdio.h>
#include <unistd.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/refusal.h"
#include "embed/config.h"

static inline NTSTATUS read_profile(const char *text, struct config *config)
{
	int file = memfd_create("profile", MFD_CLOEXEC);
	char path[64];

	EXPECT(file >= 0);
	EXPECT(write(file, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	struct refusal_scope scope;
	refusal_begin(&scope, "test");
	NTSTATUS status = config_read(path, config);
	refusal_end(&scope);
	close(file);
	return status;
}

/* It was not read, and who asks is told why. */
static inline void expect_refused(NTSTATUS status, const struct config *config, const char *problem)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	EXPECT_EQ(status, STATUS_UNSUCCESSFUL);
	EXPECT(refusal_last(&why));
	EXPECT_STR(why.rule, "SYS-PROFILE");
	EXPECT_CONTAINS(why.reason, problem);
	EXPECT_EQ(config->adapter_count, 0);
}

#endif
