/* SPDX-License-Identifier: MIT */
/*
 * dxcore_adapter.c - one adapter, as IDXCoreAdapter.
 *
 * Its facts are asked when it is first met, because clients may read them also when the adapter is
 * gone. Adapters are kept in a table without a lock: entries are added at the end and never change.
 *
 * No lock and no thread of base/ is used in this library: a seeded run is the kernel's, and this is
 * the client's side of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/utf8.h"
#include "thunk/dxcore.h"

enum { DESCRIPTION_CHARACTERS = 4096 };

static _Atomic(struct dxcore_adapter *) known[DXCORE_MAX_ADAPTERS];

const GUID dxcore_iid_adapter = {
	0xf0db4c7f, 0xfe5a, 0x42a2, { 0xbd, 0x62, 0xf2, 0xa6, 0xcf, 0x6f, 0xc8, 0x3e }
};
static const GUID attribute_d3d11_graphics = {
	0x8c47866b, 0x7583, 0x450d, { 0xf0, 0xf0, 0x6b, 0xad, 0xa8, 0x95, 0xaf, 0x4b }
};
static const GUID attribute_d3d12_graphics = {
	0x0c9ece4d, 0x2f6e, 0x4f01, { 0x8c, 0x96, 0xe8, 0x9e, 0x33, 0x1b, 0x47, 0xb1 }
};
static const GUID attribute_d3d12_core_compute = {
	0x248e2800, 0xa793, 0x4724, { 0xab, 0xaa, 0x23, 0xa6, 0xde, 0x1b, 0xe0, 0x90 }
};

bool dxcore_guid_is(const GUID *guid, const GUID *other)
{
	return memcmp(guid, other, sizeof(*guid)) == 0;
}

HRESULT dxcore_result(NTSTATUS status)
{
	if (NT_SUCCESS(status))
		return S_OK;
	switch (status) {
	case STATUS_NO_MEMORY:
		return E_OUTOFMEMORY;
	case STATUS_INVALID_PARAMETER:
		return E_INVALIDARG;
	case STATUS_DEVICE_REMOVED:
		return DXGI_ERROR_DEVICE_REMOVED;
	default:
		return E_FAIL;
	}
}

/* ---- asking ---- */

static NTSTATUS ask(D3DKMT_HANDLE handle, KMTQUERYADAPTERINFOTYPE type, void *data,
		    size_t size_bytes)
{
	D3DKMT_QUERYADAPTERINFO query = { handle, type, data, (UINT)size_bytes };

	return D3DKMTQueryAdapterInfo(&query);
}

/* WCHAR is a whole character here. */
static char *utf8_from_wide(const WCHAR *wide, size_t count)
{
	char *text = malloc(count * 4 + 1);
	size_t used = 0;

	for (size_t i = 0; text && i < count && wide[i] != 0; i++)
		used += utf8_encode((uint32_t)wide[i] & 0x1fffff, text + used);
	if (text)
		text[used] = '\0';
	return text;
}

static NTSTATUS ask_description(D3DKMT_HANDLE handle, char **description_out)
{
	D3DKMT_DRIVER_DESCRIPTION *answer = calloc(1, sizeof(*answer));
	NTSTATUS status = STATUS_NO_MEMORY;

	if (answer)
		status = ask(handle, KMTQAITYPE_DRIVER_DESCRIPTION, answer, sizeof(*answer));
	if (NT_SUCCESS(status)) {
		*description_out =
			utf8_from_wide(answer->DriverDescription, DESCRIPTION_CHARACTERS);
		status = *description_out ? STATUS_SUCCESS : STATUS_NO_MEMORY;
	}
	free(answer);
	return status;
}

/* Where the kernel knows none, the property is not supported. */
static void ask_driver_version(D3DKMT_HANDLE handle, struct dxcore_adapter *adapter)
{
	D3DKMT_KMD_DRIVER_VERSION answer = { 0 };
	NTSTATUS status = ask(handle, KMTQAITYPE_KMD_DRIVER_VERSION, &answer, sizeof(answer));

	adapter->has_driver_version = NT_SUCCESS(status);
	adapter->driver_version = (uint64_t)answer.DriverVersion.QuadPart;
}

static NTSTATUS ask_everything(D3DKMT_HANDLE handle, struct dxcore_adapter *adapter)
{
	D3DKMT_QUERY_DEVICE_IDS ids = { 0 };
	NTSTATUS status =
		ask(handle, KMTQAITYPE_ADAPTERTYPE, &adapter->type, sizeof(adapter->type));

	if (NT_SUCCESS(status))
		status = ask(handle, KMTQAITYPE_DRIVERVERSION, &adapter->model_version,
			     sizeof(adapter->model_version));
	if (NT_SUCCESS(status))
		status = ask(handle, KMTQAITYPE_WDDM_1_2_CAPS, &adapter->caps,
			     sizeof(adapter->caps));
	if (NT_SUCCESS(status))
		status = ask(handle, KMTQAITYPE_GETSEGMENTSIZE, &adapter->sizes,
			     sizeof(adapter->sizes));
	if (NT_SUCCESS(status))
		status = ask(handle, KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids, sizeof(ids));
	adapter->ids = ids.DeviceIds;
	if (NT_SUCCESS(status))
		status = ask_description(handle, &adapter->description);
	ask_driver_version(handle, adapter);
	return status;
}

/* ---- the interface ---- */

static HRESULT adapter_query_interface(struct dxcore_adapter *self, const GUID *iid, void **out)
{
	return dxcore_query(self, &self->references, &dxcore_iid_adapter, iid, out);
}

static ULONG adapter_add_ref(struct dxcore_adapter *self)
{
	return atomic_fetch_add(&self->references, 1) + 1;
}

static ULONG adapter_release(struct dxcore_adapter *self)
{
	return atomic_fetch_sub(&self->references, 1) - 1;
}

/* A handle for one question. */
static HRESULT adapter_open(struct dxcore_adapter *adapter, D3DKMT_HANDLE *handle_out)
{
	D3DKMT_OPENADAPTERFROMLUID open = { .AdapterLuid = adapter->luid };
	NTSTATUS status = atomic_load(&adapter->is_gone) ? STATUS_DEVICE_REMOVED
							 : D3DKMTOpenAdapterFromLuid(&open);

	if (status == STATUS_DEVICE_REMOVED)
		atomic_store(&adapter->is_gone, true);
	*handle_out = open.hAdapter;
	return dxcore_result(status);
}

static void adapter_close(D3DKMT_HANDLE handle)
{
	D3DKMT_CLOSEADAPTER done = { handle };

	D3DKMTCloseAdapter(&done);
}

bool dxcore_adapter_is_valid(struct dxcore_adapter *adapter)
{
	D3DKMT_HANDLE handle;

	if (adapter_open(adapter, &handle) != S_OK)
		return false;
	adapter_close(handle);
	return true;
}

bool dxcore_adapter_has(const struct dxcore_adapter *adapter, const GUID *attribute)
{
	/* What the adapter can do. Whether a user-mode driver for it is installed is the question
	   of the runtime that would load one. */
	if (dxcore_guid_is(attribute, &attribute_d3d12_core_compute))
		return adapter->type.RenderSupported;
	if (dxcore_guid_is(attribute, &attribute_d3d12_graphics) ||
	    dxcore_guid_is(attribute, &attribute_d3d11_graphics))
		return adapter->type.RenderSupported && !adapter->type.ComputeOnly;
	return false;
}

static bool adapter_is_attribute_supported(struct dxcore_adapter *self, const GUID *attribute)
{
	return attribute && dxcore_adapter_has(self, attribute);
}

/* One value, whatever its type. */
struct property {
	size_t size_bytes;
	const void *data;
	union {
		bool flag;
		uint16_t granularity;
		uint64_t bytes;
		struct dxcore_hardware_id id;
		struct dxcore_hardware_id_parts parts;
	} storage;
};

static HRESULT put_flag(struct property *property, bool flag)
{
	property->storage.flag = flag;
	property->size_bytes = sizeof(property->storage.flag);
	return S_OK;
}

static HRESULT put_granularity(struct property *property, unsigned granularity)
{
	property->storage.granularity = (uint16_t)granularity;
	property->size_bytes = sizeof(property->storage.granularity);
	return S_OK;
}

static HRESULT put_bytes(struct property *property, uint64_t bytes)
{
	property->storage.bytes = bytes;
	property->size_bytes = sizeof(property->storage.bytes);
	return S_OK;
}

static HRESULT put_pointer(struct property *property, const void *data, size_t size_bytes)
{
	property->data = data;
	property->size_bytes = size_bytes;
	return S_OK;
}

static HRESULT put_hardware_id(struct property *property, const D3DKMT_DEVICE_IDS *ids)
{
	/* SubSysID as PnP writes it: the subsystem above its vendor. */
	property->storage.id = (struct dxcore_hardware_id){
		.vendor = ids->VendorID,
		.device = ids->DeviceID,
		.subsystem = ids->SubSystemID << 16 | (ids->SubVendorID & 0xffff),
		.revision = ids->RevisionID,
	};
	property->size_bytes = sizeof(property->storage.id);
	return S_OK;
}

static HRESULT put_hardware_id_parts(struct property *property, const D3DKMT_DEVICE_IDS *ids)
{
	property->storage.parts = (struct dxcore_hardware_id_parts){
		.vendor = ids->VendorID,
		.device = ids->DeviceID,
		.subsystem = ids->SubSystemID,
		.subvendor = ids->SubVendorID,
		.revision = ids->RevisionID,
	};
	property->size_bytes = sizeof(property->storage.parts);
	return S_OK;
}

static HRESULT adapter_property(const struct dxcore_adapter *adapter, uint32_t which,
				struct property *property)
{
	property->data = &property->storage;
	switch (which) {
	case PROPERTY_INSTANCE_LUID:
		return put_pointer(property, &adapter->luid, sizeof(adapter->luid));
	case PROPERTY_DRIVER_DESCRIPTION:
		return put_pointer(property, adapter->description,
				   strlen(adapter->description) + 1);
	case PROPERTY_HARDWARE_ID:
		return put_hardware_id(property, &adapter->ids);
	case PROPERTY_HARDWARE_ID_PARTS:
		return put_hardware_id_parts(property, &adapter->ids);
	case PROPERTY_KMD_MODEL_VERSION:
		return put_pointer(property, &adapter->model_version,
				   sizeof(adapter->model_version));
	case PROPERTY_COMPUTE_PREEMPTION:
		return put_granularity(property,
				       adapter->caps.PreemptionCaps.ComputePreemptionGranularity);
	case PROPERTY_GRAPHICS_PREEMPTION:
		return put_granularity(property,
				       adapter->caps.PreemptionCaps.GraphicsPreemptionGranularity);
	case PROPERTY_DEDICATED_ADAPTER_MEMORY:
		return put_bytes(property, adapter->sizes.DedicatedVideoMemorySize);
	case PROPERTY_DEDICATED_SYSTEM_MEMORY:
		return put_bytes(property, adapter->sizes.DedicatedSystemMemorySize);
	case PROPERTY_SHARED_SYSTEM_MEMORY:
		return put_bytes(property, adapter->sizes.SharedSystemMemorySize);
	case PROPERTY_ACG_COMPATIBLE:
		return put_flag(property, adapter->type.ACGSupported);
	case PROPERTY_IS_HARDWARE:
		return put_flag(property, !adapter->type.SoftwareDevice);
	case PROPERTY_IS_INTEGRATED:
		return put_flag(property, adapter->type.HybridIntegrated);
	case PROPERTY_IS_DETACHABLE:
		return put_flag(property, adapter->type.Detachable);
	case PROPERTY_DRIVER_VERSION:
		return adapter->has_driver_version ? put_bytes(property, adapter->driver_version)
						   : DXGI_ERROR_UNSUPPORTED;
	default:
		return DXGI_ERROR_INVALID_CALL;
	}
}

static bool adapter_is_property_supported(struct dxcore_adapter *self, uint32_t which)
{
	struct property property;

	return adapter_property(self, which, &property) == S_OK;
}

static HRESULT adapter_get_property(struct dxcore_adapter *self, uint32_t which, size_t size_bytes,
				    void *data)
{
	struct property property;
	HRESULT result = adapter_property(self, which, &property);

	if (result != S_OK)
		return result;
	if (!data)
		return E_POINTER;
	if (size_bytes < property.size_bytes)
		return E_INVALIDARG;
	memset(data, 0, size_bytes);
	memcpy(data, property.data, property.size_bytes);
	return S_OK;
}

static HRESULT adapter_get_property_size(struct dxcore_adapter *self, uint32_t which,
					 size_t *size_bytes_out)
{
	struct property property;

	if (!size_bytes_out)
		return E_POINTER;
	*size_bytes_out = 0;
	HRESULT result = adapter_property(self, which, &property);
	if (result == S_OK)
		*size_bytes_out = property.size_bytes;
	return result;
}

/* ---- states ---- */

static bool adapter_is_query_state_supported(struct dxcore_adapter *self, uint32_t state)
{
	return state < STATE_COUNT;
}

/* No driver is ever replaced while the kernel runs. */
static HRESULT query_driver_update(const void *details, D3DKMT_HANDLE handle, void *data)
{
	*(bool *)data = false;
	return S_OK;
}

static HRESULT query_budget(const void *details, D3DKMT_HANDLE handle, void *data)
{
	struct dxcore_budget_question question;

	memcpy(&question, details, sizeof(question));
	D3DKMT_QUERYVIDEOMEMORYINFO query = {
		.hAdapter = handle,
		.MemorySegmentGroup = (D3DKMT_MEMORY_SEGMENT_GROUP)question.segment_group,
		.PhysicalAdapterIndex = question.node,
	};
	HRESULT result = dxcore_result(D3DKMTQueryVideoMemoryInfo(&query));
	if (result != S_OK)
		return result;
	struct dxcore_budget budget = {
		.budget = query.Budget,
		.usage = query.CurrentUsage,
		.available_for_reservation = query.AvailableForReservation,
		.reservation = query.CurrentReservation,
	};
	memcpy(data, &budget, sizeof(budget));
	return S_OK;
}

static const struct {
	size_t details_bytes; /* that it needs */
	size_t data_bytes;
	HRESULT (*query)(const void *details, D3DKMT_HANDLE handle, void *data);
} states[STATE_COUNT] = {
	[STATE_DRIVER_UPDATE] = { 0, sizeof(bool), query_driver_update },
	[STATE_MEMORY_BUDGET] = { sizeof(struct dxcore_budget_question),
				  sizeof(struct dxcore_budget), query_budget },
};

static HRESULT adapter_query_state(struct dxcore_adapter *self, uint32_t state,
				   size_t details_bytes, const void *details, size_t size_bytes,
				   void *data)
{
	D3DKMT_HANDLE handle;

	if (state >= STATE_COUNT)
		return DXGI_ERROR_INVALID_CALL;
	if (!data || (states[state].details_bytes > 0 && !details))
		return E_POINTER;
	if (size_bytes < states[state].data_bytes || details_bytes < states[state].details_bytes)
		return E_INVALIDARG;
	memset(data, 0, size_bytes);
	HRESULT result = adapter_open(self, &handle);
	if (result != S_OK)
		return result;
	result = states[state].query(details, handle, data);
	adapter_close(handle);
	return result;
}

/* DXCore has none that could be set. */
static bool adapter_is_set_state_supported(struct dxcore_adapter *self, uint32_t state)
{
	return false;
}

static HRESULT adapter_set_state(struct dxcore_adapter *self, uint32_t state, size_t details_bytes,
				 const void *details, size_t size_bytes, const void *data)
{
	return state < STATE_COUNT ? DXGI_ERROR_UNSUPPORTED : DXGI_ERROR_INVALID_CALL;
}

static HRESULT adapter_get_factory(struct dxcore_adapter *self, const GUID *iid, void **out)
{
	return dxcore_factory_get(iid, out);
}

static const struct dxcore_adapter_table adapter_table = {
	.query_interface = adapter_query_interface,
	.add_ref = adapter_add_ref,
	.release = adapter_release,
	.is_valid = dxcore_adapter_is_valid,
	.is_attribute_supported = adapter_is_attribute_supported,
	.is_property_supported = adapter_is_property_supported,
	.get_property = adapter_get_property,
	.get_property_size = adapter_get_property_size,
	.is_query_state_supported = adapter_is_query_state_supported,
	.query_state = adapter_query_state,
	.is_set_state_supported = adapter_is_set_state_supported,
	.set_state = adapter_set_state,
	.get_factory = adapter_get_factory,
};

/* ---- the table of those that were met ---- */

static bool luid_is(LUID luid, LUID other)
{
	return luid.LowPart == other.LowPart && luid.HighPart == other.HighPart;
}

static void adapter_free(struct dxcore_adapter *adapter)
{
	if (adapter)
		free(adapter->description);
	free(adapter);
}

static HRESULT adapter_create(LUID luid, struct dxcore_adapter **adapter_out)
{
	struct dxcore_adapter *adapter = calloc(1, sizeof(*adapter));
	D3DKMT_OPENADAPTERFROMLUID open = { .AdapterLuid = luid };

	if (!adapter)
		return E_OUTOFMEMORY;
	adapter->table = &adapter_table;
	adapter->luid = luid;
	NTSTATUS status = D3DKMTOpenAdapterFromLuid(&open);
	if (NT_SUCCESS(status)) {
		status = ask_everything(open.hAdapter, adapter);
		adapter_close(open.hAdapter);
	}
	if (!NT_SUCCESS(status)) {
		adapter_free(adapter);
		return dxcore_result(status);
	}
	*adapter_out = adapter;
	return S_OK;
}

HRESULT dxcore_adapter_find(LUID luid, struct dxcore_adapter **adapter_out)
{
	struct dxcore_adapter *mine = NULL;

	for (unsigned i = 0; i < DXCORE_MAX_ADAPTERS; i++) {
		struct dxcore_adapter *here = atomic_load(&known[i]);
		if (!here) {
			HRESULT result = mine ? S_OK : adapter_create(luid, &mine);
			if (result != S_OK)
				return result;
			if (atomic_compare_exchange_strong(&known[i], &here, mine)) {
				*adapter_out = mine;
				return S_OK;
			}
			/* Another thread was faster here; `here` says with which. */
		}
		if (luid_is(here->luid, luid)) {
			adapter_free(mine);
			*adapter_out = here;
			return S_OK;
		}
	}
	adapter_free(mine);
	return E_FAIL;
}
