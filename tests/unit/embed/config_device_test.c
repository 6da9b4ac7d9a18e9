/* SPDX-License-Identifier: MIT */
/*
 * config_device_test.c - what a profile says about the device under an adapter, its names and its
 * level; and that every mistake in it is told with its place.
 */
#include "profile.h"
#include "support/failing.h"

/* One adapter with these members besides its driver. */
static NTSTATUS read_adapter(const char *members, struct config *config)
{
	char text[4096];

	snprintf(text, sizeof(text), "{\"adapters\":[{\"driver\":\"a\",%s}]}", members);
	return read_profile(text, config);
}

#define PCI_IDS "\"vendor\":\"0x1af4\",\"device\":4176"

static const char whole[] =
	"\"name\":\"n\",\"driverStore\":\"/a/"
	"b\",\"driverVersion\":\"31.0.101.65535\",\"wddm\":\"2.7\","
	"\"pci\":{" PCI_IDS ",\"subsystemVendor\":\"0x103C\",\"subsystem\":\"0x8a5b\","
	"\"revision\":161,\"class\":\"0x030200\",\"bus\":3,\"slot\":31,\"function\":7,"
	"\"capabilities\":64,\"space\":[{\"offset\":64,\"bytes\":\"0900 10 01\","
	"\"writable\":\"00000fF0\"},{\"offset\":\"0x100\",\"bytes\":\"0b\"}]},"
	"\"resources\":[{\"memory\":65536},{\"memory\":4096,\"bar\":0},"
	"{\"memory\":\"0x80000000\",\"64bit\":true,\"prefetchable\":true},"
	"{\"interruptMessages\":4}],"
	"\"registry\":{\"Names\":[\"a\",\"b\"],\"Bytes\":[0,255,\"0x7f\"],"
	"\"Parameters\":{\"N\":1,\"More\":{\"DriverDesc\":\"t\"}}}";

TEST(config_device, everything_that_may_be_said_is_read)
{
	struct config config;

	EXPECT_EQ(read_adapter(whole, &config), STATUS_SUCCESS);
	const struct miniport_config *adapter = &config.adapters[0];
	EXPECT_EQ(adapter->driver_version, UINT64_C(31) << 48 | 101 << 16 | 65535);
	EXPECT_EQ(adapter->wddm_level, 2700);
	EXPECT(strcmp(adapter->driver_store, "/a/b") == 0);
	const struct miniport_pci *pci = adapter->pci;
	EXPECT(pci);
	EXPECT_EQ(pci->ids.vendor, 0x1af4);
	EXPECT_EQ(pci->ids.device, 0x1050);
	EXPECT_EQ(pci->ids.subsystem_vendor, 0x103c);
	EXPECT_EQ(pci->ids.subsystem, 0x8a5b);
	EXPECT_EQ(pci->ids.revision, 0xa1);
	EXPECT_EQ(pci->ids.class_code, 0x030200);
	EXPECT(pci->address.bus == 3 && pci->address.slot == 31 && pci->address.function == 7);
	EXPECT_EQ(pci->first_capability, 64);
	EXPECT_EQ(pci->part_count, 2);
	EXPECT(pci->parts[0].offset == 64 && pci->parts[0].count == 4);
	EXPECT(memcmp(pci->parts[0].bytes, "\x09\x00\x10\x01", 4) == 0);
	EXPECT(memcmp(pci->parts[0].writable, "\x00\x00\x0f\xf0", 4) == 0);
	EXPECT(pci->parts[1].offset == 256 && pci->parts[1].count == 1 && !pci->parts[1].writable);

	const struct miniport_resource *resources = adapter->resources;
	EXPECT_EQ(adapter->resource_count, 4);
	/* The second has its register; the first takes the next, and 64 bits are two. */
	EXPECT(resources[0].size_bytes == 65536 && resources[0].bar == 1);
	EXPECT(resources[1].size_bytes == 4096 && resources[1].bar == 0);
	EXPECT(resources[2].size_bytes == 0x80000000 && resources[2].bar == 2);
	EXPECT(resources[2].is_64bit && resources[2].is_prefetchable);
	EXPECT(!resources[0].is_64bit && !resources[0].is_prefetchable);
	EXPECT_EQ(resources[3].kind, MINIPORT_RESOURCE_MESSAGES);
	EXPECT_EQ(resources[3].number, 4);

	const struct miniport_setting *settings = adapter->settings;
	EXPECT_EQ(adapter->setting_count, 4);
	EXPECT_EQ(settings[0].count, 2);
	EXPECT_STR(settings[0].texts[1], "b");
	EXPECT_EQ(settings[1].count, 3);
	EXPECT(memcmp(settings[1].bytes, "\x00\xff\x7f", 3) == 0);
	EXPECT_STR(settings[2].key, "Parameters");
	EXPECT_EQ(settings[2].number, 1);
	EXPECT_STR(settings[3].key, "Parameters\\More");
	EXPECT_STR(settings[3].text, "t");
	config_finish(&config);
}

TEST(config_device, what_is_not_said_has_a_default)
{
	struct config config;

	EXPECT_EQ(read_adapter("\"pci\":{" PCI_IDS "}", &config), STATUS_SUCCESS);
	EXPECT_EQ(config.adapters[0].pci->ids.class_code, 0x038000);
	EXPECT_EQ(config.adapters[0].pci->ids.subsystem, 0);
	EXPECT_EQ(config.adapters[0].pci->address.bus, 0);
	EXPECT_EQ(config.adapters[0].pci->address.slot, 1);
	EXPECT_EQ(config.adapters[0].pci->first_capability, 0);
	EXPECT_EQ(config.adapters[0].wddm_level, 0);
	EXPECT(config.adapters[0].driver_version != 0);
	config_finish(&config);
	EXPECT_EQ(config_read(NULL, &config), STATUS_SUCCESS);
	EXPECT(config.adapters[0].driver_version != 0);
	EXPECT(!config.adapters[0].pci);
	EXPECT_EQ(config.adapters[0].resource_count, 0);
	config_finish(&config);
}

TEST(config_device, no_two_devices_are_in_one_place)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };
	struct config config;

	EXPECT_EQ(read_profile("{\"adapters\":[{\"driver\":\"a\",\"pci\":{" PCI_IDS "}},"
			       "{\"driver\":\"a\",\"pci\":{" PCI_IDS "}}]}",
			       &config),
		  STATUS_SUCCESS);
	EXPECT_EQ(config.adapters[0].pci->address.slot, 1);
	EXPECT_EQ(config.adapters[1].pci->address.slot, 2);
	config_finish(&config);
	EXPECT_EQ(read_profile("{\"adapters\":[{\"driver\":\"a\",\"pci\":{" PCI_IDS
			       ",\"slot\":2}},\n"
			       "{\"driver\":\"b\"},{\"driver\":\"a\",\"pci\":{" PCI_IDS
			       ",\"slot\":2}}]}",
			       &config),
		  STATUS_UNSUCCESSFUL);
	EXPECT(refusal_last(&why));
	EXPECT_CONTAINS(why.reason,
			":2:36: expected a place of its own on PCI, found bus 0, slot 2, "
			"function 0 of adapter 1");
}

TEST(config_device, ids_of_a_device_that_is_not_on_pci_are_given)
{
	struct config config;

	EXPECT_EQ(read_adapter("\"hardwareIds\":[\"ACPI\\\\OPDX0001\",\"ROOT\\\\x\"],"
			       "\"compatibleIds\":[\"ACPI\\\\GPU\"],"
			       "\"resources\":[{\"memory\":4096},{\"interruptLine\":11}]",
			       &config),
		  STATUS_SUCCESS);
	EXPECT_EQ(config.adapters[0].hardware_id_count, 2);
	EXPECT_STR(config.adapters[0].hardware_ids[0], "ACPI\\OPDX0001");
	EXPECT_STR(config.adapters[0].compatible_ids[0], "ACPI\\GPU");
	EXPECT_EQ(config.adapters[0].resources[1].number, 11);
	config_finish(&config);
}

TEST(config_device, every_level_of_wddm_from_2_0_to_3_1_is_one)
{
	static const char *const levels[] = { "2.0", "2.1", "2.2", "2.3", "2.4", "2.5",
					      "2.6", "2.7", "2.8", "2.9", "3.0", "3.1" };

	for (unsigned i = 0; i < 12; i++) {
		struct config config;
		char members[32];
		snprintf(members, sizeof(members), "\"wddm\":\"%s\"", levels[i]);
		EXPECT_EQ(read_adapter(members, &config), STATUS_SUCCESS);
		EXPECT_EQ(config.adapters[0].wddm_level, 2000 + i * 100);
		config_finish(&config);
	}
}

#define PCI(more)         "\"pci\":{" PCI_IDS more "}"
#define RESOURCES(list)   PCI("") ",\"resources\":[" list "]"
#define SPACE(list)       PCI(",\"space\":[" list "]")
#define VERSION_EXPECTED  "expected four numbers from 0 to 65535 with dots between them as"
#define NUMBER_EXPECTED   "expected a whole number from "
#define REGISTERS_TOO_FEW "expected a base address register that is free, of the 6 there are"

TEST(config_device, every_mistake_is_refused_with_its_place_and_what_was_expected)
{
	static const struct text_case cases[] = {
		{ "\"driverVersion\":1", ":1:44: expected a string as \"driverVersion\"" },
		{ "\"driverVersion\":\"1.2.3\"",
		  VERSION_EXPECTED " \"driverVersion\", found \"1.2.3\"" },
		{ "\"driverVersion\":\"1.2.3.65536\"", VERSION_EXPECTED },
		{ "\"driverVersion\":\"1.2.3.4.5\"", VERSION_EXPECTED },
		{ "\"driverVersion\":\"1.2..4\"", VERSION_EXPECTED },
		{ "\"driverVersion\":\"1.2.3.-4\"", VERSION_EXPECTED },
		{ "\"driverVersion\":\"1.2.3.4\",\"driverVersion\":\"1.2.3.4\"",
		  "\"driverVersion\" was given before" },
		{ "\"driverStore\":1", "expected a string as \"driverStore\", found a number" },
		{ "\"driverStore\":\"a/b\"",
		  "expected an absolute path as \"driverStore\", found \"a/b\"" },
		{ "\"wddm\":2.7", "expected a string as \"wddm\", found a number" },
		{ "\"wddm\":\"1.3\"", "or \"3.1\" as \"wddm\", found \"1.3\"" },
		{ "\"wddm\":\"3.2\"",
		  "expected \"2.0\" to \"2.9\", \"3.0\" or \"3.1\" as \"wddm\"" },
		{ "\"pci\":[]", "expected an object as \"pci\", found an array" },
		{ "\"pci\":{}", "expected \"vendor\" and \"device\" in \"pci\"" },
		{ "\"pci\":{\"vendor\":1}", "expected \"vendor\" and \"device\" in \"pci\"" },
		{ "\"pci\":{\"vendor\":0,\"device\":1}",
		  NUMBER_EXPECTED "1 (0x1) to 65534 (0xfffe) as \"vendor\", found 0" },
		{ "\"pci\":{\"vendor\":\"0xffff\",\"device\":1}",
		  "to 65534 (0xfffe) as \"vendor\", found 65535" },
		{ "\"pci\":{\"vendor\":\"1af4\",\"device\":1}",
		  "expected a number, or one as \"0x1f\", as \"vendor\", found \"1af4\"" },
		{ "\"pci\":{\"vendor\":\"0xg\",\"device\":1}", "as \"vendor\", found \"0xg\"" },
		{ "\"pci\":{\"vendor\":true,\"device\":1}",
		  "expected a number as \"vendor\", found true or false" },
		{ "\"pci\":{\"vendor\":1,\"device\":1.5}", "as \"device\", found 1.5" },
		{ "\"pci\":{\"vendor\":1,\"device\":65536}", "as \"device\", found 65536" },
		{ PCI(",\"revision\":256"), "as \"revision\", found 256" },
		{ PCI(",\"class\":\"0x1000000\""), "as \"class\", found 16777216" },
		{ PCI(",\"subsystem\":-1"), "as \"subsystem\", found -1" },
		{ PCI(",\"slot\":32"),
		  NUMBER_EXPECTED "0 (0x0) to 31 (0x1f) as \"slot\", found 32" },
		{ PCI(",\"function\":8"), "as \"function\", found 8" },
		{ PCI(",\"bus\":256"), "as \"bus\", found 256" },
		{ PCI(",\"rom\":1"), "\"capabilities\" or \"space\", found \"rom\"" },
		{ PCI(",\"capabilities\":60"), "as \"capabilities\", found 60" },
		{ PCI(",\"capabilities\":66,\"space\":[{\"offset\":64,\"bytes\":\"00000000\"}]"),
		  "expected a multiple of 4 as \"capabilities\", found 66" },
		{ PCI(",\"capabilities\":68,\"space\":[{\"offset\":64,\"bytes\":\"0000000000\"}]"),
		  "expected the offset of bytes that \"space\" gives as \"capabilities\", found "
		  "68" },
		{ PCI(",\"space\":1"), "expected an array as \"space\"" },
		{ SPACE("1"), "expected an object as a part of \"space\"" },
		{ SPACE("{\"offset\":64}"), "expected \"offset\" and \"bytes\" in this part" },
		{ SPACE("{\"bytes\":\"00\"}"), "expected \"offset\" and \"bytes\" in this part" },
		{ SPACE("{\"offset\":63,\"bytes\":\"00\"}"),
		  NUMBER_EXPECTED "64 (0x40) to 4095 (0xfff) as \"offset\", found 63" },
		{ SPACE("{\"offset\":4095,\"bytes\":\"0000\"}"),
		  "expected 1 bytes at most at offset 4095, found 2" },
		{ SPACE("{\"offset\":64,\"bytes\":\"0\"}"),
		  "expected pairs of hexadecimal digits as \"bytes\", found \"0\"" },
		{ SPACE("{\"offset\":64,\"bytes\":\"0x\"}"), "as \"bytes\", found \"0x\"" },
		{ SPACE("{\"offset\":64,\"bytes\":\"\"}"),
		  "expected bytes as \"bytes\", found none" },
		{ SPACE("{\"offset\":64,\"bytes\":\"0000\",\"writable\":\"ff\"}"),
		  "expected as many bytes as \"bytes\" has, 2, as \"writable\", found 1" },
		{ SPACE("{\"offset\":64,\"bytes\":\"0000\"},{\"offset\":65,\"bytes\":\"0000\"}"),
		  "expected bytes that were not given before, found offset 65" },
		{ "\"resources\":{}", "expected an array as \"resources\"" },
		{ RESOURCES("{}"), "expected one of \"memory\", \"interruptLine\" and "
				   "\"interruptMessages\" in a resource, found none" },
		{ RESOURCES("{\"memory\":4096,\"interruptLine\":1}"), "in a resource, found more" },
		{ RESOURCES("{\"port\":1}"), "or \"interruptMessages\", found \"port\"" },
		{ RESOURCES("{\"memory\":2048}"), "as \"memory\", found 2048" },
		{ RESOURCES("{\"memory\":12288}"),
		  "expected a power of two as \"memory\", found 12288" },
		{ RESOURCES("{\"memory\":4294967296}"), "as \"memory\", found 4294967296" },
		{ RESOURCES("{\"memory\":4096,\"bar\":6}"), "as \"bar\", found 6" },
		{ RESOURCES("{\"memory\":4096,\"64bit\":1}"),
		  "expected true or false as \"64bit\"" },
		{ RESOURCES("{\"memory\":4096,\"bar\":5,\"64bit\":true}"), REGISTERS_TOO_FEW },
		{ RESOURCES("{\"memory\":4096,\"bar\":1},{\"memory\":4096,\"bar\":1}"),
		  REGISTERS_TOO_FEW },
		{ RESOURCES("{\"memory\":4096,\"64bit\":true},{\"memory\":4096,\"64bit\":true},"
			    "{\"memory\":4096,\"bar\":4},{\"memory\":4096,\"64bit\":true}"),
		  REGISTERS_TOO_FEW },
		{ RESOURCES("{\"interruptLine\":255}"), "as \"interruptLine\", found 255" },
		{ RESOURCES("{\"interruptMessages\":0}"), "as \"interruptMessages\", found 0" },
		{ RESOURCES("{\"interruptMessages\":1,\"bar\":1}"),
		  "expected nothing beside the interrupt in its resource" },
		{ RESOURCES("{\"interruptMessages\":1},{\"interruptLine\":1}"),
		  "expected at most one resource with interrupts" },
		{ "\"resources\":[{\"memory\":4096,\"bar\":1}]",
		  "expected \"pci\" in an adapter with \"bar\"" },
		{ "\"hardwareIds\":\"x\"", "expected an array as \"hardwareIds\"" },
		{ "\"hardwareIds\":[]", "expected 1 to 64 ids in \"hardwareIds\", found 0" },
		{ "\"hardwareIds\":[1]", "expected a string as an id" },
		{ "\"hardwareIds\":[\"x\"]", "expected an enumerator, a \\ and an id in "
					     "\"hardwareIds\", found \"x\"" },
		{ "\"hardwareIds\":[\"A\\\\b c\"]", "expected printable ASCII without spaces" },
		{ "\"hardwareIds\":[\"pci\\\\VEN_8086\"]",
		  "expected \"pci\" for a device on PCI, which has its ids from there" },
		{ "\"hardwareIds\":[\"A\\\\b\"]," PCI(""),
		  "expected no \"hardwareIds\" beside \"pci\", which they come from" },
		{ "\"compatibleIds\":[\"A\\\\b\"]",
		  "expected \"hardwareIds\" beside \"compatibleIds\"" },
		{ "\"registry\":{\"A\":[]}",
		  "expected strings or bytes in the array \"A\", found none" },
		{ "\"registry\":{\"A\":[\"x\",1]}", "expected a string as each of the strings" },
		{ "\"registry\":{\"A\":[1,256]}", "as each of the bytes, found 256" },
		{ "\"registry\":{\"A\\\\B\":1}", "expected a name without \\ in \"registry\"" },
		{ "\"registry\":{\"K\":{\"A\\\\B\":1}}", "expected a name without \\" },
		{ "\"registry\":{\"K\":{\"A\":null}}",
		  "expected a number, a string, an array or an object as registry value" },
		{ "\"registry\":{\"driverdesc\":\"x\"}",
		  "expected \"DriverDesc\" not in \"registry\", it comes from \"name\"" },
		{ "\"registry\":{\"DriverVersion\":\"1.2.3.4\"}",
		  "it comes from \"driverVersion\"" },
		{ "\"registry\":{\"MatchingDeviceId\":\"1\"}",
		  "it comes from \"pci\" or \"hardwareIds\"" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config config;

		expect_refused(read_adapter(cases[i].given, &config), &config, cases[i].said);
	}
}

TEST(config_device, every_allocation_may_fail_and_nothing_is_left)
{
	static const char *const texts[] = { whole,
					     "\"hardwareIds\":[\"A\\\\b\"],\"compatibleIds\":"
					     "[\"A\\\\c\",\"A\\\\d\"]" };
	struct config config;

	for (int i = 0; i < 2; i++)
		EXPECT_EACH_FAILURE_TOLD(4, read_adapter(texts[i], &config),
					 config_finish(&config));
}

TEST_MAIN("embed/config_device")
