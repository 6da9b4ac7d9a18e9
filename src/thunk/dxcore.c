/* SPDX-License-Identifier: MIT */
/*
 * dxcore.c - DXCoreCreateAdapterFactory: the factory, and lists of adapters.
 *
 * There is one factory, which is always there. A list belongs to who asked for it, until its last
 * reference goes; the adapters in it do not change, their order does when it is sorted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/attributes.h"
#include "thunk/dxcore.h"

static const GUID iid_unknown = { 0, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };
static const GUID iid_factory = {
	0x78ee5945, 0xc36e, 0x4b13, { 0xa6, 0x69, 0x00, 0x5d, 0xd1, 0x1c, 0x0f, 0x06 }
};
const GUID dxcore_iid_list = {
	0x526c7776, 0x40e9, 0x459b, { 0xb7, 0x11, 0xf3, 0x2a, 0xd7, 0x6d, 0xfc, 0x28 }
};

/* ---- lists ---- */

HRESULT dxcore_query(void *self, _Atomic uint32_t *references, const GUID *own, const GUID *iid,
		     void **out)
{
	if (!out)
		return E_POINTER;
	*out = NULL;
	if (!iid || (!dxcore_guid_is(iid, own) && !dxcore_guid_is(iid, &iid_unknown)))
		return E_NOINTERFACE;
	atomic_fetch_add(references, 1);
	*out = self;
	return S_OK;
}

static HRESULT list_query_interface(struct dxcore_list *self, const GUID *iid, void **out)
{
	return dxcore_query(self, &self->references, &dxcore_iid_list, iid, out);
}

static ULONG list_add_ref(struct dxcore_list *self)
{
	return atomic_fetch_add(&self->references, 1) + 1;
}

static ULONG list_release(struct dxcore_list *self)
{
	uint32_t left = atomic_fetch_sub(&self->references, 1) - 1;

	if (left == 0) {
		/* DXCore promises this: a callback would be given what is not there any more. */
		if (atomic_load(&self->registrations) != 0) {
			fputs("dxcore: an adapter list is released for the last time while "
			      "notifications of it are registered\n",
			      stderr);
			abort();
		}
		free(self);
	}
	return left;
}

static HRESULT list_get_adapter(struct dxcore_list *self, uint32_t index, const GUID *iid,
				void **out)
{
	if (!out)
		return E_POINTER;
	*out = NULL;
	if (index >= self->count)
		return E_INVALIDARG;
	return self->adapters[index]->table->query_interface(self->adapters[index], iid, out);
}

static uint32_t list_get_adapter_count(struct dxcore_list *self)
{
	return self->count;
}

/* Adapters do not come while the kernel runs; they may be lost, and do not come back. */
static bool list_is_stale(struct dxcore_list *self)
{
	for (uint32_t i = 0; i < self->count; i++) {
		if (!dxcore_adapter_is_valid(self->adapters[i]))
			return true;
	}
	return false;
}

static HRESULT list_get_factory(struct dxcore_list *self, const GUID *iid, void **out)
{
	return dxcore_factory_get(iid, out);
}

static bool list_is_preference_supported(struct dxcore_list *self, uint32_t preference)
{
	return preference <= PREFER_HIGH_PERFORMANCE;
}

static bool is_preferred(const struct dxcore_adapter *adapter, uint32_t preference)
{
	switch (preference) {
	case PREFER_HARDWARE:
		return !adapter->type.SoftwareDevice;
	case PREFER_MINIMUM_POWER:
		return adapter->type.HybridIntegrated;
	case PREFER_HIGH_PERFORMANCE:
		return !adapter->type.HybridIntegrated;
	default: /* one that is not known decides nothing */
		return false;
	}
}

/* Earlier preferences weigh more; equal ones keep their order. */
static bool goes_before(const struct dxcore_adapter *adapter, const struct dxcore_adapter *other,
			uint32_t count, const uint32_t *preferences)
{
	for (uint32_t i = 0; i < count; i++) {
		bool wanted = is_preferred(adapter, preferences[i]);
		if (wanted != is_preferred(other, preferences[i]))
			return wanted;
	}
	return false;
}

static HRESULT list_sort(struct dxcore_list *self, uint32_t count, const uint32_t *preferences)
{
	if (count == 0 || !preferences)
		return E_INVALIDARG;
	for (uint32_t i = 1; i < self->count; i++) {
		struct dxcore_adapter *moving = self->adapters[i];
		uint32_t at = i;
		for (; at > 0 && goes_before(moving, self->adapters[at - 1], count, preferences);
		     at--)
			self->adapters[at] = self->adapters[at - 1];
		self->adapters[at] = moving;
	}
	return S_OK;
}

static const struct dxcore_list_table list_table = {
	.query_interface = list_query_interface,
	.add_ref = list_add_ref,
	.release = list_release,
	.get_adapter = list_get_adapter,
	.get_adapter_count = list_get_adapter_count,
	.is_stale = list_is_stale,
	.get_factory = list_get_factory,
	.sort = list_sort,
	.is_preference_supported = list_is_preference_supported,
};

/* ---- the factory ---- */

struct dxcore_factory {
	const struct dxcore_factory_table *table;
	_Atomic uint32_t references; /* the clients'; it stays when they are gone */
};

static HRESULT factory_query_interface(struct dxcore_factory *self, const GUID *iid, void **out)
{
	return dxcore_query(self, &self->references, &iid_factory, iid, out);
}

static ULONG factory_add_ref(struct dxcore_factory *self)
{
	return atomic_fetch_add(&self->references, 1) + 1;
}

static ULONG factory_release(struct dxcore_factory *self)
{
	return atomic_fetch_sub(&self->references, 1) - 1;
}

static bool has_all(const struct dxcore_adapter *adapter, uint32_t count, const GUID *attributes)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!dxcore_adapter_has(adapter, &attributes[i]))
			return false;
	}
	return true;
}

/* The handles are only how one learns the LUIDs; adapters are met by LUID, one by one. */
static HRESULT list_fill(struct dxcore_list *list, const D3DKMT_ENUMADAPTERS2 *all, uint32_t count,
			 const GUID *attributes)
{
	HRESULT result = S_OK;

	for (ULONG i = 0; i < all->NumAdapters; i++) {
		D3DKMT_CLOSEADAPTER done = { all->pAdapters[i].hAdapter };
		struct dxcore_adapter *adapter;
		D3DKMTCloseAdapter(&done);
		if (result != S_OK)
			continue;
		result = dxcore_adapter_find(all->pAdapters[i].AdapterLuid, &adapter);
		if (result == S_OK && dxcore_adapter_is_valid(adapter) &&
		    has_all(adapter, count, attributes))
			list->adapters[list->count++] = adapter;
		if (result == DXGI_ERROR_DEVICE_REMOVED)
			result = S_OK; /* what is lost is in no list */
	}
	return result;
}

static HRESULT list_create(uint32_t count, const GUID *attributes, struct dxcore_list **list_out)
{
	D3DKMT_ADAPTERINFO infos[DXCORE_MAX_ADAPTERS];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = DXCORE_MAX_ADAPTERS, .pAdapters = infos };
	struct dxcore_list *list = calloc(1, sizeof(*list));

	if (!list)
		return E_OUTOFMEMORY;
	HRESULT result = dxcore_result(D3DKMTEnumAdapters2(&all));
	if (result == S_OK)
		result = list_fill(list, &all, count, attributes);
	if (result != S_OK) {
		free(list);
		return result;
	}
	list->table = &list_table;
	*list_out = list;
	return S_OK;
}

static HRESULT factory_create_adapter_list(struct dxcore_factory *self, uint32_t count,
					   const GUID *attributes, const GUID *iid, void **out)
{
	struct dxcore_list *list = NULL;

	if (!out)
		return E_POINTER;
	*out = NULL;
	if (count == 0 || !attributes)
		return E_INVALIDARG;
	HRESULT result = list_create(count, attributes, &list);
	if (result != S_OK)
		return result;
	result = list_query_interface(list, iid, out);
	if (result != S_OK)
		free(list);
	return result;
}

static HRESULT factory_get_adapter_by_luid(struct dxcore_factory *self, const LUID *luid,
					   const GUID *iid, void **out)
{
	struct dxcore_adapter *adapter;

	if (!out)
		return E_POINTER;
	*out = NULL;
	if (!luid)
		return E_INVALIDARG;
	HRESULT result = dxcore_adapter_find(*luid, &adapter);
	return result == S_OK ? adapter->table->query_interface(adapter, iid, out) : result;
}

static bool factory_is_notification_supported(struct dxcore_factory *self, uint32_t type)
{
	return type < NOTIFICATION_COUNT;
}

static HRESULT factory_register_notification(struct dxcore_factory *self, void *object,
					     uint32_t type, dxcore_callback callback, void *context,
					     uint32_t *cookie_out)
{
	return dxcore_register(object, type, callback, context, cookie_out);
}

static HRESULT factory_unregister_notification(struct dxcore_factory *self, uint32_t cookie)
{
	return dxcore_unregister(cookie);
}

static const struct dxcore_factory_table factory_table = {
	.query_interface = factory_query_interface,
	.add_ref = factory_add_ref,
	.release = factory_release,
	.create_adapter_list = factory_create_adapter_list,
	.get_adapter_by_luid = factory_get_adapter_by_luid,
	.is_notification_supported = factory_is_notification_supported,
	.register_notification = factory_register_notification,
	.unregister_notification = factory_unregister_notification,
};

HRESULT dxcore_factory_get(const GUID *iid, void **out)
{
	static struct dxcore_factory factory = { .table = &factory_table };

	return factory_query_interface(&factory, iid, out);
}

EXPORTED HRESULT DXCoreCreateAdapterFactory(const GUID *riid, void **ppvFactory)
{
	return dxcore_factory_get(riid, ppvFactory);
}
