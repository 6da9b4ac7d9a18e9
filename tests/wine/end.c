/* SPDX-License-Identifier: MIT */
/*
 * end.c - a program that ends in the middle: memory is left, a thread waits for a fence that nobody signals, an event and a callback are
 * registered. Its trace is complete all the same.
 *
 *	end.exe rounds
 *	end.exe wild       a call with a pointer that leads nowhere
 */
#include "program.h"

static struct client client;
static D3DKMT_HANDLE fence;
static HANDLE is_waiting;

static DWORD WINAPI wait_for_ever(void *unused)
{
	(void)unused;
	SetEvent(is_waiting);
	wait_for(&client, fence, 1, NULL);
	return 0;
}

static VOID APIENTRY on_trim(D3DKMT_TRIMNOTIFICATION *told)
{
	(void)told;
}

/* The argument itself is in order: the kernel comes to the pointer in the middle of the call. */
static int be_wild(void)
{
	D3DKMT_ESCAPE escape = { .hAdapter = client_open().adapter,
				 .pPrivateDriverData = (void *)8,
				 .PrivateDriverDataSize = 64 };
	NTSTATUS status = D3DKMTEscape(&escape);

	printf("went on with 0x%08lx\n", (unsigned long)status);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "wild") == 0)
		return be_wild();
	int rounds = argc > 1 ? atoi(argv[1]) : 100;

	client = client_open();
	for (int i = 0; i < rounds; i++) {
		D3DKMT_HANDLE one = create(&client, 4096, SOFTGPU_CPU_VISIBLE, 0, NULL);
		EXPECT_OK(destroy(&client, one, 0));
	}
	(void)create(&client, 65536, SOFTGPU_CPU_VISIBLE, 0, NULL);
	fence = create_fence(&client, 0, NULL);
	is_waiting = CreateEventW(NULL, FALSE, FALSE, NULL);
	CreateThread(NULL, 0, wait_for_ever, NULL, 0, NULL);
	WaitForSingleObject(is_waiting, INFINITE);
	EXPECT_OK(wait_for(&client, fence, 2, CreateEventW(NULL, FALSE, FALSE, NULL)));
	D3DKMT_REGISTERTRIMNOTIFICATION args = { .AdapterLuid = client.luid,
						 .hDevice = client.device,
						 .Callback = on_trim };
	EXPECT_OK(D3DKMTRegisterTrimNotification(&args));
	Sleep(20); /* the other thread is in its wait by now, most likely */
	printf("problems %u\n", problems);
	fflush(stdout);
	return problems ? 1 : 42;
}
