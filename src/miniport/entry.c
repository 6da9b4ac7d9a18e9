/* SPDX-License-Identifier: MIT */
/*
 * entry.c - DriverEntry, and DxgkInitialize as the driver calls it from there.
 *
 *   in:   a loaded image
 *   out:  miniport->ddi: the entry points, as far as the registered version goes
 *
 * DRIVER_INITIALIZATION_DATA carries no size: its Version says how many members the driver's
 * compiler gave it. Nothing behind them is read. A driver may say later that it is of an older
 * version than its table; drivers are compiled with newer headers than they were written for, and
 * fill in what they have no use for. So what is newer than the driver is forgotten here, once, and
 * everybody else asks for NULL only.
 *
 * DriverEntry runs before anybody else knows the driver, so there is nothing to serialise; whose
 * DriverEntry is running is remembered per thread.
 */
#include <string.h>

#include "base/log.h"
#include "base/refusal.h"
#include "miniport/answers.h"
#include "miniport/internal.h"
#include "nt/io.h"
#include "nt/report.h"
#include "nt/visit.h"
#include "trace/trace.h"

static _Thread_local struct miniport *loading;

static NTSTATUS check_arguments(const DRIVER_OBJECT *driver_object,
				const UNICODE_STRING *registry_path, const void *data)
{
	if (!driver_object || !registry_path || !data)
		return invalid(RULE_DDI_INITIALIZE, "DxgkInitialize", "was given a NULL %s",
			       !driver_object   ? "DriverObject"
			       : !registry_path ? "RegistryPath"
						: "DriverInitializationData");
	if (!loading || loading->driver_object != driver_object)
		return invalid(RULE_DDI_INITIALIZE, "DxgkInitialize", "was called %s",
			       loading ? "with a DriverObject that is not this driver's"
				       : "outside DriverEntry");
	return STATUS_SUCCESS;
}

NTSTATUS entry_require(const struct miniport *miniport, enum ddi_need need)
{
	const char *const *members = (const char *const *)&miniport->ddi;

	for (size_t i = 0; i < DDI_COUNT; i++) {
		const struct ddi_info *info = &ddi_infos[i];

		if (info->need == need && info->since <= miniport->info.wddm_version &&
		    !members[info->index])
			return refuse(STATUS_ILLEGAL_ANSWER, RULE_DDI_ENTRY_MISSING, info->name,
				      "is NULL, and a driver of this kind needs it");
	}
	return STATUS_SUCCESS;
}

void entry_forget_newer(struct miniport *miniport)
{
	void **members = (void **)&miniport->ddi;

	for (size_t i = 0; i < DDI_COUNT; i++) {
		if (ddi_infos[i].since > miniport->info.wddm_version)
			members[ddi_infos[i].index] = NULL;
	}
}

static NTSTATUS initialize(const DRIVER_INITIALIZATION_DATA *data)
{
	uint32_t member_count = ddi_member_count(data->Version);

	if (loading->initialize_status != STATUS_PENDING)
		return refuse(STATUS_INVALID_DEVICE_STATE, RULE_DDI_INITIALIZE, "DxgkInitialize",
			      "was called twice in one DriverEntry");
	if (member_count == 0)
		return refuse(STATUS_REVISION_MISMATCH, RULE_DDI_VERSION,
			      "DRIVER_INITIALIZATION_DATA.Version",
			      "is 0x%x, which is no WDDM version from 1.1 to 3.2", data->Version);
	memcpy(&loading->ddi, data, member_count * sizeof(void *));
	loading->info.interface_version = data->Version;
	loading->info.wddm_version = level_of(&loading->info, ddi_wddm_version(data->Version));
	entry_forget_newer(loading);
	loading->driver = loading->ddi;
	return entry_require(loading, DDI_NEED_REQUIRED);
}

EXPORTED NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
				       PDRIVER_INITIALIZATION_DATA DriverInitializationData)
{
	NTSTATUS status = check_arguments(DriverObject, RegistryPath, DriverInitializationData);

	callback_trace_begin("DxgkInitialize");
	if (NT_SUCCESS(status)) {
		status = initialize(DriverInitializationData);
		loading->initialize_status = status;
	}
	callback_trace_end(status);
	return status;
}

EXPORTED NTSTATUS NTAPI
DxgkInitializeDisplayOnlyDriver(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
				PKMDDOD_INITIALIZATION_DATA KmdDodInitializationData)
{
	NTSTATUS status = check_arguments(DriverObject, RegistryPath, KmdDodInitializationData);

	if (NT_SUCCESS(status)) {
		status = refuse(STATUS_NOT_SUPPORTED, RULE_DDI_DISPLAY_ONLY,
				"DxgkInitializeDisplayOnlyDriver",
				"was called: drivers without rendering are not hosted");
		loading->initialize_status = status;
	}
	return status;
}

/* What DxgkInitialize did is undone by the host when DriverEntry fails or the driver goes. */
EXPORTED NTSTATUS NTAPI DxgkUnInitialize(PDRIVER_OBJECT DriverObject)
{
	if (!loading || loading->driver_object != DriverObject)
		return invalid(RULE_DDI_INITIALIZE, "DxgkUnInitialize",
			       "is for a DriverEntry that fails after DxgkInitialize");
	if (loading->initialize_status == STATUS_PENDING)
		return refuse(STATUS_INVALID_DEVICE_STATE, RULE_DDI_INITIALIZE, "DxgkUnInitialize",
			      "was called before DxgkInitialize");
	loading->initialize_status = STATUS_PENDING;
	return STATUS_SUCCESS;
}

NTSTATUS entry_run(struct miniport *miniport)
{
	PDRIVER_INITIALIZE driver_entry =
		(PDRIVER_INITIALIZE)image_symbol(&miniport->image, "DriverEntry");
	struct nt_visit visit;
	struct nt_irql irql;

	miniport->initialize_status = STATUS_PENDING;
	loading = miniport;
	nt_entered.has_said = false;
	ddi_trace_begin("DriverEntry", PASSIVE_LEVEL);
	nt_visit_begin(&visit, "DriverEntry", (const void *)driver_entry);
	nt_irql_enter(&irql, PASSIVE_LEVEL);
	NTSTATUS status = driver_entry(miniport->driver_object,
				       nt_driver_object_registry_path(miniport->driver_object));
	nt_irql_leave(&irql, "DriverEntry");
	nt_visit_end(&visit);
	nt_entered.routine = (const void *)driver_entry;
	if (trace_has(TRACE_WITH_DRIVER))
		trace_ddi_call_end(status);
	loading = NULL;
	log_topic(LOG_START, "%s: DriverEntry: %s", miniport->start_name, status_name(status));

	if (!NT_SUCCESS(status))
		return refuse(status, RULE_DDI_STATUS, "DriverEntry", "returned %s%s",
			      status_name(status), ddi_said().text);
	if (miniport->initialize_status == STATUS_PENDING)
		return refuse(STATUS_FAILED_DRIVER_ENTRY, RULE_DDI_INITIALIZE, "DriverEntry",
			      "returned %s without DxgkInitialize having been called",
			      status_name(status));
	return miniport->initialize_status;
}
