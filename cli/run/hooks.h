/* SPDX-License-Identifier: MIT */
/*
 * hooks.h - the hooks of libdxgk.so (<opendxgk/testing.h>), where the kernel is in this program. Of a server's kernel there are
 * none.
 */
#ifndef CLI_RUN_HOOKS_H
#define CLI_RUN_HOOKS_H

#include <stdbool.h>

#include <opendxgk/testing.h>

/* Each may be NULL. */
struct hooks {
#define HOOK(name) __typeof__(dxgk_test_##name) *name;
#include "cli/run/hooks.def"
#undef HOOK
};

/* After the first call. */
void hooks_find(struct hooks *hooks);

#endif
