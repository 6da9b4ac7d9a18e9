/* SPDX-License-Identifier: MIT */
/*
 * remote_known.c - calls that need no answer of the server's, because it stands in memory that the server
 * shows.
 *
 *	D3DKMTGetDeviceState                            the device's word says that it is active
 *	D3DKMTWaitForSynchronizationObjectFromCpu       … and every value is reached
 *
 * What was made is remembered with the address of its word, and forgotten before its end is asked for.
 * Everything else goes to the server: what is not remembered, what is lost, what has to be waited for or is
 * wrong. When the server goes all words read all ones, and no device is active.
 *
 * The table is a cache. Who reads takes no lock: an entry's key is the last that is written and the first
 * that goes, and a word's address stays readable for as long as the process lives, whatever it shows. An
 * answer may so be of the moment before another thread has ended the object, as it may in the server.
 *
 * Locks: known.lock, for who writes.
 */
#include <string.h>

#include "thunk/remote.h"

enum {
	SETS = 1024,
	WAYS = 4,
	WAIT_MOST = 16, /* fences of a wait that is answered here */
};

struct known {
	_Atomic uint64_t key;     /* device and handle; 0: nothing */
	_Atomic uint64_t address; /* of the word; 0: it has none */
	uint32_t owner;           /* the queue whose fence it is, or 0; for who writes */
};

static struct {
	struct lock lock;
	_Atomic uint32_t count;
	struct known sets[SETS][WAYS];
} known = { .lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "what the server shows") };

static uint64_t key_of(D3DKMT_HANDLE device, D3DKMT_HANDLE handle)
{
	return (uint64_t)device << 32 | handle;
}

static struct known *set_of(D3DKMT_HANDLE handle)
{
	return known.sets[handle * UINT32_C(0x9e3779b1) >> 22];
}

/* NULL: it is not known. */
static const _Atomic uint64_t *find(D3DKMT_HANDLE device, D3DKMT_HANDLE handle)
{
	struct known *set = set_of(handle);
	uint64_t key = key_of(device, handle);

	for (unsigned i = 0; i < WAYS; i++) {
		if (atomic_load_explicit(&set[i].key, memory_order_acquire) != key)
			continue;
		uint64_t address = atomic_load_explicit(&set[i].address, memory_order_acquire);
		if (atomic_load_explicit(&set[i].key, memory_order_relaxed) == key)
			return (const _Atomic uint64_t *)(uintptr_t)address;
	}
	return NULL;
}

/* ---- writing ---- */

static void forget_locked(struct known *entry)
{
	lock_assert_held(&known.lock);
	if (atomic_load_explicit(&entry->key, memory_order_relaxed) == 0)
		return;
	atomic_store(&entry->key, 0);
	atomic_fetch_sub_explicit(&known.count, 1, memory_order_relaxed);
}

/* A free one of the set, or the one that is there already, or any: who was there asks the server. */
static struct known *choose_locked(struct known *set, uint64_t key)
{
	struct known *chosen = &set[key >> 7 & (WAYS - 1)];

	lock_assert_held(&known.lock);
	for (unsigned i = 0; i < WAYS; i++) {
		uint64_t there = atomic_load_explicit(&set[i].key, memory_order_relaxed);
		if (there == key)
			return &set[i];
		if (there == 0)
			chosen = &set[i];
	}
	return chosen;
}

static void remember(D3DKMT_HANDLE device, D3DKMT_HANDLE handle, D3DKMT_HANDLE owner,
		     uint64_t address)
{
	if (address == 0)
		return;
	lock_acquire(&known.lock);
	struct known *entry = choose_locked(set_of(handle), key_of(device, handle));
	forget_locked(entry);
	entry->owner = owner;
	atomic_store_explicit(&entry->address, address, memory_order_release);
	atomic_store_explicit(&entry->key, key_of(device, handle), memory_order_release);
	atomic_fetch_add_explicit(&known.count, 1, memory_order_relaxed);
	lock_release(&known.lock);
}

static void forget_handle(D3DKMT_HANDLE handle)
{
	struct known *set = set_of(handle);

	lock_acquire(&known.lock);
	for (unsigned i = 0; i < WAYS; i++) {
		if ((uint32_t)atomic_load_explicit(&set[i].key, memory_order_relaxed) == handle)
			forget_locked(&set[i]);
	}
	lock_release(&known.lock);
}

/* Those of a device, of a queue, or all (0 and 0). */
static void forget_of(D3DKMT_HANDLE device, D3DKMT_HANDLE owner)
{
	struct known *all = known.sets[0];

	if (atomic_load(&known.count) == 0)
		return;
	lock_acquire(&known.lock);
	for (unsigned i = 0; i < SETS * WAYS; i++) {
		uint64_t key = atomic_load_explicit(&all[i].key, memory_order_relaxed);
		if ((device == 0 || key >> 32 == device) && (owner == 0 || all[i].owner == owner))
			forget_locked(&all[i]);
	}
	lock_release(&known.lock);
}

void remote_known_forget_all(void)
{
	forget_of(0, 0);
}

/* ---- what is made, and what ends ---- */

/* The client's struct may stand anywhere. */
#define COPY(type, from)                                                                           \
	({                                                                                         \
		type copied;                                                                       \
		memcpy(&copied, from, sizeof(copied));                                             \
		copied;                                                                            \
	})

static void fence_made(const D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *args)
{
	if (args->Info.Type == D3DDDI_MONITORED_FENCE && !args->Info.Flags.NoWait)
		remember(args->hDevice, args->hSyncObject, 0,
			 (uintptr_t)args->Info.MonitoredFence.FenceValueCPUVirtualAddress);
}

RARE static void made(uint32_t id, const void *arguments, uint64_t word)
{
	if (id == CALL_create_device) {
		D3DKMT_CREATEDEVICE args = COPY(D3DKMT_CREATEDEVICE, arguments);

		remember(args.hDevice, args.hDevice, 0, word);
	} else if (id == CALL_create_synchronization_object2) {
		D3DKMT_CREATESYNCHRONIZATIONOBJECT2 args =
			COPY(D3DKMT_CREATESYNCHRONIZATIONOBJECT2, arguments);

		fence_made(&args);
	} else {
		D3DKMT_CREATEPAGINGQUEUE args = COPY(D3DKMT_CREATEPAGINGQUEUE, arguments);

		remember(args.hDevice, args.hSyncObject, args.hPagingQueue,
			 (uintptr_t)args.FenceValueCPUVirtualAddress);
	}
}

void remote_known_made(uint32_t id, const void *arguments, uint64_t word)
{
	if (UNLIKELY(id == CALL_create_device || id == CALL_create_synchronization_object2 ||
		     id == CALL_create_paging_queue))
		made(id, arguments, word);
}

void remote_known_end(uint32_t id, const void *arguments)
{
	D3DKMT_HANDLE handle;

	if (LIKELY(id != CALL_destroy_device && id != CALL_destroy_synchronization_object &&
		   id != CALL_destroy_paging_queue) ||
	    !arguments)
		return;
	memcpy(&handle, arguments, sizeof(handle)); /* the first of each */
	if (handle == 0)
		return;
	if (id == CALL_destroy_device)
		forget_of(handle, 0);
	else if (id == CALL_destroy_paging_queue)
		forget_of(0, handle);
	else
		forget_handle(handle);
}
_Static_assert(offsetof(D3DKMT_DESTROYDEVICE, hDevice) == 0 &&
		       offsetof(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT, hSyncObject) == 0 &&
		       offsetof(D3DDDI_DESTROYPAGINGQUEUE, hPagingQueue) == 0,
	       "the handle is the first field");

/* ---- answers ---- */

static bool is_active(D3DKMT_HANDLE device)
{
	const _Atomic uint64_t *word = find(device, device);

	return word && atomic_load_explicit(word, memory_order_acquire) == REMOTE_WORD_ACTIVE;
}

static bool is_reached(D3DKMT_HANDLE device, D3DKMT_HANDLE fence, uint64_t value)
{
	/* A device is in the table by its own name, and no fence. */
	const _Atomic uint64_t *word = fence != device ? find(device, fence) : NULL;

	return word && atomic_load_explicit(word, memory_order_acquire) >= value;
}

static bool answer_state(void *arguments)
{
	const D3DKMT_DEVICEEXECUTION_STATE state = D3DKMT_DEVICEEXECUTION_ACTIVE;
	D3DKMT_HANDLE device;
	D3DKMT_DEVICESTATE_TYPE type;
	char *at = arguments;

	memcpy(&device, at + offsetof(D3DKMT_GETDEVICESTATE, hDevice), sizeof(device));
	memcpy(&type, at + offsetof(D3DKMT_GETDEVICESTATE, StateType), sizeof(type));
	if (type != D3DKMT_DEVICESTATE_EXECUTION || !is_active(device))
		return false;
	memcpy(at + offsetof(D3DKMT_GETDEVICESTATE, ExecutionState), &state, sizeof(state));
	return true;
}

static bool answer_wait(const void *arguments)
{
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU args =
		COPY(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU, arguments);

	if (args.hAsyncEvent || args.Flags.Value != 0 || args.ObjectCount == 0 ||
	    args.ObjectCount > WAIT_MOST || !args.ObjectHandleArray || !args.FenceValueArray)
		return false;
	for (uint32_t i = 0; i < args.ObjectCount; i++) {
		D3DKMT_HANDLE fence = COPY(D3DKMT_HANDLE, &args.ObjectHandleArray[i]);
		uint64_t value = COPY(uint64_t, &args.FenceValueArray[i]);

		if (!is_reached(args.hDevice, fence, value))
			return false;
	}
	return is_active(args.hDevice);
}

bool remote_known_answer(uint32_t id, void *arguments)
{
	if (LIKELY(id != CALL_get_device_state &&
		   id != CALL_wait_for_synchronization_object_from_cpu) ||
	    !arguments || atomic_load_explicit(&remote.is_forked, memory_order_relaxed))
		return false;
	return id == CALL_get_device_state ? answer_state(arguments) : answer_wait(arguments);
}
