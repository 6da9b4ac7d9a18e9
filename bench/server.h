/* SPDX-License-Identifier: MIT */
/*
 * server.h - what the benchmarks of the server share: a dxgkd of their own, on a socket of their own,
 * and processors that threads stay on.
 */
#ifndef BENCH_SERVER_H
#define BENCH_SERVER_H

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench_server {
	pid_t process;
	char folder[64];
	char path[96];
};

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

/* A child that does not outlive us. 0 in the child. */
static inline pid_t fork_companion(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static inline bool is_listening(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	bool is_there = connect(probe, (struct sockaddr *)&address, sizeof(address)) == 0;
	close(probe);
	return is_there;
}

/* `program` is dxgkd. DXGK_SOCKET leads there from now on. */
static inline void server_start(struct bench_server *server, const char *program)
{
	snprintf(server->folder, sizeof(server->folder), "/tmp/bench-XXXXXX");
	if (!mkdtemp(server->folder))
		die("mkdtemp");
	snprintf(server->path, sizeof(server->path), "%s/socket", server->folder);
	server->process = fork_companion();
	if (server->process == 0) {
		execl(program, program, "--socket", server->path, (char *)NULL);
		die(program);
	}
	for (int i = 0; !is_listening(server->path); i++) {
		if (i == 5000 || waitpid(server->process, NULL, WNOHANG) != 0) {
			fprintf(stderr, "%s: does not listen\n", program);
			exit(1);
		}
		usleep(1000);
	}
	setenv("DXGK_SOCKET", server->path, 1);
}

static inline void server_stop(struct bench_server *server)
{
	kill(server->process, SIGTERM);
	waitpid(server->process, NULL, 0);
	unlink(server->path);
	rmdir(server->folder);
}

/* Of the thread with this number, 0: the calling one. */
static inline void stay_on(pid_t thread, int processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	(void)sched_setaffinity(thread, sizeof(set), &set);
}

/* All threads that the process has by now; those that they make stay there, too. */
static inline void process_stay_on(pid_t process, int processor)
{
	char name[64];
	struct dirent *entry;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)process);
	DIR *tasks = opendir(name);
	if (!tasks)
		die(name);
	while ((entry = readdir(tasks)) != NULL) {
		if (entry->d_name[0] != '.')
			stay_on((pid_t)strtol(entry->d_name, NULL, 10), processor);
	}
	closedir(tasks);
}

/* The first two that we may run on; the same one twice where there is no other. */
static inline void two_processors(int found[2])
{
	cpu_set_t allowed;
	int count = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		die("sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE && count < 2; i++) {
		if (CPU_ISSET(i, &allowed))
			found[count++] = i;
	}
	if (count == 1)
		found[1] = found[0];
}

/* Memory that children have in common with us. */
static inline void *shared_memory(size_t size_bytes)
{
	void *memory =
		mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	return memory;
}

#endif
