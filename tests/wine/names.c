/* SPDX-License-Identifier: MIT */
/*
 * names.c - every name of the API sets is found where programs look for it, and answers.
 *
 *	names.exe apisets.txt
 */
#include "program.h"

static char line[256];

/* A call without arguments: whatever it is, it says what it misses, or why it is refused. */
static BOOL answers(FARPROC function, const char *name, const char *group)
{
	if (strcmp(group, "gdi") == 0)
		return TRUE; /* Wine's own */
	LONG status = ((LONG(WINAPI *)(void *, void *, void *, void *, void *))(void *)function)(
		NULL, NULL, NULL, NULL, NULL);
	if (strcmp(group, "unowned") == 0)
		return (status & 0xff) == 0;
	if (strcmp(group, "call") != 0 && status != (LONG)0xc00000bb)
		printf("# %s: 0x%lx\n", name, (unsigned long)status);
	return strcmp(group, "call") == 0 ? status < 0 || status == 0 : status == (LONG)0xc00000bb;
}

static BOOL is_good(const char *set, const char *name, const char *group)
{
	char dll[64] = "gdi32.dll";
	char full[80];

	snprintf(full, sizeof(full), "D3DKMT%s", name);
	FARPROC by_gdi32 = GetProcAddress(LoadLibraryA(dll), full);
	if (strcmp(set, "-") != 0)
		snprintf(dll, sizeof(dll), "api-ms-win-dx-d3dkmt-l1-1-%s.dll", set);
	FARPROC by_set = GetProcAddress(LoadLibraryA(dll), full);
	if (!by_gdi32 || by_set != by_gdi32) {
		printf("# %s in %s: %p, in gdi32.dll: %p\n", full, dll, (void *)by_set,
		       (void *)by_gdi32);
		return FALSE;
	}
	return answers(by_gdi32, full, group);
}

int main(int argc, char **argv)
{
	FILE *list = fopen(argc > 1 ? argv[1] : "apisets.txt", "r");
	unsigned count = 0;
	char set[8], name[64], group[16];

	EXPECT(list != NULL);
	while (list && fgets(line, sizeof(line), list)) {
		if (line[0] == '#')
			continue;
		EXPECT(sscanf(line, "%7s %63s %15s", set, name, group) == 3);
		EXPECT(is_good(set, name, group));
		count++;
	}
	EXPECT(count == 220);
	claim("220 names are found in gdi32.dll and in their API set, and those that are not built "
	      "say so");
	EXPECT(GetProcAddress(LoadLibraryA("gdi32.dll"), "CreateCompatibleDC") ==
	       GetProcAddress(LoadLibraryA("winegdi32.dll"), "CreateCompatibleDC"));
	EXPECT(LoadLibraryA("user32.dll") != NULL);
	HDC dc = CreateCompatibleDC(NULL);
	EXPECT(GetDeviceCaps(dc, TECHNOLOGY) >= 0 && DeleteDC(dc));
	claim("everything else of gdi32 is Wine's, and works");
	return end_of_claims();
}
