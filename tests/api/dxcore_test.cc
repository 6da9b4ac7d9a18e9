/* SPDX-License-Identifier: MIT */
/*
 * dxcore_test.cc - DXCoreCreateAdapterFactory, called through the real interfaces of
 * DirectX-Headers. Skipped where they are not installed.
 */
#include <cstring>

#include "support/claims.h"

#if HAS_DIRECTX_HEADERS

#include <wsl/winadapter.h>
#include <directx/dxcore.h>
#include <dxguids/dxguids.h>

#include <string>

#include <dxg/d3dkmthk.h>

static const GUID nonsense = { 1, 2, 3, { 4, 5, 6, 7, 8, 9, 10, 11 } };

static void test_factory(IDXCoreAdapterFactory *factory)
{
	IDXCoreAdapterFactory *again = nullptr;
	IUnknown *unknown = nullptr;
	void *nothing = &nothing;

	claim(DXCoreCreateAdapterFactory(IID_IDXCoreAdapterFactory,
					 reinterpret_cast<void **>(&again)) == S_OK &&
		      again == factory,
	      "there is one factory");
	claim(again->Release() == 1, "references are counted");
	claim(factory->QueryInterface(IID_IUnknown, reinterpret_cast<void **>(&unknown)) == S_OK &&
		      unknown == factory,
	      "a factory is an unknown");
	unknown->Release();
	claim(factory->QueryInterface(IID_IDXCoreAdapter, &nothing) == E_NOINTERFACE && !nothing,
	      "a factory is not an adapter");
	claim(DXCoreCreateAdapterFactory(nonsense, &nothing) == E_NOINTERFACE,
	      "an unknown interface is refused");
	claim(DXCoreCreateAdapterFactory(IID_IDXCoreAdapterFactory, nullptr) == E_POINTER,
	      "a null pointer is refused");
}

static void test_list(IDXCoreAdapterFactory *factory)
{
	const GUID compute = DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE;
	const GUID both[] = { compute, DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS };
	const GUID impossible[] = { compute, nonsense };
	IDXCoreAdapterList *list = nullptr;
	IDXCoreAdapterFactory *parent = nullptr;
	IDXCoreAdapter *adapter = nullptr;
	IDXCoreAdapter *same = nullptr;
	void *nothing = &nothing;

	claim(factory->CreateAdapterList(1, &compute, &list) == S_OK && list,
	      "compute adapters can be listed");
	claim(list->GetAdapterCount() == 1, "there is one");
	claim(!list->IsStale(), "the list is not stale");
	claim(list->GetAdapter(0, &adapter) == S_OK && adapter, "the list gives it");
	claim(list->GetAdapter(0, &same) == S_OK && same == adapter, "the same one each time");
	same->Release();
	claim(list->GetAdapter(1, IID_IDXCoreAdapter, &nothing) == E_INVALIDARG && !nothing,
	      "an index beyond the list is refused");
	claim(list->GetAdapter(0, nonsense, &nothing) == E_NOINTERFACE,
	      "an unknown interface is refused");
	claim(list->GetAdapter(0, IID_IDXCoreAdapter, nullptr) == E_POINTER,
	      "a null pointer is refused");
	claim(list->GetFactory(&parent) == S_OK && parent == factory, "the list knows its factory");
	parent->Release();
	DXCoreAdapterPreference preferences[] = { DXCoreAdapterPreference::Hardware,
						  static_cast<DXCoreAdapterPreference>(99) };
	claim(list->Sort(2, preferences) == S_OK, "it is sorted, unknown preferences or not");
	claim(list->Sort(0, preferences) == E_INVALIDARG && list->Sort(1, nullptr) == E_INVALIDARG,
	      "sorting by nothing is refused");
	claim(list->IsAdapterPreferenceSupported(DXCoreAdapterPreference::HighPerformance) &&
		      !list->IsAdapterPreferenceSupported(preferences[1]),
	      "known preferences are supported");
	claim(list->AddRef() == 2 && list->Release() == 1 && list->Release() == 0,
	      "the list goes with its last reference");
	claim(adapter->IsValid(), "the adapter stays");
	adapter->Release();

	claim(factory->CreateAdapterList(2, both, &list) == S_OK && list->GetAdapterCount() == 1,
	      "graphics and compute: the same adapter");
	list->Release();
	claim(factory->CreateAdapterList(2, impossible, &list) == S_OK &&
		      list->GetAdapterCount() == 0,
	      "all attributes have to match; an empty list is a list");
	list->Release();
	claim(factory->CreateAdapterList(0, &compute, IID_IDXCoreAdapterList, &nothing) ==
			      E_INVALIDARG &&
		      factory->CreateAdapterList(1, nullptr, IID_IDXCoreAdapterList, &nothing) ==
			      E_INVALIDARG,
	      "a list by nothing is refused");
	claim(factory->CreateAdapterList(1, &compute, nonsense, &nothing) == E_NOINTERFACE &&
		      factory->CreateAdapterList(1, &compute, IID_IDXCoreAdapterList, nullptr) ==
			      E_POINTER,
	      "a list of nothing is refused");
}

template <class T>
static bool property_is(IDXCoreAdapter *adapter, DXCoreAdapterProperty property, const T &expected)
{
	size_t size = 0;
	T value;

	std::memset(&value, 0xee, sizeof(value));
	return adapter->IsPropertySupported(property) &&
	       adapter->GetPropertySize(property, &size) == S_OK && size == sizeof(T) &&
	       adapter->GetProperty(property, sizeof(value), &value) == S_OK &&
	       std::memcmp(&value, &expected, sizeof(value)) == 0;
}

/* What D3DKMT says of it is what DXCore says. */
static void test_driver_version(IDXCoreAdapter *adapter, const LUID &luid)
{
	using P = DXCoreAdapterProperty;
	D3DKMT_OPENADAPTERFROMLUID open = {};
	D3DKMT_KMD_DRIVER_VERSION version = {};
	D3DKMT_QUERYADAPTERINFO query = {};
	size_t size = 99;

	open.AdapterLuid = luid;
	D3DKMTOpenAdapterFromLuid(&open);
	query.hAdapter = open.hAdapter;
	query.Type = KMTQAITYPE_KMD_DRIVER_VERSION;
	query.pPrivateDriverData = &version;
	query.PrivateDriverDataSize = sizeof(version);
	if (D3DKMTQueryAdapterInfo(&query) == STATUS_SUCCESS)
		claim(property_is(adapter, P::DriverVersion,
				  static_cast<uint64_t>(version.DriverVersion.QuadPart)),
		      "DriverVersion is the version of the kernel-mode driver");
	else
		claim(!adapter->IsPropertySupported(P::DriverVersion) &&
			      adapter->GetPropertySize(P::DriverVersion, &size) ==
				      DXGI_ERROR_UNSUPPORTED &&
			      size == 0,
		      "DriverVersion is not known, and says so");
	D3DKMT_CLOSEADAPTER done = { open.hAdapter };
	D3DKMTCloseAdapter(&done);
}

/* What D3DKMT says of it is what DXCore says. */
static bool budget_agrees(IDXCoreAdapter *adapter, D3DKMT_HANDLE handle, DXCoreSegmentGroup group)
{
	DXCoreAdapterMemoryBudgetNodeSegmentGroup question = { 0, group };
	DXCoreAdapterMemoryBudget budget;
	D3DKMT_QUERYVIDEOMEMORYINFO info = {};

	std::memset(&budget, 0xee, sizeof(budget));
	info.hAdapter = handle;
	info.MemorySegmentGroup = static_cast<D3DKMT_MEMORY_SEGMENT_GROUP>(group);
	return D3DKMTQueryVideoMemoryInfo(&info) == STATUS_SUCCESS &&
	       adapter->QueryState(DXCoreAdapterState::AdapterMemoryBudget, &question, &budget) ==
		       S_OK &&
	       budget.budget == info.Budget && budget.currentUsage == info.CurrentUsage &&
	       budget.availableForReservation == info.AvailableForReservation &&
	       budget.currentReservation == info.CurrentReservation && budget.budget > 0;
}

static void test_budget(IDXCoreAdapter *adapter, D3DKMT_HANDLE handle)
{
	const auto state = DXCoreAdapterState::AdapterMemoryBudget;
	DXCoreAdapterMemoryBudgetNodeSegmentGroup question = {};
	D3DKMT_CHANGEVIDEOMEMORYRESERVATION reserve = {};
	unsigned char large[64];

	claim(adapter->IsQueryStateSupported(state), "the budget can be asked for");
	claim(budget_agrees(adapter, handle, DXCoreSegmentGroup::Local) &&
		      budget_agrees(adapter, handle, DXCoreSegmentGroup::NonLocal),
	      "it is what D3DKMTQueryVideoMemoryInfo says");
	reserve.hAdapter = handle;
	reserve.MemorySegmentGroup = D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL;
	reserve.Reservation = 1 << 20;
	claim(D3DKMTChangeVideoMemoryReservation(&reserve) == STATUS_SUCCESS &&
		      budget_agrees(adapter, handle, DXCoreSegmentGroup::Local),
	      "also with a reservation");
	reserve.Reservation = 0;
	D3DKMTChangeVideoMemoryReservation(&reserve);
	std::memset(large, 0xee, sizeof(large));
	claim(adapter->QueryState(state, sizeof(question), &question, sizeof(large), large) ==
			      S_OK &&
		      large[32] == 0 && large[63] == 0,
	      "a larger buffer is filled with zeros");
	claim(adapter->QueryState(state, sizeof(question), &question, 31, large) == E_INVALIDARG &&
		      adapter->QueryState(state, 7, &question, 32, large) == E_INVALIDARG,
	      "buffers that are too small are refused");
	claim(adapter->QueryState(state, sizeof(question), nullptr, 32, large) == E_POINTER &&
		      adapter->QueryState(state, sizeof(question), &question, 32, nullptr) ==
			      E_POINTER &&
		      adapter->QueryState(state, 0, nullptr, 32, large) == E_POINTER,
	      "null pointers are refused");
	question.segmentGroup = static_cast<DXCoreSegmentGroup>(2);
	claim(adapter->QueryState(state, sizeof(question), &question, 32, large) == E_INVALIDARG,
	      "an unknown group is refused");
	question = { 1, DXCoreSegmentGroup::Local };
	claim(adapter->QueryState(state, sizeof(question), &question, 32, large) == E_INVALIDARG,
	      "a node that is not there is refused");
	claim(adapter->QueryState(static_cast<DXCoreAdapterState>(99), sizeof(question), &question,
				  32, large) == DXGI_ERROR_INVALID_CALL &&
		      !adapter->IsQueryStateSupported(static_cast<DXCoreAdapterState>(99)),
	      "an unknown state is refused");
}

static void test_properties(IDXCoreAdapter *adapter, const LUID &luid)
{
	using P = DXCoreAdapterProperty;
	size_t size = 0;
	char small[4];

	claim(adapter->GetPropertySize(P::DriverDescription, &size) == S_OK,
	      "the description has a size");
	std::string description(size, '\0');
	claim(adapter->GetProperty(P::DriverDescription, size, description.data()) == S_OK &&
		      description.c_str() == std::string("opendxgk Soft GPU") &&
		      size == std::strlen(description.c_str()) + 1,
	      "the description is UTF-8 and ends with zero");
	claim(property_is(adapter, P::InstanceLuid, luid), "InstanceLuid");
	claim(property_is(adapter, P::IsHardware, true), "IsHardware is true");
	claim(property_is(adapter, P::IsIntegrated, false), "IsIntegrated is false");
	claim(property_is(adapter, P::IsDetachable, false), "IsDetachable is false");
	claim(property_is(adapter, P::AcgCompatible, false), "AcgCompatible is false");
	claim(property_is(adapter, P::HardwareID, DXCoreHardwareID{}), "HardwareID");
	claim(property_is(adapter, P::HardwareIDParts, DXCoreHardwareIDParts{}), "HardwareIDParts");
	claim(property_is(adapter, P::KmdModelVersion, KMT_DRIVERVERSION_WDDM_2_6),
	      "KmdModelVersion is WDDM 2.6");
	claim(property_is(adapter, P::DedicatedAdapterMemory, uint64_t{ 256 } << 20),
	      "DedicatedAdapterMemory is 256 MiB");
	claim(property_is(adapter, P::DedicatedSystemMemory, uint64_t{ 0 }),
	      "DedicatedSystemMemory is none");
	claim(adapter->IsPropertySupported(P::SharedSystemMemory), "SharedSystemMemory is known");
	claim(adapter->GetPropertySize(P::ComputePreemptionGranularity, &size) == S_OK && size == 2,
	      "granularities are 16 bits");
	test_driver_version(adapter, luid);
	claim(!adapter->IsPropertySupported(static_cast<P>(99)) &&
		      adapter->GetProperty(static_cast<P>(99), sizeof(small), small) ==
			      DXGI_ERROR_INVALID_CALL,
	      "an unknown property is refused");
	claim(adapter->GetProperty(P::InstanceLuid, sizeof(small), small) == E_INVALIDARG,
	      "a buffer that is too small is refused");
	claim(adapter->GetProperty(P::InstanceLuid, 8, nullptr) == E_POINTER &&
		      adapter->GetPropertySize(P::InstanceLuid, nullptr) == E_POINTER,
	      "null pointers are refused");
	unsigned char large[16];
	std::memset(large, 0xee, sizeof(large));
	claim(adapter->GetProperty(P::IsHardware, sizeof(large), large) == S_OK && large[0] == 1 &&
		      large[1] == 0 && large[15] == 0,
	      "a larger buffer is filled with zeros");
}

template <class T> static T asked(D3DKMT_HANDLE handle, KMTQUERYADAPTERINFOTYPE type)
{
	T answer = {};
	D3DKMT_QUERYADAPTERINFO query = {};

	query.hAdapter = handle;
	query.Type = type;
	query.pPrivateDriverData = &answer;
	query.PrivateDriverDataSize = sizeof(answer);
	claim(D3DKMTQueryAdapterInfo(&query) == STATUS_SUCCESS, "D3DKMT answers");
	return answer;
}

/* The other door to the same facts is D3DKMT: each property says what that says. */
static void test_properties_agree(IDXCoreAdapter *adapter, D3DKMT_HANDLE handle)
{
	using P = DXCoreAdapterProperty;
	const auto type = asked<D3DKMT_ADAPTERTYPE>(handle, KMTQAITYPE_ADAPTERTYPE);
	const auto sizes = asked<D3DKMT_SEGMENTSIZEINFO>(handle, KMTQAITYPE_GETSEGMENTSIZE);
	const auto caps = asked<D3DKMT_WDDM_1_2_CAPS>(handle, KMTQAITYPE_WDDM_1_2_CAPS);
	const auto ids = asked<D3DKMT_QUERY_DEVICE_IDS>(handle, KMTQAITYPE_PHYSICALADAPTERDEVICEIDS)
				 .DeviceIds;
	const auto version = asked<D3DKMT_DRIVERVERSION>(handle, KMTQAITYPE_DRIVERVERSION);

	claim(property_is(adapter, P::KmdModelVersion, version), "KmdModelVersion agrees");
	claim(property_is(adapter, P::ComputePreemptionGranularity,
			  uint16_t(caps.PreemptionCaps.ComputePreemptionGranularity)) &&
		      property_is(adapter, P::GraphicsPreemptionGranularity,
				  uint16_t(caps.PreemptionCaps.GraphicsPreemptionGranularity)),
	      "both granularities of preemption agree");
	claim(property_is(adapter, P::DedicatedAdapterMemory,
			  uint64_t(sizes.DedicatedVideoMemorySize)) &&
		      property_is(adapter, P::DedicatedSystemMemory,
				  uint64_t(sizes.DedicatedSystemMemorySize)) &&
		      property_is(adapter, P::SharedSystemMemory,
				  uint64_t(sizes.SharedSystemMemorySize)) &&
		      sizes.SharedSystemMemorySize > 0,
	      "the three sizes of memory agree");
	claim(property_is(adapter, P::AcgCompatible, bool(type.ACGSupported)) &&
		      property_is(adapter, P::IsHardware, !type.SoftwareDevice) &&
		      property_is(adapter, P::IsIntegrated, bool(type.HybridIntegrated)) &&
		      property_is(adapter, P::IsDetachable, bool(type.Detachable)),
	      "the four kinds of adapter agree");
	const DXCoreHardwareID whole = { ids.VendorID, ids.DeviceID,
					 ids.SubSystemID << 16 | (ids.SubVendorID & 0xffff),
					 ids.RevisionID };
	const DXCoreHardwareIDParts parts = { ids.VendorID, ids.DeviceID, ids.SubSystemID,
					      ids.SubVendorID, ids.RevisionID };
	claim(property_is(adapter, P::HardwareID, whole) &&
		      property_is(adapter, P::HardwareIDParts, parts),
	      "both ways to write the ids of its hardware agree");
}

/* Whatever the header names is answered, or said not to be known; and what it does not name is no call. */
static void test_every_name(IDXCoreAdapter *adapter, IDXCoreAdapterList *list)
{
	const auto last = static_cast<uint32_t>(DXCoreAdapterProperty::HardwareIDParts);
	const auto last_state = static_cast<uint32_t>(DXCoreAdapterState::AdapterMemoryBudget);
	bool is_answered = true;
	bool is_kept = true;
	unsigned char data[256];

	for (uint32_t i = 0; i <= last; i++) {
		const auto property = static_cast<DXCoreAdapterProperty>(i);
		const bool is_known = adapter->IsPropertySupported(property);
		size_t size = 99;
		const HRESULT asked = adapter->GetPropertySize(property, &size);
		const HRESULT got = adapter->GetProperty(property, sizeof(data), data);

		is_answered &=
			is_known ? asked == S_OK && size > 0 && got == S_OK
				 : asked == DXGI_ERROR_UNSUPPORTED && size == 0 && got == asked;
	}
	claim(is_answered, "each of the 15 properties is answered, or said not to be known");
	claim(!adapter->IsPropertySupported(static_cast<DXCoreAdapterProperty>(last + 1)),
	      "there is no 16th");
	for (uint32_t i = 0; i <= last_state + 1; i++) {
		const auto state = static_cast<DXCoreAdapterState>(i);

		is_answered &= adapter->IsQueryStateSupported(state) == (i <= last_state);
		is_kept &= !adapter->IsSetStateSupported(state) &&
			   FAILED(adapter->SetState(state, 0, nullptr, sizeof(data), data));
	}
	claim(is_answered && is_kept, "both states can be asked for, and none can be set");
	claim(adapter->IsAttributeSupported(DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS) &&
		      adapter->IsAttributeSupported(DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE) &&
		      adapter->IsAttributeSupported(DXCORE_ADAPTER_ATTRIBUTE_D3D11_GRAPHICS),
	      "it has all three attributes");
	for (uint32_t i = 0; i <= 3; i++) {
		auto preference = static_cast<DXCoreAdapterPreference>(i);

		is_answered &= list->IsAdapterPreferenceSupported(preference) == (i < 3) &&
			       list->Sort(1, &preference) == S_OK && list->GetAdapterCount() == 1;
	}
	claim(is_answered, "each of the three preferences is known, and sorting loses no adapter");
}

static void test_adapter(IDXCoreAdapterFactory *factory)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = {};
	IDXCoreAdapter *adapter = nullptr;
	IDXCoreAdapter *same = nullptr;
	IDXCoreAdapterFactory *parent = nullptr;
	void *nothing = &nothing;

	all.NumAdapters = 34;
	all.pAdapters = infos;
	claim(D3DKMTEnumAdapters2(&all) == STATUS_SUCCESS, "D3DKMT finds adapters too");
	LUID luid = infos[0].AdapterLuid;
	claim(factory->GetAdapterByLuid(luid, &adapter) == S_OK && adapter,
	      "an adapter is found by its LUID");
	claim(factory->GetAdapterByLuid(luid, &same) == S_OK && same == adapter,
	      "the same one each time");
	same->Release();
	LUID unknown = { 0xdead, 0 };
	claim(factory->GetAdapterByLuid(unknown, IID_IDXCoreAdapter, &nothing) == E_INVALIDARG,
	      "an unknown LUID is refused");
	claim(adapter->GetFactory(&parent) == S_OK && parent == factory,
	      "the adapter knows its factory");
	parent->Release();
	claim(adapter->IsValid(), "it is valid");
	claim(adapter->IsAttributeSupported(DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE) &&
		      adapter->IsAttributeSupported(DXCORE_ADAPTER_ATTRIBUTE_D3D11_GRAPHICS) &&
		      !adapter->IsAttributeSupported(nonsense),
	      "it has the attributes of a render adapter");
	test_properties(adapter, luid);
	test_properties_agree(adapter, infos[0].hAdapter);
	IDXCoreAdapterList *list = nullptr;
	claim(factory->CreateAdapterList(1, &DXCORE_ADAPTER_ATTRIBUTE_D3D12_GRAPHICS, &list) ==
		      S_OK,
	      "graphics adapters can be listed");
	test_every_name(adapter, list);
	list->Release();

	bool is_updating = true;
	claim(adapter->IsQueryStateSupported(DXCoreAdapterState::IsDriverUpdateInProgress) &&
		      adapter->QueryState(DXCoreAdapterState::IsDriverUpdateInProgress,
					  &is_updating) == S_OK &&
		      !is_updating,
	      "no driver update is under way");
	test_budget(adapter, infos[0].hAdapter);
	claim(!adapter->IsSetStateSupported(DXCoreAdapterState::AdapterMemoryBudget) &&
		      adapter->SetState(DXCoreAdapterState::AdapterMemoryBudget, 0, nullptr, 0,
					nullptr) == DXGI_ERROR_UNSUPPORTED,
	      "no state can be set");
	claim(adapter->Release() == 0, "references are counted");
}

int main()
{
	IDXCoreAdapterFactory *factory = nullptr;

	claim(DXCoreCreateAdapterFactory(&factory) == S_OK && factory, "there is a factory");
	if (!factory)
		return 1;
	test_factory(factory);
	test_list(factory);
	test_adapter(factory);
	claim(factory->Release() == 0, "the factory was referenced as often as released");
	return claims_end();
}

#else

int main()
{
	return claims_skip("directx-headers-dev is not installed");
}

#endif
