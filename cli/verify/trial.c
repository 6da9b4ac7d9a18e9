/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/exerciser.h"
#include "cli/verify/trial.h"

enum { SOME_BYTES = 4096 };

static const char usable[] = "usable";

/* In the other process. Code of strangers may end it anywhere here. */
static void load(const char *path, int tell)
{
	struct exerciser exerciser = { 0 };
	char said[512];

	if (exerciser_load(&exerciser, path, said, sizeof(said))) {
		snprintf(said, sizeof(said), "%s", usable);
		/* One that writes more than its room says so, and ends the process. */
		(void)exerciser_can_allocate(&exerciser, SOME_BYTES, 0);
	}
	_exit(write(tell, said, strlen(said)) < 0);
}

/* What it said, "" when it did not come to that. False with errno. */
static bool hear(const char *path, char *said, size_t size_bytes, int *status_out)
{
	int ends[2];

	if (pipe(ends) != 0)
		return false;
	(void)fflush(NULL);
	pid_t process = fork();
	if (process == 0) {
		close(ends[0]);
		load(path, ends[1]);
	}
	int problem = errno;
	close(ends[1]);
	ssize_t length = process > 0 ? read(ends[0], said, size_bytes - 1) : 0;
	close(ends[0]);
	said[length > 0 ? length : 0] = '\0';
	while (process > 0 && waitpid(process, status_out, 0) < 0 && errno == EINTR)
		;
	errno = problem;
	return process > 0;
}

bool trial_of_exerciser(const char *path)
{
	char said[512];
	int status = 0;

	if (!hear(path, said, sizeof(said), &status)) {
		fprintf(stderr, "dxgk verify: the exerciser cannot be tried: %s\n",
			strerror(errno));
		return false;
	}
	if (strcmp(said, usable) == 0)
		return true;
	if (*said)
		fprintf(stderr, "dxgk verify: %s\n", said);
	else if (WIFSIGNALED(status))
		fprintf(stderr, "dxgk verify: %s: trying it ended by signal %d (%s)\n", path,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "dxgk verify: %s: trying it ended the process with status %d\n",
			path, WEXITSTATUS(status));
	return false;
}
