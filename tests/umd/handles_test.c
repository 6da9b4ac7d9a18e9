/* SPDX-License-Identifier: MIT */
/*
 * handles_test.c - the runtime's numbers themselves: what is found by them, and which one comes next.
 */
#include "support/test.h"

#include <string.h>

#include "umd/handles.h"

enum { OWNER = 200, GENERATIONS = 1 << 16 };

static struct umd_handles handles;

static void begin(void)
{
	EXPECT(umd_handles_init(&handles, OWNER));
}

static void finish(void)
{
	free(handles.slots[0]);
	memset(&handles, 0, sizeof(handles));
}

static HANDLE make(enum umd_kind kind, D3DKMT_HANDLE kernel)
{
	struct umd_slot *slot = umd_slot_reserve(&handles, kind);

	EXPECT(slot != NULL);
	return umd_slot_publish(slot, kernel);
}

static void end(HANDLE handle, enum umd_kind kind)
{
	struct umd_slot *slot = umd_slot_at(&handles, handle, (unsigned)kind);

	EXPECT(umd_slot_claim(slot, handle));
	umd_slot_end(&handles, slot, kind);
}

#define HANDLES_TEST(claim) TEST_BETWEEN(begin(), finish(), handles, claim)

HANDLES_TEST(each_is_found_as_what_it_is_and_as_nothing_else)
{
	static const enum umd_kind kinds[] = { UMD_RESOURCE, UMD_HWQUEUE, UMD_CONTEXT,
					       UMD_HWCONTEXT };

	for (unsigned i = 0; i < 4; i++) {
		HANDLE handle = make(kinds[i], 0x40 + i);

		EXPECT_EQ(umd_handle_kind((uintptr_t)handle), kinds[i]);
		EXPECT_EQ(umd_handle_owner((uintptr_t)handle), OWNER);
		for (unsigned k = 0; k < 4; k++) {
			struct umd_slot *slot = umd_slot_find(&handles, handle, kinds[k]);

			EXPECT_EQ(slot != NULL, i == k);
			if (slot)
				EXPECT_EQ(atomic_load(&slot->kernel), 0x40 + i);
		}
	}
}

HANDLES_TEST(a_context_of_either_kind_is_found_as_a_context)
{
	HANDLE context = make(UMD_CONTEXT, 0x40);
	HANDLE hw_context = make(UMD_HWCONTEXT, 0x80);
	HANDLE queue = make(UMD_HWQUEUE, 0xc0);
	HANDLE resource = make(UMD_RESOURCE, 0x100);

	EXPECT_EQ(umd_slot_find(&handles, context, UMD_ANY_CONTEXT)->kernel, 0x40);
	EXPECT_EQ(umd_slot_find(&handles, hw_context, UMD_ANY_CONTEXT)->kernel, 0x80);
	EXPECT(!umd_slot_find(&handles, queue, UMD_ANY_CONTEXT));
	EXPECT(!umd_slot_find(&handles, resource, UMD_ANY_CONTEXT));
}

/* NULL and what else a driver has at hand. */
HANDLES_TEST(numbers_that_were_not_given_are_not_found)
{
	HANDLE resource = make(UMD_RESOURCE, 0x40);
	const uint64_t number = (uintptr_t)resource;
	const uint64_t others[] = { 0,
				    0x40,
				    (uintptr_t)&handles,
				    (uint32_t)number,
				    ~number,
				    number + (1 << 6),
				    number + (UINT64_C(1) << 32),
				    number + (UINT64_C(1) << 56),
				    ~UINT64_C(0) };

	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		HANDLE other = (HANDLE)(uintptr_t)others[i];

		EXPECT(!umd_slot_find(&handles, other, UMD_RESOURCE));
		EXPECT(!umd_slot_find(&handles, other, UMD_HWQUEUE));
		EXPECT(!umd_slot_find(&handles, other, UMD_ANY_CONTEXT));
		EXPECT(!umd_slot_claim(umd_slot_at(&handles, other, UMD_RESOURCE), other));
	}
	end(resource, UMD_RESOURCE);
	EXPECT(!umd_slot_find(&handles, resource, UMD_RESOURCE));
	/* The place of what has ended does not answer to the number that it keeps meanwhile. */
	HANDLE kept = (HANDLE)(uintptr_t)atomic_load(
		&umd_slot_at(&handles, resource, UMD_RESOURCE)->handle);
	EXPECT(!umd_slot_find(&handles, kept, UMD_RESOURCE));
}

HANDLES_TEST(a_place_that_is_used_again_has_a_number_of_its_own_for_65536_uses)
{
	HANDLE first = make(UMD_CONTEXT, 0x40);
	HANDLE last = first;

	for (unsigned i = 1; i < GENERATIONS; i++) {
		end(last, UMD_CONTEXT);
		HANDLE next = make(UMD_CONTEXT, 0x40);
		EXPECT(next != first && next != last);
		EXPECT(umd_slot_at(&handles, next, UMD_CONTEXT) ==
		       umd_slot_at(&handles, first, UMD_CONTEXT));
		EXPECT(!umd_slot_find(&handles, last, UMD_CONTEXT));
		last = next;
	}
	/* Then they begin again, and kind and owner are what they were. */
	end(last, UMD_CONTEXT);
	EXPECT(make(UMD_CONTEXT, 0x40) == first);
}

HANDLES_TEST(what_is_put_back_has_the_number_it_had)
{
	HANDLE handle = make(UMD_HWQUEUE, 0x40);
	struct umd_slot *slot = umd_slot_at(&handles, handle, UMD_HWQUEUE);

	EXPECT(umd_slot_claim(slot, handle));
	EXPECT(!umd_slot_claim(slot, handle));
	EXPECT(!umd_slot_find(&handles, handle, UMD_HWQUEUE));
	umd_slot_put_back(slot);
	EXPECT(umd_slot_find(&handles, handle, UMD_HWQUEUE) == slot);
}

HANDLES_TEST(a_device_has_room_for_262143_of_a_kind)
{
	for (unsigned i = 1; i < UMD_SLOTS; i++)
		EXPECT(umd_slot_reserve(&handles, UMD_RESOURCE) != NULL);
	EXPECT(!umd_slot_reserve(&handles, UMD_RESOURCE));
	/* Other kinds have theirs; and what ends makes room. */
	HANDLE context = make(UMD_CONTEXT, 0x40);
	struct umd_slot *slot = &handles.slots[0][77];
	umd_slot_end(&handles, slot, UMD_RESOURCE);
	EXPECT(umd_slot_reserve(&handles, UMD_RESOURCE) == slot);
	EXPECT(!umd_slot_reserve(&handles, UMD_RESOURCE));
	EXPECT(umd_slot_find(&handles, context, UMD_CONTEXT) != NULL);
}

HANDLES_TEST(clearing_ends_what_is_in_use_and_counts_it)
{
	HANDLE contexts[3] = { make(UMD_CONTEXT, 0x40), make(UMD_CONTEXT, 0x80),
			       make(UMD_CONTEXT, 0xc0) };

	make(UMD_HWQUEUE, 0x100);
	end(contexts[1], UMD_CONTEXT);
	EXPECT_EQ(umd_handles_clear(&handles), 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(!umd_slot_find(&handles, contexts[i], UMD_CONTEXT));
	EXPECT_EQ(umd_handles_clear(&handles), 0);
}

TEST_MAIN("umd/handles")
