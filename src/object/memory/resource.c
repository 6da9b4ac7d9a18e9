/* SPDX-License-Identifier: MIT */
/*
 * resource.c - see resource.h. How a resource ends is in destruction.c.
 */
#include "base/client_call.h"
#include "base/machine_bank.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "object/ending/destruction.h"
#include "object/memory/kept_bytes.h"
#include "object/memory/resource.h"
#include "object/owner/process.h"
#include "ranges/client_arena.h"

static void resource_body_free(struct resource_body *body)
{
	machine_bank_destroy(body->bank);
	kept_bytes_free(body->runtime_data);
	kept_bytes_free(body->private_data);
	mem_free(body);
}

/* The last reference is gone. A private resource has left the driver with its only opening. */
static void resource_body_finish(struct share *share)
{
	struct resource_body *body = container_of(share, struct resource_body, share);

	if (body->is_shared)
		destruction_of_shared_body(body);
	lock_finish(&body->lock);
	resource_body_free(body);
}

NTSTATUS resource_body_create(struct dxg_process *process, struct dxg_adapter *adapter,
			      enum share_scheme scheme, const void *runtime_data,
			      uint32_t runtime_bytes, const void *private_data,
			      uint32_t private_bytes, struct resource_body **body_out)
{
	struct resource_body *body = mem_zalloc(sizeof(*body));
	NTSTATUS status = STATUS_NO_MEMORY;

	if (!body)
		goto no_memory;
	body->adapter = adapter;
	body->is_shared = scheme != SHARE_PRIVATE;
	body->runtime_bytes = runtime_bytes;
	body->private_bytes = private_bytes;
	lock_init(&body->lock, LOCK_RANK_ALLOCATION, "resource");
	list_init(&body->bodies);
	status = kept_bytes_copy(process->ledger, runtime_data, runtime_bytes, &body->runtime_data);
	if (NT_SUCCESS(status))
		status = kept_bytes_copy(process->ledger, private_data, private_bytes,
					 &body->private_data);
	if (!NT_SUCCESS(status))
		goto free_body;
	status = share_init(&body->share, process->shares, process->identity.user, SHARE_RESOURCE,
			    scheme, adapter, resource_body_finish);
	if (!NT_SUCCESS(status))
		goto free_body;
	*body_out = body;
	return STATUS_SUCCESS;

free_body:
	resource_body_free(body);
no_memory:
	return refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for a resource");
}

NTSTATUS resource_body_make_bank(struct resource_body *body, const struct dxg_process *maker)
{
	NTSTATUS status = process_make_bank(MACHINE_BANK_SHARED, maker->ledger, &body->bank);

	body->account =
		(struct vidmm_account){ .parent = &body->adapter->account, .bank = body->bank };
	return NT_SUCCESS(status) ? resource_body_let_write(body, maker) : status;
}

NTSTATUS resource_body_let_write(struct resource_body *body, const struct dxg_process *process)
{
	struct client_file *file = machine_bank_file(body->bank);
	NTSTATUS status;

	if (LIKELY(!process->arena || !file || !client_call_current()))
		return STATUS_SUCCESS;
	status = client_file_let_write(file, client_arena_number(process->arena));
	if (status == STATUS_ACCESS_DENIED)
		return STATUS_SUCCESS;
	if (NT_SUCCESS(status))
		status = client_call_add_file(file);
	return NT_SUCCESS(status)
		       ? status
		       : refuse_no_memory("no memory to write down what a client is shown");
}

void resource_body_abandon(struct resource_body *body)
{
	share_abandon(&body->share);
	resource_body_free(body);
}

static void resource_finish(struct object *object)
{
	struct dxg_resource *resource = object_as(resource, object);

	share_put(&resource->body->share);
	object_put(&resource->device->object);
	mem_free(resource);
}

static struct share *resource_share(struct object *object, uint32_t *withheld_out)
{
	struct dxg_resource *resource = object_as(resource, object);

	*withheld_out = resource->is_read_only ? SHARE_RIGHT_WRITE : 0;
	return &resource->body->share;
}

const struct object_class resource_class = { "a resource", resource_finish, resource_share };

NTSTATUS resource_create(struct dxg_device *device, struct resource_body *body,
			 struct dxg_resource **resource_out)
{
	struct dxg_resource *resource = mem_zalloc(sizeof(*resource));
	NTSTATUS status = STATUS_NO_MEMORY;

	if (resource)
		status = object_init(&resource->object, &resource_class, &device->process->handles);
	if (!NT_SUCCESS(status)) {
		mem_free(resource);
		return refuse(status, RULE_API_NO_MEMORY, NULL, "no memory for a resource handle");
	}
	resource->device = device;
	resource->body = body;
	list_init(&resource->device_link);
	list_init(&resource->allocations);
	object_get(&device->object);
	share_get(&body->share);
	*resource_out = resource;
	return STATUS_SUCCESS;
}
