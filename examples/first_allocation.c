/* SPDX-License-Identifier: MIT */
#include <dxg/d3dkmthk.h>
#include <opendxgk/softgpu.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	D3DKMT_ADAPTERINFO adapters[34] = { 0 };
	D3DKMTEnumAdapters2(&(D3DKMT_ENUMADAPTERS2){ 34, adapters });
	D3DKMT_CREATEDEVICE device = { .hAdapter = adapters[0].hAdapter };
	D3DKMTCreateDevice(&device);
	struct softgpu_allocation wish = { SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE, 65536 };
	D3DDDI_ALLOCATIONINFO2 memory = { .pPrivateDriverData = &wish,
					  .PrivateDriverDataSize = sizeof(wish) };
	D3DKMTCreateAllocation2(&(D3DKMT_CREATEALLOCATION){
		.hDevice = device.hDevice, .NumAllocations = 1, .pAllocationInfo2 = &memory });
	D3DKMT_LOCK2 lock = { .hDevice = device.hDevice, .hAllocation = memory.hAllocation };
	return D3DKMTLock2(&lock) != 0 || puts(strcpy(lock.pData, "video memory")) < 0;
}
