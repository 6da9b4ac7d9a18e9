/* SPDX-License-Identifier: MIT */
/*
 * remote_listen_test.c - callbacks that a server sends, which the test plays: who is called, on whose
 * thread, when it is over, and that the server hears so whatever becomes of it.
 */
#include "support/test.h"

#include "base/notice.h"
#include "unit/thunk/played_calls.h"

enum { LUIDS = 2 };

static struct notice moved;

/* Who listens, and what became of it. */
struct ear {
	struct dxgk_embed_listener listener;
	_Atomic uint32_t told;
	_Atomic uint32_t released;
	_Atomic bool may_return;
	void (*in_callback)(struct ear *ear);
};

static void await(_Atomic uint32_t *count, uint32_t wanted)
{
	for (;;) {
		uint32_t seen = notice_read(&moved);

		if (atomic_load(count) >= wanted)
			break;
		notice_wait(&moved, seen, clock_deadline(1000000));
	}
	CHILD_EXPECT(atomic_load(count) == wanted);
}

static void tell(struct dxgk_embed_listener *listener)
{
	struct ear *ear = container_of(listener, struct ear, listener);

	atomic_fetch_add(&ear->told, 1);
	notice_give(&moved);
	if (ear->in_callback)
		ear->in_callback(ear);
}

static void release(struct dxgk_embed_listener *listener)
{
	struct ear *ear = container_of(listener, struct ear, listener);

	atomic_fetch_add(&ear->released, 1);
	notice_give(&moved);
}

static void ear_init(struct ear *ear, enum dxgk_embed_news news)
{
	*ear = (struct ear){ .listener = { .news = news, .tell = tell, .release = release } };
}

static const uint64_t luids[LUIDS] = { 1, 2 };

static void ear_open(struct ear *ear, enum dxgk_embed_news news)
{
	ear_init(ear, news);
	CHILD_EXPECT(connection_listen(&ear->listener, luids, LUIDS) == STATUS_SUCCESS);
}

static void begin(void)
{
	played_open(kernel);
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
}

static void played_tell(enum wire_news news, const void *callback, const void *context,
			uint64_t bytes)
{
	const struct wire_message message = { .kind = WIRE_TELL,
					      .number = 5,
					      .tell = { .news = news,
							.flags = 2,
							.callback = (uintptr_t)callback,
							.context = (uintptr_t)context,
							.bytes = bytes } };

	played_say(&message, -1);
}

/* ---- being told ---- */

static struct {
	D3DKMT_TRIMNOTIFICATION trim;
	D3DKMT_BUDGETCHANGENOTIFICATION budget;
	_Atomic uint32_t count;
} heard;

static VOID APIENTRY on_trim(D3DKMT_TRIMNOTIFICATION *told)
{
	heard.trim = *told;
	CHILD_EXPECT(close_adapter() == STATUS_SUCCESS);
	atomic_fetch_add(&heard.count, 1);
	notice_give(&moved);
}

static VOID APIENTRY on_budget(D3DKMT_BUDGETCHANGENOTIFICATION *told)
{
	heard.budget = *told;
	atomic_fetch_add(&heard.count, 1);
	notice_give(&moved);
}

static void is_told(void *argument)
{
	(void)argument;
	begin();
	played_tell(WIRE_NEWS_TRIM, (const void *)(uintptr_t)on_trim, &heard, 4711);
	await(&heard.count, 1);
	CHILD_EXPECT(heard.trim.Context == &heard && heard.trim.NumBytesToTrim == 4711);
	CHILD_EXPECT(heard.trim.Flags.Value == 2);
	played_tell(WIRE_NEWS_BUDGET, (const void *)(uintptr_t)on_budget, &luids, 99);
	await(&heard.count, 2);
	CHILD_EXPECT(heard.budget.Context == luids && heard.budget.Budget == 99);
	await(&played.told, 2);
	/* Calls of a callback say so: one that waits for callbacks is not to wait for itself. */
	CHILD_EXPECT(!(played.log[0].flags & WIRE_FROM_CALLBACK) &&
		     (played.log[1].flags & WIRE_FROM_CALLBACK));
}

TEST(callback, is_made_with_what_the_server_said_and_the_server_hears_that_it_is_over)
{
	EXPECT_PLAYED(is_told, NULL);
}

static void listens(void *argument)
{
	struct ear first;
	struct ear second;

	(void)argument;
	begin();
	ear_open(&first, DXGK_EMBED_BUDGET);
	ear_open(&second, DXGK_EMBED_BUDGET);
	played_tell(WIRE_NEWS_ADAPTER, NULL, &first.listener, 0);
	await(&first.told, 1);
	await(&played.told, 1);
	CHILD_EXPECT(atomic_load(&second.told) == 0);
	connection_unlisten(&first.listener);
	CHILD_EXPECT(atomic_load(&first.released) == LUIDS);
	/* It was under way when nobody listened any more. */
	played_tell(WIRE_NEWS_ADAPTER, NULL, &first.listener, 0);
	await(&played.told, 2);
	CHILD_EXPECT(atomic_load(&first.told) == 1);
	connection_unlisten(&first.listener); /* who does not listen may stop to */
	CHILD_EXPECT(atomic_load(&first.released) == LUIDS);
	/* The process ends what is left. */
	connection_close();
	CHILD_EXPECT(atomic_load(&second.released) == LUIDS);
}

TEST(listener, hears_what_is_for_it_until_it_stops_to_listen)
{
	EXPECT_PLAYED(listens, NULL);
}

static void is_not_heard(void *argument)
{
	static const uint64_t many[WIRE_LISTEN_MOST + 1];
	struct ear ear;

	(void)argument;
	begin();
	ear_init(&ear, DXGK_EMBED_BUDGET);
	atomic_store(&played.served, STATUS_INVALID_PARAMETER);
	expect_refused(connection_listen(&ear.listener, luids, LUIDS), STATUS_INVALID_PARAMETER,
		       "API-VALUE", "does not want to");
	atomic_store(&played.served, STATUS_SUCCESS);
	CHILD_EXPECT(connection_listen(&ear.listener, many, WIRE_LISTEN_MOST + 1) ==
		     STATUS_NO_MEMORY);
	host_refuse(HOST_MEMORY, 1);
	CHILD_EXPECT(connection_listen(&ear.listener, luids, LUIDS) == STATUS_NO_MEMORY);
	CHILD_EXPECT(host_may());
	/* Nobody listens, so nobody is told, and nobody is released. */
	played_tell(WIRE_NEWS_ADAPTER, NULL, &ear.listener, 0);
	await(&played.told, 1);
	connection_close();
	CHILD_EXPECT(atomic_load(&ear.told) == 0 && atomic_load(&ear.released) == 0);
}

TEST(listener, that_was_refused_is_neither_told_nor_released)
{
	EXPECT_PLAYED(is_not_heard, NULL);
}

/* ---- while a callback runs ---- */

static void await_leave(struct ear *ear)
{
	for (;;) {
		uint32_t seen = notice_read(&moved);

		if (atomic_load(&ear->may_return))
			return;
		notice_wait(&moved, seen, clock_deadline(1000000));
	}
}

static void give_leave(void *argument)
{
	struct ear *ear = argument;

	/* Whoever stops to listen has asked the server by then, and waits for the callback. */
	while (count_asked(WIRE_UNLISTEN) == 0)
		thread_relax();
	CHILD_EXPECT(atomic_load(&ear->released) == 0);
	atomic_store(&ear->may_return, true);
	notice_give(&moved);
}

static void stops_meanwhile(void *argument)
{
	struct thread *thread;
	struct ear ear;

	(void)argument;
	begin();
	ear_open(&ear, DXGK_EMBED_BUDGET);
	ear.in_callback = await_leave;
	played_tell(WIRE_NEWS_ADAPTER, NULL, &ear.listener, 0);
	await(&ear.told, 1);
	CHILD_EXPECT(NT_SUCCESS(thread_create("leave", give_leave, &ear, &thread)));
	connection_unlisten(&ear.listener);
	CHILD_EXPECT(atomic_load(&ear.may_return) && atomic_load(&ear.released) == LUIDS);
	thread_join(thread);
	await(&played.told, 1);
}

TEST(listener, that_is_being_told_is_released_behind_its_callback)
{
	EXPECT_PLAYED(stops_meanwhile, NULL);
}

static void stop_itself(struct ear *ear)
{
	connection_unlisten(&ear->listener);
	CHILD_EXPECT(atomic_load(&ear->released) == 0);
}

static void close_itself(struct ear *ear)
{
	(void)ear;
	connection_close();
	CHILD_EXPECT(atomic_load(&ear->released) == 0);
}

static void stops_inside(void *argument)
{
	void (**how)(struct ear * ear) = argument;
	struct ear ear;

	begin();
	ear_open(&ear, DXGK_EMBED_BUDGET);
	ear.in_callback = *how;
	played_tell(WIRE_NEWS_ADAPTER, NULL, &ear.listener, 0);
	await(&ear.released, LUIDS);
	CHILD_EXPECT(atomic_load(&ear.told) == 1);
	await(&played.told, 1);
}

TEST(listener, may_end_itself_from_its_callback)
{
	void (*ways[])(struct ear *) = { stop_itself, close_itself };

	for (int i = 0; i < 2; i++)
		EXPECT_PLAYED(stops_inside, &ways[i]);
}

/* ---- loss ---- */

static void loses_server(void *argument)
{
	struct ear of_loss;
	struct ear of_budget;

	(void)argument;
	begin();
	ear_open(&of_loss, DXGK_EMBED_LOSS);
	ear_open(&of_budget, DXGK_EMBED_BUDGET);
	played_hang_up();
	await(&of_loss.told, 1);
	expect_lost(close_adapter());
	CHILD_EXPECT(atomic_load(&of_budget.told) == 0 && atomic_load(&of_loss.released) == 0);
	connection_unlisten(&of_loss.listener);
	CHILD_EXPECT(atomic_load(&of_loss.released) == LUIDS);
	connection_close();
	CHILD_EXPECT(atomic_load(&of_budget.released) == LUIDS);
	CHILD_EXPECT(atomic_load(&played.told) == 0);
}

TEST(loss, of_the_server_is_told_to_who_listens_to_losses)
{
	EXPECT_PLAYED(loses_server, NULL);
}

/* ---- when the host gives nothing ---- */

/* The server sends the next one when this one is over, so it must be over. */
static void cannot_be_told(void *argument)
{
	enum host_thing thing = *(enum host_thing *)argument;
	struct ear ear;

	begin();
	ear_open(&ear, DXGK_EMBED_BUDGET);
	host_refuse(thing, 1);
	played_tell(WIRE_NEWS_ADAPTER, NULL, &ear.listener, 0);
	await(&played.told, 1);
	CHILD_EXPECT(host_may() && atomic_load(&ear.told) == 0);
	played_tell(WIRE_NEWS_ADAPTER, NULL, &ear.listener, 0);
	await(&ear.told, 1);
	await(&played.told, 2);
}

TEST(callback, for_which_there_is_no_memory_or_no_thread_is_over_and_the_next_one_is_made)
{
	EXPECT_PLAYED(cannot_be_told, &(enum host_thing){ HOST_MEMORY });
	EXPECT_PLAYED(cannot_be_told, &(enum host_thing){ HOST_THREAD });
}

TEST_MAIN("thunk/remote_listen")
