/* SPDX-License-Identifier: MIT */
/*
 * program.c - see program.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/wine/program.h"

enum {
	DOS_HEADER_BYTES = 64,
	DOS_NEW_HEADER = 0x3c, /* where the offset of the header is that counts today */
	MACHINE_I386 = 0x14c,
	MACHINE_AMD64 = 0x8664,
};

static enum program_answer refuse(enum program_answer answer, const char *name, const char *why,
				  char *problem, size_t problem_bytes)
{
	snprintf(problem, problem_bytes, "%s: %s", name, why);
	return answer;
}

static uint32_t little_endian(const unsigned char *at, unsigned bytes)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint32_t)at[i] << (8 * i);
	return value;
}

/* NULL: it is one for this machine. */
static const char *what_is_wrong(int file)
{
	unsigned char dos[DOS_HEADER_BYTES];
	unsigned char pe[6]; /* signature, machine */

	if (pread(file, dos, sizeof(dos), 0) != (ssize_t)sizeof(dos) || memcmp(dos, "MZ", 2) != 0 ||
	    pread(file, pe, sizeof(pe), (off_t)little_endian(dos + DOS_NEW_HEADER, 4)) !=
		    (ssize_t)sizeof(pe) ||
	    memcmp(pe, "PE\0", 4) != 0)
		return "no Windows program";
	switch (little_endian(pe + 4, 2)) {
	case MACHINE_AMD64:
		return NULL;
	case MACHINE_I386:
		return "a 32-bit program; there are 64-bit ones only here";
	default:
		return "a program for another processor";
	}
}

static bool is_in(const char *folder, const char *name, const char *ending)
{
	char path[4096];

	return snprintf(path, sizeof(path), "%s/%s%s", folder, name, ending) < (int)sizeof(path) &&
	       access(path, R_OK) == 0;
}

enum program_answer program_look(const char *name, const char *system32, char *problem,
				 size_t problem_bytes)
{
	const char *wrong = NULL;
	struct stat facts;

	if (strpbrk(name, "\\:"))
		return PROGRAM_IS_GOOD;
	if (stat(name, &facts) != 0) {
		if (*name && !strchr(name, '/') &&
		    (is_in(system32, name, "") || is_in(system32, name, ".exe")))
			return PROGRAM_IS_GOOD;
		return refuse(PROGRAM_IS_MISSING, name, strerror(errno), problem, problem_bytes);
	}
	if (!S_ISREG(facts.st_mode))
		return refuse(PROGRAM_CANNOT_RUN, name, "no file", problem, problem_bytes);
	int file = open(name, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return refuse(PROGRAM_CANNOT_RUN, name, strerror(errno), problem, problem_bytes);
	wrong = what_is_wrong(file);
	close(file);
	return wrong ? refuse(PROGRAM_CANNOT_RUN, name, wrong, problem, problem_bytes)
		     : PROGRAM_IS_GOOD;
}
