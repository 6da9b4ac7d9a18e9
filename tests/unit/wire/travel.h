/* SPDX-License-Identifier: MIT */
/*
 * travel.h - a call that goes there and back, with a test in place of the kernel.
 */
#ifndef TESTS_UNIT_WIRE_TRAVEL_H
#define TESTS_UNIT_WIRE_TRAVEL_H

#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "wire/travel_walk.h"

/* What travelled as a thing, and what became of it. */
struct test_hooks {
	struct travel_hooks hooks;
	uint32_t sent_count;
	enum travel_thing sent_thing;
	uintptr_t sent_value;
	uint64_t sent_bytes;
	uint32_t arrived_count;
	uintptr_t arrived_value;
	int sent_back; /* -1: nothing */
	int arrived_back;
};

static uint64_t test_send(struct travel_hooks *hooks, enum travel_thing thing, uintptr_t value,
			  uint64_t size_bytes)
{
	struct test_hooks *test = (struct test_hooks *)hooks;

	test->sent_count++;
	test->sent_thing = thing;
	test->sent_value = value;
	test->sent_bytes = size_bytes;
	return 0x1000 + test->sent_count;
}

static uintptr_t test_arrive(struct travel_hooks *hooks, enum travel_thing thing, uint64_t token,
			     uintptr_t value, uint64_t size_bytes)
{
	struct test_hooks *test = (struct test_hooks *)hooks;

	test->arrived_count++;
	test->arrived_value = value;
	return 0x5e0000 + token;
}

static uint64_t test_send_back(struct travel_hooks *hooks, int descriptor)
{
	((struct test_hooks *)hooks)->sent_back = descriptor;
	return 77;
}

static int test_arrive_back(struct travel_hooks *hooks, uint64_t token)
{
	return token == 77 ? ((struct test_hooks *)hooks)->arrived_back : -1;
}

static inline void test_hooks_init(struct test_hooks *test)
{
	*test = (struct test_hooks){
		.hooks = { test_send, test_arrive, test_send_back, test_arrive_back },
		.sent_back = -1,
		.arrived_back = 9,
	};
}

/* A request in a block that ends where it ends, so that a sanitizer sees a step beyond. */
static inline void *test_request(uint32_t id, const void *arguments, uint64_t *size_out,
				 struct test_hooks *test)
{
	*size_out = travel_request_bytes(id, arguments);
	assert_true(*size_out != 0);
	void *block = malloc(*size_out);
	assert_non_null(block);
	EXPECT(travel_request_write(id, arguments, block, *size_out, &test->hooks));
	return block;
}

/* What the kernel would do with the arguments; returns what the call answers. */
typedef NTSTATUS test_kernel(void *arguments, const struct travel_image *image);

static inline void test_go(uint32_t id, void *arguments, test_kernel *kernel,
			   struct test_hooks *test)
{
	struct travel_image image;
	const char *why = NULL;
	uint64_t request_bytes;
	void *request = test_request(id, arguments, &request_bytes, test);

	bool is_open = travel_request_open(&image, id, request, request_bytes, &test->hooks, &why);
	EXPECT(is_open);
	EXPECT(why == NULL);
	if (!is_open) {
		free(request);
		return;
	}
	NTSTATUS status = kernel(image.arguments, &image);
	uint64_t reply_bytes = travel_reply_bytes(&image, status);
	void *reply = malloc(reply_bytes);
	assert_non_null(reply);
	travel_reply_write(&image, status, reply, &test->hooks);
	travel_image_close(&image);
	free(request); /* nothing of it is needed any more */
	EXPECT(travel_reply_apply(id, arguments, reply, reply_bytes, &test->hooks));
	free(reply);
}

#endif
