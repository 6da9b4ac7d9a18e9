/* SPDX-License-Identifier: MIT */
/*
 * run.c - see run.h.
 */
#include "model/run.h"
#include "support/printed.h"

void run_fail(struct run *run, const char *format, ...)
{
	char text[512];

	PRINT_INTO(text, format);
	print_error("MODEL_SEED=%llu, step %u, %s: %s\n", run->seed, run->step,
		    run->call ? run->call : "no call yet", text);
	_fail(__FILE__, __LINE__);
	abort();
}

/* ---- choices ---- */

int pick(struct run *run, enum model_kind kind)
{
	int slots;
	const struct model_handle *array = model_array(&run->model, kind, &slots);
	int count = model_count(&run->model, kind);

	if (count == 0)
		return -1;
	int chosen = (int)below(run, (uint32_t)count);
	for (int i = 0; i < slots; i++) {
		if (array[i].is_live && chosen-- == 0)
			return i;
	}
	return -1;
}

static uint32_t any_global_handle(struct run *run)
{
	const struct model_group *group = &run->model.groups[below(run, MAX_GROUPS)];

	return group->global_handle;
}

uint32_t bad_handle(struct run *run, enum model_kind kind)
{
	struct model *model = &run->model;
	uint32_t handle = 0;

	switch (below(run, 5)) {
	case 0:
		break;
	case 1:
		if (model->dead_count > 0)
			handle = model->dead[below(run, (uint32_t)(model->dead_count < MAX_DEAD
									   ? model->dead_count
									   : MAX_DEAD))];
		break;
	case 2: {
		enum model_kind other = (enum model_kind)below(run, KIND_COUNT);
		int slots;
		int index = pick(run, other);
		if (index >= 0)
			handle = model_array(model, other, &slots)[index].handle;
		break;
	}
	case 3:
		handle = any_global_handle(run);
		break;
	default:
		handle = (uint32_t)random_next(&run->random);
		break;
	}
	return model_kind_of(model, handle) == kind ? 0 : handle;
}

void random_data(struct run *run, struct model_data *data)
{
	*data = (struct model_data){ .bytes = one_in(run, 3) ? 0 : below(run, MAX_DATA + 1) };
	for (uint32_t i = 0; i < data->bytes; i++)
		data->data[i] = (unsigned char)random_next(&run->random);
}

/* ---- calls ---- */

void call_begin(struct run *run, const char *name)
{
	run->call = name;
	run->refusals = last_refusal().sequence;
}

void call_end(struct run *run, NTSTATUS status, NTSTATUS wanted, const void *before,
	      const void *after, size_t size_bytes)
{
	struct dxgk_refusal why = last_refusal();

	if (status != wanted)
		run_fail(run, "gave 0x%08x, expected 0x%08x; the last refusal is %s: %s: %s (%s)",
			 (unsigned)status, (unsigned)wanted,
			 why.sequence > run->refusals ? "of this call" : "older", why.call,
			 why.reason, why.rule);
	if (NT_SUCCESS(status)) {
		run->accepted++;
		return;
	}
	run->refused++;
	if (why.sequence <= run->refusals || why.status != status ||
	    strcmp(why.call, run->call) != 0 || !why.rule[0] || !why.reason[0])
		run_fail(run, "was refused with 0x%08x, and the record says: %s 0x%08x %s (%s)",
			 (unsigned)status, why.call, (unsigned)why.status, why.reason, why.rule);
	if (memcmp(before, after, size_bytes) != 0)
		run_fail(run, "was refused and changed its arguments");
}

void check_new_handle(struct run *run, uint32_t handle)
{
	if (!is_local_handle(handle))
		run_fail(run, "0x%08x does not look like a local handle", handle);
	if (model_kind_of(&run->model, handle) != KIND_COUNT)
		run_fail(run, "0x%08x names something else already", handle);
	for (int i = 0; i < run->model.dead_count && i < MAX_DEAD; i++) {
		if (run->model.dead[i] == handle)
			run_fail(run, "0x%08x is used again too soon", handle);
	}
}

D3DKMT_HANDLE run_adapter(const struct run *run)
{
	return run->model.adapters[0].handle;
}

/* ---- what the driver holds ---- */

/* Closed descriptors are noticed by the next call that looks one up. */
static void sweep(struct run *run)
{
	int device = pick(run, KIND_DEVICE);
	D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE args = {
		.hDevice = device < 0 ? 0 : run->model.devices[device].handle,
		.hNtHandle = (HANDLE)(intptr_t)run->plain_file,
	};
	D3DKMT_GETSHAREDRESOURCEADAPTERLUID luid = { .hNtHandle = args.hNtHandle };

	if (device >= 0)
		CALL(run, STATUS_INVALID_HANDLE, D3DKMTQueryResourceInfoFromNtHandle, args);
	CALL(run, STATUS_INVALID_HANDLE, D3DKMTGetSharedResourceAdapterLuid, luid);
}

void check_driver(struct run *run)
{
	struct model *model = &run->model;
	struct softgpu_escape_info now;

	sweep(run);
	now = soft_info(run_adapter(run));
#define AGREE(field, more)                                                                         \
	if (now.field != run->idle.field + (uint32_t)(more))                                       \
	run_fail(run, "the driver holds %u as " #field ", expected %u", now.field,                 \
		 run->idle.field + (uint32_t)(more))
	AGREE(live_devices, model_count(model, KIND_DEVICE));
	AGREE(live_contexts, model_count(model, KIND_CONTEXT));
	AGREE(live_resources, model_group_count(model));
	AGREE(live_allocations, model_memory_count(model));
	AGREE(live_openings, model_count(model, KIND_ALLOCATION));
#undef AGREE
}

/* ---- adapters, devices, contexts, the process ---- */

void step_adapter(struct run *run)
{
	struct model *model = &run->model;
	int index = pick(run, KIND_ADAPTER);

	if (one_in(run, 3)) {
		D3DKMT_CLOSEADAPTER bad = { bad_handle(run, KIND_ADAPTER) };
		CALL(run, STATUS_INVALID_PARAMETER, D3DKMTCloseAdapter, bad);
	} else if (index > 0) {
		D3DKMT_CLOSEADAPTER args = { model->adapters[index].handle };
		CALL(run, STATUS_SUCCESS, D3DKMTCloseAdapter, args);
		model_end(model, KIND_ADAPTER, index);
	} else if (model_slots(model, KIND_ADAPTER) > 0) {
		D3DKMT_OPENADAPTERFROMLUID args = { .AdapterLuid = run->luid };
		CALL(run, STATUS_SUCCESS, D3DKMTOpenAdapterFromLuid, args);
		check_new_handle(run, args.hAdapter);
		model_add(model, KIND_ADAPTER, args.hAdapter);
	}
}

static void destroy_one_device(struct run *run)
{
	int index = pick(run, KIND_DEVICE);
	D3DKMT_DESTROYDEVICE args = { index < 0 || one_in(run, 4)
					      ? bad_handle(run, KIND_DEVICE)
					      : run->model.devices[index].handle };
	bool is_good = model_kind_of(&run->model, args.hDevice) == KIND_DEVICE;

	CALL(run, is_good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER, D3DKMTDestroyDevice, args);
	if (is_good)
		model_end(&run->model, KIND_DEVICE, index);
}

void step_device(struct run *run)
{
	struct model *model = &run->model;

	/* Full of things, they are to be used for a while. */
	if (model_slots(model, KIND_DEVICE) == 0 && !one_in(run, 8))
		return;
	if (model_slots(model, KIND_DEVICE) == 0 || one_in(run, 3)) {
		destroy_one_device(run);
		return;
	}
	D3DKMT_CREATEDEVICE args = { .hAdapter = run_adapter(run) };
	bool is_bad = one_in(run, 6);
	if (is_bad)
		args.hAdapter = bad_handle(run, KIND_ADAPTER);
	CALL(run, is_bad ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS, D3DKMTCreateDevice, args);
	if (is_bad)
		return;
	check_new_handle(run, args.hDevice);
	model_add(model, KIND_DEVICE, args.hDevice);
}

void step_context(struct run *run)
{
	struct model *model = &run->model;
	int device = pick(run, KIND_DEVICE);
	int context = pick(run, KIND_CONTEXT);

	if (context >= 0 && (model_slots(model, KIND_CONTEXT) == 0 || one_in(run, 2))) {
		bool is_bad = one_in(run, 4);
		D3DKMT_DESTROYCONTEXT args = { is_bad ? bad_handle(run, KIND_CONTEXT)
						      : model->contexts[context].handle };
		CALL(run, is_bad ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS, D3DKMTDestroyContext,
		     args);
		if (!is_bad)
			model_end(model, KIND_CONTEXT, context);
		return;
	}
	if (device < 0)
		return;
	D3DKMT_CREATECONTEXT args = { .hDevice = model->devices[device].handle };
	bool is_bad = one_in(run, 6);
	if (is_bad)
		args.hDevice = bad_handle(run, KIND_DEVICE);
	CALL(run, is_bad ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS, D3DKMTCreateContext, args);
	if (is_bad)
		return;
	check_new_handle(run, args.hContext);
	int index = model_add(model, KIND_CONTEXT, args.hContext);
	model->contexts[index].device = device;
}

/* Everything of the process goes at once; what NT handles hold stays for the next one. */
void step_end_process(struct run *run)
{
	run->call = "D3DKMTCloseDxCoreDevice";
	D3DKMTCloseDxCoreDevice();
	model_end_process(&run->model);
	/* The next one has addresses of its own where the kernel is elsewhere. */
	for (int i = 0; is_served() && i < MAX_MEMORIES; i++)
		run->model.memories[i].seen = NULL;
	model_add(&run->model, KIND_ADAPTER, open_first_adapter());
}
