/* SPDX-License-Identifier: MIT */
/*
 * hostile_test.c - clients that speak the protocol by hand, and wrongly. The server sends them away or puts up with
 * them; it stays, its books are right, and a neighbour sees nothing of it.
 */
#include "server/neighbour.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "wire/channel.h"
#include "wire/request.h"
#include "wire/server_link.h"
#include "wire/travel.h"

enum { ARENA_SHIFT = 36 };

/* ---- by hand ---- */

static int connect_raw(const struct house *house)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", house->path);
	EXPECT(file >= 0);
	while (connect(file, (struct sockaddr *)&address, sizeof(address)) != 0)
		EXPECT(errno == EINTR);
	return file;
}

static struct wire_message right_hello(void)
{
	struct wire_message hello = { .kind = WIRE_HELLO };

	hello.hello.magic = WIRE_MAGIC;
	hello.hello.version = WIRE_VERSION;
	hello.hello.call_count = CALL_COUNT;
	hello.hello.purpose = WIRE_CLIENT;
	hello.hello.hash = travel_hash();
	hello.hello.arena_address = UINT64_C(1) << 44;
	hello.hello.arena_bytes = UINT64_C(1) << ARENA_SHIFT;
	snprintf(hello.hello.name, sizeof(hello.hello.name), "hostile");
	return hello;
}

static bool hear(int file, struct wire_message *message, int *descriptor_out)
{
	struct pollfd one = { .fd = file, .events = POLLIN };
	int descriptor = -1;

	if (poll(&one, 1, PATIENCE_MS) != 1 ||
	    wire_receive(file, message, &descriptor, false) != WIRE_DONE)
		return false;
	if (descriptor_out)
		*descriptor_out = descriptor;
	else if (descriptor >= 0)
		close(descriptor);
	return true;
}

static int connect_greeted(const struct house *house)
{
	struct wire_message hello = right_hello();
	struct wire_message welcome;
	int file = connect_raw(house);

	EXPECT_EQ(wire_send(file, &hello, -1, true), WIRE_DONE);
	EXPECT(hear(file, &welcome, NULL));
	EXPECT_EQ(welcome.kind, WIRE_WELCOME);
	EXPECT_EQ(welcome.welcome.status, STATUS_SUCCESS);
	return file;
}

/* What is said before it hangs up does not matter. */
static void expect_hang_up(int file)
{
	struct wire_message message;

	while (hear(file, &message, NULL))
		;
	ssize_t length = recv(file, &message, sizeof(message), MSG_DONTWAIT);
	EXPECT(length == 0 || (length < 0 && errno == ECONNRESET));
	close(file);
}

/* False: it has been sent away. */
static bool open_channel(int file, uint32_t number, struct channel *channel_out)
{
	struct wire_message message = { .kind = WIRE_OPEN_CHANNEL, .number = number };
	int descriptor = -1;

	*channel_out = (struct channel){ 0 };
	if (wire_send(file, &message, -1, true) != WIRE_DONE)
		return false;
	do {
		if (!hear(file, &message, &descriptor))
			return false;
		if (message.kind != WIRE_CHANNEL && descriptor >= 0)
			close(descriptor);
	} while (message.kind != WIRE_CHANNEL);
	EXPECT_EQ(message.number, number);
	if (descriptor >= 0) {
		EXPECT(channel_open(channel_out, descriptor));
		close(descriptor);
	}
	return true;
}

static void prepare(struct house *house, struct belongings *before, struct lodger *neighbour)
{
	house_open(house, NULL);
	/* What is made once is made before anything is counted. */
	for (unsigned i = 0; i < 4; i++) {
		struct channel channel;
		int file = connect_greeted(house);
		EXPECT(open_channel(file, 1, &channel));
		channel_close(&channel);
		close(file);
	}
	*neighbour = neighbour_start();
	neighbour_end(neighbour);
	expect_valid();
	*before = belongings_of(house);
	*neighbour = neighbour_start();
}

static void conclude(struct house *house, const struct belongings *before, struct lodger *neighbour)
{
	neighbour_end(neighbour);
	expect_nothing_left(house, before);
	house_close(house);
}

/* ---- greetings ---- */

TEST(hello, that_is_not_ours_is_refused_with_a_reason)
{
	struct house house;

	house_open(&house, NULL);
	for (unsigned i = 0; i < 4; i++) {
		struct wire_message hello = right_hello();
		struct wire_message welcome = { 0 };
		int file = connect_raw(&house);

		hello.hello.magic ^= i == 0;
		hello.hello.version += i == 1;
		hello.hello.call_count += i == 2;
		hello.hello.hash ^= i == 3;
		EXPECT_EQ(wire_send(file, &hello, -1, true), WIRE_DONE);
		EXPECT(hear(file, &welcome, NULL));
		EXPECT_EQ(welcome.kind, WIRE_WELCOME);
		EXPECT_EQ(welcome.welcome.status, STATUS_REVISION_MISMATCH);
		EXPECT_STR(welcome.welcome.rule, "SYS-SERVER");
		EXPECT(welcome.welcome.reason[0] != '\0');
		expect_hang_up(file);
	}
	house_close(&house);
}

TEST(connections, that_come_and_go_by_the_thousand_leave_nothing)
{
	struct wire_message hello = right_hello();
	struct belongings before;
	struct lodger neighbour;
	struct house house;

	prepare(&house, &before, &neighbour);
	for (unsigned i = 0; i < some_of(5000, 50000); i++) {
		int file = connect_raw(&house);

		if (i % 3 == 0)
			(void)!wire_send(file, &hello, -1, true);
		close(file);
	}
	conclude(&house, &before, &neighbour);
}

/* ---- messages ---- */

static void send_garbage(int file, uint64_t *chance)
{
	unsigned char bytes[2 * sizeof(struct wire_message)];
	unsigned length =
		below(chance, 3) ? sizeof(struct wire_message) : 1 + below(chance, sizeof(bytes));
	int descriptors[4];
	unsigned count = below(chance, 3) ? 0 : 1 + below(chance, 4);
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control = { .bytes = "" };
	struct iovec part = { bytes, length };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)random_of(chance);
	/* Often a message that there is, with nonsense in it. */
	if (below(chance, 2)) {
		uint32_t kind = below(chance, 14);
		memcpy(bytes, &kind, sizeof(kind));
	}
	for (unsigned i = 0; i < count; i++)
		descriptors[i] = STDERR_FILENO;
	if (count > 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(rights), descriptors, count * sizeof(int));
	}
	(void)!sendmsg(file, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

TEST(messages, that_are_none_harm_nobody)
{
	uint64_t chance = 4711;
	struct belongings before;
	struct lodger neighbour;
	struct house house;

	prepare(&house, &before, &neighbour);
	for (unsigned i = 0; i < some_of(500, 50000); i++) {
		int file = i % 2 ? connect_greeted(&house) : connect_raw(&house);

		for (unsigned k = below(&chance, 8); k > 0; k--)
			send_garbage(file, &chance);
		close(file);
	}
	conclude(&house, &before, &neighbour);
}

TEST(descriptors, that_no_call_names_are_not_collected_without_end)
{
	struct wire_message message = { .kind = WIRE_DESCRIPTOR };
	struct belongings before;
	struct lodger neighbour;
	struct house house;

	prepare(&house, &before, &neighbour);
	for (unsigned round = 0; round < some_of(3, 30); round++) {
		int file = connect_greeted(&house);
		uint32_t sent = 0;

		for (message.number = 1;
		     wire_send(file, &message, STDERR_FILENO, true) == WIRE_DONE && sent < 100000;
		     message.number++)
			sent++;
		EXPECT(sent < 100000);
		expect_hang_up(file);
	}
	conclude(&house, &before, &neighbour);
}

TEST(channels, are_limited_and_those_that_are_there_go_on)
{
	enum { MORE_THAN_ENOUGH = 200 };
	static struct channel channels[MORE_THAN_ENOUGH];
	static const _Atomic bool never;
	struct belongings before;
	struct lodger neighbour;
	struct house house;
	unsigned count = 0;

	prepare(&house, &before, &neighbour);
	int file = connect_greeted(&house);
	for (uint32_t i = 0; i < MORE_THAN_ENOUGH && open_channel(file, i + 1, &channels[i]); i++)
		count += channels[i].memory != NULL;
	EXPECT(count > 0 && count < MORE_THAN_ENOUGH);
	for (uint32_t i = 0; i < MORE_THAN_ENOUGH; i++) {
		const struct wire_request nothing = { .call = WIRE_NOTHING };

		if (!channels[i].memory)
			continue;
		wire_request_say(&channels[i], &nothing);
		channel_ask(&channels[i]);
		EXPECT(channel_await_answer(&channels[i], &never));
		channel_close(&channels[i]);
	}
	close(file);
	conclude(&house, &before, &neighbour);
}

/* Asked for by the hundred, before the first answer is read: all of them come, and nobody waits for it. */
TEST(channels, that_are_asked_for_faster_than_answers_are_read_are_answered)
{
	struct pollfd room = { .events = POLLOUT };
	uint32_t asked = 0;
	struct belongings before;
	struct lodger neighbour;
	struct house house;

	prepare(&house, &before, &neighbour);
	int file = connect_greeted(&house);
	room.fd = file;
	/* Until the socket is full, both ways. */
	while (poll(&room, 1, 300) == 1) {
		const struct wire_message message = { .kind = WIRE_OPEN_CHANNEL,
						      .number = asked + 1 };
		enum wire_result result = wire_send(file, &message, -1, false);

		EXPECT(result != WIRE_BROKEN);
		asked += result == WIRE_DONE;
	}
	for (uint32_t i = 1; i <= asked; i++) {
		struct wire_message message;

		EXPECT(hear(file, &message, NULL));
		EXPECT_EQ(message.kind, WIRE_CHANNEL);
		EXPECT_EQ(message.number, i);
	}
	close(file);
	conclude(&house, &before, &neighbour);
}

/* ---- calls by hand ---- */

struct caller {
	struct travel_hooks hooks;
	struct channel channel;
	int file;
	uint32_t last_token;
	bool reads; /* what comes over the socket */
};

/* An event is a number that only this client knows. */
static uint64_t hook_send(struct travel_hooks *hooks, enum travel_thing thing, uintptr_t value,
			  uint64_t size_bytes)
{
	(void)size_bytes;
	EXPECT(thing == TRAVEL_EVENT && value != 0);
	return ++container_of(hooks, struct caller, hooks)->last_token;
}

static void read_news(int file)
{
	struct wire_message message;
	int descriptor;

	while (wire_receive(file, &message, &descriptor, false) == WIRE_DONE) {
		if (descriptor >= 0)
			close(descriptor);
	}
}

/* One that the server cannot finish before its news are read is finished when they are. */
static void await_answer(struct caller *caller)
{
	static const _Atomic bool never;
	const struct channel_memory *memory = caller->channel.memory;
	uint64_t began_ms = now_ms();

	while (atomic_load(&memory->reply.number) != caller->channel.number) {
		EXPECT(now_ms() < began_ms + PATIENCE_MS);
		caller->reads |= now_ms() > began_ms + 300;
		if (caller->reads)
			read_news(caller->file);
		sched_yield();
	}
	EXPECT(channel_await_answer(&caller->channel, &never));
}

static NTSTATUS call_by_hand(struct caller *caller, uint32_t id, void *arguments)
{
	struct channel_memory *memory = caller->channel.memory;
	struct wire_request request = { .call = id };
	struct wire_reply reply;

	request.size_bytes = travel_request_put(id, arguments, memory->request.buffer,
						CHANNEL_BUFFER_BYTES, &caller->hooks);
	EXPECT(request.size_bytes > 0);
	wire_request_say(&caller->channel, &request);
	channel_ask(&caller->channel);
	await_answer(caller);
	const unsigned char *at =
		memory->reply.buffer + wire_reply_read(&reply, memory->reply.buffer);
	uint64_t skipped = reply.view_count * sizeof(struct wire_view) +
			   reply.run_count * sizeof(struct wire_run);
	if (NT_SUCCESS(reply.status))
		EXPECT(travel_reply_apply(id, arguments, at + skipped, reply.size_bytes - skipped,
					  &caller->hooks));
	return reply.status;
}

static void caller_open(struct caller *caller, const struct house *house)
{
	*caller = (struct caller){ .hooks.send = hook_send, .file = connect_greeted(house) };
	EXPECT(open_channel(caller->file, 1, &caller->channel) && caller->channel.memory);
}

/* The client is slow to hear of them, and is made to wait for that; none of its calls is refused. */
TEST(events, that_a_client_does_not_read_of_keep_only_that_client_waiting)
{
	enum { EVENTS = 6000 };
	D3DKMT_ADAPTERINFO infos[34] = { 0 };
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .Info.Type = D3DDDI_MONITORED_FENCE };
	struct belongings before;
	struct lodger neighbour;
	struct caller caller;
	struct house house;
	UINT64 value;

	prepare(&house, &before, &neighbour);
	caller_open(&caller, &house);
	EXPECT_EQ(call_by_hand(&caller, CALL_enum_adapters2, &all), STATUS_SUCCESS);
	D3DKMT_CREATEDEVICE device = { .hAdapter = infos[0].hAdapter };
	EXPECT_EQ(call_by_hand(&caller, CALL_create_device, &device), STATUS_SUCCESS);
	fence.hDevice = device.hDevice;
	EXPECT_EQ(call_by_hand(&caller, CALL_create_synchronization_object2, &fence),
		  STATUS_SUCCESS);
	for (value = 1; value <= EVENTS; value++) {
		D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = {
			.hDevice = device.hDevice,
			.ObjectCount = 1,
			.ObjectHandleArray = &fence.hSyncObject,
			.FenceValueArray = &value,
			.hAsyncEvent = (HANDLE)(intptr_t)3,
		};
		D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU signal = {
			.hDevice = device.hDevice,
			.ObjectCount = 1,
			.ObjectHandleArray = &fence.hSyncObject,
			.FenceValueArray = &value,
		};

		EXPECT_EQ(
			call_by_hand(&caller, CALL_wait_for_synchronization_object_from_cpu, &wait),
			STATUS_SUCCESS);
		EXPECT_EQ(
			call_by_hand(&caller, CALL_signal_synchronization_object_from_cpu, &signal),
			STATUS_SUCCESS);
	}
	EXPECT(caller.reads); /* it had to */
	channel_close(&caller.channel);
	close(caller.file);
	conclude(&house, &before, &neighbour);
}

/* ---- channels that are written by somebody else while they are used ---- */

struct attack {
	struct channel channel;
	uint64_t chance;
	_Atomic bool is_over;
};

/* Any word, any byte, at any time. */
static void *scribble(void *context)
{
	struct attack *attack = context;
	struct channel_memory *memory = attack->channel.memory;
	uint64_t chance = attack->chance ^ 0x5555;

	while (!atomic_load(&attack->is_over)) {
		_Atomic uint32_t *words[] = { &memory->request.number, &memory->reply.number,
					      &memory->request.reader_sleeps,
					      &memory->reply.reader_sleeps, &memory->request.said };
		const uint32_t count = sizeof(words) / sizeof(words[0]);

		switch (below(&chance, 8)) {
		case 0:
			atomic_store(words[below(&chance, count)], (uint32_t)random_of(&chance));
			break;
		case 1:
			atomic_fetch_add(words[below(&chance, count)], 1);
			break;
		default:
			/* Mostly lengths and counts, which stand in front. */
			memory->request.buffer[below(
				&chance, below(&chance, 2) ? 256 : CHANNEL_BUFFER_BYTES)] =
				(unsigned char)random_of(&chance);
		}
	}
	return NULL;
}

static void compose(struct attack *attack)
{
	uint64_t *chance = &attack->chance;
	unsigned char *room = attack->channel.memory->request.buffer;
	struct wire_request request = {
		.call = below(chance, 8) ? below(chance, CALL_COUNT)
					 : WIRE_NOTHING + below(chance, 8),
		.flags = below(chance, 8) ? 0 : (uint32_t)random_of(chance),
		.size_bytes = below(chance, 16) ? 8u * below(chance, 64) : random_of(chance),
	};
	const struct travel_head head = { request.call, below(chance, 4) ? 1 : below(chance, 4) };

	for (unsigned i = 0; i < 512; i++)
		room[i] = below(chance, 3) ? 0 : (unsigned char)random_of(chance);
	if (below(chance, 2) && request.call < CALL_COUNT)
		request.flags |= WIRE_IS_BARE | head.flags << WIRE_HEAD_SHIFT;
	else
		memcpy(room, &head, sizeof(head));
	wire_request_say(&attack->channel, &request);
}

static bool has_hung_up(int file)
{
	struct wire_message message;
	int descriptor;
	enum wire_result result;

	while ((result = wire_receive(file, &message, &descriptor, false)) == WIRE_DONE) {
		if (descriptor >= 0)
			close(descriptor);
	}
	return result == WIRE_BROKEN;
}

/* Until it is sent away. */
static unsigned attack_once(const struct house *house, uint64_t seed)
{
	struct attack attack = { .chance = seed | 1 };
	int file = connect_greeted(house);
	pthread_t thread;
	unsigned calls = 0;

	EXPECT(open_channel(file, 1, &attack.channel) && attack.channel.memory);
	bool has_help = seed & 2;
	if (has_help)
		EXPECT_EQ(pthread_create(&thread, NULL, scribble, &attack), 0);
	while (calls < 2000 && !has_hung_up(file)) {
		compose(&attack);
		channel_ask(&attack.channel);
		for (unsigned i = 0;
		     i < 5000 &&
		     atomic_load(&attack.channel.memory->reply.number) != attack.channel.number;
		     i++)
			;
		calls++;
	}
	atomic_store(&attack.is_over, true);
	if (has_help)
		pthread_join(thread, NULL);
	close(file);
	channel_close(&attack.channel);
	return calls;
}

TEST(channels, that_a_second_thread_writes_at_random_harm_nobody)
{
	uint64_t chance = getenv("TEST_SEED") ? strtoull(getenv("TEST_SEED"), NULL, 10) | 1
					      : now_ms() << 1 | 1;
	struct belongings before;
	struct lodger neighbour;
	struct house house;
	uint64_t seed = chance;

	prepare(&house, &before, &neighbour);
	print_error("TEST_SEED=%llu\n", (unsigned long long)seed);
	uint64_t end_ms = now_ms() + some_of(4000, 300000);
	while (now_ms() < end_ms)
		(void)attack_once(&house, random_of(&chance));
	conclude(&house, &before, &neighbour);
}

API_TEST_MAIN("server/hostile")
