/* SPDX-License-Identifier: MIT */
/*
 * device_state.c - D3DKMTGetDeviceState on a living device, beside the cheapest system call.
 *
 * usage: device_state calls rounds     one line per round: nanoseconds per call, per getppid()
 *        device_state --no-system-call a thread that may make none makes calls
 *
 * The two are measured in turn, so that what else the machine does reaches both.
 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dxg/d3dkmthk.h>
#include <opendxgk/refusal.h>

#include "base/clock.h"

enum { STRICT_CALLS = 100000 };

static void fail(const char *what)
{
	struct dxgk_refusal why = { .size_bytes = sizeof(why) };

	fprintf(stderr, "device_state: %s: %s\n", what,
		DxgkLastRefusal(&why) ? why.reason : "failed");
	exit(1);
}

static D3DKMT_HANDLE create_device(void)
{
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };

	if (!NT_SUCCESS(D3DKMTEnumAdapters2(&all)))
		fail("D3DKMTEnumAdapters2");
	if (all.NumAdapters == 0)
		fail("no adapter started");
	D3DKMT_CREATEDEVICE create = { .hAdapter = infos[0].hAdapter };
	if (!NT_SUCCESS(D3DKMTCreateDevice(&create)))
		fail("D3DKMTCreateDevice");
	return create.hDevice;
}

static unsigned get_state(D3DKMT_HANDLE device, unsigned calls)
{
	D3DKMT_GETDEVICESTATE args = { .hDevice = device,
				       .StateType = D3DKMT_DEVICESTATE_EXECUTION };
	unsigned failed = 0;

	for (unsigned i = 0; i < calls; i++)
		failed += !NT_SUCCESS(D3DKMTGetDeviceState(&args));
	return failed;
}

static double state_ns(D3DKMT_HANDLE device, unsigned calls)
{
	uint64_t start = clock_now_ns();

	if (get_state(device, calls) != 0)
		fail("D3DKMTGetDeviceState");
	return (double)(clock_now_ns() - start) / calls;
}

static double getppid_ns(unsigned calls)
{
	uint64_t start = clock_now_ns();

	for (unsigned i = 0; i < calls; i++)
		(void)!getppid();
	return (double)(clock_now_ns() - start) / calls;
}

/* The kernel ends a thread in strict mode at its first system call but these: read, write, exit. */
static _Atomic unsigned strict_done;

static void *strict_thread(void *context)
{
	D3DKMT_HANDLE device = *(D3DKMT_HANDLE *)context;

	get_state(device, 1000); /* the first calls of a thread set it up */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
		perror("device_state: seccomp");
		exit(1);
	}
	if (get_state(device, STRICT_CALLS) == 0)
		atomic_store(&strict_done, STRICT_CALLS);
	syscall(SYS_exit, 0);
	return NULL;
}

static int check_no_system_call(D3DKMT_HANDLE device)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, strict_thread, &device) != 0)
		fail("pthread_create");
	pthread_join(thread, NULL);
	printf("%u\n", atomic_load(&strict_done));
	return atomic_load(&strict_done) == STRICT_CALLS ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--no-system-call") == 0)
		return check_no_system_call(create_device());
	if (argc != 3) {
		fprintf(stderr, "usage: device_state calls rounds | --no-system-call\n");
		return 2;
	}
	unsigned calls = (unsigned)strtoul(argv[1], NULL, 0);
	unsigned rounds = (unsigned)strtoul(argv[2], NULL, 0);
	D3DKMT_HANDLE device = create_device();

	state_ns(device, calls);
	getppid_ns(calls);
	for (unsigned i = 0; i < rounds; i++) {
		double state = state_ns(device, calls);
		printf("%.3f %.3f\n", state, getppid_ns(calls));
	}
	return 0;
}
