/* SPDX-License-Identifier: MIT */
/*
 * subject.h - what a campaign stands on: the driver's file, and a profile with that driver as its only adapter.
 */
#ifndef CLI_VERIFY_SUBJECT_H
#define CLI_VERIFY_SUBJECT_H

#include <stdbool.h>

#include "base/attributes.h"

struct subject {
	char *driver_name;  /* the file name of its image */
	char *build;        /* a hash of what is in the file */
	char *hash;         /* of profile and exerciser */
	char *profile_text; /* JSON (docs/profile.md) */
};

/* The profile of a run with this plan, to be freed: what the plan wants of the registry is in it. */
char *subject_profile(const char *profile_text, const char *plan);

/*
 * `profile` is a file of docs/profile.md whose first adapter has the registry, device and level for this driver; NULL: none
 * of it. False, after saying on standard error what cannot be read.
 */
MUST_CHECK bool subject_init(struct subject *subject, const char *driver, const char *exerciser,
			     const char *profile);

/* The same from a profile that was written before. */
MUST_CHECK bool subject_init_again(struct subject *subject, const char *driver,
				   const char *exerciser, const char *profile_text);
void subject_finish(struct subject *subject);

/* The whole file, with a zero behind it, to be freed; NULL with errno. */
char *file_read(const char *path, size_t *length_out);

#endif
