/* SPDX-License-Identifier: MIT */
/*
 * start.c - the life of a driver: load, add, start, ask, stop, remove, unload.
 *
 *   DriverEntry  AddDevice  StartDevice  …queries…  system process, device, context
 *   Unload       RemoveDevice  StopDevice           in reverse
 *
 * What fails undoes what succeeded before it, in reverse, and no more: a StartDevice that failed is
 * not stopped, an AddDevice that failed is not removed.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/refusal.h"
#include "miniport/guard.h"
#include "miniport/internal.h"
#include "miniport/work.h"
#include "nt/io.h"
#include "nt/nt.h"
#include "nt/registry.h"
#include "nt/verify.h"
#include "trace/engine.h"
#include "trace/trace.h"

/* How many DMA buffers a driver has to be able to queue at once. */
enum { DMA_QUEUE_ENTRIES = 16 };

const struct miniport_verifier *miniport_verifier;

void miniport_verify_with(const struct miniport_verifier *verifier)
{
	miniport_verifier = verifier;
}

/* ---- registry ---- */

/* "/usr/lib/opendxgk/drivers/soft.so" -> "soft" */
static void driver_name(const char *driver, char *name, size_t size_bytes)
{
	const char *slash = strrchr(driver, '/');
	const char *start = slash ? slash + 1 : driver;
	size_t length = strlen(start);

	if (length > 3 && strcmp(start + length - 3, ".so") == 0)
		length -= 3;
	snprintf(name, size_bytes, "%.*s", (int)length, start);
	for (char *c = name; *c; c++) {
		if (*c == '\\')
			*c = '_';
	}
}

static NTSTATUS setting_write(const char *path, const struct miniport_setting *setting)
{
	char *key = setting->key ? mem_printf("%s\\%s", path, setting->key) : mem_strdup(path);
	NTSTATUS status;

	if (!key)
		return STATUS_NO_MEMORY;
	if (setting->text)
		status = nt_registry_set_string(key, setting->name, setting->text);
	else if (setting->texts)
		status =
			nt_registry_set_strings(key, setting->name, setting->texts, setting->count);
	else if (setting->bytes)
		status = nt_registry_set_binary(key, setting->name, setting->bytes, setting->count);
	else
		status = nt_registry_set_dword(key, setting->name, setting->number);
	mem_free(key);
	return status;
}

/* What an installation writes: the same that queries and the device object say. */
static NTSTATUS identity_write(struct miniport *miniport, const struct miniport_config *config)
{
	const char *path = miniport->info.registry_path;
	uint64_t version = miniport->info.driver_version;
	char id[DEVICE_ID_BYTES];
	char text[32];
	NTSTATUS status = nt_registry_set_string(path, "DriverDesc", miniport->info.description);

	snprintf(text, sizeof(text), "%u.%u.%u.%u", (unsigned)(version >> 48),
		 (unsigned)(version >> 32 & 0xffff), (unsigned)(version >> 16 & 0xffff),
		 (unsigned)(version & 0xffff));
	device_first_id(config, id);
	if (NT_SUCCESS(status))
		status = nt_registry_set_string(path, "DriverVersion", text);
	if (NT_SUCCESS(status))
		status = nt_registry_set_string(path, "MatchingDeviceId", id);
	return status;
}

static NTSTATUS registry_write(struct miniport *miniport, const struct miniport_config *config)
{
	const char *path = miniport->info.registry_path;
	NTSTATUS status = identity_write(miniport, config);

	for (size_t i = 0; NT_SUCCESS(status) && i < config->setting_count; i++)
		status = setting_write(path, &config->settings[i]);
	if (!NT_SUCCESS(status)) {
		nt_registry_delete_tree(path);
		return refuse(status, RULE_DDI_REGISTRY, "registry",
			      "cannot hold the settings of the adapter: %s", status_name(status));
	}
	return STATUS_SUCCESS;
}

NTSTATUS miniport_query_registry(struct miniport *miniport, const char *value_name,
				 enum miniport_value_type *type_out, void *data, size_t capacity,
				 size_t *needed_out)
{
	uint32_t type = 0;
	NTSTATUS status = nt_registry_query(miniport->info.registry_path, value_name, &type, data,
					    capacity, needed_out);

	if (NT_SUCCESS(status) || status == STATUS_BUFFER_TOO_SMALL ||
	    status == STATUS_BUFFER_OVERFLOW)
		*type_out = (enum miniport_value_type)type;
	return status == STATUS_BUFFER_TOO_SMALL ? STATUS_BUFFER_OVERFLOW : status;
}

/* ---- plug and play ---- */

static NTSTATUS add_device(struct miniport *miniport)
{
	struct ddi_crossing crossing;
	PVOID context = NULL;

	ddi_enter(&crossing, miniport, NULL, DDI_ADD_DEVICE);
	NTSTATUS status = miniport->ddi.DxgkDdiAddDevice(miniport->device_object, &context);
	status = ddi_leave(&crossing, status);

	if (NT_SUCCESS(status) && !context)
		status = refuse(STATUS_NO_SUCH_DEVICE, RULE_DDI_NO_CONTEXT, "MiniportDeviceContext",
				"is NULL after DxgkDdiAddDevice: the driver has no use for this "
				"adapter");
	miniport->context = context;
	return status;
}

static void remove_device(struct miniport *miniport)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, NULL, DDI_REMOVE_DEVICE);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiRemoveDevice(miniport->context));
}

/* What a display driver could tell about the firmware's screen; there is none. */
static void exchange_pre_start_info(struct miniport *miniport)
{
	DXGK_PRE_START_INFO info = { 0 };
	struct ddi_crossing crossing;
	struct guard guard;

	if (!miniport->ddi.DxgkDdiExchangePreStartInfo)
		return;
	guard_open(&guard, &info, sizeof(info));
	ddi_enter(&crossing, miniport, NULL, DDI_EXCHANGE_PRE_START_INFO);
	NTSTATUS status =
		miniport->ddi.DxgkDdiExchangePreStartInfo(miniport->context, guard.memory);
	guard_close(&guard, "DxgkDdiExchangePreStartInfo", NULL);
	ddi_leave_quietly(&crossing, status);
}

static NTSTATUS start_device(struct miniport *miniport, uint64_t luid)
{
	DXGK_START_INFO info = {
		.RequiredDmaQueueEntry = DMA_QUEUE_ENTRIES,
		.AdapterGuid = { .Data1 = (ULONG)luid,
				 .Data2 = (USHORT)(luid >> 32),
				 .Data4 = "opendxg" },
		.AdapterLuid = { .LowPart = (ULONG)luid, .HighPart = (LONG)(luid >> 32) },
	};
	ULONG sources = 0;
	ULONG children = 0;
	struct ddi_crossing crossing;

	interrupt_connect(miniport);
	ddi_enter(&crossing, miniport, NULL, DDI_START_DEVICE);
	NTSTATUS status = miniport->ddi.DxgkDdiStartDevice(
		miniport->context, &info, &miniport->interface, &sources, &children);
	status = ddi_leave(&crossing, status);

	if (!NT_SUCCESS(status))
		interrupt_disconnect(miniport);
	miniport->info.video_present_sources = sources;
	miniport->info.children = children;
	return status;
}

static void stop_device(struct miniport *miniport)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, NULL, DDI_STOP_DEVICE);
	ddi_leave(&crossing, miniport->ddi.DxgkDdiStopDevice(miniport->context));
	interrupt_disconnect(miniport);
}

/* At a bug check: of a driver that has it, whatever else is under way. */
void miniport_reset_device(struct miniport *miniport)
{
	struct ddi_crossing crossing;

	if (!miniport->ddi.DxgkDdiResetDevice)
		return;
	ddi_enter(&crossing, miniport, NULL, DDI_RESET_DEVICE);
	miniport->ddi.DxgkDdiResetDevice(miniport->context);
	ddi_leave_void(&crossing);
}

bool miniport_set_power(struct miniport *miniport, bool is_on, uint64_t deadline_ns,
			NTSTATUS *status_out)
{
	const ULONG of_the_adapter = DISPLAY_ADAPTER_HW_ID;
	struct ddi_crossing crossing;

	*status_out = STATUS_SUCCESS;
	if (!miniport->ddi.DxgkDdiSetPowerState)
		return true;
	if (!ddi_enter_until(&crossing, miniport, NULL, DDI_SET_POWER_STATE, DDI_LEVEL_3,
			     deadline_ns))
		return false;
	NTSTATUS status = miniport->ddi.DxgkDdiSetPowerState(
		miniport->context, of_the_adapter, is_on ? PowerDeviceD0 : PowerDeviceD3,
		is_on ? PowerActionNone : PowerActionSleep);
	*status_out = ddi_leave(&crossing, status);
	return true;
}

static void call_unload(struct miniport *miniport)
{
	struct ddi_crossing crossing;

	ddi_enter(&crossing, miniport, NULL, DDI_UNLOAD);
	miniport->ddi.DxgkDdiUnload();
	ddi_leave_void(&crossing);
}

/* A driver stayed loaded, because something of it still runs: then the host stays, too. */
static _Atomic bool has_left_over;

NTSTATUS miniport_host_start(void)
{
	NTSTATUS status = nt_start();

	return NT_SUCCESS(status) ? status
				  : refuse_no_memory("There is no memory for the NT environment");
}

struct nt_process *miniport_process_begin(uint32_t pid)
{
	return nt_process_begin(pid);
}

void miniport_process_end(struct nt_process *process)
{
	nt_process_end(process);
}

void miniport_host_stop(void)
{
	if (!atomic_load(&has_left_over))
		nt_stop();
}

static NTSTATUS introduce_image(struct miniport *miniport)
{
	const void *begin;
	const void *end;

	image_range(&miniport->image, &begin, &end);
	NTSTATUS status = nt_module_add(miniport->info.driver_path, begin, end);
	return NT_SUCCESS(status)
		       ? status
		       : refuse_no_memory("There is no memory for what drivers there are");
}

/* It never ran. */
static void drop_image(struct miniport *miniport)
{
	const void *begin;
	const void *end;

	image_range(&miniport->image, &begin, &end);
	nt_module_remove(begin);
	image_unload(&miniport->image);
}

/*
 * An image whose threads still run, or whose timers are still set, stays where it is, and with it
 * what those threads may still look at.
 */
static void release_image(struct miniport *miniport)
{
	const void *begin;
	const void *end;

	image_range(&miniport->image, &begin, &end);
	miniport->is_stranded = !nt_driver_unloaded(begin, end);
	if (!miniport->is_stranded) {
		image_unload(&miniport->image);
		return;
	}
	atomic_store(&has_left_over, true);
	log_warn("%s: the driver stays loaded, something of it still runs", miniport->start_name);
}

/* ---- start and stop ---- */

static struct miniport *miniport_create(const struct miniport_config *config,
					const struct miniport_events *events, void *listener)
{
	struct miniport *miniport = mem_zalloc_apart(sizeof(*miniport));
	char name[128];

	if (!miniport)
		return NULL;
	driver_name(config->driver, name, sizeof(name));
	snprintf(miniport->start_name, sizeof(miniport->start_name), "adapter %u (%.40s)",
		 config->adapter_id, name);
	snprintf(miniport->info.registry_path, sizeof(miniport->info.registry_path),
		 NT_REGISTRY_SERVICES "\\%.100s%u", name, config->adapter_id);
	snprintf(miniport->info.description, sizeof(miniport->info.description), "%s",
		 config->name ? config->name : name);
	miniport->info.wddm_level = config->wddm_level;
	miniport->info.driver_version = config->driver_version;
	if (config->pci) {
		miniport->info.is_on_pci = true;
		miniport->info.pci_ids = config->pci->ids;
		miniport->info.pci_address = config->pci->address;
	}
	miniport->adapter_id = config->adapter_id;
	miniport->events = *events;
	miniport->listener = listener;
	lock_init(&miniport->system_client.entry, LOCK_RANK_DDI_PROCESS, "system process");
	miniport->system_client.process = nt_process_of_system();
	for (size_t i = 0; i < DDI_CLASS_COUNT; i++)
		lock_init(&miniport->class_locks[i], LOCK_RANK_DDI_CLASS, "driver class");
	gate_init(&miniport->level_gate, LOCK_RANK_DDI_LEVEL, "driver level");
	lock_init(&miniport->mappings_lock, LOCK_RANK_LEAF, "mappings");
	list_init(&miniport->mappings);
	interrupt_init(miniport);
	miniport->guards_answers = nt_verify_wants(NT_VERIFY_ANSWERS);
	ddi_tell_reports();
	return miniport;
}

static void miniport_destroy(struct miniport *miniport)
{
	if (miniport->is_stranded)
		return;
	if (miniport_verifier)
		miniport_verifier->release(miniport);
	device_close(&miniport->device);
	interrupt_finish(miniport);
	lock_finish(&miniport->mappings_lock);
	gate_finish(&miniport->level_gate);
	for (size_t i = 0; i < DDI_CLASS_COUNT; i++)
		lock_finish(&miniport->class_locks[i]);
	lock_finish(&miniport->system_client.entry);
	mem_free(miniport->bank_ends);
	mem_free(miniport);
}

/* Where the driver is, when the profile does not say it. */
static void choose_driver_store(const struct miniport_config *config, struct miniport_info *info)
{
	const char *from = config->driver_store ? config->driver_store : info->driver_path;
	char *slash;

	snprintf(info->driver_store, sizeof(info->driver_store), "%s", from);
	slash = config->driver_store ? NULL : strrchr(info->driver_store, '/');
	if (slash)
		*slash = '\0';
}

/* Everything up to a DriverEntry that succeeded. */
static NTSTATUS load_driver(struct miniport *miniport, const struct miniport_config *config)
{
	struct miniport_info *info = &miniport->info;
	NTSTATUS status = image_find(config->driver, info->driver_path, sizeof(info->driver_path));

	if (NT_SUCCESS(status))
		status = image_load(&miniport->image, info->driver_path);
	if (!NT_SUCCESS(status))
		return status;
	choose_driver_store(config, info);
	status = introduce_image(miniport);
	if (NT_SUCCESS(status))
		status = registry_write(miniport, config);
	if (!NT_SUCCESS(status))
		goto unload_image;
	status = nt_driver_object_create(miniport->start_name, info->registry_path,
					 &miniport->driver_object);
	if (!NT_SUCCESS(status)) {
		refuse_no_memory("There is no memory for the driver object");
		goto delete_registry;
	}
	status = entry_run(miniport);
	if (NT_SUCCESS(status) && miniport_verifier) {
		status = miniport_verifier->adopt(miniport);
		info->buffer_guard_bytes = PAGE_SIZE;
	}
	if (!NT_SUCCESS(status))
		goto destroy_driver_object;
	return STATUS_SUCCESS;

destroy_driver_object:
	/* First: what the driver left behind may refer to its object. */
	release_image(miniport);
	nt_driver_object_destroy(miniport->driver_object);
	nt_registry_delete_tree(info->registry_path);
	return status;
delete_registry:
	nt_registry_delete_tree(info->registry_path);
unload_image:
	drop_image(miniport);
	return status;
}

static void unload_driver(struct miniport *miniport)
{
	call_unload(miniport);
	release_image(miniport);
	nt_driver_object_destroy(miniport->driver_object);
	nt_registry_delete_tree(miniport->info.registry_path);
}

/* Which routine of the driver that answer came from, while its image is there to be asked. */
static NTSTATUS told(const struct miniport *miniport, NTSTATUS status)
{
	char where[256];

	if (NT_SUCCESS(status) || !nt_entered.routine)
		return status;
	nt_report_where(nt_entered.routine, where, sizeof(where));
	log_warn("%s: the driver was last in %s", miniport->start_name, where);
	return status;
}

/* Once, or twice where that is to be tried (DDI-ORDER-RESTART): then the second answers count. */
static NTSTATUS start_and_query(struct miniport *miniport, uint64_t luid)
{
	uint32_t starts = miniport_verifier && miniport_verifier->wants_restart() ? 2 : 1;
	const struct miniport_info before = miniport->info;
	NTSTATUS status = STATUS_SUCCESS;

	for (uint32_t i = 0; i < starts && NT_SUCCESS(status); i++) {
		if (i > 0) {
			stop_device(miniport);
			miniport->info = before;
		}
		status = told(miniport, start_device(miniport, luid));
		if (!NT_SUCCESS(status))
			return status;
		status = told(miniport, query_everything(miniport));
	}
	if (!NT_SUCCESS(status))
		stop_device(miniport);
	return status;
}

static NTSTATUS start(struct miniport *miniport, const struct miniport_config *config)
{
	NTSTATUS status = load_driver(miniport, config);

	if (!NT_SUCCESS(status))
		return status;
	status = device_open(&miniport->device, config);
	if (!NT_SUCCESS(status))
		goto unload_driver;
	status = device_create_object(config, miniport->driver_object, &miniport->device_object);
	if (!NT_SUCCESS(status))
		goto unload_driver;
	status = told(miniport, add_device(miniport));
	if (!NT_SUCCESS(status))
		goto destroy_device_object;
	status = callbacks_open(miniport);
	if (!NT_SUCCESS(status))
		goto remove_device;
	query_before_start(miniport);
	exchange_pre_start_info(miniport);
	status = start_and_query(miniport, config->luid);
	if (!NT_SUCCESS(status))
		goto close_callbacks;
	status = told(miniport, system_objects_create(miniport));
	if (!NT_SUCCESS(status))
		goto stop_device;
	return STATUS_SUCCESS;

stop_device:
	stop_device(miniport);
close_callbacks:
remove_device:
	remove_device(miniport);
	callbacks_close(miniport);
destroy_device_object:
	nt_device_object_destroy(miniport->device_object);
unload_driver:
	unload_driver(miniport);
	return status;
}

uint64_t miniport_report_count(enum rule rule)
{
	return nt_report_count(rule);
}

void miniport_trace_start(const struct miniport *miniport)
{
	trace_adapter_start(miniport->adapter_id, miniport->info.driver_path);
	for (uint32_t i = 0; i < miniport->info.segment_count; i++)
		trace_segment_is(miniport->adapter_id, miniport->info.segments[i].id,
				 miniport->info.segments[i].size_bytes,
				 miniport->info.segments[i].is_aperture ? "aperture" : "local");
	for (uint32_t i = 0; i < miniport->info.node_count; i++)
		trace_node_is(miniport->adapter_id, i,
			      engine_type_words(miniport->info.nodes[i].engine_type),
			      miniport->info.nodes[i].name);
}

NTSTATUS miniport_start(const struct miniport_config *config, const struct miniport_events *events,
			void *listener, struct miniport **miniport_out)
{
	struct refusal_scope scope;

	if (!config->driver || !*config->driver)
		return invalid(RULE_DDI_IMAGE_FIND, "driver",
			       "is empty: a name or an absolute path is needed");
	struct miniport *miniport = miniport_create(config, events, listener);
	if (!miniport)
		return refuse_no_memory("There is no memory for an adapter");

	refusal_begin(&scope, miniport->start_name);
	log_topic(LOG_START, "%s: starting %s", miniport->start_name, config->driver);
	NTSTATUS status = start(miniport, config);
	log_topic(LOG_START, "%s: %s", miniport->start_name, status_name(status));
	refusal_end_call(&scope, status);

	if (!NT_SUCCESS(status)) {
		miniport_destroy(miniport);
		return status;
	}
	miniport_trace_start(miniport);
	*miniport_out = miniport;
	return STATUS_SUCCESS;
}

void miniport_stop(struct miniport *miniport)
{
	if (!miniport)
		return;
	log_topic(LOG_START, "%s: stopping", miniport->start_name);
	system_objects_destroy(miniport);
	stop_device(miniport);
	remove_device(miniport);
	callbacks_close(miniport);
	nt_device_object_destroy(miniport->device_object);
	unload_driver(miniport);
	trace_adapter_stop(miniport->adapter_id);
	miniport_destroy(miniport);
}

const struct miniport_info *miniport_info(const struct miniport *miniport)
{
	return &miniport->info;
}
