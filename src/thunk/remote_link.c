/* SPDX-License-Identifier: MIT */
/*
 * remote_link.c - the connection to the server: what comes over its socket, and its end.
 *
 * A thread reads the socket. What belongs to a call, a channel or a descriptor, is laid down for the
 * thread that waits for it; events are set here, so that nobody in the server waits for an eventfd of
 * ours. When the socket breaks, everybody who waits is woken.
 *
 * Locks: remote.lock, under which nobody waits or sends.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/eventfd.h"
#include "base/refusal.h"
#include "thunk/remote.h"
#include "wire/server_link.h"

#define LOST_SOCKET "it is the connection to dxgkd, and no call can be made any more"
#define CUT_OFF     "the program has closed the descriptor of the connection"
#define NO_SLOT     "the program has as many descriptors as it may, and what the server shows needs one"

struct remote remote = {
	.socket = OWN_FD_NONE,
	.slots = { OWN_FD_NONE, OWN_FD_NONE, OWN_FD_NONE, OWN_FD_NONE },
	.lock = LOCK_INITIALIZER(LOCK_RANK_SESSION, "server"),
	.free_channels = { &remote.free_channels, &remote.free_channels },
	.channels = { &remote.channels, &remote.channels },
	.arrived = { &remote.arrived, &remote.arrived },
	.events = { &remote.events, &remote.events },
};

/* A channel or a descriptor that came. */
struct arrived {
	struct list link; /* remote.arrived */
	enum wire_kind kind;
	uint32_t number;
	struct channel channel; /* WIRE_CHANNEL; without memory: there is none to be had */
	int descriptor;         /* WIRE_DESCRIPTOR; -1: the program had no room for it */
};

struct lent_event {
	struct list link; /* remote.events */
	uint32_t number;
	int fd;
	uint64_t id;
};

uint32_t remote_next_number(void)
{
	lock_acquire(&remote.lock);
	uint32_t number = ++remote.last_number;
	if (number == 0)
		number = ++remote.last_number;
	lock_release(&remote.lock);
	return number;
}

static void lose(uint32_t generation, const char *why);

bool remote_is_cut_off(void)
{
	uint32_t generation = atomic_load(&remote.generation);

	if (own_fd_use(&remote.socket, LOST_SOCKET) >= 0)
		return false;
	lose(generation, CUT_OFF);
	return true;
}

bool remote_send(const struct wire_message *message, int descriptor)
{
	return !remote_is_cut_off() &&
	       wire_send(remote.socket.number, message, descriptor, true) == WIRE_DONE;
}

/* ---- what arrives ---- */

static void arrived_drop(struct arrived *what)
{
	channel_close(&what->channel);
	if (what->descriptor >= 0)
		close(what->descriptor);
}

/* Where there is no memory for it, who waits for it learns that it will not come. */
static void lay_down(struct arrived *what)
{
	struct arrived *arrived = malloc(sizeof(*arrived));

	lock_acquire(&remote.lock);
	if (arrived) {
		*arrived = *what;
		list_push_back(&remote.arrived, &arrived->link);
	} else {
		remote.missed[remote.missed_count++ % REMOTE_MISSED_KEPT] =
			(struct remote_missed){ what->kind, what->number };
	}
	lock_release(&remote.lock);
	if (!arrived)
		arrived_drop(what);
	notice_give(&remote.changed);
}

static bool take_missed_locked(enum wire_kind kind, uint32_t number)
{
	lock_assert_held(&remote.lock);
	for (unsigned i = 0; i < REMOTE_MISSED_KEPT; i++) {
		if (remote.missed[i].kind == kind && remote.missed[i].number == number) {
			remote.missed[i] = (struct remote_missed){ 0 };
			return true;
		}
	}
	return false;
}

static struct arrived *find_arrived_locked(enum wire_kind kind, uint32_t number)
{
	lock_assert_held(&remote.lock);
	list_each (struct arrived, arrived, &remote.arrived, link) {
		if (arrived->kind == kind && arrived->number == number) {
			list_remove(&arrived->link);
			return arrived;
		}
	}
	return NULL;
}

/* The caller's to free, with what is in it. NULL: it will not come. */
static struct arrived *await_arrived(enum wire_kind kind, uint32_t number)
{
	struct arrived *arrived;

	lock_acquire(&remote.lock);
	while ((arrived = find_arrived_locked(kind, number)) == NULL &&
	       !take_missed_locked(kind, number) && !atomic_load(&remote.is_over))
		notice_wait_relock(&remote.changed, &remote.lock);
	lock_release(&remote.lock);
	return arrived;
}

int remote_await_descriptor(uint32_t number)
{
	struct arrived *arrived = await_arrived(WIRE_DESCRIPTOR, number);
	int descriptor = arrived ? arrived->descriptor : -1;
	int why = arrived ? EMFILE : ENOMEM; /* where it came without */
	free(arrived);
	errno = why;
	return descriptor;
}

/* ---- events ---- */

uint32_t remote_event_lend(uintptr_t handle)
{
	struct lent_event *event;
	uint64_t id;

	errno = EBADF;
	if (handle > INT_MAX || !eventfd_identify((int)handle, &id))
		return 0;
	event = malloc(sizeof(*event));
	int fd = event ? own_fd_copy((int)handle) : -1;
	if (fd < 0) {
		free(event);
		return 0;
	}
	*event = (struct lent_event){ .number = remote_next_number(), .fd = fd, .id = id };
	uint32_t number = event->number;
	lock_acquire(&remote.lock);
	list_push_back(&remote.events, &event->link);
	lock_release(&remote.lock);
	return number;
}

/* The program may have closed the number, and have another file there. */
static bool is_still_ours(const struct lent_event *event)
{
	return eventfd_is(event->fd, event->id);
}

static void event_set(const struct lent_event *event, uint64_t count)
{
	struct pollfd writable = { .fd = event->fd, .events = POLLOUT };

	/* Counted up so far that writing would wait, it is set anyway. */
	if (is_still_ours(event) && poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT))
		(void)!write(event->fd, &count, sizeof(count));
}

static void event_close(struct lent_event *event)
{
	if (is_still_ours(event))
		close(event->fd);
	free(event);
}

/* Only the connection's thread takes events away. */
static struct lent_event *find_event(uint32_t number)
{
	struct lent_event *found = NULL;

	lock_acquire(&remote.lock);
	list_each (struct lent_event, event, &remote.events, link) {
		if (event->number == number)
			found = event;
	}
	lock_release(&remote.lock);
	return found;
}

static void event_forget(struct lent_event *event)
{
	lock_acquire(&remote.lock);
	list_remove(&event->link);
	lock_release(&remote.lock);
	event_close(event);
}

static struct lent_event *next_event(void)
{
	lock_acquire(&remote.lock);
	struct list *link = list_pop_front(&remote.events);
	lock_release(&remote.lock);
	return link ? container_of(link, struct lent_event, link) : NULL;
}

static void note_heard(void)
{
	atomic_fetch_add(&remote.events_heard, 1);
	notice_give(&remote.changed);
}

RARE static void await_events(uint32_t count)
{
	for (;;) {
		uint32_t seen = notice_read(&remote.changed);

		if ((int32_t)(atomic_load(&remote.events_heard) - count) >= 0 ||
		    atomic_load(&remote.is_over))
			return;
		notice_wait(&remote.changed, seen, CLOCK_FOREVER);
	}
}

void remote_await_events(uint32_t count)
{
	if (UNLIKELY(atomic_load_explicit(&remote.events_heard, memory_order_acquire) != count))
		await_events(count);
}

/* ---- the thread ---- */

static bool is_of_quota(const struct wire_message *message)
{
	return strcmp(message->welcome.rule, rule_id(RULE_SYS_QUOTA)) == 0;
}

/* There is none to be had, and the message says why. */
static void note_no_channel(const struct wire_message *message)
{
	lock_acquire(&remote.lock);
	remote.is_over_quota = is_of_quota(message);
	snprintf(remote.no_channel, sizeof(remote.no_channel), "%.*s", WIRE_TEXT_BYTES - 1,
		 NT_SUCCESS(message->welcome.status) ? NO_SLOT : message->welcome.reason);
	lock_release(&remote.lock);
}

/* Mapped at once: until its thread comes for it another file may need the number. */
static void take_channel(const struct wire_message *message, int descriptor)
{
	struct arrived arrived = { .kind = WIRE_CHANNEL,
				   .number = message->number,
				   .descriptor = -1 };

	if (descriptor < 0) {
		note_no_channel(message);
	} else {
		(void)!channel_open(&arrived.channel,
				    descriptor); /* its thread sees whether it is */
		close(descriptor);
	}
	lay_down(&arrived);
}

static void take_descriptor(const struct wire_message *message, int descriptor)
{
	struct arrived arrived = { .kind = WIRE_DESCRIPTOR,
				   .number = message->number,
				   .descriptor = descriptor };

	lay_down(&arrived);
}

static void take_message(const struct wire_message *message, int descriptor)
{
	struct lent_event *event;

	switch (message->kind) {
	case WIRE_CHANNEL:
		take_channel(message, descriptor);
		return;
	case WIRE_DESCRIPTOR:
		take_descriptor(message, descriptor);
		return;
	case WIRE_FILE:
		remote_file_came(message->number, descriptor, message->size_bytes);
		return;
	case WIRE_FILE_GONE:
		remote_file_gone(message->number);
		break;
	case WIRE_EVENT:
		event = find_event(message->number);
		if (event)
			event_set(event, message->count);
		note_heard();
		break;
	case WIRE_EVENT_CLOSED:
		event = find_event(message->number);
		if (event)
			event_forget(event);
		note_heard();
		break;
	case WIRE_TELL:
		remote_tell(message);
		break;
	case WIRE_GOODBYE:
		lock_acquire(&remote.lock);
		snprintf(remote.reason, sizeof(remote.reason), "%.*s", WIRE_TEXT_BYTES - 1,
			 message->welcome.reason);
		remote.reason_is_quota = is_of_quota(message);
		lock_release(&remote.lock);
		break;
	default: /* of a later server, which would not have welcomed us */
		break;
	}
	if (descriptor >= 0)
		close(descriptor);
}

/* True once for each connection: the caller ends it. */
static bool begin_end(uint32_t generation, const char *why)
{
	lock_acquire(&remote.lock);
	while (remote.is_changing)
		notice_wait_relock(&remote.changed, &remote.lock);
	bool is_first =
		atomic_load(&remote.generation) == generation && !atomic_load(&remote.is_over);
	if (is_first) {
		remote.is_changing = true;
		if (why) {
			snprintf(remote.reason, sizeof(remote.reason), "%s", why);
			remote.reason_is_quota = false;
		}
		remote.replaced = why ? remote.session : 0;
		atomic_fetch_add(&remote.generation, 1); /* channels of it are no good any more */
		atomic_store(&remote.is_over, true);
	}
	lock_release(&remote.lock);
	return is_first;
}

static void finish_change(void)
{
	lock_acquire(&remote.lock);
	remote.is_changing = false;
	lock_release(&remote.lock);
	notice_give(&remote.changed);
}

/* ---- slots ---- */

/*
 * A program may have as many descriptors as it can. What the server shows is mapped, and its file closed at once, so a few
 * that are kept for that are enough. What a call makes for the program needs one of its own: that call is refused.
 */
static bool fill_slots_locked(void)
{
	lock_assert_held(&remote.lock);
	for (unsigned i = 0; i < REMOTE_SLOTS; i++) {
		if (remote.slots[i].number < 0 &&
		    !own_fd_keep(memfd_create("dxgk-slot", MFD_CLOEXEC), &remote.slots[i]))
			return i > 0;
	}
	return true;
}

/* False: there is none left. */
static bool give_slot_locked(void)
{
	lock_assert_held(&remote.lock);
	for (unsigned i = REMOTE_SLOTS; i > 0; i--) {
		if (remote.slots[i - 1].number >= 0) {
			own_fd_close(&remote.slots[i - 1]);
			return true;
		}
	}
	return false;
}

static void close_slots(void)
{
	lock_acquire(&remote.lock);
	while (give_slot_locked())
		;
	lock_release(&remote.lock);
}

/* ---- the end ---- */

/*
 * Everybody who waits for the server waits no more. On the connection's thread, or on one that found
 * the descriptor closed: the connection's thread sleeps on what was behind it then, and stays away when
 * it wakes.
 */
static void lose(uint32_t generation, const char *why)
{
	struct lent_event *event;

	if (!begin_end(generation, why))
		return;
	remote_views_end();
	lock_acquire(&remote.lock);
	list_each (struct remote_channel, channel, &remote.channels, all_link)
		channel_wake_client(&channel->channel);
	lock_release(&remote.lock);
	notice_give(&remote.changed);
	while ((event = next_event()) != NULL) {
		event_set(event, 1);
		event_close(event);
	}
	own_fd_close(&remote.socket);
	close_slots();
	remote_listeners_end(true);
	finish_change();
}

/* Looked at first: what did not get its number is still there when that has become free. */
static enum wire_result receive_locked(struct wire_message *message, int *descriptor_out)
{
	int socket = remote.socket.number;
	enum wire_result result;

	lock_assert_held(&remote.lock);
	do {
		result = wire_peek(socket, message, descriptor_out);
	} while (result == WIRE_CROWDED &&
		 (message->kind == WIRE_FILE || message->kind == WIRE_CHANNEL) &&
		 give_slot_locked());
	if (result == WIRE_DONE || result == WIRE_CROWDED)
		wire_skip(socket);
	return result;
}

/* The number of a descriptor may be another's when the wait for it is over: nobody reads that. */
static enum wire_result receive_of(uint32_t generation, struct wire_message *message,
				   int *descriptor_out)
{
	enum wire_result result = WIRE_BROKEN;

	lock_acquire(&remote.lock);
	if (atomic_load(&remote.generation) == generation && !atomic_load(&remote.is_over) &&
	    own_fd_is_ours(&remote.socket)) {
		(void)fill_slots_locked();
		result = receive_locked(message, descriptor_out);
	}
	lock_release(&remote.lock);
	return result;
}

static void run(void *context)
{
	uint32_t generation = (uint32_t)(uintptr_t)context;
	struct pollfd file = { .fd = remote.socket.number, .events = POLLIN };
	struct wire_message message;
	enum wire_result result;
	int descriptor;

	while ((result = receive_of(generation, &message, &descriptor)) != WIRE_BROKEN) {
		if (result == WIRE_WOULD_WAIT)
			(void)!poll(&file, 1, -1);
		else if (result == WIRE_CROWDED && message.kind == WIRE_FILE)
			lose(generation, NO_SLOT); /* other threads were quicker, each time */
		else
			take_message(&message, descriptor);
	}
	if (!remote_is_cut_off())
		lose(generation, NULL);
}

/* ---- channels ---- */

/* Of threads that come and go one after the other. */
enum { FREE_CHANNELS_KEPT = 2 };

static struct remote_channel *take_free(void)
{
	lock_acquire(&remote.lock);
	struct list *link = list_pop_front(&remote.free_channels);
	remote.free_count -= link != NULL;
	lock_release(&remote.lock);
	return link ? container_of(link, struct remote_channel, link) : NULL;
}

/* Who finds that the server has hung up says why it did, which the connection's thread will know. */
static void await_end_if_hung_up(void)
{
	for (;;) {
		uint32_t seen = notice_read(&remote.changed);
		struct pollfd file = { .fd = remote.socket.number, .events = POLLRDHUP };

		if (atomic_load(&remote.is_over) || !own_fd_is_ours(&remote.socket) ||
		    poll(&file, 1, 0) != 1)
			return;
		notice_wait(&remote.changed, seen, CLOCK_FOREVER);
	}
}

struct remote_channel *remote_channel_take(void)
{
	struct remote_channel *channel = atomic_load(&remote.is_over) ? NULL : take_free();
	struct wire_message message = { .kind = WIRE_OPEN_CHANNEL };

	if (channel || atomic_load(&remote.is_over))
		return channel;
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return NULL;
	list_init(&channel->link);
	message.number = remote_next_number();
	struct arrived *arrived =
		remote_send(&message, -1) ? await_arrived(WIRE_CHANNEL, message.number) : NULL;
	if (arrived)
		channel->channel = arrived->channel;
	free(arrived);
	if (!channel->channel.memory) {
		free(channel);
		await_end_if_hung_up();
		return NULL;
	}
	channel->generation = atomic_load(&remote.generation);
	lock_acquire(&remote.lock);
	list_push_back(&remote.channels, &channel->all_link);
	lock_release(&remote.lock);
	return channel;
}

bool remote_channel_give(struct remote_channel *channel)
{
	lock_acquire(&remote.lock);
	bool is_kept = channel->generation == atomic_load(&remote.generation) &&
		       remote.free_count < FREE_CHANNELS_KEPT;
	if (is_kept) {
		list_push_front(&remote.free_channels, &channel->link);
		remote.free_count++;
	}
	lock_release(&remote.lock);
	return is_kept;
}

void remote_channel_free(struct remote_channel *channel)
{
	lock_acquire(&remote.lock);
	list_remove(&channel->all_link);
	lock_release(&remote.lock);
	channel_close(&channel->channel);
	free(channel);
}

/* ---- connecting ---- */

static NTSTATUS refuse_welcome(const struct wire_message *welcome)
{
	return refuse(welcome->welcome.status,
		      is_of_quota(welcome) ? RULE_SYS_QUOTA : RULE_SYS_SERVER, NULL, "%s",
		      welcome->welcome.reason);
}

/* Those of a connection that is over: the threads that have the others free them. */
static void free_unused_channels(void)
{
	struct remote_channel *channel;

	while ((channel = take_free()) != NULL)
		remote_channel_free(channel);
}

/* What the connection before this one had is nobody's any more; the next server has the same numbers. */
static void start_anew(const struct own_fd *socket, uint32_t session)
{
	remote_known_forget_all();
	remote_views_forget();
	free_unused_channels();
	lock_acquire(&remote.lock);
	list_each_safe (struct remote_channel, channel, &remote.channels, all_link)
		list_remove(&channel->all_link);
	list_each_safe (struct arrived, arrived, &remote.arrived, link) {
		arrived_drop(arrived);
		free(arrived);
	}
	list_init(&remote.arrived);
	memset(remote.missed, 0, sizeof(remote.missed));
	remote.reason[0] = '\0';
	remote.reason_is_quota = false;
	remote.socket = *socket;
	remote.session = session;
	remote.replaced = 0;
	atomic_store(&remote.events_heard, 0);
	atomic_fetch_add(&remote.generation, 1);
	atomic_store(&remote.is_over, false);
	lock_release(&remote.lock);
}

/* It came to nothing, and what counts is the connection before it, or none. */
static void give_up(void)
{
	own_fd_close(&remote.socket);
	close_slots();
	atomic_store(&remote.is_over, true);
	atomic_fetch_sub(&remote.generation, 1);
}

static NTSTATUS refuse_descriptor(void)
{
	return refuse(STATUS_TOO_MANY_OPENED_FILES, RULE_API_DESCRIPTORS, NULL,
		      "no file descriptor for the connection: %s", strerror(errno));
}

static NTSTATUS connect_anew(void)
{
	struct wire_message hello = { .hello.purpose = WIRE_CLIENT };
	struct wire_message welcome = { 0 };
	struct own_fd kept = OWN_FD_NONE;
	struct thread *thread;

	if (!remote_arena_reserve(&hello.hello.arena_address, &hello.hello.arena_bytes))
		return refuse_no_memory("no addresses for what the server shows");
	snprintf(hello.hello.name, sizeof(hello.hello.name), "%s", program_invocation_short_name);
	hello.hello.replaces = remote.replaced; /* nobody else changes it now */
	int socket = server_link_open(remote.path, &hello, &welcome);
	if (socket < 0)
		return refuse_welcome(&welcome);
	if (!own_fd_keep(socket, &kept))
		return refuse_descriptor();
	start_anew(&kept, welcome.welcome.session);
	lock_acquire(&remote.lock);
	bool has_slot = fill_slots_locked();
	lock_release(&remote.lock);
	if (!has_slot) {
		give_up();
		return refuse_descriptor();
	}
	if (NT_SUCCESS(thread_create(
		    "server", run, (void *)(uintptr_t)atomic_load(&remote.generation), &thread))) {
		thread_detach(thread);
		return STATUS_SUCCESS;
	}
	give_up();
	return refuse_no_memory("no memory for a thread that listens to the server");
}

NTSTATUS remote_open(void)
{
	NTSTATUS status = STATUS_SUCCESS;

	/* One thread at a time; who comes second finds it done. */
	lock_acquire(&remote.lock);
	while (remote.is_changing)
		notice_wait_relock(&remote.changed, &remote.lock);
	bool is_open = atomic_load(&remote.generation) != 0 && !atomic_load(&remote.is_over);
	remote.is_changing = !is_open;
	lock_release(&remote.lock);
	if (is_open)
		return STATUS_SUCCESS;
	status = connect_anew();
	finish_change();
	return status;
}
