/* SPDX-License-Identifier: MIT */
/*
 * device_test.c - what a driver finds when its profile gives it a device: configuration space,
 * resources, ids, registry values; and what it finds when it is given none.
 *
 * The recorder driver looks, from DxgkDdiEscape.
 */
#include "host.h"

#include <ddk/ntddk.h>
#include <ddk/dispmprt.h>

#include "base/machine.h"

static const uint8_t capability[] = { 0x09, 0x00, 0x10, 0x01, 0xaa, 0xbb, 0xcc, 0xdd };
static const uint8_t capability_writable[] = { 0, 0, 0, 0, 0xff, 0x0f, 0, 0 };
static const uint8_t extended[] = { 0x0b, 0x00, 0x01, 0x00 };

static const struct miniport_pci_part parts[] = {
	{ 0x40, sizeof(capability), capability, capability_writable },
	{ 0x100, sizeof(extended), extended, NULL },
};

static const struct miniport_pci pci = {
	.ids = { 0x1af4, 0x1050, 0x103c, 0x8a5b, 0xa1, 0x030000 },
	.address = { 3, 2, 1 },
	.first_capability = 0x40,
	.parts = parts,
	.part_count = 2,
};

static const struct miniport_resource resources[] = {
	{ .kind = MINIPORT_RESOURCE_MEMORY, .size_bytes = 0x10000, .bar = 0 },
	{ .kind = MINIPORT_RESOURCE_LINE, .number = 11 },
	{ .kind = MINIPORT_RESOURCE_MEMORY,
	  .size_bytes = 0x200000,
	  .bar = 4,
	  .is_64bit = true,
	  .is_prefetchable = true },
};

static const struct miniport_config config = {
	.driver = RECORDER_PATH,
	.name = "A device",
	.adapter_id = 7,
	.luid = 0x1234500001234,
	.driver_version = UINT64_C(31) << 48 | 101 << 16 | 2111,
	.pci = &pci,
	.resources = resources,
	.resource_count = 3,
};

static void begin(struct host *host, const struct miniport_config *with)
{
	host_init(host);
	EXPECT_EQ(host_start_config(host, with), STATUS_SUCCESS);
}

static struct recorder_device *ask(struct host *host, enum recorder_command what,
				   struct recorder_device question)
{
	static struct recorder_device answer;

	answer = question;
	host_ask_device(host, what, &answer);
	return &answer;
}

#define ASK(host, what, ...) ask(host, what, (struct recorder_device){ __VA_ARGS__ })

static struct recorder_device *read_space(struct host *host, unsigned offset, unsigned length)
{
	return ASK(host, RECORDER_READ_SPACE, .offset = offset, .length = length);
}

static uint32_t read_dword(struct host *host, unsigned offset)
{
	uint32_t value;
	struct recorder_device *answer = read_space(host, offset, 4);

	EXPECT_EQ(answer->escape.status, STATUS_SUCCESS);
	EXPECT_EQ(answer->length, 4);
	memcpy(&value, answer->data, 4);
	return value;
}

static void write_dword(struct host *host, unsigned offset, uint32_t value)
{
	struct recorder_device question = { .offset = offset, .length = 4 };

	memcpy(question.data, &value, 4);
	struct recorder_device *answer = ask(host, RECORDER_WRITE_SPACE, question);
	EXPECT_EQ(answer->escape.status, STATUS_SUCCESS);
	EXPECT_EQ(answer->length, 4);
}

#define BEGUN_TEST(suite, claim, ...) TEST_ON(host, __VA_ARGS__, host_finish(&host), suite, claim)

/* ---- configuration space ---- */

BEGUN_TEST(space, its_header_says_what_ids_and_resources_say, begin(&host, &config))
{
	PCI_COMMON_CONFIG space;

	struct recorder_device *answer = read_space(host, 0, sizeof(space));
	EXPECT_EQ(answer->escape.status, STATUS_SUCCESS);
	EXPECT_EQ(answer->length, sizeof(space));
	memcpy(&space, answer->data, sizeof(space));
	EXPECT_EQ(space.VendorID, 0x1af4);
	EXPECT_EQ(space.DeviceID, 0x1050);
	EXPECT_EQ(space.RevisionID, 0xa1);
	EXPECT_EQ(space.BaseClass, 3);
	EXPECT_EQ(space.SubClass, 0);
	EXPECT_EQ(space.ProgIf, 0);
	EXPECT_EQ(space.HeaderType, 0);
	EXPECT_EQ(space.Command, PCI_ENABLE_MEMORY_SPACE | PCI_ENABLE_BUS_MASTER);
	EXPECT_EQ(space.Status, PCI_STATUS_CAPABILITIES_LIST);
	EXPECT_EQ(space.u.type0.SubVendorID, 0x103c);
	EXPECT_EQ(space.u.type0.SubSystemID, 0x8a5b);
	EXPECT_EQ(space.u.type0.CapabilitiesPtr, 0x40);
	EXPECT_EQ(space.u.type0.InterruptLine, 11);
	EXPECT_EQ(space.u.type0.InterruptPin, 1);
	EXPECT_EQ(space.u.type0.BaseAddresses[1], 0);
	uint64_t small = space.u.type0.BaseAddresses[0];
	uint64_t large = space.u.type0.BaseAddresses[4] | (uint64_t)space.u.type0.BaseAddresses[5]
								  << 32;
	EXPECT_EQ(small & 0xf, PCI_TYPE_32BIT);
	EXPECT_EQ(large & 0xf, PCI_TYPE_64BIT | PCI_ADDRESS_MEMORY_PREFETCHABLE);
	EXPECT(memcmp(space.DeviceSpecific, capability, sizeof(capability)) == 0);
	EXPECT_EQ(space.DeviceSpecific[sizeof(capability)], 0);
	EXPECT_EQ(ASK(host, RECORDER_RESOURCE, .index = 0)->start, small);
	EXPECT_EQ(ASK(host, RECORDER_RESOURCE, .index = 2)->start, large & ~UINT64_C(0xf));
}

TEST(space, ends_where_it_ends)
{
	struct host host;
	struct miniport_pci plain = pci;
	struct miniport_config with = config;

	begin(&host, &config);
	EXPECT_EQ(read_dword(&host, 0x100), 0x0001000b);
	EXPECT_EQ(read_space(&host, 4092, 8)->length, 4);
	EXPECT_EQ(read_space(&host, 4096, 4)->escape.status, STATUS_UNSUCCESSFUL);
	EXPECT_EQ(read_space(&host, 4096, 4)->length, 0);
	EXPECT_EQ(read_space(&host, 0xffffffff, 0xffffffff)->escape.status, STATUS_UNSUCCESSFUL);
	EXPECT_EQ(read_space(&host, 16, 0)->escape.status, STATUS_SUCCESS);
	EXPECT_EQ(ASK(&host, RECORDER_WRITE_SPACE, .offset = 4096, .length = 1)->escape.status,
		  STATUS_UNSUCCESSFUL);
	EXPECT_EQ(ASK(&host, RECORDER_WRITE_SPACE, .offset = 4094, .length = 9)->length, 2);
	host_finish(&host);

	/* Without anything behind them there are 256 bytes. */
	plain.part_count = 1;
	with.pci = &plain;
	begin(&host, &with);
	EXPECT_EQ(read_space(&host, 0, 300)->length, 256);
	EXPECT_EQ(read_space(&host, 256, 4)->escape.status, STATUS_UNSUCCESSFUL);
	host_finish(&host);
}

BEGUN_TEST(space, a_write_changes_what_is_writable_and_no_more, begin(&host, &config))
{
	static const struct {
		uint32_t at, written, found;
	} writes[] = {
		{ 0, 0xffffffff, 0x10501af4 },
		{ 8, 0xffffffff, 0x030000a1 },
		{ 0x0c, 0xffffffff, 0x0000ffff },
		{ 0x2c, 0, 0x8a5b103c },
		{ 0x3c, 0xffffffff, 0x000001ff },
		/* Behind the header: as the mask says. */
		{ 0x44, 0x11223344, 0xddccb344 },
		{ 0x100, 0, 0x0001000b },
		{ 0x80, 0xffffffff, 0 },
	};
	uint32_t before = read_dword(host, 4);

	write_dword(host, 4, 0xffffffff);
	EXPECT_EQ(read_dword(host, 4), (before & 0xffff0000) | 0x0547);
	write_dword(host, 4, 0);
	EXPECT_EQ(read_dword(host, 4), before & 0xffff0000);
	for (size_t i = 0; i < ARRAY_SIZE(writes); i++) {
		write_dword(host, writes[i].at, writes[i].written);
		EXPECT_EQ(read_dword(host, writes[i].at), writes[i].found);
	}
}

BEGUN_TEST(space, base_addresses_tell_their_size_to_who_writes_ones, begin(&host, &config))
{
	uint32_t address;

	address = read_dword(host, 0x10);
	write_dword(host, 0x10, 0xffffffff);
	EXPECT_EQ(read_dword(host, 0x10), 0xffff0000);
	write_dword(host, 0x10, address);
	EXPECT_EQ(read_dword(host, 0x10), address);
	write_dword(host, 0x20, 0xffffffff);
	write_dword(host, 0x24, 0xffffffff);
	EXPECT_EQ(read_dword(host, 0x20), 0xffe0000c);
	EXPECT_EQ(read_dword(host, 0x24), 0xffffffff);
	write_dword(host, 0x14, 0xffffffff); /* no such resource */
	EXPECT_EQ(read_dword(host, 0x14), 0);
}

TEST(space, other_spaces_have_nothing_and_what_is_none_is_reported)
{
	static const unsigned others[] = { DXGK_WHICHSPACE_ROM, DXGK_WHICHSPACE_MCH,
					   DXGK_WHICHSPACE_BRIDGE };
	static const enum recorder_command both[] = { RECORDER_READ_SPACE, RECORDER_WRITE_SPACE };
	static const struct {
		unsigned type;
		unsigned flags;
		const char *told;
	} mistakes[] = {
		{ 1, 0, "a DataType that is no DXGK_WHICHSPACE" },
		{ 0, RECORDER_NO_BUFFER, "a NULL Buffer" },
		{ 0, RECORDER_NO_COUNT, "a NULL Bytes" },
	};
	struct host host;

	begin(&host, &config);
	host_listen();
	for (unsigned way = 0; way < 2; way++) {
		for (unsigned i = 0; i < 3; i++) {
			struct recorder_device *answer =
				ASK(&host, both[way], .escape = { .type = others[i] }, .length = 4);
			EXPECT_EQ(answer->escape.status, STATUS_UNSUCCESSFUL);
			EXPECT_EQ(answer->length, 0);
		}
		EXPECT_EQ(host_reports.count, way * 3);
		for (unsigned i = 0; i < 3; i++) {
			struct recorder_device *answer = ASK(
				&host, both[way],
				.escape = { .type = mistakes[i].type, .flags = mistakes[i].flags },
				.length = 4);
			EXPECT_EQ(answer->escape.status, STATUS_INVALID_PARAMETER);
			EXPECT_EQ(host_reports.count, way * 3 + i + 1);
			EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_ARGUMENT);
			EXPECT_CONTAINS(host_reports.sentence, mistakes[i].told);
		}
	}
	host_finish_reported(&host);
}

TEST(space, a_device_on_no_bus_has_none)
{
	struct host host;
	struct miniport_config with = { .driver = RECORDER_PATH, .name = "x", .adapter_id = 7 };

	begin(&host, &with);
	EXPECT_EQ(read_space(&host, 0, 4)->escape.status, STATUS_UNSUCCESSFUL);
	EXPECT_EQ(read_space(&host, 0, 4)->length, 0);
	EXPECT_EQ(ASK(&host, RECORDER_WRITE_SPACE, .length = 4)->escape.status,
		  STATUS_UNSUCCESSFUL);
	EXPECT_EQ(ASK(&host, RECORDER_RESOURCE, .index = 0)->escape.result, 0);
	host_finish(&host);
}

/* ---- resources ---- */

BEGUN_TEST(resource, each_is_in_the_translated_list, begin(&host, &config))
{
	struct recorder_device *answer = ASK(host, RECORDER_RESOURCE, .index = 0);
	EXPECT_EQ(answer->escape.result, 3);
	EXPECT_EQ(answer->interface_type, PCIBus);
	EXPECT_EQ(answer->bus, 3);
	EXPECT_EQ(answer->escape.type, CmResourceTypeMemory);
	EXPECT_EQ(answer->escape.level, CmResourceShareDeviceExclusive);
	EXPECT_EQ(answer->escape.flags, CM_RESOURCE_MEMORY_READ_WRITE);
	EXPECT_EQ(answer->length, 0x10000);
	EXPECT_EQ(answer->start % 0x10000, 0);
	answer = ASK(host, RECORDER_RESOURCE, .index = 1);
	EXPECT_EQ(answer->escape.type, CmResourceTypeInterrupt);
	EXPECT_EQ(answer->escape.level, CmResourceShareShared);
	EXPECT_EQ(answer->escape.flags, CM_RESOURCE_INTERRUPT_LEVEL_SENSITIVE);
	EXPECT(answer->length > DISPATCH_LEVEL && answer->length < HIGH_LEVEL);
	answer = ASK(host, RECORDER_RESOURCE, .index = 2);
	EXPECT_EQ(answer->escape.flags, CM_RESOURCE_MEMORY_PREFETCHABLE);
	EXPECT_EQ(answer->length, 0x200000);
	EXPECT_EQ(answer->start % 0x200000, 0);
}

BEGUN_TEST(resource, memory_is_zero_at_first_and_the_same_through_every_mapping,
	   begin(&host, &config))
{
	for (unsigned i = 0; i < 3; i += 2) {
		unsigned end = (unsigned)resources[i].size_bytes - 4;
		struct recorder_device *answer =
			ASK(host, RECORDER_TOUCH, .index = i, .offset = end,
			    .escape = { .fence = 0x600df00d + i });
		EXPECT_EQ(answer->escape.status, STATUS_SUCCESS);
		EXPECT_EQ(answer->escape.last, 0);
		EXPECT_EQ(answer->escape.fence, 0x600df00d + i);
		answer = ASK(host, RECORDER_TOUCH, .index = i, .offset = end);
		EXPECT_EQ(answer->escape.last, 0x600df00d + i);
	}
}

TEST(resource, memory_goes_back_when_the_adapter_stops)
{
	struct host host;
	uint64_t before = machine_usage().taken_pages;

	begin(&host, &config);
	EXPECT(machine_usage().taken_pages >= before + (0x10000 + 0x200000) / 4096);
	host_stop(&host);
	EXPECT_EQ(machine_usage().taken_pages, before);
	host_finish(&host);
}

TEST(resource, memory_that_the_machine_does_not_have_is_refused)
{
	static const struct miniport_resource much[] = {
		{ .kind = MINIPORT_RESOURCE_MEMORY, .size_bytes = 0x10000 },
		{ .kind = MINIPORT_RESOURCE_MEMORY, .size_bytes = UINT64_C(1) << 45, .bar = 1 },
	};
	struct host host;
	struct miniport_config with = config;
	uint64_t before = machine_usage().taken_pages;

	with.resources = much;
	with.resource_count = 2;
	host_init(&host);
	EXPECT_EQ(host_start_config(&host, &with), STATUS_NO_MEMORY);
	EXPECT_STR(host.refusal.argument, "resources");
	EXPECT_CONTAINS(host.refusal.reason, "35184372088832 bytes");
	EXPECT_EQ(machine_usage().taken_pages, before);
	EXPECT(strstr(host.notes, "AddDevice") == NULL);
	host_finish(&host);
}

TEST(resource, messages_are_one_descriptor_each_and_may_be_synchronized_with)
{
	static const struct miniport_resource messages[] = { { .kind = MINIPORT_RESOURCE_MESSAGES,
							       .number = 3 } };
	struct host host;
	struct miniport_config with = config;

	with.resources = messages;
	with.resource_count = 1;
	begin(&host, &with);
	for (unsigned i = 0; i < 3; i++) {
		struct recorder_device *answer = ASK(&host, RECORDER_RESOURCE, .index = i);
		EXPECT_EQ(answer->escape.result, 3);
		EXPECT_EQ(answer->escape.type, CmResourceTypeInterrupt);
		EXPECT_EQ(answer->escape.level, CmResourceShareDeviceExclusive);
		EXPECT_EQ(answer->escape.flags,
			  CM_RESOURCE_INTERRUPT_LATCHED | CM_RESOURCE_INTERRUPT_MESSAGE);
		EXPECT_EQ(ASK(&host, RECORDER_MESSAGE, .index = i)->escape.status, STATUS_SUCCESS);
	}
	host_listen();
	EXPECT_EQ(ASK(&host, RECORDER_MESSAGE, .index = 3)->escape.status,
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_ARGUMENT);
	host_finish_reported(&host);
}

TEST(resource, a_device_on_no_bus_may_have_them_too)
{
	struct host host;
	struct miniport_config with = config;

	with.pci = NULL;
	begin(&host, &with);
	struct recorder_device *answer = ASK(&host, RECORDER_RESOURCE, .index = 0);
	EXPECT_EQ(answer->escape.result, 3);
	EXPECT_EQ(answer->interface_type, Internal);
	host_finish(&host);
}

/* ---- ids ---- */

static const char *property(struct host *host, DEVICE_REGISTRY_PROPERTY which)
{
	struct recorder_device *answer =
		ASK(host, RECORDER_PROPERTY, .escape = { .type = (unsigned)which });

	return answer->escape.status == STATUS_SUCCESS ? answer->text : "none";
}

static unsigned number(struct host *host, DEVICE_REGISTRY_PROPERTY which)
{
	unsigned value = 0xdead;
	struct recorder_device *answer =
		ASK(host, RECORDER_PROPERTY, .escape = { .type = (unsigned)which });

	if (answer->escape.status == STATUS_SUCCESS)
		memcpy(&value, answer->data, sizeof(value));
	return value;
}

BEGUN_TEST(ids, of_a_device_on_pci_are_made_from_its_numbers, begin(&host, &config))
{
	EXPECT_STR(property(host, DevicePropertyHardwareID),
		   "PCI\\VEN_1AF4&DEV_1050&SUBSYS_8A5B103C&REV_A1\n"
		   "PCI\\VEN_1AF4&DEV_1050&SUBSYS_8A5B103C\n"
		   "PCI\\VEN_1AF4&DEV_1050&CC_030000\n"
		   "PCI\\VEN_1AF4&DEV_1050&CC_0300");
	EXPECT_STR(property(host, DevicePropertyCompatibleIDs), "PCI\\VEN_1AF4&DEV_1050&REV_A1\n"
								"PCI\\VEN_1AF4&DEV_1050\n"
								"PCI\\VEN_1AF4&CC_030000\n"
								"PCI\\VEN_1AF4&CC_0300\n"
								"PCI\\VEN_1AF4\n"
								"PCI\\CC_030000\n"
								"PCI\\CC_0300");
	EXPECT_STR(property(host, DevicePropertyDeviceDescription), "A device");
	EXPECT_STR(property(host, DevicePropertyEnumeratorName), "PCI");
	EXPECT_EQ(number(host, DevicePropertyBusNumber), 3);
	EXPECT_EQ(number(host, DevicePropertyAddress), 2 << 16 | 1);
	EXPECT_EQ(number(host, DevicePropertyLegacyBusType), PCIBus);
}

TEST(ids, of_another_device_are_given_and_begin_with_who_enumerates_it)
{
	static const char *const hardware[] = { "ACPI\\VEN_OPDX&DEV_0001", "ACPI\\OPDX0001" };
	static const char *const compatible[] = { "ACPI\\GPU" };
	struct host host;
	struct miniport_config with = config;

	with.pci = NULL;
	with.hardware_ids = hardware;
	with.hardware_id_count = 2;
	with.compatible_ids = compatible;
	with.compatible_id_count = 1;
	begin(&host, &with);
	EXPECT_STR(property(&host, DevicePropertyHardwareID),
		   "ACPI\\VEN_OPDX&DEV_0001\nACPI\\OPDX0001");
	EXPECT_STR(property(&host, DevicePropertyCompatibleIDs), "ACPI\\GPU");
	EXPECT_STR(property(&host, DevicePropertyEnumeratorName), "ACPI");
	host_finish(&host);

	with.hardware_id_count = 0;
	with.compatible_id_count = 0;
	begin(&host, &with);
	EXPECT_STR(property(&host, DevicePropertyHardwareID), "ROOT\\opendxgk");
	EXPECT_STR(property(&host, DevicePropertyCompatibleIDs), "none");
	EXPECT_STR(property(&host, DevicePropertyEnumeratorName), "ROOT");
	EXPECT_STR(property(&host, DevicePropertyBusNumber), "none");
	EXPECT_EQ(number(&host, DevicePropertyLegacyBusType), Internal);
	host_finish(&host);
}

static struct recorder_device *ask_presence(struct host *host, PCI_DEVICE_PRESENCE_PARAMETERS what)
{
	struct recorder_device question = { 0 };

	memcpy(question.data, &what, sizeof(what));
	return ask(host, RECORDER_PRESENT, question);
}

TEST(ids, a_device_is_found_by_those_that_the_flags_name)
{
	const PCI_DEVICE_PRESENCE_PARAMETERS right = {
		.Size = sizeof(right),
		.VendorID = 0x1af4,
		.DeviceID = 0x1050,
		.RevisionID = 0xa1,
		.SubVendorID = 0x103c,
		.SubSystemID = 0x8a5b,
		.BaseClass = 3,
	};
	static const struct {
		ULONG flag;
		PCI_DEVICE_PRESENCE_PARAMETERS wrong;
	} claims[] = {
		{ PCI_USE_VENDEV_IDS, { .DeviceID = 0x1051 } },
		{ PCI_USE_SUBSYSTEM_IDS, { .SubSystemID = 1 } },
		{ PCI_USE_REVISION, { .RevisionID = 1 } },
		{ PCI_USE_CLASS_SUBCLASS, { .BaseClass = 2 } },
		{ PCI_USE_PROGIF, { .ProgIf = 1 } },
	};
	struct miniport_config with = { .driver = RECORDER_PATH, .name = "x", .adapter_id = 7 };
	PCI_DEVICE_PRESENCE_PARAMETERS what;
	struct host host;

	begin(&host, &config);
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		what = right;
		what.Flags = claims[i].flag | PCI_USE_VENDEV_IDS;
		EXPECT_EQ(ask_presence(&host, what)->escape.result, TRUE);
		what = claims[i].wrong;
		what.Size = sizeof(what);
		what.Flags = claims[i].flag;
		EXPECT_EQ(ask_presence(&host, what)->escape.result, FALSE);
		EXPECT_EQ(ask_presence(&host, what)->escape.status, STATUS_SUCCESS);
		/* Also beside one that is right. */
		what.VendorID = 0x1af4;
		what.DeviceID = i == 0 ? 0x1051 : 0x1050;
		what.Flags = claims[i].flag | PCI_USE_VENDEV_IDS;
		EXPECT_EQ(ask_presence(&host, what)->escape.result, FALSE);
	}
	what = right;
	what.Flags = PCI_USE_REVISION;
	EXPECT_EQ(ask_presence(&host, what)->escape.result, FALSE);
	host_listen();
	what.Size = sizeof(what) - 1;
	EXPECT_EQ(ask_presence(&host, what)->escape.status, STATUS_INVALID_PARAMETER);
	EXPECT_EQ(ASK(&host, RECORDER_PRESENT, .escape = { .flags = RECORDER_NO_BUFFER })
			  ->escape.status,
		  STATUS_INVALID_PARAMETER);
	EXPECT_EQ(host_reports.count, 2);
	EXPECT_EQ(host_reports.rule, RULE_DDI_CALLBACK_ARGUMENT);
	host_finish_reported(&host);

	begin(&host, &with);
	what = right;
	what.VendorID = 0;
	what.DeviceID = 0;
	what.Flags = PCI_USE_VENDEV_IDS;
	EXPECT_EQ(ask_presence(&host, what)->escape.result, FALSE);
	host_finish(&host);
}

/* ---- registry ---- */

static struct recorder_device *value(struct host *host, const char *key, const char *name)
{
	struct recorder_device question = { 0 };

	snprintf(question.key, sizeof(question.key), "%s", key);
	snprintf(question.text, sizeof(question.text), "%s", name);
	return ask(host, RECORDER_VALUE, question);
}

BEGUN_TEST(registry, has_what_an_installation_writes, begin(&host, &config))
{
	EXPECT_STR(value(host, "", "DriverDesc")->text, "A device");
	EXPECT_STR(value(host, "", "DriverVersion")->text, "31.0.101.2111");
	EXPECT_STR(value(host, "", "MatchingDeviceId")->text,
		   "PCI\\VEN_1AF4&DEV_1050&SUBSYS_8A5B103C&REV_A1");
}

TEST(registry, has_values_of_every_kind_also_in_keys_below)
{
	static const char *const names[] = { "one.dll", "two.dll" };
	static const uint8_t bytes[] = { 1, 2, 255 };
	static const struct miniport_setting settings[] = {
		{ .name = "Number", .number = 77 },
		{ .name = "Text", .text = "words" },
		{ .name = "Names", .texts = names, .count = 2 },
		{ .name = "Bytes", .bytes = bytes, .count = 3 },
		{ .name = "Number", .number = 78, .key = "Parameters" },
		{ .name = "Text", .text = "deep", .key = "Parameters\\More" },
	};
	struct host host;
	struct miniport_config with = config;

	with.settings = settings;
	with.setting_count = 6;
	begin(&host, &with);
	EXPECT_EQ(value(&host, "", "Number")->escape.type, REG_DWORD);
	EXPECT_EQ(value(&host, "", "Number")->data[0], 77);
	EXPECT_STR(value(&host, "", "Text")->text, "words");
	EXPECT_EQ(value(&host, "", "Names")->escape.type, REG_MULTI_SZ);
	EXPECT_STR(value(&host, "", "Names")->text, "one.dll\ntwo.dll");
	EXPECT_EQ(value(&host, "", "Bytes")->escape.type, REG_BINARY);
	EXPECT_EQ(value(&host, "", "Bytes")->length, 3);
	EXPECT_EQ(value(&host, "", "Bytes")->data[2], 255);
	EXPECT_EQ(value(&host, "Parameters", "Number")->data[0], 78);
	EXPECT_STR(value(&host, "Parameters\\More", "Text")->text, "deep");
	EXPECT_EQ(value(&host, "Parameters", "Text")->escape.status, STATUS_OBJECT_NAME_NOT_FOUND);
	host_finish(&host);
}

/* ---- the level ---- */

TEST(level, the_older_of_driver_and_kernel_counts)
{
	static const struct {
		uint32_t level;
		uint32_t driver; /* as WDDMVersion says it */
		uint32_t version;
		uint32_t wddm;
	} cases[] = {
		{ 0, 0x2600, DXGKDDI_INTERFACE_VERSION_WDDM2_6, 2600 },
		{ 2000, 0x2600, DXGKDDI_INTERFACE_VERSION_WDDM2_6, 2000 },
		{ 2400, 0x2600, DXGKDDI_INTERFACE_VERSION_WDDM2_6, 2400 },
		{ 2700, 0x2600, DXGKDDI_INTERFACE_VERSION_WDDM2_6, 2600 },
		{ 2400, 0x2300, DXGKDDI_INTERFACE_VERSION_WDDM2_6, 2300 },
		{ 3100, 0x3200, DXGKDDI_INTERFACE_VERSION_WDDM3_2, 3100 },
		{ 2500, 0, DXGKDDI_INTERFACE_VERSION_WDDM3_0, 2500 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct miniport_setting settings[] = {
			NUMBER("Version", cases[i].version),
			NUMBER("WDDMVersion", cases[i].driver),
		};
		struct miniport_config with = config;
		struct host host;

		with.settings = settings;
		with.setting_count = 2;
		with.wddm_level = cases[i].level;
		begin(&host, &with);
		EXPECT_EQ(miniport_info(host.miniport)->wddm_version, cases[i].wddm);
		host_finish(&host);
	}
}

TEST(level, the_interface_ends_where_a_kernel_of_that_level_ends_it)
{
	static const struct {
		uint32_t level;
		uint32_t version;
		uint32_t size_bytes;
	} cases[] = {
		{ 0, DXGKDDI_INTERFACE_VERSION_WDDM3_1, 72 * 8 },
		{ 2000, DXGKDDI_INTERFACE_VERSION_WDDM2_0, 39 * 8 },
		{ 2100, DXGKDDI_INTERFACE_VERSION_WDDM2_1_6, 41 * 8 },
		{ 2200, DXGKDDI_INTERFACE_VERSION_WDDM2_2, 45 * 8 },
		{ 2300, DXGKDDI_INTERFACE_VERSION_WDDM2_3, 46 * 8 },
		{ 2400, DXGKDDI_INTERFACE_VERSION_WDDM2_4, 57 * 8 },
		{ 2500, DXGKDDI_INTERFACE_VERSION_WDDM2_5, 58 * 8 },
		{ 2600, DXGKDDI_INTERFACE_VERSION_WDDM2_6, 60 * 8 },
		{ 2700, DXGKDDI_INTERFACE_VERSION_WDDM2_7, 60 * 8 },
		{ 2800, DXGKDDI_INTERFACE_VERSION_WDDM2_8, 61 * 8 },
		{ 2900, DXGKDDI_INTERFACE_VERSION_WDDM2_9, 71 * 8 },
		{ 3000, DXGKDDI_INTERFACE_VERSION_WDDM3_0, 71 * 8 },
		{ 3100, DXGKDDI_INTERFACE_VERSION_WDDM3_1, 72 * 8 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct miniport_config with = config;
		struct host host;

		with.wddm_level = cases[i].level;
		begin(&host, &with);
		struct recorder_device *answer = ASK(&host, RECORDER_INTERFACE, .index = 0);
		EXPECT_EQ(answer->escape.result, cases[i].version);
		EXPECT_EQ(answer->length, cases[i].size_bytes);
		EXPECT_EQ(answer->start, cases[i].level == 0 || cases[i].level >= 2500);
		host_finish(&host);
	}
}

/* ---- memory ---- */

TEST(memory, every_allocation_of_a_start_may_fail)
{
	host_start_without_memory(&config);
}

TEST_MAIN("miniport/device")
