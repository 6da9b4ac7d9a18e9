/* SPDX-License-Identifier: MIT */
/*
 * wsl_probe.c - as a program for WSL begins: the library by its one name, an adapter, its driver
 * store. Prints what it found.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <wchar.h>

#include <dxg/d3dkmthk.h>

int main(void)
{
	static struct {
		D3DDDI_QUERYREGISTRY_INFO info;
		WCHAR rest[1024];
	} store = { .info.QueryType = D3DDDI_QUERYREGISTRY_DRIVERSTOREPATH };
	static D3DKMT_DRIVER_DESCRIPTION name;
	D3DKMT_ADAPTERINFO adapters[34] = { 0 };
	D3DKMT_ENUMADAPTERS2 list = { 34, adapters };
	void *library = dlopen("/usr/lib/wsl/lib/libdxcore.so", RTLD_LAZY);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	PFND3DKMT_ENUMADAPTERS2 enumerate =
		(PFND3DKMT_ENUMADAPTERS2)dlsym(library, "D3DKMTEnumAdapters2");
	PFND3DKMT_QUERYADAPTERINFO query =
		(PFND3DKMT_QUERYADAPTERINFO)dlsym(library, "D3DKMTQueryAdapterInfo");
	if (!enumerate || !query || enumerate(&list) != 0 || list.NumAdapters == 0)
		return 1;
	D3DKMT_QUERYADAPTERINFO ask = { .hAdapter = adapters[0].hAdapter,
					.Type = KMTQAITYPE_DRIVER_DESCRIPTION,
					.pPrivateDriverData = &name,
					.PrivateDriverDataSize = sizeof(name) };
	if (query(&ask) != 0)
		return 1;
	ask.Type = KMTQAITYPE_QUERYREGISTRY;
	ask.pPrivateDriverData = &store;
	ask.PrivateDriverDataSize = sizeof(store);
	if (query(&ask) != 0)
		return 1;
	printf("%ls\n%ls\n", (const wchar_t *)name.DriverDescription,
	       (const wchar_t *)store.info.OutputString);
	return 0;
}
