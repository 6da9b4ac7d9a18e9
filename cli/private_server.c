/* SPDX-License-Identifier: MIT */
/*
 * private_server.c - see private_server.h.
 *
 * It says when it is ready, as it would to systemd. It has a process group of its own, so that a signal
 * from the terminal ends the clients first; and it ends with whoever started it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/private_server.h"

enum { START_MS = 60000, LOOK_MS = 20, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

static const char ready_name[] = "ready";

static bool complain(const char *verb, const char *what)
{
	fprintf(stderr, "dxgk %s: a server of its own: %s\n", verb, what);
	return false;
}

/* ---- the folder ---- */

static void name_in(const struct private_server *server, const char *name, char *path, size_t bytes)
{
	snprintf(path, bytes, "%s/%s", server->folder, name);
}

static bool make_folder(struct private_server *server)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	bool is_usable =
		runtime && runtime[0] == '/' && strlen(runtime) < 60 && access(runtime, W_OK) == 0;

	snprintf(server->folder, sizeof(server->folder), "%s/dxgk-XXXXXX",
		 is_usable ? runtime : "/tmp");
	if (!mkdtemp(server->folder)) {
		server->folder[0] = '\0';
		return false;
	}
	name_in(server, "dxgk.sock", server->path, sizeof(server->path));
	return true;
}

static const char *const file_names[] = { "dxgk.sock", "dxgk.sock.lock", ready_name };

static void remove_folder(struct private_server *server)
{
	char path[128];

	if (server->folder[0] == '\0')
		return;
	for (size_t i = 0; i < sizeof(file_names) / sizeof(file_names[0]); i++) {
		name_in(server, file_names[i], path, sizeof(path));
		unlink(path);
	}
	rmdir(server->folder);
	server->folder[0] = '\0';
}

/* Where it says that it is ready; -1 with errno. */
static int open_ready(const struct private_server *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	name_in(server, ready_name, address.sun_path, sizeof(address.sun_path));
	if (file >= 0 && bind(file, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		int problem = errno;
		close(file);
		errno = problem;
		return -1;
	}
	return file;
}

/* ---- the child ---- */

/* What the environment names as a descriptor is to be there after exec(). */
static void keep_descriptor(const char *variable)
{
	static const char start[] = "/proc/self/fd/";
	const char *path = getenv(variable);

	if (path && strncmp(path, start, strlen(start)) == 0)
		fcntl((int)strtol(path + strlen(start), NULL, 10), F_SETFD, 0);
}

/* Beside this program, as both are installed; or as they are built. */
static void become_server(const struct private_server *server)
{
	static const char *const places[] = { "dxgkd", "../server/dxgkd" };
	char *arguments[] = { "dxgkd", "--socket", (char *)server->path, NULL };
	char here[4096] = "";
	char path[4200];

	if (readlink("/proc/self/exe", here, sizeof(here) - 1) > 0 && strrchr(here, '/'))
		strrchr(here, '/')[1] = '\0';
	for (size_t i = 0; here[0] && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", here, places[i]);
		execv(path, arguments);
	}
	execvp("dxgkd", arguments);
}

static _Noreturn void run_child(const struct private_server *server, pid_t parent)
{
	char path[128];

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_NOT_FOUND);
	name_in(server, ready_name, path, sizeof(path));
	keep_descriptor("DXGK_PROFILE");
	keep_descriptor("DXGK_TRACE");
	setenv("NOTIFY_SOCKET", path, 1);
	unsetenv("DXGK_SOCKET");
	unsetenv("DXGK_CONTROL");
	become_server(server);
	_exit(EXIT_NOT_FOUND);
}

/* ---- signals ---- */

/* Whoever is ended by a signal leaves no folder; what a handler needs is here before it can run. */
static struct {
	volatile pid_t owner; /* 0: there is no server */
	pid_t server;
	char names[3][128];
	char folder[sizeof(((struct private_server *)0)->folder)];
} standing;

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP };

static void end_with_signal(int number)
{
	/* Clients are its children, and have the handler, too. */
	if (standing.owner == getpid()) {
		kill(standing.server, SIGTERM);
		for (size_t i = 0; i < sizeof(standing.names) / sizeof(standing.names[0]); i++)
			unlink(standing.names[i]);
		rmdir(standing.folder);
	}
	signal(number, SIG_DFL);
	raise(number);
}

/* Who ignores a signal, or has a handler of his own, keeps that. */
static void change_handlers(void (*from)(int), void (*to)(int))
{
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++) {
		struct sigaction now;

		if (sigaction(ending_signals[i], NULL, &now) == 0 && now.sa_handler == from)
			signal(ending_signals[i], to);
	}
}

static void watch_signals(const struct private_server *server)
{
	for (size_t i = 0; i < sizeof(standing.names) / sizeof(standing.names[0]); i++)
		name_in(server, file_names[i], standing.names[i], sizeof(standing.names[i]));
	snprintf(standing.folder, sizeof(standing.folder), "%s", server->folder);
	standing.server = server->process;
	standing.owner = getpid();
	change_handlers(SIG_DFL, end_with_signal);
}

static void forget_signals(void)
{
	standing.owner = 0;
	change_handlers(end_with_signal, SIG_DFL);
}

/* ---- beginning and end ---- */

static bool is_ready(int ready)
{
	struct pollfd wait = { .fd = ready, .events = POLLIN };
	char text[256] = "";

	return poll(&wait, 1, LOOK_MS) > 0 && recv(ready, text, sizeof(text) - 1, 0) > 0 &&
	       strstr(text, "READY=1");
}

static bool wait_until_ready(struct private_server *server, int ready, const char *verb)
{
	int status;

	for (int waited_ms = 0; waited_ms < START_MS; waited_ms += LOOK_MS) {
		if (is_ready(ready))
			return true;
		if (waitpid(server->process, &status, WNOHANG) != server->process)
			continue;
		server->process = 0;
		return complain(verb, WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_FOUND
					      ? "dxgkd is not found"
					      : "it has not started");
	}
	return complain(verb, "it does not start");
}

bool private_server_start(struct private_server *server, const char *verb)
{
	pid_t parent = getpid();
	int ready;
	bool is_up;

	*server = (struct private_server){ 0 };
	if (!make_folder(server) || (ready = open_ready(server)) < 0) {
		complain(verb, strerror(errno));
		remove_folder(server);
		return false;
	}
	fflush(NULL);
	server->process = fork();
	if (server->process == 0)
		run_child(server, parent);
	if (server->process > 0)
		watch_signals(server);
	is_up = server->process > 0 ? wait_until_ready(server, ready, verb)
				    : complain(verb, strerror(errno));
	close(ready);
	if (!is_up)
		(void)private_server_end(server, verb);
	return is_up;
}

int private_server_use(int (*use)(void *context), void *context)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction interrupt;
	struct sigaction quit;
	int status = 0;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0)
		exit(use(context));
	if (child < 0)
		return EXIT_NOT_FOUND;
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

bool private_server_end(struct private_server *server, const char *verb)
{
	int status = 0;

	forget_signals();
	if (server->process > 0) {
		kill(server->process, SIGTERM);
		while (waitpid(server->process, &status, 0) < 0 && errno == EINTR)
			;
	}
	server->process = 0;
	remove_folder(server);
	if (WIFSIGNALED(status))
		return complain(verb, strsignal(WTERMSIG(status)));
	return WEXITSTATUS(status) == 0 || complain(verb, "it did not end in order");
}
