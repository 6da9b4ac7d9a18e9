/* SPDX-License-Identifier: MIT */
/*
 * wine_calls.c - D3DKMTGetDeviceState from a Windows program under Wine, beside a call into a Unix library that does nothing.
 *
 * usage: wine_calls.exe calls rounds     one line per round: nanoseconds per call, per empty call
 */
#include <stdio.h>
#include <stdlib.h>

#include "../tests/wine/windows_d3dkmt.h"

static double now_ns(void)
{
	LARGE_INTEGER now, frequency;

	QueryPerformanceCounter(&now);
	QueryPerformanceFrequency(&frequency);
	return (double)now.QuadPart * 1e9 / (double)frequency.QuadPart;
}

static FARPROC find(const char *dll, const char *name)
{
	FARPROC function = GetProcAddress(LoadLibraryA(dll), name);

	if (!function) {
		fprintf(stderr, "wine_calls: %s has no %s\n", dll, name);
		exit(1);
	}
	return function;
}

static D3DKMT_HANDLE create_device(void)
{
	PFND3DKMT_ENUMADAPTERS2 enumerate = (void *)find("gdi32.dll", "D3DKMTEnumAdapters2");
	PFND3DKMT_CREATEDEVICE create = (void *)find("gdi32.dll", "D3DKMTCreateDevice");
	D3DKMT_ADAPTERINFO infos[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = infos };
	D3DKMT_CREATEDEVICE args = { 0 };

	if (enumerate(&all) < 0 || all.NumAdapters == 0)
		exit(1);
	args.hAdapter = infos[0].hAdapter;
	if (create(&args) < 0)
		exit(1);
	return args.hDevice;
}

int main(int argc, char **argv)
{
	PFND3DKMT_GETDEVICESTATE get_state = (void *)find("gdi32.dll", "D3DKMTGetDeviceState");
	LONG (*empty)(void) = (void *)find("dxgkwine.dll", "DxgkEmptyCall");
	unsigned calls = argc == 3 ? (unsigned)strtoul(argv[1], NULL, 0) : 0;
	unsigned rounds = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 0) : 0;
	D3DKMT_GETDEVICESTATE args = { .hDevice = create_device(),
				       .StateType = D3DKMT_DEVICESTATE_EXECUTION };
	unsigned failed = 0;

	/* The first round is for the caches. */
	for (unsigned round = 0; round <= rounds && calls > 0; round++) {
		double start = now_ns();
		for (unsigned i = 0; i < calls; i++)
			failed += get_state(&args) < 0;
		double middle = now_ns();
		for (unsigned i = 0; i < calls; i++)
			failed += empty() < 0;
		double end = now_ns();
		if (round > 0)
			printf("%.3f %.3f\n", (middle - start) / calls, (end - middle) / calls);
	}
	return failed != 0 || calls == 0;
}
