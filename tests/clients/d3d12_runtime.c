/* SPDX-License-Identifier: MIT */
/*
 * d3d12_runtime.c - stands where Microsoft's closed libd3d12.so stands: tells which of its functions is called, and refuses to make a device.
 */
#include <stdint.h>
#include <stdio.h>

#define CALLED __attribute__((visibility("default"))) int32_t
#define FAILED ((int32_t)0x80004005) /* E_FAIL */

static int32_t tell(const char *name, int32_t result)
{
	fprintf(stderr, "runtime: %s\n", name);
	return result;
}

CALLED D3D12GetInterface(const void *class_id, const void *iid, void **out);
CALLED D3D12GetInterface(const void *class_id, const void *iid, void **out)
{
	(void)class_id, (void)iid, (void)out;
	return tell("D3D12GetInterface", FAILED);
}

CALLED D3D12GetDebugInterface(const void *iid, void **out);
CALLED D3D12GetDebugInterface(const void *iid, void **out)
{
	(void)iid, (void)out;
	return tell("D3D12GetDebugInterface", FAILED);
}

/* Nothing is enabled by that; a caller that was refused would not go on. */
CALLED D3D12EnableExperimentalFeatures(uint32_t count, const void *iids, void *structs,
				       uint32_t *sizes);
CALLED D3D12EnableExperimentalFeatures(uint32_t count, const void *iids, void *structs,
				       uint32_t *sizes)
{
	(void)count, (void)iids, (void)structs, (void)sizes;
	return tell("D3D12EnableExperimentalFeatures", 0);
}

CALLED D3D12CreateDevice(void *adapter, int level, const void *iid, void **device_out);
CALLED D3D12CreateDevice(void *adapter, int level, const void *iid, void **device_out)
{
	(void)level, (void)iid, (void)device_out;
	return tell(adapter ? "D3D12CreateDevice with an adapter" : "D3D12CreateDevice", FAILED);
}

CALLED D3D12SerializeVersionedRootSignature(const void *description, void **blob, void **error);
CALLED D3D12SerializeVersionedRootSignature(const void *description, void **blob, void **error)
{
	(void)description, (void)blob, (void)error;
	return tell("D3D12SerializeVersionedRootSignature", FAILED);
}
