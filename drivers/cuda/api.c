/* SPDX-License-Identifier: MIT */
/*
 * api.c - see api.h.
 *
 * The host's loader is declared here, because a driver has no headers of the host's.
 */
#include "gpu.h"
#include "api.h"

extern void *dlopen(const char *file, int mode);
extern void *dlsym(void *library, const char *name);
extern char *dlerror(void);
extern int dlclose(void *library);
extern int setenv(const char *name, const char *value, int overwrite);

enum { LOAD_NOW = 2 }; /* RTLD_NOW, and not for others */

static const char library_name[] = "libcuda.so.1";

static const struct {
	const char *symbol;
	size_t offset;
} symbols[] = {
#define CUDA_SYMBOL(name, symbol, parameters) { symbol, __builtin_offsetof(struct cuda_api, name) },
	CUDA_API(CUDA_SYMBOL)
#undef CUDA_SYMBOL
};

static NTSTATUS find_symbols(struct cuda_api *api)
{
	for (ULONG i = 0; i < RTL_NUMBER_OF(symbols); i++) {
		void *found = dlsym(api->library, symbols[i].symbol);

		if (!found)
			return gpu_refuse(STATUS_PROCEDURE_NOT_FOUND,
					  "%s has no %s: it is older than what this driver needs",
					  library_name, symbols[i].symbol);
		*(void **)((UCHAR *)api + symbols[i].offset) = found;
	}
	return STATUS_SUCCESS;
}

static NTSTATUS begin(struct cuda_api *api)
{
	int version = 0;
	cuda_status result = api->init(0);

	if (result != CUDA_OK)
		return gpu_refuse(STATUS_NO_SUCH_DEVICE, "cuInit: %s; there is no GPU to be had",
				  cuda_error_name(api, result));
	result = api->driver_version(&version);
	if (result != CUDA_OK || version < CUDA_DRIVER_VERSION_WANTED)
		return gpu_refuse(STATUS_REVISION_MISMATCH,
				  "the CUDA driver has version %d, and %d is needed", version,
				  CUDA_DRIVER_VERSION_WANTED);
	return STATUS_SUCCESS;
}

NTSTATUS cuda_api_open(struct cuda_api *api)
{
	PAGED_CODE();

	RtlZeroMemory(api, sizeof(*api));
	/*
	 * A kernel may hang, and others have to go on beside it: each stream has a queue of the GPU's to
	 * itself, and no kernel is loaded only when it is launched, which would wait for what runs.
	 */
	(void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	(void)setenv("CUDA_MODULE_LOADING", "EAGER", 0);
	api->library = dlopen(library_name, LOAD_NOW);
	if (!api->library) {
		const char *why = dlerror();

		return gpu_refuse(STATUS_DLL_NOT_FOUND, "%s cannot be loaded: %s", library_name,
				  why ? why : "the host does not say why");
	}
	NTSTATUS status = find_symbols(api);
	if (NT_SUCCESS(status))
		status = begin(api);
	if (!NT_SUCCESS(status))
		cuda_api_close(api);
	return status;
}

void cuda_api_close(struct cuda_api *api)
{
	PAGED_CODE();

	if (api->library)
		dlclose(api->library);
	RtlZeroMemory(api, sizeof(*api));
}

const char *cuda_error_name(const struct cuda_api *api, cuda_status status)
{
	const char *name = NULL;

	if (api->error_name(status, &name) != CUDA_OK || !name)
		return "an unknown error";
	return name;
}
