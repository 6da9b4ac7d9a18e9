/* SPDX-License-Identifier: MIT */
/*
 * fuzz.c - private data and commands as no client would write them: what the exerciser writes, changed by chance; without one,
 * bytes of chance alone.
 *
 * Whatever the driver answers is fine; that it crashes, is reported or writes where it may not is not, and others notice
 * that. What the changed commands of a context with GPU addresses do to the memory of its own process, nobody can say: it
 * counts as unknown from then on.
 */
#include <string.h>

#include "base/checked.h"
#include "base/random.h"
#include "cli/run/world.h"

enum { MOST_BYTES = 256, FUZZED_SIZE = 65536 };

/* ---- chance ---- */

struct fuzz {
	struct random random;
	unsigned char bytes[EXERCISER_DATA_MAX];
	uint32_t size_bytes;
};

static void make_random(struct fuzz *fuzz)
{
	fuzz->size_bytes = (uint32_t)random_below(&fuzz->random, MOST_BYTES + 1);
	for (uint32_t i = 0; i < fuzz->size_bytes; i++)
		fuzz->bytes[i] = (unsigned char)random_next(&fuzz->random);
}

/* Numbers at which something ends, more often than any others. */
static uint32_t interesting(struct random *random)
{
	static const uint32_t numbers[] = { 0,          1,          4,          8,
					    0x7f,       0xfff,      0x1000,     0xffff,
					    0x10000,    0x7fffffff, 0x80000000, 0xffffffff,
					    0xfffffffe, 0xfffff000 };
	uint64_t i = random_below(random, ARRAY_SIZE(numbers) + 1);

	return i < ARRAY_SIZE(numbers) ? numbers[i] : (uint32_t)random_next(random);
}

/* Sizes and addresses that are none any more: by one, two or three more or less. */
static void change_a_little(struct fuzz *fuzz, uint32_t at)
{
	uint32_t step = 1 + (uint32_t)random_below(&fuzz->random, 3);
	uint32_t number;

	if (at + sizeof(number) > fuzz->size_bytes)
		return;
	memcpy(&number, fuzz->bytes + at, sizeof(number));
	number += random_below(&fuzz->random, 2) == 0 ? step : 0 - step;
	memcpy(fuzz->bytes + at, &number, sizeof(number));
}

static void change_once(struct fuzz *fuzz)
{
	uint32_t at = (uint32_t)random_below(&fuzz->random, fuzz->size_bytes);
	uint32_t number = interesting(&fuzz->random);

	switch (random_below(&fuzz->random, 8)) {
	case 0:
		change_a_little(fuzz, at & ~3u);
		break;
	case 1:
	case 2:
		fuzz->bytes[at] ^= (unsigned char)(1u << random_below(&fuzz->random, 8));
		break;
	case 3:
		fuzz->bytes[at] = (unsigned char)random_next(&fuzz->random);
		break;
	case 4:
	case 5:
	case 6:
		at &= ~3u;
		if (at + sizeof(number) <= fuzz->size_bytes)
			memcpy(fuzz->bytes + at, &number, sizeof(number));
		break;
	default:
		fuzz->size_bytes = at;
		break;
	}
}

/* Seldom nothing at all: what is right may not be refused either. */
static void change(struct fuzz *fuzz)
{
	uint64_t times = random_below(&fuzz->random, 5);

	if (fuzz->size_bytes == 0)
		make_random(fuzz);
	for (uint64_t i = 0; i < times && fuzz->size_bytes > 0; i++)
		change_once(fuzz);
}

static void begin(struct fuzz *fuzz, const struct script_statement *statement)
{
	random_init(&fuzz->random, statement->number);
	fuzz->size_bytes = 0;
}

/* ---- what is changed ---- */

static NTSTATUS fuzz_allocation(struct world *world, const struct script_statement *statement,
				struct fuzz *fuzz)
{
	struct thing *client = world_thing(world, statement->name);
	D3DDDI_ALLOCATIONINFO2 element = { 0 };
	D3DKMT_CREATEALLOCATION args = { .hDevice = client->handle,
					 .NumAllocations = 1,
					 .pAllocationInfo2 = &element };
	uint32_t wishes = (uint32_t)random_below(&fuzz->random, 2 * DXGK_EXERCISER_CACHED);

	fuzz->size_bytes =
		exerciser_allocation(&world->exerciser, FUZZED_SIZE, wishes, fuzz->bytes);
	change(fuzz);
	element.pPrivateDriverData = fuzz->size_bytes > 0 ? fuzz->bytes : NULL;
	element.PrivateDriverDataSize = fuzz->size_bytes;
	NTSTATUS status = CALL(world, D3DKMTCreateAllocation2(&args));
	if (NT_SUCCESS(status))
		(void)memory_destroy(world, client, element.hAllocation);
	return status;
}

static NTSTATUS fuzz_context(struct world *world, const struct script_statement *statement,
			     struct fuzz *fuzz)
{
	D3DKMT_CREATECONTEXTVIRTUAL args = { .hDevice =
						     world_thing(world, statement->name)->handle };

	fuzz->size_bytes = exerciser_context(&world->exerciser, 0,
					     (uint32_t)random_below(&fuzz->random, 2), fuzz->bytes);
	change(fuzz);
	args.pPrivateDriverData = fuzz->size_bytes > 0 ? fuzz->bytes : NULL;
	args.PrivateDriverDataSize = fuzz->size_bytes;
	NTSTATUS status = CALL(world, D3DKMTCreateContextVirtual(&args));
	if (NT_SUCCESS(status)) {
		D3DKMT_DESTROYCONTEXT done = { args.hContext };
		(void)CALL(world, D3DKMTDestroyContext(&done));
	}
	return status;
}

static NTSTATUS send_escape(struct world *world, const struct script_statement *statement,
			    void *data, uint32_t size_bytes)
{
	struct thing *client = world_thing(world, statement->name);
	D3DKMT_ESCAPE args = { .hAdapter = client_adapter(world, client),
			       .hDevice = client->handle,
			       .Type = D3DKMT_ESCAPE_DRIVERPRIVATE,
			       .pPrivateDriverData = size_bytes > 0 ? data : NULL,
			       .PrivateDriverDataSize = size_bytes };

	return CALL(world, D3DKMTEscape(&args));
}

static NTSTATUS fuzz_escape(struct world *world, const struct script_statement *statement,
			    struct fuzz *fuzz)
{
	fuzz->size_bytes = exerciser_escape(&world->exerciser, fuzz->bytes);
	change(fuzz);
	return send_escape(world, statement, fuzz->bytes, fuzz->size_bytes);
}

static NTSTATUS fuzz_query(struct world *world, struct fuzz *fuzz)
{
	D3DKMT_QUERYADAPTERINFO args = { .hAdapter = world->adapter,
					 .Type = KMTQAITYPE_UMDRIVERPRIVATE };

	make_random(fuzz);
	args.pPrivateDriverData = fuzz->size_bytes > 0 ? fuzz->bytes : NULL;
	args.PrivateDriverDataSize = fuzz->size_bytes;
	return CALL(world, D3DKMTQueryAdapterInfo(&args));
}

void fuzz_do_escape(struct world *world, const struct script_statement *statement,
		    struct outcome *outcome)
{
	unsigned char data[EXERCISER_DATA_MAX];
	uint32_t size_bytes = exerciser_escape(&world->exerciser, data);

	if (size_bytes == 0)
		outcome_leave_out(outcome, "the exerciser has no escape");
	else
		outcome->status = send_escape(world, statement, data, size_bytes);
}

/* ---- commands ---- */

/* As long as they can be; who calls has storage for as many. */
static void change_commands(void *context, unsigned char *bytes, uint32_t capacity, uint32_t *used)
{
	struct fuzz *fuzz = context;
	uint32_t most = capacity < sizeof(fuzz->bytes) ? capacity : (uint32_t)sizeof(fuzz->bytes);

	fuzz->size_bytes = *used < most ? *used : most;
	memcpy(fuzz->bytes, bytes, fuzz->size_bytes);
	change(fuzz);
	if (fuzz->size_bytes > most)
		fuzz->size_bytes = most;
	memcpy(bytes, fuzz->bytes, fuzz->size_bytes);
	/* Nothing is nothing to submit. */
	*used = fuzz->size_bytes > 0 ? fuzz->size_bytes : 1;
}

/* Some memory of its client that commands can reach; SCRIPT_NO_NAME: none. */
static uint32_t find_memory(struct world *world, uint32_t context)
{
	const struct script_name *names = world->script->names;

	for (uint32_t i = 0; i < world->script->name_count; i++) {
		if (names[i].kind == SCRIPT_ALLOCATION &&
		    names[i].client == names[context].client && world->things[i].is_there &&
		    !world->things[i].is_out_of_reach &&
		    (names[context].has_lists || world->things[i].address != 0))
			return i;
	}
	return SCRIPT_NO_NAME;
}

static bool is_together(const struct world *world, uint32_t one, uint32_t other)
{
	uint32_t client = world->script->names[one].client;
	uint32_t other_client = world->script->names[other].client;

	return client == other_client ||
	       (!world->is_shared &&
		world->things[client].process == world->things[other_client].process);
}

/* With addresses they may have led anywhere in their process; with lists, to what was listed. */
static void forget_contents(struct world *world, uint32_t context, uint32_t listed)
{
	const struct script_name *names = world->script->names;

	for (uint32_t i = 0; i < world->script->name_count; i++) {
		if (names[context].has_lists ? i != listed && i != names[context].client
					     : !is_together(world, i, context))
			continue;
		if (names[i].kind == SCRIPT_ALLOCATION)
			world->things[i].is_unknown = true;
		if (names[i].kind == SCRIPT_CLIENT)
			world->things[i].has_gaps = true;
	}
}

/* Where its last bytes are: behind them there is somebody else. */
static uint64_t last_offset(const struct world *world, uint32_t memory, uint64_t bytes)
{
	uint64_t size_bytes = world->script->names[memory].size_bytes;

	return size_bytes < bytes ? 0 : align_down(size_bytes, bytes) - bytes;
}

static void fuzz_submit(struct world *world, const struct script_statement *statement,
			struct fuzz *fuzz, struct outcome *outcome)
{
	enum { BYTES = 64 };
	uint32_t memory = find_memory(world, statement->name);
	uint64_t last = memory == SCRIPT_NO_NAME ? 0 : last_offset(world, memory, BYTES);
	uint64_t first = random_below(&fuzz->random, 2) == 0 ? 0 : last;
	struct script_command commands[] = {
		{ .opcode = OPCODE_FILL,
		  .to = { memory, first },
		  .from = { SCRIPT_NO_NAME, 0 },
		  .size_bytes = BYTES,
		  .value = 0xf1f2f3f4 },
		{ .opcode = OPCODE_COPY,
		  .to = { memory, first },
		  .from = { memory, last - first },
		  .size_bytes = BYTES },
	};
	struct script_statement work = { .verb = VERB_SUBMIT,
					 .name = statement->name,
					 .commands = commands,
					 .command_count = ARRAY_SIZE(commands) };
	const struct submit_change changed = { change_commands, fuzz };

	if (memory == SCRIPT_NO_NAME)
		work.command_count = 0;
	forget_contents(world, statement->name, memory);
	submit_changed(world, &work, &changed, outcome);
}

/* ---- the statement ---- */

void fuzz_do(struct world *world, const struct script_statement *statement, struct outcome *outcome)
{
	struct fuzz fuzz;

	begin(&fuzz, statement);
	if (statement->choice == FUZZ_SUBMIT)
		fuzz_submit(world, statement, &fuzz, outcome);
	else if (statement->choice == FUZZ_ALLOCATION)
		outcome->status = fuzz_allocation(world, statement, &fuzz);
	else if (statement->choice == FUZZ_CONTEXT)
		outcome->status = fuzz_context(world, statement, &fuzz);
	else if (statement->choice == FUZZ_ESCAPE)
		outcome->status = fuzz_escape(world, statement, &fuzz);
	else
		outcome->status = fuzz_query(world, &fuzz);
	if (outcome->is_left_out)
		return;
	/* Any is fine. */
	outcome_note(outcome, "%s", status_name(outcome->status));
	outcome->status = STATUS_SUCCESS;
}
