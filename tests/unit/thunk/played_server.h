/* SPDX-License-Identifier: MIT */
/*
 * played_server.h - a server that a test plays, for the client's side alone (src/thunk/remote.h).
 *
 * It speaks the protocol of dxgkd and serves one process: this one. What a call does is the test's
 * (`played.kernel`), and so is everything that goes wrong: it hangs up at a call, has no channel, shows
 * what cannot be shown. What it has seen is there to look at.
 */
#ifndef TESTS_UNIT_THUNK_PLAYED_SERVER_H
#define TESTS_UNIT_THUNK_PLAYED_SERVER_H

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/client_call.h"
#include "base/clock.h"
#include "base/refusal.h"
#include "unit/base/child.h"
#include "support/host.h"
#include "wire/message.h"
#include "wire/request.h"
#include "wire/travel.h"

enum {
	PLAYED_PAGE = 4096,
	PLAYED_VIEWS_MOST = 2,
	PLAYED_LOG_MOST = 4096,
	PLAYED_TOKEN = 77, /* of every descriptor that it sends */
};

#define PLAYED_NEVER UINT32_MAX

/* A connection, and the channels of it. */
struct played_link {
	int socket;
	_Atomic bool is_over;
};

struct played_channel {
	struct played_link *link;
	struct channel channel;
	struct travel_hooks hooks;
	unsigned char *put;
	uint64_t put_bytes;
	unsigned char *rest; /* of a reply that is too long for the room */
	uint64_t rest_bytes;
	uint64_t rest_at;
};

static struct {
	/* What the test wants of it. */
	NTSTATUS (*kernel)(uint32_t id, void *arguments);
	struct wire_message welcome; /* kind 0: it hangs up instead */
	struct wire_message
		channel; /* what goes with a channel; status no success: there is none */
	_Atomic uint32_t hangs_up_at; /* a call or a service, which is not answered */
	_Atomic NTSTATUS put_status;  /* of WIRE_PUT */
	_Atomic NTSTATUS served;      /* of the other services */
	bool is_poor;                 /* a reply that fails has no refusal and no results */
	bool sends_back_nothing;      /* descriptors that calls made */
	bool hangs_up_before_sending; /* … or none arrives, because it hangs up */
	struct wire_view views[PLAYED_VIEWS_MOST];
	uint32_t view_count; /* with each call that succeeds */
	struct wire_run runs[PLAYED_VIEWS_MOST];
	uint64_t word;

	/* What it has seen. */
	char path[64];
	int listener;
	_Atomic(struct played_link *) link; /* the last one */
	struct wire_message hello;
	_Atomic uint32_t greeted;
	_Atomic uint32_t asked; /* requests */
	struct wire_request log[PLAYED_LOG_MOST];
	_Atomic uint32_t descriptors; /* that came */
	struct wire_message sent;     /* with the last of them … */
	_Atomic int descriptor;       /* … and itself */
	_Atomic uint32_t told;
	_Atomic uint32_t events_said;
} played = { .hangs_up_at = PLAYED_NEVER, .descriptor = -1 };

/* ---- saying something to the client ---- */

static inline void played_say(const struct wire_message *message, int descriptor)
{
	CHILD_EXPECT(wire_send(atomic_load(&played.link)->socket, message, descriptor, true) ==
		     WIRE_DONE);
}

static inline void played_say_event(enum wire_kind kind, uint32_t number, uint64_t count)
{
	const struct wire_message message = { .kind = kind, .number = number, .count = count };

	atomic_fetch_add(&played.events_said, 1);
	played_say(&message, -1);
}

/*
 * A file of whole pages that begins with `text`, which the client knows by `number`; returned for the test
 * to look into. Sealed, nobody but the server writes there.
 */
static inline void *played_say_file(uint32_t number, uint32_t page_count, bool is_sealed,
				    const char *text)
{
	const struct wire_message message = { .kind = WIRE_FILE,
					      .number = number,
					      .size_bytes = (uint64_t)page_count * PLAYED_PAGE };
	int file = memfd_create("played", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHILD_EXPECT(file >= 0 && ftruncate(file, (off_t)message.size_bytes) == 0);
	void *pages = mmap(NULL, message.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHILD_EXPECT(pages != MAP_FAILED);
	strcpy(pages, text);
	CHILD_EXPECT(!is_sealed || fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0);
	played_say(&message, file);
	close(file);
	return pages;
}

static inline void played_hang_up(void)
{
	struct played_link *link = atomic_load(&played.link);

	shutdown(link->socket, SHUT_RDWR);
}

/* Page `page` of the arena shows the first page of the file. */
static inline void played_show(uint32_t index, uint64_t page, uint32_t file, uint64_t stamp,
			       bool is_writable)
{
	played.views[index] = (struct wire_view){
		.address = played.hello.hello.arena_address + page * PLAYED_PAGE,
		.page_count = 1,
		.stamp = stamp,
		.run_count = 1,
		.kind = is_writable ? CLIENT_VIEW_WRITTEN : CLIENT_VIEW_VALUES,
	};
	played.runs[index] = (struct wire_run){ .page_count = 1, .file = file };
	played.view_count = index + 1;
}

/* ---- a request, and its reply ---- */

static inline uint64_t played_refusal(const struct wire_reply *head, uint32_t id, unsigned char *at)
{
	struct dxgk_refusal refusal = { .size_bytes = sizeof(refusal), .status = head->status };

	if (!head->has_refusal)
		return 0;
	snprintf(refusal.call, sizeof(refusal.call), "%s",
		 id < CALL_COUNT ? call_describe(id)->name : "a service");
	snprintf(refusal.rule, sizeof(refusal.rule), "API-VALUE");
	snprintf(refusal.reason, sizeof(refusal.reason), "the played server does not want to");
	memcpy(at, &refusal, sizeof(refusal));
	return sizeof(refusal);
}

/* What does not fit the room is asked for. */
static inline void played_reply(struct played_channel *channel, const struct wire_reply *head,
				unsigned char *body)
{
	unsigned char *storage = channel->channel.memory->reply.buffer;
	uint64_t first = head->size_bytes;

	memcpy(storage, head, sizeof(*head));
	if (first > WIRE_REPLY_BUFFER_BYTES) {
		first = WIRE_REPLY_BUFFER_BYTES;
		channel->rest = body;
		channel->rest_bytes = head->size_bytes;
		channel->rest_at = first;
	}
	if (first > 0)
		memcpy(storage + sizeof(*head), body, first);
	if (body != channel->rest)
		free(body);
}

static inline void played_serve_call(struct played_channel *channel, uint32_t id, void *block,
				     uint64_t size_bytes)
{
	struct wire_reply head = { .event_count = atomic_load(&played.events_said) };
	struct travel_image image;
	const char *why;

	CHILD_EXPECT(travel_request_open(&image, id, block, size_bytes, &channel->hooks, &why));
	head.status = played.kernel(id, image.arguments);
	head.has_refusal = !NT_SUCCESS(head.status) && !played.is_poor;
	head.view_count = head.run_count = NT_SUCCESS(head.status) ? played.view_count : 0;
	head.word = NT_SUCCESS(head.status) ? played.word : 0;
	uint64_t image_bytes = travel_reply_bytes(&image, head.status);
	unsigned char *body = malloc(sizeof(struct dxgk_refusal) + sizeof(played.views) +
				     sizeof(played.runs) + image_bytes);
	unsigned char *at = body + played_refusal(&head, id, body);
	memcpy(at, played.views, head.view_count * sizeof(played.views[0]));
	at += head.view_count * sizeof(played.views[0]);
	memcpy(at, played.runs, head.run_count * sizeof(played.runs[0]));
	at += head.run_count * sizeof(played.runs[0]);
	travel_reply_write(&image, head.status, at, &channel->hooks);
	head.size_bytes = played.is_poor && !NT_SUCCESS(head.status)
				  ? 0
				  : (uint32_t)(at - body + (ptrdiff_t)image_bytes);
	travel_image_close(&image);
	played_reply(channel, &head, body);
}

static inline void played_serve_put(struct played_channel *channel, const unsigned char *part,
				    uint64_t size_bytes)
{
	struct wire_reply head = { .status = atomic_load(&played.put_status),
				   .event_count = atomic_load(&played.events_said) };

	channel->put = realloc(channel->put, channel->put_bytes + size_bytes);
	memcpy(channel->put + channel->put_bytes, part, size_bytes);
	channel->put_bytes += size_bytes;
	if (!NT_SUCCESS(head.status))
		channel->put_bytes = 0;
	played_reply(channel, &head, NULL);
}

static inline void played_serve_more(struct played_channel *channel)
{
	uint64_t part = channel->rest_bytes - channel->rest_at;

	if (part > CHANNEL_BUFFER_BYTES)
		part = CHANNEL_BUFFER_BYTES;
	memcpy(channel->channel.memory->reply.buffer, channel->rest + channel->rest_at, part);
	channel->rest_at += part;
	if (channel->rest_at == channel->rest_bytes) {
		free(channel->rest);
		channel->rest = NULL;
	}
}

static inline void played_serve_other(struct played_channel *channel, uint32_t service)
{
	struct wire_reply head = { .status = atomic_load(&played.served),
				   .event_count = atomic_load(&played.events_said) };
	unsigned char *body = malloc(sizeof(struct dxgk_refusal));

	head.has_refusal = !NT_SUCCESS(head.status);
	head.size_bytes = (uint32_t)played_refusal(&head, service, body);
	played_reply(channel, &head, body);
}

/* False: it hung up. */
static inline bool played_serve(struct played_channel *channel)
{
	const unsigned char *storage = channel->channel.memory->request.buffer;
	/* Calls come one at a time. */
	static struct {
		_Alignas(8) struct travel_head head;
		unsigned char bytes[CHANNEL_BUFFER_BYTES];
	} copy;
	const struct wire_request request = wire_request_hear(&channel->channel);

	uint32_t at = atomic_fetch_add(&played.asked, 1);
	CHILD_EXPECT(at < PLAYED_LOG_MOST);
	played.log[at] = request;
	if (request.call == atomic_load(&played.hangs_up_at)) {
		played_hang_up();
		return false;
	}
	if (request.call == WIRE_PUT) {
		played_serve_put(channel, storage, request.size_bytes);
	} else if (request.call == WIRE_MORE) {
		played_serve_more(channel);
	} else if (request.call >= CALL_COUNT) {
		played_serve_other(channel, request.call);
	} else if (request.flags & WIRE_WAS_PUT) {
		uint64_t put_bytes = channel->put_bytes;
		channel->put_bytes = 0;
		played_serve_call(channel, request.call, channel->put, put_bytes);
	} else {
		const bool is_bare = request.flags & WIRE_IS_BARE;
		copy.head = (struct travel_head){ request.call, request.flags >> WIRE_HEAD_SHIFT };
		memcpy(copy.bytes, storage, request.size_bytes);
		played_serve_call(channel, request.call, is_bare ? (void *)&copy : copy.bytes,
				  request.size_bytes + (is_bare ? sizeof(copy.head) : 0));
	}
	return true;
}

/* ---- what is no bytes ---- */

static inline uintptr_t played_arrive(struct travel_hooks *hooks, enum travel_thing thing,
				      uint64_t token, uintptr_t value, uint64_t size_bytes)
{
	(void)hooks;
	(void)size_bytes;
	return thing == TRAVEL_MEMORY ? value : (uintptr_t)token;
}

static inline uint64_t played_send_back(struct travel_hooks *hooks, int descriptor)
{
	const struct wire_message message = { .kind = WIRE_DESCRIPTOR, .number = PLAYED_TOKEN };

	(void)hooks;
	if (played.hangs_up_before_sending)
		played_hang_up();
	else if (!played.sends_back_nothing)
		played_say(&message, descriptor);
	close(descriptor);
	return played.sends_back_nothing ? 0 : message.number;
}

/* ---- its threads ---- */

static inline void played_run_channel(void *argument)
{
	struct played_channel *channel = argument;

	while (channel_await_request(&channel->channel, &channel->link->is_over, CLOCK_FOREVER) &&
	       played_serve(channel))
		channel_answer(&channel->channel, CHANNEL_LOOK);
}

static inline void played_open_channel(struct played_link *link, uint32_t number)
{
	struct played_channel *channel = calloc(1, sizeof(*channel));
	struct wire_message message = played.channel;
	int file = channel_file_create(CHANNEL_BYTES);
	struct thread *thread;

	message.kind = WIRE_CHANNEL;
	message.number = number;
	if (!NT_SUCCESS(message.welcome.status)) {
		close(file);
		file = -1;
	}
	if (file >= 0) {
		CHILD_EXPECT(channel_open(&channel->channel, file));
		channel->link = link;
		channel->hooks.arrive = played_arrive;
		channel->hooks.send_back = played_send_back;
		CHILD_EXPECT(
			NT_SUCCESS(thread_create("channel", played_run_channel, channel, &thread)));
		thread_detach(thread);
	}
	played_say(&message, file);
	if (file >= 0)
		close(file);
}

static inline void played_take(struct played_link *link, const struct wire_message *message,
			       int descriptor)
{
	if (message->kind == WIRE_OPEN_CHANNEL) {
		played_open_channel(link, message->number);
	} else if (message->kind == WIRE_TOLD) {
		atomic_fetch_add(&played.told, 1);
	} else {
		CHILD_EXPECT(message->kind == WIRE_DESCRIPTOR && descriptor >= 0);
		played.sent = *message;
		atomic_store(&played.descriptor, descriptor);
		atomic_fetch_add(&played.descriptors, 1);
	}
}

static inline void played_run_link(void *argument)
{
	struct played_link *link = argument;
	struct wire_message message;
	int descriptor;

	while (wire_receive(link->socket, &message, &descriptor, true) == WIRE_DONE)
		played_take(link, &message, descriptor);
	atomic_store(&link->is_over, true);
	close(link->socket);
}

/* One client after the other, and each is greeted. */
static inline void played_run(void *unused)
{
	struct thread *thread;
	int descriptor;
	int file;

	(void)unused;
	while ((file = accept4(played.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct played_link *link = calloc(1, sizeof(*link));

		link->socket = file;
		CHILD_EXPECT(wire_receive(file, &played.hello, &descriptor, true) == WIRE_DONE);
		CHILD_EXPECT(played.hello.kind == WIRE_HELLO &&
			     played.hello.hello.magic == WIRE_MAGIC);
		atomic_store(&played.link, link);
		atomic_fetch_add(&played.greeted, 1);
		atomic_store(&played.events_said, 0);
		if (played.welcome.kind != 0)
			played_say(&played.welcome, -1);
		if (played.welcome.kind != WIRE_WELCOME ||
		    !NT_SUCCESS(played.welcome.welcome.status)) {
			close(file);
			continue;
		}
		CHILD_EXPECT(NT_SUCCESS(thread_create("link", played_run_link, link, &thread)));
		thread_detach(thread);
	}
}

/* Listens, and DXGK_SOCKET says where. For a child: it is there until the process ends. */
static inline void played_open(NTSTATUS (*kernel)(uint32_t id, void *arguments))
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct thread *thread;

	played.kernel = kernel;
	played.welcome = (struct wire_message){ .kind = WIRE_WELCOME };
	played.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", played.path);
	unlink(played.path);
	CHILD_EXPECT(bind(played.listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHILD_EXPECT(listen(played.listener, 4) == 0);
	setenv("DXGK_SOCKET", played.path, 1);
	CHILD_EXPECT(NT_SUCCESS(thread_create("server", played_run, NULL, &thread)));
	thread_detach(thread);
}

/* Nobody is left to connect to. */
static inline void played_close(void)
{
	unlink(played.path);
}

/* `run` in a process of its own, with room for a server at played.path. */
#define EXPECT_PLAYED(run, argument)                                                               \
	do {                                                                                       \
		struct child_result played_result;                                                 \
		snprintf(played.path, sizeof(played.path), "/tmp/dxgk-played-%d.sock",             \
			 (int)getpid());                                                           \
		child_run(&played_result, run, argument);                                          \
		unlink(played.path);                                                               \
		if (played_result.exit_status != 0)                                                \
			print_error("%s:%d: signal %d\n%s", __FILE__, __LINE__,                    \
				    played_result.signal, played_result.err);                      \
		EXPECT_EQ(played_result.exit_status, 0);                                           \
	} while (0)

#endif
