/* SPDX-License-Identifier: MIT */
/*
 * failed_move_test.c - the way out of GPU memory, with a driver that does not build the transfer.
 *
 * By then the GPU addresses lead nowhere any more. What cannot leave stays where it is, and they
 * lead there again; who might have worked by them meanwhile is lost, and says so.
 */
#include "api/faulty.h"

#include <pthread.h>

enum { VIRTUAL_TRANSFER = 8, UPDATE_PAGE_TABLE = 11 }; /* of DXGK_BUILDPAGINGBUFFER_OPERATION */
enum { CONTENT = 0x5ca1ab1e, LEAVER_BYTES = 256 * KIB };

/* ---- the driver ---- */

static struct {
	pthread_mutex_t lock;
	NTSTATUS status;   /* of transfers; STATUS_SUCCESS: they are built */
	bool is_for_ever;  /* and not only of the first */
	unsigned updates;  /* of page tables that were built before it */
	unsigned refusals; /* how often it said so */
} planned = { .lock = PTHREAD_MUTEX_INITIALIZER };

__attribute__((visibility("default"))) int faulty_answer(const char *entry, const void *request,
							 unsigned request_bytes);

static NTSTATUS answer_locked(unsigned operation)
{
	if (planned.status == STATUS_SUCCESS)
		return STATUS_SUCCESS;
	if (operation == UPDATE_PAGE_TABLE && planned.refusals == 0)
		planned.updates++;
	if (operation != VIRTUAL_TRANSFER || (planned.refusals > 0 && !planned.is_for_ever))
		return STATUS_SUCCESS;
	planned.refusals++;
	return planned.status;
}

int faulty_answer(const char *entry, const void *request, unsigned request_bytes)
{
	NTSTATUS status = STATUS_SUCCESS;
	unsigned operation;

	if (strcmp(entry, "BuildPagingBuffer") != 0 || request_bytes < sizeof(operation))
		return STATUS_SUCCESS;
	memcpy(&operation, request, sizeof(operation));
	pthread_mutex_lock(&planned.lock);
	status = answer_locked(operation);
	pthread_mutex_unlock(&planned.lock);
	return status;
}

static void plan(NTSTATUS status, bool is_for_ever)
{
	pthread_mutex_lock(&planned.lock);
	planned.status = status;
	planned.is_for_ever = is_for_ever;
	planned.updates = 0;
	planned.refusals = 0;
	pthread_mutex_unlock(&planned.lock);
}

/* ---- one that is to leave ---- */

struct leaver {
	struct gpu gpu;
	D3DKMT_HANDLE memory;
	UINT64 address;
};

/* Written by the GPU: nobody else has what is in it. */
static void leaver_begin(struct leaver *leaver)
{
	leaver->gpu = gpu_begin();
	leaver->memory = create_resident(&leaver->gpu, LEAVER_BYTES, SOFTGPU_LOCAL_ONLY);
	leaver->address = map(&leaver->gpu, leaver->memory, 0, LEAVER_BYTES / PAGE, WRITE);
	gpu_fill(&leaver->gpu, leaver->address, LEAVER_BYTES, CONTENT);
	EXPECT(gpu_run(&leaver->gpu));
}

static bool has_refused(void)
{
	pthread_mutex_lock(&planned.lock);
	bool has_refused = planned.refusals > 0;
	EXPECT(!has_refused || planned.updates > 0);
	pthread_mutex_unlock(&planned.lock);
	return has_refused;
}

static void leave(struct leaver *leaver, NTSTATUS status, bool is_for_ever)
{
	plan(status, is_for_ever);
	EXPECT_OK(evict(&leaver->gpu.client, &leaver->memory, 1, 0));
	/* It leaves behind the work that wrote it, of which the last bit may not be over. */
	while (!has_refused())
		flush(&leaver->gpu.client);
	/* The move, and then what its failure has led to. */
	flush(&leaver->gpu.client);
	flush(&leaver->gpu.client);
	plan(STATUS_SUCCESS, false);
}

/* What the GPU reads at its address, for a device that was not there when it failed. */
static void expect_read(struct leaver *leaver)
{
	struct gpu reader;

	gpu_open(&reader, leaver->gpu.client.adapter);
	D3DKMT_HANDLE copy = create_resident(&reader, LEAVER_BYTES, SOFTGPU_SYSTEM_ONLY);
	UINT64 address = map(&reader, copy, 0, LEAVER_BYTES / PAGE, WRITE);
	gpu_copy(&reader, address, leaver->address, LEAVER_BYTES);
	EXPECT(gpu_run(&reader));
	EXPECT_WORDS(&reader, copy, 0, LEAVER_BYTES, CONTENT);
}

static void expect_to_stay(NTSTATUS status, bool is_for_ever, unsigned state)
{
	struct leaver leaver;

	leaver_begin(&leaver);
	leave(&leaver, status, is_for_ever);
	EXPECT_EQ(execution_state(leaver.gpu.client.device), state);
	expect_valid();
	expect_read(&leaver);
	EXPECT_OK(destroy_now(&leaver.gpu.client, leaver.memory));
	expect_valid();
}

static void expect_to_leave(NTSTATUS status)
{
	struct leaver leaver;

	leaver_begin(&leaver);
	leave(&leaver, status, false);
	EXPECT_EQ(execution_state(leaver.gpu.client.device), D3DKMT_DEVICEEXECUTION_ACTIVE);
	EXPECT_EQ(residency_status(&leaver.gpu.client, leaver.memory), NOT_RESIDENT);
	EXPECT_WORDS(&leaver.gpu, leaver.memory, 0, LEAVER_BYTES, CONTENT);
	expect_valid();
}

/* ---- the answers ---- */

TEST(failed_move, with_too_little_room_in_the_buffer_it_goes_into_the_next)
{
	expect_to_leave(STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
}

TEST(failed_move, that_never_has_room_stays)
{
	expect_to_stay(STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, true,
		       D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
}

/* Only what moves by physical addresses can be busy. */
TEST(failed_move, that_is_said_to_be_busy_stays)
{
	expect_to_stay(STATUS_GRAPHICS_ALLOCATION_BUSY, false,
		       D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
}

TEST(failed_move, for_want_of_memory_stays)
{
	expect_to_stay(STATUS_NO_MEMORY, false, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
}

TEST(failed_move, for_want_of_resources_stays)
{
	expect_to_stay(STATUS_INSUFFICIENT_RESOURCES, false, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
}

TEST(failed_move, with_what_is_no_answer_stays)
{
	expect_to_stay(STATUS_PENDING, false, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
	expect_to_stay(STATUS_UNSUCCESSFUL, false, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
	expect_to_stay(STATUS_DEVICE_REMOVED, false, D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT);
}

int main(int argc, char **argv)
{
	return faulty_main("api/failed_move", argc, argv);
}
