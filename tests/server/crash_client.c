/* SPDX-License-Identifier: MIT */
/*
 * crash_client.c - for driver_crash_test.py: a client whose escape makes the driver crash.
 *
 *	crash_client crash       prints what came of the escape, and of the next call
 *	crash_client rude        the same, of an escape after which the driver can go on
 *	crash_client wait        "ready", then what came of a wait for ever, and the fence's value
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/refusal.h>

#include "drivers/rude/rude.h"

static void say(const char *what, NTSTATUS status)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	printf("%s: 0x%08x %s\n", what, (unsigned)status,
	       !NT_SUCCESS(status) && DxgkLastRefusal(&why) ? why.rule : "");
	fflush(stdout);
}

static int wait_for_ever(D3DKMT_HANDLE device)
{
	D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = { .hDevice = device };
	UINT64 value = 7;

	fence.Info.Type = D3DDDI_MONITORED_FENCE;
	if (!NT_SUCCESS(D3DKMTCreateSynchronizationObject2(&fence)))
		return 1;
	D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = { .hDevice = device,
							    .ObjectCount = 1,
							    .ObjectHandleArray = &fence.hSyncObject,
							    .FenceValueArray = &value };
	say("ready", 0);
	say("wait", D3DKMTWaitForSynchronizationObjectFromCpu(&wait));
	printf("fence: 0x%016" PRIx64 "\n",
	       (uint64_t) *
		       (volatile UINT64 *)fence.Info.MonitoredFence.FenceValueCPUVirtualAddress);
	return 0;
}

int main(int argc, char **argv)
{
	D3DKMT_ADAPTERINFO adapters[16];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 16, .pAdapters = adapters };
	struct rude_escape deed = { RUDE_MAGIC, RUDE_read_null };

	if (argc != 2 || !NT_SUCCESS(D3DKMTEnumAdapters2(&all)) || all.NumAdapters == 0)
		return 1;
	D3DKMT_CREATEDEVICE device = { .hAdapter = adapters[0].hAdapter };
	if (!NT_SUCCESS(D3DKMTCreateDevice(&device)))
		return 1;
	if (strcmp(argv[1], "rude") == 0)
		deed.deed = RUDE_stay_in_region;
	if (strcmp(argv[1], "wait") == 0)
		return wait_for_ever(device.hDevice);
	D3DKMT_ESCAPE escape = { .hAdapter = adapters[0].hAdapter,
				 .pPrivateDriverData = &deed,
				 .PrivateDriverDataSize = sizeof(deed) };
	say("escape", D3DKMTEscape(&escape));
	D3DKMT_DESTROYDEVICE destroy = { device.hDevice };
	say("next", D3DKMTDestroyDevice(&destroy));
	return 0;
}
