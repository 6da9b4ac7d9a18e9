/* SPDX-License-Identifier: MIT */
/*
 * channel_worker.c - the calls of one thread of a client.
 *
 *	request   copied out of the channel once ──▶ opened: pointers lead into the copy (wire/travel.h)
 *	          ──▶ dispatch_call(), as for a client in this process ──▶ reply
 *
 * Nothing behind the copy is memory that the client can write. A request that cannot be one ends the
 * session; what the call itself refuses goes back with its reason.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/tally.h"
#include "base/thread.h"
#include "dispatch/dispatch.h"
#include "server/channel_worker.h"

#define WAKE_AGAIN_NS (10 * NS_PER_MS)

/* ---- what travels beside the bytes ---- */

static struct channel_worker *worker_of(struct travel_hooks *hooks)
{
	return container_of(hooks, struct channel_worker, hooks);
}

/* Closed when the call is over. False: it did not come, or there are too many. */
static bool take_descriptor(struct channel_worker *worker, uint64_t token, struct arrived *arrived)
{
	if (token == 0 || token > UINT32_MAX ||
	    !session_take_descriptor(worker->session, (uint32_t)token, arrived))
		return false;
	if (arrived->descriptor < 0) {
		worker->lacks = LACKS_DESCRIPTORS;
		return false;
	}
	if (worker->descriptor_count == CALL_DESCRIPTORS_MOST) {
		close(arrived->descriptor);
		return false;
	}
	worker->descriptors[worker->descriptor_count++] = arrived->descriptor;
	return true;
}

static uintptr_t event_arrive(struct channel_worker *worker, uint64_t token, uintptr_t value)
{
	uint32_t event = 0;

	if (token == 0 || worker->event_count == CALL_EVENTS_MOST)
		return value | CLIENT_PORT_NO_EVENT;
	event = session_event_came(worker->session, (uint32_t)token);
	if (event == 0) {
		worker->lacks = LACKS_EVENTS;
		return value | CLIENT_PORT_NO_EVENT;
	}
	worker->events[worker->event_count].event = event;
	worker->events[worker->event_count++].token = (uint32_t)token;
	return event;
}

static uintptr_t hook_arrive(struct travel_hooks *hooks, enum travel_thing thing, uint64_t token,
			     uintptr_t value, uint64_t size_bytes)
{
	struct channel_worker *worker = worker_of(hooks);
	struct arrived arrived;

	if (thing == TRAVEL_EVENT)
		return event_arrive(worker, token, value);
	bool has_come = take_descriptor(worker, token, &arrived);
	if (thing == TRAVEL_MEMORY) {
		/* Without it the call finds nothing at the address, and refuses. */
		if (has_come &&
		    !NT_SUCCESS(client_call_bring(&worker->call, value,
						  size_bytes ? size_bytes : arrived.size_bytes,
						  arrived.descriptor, arrived.offset)))
			worker->lacks = LACKS_MEMORY;
		return value;
	}
	/* No number that could be a descriptor of this process. */
	return has_come ? (uintptr_t)arrived.descriptor : value | CLIENT_PORT_NO_EVENT;
}

static uint64_t hook_send_back(struct travel_hooks *hooks, int descriptor)
{
	return session_send_descriptor(worker_of(hooks)->session, descriptor);
}

/* ---- telling the client ---- */

/* Who is sent away learns that, and not what became of calls because of it. */
static void answer(struct channel_worker *worker)
{
	enum channel_advice advice = CHANNEL_LOOK;

	if (worker->is_answered || atomic_load(&worker->session->is_over))
		return;
	worker->is_answered = true;
	if (UNLIKELY(worker->place == CHANNEL_TOGETHER))
		gang_end(&worker->gang);
	else if (UNLIKELY(!worker->gang.runs))
		gang_resume(&worker->gang);
	if (UNLIKELY(!worker->gang.runs))
		advice = CHANNEL_SLEEP;
	else if (UNLIKELY(worker->gang.is_back))
		advice = CHANNEL_LOOK_AGAIN;
	worker->gang.is_back = false;
	channel_answer(&worker->channel, advice);
}

/* ---- whose it is ---- */

static bool has_guest(const struct channel_worker *worker)
{
	return LIKELY(worker->guest && worker->guest == atomic_load(&worker->session->guest));
}

/* With the gate passed; NULL when the process has just ended. */
static struct dxg_process *go_in(struct channel_worker *worker)
{
	(void)log_speak_for(guest_name(worker->guest));
	struct dxg_process *process = guest_go_in(worker->guest);
	if (UNLIKELY(!process))
		guest_come_out(worker->guest);
	return process;
}

static NTSTATUS enter(struct channel_worker *worker, struct dxg_process **process_out)
{
	if (!has_guest(worker)) {
		guest_put(worker->guest);
		worker->guest = NULL;
		NTSTATUS status = session_guest(worker->session, &worker->guest);
		if (!NT_SUCCESS(status))
			return status;
	}
	*process_out = go_in(worker);
	return *process_out ? STATUS_SUCCESS
			    : refuse(STATUS_DEVICE_REMOVED, RULE_SYS_ENDED, NULL,
				     "the process that calls has ended");
}

static void leave(struct channel_worker *worker)
{
	guest_come_out(worker->guest);
	(void)log_speak_for(NULL);
}

/* The whole of a service: refusals are named after it. */
static NTSTATUS serve_named(struct channel_worker *worker, const char *name,
			    NTSTATUS (*serve)(struct dxg_kernel *kernel,
					      struct dxg_process *process,
					      const struct wire_listen *listen),
			    const struct wire_listen *listen)
{
	struct refusal_scope scope;
	struct dxg_process *process;

	refusal_begin(&scope, name);
	NTSTATUS status = enter(worker, &process);
	if (NT_SUCCESS(status)) {
		status = serve(&worker->session->server->kernel, process, listen);
		leave(worker);
	}
	refusal_end_call(&scope, status);
	return status;
}

/* ---- calls ---- */

static void reply_call(struct channel_worker *worker, NTSTATUS status)
{
	struct channel_reply reply = { .head.status = status,
				       .call = &worker->call,
				       .image = worker->image };

	reply.image_bytes = travel_reply_bytes(worker->image, status);
	channel_reply_send(worker, &reply);
	answer(worker);
}

static void call_settle(struct client_call *call)
{
	reply_call(container_of(call, struct channel_worker, call), STATUS_SUCCESS);
}

/* A refusal is named after the call. */
RARE static NTSTATUS enter_named(struct channel_worker *worker, uint32_t id,
				 struct dxg_process **process_out)
{
	struct refusal_scope scope;

	refusal_begin(&scope, call_describe(id)->name);
	NTSTATUS status = enter(worker, process_out);
	refusal_end_call(&scope, status);
	return status;
}

/*
 * The answer is sent as soon as there is one: what is noted and tidied up after it keeps nobody waiting. True: the
 * caller leaves the process, when it has tidied up; who closes the gates waits for that.
 */
static bool call_kernel(struct channel_worker *worker, uint32_t id, void *arguments)
{
	static struct tally_times times[CALL_COUNT];
	struct dxg_process *process = has_guest(worker) ? go_in(worker) : NULL;
	NTSTATUS status = process ? STATUS_SUCCESS : enter_named(worker, id, &process);

	if (UNLIKELY(!NT_SUCCESS(status))) {
		reply_call(worker, status);
		return false;
	}
	uint64_t began = clock_moment();
	client_call_begin(&worker->call);
	status = dispatch_call(&worker->session->server->kernel, process, id, arguments);
	client_call_end();
	if (!worker->is_answered)
		reply_call(worker, status);
	tally_time(&times[id], call_describe(id)->name, clock_between_ns(began, clock_moment()),
		   !NT_SUCCESS(status));
	return true;
}

/* What the call did not take is not needed any more. */
static void forget_things(struct channel_worker *worker)
{
	while (worker->descriptor_count > 0)
		close(worker->descriptors[--worker->descriptor_count]);
	while (worker->event_count > 0) {
		worker->event_count--;
		session_event_leave(worker->session, worker->events[worker->event_count].event,
				    worker->events[worker->event_count].token);
	}
}

static NTSTATUS refuse_lack(enum worker_lack lack)
{
	if (lack == LACKS_DESCRIPTORS)
		return refuse(STATUS_INSUFFICIENT_RESOURCES, RULE_SYS_QUOTA, NULL,
			      "descriptors that came for calls are above a quota "
			      "(limits.process.descriptors, limits.user.descriptors), or the "
			      "server has none left");
	if (lack == LACKS_EVENTS)
		return refuse(STATUS_INSUFFICIENT_RESOURCES, RULE_SYS_QUOTA, NULL,
			      "a client has at most %d events in a server", SESSION_EVENTS_MOST);
	return refuse_no_memory("no memory for the results of the call");
}

static NTSTATUS refuse_opening(uint32_t id, enum worker_lack lack)
{
	struct refusal_scope scope;

	refusal_begin(&scope, call_describe(id)->name);
	NTSTATUS status = refuse_lack(lack);
	refusal_end_call(&scope, status);
	return status;
}

static void serve_call(struct channel_worker *worker, uint32_t id, void *block, uint64_t size_bytes)
{
	struct travel_image image;
	bool is_inside = false;
	const char *why;

	channel_way_prepare(&worker->channel.memory->reply);
	worker->lacks = LACKS_NOTHING;
	if (!travel_request_open(&image, id, block, size_bytes, &worker->hooks, &why)) {
		worker->lie = why;
		if (!why)
			channel_reply_status(worker, refuse_opening(id, LACKS_MEMORY));
	} else if (worker->lacks != LACKS_NOTHING) {
		channel_reply_status(worker, refuse_opening(id, worker->lacks));
		travel_image_close(&image);
	} else {
		worker->image = &image;
		worker->call.settle = call_settle;
		is_inside = call_kernel(worker, id, image.arguments);
		travel_image_close(&image);
	}
	forget_things(worker);
	client_call_finish(&worker->call);
	session_forget_files(worker->session);
	if (is_inside)
		leave(worker);
}

/* ---- parts ---- */

static void serve_put(struct channel_worker *worker, const unsigned char *part, uint64_t size_bytes)
{
	struct refusal_scope scope;

	if (worker->put.size_bytes + size_bytes > TRAVEL_MAX_BYTES) {
		worker->lie = "its request is longer than any can be";
		return;
	}
	refusal_begin(&scope, "dxgkd");
	NTSTATUS status = channel_part_append(worker->session, &worker->put, part, size_bytes);
	refusal_end_call(&scope, status);
	if (!NT_SUCCESS(status))
		channel_part_forget(worker->session, &worker->put);
	channel_reply_status(worker, status);
}

/* ---- a channel that is not needed any more ---- */

/* Unless the session ends: then that waits for it. Who waits for the end of everybody waits for it, too. */
static void leave_session(struct channel_worker *worker)
{
	struct session *session = worker->session;

	lock_acquire(&session->lock);
	worker->has_left = list_is_linked(&worker->link);
	if (worker->has_left) {
		list_remove(&worker->link);
		session_get(session);
		atomic_fetch_add(&session->server->ending, 1);
	}
	lock_release(&session->lock);
	if (worker->has_left)
		quota_give(session->ledger, QUOTA_THREADS, 1);
}

/* ---- a request ---- */

static void serve_listen(struct channel_worker *worker, uint32_t service, const void *bytes,
			 uint64_t size_bytes)
{
	struct wire_listen listen;

	if (size_bytes != sizeof(listen)) {
		worker->lie = "it listens to something that is not said";
		return;
	}
	memcpy(&listen, bytes, sizeof(listen));
	channel_reply_status(worker, service == WIRE_LISTEN
					     ? serve_named(worker, "RegisterEventNotification",
							   session_watch, &listen)
					     : serve_named(worker, "UnregisterEventNotification",
							   session_unwatch, &listen));
}

static void serve(struct channel_worker *worker, const struct wire_request *request,
		  unsigned char *block, uint64_t size_bytes)
{
	if (request->call < CALL_COUNT) {
		serve_call(worker, request->call, block, size_bytes);
		return;
	}
	switch (request->call) {
	case WIRE_NOTHING:
		channel_reply_status(worker, STATUS_SUCCESS);
		break;
	case WIRE_PUT:
		serve_put(worker, block, size_bytes);
		break;
	case WIRE_MORE:
		channel_reply_more(worker);
		break;
	case WIRE_CLOSE_PROCESS:
		guest_put(worker->guest);
		worker->guest = NULL;
		session_close_process(worker->session);
		channel_reply_status(worker, STATUS_SUCCESS);
		break;
	case WIRE_LISTEN:
	case WIRE_UNLISTEN:
		serve_listen(worker, request->call, block, size_bytes);
		break;
	case WIRE_CLOSE_CHANNEL:
		leave_session(worker);
		channel_reply_status(worker, STATUS_SUCCESS);
		break;
	default:
		worker->lie = "it made a call that there is not";
	}
}

/* NULL, or what is wrong with what it says it is. */
static const char *check_request(const struct channel_worker *worker,
				 const struct wire_request *request)
{
	if (request->size_bytes > CHANNEL_BUFFER_BYTES)
		return "its request is longer than the channel";
	if (request->call >= CALL_COUNT && (request->flags & ~(uint32_t)WIRE_FROM_CALLBACK))
		return "its request is of no call, and of one";
	if ((request->flags & WIRE_WAS_PUT) &&
	    (!worker->put.bytes || (request->flags & WIRE_IS_BARE) || request->size_bytes != 0))
		return "its request is not what was put before";
	return NULL;
}

/* Out of the room, once: what the client writes there later is too late. Returns its size. */
static uint64_t copy_request(struct channel_worker *worker, const struct wire_request *request)
{
	const unsigned char *buffer = worker->channel.memory->request.buffer;
	struct travel_head *head = (struct travel_head *)(void *)worker->block;

	if (UNLIKELY(!(request->flags & WIRE_IS_BARE))) {
		memcpy(worker->block, buffer, request->size_bytes);
		return request->size_bytes;
	}
	*head = (struct travel_head){ request->call, request->flags >> WIRE_HEAD_SHIFT };
	memcpy(head + 1, buffer, request->size_bytes);
	return sizeof(*head) + request->size_bytes;
}

static void serve_request(struct channel_worker *worker)
{
	const struct wire_request request = wire_request_hear(&worker->channel);

	worker->lie = check_request(worker, &request);
	if (UNLIKELY(worker->lie != NULL))
		return;
	if (UNLIKELY(worker->rest.bytes != NULL) && request.call != WIRE_MORE)
		channel_reply_forget_rest(worker);
	client_port_is_in_callback = (request.flags & WIRE_FROM_CALLBACK) != 0;
	if (UNLIKELY(request.flags & WIRE_WAS_PUT)) {
		serve(worker, &request, worker->put.bytes, worker->put.size_bytes);
		channel_part_forget(worker->session, &worker->put);
		return;
	}
	serve(worker, &request, worker->block, copy_request(worker, &request));
}

static void worker_free(struct channel_worker *worker)
{
	channel_close(&worker->channel);
	guest_put(worker->guest);
	channel_part_forget(worker->session, &worker->put);
	channel_reply_forget_rest(worker);
	mem_free(worker->block);
	mem_free(worker);
}

static void end_alone(struct channel_worker *worker)
{
	struct session *session = worker->session;
	struct server *server = session->server;

	thread_detach(worker->thread);
	worker_free(worker);
	session_put(session);
	atomic_fetch_sub(&server->ending, 1);
	notice_give(&server->ended);
}

/* Its client has been woken, and may still come while it has its slot. */
RARE static bool linger(struct channel_worker *worker)
{
	uint64_t for_ns = worker->channel.has_woken ? gang_linger_ns(&worker->gang) : 0;

	if (for_ns == 0)
		return false;
	worker->gang.goes_on = channel_await_request(&worker->channel, &worker->session->is_over,
						     clock_deadline(for_ns));
	return worker->gang.goes_on;
}

/* Without a slot: it needs no processor until there is one. False: there will be none. */
RARE static bool sleep_for_request(struct channel_worker *worker)
{
	const _Atomic bool *is_over = &worker->session->is_over;

	gang_end(&worker->gang);
	if (!channel_await_request(&worker->channel, is_over, CLOCK_FOREVER))
		return false;
	gang_begin(&worker->gang, is_over);
	return true;
}

/* False: there will be none. */
static bool next_request(struct channel_worker *worker)
{
	const _Atomic bool *is_over = &worker->session->is_over;
	struct gang *gang = &worker->gang;

	if (UNLIKELY(worker->place == CHANNEL_PARTING && gang->runs))
		worker->place = channel_part();
	bool is_awake = gang->runs && channel_look_for_request(&worker->channel);
	if (LIKELY(is_awake) || linger(worker)) {
		if (gang_must_wait(gang)) {
			channel_hold_off(&worker->channel);
			gang_wait(gang, is_over);
		}
	} else if (!sleep_for_request(worker)) {
		return false;
	}
	if (UNLIKELY(!is_awake || worker->channel.has_woken || gang->is_back))
		worker->place = channel_look_where(&worker->channel, gang_takes_turns(gang));
	return !atomic_load(is_over);
}

static void run(void *context)
{
	struct channel_worker *worker = context;
	struct session *session = worker->session;

	client_port_current = &session->port;
	while (!worker->lie && !worker->has_left && next_request(worker)) {
		worker->is_answered = false;
		serve_request(worker);
		answer(worker);
	}
	gang_end(&worker->gang);
	if (worker->lie)
		complain("client %s[%u] is sent away: %s", session->identity.name,
			 session->identity.pid, worker->lie);
	/* The loop finds it hung up, and ends it. */
	if (worker->lie)
		shutdown(session->socket, SHUT_RDWR);
	client_port_current = NULL;
	if (worker->has_left) {
		end_alone(worker);
		return;
	}
	atomic_store(&worker->is_finished, true);
	notice_give(&worker->finished);
}

/* ---- beginning and end ---- */

static struct channel_worker *worker_make(struct session *session, int file)
{
	struct channel_worker *worker = mem_zalloc(sizeof(*worker));

	if (!worker)
		return NULL;
	worker->session = session;
	worker->hooks.arrive = hook_arrive;
	worker->hooks.send_back = hook_send_back;
	list_init(&worker->link);
	worker->block = mem_alloc(sizeof(struct travel_head) + CHANNEL_BUFFER_BYTES);
	if (worker->block && channel_open(&worker->channel, file))
		return worker;
	worker_free(worker);
	return NULL;
}

static NTSTATUS worker_start(struct session *session, struct channel_worker *worker)
{
	NTSTATUS status = quota_take(session->ledger, QUOTA_THREADS, 1);

	if (!NT_SUCCESS(status))
		return status;
	lock_acquire(&session->lock);
	list_push_back(&session->workers, &worker->link);
	lock_release(&session->lock);
	if (NT_SUCCESS(thread_create("channel", run, worker, &worker->thread)))
		return STATUS_SUCCESS;
	lock_acquire(&session->lock);
	list_remove(&worker->link);
	lock_release(&session->lock);
	quota_give(session->ledger, QUOTA_THREADS, 1);
	return refuse_no_memory("no memory for a thread that serves the calls of a client's");
}

static NTSTATUS worker_begin(struct session *session, int file)
{
	struct channel_worker *worker = file >= 0 ? worker_make(session, file) : NULL;

	if (!worker)
		return refuse_no_memory("no memory for a channel");
	NTSTATUS status = worker_start(session, worker);
	if (!NT_SUCCESS(status))
		worker_free(worker);
	return status;
}

void channel_worker_begin(struct session *session, uint32_t number)
{
	struct wire_message message = { .kind = WIRE_CHANNEL, .number = number };
	int file = channel_file_create(CHANNEL_BYTES);
	struct refusal_scope scope;

	refusal_begin(&scope, "dxgkd");
	NTSTATUS status = worker_begin(session, file);
	refusal_end_call(&scope, status);
	if (!NT_SUCCESS(status))
		session_tell_refusal(&message, status);
	if (!NT_SUCCESS(status) && file >= 0) {
		close(file);
		file = -1;
	}
	session_answer(session, &message, file);
}

static void worker_wake(struct channel_worker *worker)
{
	channel_wake_server(&worker->channel);
	gang_wake(&worker->gang);
}

/* On the loop's thread, which is the only one that makes any. */
void channel_workers_wake(struct session *session)
{
	lock_acquire(&session->lock);
	list_each (struct channel_worker, worker, &session->workers, link)
		worker_wake(worker);
	lock_release(&session->lock);
}

/* A client that writes its channel all the time may undo a wake. */
static void await_finish(struct channel_worker *worker)
{
	for (;;) {
		uint32_t seen = notice_read(&worker->finished);

		if (atomic_load(&worker->is_finished))
			return;
		worker_wake(worker);
		(void)notice_wait(&worker->finished, seen, clock_deadline(WAKE_AGAIN_NS));
	}
}

static struct channel_worker *next_worker(struct session *session)
{
	lock_acquire(&session->lock);
	struct channel_worker *worker = list_pop(struct channel_worker, &session->workers, link);
	lock_release(&session->lock);
	return worker;
}

void channel_workers_join(struct session *session)
{
	struct channel_worker *worker;

	while ((worker = next_worker(session)) != NULL) {
		await_finish(worker);
		thread_join(worker->thread);
		quota_give(session->ledger, QUOTA_THREADS, 1);
		worker_free(worker);
	}
}
