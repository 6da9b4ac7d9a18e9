/* SPDX-License-Identifier: MIT */
/*
 * handle_services.h - what a driver may ask about a client's handles.
 *
 * The driver gets a D3DKMT handle (DXGK_OPENALLOCATIONINFO, an escape) and asks for its own pointer
 * behind it. The handle is one of the process on whose behalf the driver is running, so the
 * questions reach whoever knows that process and this adapter: `owner` is what
 * miniport_client_set_owner() said.
 */
#ifndef MINIPORT_HANDLE_SERVICES_H
#define MINIPORT_HANDLE_SERVICES_H

#include <stdbool.h>
#include <stdint.h>

struct miniport_client;

struct miniport_handle_query {
	void *owner;
	uint32_t handle;
	bool is_resource;        /* else an allocation */
	bool is_device_specific; /* the device's handle (Open) instead of the adapter's (Create) */
};

enum miniport_release {
	MINIPORT_RELEASED,
	MINIPORT_NOT_HELD,      /* by that name */
	MINIPORT_RELEASED_LATE, /* it was destroyed after all (miniport_report_held()) */
};

/* All may be called on any thread that is in the driver, with locks of the driver line held. */
struct miniport_handle_services {
	/* NULL: the process has no such object on this adapter. */
	void *(*get)(const struct miniport_handle_query *query);

	/* The same, and the object is not destroyed in the driver before release(*hold_out), which
	   is NULL before. */
	void *(*acquire)(const struct miniport_handle_query *query, void **hold_out);
	enum miniport_release (*release)(void *hold);

	/* The resource an allocation is in; the index-th allocation of a resource. 0: none. */
	uint32_t (*parent)(void *owner, uint32_t allocation);
	uint32_t (*child)(void *owner, uint32_t resource, uint32_t index);
};

/* Once, before the first adapter starts. */
void miniport_serve_handles(const struct miniport_handle_services *services);

/* The driver was asked to destroy this and still holds it: reported as its mistake. */
void miniport_report_held(const char *what, const void *driver_handle, uint32_t holds);

void miniport_client_set_owner(struct miniport_client *client, void *owner);

#endif
