/* SPDX-License-Identifier: MIT */
/* faulty.h - for programs whose GPU is the faulty driver, with 8 MiB. */
#ifndef TESTS_API_FAULTY_H
#define TESTS_API_FAULTY_H

#include "api/gpu.h"
#include "drivers/faulty/faulty.h"

static inline int faulty_main(const char *group, int argc, char **argv)
{
	static char profile[1024];

	snprintf(profile, sizeof(profile),
		 "{\"adapters\": [{\"driver\": \"%s\", \"name\": \"faulty\", \"registry\": "
		 "{\"LocalMemoryMiB\": 8, \"ApertureMiB\": 16}}]}",
		 getenv("TEST_FAULTY"));
	setenv("DXGK_PROFILE", write_file(profile), 1);
	return api_main(group, argc, argv);
}

#endif
