/* SPDX-License-Identifier: MIT */
/*
 * names_test.c - nobody takes the default adapter for hardware that it is not.
 *
 * A program that finds the library where WSL has it looks for its own adapter among ours. What it
 * looks for is below, with who does; what we say is asked for in every way there is.
 */
#include "api/support.h"

#include <strings.h>
#include <wchar.h>

#include "thunk/dxcore.h"

/* Parts of names, whatever their case: most compare exactly, and some do not. */
static const char *const looked_for[] = {
	/* Intel's compute runtime, which ends the process when the rest is missing. */
	"Intel", "Citrix", "Virtual Render",
	/* Vendors and their products, as programs and their settings name them. */
	"AMD", "ATI", "Radeon", "FirePro", "NVIDIA", "GeForce", "Quadro", "Tesla", "Qualcomm",
	"Adreno", "Apple", "Imagination", "PowerVR", "Mali", "Moore Threads", "Matrox", "ASPEED",
	/* Microsoft's own, which programs leave out or prefer. */
	"Microsoft", "Basic Render", "Basic Display", "Remote Display", "Hyper-V", "WARP",
	"Software Adapter",
	/* Virtual machines and renderers in software. */
	"VMware", "VirtualBox", "Parallels", "QXL", "VirtIO", "Red Hat", "SwiftShader", "llvmpipe",
	"Mesa", "lavapipe"
};

static const unsigned vendors[] = { 0x8086, 0x1002, 0x1022, 0x10de, 0x1414, 0x5143, 0x106b,
				    0x15ad, 0x80ee, 0x1ab8, 0x1b36, 0x1af4, 0x5853 };

static const GUID iid_factory = {
	0x78ee5945, 0xc36e, 0x4b13, { 0xa6, 0x69, 0x00, 0x5d, 0xd1, 0x1c, 0x0f, 0x06 }
};
static const GUID iid_adapter = {
	0xf0db4c7f, 0xfe5a, 0x42a2, { 0xbd, 0x62, 0xf2, 0xa6, 0xcf, 0x6f, 0xc8, 0x3e }
};

static void check_name(const char *where, const char *name)
{
	for (size_t i = 0; i < sizeof(looked_for) / sizeof(looked_for[0]); i++) {
		if (strcasestr(name, looked_for[i])) {
			print_error("%s is \"%s\", which somebody looking for \"%s\" finds\n",
				    where, name, looked_for[i]);
			_fail(__FILE__, __LINE__);
		}
	}
}

static void check_wide(const char *where, const wchar_t *name)
{
	char text[4096];

	EXPECT(wcstombs(text, name, sizeof(text)) < sizeof(text));
	check_name(where, text);
}

static NTSTATUS query(D3DKMT_HANDLE adapter, unsigned type, void *data, size_t size_bytes)
{
	return query_adapter(adapter, type, data, size_bytes);
}

TEST(names, of_the_default_adapter_are_what_nobody_looks_for)
{
	static D3DKMT_DRIVER_DESCRIPTION description;
	static D3DKMT_ADAPTERREGISTRYINFO info;
	D3DKMT_HANDLE adapter = open_first_adapter();

	EXPECT_OK(query(adapter, KMTQAITYPE_DRIVER_DESCRIPTION, &description, sizeof(description)));
	EXPECT(wcslen(description.DriverDescription) > 0);
	check_wide("DRIVER_DESCRIPTION", description.DriverDescription);
	EXPECT_OK(query(adapter, KMTQAITYPE_ADAPTERREGISTRYINFO, &info, sizeof(info)));
	check_wide("AdapterString", info.AdapterString);
	check_wide("BiosString", info.BiosString);
	check_wide("DacType", info.DacType);
	check_wide("ChipType", info.ChipType);
	EXPECT_OK(close_adapter(adapter));
}

TEST(names, in_the_registry_are_what_nobody_looks_for)
{
	static const wchar_t *const values[] = { L"DriverDesc", L"MatchingDeviceId" };
	D3DKMT_HANDLE adapter = open_first_adapter();

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const wchar_t *text = registry_text(adapter, values[i], NULL);

		EXPECT(text);
		check_wide("the registry", text);
	}
	EXPECT_OK(close_adapter(adapter));
}

TEST(names, in_dxcore_are_what_nobody_looks_for)
{
	D3DKMT_ADAPTERINFO info = first_adapter();
	struct dxcore_factory_table **factory = NULL;
	struct dxcore_adapter_table **adapter = NULL;
	char name[256] = { 0 };

	EXPECT(DXCoreCreateAdapterFactory(&iid_factory, (void **)&factory) == S_OK);
	EXPECT((*factory)->get_adapter_by_luid((struct dxcore_factory *)factory, &info.AdapterLuid,
					       &iid_adapter, (void **)&adapter) == S_OK);
	EXPECT((*adapter)->get_property((struct dxcore_adapter *)adapter,
					PROPERTY_DRIVER_DESCRIPTION, sizeof(name), name) == S_OK);
	EXPECT(name[0] != '\0');
	check_name("DriverDescription", name);
	EXPECT_OK(close_adapter(info.hAdapter));
}

TEST(names, the_default_adapter_is_of_no_vendor)
{
	D3DKMT_HANDLE adapter = open_first_adapter();
	D3DKMT_QUERY_DEVICE_IDS ids = { 0 };

	EXPECT_OK(query(adapter, KMTQAITYPE_PHYSICALADAPTERDEVICEIDS, &ids, sizeof(ids)));
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
		EXPECT(ids.DeviceIds.VendorID != vendors[i]);
		EXPECT(ids.DeviceIds.SubVendorID != vendors[i]);
	}
	EXPECT_OK(close_adapter(adapter));
}

API_TEST_MAIN("api/names")
