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

static void begin(struct device *device)
{
	*device = (struct device){ .pinner = { tell, device } };
}

TEST(pin, tells_where_the_pages_are)
{
	struct device device;
	uint64_t memory = take();

	begin(&device);
	EXPECT(machine_pin(&device.pinner, memory, PAGES * MACHINE_PAGE_BYTES));
	EXPECT_EQ(device.pins, 1);
	EXPECT_EQ(device.address, memory);
	EXPECT(device.pointer == machine_to_pointer(memory));
	machine_unpin_all(&device.pinner);
	EXPECT_EQ(device.pins, 0);
	EXPECT(machine_free_contiguous(memory));
	machine_finish();
}

TEST(pin, of_what_is_no_memory_is_refused)
{
	struct device device;
	uint64_t memory = take();

	begin(&device);
	EXPECT(!machine_pin(&device.pinner, 0, MACHINE_PAGE_BYTES));
	EXPECT_EQ(device.pins, 0);
	EXPECT(machine_free_contiguous(memory));
	machine_finish();
}

TEST(pin, goes_before_pages_exchange_their_addresses)
{
	struct device device;
	uint64_t memory = take();
	uint64_t other = take();

	begin(&device);
	EXPECT(machine_pin(&device.pinner, memory, PAGES * MACHINE_PAGE_BYTES));
	device.refusals = 3;
	EXPECT(machine_reserve_mappings(MACHINE_MAPPINGS_PER_EXCHANGE));
	EXPECT(machine_exchange(other, memory, 1));
	EXPECT_EQ(device.pins, 0);
	EXPECT_EQ(device.refusals, 0);
	EXPECT(machine_exchange(other, memory, 1));
	machine_release_mappings(MACHINE_MAPPINGS_PER_EXCHANGE);
	EXPECT(machine_free_contiguous(memory));
	EXPECT(machine_free_contiguous(other));
	machine_finish();
}

TEST(pin, of_a_device_that_does_not_let_go_keeps_what_is_there)
{
	struct device device;
	uint64_t memory = take();
	uint64_t other = take();

	begin(&device);
	EXPECT(machine_pin(&device.pinner, memory, MACHINE_PAGE_BYTES));
	device.refusals = 1000000;
	EXPECT(machine_reserve_mappings(MACHINE_MAPPINGS_PER_EXCHANGE));
	EXPECT(!machine_exchange(other, memory, 1));
	EXPECT_EQ(device.pins, 1);
	machine_release_mappings(MACHINE_MAPPINGS_PER_EXCHANGE);
	device.refusals = 0;
	machine_unpin_all(&device.pinner);
	EXPECT(machine_free_contiguous(memory));
	EXPECT(machine_free_contiguous(other));
	machine_finish();
}

/* The host keeps them for the device; they are zero for who has them next all the same. */
TEST(pin, of_freed_pages_stays_and_they_are_zero_when_they_are_handed_out)
{
	struct device device;
	uint64_t memory = take();
	char *bytes = machine_to_pointer(memory);

	begin(&device);
	bytes[5] = 7;
	EXPECT(machine_pin(&device.pinner, memory, PAGES * MACHINE_PAGE_BYTES));
	EXPECT(machine_free_contiguous(memory));
	EXPECT_EQ(device.pins, 1);
	EXPECT_EQ(take(), memory);
	EXPECT_EQ(bytes[5], 0);
	EXPECT_EQ(device.pins, 1);
	machine_unpin_all(&device.pinner);
	EXPECT(machine_free_contiguous(memory));
	machine_finish();
}

/* A process gets addresses of the machine's own, where its memfd is shown then. */
TEST(pin, goes_before_addresses_come_to_a_bank)
{
	struct device device;
	uint64_t memory = take();
	uint64_t address;

	begin(&device);
	EXPECT(machine_free_contiguous(memory));
	EXPECT(machine_pin(&device.pinner, MACHINE_FIRST, machine_size_bytes()));
	struct machine_bank *bank = machine_bank_create();
	EXPECT(machine_bank_stretch(bank, 1, UINT64_MAX, &address) > 0);
	EXPECT_EQ(device.pins, 0);
	EXPECT(machine_free_contiguous(address));
	machine_bank_destroy(bank);
	machine_finish();
}

TEST_MAIN("base/machine_pin")
