/* SPDX-License-Identifier: MIT */
/*
 * proxy_test.c - the gdi32 that is made: names, where they lead, and files that are not what they should be. Its own address sanitizer
 * looks at every read.
 *
 * TEST_DLL is a DLL that mingw made, which stands for Wine's gdi32 and for ours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/wine/proxy.h"
#include "support/test.h"

static unsigned char *dll;
static size_t dll_bytes;

static void read_dll(void)
{
	FILE *file = fopen(getenv("TEST_DLL"), "rb");

	EXPECT(file != NULL);
	if (dll || !file)
		return;
	dll = malloc(1 << 20);
	dll_bytes = fread(dll, 1, 1 << 20, file);
	fclose(file);
	EXPECT(dll_bytes > 4096);
}

/* What is made of these bytes in the place of Wine's gdi32; NULL with the sentence in `problem`. */
static unsigned char *make_of(const unsigned char *bytes, size_t size, size_t *size_out,
			      char problem[256])
{
	char path[] = "/tmp/dxgk-proxy-XXXXXX";
	int file = mkstemp(path);
	struct proxy_file proxy;

	EXPECT(file >= 0 && write(file, bytes, size) == (ssize_t)size);
	close(file);
	bool is_made = proxy_make(path, getenv("TEST_DLL"), &proxy, problem, 256);
	unlink(path);
	*size_out = proxy.size;
	return is_made ? proxy.bytes : NULL;
}

static bool contains(const unsigned char *bytes, size_t size, const char *text)
{
	return memmem(bytes, size, text, strlen(text) + 1) != NULL;
}

TEST(proxy, sends_our_names_to_us_and_has_them_once)
{
	char problem[256] = "";
	size_t size;

	read_dll();
	unsigned char *made = make_of(dll, dll_bytes, &size, problem);
	EXPECT_STR(problem, "");
	EXPECT(made != NULL);
	EXPECT(contains(made, size, "dxgkwine.D3DKMTCreateDevice"));
	EXPECT(contains(made, size, "dxgkwine.D3DKMTCreateSwapChain"));
	EXPECT(contains(made, size, "winegdi32.DxgkLastRefusal"));
	EXPECT(!contains(made, size, "winegdi32.D3DKMTCreateDevice"));
	/* It is a DLL itself: what is made of it again has the same names. */
	size_t again_size;
	unsigned char *again = make_of(made, size, &again_size, problem);
	EXPECT(again != NULL && again_size == size && memcmp(again, made, size) == 0);
	free(again);
	free(made);
}

TEST(proxy, refuses_what_is_no_dll_and_reads_nothing_behind_its_end)
{
	char problem[256];
	unsigned char *copy;
	size_t size;

	read_dll();
	copy = malloc(dll_bytes);
	for (size_t length = 1; length < dll_bytes; length += 1 + length / 8) {
		problem[0] = '\0';
		unsigned char *made = make_of(dll, length, &size, problem);
		EXPECT((made == NULL) == (problem[0] != '\0'));
		free(made);
	}
	/* Numbers of the headers and of the tables behind them, wrong one at a time. */
	for (size_t at = 0; at < 1024; at += 7) {
		memcpy(copy, dll, dll_bytes);
		copy[at] ^= 0xff;
		free(make_of(copy, dll_bytes, &size, problem));
	}
	free(copy);
	EXPECT(!proxy_make("/nowhere/gdi32.dll", getenv("TEST_DLL"), &(struct proxy_file){ 0 },
			   problem, sizeof(problem)));
	EXPECT(strstr(problem, "/nowhere/gdi32.dll") != NULL);
}
TEST_MAIN("wine/proxy")
