/* SPDX-License-Identifier: MIT */
/*
 * validate.h - walks everything the kernel has and recounts it.
 */
#ifndef OBJECT_CHECK_VALIDATE_H
#define OBJECT_CHECK_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>

#include "object/owner/kernel.h"

/*
 * Whether what the processes and the shared objects hold fits together: owners and lists, handles and
 * what they find, references and those who have them, the memory manager's books. Writes what is
 * wrong to `wrong`. Meanwhile every call that is under way rests (owner/process.h), and no process comes or goes.
 */
MUST_CHECK bool kernel_validate(struct dxg_kernel *kernel, char *wrong, size_t wrong_size);

/* The same, and everything that is wrong, a line each. What follows from the first may be among it. */
MUST_CHECK bool kernel_validate_all(struct dxg_kernel *kernel, char *wrong, size_t wrong_size);

/*
 * The same of what needs no stillness: each adapter's scheduler, pager and memory manager. Calls may be
 * under way, and what moves may be between two books for a moment.
 */
MUST_CHECK bool kernel_validate_adapters(struct dxg_kernel *kernel, char *wrong, size_t wrong_size);

#endif
