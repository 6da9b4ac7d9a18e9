/* SPDX-License-Identifier: MIT */
/*
 * idle.c - the client that idles: has the GPU use what it owns, offers all of it, and looks some
 * frames later what is left. What was thrown away says so, and is written again.
 */
#include "cli/tour/client.h"

struct idler {
	struct client client;
	struct buffer kept[TOUR_KEPT];
	struct buffer sink; /* in system memory: what the GPU reads it into */
};

static bool use(struct idler *idler, struct buffer *buffer)
{
	struct client *client = &idler->client;
	struct copy all = { .to = &idler->sink, .from = buffer, .size_bytes = buffer->size_bytes };

	return client_make_resident(client, &buffer, 1) && client_copy(client, &all, 1) &&
	       client_verify_part(client, &all) && client_let_go(client, &buffer, 1);
}

static bool use_and_offer(struct idler *idler)
{
	static const D3DKMT_OFFER_PRIORITY priorities[] = { D3DKMT_OFFER_PRIORITY_LOW,
							    D3DKMT_OFFER_PRIORITY_NORMAL,
							    D3DKMT_OFFER_PRIORITY_HIGH };

	for (uint32_t i = 0; i < TOUR_KEPT; i++) {
		if (!use(idler, &idler->kept[i]))
			return false;
	}
	for (uint32_t i = 0; i < TOUR_KEPT; i++) {
		if (!client_offer(&idler->client, &idler->kept[i], priorities[i % 3]))
			return false;
		idler->client.tour->counts->offers++;
	}
	return true;
}

static bool reclaim(struct idler *idler)
{
	struct tour_counts *counts = idler->client.tour->counts;
	bool is_kept;

	for (uint32_t i = 0; i < TOUR_KEPT; i++) {
		struct buffer *buffer = &idler->kept[i];
		if (!client_reclaim(&idler->client, buffer, &is_kept))
			return false;
		counts->kept += is_kept;
		counts->discarded += !is_kept;
		if (is_kept ? !client_verify(&idler->client, buffer)
			    : !client_write(&idler->client, buffer))
			return false;
	}
	return true;
}

/* The frames may go on to the end of the round, and need what was offered. */
static bool sleep_through(struct tour *tour, uint32_t frame)
{
	uint32_t end = tour->settings->frames;
	uint32_t last = frame + TOUR_ROUND < end ? frame + TOUR_ROUND : end;

	tour_reach(tour, TOUR_IDLE, frame + TOUR_ROUND - TOUR_SLACK);
	return tour_wait(tour, TOUR_FRAMES, last);
}

static bool open_idle(struct idler *idler, struct tour *tour)
{
	struct client *client = &idler->client;
	struct buffer *sink = &idler->sink;

	if (!client_open(client, tour, TOUR_IDLE, 0))
		return false;
	for (uint32_t i = 0; i < TOUR_KEPT; i++) {
		if (!client_create(client, client_some_bytes(client, i), 0, &idler->kept[i]) ||
		    !client_write(client, &idler->kept[i]))
			return false;
	}
	return client_create(client, 2 * tour->unit_bytes, SOFTGPU_SYSTEM_ONLY | SOFTGPU_CACHED,
			     sink) &&
	       client_make_resident(client, &sink, 1);
}

void tour_play_idle(struct tour *tour)
{
	const uint32_t end = tour->settings->frames;
	struct idler idler = { 0 };
	bool is_good = open_idle(&idler, tour);

	for (uint32_t frame = 0; is_good && frame < end; frame += TOUR_ROUND) {
		tour_reach(tour, TOUR_IDLE, frame);
		is_good = tour_wait(tour, TOUR_FRAMES, frame) && use_and_offer(&idler) &&
			  sleep_through(tour, frame) && reclaim(&idler);
	}
	client_close(&idler.client);
}
