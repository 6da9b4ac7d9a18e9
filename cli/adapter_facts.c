/* SPDX-License-Identifier: MIT */
/*
 * adapter_facts.c - see adapter_facts.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opendxgk/refusal.h>

#include "base/utf8.h"
#include "cli/adapter_facts.h"

void print_last_refusal(const char *call)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	if (DxgkLastRefusal(&why))
		fprintf(stderr, "dxgk: %s: %s (%s, 0x%08x)\n", why.call, why.reason, why.rule,
			(unsigned)why.status);
	else
		fprintf(stderr, "dxgk: %s failed\n", call);
}

static void text_from_wide(char *text, size_t capacity, const void *wide, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count && used + 5 <= capacity; i++) {
		WCHAR c;
		memcpy(&c, (const char *)wide + i * sizeof(c), sizeof(c)); /* may be unaligned */
		if (c == 0)
			break;
		used += utf8_encode(utf8_is_character((uint32_t)c) ? (uint32_t)c : '?',
				    text + used);
	}
	text[used] = '\0';
}

static bool ask(D3DKMT_HANDLE adapter, KMTQUERYADAPTERINFOTYPE type, void *data, size_t size_bytes)
{
	D3DKMT_QUERYADAPTERINFO query = { adapter, type, data, (UINT)size_bytes };

	return NT_SUCCESS(D3DKMTQueryAdapterInfo(&query));
}

static bool ask_description(struct adapter_facts *facts)
{
	D3DKMT_DRIVER_DESCRIPTION *answer = calloc(1, sizeof(*answer));
	bool is_answered = answer && ask(facts->info.hAdapter, KMTQAITYPE_DRIVER_DESCRIPTION,
					 answer, sizeof(*answer));

	if (is_answered)
		text_from_wide(facts->description, sizeof(facts->description),
			       answer->DriverDescription, 4096);
	free(answer);
	return is_answered;
}

static bool ask_driver_path(struct adapter_facts *facts)
{
	const size_t capacity = sizeof(D3DDDI_QUERYREGISTRY_INFO) + 4096 * sizeof(WCHAR);
	D3DDDI_QUERYREGISTRY_INFO *answer = calloc(1, capacity);
	bool is_answered = false;

	if (answer) {
		answer->QueryType = D3DDDI_QUERYREGISTRY_DRIVERIMAGEPATH;
		is_answered = ask(facts->info.hAdapter, KMTQAITYPE_QUERYREGISTRY, answer, capacity);
		if (is_answered)
			text_from_wide(facts->driver_path, sizeof(facts->driver_path),
				       answer->OutputString, 4096);
	}
	free(answer);
	return is_answered;
}

static bool ask_nodes(struct adapter_facts *facts)
{
	for (uint32_t i = 0; i < facts->node_count && i < FACTS_MAX_NODES; i++) {
		D3DKMT_NODEMETADATA answer = { .NodeOrdinalAndAdapterIndex = i };
		if (!ask(facts->info.hAdapter, KMTQAITYPE_NODEMETADATA, &answer, sizeof(answer)))
			return false;
		facts->nodes[i].engine_type = answer.NodeData.EngineType;
		text_from_wide(facts->nodes[i].name, sizeof(facts->nodes[i].name),
			       answer.NodeData.FriendlyName, DXGK_MAX_METADATA_NAME_LENGTH);
	}
	return true;
}

static bool ask_counts(struct adapter_facts *facts)
{
	D3DKMT_QUERYSTATISTICS query = { .Type = D3DKMT_QUERYSTATISTICS_ADAPTER,
					 .AdapterLuid = facts->info.AdapterLuid };

	if (!NT_SUCCESS(D3DKMTQueryStatistics(&query)))
		return false;
	facts->node_count = query.QueryResult.AdapterInformation.NodeCount;
	facts->segment_count = query.QueryResult.AdapterInformation.NbSegments;
	for (uint32_t i = 0; i < facts->segment_count && i < FACTS_MAX_SEGMENTS; i++) {
		query = (D3DKMT_QUERYSTATISTICS){ .Type = D3DKMT_QUERYSTATISTICS_SEGMENT,
						  .AdapterLuid = facts->info.AdapterLuid };
		query.QuerySegment.SegmentId = i;
		if (!NT_SUCCESS(D3DKMTQueryStatistics(&query)))
			return false;
		facts->segments[i].is_aperture = query.QueryResult.SegmentInformation.Aperture;
		facts->segments[i].commit_limit_bytes =
			query.QueryResult.SegmentInformation.CommitLimit;
	}
	return true;
}

bool adapter_facts_ask(const D3DKMT_ADAPTERINFO *info, struct adapter_facts *facts)
{
	D3DKMT_QUERY_GPUMMU_CAPS mmu = { 0 };
	D3DKMT_QUERY_DEVICE_IDS ids = { 0 };
	D3DKMT_KMD_DRIVER_VERSION driver = { 0 };
	D3DKMT_DRIVERVERSION version = 0;

	*facts = (struct adapter_facts){ .info = *info };
	if (!ask_description(facts) || !ask_driver_path(facts) ||
	    !ask(info->hAdapter, KMTQAITYPE_ADAPTERTYPE, &facts->type, sizeof(facts->type)) ||
	    !ask(info->hAdapter, KMTQAITYPE_DRIVERVERSION, &version, sizeof(version)) ||
	    !ask(info->hAdapter, KMTQAITYPE_KMD_DRIVER_VERSION, &driver, sizeof(driver)) ||
	    !ask(info->hAdapter, KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids, sizeof(ids)) ||
	    !ask(info->hAdapter, KMTQAITYPE_WDDM_2_0_CAPS, &facts->caps_2_0,
		 sizeof(facts->caps_2_0)) ||
	    !ask(info->hAdapter, KMTQAITYPE_QUERY_GPUMMU_CAPS, &mmu, sizeof(mmu)) ||
	    !ask(info->hAdapter, KMTQAITYPE_GETSEGMENTGROUPSIZE, &facts->sizes,
		 sizeof(facts->sizes)) ||
	    !ask_counts(facts) || !ask_nodes(facts)) {
		print_last_refusal("a query");
		return false;
	}
	facts->wddm_version = (uint32_t)version;
	facts->driver_version = (uint64_t)driver.DriverVersion.QuadPart;
	facts->ids = ids.DeviceIds;
	facts->gpu_mmu = mmu.Caps;
	return true;
}

const char *adapter_address_model(const struct adapter_facts *facts)
{
	if (facts->caps_2_0.GpuMmuSupported)
		return "gpummu";
	return facts->caps_2_0.IoMmuSupported ? "iommu" : "physical";
}
