/* SPDX-License-Identifier: MIT */
/*
 * file_size.h - how long a file may be (RLIMIT_FSIZE, `ulimit -f`).
 *
 * Who makes a file longer than that is sent SIGXFSZ, which ends the program. Files of ours are as long as the
 * machine's memory, and empty for the most part; a program with such a limit has to be told, not ended.
 */
#ifndef BASE_FILE_SIZE_H
#define BASE_FILE_SIZE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/attributes.h"

/* False with errno. */
MUST_CHECK static inline bool file_size_is_allowed(uint64_t size_bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || size_bytes <= limit.rlim_cur)
		return true;
	errno = EFBIG;
	return false;
}

#endif
