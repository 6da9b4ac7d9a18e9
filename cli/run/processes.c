/* SPDX-License-Identifier: MIT */
/*
 * processes.c - see processes.h.
 *
 * A client's process is told of a new link by a descriptor over its own socket, and serves each on a
 * thread: the number of a statement comes, how it went is the answer. Its socket's end is its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "cli/run/processes.h"
#include "wire/message.h"

enum { EXIT_NOT_OPENED = 1 };

struct one {
	pid_t process; /* 0: the name is no client's */
	int socket;
};

struct processes {
	const struct script *script;
	const char *exerciser;
	struct one *clients; /* by name */
};

bool processes_can_run(const struct script *script, const char *path)
{
	for (uint32_t i = 0; i < script->statement_count; i++) {
		const struct script_statement *statement = &script->statements[i];

		for (uint32_t j = 0; j < statement->command_count; j++) {
			const struct script_command *command = &statement->commands[j];
			const uint32_t names[] = { command->to.name, command->from.name };

			for (uint32_t k = 0; k < 2; k++) {
				if (names[k] == SCRIPT_NO_NAME ||
				    script->names[names[k]].client ==
					    script->names[statement->name].client)
					continue;
				fprintf(stderr,
					"%s:%u: %s is another client's, whose addresses mean "
					"nothing "
					"here when each is a process of its own\n",
					path, statement->line, script->names[names[k]].text);
				return false;
			}
		}
	}
	return true;
}

/* ---- a client's process ---- */

struct served {
	struct served *next;
	struct thread *thread;
	struct client_process *client;
	int link;
};

struct client_process {
	struct world world;
	uint32_t name;
	process_statement *run;
	void *context;
	struct served *served; /* the main thread's */
};

static void serve_link(void *argument)
{
	struct served *served = argument;
	struct client_process *client = served->client;
	uint32_t at;

	while (recv(served->link, &at, sizeof(at), 0) == (ssize_t)sizeof(at)) {
		uint32_t is_good = client->run(client->context, &client->world, at);

		/* Before who asked goes on, and prints itself. */
		fflush(stdout);
		if (send(served->link, &is_good, sizeof(is_good), MSG_NOSIGNAL) < 0)
			break;
	}
	close(served->link);
}

/* False: whoever started it has no more. */
static bool take_link(struct client_process *client, int socket)
{
	struct wire_message message;
	struct served *served;
	int link;

	if (wire_receive(socket, &message, &link, true) != WIRE_DONE || link < 0)
		return false;
	served = calloc(1, sizeof(*served));
	if (!served) {
		close(link);
		return true; /* who waits there is told by its end */
	}
	*served = (struct served){ .next = client->served, .client = client, .link = link };
	client->served = served;
	if (!NT_SUCCESS(thread_create("link", serve_link, served, &served->thread)))
		close(link);
	return true;
}

/* What is left of the client goes; the number of calls is the last that is heard of it. */
static void finish(struct client_process *client, int socket)
{
	struct wire_message last = { .kind = WIRE_GOODBYE };

	while (client->served) {
		struct served *served = client->served;

		client->served = served->next;
		thread_join(served->thread);
		free(served);
	}
	if (world_thing(&client->world, client->name)->is_there)
		(void)world_destroy(&client->world, client->name);
	last.count = client->world.calls;
	(void)!wire_send(socket, &last, -1, true);
	world_close(&client->world);
}

static _Noreturn void run_process(struct client_process *client, const struct processes *processes,
				  struct thing *things, int socket, pid_t parent)
{
	char something;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_NOT_OPENED);

	/* The kernel is first spoken to when there is something to do. */
	if (recv(socket, &something, sizeof(something), MSG_PEEK) > 0) {
		if (!world_open(&client->world, processes->script, things, processes->exerciser))
			exit(EXIT_NOT_OPENED);
		while (take_link(client, socket))
			;
		finish(client, socket);
	}
	exit(0);
}

/* ---- who reads the script ---- */

static bool begin_one(struct processes *processes, uint32_t name, struct thing *things,
		      process_statement *run, void *context)
{
	struct client_process client = { .name = name, .run = run, .context = context };
	struct one *one = &processes->clients[name];
	pid_t parent = getpid();
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return false;
	one->process = fork();
	if (one->process == 0) {
		/* Those of the clients before it: their end is to be seen. */
		for (uint32_t i = 0; i < name; i++) {
			if (processes->clients[i].process > 0)
				close(processes->clients[i].socket);
		}
		close(sockets[0]);
		run_process(&client, processes, things, sockets[1], parent);
	}
	close(sockets[1]);
	one->socket = sockets[0];
	if (one->process > 0)
		return true;
	one->process = 0;
	close(sockets[0]);
	return false;
}

struct processes *processes_begin(const struct script *script, struct thing *things,
				  const char *exerciser, process_statement *run, void *context)
{
	struct processes *processes = calloc(1, sizeof(*processes));
	bool is_good;

	if (!processes)
		return NULL;
	processes->script = script;
	processes->exerciser = exerciser;
	processes->clients = calloc(script->name_count + 1, sizeof(*processes->clients));
	is_good = processes->clients != NULL;
	fflush(NULL);
	for (uint32_t i = 0; is_good && i < script->name_count; i++) {
		if (script->names[i].kind == SCRIPT_CLIENT)
			is_good = begin_one(processes, i, things, run, context);
	}
	if (is_good)
		return processes;
	int problem = errno;
	(void)processes_end(processes);
	errno = problem;
	return NULL;
}

int *processes_make_links(const struct processes *processes)
{
	uint32_t count = processes->script->name_count + 1;
	int *links = calloc(count, sizeof(*links));

	for (uint32_t i = 0; links && i < count; i++)
		links[i] = -1;
	return links;
}

void processes_close_links(const struct processes *processes, int *links)
{
	for (uint32_t i = 0; links && i < processes->script->name_count; i++) {
		if (links[i] >= 0)
			close(links[i]);
	}
	free(links);
}

static bool make_link(const struct one *one, int *link)
{
	const struct wire_message message = { .kind = WIRE_OPEN_CHANNEL };
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
		return false;
	bool is_sent = wire_send(one->socket, &message, sockets[1], true) == WIRE_DONE;
	close(sockets[1]);
	if (is_sent)
		*link = sockets[0];
	else
		close(sockets[0]);
	return is_sent;
}

bool processes_run(struct processes *processes, int *links, uint32_t client, uint32_t at,
		   bool *is_gone)
{
	uint32_t is_good = false;

	*is_gone = true;
	if (links[client] < 0 && !make_link(&processes->clients[client], &links[client]))
		return false;
	if (send(links[client], &at, sizeof(at), MSG_NOSIGNAL) < 0)
		return false;
	ssize_t length;
	while ((length = recv(links[client], &is_good, sizeof(is_good), 0)) < 0 && errno == EINTR)
		;
	*is_gone = length != (ssize_t)sizeof(is_good);
	return !*is_gone && is_good;
}

static uint64_t end_one(struct one *one)
{
	struct wire_message last = { 0 };
	int none;

	shutdown(one->socket, SHUT_WR);
	if (wire_receive(one->socket, &last, &none, true) != WIRE_DONE)
		last.count = 0;
	close(one->socket);
	while (waitpid(one->process, NULL, 0) < 0 && errno == EINTR)
		;
	return last.count;
}

uint64_t processes_end(struct processes *processes)
{
	uint64_t calls = 0;

	if (!processes)
		return 0;
	for (uint32_t i = 0; processes->clients && i < processes->script->name_count; i++) {
		if (processes->clients[i].process > 0)
			calls += end_one(&processes->clients[i]);
	}
	free(processes->clients);
	free(processes);
	return calls;
}
