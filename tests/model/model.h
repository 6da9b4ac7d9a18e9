/* SPDX-License-Identifier: MIT */
/*
 * model.h - what should be there: handles and objects as plain arrays, and nothing clever.
 *
 *	allocation ──▶ memory ──▶ group (or alone, -1)
 *	    │                       ▲
 *	    └──▶ opening (or alone) ┘◀── bundle ◀── descriptor
 *
 * An index of -1 is none. After every change model_settle() works out from the arrays alone what
 * nobody holds any more.
 */
#ifndef TESTS_MODEL_MODEL_H
#define TESTS_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	MAX_ADAPTERS = 4,
	MAX_DEVICES = 6,
	MAX_CONTEXTS = 12,
	MAX_IN_GROUP = 12,
	MAX_GROUPS = 40,
	MAX_OPENINGS = 60,
	MAX_MEMORIES = 240,
	MAX_ALLOCATIONS = 320,
	MAX_BUNDLES = 16,
	MAX_DESCRIPTORS = 24,
	MAX_COPIES = 3,
	MAX_MUTEXES = 12,
	MAX_MUTEX_HANDLES = 24,
	MAX_FENCES = 24,
	MAX_FENCE_WAITS = 6,
	MAX_DEAD = 64,
	PROBES = 4,
	MAX_DATA = 64,
	NAME_COUNT = 6,
};

enum model_kind {
	KIND_ADAPTER,
	KIND_DEVICE,
	KIND_CONTEXT,
	KIND_OPENING,
	KIND_ALLOCATION,
	KIND_MUTEX,
	KIND_FENCE,
	KIND_COUNT,
};

enum model_scheme { SCHEME_PRIVATE, SCHEME_GLOBAL, SCHEME_NT };

/* An adapter, a device, a context, an opening, an allocation, a mutex handle or a fence. */
struct model_handle {
	bool is_live;
	uint32_t handle;
	int device;        /* of contexts, openings, allocations, fences */
	int group;         /* of openings */
	bool is_read_only; /* of openings */
	int opening;       /* of allocations */
	int memory;        /* of allocations */
	int mutex;         /* of mutex handles */
	uint32_t locks;

	/* of fences */
	uint64_t value;
	const volatile uint64_t *view;
	bool may_wait;
	bool may_signal;
	int wait_count;                      /* by the event, for these values */
	uint64_t waits[MAX_FENCE_WAITS + 1]; /* the last one is reached at once */
};

struct model_data {
	uint32_t bytes;
	unsigned char data[MAX_DATA];
};

struct model_memory {
	bool is_live;
	int group;
	uint64_t size_bytes; /* whole pages */
	bool is_cpu_visible;
	uint32_t priority;
	struct model_data private_data;
	unsigned char *clients; /* the client's own pages, or NULL */
	unsigned char *seen;    /* where it was locked before, or NULL */
	uint64_t words[PROBES]; /* what stands at the probes */
};

struct model_group {
	bool is_live;
	bool is_of_before; /* the process that made it has ended */
	enum model_scheme scheme;
	uint32_t global_handle;
	struct model_data runtime;
	struct model_data private_data;
	int count;
	int memories[MAX_IN_GROUP]; /* in order of creation */
};

struct model_bundle {
	bool is_live;
	int group;
	int name;          /* -1: none */
	bool is_read_only; /* shared by who may not write: nobody gets that right through it */
};

struct model_descriptor {
	bool is_live;
	int bundle;
	int copies;
	int files[MAX_COPIES];
	bool is_read_only;
};

struct model_mutex {
	bool is_live;
	enum model_scheme scheme;
	uint32_t global_handle;
	uint64_t key;
	uint64_t fence_value;
	int owner; /* a mutex handle */
	bool is_abandoned;
	struct model_data data;
};

struct model {
	struct model_handle adapters[MAX_ADAPTERS];
	struct model_handle devices[MAX_DEVICES];
	struct model_handle contexts[MAX_CONTEXTS];
	struct model_handle openings[MAX_OPENINGS];
	struct model_handle allocations[MAX_ALLOCATIONS];
	struct model_handle mutex_handles[MAX_MUTEX_HANDLES];
	struct model_handle fences[MAX_FENCES];
	struct model_group groups[MAX_GROUPS];
	struct model_memory memories[MAX_MEMORIES];
	struct model_bundle bundles[MAX_BUNDLES];
	struct model_descriptor descriptors[MAX_DESCRIPTORS];
	struct model_mutex mutexes[MAX_MUTEXES];

	/* Handles that named something once. */
	int dead_count;
	uint32_t dead[MAX_DEAD];
};

/* The array of a kind and how long it is. */
struct model_handle *model_array(struct model *model, enum model_kind kind, int *slots_out);

/* What a handle names now; KIND_COUNT for nothing. */
enum model_kind model_kind_of(struct model *model, uint32_t handle);

/* A free place, zeroed, live, with all references -1; -1 when there is none. */
int model_add(struct model *model, enum model_kind kind, uint32_t handle);
int model_add_group(struct model *model, enum model_scheme scheme);
int model_add_memory(struct model *model, int group);
int model_add_bundle(struct model *model, int group, int name);
int model_add_descriptor(struct model *model, int bundle, int file);
int model_add_mutex(struct model *model, enum model_scheme scheme);

/* How many places are left. */
int model_slots(struct model *model, enum model_kind kind);
int model_group_room(const struct model *model);
int model_memory_room(const struct model *model);

/* How many live. */
int model_count(struct model *model, enum model_kind kind);
int model_group_count(const struct model *model);
int model_memory_count(const struct model *model);

/* Ends one handle and what depends on it. */
void model_end(struct model *model, enum model_kind kind, int index);

/* Everything but what NT handles hold. */
void model_end_process(struct model *model);

/* Ends what nobody holds any more. */
void model_settle(struct model *model);

/* The allocations of an opening, or the lone ones of a device; returns how many. */
int model_list(const struct model *model, int device, int opening, int *list_out, int slots);

/* Which bundle has this name; -1: none. */
int model_find_name(const struct model *model, int name);

uint64_t model_probe_offset(const struct model_memory *memory, int probe);

#endif
