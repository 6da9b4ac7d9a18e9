/* SPDX-License-Identifier: MIT */
/*
 * dispatch.c - a kernel that a client has brought.
 *
 *	cuda_run()      has put the arguments of the command where only we see them
 *	cuda_ranges()   looks the ranges up in the page tables: which large pages are there, or a page fault
 *	runner          is given those that it does not have yet, and maps exactly these; launches
 *
 * So a kernel sees what its process has in place at that moment, and no page that others have by now.
 * Runs on the engine's thread at PASSIVE_LEVEL.
 */
#include "cuda.h"
#include "channel.h"

static const ULONGLONG PAGE_BYTES = SOFTGPU_LARGE_PAGE_BYTES;

/* One command. */
struct dispatch {
	struct gpu_engine *engine;
	struct gpu_packet *packet;
	struct cuda_engine *cuda;
	struct cuda_device *device;
	struct cuda_client *client;
	const struct softgpu_dispatch *command;
	const struct softgpu_range *ranges;
	const void *parameters;
	ULONG page_count;
	struct gpu_fault *fault;
};

static enum gpu_outcome fail(const struct dispatch *dispatch, NTSTATUS status, ULONGLONG address)
{
	*dispatch->fault = (struct gpu_fault){ .status = status, .address = address };
	return GPU_FAULTED;
}

/* ---- what it may see ---- */

static enum gpu_outcome check_ranges(struct dispatch *dispatch)
{
	const ULONGLONG limit = 1ULL << dispatch->device->settings.address_bits;
	ULONGLONG end = 0;
	ULONGLONG pages = 0;

	for (ULONG i = 0; i < dispatch->command->range_count; i++) {
		const struct softgpu_range *range = &dispatch->ranges[i];

		if (range->address % PAGE_BYTES != 0 || range->size_bytes % PAGE_BYTES != 0 ||
		    range->size_bytes == 0 || range->address < end || range->address >= limit ||
		    range->size_bytes > limit - range->address ||
		    (range->flags & ~SOFTGPU_RANGE_WRITTEN) != 0 || range->reserved != 0)
			return fail(dispatch, STATUS_INVALID_PARAMETER, range->address);
		end = range->address + range->size_bytes;
		pages += range->size_bytes / PAGE_BYTES;
		/* More than there are cannot be in place. */
		if (pages > dispatch->device->large_page_count)
			return fail(dispatch, STATUS_INVALID_PARAMETER, range->address);
	}
	dispatch->page_count = (ULONG)pages;
	return GPU_DONE;
}

static BOOLEAN make_room(struct cuda_client *client, ULONG count)
{
	if (count <= client->capacity)
		return TRUE;
	struct cuda_page *pages = gpu_pool_allocate(NonPagedPoolNx, count * sizeof(*client->pages));
	struct cuda_page *wanted =
		gpu_pool_allocate(NonPagedPoolNx, count * sizeof(*client->wanted));
	if (!pages || !wanted) {
		gpu_pool_free(pages);
		gpu_pool_free(wanted);
		return FALSE;
	}
	if (client->page_count > 0)
		RtlCopyMemory(pages, client->pages, client->page_count * sizeof(*pages));
	gpu_pool_free(client->pages);
	gpu_pool_free(client->wanted);
	client->pages = pages;
	client->wanted = wanted;
	client->capacity = count;
	return TRUE;
}

/* What cuda_ranges() writes to; FALSE: lost. */
static BOOLEAN make_found(struct cuda_engine *cuda)
{
	void *found = cuda->found;

	if (!found && cuda_did(cuda->device,
			       cuda->device->api.host_allocate(
				       &found, CUDA_FOUND_COUNT * sizeof(*cuda->found),
				       CUDA_HOST_PORTABLE | CUDA_HOST_DEVICEMAP),
			       "cuMemHostAlloc"))
		cuda->found = (ULONGLONG *)found;
	return cuda->found != NULL;
}

static BOOLEAN launch_ranges(const struct dispatch *dispatch, ULONGLONG first, ULONGLONG count)
{
	const struct gpu_root *root = &dispatch->packet->context->root;
	ULONGLONG world = dispatch->device->world;
	ULONGLONG root_segment = root->segment;
	ULONGLONG root_entries = root->entry_count;
	ULONGLONG root_offset = root->offset;
	ULONGLONG ranges = (ULONGLONG)(ULONG_PTR)dispatch->ranges;
	ULONGLONG range_count = dispatch->command->range_count;
	ULONGLONG found = (ULONGLONG)(ULONG_PTR)dispatch->cuda->found;
	void *parameters[] = { &world,       &root_segment, &root_entries, &root_offset, &ranges,
			       &range_count, &first,        &count,        &found };

	return cuda_launch(dispatch->cuda, dispatch->device->ranges, CUDA_PAGES_BLOCKS,
			   CUDA_RUN_THREADS, parameters, "cuLaunchKernel of cuda_ranges") &&
	       cuda_drain(dispatch->cuda);
}

static enum gpu_outcome look_at(struct dispatch *dispatch, ULONGLONG address, ULONGLONG found,
				const struct softgpu_range *range, struct cuda_page *page)
{
	BOOLEAN is_written = (range->flags & SOFTGPU_RANGE_WRITTEN) != 0;

	if (found & CUDA_PAGE_BAD) {
		BOOLEAN is_other = (found & CUDA_PAGE_OTHER) != 0;

		*dispatch->fault = (struct gpu_fault){
			.status = is_other ? STATUS_INVALID_ADDRESS : STATUS_ACCESS_VIOLATION,
			.address = address + ((found & CUDA_PAGE_MASK) >> 8),
			.is_write = is_written,
			.is_page_fault = !is_other,
			.level = is_other ? 0 : (ULONG)(found & 0xff),
		};
		return GPU_FAULTED;
	}
	*page = (struct cuda_page){ .address = address,
				    .number = (ULONG)found,
				    .access = is_written ? CUDA_ACCESS_READ_WRITE
							 : CUDA_ACCESS_READ };
	return GPU_DONE;
}

/* client->wanted: all pages that the ranges cover, by address. */
static enum gpu_outcome find_pages_locked(struct dispatch *dispatch)
{
	const struct softgpu_range *range = dispatch->ranges;
	ULONGLONG in_range = 0;

	if (!make_room(dispatch->client, dispatch->page_count))
		return fail(dispatch, STATUS_NO_MEMORY, 0);
	if (!make_found(dispatch->cuda))
		return GPU_ABORTED; /* lost: execute.c sees that */
	for (ULONG first = 0; first < dispatch->page_count; first += CUDA_FOUND_COUNT) {
		ULONG count = dispatch->page_count - first;

		count = count < CUDA_FOUND_COUNT ? count : CUDA_FOUND_COUNT;
		if (!launch_ranges(dispatch, first, count))
			return GPU_ABORTED;
		for (ULONG i = 0; i < count; i++, in_range += PAGE_BYTES) {
			if (in_range == range->size_bytes) {
				range++;
				in_range = 0;
			}
			enum gpu_outcome outcome = look_at(dispatch, range->address + in_range,
							   dispatch->cuda->found[i], range,
							   &dispatch->client->wanted[first + i]);
			if (outcome != GPU_DONE)
				return outcome;
		}
	}
	return GPU_DONE;
}

/* ---- the runner ---- */

static enum gpu_outcome lose(struct dispatch *dispatch, const char *what, cuda_status status)
{
	DbgPrint(GPU_DRIVER ": %s: %s; the client's kernels are lost\n", what,
		 cuda_error_name(&dispatch->device->api, status));
	cuda_client_end_locked(dispatch->client);
	return fail(dispatch, STATUS_ACCESS_VIOLATION, 0);
}

/* Descriptors of these are the runner's, too, from now on. */
static enum gpu_outcome give(struct dispatch *dispatch, const ULONG *numbers, ULONG count)
{
	struct cuda_device *device = dispatch->device;
	int descriptors[CHANNEL_MOST_DESCRIPTORS] = { 0 };
	struct cuda_answer answer = { .status = CUDA_INVALID_VALUE };
	ULONG made = 0;
	cuda_status status = CUDA_OK;

	while (status == CUDA_OK && made < count) {
		status = device->api.memory_export(&descriptors[made],
						   device->large_pages[numbers[made]],
						   CUDA_HANDLE_DESCRIPTOR, 0);
		if (status == CUDA_OK)
			made++;
	}
	BOOLEAN is_asked =
		status == CUDA_OK &&
		cuda_client_ask_locked(dispatch->client, CUDA_ASK_TAKE, 0, numbers,
				       count * sizeof(*numbers), descriptors, count, &answer);
	while (made > 0)
		channel_close(descriptors[--made]);
	if (!is_asked || answer.status != CUDA_OK)
		return lose(dispatch, "large pages for a runner",
			    status != CUDA_OK ? status : answer.status);
	return GPU_DONE;
}

static enum gpu_outcome give_pages_locked(struct dispatch *dispatch)
{
	struct cuda_client *client = dispatch->client;
	ULONG numbers[CHANNEL_MOST_DESCRIPTORS];
	enum gpu_outcome outcome = GPU_DONE;
	ULONG count = 0;

	for (ULONG i = 0; outcome == GPU_DONE && i < dispatch->page_count; i++) {
		if (client->has[client->wanted[i].number])
			continue;
		/* The same page may be at two addresses. */
		client->has[client->wanted[i].number] = 1;
		numbers[count++] = client->wanted[i].number;
		if (count == CHANNEL_MOST_DESCRIPTORS) {
			outcome = give(dispatch, numbers, count);
			count = 0;
		}
	}
	return outcome == GPU_DONE && count > 0 ? give(dispatch, numbers, count) : outcome;
}

static BOOLEAN is_mapped(const struct cuda_client *client, ULONG count)
{
	if (client->page_count != count)
		return FALSE;
	return count == 0 ||
	       __builtin_memcmp(client->pages, client->wanted, count * sizeof(*client->pages)) == 0;
}

static enum gpu_outcome map_pages_locked(struct dispatch *dispatch)
{
	struct cuda_client *client = dispatch->client;
	struct cuda_answer answer;

	if (is_mapped(client, dispatch->page_count))
		return GPU_DONE;
	if (!cuda_client_send_locked(client, CUDA_ASK_MAP, 0, client->wanted,
				     dispatch->page_count * sizeof(*client->wanted), NULL, 0))
		return lose(dispatch, "a runner", CUDA_INVALID_VALUE);
	enum gpu_outcome outcome =
		cuda_client_wait_locked(client, dispatch->engine, dispatch->packet, &answer);
	if (outcome != GPU_DONE)
		return outcome;
	if (answer.status != CUDA_OK) {
		DbgPrint(GPU_DRIVER ": memory at the addresses of a client: %s\n",
			 cuda_error_name(&dispatch->device->api, answer.status));
		return fail(dispatch, STATUS_CONFLICTING_ADDRESSES,
			    client->wanted ? client->wanted[0].address : 0);
	}
	struct cuda_page *pages = client->pages;
	client->pages = client->wanted;
	client->wanted = pages;
	client->page_count = dispatch->page_count;
	return GPU_DONE;
}

static enum gpu_outcome launch_locked(struct dispatch *dispatch, ULONG number)
{
	const struct softgpu_dispatch *command = dispatch->command;
	struct {
		struct cuda_grid grid;
		UCHAR parameters[SOFTGPU_MAX_PARAMETER_BYTES];
	} launch = { .grid = {
			     .groups = { command->groups[0], command->groups[1],
					 command->groups[2] },
			     .threads = { command->threads[0], command->threads[1],
					  command->threads[2] },
			     .shared_bytes = command->shared_bytes,
		     } };
	struct cuda_answer answer;

	RtlCopyMemory(launch.parameters, dispatch->parameters, command->parameter_bytes);
	if (!cuda_client_send_locked(dispatch->client, CUDA_ASK_LAUNCH, number, &launch,
				     sizeof(launch.grid) + command->parameter_bytes, NULL, 0))
		return lose(dispatch, "a runner", CUDA_INVALID_VALUE);
	enum gpu_outcome outcome = cuda_client_wait_locked(dispatch->client, dispatch->engine,
							   dispatch->packet, &answer);
	if (outcome != GPU_DONE || answer.status == CUDA_OK)
		return outcome;
	DbgPrint(GPU_DRIVER ": a kernel of a client: %s%s\n",
		 cuda_error_name(&dispatch->device->api, answer.status),
		 answer.is_lost ? "; all of the client's are lost" : "");
	return fail(dispatch, answer.is_lost ? STATUS_ACCESS_VIOLATION : STATUS_INVALID_PARAMETER,
		    command->arguments);
}

static enum gpu_outcome dispatch_locked(struct dispatch *dispatch)
{
	ULONG number;

	if (!cuda_client_knows_locked(dispatch->client, dispatch->command->kernel, &number))
		return fail(dispatch, STATUS_INVALID_HANDLE, dispatch->command->kernel);
	enum gpu_outcome outcome = find_pages_locked(dispatch);
	if (outcome == GPU_DONE)
		outcome = give_pages_locked(dispatch);
	if (outcome == GPU_DONE)
		outcome = map_pages_locked(dispatch);
	if (outcome == GPU_DONE)
		outcome = launch_locked(dispatch, number);
	return outcome;
}

enum gpu_outcome cuda_dispatch(struct gpu_engine *engine, struct gpu_packet *packet,
			       const struct softgpu_dispatch *command, struct gpu_fault *fault_out)
{
	struct cuda_engine *cuda = (struct cuda_engine *)engine->hardware;
	const UCHAR *arguments =
		cuda->device->arguments + (size_t)(cuda->slot - 1) * CUDA_ARGUMENT_BYTES;
	struct gpu_process *process = packet->context->device->process;
	struct dispatch dispatch = {
		.engine = engine,
		.packet = packet,
		.cuda = cuda,
		.device = cuda->device,
		.client = process ? (struct cuda_client *)process->hardware : NULL,
		.command = command,
		.ranges = (const struct softgpu_range *)arguments,
		.parameters = arguments + command->range_count * sizeof(struct softgpu_range),
		.fault = fault_out,
	};

	if (!dispatch.client)
		return fail(&dispatch, STATUS_INVALID_HANDLE, command->kernel);
	enum gpu_outcome outcome = check_ranges(&dispatch);
	if (outcome != GPU_DONE)
		return outcome;
	outcome = cuda_client_lock(dispatch.client, engine, packet);
	if (outcome != GPU_DONE)
		return outcome;
	outcome = dispatch_locked(&dispatch);
	cuda_client_unlock(dispatch.client);
	return outcome;
}
