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
#include "trace/engine.h"

enum { PROBE_COMMAND_BYTES = 65536, PROBE_PATCHES = 16, PROBE_BYTES = 4096 };

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

static bool has_read_only_addresses(D3DKMT_HANDLE adapter)
{
	D3DKMT_QUERY_GPUMMU_CAPS caps = { 0 };
	D3DKMT_QUERYADAPTERINFO args = { adapter, KMTQAITYPE_QUERY_GPUMMU_CAPS, &caps,
					 sizeof(caps) };

	return NT_SUCCESS(D3DKMTQueryAdapterInfo(&args)) && caps.Caps.Flags.ReadOnlyMemorySupported;
}

static void take_nodes(const struct adapter_facts *known, struct verify_facts *facts)
{
	facts->node_count = known->node_count;
	for (uint32_t i = 0; i < known->node_count && i < VERIFY_NODES_MAX; i++)
		snprintf(facts->nodes[i].engine, sizeof(facts->nodes[i].engine), "%s",
			 engine_type_words(known->nodes[i].engine_type));
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

/* Does it have such a command? A member that writes nothing is none. */
static bool has_command(const struct exerciser *exerciser, const struct verify_facts *facts,
			enum script_opcode opcode)
{
	static unsigned char commands[PROBE_COMMAND_BYTES];
	struct dxgk_exerciser_patch storage[PROBE_PATCHES];
	struct dxgk_exerciser_patches patches = { storage, PROBE_PATCHES, 0 };
	const struct exercise exercise = {
		.opcode = opcode, .to = PROBE_BYTES, .size_bytes = PROBE_BYTES, .value = 1
	};

	return exerciser_command(exerciser, &exercise, commands, sizeof(commands), 0,
				 facts->abilities & ABLE_GPUMMU ? NULL : &patches) > 0;
}

static bool has_allocations(const struct exerciser *exerciser)
{
	return (exerciser->language.allocation_data || exerciser->language.allocation_data_for) &&
	       (exerciser_can_allocate(exerciser, PROBE_BYTES, 0) ||
		exerciser_can_allocate(exerciser, PROBE_BYTES, DXGK_EXERCISER_CPU_VISIBLE));
}

static void take_language(const struct exerciser *exerciser, struct verify_facts *facts)
{
	const struct dxgk_exerciser *language = &exerciser->language;

	if (has_allocations(exerciser))
		facts->abilities |= ABLE_ALLOCATE;
	if (has_command(exerciser, facts, OPCODE_FILL) &&
	    has_command(exerciser, facts, OPCODE_COPY))
		facts->abilities |= ABLE_COMMANDS;
	if (has_command(exerciser, facts, OPCODE_HANG))
		facts->abilities |= ABLE_HANG;
	if (has_command(exerciser, facts, OPCODE_BUSY))
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
	enum { SOME_BYTES = 65536 };
	struct exerciser exerciser = { 0 };
	char why[512];

	if (path && !exerciser_load(&exerciser, path, why, sizeof(why))) {
		fprintf(stderr, "dxgk verify: %s\n", why);
		return false;
	}
	if (!path && is_software_gpu(adapter))
		exerciser_use_soft(&exerciser);
	if (exerciser.is_there) {
		uint32_t wishes = DXGK_EXERCISER_SYSTEM | DXGK_EXERCISER_CPU_VISIBLE;

		take_language(&exerciser, facts);
		if (facts->abilities & ABLE_PHYSICAL)
			wishes |= DXGK_EXERCISER_PHYSICAL;
		if (exerciser_can_allocate(&exerciser, SOME_BYTES, wishes))
			facts->abilities |= ABLE_SYSTEM;
	}
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
		if (has_read_only_addresses(adapter->hAdapter))
			facts->abilities |= ABLE_READ_ONLY;
		is_answered = ask_exerciser(adapter->hAdapter, exerciser, facts);
	}
	free(known);
	return is_answered;
}
