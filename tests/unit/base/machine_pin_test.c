/* SPDX-License-Identifier: MIT */
/*
 * machine_pin_test.c - pages that a device was told of: what is at their addresses does not change
 * behind its back.
 */
#include "base/machine_bank.h"
#include "base/machine_exchange.h"
#include "base/machine_pin.h"
#include "machine_pages.h"

struct device {
	struct machine_pinner pinner;
	unsigned pins;
	unsigned refusals; /* how often it does not let go yet */
	uint64_t address;
	void *pointer;
};

static bool tell(void *context, bool is_pinned, uint64_t address, void *pointer,
		 uint64_t size_bytes)
{
	struct device *device = context;

	EXPECT(size_bytes > 0);
	if (!is_pinned && device->refusals > 0) {
		device->refusals--;
		return false;
	}
	device->pins += is_pinned ? 1 : (unsigned)-1;
	device->address = address;
	device->pointer = pointer;
	return true;
}

/* A device, and some memory. */
struct pins {
	struct device device;
	uint64_t memory;
};

static void begin(struct pins *pins)
{
	*pins = (struct pins){ .device.pinner = { tell, &pins->device }, .memory = take() };
}

#define PIN_TEST(claim) TEST_ON(pins, begin(&pins), machine_finish(), pin, claim)

PIN_TEST(tells_where_the_pages_are)
{
	EXPECT(machine_pin(&pins->device.pinner, pins->memory, PAGES * MACHINE_PAGE_BYTES));
	EXPECT_EQ(pins->device.pins, 1);
	EXPECT_EQ(pins->device.address, pins->memory);
	EXPECT(pins->device.pointer == machine_to_pointer(pins->memory));
	machine_unpin_all(&pins->device.pinner);
	EXPECT_EQ(pins->device.pins, 0);
	EXPECT(machine_free_contiguous(pins->memory));
}

PIN_TEST(of_what_is_no_memory_is_refused)
{
	EXPECT(!machine_pin(&pins->device.pinner, 0, MACHINE_PAGE_BYTES));
	EXPECT_EQ(pins->device.pins, 0);
	EXPECT(machine_free_contiguous(pins->memory));
}

PIN_TEST(goes_before_pages_exchange_their_addresses)
{
	uint64_t other = take();

	EXPECT(machine_pin(&pins->device.pinner, pins->memory, PAGES * MACHINE_PAGE_BYTES));
	pins->device.refusals = 3;
	EXPECT(machine_reserve_mappings(MACHINE_MAPPINGS_PER_EXCHANGE));
	EXPECT(machine_exchange(other, pins->memory, 1));
	EXPECT_EQ(pins->device.pins, 0);
	EXPECT_EQ(pins->device.refusals, 0);
	EXPECT(machine_exchange(other, pins->memory, 1));
	machine_release_mappings(MACHINE_MAPPINGS_PER_EXCHANGE);
	EXPECT(machine_free_contiguous(pins->memory));
	EXPECT(machine_free_contiguous(other));
}

PIN_TEST(of_a_device_that_does_not_let_go_keeps_what_is_there)
{
	uint64_t other = take();

	EXPECT(machine_pin(&pins->device.pinner, pins->memory, MACHINE_PAGE_BYTES));
	pins->device.refusals = 1000000;
	EXPECT(machine_reserve_mappings(MACHINE_MAPPINGS_PER_EXCHANGE));
	EXPECT(!machine_exchange(other, pins->memory, 1));
	EXPECT_EQ(pins->device.pins, 1);
	machine_release_mappings(MACHINE_MAPPINGS_PER_EXCHANGE);
	pins->device.refusals = 0;
	machine_unpin_all(&pins->device.pinner);
	EXPECT(machine_free_contiguous(pins->memory));
	EXPECT(machine_free_contiguous(other));
}

/* The host keeps them for the device; they are zero for who has them next all the same. */
PIN_TEST(of_freed_pages_stays_and_they_are_zero_when_they_are_handed_out)
{
	char *bytes = machine_to_pointer(pins->memory);

	bytes[5] = 7;
	EXPECT(machine_pin(&pins->device.pinner, pins->memory, PAGES * MACHINE_PAGE_BYTES));
	EXPECT(machine_free_contiguous(pins->memory));
	EXPECT_EQ(pins->device.pins, 1);
	EXPECT_EQ(take(), pins->memory);
	EXPECT_EQ(bytes[5], 0);
	EXPECT_EQ(pins->device.pins, 1);
	machine_unpin_all(&pins->device.pinner);
	EXPECT(machine_free_contiguous(pins->memory));
}

/* A process gets addresses of the machine's own, where its memfd is shown then. */
PIN_TEST(goes_before_addresses_come_to_a_bank)
{
	uint64_t address;

	EXPECT(machine_free_contiguous(pins->memory));
	EXPECT(machine_pin(&pins->device.pinner, MACHINE_FIRST, machine_size_bytes()));
	struct machine_bank *bank = machine_bank_create();
	EXPECT(machine_bank_stretch(bank, 1, UINT64_MAX, &address) > 0);
	EXPECT_EQ(pins->device.pins, 0);
	EXPECT(machine_free_contiguous(address));
	machine_bank_destroy(bank);
}

TEST_MAIN("base/machine_pin")
