/* SPDX-License-Identifier: MIT */
/*
 * processes.c - two Windows programs that share through a server: by a handle that the second one inherits, and by a name.
 *
 *	processes.exe                 the first one; starts the second
 *	processes.exe HANDLE          the second one
 */
#include "program.h"

#include <wchar.h>

static WCHAR shared_name[] = L"opendxgk \x00e4 between processes";
static UNICODE_STRING name = { sizeof(shared_name) - sizeof(WCHAR), sizeof(shared_name),
			       shared_name };
static OBJECT_ATTRIBUTES attributes = { .Length = sizeof(attributes), .ObjectName = &name };

/* Prints nothing: its exit status is how many problems it had. */
static int run_second(const char *handle_text)
{
	struct client client = client_open();
	HANDLE inherited = (HANDLE)(UINT_PTR)strtoull(handle_text, NULL, 16);
	D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME by_name = { 0x10000000, &attributes, NULL };
	D3DKMT_HANDLE memory;
	open_handle(&client, inherited, &memory);
	char *bytes = lock(&client, memory);

	EXPECT_OK(D3DKMTOpenSyncObjectNtHandleFromName(&by_name));
	D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 open = { .hNtHandle = by_name.hNtHandle,
						    .hDevice = client.device };
	EXPECT_OK(D3DKMTOpenSyncObjectFromNtHandle2(&open));
	EXPECT(bytes && strcmp(bytes, "from the first") == 0);
	if (bytes)
		strcpy(bytes, "from the second");
	EXPECT_OK(signal_fence(&client, open.hSyncObject, 3));
	fflush(stdout);
	return (int)problems;
}

static DWORD start_second(const char *program, HANDLE handle)
{
	STARTUPINFOA startup = { .cb = sizeof(startup) };
	PROCESS_INFORMATION process = { 0 };
	char command[1024];
	DWORD status = 99;

	snprintf(command, sizeof(command), "\"%s\" %llx", program,
		 (unsigned long long)(UINT_PTR)handle);
	EXPECT(CreateProcessA(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process));
	WaitForSingleObject(process.hProcess, 60000);
	GetExitCodeProcess(process.hProcess, &status);
	CloseHandle(process.hThread);
	CloseHandle(process.hProcess);
	return status;
}

int main(int argc, char **argv)
{
	enum { SHARED_NT = 3 };
	struct client client;
	OBJECT_ATTRIBUTES inherited = { .Length = sizeof(inherited), .Attributes = OBJ_INHERIT };
	D3DKMT_HANDLE resource;
	HANDLE memory_handle = NULL;
	HANDLE fence_handle = NULL;
	HANDLE event = CreateEventW(NULL, FALSE, FALSE, NULL);

	if (argc > 1)
		return run_second(argv[1]);
	client = client_open();
	char *bytes = lock(&client, create(&client, 65536, SOFTGPU_CPU_VISIBLE, 1, &resource));
	D3DKMT_HANDLE fence = create_fence(&client, SHARED_NT, NULL);

	if (bytes)
		strcpy(bytes, "from the first");
	EXPECT_OK(D3DKMTShareObjects(1, &resource, &inherited, SHARED_ALLOCATION_WRITE,
				     &memory_handle));
	EXPECT_OK(D3DKMTShareObjects(1, &fence, &attributes, 0x10000000, &fence_handle));
	EXPECT_OK(wait_for(&client, fence, 3, event));
	EXPECT(start_second(argv[0], memory_handle) == 0);
	EXPECT(WaitForSingleObject(event, 20000) == WAIT_OBJECT_0);
	EXPECT(bytes && strcmp(bytes, "from the second") == 0);
	claim("two programs share memory by an inherited handle and a fence by its name, and wait "
	      "for each other");
	return end_of_claims();
}
