/* SPDX-License-Identifier: MIT */
/*
 * frames.c - the client that draws: each frame uses some textures of a set that is larger than
 * local memory, the ones near where it stands more often than others.
 *
 * A frame copies a strip of each texture into a target, which the CPU compares. Now and then a
 * texture is painted anew by the GPU, so that what leaves local memory is not what came in.
 */
#include "cli/tour/client.h"
#include "cli/tour/content.h"

enum { USED = 8, WINDOW = 20, REPAINT_EVERY = 4, LOOK_EVERY = 8 };

struct painter {
	struct client client;
	struct buffer textures[TOUR_TEXTURES];
	struct buffer target;
	struct buffer staging; /* in system memory: what a texture is painted with */
	struct buffer *set[USED + 1];
};

/* Three in four from a window that wanders over the set; none twice. */
static void choose_set(struct painter *painter, uint32_t frame)
{
	bool is_used[TOUR_TEXTURES] = { false };
	uint32_t count = 0;

	while (count < USED) {
		uint64_t number = content_next(&painter->client.random);
		uint32_t index = number % 4 != 0 ? frame / 2 + (uint32_t)(number >> 8) % WINDOW
						 : (uint32_t)(number >> 8) % TOUR_TEXTURES;

		index %= TOUR_TEXTURES;
		if (is_used[index])
			continue;
		is_used[index] = true;
		painter->set[count++] = &painter->textures[index];
	}
	painter->set[USED] = &painter->target;
}

static bool count_hits(struct painter *painter)
{
	struct tour_counts *counts = painter->client.tour->counts;
	bool is_local;

	for (uint32_t i = 0; i < USED; i++) {
		if (!client_is_local(&painter->client, painter->set[i], &is_local))
			return false;
		counts->uses++;
		counts->hits += is_local;
	}
	return true;
}

static bool draw(struct painter *painter)
{
	const uint64_t slot_bytes = painter->target.size_bytes / USED;
	struct copy strips[USED];

	for (uint32_t i = 0; i < USED; i++) {
		const struct buffer *texture = painter->set[i];
		uint64_t places = (texture->size_bytes - slot_bytes) / 8 + 1;

		strips[i] = (struct copy){
			.to = &painter->target,
			.to_at = i * slot_bytes,
			.from = texture,
			.from_at = content_next(&painter->client.random) % places * 8,
			.size_bytes = slot_bytes,
		};
	}
	if (!client_copy(&painter->client, strips, USED))
		return false;
	for (uint32_t i = 0; i < USED; i++) {
		if (!client_verify_part(&painter->client, &strips[i]))
			return false;
	}
	return true;
}

static bool repaint(struct painter *painter, struct buffer *texture)
{
	struct copy all = { .to = texture,
			    .from = &painter->staging,
			    .size_bytes = texture->size_bytes };

	if (!client_write(&painter->client, &painter->staging) ||
	    !client_copy(&painter->client, &all, 1))
		return false;
	texture->seed = painter->staging.seed;
	painter->client.tour->counts->repaints++;
	return true;
}

static bool wait_for_others(struct tour *tour, uint32_t frame)
{
	uint32_t least = frame > TOUR_SLACK ? frame - TOUR_SLACK : 0;

	return tour_wait(tour, TOUR_STREAM, least) && tour_wait(tour, TOUR_IDLE, least);
}

static bool play_frame(struct painter *painter, uint32_t frame)
{
	struct client *client = &painter->client;

	choose_set(painter, frame);
	if (!count_hits(painter) || !client_make_resident(client, painter->set, USED + 1) ||
	    !draw(painter))
		return false;
	if (frame % REPAINT_EVERY == 0 && !repaint(painter, painter->set[0]))
		return false;
	if (frame % LOOK_EVERY == 0 && !client_verify(client, painter->set[1]))
		return false;
	return client_let_go(client, painter->set, USED + 1);
}

static bool make_set(struct painter *painter)
{
	struct client *client = &painter->client;
	struct buffer *staging = &painter->staging;

	for (uint32_t i = 0; i < TOUR_TEXTURES; i++) {
		struct buffer *texture = &painter->textures[i];
		if (!client_create(client, client_some_bytes(client, i), 0, texture) ||
		    !client_write(client, texture))
			return false;
	}
	uint64_t unit_bytes = client->tour->unit_bytes;
	return client_create(client, unit_bytes, 0, &painter->target) &&
	       client_create(client, 2 * unit_bytes, SOFTGPU_SYSTEM_ONLY | SOFTGPU_CACHED,
			     staging) &&
	       client_make_resident(client, &staging, 1);
}

static bool verify_set(struct painter *painter)
{
	for (uint32_t i = 0; i < TOUR_TEXTURES; i++) {
		if (!client_verify(&painter->client, &painter->textures[i]))
			return false;
	}
	return true;
}

void tour_play_frames(struct tour *tour)
{
	struct painter painter = { 0 };
	bool is_good = client_open(&painter.client, tour, TOUR_FRAMES, 0) && make_set(&painter);

	for (uint32_t frame = 0; is_good && frame < tour->settings->frames; frame++) {
		is_good = wait_for_others(tour, frame) && play_frame(&painter, frame);
		tour->counts->frames += is_good;
		tour_reach(tour, TOUR_FRAMES, frame + 1);
	}
	if (is_good)
		(void)!verify_set(&painter);
	client_close(&painter.client);
}
