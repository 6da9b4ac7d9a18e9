/* SPDX-License-Identifier: MIT */
/*
 * generate_work.c - workloads that mimic what programs do: a game, a language model that serves, one
 * that is trained, a desktop.
 *
 * The made-up kinds of generate.c have one pattern each. Here several meet, and what is used next
 * depends on where a camera goes, which request ends, which window has the focus.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/generate.h"

/* What a segment would have to hold. */

/* The most that lives at once. */
static void refer_to_living(struct generator *generator)
{
	struct workload *workload = generator->workload;
	bool *is_alive =
		mem_zalloc_array((size_t)workload->allocation_count + 1, sizeof(*is_alive));
	uint64_t bytes = 0;

	if (!is_alive) {
		generator->status = STATUS_NO_MEMORY;
		return;
	}
	for (size_t i = 0; i < workload->event_count; i++) {
		uint32_t allocation = workload->events[i].allocation;
		bool is_used = workload->events[i].kind == WORKLOAD_USE;

		if (is_used && !is_alive[allocation])
			bytes += workload->sizes[allocation];
		else if (!is_used && is_alive[allocation])
			bytes -= workload->sizes[allocation];
		is_alive[allocation] = is_used;
		if (bytes > workload->reference_bytes)
			workload->reference_bytes = bytes;
	}
	mem_free(is_alive);
}

/* The most that is used within an eighth of the time: the world is larger than what is seen. */
static void refer_to_eighth(struct generator *generator)
{
	struct workload *workload = generator->workload;
	uint32_t *uses = mem_zalloc_array((size_t)workload->allocation_count + 1, sizeof(*uses));
	size_t eighth = workload->event_count / 8;
	uint64_t bytes = 0;

	if (!uses) {
		generator->status = STATUS_NO_MEMORY;
		return;
	}
	for (size_t i = 0; i < workload->event_count; i++) {
		uint32_t comes = workload->events[i].allocation;

		if (uses[comes]++ == 0)
			bytes += workload->sizes[comes];
		if (i >= eighth) {
			uint32_t goes = workload->events[i - eighth].allocation;

			if (--uses[goes] == 0)
				bytes -= workload->sizes[goes];
		}
		if (bytes > workload->reference_bytes)
			workload->reference_bytes = bytes;
	}
	mem_free(uses);
}

/* So many, of which the first is returned. */
static uint32_t allocate_some(struct generator *generator, uint32_t count, double low_log2,
			      double high_log2)
{
	uint32_t first = generator->workload->allocation_count;

	for (uint32_t i = 0; i < count; i++)
		generate_allocation(generator, low_log2, high_log2);
	return first;
}

/* A game. */

enum {
	GAME_FRAMES = 190,
	TARGETS = 24,
	BUFFERS = 90,
	OBJECTS = 1400,
	DETAILS = 3, /* levels; the finest is 0 */
	UPLOADS = 8,
	MAP_PARTS = 80,
	MAP_FRAMES = 6,
};

struct point {
	double x, y;
};

struct object {
	struct point at;
	double distance;  /* from the camera, squared */
	uint32_t details; /* the first of its allocations */
};

struct game {
	uint32_t targets, buffers, uploads, map;
	struct object objects[OBJECTS];
	struct point camera, goal;
};

static struct point any_point(struct generator *generator)
{
	struct point point = { generate_uniform(generator), 0 };

	point.y = generate_uniform(generator);
	return point;
}

static double squared_distance(struct point a, struct point b)
{
	return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

static void game_init(struct generator *generator, struct game *game)
{
	game->targets = allocate_some(generator, TARGETS, 23, 26);
	game->buffers = allocate_some(generator, BUFFERS, 16, 22);
	game->uploads = allocate_some(generator, UPLOADS, 20, 24);
	game->map = allocate_some(generator, MAP_PARTS, 18, 24);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		game->objects[i].at = any_point(generator);
		game->objects[i].details = generate_allocation(generator, 22, 25);
		generate_allocation(generator, 19, 22);
		generate_allocation(generator, 16, 18);
	}
	game->camera = any_point(generator);
	game->goal = any_point(generator);
}

/* Towards a way point, and then to another one. */
static void walk_on(struct generator *generator, struct game *game)
{
	const double pace = 0.02;
	double share = pace * pace / (squared_distance(game->camera, game->goal) + 1e-9);

	if (share >= 1) {
		game->goal = any_point(generator);
		return;
	}
	/* Faster when the goal is far, as a player is who knows where to go. */
	share = share < 0.03 ? 0.03 : share;
	game->camera.x += share * (game->goal.x - game->camera.x);
	game->camera.y += share * (game->goal.y - game->camera.y);
}

static int compare_distances(const void *a, const void *b)
{
	const struct object *left = a;
	const struct object *right = b;

	if (left->distance != right->distance)
		return left->distance < right->distance ? -1 : 1;
	return left->details < right->details ? -1 : left->details > right->details;
}

static void draw_world(struct generator *generator, struct game *game)
{
	static const uint32_t seen[DETAILS] = { 45, 110, 220 };
	uint32_t object = 0;

	for (uint32_t i = 0; i < OBJECTS; i++)
		game->objects[i].distance = squared_distance(game->objects[i].at, game->camera);
	qsort(game->objects, OBJECTS, sizeof(game->objects[0]), compare_distances);
	for (uint32_t detail = 0; detail < DETAILS; detail++) {
		for (; object < seen[detail]; object++)
			generate_use(generator, game->objects[object].details + detail);
	}
}

static void play(struct generator *generator, struct game *game)
{
	uint32_t map_until = 0;

	for (uint32_t frame = 0; frame < GAME_FRAMES; frame++) {
		bool is_map_open = frame < map_until;

		for (int pass = 0; pass < 2; pass++) {
			generate_uses(generator, game->targets, TARGETS, 1);
			generate_uses(generator, game->buffers, BUFFERS, 1);
			if (pass == 0 && !is_map_open)
				draw_world(generator, game);
		}
		generate_use(generator, game->uploads + frame % UPLOADS);
		if (is_map_open) {
			generate_uses(generator, game->map, MAP_PARTS, 1);
			continue;
		}
		walk_on(generator, game);
		if (generate_between(generator, 0, 40) == 0)
			map_until = frame + 1 + MAP_FRAMES;
	}
}

void generate_game(struct generator *generator)
{
	struct game *game = mem_zalloc(sizeof(*game));

	if (!game) {
		generator->status = STATUS_NO_MEMORY;
		return;
	}
	game_init(generator, game);
	play(generator, game);
	mem_free(game);
	refer_to_eighth(generator);
}

/* A language model that serves requests. */

enum {
	GROUPS = 4, /* of layers */
	GROUP_WEIGHTS = 84,
	MODEL_STEPS = 290,
	SLOTS = 8, /* requests that run at once */
	WAITING_MAX = 24,
	CHUNKS_MAX = 24,
	PREFIX_CHUNKS = 3,
};

struct request {
	uint32_t chunks[CHUNKS_MAX]; /* of each the first of GROUPS allocations: keys and values */
	uint32_t chunk_count;        /* 0: no request */
	bool has_prefix;
	uint32_t due; /* waiting: the step of its follow-up */
};

struct model {
	uint32_t weights, prefix;
	struct request slots[SLOTS];
	struct request waiting[WAITING_MAX];
};

static uint32_t new_chunk(struct generator *generator)
{
	return allocate_some(generator, GROUPS, 24, 24);
}

static void grow(struct generator *generator, struct request *request)
{
	if (request->chunk_count < CHUNKS_MAX)
		request->chunks[request->chunk_count++] = new_chunk(generator);
}

/* A follow-up whose time has come, else somebody new. */
static void admit(struct generator *generator, struct model *model, struct request *slot,
		  uint32_t step)
{
	for (int i = 0; i < WAITING_MAX; i++) {
		struct request *waiting = &model->waiting[i];

		if (waiting->chunk_count > 0 && waiting->due <= step) {
			*slot = *waiting;
			waiting->chunk_count = 0;
			return;
		}
	}
	*slot = (struct request){ .has_prefix = generate_between(generator, 0, 2) == 0 };
	for (uint32_t left = generate_between(generator, 1, 8); left > 0; left--)
		grow(generator, slot);
}

static void destroy_request(struct generator *generator, struct request *request)
{
	for (uint32_t i = 0; i < request->chunk_count * GROUPS; i++) {
		if (NT_SUCCESS(generator->status))
			generator->status =
				workload_add_event(generator->workload, WORKLOAD_DESTROY,
						   request->chunks[i / GROUPS] + i % GROUPS);
	}
	request->chunk_count = 0;
}

/* Half of them come back with another question. */
static void answer(struct generator *generator, struct model *model, struct request *slot,
		   uint32_t step)
{
	bool has_follow_up = generate_between(generator, 0, 2) == 0;

	for (int i = 0; has_follow_up && i < WAITING_MAX; i++) {
		if (model->waiting[i].chunk_count == 0) {
			slot->due = step + generate_between(generator, 5, 56);
			model->waiting[i] = *slot;
			slot->chunk_count = 0;
			return;
		}
	}
	destroy_request(generator, slot);
}

static void use_group(struct generator *generator, const struct model *model, uint32_t group)
{
	generate_uses(generator, model->weights + group * GROUP_WEIGHTS, GROUP_WEIGHTS, 1);
	for (int i = 0; i < SLOTS; i++) {
		const struct request *request = &model->slots[i];

		for (uint32_t k = 0; request->has_prefix && k < PREFIX_CHUNKS; k++)
			generate_use(generator, model->prefix + k * GROUPS + group);
		for (uint32_t k = 0; k < request->chunk_count; k++)
			generate_use(generator, request->chunks[k] + group);
	}
}

static void serve(struct generator *generator, struct model *model)
{
	for (uint32_t step = 0; step < MODEL_STEPS; step++) {
		for (int i = 0; i < SLOTS; i++) {
			struct request *slot = &model->slots[i];

			if (slot->chunk_count == 0)
				admit(generator, model, slot, step);
			else if (generate_between(generator, 0, 12) == 0)
				grow(generator, slot);
		}
		for (uint32_t group = 0; group < GROUPS; group++)
			use_group(generator, model, group);
		for (int i = 0; i < SLOTS; i++) {
			if (generate_between(generator, 0, 14) == 0)
				answer(generator, model, &model->slots[i], step);
		}
	}
}

void generate_model(struct generator *generator)
{
	struct model *model = mem_zalloc(sizeof(*model));

	if (!model) {
		generator->status = STATUS_NO_MEMORY;
		return;
	}
	model->weights = allocate_some(generator, GROUPS * GROUP_WEIGHTS, 24.5, 26.5);
	model->prefix = allocate_some(generator, PREFIX_CHUNKS * GROUPS, 24, 24);
	serve(generator, model);
	mem_free(model);
	refer_to_living(generator);
}

/* One that is trained. */

enum { LAYERS = 48, TENSORS = 4, ACTIVATIONS = 3, MICRO_BATCHES = 4, TRAINING_STEPS = 21 };

struct layer {
	uint32_t weights, gradients, first_moments,
		second_moments; /* TENSORS of each, of the same sizes */
	uint32_t activations;
};

static uint32_t allocate_like(struct generator *generator, uint32_t model)
{
	uint32_t first = generator->workload->allocation_count;
	uint32_t allocation;

	for (uint32_t i = 0; NT_SUCCESS(generator->status) && i < TENSORS; i++)
		generator->status = workload_add_allocation(
			generator->workload, generator->workload->sizes[model + i], &allocation);
	return first;
}

static void layer_init(struct generator *generator, struct layer *layer)
{
	layer->weights = allocate_some(generator, TENSORS, 22, 26);
	layer->gradients = allocate_like(generator, layer->weights);
	layer->first_moments = allocate_like(generator, layer->weights);
	layer->second_moments = allocate_like(generator, layer->weights);
	layer->activations = allocate_some(generator, ACTIVATIONS, 23, 26);
}

static void train_micro_batch(struct generator *generator, const struct layer *layers)
{
	for (int i = 0; i < LAYERS; i++) {
		generate_uses(generator, layers[i].weights, TENSORS, 1);
		generate_uses(generator, layers[i].activations, ACTIVATIONS, 1);
	}
	for (int i = LAYERS - 1; i >= 0; i--) {
		generate_uses(generator, layers[i].activations, ACTIVATIONS, 1);
		generate_uses(generator, layers[i].weights, TENSORS, 1);
		generate_uses(generator, layers[i].gradients, TENSORS, 1);
	}
}

static void optimize(struct generator *generator, const struct layer *layers)
{
	for (int i = 0; i < LAYERS; i++) {
		generate_uses(generator, layers[i].gradients, TENSORS, 1);
		generate_uses(generator, layers[i].first_moments, TENSORS, 1);
		generate_uses(generator, layers[i].second_moments, TENSORS, 1);
		generate_uses(generator, layers[i].weights, TENSORS, 1);
	}
}

void generate_training(struct generator *generator)
{
	struct layer layers[LAYERS];

	for (int i = 0; i < LAYERS; i++)
		layer_init(generator, &layers[i]);
	for (int step = 0; step < TRAINING_STEPS; step++) {
		for (int i = 0; i < MICRO_BATCHES; i++)
			train_micro_batch(generator, layers);
		optimize(generator, layers);
	}
	refer_to_living(generator);
}

/* A desktop. */

enum {
	DESKTOP_USES = 64500,
	TABS = 14,
	TAB_TILES_MIN = 40,
	TAB_TILES_MAX = 160,
	TILES_SEEN = 32,
	VIDEO_FRAMES = 16,
	PHOTO_TILES = 400,
	PHOTO_SEEN = 60,
	WINDOW_GAME = 420,
	QUIET_PROGRAMS = 4,
	QUIET_PARTS = 24,
	SWAPCHAIN = 3,
};

enum program { BROWSER, VIDEO, PHOTO, GAME, FIRST_QUIET, PROGRAMS = FIRST_QUIET + QUIET_PROGRAMS };

struct desktop {
	uint32_t swapchains[PROGRAMS];
	uint32_t tabs[TABS], tab_tiles[TABS];
	uint32_t video, photo, game, quiet[QUIET_PROGRAMS];
	struct zipf popularity; /* of tabs */
	uint32_t tab, scroll, view, frame;
};

static void desktop_init(struct generator *generator, struct desktop *desktop)
{
	for (int i = 0; i < PROGRAMS; i++)
		desktop->swapchains[i] = allocate_some(generator, SWAPCHAIN, 23, 25);
	for (int i = 0; i < TABS; i++) {
		desktop->tab_tiles[i] = generate_between(generator, TAB_TILES_MIN, TAB_TILES_MAX);
		desktop->tabs[i] = allocate_some(generator, desktop->tab_tiles[i], 20, 22);
	}
	desktop->video = allocate_some(generator, VIDEO_FRAMES, 23, 23);
	desktop->photo = allocate_some(generator, PHOTO_TILES, 21, 23);
	desktop->game = allocate_some(generator, WINDOW_GAME, 20, 24);
	for (int i = 0; i < QUIET_PROGRAMS; i++)
		desktop->quiet[i] = allocate_some(generator, QUIET_PARTS, 18, 22);
	zipf_init(generator, &desktop->popularity, TABS, 1.0);
}

/* The page moves on a little; now and then it is another page. */
static void browse(struct generator *generator, struct desktop *desktop)
{
	uint32_t tiles = desktop->tab_tiles[desktop->tab];

	if (generate_between(generator, 0, 30) == 0) {
		desktop->tab = zipf_draw(generator, &desktop->popularity);
		desktop->scroll = 0;
		tiles = desktop->tab_tiles[desktop->tab];
	}
	if (generate_between(generator, 0, 3) == 0)
		desktop->scroll += generate_between(generator, 0, 4);
	for (uint32_t i = 0; i < TILES_SEEN; i++)
		generate_use(generator,
			     desktop->tabs[desktop->tab] + (desktop->scroll + i) % tiles);
}

static void edit_photo(struct generator *generator, struct desktop *desktop)
{
	if (generate_between(generator, 0, 6) == 0)
		desktop->view += generate_between(generator, 0, 40);
	for (uint32_t i = 0; i < PHOTO_SEEN; i++)
		generate_use(generator, desktop->photo + (desktop->view + i) % PHOTO_TILES);
}

static void work(struct generator *generator, struct desktop *desktop, uint32_t program)
{
	switch (program) {
	case BROWSER:
		browse(generator, desktop);
		break;
	case VIDEO:
		generate_use(generator, desktop->video + desktop->frame % VIDEO_FRAMES);
		break;
	case PHOTO:
		edit_photo(generator, desktop);
		break;
	case GAME:
		generate_uses(generator, desktop->game, WINDOW_GAME, 1);
		break;
	default:
		generate_uses(generator, desktop->quiet[program - FIRST_QUIET], QUIET_PARTS, 1);
		break;
	}
}

/* The one with the focus works in each frame; the video plays on, the others wake now and then. */
static void show_frame(struct generator *generator, struct desktop *desktop, uint32_t focus,
		       uint32_t behind)
{
	work(generator, desktop, focus);
	if (focus != VIDEO && behind == VIDEO)
		work(generator, desktop, VIDEO);
	if (generate_between(generator, 0, 25) == 0)
		work(generator, desktop,
		     FIRST_QUIET + generate_between(generator, 0, QUIET_PROGRAMS));
	generate_use(generator, desktop->swapchains[focus] + desktop->frame % SWAPCHAIN);
	generate_use(generator, desktop->swapchains[behind] +
					(behind == VIDEO ? desktop->frame % SWAPCHAIN : 0));
	desktop->frame++;
}

void generate_desktop(struct generator *generator)
{
	struct desktop desktop = { 0 };
	uint32_t focus = BROWSER;

	desktop_init(generator, &desktop);
	while (NT_SUCCESS(generator->status) && generator->workload->event_count < DESKTOP_USES) {
		uint32_t behind = focus;
		uint32_t frames = generate_between(generator, 8, 59);

		focus = generate_between(generator, 0, GAME + 2);
		if (focus > GAME)
			focus = FIRST_QUIET + generate_between(generator, 0, QUIET_PROGRAMS);
		if (focus == GAME)
			frames += 30;
		for (uint32_t i = 0; i < frames; i++)
			show_frame(generator, &desktop, focus, behind);
	}
	zipf_finish(&desktop.popularity);
	refer_to_eighth(generator);
}
