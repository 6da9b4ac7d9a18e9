/* SPDX-License-Identifier: MIT */
/*
 * dxcore_notification.c - what the factory tells of adapters and lists.
 *
 *	AdapterListStale        a list: one of its adapters is not valid any more. Once.
 *	AdapterNoLongerValid    an adapter. Once.
 *	AdapterBudgetChange     an adapter: at first, and when a budget of the process changed.
 *	…ContentProtectionTeardown  an adapter: at first. There is no protected content to lose.
 *
 * A registration is a listener of the kernel, on whose thread callbacks are made. No lock: a cookie
 * is a place in a table, and who takes a registration out of it ends it.
 */
#include <stdlib.h>

#include "thunk/connection.h"
#include "thunk/dxcore.h"

enum { REGISTRATION_MOST = 4096 }; /* as many as the kernel has for a process */

struct registration {
	struct dxgk_embed_listener listener;
	uint32_t type;
	dxcore_callback callback;
	void *context;
	void *object;
	/* What that is, one of them. */
	struct dxcore_adapter *adapter;
	struct dxcore_list *list;
	_Atomic bool is_stale; /* the list, and that is told */

	_Atomic uint32_t references; /* one of the table, one for each adapter it listens to */
};

static _Atomic(struct registration *) registered[REGISTRATION_MOST];

static uint64_t luid_number(LUID luid)
{
	return (uint64_t)(uint32_t)luid.HighPart << 32 | luid.LowPart;
}

/* The callback may end its own registration: nothing is read after it. */
static void tell(struct dxgk_embed_listener *listener)
{
	struct registration *registration = (struct registration *)listener;

	/* A list has several adapters, and is stale when the first of them is gone. */
	if (registration->list && atomic_exchange(&registration->is_stale, true))
		return;
	registration->callback(registration->type, registration->object, registration->context);
}

static void drop(struct registration *registration, uint32_t references)
{
	if (atomic_fetch_sub(&registration->references, references) == references)
		free(registration);
}

static void released(struct dxgk_embed_listener *listener)
{
	drop((struct registration *)listener, 1);
}

/* ---- which object it is ---- */

/* The first methods of every interface. */
struct unknown_table {
	HRESULT (*query_interface)(void *self, const GUID *iid, void **out);
	ULONG (*add_ref)(void *self);
	ULONG (*release)(void *self);
};

struct unknown {
	const struct unknown_table *table;
};

/* Of any interface. The reference is not kept: who registers has one. */
static void *object_as(struct unknown *object, const GUID *iid)
{
	void *found = NULL;

	if (object->table->query_interface(object, iid, &found) != S_OK)
		return NULL;
	((struct unknown *)found)->table->release(found);
	return found;
}

/* True when the type fits the object. */
static bool take_object(struct registration *registration, void *object)
{
	registration->object = object;
	if (registration->type == NOTIFY_LIST_STALE)
		registration->list = object_as(object, &dxcore_iid_list);
	else
		registration->adapter = object_as(object, &dxcore_iid_adapter);
	return registration->list || registration->adapter;
}

/* ---- the table ---- */

static uint32_t table_add(struct registration *registration)
{
	for (uint32_t i = 0; i < REGISTRATION_MOST; i++) {
		struct registration *none = NULL;

		if (atomic_compare_exchange_strong(&registered[i], &none, registration))
			return i + 1;
	}
	return 0;
}

static struct registration *table_take(uint32_t cookie)
{
	if (cookie == 0 || cookie > REGISTRATION_MOST)
		return NULL;
	return atomic_exchange(&registered[cookie - 1], NULL);
}

/* ---- registering ---- */

static enum dxgk_embed_news news_of(uint32_t type)
{
	switch (type) {
	case NOTIFY_BUDGET_CHANGE:
		return DXGK_EMBED_BUDGET;
	case NOTIFY_PROTECTION_TEARDOWN:
		return DXGK_EMBED_AT_FIRST;
	default:
		return DXGK_EMBED_LOSS;
	}
}

/* The kernel has `*count_out` references when it listens, and the caller when it does not. */
static HRESULT begin(struct registration *registration, uint32_t *count_out)
{
	struct dxcore_adapter *const *adapters = &registration->adapter;
	uint64_t luids[DXCORE_MAX_ADAPTERS];
	uint32_t count = 1;

	if (registration->list) {
		adapters = registration->list->adapters;
		count = registration->list->count;
	}
	for (uint32_t i = 0; i < count; i++) {
		/* Asked for what it does besides: a process that was closed begins anew. */
		(void)dxcore_adapter_is_valid(adapters[i]);
		luids[i] = luid_number(adapters[i]->luid);
	}
	registration->listener.news = news_of(registration->type);
	registration->listener.tell = tell;
	registration->listener.release = released;
	atomic_fetch_add(&registration->references, count);
	*count_out = count;
	return dxcore_result(connection_listen(&registration->listener, luids, count));
}

/* The table's reference goes, and perhaps others; its list may be released now. */
static void forget(struct registration *registration, uint32_t references)
{
	if (registration->list)
		atomic_fetch_sub(&registration->list->registrations, 1);
	drop(registration, references);
}

static HRESULT register_object(struct registration *registration, void *object,
			       uint32_t *cookie_out)
{
	if (!take_object(registration, object)) {
		free(registration);
		return E_INVALIDARG;
	}
	if (registration->list)
		atomic_fetch_add(&registration->list->registrations, 1);
	/* Before it is told anything, which may be before this is over. */
	uint32_t cookie = table_add(registration);
	*cookie_out = cookie;
	if (cookie == 0) {
		forget(registration, 1);
		return E_OUTOFMEMORY;
	}
	uint32_t count;
	HRESULT result = begin(registration, &count);
	if (result == S_OK)
		return S_OK;
	*cookie_out = 0;
	if (table_take(cookie))
		forget(registration, 1 + count);
	else
		drop(registration, count); /* somebody has guessed the cookie and ended it */
	return result;
}

HRESULT dxcore_register(void *object, uint32_t type, dxcore_callback callback, void *context,
			uint32_t *cookie_out)
{
	if (cookie_out)
		*cookie_out = 0;
	if (!cookie_out || !callback)
		return E_POINTER;
	if (type >= NOTIFICATION_COUNT)
		return DXGI_ERROR_INVALID_CALL;
	if (!object)
		return E_INVALIDARG;
	struct registration *registration = calloc(1, sizeof(*registration));
	if (!registration)
		return E_OUTOFMEMORY;
	registration->type = type;
	registration->callback = callback;
	registration->context = context;
	atomic_init(&registration->references, 1);
	return register_object(registration, object, cookie_out);
}

HRESULT dxcore_unregister(uint32_t cookie)
{
	struct registration *registration = table_take(cookie);

	if (!registration)
		return E_INVALIDARG;
	connection_unlisten(&registration->listener);
	forget(registration, 1);
	return S_OK;
}
