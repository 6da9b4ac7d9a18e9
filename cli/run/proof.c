/* SPDX-License-Identifier: MIT */
/*
 * proof.c - a packet shows that it has run: to the end, once, and before its end is told.
 *
 * Behind its own commands stand three more, on memory that no other packet uses at the time:
 *
 *	                 first    second
 *	before           value    ~value    written by the CPU
 *	copy             value    value
 *	fill             ~value   value
 *	copy back        value    value     … as the kernel is told to expect it (dxgk_test_expect())
 *
 * Of a packet that goes on somewhere else than where it was preempted, or that is begun anew, one of the two has other bytes:
 * what was copied first is not there to be copied again. Either is a page, across two of them, because that is where many
 * engines stop.
 */
#include "cli/run/world.h"

enum {
	PAGE_BYTES = 4096,
	FIRST_AT = PAGE_BYTES / 2,
	SECOND_AT = FIRST_AT + PAGE_BYTES,
	PLACE_BYTES = 3 * PAGE_BYTES, /* of each slot of a ring */
};

uint64_t proof_bytes(const struct world *world)
{
	return world->proves_work ? (uint64_t)RING_SLOTS * PLACE_BYTES : 0;
}

/* Of the submission that is next. */
static uint64_t place_of(const struct ring *ring)
{
	return ring->submitted % RING_SLOTS * PLACE_BYTES;
}

static void store(unsigned char *bytes, uint32_t value)
{
	uint32_t *words = (uint32_t *)bytes;

	for (uint32_t i = 0; i < PAGE_BYTES / sizeof(*words); i++)
		words[i] = value;
}

/* 0: the driver has no such commands, or they do not fit. */
static uint32_t write_commands(const struct exerciser *exerciser, uint64_t place, uint32_t value,
			       unsigned char *bytes, uint32_t capacity, uint32_t used)
{
	const uint64_t first = place + FIRST_AT;
	const uint64_t second = place + SECOND_AT;
	const struct exercise steps[] = {
		{ .opcode = OPCODE_COPY, .to = second, .from = first },
		{ .opcode = OPCODE_FILL, .to = first, .value = (uint32_t)~value },
		{ .opcode = OPCODE_COPY, .to = first, .from = second },
	};
	uint32_t total = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct exercise step = steps[i];

		step.size_bytes = PAGE_BYTES;
		uint32_t written = exerciser_command(exerciser, &step, bytes + used + total,
						     capacity - used - total, used + total, NULL);
		if (written == 0)
			return 0;
		total += written;
	}
	return total;
}

uint32_t proof_add(struct world *world, const struct thing *context, uint64_t commands,
		   unsigned char *bytes, uint32_t capacity, uint32_t used)
{
	const struct ring *ring = &context->ring;
	uint32_t value = (uint32_t)(ring->submitted + 1) * 0x9e3779b1u;
	uint64_t offset = place_of(ring);

	if (!ring->proofs)
		return 0;
	uint32_t written = write_commands(&world->exerciser, ring->proof_address + offset, value,
					  bytes, capacity, used);
	if (written == 0)
		return 0;
	unsigned char *place = ring->proofs + offset;
	store(place + FIRST_AT, value);
	store(place + SECOND_AT, ~value);
	const struct dxgk_test_expectation expectation = {
		.queue = context->handle,
		.value = value,
		.commands = commands,
		.place = place + FIRST_AT,
		.size_bytes = 2 * PAGE_BYTES,
	};
	return world->hooks.expect(&expectation) ? written : 0;
}

void proof_take_back(struct world *world, const struct ring *ring)
{
	if (ring->proofs)
		world->hooks.expect_nothing(ring->proofs + place_of(ring), PLACE_BYTES);
}

void proof_end(struct world *world, struct ring *ring)
{
	if (ring->proofs)
		world->hooks.expect_nothing(ring->proofs, proof_bytes(world));
	ring->proofs = NULL;
}
