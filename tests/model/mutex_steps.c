/* SPDX-License-Identifier: MIT */
/*
 * mutex_steps.c - keyed mutexes; nobody waits.
 */
#include "model/run.h"

enum { KEYS = 3 };

static void create(struct run *run)
{
	struct model *model = &run->model;
	struct model_data data;
	D3DKMT_CREATEKEYEDMUTEX2 args = { .InitialValue = below(run, KEYS) };
	NTSTATUS wanted = STATUS_SUCCESS;

	random_data(run, &data);
	args.pPrivateRuntimeData = data.data;
	args.PrivateRuntimeDataSize = data.bytes;
	args.Flags.NtSecuritySharing = one_in(run, 4);
	if (one_in(run, 8)) {
		args.Flags.Value |= 2u << below(run, 31);
		wanted = STATUS_INVALID_PARAMETER;
	}
	int index =
		model_add_mutex(model, args.Flags.NtSecuritySharing ? SCHEME_NT : SCHEME_GLOBAL);
	if (index < 0)
		return;
	CALL(run, wanted, D3DKMTCreateKeyedMutex2, args);
	if (!NT_SUCCESS(wanted))
		return;
	struct model_mutex *mutex = &model->mutexes[index];
	check_new_handle(run, args.hKeyedMutex);
	RUN_EXPECT(run, (args.hSharedHandle == 0) == (mutex->scheme == SCHEME_NT));
	mutex->global_handle = args.hSharedHandle;
	mutex->key = args.InitialValue;
	mutex->data = data;
	model->mutex_handles[model_add(model, KIND_MUTEX, args.hKeyedMutex)].mutex = index;
}

static void open_again(struct run *run)
{
	struct model *model = &run->model;
	int index = (int)below(run, MAX_MUTEXES);
	struct model_mutex *mutex = &model->mutexes[index];
	struct model_data data;
	NTSTATUS wanted = STATUS_SUCCESS;

	if (!mutex->is_live || mutex->scheme == SCHEME_NT)
		return;
	random_data(run, &data);
	if (one_in(run, 2))
		data = mutex->data;
	D3DKMT_OPENKEYEDMUTEX2 args = { .hSharedHandle = mutex->global_handle,
					.pPrivateRuntimeData = data.data,
					.PrivateRuntimeDataSize = data.bytes };
	if (data.bytes != 0 && mutex->data.bytes != 0 && data.bytes != mutex->data.bytes)
		wanted = STATUS_INVALID_PARAMETER;
	if (one_in(run, 6)) {
		args.hSharedHandle = bad_handle(run, KIND_COUNT);
		for (int i = 0; i < MAX_MUTEXES; i++) {
			if (model->mutexes[i].is_live &&
			    model->mutexes[i].global_handle == args.hSharedHandle)
				args.hSharedHandle = 0;
		}
		wanted = STATUS_INVALID_PARAMETER;
	}
	CALL(run, wanted, D3DKMTOpenKeyedMutex2, args);
	if (!NT_SUCCESS(wanted))
		return;
	check_new_handle(run, args.hKeyedMutex);
	if (mutex->data.bytes == 0)
		mutex->data = data;
	model->mutex_handles[model_add(model, KIND_MUTEX, args.hKeyedMutex)].mutex = index;
}

static void acquire(struct run *run, int handle)
{
	struct model *model = &run->model;
	struct model_mutex *mutex = &model->mutexes[model->mutex_handles[handle].mutex];
	LARGE_INTEGER at_once = { .QuadPart = 0 };
	unsigned char buffer[MAX_DATA] = { 0 };
	D3DKMT_ACQUIREKEYEDMUTEX2 args = {
		.hKeyedMutex = model->mutex_handles[handle].handle,
		.Key = below(run, KEYS),
		.pTimeout = &at_once,
		.FenceValue = 99,
		.pPrivateRuntimeData = buffer,
		.PrivateRuntimeDataSize = one_in(run, 3) ? 0 : below(run, MAX_DATA + 1),
	};
	NTSTATUS wanted = STATUS_SUCCESS;

	if (one_in(run, 10)) {
		args.hKeyedMutex = bad_handle(run, KIND_MUTEX);
		wanted = STATUS_INVALID_PARAMETER;
	} else if (mutex->is_abandoned) {
		wanted = STATUS_ABANDONED;
	} else if (mutex->owner >= 0 || mutex->key != args.Key) {
		wanted = STATUS_TIMEOUT;
	} else if (args.PrivateRuntimeDataSize != 0 &&
		   args.PrivateRuntimeDataSize < mutex->data.bytes) {
		wanted = STATUS_INVALID_PARAMETER;
	}
	CALL(run, wanted, D3DKMTAcquireKeyedMutex2, args);
	if (wanted == STATUS_ABANDONED || wanted == STATUS_TIMEOUT)
		RUN_EXPECT(run, args.FenceValue == 0);
	if (wanted != STATUS_SUCCESS)
		return;
	RUN_EXPECT(run, args.FenceValue == mutex->fence_value);
	if (args.PrivateRuntimeDataSize != 0)
		RUN_EXPECT(run, memcmp(buffer, mutex->data.data, mutex->data.bytes) == 0);
	mutex->owner = handle;
}

static void release(struct run *run, int handle)
{
	struct model *model = &run->model;
	struct model_mutex *mutex = &model->mutexes[model->mutex_handles[handle].mutex];
	struct model_data data;
	NTSTATUS wanted = STATUS_SUCCESS;

	random_data(run, &data);
	if (one_in(run, 2))
		data.bytes = mutex->data.bytes;
	D3DKMT_RELEASEKEYEDMUTEX2 args = {
		.hKeyedMutex = model->mutex_handles[handle].handle,
		.Key = below(run, KEYS),
		.FenceValue = random_next(&run->random),
		.pPrivateRuntimeData = data.data,
		.PrivateRuntimeDataSize = data.bytes,
	};
	if (mutex->is_abandoned)
		wanted = STATUS_ABANDONED;
	else if (mutex->owner != handle ||
		 (data.bytes != 0 && mutex->data.bytes != 0 && data.bytes != mutex->data.bytes))
		wanted = STATUS_INVALID_PARAMETER;
	CALL(run, wanted, D3DKMTReleaseKeyedMutex2, args);
	if (wanted != STATUS_SUCCESS)
		return;
	mutex->owner = -1;
	mutex->key = args.Key;
	mutex->fence_value = args.FenceValue;
	if (data.bytes != 0)
		mutex->data = data;
}

static void destroy(struct run *run, int handle)
{
	bool is_bad = one_in(run, 4);
	D3DKMT_DESTROYKEYEDMUTEX args = { is_bad ? bad_handle(run, KIND_MUTEX)
						 : run->model.mutex_handles[handle].handle };

	CALL(run, is_bad ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS, D3DKMTDestroyKeyedMutex,
	     args);
	if (!is_bad)
		model_end(&run->model, KIND_MUTEX, handle);
}

void step_mutex(struct run *run)
{
	int handle = pick(run, KIND_MUTEX);
	uint32_t choice = below(run, 10);

	if (choice < 2 && model_slots(&run->model, KIND_MUTEX) > 0)
		create(run);
	else if (choice < 4 && model_slots(&run->model, KIND_MUTEX) > 0)
		open_again(run);
	else if (handle >= 0 && choice < 6)
		acquire(run, handle);
	else if (handle >= 0 && choice < 8)
		release(run, handle);
	else if (handle >= 0)
		destroy(run, handle);
}
