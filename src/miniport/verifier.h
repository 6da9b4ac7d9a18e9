/* SPDX-License-Identifier: MIT */
/*
 * verifier.h - who stands between the kernel and a driver, on both tables: entry points on the way down,
 * callbacks on the way up. Nobody does, unless DXGK_VERIFY asks for "rules" (verify/).
 *
 * The verifier replaces functions in the tables; the driver's own stay in miniport->driver, and are what reports
 * name. So a kernel that verifies nothing pays nothing.
 */
#ifndef MINIPORT_VERIFIER_H
#define MINIPORT_VERIFIER_H

#include "base/attributes.h"
#include "base/status.h"

struct miniport;

struct miniport_verifier {
	/* DriverEntry has succeeded: miniport->ddi may be changed where it is not NULL. */
	MUST_CHECK NTSTATUS (*adopt)(struct miniport *miniport);
	/* miniport->interface is made, and the driver has not seen it. */
	void (*give_interface)(struct miniport *miniport);
	/* The driver has started: it is to be stopped and started once more before anybody uses it. */
	bool (*wants_restart)(void);
	/* The driver is unloaded, or never was adopted. */
	void (*release)(struct miniport *miniport);
};

/* For all drivers that are loaded from now on; NULL: nobody. Before the first is. */
void miniport_verify_with(const struct miniport_verifier *verifier);

#endif
