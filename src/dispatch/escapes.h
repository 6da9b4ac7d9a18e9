/* SPDX-License-Identifier: MIT */
/*
 * escapes.h - escapes that the kernel answers itself, one function per type.
 *
 * The private data is the call's copy; what is written there is handed back on success.
 */
#ifndef DISPATCH_ESCAPES_H
#define DISPATCH_ESCAPES_H

#include "dispatch/dispatch.h"

struct escape {
	struct call *call;
	struct dxg_adapter *adapter;
	struct dxg_device *device; /* NULL: none was named */
	void *data;
	uint32_t size_bytes;
};

/* D3DKMT_ESCAPE_VIDMM */
MUST_CHECK NTSTATUS escape_vidmm(const struct escape *escape);
/* … and what it has to say about GPU addresses, D3DKMT_VIDMMESCAPETYPE_GET_VAD_INFO */
MUST_CHECK NTSTATUS escape_vad(const struct escape *escape, D3DKMT_VIDMM_ESCAPE *args);
/* D3DKMT_ESCAPE_ADAPTER_VERIFIER_OPTION, D3DKMT_ESCAPE_PROCESS_VERIFIER_OPTION */
MUST_CHECK NTSTATUS escape_adapter_verifier(const struct escape *escape);
MUST_CHECK NTSTATUS escape_process_verifier(const struct escape *escape);

/* D3DKMT_ESCAPE_DRIVERPRIVATE with DriverKnownEscape: `desc` is what goes to the driver. */
MUST_CHECK NTSTATUS escape_known(const struct escape *escape,
				 const struct miniport_escape_desc *desc);

/* Copies the struct that the data begins with. `type_name` is for the refusal. */
MUST_CHECK NTSTATUS escape_read(const struct escape *escape, const char *type_name, void *copy,
				size_t size_bytes);

/* As call_check_own_process(). */
MUST_CHECK NTSTATUS escape_find_process(const struct escape *escape, HANDLE process,
					struct vidmm_process **memory_out);

/* Intervals between trims, in units of 100 ns, and what their fields are called. */
struct trim_units {
	struct {
		const char *name;
		uint64_t units;
	} shortest, longest, idle;
};

MUST_CHECK NTSTATUS escape_set_trim_intervals(const struct escape *escape,
					      const struct trim_units *units);

#endif
