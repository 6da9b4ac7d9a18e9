/* SPDX-License-Identifier: MIT */
/*
 * facts.c - see facts.h.
 */
#include <stdlib.h>
#include <string.h>

#include <opendxgk/softgpu.h>

#include "cli/adapter_facts.h"
#include "cli/run/exerciser.h"
#include "cli/verify/facts.h"

static bool is_software_gpu(D3DKMT_HANDLE adapter)
{
	struct softgpu_adapter_info info = { 0 };
	D3DKMT_QUERYADAPTERINFO args = { adapter, KMTQAITYPE_UMDRIVERPRIVATE, &info, sizeof(info) };

	return NT_SUCCESS(D3DKMTQueryAdapterInfo(&args)) &&
	       info.version == SOFTGPU_ADAPTER_INFO_VERSION;
}

static bool has_hw_queues(D3DKMT_HANDLE adapter)
{
	D3DKMT_WDDM_2_7_CAPS caps = { 0 };
	D3DKMT_QUERYADAPTERINFO args = { adapter, KMTQAITYPE_WDDM_2_7_CAPS, &caps, sizeof(caps) };

	return NT_SUCCESS(D3DKMTQueryAdapterInfo(&args)) && caps.HwSchEnabled;
}

static void take_nodes(const struct adapter_facts *known, struct verify_facts *facts)
{
	facts->node_count = known->node_count;
	for (uint32_t i = 0; i < known->node_count && i < VERIFY_NODES_MAX; i++)
		snprintf(facts->nodes[i].engine, sizeof(facts->nodes[i].engine), "%s",
			 adapter_engine_name(known->nodes[i].engine_type));
}

static void take_segments(const struct adapter_facts *known, struct verify_facts *facts)
{
	facts->segment_count = known->segment_count;
	for (uint32_t i = 0; i < known->segment_count && i < VERIFY_SEGMENTS_MAX; i++) {
		facts->segments[i].is_aperture = known->segments[i].is_aperture;
		facts->segments[i].size_bytes = known->segments[i].commit_limit_bytes;
	}
	facts->local_bytes = known->sizes.LocalMemory;
	facts->non_local_bytes = known->sizes.NonLocalMemory;
}

static void take_language(const struct dxgk_exerciser *language, struct verify_facts *facts)
{
	bool is_by_address = (facts->abilities & ABLE_GPUMMU) != 0;

	if (language->allocation_data || language->allocation_data_for)
		facts->abilities |= ABLE_ALLOCATE;
	if (is_by_address ? language->fill && language->copy
			  : language->fill_list && language->copy_list)
		facts->abilities |= ABLE_COMMANDS;
	if (language->hang)
		facts->abilities |= ABLE_HANG;
	if (language->busy)
		facts->abilities |= ABLE_BUSY;
	if (language->escape_data)
		facts->abilities |= ABLE_ESCAPE;
	facts->command_nodes = language->nodes ? language->nodes : 1;
	if (facts->node_count < VERIFY_NODES_MAX)
		facts->command_nodes &= (UINT64_C(1) << facts->node_count) - 1;
	if (facts->command_nodes & (facts->command_nodes - 1))
		facts->abilities |= ABLE_SEVERAL_NODES;
}

/* False after saying what is wrong with it. */
static bool ask_exerciser(D3DKMT_HANDLE adapter, const char *path, struct verify_facts *facts)
{
	struct exerciser exerciser = { 0 };
	char why[512];

	if (path && !exerciser_load(&exerciser, path, why, sizeof(why))) {
		fprintf(stderr, "dxgk verify: %s\n", why);
		return false;
	}
	if (!path && is_software_gpu(adapter))
		exerciser_use_soft(&exerciser);
	if (exerciser.is_there)
		take_language(&exerciser.language, facts);
	exerciser_unload(&exerciser);
	return true;
}

bool facts_ask(const D3DKMT_ADAPTERINFO *adapter, const char *exerciser, struct verify_facts *facts)
{
	struct adapter_facts *known = calloc(1, sizeof(*known));
	bool is_answered = known && adapter_facts_ask(adapter, known);

	*facts = (struct verify_facts){ 0 };
	if (is_answered) {
		snprintf(facts->model, sizeof(facts->model), "%s", adapter_address_model(known));
		facts->wddm = known->wddm_version;
		take_nodes(known, facts);
		take_segments(known, facts);
		facts->abilities = known->caps_2_0.GpuMmuSupported ? ABLE_GPUMMU : ABLE_PHYSICAL;
		if (has_hw_queues(adapter->hAdapter))
			facts->abilities |= ABLE_HW_QUEUES;
		is_answered = ask_exerciser(adapter->hAdapter, exerciser, facts);
	}
	free(known);
	return is_answered;
}
