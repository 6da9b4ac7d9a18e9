/* SPDX-License-Identifier: MIT */
/*
 * loopback_test.c - a kernel behind the wire sees copies of what a call is about, and nothing of the client's. In a build with
 * the address sanitizer one that looks there all the same is reported, which the *_wire tests of the API suite rest on.
 */
#include "support/test.h"

#include <string.h>

#include "thunk/loopback.h"
#include "unit/base/child.h"
#include "wire/call.h"

enum { COUNT = 300 };

static D3DKMT_HANDLE handles[COUNT];
static D3DKMT_EVICT client = { .hDevice = 0x40,
			       .NumAllocations = COUNT,
			       .AllocationList = handles };

/* What the kernel does with the copy it has; it answers 7. */
static void (*look)(const D3DKMT_EVICT *copy);

static NTSTATUS played_call(uint32_t id, void *arguments)
{
	D3DKMT_EVICT *copy = arguments;

	CHILD_EXPECT(id == CALL_evict);
	look(copy);
	copy->NumBytesToTrim = 7;
	return STATUS_SUCCESS;
}

static void call_with(void *kernel_looks)
{
	static const struct dxgk_embed kernel = { .call = played_call };

	look = (void (*)(const D3DKMT_EVICT *))kernel_looks;
	for (unsigned i = 0; i < COUNT; i++)
		handles[i] = i + 1;
	CHILD_EXPECT(loopback_around(&kernel)->call(CALL_evict, &client) == STATUS_SUCCESS);
	CHILD_EXPECT(client.NumBytesToTrim == 7);
}

static struct child_result kernel_that(void (*looks)(const D3DKMT_EVICT *copy))
{
	struct child_result result;

	child_run(&result, call_with, (void *)looks);
	return result;
}

static void looks_at_copies(const D3DKMT_EVICT *copy)
{
	CHILD_EXPECT(copy != &client && copy->AllocationList != handles);
	CHILD_EXPECT(copy->hDevice == 0x40 && copy->NumAllocations == COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		CHILD_EXPECT(copy->AllocationList[i] == i + 1);
}

/* As a kernel has them: the sanitizer does not look at what the compiler knows to be inside a variable. */
static D3DKMT_EVICT *volatile client_struct = &client;
static D3DKMT_HANDLE *volatile client_list = handles;
static volatile UINT seen;

static void looks_at_the_struct(const D3DKMT_EVICT *copy)
{
	seen = client_struct->NumAllocations;
}

static void looks_at_the_list(const D3DKMT_EVICT *copy)
{
	seen = client_list[COUNT - 1];
}

static void writes_to_the_list(const D3DKMT_EVICT *copy)
{
	client_list[0] = 5;
}

TEST(kernel, has_copies_of_everything)
{
	struct child_result result = kernel_that(looks_at_copies);

	EXPECT_EQ(result.signal, 0);
	EXPECT_EQ(result.exit_status, 0);
}

TEST(kernel, that_touches_memory_of_the_client_is_found)
{
	static void (*const touches[])(const D3DKMT_EVICT *copy) = { looks_at_the_struct,
								     looks_at_the_list,
								     writes_to_the_list };

	for (unsigned i = 0; i < 3 && IS_ADDRESS_SANITIZED; i++) {
		struct child_result result = kernel_that(touches[i]);

		EXPECT(result.signal != 0 || result.exit_status != 0);
		EXPECT(strstr(result.err, "use-after-poison") != NULL);
	}
}

TEST_MAIN("thunk/loopback")
