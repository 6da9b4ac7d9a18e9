/* SPDX-License-Identifier: MIT */
/*
 * stage.h - a driver that is verified, and that a test bends.
 *
 *	static NTSTATUS APIENTRY give_nothing(IN_CONST_HANDLE device, INOUT_PDXGKARG_CREATECONTEXT args) { … }
 *	static void bend(DRIVER_INITIALIZATION_DATA *driver) { driver->DxgkDdiCreateContext = give_nothing; }
 *
 *	EXPECT_RULE(RULE_DDI_PAIR_CONTEXT, bend, use_contexts, TEXT("Model", "physical"));
 *
 * The scene is played twice: with the recorder driver as it is, which the rule must not be reported of, and with the
 * driver bent, of which it must. What a bent entry point leaves of the original it calls as `real`. An entry point that
 * the recorder does not have cannot be bent, unless the setting Whole is 1.
 */
#ifndef TESTS_UNIT_VERIFY_STAGE_H
#define TESTS_UNIT_VERIFY_STAGE_H

#include "unit/miniport/host.h"

#include "miniport/allocations.h"
#include "miniport/internal.h"
#include "miniport/work.h"
#include "nt/dpc.h"
#include "nt/pool.h"
#include "nt/report.h"
#include "verify/start.h"
#include "verify/verify.h"

enum { STAGE_TAG = 0x67745356 };

struct stage {
	struct host host;
	bool is_bent;
	NTSTATUS start_status;
};

typedef void stage_bend(DRIVER_INITIALIZATION_DATA *driver);
typedef void stage_act(struct stage *stage);

/* Of the driver on the stage: its own entry points, and who hosts it. */
extern DRIVER_INITIALIZATION_DATA real;
extern struct miniport *bent;

/* A stage_bend of one line. */
#define BEND(name, ...)                                                                            \
	static void name(DRIVER_INITIALIZATION_DATA *driver)                                       \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
	}

/* Agrees to a surprise removal. */
void stage_bend_removable(DRIVER_INITIALIZATION_DATA *driver);

/* How often the rule was reported in the scene that is played, or was played last. */
unsigned stage_reports(enum rule rule);

/* Plays the scene; `bend` may be NULL. */
void stage_play(stage_bend *bend, stage_act *act, const struct miniport_setting *settings,
		size_t count);

void stage_expect(enum rule rule, stage_bend *bend, stage_act *act,
		  const struct miniport_setting *settings, size_t count, const char *where);

#define STAGE_TEXT(number)  #number
#define STAGE_LINE(number)  STAGE_TEXT(number)
#define STAGE_SETTINGS(...) ((const struct miniport_setting[]){ __VA_ARGS__ })
#define STAGE_SETTING_COUNT(...)                                                                   \
	(sizeof(STAGE_SETTINGS(__VA_ARGS__)) / sizeof(struct miniport_setting))
/* At least one setting: NUMBER("Nothing", 0). */
#define EXPECT_RULE(rule, bend, act, ...)                                                          \
	stage_expect(rule, bend, act, STAGE_SETTINGS(__VA_ARGS__),                                 \
		     STAGE_SETTING_COUNT(__VA_ARGS__), __FILE__ ":" STAGE_LINE(__LINE__))

#define PLAIN NUMBER("Nothing", 0)

/* ---- what is done on many stages ---- */

stage_act do_nothing;
/* A process, a device and a context on node 0, made and destroyed. */
stage_act use_objects;

void *stage_pool(size_t size_bytes);

/* Calls of the interface that the driver was given. */
DXGKRNL_INTERFACE *stage_interface(void);

/* RECORDER_INTERRUPT and its like; delivered when it returns. */
void stage_escape(struct stage *stage, struct recorder_escape escape);
void stage_interrupt(struct stage *stage, uint32_t type, uint32_t node, uint32_t fence);

/* A packet of a context with virtual addressing, or of the kernel's own. */
void stage_submit(struct stage *stage, const struct host_context *context, uint32_t node,
		  uint32_t fence);

#endif
