#include <dxg/d3dkmthk.h>
#include <opendxgk/softgpu.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	D3DKMT_ADAPTERINFO adapters[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = adapters };
	if (D3DKMTEnumAdapters2(&all) < 0 || all.NumAdapters == 0)
		return 1;
	D3DKMT_CREATEDEVICE device = { .hAdapter = adapters[0].hAdapter };
	if (D3DKMTCreateDevice(&device) < 0)
		return 1;
	struct softgpu_allocation wish = { SOFTGPU_ALLOCATION_VERSION, SOFTGPU_CPU_VISIBLE, 65536 };
	D3DDDI_ALLOCATIONINFO2 memory = { .pPrivateDriverData = &wish,
					  .PrivateDriverDataSize = sizeof(wish) };
	D3DKMT_CREATEALLOCATION create = { .hDevice = device.hDevice,
					   .NumAllocations = 1,
					   .pAllocationInfo2 = &memory };
	if (D3DKMTCreateAllocation2(&create) < 0)
		return 1;
	D3DKMT_LOCK2 lock = { .hDevice = device.hDevice, .hAllocation = memory.hAllocation };
	if (D3DKMTLock2(&lock) < 0)
		return 1;
	printf("allocation 0x%08x: %s\n", memory.hAllocation, strcpy(lock.pData, "video memory"));
	D3DKMT_UNLOCK2 unlock = { device.hDevice, memory.hAllocation };
	D3DKMT_DESTROYALLOCATION2 destroy = { .hDevice = device.hDevice,
					      .phAllocationList = &memory.hAllocation,
					      .AllocationCount = 1 };
	return D3DKMTUnlock2(&unlock) < 0 || D3DKMTDestroyAllocation2(&destroy) < 0;
}
