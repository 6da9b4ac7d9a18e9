/* SPDX-License-Identifier: MIT */
/*
 * dxcore_notification_test.cc - what IDXCoreAdapterFactory tells of adapters and lists, called
 * through the real interfaces of DirectX-Headers. Skipped where they are not installed.
 */
#include <cstring>

#include "support/claims.h"

#if HAS_DIRECTX_HEADERS

#include <wsl/winadapter.h>
#include <directx/dxcore.h>
#include <dxguids/dxguids.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/testing.h>

using Type = DXCoreNotificationType;

static IDXCoreAdapterFactory *factory;

/* ---- who listens ---- */

struct listener {
	std::mutex mutex;
	std::condition_variable changed;
	unsigned count = 0;
	unsigned entered = 0;
	Type type = static_cast<Type>(99);
	IUnknown *object = nullptr;
	uint32_t cookie = 0;
	uint32_t cookie_seen = 0; /* in the first callback */
	bool ends_itself = false;
	HRESULT own_end = E_FAIL;
	bool is_held = false; /* the callback stays until that is over */
	bool was_valid = true;

	void wait(unsigned wanted)
	{
		std::unique_lock<std::mutex> lock(mutex);
		changed.wait(lock, [&] { return count >= wanted; });
	}
	void wait_entered(unsigned wanted)
	{
		std::unique_lock<std::mutex> lock(mutex);
		changed.wait(lock, [&] { return entered >= wanted; });
	}
	unsigned counted()
	{
		std::lock_guard<std::mutex> lock(mutex);
		return count;
	}
	void let_go()
	{
		std::lock_guard<std::mutex> lock(mutex);
		is_held = false;
		changed.notify_all();
	}
};

static void heard(Type type, IUnknown *object, void *context)
{
	auto *self = static_cast<listener *>(context);
	IDXCoreAdapter *adapter = nullptr;
	bool is_valid = false;

	/* Calls into DXCore are allowed here. */
	if (object->QueryInterface(IID_IDXCoreAdapter, reinterpret_cast<void **>(&adapter)) ==
	    S_OK) {
		is_valid = adapter->IsValid();
		adapter->Release();
	}
	std::unique_lock<std::mutex> lock(self->mutex);
	self->entered++;
	self->changed.notify_all();
	self->changed.wait(lock, [&] { return !self->is_held; });
	if (self->count == 0)
		self->cookie_seen = self->cookie;
	self->type = type;
	self->object = object;
	self->was_valid = is_valid;
	if (self->ends_itself)
		self->own_end = factory->UnregisterEventNotification(self->cookie);
	self->count++;
	self->changed.notify_all();
}

static HRESULT listen(listener *self, IUnknown *object, Type type)
{
	return factory->RegisterEventNotification(object, type, heard, self, &self->cookie);
}

static bool end(listener *self)
{
	return factory->UnregisterEventNotification(self->cookie) == S_OK;
}

/* Callbacks come in order: what was due before this is over afterwards. */
static void flush(IDXCoreAdapter *adapter)
{
	listener last;

	if (listen(&last, adapter, Type::AdapterHardwareContentProtectionTeardown) == S_OK) {
		last.wait(1);
		end(&last);
	}
}

/* ---- the adapters ---- */

static IDXCoreAdapterList *list_all()
{
	const GUID compute = DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE;
	IDXCoreAdapterList *list = nullptr;

	return factory->CreateAdapterList(1, &compute, &list) == S_OK ? list : nullptr;
}

static LUID luid_of(IDXCoreAdapter *adapter)
{
	LUID luid = {};

	adapter->GetProperty(DXCoreAdapterProperty::InstanceLuid, &luid);
	return luid;
}

static bool set_budget(IDXCoreAdapter *adapter, UINT64 local, UINT64 system)
{
	D3DKMT_OPENADAPTERFROMLUID open = {};
	D3DKMT_VIDMM_ESCAPE budget = {};
	D3DKMT_ESCAPE args = {};

	open.AdapterLuid = luid_of(adapter);
	if (D3DKMTOpenAdapterFromLuid(&open) != STATUS_SUCCESS)
		return false;
	budget.Type = D3DKMT_VIDMMESCAPETYPE_SET_BUDGET;
	budget.SetBudget.LocalMemoryBudget = local;
	budget.SetBudget.SystemMemoryBudget = system;
	args.hAdapter = open.hAdapter;
	args.Type = D3DKMT_ESCAPE_VIDMM;
	args.pPrivateDriverData = &budget;
	args.PrivateDriverDataSize = sizeof(budget);
	bool is_set = D3DKMTEscape(&args) == STATUS_SUCCESS;
	D3DKMT_CLOSEADAPTER done = { open.hAdapter };
	D3DKMTCloseAdapter(&done);
	return is_set;
}

static uint64_t budget_of(IDXCoreAdapter *adapter, DXCoreSegmentGroup group)
{
	DXCoreAdapterMemoryBudgetNodeSegmentGroup question = { 0, group };
	DXCoreAdapterMemoryBudget budget = {};

	adapter->QueryState(DXCoreAdapterState::AdapterMemoryBudget, &question, &budget);
	return budget.budget;
}

/* ---- the tests ---- */

static void test_arguments(IDXCoreAdapterList *list, IDXCoreAdapter *adapter)
{
	listener who;
	bool is_supported = true;
	bool are_refused = true;

	for (uint32_t i = 0; i < 4; i++)
		is_supported &= factory->IsNotificationTypeSupported(static_cast<Type>(i));
	claim(is_supported && !factory->IsNotificationTypeSupported(static_cast<Type>(4)),
	      "the four types are supported, and no other");
	who.cookie = 7;
	claim(listen(&who, adapter, static_cast<Type>(4)) == DXGI_ERROR_INVALID_CALL &&
		      who.cookie == 0,
	      "an unknown type is refused, and the cookie is 0");
	who.cookie = 7;
	claim(listen(&who, nullptr, Type::AdapterBudgetChange) == E_INVALIDARG && who.cookie == 0,
	      "nothing to listen to is refused");
	who.cookie = 7;
	claim(factory->RegisterEventNotification(adapter, Type::AdapterBudgetChange, nullptr,
						 nullptr, &who.cookie) == E_POINTER &&
		      who.cookie == 0 &&
		      factory->RegisterEventNotification(adapter, Type::AdapterBudgetChange, heard,
							 nullptr, nullptr) == E_POINTER,
	      "null pointers are refused");
	claim(listen(&who, adapter, Type::AdapterListStale) == E_INVALIDARG,
	      "an adapter does not become stale");
	for (uint32_t i = 1; i < 4; i++)
		are_refused &= listen(&who, list, static_cast<Type>(i)) == E_INVALIDARG;
	claim(are_refused, "the others are of an adapter, not of a list");
	claim(listen(&who, factory, Type::AdapterListStale) == E_INVALIDARG,
	      "the factory raises nothing");
	claim(factory->UnregisterEventNotification(0) == E_INVALIDARG &&
		      factory->UnregisterEventNotification(1) == E_INVALIDARG &&
		      factory->UnregisterEventNotification(UINT32_MAX) == E_INVALIDARG,
	      "what was never registered is refused");
	flush(adapter);
	claim(who.counted() == 0, "nobody was told anything");
}

static void test_budget(IDXCoreAdapter *adapter)
{
	listener first;
	listener second;

	claim(listen(&first, adapter, Type::AdapterBudgetChange) == S_OK && first.cookie != 0,
	      "a change of budget can be listened to");
	first.wait(1);
	claim(first.type == Type::AdapterBudgetChange && first.object == adapter &&
		      first.cookie_seen == first.cookie,
	      "at first it is told, with its own arguments, and the cookie is there already");
	claim(listen(&second, adapter, Type::AdapterBudgetChange) == S_OK &&
		      second.cookie != first.cookie,
	      "another one has another cookie");
	second.wait(1);
	uint64_t all = budget_of(adapter, DXCoreSegmentGroup::Local);
	claim(set_budget(adapter, all / 2, UINT64_MAX), "the local budget is halved");
	first.wait(2);
	second.wait(2);
	claim(budget_of(adapter, DXCoreSegmentGroup::Local) == all / 2,
	      "both are told, and can see it");
	claim(set_budget(adapter, all / 2, UINT64_C(1) << 20), "the other budget is made small");
	first.wait(3);
	second.wait(3);
	claim(budget_of(adapter, DXCoreSegmentGroup::NonLocal) == UINT64_C(1) << 20,
	      "they are told of that, too");

	claim(end(&first), "one stops listening");
	claim(!end(&first), "its cookie is good for one time");
	claim(set_budget(adapter, UINT64_MAX, UINT64_MAX), "the budgets are as before");
	second.wait(4);
	flush(adapter);
	claim(first.counted() == 3, "who stopped is not told");
	claim(end(&second), "the other one stops, too");
}

static void test_end(IDXCoreAdapter *adapter)
{
	listener own;
	listener slow;
	bool was_over = false;
	HRESULT result = E_FAIL;

	own.ends_itself = true;
	claim(listen(&own, adapter, Type::AdapterBudgetChange) == S_OK,
	      "a callback may stop listening");
	own.wait(1);
	claim(own.own_end == S_OK && !end(&own), "… in itself, without waiting for its own end");
	set_budget(adapter, UINT64_C(2) << 20, UINT64_MAX);
	set_budget(adapter, UINT64_MAX, UINT64_MAX);
	flush(adapter);
	claim(own.counted() == 1, "and is not called again");

	slow.is_held = true;
	claim(listen(&slow, adapter, Type::AdapterBudgetChange) == S_OK, "a callback may take long");
	slow.wait_entered(1);
	std::thread other([&] {
		result = factory->UnregisterEventNotification(slow.cookie);
		was_over = slow.counted() == 1;
	});
	usleep(20000);
	slow.let_go();
	other.join();
	claim(result == S_OK && was_over, "who stops it from elsewhere waits until it is over");
}

static void test_many(IDXCoreAdapter *adapter)
{
	static listener many[5000];
	unsigned count = 0;
	bool are_different = true;

	while (count < 5000 && listen(&many[count], adapter, Type::AdapterNoLongerValid) == S_OK) {
		are_different &= count == 0 || many[count].cookie != many[count - 1].cookie;
		count++;
	}
	claim(count >= 1000 && count < 5000 && are_different && many[count].cookie == 0,
	      "there may be many, but not endlessly many");
	bool are_ended = true;
	for (unsigned i = 0; i < count; i++)
		are_ended &= end(&many[i]);
	claim(are_ended, "all of them end");
	claim(listen(&many[0], adapter, Type::AdapterNoLongerValid) == S_OK && end(&many[0]),
	      "and there is room again");
}

/* A list that goes while somebody listens to it would be given to a callback. */
static void test_released_list()
{
	int status = 0;
	pid_t child;
	listener who;
	IDXCoreAdapterList *list = list_all();

	claim(listen(&who, list, Type::AdapterListStale) == S_OK, "a list can be listened to");
	std::fflush(stdout);
	child = fork();
	if (child == 0) {
		close(STDERR_FILENO);
		list->Release();
		_exit(0);
	}
	waitpid(child, &status, 0);
	claim(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
	      "releasing it for the last time before that ends is fatal");
	claim(end(&who) && list->Release() == 0, "afterwards it is not");
}

static void test_removal(IDXCoreAdapterList *list)
{
	IDXCoreAdapter *gone = nullptr;
	IDXCoreAdapter *stays = nullptr;
	listener of_gone, of_stays, of_list, of_budget, late, late_list, twice;

	list->GetAdapter(0, &gone);
	list->GetAdapter(1, &stays);
	LUID luid = luid_of(gone);
	claim(listen(&of_gone, gone, Type::AdapterNoLongerValid) == S_OK &&
		      listen(&of_stays, stays, Type::AdapterNoLongerValid) == S_OK &&
		      listen(&of_list, list, Type::AdapterListStale) == S_OK &&
		      listen(&of_budget, gone, Type::AdapterBudgetChange) == S_OK &&
		      listen(&twice, gone, Type::AdapterNoLongerValid) == S_OK,
	      "the end of an adapter can be listened to");
	flush(stays);
	claim(of_gone.counted() == 0 && of_list.counted() == 0 && !list->IsStale() &&
		      gone->IsValid(),
	      "before it ends nobody is told");
	claim(dxgk_test_remove_adapter(luid.LowPart, luid.HighPart, 1) == 1, "an adapter is removed");
	of_gone.wait(1);
	twice.wait(1);
	of_list.wait(1);
	claim(of_gone.type == Type::AdapterNoLongerValid && of_gone.object == gone &&
		      !of_gone.was_valid,
	      "its listeners are told, and it is not valid in the callback");
	claim(of_list.type == Type::AdapterListStale && of_list.object == list,
	      "and so are those of the list it is in");
	claim(!gone->IsValid() && list->IsStale() && stays->IsValid(),
	      "it is not valid, and the list is stale");

	claim(listen(&late, gone, Type::AdapterNoLongerValid) == S_OK,
	      "who listens afterwards may");
	late.wait(1);
	claim(listen(&late_list, list, Type::AdapterListStale) == S_OK, "… to the list, too");
	late_list.wait(1);
	LUID next = luid_of(stays);
	claim(dxgk_test_remove_adapter(next.LowPart, next.HighPart, 0) == 1,
	      "another one is removed");
	of_stays.wait(1);
	flush(stays);
	claim(of_gone.counted() == 1 && late.counted() == 1 && twice.counted() == 1 &&
		      of_stays.counted() == 1,
	      "and everybody has been told once");
	claim(of_list.counted() == 1 && late_list.counted() == 1,
	      "a list becomes stale once, however many of its adapters go");

	DXCoreAdapterMemoryBudgetNodeSegmentGroup question = {};
	DXCoreAdapterMemoryBudget budget = {};
	bool is_updating = true;
	claim(gone->QueryState(DXCoreAdapterState::AdapterMemoryBudget, &question, &budget) ==
			      DXGI_ERROR_DEVICE_REMOVED &&
		      gone->QueryState(DXCoreAdapterState::IsDriverUpdateInProgress,
				       &is_updating) == DXGI_ERROR_DEVICE_REMOVED,
	      "its state cannot be asked for any more");
	char name[64] = {};
	claim(gone->GetProperty(DXCoreAdapterProperty::DriverDescription, sizeof(name), name) ==
			      S_OK &&
		      std::strcmp(name, "removable") == 0,
	      "its properties can");
	uint32_t before = list->GetAdapterCount();
	IDXCoreAdapterList *fresh = list_all();
	claim(fresh && fresh->GetAdapterCount() == before - 2 && !fresh->IsStale(),
	      "a new list has what is left");
	fresh->Release();
	claim(end(&of_gone) && end(&of_stays) && end(&of_list) && end(&of_budget) && end(&late) &&
		      end(&late_list) && end(&twice),
	      "they stop listening");
	gone->Release();
	stays->Release();
}

/* While a callback runs the process ends, and somebody stops listening: nothing is left of it. */
static void test_close_in_callback(IDXCoreAdapterList *list)
{
	IDXCoreAdapter *adapter = nullptr;
	listener who;

	list->GetAdapter(2, &adapter);
	who.is_held = true;
	claim(listen(&who, adapter, Type::AdapterHardwareContentProtectionTeardown) == S_OK,
	      "somebody listens, and does not return from the callback");
	who.wait_entered(1);
	D3DKMTCloseDxCoreDevice();
	claim(end(&who) && !end(&who), "meanwhile the process's things are closed, and it stops, once");
	who.let_go();
	who.wait(1);
	adapter->Release();
}

/* D3DKMTCloseDxCoreDevice ends what the process has, listeners included. */
static void test_close(IDXCoreAdapterList *list)
{
	IDXCoreAdapter *adapter = nullptr;
	listener who;
	listener again;

	list->GetAdapter(2, &adapter);
	claim(listen(&who, adapter, Type::AdapterBudgetChange) == S_OK, "somebody listens");
	who.wait(1);
	D3DKMTCloseDxCoreDevice();
	claim(end(&who) && !end(&who),
	      "after the process's things were closed it can stop, once");
	D3DKMTCloseDxCoreDevice();
	claim(listen(&again, adapter, Type::AdapterHardwareContentProtectionTeardown) == S_OK,
	      "and somebody can listen again");
	again.wait(1);
	claim(end(&again), "… and stop");
	claim(who.counted() == 1, "and was not called again");
	adapter->Release();
}

int main()
{
	IDXCoreAdapter *adapter = nullptr;

	claim(DXCoreCreateAdapterFactory(&factory) == S_OK && factory, "there is a factory");
	if (!factory)
		return 1;
	IDXCoreAdapterList *list = list_all();
	claim(list && list->GetAdapterCount() > 2 && list->GetAdapter(2, &adapter) == S_OK,
	      "there are adapters");
	if (!adapter)
		return 1;
	test_arguments(list, adapter);
	test_budget(adapter);
	test_end(adapter);
	test_many(adapter);
	test_released_list();
	test_removal(list);
	test_close(list);
	test_close_in_callback(list);
	adapter->Release();
	claim(list->Release() == 0, "the list goes with its last reference");
	factory->Release();
	return claims_end();
}

#else

int main()
{
	return claims_skip("directx-headers-dev is not installed");
}

#endif
