/* SPDX-License-Identifier: MIT */
/*
 * run.c - the tour itself: an adapter, three clients on threads or in processes, and somebody who
 * watches.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opendxgk/refusal.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cli/tour/client.h"
#include "cli/tour/live.h"

enum { MOST_ADAPTERS = 64 };

void tour_complain(struct tour *tour, const char *format, ...)
{
	va_list arguments;

	if (!atomic_exchange(&tour->counts->has_complained, true)) {
		va_start(arguments, format);
		vsnprintf(tour->counts->complaint, sizeof(tour->counts->complaint), format,
			  arguments);
		va_end(arguments);
	}
	tour->counts->is_failed = true;
	tour->counts->steps++;
	thread_wake_shared(&tour->counts->steps);
}

void tour_reach(struct tour *tour, enum tour_client_id id, uint32_t frame)
{
	tour->counts->reached[id] = frame;
	tour->counts->steps++;
	thread_wake_shared(&tour->counts->steps);
}

bool tour_wait(struct tour *tour, enum tour_client_id id, uint32_t frame)
{
	for (;;) {
		uint32_t seen = tour->counts->steps;
		if (tour->counts->is_failed || tour->counts->reached[id] >= frame)
			return !tour->counts->is_failed;
		(void)thread_wait_shared(&tour->counts->steps, seen, CLOCK_FOREVER);
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
	return true;
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
	tour->counts->running--;
	thread_wake_shared(&tour->counts->running);
}

struct player {
	struct tour *tour;
	enum tour_client_id id;
	struct thread *thread;
	pid_t process; /* 0: none, or it has ended */
};

static void play_one(void *argument)
{
	static void (*const plays[TOUR_CLIENTS])(
		struct tour *) = { tour_play_frames, tour_play_stream, tour_play_idle };
	const struct player *player = argument;

	plays[player->id](player->tour);
	leave(player->tour, player->id);
}

static void play_on_threads(struct tour *tour)
{
	struct player players[TOUR_CLIENTS];

	for (uint32_t i = 0; i < TOUR_CLIENTS; i++) {
		players[i] = (struct player){ .tour = tour, .id = (enum tour_client_id)i };
		tour->counts->running++;
		if (NT_SUCCESS(thread_create(client_name(players[i].id), play_one, &players[i],
					     &players[i].thread)))
			continue;
		tour_complain(tour, "no thread for a client");
		leave(tour, players[i].id);
	}
	live_watch(tour);
	for (uint32_t i = 0; i < TOUR_CLIENTS; i++)
		thread_join(players[i].thread);
}

/* ---- each a process ---- */

static struct player apart[TOUR_CLIENTS]; /* of who watches them */

static _Noreturn void be_client(struct player *player)
{
	struct tour *tour = player->tour;

	if (open_adapter(tour)) {
		play_one(player);
		close_adapter(tour);
	} else {
		leave(tour, player->id);
	}
	exit(0);
}

/* Before this process speaks to the kernel itself. */
static void start_processes(struct tour *tour)
{
	for (uint32_t i = 0; i < TOUR_CLIENTS; i++) {
		apart[i] = (struct player){ .tour = tour, .id = (enum tour_client_id)i };
		tour->counts->running++;
		apart[i].process = fork();
		if (apart[i].process == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_NAME, client_name(apart[i].id));
			be_client(&apart[i]);
		}
		if (apart[i].process > 0)
			continue;
		apart[i].process = 0;
		tour_complain(tour, "no process for a client");
		leave(tour, apart[i].id);
	}
}

static void take_end(struct tour *tour, struct player *player, int options)
{
	int status;

	if (player->process == 0 || waitpid(player->process, &status, options) != player->process)
		return;
	player->process = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	tour_complain(tour, "the process of %s has ended", client_name(player->id));
	leave(tour, player->id);
}

void tour_look_after(struct tour *tour)
{
	for (uint32_t i = 0; i < TOUR_CLIENTS; i++)
		take_end(tour, &apart[i], WNOHANG);
}

static void end_processes(struct tour *tour)
{
	for (uint32_t i = 0; i < TOUR_CLIENTS; i++)
		take_end(tour, &apart[i], 0);
}

/* ---- all of it ---- */

/* A destruction may come after its call: the last ones are waited for. */
static bool ask_when_empty(struct tour *tour)
{
	const uint64_t end_ns = clock_deadline(10 * NS_PER_S);

	while (live_ask(tour)) {
		if (tour->counts->is_shared || tour->counts->in_bytes == tour->counts->out_bytes ||
		    clock_now_ns() > end_ns)
			return true;
		clock_sleep_until(clock_deadline(NS_PER_MS));
	}
	return false;
}

bool tour_run(const struct tour_settings *settings, struct tour_counts *counts)
{
	struct tour tour = { .settings = settings, .counts = counts };
	uint64_t start_ns = clock_now_ns();

	counts->is_spoiling = true;
	counts->is_shared = settings->is_shared;
	if (settings->is_apart)
		start_processes(&tour);
	if (open_adapter(&tour) && live_ask(&tour)) {
		if (settings->is_apart)
			live_watch(&tour);
		else
			play_on_threads(&tour);
		end_processes(&tour);
		counts->duration_ns = clock_now_ns() - start_ns;
		counts->is_complete = ask_when_empty(&tour) && !counts->is_failed;
	}
	end_processes(&tour);
	close_adapter(&tour);
	return counts->is_complete;
}
