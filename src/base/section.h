/* SPDX-License-Identifier: MIT */
/*
 * section.h - memory behind a descriptor, mapped here.
 *
 * What Windows calls a section is a memfd, or any file that can be mapped. It must be sealed
 * against shrinking: a section keeps its size, and nobody here is prepared for pages that go away.
 */
#ifndef BASE_SECTION_H
#define BASE_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"

struct section {
	void *pointer;
	uint64_t size_bytes;
};

/*
 * The first `size_bytes` (whole pages) of what `handle` (any pointer-sized number) names. The
 * client may close its descriptor afterwards. `argument` names it in a refusal.
 */
MUST_CHECK NTSTATUS section_map(uintptr_t handle, uint64_t size_bytes, bool is_read_only,
				const char *argument, struct section **section_out);

/* Accepts NULL. */
void section_unmap(struct section *section);

#endif
