/* SPDX-License-Identifier: MIT */
/*
 * triangle.c - a triangle, through a user-mode driver: a surface, a background, a rectangle for each row of the triangle, and
 * a look at every pixel.
 *
 *	example_triangle ./softumd.so
 *
 * With DXGK_LOG=calls each step shows the runtime's callbacks, the D3DKMT calls they become, and what the miniport is asked.
 */
#include <opendxgk/umd.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 64 };

static const UINT background = 0xff102040;
static const UINT color = 0xffffc020;

static void check(const char *what, HRESULT result)
{
	if (SUCCEEDED(result))
		return;
	fprintf(stderr, "%s: 0x%08x\n", what, (unsigned)result);
	exit(1);
}

#define CHECK(call) check(#call, (call))

static int is_inside(LONG x, LONG y)
{
	return x >= SIDE / 2 - y / 2 && x < SIDE / 2 + y / 2;
}

static void draw(struct dxgk_umd_device *device, const struct dxgk_umd_resource *surface)
{
	HANDLE driver = DxgkUmdDriverDevice(device);
	D3DDDIARG_SETRENDERTARGET target = { .hRenderTarget = surface->driver };
	D3DDDIARG_CLEAR clear = { .Flags = 1, .FillColor = background };

	CHECK(DXGK_UMD_CALL(device, pfnSetRenderTarget(driver, &target)));
	CHECK(DXGK_UMD_CALL(device, pfnClear(driver, &clear, 0, NULL)));
	for (LONG y = 0; y < SIDE; y++) {
		D3DDDIARG_COLORFILL fill = {
			.hResource = surface->driver,
			.DstRect = { SIDE / 2 - y / 2, y, SIDE / 2 + y / 2, y + 1 },
			.Color = color,
		};

		CHECK(DXGK_UMD_CALL(device, pfnColorFill(driver, &fill)));
	}
	CHECK(DXGK_UMD_CALL(device, pfnFlush(driver)));
}

static unsigned look(struct dxgk_umd_device *device, const struct dxgk_umd_resource *surface)
{
	HANDLE driver = DxgkUmdDriverDevice(device);
	D3DDDIARG_LOCK lock = { .hResource = surface->driver, .Flags.ReadOnly = 1 };
	D3DDDIARG_UNLOCK unlock = { .hResource = surface->driver };
	unsigned wrong = 0;

	CHECK(DXGK_UMD_CALL(device, pfnLock(driver, &lock)));
	for (LONG y = 0; y < SIDE; y++) {
		const UINT *row = (const UINT *)((const char *)lock.pSurfData + y * lock.Pitch);

		for (LONG x = 0; x < SIDE; x++)
			wrong += row[x] != (is_inside(x, y) ? color : background);
		for (LONG x = 0; y % 4 == 0 && x < SIDE; x += 2)
			fputs(row[x] == color ? "##" : "..", stdout);
		fputs(y % 4 == 0 ? "\n" : "", stdout);
	}
	CHECK(DXGK_UMD_CALL(device, pfnUnlock(driver, &unlock)));
	return wrong;
}

int main(int count, char **words)
{
	D3DKMT_ADAPTERINFO adapters[34];
	D3DKMT_ENUMADAPTERS2 all = { .NumAdapters = 34, .pAdapters = adapters };
	D3DDDI_SURFACEINFO shape = { .Width = SIDE, .Height = SIDE, .Depth = 1 };
	D3DDDIARG_CREATERESOURCE create = { .Format = D3DDDIFMT_A8R8G8B8,
					    .pSurfList = &shape,
					    .SurfCount = 1,
					    .Flags.RenderTarget = 1 };
	struct dxgk_umd_adapter *adapter;
	struct dxgk_umd_device *device;
	struct dxgk_umd_resource surface;

	/* Line by line, so that what is logged comes in between. */
	setvbuf(stdout, NULL, _IONBF, 0);
	if (count != 2) {
		fprintf(stderr, "usage: %s driver.so\n", words[0]);
		return 2;
	}
	if (D3DKMTEnumAdapters2(&all) < 0 || all.NumAdapters == 0) {
		fprintf(stderr, "no adapter started\n");
		return 1;
	}
	CHECK(DxgkUmdOpenAdapter(words[1], adapters[0].AdapterLuid, &adapter));
	CHECK(DxgkUmdCreateDevice(adapter, 0, &device));
	puts("device created");
	CHECK(DxgkUmdCreateResource(device, &create, &surface));
	puts("surface created");
	draw(device, &surface);
	puts("drawn");
	unsigned wrong = look(device, &surface);
	printf("looked: %u of %d pixels are wrong\n", wrong, SIDE * SIDE);
	CHECK(DxgkUmdDestroyResource(device, &surface));
	puts("surface destroyed");
	CHECK(DxgkUmdDestroyDevice(device));
	CHECK(DxgkUmdCloseAdapter(adapter));
	puts("closed");
	return wrong != 0;
}
