/* SPDX-License-Identifier: MIT */
/*
 * dxcore_test.c - DXCore's objects in front of a kernel that the test plays: several adapters of
 * different kinds, adapters that are lost or do not answer, and no memory. What one software GPU can
 * show is in tests/api/dxcore_test.cc.
 */
#include "support/test.h"

#include <wchar.h>

#include "base/attributes.h"
#include "thunk/connection.h"
#include "thunk/dxcore.h"
#include "unit/base/child.h"

/* IID_IUnknown. */
static const GUID iid_unknown = { 0, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };

#undef calloc
#undef malloc
void *calloc(size_t count, size_t size_bytes);
void *malloc(size_t size_bytes);

/* ---- memory ---- */

static unsigned fail_at; /* the n-th from now on; 0: none */

static bool must_fail(void)
{
	return fail_at > 0 && --fail_at == 0;
}

void *thunk_calloc(size_t count, size_t size_bytes)
{
	return must_fail() ? NULL : calloc(count, size_bytes);
}

void *thunk_malloc(size_t size_bytes)
{
	return must_fail() ? NULL : malloc(size_bytes);
}

/* ---- the kernel ---- */

enum { MOST = 4 };

struct fake {
	unsigned luid;
	D3DKMT_ADAPTERTYPE type;
	NTSTATUS open_status;
	KMTQUERYADAPTERINFOTYPE refused; /* this question … */
	NTSTATUS refused_status;         /* … is answered so */
	bool has_version;
};

static struct {
	struct fake adapters[MOST];
	unsigned count;
	NTSTATUS enumeration;
	int handles; /* that are open */
	void (*in_open)(void);
	NTSTATUS listen_status;
	void (*in_listen)(void);
	unsigned listeners;
} kernel;

static struct fake *fake_of(unsigned luid)
{
	for (unsigned i = 0; i < kernel.count; i++) {
		if (kernel.adapters[i].luid == luid)
			return &kernel.adapters[i];
	}
	return NULL;
}

NTSTATUS APIENTRY D3DKMTEnumAdapters2(const D3DKMT_ENUMADAPTERS2 *args)
{
	D3DKMT_ENUMADAPTERS2 *all = (D3DKMT_ENUMADAPTERS2 *)args;

	if (!NT_SUCCESS(kernel.enumeration))
		return kernel.enumeration;
	all->NumAdapters = kernel.count;
	for (unsigned i = 0; i < kernel.count; i++) {
		all->pAdapters[i].hAdapter = kernel.adapters[i].luid;
		all->pAdapters[i].AdapterLuid = (LUID){ kernel.adapters[i].luid, 0 };
		kernel.handles++;
	}
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY D3DKMTOpenAdapterFromLuid(const D3DKMT_OPENADAPTERFROMLUID *args)
{
	const struct fake *fake = fake_of(args->AdapterLuid.LowPart);
	void (*act)(void) = kernel.in_open;

	kernel.in_open = NULL;
	if (act)
		act();
	if (!fake)
		return STATUS_INVALID_PARAMETER;
	if (!NT_SUCCESS(fake->open_status))
		return fake->open_status;
	((D3DKMT_OPENADAPTERFROMLUID *)args)->hAdapter = fake->luid;
	kernel.handles++;
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY D3DKMTCloseAdapter(const D3DKMT_CLOSEADAPTER *args)
{
	EXPECT(args->hAdapter != 0);
	kernel.handles--;
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY D3DKMTQueryAdapterInfo(const D3DKMT_QUERYADAPTERINFO *args)
{
	const struct fake *fake = fake_of(args->hAdapter);

	if (!NT_SUCCESS(fake->refused_status) && fake->refused == args->Type)
		return fake->refused_status;
	memset(args->pPrivateDriverData, 0, args->PrivateDriverDataSize);
	if (args->Type == KMTQAITYPE_KMD_DRIVER_VERSION && !fake->has_version)
		return STATUS_NOT_SUPPORTED;
	if (args->Type == KMTQAITYPE_KMD_DRIVER_VERSION)
		((D3DKMT_KMD_DRIVER_VERSION *)args->pPrivateDriverData)->DriverVersion.QuadPart =
			0x1234;
	if (args->Type == KMTQAITYPE_ADAPTERTYPE)
		*(D3DKMT_ADAPTERTYPE *)args->pPrivateDriverData = fake->type;
	if (args->Type == KMTQAITYPE_WDDM_1_2_CAPS)
		((D3DKMT_WDDM_1_2_CAPS *)args->pPrivateDriverData)
			->PreemptionCaps.GraphicsPreemptionGranularity =
			D3DKMDT_GRAPHICS_PREEMPTION_PRIMITIVE_BOUNDARY;
	if (args->Type == KMTQAITYPE_DRIVER_DESCRIPTION)
		wmemset(((D3DKMT_DRIVER_DESCRIPTION *)args->pPrivateDriverData)->DriverDescription,
			L'x', 4096); /* no zero behind it */
	return STATUS_SUCCESS;
}

NTSTATUS APIENTRY D3DKMTQueryVideoMemoryInfo(D3DKMT_QUERYVIDEOMEMORYINFO *args)
{
	(void)args;
	return STATUS_SUCCESS;
}

NTSTATUS connection_listen(struct dxgk_embed_listener *listener, const uint64_t *luids,
			   uint32_t count)
{
	void (*act)(void) = kernel.in_listen;

	(void)listener;
	(void)luids;
	kernel.in_listen = NULL;
	if (act)
		act();
	if (NT_SUCCESS(kernel.listen_status))
		kernel.listeners += count;
	return kernel.listen_status;
}

void connection_unlisten(struct dxgk_embed_listener *listener)
{
	if (kernel.listeners > 0) {
		kernel.listeners--;
		listener->release(listener);
	}
}

/* ---- DXCore ---- */

static const GUID iid_factory = {
	0x78ee5945, 0xc36e, 0x4b13, { 0xa6, 0x69, 0x00, 0x5d, 0xd1, 0x1c, 0x0f, 0x06 }
};
static const GUID compute = {
	0x248e2800, 0xa793, 0x4724, { 0xab, 0xaa, 0x23, 0xa6, 0xde, 0x1b, 0xe0, 0x90 }
};
static const GUID graphics = {
	0x8c47866b, 0x7583, 0x450d, { 0xf0, 0xf0, 0x6b, 0xad, 0xa8, 0x95, 0xaf, 0x4b }
};

struct dxcore_factory {
	const struct dxcore_factory_table *table;
};

static struct dxcore_factory *factory;

/* Adapters that this test alone has: what was asked of one is kept for good. */
static unsigned begin(unsigned count)
{
	static unsigned last;
	unsigned first = last + 1;

	memset(&kernel, 0, sizeof(kernel));
	kernel.count = count;
	for (unsigned i = 0; i < count; i++) {
		kernel.adapters[i].luid = ++last;
		kernel.adapters[i].type.RenderSupported = 1;
	}
	EXPECT_EQ(DXCoreCreateAdapterFactory(&iid_factory, (void **)&factory), S_OK);
	return first;
}

static void end(void)
{
	EXPECT_EQ(kernel.handles, 0);
	EXPECT_EQ(kernel.listeners, 0);
}

static HRESULT make_list(struct dxcore_list **list_out)
{
	return factory->table->create_adapter_list(factory, 1, &compute, &dxcore_iid_list,
						   (void **)list_out);
}

static struct dxcore_adapter *adapter_at(struct dxcore_list *list, unsigned index)
{
	struct dxcore_adapter *adapter = NULL;

	EXPECT_EQ(list->table->get_adapter(list, index, &dxcore_iid_adapter, (void **)&adapter),
		  S_OK);
	return adapter;
}

static unsigned luid_at(struct dxcore_list *list, unsigned index)
{
	return adapter_at(list, index)->luid.LowPart;
}

/* ---- lists ---- */

TEST(list, is_sorted_by_what_is_preferred_first_and_keeps_the_order_of_the_rest)
{
	enum { SOFTWARE, INTEGRATED, DISCRETE, ANOTHER };
	static const struct {
		uint32_t preferences[2];
		unsigned order[MOST];
	} cases[] = {
		{ { PREFER_HARDWARE, 99 }, { INTEGRATED, DISCRETE, ANOTHER, SOFTWARE } },
		{ { PREFER_MINIMUM_POWER, 99 }, { INTEGRATED, SOFTWARE, DISCRETE, ANOTHER } },
		{ { PREFER_HIGH_PERFORMANCE, PREFER_HARDWARE },
		  { DISCRETE, ANOTHER, SOFTWARE, INTEGRATED } },
		{ { 99, PREFER_HARDWARE }, { INTEGRATED, DISCRETE, ANOTHER, SOFTWARE } },
		{ { 99, 99 }, { SOFTWARE, INTEGRATED, DISCRETE, ANOTHER } },
	};
	unsigned first = begin(MOST);

	kernel.adapters[SOFTWARE].type.SoftwareDevice = 1;
	kernel.adapters[INTEGRATED].type.HybridIntegrated = 1;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dxcore_list *list = NULL;

		EXPECT_EQ(make_list(&list), S_OK);
		EXPECT_EQ(list->table->sort(list, 2, cases[i].preferences), S_OK);
		for (unsigned j = 0; j < MOST; j++)
			EXPECT_EQ(luid_at(list, j), first + cases[i].order[j]);
		EXPECT_EQ(list->table->release(list), 0);
	}
	end();
}

TEST(list, is_of_adapters_that_are_there_and_have_what_is_asked_for)
{
	const GUID both[] = { graphics, compute };
	struct dxcore_list *list = NULL;
	unsigned first = begin(MOST);

	kernel.adapters[0].open_status = STATUS_DEVICE_REMOVED;
	kernel.adapters[1].type.ComputeOnly = 1;
	kernel.adapters[2].type.RenderSupported = 0;
	EXPECT_EQ(make_list(&list), S_OK);
	EXPECT_EQ(list->table->get_adapter_count(list), 2);
	EXPECT_EQ(luid_at(list, 0), first + 1);
	EXPECT_EQ(luid_at(list, 1), first + 3);
	EXPECT_EQ(list->table->release(list), 0);
	EXPECT_EQ(
		factory->table->create_adapter_list(factory, 2, both, &iid_unknown, (void **)&list),
		S_OK);
	EXPECT_EQ(list->table->get_adapter_count(list), 1);
	EXPECT(!list->table->is_stale(list));
	/* One that was met, and is lost since. */
	kernel.adapters[3].open_status = STATUS_DEVICE_REMOVED;
	EXPECT(list->table->is_stale(list));
	EXPECT_EQ(list->table->release(list), 0);
	EXPECT_EQ(make_list(&list), S_OK);
	EXPECT_EQ(list->table->get_adapter_count(list), 1);
	EXPECT_EQ(list->table->release(list), 0);
	end();
}

TEST(list, is_refused_when_the_kernel_or_an_adapter_does_not_answer)
{
	static const struct {
		NTSTATUS status;
		HRESULT result;
	} cases[] = {
		{ STATUS_NO_MEMORY, E_OUTOFMEMORY },
		{ STATUS_INVALID_PARAMETER, E_INVALIDARG },
		{ STATUS_UNSUCCESSFUL, E_FAIL },
	};
	static const KMTQUERYADAPTERINFOTYPE questions[] = {
		KMTQAITYPE_ADAPTERTYPE,
		KMTQAITYPE_DRIVERVERSION,
		KMTQAITYPE_WDDM_1_2_CAPS,
		KMTQAITYPE_GETSEGMENTSIZE,
		KMTQAITYPE_PHYSICALADAPTERDEVICEIDS,
		KMTQAITYPE_DRIVER_DESCRIPTION,
	};
	struct dxcore_list *list = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(2);
		kernel.enumeration = cases[i].status;
		EXPECT_EQ(make_list(&list), cases[i].result);
		EXPECT(!list);
		kernel.enumeration = STATUS_SUCCESS;
		kernel.adapters[0].refused_status = cases[i].status;
		for (size_t j = 0; j < ARRAY_SIZE(questions); j++) {
			kernel.adapters[0].refused = questions[j];
			EXPECT_EQ(make_list(&list), cases[i].result);
			EXPECT(!list);
			EXPECT_EQ(kernel.handles, 0); /* also the second one's */
		}
		end();
	}
}

TEST(list, without_memory_is_refused_and_nothing_is_left)
{
	struct dxcore_list *list = NULL;
	unsigned failures = 0;

	begin(2);
	for (unsigned nth = 1;; nth++) {
		fail_at = nth;
		HRESULT result = make_list(&list);
		bool has_failed = fail_at == 0;
		fail_at = 0;
		if (!has_failed) {
			EXPECT_EQ(result, S_OK);
			break;
		}
		EXPECT_EQ(result, E_OUTOFMEMORY);
		EXPECT(!list);
		EXPECT_EQ(kernel.handles, 0);
		failures++;
	}
	/* The list; an adapter, its answer and its text; then that one is known, and the other is not. */
	EXPECT_EQ(failures, 5);
	EXPECT_EQ(list->table->release(list), 0);
	end();
}

static void hear(uint32_t type, void *object, void *context)
{
	(void)type;
	(void)object;
	(void)context;
}

static void release_registered(void *argument)
{
	struct dxcore_list *list = NULL;
	uint32_t cookie;

	(void)argument;
	begin(1);
	CHILD_EXPECT(make_list(&list) == S_OK);
	CHILD_EXPECT(factory->table->register_notification(factory, list, NOTIFY_LIST_STALE, hear,
							   NULL, &cookie) == S_OK);
	list->table->release(list);
}

TEST(list, that_is_released_while_it_is_listened_to_ends_the_program)
{
	struct child_result child;

	child_run(&child, release_registered, NULL);
	EXPECT_EQ(child.signal, SIGABRT);
	EXPECT_CONTAINS(child.err, "notifications of it are registered");
}

/* ---- pointers ---- */

TEST(pointers, that_are_null_are_refused)
{
	struct dxcore_list *list = NULL;
	void *found = &found;
	LUID luid = { begin(1), 0 };

	EXPECT_EQ(make_list(&list), S_OK);
	struct dxcore_adapter *adapter = adapter_at(list, 0);
	EXPECT_EQ(list->table->query_interface(list, &dxcore_iid_list, NULL), E_POINTER);
	EXPECT_EQ(list->table->query_interface(list, NULL, &found), E_NOINTERFACE);
	EXPECT(!found);
	EXPECT_EQ(adapter->table->query_interface(adapter, &dxcore_iid_adapter, NULL), E_POINTER);
	EXPECT_EQ(adapter->table->query_interface(adapter, NULL, &found), E_NOINTERFACE);
	EXPECT_EQ(factory->table->query_interface(factory, NULL, &found), E_NOINTERFACE);
	EXPECT_EQ(factory->table->get_adapter_by_luid(factory, &luid, &dxcore_iid_adapter, NULL),
		  E_POINTER);
	EXPECT_EQ(factory->table->get_adapter_by_luid(factory, NULL, &dxcore_iid_adapter, &found),
		  E_INVALIDARG);
	EXPECT(!adapter->table->is_attribute_supported(adapter, NULL));
	EXPECT_EQ(adapter->table->get_property_size(adapter, 99, NULL), E_POINTER);
	EXPECT_EQ(list->table->release(list), 0);
	end();
}

TEST(references, are_counted_of_each)
{
	struct dxcore_list *list = NULL;
	struct dxcore_adapter *adapter = NULL;
	LUID luid = { begin(1), 0 };

	EXPECT_EQ(make_list(&list), S_OK);
	EXPECT_EQ(factory->table->get_adapter_by_luid(factory, &luid, &iid_unknown,
						      (void **)&adapter),
		  S_OK);
	EXPECT_EQ(adapter->table->add_ref(adapter), 2);
	EXPECT_EQ(adapter->table->release(adapter), 1);
	EXPECT_EQ(adapter->table->release(adapter), 0);
	EXPECT(adapter->table->is_valid(adapter)); /* clients compare the pointers */
	ULONG references = factory->table->add_ref(factory);
	EXPECT_EQ(factory->table->release(factory), references - 1);
	EXPECT_EQ(list->table->release(list), 0);
	end();
}

/* ---- adapters ---- */

TEST(adapter, says_what_the_kernel_says)
{
	struct dxcore_adapter *adapter = NULL;
	uint16_t granularity = 0;
	uint64_t version = 0;
	char description[4097];
	size_t size_bytes = 9;
	unsigned first = begin(2);

	kernel.adapters[0].has_version = true;
	EXPECT_EQ(dxcore_adapter_find((LUID){ first, 0 }, &adapter), S_OK);
	EXPECT_EQ(adapter->table->get_property(adapter, PROPERTY_GRAPHICS_PREEMPTION, 2,
					       &granularity),
		  S_OK);
	EXPECT_EQ(granularity, D3DKMDT_GRAPHICS_PREEMPTION_PRIMITIVE_BOUNDARY);
	EXPECT_EQ(adapter->table->get_property(adapter, PROPERTY_DRIVER_VERSION, 8, &version),
		  S_OK);
	EXPECT_EQ(version, 0x1234);
	EXPECT_EQ(adapter->table->get_property(adapter, PROPERTY_DRIVER_DESCRIPTION,
					       sizeof(description), description),
		  S_OK);
	EXPECT_EQ(strlen(description), 4096);
	EXPECT_EQ(adapter->table->set_state(adapter, 99, 0, NULL, 0, NULL),
		  DXGI_ERROR_INVALID_CALL);
	/* The second one's driver has none. */
	EXPECT_EQ(dxcore_adapter_find((LUID){ first + 1, 0 }, &adapter), S_OK);
	EXPECT_EQ(adapter->table->get_property_size(adapter, PROPERTY_DRIVER_VERSION, &size_bytes),
		  DXGI_ERROR_UNSUPPORTED);
	EXPECT_EQ(size_bytes, 0);
	end();
}

TEST(adapter, is_found_by_all_of_its_luid)
{
	struct dxcore_adapter *adapter = NULL;
	LUID luid = { begin(1), 0 };

	EXPECT_EQ(dxcore_adapter_find(luid, &adapter), S_OK);
	luid.HighPart = 1;
	kernel.count = 0;
	EXPECT_EQ(dxcore_adapter_find(luid, &adapter), E_INVALIDARG);
	end();
}

static LUID met_meanwhile;
static struct dxcore_adapter *found_meanwhile;

static void meet(void)
{
	EXPECT_EQ(dxcore_adapter_find(met_meanwhile, &found_meanwhile), S_OK);
}

TEST(adapter, that_two_threads_meet_at_once_is_one)
{
	struct dxcore_adapter *adapter = NULL;
	unsigned first = begin(3);

	/* The same, and then another, which takes the place that was looked at. */
	for (unsigned i = 0; i < 2; i++) {
		met_meanwhile = (LUID){ first + 2 * i, 0 };
		kernel.in_open = meet;
		EXPECT_EQ(dxcore_adapter_find((LUID){ first + i, 0 }, &adapter), S_OK);
		EXPECT_EQ(adapter->luid.LowPart, first + i);
		EXPECT_EQ(found_meanwhile == adapter, i == 0);
		meet();
		EXPECT_EQ(found_meanwhile->luid.LowPart, met_meanwhile.LowPart);
	}
	end();
}

/* ---- notifications ---- */

static uint32_t guessed;

static void guess(void)
{
	for (guessed = 1; guessed < 16; guessed++)
		(void)dxcore_unregister(guessed);
}

TEST(registration, that_the_kernel_refuses_is_none)
{
	struct dxcore_list *list = NULL;
	uint32_t cookie = 77;

	begin(1);
	EXPECT_EQ(make_list(&list), S_OK);
	kernel.listen_status = STATUS_DEVICE_REMOVED;
	for (unsigned i = 0; i < 2; i++) {
		/* The second time somebody has ended it before it began. */
		kernel.in_listen = i == 1 ? guess : NULL;
		EXPECT_EQ(dxcore_register(list, NOTIFY_LIST_STALE, hear, NULL, &cookie),
			  DXGI_ERROR_DEVICE_REMOVED);
		EXPECT_EQ(cookie, 0);
	}
	kernel.listen_status = STATUS_SUCCESS;
	EXPECT_EQ(dxcore_register(list, NOTIFY_LIST_STALE, hear, NULL, &cookie), S_OK);
	EXPECT_EQ(dxcore_unregister(cookie), S_OK);
	fail_at = 1;
	EXPECT_EQ(dxcore_register(list, NOTIFY_LIST_STALE, hear, NULL, &cookie), E_OUTOFMEMORY);
	fail_at = 0;
	EXPECT_EQ(cookie, 0);
	EXPECT_EQ(list->table->release(list), 0);
	end();
}

/* ---- more than there can be ---- */

static void meet_too_many(void *argument)
{
	struct dxcore_adapter *adapter = NULL;
	HRESULT result = S_OK;

	(void)argument;
	for (unsigned i = 0; i <= DXCORE_MAX_ADAPTERS && result == S_OK; i++)
		result = dxcore_adapter_find((LUID){ begin(1), 0 }, &adapter);
	CHILD_EXPECT(result == E_FAIL);
	CHILD_EXPECT(kernel.handles == 0);
}

TEST(adapter, of_which_there_are_too_many_is_not_met)
{
	struct child_result child;

	child_run(&child, meet_too_many, NULL);
	EXPECT_EQ(child.exit_status, 0);
}

TEST_MAIN("thunk/dxcore")
