/* SPDX-License-Identifier: MIT */
/*
 * stream.c - the client that streams: uploads a piece, has the GPU use it once, and frees it when
 * as many came after it as it holds.
 */
#include "cli/tour/client.h"

enum { CHUNKS_PER_FRAME = 2 };

struct streamer {
	struct client client;
	struct buffer chunks[TOUR_CHUNKS]; /* a ring */
	struct buffer sink;                /* in system memory: what the GPU made of it */
};

static bool drop(struct streamer *streamer, struct buffer *chunk)
{
	if (!client_verify(&streamer->client, chunk) || !client_destroy(&streamer->client, chunk))
		return false;
	chunk->handle = 0;
	return true;
}

static bool use_once(struct streamer *streamer, struct buffer *chunk)
{
	struct client *client = &streamer->client;
	struct copy all = { .to = &streamer->sink, .from = chunk, .size_bytes = chunk->size_bytes };

	return client_make_resident(client, &chunk, 1) && client_copy(client, &all, 1) &&
	       client_verify_part(client, &all) && client_let_go(client, &chunk, 1);
}

static bool play_chunk(struct streamer *streamer, uint32_t number)
{
	struct client *client = &streamer->client;
	struct buffer *chunk = &streamer->chunks[number % TOUR_CHUNKS];

	if (chunk->handle != 0 && !drop(streamer, chunk))
		return false;
	if (!client_create(client, client_some_bytes(client, number % TOUR_CHUNKS), 0, chunk) ||
	    !client_write(client, chunk) || !use_once(streamer, chunk))
		return false;
	client->tour->counts->chunks++;
	client->tour->counts->chunk_bytes += chunk->size_bytes;
	return true;
}

static bool open_stream(struct streamer *streamer, struct tour *tour)
{
	struct client *client = &streamer->client;
	struct buffer *sink = &streamer->sink;

	return client_open(client, tour, TOUR_STREAM, 1) &&
	       client_create(client, 2 * tour->unit_bytes, SOFTGPU_SYSTEM_ONLY | SOFTGPU_CACHED,
			     sink) &&
	       client_make_resident(client, &sink, 1);
}

void tour_play_stream(struct tour *tour)
{
	const uint32_t end = tour->settings->frames * CHUNKS_PER_FRAME;
	struct streamer streamer = { 0 };
	bool is_good = open_stream(&streamer, tour);

	for (uint32_t i = 0; is_good && i < end; i++) {
		tour_reach(tour, TOUR_STREAM, i / CHUNKS_PER_FRAME);
		is_good = tour_wait(tour, TOUR_FRAMES, i / CHUNKS_PER_FRAME) &&
			  play_chunk(&streamer, i);
	}
	for (uint32_t i = 0; is_good && i < TOUR_CHUNKS; i++)
		is_good = streamer.chunks[i].handle == 0 || drop(&streamer, &streamer.chunks[i]);
	client_close(&streamer.client);
}
