/* SPDX-License-Identifier: MIT */
/*
 * run.c - the tour itself: an adapter, three clients, and somebody who watches.
 */
#include <stdarg.h>
#include <stdio.h>

#include <opendxgk/refusal.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cli/tour/client.h"
#include "cli/tour/live.h"

enum { MOST_ADAPTERS = 64 };

void tour_complain(struct tour *tour, const char *format, ...)
{
	va_list arguments;

	if (!atomic_exchange(&tour->has_complained, true)) {
		va_start(arguments, format);
		vsnprintf(tour->counts->complaint, sizeof(tour->counts->complaint), format,
			  arguments);
		va_end(arguments);
	}
	tour->is_failed = true;
	tour->steps++;
	thread_wake_all(&tour->steps);
}

void tour_reach(struct tour *tour, enum tour_client_id id, uint32_t frame)
{
	tour->reached[id] = frame;
	tour->steps++;
	thread_wake_all(&tour->steps);
}

bool tour_wait(struct tour *tour, enum tour_client_id id, uint32_t frame)
{
	for (;;) {
		uint32_t seen = tour->steps;
		if (tour->is_failed || tour->reached[id] >= frame)
			return !tour->is_failed;
		(void)thread_wait(&tour->steps, seen, CLOCK_FOREVER);
	}
}

static bool ask_adapter(struct tour *tour)
{
	struct softgpu_adapter_info info = { 0 };
	D3DKMT_QUERYADAPTERINFO args = { tour->adapter, KMTQAITYPE_UMDRIVERPRIVATE, &info,
					 sizeof(info) };
	struct tour_counts *counts = tour->counts;

	if (!NT_SUCCESS(D3DKMTQueryAdapterInfo(&args)) ||
	    info.version != SOFTGPU_ADAPTER_INFO_VERSION) {
		tour_complain(tour, "the first adapter is not the software GPU, whose commands the "
				    "clients speak");
		return false;
	}
	counts->is_virtual = info.address_model == SOFTGPU_MODEL_GPUMMU;
	counts->local_bytes = info.local_bytes;
	counts->wanted_bytes = 3 * info.local_bytes;
	tour->unit_bytes = info.local_bytes / TOUR_LOCAL_UNITS;
	return live_ask(tour);
}

static bool open_adapter(struct tour *tour)
{
	D3DKMT_ADAPTERINFO infos[MOST_ADAPTERS];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = MOST_ADAPTERS, .pAdapters = infos };
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	if (!NT_SUCCESS(D3DKMTEnumAdapters2(&all))) {
		tour_complain(tour, "D3DKMTEnumAdapters2: %s",
			      DxgkLastRefusal(&why) ? why.reason : "no reason");
		return false;
	}
	if (all.NumAdapters == 0) {
		tour_complain(tour, "no adapter started");
		return false;
	}
	for (ULONG i = 1; i < all.NumAdapters; i++) {
		D3DKMT_CLOSEADAPTER done = { infos[i].hAdapter };
		D3DKMTCloseAdapter(&done);
	}
	tour->adapter = infos[0].hAdapter;
	tour->luid = infos[0].AdapterLuid;
	return ask_adapter(tour);
}

static void close_adapter(struct tour *tour)
{
	D3DKMT_CLOSEADAPTER args = { tour->adapter };

	if (tour->adapter != 0)
		D3DKMTCloseAdapter(&args);
}

/* ---- clients ---- */

/* Nobody waits for a client that is gone. */
static void leave(struct tour *tour, enum tour_client_id id)
{
	tour_reach(tour, id, UINT32_MAX);
	tour->running--;
	thread_wake_all(&tour->running);
}

static void run_frames(void *argument)
{
	tour_play_frames(argument);
	leave(argument, TOUR_FRAMES);
}

static void run_stream(void *argument)
{
	tour_play_stream(argument);
	leave(argument, TOUR_STREAM);
}

static void run_idle(void *argument)
{
	tour_play_idle(argument);
	leave(argument, TOUR_IDLE);
}

static void play(struct tour *tour)
{
	static void (*const plays[TOUR_CLIENTS])(void *) = { run_frames, run_stream, run_idle };
	struct thread *threads[TOUR_CLIENTS] = { NULL };

	for (uint32_t i = 0; i < TOUR_CLIENTS; i++) {
		tour->running++;
		if (NT_SUCCESS(thread_create(client_name((enum tour_client_id)i), plays[i], tour,
					     &threads[i])))
			continue;
		tour_complain(tour, "no thread for a client");
		leave(tour, (enum tour_client_id)i);
	}
	live_watch(tour);
	for (uint32_t i = 0; i < TOUR_CLIENTS; i++)
		thread_join(threads[i]);
}

/* A destruction may come after its call: the last ones are waited for. */
static bool ask_when_empty(struct tour *tour)
{
	const uint64_t end_ns = clock_deadline(10 * NS_PER_S);

	while (live_ask(tour)) {
		if (tour->counts->in_bytes == tour->counts->out_bytes || clock_now_ns() > end_ns)
			return true;
		clock_sleep_until(clock_deadline(NS_PER_MS));
	}
	return false;
}

bool tour_run(const struct tour_settings *settings, struct tour_counts *counts)
{
	struct tour tour = { .settings = settings, .counts = counts, .is_spoiling = true };
	uint64_t start_ns = clock_now_ns();

	if (open_adapter(&tour)) {
		play(&tour);
		counts->duration_ns = clock_now_ns() - start_ns;
		counts->is_complete = ask_when_empty(&tour) && !tour.is_failed;
	}
	close_adapter(&tour);
	return counts->is_complete;
}
