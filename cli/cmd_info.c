/* SPDX-License-Identifier: MIT */
/*
 * cmd_info.c - dxgk info: the adapters there are, readable for people or as JSON for programs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/adapter_facts.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "trace/engine.h"

static void print_size(const char *label, uint64_t bytes)
{
	if (bytes % (UINT64_C(1) << 20) == 0)
		printf("  %-18s %llu MiB\n", label, (unsigned long long)(bytes >> 20));
	else
		printf("  %-18s %llu bytes\n", label, (unsigned long long)bytes);
}

static void print_driver_version(const struct adapter_facts *facts)
{
	uint64_t version = facts->driver_version;

	printf("%u.%u.%u.%u", (unsigned)(version >> 48), (unsigned)(version >> 32 & 0xffff),
	       (unsigned)(version >> 16 & 0xffff), (unsigned)(version & 0xffff));
}

static void print_for_people(const struct adapter_facts *facts)
{
	printf("adapter %08x:%08x  %s\n", (unsigned)facts->info.AdapterLuid.HighPart,
	       facts->info.AdapterLuid.LowPart, facts->description);
	printf("  %-18s %s\n", "driver", facts->driver_path);
	printf("  %-18s ", "driver version");
	print_driver_version(facts);
	if (facts->ids.VendorID != 0)
		printf("\n  %-18s %04x:%04x, subsystem %04x:%04x, revision %02x", "PCI device",
		       facts->ids.VendorID, facts->ids.DeviceID, facts->ids.SubVendorID,
		       facts->ids.SubSystemID, facts->ids.RevisionID);
	printf("\n");
	printf("  %-18s %u.%u\n", "WDDM", facts->wddm_version / 1000,
	       facts->wddm_version / 100 % 10);
	printf("  %-18s %s%s%s\n", "kind", facts->type.RenderSupported ? "render" : "",
	       facts->type.DisplaySupported ? ", display" : "",
	       facts->type.ComputeOnly ? ", compute only" : "");
	if (facts->caps_2_0.GpuMmuSupported)
		printf("  %-18s gpummu, %u-bit GPU virtual addresses\n", "address model",
		       facts->gpu_mmu.VirtualAddressBitCount);
	else
		printf("  %-18s %s\n", "address model", adapter_address_model(facts));
	for (uint32_t i = 0; i < facts->node_count && i < FACTS_MAX_NODES; i++)
		printf("  node %-13u %s (%s)\n", i, facts->nodes[i].name,
		       engine_type_words(facts->nodes[i].engine_type));
	for (uint32_t i = 0; i < facts->segment_count && i < FACTS_MAX_SEGMENTS; i++)
		printf("  segment %-10u %s, %llu MiB\n", i + 1,
		       facts->segments[i].is_aperture ? "aperture" : "memory",
		       (unsigned long long)(facts->segments[i].commit_limit_bytes >> 20));
	print_size("dedicated video", facts->sizes.LegacyInfo.DedicatedVideoMemorySize);
	print_size("dedicated system", facts->sizes.LegacyInfo.DedicatedSystemMemorySize);
	print_size("shared system", facts->sizes.LegacyInfo.SharedSystemMemorySize);
	print_size("local budget", facts->sizes.LocalMemory);
	print_size("non-local budget", facts->sizes.NonLocalMemory);
	printf("  %-18s %s\n", "64-bit atomics",
	       facts->caps_2_0.Support64BitAtomics ? "yes" : "no");
}

static void print_json_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_json(const struct adapter_facts *facts)
{
	printf("    {\n      \"luid\": \"%08x:%08x\",\n      \"name\": ",
	       (unsigned)facts->info.AdapterLuid.HighPart, facts->info.AdapterLuid.LowPart);
	print_json_string(facts->description);
	printf(",\n      \"driver\": ");
	print_json_string(facts->driver_path);
	printf(",\n      \"driverVersion\": \"");
	print_driver_version(facts);
	printf("\",\n      \"vendor\": %u,\n      \"device\": %u,\n"
	       "      \"subsystemVendor\": %u,\n      \"subsystem\": %u,\n"
	       "      \"revision\": %u",
	       facts->ids.VendorID, facts->ids.DeviceID, facts->ids.SubVendorID,
	       facts->ids.SubSystemID, facts->ids.RevisionID);
	printf(",\n      \"wddm\": \"%u.%u\",\n", facts->wddm_version / 1000,
	       facts->wddm_version / 100 % 10);
	printf("      \"render\": %s,\n      \"display\": %s,\n      \"computeOnly\": %s,\n",
	       facts->type.RenderSupported ? "true" : "false",
	       facts->type.DisplaySupported ? "true" : "false",
	       facts->type.ComputeOnly ? "true" : "false");
	printf("      \"addressModel\": \"%s\",\n      \"virtualAddressBits\": %u,\n",
	       adapter_address_model(facts), facts->gpu_mmu.VirtualAddressBitCount);
	printf("      \"atomics64\": %s,\n      \"nodes\": [",
	       facts->caps_2_0.Support64BitAtomics ? "true" : "false");
	for (uint32_t i = 0; i < facts->node_count && i < FACTS_MAX_NODES; i++) {
		printf("%s\n        { \"engine\": \"%s\", \"name\": ", i ? "," : "",
		       engine_type_words(facts->nodes[i].engine_type));
		print_json_string(facts->nodes[i].name);
		printf(" }");
	}
	printf("\n      ],\n      \"segments\": [");
	for (uint32_t i = 0; i < facts->segment_count && i < FACTS_MAX_SEGMENTS; i++)
		printf("%s\n        { \"id\": %u, \"kind\": \"%s\", \"commitLimitBytes\": %llu }",
		       i ? "," : "", i + 1, facts->segments[i].is_aperture ? "aperture" : "memory",
		       (unsigned long long)facts->segments[i].commit_limit_bytes);
	printf("\n      ],\n      \"dedicatedVideoBytes\": %llu,\n"
	       "      \"dedicatedSystemBytes\": %llu,\n      \"sharedSystemBytes\": %llu,\n"
	       "      \"localBytes\": %llu,\n      \"nonLocalBytes\": %llu\n    }",
	       (unsigned long long)facts->sizes.LegacyInfo.DedicatedVideoMemorySize,
	       (unsigned long long)facts->sizes.LegacyInfo.DedicatedSystemMemorySize,
	       (unsigned long long)facts->sizes.LegacyInfo.SharedSystemMemorySize,
	       (unsigned long long)facts->sizes.LocalMemory,
	       (unsigned long long)facts->sizes.NonLocalMemory);
}

static int print_adapters(bool as_json)
{
	D3DKMT_ENUMADAPTERS2 all = { 0 };
	int exit_status = 0;

	if (!NT_SUCCESS(D3DKMTEnumAdapters2(&all))) {
		print_last_refusal("D3DKMTEnumAdapters2");
		return 1;
	}
	all.pAdapters = calloc(all.NumAdapters + 1, sizeof(*all.pAdapters));
	if (!all.pAdapters || !NT_SUCCESS(D3DKMTEnumAdapters2(&all))) {
		print_last_refusal("D3DKMTEnumAdapters2");
		free(all.pAdapters);
		return 1;
	}
	if (as_json)
		printf("{\n  \"adapters\": [%s", all.NumAdapters ? "\n" : "");
	for (ULONG i = 0; i < all.NumAdapters; i++) {
		struct adapter_facts *facts = calloc(1, sizeof(*facts));
		if (!facts || !adapter_facts_ask(&all.pAdapters[i], facts)) {
			exit_status = 1;
		} else if (as_json) {
			printf("%s", i ? ",\n" : "");
			print_json(facts);
		} else {
			printf("%s", i ? "\n" : "");
			print_for_people(facts);
		}
		free(facts);
		D3DKMT_CLOSEADAPTER done = { all.pAdapters[i].hAdapter };
		D3DKMTCloseAdapter(&done);
	}
	if (as_json)
		printf("%s]\n}\n", all.NumAdapters ? "\n  " : "");
	else if (all.NumAdapters == 0)
		printf("no adapter started\n");
	free(all.pAdapters);
	return all.NumAdapters == 0 ? 1 : exit_status;
}

static void print_usage(FILE *out)
{
	fprintf(out, "usage: dxgk info [--json] [--socket PATH]\n\nLists the adapters of "
		     "the profile (DXGK_PROFILE) that started. One that did not is\n"
		     "named on standard error, with the answer of the driver that was "
		     "not acceptable.\n--socket or DXGK_SOCKET: those of a server "
		     "(dxgkd).\n");
}

int cmd_info(int argc, char **argv)
{
	const char *socket = NULL;
	bool as_json = false;
	const struct command_option known[] = { { "json", .flag = &as_json },
						{ "socket", .text = &socket },
						{ 0 } };
	const struct command_options of = { "info", print_usage, known };
	int status = options_take(argc, argv, &of);

	if (status != OPTIONS_GO_ON)
		return status;
	if (socket && setenv("DXGK_SOCKET", socket, 1) != 0)
		return 1;
	if (optind < argc) {
		fprintf(stderr, "dxgk info: \"%s\" is not expected\n", argv[optind]);
		return 2;
	}
	return print_adapters(as_json);
}
