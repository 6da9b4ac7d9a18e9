/* SPDX-License-Identifier: MIT */
/*
 * header_cxx_test.cc - a client in C++17: the headers, and the first program anybody writes.
 */
#include <cstring>
#include <string>
#include <vector>

#include <dxg/d3dkmthk.h>
#include <opendxgk/refusal.h>
#include <opendxgk/softgpu.h>
#include <opendxgk/testing.h>

#include "support/claims.h"

static std::vector<D3DKMT_ADAPTERINFO> enumerate()
{
	D3DKMT_ENUMADAPTERS2 args = {};

	if (D3DKMTEnumAdapters2(&args) != STATUS_SUCCESS)
		return {};
	std::vector<D3DKMT_ADAPTERINFO> infos(args.NumAdapters);
	args.pAdapters = infos.data();
	if (D3DKMTEnumAdapters2(&args) != STATUS_SUCCESS)
		return {};
	infos.resize(args.NumAdapters);
	return infos;
}

static std::wstring describe(D3DKMT_HANDLE adapter)
{
	std::vector<D3DKMT_DRIVER_DESCRIPTION> answer(1);
	D3DKMT_QUERYADAPTERINFO query = {};

	query.hAdapter = adapter;
	query.Type = KMTQAITYPE_DRIVER_DESCRIPTION;
	query.pPrivateDriverData = answer.data();
	query.PrivateDriverDataSize = sizeof(answer[0]);
	return D3DKMTQueryAdapterInfo(&query) == STATUS_SUCCESS ? answer[0].DriverDescription : L"";
}

int main()
{
	std::vector<D3DKMT_ADAPTERINFO> adapters = enumerate();
	claim(adapters.size() == 1, "there is one adapter");
	if (adapters.empty())
		return 1;
	claim(describe(adapters[0].hAdapter) == L"opendxgk Soft GPU",
	      "its name is a wide string");

	D3DKMT_CREATEDEVICE device = {};
	device.hAdapter = adapters[0].hAdapter;
	claim(D3DKMTCreateDevice(&device) == STATUS_SUCCESS, "it makes a device");

	D3DKMT_CREATECONTEXTVIRTUAL context = {};
	context.hDevice = device.hDevice;
	context.ClientHint = D3DKMT_CLIENTHINT_VULKAN;
	claim(D3DKMTCreateContextVirtual(&context) == STATUS_SUCCESS, "the device makes a context");

	D3DKMT_DESTROYCONTEXT no_context = { context.hContext };
	claim(D3DKMTDestroyContext(&no_context) == STATUS_SUCCESS, "the context goes");
	claim(D3DKMTDestroyContext(&no_context) == STATUS_INVALID_PARAMETER, "it goes once");

	dxgk_refusal why = {};
	why.size_bytes = sizeof(why);
	claim(DxgkLastRefusal(&why) == 1 && std::strcmp(why.rule, "API-HANDLE") == 0,
	      "the refusal says why");

	D3DKMT_DESTROYDEVICE no_device = { device.hDevice };
	D3DKMT_CLOSEADAPTER no_adapter = { adapters[0].hAdapter };
	claim(D3DKMTDestroyDevice(&no_device) == STATUS_SUCCESS, "the device goes");
	claim(D3DKMTCloseAdapter(&no_adapter) == STATUS_SUCCESS, "the adapter is closed");
	claim(dxgk_test_memory().blocks > 0, "the hooks for tests have C linkage");
	return claims_end();
}
