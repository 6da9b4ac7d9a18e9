/* SPDX-License-Identifier: MIT */
/*
 * loopback.c - see loopback.h.
 *
 *	client's struct ──▶ request ──▶ image ──▶ the kernel ──▶ reply ──▶ client's struct
 *
 * What a server and its client do, without a process between them: descriptors go by their numbers.
 * In a build with the address sanitizer nobody may touch the client's memory while the call is made:
 * the sanitizer says who does. Other threads of the client are then not to read what a call is about
 * either, which clients may and few tests do.
 */
#include <stdlib.h>

#include "base/attributes.h"
#include "base/refusal.h"
#include "base/sanitizers.h"
#include "thunk/loopback.h"
#include "wire/travel.h"

#if IS_ADDRESS_SANITIZED
#include <sanitizer/asan_interface.h>
#endif

enum { SMALL_BYTES = 1024 }; /* blocks up to here take no memory */

struct block {
	uint64_t size_bytes;
	void *bytes;
	uint64_t small[SMALL_BYTES / sizeof(uint64_t)];
};

static struct {
	const struct dxgk_embed *kernel;
	struct dxgk_embed table;
} loopback;

/* ---- what is no bytes ---- */

/* One more than the number, so that none is 0; the other end finds it in the token. */
static uint64_t send(struct travel_hooks *hooks, enum travel_thing thing, uintptr_t value,
		     uint64_t size_bytes)
{
	return value + 1;
}

static uintptr_t arrive(struct travel_hooks *hooks, enum travel_thing thing, uint64_t token,
			uintptr_t value, uint64_t size_bytes)
{
	return token - 1;
}

static uint64_t send_back(struct travel_hooks *hooks, int descriptor)
{
	return (uint64_t)descriptor + 1;
}

static int arrive_back(struct travel_hooks *hooks, uint64_t token)
{
	return (int)token - 1;
}

static struct travel_hooks by_number = { send, arrive, send_back, arrive_back };

/* ---- blocks ---- */

/* Not mem_alloc(): in a simulated run this library's base has a simulator of its own. */
static bool block_take(struct block *block, uint64_t size_bytes)
{
	block->size_bytes = size_bytes;
	block->bytes = size_bytes <= SMALL_BYTES ? block->small : malloc(size_bytes);
	return block->bytes;
}

static void block_give(struct block *block)
{
	if (block->bytes != block->small)
		free(block->bytes);
}

/* ---- calls ---- */

/* Which of the two libraries this thread's last refusal is in. */
static _Thread_local bool has_refused_here;

static NTSTATUS refuse_call(uint32_t id, NTSTATUS status, enum rule rule, const char *why)
{
	struct refusal_scope scope;

	refusal_begin(&scope, call_describe(id)->name);
	refuse(status, rule, NULL, "%s", why);
	refusal_end_call(&scope, status);
	has_refused_here = true;
	return status;
}

static bool last_refusal(struct dxgk_refusal *refusal)
{
	return has_refused_here ? refusal_last(refusal) : loopback.kernel->last_refusal(refusal);
}

/* Where the client's memory is, as long as it cannot be asked. */
struct regions {
	uint32_t count;
	struct {
		const void *memory;
		uint64_t size_bytes;
	} region[1024];
};

#if IS_ADDRESS_SANITIZED
static void note(void *context, const void *memory, uint64_t size_bytes)
{
	struct regions *regions = context;

	if (regions->count == ARRAY_SIZE(regions->region))
		return;
	regions->region[regions->count].memory = memory;
	regions->region[regions->count++].size_bytes = size_bytes;
}

static void forbid(struct regions *regions, uint32_t id, const void *arguments)
{
	regions->count = 0;
	travel_visit(id, arguments, note, regions);
	for (uint32_t i = 0; i < regions->count; i++)
		ASAN_POISON_MEMORY_REGION(regions->region[i].memory, regions->region[i].size_bytes);
}

static void allow(const struct regions *regions)
{
	for (uint32_t i = 0; i < regions->count; i++)
		ASAN_UNPOISON_MEMORY_REGION(regions->region[i].memory,
					    regions->region[i].size_bytes);
}
#else
static void forbid(struct regions *regions, uint32_t id, const void *arguments)
{
}

static void allow(const struct regions *regions)
{
}
#endif

/* The call itself, with nothing of the client's in reach. */
static NTSTATUS call_alone(uint32_t id, const void *arguments, struct travel_image *image)
{
	struct regions regions;

	forbid(&regions, id, arguments);
	NTSTATUS status = loopback.kernel->call(id, image->arguments);
	allow(&regions);
	return status;
}

/* From the image on; the block of the request is not needed any more. */
static NTSTATUS answer(uint32_t id, void *arguments, struct travel_image *image)
{
	struct block reply;
	NTSTATUS status = call_alone(id, arguments, image);

	if (!block_take(&reply, travel_reply_bytes(image, status)))
		return refuse_call(id, STATUS_NO_MEMORY, RULE_API_NO_MEMORY,
				   "there is no memory for the reply");
	travel_reply_write(image, status, reply.bytes, &by_number);
	if (!travel_reply_apply(id, arguments, reply.bytes, reply.size_bytes, &by_number))
		status = refuse_call(id, STATUS_UNSUCCESSFUL, RULE_SYS_SERVER,
				     "the reply does not fit the call");
	block_give(&reply);
	return status;
}

static NTSTATUS serve(uint32_t id, void *arguments, struct block *request)
{
	struct travel_image image;
	const char *why;

	if (!travel_request_open(&image, id, request->bytes, request->size_bytes, &by_number, &why))
		return refuse_call(id, why ? STATUS_UNSUCCESSFUL : STATUS_NO_MEMORY,
				   why ? RULE_SYS_SERVER : RULE_API_NO_MEMORY,
				   why ? why : "there is no memory for results");
	NTSTATUS status = answer(id, arguments, &image);
	travel_image_close(&image);
	return status;
}

/* As a client does whose ring has no room: measured first, in memory of its own. */
static NTSTATUS call_large(uint32_t id, void *arguments)
{
	uint64_t size_bytes = travel_request_bytes(id, arguments);
	struct block request;
	NTSTATUS status;

	if (size_bytes == 0)
		return refuse_call(id, STATUS_INVALID_PARAMETER, RULE_API_COUNT,
				   "the arguments are more than can travel");
	if (!block_take(&request, size_bytes))
		return refuse_call(id, STATUS_NO_MEMORY, RULE_API_NO_MEMORY,
				   "there is no memory for the request");
	if (travel_request_write(id, arguments, request.bytes, size_bytes, &by_number))
		status = serve(id, arguments, &request);
	else
		status = refuse_call(id, STATUS_INVALID_PARAMETER, RULE_API_VALUE,
				     "the arguments changed while they were read");
	block_give(&request);
	return status;
}

static NTSTATUS call(uint32_t id, void *arguments)
{
	struct block request;

	has_refused_here = false;
	request.bytes = request.small;
	request.size_bytes =
		travel_request_put(id, arguments, request.small, SMALL_BYTES, &by_number);
	return request.size_bytes != 0 ? serve(id, arguments, &request) : call_large(id, arguments);
}

const struct dxgk_embed *loopback_around(const struct dxgk_embed *kernel)
{
	loopback.kernel = kernel;
	loopback.table = *kernel;
	loopback.table.call = call;
	loopback.table.ways = NULL;
	loopback.table.last_refusal = last_refusal;
	return &loopback.table;
}
