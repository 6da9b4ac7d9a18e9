/* SPDX-License-Identifier: MIT */
/*
 * control_session.c - dxgk ctl and its like: requests of wire/control.h, one packet each.
 *
 * Only who may control the kernel is served. The session has a process object of its own, so that what
 * is asked for is asked by somebody.
 */
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "dispatch/control_request.h"
#include "object/check/inventory.h"
#include "server/server.h"
#include "server/testing_service.h"
#include "trace/trace.h"

/* For calls to end, before books are looked at. */
#define PATIENCE_NS (20 * NS_PER_MS)

/* How often that, before a trace begins. */
enum { STILL_TRIES = 25 };

/* What a process can have least. */
enum { NO_ARENA_BYTES = 0x10000 };

/* A packet: the request or the reply, then its body. */
struct question {
	struct control_request request;
	unsigned char body[CONTROL_MOST_BYTES];
};

struct answer {
	struct control_reply reply;
	unsigned char body[CONTROL_MOST_BYTES];
};

static const char *wrong_with(const struct session *session, const struct question *question,
			      size_t length)
{
	if (!session_may_control(session))
		return "Only the server's user, root and members of its group may control it";
	if (length < sizeof(question->request) || question->request.magic != CONTROL_MAGIC)
		return "This is no control request";
	if (question->request.version != CONTROL_VERSION)
		return "The control request is of another version";
	if (question->request.size_bytes != length - sizeof(question->request))
		return "The control request is not as long as it says";
	return NULL;
}

static bool close_kernel(void)
{
	return guests_close_until(clock_deadline(PATIENCE_NS));
}

static void carry_out(struct session *session, const struct control_request *request, void *body,
		      struct control_reply *reply)
{
	struct guest *guest = NULL;
	struct dxg_process *process = NULL;

	thread_enter_kernel();
	if (testing_service_run(session->server, request, body, reply)) {
		thread_leave_kernel();
		return;
	}
	if (request->kind == CONTROL_CHECK) {
		static const struct control_doors doors = {
			.close = close_kernel,
			.open = guests_open,
			.go_in = guests_go_in,
			.come_out = guests_come_out,
			.name_busy = guests_name_busy,
		};
		control_check(&session->server->kernel, &doors, request, body, reply);
		thread_leave_kernel();
		return;
	}
	if (NT_SUCCESS(session_guest(session, &guest)))
		process = guest_go_in(guest);
	control_request_run(&session->server->kernel, process, request, body, reply);
	if (guest)
		guest_come_out(guest);
	guest_put(guest);
	thread_leave_kernel();
}

/* ---- a trace of the server ---- */

static _Atomic(struct session *) tracer; /* who has asked for the trace that is running */

static void stop_trace(struct session *session)
{
	struct session *expected = session;

	if (atomic_load(&tracer) != session)
		return;
	trace_finish();
	atomic_compare_exchange_strong(&tracer, &expected, NULL);
}

/* Between calls, so that what there is and what happens fit together. Who calls all the time lets it begin in between. */
static bool begin_trace(struct dxg_kernel *kernel, int descriptor, uint32_t wishes)
{
	bool is_still = false;

	thread_enter_kernel();
	for (int i = 0; i < STILL_TRIES && !is_still; i++)
		is_still = close_kernel();
	if (!is_still)
		guests_go_in();
	bool has_begun = trace_start_to(descriptor, "the controller's file", wishes);
	if (has_begun)
		kernel_trace_inventory(kernel, is_still);
	if (is_still)
		guests_open();
	else
		guests_come_out();
	thread_leave_kernel();
	return has_begun;
}

/* A pipe, or what is behind no ordinary file, could keep the server waiting. */
static bool is_plain_file(int descriptor)
{
	struct stat facts;

	return descriptor >= 0 && fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* NULL, or why not. Takes the descriptor. */
static const char *start_trace(struct session *session, int descriptor, uint32_t wishes)
{
	struct session *nobody = NULL;

	if (wishes & ~(uint32_t)TRACE_WISHES) {
		if (descriptor >= 0)
			close(descriptor);
		return "The trace is to be as this server knows no trace";
	}
	if (!is_plain_file(descriptor)) {
		if (descriptor >= 0)
			close(descriptor);
		return "A trace goes to an ordinary file, which comes along with the request";
	}
	if (!atomic_compare_exchange_strong(&tracer, &nobody, session)) {
		close(descriptor);
		return "Another controller traces the server";
	}
	if (begin_trace(&session->server->kernel, descriptor, wishes))
		return NULL;
	atomic_store(&tracer, NULL);
	return "The server does not begin a trace: it has one (DXGK_TRACE), or cannot write the "
	       "file";
}

/* True: it was one of those. */
static bool run_trace(struct session *session, const struct control_request *request,
		      int descriptor, struct control_reply *reply)
{
	const char *wrong = NULL;

	if (request->kind == CONTROL_TRACE_START)
		wrong = start_trace(session, descriptor, request->type);
	else if (request->kind != CONTROL_TRACE_STOP)
		return false;
	else if (atomic_load(&tracer) != session)
		wrong = "This controller has no trace running";
	else
		stop_trace(session);
	if (wrong)
		control_reply_refuse(reply, STATUS_UNSUCCESSFUL, wrong);
	else
		control_reply_accept(reply, 0);
	return true;
}

/* ---- one packet ---- */

static void answer_one(struct session *session, const struct question *question, size_t length,
		       int descriptor)
{
	const char *wrong = wrong_with(session, question, length);
	struct answer answer;

	memset(&answer, 0, sizeof(answer.reply));
	memcpy(answer.body, question->body, sizeof(answer.body));
	if (wrong)
		control_reply_refuse(&answer.reply, STATUS_ACCESS_DENIED, wrong);
	else if (run_trace(session, &question->request, descriptor, &answer.reply))
		descriptor = -1;
	else
		carry_out(session, &question->request, answer.body, &answer.reply);
	if (descriptor >= 0)
		close(descriptor);
	(void)!send(session->socket, &answer, sizeof(answer.reply) + answer.reply.size_bytes,
		    MSG_NOSIGNAL);
}

/* Its length, or nothing when the client has hung up. A descriptor that comes along is the caller's. */
static ssize_t receive(struct session *session, struct question *question, int *descriptor_out)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec bytes = { question, sizeof(*question) };
	struct msghdr header = { .msg_iov = &bytes,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes) };
	ssize_t length = recvmsg(session->socket, &header, MSG_CMSG_CLOEXEC);
	struct cmsghdr *part = length > 0 ? CMSG_FIRSTHDR(&header) : NULL;

	*descriptor_out = -1;
	/* There is room for one: what else was sent is closed by the host. */
	if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
	    part->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(descriptor_out, CMSG_DATA(part), sizeof(*descriptor_out));
	return length;
}

/* Ends when the client hangs up; the loop does the rest. */
static void run(void *context)
{
	struct session *session = context;
	struct question question;
	ssize_t length;
	int descriptor;

	client_port_current = &session->port;
	while (!atomic_load(&session->is_over)) {
		memset(&question, 0, sizeof(question));
		length = receive(session, &question, &descriptor);
		if (length <= 0)
			break;
		answer_one(session, &question, (size_t)length, descriptor);
	}
	stop_trace(session);
	client_port_current = NULL;
	shutdown(session->socket, SHUT_RDWR);
}

bool control_session_begin(struct session *session)
{
	/* The loop leaves what comes to this thread, and still hears of the end. */
	struct epoll_event wish = { .events = EPOLLRDHUP | EPOLLET, .data.ptr = session };

	if (epoll_ctl(session->server->poll_file, EPOLL_CTL_MOD, session->socket, &wish) != 0)
		return false;
	session->is_control = true;
	/* Its process object is as everybody's; nothing is ever shown to it. */
	session->arena_address = NO_ARENA_BYTES;
	session->arena_bytes = NO_ARENA_BYTES;
	return NT_SUCCESS(thread_create("control", run, session, &session->control_thread));
}
