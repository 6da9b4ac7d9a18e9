/* SPDX-License-Identifier: MIT */
/*
 * share_calls.c - NT handles, their names, and the adapter of what is shared.
 */
#include <string.h>
#include <wchar.h>

#include "base/mem.h"
#include "dispatch/dispatch.h"
#include "dispatch/text.h"

enum { BYTES_PER_CHARACTER = 4 }; /* of UTF-8, at most */

/* ---- object attributes ---- */

/* The name as UTF-8, to be freed; NULL when the attributes have none. */
static NTSTATUS capture_name(const char *argument, const UNICODE_STRING *client, char **name_out)
{
	UNICODE_STRING string = { 0 };
	bool is_text = false;

	*name_out = NULL;
	if (client)
		memcpy(&string, client, sizeof(string));
	if (string.Length == 0)
		return STATUS_SUCCESS;
	size_t count = string.Length / sizeof(WCHAR);
	if (!string.Buffer || string.Length % sizeof(WCHAR) != 0)
		return refuse(STATUS_OBJECT_NAME_INVALID, RULE_API_NAME, argument,
			      "has a name of %u bytes %s", string.Length,
			      string.Buffer ? "that are not whole characters" : "at NULL");

	size_t name_bytes = (count + 1) * BYTES_PER_CHARACTER;
	WCHAR *wide = mem_zalloc_array(count + 1, sizeof(*wide));
	char *name = mem_zalloc(name_bytes);
	if (!wide || !name) {
		mem_free(wide);
		mem_free(name);
		return refuse(STATUS_NO_MEMORY, RULE_API_NO_MEMORY, argument,
			      "has a name, and there is no memory for it");
	}
	memcpy(wide, string.Buffer, count * sizeof(*wide));
	if (!wmemchr(wide, 0, count))
		is_text = text_from_wide(name, name_bytes, wide, count + 1);
	mem_free(wide);
	if (!is_text) {
		mem_free(name);
		return refuse(STATUS_OBJECT_NAME_INVALID, RULE_API_NAME, argument,
			      "has a name that is no text");
	}
	*name_out = name;
	return STATUS_SUCCESS;
}

/* Security descriptors are not looked at: who may open a descriptor is who was given it. */
static NTSTATUS capture_attributes(const char *argument, const OBJECT_ATTRIBUTES *client,
				   struct share_nt_options *options, char **name_out)
{
	OBJECT_ATTRIBUTES attributes;

	*name_out = NULL;
	if (!client)
		return STATUS_SUCCESS;
	memcpy(&attributes, client, sizeof(attributes));
	if (attributes.Length != sizeof(attributes))
		return invalid(RULE_API_VALUE, argument,
			       "has Length %u, and the struct has %zu bytes", attributes.Length,
			       sizeof(attributes));
	if (attributes.Attributes & ~(ULONG)OBJ_VALID_ATTRIBUTES)
		return invalid(RULE_API_RESERVED, argument, "has reserved attributes 0x%x set",
			       attributes.Attributes & ~(ULONG)OBJ_VALID_ATTRIBUTES);
	if (attributes.RootDirectory)
		return refuse(STATUS_INVALID_HANDLE, RULE_API_NAME, argument,
			      "has a RootDirectory, and names are not in directories here");
	NTSTATUS status = capture_name(argument, attributes.ObjectName, name_out);
	options->name = *name_out;
	options->is_inherited = (attributes.Attributes & OBJ_INHERIT) != 0;
	return status;
}

/* ---- rights ---- */

/* Generic rights are mapped to the object's own here, once. */
static void options_set_access(struct share_nt_options *options, enum share_kind kind,
			       uint32_t access)
{
	const bool reads = (access & (GENERIC_READ | GENERIC_ALL)) != 0;
	const bool writes = (access & (GENERIC_WRITE | GENERIC_ALL)) != 0;

	options->access = access;
	options->is_maximum = (access & MAXIMUM_ALLOWED) != 0;
	if (kind == SHARE_SYNC_OBJECT) {
		if (reads || (access & D3DDDI_SYNC_OBJECT_WAIT))
			options->rights |= SHARE_RIGHT_WAIT;
		if (writes || (access & D3DDDI_SYNC_OBJECT_SIGNAL))
			options->rights |= SHARE_RIGHT_SIGNAL;
	} else if (writes || (access & SHARED_ALLOCATION_WRITE)) {
		options->rights |= SHARE_RIGHT_WRITE;
	}
}

/* ---- sharing ---- */

/* What the objects open, in the order of the list, with references. */
struct share_request {
	uint32_t count;
	struct object *objects[SHARE_SET_MAX];
	struct share *shares[SHARE_SET_MAX];
	uint32_t withheld[SHARE_SET_MAX];
};

static void share_request_finish(struct share_request *request)
{
	while (request->count > 0)
		object_put(request->objects[--request->count]);
}

static NTSTATUS decode_object(const struct call *call, uint32_t index, D3DKMT_HANDLE handle,
			      struct share_request *request)
{
	const struct object_class *found = NULL;
	struct object *object = NULL;

	if (handle_find(&call->process->handles, handle, NULL, &object, &found) != HANDLE_FOUND)
		return call_refuse_unknown(call, STATUS_INVALID_PARAMETER, "ObjectHandleArray",
					   index, handle, "an object of this process");
	request->objects[request->count++] = object;
	if (object->class->share)
		request->shares[index] = object->class->share(object, &request->withheld[index]);
	if (!request->shares[index])
		return invalid_item(RULE_API_SHARE_SET, "ObjectHandleArray", index,
				    "0x%08x is %s, which cannot be shared", handle,
				    object->class->name);
	return STATUS_SUCCESS;
}

static NTSTATUS decode_objects(const struct call *call, const D3DKMT_SHAREOBJECTS *args,
			       struct share_request *request)
{
	NTSTATUS status = STATUS_SUCCESS;

	if (!args->pSharedNtHandle)
		return invalid(RULE_API_NULL_ARGUMENT, "pSharedNtHandle", "is NULL");
	for (uint32_t i = 0; NT_SUCCESS(status) && i < args->ObjectCount; i++)
		status = decode_object(call, i, args->ObjectHandleArray[i], request);
	return status;
}

NTSTATUS dispatch_share_objects(struct call *call, D3DKMT_SHAREOBJECTS *args)
{
	struct share_nt_options options = { .user = call->process->identity.user,
					    .ledger = call->process->ledger };
	struct share_request request = { 0 };
	char *name = NULL;
	int descriptor;

	NTSTATUS status = decode_objects(call, args, &request);
	if (NT_SUCCESS(status))
		status = capture_attributes("pObjectAttributes", args->pObjectAttributes, &options,
					    &name);
	if (NT_SUCCESS(status) && request.count > 0)
		options_set_access(&options, request.shares[0]->kind, args->DesiredAccess);
	if (NT_SUCCESS(status))
		status = share_create_nt(call->process->shares, request.shares, request.withheld,
					 request.count, &options, &descriptor);
	if (NT_SUCCESS(status)) {
		HANDLE handle = (HANDLE)(intptr_t)descriptor;
		memcpy(args->pSharedNtHandle, &handle, sizeof(handle));
	}
	mem_free(name);
	share_request_finish(&request);
	return status;
}

static NTSTATUS open_name(struct call *call, enum share_kind kind, DWORD access,
			  const OBJECT_ATTRIBUTES *attributes, HANDLE *handle_out)
{
	struct share_nt_options options = { .user = call->process->identity.user,
					    .ledger = call->process->ledger };
	char *name;
	int descriptor;

	options_set_access(&options, kind, access);
	NTSTATUS status = capture_attributes("pObjAttrib", attributes, &options, &name);
	if (NT_SUCCESS(status) && !name)
		status = invalid(RULE_API_NULL_ARGUMENT, "pObjAttrib", "%s",
				 attributes ? "has no name" : "is NULL");
	if (NT_SUCCESS(status))
		status = share_open_name(call->process->shares, kind, &options, &descriptor);
	if (NT_SUCCESS(status))
		*handle_out = (HANDLE)(intptr_t)descriptor;
	mem_free(name);
	return status;
}

NTSTATUS dispatch_open_nt_handle_from_name(struct call *call, D3DKMT_OPENNTHANDLEFROMNAME *args)
{
	return open_name(call, SHARE_RESOURCE, args->dwDesiredAccess, args->pObjAttrib,
			 &args->hNtHandle);
}

NTSTATUS dispatch_open_sync_object_nt_handle_from_name(struct call *call,
						       D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME *args)
{
	return open_name(call, SHARE_SYNC_OBJECT, args->dwDesiredAccess, args->pObjAttrib,
			 &args->hNtHandle);
}

/* ---- where a shared resource lives ---- */

NTSTATUS dispatch_get_shared_resource_adapter_luid(struct call *call,
						   D3DKMT_GETSHAREDRESOURCEADAPTERLUID *args)
{
	struct share_table *shares = call->process->shares;
	struct share_set set = { .count = 1 };
	NTSTATUS status;

	if ((args->hGlobalShare != 0) == (args->hNtHandle != NULL))
		return invalid(RULE_API_VALUE, NULL,
			       "exactly one of hGlobalShare and hNtHandle names the resource");
	if (args->hGlobalShare != 0) {
		status = share_find_global(shares, call->process->identity.user, args->hGlobalShare,
					   SHARE_RESOURCE, "hGlobalShare", &set.shares[0]);
	} else {
		status = share_find_nt(shares, (uintptr_t)args->hNtHandle, SHARE_RESOURCE,
				       "hNtHandle", &set);
	}
	if (!NT_SUCCESS(status))
		return status;
	uint64_t luid = set.shares[0]->adapter->luid;
	share_set_put(&set);
	args->AdapterLuid = (LUID){ (ULONG)luid, (LONG)(luid >> 32) };
	return STATUS_SUCCESS;
}
