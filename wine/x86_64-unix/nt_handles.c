/* SPDX-License-Identifier: MIT */
/*
 * nt_handles.c - NT handles: a Windows program has those of Wine's server, we have descriptors. The server can keep a
 * descriptor behind a handle, which is then duplicated, inherited and closed as handles are.
 */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "wine/x86_64-unix/pair_unix.h"

enum { WINE_GENERIC_READ = 0x80000000u, WINE_SYNCHRONIZE = 0x00100000 };

/* The descriptor is the server's afterwards, whatever comes of it. */
static NTSTATUS wrap(int descriptor, uint32_t attributes, HANDLE *handle_out)
{
	NTSTATUS status = ntdll.fd_to_handle(descriptor, WINE_GENERIC_READ | WINE_SYNCHRONIZE,
					     attributes & OBJ_INHERIT, handle_out);

	close(descriptor);
	if (!NT_SUCCESS(status))
		return refuse(status, RULE_API_DESCRIPTORS, NULL,
			      "Wine's server has no handle for what is shared");
	return STATUS_SUCCESS;
}

/* A descriptor of our own, to be closed; 0 for NULL, which the kernel refuses or knows what to do with. */
static NTSTATUS unwrap(HANDLE handle, HANDLE *descriptor_out)
{
	int descriptor = -1;

	*descriptor_out = NULL;
	if (!handle)
		return STATUS_SUCCESS;
	if (!NT_SUCCESS(ntdll.handle_to_fd(handle, 0, &descriptor, NULL)))
		return refuse(STATUS_INVALID_HANDLE, RULE_API_NT_HANDLE, "hNtHandle",
			      "0x%zx is no handle of something shared", (size_t)handle);
	*descriptor_out = (HANDLE)(intptr_t)descriptor;
	return STATUS_SUCCESS;
}

static void unwrap_finish(HANDLE descriptor)
{
	if (descriptor)
		close((int)(intptr_t)descriptor);
}

/* ---- names ---- */

/* Object attributes of a Windows program, as ours. */
struct own_attributes {
	OBJECT_ATTRIBUTES attributes;
	UNICODE_STRING name;
	uint32_t handle_attributes; /* those that are about the handle that comes back */
};

enum { NAME_CHARACTERS_MAX = UINT16_MAX / sizeof(WCHAR) };

static NTSTATUS attributes_take(const OBJECT_ATTRIBUTES *theirs, const char *argument,
				struct own_attributes *own)
{
	const UNICODE_STRING *name = theirs ? theirs->ObjectName : NULL;

	*own = (struct own_attributes){ 0 };
	if (!theirs)
		return STATUS_SUCCESS;
	own->attributes = *theirs;
	own->handle_attributes = theirs->Attributes;
	own->attributes.Attributes &= ~(ULONG)OBJ_INHERIT;
	/* A struct of another size is the kernel's to refuse. */
	if (!name || name->Length == 0 || theirs->Length != sizeof(*theirs))
		return STATUS_SUCCESS;
	size_t count = name->Length / sizeof(uint16_t);
	if (!name->Buffer || name->Length % sizeof(uint16_t) != 0 || count > NAME_CHARACTERS_MAX)
		return refuse(STATUS_OBJECT_NAME_INVALID, RULE_API_NAME, argument,
			      "has a name of %u bytes that is no text of at most %u characters",
			      name->Length, (unsigned)NAME_CHARACTERS_MAX);
	own->name.Buffer = mem_zalloc_array(count, sizeof(WCHAR));
	if (!own->name.Buffer)
		return refuse_no_memory("no memory for a name");
	count = text_widen(own->name.Buffer, (const uint16_t *)name->Buffer, count);
	own->name.Length = own->name.MaximumLength = (USHORT)(count * sizeof(WCHAR));
	own->attributes.ObjectName = &own->name;
	return STATUS_SUCCESS;
}

static OBJECT_ATTRIBUTES *attributes_of(const OBJECT_ATTRIBUTES *theirs, struct own_attributes *own)
{
	return theirs ? &own->attributes : NULL;
}

static void attributes_finish(struct own_attributes *own)
{
	mem_free(own->name.Buffer);
}

/* ---- handles that come back ---- */

static NTSTATUS share(const D3DKMT_SHAREOBJECTS *args)
{
	struct own_attributes own;
	HANDLE descriptor = NULL;
	HANDLE handle;

	NTSTATUS status = attributes_take(args->pObjectAttributes, "pObjectAttributes", &own);
	if (NT_SUCCESS(status))
		status = D3DKMTShareObjects(args->ObjectCount, args->ObjectHandleArray,
					    attributes_of(args->pObjectAttributes, &own),
					    args->DesiredAccess,
					    args->pSharedNtHandle ? &descriptor : NULL);
	if (NT_SUCCESS(status))
		status = wrap((int)(intptr_t)descriptor, own.handle_attributes, &handle);
	/* Without a place for the handle the kernel has refused. */
	if (NT_SUCCESS(status) && args->pSharedNtHandle)
		*args->pSharedNtHandle = handle;
	attributes_finish(&own);
	return status;
}

NTSTATUS pair_share_objects(void *arguments)
{
	struct refusal_scope scope;

	pair_refusal_begin(&scope, "D3DKMTShareObjects");
	return pair_refusal_end(&scope, share(arguments));
}

/* Both structs are the same but for their names. */
_Static_assert(sizeof(D3DKMT_OPENNTHANDLEFROMNAME) ==
			       sizeof(D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME) &&
		       offsetof(D3DKMT_OPENNTHANDLEFROMNAME, hNtHandle) ==
			       offsetof(D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME, hNtHandle),
	       "opens by name");

static NTSTATUS open_name(pair_function *open, D3DKMT_OPENNTHANDLEFROMNAME *args)
{
	D3DKMT_OPENNTHANDLEFROMNAME own_args = *args;
	struct own_attributes own;

	NTSTATUS status = attributes_take(args->pObjAttrib, "pObjAttrib", &own);
	own_args.pObjAttrib = attributes_of(args->pObjAttrib, &own);
	if (NT_SUCCESS(status))
		status = open(&own_args);
	if (NT_SUCCESS(status))
		status = wrap((int)(intptr_t)own_args.hNtHandle, own.handle_attributes,
			      &args->hNtHandle);
	attributes_finish(&own);
	return status;
}

static NTSTATUS open_name_as(const char *name, pair_function *open, void *arguments)
{
	struct refusal_scope scope;

	if (!arguments)
		return open(NULL);
	pair_refusal_begin(&scope, name);
	return pair_refusal_end(&scope, open_name(open, arguments));
}

NTSTATUS pair_open_nt_handle_from_name(void *arguments)
{
	return open_name_as("D3DKMTOpenNtHandleFromName", FUNCTION(D3DKMTOpenNtHandleFromName),
			    arguments);
}

NTSTATUS pair_open_sync_object_nt_handle_from_name(void *arguments)
{
	return open_name_as("D3DKMTOpenSyncObjectNtHandleFromName",
			    FUNCTION(D3DKMTOpenSyncObjectNtHandleFromName), arguments);
}

static NTSTATUS create_sync_file(D3DKMT_CREATESYNCFILE *args)
{
	D3DKMT_CREATESYNCFILE own = *args;
	HANDLE handle;

	NTSTATUS status = D3DKMTCreateSyncFile(&own);
	if (NT_SUCCESS(status))
		status = wrap((int)own.hSyncFile, 0, &handle);
	if (NT_SUCCESS(status))
		args->hSyncFile = (uintptr_t)handle;
	return status;
}

NTSTATUS pair_create_sync_file(void *arguments)
{
	struct refusal_scope scope;

	if (!arguments)
		return D3DKMTCreateSyncFile(NULL);
	pair_refusal_begin(&scope, "D3DKMTCreateSyncFile");
	return pair_refusal_end(&scope, create_sync_file(arguments));
}

/* ---- handles that are handed in ---- */

/* Of a call that has one, where in its struct it is. */
struct handle_call {
	const char *name;
	pair_function *function;
	uint16_t args_bytes;
	uint16_t handle_offset;
};

static NTSTATUS call_unwrapped(const struct handle_call *call, unsigned char *args)
{
	_Alignas(8) unsigned char own[CALL_MAX_ARGS_BYTES];
	HANDLE handle;
	HANDLE descriptor;

	memcpy(own, args, call->args_bytes);
	memcpy(&handle, own + call->handle_offset, sizeof(handle));
	NTSTATUS status = unwrap(handle, &descriptor);
	memcpy(own + call->handle_offset, &descriptor, sizeof(descriptor));
	if (NT_SUCCESS(status))
		status = call->function(own);
	memcpy(own + call->handle_offset, &handle, sizeof(handle));
	if (NT_SUCCESS(status))
		memcpy(args, own, call->args_bytes);
	unwrap_finish(descriptor);
	return status;
}

static NTSTATUS call_with_handle(const struct handle_call *call, void *arguments)
{
	struct refusal_scope scope;

	if (!arguments)
		return call->function(NULL);
	pair_refusal_begin(&scope, call->name);
	return pair_refusal_end(&scope, call_unwrapped(call, arguments));
}

#define HANDLE_IN(id, call_name, type)                                                             \
	_Static_assert(sizeof(type) <= CALL_MAX_ARGS_BYTES, #type);                                \
	NTSTATUS pair_##id(void *arguments)                                                        \
	{                                                                                          \
		static const struct handle_call call = { .name = #call_name,                       \
							 .function = FUNCTION(call_name),          \
							 .args_bytes = sizeof(type),               \
							 .handle_offset =                          \
								 offsetof(type, hNtHandle) };      \
		return call_with_handle(&call, arguments);                                         \
	}

HANDLE_IN(query_resource_info_from_nt_handle, D3DKMTQueryResourceInfoFromNtHandle,
	  D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE)
HANDLE_IN(open_resource_from_nt_handle, D3DKMTOpenResourceFromNtHandle,
	  D3DKMT_OPENRESOURCEFROMNTHANDLE)
HANDLE_IN(open_keyed_mutex_from_nt_handle, D3DKMTOpenKeyedMutexFromNtHandle,
	  D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE)
HANDLE_IN(open_sync_object_from_nt_handle2, D3DKMTOpenSyncObjectFromNtHandle2,
	  D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2)
HANDLE_IN(get_shared_resource_adapter_luid, D3DKMTGetSharedResourceAdapterLuid,
	  D3DKMT_GETSHAREDRESOURCEADAPTERLUID)

/* ---- an escape that has one in its data ---- */

static bool escape_has_handle(const D3DKMT_ESCAPE *args)
{
	return args->Type == D3DKMT_ESCAPE_VIDMM && args->pPrivateDriverData &&
	       args->PrivateDriverDataSize == sizeof(D3DKMT_VIDMM_ESCAPE) &&
	       ((const D3DKMT_VIDMM_ESCAPE *)args->pPrivateDriverData)->Type ==
		       D3DKMT_VIDMMESCAPETYPE_EVICT_BY_NT_HANDLE;
}

static NTSTATUS escape_unwrapped(const D3DKMT_ESCAPE *args)
{
	D3DKMT_VIDMM_ESCAPE own_data = *(const D3DKMT_VIDMM_ESCAPE *)args->pPrivateDriverData;
	D3DKMT_ESCAPE own = *args;
	HANDLE descriptor;

	NTSTATUS status = unwrap((HANDLE)(uintptr_t)own_data.EvictByNtHandle.NtHandle, &descriptor);
	own_data.EvictByNtHandle.NtHandle = (uintptr_t)descriptor;
	own.pPrivateDriverData = &own_data;
	if (NT_SUCCESS(status))
		status = D3DKMTEscape(&own);
	unwrap_finish(descriptor);
	return status;
}

NTSTATUS pair_escape(void *arguments)
{
	const D3DKMT_ESCAPE *args = arguments;
	struct refusal_scope scope;

	if (!args || !escape_has_handle(args))
		return D3DKMTEscape(args);
	pair_refusal_begin(&scope, "D3DKMTEscape");
	return pair_refusal_end(&scope, escape_unwrapped(args));
}

/* ---- sections ---- */

/* A section of ours keeps its size for ever (base/section.h); one of Wine's server cannot promise it. */
static NTSTATUS refuse_section(const char *name)
{
	struct refusal_scope scope;

	pair_refusal_begin(&scope, name);
	return pair_refusal_end(&scope,
				refuse(STATUS_NOT_SUPPORTED, RULE_API_NOT_BUILT, "Flags",
				       "has ExistingSection, and sections of Wine can shrink"));
}

NTSTATUS pair_create_allocation(void *arguments)
{
	D3DKMT_CREATEALLOCATION *args = arguments;

	if (UNLIKELY(args && args->Flags.ExistingSection))
		return refuse_section("D3DKMTCreateAllocation");
	return D3DKMTCreateAllocation(args);
}

NTSTATUS pair_create_allocation2(void *arguments)
{
	D3DKMT_CREATEALLOCATION *args = arguments;

	if (UNLIKELY(args && args->Flags.ExistingSection))
		return refuse_section("D3DKMTCreateAllocation2");
	return D3DKMTCreateAllocation2(args);
}
