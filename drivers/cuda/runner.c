/* SPDX-License-Identifier: MIT */
/*
 * runner.c - the driver's side of a runner (runner.h): one for each process that has brought kernels.
 *
 *	module_load    starts it, when there is none
 *	dispatch.c     pages, then a launch
 *	an error, a reset in the middle of a kernel, the loss of the slab, the process's end: it is ended
 *
 * What a client was told of a runner has its generation in it, so that nothing of one that is gone is
 * taken for something of the next.
 *
 * Locks: cuda_device.clients_lock for the list; inside it cuda_client.lock, for one question at a time.
 * PASSIVE_LEVEL.
 */
#include "cuda.h"
#include "channel.h"

enum { LOOKS = 20000, NUMBER_BITS = 16 };
static const LONGLONG PAUSE_100NS = -500; /* 50 µs */
static const LONGLONG LOCK_100NS = -10000;

static const char program_name[] = "cuda_runner";

static void lock_list(struct cuda_device *device)
{
	KeWaitForMutexObject(&device->clients_lock, Executive, KernelMode, FALSE, NULL);
}

static void unlock_list(struct cuda_device *device)
{
	KeReleaseMutex(&device->clients_lock, FALSE);
}

void cuda_clients_init(struct cuda_device *device)
{
	KeInitializeMutex(&device->clients_lock, 0);
	InitializeListHead(&device->clients);
}

/* ---- its life ---- */

void cuda_client_end_locked(struct cuda_client *client)
{
	if (client->runner == 0)
		return;
	channel_end(client->runner, client->socket);
	client->runner = 0;
	client->page_count = 0;
	RtlZeroMemory(client->has, client->device->large_page_count);
}

static NTSTATUS start_locked(struct cuda_client *client)
{
	struct cuda_device *device = client->device;
	struct cuda_answer answer;
	char path[1024];

	if (client->runner != 0)
		return STATUS_SUCCESS;
	if (!channel_find_beside(cuda_ptx, program_name, path, sizeof(path)))
		return gpu_refuse(STATUS_NOT_FOUND, "the folder of %s cannot be told",
				  program_name);
	client->runner = channel_start(path, &client->socket);
	if (client->runner == 0)
		return gpu_refuse(STATUS_NOT_FOUND, "%s cannot be started", path);
	client->generation = (client->generation + 1) & ((1u << NUMBER_BITS) - 1);
	if (!cuda_client_ask_locked(client, CUDA_ASK_BEGIN, (ULONG)device->number, NULL, 0, NULL, 0,
				    &answer)) {
		cuda_client_end_locked(client);
		return gpu_refuse(STATUS_UNSUCCESSFUL, "%s has ended", path);
	}
	if (answer.status != CUDA_OK) {
		cuda_client_end_locked(client);
		return gpu_refuse(STATUS_INSUFFICIENT_RESOURCES,
				  "there is no context for kernels of a client: %s",
				  cuda_error_name(&device->api, answer.status));
	}
	return STATUS_SUCCESS;
}

/* One for each process, made when it first brings a module. */
static struct cuda_client *client_of(struct gpu_process *process)
{
	struct cuda_device *device = cuda_device_of(&process->adapter->memory);

	lock_list(device);
	struct cuda_client *client = (struct cuda_client *)process->hardware;
	if (!client) {
		client = gpu_pool_allocate(NonPagedPoolNx, sizeof(*client));
		if (client) {
			client->has = gpu_pool_allocate(
				NonPagedPoolNx, device->local_bytes >> CUDA_LARGE_PAGE_BITS);
			if (!client->has) {
				gpu_pool_free(client);
				client = NULL;
			}
		}
		if (client) {
			client->device = device;
			KeInitializeMutex(&client->lock, 0);
			InsertTailList(&device->clients, &client->link);
			process->hardware = client;
		}
	}
	unlock_list(device);
	return client;
}

void gpu_hw_process_finish(struct gpu_process *process)
{
	struct cuda_client *client = (struct cuda_client *)process->hardware;

	PAGED_CODE();

	if (!client)
		return;
	lock_list(client->device);
	RemoveEntryList(&client->link);
	unlock_list(client->device);
	cuda_client_end_locked(client); /* nobody else knows it */
	gpu_pool_free(client->has);
	gpu_pool_free(client->pages);
	gpu_pool_free(client->wanted);
	gpu_pool_free(client);
	process->hardware = NULL;
}

void cuda_clients_end(struct cuda_device *device)
{
	lock_list(device);
	for (LIST_ENTRY *link = device->clients.Flink; link != &device->clients;
	     link = link->Flink) {
		struct cuda_client *client = CONTAINING_RECORD(link, struct cuda_client, link);

		KeWaitForMutexObject(&client->lock, Executive, KernelMode, FALSE, NULL);
		cuda_client_end_locked(client);
		KeReleaseMutex(&client->lock, FALSE);
	}
	unlock_list(device);
}

/* ---- questions ---- */

BOOLEAN cuda_client_send_locked(struct cuda_client *client, ULONG kind, ULONG number,
				const void *behind, ULONGLONG size_bytes, const int *descriptors,
				ULONG count)
{
	const struct cuda_question question = { kind, number, size_bytes };

	return channel_send(client->socket, &question, sizeof(question), descriptors, count) &&
	       channel_send(client->socket, behind, size_bytes, NULL, 0);
}

BOOLEAN cuda_client_ask_locked(struct cuda_client *client, ULONG kind, ULONG number,
			       const void *behind, ULONGLONG size_bytes, const int *descriptors,
			       ULONG count, struct cuda_answer *answer_out)
{
	return cuda_client_send_locked(client, kind, number, behind, size_bytes, descriptors,
				       count) &&
	       channel_receive(client->socket, answer_out, sizeof(*answer_out), NULL, 0, NULL);
}

enum gpu_outcome cuda_client_lock(struct cuda_client *client, struct gpu_engine *engine,
				  const struct gpu_packet *packet)
{
	for (;;) {
		LARGE_INTEGER timeout = { .QuadPart = LOCK_100NS };
		enum gpu_outcome outcome = gpu_check_attention(engine, packet);

		if (outcome != GPU_DONE)
			return outcome;
		if (KeWaitForMutexObject(&client->lock, Executive, KernelMode, FALSE, &timeout) ==
		    STATUS_SUCCESS)
			return GPU_DONE;
	}
}

void cuda_client_unlock(struct cuda_client *client)
{
	KeReleaseMutex(&client->lock, FALSE);
}

/* A kernel of a client's answers no preemption: who asks for one is told that the engine stands still. */
enum gpu_outcome cuda_client_wait_locked(struct cuda_client *client, struct gpu_engine *engine,
					 const struct gpu_packet *packet,
					 struct cuda_answer *answer_out)
{
	BOOLEAN is_stalled = FALSE;

	for (ULONG i = 0; !channel_has_news(client->socket); i++) {
		enum gpu_outcome outcome = gpu_check_attention(engine, packet);
		LARGE_INTEGER pause = { .QuadPart = PAUSE_100NS };

		if (outcome == GPU_ABORTED) {
			cuda_client_end_locked(client);
			return GPU_ABORTED;
		}
		if (outcome == GPU_PREEMPTED && !is_stalled) {
			is_stalled = TRUE;
			gpu_engine_set_stalled(engine, TRUE);
		}
		if (i < LOOKS)
			YieldProcessor();
		else
			KeWaitForSingleObject(&engine->control, Executive, KernelMode, FALSE,
					      &pause);
	}
	if (is_stalled)
		gpu_engine_set_stalled(engine, FALSE);
	if (!channel_receive(client->socket, answer_out, sizeof(*answer_out), NULL, 0, NULL))
		*answer_out = (struct cuda_answer){ .status = CUDA_INVALID_VALUE, .is_lost = TRUE };
	if (answer_out->is_lost)
		cuda_client_end_locked(client);
	return GPU_DONE;
}

/* ---- modules ---- */

ULONG cuda_client_number(const struct cuda_client *client, ULONG number)
{
	return client->generation << NUMBER_BITS | (number + 1);
}

BOOLEAN cuda_client_knows_locked(const struct cuda_client *client, ULONG given, ULONG *number_out)
{
	*number_out = (given & ((1u << NUMBER_BITS) - 1)) - 1;
	return client->runner != 0 && given >> NUMBER_BITS == client->generation &&
	       *number_out < RUNNER_MOST_THINGS;
}

static NTSTATUS status_of(ULONG kind, const struct cuda_answer *answer)
{
	switch (answer->status) {
	case CUDA_OK:
		return STATUS_SUCCESS;
	case CUDA_NOT_FOUND:
		return STATUS_NOT_FOUND;
	case CUDA_OUT_OF_MEMORY:
		return STATUS_NO_MEMORY;
	default:
		/* CUDA has many names for what it cannot compile. */
		return kind == CUDA_ASK_LOAD && !answer->is_lost ? STATUS_INVALID_IMAGE_FORMAT
								 : STATUS_INVALID_PARAMETER;
	}
}

/* A question of a client's own, who waits for it. `given`: a module; 0: none is needed. */
static NTSTATUS ask(struct gpu_process *process, ULONG kind, ULONG given, const void *behind,
		    ULONG size_bytes, ULONG *number_out, const char *what)
{
	struct cuda_device *device = cuda_device_of(&process->adapter->memory);
	struct cuda_answer answer = { 0 };
	ULONG number = 0;

	if (!device->settings.hardware_addresses)
		return gpu_refuse(STATUS_NOT_SUPPORTED,
				  "%s: kernels of clients need HardwareAddresses 1", what);
	struct cuda_client *client = client_of(process);
	if (!client)
		return gpu_refuse(STATUS_NO_MEMORY, "there is no pool for kernels of a client");
	KeWaitForMutexObject(&client->lock, Executive, KernelMode, FALSE, NULL);
	NTSTATUS status = STATUS_SUCCESS;
	if (kind == CUDA_ASK_LOAD)
		status = start_locked(client);
	else if (!cuda_client_knows_locked(client, given, &number))
		status = gpu_refuse(STATUS_INVALID_PARAMETER, "%s: there is no module 0x%x", what,
				    given);
	if (NT_SUCCESS(status) &&
	    !cuda_client_ask_locked(client, kind, number, behind, size_bytes, NULL, 0, &answer))
		answer = (struct cuda_answer){ .status = CUDA_INVALID_VALUE, .is_lost = TRUE };
	if (NT_SUCCESS(status) && answer.status != CUDA_OK)
		status = gpu_refuse(status_of(kind, &answer), "%s: %s", what,
				    cuda_error_name(&device->api, answer.status));
	if (answer.is_lost)
		cuda_client_end_locked(client);
	else if (NT_SUCCESS(status) && number_out)
		*number_out = cuda_client_number(client, answer.number);
	KeReleaseMutex(&client->lock, FALSE);
	return status;
}

NTSTATUS gpu_hw_module_load(struct gpu_process *process, PCSTR image, ULONG image_bytes,
			    ULONG *module_out)
{
	PAGED_CODE();

	return ask(process, CUDA_ASK_LOAD, 0, image, image_bytes, module_out, "a module");
}

NTSTATUS gpu_hw_module_unload(struct gpu_process *process, ULONG module)
{
	PAGED_CODE();

	return ask(process, CUDA_ASK_UNLOAD, module, NULL, 0, NULL, "the end of a module");
}

NTSTATUS gpu_hw_kernel_find(struct gpu_process *process, ULONG module, PCSTR name,
			    ULONG *kernel_out)
{
	ULONG length = 0;

	PAGED_CODE();

	while (name[length] != 0)
		length++;
	return ask(process, CUDA_ASK_FIND, module, name, length + 1, kernel_out, name);
}
