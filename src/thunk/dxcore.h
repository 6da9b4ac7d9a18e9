/* SPDX-License-Identifier: MIT */
/*
 * dxcore.h - DXCore: the adapters once more, as COM objects.
 *
 * What a client written in C++ calls through the interfaces of DirectX-Headers, laid out here as
 * tables of functions: on Linux an interface pointer points to a pointer to such a table, `this` is
 * the first argument, and bool is one byte. The order of the entries is the contract.
 *
 * Questions are answered by the public D3DKMT calls; what is to be told comes from the kernel by the
 * connection. Nothing else here knows it.
 */
#ifndef THUNK_DXCORE_H
#define THUNK_DXCORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dxg/d3dkmthk.h>

#define S_OK                      ((HRESULT)0)
#define E_NOINTERFACE             ((HRESULT)0x80004002)
#define E_POINTER                 ((HRESULT)0x80004003)
#define E_FAIL                    ((HRESULT)0x80004005)
#define E_OUTOFMEMORY             ((HRESULT)0x8007000e)
#define E_INVALIDARG              ((HRESULT)0x80070057)
#define DXGI_ERROR_INVALID_CALL   ((HRESULT)0x887a0001)
#define DXGI_ERROR_UNSUPPORTED    ((HRESULT)0x887a0004)
#define DXGI_ERROR_DEVICE_REMOVED ((HRESULT)0x887a0005)

enum { DXCORE_MAX_ADAPTERS = 64 }; /* far more than the kernel ever has */

/* As DXCoreAdapterProperty counts them. */
enum dxcore_property {
	PROPERTY_INSTANCE_LUID,
	PROPERTY_DRIVER_VERSION,
	PROPERTY_DRIVER_DESCRIPTION,
	PROPERTY_HARDWARE_ID,
	PROPERTY_KMD_MODEL_VERSION,
	PROPERTY_COMPUTE_PREEMPTION,
	PROPERTY_GRAPHICS_PREEMPTION,
	PROPERTY_DEDICATED_ADAPTER_MEMORY,
	PROPERTY_DEDICATED_SYSTEM_MEMORY,
	PROPERTY_SHARED_SYSTEM_MEMORY,
	PROPERTY_ACG_COMPATIBLE,
	PROPERTY_IS_HARDWARE,
	PROPERTY_IS_INTEGRATED,
	PROPERTY_IS_DETACHABLE,
	PROPERTY_HARDWARE_ID_PARTS,
	PROPERTY_COUNT
};

/* As DXCoreAdapterState, DXCoreNotificationType and DXCoreAdapterPreference count them. */
enum dxcore_state { STATE_DRIVER_UPDATE, STATE_MEMORY_BUDGET, STATE_COUNT };
enum dxcore_notification {
	NOTIFY_LIST_STALE,
	NOTIFY_NO_LONGER_VALID,
	NOTIFY_BUDGET_CHANGE,
	NOTIFY_PROTECTION_TEARDOWN,
	NOTIFICATION_COUNT
};
enum dxcore_preference { PREFER_HARDWARE, PREFER_MINIMUM_POWER, PREFER_HIGH_PERFORMANCE };

struct dxcore_hardware_id {
	uint32_t vendor, device, subsystem, revision;
};

struct dxcore_hardware_id_parts {
	uint32_t vendor, device, subsystem, subvendor, revision;
};

struct dxcore_budget_question {
	uint32_t node; /* the physical adapter */
	uint32_t segment_group;
};

struct dxcore_budget {
	uint64_t budget, usage, available_for_reservation, reservation;
};

typedef void (*dxcore_callback)(uint32_t type, void *object, void *context);

/* ---- the three interfaces ---- */

struct dxcore_factory;
struct dxcore_list;
struct dxcore_adapter;

/* IDXCoreAdapter */
struct dxcore_adapter_table {
	HRESULT (*query_interface)(struct dxcore_adapter *self, const GUID *iid, void **out);
	ULONG (*add_ref)(struct dxcore_adapter *self);
	ULONG (*release)(struct dxcore_adapter *self);
	bool (*is_valid)(struct dxcore_adapter *self);
	bool (*is_attribute_supported)(struct dxcore_adapter *self, const GUID *attribute);
	bool (*is_property_supported)(struct dxcore_adapter *self, uint32_t property);
	HRESULT(*get_property)
	(struct dxcore_adapter *self, uint32_t property, size_t size_bytes, void *data);
	HRESULT(*get_property_size)
	(struct dxcore_adapter *self, uint32_t property, size_t *size_bytes_out);
	bool (*is_query_state_supported)(struct dxcore_adapter *self, uint32_t state);
	HRESULT(*query_state)
	(struct dxcore_adapter *self, uint32_t state, size_t details_bytes, const void *details,
	 size_t size_bytes, void *data);
	bool (*is_set_state_supported)(struct dxcore_adapter *self, uint32_t state);
	HRESULT(*set_state)
	(struct dxcore_adapter *self, uint32_t state, size_t details_bytes, const void *details,
	 size_t size_bytes, const void *data);
	HRESULT (*get_factory)(struct dxcore_adapter *self, const GUID *iid, void **out);
};

/* IDXCoreAdapterList */
struct dxcore_list_table {
	HRESULT (*query_interface)(struct dxcore_list *self, const GUID *iid, void **out);
	ULONG (*add_ref)(struct dxcore_list *self);
	ULONG (*release)(struct dxcore_list *self);
	HRESULT(*get_adapter)
	(struct dxcore_list *self, uint32_t index, const GUID *iid, void **out);
	uint32_t (*get_adapter_count)(struct dxcore_list *self);
	bool (*is_stale)(struct dxcore_list *self);
	HRESULT (*get_factory)(struct dxcore_list *self, const GUID *iid, void **out);
	HRESULT (*sort)(struct dxcore_list *self, uint32_t count, const uint32_t *preferences);
	bool (*is_preference_supported)(struct dxcore_list *self, uint32_t preference);
};

/* IDXCoreAdapterFactory */
struct dxcore_factory_table {
	HRESULT (*query_interface)(struct dxcore_factory *self, const GUID *iid, void **out);
	ULONG (*add_ref)(struct dxcore_factory *self);
	ULONG (*release)(struct dxcore_factory *self);
	HRESULT(*create_adapter_list)
	(struct dxcore_factory *self, uint32_t count, const GUID *attributes, const GUID *iid,
	 void **out);
	HRESULT(*get_adapter_by_luid)
	(struct dxcore_factory *self, const LUID *luid, const GUID *iid, void **out);
	bool (*is_notification_supported)(struct dxcore_factory *self, uint32_t type);
	HRESULT(*register_notification)
	(struct dxcore_factory *self, void *object, uint32_t type, dxcore_callback callback,
	 void *context, uint32_t *cookie_out);
	HRESULT (*unregister_notification)(struct dxcore_factory *self, uint32_t cookie);
};

/* ---- behind them ---- */

/*
 * One per LUID and process, kept to its end: clients compare the pointers. The count is the
 * clients'; nothing happens when it reaches zero.
 */
struct dxcore_adapter {
	const struct dxcore_adapter_table *table;
	_Atomic uint32_t references;

	/* Asked once. Read freely afterwards. */
	LUID luid;
	D3DKMT_ADAPTERTYPE type;
	D3DKMT_DRIVERVERSION model_version;
	D3DKMT_WDDM_1_2_CAPS caps;
	D3DKMT_SEGMENTSIZEINFO sizes;
	D3DKMT_DEVICE_IDS ids;
	char *description; /* UTF-8 */
	uint64_t driver_version;
	bool has_driver_version;

	_Atomic bool is_gone; /* once that was seen, it stays so */
};

struct dxcore_list {
	const struct dxcore_list_table *table;
	_Atomic uint32_t references;
	_Atomic uint32_t registrations; /* whose callbacks are given this list */
	uint32_t count;
	struct dxcore_adapter *adapters[DXCORE_MAX_ADAPTERS];
};

/* The adapter of this LUID, asked about now if it is new. Not referenced. */
HRESULT dxcore_adapter_find(LUID luid, struct dxcore_adapter **adapter_out);

/* Asks the kernel, until it is gone. */
bool dxcore_adapter_is_valid(struct dxcore_adapter *adapter);

bool dxcore_adapter_has(const struct dxcore_adapter *adapter, const GUID *attribute);

HRESULT dxcore_factory_get(const GUID *iid, void **out);

/* NTSTATUS of a D3DKMT call as DXCore says it. */
HRESULT dxcore_result(NTSTATUS status);

bool dxcore_guid_is(const GUID *guid, const GUID *other);
/* IUnknown::QueryInterface of what has one interface besides. */
HRESULT dxcore_query(void *self, _Atomic uint32_t *references, const GUID *own, const GUID *iid,
		     void **out);

/* As the factory's methods of these names; see dxcore_notification.c. */
HRESULT dxcore_register(void *object, uint32_t type, dxcore_callback callback, void *context,
			uint32_t *cookie_out);
HRESULT dxcore_unregister(uint32_t cookie);

extern const GUID dxcore_iid_list;
extern const GUID dxcore_iid_adapter;

/* The public entry point, declared for clients by <directx/dxcore.h>. */
HRESULT DXCoreCreateAdapterFactory(const GUID *riid, void **ppvFactory);

#endif
