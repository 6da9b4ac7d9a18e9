/* SPDX-License-Identifier: MIT */
/*
 * config_test.c - the profile: what it may say, and how a mistake is told.
 */
#include "evict/evict.h"
#include "profile.h"
#include "support/failing.h"

TEST(config, without_a_profile_there_is_the_default_adapter)
{
	struct config config;

	EXPECT_EQ(config_read(NULL, &config), STATUS_SUCCESS);
	EXPECT_EQ(config.adapter_count, 1);
	const struct miniport_config *adapter = &config.adapters[0];
	EXPECT_STR(adapter->driver, "soft");
	EXPECT_STR(adapter->name, "opendxgk Soft GPU");
	EXPECT_EQ(adapter->adapter_id, 1);
	EXPECT(adapter->luid != 0);
	EXPECT_EQ(adapter->setting_count, 3);
	EXPECT_STR(adapter->settings[0].name, "LocalMemoryMiB");
	EXPECT_EQ(adapter->settings[0].number, 256);
	EXPECT_STR(adapter->settings[1].name, "ApertureMiB");
	EXPECT_EQ(adapter->settings[1].number, 1024);
	EXPECT_STR(adapter->settings[2].text, "gpummu");
	config_finish(&config);
}

TEST(config, adapters_come_in_order_with_numbers_and_luids_of_their_own)
{
	struct config config;

	EXPECT_EQ(read_profile("{\"adapters\":[{\"driver\":\"/a/"
			       "b.so\"},{\"driver\":\"soft\",\"name\":\"two\","
			       "\"registry\":{\"N\":4294967295,\"S\":\"x\"}}]}",
			       &config),
		  STATUS_SUCCESS);
	EXPECT_EQ(config.adapter_count, 2);
	EXPECT_STR(config.adapters[0].driver, "/a/b.so");
	EXPECT_STR(config.adapters[0].name, "/a/b.so");
	EXPECT_EQ(config.adapters[0].setting_count, 0);
	EXPECT_EQ(config.adapters[1].adapter_id, 2);
	EXPECT(config.adapters[0].luid != config.adapters[1].luid);
	EXPECT_EQ(config.adapters[1].settings[0].number, 4294967295u);
	EXPECT_STR(config.adapters[1].settings[1].text, "x");
	config_finish(&config);
}

TEST(config, an_empty_list_is_no_mistake)
{
	struct config config;

	EXPECT_EQ(read_profile("{\"adapters\":[]}", &config), STATUS_SUCCESS);
	EXPECT_EQ(config.adapter_count, 0);
	config_finish(&config);
}

TEST(config, every_mistake_is_refused_with_its_place_and_what_was_expected)
{
	static const struct text_case cases[] = {
		{ "[]", ":1:1: expected an object as the profile, found an array" },
		{ "{}", ":1:1: expected \"adapters\" in the profile" },
		{ "{\"adapter\":[]}",
		  ":1:12: expected \"adapters\" or \"limits\", found \"adapter\"" },
		{ "{\"adapters\":{}}",
		  ":1:13: expected an array as \"adapters\", found an object" },
		{ "{\"adapters\":[1]}", ":1:14: expected an object as an adapter, found a number" },
		{ "{\"adapters\":[{}]}", ":1:14: expected \"driver\" in this adapter" },
		{ "{\"adapters\":[{\"driver\":1}]}", ":1:24: expected a string as \"driver\"" },
		{ "{\"adapters\":[{\"driver\":\"\"}]}", "found an empty string" },
		{ "{\"adapters\":[{\"driver\":\"a\",\"driver\":\"b\"}]}",
		  "\"driver\" was given before" },
		{ "{\"adapters\":[{\"driver\":\"a\",\"memory\":1}]}",
		  "expected \"driver\", \"name\", \"driverStore\", \"registry\", "
		  "\"driverVersion\", \"wddm\", "
		  "\"eviction\", \"pci\", \"resources\", \"hardwareIds\" or \"compatibleIds\", "
		  "found "
		  "\"memory\"" },
		{ "{\"adapters\":[{\"driver\":\"a\",\"eviction\":\"LRU\"}]}",
		  "expected a policy of eviction that dxgk replay --help lists, found \"LRU\"" },
		{ "{\"adapters\":[{\"driver\":\"a\",\"eviction\":1}]}",
		  "expected a string as \"eviction\", found a number" },
		{ "{\"adapters\":[{\"driver\":\"a\",\"registry\":[]}]}",
		  "expected an object as \"registry\", found an array" },
		{ "{\"adapters\":[{\"driver\":\"a\",\"registry\":{\"N\":4294967296}}]}",
		  "expected a whole number from 0 to 4294967295" },
		{ "{\"adapters\":[{\"driver\":\"a\",\"registry\":{\"N\":-1}}]}",
		  "expected a whole number from 0 to 4294967295" },
		{ "{\"adapters\":[{\"driver\":\"a\",\"registry\":{\"N\":1.5}}]}",
		  "expected a whole number from 0 to 4294967295" },
		{ "{\"adapters\":[{\"driver\":\"a\",\n\"registry\":{\"N\":true}}]}",
		  ":2:17: expected a number, a string, an array or an object as registry value, "
		  "found true or false" },
		{ "{\"adapters\":[],\"adapters\":[]}", "\"adapters\" was given before" },
		{ "{\"adapters\":[", "expected a value, found the end of the file" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct config config;

		expect_refused(read_profile(cases[i].given, &config), &config, cases[i].said);
	}
}

TEST(config, each_adapter_has_the_policy_of_eviction_that_is_named)
{
	struct config config;

	EXPECT_EQ(read_profile("{\"adapters\":[{\"driver\":\"a\",\"eviction\":\"lru\"},"
			       "{\"driver\":\"a\"}]}",
			       &config),
		  STATUS_SUCCESS);
	EXPECT(config.adapters[0].eviction == &evict_lru);
	EXPECT(!config.adapters[1].eviction);
	config_finish(&config);
}

TEST(config, more_adapters_than_there_is_room_for_are_refused)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };
	struct config config;
	char text[1024] = "{\"adapters\":[{\"driver\":\"a\"}";

	for (int i = 0; i < 16; i++)
		strcat(text, ",{\"driver\":\"a\"}");
	strcat(text, "]}");
	EXPECT_EQ(read_profile(text, &config), STATUS_UNSUCCESSFUL);
	EXPECT(refusal_last(&why));
	EXPECT_CONTAINS(why.reason, "expected at most 16 adapters, found 17");
}

TEST(config, every_allocation_may_fail_and_nothing_is_left)
{
	static const char *const texts[] = {
		NULL, "{\"adapters\":[{\"driver\":\"a\",\"registry\":{\"N\":1,\"S\":\"x\"}}]}"
	};
	struct config config;

	for (int i = 0; i < 2; i++)
		EXPECT_EACH_FAILURE_TOLD(
			4, texts[i] ? read_profile(texts[i], &config) : config_read(NULL, &config),
			config_finish(&config));
}

TEST_MAIN("embed/config")
