/* SPDX-License-Identifier: MIT */
/*
 * libcuda.c - see libcuda.h. Memory, contexts, modules; streams.c has what happens in order, vmm.c memory
 * at addresses of the caller's choice.
 *
 * Rules that are checked, beside the arguments themselves:
 *	the context of the thread is alive, and the one that a stream, function or memory belongs to
 *	memory that is freed, unregistered or destroyed is there, once
 *	copies stay in one allocation of the GPU, and in one registered range of the machine
 *	registered ranges do not overlap, and are not taken away under a copy
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "cuda/streams.h"

struct fake fake = { .lock = LOCK_INITIALIZER(LOCK_RANK_LEAF, "stand-in for libcuda"),
		     .things = { &fake.things, &fake.things } };
_Thread_local struct thing *fake_current;

void fake_violation(const char *function, const char *what)
{
	fprintf(stderr, "libcuda.so.1 of the tests: %s: %s\n", function, what);
	abort();
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

/* ---- calls ---- */

PUBLIC uint64_t test_cuda_calls_made(void)
{
	return atomic_load(&fake.calls);
}

PUBLIC void test_cuda_fail_in(uint64_t calls)
{
	atomic_store(&fake.fail_at, calls ? atomic_load(&fake.calls) + calls : 0);
}

PUBLIC void test_cuda_lose_contexts(void)
{
	lock_acquire(&fake.lock);
	list_each (struct thing, thing, &fake.things, link) {
		if (thing->kind == THING_CONTEXT)
			thing->is_lost = true;
	}
	lock_release(&fake.lock);
	/* Nothing of a lost context goes on. */
	while (fake_streams_are_busy())
		clock_sleep_until(clock_deadline(20000));
}

bool fake_call_fails(int *status_out)
{
	uint64_t call = atomic_fetch_add(&fake.calls, 1) + 1;
	uint64_t fail_at = atomic_load(&fake.fail_at);

	if (call == 1) {
		fail_at = setting("TEST_CUDA_FAIL_AT", 0);
		atomic_store(&fake.late_ns, setting("TEST_CUDA_LATE_US", 0) * NS_PER_US);
	}
	if (call == 1 && fail_at)
		atomic_store(&fake.fail_at, fail_at);
	*status_out = ERROR_UNKNOWN;
	if (call == fail_at)
		return true;
	*status_out = ERROR_LAUNCH_FAILED;
	return fake_current && fake_current->is_lost;
}

/* ---- things ---- */

struct thing *fake_add(enum thing_kind kind, uint64_t address, uint64_t size_bytes)
{
	struct thing *thing = calloc(1, sizeof(*thing));

	thing->kind = kind;
	thing->context = fake_current;
	thing->address = address ? address : (uint64_t)(uintptr_t)thing;
	thing->size_bytes = size_bytes;
	list_init(&thing->work);
	lock_acquire(&fake.lock);
	list_push_back(&fake.things, &thing->link);
	lock_release(&fake.lock);
	return thing;
}

struct thing *fake_find(enum thing_kind kind, uint64_t address, uint64_t size_bytes)
{
	struct thing *found = NULL;

	lock_acquire(&fake.lock);
	list_each (struct thing, thing, &fake.things, link) {
		bool is_it = size_bytes == 0 ? address == thing->address
					     : address >= thing->address &&
						       address + size_bytes <=
							       thing->address + thing->size_bytes;

		if (thing->kind == kind && is_it)
			found = thing;
	}
	lock_release(&fake.lock);
	return found;
}

static bool overlaps(uint64_t address, uint64_t size_bytes)
{
	bool does = false;

	lock_acquire(&fake.lock);
	list_each (struct thing, thing, &fake.things, link) {
		does |= (thing->kind == THING_REGISTERED || thing->kind == THING_HOST) &&
			address < thing->address + thing->size_bytes &&
			thing->address < address + size_bytes;
	}
	lock_release(&fake.lock);
	return does;
}

/* Of the current context, and there. */
struct thing *fake_own(const char *function, enum thing_kind kind, const void *handle)
{
	struct thing *thing = fake_find(kind, (uint64_t)(uintptr_t)handle, 0);

	if (!thing || thing->address != (uint64_t)(uintptr_t)handle)
		fake_violation(function, "there is no such thing, or no more");
	if (thing->context != fake_current)
		fake_violation(function, "it is of another context than the thread's");
	return thing;
}

void fake_remove(struct thing *thing)
{
	lock_acquire(&fake.lock);
	list_remove(&thing->link);
	lock_release(&fake.lock);
	free(thing->text);
	free(thing);
}

static void need_context(const char *function)
{
	if (!fake_current)
		fake_violation(function, "the thread has no context");
}

#define CALL(needs_context)                                                                        \
	do {                                                                                       \
		int failed;                                                                        \
		if (needs_context)                                                                 \
			need_context(__func__);                                                    \
		if (fake_call_fails(&failed))                                                      \
			return failed;                                                             \
	} while (0)

/* ---- the GPU ---- */

PUBLIC int cuInit(unsigned flags)
{
	CALL(false);
	if (flags)
		fake_violation(__func__, "flags are zero");
	return setting("TEST_CUDA_GPUS", 1) ? OK : ERROR_NO_DEVICE;
}

PUBLIC int cuDriverGetVersion(int *version)
{
	CALL(false);
	*version = 12000;
	return OK;
}

PUBLIC int cuGetErrorName(int status, const char **name)
{
	*name = status == ERROR_OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
		: status == ERROR_NO_DEVICE     ? "CUDA_ERROR_NO_DEVICE"
		: status == ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
		: status == ERROR_INVALID_IMAGE ? "CUDA_ERROR_INVALID_IMAGE"
		: status == ERROR_INVALID_PTX   ? "CUDA_ERROR_INVALID_PTX"
		: status == ERROR_NOT_FOUND     ? "CUDA_ERROR_NOT_FOUND"
						: "CUDA_ERROR_UNKNOWN";
	return OK;
}

PUBLIC int cuDeviceGetCount(int *count)
{
	CALL(false);
	*count = (int)setting("TEST_CUDA_GPUS", 1);
	return OK;
}

PUBLIC int cuDeviceGet(int *device, int ordinal)
{
	CALL(false);
	*device = ordinal;
	return OK;
}

PUBLIC int cuDeviceGetName(char *name, int length, int device)
{
	CALL(false);
	(void)device;
	snprintf(name, (size_t)length, "stand-in for a GPU");
	return OK;
}

PUBLIC int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	CALL(false);
	(void)device;
	*value = attribute == 16 ? 2 : attribute == 75 ? 9 : 1;
	return OK;
}

PUBLIC int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
	CALL(false);
	(void)device;
	if (!(flags & 8))
		fake_violation(__func__, "the context cannot map memory of the host");
	fake_current = fake_add(THING_CONTEXT, 0, 0);
	*context = fake_current;
	return OK;
}

static void end_thing(struct thing *thing)
{
	if (thing->kind == THING_STREAM)
		fake_stream_end(thing);
	if (thing->kind == THING_MEMORY)
		atomic_fetch_sub(&fake.used_bytes, thing->size_bytes);
	if (thing->kind == THING_MEMORY || thing->kind == THING_HOST)
		munmap((void *)(uintptr_t)thing->address, thing->size_bytes);
	fake_remove(thing);
}

/* Streams first: they may be using the rest. */
static struct thing *next_of(const struct thing *context)
{
	struct thing *next = NULL;

	lock_acquire(&fake.lock);
	list_each (struct thing, thing, &fake.things, link) {
		if (thing->context == context && thing != context &&
		    (!next || (thing->kind == THING_STREAM && next->kind != THING_STREAM)))
			next = thing;
	}
	lock_release(&fake.lock);
	return next;
}

PUBLIC int cuCtxDestroy_v2(void *handle)
{
	struct thing *context = fake_find(THING_CONTEXT, (uint64_t)(uintptr_t)handle, 0);
	struct thing *thing;

	atomic_fetch_add(&fake.calls, 1);
	if (!context)
		fake_violation(__func__, "there is no such context, or no more");
	context->is_lost = true; /* what hangs in it ends */
	while ((thing = next_of(context)) != NULL)
		end_thing(thing);
	if (fake_current == context)
		fake_current = NULL;
	fake_remove(context);
	return OK;
}

PUBLIC int cuCtxGetCurrent(void **context)
{
	atomic_fetch_add(&fake.calls, 1);
	*context = fake_current;
	return OK;
}

PUBLIC int cuCtxSetCurrent(void *handle)
{
	if (!handle) {
		fake_current = NULL;
		return OK;
	}
	struct thing *context = fake_find(THING_CONTEXT, (uint64_t)(uintptr_t)handle, 0);
	int failed;

	if (!context)
		fake_violation(__func__, "there is no such context, or no more");
	fake_current = NULL;
	if (fake_call_fails(&failed))
		return failed;
	fake_current = context;
	return OK;
}

/* ---- memory ---- */

static uint64_t total_bytes(void)
{
	return setting("TEST_CUDA_MIB", 4096) << 20;
}

PUBLIC int cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	CALL(true);
	*total = total_bytes();
	*free_bytes = *total - atomic_load(&fake.used_bytes);
	return OK;
}

static void *map(size_t size_bytes)
{
	void *pointer = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return pointer == MAP_FAILED ? NULL : pointer;
}

bool fake_take_bytes(uint64_t size_bytes)
{
	if (atomic_fetch_add(&fake.used_bytes, size_bytes) + size_bytes <= total_bytes())
		return true;
	atomic_fetch_sub(&fake.used_bytes, size_bytes);
	return false;
}

PUBLIC int cuMemAlloc_v2(uint64_t *pointer_out, size_t size_bytes)
{
	CALL(true);
	if (size_bytes == 0)
		fake_violation(__func__, "no bytes");
	if (!fake_take_bytes(size_bytes))
		return ERROR_OUT_OF_MEMORY;
	void *pointer = map(size_bytes);
	if (!pointer)
		return ERROR_OUT_OF_MEMORY;
	/* There is anything in it. */
	memset(pointer, 0xc7, size_bytes < 65536 ? size_bytes : 65536);
	*pointer_out = fake_add(THING_MEMORY, (uint64_t)(uintptr_t)pointer, size_bytes)->address;
	return OK;
}

PUBLIC int cuMemFree_v2(uint64_t pointer)
{
	CALL(true);
	end_thing(fake_own(__func__, THING_MEMORY, (void *)(uintptr_t)pointer));
	return OK;
}

PUBLIC int cuMemHostAlloc(void **pointer_out, size_t size_bytes, unsigned flags)
{
	CALL(true);
	(void)flags;
	void *pointer = map(size_bytes);
	if (!pointer)
		return ERROR_OUT_OF_MEMORY;
	fake_add(THING_HOST, (uint64_t)(uintptr_t)pointer, size_bytes);
	*pointer_out = pointer;
	return OK;
}

PUBLIC int cuMemFreeHost(void *pointer)
{
	CALL(true);
	end_thing(fake_own(__func__, THING_HOST, pointer));
	return OK;
}

PUBLIC int cuMemHostRegister_v2(void *pointer, size_t size_bytes, unsigned flags)
{
	CALL(true);
	(void)flags;
	if ((uintptr_t)pointer % 4096 || size_bytes % 4096)
		fake_violation(__func__, "not whole pages");
	if (overlaps((uint64_t)(uintptr_t)pointer, size_bytes))
		fake_violation(__func__, "some of it is registered already");
	fake_add(THING_REGISTERED, (uint64_t)(uintptr_t)pointer, size_bytes);
	return OK;
}

PUBLIC int cuMemHostUnregister(void *pointer)
{
	CALL(true);
	struct thing *range = fake_own(__func__, THING_REGISTERED, pointer);
	if (fake_range_is_used(range))
		fake_violation(__func__, "a copy from or to it is under way");
	fake_remove(range);
	return OK;
}

/* ---- kernels ---- */

static struct thing *function_of(const struct thing *module)
{
	struct thing *found = NULL;

	lock_acquire(&fake.lock);
	list_each (struct thing, thing, &fake.things, link) {
		if (thing->kind == THING_FUNCTION && thing->module == module)
			found = thing;
	}
	lock_release(&fake.lock);
	return found;
}

PUBLIC int cuModuleLoadData(void **module, const void *image)
{
	CALL(true);
	if (!strstr(image, ".version"))
		return ERROR_INVALID_IMAGE;
	if (!strstr(image, ".target sm_"))
		return ERROR_INVALID_PTX;
	struct thing *made = fake_add(THING_MODULE, 0, 0);
	made->text = strdup(image);
	*module = made;
	return OK;
}

PUBLIC int cuModuleGetFunction(void **function, void *module, const char *name)
{
	char entry[160];

	CALL(true);
	snprintf(entry, sizeof(entry), ".visible .entry %s(", name);
	struct thing *of = fake_own(__func__, THING_MODULE, module);
	if (!strstr(of->text, entry))
		return ERROR_NOT_FOUND;
	struct thing *made = fake_add(THING_FUNCTION, 0, 0);
	made->text = strdup(name);
	made->module = of;
	*function = made;
	return OK;
}

PUBLIC int cuModuleUnload(void *module)
{
	struct thing *function;

	CALL(true);
	struct thing *ended = fake_own(__func__, THING_MODULE, module);
	while ((function = function_of(ended)) != NULL)
		fake_remove(function);
	fake_remove(ended);
	return OK;
}
