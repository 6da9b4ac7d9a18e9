/* SPDX-License-Identifier: MIT */
/*
 * adapter_facts.h - what can be asked of an adapter, asked through the public calls only.
 */
#ifndef CLI_ADAPTER_FACTS_H
#define CLI_ADAPTER_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include <dxg/d3dkmthk.h>

enum { FACTS_MAX_NODES = 64, FACTS_MAX_SEGMENTS = 32 };

struct adapter_facts {
	D3DKMT_ADAPTERINFO info;
	char description[1024];
	char driver_path[4096];
	D3DKMT_ADAPTERTYPE type;
	uint32_t wddm_version;   /* 2600 */
	uint64_t driver_version; /* 16 bits for each of four numbers */
	D3DKMT_DEVICE_IDS ids;   /* vendor 0: the adapter is on no bus */
	D3DKMT_WDDM_2_0_CAPS caps_2_0;
	D3DKMT_GPUMMU_CAPS gpu_mmu;
	D3DKMT_SEGMENTGROUPSIZEINFO sizes;
	uint32_t node_count;
	struct {
		uint32_t engine_type;
		char name[256];
	} nodes[FACTS_MAX_NODES];
	uint32_t segment_count;
	struct {
		bool is_aperture;
		uint64_t commit_limit_bytes;
	} segments[FACTS_MAX_SEGMENTS];
};

/* False, after saying which question failed and why on standard error. */
bool adapter_facts_ask(const D3DKMT_ADAPTERINFO *info, struct adapter_facts *facts);

/* "GPU virtual addresses (GpuMmu)" … */
const char *adapter_address_model(const struct adapter_facts *facts);

/* Says why the last call was refused. */
void print_last_refusal(const char *call);

#endif
