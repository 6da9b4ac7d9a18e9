/* SPDX-License-Identifier: MIT */
/*
 * serve.c - the kernel as a server: start, the loop that watches sockets, end.
 *
 *	kernel started ──▶ listening ──▶ READY ──loop──▶ SIGTERM, SIGINT, SIGHUP, idle ──▶ clients told and
 *	ended, kernel stopped
 *
 * The adapters start before anybody is let in, and stop after everything that anybody made is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/refusal.h"
#include "base/thread.h"
#include "embed/config.h"
#include "server/gang.h"
#include "server/server.h"
#include "trace/trace.h"

enum {
	AGAIN_MS =
		100, /* where descriptors are too many, here or on their way, nothing tells when there is room */
	EXIT_NOT_STARTED = 1,
	EVENTS_AT_ONCE = 64,
	SPARE_DESCRIPTORS = 64, /* for the kernel itself: drivers, shared objects, files */
	FIRST_DESCRIPTORS =
		8, /* without which a client can do nothing: for a channel, a bank, its process */
};

static struct server server;

/* ---- connections ---- */

static void keep_spare(void)
{
	if (server.spare_file < 0)
		server.spare_file = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* What has a low number may be all that is left. */
static bool has_descriptors(int socket)
{
	int taken[FIRST_DESCRIPTORS];
	struct rlimit limit;
	int count = 0;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    (rlim_t)socket + SPARE_DESCRIPTORS >= limit.rlim_cur)
		return false;
	while (count < FIRST_DESCRIPTORS && (taken[count] = fcntl(socket, F_DUPFD_CLOEXEC, 0)) >= 0)
		count++;
	bool has_all = count == FIRST_DESCRIPTORS;
	while (count > 0)
		close(taken[--count]);
	return has_all;
}

static void turn_away_crowded(int socket)
{
	complain("a client is turned away: the server has few descriptors left");
	session_turn_away(socket, STATUS_INSUFFICIENT_RESOURCES, RULE_SYS_SERVER,
			  "the server has few descriptors left, and takes no more clients");
	close(socket);
}

/* Who connects is there until he is let in, or told that he is not. */
static void let_listen(bool is_letting)
{
	struct epoll_event wish = { .events = is_letting ? EPOLLIN : 0, .data.ptr = &server };

	if (epoll_ctl(server.poll_file, EPOLL_CTL_MOD, server.listener, &wish) == 0)
		server.let_again_ns = is_letting ? 0 : clock_deadline(AGAIN_MS * NS_PER_MS);
}

/* -1: nobody is there, or can be let in now. */
static int accept_one(bool *is_crowded_out)
{
	int socket = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC);

	*is_crowded_out = socket < 0 && errno == EMFILE && server.spare_file >= 0;
	if (*is_crowded_out) {
		close(server.spare_file);
		server.spare_file = -1;
		socket = accept4(server.listener, NULL, NULL, SOCK_CLOEXEC);
	}
	if (socket < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		let_listen(false); /* it would be found again at once, and without end */
	return socket;
}

static void accept_clients(void)
{
	bool is_crowded;
	int socket;

	while ((socket = accept_one(&is_crowded)) >= 0) {
		if (!is_crowded && has_descriptors(socket))
			newcomers_let_in(&server, socket);
		else
			turn_away_crowded(socket);
		keep_spare();
	}
	keep_spare();
}

/* Every client has some; the host's usual limit is for programs that have few. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* None of ours is one of the three that have a meaning, 0 least of all: that is no handle. */
static void fill_standard_descriptors(void)
{
	int file;

	do {
		file = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (file >= 0 && file <= STDERR_FILENO);
	if (file >= 0)
		close(file);
}

/* ---- the loop ---- */

static int ms_until(uint64_t end_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (end_ns <= now_ns)
		return 0;
	uint64_t left_ms = (end_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

/* Milliseconds until it has been idle long enough; -1: it never is. */
static int idle_timeout_ms(const struct dxgk_serve_options *options, uint64_t *idle_since_ns)
{
	uint64_t now_ns = clock_now_ns();

	if (options->idle_exit_ns < 0 || server.session_count > 0 ||
	    atomic_load(&server.ending) > 0) {
		*idle_since_ns = now_ns;
		/* The end of a session does not wake the loop. */
		return options->idle_exit_ns >= 0 && server.session_count == 0 ? 100 : -1;
	}
	return ms_until(*idle_since_ns + (uint64_t)options->idle_exit_ns);
}

/* How long the loop may sleep, if nobody else has something for it until then. */
static int sooner_of(int timeout_ms)
{
	uint64_t first_ns = newcomers_deadline_ns(&server);

	if (server.owing_count)
		timeout_ms = AGAIN_MS;
	if (server.let_again_ns != 0 && server.let_again_ns < first_ns)
		first_ns = server.let_again_ns;
	return first_ns != CLOCK_FOREVER && (timeout_ms < 0 || ms_until(first_ns) < timeout_ms)
		       ? ms_until(first_ns)
		       : timeout_ms;
}

static struct session *find_hung_up(void)
{
	list_each (struct session, session, &server.sessions, link) {
		struct pollfd end = { .fd = session->socket, .events = POLLRDHUP };

		if (poll(&end, 1, 0) == 1)
			return session;
	}
	return NULL;
}

/* What the loop would find in its next rounds it finds now. */
static void settle(void)
{
	uint32_t wished = atomic_load(&server.settle_wished);
	struct session *session;
	uint64_t count;

	(void)!read(server.settle_file, &count, sizeof(count));
	while ((session = find_hung_up()) != NULL)
		session_take(session, EPOLLHUP);
	atomic_store(&server.settle_done, wished);
	notice_give(&server.ended);
}

void serve_settle(void)
{
	const uint64_t one = 1;
	uint32_t wish = atomic_fetch_add(&server.settle_wished, 1) + 1;

	(void)!write(server.settle_file, &one, sizeof(one));
	for (;;) {
		uint32_t seen = notice_read(&server.ended);

		if ((int32_t)(atomic_load(&server.settle_done) - wish) >= 0 &&
		    atomic_load(&server.ending) == 0)
			return;
		notice_wait(&server.ended, seen, CLOCK_FOREVER);
	}
}

/* False: it is to end. */
static bool take_event(const struct epoll_event *event, int signals)
{
	if (event->data.u64 == 0) {
		struct signalfd_siginfo signal;

		return read(signals, &signal, sizeof(signal)) != (ssize_t)sizeof(signal);
	}
	if (event->data.ptr == &server) {
		accept_clients();
		return true;
	}
	if (event->data.ptr == &server.settle_file) {
		settle();
		return true;
	}
	if (event->data.ptr == &server.newcomer_file) {
		uint64_t count;

		(void)!read(server.newcomer_file, &count, sizeof(count));
		return true; /* they are looked at in each round */
	}
	struct session *session = (struct session *)(uintptr_t)(event->data.u64 & ~UINT64_C(1));
	if (event->data.u64 & 1)
		session_process_ended(session);
	else
		session_take(session, event->events);
	return true;
}

/* Has an earlier one of this round ended its session? Its struct may be gone. */
static bool is_gone(const struct epoll_event *event)
{
	const void *named = (const void *)(uintptr_t)(event->data.u64 & ~UINT64_C(1));

	if (event->data.u64 == 0 || event->data.ptr == &server ||
	    event->data.ptr == &server.settle_file || event->data.ptr == &server.newcomer_file)
		return false;
	list_each (const struct session, session, &server.sessions, link) {
		if (session == named)
			return false;
	}
	return true;
}

static void say_owed(void)
{
	list_each_safe (struct session, session, &server.sessions, link) {
		if (session->owes)
			session_take(session, 0);
	}
}

static void loop(const struct dxgk_serve_options *options, int signals)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	uint64_t idle_since_ns = clock_now_ns();
	bool goes_on = true;

	while (goes_on) {
		int timeout_ms = idle_timeout_ms(options, &idle_since_ns);
		int count =
			epoll_wait(server.poll_file, events, EVENTS_AT_ONCE, sooner_of(timeout_ms));

		if (count == 0 && timeout_ms == 0)
			return; /* idle for long enough */
		if (server.let_again_ns != 0 && server.let_again_ns <= clock_now_ns())
			let_listen(true);
		for (int i = 0; i < count && goes_on; i++)
			goes_on = is_gone(&events[i]) || take_event(&events[i], signals);
		if (server.owing_count)
			say_owed();
		if (atomic_load(&server.newcomer_count) > 0)
			newcomers_look(&server);
	}
}

/* ---- start and end ---- */

static bool watch(int file, void *name)
{
	struct epoll_event wish = { .events = EPOLLIN, .data.ptr = name };

	return epoll_ctl(server.poll_file, EPOLL_CTL_ADD, file, &wish) == 0;
}

/* By who started us, as nohup(1) does. */
static bool is_ignored(int signal)
{
	struct sigaction now;

	return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* Before there is any thread: all of them inherit it. -1 with errno. */
static int take_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	if (!is_ignored(SIGHUP))
		sigaddset(&signals, SIGHUP);
	/* What is written for a client that has gone is an error like another, on its socket or in a sync file. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
		return -1;
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void end_sessions(void)
{
	newcomers_turn_away(&server);
	while (!list_is_empty(&server.sessions))
		session_part(container_of(server.sessions.next, struct session, link),
			     "the server ends");
	for (;;) {
		uint32_t seen = notice_read(&server.ended);

		if (atomic_load(&server.ending) == 0)
			return;
		notice_wait(&server.ended, seen, CLOCK_FOREVER);
	}
}

static void serve_until_end(const struct dxgk_serve_options *options, int signals)
{
	log_topic(LOG_START, "dxgkd listens%s%s", options->socket_path ? " at " : "",
		  options->socket_path ? options->socket_path : "");
	system_notify("READY=1");
	loop(options, signals);
	system_notify("STOPPING=1");
	listener_close(server.listener);
	end_sessions();
	complain_of_the_rest();
}

static bool start_kernel(const char *profile)
{
	struct refusal_scope scope;

	refusal_begin(&scope, "dxgkd");
	NTSTATUS status =
		config_start(&server.kernel, profile ? profile : getenv("DXGK_PROFILE"), true);
	refusal_end_call(&scope, status);
	return NT_SUCCESS(status);
}

EXPORTED int dxgk_serve(const struct dxgk_serve_options *options)
{
	int status = EXIT_NOT_STARTED;

	if (options->version != DXGK_SERVE_VERSION) {
		log_error("dxgkd and libdxgk.so.0 are not of the same build");
		return status;
	}
	if (thread_is_simulated()) {
		log_error("dxgkd: a simulated run (DXGK_SEED) has no sockets");
		return status;
	}
	list_init(&server.sessions);
	list_init(&server.endings);
	list_init(&server.newcomers);
	lock_init(&server.lock, LOCK_RANK_SESSION, "sessions");
	fill_standard_descriptors();
	raise_descriptor_limit();
	gangs_start(thread_processors());
	clock_learn_ticks();
	int signals = take_signals();
	server.poll_file = epoll_create1(EPOLL_CLOEXEC);
	server.settle_file = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server.newcomer_file = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	server.spare_file = -1;
	keep_spare();
	if (signals < 0 || server.poll_file < 0 || server.settle_file < 0 ||
	    server.newcomer_file < 0) {
		log_error("dxgkd: %s", strerror(errno));
		return status;
	}
	server.listener = listener_open(options, &server);
	if (server.listener < 0)
		return status;
	if (start_kernel(options->profile)) {
		clock_learn_ticks();
		if (watch(signals, NULL) && watch(server.listener, &server) &&
		    watch(server.settle_file, &server.settle_file) &&
		    watch(server.newcomer_file, &server.newcomer_file) &&
		    NT_SUCCESS(bank_watch_start(&server))) {
			serve_until_end(options, signals);
			status = EXIT_SUCCESS;
		}
		bank_watch_stop();
		kernel_end(&server.kernel);
		trace_finish();
	}
	listener_close(-1);
	return status;
}
