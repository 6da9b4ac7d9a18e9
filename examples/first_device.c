/* SPDX-License-Identifier: MIT */
#include <dxg/d3dkmthk.h>
#include <stdio.h>

int main(void)
{
	D3DKMT_ADAPTERINFO adapters[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = adapters };
	if (D3DKMTEnumAdapters2(&all) < 0 || all.NumAdapters == 0)
		return 1;
	D3DKMT_CREATEDEVICE device = { .hAdapter = adapters[0].hAdapter };
	printf("status 0x%08x, device 0x%08x\n", D3DKMTCreateDevice(&device), device.hDevice);
}
