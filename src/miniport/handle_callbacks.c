/* SPDX-License-Identifier: MIT */
/*
 * handle_callbacks.c - DxgkCbGetHandleData and its family (handle_services.h).
 *
 * These have no adapter among their arguments: which process is meant follows from the entry point
 * the calling thread is in. A driver's own thread is in none, and finds nothing.
 */
#include <stdatomic.h>

#include "miniport/callbacks.h"
#include "miniport/handle_services.h"
#include "nt/report.h"
#include "trace/trace.h"

static const struct miniport_handle_services *_Atomic services;

void miniport_serve_handles(const struct miniport_handle_services *served)
{
	atomic_store(&services, served);
}

void miniport_report_held(const char *what, const void *driver_handle, uint32_t holds)
{
	nt_report(RULE_DDI_HANDLE_HELD,
		  "%s %p is destroyed while the driver holds it %u times "
		  "(DxgkCbAcquireHandleData without DxgkCbReleaseHandleData)",
		  what, driver_handle, holds);
}

void miniport_client_set_owner(struct miniport_client *client, void *owner)
{
	client->owner = owner;
}

/* Begins the callback; false, reported where it is the driver's fault, when there is nobody to ask.
 */
static bool question_begin(const char *name, uint8_t highest_irql, void **owner_out)
{
	const struct miniport_client *client = ddi_current_client();

	callback_trace_begin(name);
	*owner_out = client ? client->owner : NULL;
	return nt_irql_require(highest_irql, name) && *owner_out && atomic_load(&services);
}

static void *data_end(void *data)
{
	callback_end(data ? STATUS_SUCCESS : STATUS_INVALID_HANDLE);
	return data;
}

static bool query_from(const DXGKARGCB_GETHANDLEDATA *data, void *owner, const char *name,
		       struct miniport_handle_query *query)
{
	/* Reserved flags are not looked at: drivers set the one they mean and leave the rest as it
	 * was. */
	if (!data || (data->Type != DXGK_HANDLE_ALLOCATION && data->Type != DXGK_HANDLE_RESOURCE)) {
		nt_report(RULE_DDI_CALLBACK_ARGUMENT,
			  "%s was given a NULL, or a handle type that does not exist", name);
		return false;
	}
	*query = (struct miniport_handle_query){
		.owner = owner,
		.handle = data->hObject,
		.is_resource = data->Type == DXGK_HANDLE_RESOURCE,
		.is_device_specific = data->Flags.DeviceSpecific,
	};
	return true;
}

/* What is just being opened is what drivers ask about, and nobody else can end it meanwhile. */
static void *data_of_subject(const DXGKARGCB_GETHANDLEDATA *data)
{
	const struct ddi_crossing *crossing = ddi_innermost;

	if (UNLIKELY(!crossing || crossing->subject == 0 || !data ||
		     data->hObject != crossing->subject || data->Type != DXGK_HANDLE_ALLOCATION ||
		     data->Flags.DeviceSpecific))
		return NULL;
	return crossing->subject_data;
}

RARE static void *find_handle_data(const DXGKARGCB_GETHANDLEDATA *data, void *known)
{
	static const char name[] = "DxgkCbGetHandleData";
	struct miniport_handle_query query;
	void *owner;

	if (known && nt_irql_current() <= APC_LEVEL) {
		callback_trace_begin(name);
		return data_end(known);
	}
	if (!question_begin(name, APC_LEVEL, &owner) || !query_from(data, owner, name, &query))
		return data_end(NULL);
	return data_end(atomic_load(&services)->get(&query));
}

static VOID *APIENTRY get_handle_data(const DXGKARGCB_GETHANDLEDATA *data)
{
	void *known = data_of_subject(data);

	return LIKELY(known && nt_irql_current() <= APC_LEVEL && !trace_has(TRACE_WITH_DRIVER))
		       ? known
		       : find_handle_data(data, known);
}

static VOID *APIENTRY acquire_handle_data(const DXGKARGCB_GETHANDLEDATA *data,
					  DXGKARG_RELEASE_HANDLE *release)
{
	static const char name[] = "DxgkCbAcquireHandleData";
	struct miniport_handle_query query;
	void *owner;

	if (release)
		*release = NULL;
	if (!question_begin(name, APC_LEVEL, &owner) || !query_from(data, owner, name, &query))
		return data_end(NULL);
	if (!release) {
		nt_report(RULE_DDI_CALLBACK_ARGUMENT, "%s was given a NULL pReleaseHandle", name);
		return data_end(NULL);
	}
	return data_end(atomic_load(&services)->acquire(&query, release));
}

static void report_release(const char *name, const void *hold, enum miniport_release release)
{
	if (release == MINIPORT_NOT_HELD)
		nt_report(RULE_DDI_CALLBACK_ARGUMENT,
			  "%s was given %p, which nobody holds (released before?)", name, hold);
	if (release == MINIPORT_RELEASED_LATE)
		nt_report(RULE_DDI_HANDLE_HELD,
			  "%s was given %p, and what that held was destroyed meanwhile", name,
			  hold);
}

/* From any thread of the driver: what is held says itself whose it is. */
static VOID APIENTRY release_handle_data(const DXGKARGCB_RELEASEHANDLEDATA data)
{
	static const char name[] = "DxgkCbReleaseHandleData";
	const struct miniport_handle_services *served = atomic_load(&services);

	callback_trace_begin(name);
	if (nt_irql_require(APC_LEVEL, name) && served)
		report_release(name, data.ReleaseHandle, served->release(data.ReleaseHandle));
	callback_end(STATUS_SUCCESS);
}

static UINT handle_end(UINT handle)
{
	callback_end(handle ? STATUS_SUCCESS : STATUS_INVALID_HANDLE);
	return handle;
}

static UINT APIENTRY get_handle_parent(UINT allocation)
{
	void *owner;

	if (!question_begin("DxgkCbGetHandleParent", APC_LEVEL, &owner))
		return handle_end(0);
	return handle_end(atomic_load(&services)->parent(owner, allocation));
}

static UINT APIENTRY enum_handle_children(const DXGKARGCB_ENUMHANDLECHILDREN *data)
{
	static const char name[] = "DxgkCbEnumHandleChildren";
	void *owner;

	if (!question_begin(name, PASSIVE_LEVEL, &owner))
		return handle_end(0);
	if (!data) {
		nt_report(RULE_DDI_CALLBACK_ARGUMENT, "%s was given NULL", name);
		return handle_end(0);
	}
	return handle_end(atomic_load(&services)->child(owner, data->hObject, data->Index));
}

void callbacks_fill_handles(DXGKRNL_INTERFACE *interface)
{
	interface->DxgkCbGetHandleData = get_handle_data;
	interface->DxgkCbGetHandleParent = get_handle_parent;
	interface->DxgkCbEnumHandleChildren = enum_handle_children;
	interface->DxgkCbAcquireHandleData = acquire_handle_data;
	interface->DxgkCbReleaseHandleData = release_handle_data;
}
