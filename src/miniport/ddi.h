/* SPDX-License-Identifier: MIT */
/*
 * ddi.h - crossing the driver line.
 *
 *	struct ddi_crossing crossing;
 *
 *	ddi_enter(&crossing, miniport, client, DDI_CREATE_CONTEXT);
 *	status = miniport->ddi.DxgkDdiCreateContext(device, &args);
 *	status = ddi_leave(&crossing, status);
 *
 * In between the thread has the IRQL, and the company in the driver, that WDDM promises for that
 * entry point (ddi.def), and is one of the process it is called for. Leaving puts the IRQL back,
 * whatever the driver did to it, and judges what came back.
 */
#ifndef MINIPORT_DDI_H
#define MINIPORT_DDI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/status.h"
#include "nt/irql.h"
#include "nt/nt.h"
#include "nt/threads.h"

struct miniport;
struct miniport_client;

enum ddi {
#define DDI(name, member, index, since, need, irql, level, class, result) DDI_##name,
#include "miniport/ddi.def"
#undef DDI
	DDI_COUNT
};

enum ddi_need {
	DDI_NEED_OPTIONAL,
	DDI_NEED_REQUIRED,
	DDI_NEED_PHYSICAL,
	DDI_NEED_PATCHING,
	DDI_NEED_VIRTUAL,
	DDI_NEED_GPU_MMU,
	DDI_NEED_RESIZABLE_ROOT,
	DDI_NEED_PREEMPTION,
	DDI_NEED_CANCEL,
	DDI_NEED_ENGINE_RESET,
	DDI_NEED_HOST_APERTURE,
};

enum ddi_irql { DDI_IRQL_PASSIVE, DDI_IRQL_DISPATCH, DDI_IRQL_DIRQL, DDI_IRQL_ANY };

enum ddi_level { DDI_LEVEL_0, DDI_LEVEL_1, DDI_LEVEL_2, DDI_LEVEL_3, DDI_LEVEL_NONE };

enum ddi_class {
	DDI_CLASS_SCHEDULER,
	DDI_CLASS_VIDMM,
	DDI_CLASS_SWIZZLING,
	DDI_CLASS_OVERLAY,
	DDI_CLASS_POINTER,
	DDI_CLASS_CHILD,
	DDI_CLASS_DISPLAY,
	DDI_CLASS_COUNT,
	DDI_CLASS_NONE = DDI_CLASS_COUNT
};

enum ddi_result {
	DDI_RESULT_STATUS,
	DDI_RESULT_MUST_SUCCEED,
	DDI_RESULT_NOTHING,
	DDI_RESULT_OTHER
};

/* Where a device's interrupt routine runs: above DISPATCH_LEVEL, below PROFILE_LEVEL. */
enum { DDI_DEVICE_IRQL = 5 };

struct ddi_info {
	const char *name; /* "DxgkDdiCreateContext" */
	uint32_t index;   /* in DRIVER_INITIALIZATION_DATA */
	uint32_t since;   /* WDDM that brought it, as miniport_info.wddm_version counts */
	enum ddi_need need;
	enum ddi_irql irql;
	enum ddi_level level;
	enum ddi_class class;
	enum ddi_result result;
};

extern const struct ddi_info ddi_infos[DDI_COUNT];

/* Members of DRIVER_INITIALIZATION_DATA, counting Version, in a known interface version; else 0. */
uint32_t ddi_member_count(uint32_t interface_version);

/* Of a known interface version, as miniport_info counts: 2600 for WDDM 2.6; else 0. */
uint32_t ddi_wddm_version(uint32_t interface_version);

struct ddi_crossing {
	struct miniport *miniport;
	struct miniport_client *client;
	enum ddi ddi;
	enum ddi_level level;
	uint32_t subject; /* the handle of what the call is about; 0: none, or several */
	bool has_entry;   /* what it took; an outer crossing may have it already */
	bool has_level;
	bool has_class;
	bool is_simple;     /* of a client, inside of no other, at level 0 */
	uint32_t seat;      /* of a simple one: from which it passed the level's gate */
	void *subject_data; /* the driver's, behind the handle */

	/* See ddi_note(). */
	const void *handle;
	const void *arguments;

	/* Unless it is simple. */
	struct nt_irql irql;
	struct nt_process *behalf_before;
	struct ddi_crossing *outer; /* a callback may lead into the driver again */
};

/*
 * What the driver is called with, for those who tell of it (ddi_arguments.h): the handle that comes
 * first, and the struct, if there is one, which stays where it is until the crossing is over. After
 * ddi_enter().
 */
static inline void ddi_note(struct ddi_crossing *crossing, const void *handle,
			    const void *arguments)
{
	crossing->handle = handle;
	crossing->arguments = arguments;
}

/* On whose behalf this thread is in the driver; NULL when it is not, or for nobody. */
struct miniport_client *ddi_current_client(void);

/* True when this thread is in that entry point of the driver, and nothing else in between. */
bool ddi_is_in(const struct miniport *miniport, enum ddi ddi);

/* The calling thread is in an entry point of some driver. */
bool ddi_is_inside(void);

/* … or, further out on this thread, in an entry point of the class, whose lock it holds. */
bool ddi_is_in_class(const struct miniport *miniport, enum ddi_class class);

/*
 * `client` may be NULL for entry points of level 2, 3 and none, and for those of the scheduler
 * class, which belong to nobody's process.
 */
void ddi_enter(struct ddi_crossing *crossing, struct miniport *miniport,
	       struct miniport_client *client, enum ddi ddi);

/* For the one entry point whose arguments decide (Escape). */
void ddi_enter_level(struct ddi_crossing *crossing, struct miniport *miniport,
		     struct miniport_client *client, enum ddi ddi, enum ddi_level level);

/* Level 2 and 3: false, and not entered, when others are still in the driver at the deadline. */
MUST_CHECK bool ddi_enter_until(struct ddi_crossing *crossing, struct miniport *miniport,
				struct miniport_client *client, enum ddi ddi, enum ddi_level level,
				uint64_t deadline_ns);

/*
 * Returns what the driver said: STATUS_SUCCESS, or its failure unchanged and refused (DDI-STATUS).
 * What is neither becomes STATUS_DRIVER_INTERNAL_ERROR. Where success is a duty, a failure is
 * reported instead of refused.
 */
NTSTATUS ddi_leave(struct ddi_crossing *crossing, NTSTATUS status);

/* The same where the driver may fail without that being worth a word. */
NTSTATUS ddi_leave_quietly(struct ddi_crossing *crossing, NTSTATUS status);

/* The same where the caller knows which statuses there may be, and judges them itself. */
void ddi_leave_as_it_is(struct ddi_crossing *crossing, NTSTATUS status);

/* For entry points without a status. */
void ddi_leave_void(struct ddi_crossing *crossing);

#endif
