/* SPDX-License-Identifier: MIT */
/*
 * facts.h - what the verifier learned of a driver when it started it for the first time: what workloads there can be,
 * and of which sizes.
 */
#ifndef CLI_VERIFY_FACTS_H
#define CLI_VERIFY_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <dxg/d3dkmthk.h>

enum { VERIFY_NODES_MAX = 64, VERIFY_SEGMENTS_MAX = 32 };

/* What a driver, with its exerciser, is able to do. A workload needs some of it. */
enum verify_ability {
	ABLE_ALLOCATE = 1 << 0,      /* allocations of any size, with private data that is known */
	ABLE_GPUMMU = 1 << 1,        /* contexts by GPU virtual addresses */
	ABLE_PHYSICAL = 1 << 2,      /* contexts with allocation lists */
	ABLE_COMMANDS = 1 << 3,      /* fills and copies */
	ABLE_HANG = 1 << 4,          /* a command that does not end */
	ABLE_BUSY = 1 << 5,          /* a command that takes its time */
	ABLE_HW_QUEUES = 1 << 6,     /* hardware queues */
	ABLE_ESCAPE = 1 << 7,        /* a private escape */
	ABLE_SEVERAL_NODES = 1 << 8, /* … that take such commands */
	ABLE_SYSTEM = 1 << 9,        /* allocations in system memory only */
	ABLE_READ_ONLY = 1 << 10,    /* GPU addresses at which a write is a fault */
};

struct verify_facts {
	char model[12]; /* gpummu, iommu, physical */
	uint32_t wddm;  /* 2600 */
	uint32_t node_count;
	struct {
		char engine[24]; /* "3D", "copy", … */
	} nodes[VERIFY_NODES_MAX];
	uint64_t command_nodes; /* nodes that run the exerciser's commands, a bit each */
	uint32_t segment_count;
	struct {
		bool is_aperture;
		uint64_t size_bytes;
	} segments[VERIFY_SEGMENTS_MAX];
	uint64_t local_bytes; /* budgets of the two groups */
	uint64_t non_local_bytes;
	uint32_t abilities; /* enum verify_ability */
};

/*
 * Asks the adapter, and the exerciser in that file (NULL: none, or that of the software GPU); false after saying on standard
 * error what was not answered.
 */
bool facts_ask(const D3DKMT_ADAPTERINFO *adapter, const char *exerciser,
	       struct verify_facts *facts_out);

struct json;
void facts_write(FILE *out, const struct verify_facts *facts);
/* False: that is no description of facts. */
bool facts_read(const struct json *from, struct verify_facts *facts_out);

#endif
