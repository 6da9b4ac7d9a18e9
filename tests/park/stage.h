/* SPDX-License-Identifier: MIT */
/*
 * stage.h - one piece of memory, two threads that call about it, and what must be true afterwards.
 *
 *	stage_begin(&scene);   a new process: two devices, the memory in the state that is wanted
 *	steps of both sides    one in a thread that is parked, the other meanwhile (park_test.c)
 *	stage_end();           queued work is let go; contents, devices and the kernel are looked at
 *
 * The memory has a page for each writer: each side's CPU and each side's GPU. What a call promised
 * to write is there at the end, and the rest is as it was, unless a reclaim says that the content
 * is gone, which it may say only of what was offered.
 *
 * Work that is submitted waits for a fence, so that it is queued while the other side goes on. The
 * fence is signalled when both sides have ended, or when nothing else goes on.
 *
 * A bystander has another device and memory of its own: whatever happens on the stage, its memory
 * keeps its bytes and its work gets done.
 */
#ifndef TESTS_PARK_STAGE_H
#define TESTS_PARK_STAGE_H

#include "api/control.h"

enum {
	THING_BYTES = 512 * KIB,
	BYSTANDER_BYTES = 64 * KIB,
	PRESSURE_BYTES =
		1536 * KIB, /* of 2 MiB: the bystander's fits beside it, the thing does not */
};

/* What is called. Each is one step of a script. */
enum step {
	END, /* of a script */
	TRIM,
	OFFER,
	OFFER_AT_ONCE, /* does not wait for work */
	OFFER_LIST,    /* with a second one */
	RECLAIM,
	RECLAIM_NOW,
	EVICT,
	RESIDENT,
	LOCK,
	DESTROY,
	DESTROY_NOW,
	DEFRAG,
	SHARE,
	SUBMIT, /* stays queued */
	RUN,    /* is waited for */
	FORCE_OUT,
	PRESSURE,
	HOLD_SECOND, /* locks the second one, to the end */
	STEPS
};

enum { MOST_STEPS = 5 };

struct script {
	const char *name;
	enum step steps[MOST_STEPS]; /* up to END */
};

/* How the memory is at first. */
enum state { THERE, AWAY, LEFTOVER, OFFERED_IN, OFFERED_OUT, STATES };
enum kind { OF_GPU, OF_SYSTEM, KINDS };

struct scene {
	const struct script *parked;
	const struct script *other;
	enum kind kind;
	enum state state;
};

extern const char *const step_names[STEPS];
extern const char *const state_names[STATES];
extern const char *const kind_names[KINDS];

struct side {
	unsigned number; /* 0: the one that is parked */
	const struct script *script;
	D3DKMT_HANDLE context;
	D3DKMT_CREATECONTEXT by_list; /* its buffers, in the physical model */
	D3DKMT_HANDLE fence;          /* signalled behind what it submits */
	UINT64 submitted;
	unsigned char *commands;
	UINT64 command_address;
	unsigned used_bytes;
	uint32_t cpu_mark; /* what its pages hold; 0: they were not written */
	uint32_t gpu_mark;
};

struct stage {
	struct scene scene;
	bool is_physical;
	bool has_parked; /* there was such a point */
	struct client client;
	struct side sides[2];
	D3DKMT_HANDLE gate; /* what submitted work waits for */
	_Atomic bool is_open;

	D3DKMT_HANDLE thing;
	D3DKMT_HANDLE resource;
	UINT64 address;
	_Atomic bool is_destroyed;
	_Atomic bool was_offered;
	_Atomic bool is_discarded; /* as a reclaim has said */
	D3DKMT_HANDLE second;

	struct client bystander;
	D3DKMT_HANDLE theirs;
	D3DKMT_HANDLE pressure;
};

extern struct stage stage;

void stage_begin(const struct scene *scene);
void stage_play(struct side *side); /* all its steps */
void stage_await_work(void);
void stage_end(void);

/* Has any step of this side, or of both, this kind? */
bool script_has(const struct script *script, enum step step);
bool scene_has(enum step step);

/* steps.c */
NTSTATUS step_run(struct side *side, enum step step);
/* May the call give this status, as the two sides are? */
bool step_may_give(const struct side *side, enum step step, NTSTATUS status);
/* May the device be lost, because the client lets work use what it takes away itself? */
bool scene_may_lose(const struct scene *scene);

NTSTATUS wait_fence(const struct client *client, D3DKMT_HANDLE fence, UINT64 value);
NTSTATUS bring_back(D3DDDI_RECLAIM_RESULT *result_out);
bool is_lost(D3DKMT_HANDLE device);

#endif
